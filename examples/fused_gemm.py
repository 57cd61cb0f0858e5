# SPDX-License-Identifier: Apache-2.0
"""ReLU(A B scale) as one kernel: checked against NumPy in float64, and timed beside PyTorch.

Run it by `make demo`, or `python examples/fused_gemm.py --size 512 --dtype float16`.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time

import numpy as np

import tilewright
import tilewright.language as T

PAIRS = 11
SECONDS_PER_PAIR = 0.1
SECONDS = 10.0
TOLERANCE = {"float32": 1e-4, "float16": 1e-2}


@tilewright.jit(out_idx=[2])
def matmul_scale_relu(M, N, K, dtype, block_M=256, block_N=256, block_K=64):
    """The kernel for one shape. C comes third and is made by the call: kernel(a, b, scale)."""

    @T.prim_func
    def fused_gemm(
        A: T.Tensor((M, K), dtype),
        B: T.Tensor((K, N), dtype),
        C: T.Tensor((M, N), dtype),
        scale: T.float32,
    ):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
            A_shared = T.alloc_shared((block_M, block_K), dtype)
            B_shared = T.alloc_shared((block_K, block_N), dtype)
            C_local = T.alloc_fragment((block_M, block_N), "float32")
            T.clear(C_local)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=3):
                T.copy(A[by * block_M, k * block_K], A_shared)
                T.copy(B[k * block_K, bx * block_N], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            for i, j in T.Parallel(block_M, block_N):
                C_local[i, j] = T.max(C_local[i, j] * scale, T.float32(0.0))
            T.copy(C_local, C[by * block_M, bx * block_N])

    return fused_gemm


def largest_error(result, a, b, scale):
    """The largest difference from float64, relative to the largest element."""
    exact = np.maximum(a.astype(np.float64) @ b.astype(np.float64) * scale, 0.0)
    return float(np.abs(np.asarray(result, np.float64) - exact).max() / np.abs(exact).max())


def seconds_per_call(function, calls):
    """The mean of so many calls."""
    start = time.perf_counter()
    for _ in range(calls):
        function()
    return (time.perf_counter() - start) / calls


def calls_per_pair(function):
    """How many calls take SECONDS_PER_PAIR; one where a call takes longer."""
    first = seconds_per_call(function, 1)
    warm = first if first > SECONDS_PER_PAIR else seconds_per_call(function, 1)
    return max(1, int(SECONDS_PER_PAIR / max(warm, 1e-6)))


def interleaved_medians(ours, peer):
    """Seconds per call of both, each the median of pairs that take turns, and how many pairs: fewer
    where the peer is so slow that PAIRS of them would take longer than SECONDS."""
    calls, peer_calls = calls_per_pair(ours), calls_per_pair(peer)
    pairs = []
    start = time.perf_counter()
    while len(pairs) < PAIRS and (not pairs or time.perf_counter() - start < SECONDS):
        first = seconds_per_call(ours, calls)
        # A peer's threads spin for a while after its call: let them fall asleep.
        second = seconds_per_call(peer, peer_calls)
        time.sleep(0.05)
        pairs.append((first, second))
    ours_median, peer_median = map(statistics.median, zip(*pairs, strict=True))
    return ours_median, peer_median, len(pairs)


def shown(seconds, gigaflops):
    """The time of a call, and its speed."""
    return f"{seconds * 1e3:8.3f} ms  {gigaflops / seconds:8.1f} GFLOP/s"


def peer_of(a, b, scale):
    """The name of what we compare with, and the same computation in it."""
    try:
        import torch
    except ImportError:
        return "NumPy", lambda: np.maximum(a @ b * np.float32(scale), 0)
    torch_a, torch_b = torch.from_numpy(a), torch.from_numpy(b)
    return "PyTorch", lambda: torch.relu((torch_a @ torch_b) * scale)


def main():
    """Compiles, checks, times; gives 1 if the result is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=1024, help="rows and columns of A and B")
    parser.add_argument("--dtype", choices=TOLERANCE, default="float32")
    options = parser.parse_args()
    size, dtype, scale = options.size, options.dtype, 0.5

    with tempfile.TemporaryDirectory() as cache:  # an empty cache: the compile time is a cold one
        os.environ["TILEWRIGHT_CACHE_DIR"] = cache
        start = time.perf_counter()
        kernel = matmul_scale_relu(size, size, size, dtype)
        compile_seconds = time.perf_counter() - start

    random = np.random.default_rng(0)
    a = random.standard_normal((size, size)).astype(dtype)
    b = random.standard_normal((size, size)).astype(dtype)
    error = largest_error(kernel(a, b, scale), a, b, scale)
    good = error < TOLERANCE[dtype]

    gigaflops = 2e-9 * size**3
    print(
        f"ReLU(A B scale), {dtype}, {size} x {size} x {size}, on the CPU ({os.cpu_count()} cores)"
    )
    print(
        f"  check       {'right' if good else 'WRONG'}: error {error:.1e} against NumPy in float64"
    )
    print(f"  compile     {compile_seconds:.3f} s, cold")

    def call():
        return kernel(a, b, scale)

    calls = calls_per_pair(call)
    alone = statistics.median(seconds_per_call(call, calls) for _ in range(5))
    print(f"  Tilewright  {shown(alone, gigaflops)}, alone", flush=True)

    name, peer = peer_of(a, b, scale)
    ours, theirs, pairs = interleaved_medians(call, peer)
    print(f"  Tilewright  {shown(ours, gigaflops)}, median of {pairs}, in turns with {name}")
    print(f"  {name:<11} {shown(theirs, gigaflops)}")
    print(f"  ratio       {theirs / ours:8.2f}  (above 1: Tilewright is faster)")
    return 0 if good else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        sys.exit(130)
