# SPDX-License-Identifier: Apache-2.0
"""Makes docs/ascend-timing-constants.md from compiler/chips: what the timing model assumes.

`--check` fails if the page is not what would be made now.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CHIPS = ROOT / "compiler" / "chips"
PAGE = ROOT / "docs" / "ascend-timing-constants.md"
HEAD = """# The constants of the timing model

Made by `simulator/timing/make_constants.py` from `compiler/chips/ascend_timing.cpp` and the files
of the chips. [The model](ascend-timing.md) says what they do. Cycles are those of the core's clock.

- *documented*: in the vendor's documentation; *measured*: a published measurement;
  *derived*: computed from published numbers
- *fitted*: by us, to published profiles that the last column names; *assumed*: nothing is public

| constant | value | unit | provenance | where it comes from |
|---|---|---|---|---|
"""
MIDDLE = """
All chips of arch 2201 share them; these are their own.

| chip | cube cores | vector cores | MHz | HBM | L2 |
|---|---|---|---|---|---|
"""
CONSTANT = re.compile(r't\.(\w+) = \{\s*([\d.e+-]+),\s*(\w+),\s*((?:"[^"]*"\s*)+)\};')
UNIT = re.compile(r'\{"(\w+)", "([^"]*)", &T::')
CHIP = re.compile(r'arch2201\("(\w+)", (\d+), (\d+), (\d+), (\d+)\)')


def constant_rows() -> list[str]:
    """A line of the table for each constant, in the order of the source."""
    text = (CHIPS / "ascend_timing.cpp").read_text()
    units = dict(UNIT.findall(text))
    constants = CONSTANT.findall(text)
    if [name for name, *_ in constants] != list(units):
        raise SystemExit("ascend_timing.cpp: a constant is not in both tables, or not in order")
    rows = []
    for name, value, provenance, source in constants:
        words = "".join(re.findall(r'"([^"]*)"', source))
        rows.append(f"| `{name}` | {value} | {units[name]} | {provenance.lower()} | {words} |\n")
    return rows


def chip_rows() -> list[str]:
    """A line for each chip, by name."""
    rows = []
    for path in sorted(CHIPS.glob("ascend_*.cpp")):
        for name, cubes, clock, memory, cache in CHIP.findall(path.read_text()):
            rows.append(
                f"| {name} | {cubes} | {2 * int(cubes)} | {clock} | {memory} GB | {cache} MB |\n"
            )
    return rows


def main() -> int:
    """Writes the page, or says whether it is up to date."""
    page = HEAD + "".join(constant_rows()) + MIDDLE + "".join(chip_rows())
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(page)
        return 0
    if PAGE.exists() and PAGE.read_text() == page:
        return 0
    print(f"{PAGE.relative_to(ROOT)} is old; run simulator/timing/make_constants.py")
    return 1


if __name__ == "__main__":
    sys.exit(main())
