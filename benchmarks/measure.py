# SPDX-License-Identifier: Apache-2.0
"""Measures one thing in this process, and prints it as one line of JSON. `run.py` starts it.

python benchmarks/measure.py import
python benchmarks/measure.py gemm float32 1024
"""

from __future__ import annotations

import sys
import time
from pathlib import Path


def measure_import() -> dict[str, object]:
    """Seconds of the imports that every user's file has."""
    begin = time.perf_counter()
    import tilewright
    import tilewright.language

    tilewright.jit  # noqa: B018 - loaded when it is first named
    seconds = time.perf_counter() - begin
    if "torch" in sys.modules or "numpy" in sys.modules:
        raise RuntimeError("importing tilewright imported torch or NumPy")
    return {"seconds": seconds, "version": getattr(tilewright, "__version__", "")}


def measure_kernel(must_hit: bool) -> dict[str, object]:
    """Seconds from asking for the example's fused GEMM to the kernel, which may be called."""
    sys.path.append(str(Path(__file__).resolve().parents[1] / "examples"))
    import fused_gemm

    begin = time.perf_counter()
    fused_gemm.matmul_scale_relu(1024, 1024, 1024, "float32")
    seconds = time.perf_counter() - begin
    is_hit = "tilewright._compiler" not in sys.modules
    if must_hit and not is_hit:
        raise RuntimeError("loading a cached kernel imported the compiler")
    if is_hit and not must_hit:
        raise RuntimeError("the kernel was not compiled: the cache is not empty")
    return {"seconds": seconds}


def measure_attention_compile() -> dict[str, object]:
    """Seconds from asking for an attention to the kernel, with an empty cache."""
    import operator_speed

    begin = time.perf_counter()
    options = {"heads": 16, "length": 4096, "dim": 128, "dtype": "bfloat16", "causal": True}
    operator_speed.kernel("flash_attention", **options)
    return {"seconds": time.perf_counter() - begin}


def measure_call(makes_output: bool) -> dict[str, object]:
    """A call with three tiny torch tensors, beside torch.add."""
    import kernels
    import pairs
    import torch

    kernel = kernels.add(16)
    x, y, z = torch.ones(16), torch.full((16,), 2.0), torch.empty(16)
    if kernel(x, y).tolist() != [3.0] * 16:
        raise RuntimeError("the kernel is wrong")
    if makes_output:
        measured = pairs.measure(lambda: kernel(x, y), lambda: torch.add(x, y), 0.01, 20, 0.01)
    else:
        measured = pairs.measure(
            lambda: kernel(x, y, z), lambda: torch.add(x, y, out=z), 0.01, 20, 0.01
        )
    return {"ours": measured.ours, "peer": measured.peer, "ratio": measured.ratio()}


def measure_gemm(dtype: str, size: int) -> dict[str, object]:
    """A square GEMM, beside torch.matmul with as many threads; without torch, alone."""
    import kernels
    import numpy as np
    import operator_speed
    import pairs

    from tilewright import _runtime

    try:
        import torch
    except ImportError:
        torch = None
    threads = _runtime.get_num_threads()
    kernel = kernels.square_gemm(size, dtype, threads)
    random = np.random.default_rng(size)
    a, b = (random.standard_normal((size, size), np.float32) for _ in range(2))
    if torch is not None:
        torch.set_num_threads(threads)
        kind = getattr(torch, dtype)
        left, right = torch.from_numpy(a).to(kind), torch.from_numpy(b).to(kind)
        a, b = left.double().numpy(), right.double().numpy()
        result = kernel(left, right)
        rows = result[:: max(1, size // 8)].double().numpy()
        out = torch.empty(size, size, dtype=kind)
    elif dtype == "bfloat16":
        raise ImportError("bfloat16 needs torch")
    else:
        left, right = a.astype(dtype), b.astype(dtype)
        a, b = left.astype(np.float64), right.astype(np.float64)
        rows = kernel(left, right)[:: max(1, size // 8)]
        out = np.empty((size, size), dtype)
    exact = a[:: max(1, size // 8)] @ b
    error = float(np.abs(rows - exact).max() / np.abs(exact).max())
    if not error < {"float32": 1e-5, "float16": 1e-3, "bfloat16": 8e-3}[dtype]:
        raise RuntimeError(f"the kernel is wrong: error {error}")

    peer, peer_share = operator_speed.matmul(left, right, out) if torch else (None, 1.0)
    measured = pairs.measure(lambda: kernel(left, right, out), peer, 0.05, 25)
    work = 2e-9 * size**3
    return {
        "ours": [work / seconds for seconds in measured.ours],
        "peer": [work * peer_share / seconds for seconds in measured.peer],
        "ratio": measured.ratio(peer_share),
        "peer_share": peer_share,
    }


def main(arguments: list[str]) -> None:
    import json

    what = arguments[0]
    if what == "import":
        answer = measure_import()
    elif what == "compile":
        answer = measure_kernel(must_hit=False)
    elif what == "cache_load":
        answer = measure_kernel(must_hit=True)
    elif what == "operator":
        import operator_speed

        answer = operator_speed.measure(arguments[1])
    elif what == "ascend":
        import ascend_speed

        answer = ascend_speed.measure(arguments[1])
    elif what == "compile_attention":
        answer = measure_attention_compile()
    elif what == "call":
        answer = measure_call(arguments[1] == "alloc")
    else:
        answer = measure_gemm(arguments[1], int(arguments[2]))
    print(json.dumps(answer))


if __name__ == "__main__":
    main(sys.argv[1:])
