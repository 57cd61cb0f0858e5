# SPDX-License-Identifier: Apache-2.0
"""`tilelang.carver`: TileLang's hints for tuning.

Its names can be imported, not used (absent.py says why), but for the number of processors and what
there is for Ascend.
"""

from __future__ import annotations

from types import SimpleNamespace

from . import _runtime
from .absent import names_of
from .carver_ascend import MatmulTemplate as MatmulTemplate


def get_num_sms(device_id: int = 0) -> int:
    """How many blocks run at once: the CPU's threads."""
    return _runtime.get_num_threads()


#: `tilelang.carver.arch.driver`: what persistent kernels ask of it.
driver = SimpleNamespace(get_num_sms=get_num_sms)

__getattr__ = names_of("carver")
