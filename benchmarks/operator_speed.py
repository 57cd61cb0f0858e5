# SPDX-License-Identifier: Apache-2.0
"""Operators of `operators/` beside PyTorch. A row is `<operator>/<dtype>/<shape>`; `.../copy` is
the same in bytes per second beside a copy of the tensor. `run.py` and `measure.py` use this."""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

OPERATORS = Path(__file__).resolve().parent.parent / "operators"
DTYPES = {"f32": "float32", "f16": "float16", "bf16": "bfloat16", "int8": "int8"}
WIDE = ("softmax", "rms_norm", "layer_norm", "rope", "swiglu")
TOLERANCE = {"float32": 1e-4, "float16": 4e-3, "bfloat16": 3e-2, "int8": 0}


@dataclass
class Speed:
    """What is run, how much work a call of ours does, the unit of work per second, and what share
    of that work a call of the peer's does."""

    ours: Callable[[], Any]
    peer: Callable[[], Any]
    work: float
    unit: str
    peer_share: float = 1.0


def rows() -> list[str]:
    """Every row's name."""
    names = [f"gemm/int8/{size}x{size}x{size}" for size in (1024, 2048, 4096)]
    names += [
        f"gemm/{dtype}/{shape}"
        for dtype in ("f32", "f16", "bf16", "int8")
        for shape in ("4096x64x4096", "64x4096x4096")
    ]
    # Their own kernels with fast math, beside the same of PyTorch.
    names += [
        f"gemm_fast/{dtype}/{size}x{size}x{size}"
        for dtype in ("f32", "f16")
        for size in (1024, 2048, 4096)
    ]
    names += [
        f"flash_attention/{dtype}/{length}x{dim}/{kind}"
        for dtype in ("f32", "bf16")
        for dim in (64, 128)
        for length in (1024, 2048, 4096, 8192)
        for kind in ("full", "causal")
    ]
    names += [
        f"{operator}/{m}x4096x4096"
        for operator in ("linear/f32", "linear/bf16", "linear_int4/bf16")
        for m in (1, 4, 16)
    ]
    for operator in WIDE:
        for dtype in ("f32", "bf16"):
            names += [f"{operator}/{dtype}/64MB", f"{operator}/{dtype}/64MB/copy"]
    return names


def unit(row: str) -> str:
    """Of work per second."""
    return "GFLOP/s" if row.startswith(("gemm", "flash")) else "GB/s"


def peer(row: str) -> str:
    """What a row is measured beside."""
    if row.endswith("/copy"):
        return "torch copy_"
    if row.startswith("gemm"):
        return "torch._int_mm" if "int8" in row else "torch.matmul"
    if row.startswith("linear"):
        return "torch linear, bf16" if "int4" in row else "torch linear"
    return "torch sdpa" if row.startswith("flash") else "torch eager"


def kernel(operator: str, **options: Any) -> Any:  # noqa: ANN401 - any kernel
    """An operator's kernel for these options."""
    path = OPERATORS / operator / "kernel.py"
    spec = importlib.util.spec_from_file_location(f"operator_{operator}", path)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return getattr(module, operator)(**options)


def on_tiles(dtype: str) -> bool:
    """Whether AMX multiplies this type here."""
    from tilewright import _compiler

    return dtype in ("bfloat16", "int8") and _compiler.host_cpu().endswith("amx")


def adds_beside_multiplying() -> bool:
    """Whether gemms are made by Winograd's inner products here, where a kernel lets them be."""
    from tilewright import _compiler

    cpu = _compiler.host_cpu()
    return cpu.startswith("znver") and "avx512" in cpu


