# SPDX-License-Identifier: Apache-2.0
"""How far tuning is: tqdm's bar on a terminal, nothing elsewhere."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator


class Progress(Protocol):
    def update(self, n: float | None = 1) -> object: ...
    def set_postfix_str(self, s: str = "", refresh: bool = True) -> object: ...


class _Silent:
    def update(self, n: float | None = 1) -> None:
        pass

    def set_postfix_str(self, s: str = "", refresh: bool = True) -> None:
        pass


@contextmanager
def progress(total: int, label: str) -> Iterator[Progress]:
    """A bar on stderr with `total` steps; silent where stderr is no terminal or tqdm is missing."""
    if not sys.stderr.isatty():
        yield _Silent()
        return
    try:
        from tqdm import tqdm
    except ImportError:
        yield _Silent()
        return
    with tqdm(total=total, desc=label, leave=False, unit="candidate") as bar:
        yield bar
