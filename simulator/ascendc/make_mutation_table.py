# SPDX-License-Identifier: Apache-2.0
"""Makes docs/ascend-mutation.md from a run of the mutation tests.

`--check` runs them with one order each and compares what doesn't depend on the number of orders.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "ascend-mutation.md"
PROGRAMS = (
    ROOT / "build/tools/tilewright-ascendc/bin/ascend_mutation_test_clang",
    ROOT / "build/tools/tilewright-ascendc/bin/ascend_mutation_compute_test_clang",
)
HEAD = """# Synchronisations taken out, one at a time

Made by `simulator/ascendc/make_mutation_table.py` from a run of the mutation tests
(`simulator/ascendc/mutation_test.cpp`, `simulator/ascendc/mutation_compute_test.cpp`). Each
kernel is correct. Every synchronisation of it (a `SetFlag`, a `WaitFlag`, both ends of a flag, a
barrier, a meeting of cores, those inside queues too) is switched off at run time, and the checks
run once.

The oracle then runs the kernel in 1,000 random legal orders: queue heads of any pipe next, pipes
that fall far behind others, cores that take turns in any order, and writes that reach memory only
when a flag or barrier orders them. A removal that is not reported must give the same bits in all
of them. The correct kernel itself runs in 1,000 orders with all checks on.

- *differ*: reported, and some order gives other values. The other reported ones leave a flag set
  (the next kernel on the core would see it), or set a flag twice (the chip may lose one); the
  test lists them with that reason.
- *not needed*: not reported, and no order gives other values: something else orders the same.
- *missed*: not reported, but an order gives other values.
- *false*: orders of the correct kernel in which something was reported.

| kernel | synchronisations | reported | differ | not needed | missed | false |
|---|---|---|---|---|---|---|
"""


def rows(orders: int) -> list[list[str]]:
    """The cells of each kernel."""
    found = []
    for program in PROGRAMS:
        answer = subprocess.run(
            [program],
            env=os.environ | {"TILEWRIGHT_ORDERS": str(orders)},
            capture_output=True,
            text=True,
            check=orders > 1,  # with few orders, differences may not show
        )
        for line in answer.stdout.splitlines():
            if re.fullmatch(r"\|.*\|", line):
                found.append([cell.strip() for cell in line.strip("|").split("|")])
    return found


def line(cells: list[str]) -> str:
    """A row of the table."""
    return "| " + " | ".join(cells) + " |\n"


def main() -> int:
    """Writes the page, or compares it."""
    if "--check" in sys.argv:
        text = PAGE.read_text(encoding="utf-8")
        for cells in rows(1):
            start = line(cells[:3])[:-3]
            if start not in text:
                print(f"{PAGE.name} has no row '{start}'; run make_mutation_table.py")
                return 1
        return 0
    found = rows(1000)
    sums = [str(sum(int(cells[column]) for cells in found)) for column in range(1, 7)]
    PAGE.write_text(
        HEAD + "".join(line(cells) for cells in found) + line(["all", *sums]), encoding="utf-8"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
