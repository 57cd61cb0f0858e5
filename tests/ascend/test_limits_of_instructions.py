# SPDX-License-Identifier: Apache-2.0
"""What is more than one instruction can say: the distance of a tensor's rows, as in the last layer
of a language model, and the number of rows to spread numbers over."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright.language as T
from tilewright.cli.ascendc import program

DEVICE = Path(__file__).resolve().parents[2] / "device" / "ascend"

random = np.random.default_rng(65)
GROUP = KernelGroup()


@GROUP.each(dtype=["float16", "float32", "int8"], width=[65535, 65536, 70001], fixed=[True, False])
def product(dtype: str, width: int, fixed: bool) -> Any:
    """The last columns of two tensors, one as it lies and one transposed, with tails."""
    accum = "int32" if dtype == "int8" else "float32"
    W = width if fixed else T.dynamic("w")

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((20, W), dtype), B: T.Tensor((64, W), dtype), C: T.Tensor((20, W), accum)
    ):
        with T.Kernel(1, is_npu=True) as (cid, _):
            a = T.alloc_L1((32, 64), dtype)
            b = T.alloc_L1((64, 32), dtype)
            c = T.alloc_L0C((32, 32), accum)
            T.copy(A[0, W - 40], a)
            T.copy(B[0, W - 32], b)
            T.gemm_v0(a, b, c, init=True)
            T.copy(c, C[0, W - 33])

    a, b = (random.integers(-8, 8, (rows, width)).astype(dtype) for rows in (20, 64))
    expected = np.zeros((20, width))
    left = a[:, -40:].astype(np.float64)
    expected[:, -33:-1] = left @ b[:40, -32:].astype(np.float64)
    return main, [a, b, np.zeros((20, width), accum)], expected


@GROUP.each(rows=[2032, 2050, 2500], dtype=["float16", "float32"])
def spread(rows: int, dtype: str) -> Any:
    """A number per row becomes the row."""

    @T.prim_func
    def main(A: T.Tensor((rows,), dtype), C: T.Tensor((rows, 8), dtype)):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((rows, 1), dtype)
            c = T.alloc_ub((rows, 8), dtype)
            T.copy(A, a[:, 0])
            T.tile.broadcast(c, a)
            T.copy(c, C)

    a = random.standard_normal(rows).astype(dtype)
    return main, [a, np.zeros((rows, 8), dtype)], np.repeat(a[:, None], 8, 1).astype(np.float64)


@pytest.mark.parametrize("name", GROUP.cases)
def test_numbers(name: str) -> None:
    GROUP.check(name)


def test_verdicts() -> None:
    GROUP.check_removals("product float16 70001 True")


#: Three rows, each of which begins more than 4 GiB behind the one before. Of the memory between
#: nothing is ever touched, so that there is none.
FAR_ROWS = """
#include "acl/acl.h"
#include "kernel_operator.h"
#include "tilewright_ascend.h"
#include <cstdio>
#include <vector>
using namespace AscendC;
using namespace tilewright;

constexpr uint64_t pitch = (1ull << 32) + 96, bytes = 2 * pitch + 64;

extern "C" __global__ __aicore__ void far_rows(GM_ADDR x) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GlobalTensor<int32_t> a;
  a.SetGlobalBuffer((__gm__ int32_t*)x);
  auto ub = localTensor<int32_t>(TPosition::VECCALC, 0, 24);
  copyGmToUb(ub, a, 3, 8, pitch / 4, 8);
  PipeBarrier<PIPE_ALL>();
  copyUbToGm(a[8], ub, 3, 8, 8, pitch / 4);
  PipeBarrier<PIPE_ALL>();
  addUbToGm(a[8], ub, 3, 8, 8, pitch / 4);
}

