# SPDX-License-Identifier: Apache-2.0
"""`tilelang.carver`: TileLang's hints for tuning.

Its names can be imported, not used (absent.py says why), but for the number of processors and what
there is for Ascend.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

from . import _runtime
from .absent import Absent, names_of
from .carver_ascend import MatmulTemplate as MatmulTemplate

if TYPE_CHECKING:
    from collections.abc import Callable


def get_num_sms(device_id: int = 0) -> int:
    """How many blocks run at once: the CPU's threads."""
    return _runtime.get_num_threads()


def _device(name: str) -> Callable[..., Absent]:
    """The class of a device's model: an object of it can be made, for `tools.Analyzer`, which
    takes this machine; its numbers can't be had."""

    def make(target: object = None) -> Absent:
        return names_of("carver")(name)

    make.__name__ = make.__qualname__ = name
    return make


CUDA, CDNA, RDNA, METAL, CPU = map(_device, ("CUDA", "CDNA", "RDNA", "METAL", "CPU"))

#: `tilelang.carver.arch.driver`: what persistent kernels ask of it.
driver = SimpleNamespace(get_num_sms=get_num_sms)

__getattr__ = names_of("carver")