def blocks_on_tiles(m: int, n: int, k: int, dtype: str, threads: int) -> dict[str, int]:
    """The tile of B takes half of a second-level cache of 2 MB: of whole depth where that leaves
    512 columns, else 2 KB deep; and meets 32 rows of A at a time, which stay in the first level by
    parts. For few rows of A it takes a quarter, and B is read in long runs. Else nothing."""
    width = 2 if dtype == "bfloat16" else 1
    most = n // threads
    if m <= 128:
        form = {"block_m": m, "block_n": min(most, 1024), "block_k": 512 // width}
        fits = m % 16 == 0 and n % form["block_n"] == 0 and k % form["block_k"] == 0
        return form if fits else {}
    if width * k * 512 <= 1 << 20:
        form = {"block_m": 32, "block_n": min(most, max(512, (512 << 10) // (width * k)))}
    else:
        form = {"block_m": 32, "block_n": min(most, 512), "block_k": 2048 // width}
    rows = min(m, 4096)
    fits = m % rows == 0 and rows % 32 == 0 and k % form.get("block_k", 1) == 0
    return {"rows": rows, **form} if fits and n % form["block_n"] == 0 else {}


def long_blocks(m: int, n: int, k: int, dtype: str, threads: int) -> dict[str, int]:
    """Blocks of many rows of A, two or more for each thread, where AVX-512 gains by them: of whole
    depth where 256 columns of B fill a quarter to half of a second-level cache of 1 MB, in a type
    that is multiplied in groups; else by steps of 2 KB of a row as it is multiplied. Else nothing.
    """
    from tilewright import _compiler

    if on_tiles(dtype):
        return blocks_on_tiles(m, n, k, dtype, threads)
    cpu = _compiler.host_cpu()
    if "avx512" not in cpu or m < 1024 or m % 128:
        return {}
    width = {"bfloat16": 2, "int8": 1}.get(dtype, 4)
    if width == 4 and not cpu.startswith("znver"):
        return wide_blocks(m, n, k, threads)
    if width < 4 and 256 << 10 <= width * k * 256 <= 512 << 10:
        form = {"block_m": 128, "block_n": 512 if dtype == "int8" and k >= 2048 else 256}
    else:
        form = {"block_m": 64, "block_n": 512, "block_k": 2048 // width}
    if n % form["block_n"] or k % form.get("block_k", 1):
        return {}
    rows, columns = min(m, 2048), n // form["block_n"]
    while rows > 256 and -(-m // rows) * columns < 2 * threads and rows % 256 == 0:
        rows //= 2
    return {"rows": rows, **form} if m % rows == 0 else {}


def wide_blocks(m: int, n: int, k: int, threads: int) -> dict[str, int]:
    """The same in float32 for a second-level cache of 2 MB, half of which 512 columns of B take
    while few rows of A at a time pass by. Of whole depth where that is short."""
    if k <= 256:
        rows = min(m, 2048)
        return {} if m % rows or n % 1024 else {"rows": rows, "block_m": 64, "block_n": 1024}
    rows = min(m, 2048)
    while rows > 256 and (m // rows) * (n // 512) < threads:
        rows //= 2
    fits = m % rows == 0 and n % 512 == 0 and k % 512 == 0 and rows % 32 == 0
    return {"rows": rows, "block_m": 32, "block_n": 512, "block_k": 512} if fits else {}


def fast_blocks(m: int, n: int, k: int) -> dict[str, int]:
    """For AMX, by pieces: those of a tile of B, six bytes for each element of float32, take a fifth
    of a second-level cache of 2 MB, and many rows of A pass by. By blocks where that doesn't fit.
    """
    rows = min(m, 2048)
    if m % rows or rows % 64 or n % 512 or k % 128:
        return {"block_m": 512, "block_n": 256, "block_k": 128}
    return {"rows": rows, "block_m": 64, "block_n": 512, "block_k": 128}


def blocks_by_sums(m: int, n: int, k: int, threads: int) -> dict[str, int]:
    """For AMD's AVX-512, by Winograd's inner products: what prepares a tile of B takes as long as
    some 30 rows of A."""
    rows = min(m, 2048)
    while rows > 256 and (m // rows) * (n // 512) < 2 * threads:
        rows //= 2
    fits = m % rows == 0 and rows % 64 == 0 and n % 512 == 0 and k % 512 == 0
    if fits:
        return {"rows": rows, "block_m": 64, "block_n": 512, "block_k": 512}
    return {"block_m": 256, "block_n": 256, "block_k": 256}


def gemm_blocks(m: int, n: int, k: int, dtype: str) -> dict[str, int]:
    """Two blocks of A and B and the accumulators fill most of a second-level cache of 1 MB."""
    from tilewright import _compiler, _runtime

    long = long_blocks(m, n, k, dtype, _runtime.get_num_threads())
    if long:
        return long
    cpu = _compiler.host_cpu()
    if m <= 64 and dtype.startswith("float") and "avx512" in cpu and not cpu.startswith("znver"):
        # Long runs of B, which meets few rows: the memory's time counts.
        most = min(n // _runtime.get_num_threads(), 1024)
        return {"block_m": m, "block_n": max(256, most // 256 * 256), "block_k": 64}
    pairs = 512 if "avx512" in cpu else 256
    depth = {"float32": 128, "float16": 128, "bfloat16": pairs, "int8": 512}[dtype]
    height = 512 if dtype == "int8" and m >= 1024 else 256
    return {
        "block_m": min(m, height),
        "block_n": 256 if m > 64 else 128,
        "block_k": min(k, depth),
    }


def gemm(dtype: str, m: int, k: int, n: int, fast: bool = False) -> Speed:
    """C = A B; fast: by fast math and errors by norm, where that has products of its own."""
    import torch

    from tilewright import _runtime

    kind = getattr(torch, dtype)
    if dtype == "int8":
        a = torch.randint(-128, 128, (m, k), dtype=kind)
        b = torch.randint(-128, 128, (k, n), dtype=kind)
        out = torch.empty(m, n, dtype=torch.int32)
    else:
        a, b = torch.randn(m, k).to(kind), torch.randn(k, n).to(kind)
        out = torch.empty(m, n, dtype=kind)
    form = gemm_blocks(m, n, k, dtype)
    if fast and on_tiles("bfloat16"):
        form = {"fast": True, **fast_blocks(m, n, k)}
    elif fast and adds_beside_multiplying():
        form = {"fast": True, **blocks_by_sums(m, n, k, _runtime.get_num_threads())}
    run = kernel("gemm", m=m, n=n, k=k, dtype=dtype, **form)
    run(a, b, out)
    check(out[:8], a[:8].double() @ b.double(), dtype)
    if dtype == "int8":
        peer, peer_share = lambda: torch._int_mm(a, b), 1.0
    else:
        peer, peer_share = matmul(a, b, torch.empty_like(out))
    return Speed(lambda: run(a, b, out), peer, 2e-9 * m * n * k, "GFLOP/s", peer_share)


def matmul(left: Any, right: Any, out: Any) -> tuple[Callable[[], Any], float]:  # noqa: ANN401
    """torch.matmul, of fewer rows where all of them would take more than 2 s, and the share of
    the rows."""
    import torch

    rows = max(1, left.shape[0] // 64)
    begin = time.perf_counter()
    torch.matmul(left[:rows], right, out=out[:rows])
    torch.matmul(left[:rows], right, out=out[:rows])
    whole_s = (time.perf_counter() - begin) / 2 * left.shape[0] / rows
    used = left.shape[0] if whole_s < 2 else max(rows, int(left.shape[0] * 2 / whole_s))
    some, target = left[:used], out[:used]
    return lambda: torch.matmul(some, right, out=target), used / left.shape[0]


def attention_form(dtype: str, causal: bool, dim: int) -> dict[str, int]:
    """By columns where products of tiles have no instruction: but for bfloat16 on AVX-512, which
    multiplies pairs, and AMX (docs/cpu-speed-notes.md), which takes all types by rows. With AMX
    packing K and V counts: many queries share it. Strips of four vectors on AVX-512, so that a
    number of K or V that is loaded serves four multiplications. AMD's were measured best with one
    there, and many queries a block, for which K and V are prepared. On AVX2 V lies in panels where
    it is wide or converted anyway, for which many queries pay."""
    from tilewright import _compiler

    if on_tiles("bfloat16"):  # float32 in pieces, of which fewer keys fill the caches
        keys = 128 if dtype == "float32" else 256
        return {"block_m": 256 if causal else 512, "block_n": keys}
    cpu = _compiler.host_cpu()
    if not (dtype == "float32" if "avx512" in cpu else "avx2" in cpu):
        return {}
    if "avx512" in cpu and not cpu.startswith("znver"):
        return {"strip": 64, "block_m": 256, "block_n": 64}
    if adds_beside_multiplying():
        return {"strip": 16, "block_m": 1024, "block_n": 128}
    panels = "avx512" not in cpu and (dim > 64 or dtype == "bfloat16")
    if panels and not causal:
        return {"strip": 16, "block_m": 512, "block_n": 64, "panel": 16}
    form = {"strip": 16, "block_m": 256, "block_n": 64 if causal else 128}
    return {**form, "panel": 16} if panels else form


def flash_attention(dtype: str, length: int, dim: int, causal: bool) -> Speed:
    """16 heads."""
    import torch

    attend = torch.nn.functional.scaled_dot_product_attention
    kind, heads = getattr(torch, dtype), 16
    q, k, v = (torch.randn(1, heads, length, dim).to(kind) for _ in range(3))
    out = torch.empty(heads, length, dim, dtype=kind)
    shape = {"heads": heads, "length": length, "dim": dim, "dtype": dtype, "causal": causal}
    run = kernel("flash_attention", **shape, **attention_form(dtype, causal, dim))
    run(q[0], k[0], v[0], out)
    # The first 64 rows of one head; causal ones see no other columns.
    seen = 64 if causal else length
    some = [x[:, :1, :count].double() for x, count in ((q, 64), (k, seen), (v, seen))]
    check(out[:1, :64], attend(*some, is_causal=causal)[0], dtype)
    return Speed(
        lambda: run(q[0], k[0], v[0], out),
        lambda: attend(q, k, v, is_causal=causal),
        4e-9 * heads * length * length * dim * (0.5 if causal else 1),
        "GFLOP/s",
    )


def linear_form(operator: str, m: int, dtype: str) -> dict[str, int]:
    """Deep tiles by `T.gemm` where it reads W where it lies: on AVX-512. On AMX W is multiplied by
    rows of tiles, which takes 16 rows of A."""
    from tilewright import _compiler

    if m == 16 and on_tiles(dtype):
        wide_or_deep = {"block_n": 512, "block_k": 256}
        if operator == "linear":
            wide_or_deep = {"block_n": 1024, "block_k": 4096}
        return {**wide_or_deep, "w_left": True}
    if "avx512" not in _compiler.host_cpu():
        return {}
    deep = {"block_k": 1024 if dtype == "float32" and m > 1 else 2048}
    if operator == "linear":
        return {**deep, "gemm_from": 1}
    # One row of A: the weights that become bfloat16 stay in the first-level cache.
    return deep if m > 1 else {"gemm_from": 1, "block_n": 16, "block_k": 256}


def linear(operator: str, dtype: str, m: int, k: int, n: int) -> Speed:
    """Few rows: gigabytes of weights per second. The peer of 4 bits has the weights in bfloat16."""
    import torch

    kind = getattr(torch, dtype)
    a, w = torch.randn(m, k).to(kind), torch.randn(n, k).to(kind)
    arguments, out = [a, w], torch.empty(m, n)
    if operator == "linear_int4":
        packed, scale = torch.randint(0, 256, (n, k // 2), dtype=torch.uint8), torch.rand(n)
        w = (torch.cat((packed & 15, packed >> 4), 1).to(kind) - 8) * scale[:, None].to(kind)
        arguments = [a, packed, scale]
    run = kernel(operator, m=m, n=n, k=k, dtype=dtype, **linear_form(operator, m, dtype))
    run(*arguments, out)
    check(out, a.double() @ w.double().T, dtype)
    return Speed(
        lambda: run(*arguments, out),
        lambda: torch.nn.functional.linear(a, w),
        arguments[1].nbytes * 1e-9,
        "GB/s",
    )


def swiglu_form() -> dict[str, int]:
    """Blocks of 8192 elements on Intel's AVX-512: the longer the runs, the less the pages of a
    virtual machine cost. Elsewhere the next pages are asked for, and blocks of 2 KB are best."""
    from tilewright import _compiler

    cpu = _compiler.host_cpu()
    return {"block": 8192} if "avx512" in cpu and not cpu.startswith("znver") else {}


def wide(operator: str, dtype: str, beside_copy: bool) -> Speed:
    """An operator whose time is that of moving 64 MB in and out."""
    import torch

    functional = torch.nn.functional
    kind, columns = getattr(torch, dtype), 4096
    rows_ = (64 << 20) // (columns * kind.itemsize)
    x, out = torch.randn(rows_, columns).to(kind), torch.empty(rows_, columns, dtype=kind)
    w, b = torch.randn(2, columns).to(kind)
    moved = 2 * x.nbytes
    eager: Callable[[], Any]
    if operator == "softmax":
        run, arguments = kernel(operator, rows=rows_, columns=columns, dtype=dtype), [x]
        eager = lambda: torch.softmax(x, -1)  # noqa: E731
    elif operator == "rms_norm":
        run, arguments = kernel(operator, rows=rows_, columns=columns, dtype=dtype), [x, w]
        eager = lambda: functional.rms_norm(x, (columns,), w, 1e-6)  # noqa: E731
    elif operator == "layer_norm":
        run, arguments = kernel(operator, rows=rows_, columns=columns, dtype=dtype), [x, w, b]
        eager = lambda: functional.layer_norm(x, (columns,), w, b)  # noqa: E731
    elif operator == "swiglu":
        other = torch.randn(x.numel()).to(kind)
        x, out, moved = x.view(-1), out.view(-1), 3 * x.nbytes
        run = kernel(operator, count=x.numel(), dtype=dtype, **swiglu_form())
        arguments = [x, other]
        eager = lambda: functional.silu(x) * other  # noqa: E731
    else:
        x, out = x.view(rows_, 32, 128), out.view(rows_, 32, 128)
        cos, sin = torch.randn(2, rows_, 64)
        run, arguments = (
            kernel(operator, length=rows_, heads=32, dim=128, dtype=dtype),
            [x, cos, sin],
        )
        eager = lambda: turned(x, cos, sin)  # noqa: E731
    run(*arguments, out)
    check(out, eager(), dtype)
    copied = torch.empty_like(x)
    if beside_copy:
        # A copy moves 2 tensors, a chain of two inputs 3.
        peer, share = lambda: copied.copy_(x), 2 * x.nbytes / moved
        return Speed(lambda: run(*arguments, out), peer, moved * 1e-9, "GB/s", share)
    return Speed(lambda: run(*arguments, out), eager, moved * 1e-9, "GB/s")


def turned(x: Any, cos: Any, sin: Any) -> Any:  # noqa: ANN401 - torch may be missing
    """Rope as one writes it in PyTorch."""
    import torch

    left, right = x.chunk(2, dim=-1)
    c, s = cos[:, None].to(x.dtype), sin[:, None].to(x.dtype)
    return torch.cat((left * c - right * s, right * c + left * s), -1)


def check(actual: Any, exact: Any, dtype: str) -> None:  # noqa: ANN401
    """Refuses a wrong kernel."""
    error = float((actual.double() - exact.double()).abs().max() / exact.double().abs().max())
    if not error <= TOLERANCE[dtype]:
        raise RuntimeError(f"the kernel is wrong: error {error}")


def measure(row: str) -> dict[str, object]:
    """One row, with as many threads for both."""
    import pairs
    import torch

    from tilewright import _runtime

    torch.set_num_threads(_runtime.get_num_threads())
    operator, short, shape, *more = row.split("/")
    dtype = DTYPES[short]
    torch.manual_seed(0)
    if operator.startswith("gemm"):
        m, k, n = map(int, shape.split("x"))
        speed = gemm(dtype, m, k, n, operator == "gemm_fast")
    elif operator.startswith("linear"):
        m, k, n = map(int, shape.split("x"))
        speed = linear(operator, dtype, m, k, n)
    elif operator == "flash_attention":
        length, dim = map(int, shape.split("x"))
        speed = flash_attention(dtype, length, dim, more == ["causal"])
    else:
        speed = wide(operator, dtype, more == ["copy"])
    measured = pairs.measure(speed.ours, speed.peer, 0.05, 25)
    return {
        "ours": [speed.work / seconds for seconds in measured.ours],
        "peer": [speed.work * speed.peer_share / seconds for seconds in measured.peer],
        "ratio": measured.ratio(speed.peer_share),
    }