int main() {
  aclInit(nullptr);
  aclrtSetDevice(0);
  uint8_t* x = nullptr;
  if (aclrtMalloc(reinterpret_cast<void**>(&x), bytes, ACL_MEM_MALLOC_HUGE_FIRST))
    return 2;
  for (int32_t row = 0; row < 3; ++row) {
    std::vector<int32_t> numbers(8, row + 5);
    aclrtMemcpy(x + row * pitch, 32, numbers.data(), 32, ACL_MEMCPY_HOST_TO_DEVICE);
  }
  aclrtStream stream;
  aclrtCreateStream(&stream);
  far_rows<<<1, nullptr, stream>>>(x);
  if (aclrtSynchronizeStream(stream))
    return 3;
  for (int32_t row = 0; row < 3; ++row) {
    std::vector<int32_t> numbers(8);
    aclrtMemcpy(numbers.data(), 32, x + row * pitch + 32, 32, ACL_MEMCPY_DEVICE_TO_HOST);
    printf("%d %d\\n", numbers.front(), numbers.back());
  }
  aclrtFree(x);
}
"""


def test_rows_more_than_4_gib_apart(tmp_path: Path) -> None:
    """The DMA of UB counts what lies between two rows with 32 bits."""
    source, made = tmp_path / "far.cpp", tmp_path / "far"
    source.write_text(FAR_ROWS)
    subprocess.run([program(), "build", source, f"-I{DEVICE}", "-o", made], check=True)
    told = subprocess.run([made], capture_output=True, text=True, check=False)
    assert (told.returncode, told.stderr) == (0, "")
    assert told.stdout.split() == ["10", "10", "12", "12", "14", "14"]


#: Two rows of half, 2^32 + 96 elements apart, of a product of 32 x 32 that the cube core makes.
FAR_PRODUCTS = """
#include "acl/acl.h"
#include "kernel_operator.h"
#include "tilewright_ascend.h"
#include <cstdio>
#include <vector>
using namespace AscendC;
using namespace tilewright;

constexpr uint64_t pitch = (1ull << 32) + 96, bytes = 2 * pitch + 64;

extern "C" __global__ __aicore__ void far_products(GM_ADDR a, GM_ADDR x) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
  GlobalTensor<half> from, to;
  from.SetGlobalBuffer((__gm__ half*)a);
  to.SetGlobalBuffer((__gm__ half*)x);
  auto l1 = localTensor<half>(TPosition::A1, 0, 1024);
  auto l0a = localTensor<half>(TPosition::A2, 0, 1024);
  auto l0b = localTensor<half>(TPosition::B2, 0, 1024);
  auto l0c = localTensor<float>(TPosition::CO1, 0, 1024);
  copyGmToL1(l1, from, 32, 32, 32, 32);
  PipeBarrier<PIPE_ALL>();
  copyL1ToL0A(l0a, l1, 0, 0, 32, 32, 32);
  copyL1ToL0B(l0b, l1, 0, 0, 32, 32, 32);
  PipeBarrier<PIPE_ALL>();
  multiply(l0c, l0a, l0b, 32, 32, 32, true);
  PipeBarrier<PIPE_ALL>();
  copyL0cToGm(to, l0c, 2, 32, 32, pitch);
}

int main() {
  aclInit(nullptr);
  aclrtSetDevice(0);
  uint8_t *a = nullptr, *x = nullptr;
  if (aclrtMalloc(reinterpret_cast<void**>(&x), bytes, ACL_MEM_MALLOC_HUGE_FIRST))
    return 2;
  aclrtMalloc(reinterpret_cast<void**>(&a), 2048, ACL_MEM_MALLOC_HUGE_FIRST);
  std::vector<half> numbers(1024, half(0.0f)), row(32);
  for (int at = 0; at < 32; ++at) // times two
    numbers[33 * at] = half(2.0f);
  numbers[40] = half(3.0f); // row 1, column 8
  aclrtMemcpy(a, 2048, numbers.data(), 2048, ACL_MEMCPY_HOST_TO_DEVICE);
  aclrtStream stream;
  aclrtCreateStream(&stream);
  far_products<<<1, nullptr, stream>>>(a, x);
  if (aclrtSynchronizeStream(stream))
    return 3;
  for (uint64_t at = 0; at < 2; ++at) {
    aclrtMemcpy(row.data(), 64, x + at * 2 * pitch, 64, ACL_MEMCPY_DEVICE_TO_HOST);
    printf("%g %g %g\\n", float(row[0]), float(row[1]), float(row[8]));
  }
  aclrtFree(x);
}
"""


def test_products_to_rows_more_than_32_bits_apart(tmp_path: Path) -> None:
    """Fixpipe counts the elements from one row to the next with 32 bits."""
    source, made = tmp_path / "far.cpp", tmp_path / "far"
    source.write_text(FAR_PRODUCTS)
    subprocess.run([program(), "build", source, f"-I{DEVICE}", "-o", made], check=True)
    told = subprocess.run([made], capture_output=True, text=True, check=False)
    assert (told.returncode, told.stderr) == (0, "")
    assert told.stdout.split() == ["4", "0", "0", "0", "4", "12"]
