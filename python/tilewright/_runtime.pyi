# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable
from typing import Any

class Kernel:
    """A loaded kernel. Call it with all parameters in order (or by name), or without the outputs,
    which are then made in the framework of the first tensor. It gives the output, a list of several
    outputs, or None if there are none. May be called from any thread; Ctrl-C ends it."""

    def __init__(
        self,
        library: str | bytes | Callable[..., object],
        manifest: str,
        out_idx: list[int] | None = None,
        results: int | None = None,
    ) -> None:
        """Loads a library (a path whose digest was checked, or its bytes). `out_idx` replaces that
        of the manifest; behind its first `results` numbers stand workspaces, as errors call them. ValueError: the manifest is wrong; OSError: the library can't be loaded.

        A function in place of a library runs the kernel: it gets all parameters, checked, in order:
        (address, shape, strides in elements or ()) of a tensor, the value of a scalar."""
    def __call__(self, *args: object, **kwargs: object) -> Any: ...  # noqa: ANN401
    @property
    def name(self) -> str: ...
    @property
    def cpu(self) -> str: ...
    @property
    def out_idx(self) -> list[int]: ...
    @property
    def symbols(self) -> list[str]: ...
    @property
    def params(self) -> list[dict[str, Any]]:
        """Each: kind, name, dtype, is_output and, of tensors, shape (integers and expressions) and
        is_written."""

def sha256(bytes: bytes, /) -> str: ...
def sha256_file(path: str) -> str | None: ...
def refusal_of_tiles() -> str | None:
    """Asks the system for the tile registers of AMX; why this process doesn't get them, or None."""

def set_num_threads(count: int) -> None:
    """Threads per launch, with the caller's; 0: as many as this process may use cores."""

def get_num_threads() -> int: ...
def measure_peaks() -> dict[str, float]:
    """What this machine does at most, all threads together, measured in about half a second:
    `flops` (float32), `bfloat16_flops` and `byte_operations` (8-bit integers; 0 without such
    instructions) per second, and `bytes` per second that a large copy reads and writes."""
