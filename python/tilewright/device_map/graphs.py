# SPDX-License-Identifier: Apache-2.0
"""`torch.cuda.CUDAGraph`, `torch.npu.NPUGraph` and their `graph`, where the CPU is the device.

A capture runs what it records, as kernels and torch operations on the CPU are done when their call
returns. Then it gives the tensors that were there before their values back, as a capture changes
none. A replay calls the same operations with the same tensors again; new results are copied to
where the first ones are, so that all views of them see these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


#: Operations that write to arguments of which their schemas don't say so.
_UPDATES = dict.fromkeys(
    (
        "aten::native_batch_norm",
        "aten::cudnn_batch_norm",
        "aten::miopen_batch_norm",
        "aten::batch_norm_update_stats",
        "aten::batch_norm_gather_stats",
        "aten::batch_norm_gather_stats_with_counts",
        # Those that aren't taken apart under torch.inference_mode():
        "aten::batch_norm",
        "aten::instance_norm",
        "aten::_batch_norm_impl_index",
    ),
    ("running_mean", "running_var"),
)


def _tensors(values: object) -> list[Any]:
    return [leaf for leaf in tree_leaves(values) if isinstance(leaf, torch.Tensor)]


def _place(tensor: Any) -> int:
    return int(tensor.untyped_storage().data_ptr())


def _bytes(tensor: Any) -> Any:
    """All that the tensor is a part of."""
    return torch.empty(0, dtype=torch.uint8).set_(tensor.untyped_storage())


class _Capture(TorchDispatchMode):  # type: ignore[misc]
    """Sees every operation of torch below autograd, from `with` to its end."""

    #: The one that records now.
    current: _Capture | None = None

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[tuple[Callable[[], Any], list[Any]]] = []
        self._made: set[int] = set()
        self._before: dict[int, tuple[Any, Any]] = {}
        self._is_launching = False

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Torch would import torch._dynamo, which takes seconds."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        keywords = kwargs or {}
        if self._is_launching:
            return func(*args, **keywords)
        if func is torch.ops.aten.lift_fresh.default:  # torch.tensor(...): the host's numbers
            number = args[0].clone()
            return self._record(lambda: number, args[0], [])
        named = {
            argument.name: value
            for argument, value in zip(func._schema.arguments, args, strict=False)
        } | keywords
        unsaid = _UPDATES.get(func._schema.name, ())
        written = [
            named.get(argument.name)
            for argument in func._schema.arguments
            if argument.name in unsaid
            or (argument.alias_info is not None and argument.alias_info.is_write)
        ]
        self._keep(written)
        result = func(*args, **keywords)
        if not _tensors(written) and self._is_view(result, (args, keywords)):
            return result  # which stays one
        return self._record(lambda: func(*args, **keywords), result, [args, keywords])

    def launch(self, run: Callable[[], Any], given: Sequence[Any]) -> Any:
        """Records the launch of a kernel, `run`, which may write to what it was given."""
        self._is_launching = True
        try:
            self._keep(given)
            result = run()
        finally:
            self._is_launching = False
        return self._record(run, result, given)

    def end(self) -> None:
        """Gives the tensors that were there before their values back."""
        for part, value in self._before.values():
            part.copy_(value)

    def _record(self, run: Callable[[], Any], result: Any, given: Sequence[Any]) -> Any:
        known = {_place(tensor) for tensor in _tensors(given)}
        self._made |= {_place(tensor) for tensor in _tensors(result)} - known
        self.steps.append((run, _tensors(result)))
        return result

    def _keep(self, written: Sequence[Any]) -> None:
        for tensor in _tensors(written):
            place = _place(tensor)
            if place not in self._made and place not in self._before:
                part = _bytes(tensor)
                self._before[place] = part, part.clone()

    def _is_view(self, result: Any, given: Any) -> bool:
        known = {_place(tensor) for tensor in _tensors(given)}
        results = _tensors(result)
        return bool(results) and all(_place(tensor) in known for tensor in results)


def is_capturing() -> bool:
    return _Capture.current is not None


def recorded_launch(run: Callable[[], Any], given: Sequence[Any]) -> Any:
    """What `run` gives, which launches a kernel; a capture records it."""
    capture = _Capture.current
    return run() if capture is None else capture.launch(run, given)


class CUDAGraph:
    """Operations and launches that can be called again."""

    def __init__(self, keep_graph: bool = False) -> None:
        self._capture: _Capture | None = None

    def capture_begin(self, pool: object = None, capture_error_mode: str = "global") -> None:
        if _Capture.current is not None:
            raise RuntimeError("a graph is captured already; its capture must end first")
        self._capture = _Capture.current = _Capture()
        self._capture.__enter__()

    def capture_end(self) -> None:
        capture = self._capture
        if capture is None or capture is not _Capture.current:
            raise RuntimeError("capture_end() without capture_begin()")
        capture.__exit__(None, None, None)
        _Capture.current = None
        with torch.inference_mode():
            capture.end()

    def replay(self) -> None:
        if self._capture is None or self._capture is _Capture.current:
            raise RuntimeError("a graph must be captured before it is replayed")
        with torch.inference_mode():  # whose tensors may be written to, as all others
            for run, results in self._capture.steps:
                for result, new in zip(results, _tensors(run()), strict=True):
                    if _place(new) != _place(result):
                        result.copy_(new)

    def instantiate(self) -> None:
        return None

    def reset(self) -> None:
        self._capture = None

    def pool(self) -> tuple[int, int]:
        return (0, 0)


class NPUGraph(CUDAGraph):
    """`torch.npu.NPUGraph`."""


class graph:  # noqa: N801 - torch's name
    """Captures the operations of a `with` block."""

    def __init__(self, cuda_graph: CUDAGraph, *options: object, **more: object) -> None:
        self._graph = cuda_graph

    def __enter__(self) -> None:
        self._graph.capture_begin()

    def __exit__(self, *exc: object) -> None:
        self._graph.capture_end()


def make_graphed_callables(callables: Any, *options: object, **more: object) -> Any:
    """The functions as they are: calls of them are no faster in a graph here."""
    return callables
