# SPDX-License-Identifier: Apache-2.0
"""What an Ascend kernel's library depends on beside its text: who builds it, and the headers.

Nothing but the standard library's light modules is imported here: a cache hit must cost little.
(`hashlib` is none: it loads OpenSSL, half of the time of a hit.)
"""

from __future__ import annotations

import os

#: What decides in `compiler/targets/ascend/build_library.cpp` who builds, and with which headers.
_VARIABLES = (
    "TILEWRIGHT_ASCENDC",
    "TILEWRIGHT_DEVICE_HEADERS",
    "ASCEND_HOME_PATH",
    "ASCEND_TOOLKIT_HOME",
)
#: In this order `tilewright-ascendc` looks for its compiler, and the compiler for the vendor's (in
#: the folder that one of the two last variables names): tools/tilewright-ascendc/builder.cpp,
#: compiler/targets/ascend/vendor_compiler.cpp.
HOST_COMPILERS = ("clang++-22", "g++-12", "clang++", "g++")
VENDOR_PROGRAMS = (
    "bin/bisheng",
    "compiler/bin/bisheng",
    "compiler/ccec_compiler/bin/bisheng",
    "tools/ccec_compiler/bin/bisheng",
)
_stamps: dict[tuple[str, ...], str] = {}


def _folders(chosen: str) -> list[str]:
    package = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib costs 5 ms
    root = os.path.dirname(os.path.dirname(package))  # noqa: PTH120
    return [
        chosen or f"{root}/device/ascend",
        f"{root}/simulator/ascendc",
        f"{root}/simulator/ascendc/ascendc",
        f"{root}/simulator/ascendc/lib",
    ]


def _files(folder: str) -> list[str]:
    """Name, size and time of change of each header."""
    try:
        with os.scandir(folder) as entries:
            found = [(e.name, e.stat()) for e in entries if e.name.endswith(".h")]
    except OSError:
        return []
    return sorted(f"{name} {info.st_size} {info.st_mtime_ns}" for name, info in found)


def stamp() -> str:
    """Differs where the same Ascend C may become another library. Found once per process."""
    chosen = tuple(os.environ.get(name, "") for name in _VARIABLES)
    known = _stamps.get(chosen)
    if known is None:
        from . import _runtime  # which may not be built

        parts = [*chosen, *(line for folder in _folders(chosen[1]) for line in _files(folder))]
        known = _stamps[chosen] = _runtime.sha256("\n".join(parts).encode())[:16]
    return known


def vendor_compiler() -> str | None:
    """The vendor's compiler, if the environment names a toolkit that has it."""
    homes = [os.environ.get(name, "") for name in ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME")]
    programs = (os.path.join(home, name) for home in homes if home for name in VENDOR_PROGRAMS)  # noqa: PTH118
    return next((program for program in programs if os.access(program, os.X_OK)), None)
