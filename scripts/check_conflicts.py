# SPDX-License-Identifier: Apache-2.0
"""No file holds the marks that git leaves where two versions did not join."""

import re
import sys
from collections.abc import Iterator

from sources import git_files, report, shown

MARK = re.compile(r"^(?:<{7}|>{7}|\|{7}) ", re.M)


def marked_lines(text: str) -> list[int]:
    """The lines with a mark, from 1 on."""
    return [text.count("\n", 0, match.start()) + 1 for match in MARK.finditer(text)]


def findings() -> Iterator[str]:
    """All of the checkout's."""
    for path in git_files():
        for line in marked_lines(path.read_text(errors="replace")):
            yield f"{shown(path)}:{line}: error: two versions of the file did not join here"


if __name__ == "__main__":
    sys.exit(report(findings))
