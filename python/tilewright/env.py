# SPDX-License-Identifier: Apache-2.0
"""`tilelang.env`: the environment variables that TileLang knows, as attributes of this module.

Those in `HONOURED` mean here what they mean there (and TILEWRIGHT_TARGET, TILEWRIGHT_CPU,
TILEWRIGHT_CACHE_DIR come before them). The others are accepted, with one remark where one is set:
what they choose does not exist here.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: Names and what they are if nothing sets them.
KNOWN = {
    "TILELANG_CACHE_DIR": "",
    "TILELANG_TMP_DIR": "",
    "TILELANG_DISABLE_CACHE": "0",
    "TILELANG_CLEAR_CACHE": "0",
    "TILELANG_PRINT_ON_COMPILATION": "0",
    "TILELANG_DEFAULT_TARGET": "auto",
    "TILELANG_EXECUTION_BACKEND": "auto",
    "TILELANG_VERBOSE": "0",
    "TILELANG_COMPILE_TIMEOUT_SECONDS": "",
    "TILELANG_JIT_DIAGNOSTICS": "0",
    "TILELANG_PASS_DIFF": "0",
    "TILELANG_PASS_DIFF_OUTPUT": "",
    "TL_LOWER_TRACE": "0",
    "TL_LOWER_TRACE_DIR": "",
    "TILELANG_PASS_PROFILE": "0",
    "TILELANG_PASS_PROFILE_THRESHOLD_MS": "",
    "TILELANG_ENABLE_IR_SPAN": "1",
    "TILELANG_LAYOUT_COST_MODEL": "",
    "TILELANG_AUTO_TUNING_DISABLE_CACHE": "0",
    "TILELANG_AUTO_TUNING_CPU_UTILITIES": "0.9",
    "TILELANG_AUTO_TUNING_CPU_COUNTS": "-1",
    "TILELANG_AUTO_TUNING_MAX_CPU_COUNT": "-1",
    "TILELANG_KERNEL_CACHE_USE_LIB_STAMP": "0",
    "TILELANG_CLEANUP_TEMP_FILES": "1",
    "TILELANG_HIP_SAVE_TEMP_FILES": "0",
    "TL_CUTLASS_PATH": "",
    "TL_COMPOSABLE_KERNEL_PATH": "",
    "TL_TEMPLATE_PATH": "",
    "TVM_IMPORT_PYTHON_PATH": "",
    "TVM_LIBRARY_PATH": "",
    "SKIP_LOADING_TILELANG_SO": "0",
}

#: Folders that TileLang finds beside itself if nothing sets these variables: nothing here has them.
_FOLDERS = {
    "CUTLASS_INCLUDE_DIR": "TL_CUTLASS_PATH",
    "COMPOSABLE_KERNEL_INCLUDE_DIR": "TL_COMPOSABLE_KERNEL_PATH",
    "TILELANG_TEMPLATE_PATH": "TL_TEMPLATE_PATH",
    "CUDA_HOME": "CUDA_HOME",
    "ROCM_HOME": "ROCM_HOME",
}

HONOURED = frozenset(
    [
        "TILELANG_CACHE_DIR",
        "TILELANG_DISABLE_CACHE",
        "TILELANG_CLEAR_CACHE",
        "TILELANG_DEFAULT_TARGET",
        "TILELANG_AUTO_TUNING_CPU_COUNTS",
        "TILELANG_AUTO_TUNING_MAX_CPU_COUNT",
    ]
)


def remark_ignored() -> None:
    """Warns, once in a process for each, of variables that are set and choose nothing here."""
    from .cache import bad_limit
    from .options import remark

    for name, usual in KNOWN.items():
        if name not in HONOURED and os.environ.get(name, usual) != usual:
            remark(f"the environment variable {name} has no effect in this package")
    if bad := bad_limit():
        remark(f"TILEWRIGHT_CACHE_BYTES is a number of bytes, not {bad!r}; the limit is 1 GiB")


def __getattr__(name: str) -> Any:
    if name == "env":  # `from tilelang.env import env`
        return sys.modules[__name__]
    if name in _FOLDERS:
        return os.environ.get(_FOLDERS[name], "")
    if name in KNOWN:
        return os.environ.get(name, KNOWN[name])
    raise AttributeError(f"tilewright.env has no {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *KNOWN, *_FOLDERS])


def is_cache_enabled() -> bool:
    """Whether compiled kernels are kept on disk."""
    from . import cache

    return bool(cache.is_enabled())
