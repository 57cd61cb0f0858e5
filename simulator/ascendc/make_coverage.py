# SPDX-License-Identifier: Apache-2.0
"""Writes docs/ascend-host-coverage.md: which of the names in interface_names.txt, those of the
Ascend C interface, are there, and which of them a kernel of our tests calls. Nothing in the table
is claimed by hand."""

import re
import sys
from collections import Counter
from pathlib import Path

from call_forms import not_compared, read_forms

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs" / "ascend-host-coverage.md"

# Number, subject and names of the 72 groups of the interface.
NAMES = HERE / "interface_names.txt"
# Documented for other chips only: a kernel that uses one is told so by the compiler.
NOT_ON_2201 = {
    "Scatter",
    "LoadDataWithStride",
    "SetLoadDataRepeatWithStride",
    "ProposalConcat",
    "RpSort16",
    "MrgSort4",
    "ProposalExtract",
}


def uses(name: str, text: str) -> bool:
    """True if `text` has the name as a word of its own, or the operator between two tensors."""
    if name.startswith("operator"):
        return re.search(rf"\b[a-z]+\W*{re.escape(name[8:])} b\b", text) is not None
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def without_comments(text: str) -> str:
    """C++ text without its comments."""
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)


def defined(name: str, text: str) -> bool:
    """True if a header defines the name, by hand or by one of its macros."""
    if name.startswith("operator"):
        return re.search(rf"TW_(OPERATOR|COMPARISON)\({re.escape(name[8:])},", text) is not None
    forms = (
        rf"(?:class|struct|enum|enum class)(?: TILEWRIGHT_\w+)? {re.escape(name)}\b",
        rf"[\w&>\]*] {re.escape(name)}\(",
        rf"TW_\w+\({re.escape(name)}[,)]",
        rf"#define {re.escape(name)}\b",
        rf"using {re.escape(name)} =",
        rf"constexpr \w+ {re.escape(name)} =",
        rf"namespace {re.escape(name)} ",
    )
    return any(re.search(form, text) for form in forms)


def texts(pattern: str, *folders: Path) -> str:
    """All files of that pattern, without comments."""
    files = (p for folder in folders for p in sorted(folder.rglob(pattern)))
    return "\n".join(without_comments(p.read_text()) for p in files)


def forms_by_group() -> dict[str, str]:
    """How many forms of calls each group has, and how many of them run."""
    all_forms = Counter(form.group for form in read_forms())
    idle = Counter(form.group for form, _ in not_compared())
    return {str(g): f"{n - idle[g]} of {n}" for g, n in all_forms.items()}


def forms_not_compared() -> str:
    """The list of forms that no test compares the effect of."""
    reasons: dict[str, list[str]] = {}
    for form, why in not_compared():
        reasons.setdefault(why, []).append(f"`{form.text}`")
    return "\n\n".join(
        f"A form that {why}:\n\n" + "\n".join(f"- {text}" for text in texts)
        for why, texts in reasons.items()
    )


def page() -> str:
    """The text of the page."""
    headers = texts("*.h", HERE / "ascendc", HERE / "lib", HERE.parent / "include")
    tests, row_tests = texts("*_test.cpp", HERE), texts("*_rows_test.cpp", HERE)
    rows, counts = [], [0, 0, 0, 0, 0]
    forms = forms_by_group()
    number_of_forms, idle = len(read_forms()), len(list(not_compared()))
    for line in NAMES.read_text().splitlines():
        if line.startswith("#"):
            continue
        number, subject, names = line.split("|", 2)
        other = [n for n in names.split() if n in NOT_ON_2201]
        there = [n for n in names.split() if n not in other and defined(n, headers)]
        tested = [n for n in there if uses(n, tests)]
        at_random = [n for n in tested if uses(n, row_tests)]
        missing = [n for n in names.split() if n not in tested and n not in other]
        untested = [n for n in there if n not in tested]
        for k, part in enumerate((tested, at_random, other, untested)):
            counts[k] += len(part)
        counts[4] += len(missing) - len(untested)
        state = (
            "missing in part"
            if missing and tested
            else "missing"
            if missing
            else "not on arch 2201"
            if not tested
            else "tested at random"
            if len(at_random) == len(tested)
            else "tested"
        )
        cells = [
            " ".join(f"`{n}`" + ("*" if n in at_random else "") for n in tested),
            " ".join(f"`{n}`" for n in other),
            " ".join(f"`{n}`" + (" (no test)" if n in untested else "") for n in missing),
        ]
        cells = [c.replace("operator|", "operator\\|") for c in cells]
        # A group of several lines has its forms in the first.
        count = forms.pop(number, "")
        rows.append(f"| {number} | {subject} | {state} | {count} | {' | '.join(cells)} |")
    return (
        "# What of Ascend C the host has\n\n"
        "Made by `simulator/ascendc/make_coverage.py` from the headers and the tests. *Tested*: a\n"
        "kernel of `simulator/ascendc/*_test.cpp` uses the name and its effect is compared with\n"
        "an independent reference. *At random* (names with a star): a row of `*_rows_test.cpp`\n"
        "does so in random shapes, masks, repeats and strides. *Not on arch 2201*: documented for\n"
        "other chips only; a kernel that uses the name is told so when it is compiled.\n\n"
        "The names are those of `simulator/ascendc/interface_names.txt`: functions, classes,\n"
        "structures, macros. *Forms* counts how their calls may be written (masks as bits, as a\n"
        "number or in the register, counts, template arguments, tensors of each memory): lines of\n"
        "`simulator/ascendc/call_forms.txt`. `test_call_forms.py` compiles all with both\n"
        "compilers; `test_call_forms_run.py` runs those that the first number counts, with\n"
        "masks, repeats, strides and counts by chance, on each kind of core that has them, and\n"
        "compares all of memory with plain references. The others are listed below.\n\n"
        f"{counts[0]} names tested, {counts[1]} of them at random; {counts[2]} not on arch 2201;\n"
        f"{counts[3]} there without a test; {counts[4]} missing.\n"
        f"{number_of_forms} forms of calls, {number_of_forms - idle} of them run and compared.\n\n"
        "| group | subject | state | forms | tested | not on arch 2201 | missing |\n"
        "|---|---|---|---|---|---|---|\n" + "\n".join(rows) + "\n\n"
        "## Forms of calls that are only compiled\n\n"
        f"{forms_not_compared()}\n"
    )


def main() -> int:
    """Writes the page, or with --check fails if it isn't up to date."""
    if "--check" in sys.argv:
        return 0 if PAGE.read_text() == page() else 1
    PAGE.write_text(page())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
