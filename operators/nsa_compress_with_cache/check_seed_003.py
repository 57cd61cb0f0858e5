# SPDX-License-Identifier: Apache-2.0
"""Builds the C++ program of seed 003 as it stands and checks what it prints.

    check_seed_003.py <tilewright-ascendc> <folder for the program>

The seeds lie in $TILEWRIGHT_SEEDS or in ../shared/seeds beside the repository. Ends with 77
(skipped) where they are not there.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

SKIPPED = 77
ROOT = Path(__file__).resolve().parents[2]
HEAD_ELEMENTS = 24 * 192  # of one compressed token of the program


def find_seed() -> Path | None:
    """The founding document 003, where there is one."""
    named = os.environ.get("TILEWRIGHT_SEEDS")
    folders = [Path(named)] if named else [parent / "shared/seeds" for parent in ROOT.parents]
    for folder in folders:
        for found in sorted(folder.glob("003_*")):
            return found
    return None


def program_of(document: str) -> str:
    """The one block of C++ with a main function."""
    blocks = re.findall(r"```c\+\+\n(.*?)```", document, re.S)
    return next(block for block in blocks if "int main()" in block)


def main() -> int:
    """Returns 0 if the program prints sixteen times 32.0 and then sixteen times 1.0."""
    driver, folder, options = sys.argv[1], Path(sys.argv[2]), sys.argv[3:]
    seed = find_seed()
    if seed is None:
        print("skipped: no seed 003; set TILEWRIGHT_SEEDS to the folder of the seeds")
        return SKIPPED
    folder.mkdir(parents=True, exist_ok=True)
    source, program = folder / "seed_003.cpp", folder / "seed_003"
    source.write_text(program_of(seed.read_text(encoding="utf-8")), encoding="utf-8")
    subprocess.run([driver, "build", source, "-o", program, *options], check=True)
    answer = subprocess.run([program], capture_output=True, text=True, check=False)
    first = HEAD_ELEMENTS - 16
    expected = [
        f"outputCache[{i}]:{32 if i < HEAD_ELEMENTS else 1}.000000"
        for i in range(first, HEAD_ELEMENTS + 16)
    ]
    if answer.returncode == 0 and answer.stdout.splitlines() == expected:
        return 0
    print(f"error: the program ended with {answer.returncode} and printed:")
    print(answer.stdout, answer.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
