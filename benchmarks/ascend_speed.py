# SPDX-License-Identifier: Apache-2.0
"""Kernels for Ascend: how long they take to compile, and the modelled time of the tuned ones.

`ascend/compile`: from the source to Ascend C. `ascend/build`: the host's library of it, for the
cube cores alone, and of a kernel for both kinds of core.
`ascend/load`: a kernel that is in the cache. `ascend/gemm/...` and `ascend/add/...`: the time that
the model of a 910B2 gives (docs/ascend-timing.md), as a share of what the chip could reach at most.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tilewright.jit_factory import JITFunction

EXAMPLES = Path(__file__).resolve().parents[1] / "examples" / "ascend"
#: Of a 910B2: float operations of 24 cube cores at 1.8 GHz, and bytes per second of its memory.
FLOPS = 24 * 8192 * 1.8e9
BYTES = 1.6e12
#: Microseconds of the vendor's library on a 910B2 (cann-bench, 910b2.json), by size.
PUBLISHED = {4096: 526.0, 8192: 4038.0}
MODES = ("expert", "developer")


def names() -> list[str]:
    """Every row's name."""
    gemms = [f"ascend/gemm/{mode}/4096" for mode in MODES]
    return [
        "ascend/compile",
        "ascend/build/cube",
        "ascend/build/mixed",
        "ascend/load",
        *gemms,
        "ascend/gemm/expert/8192",
        *(f"ascend/add/{mode}/8192" for mode in MODES),
    ]


def measure(name: str) -> dict[str, Any]:
    """`seconds`; of a modelled time `value`, `share`, and what is `published` of a library."""
    sys.path.insert(0, str(EXAMPLES))
    _, what, *rest = name.split("/")
    if what in ("gemm", "add"):
        return _modelled(what, rest[0], int(rest[1]))
    if what == "build":
        return {"seconds": {"cube": _build_cube, "mixed": _build_mixed}[rest[0]]()}
    return {"seconds": {"compile": _compile, "load": _load}[what]()}


def _compile() -> float:
    """Seconds from the source of the Developer GEMM to Ascend C, after another kernel."""
    import tuned_add
    import tuned_gemm

    from tilewright.compilation import native_options
    from tilewright.errors import load_compiler
    from tilewright.options import Options

    def once(factory: JITFunction, sizes: tuple[int, ...]) -> float:
        begin = time.perf_counter()
        captured = factory.get_tir(*sizes).capture()
        options = native_options(Options("ascend", pass_configs=tuned_gemm.pass_configs))
        options.build_library = False
        artifact, found = load_compiler().compile(captured.module, options)
        if artifact is None:
            raise RuntimeError(found[0].message)
        return time.perf_counter() - begin

    once(tuned_add.add_developer, (8192, 8192))
    return once(tuned_gemm.gemm_developer, (4096, 4096, 4096))


def _build_cube() -> float:
    """Seconds of the same and of the host's library, with an empty cache."""
    import tuned_gemm

    begin = time.perf_counter()
    tuned_gemm.gemm_developer(4096, 4096, 4096)
    return time.perf_counter() - begin


def _build_mixed() -> float:
    """Seconds from the source of a product and a sum to the host's library, with an empty cache."""
    import gemm_add

    begin = time.perf_counter()
    gemm_add.automatic(1024, 1024, 1024, 128, 128, 64)
    return time.perf_counter() - begin


def _load() -> float:
    """Seconds of the same in a process that finds it in the cache."""
    seconds = _build_cube()
    if "tilewright._compiler" in sys.modules:
        raise RuntimeError("loading a cached kernel imported the compiler")
    return seconds


def _modelled(what: str, mode: str, size: int) -> dict[str, Any]:
    import numpy as np
    import tuned_add
    import tuned_gemm

    from tilewright.profiling.ascend_time import modelled_time

    matrices = [np.zeros((size, size), np.float16) for _ in range(2)]
    if what == "gemm":
        kernel = getattr(tuned_gemm, f"gemm_{mode}")(size, size, size)
        least = 2e6 * size**3 / FLOPS
    else:
        kernel = getattr(tuned_add, f"add_{mode}")(size, size)
        least = 1e6 * 3 * 2 * size**2 / BYTES
    modelled = modelled_time(kernel, *matrices, time_only=True)
    if modelled is None:
        raise RuntimeError("the kernel didn't run on the Ascend host")
    published = PUBLISHED[size] if what == "gemm" else None
    return {"value": modelled.task, "share": least / modelled.task, "published": published}
