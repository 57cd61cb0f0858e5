# SPDX-License-Identifier: Apache-2.0
"""Kernels compiled to Ascend C and run by the host, against NumPy in float64. No hazard is found:
a finding would raise."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import tilewright
import tilewright.language as T

Array = np.ndarray[Any, Any]
random = np.random.default_rng(3)


@pytest.fixture(autouse=True)
def _own_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_ASCEND_EXIT", "0")


def normal(*shape: int, dtype: str = "float16") -> Array:
    return random.standard_normal(shape).astype(dtype)


def product(a: Array, b: Array) -> Array:
    return a.astype(np.float64) @ b.astype(np.float64)


def expert_gemm(M: int, N: int, K: int, block: tuple[int, int, int], out: str = "float32") -> Any:
    """Seed 002, section 2: memories and barriers by hand."""
    block_M, block_N, block_K = block
    n_num = -(-N // block_N)

    @T.prim_func
    def gemm(
        A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"), C: T.Tensor((M, N), out)
    ):  # type: ignore[no-untyped-def]
        with T.Kernel(T.ceildiv(M, block_M) * n_num, is_npu=True) as (cid, _):
            bx = cid // n_num
            by = cid % n_num
            A_L1 = T.alloc_L1([block_M, block_K], "float16")
            B_L1 = T.alloc_L1([block_K, block_N], "float16")
            C_L0 = T.alloc_L0C([block_M, block_N], "float32")
            for k in T.serial(T.ceildiv(K, block_K)):
                T.copy(A[bx * block_M, k * block_K], A_L1)
                T.copy(B[k * block_K, by * block_N], B_L1)
                T.barrier_all()
                T.gemm_v0(A_L1, B_L1, C_L0, init=(k == 0))
                T.barrier_all()
            T.copy(C_L0, C[bx * block_M, by * block_N])

    return gemm


@pytest.mark.parametrize(
    "shape, block, out",
    [
        ((256, 512, 256), (128, 256, 64), "float32"),
        ((128, 128, 512), (128, 128, 256), "float16"),  # several steps of k in a gemm
        ((100, 200, 136), (64, 128, 64), "float32"),  # all edges cut
        ((40, 24, 72), (16, 16, 32), "bfloat16"),
    ],
)
def test_expert_gemm(shape: tuple[int, int, int], block: tuple[int, int, int], out: str) -> None:
    if out == "bfloat16":
        pytest.importorskip("ml_dtypes")
    M, N, K = shape
    kernel = tilewright.compile(expert_gemm(M, N, K, block, out), out_idx=[-1], target="ascend")
    a, b = normal(M, K), normal(K, N)
    tolerance = {"float32": 1e-4, "float16": 2e-3, "bfloat16": 2e-2}[out]
    result = np.asarray(kernel(a, b)).astype(np.float64)
    np.testing.assert_allclose(result, product(a, b), rtol=tolerance, atol=tolerance * 10)
    source = kernel.get_kernel_source()
    assert "KERNEL_TYPE_AIC_ONLY" in source and "copyGmToL1(A_L1, " in source


def test_source_names_lines() -> None:
    kernel = tilewright.compile(expert_gemm(64, 64, 64, (64, 64, 64)), target="ascend")
    line = expert_gemm.__code__.co_firstlineno
    source = kernel.get_kernel_source()
    assert f"// test_ascend_target.py:{line + 16}\n" in source
    assert "gemm_kernel<<<cores, nullptr, stream>>>" in source
    assert "#line" not in source


def copy_kernel(flag: bool) -> Any:
    @T.prim_func
    def move(A: T.Tensor((64, 48), "float32"), B: T.Tensor((64, 48), "float16")):  # type: ignore[no-untyped-def]
        with T.Kernel(4, is_npu=True) as (cid, vid):
            x = T.alloc_ub((8, 48), "float32")
            y = T.alloc_ub((8, 48), "float16")
            T.copy(A[cid * 16 + vid * 8, 0], x)
            if flag:
                T.set_flag("mte2", "v", 0)
                T.wait_flag("mte2", "v", 0)
            T.copy(x, y)
            T.set_flag("v", "mte3", 0)
            T.wait_flag("v", "mte3", 0)
            T.copy(y, B[cid * 16 + vid * 8, 0])

    return move


def test_vector_kernel() -> None:
    kernel = tilewright.compile(copy_kernel(True), out_idx=[-1], target="ascend")
    a = normal(64, 48, dtype="float32")
    np.testing.assert_array_equal(kernel(a), a.astype(np.float16))
    assert "KERNEL_TYPE_AIV_ONLY" in kernel.get_kernel_source()


@pytest.mark.filterwarnings("ignore")
def test_missing_flag_is_found() -> None:
    kernel = tilewright.compile(copy_kernel(False), out_idx=[-1], target="ascend")
    with pytest.raises(RuntimeError, match="the kernel failed") as caught:
        kernel(normal(64, 48, dtype="float32"))
    # The finding names the kernel's own line, and the flag in the kernel's own language.
    text = str(caught.value)
    assert "test_ascend_target.py" in text and "T.copy(x, y)" in text
    assert 'T.set_flag("mte2", "v", id)' in text and 'T.wait_flag("mte2", "v", id)' in text


AUTO = {
    "tl.ascend_auto_sync": True,
    "tl.ascend_memory_planning": True,
    "tl.ascend_auto_cv_combine": True,
    "tl.ascend_auto_cross_core_sync": True,
}


def softmax(rows: int, columns: int, block: int) -> Any:
    @T.prim_func
    def rows_softmax(
        A: T.Tensor((rows, columns), "float32"), B: T.Tensor((rows, columns), "float32")
    ):  # type: ignore[no-untyped-def]
        with T.Kernel(rows // (2 * block), is_npu=True) as (cid, vid):
            x = T.alloc_shared((block, columns), "float32")
            m = T.alloc_shared((block,), "float32")
            row = (cid * 2 + vid) * block
            T.copy(A[row, 0], x)
            T.reduce_max(x, m, dim=-1)
            for i, j in T.Parallel(block, columns):
                x[i, j] = T.exp(x[i, j] - m[i])
            T.reduce_sum(x, m, dim=-1)
            for i, j in T.Parallel(block, columns):
                x[i, j] = x[i, j] / m[i]
            T.copy(x, B[row, 0])

    return rows_softmax


@pytest.mark.parametrize("columns", [64, 200])
def test_softmax(columns: int) -> None:
    kernel = tilewright.compile(
        softmax(64, columns, 16), out_idx=[-1], target="ascend", pass_configs=AUTO
    )
    a = normal(64, columns, dtype="float32")
    e = np.exp(a.astype(np.float64) - a.max(axis=1, keepdims=True))
    np.testing.assert_allclose(kernel(a), e / e.sum(axis=1, keepdims=True), rtol=1e-5)


def fused_gemm(M: int, N: int, K: int) -> Any:
    """Seed 001's kernel, written for a GPU."""

    @T.prim_func
    def gemm_fused(
        A: T.Tensor((M, K), "float16"),
        B: T.Tensor((K, N), "float16"),
        C: T.Tensor((M, N), "float16"),
        scale: T.float32,
    ):  # type: ignore[no-untyped-def]
        with T.Kernel(T.ceildiv(N, 64), T.ceildiv(M, 64), threads=128) as (bx, by):
            A_shared = T.alloc_shared((64, 32), "float16")
            B_shared = T.alloc_shared((32, 64), "float16")
            C_local = T.alloc_fragment((64, 64), "float32")
            T.clear(C_local)
            for k in T.Pipelined(T.ceildiv(K, 32), num_stages=3):
                T.copy(A[by * 64, k * 32], A_shared)
                T.copy(B[k * 32, bx * 64], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            for i, j in T.Parallel(64, 64):
                v_acc = C_local[i, j]
                v_scaled = v_acc * scale
                v_relu = T.max(v_scaled, T.float32(0.0))
                C_local[i, j] = v_relu
            T.copy(C_local, C[by * 64, bx * 64])

    return gemm_fused


def test_kernel_for_a_gpu() -> None:
    kernel = tilewright.compile(fused_gemm(128, 192, 96), out_idx=[2], target="ascend")
    a, b = normal(128, 96), normal(96, 192)
    expected = np.maximum(product(a, b) * 0.5, 0)
    np.testing.assert_allclose(kernel(a, b, 0.5), expected, rtol=2e-3, atol=2e-2)


def test_function_that_no_unit_has() -> None:
    @T.prim_func
    def angle(A: T.Tensor((64,), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (cid, vid):
            x = T.alloc_ub((64,), "float32")
            T.copy(A, x)
            x[0] = T.atan(x[1])
            T.copy(x, A)

    message = "unsupported on ascend: atan has no statement in Ascend C"
    with pytest.raises(tilewright.CompileError, match=message) as caught:
        tilewright.compile(angle, target="ascend", pass_configs=AUTO)
    assert len(caught.value.errors) == 1


def test_loops_keep_their_names() -> None:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float16")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (cid, vid):
            x = T.alloc_ub((16,), "float16")
            for step in T.serial(4):
                for k in T.serial(2, 6):
                    T.copy(A[k * 8, step * 16], x)
                for union in T.serial(3):
                    T.copy(x, A[union, step * 16])
            for step in T.serial(4):
                T.copy(x, A[step, 0])
            for virtual in T.serial(2):
                for larger in T.serial(3):
                    T.copy(x, A[T.max(virtual, larger), 0])

    text = tilewright.compile(main, target="ascend", pass_configs=AUTO).get_kernel_source()
    loops = [line.strip() for line in text.splitlines() if "for (" in line]
    assert loops == [
        "for (int64_t step = 0; step < 4; ++step) {",
        "for (int64_t k = 2; k < 6; ++k) {",
        "for (int64_t union_1 = 0; union_1 < 3; ++union_1) {",
        "for (int64_t step = 0; step < 4; ++step) {",
        "for (int64_t virtual_1 = 0; virtual_1 < 2; ++virtual_1) {",
        "for (int64_t larger = 0; larger < 3; ++larger) {",
    ]


def test_unknown_chip() -> None:
    message = "there is no Ascend chip '310P'; there are: 910B1, 910B2, 910B3, 910B4, 910_9391"
    with pytest.raises(tilewright.CompileError, match=message):
        tilewright.compile(softmax(64, 64, 16), target="ascend", cpu="310P")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("out", ["float16", "float32"])
def test_sums_that_there_are_not_are_told_once(dtype: str, out: str) -> None:
    @T.prim_func
    def gemm(
        A: T.Tensor((32, 32), dtype), B: T.Tensor((32, 32), dtype), C: T.Tensor((32, 32), out)
    ):  # type: ignore[no-untyped-def,valid-type]
        with T.Kernel(1) as _:
            a = T.alloc_shared((32, 32), dtype)
            b = T.alloc_shared((32, 32), dtype)
            c = T.alloc_fragment((32, 32), dtype)
            T.copy(A, a)
            T.copy(B, b)
            T.gemm(a, b, c, clear_accum=True)
            T.copy(c, C)

    with pytest.raises(tilewright.UnsupportedError, match=f"with sums of {dtype}; the") as caught:
        tilewright.compile(gemm, target="ascend")
    assert str(caught.value).count("error: ") == 1


def layout_gemm(transposes: tuple[bool, bool], dtype: str, accum: str) -> Any:
    M, N, K = 64, 96, 128
    a_shape = (K, M) if transposes[0] else (M, K)
    b_shape = (N, K) if transposes[1] else (K, N)

    @T.prim_func
    def gemm(A: T.Tensor(a_shape, dtype), B: T.Tensor(b_shape, dtype), C: T.Tensor((M, N), accum)):  # type: ignore[no-untyped-def,valid-type]
        with T.Kernel(1, is_npu=True) as (cid, _):
            a = T.alloc_L1(a_shape, dtype)
            b = T.alloc_L1(b_shape, dtype)
            c = T.alloc_L0C((M, N), accum)
            T.copy(A, a)
            T.copy(B, b)
            T.gemm_v0(a, b, c, transpose_A=transposes[0], transpose_B=transposes[1], init=True)
            T.copy(c, C)

    return gemm


@pytest.mark.parametrize(
    "transposes, dtype",
    [((True, False), "int8"), ((False, True), "float32"), ((True, True), "float16")],
)
def test_layouts(transposes: tuple[bool, bool], dtype: str) -> None:
    accum = "int32" if dtype == "int8" else "float32"
    kernel = tilewright.compile(
        layout_gemm(transposes, dtype, accum), out_idx=[-1], target="ascend", pass_configs=AUTO
    )
    a, b = (
        random.integers(-8, 8, shape).astype(dtype)
        if dtype == "int8"
        else normal(*shape, dtype=dtype)
        for shape in (
            (128, 64) if transposes[0] else (64, 128),
            (96, 128) if transposes[1] else (128, 96),
        )
    )
    expected = product(a.T if transposes[0] else a, b.T if transposes[1] else b)
    np.testing.assert_allclose(kernel(a, b), expected, rtol=1e-4, atol=1e-3)


def test_gemm_then_add() -> None:
    """The cube core's result goes to both vector cores: workspace, flags and halves by passes."""

    @T.prim_func
    def gemm_add(
        A: T.Tensor((128, 64), "float16"),
        B: T.Tensor((64, 128), "float16"),
        D: T.Tensor((128, 128), "float32"),
        C: T.Tensor((128, 128), "float32"),
    ):  # type: ignore[no-untyped-def]
        with T.Kernel(2, threads=2, is_npu=True) as cid:
            a = T.alloc_shared((64, 64), "float16")
            b = T.alloc_shared((64, 128), "float16")
            c = T.alloc_fragment((64, 128), "float32")
            u = T.alloc_shared((64, 128), "float32")
            d = T.alloc_shared((64, 128), "float32")
            T.copy(A[cid * 64, 0], a)
            T.copy(B, b)
            T.gemm_v0(a, b, c, init=True)
            T.copy(c, u)
            T.copy(D[cid * 64, 0], d)
            for i, j in T.Parallel(64, 128):
                u[i, j] = u[i, j] + d[i, j]
            T.copy(u, C[cid * 64, 0])

    kernel = tilewright.compile(gemm_add, out_idx=[-1], target="ascend", pass_configs=AUTO)
    a, b, d = normal(128, 64), normal(64, 128), normal(128, 128, dtype="float32")
    np.testing.assert_allclose(kernel(a, b, d), product(a, b) + d, rtol=1e-4, atol=1e-4)
    assert "KERNEL_TYPE_MIX_AIC_1_2" in kernel.get_kernel_source()


def test_report_tells_memory_and_waits(tmp_path: Path) -> None:
    kernel = tilewright.compile(
        softmax(64, 64, 16), out_idx=[-1], target="ascend", pass_configs=AUTO
    )
    picture = tmp_path / "memory.svg"
    text = kernel.report(svg=str(picture))
    # x: 16 rows of 64 floats, first in UB.
    assert re.search(r"^ +0 \+ +4096  x  lines \d+ to \d+$", text, re.M)
    assert re.search(
        r"^flag MTE2_V id 0: reduce_max \(line \d+\) needs what T.copy to UB \(line \d+\) writes "
        "to 'x'$",
        text,
        re.M,
    )
    assert picture.read_text().startswith("<svg") and ">x<" in picture.read_text()


def test_report_wants_arguments_as_a_call_does(tmp_path: Path) -> None:
    n = T.symbolic("n")

    @T.prim_func
    def main(A: T.Tensor((n, 64), "float32"), B: T.Tensor((n, 64), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(n, is_npu=True, threads=1) as cid:
            x = T.alloc_ub((64,), "float32")
            T.copy(A[cid, 0:64], x)
            T.copy(x, B[cid, 0:64])

    kernel = tilewright.compile(main, out_idx=[-1], target="ascend", pass_configs=AUTO)
    page = tmp_path / "time.svg"
    needed = r"main: report\(timeline='.*time\.svg'\): n can be any number; give arguments"
    with pytest.raises(ValueError, match=needed):
        kernel.report(timeline=str(page))
    assert "no estimate of its time: n can be any number" in kernel.report()
    for wrong in (normal(64, 32, dtype="float32"), normal(64, 64, dtype="float16")):
        with pytest.raises((TypeError, ValueError)) as in_call:
            kernel(wrong)
        with pytest.raises(in_call.type) as in_report:
            kernel.report(wrong)
        assert str(in_report.value) == str(in_call.value)
    assert kernel.report(normal(8, 64, dtype="float32"), timeline=str(page)) and page.exists()


def test_report_tells_the_time(tmp_path: Path) -> None:
    kernel = tilewright.compile(
        softmax(64, 64, 16), out_idx=[-1], target="ascend", pass_configs=AUTO
    )
    page = tmp_path / "time.html"
    text = kernel.report(normal(64, 64, dtype="float32"), timeline=str(page))
    time = re.match(
        r"estimated time on 910B2: ([0-9.]+) us, ([0-9.]+) of them for the launch\n", text
    )
    assert time and 0 < float(time[2]) < float(time[1]) < 100
    assert re.search(r"^  MTE2  busy +[0-9.]+ us, +[0-9]+%", text, re.M)
    assert re.search(r"^  V     busy .*; waited [0-9.]+ us for flag MTE2_V id \d", text, re.M)
    assert "<script>" in page.read_text()
    picture = tmp_path / "time.svg"
    kernel.report(timeline=str(picture))
    shown = ElementTree.fromstring(picture.read_text())
    texts = [element.text for element in shown.iter("{http://www.w3.org/2000/svg}text")]
    assert {"MTE2", "V", "MTE3"} <= set(texts)
    titles = [element.text or "" for element in shown.iter("{http://www.w3.org/2000/svg}title")]
    assert any("test_ascend_target.py:" in title and " us" in title for title in titles)
    # Zeros where no arguments are given; nothing is computed in time-only mode, and no time less.
    assert kernel.report().splitlines()[0] == text.splitlines()[0]
    assert kernel.report(time_only=True).splitlines()[0] == text.splitlines()[0]


def test_the_device_is_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = tilewright.compile(
        softmax(64, 64, 16), out_idx=[-1], target="ascend", pass_configs=AUTO
    )
    x = normal(64, 64, dtype="float32")
    for right in ("0", ""):
        monkeypatch.setenv("TILEWRIGHT_ASCEND_DEVICE", right)
        kernel(x)
    for wrong in ("first", "0x"):
        monkeypatch.setenv("TILEWRIGHT_ASCEND_DEVICE", wrong)
        message = f"TILEWRIGHT_ASCEND_DEVICE is '{wrong}' but must be the number of a device"
        with pytest.raises(RuntimeError, match=message):
            kernel(x)


def test_report_of_any_size_needs_arguments() -> None:
    n = T.dynamic("n")

    @T.prim_func
    def main(A: T.Tensor((n,), "float32"), C: T.Tensor((n,), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(T.ceildiv(n, 64), is_npu=True, threads=1) as cid:
            a = T.alloc_ub((64,), "float32")
            T.copy(A[cid * 64], a)
            T.copy(a, C[cid * 64])

    kernel = tilewright.compile(main, target="ascend", pass_configs=AUTO)
    assert kernel.report().startswith("no estimate of its time: n can be any number; give arg")
    zeros = np.zeros(128, np.float32)
    assert kernel.report(zeros, zeros).startswith("estimated time on 910B2: ")


@pytest.mark.parametrize("target", [None, "auto"])
def test_a_kernel_for_an_npu_names_its_target(
    target: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nobody else does; a target that is named stays."""

    @T.prim_func
    def main(A: T.Tensor((8, 64), "float32"), C: T.Tensor((8, 64), "float32")):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_ub((8, 64), "float32")
            T.copy(A, x)
            T.tile.add(x, x, 1.0)
            T.copy(x, C)

    for variable in ("TILEWRIGHT_TARGET", "TILELANG_DEFAULT_TARGET"):
        monkeypatch.delenv(variable, raising=False)
    compiled = tilewright.compile(main, out_idx=[-1], target=target, pass_configs=AUTO)
    made = tilewright.jit(lambda: main, out_idx=[-1], target=target, pass_configs=AUTO)()
    a = np.ones((8, 64), np.float32)
    for kernel in (compiled, made):
        assert kernel.target == "ascend"
        np.testing.assert_array_equal(np.asarray(kernel(a)), a + 1)
    refusal = "runs on Ascend cores, which the cpu target lacks"
    with pytest.raises(tilewright.UnsupportedError, match=refusal):
        tilewright.compile(main, target="cpu", pass_configs=AUTO)
    monkeypatch.setenv("TILEWRIGHT_TARGET", "cpu")
    with pytest.raises(tilewright.UnsupportedError, match=refusal):
        tilewright.compile(main, target=target, pass_configs=AUTO)


def test_platforms(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = softmax(64, 64, 16)
    for platform, chip in (("auto", "910B2"), ("A2", "910B2"), ("A3", "910_9391")):
        made = tilewright.compile(kernel, target="ascend", pass_configs=AUTO, platform=platform)
        assert made.report(time_only=True).startswith(f"estimated time on {chip}: ")
    source = made.get_host_source()
    assert source.startswith(f'extern "C" void {made.name}_grid(')
    assert f"{made.name}_launch" in source and made.get_kernel_source().endswith(source)
    with pytest.raises(tilewright.UnsupportedError, match="platform 'A5'; there are: auto, A2, A3"):
        tilewright.compile(kernel, target="ascend", platform="A5")
    monkeypatch.setenv("TL_PLATFORM", "A5")
    with pytest.raises(tilewright.UnsupportedError, match="there is no platform 'A5'"):
        tilewright.compile(kernel, target="ascend")


@pytest.mark.filterwarnings("ignore")
def test_report_of_a_kernel_with_a_hazard() -> None:
    kernel = tilewright.compile(copy_kernel(False), out_idx=[-1], target="ascend")
    text = kernel.report()
    assert text.startswith("no estimate of its time: move: the kernel failed")
    assert "flags and barriers" in text


def test_report_counts_what_a_gemm_orders_by_itself() -> None:
    """Its own flags aside. And behind a simple instruction nothing stands."""

    @T.prim_func
    def main(A: T.Tensor((64, 256), "float16"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_L1((64, 256), "float16")
            c = T.alloc_L0C((64, 64), "float32")
            x = T.alloc_ub((8, 64), "float32")
            with T.Scope("C"):
                T.copy(A, a)
                T.gemm_v0(a, a, c, transpose_B=True, init=True)
                T.copy(c, C)
                T.set_cross_flag("FIX", 0)
            with T.Scope("V"):
                T.wait_cross_flag(0)
                T.copy(C[0:8, 0:64], x)
                T.set_flag("mte2", "v", 0)
                T.wait_flag("mte2", "v", 0)
                T.tile.exp(x, x)
                T.pipe_barrier("v")
                T.tile.add(x, x, 1.0)
                T.set_flag("v", "mte3", 0)
                T.wait_flag("v", "mte3", 0)
                T.copy(x, C[0:8, 0:64])

    kernel = tilewright.compile(main, target="ascend")
    source = kernel.get_kernel_source()
    assert source.count("PipeBarrier<PIPE_V>") == 1
    waits = kernel.report().partition("flags and barriers\n")[2]
    line = main.function.__code__.co_firstlineno + 8
    own_flags = 3  # one of them between the cores
    flags, barriers = source.count("SetFlag<") - own_flags, source.count("PipeBarrier<") - 1
    assert flags > 4
    found = f"{flags} flags" + (f" and {barriers} barrier{'s' * (barriers > 1)}" * (barriers > 0))
    assert waits == f"line {line}: {found}, between parts of the operation there\n"


def mma_kernel(column: int) -> Any:
    @T.prim_func
    def product_in_l0(
        A: T.Tensor((64, 32), "float16"),
        B: T.Tensor((32, 48), "float16"),
        C: T.Tensor((64, 48), "float32"),
    ):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (cid, _):
            a_l1 = T.alloc_L1((64, 32), "float16")
            b_l1 = T.alloc_L1((32, 48), "float16")
            a = T.alloc_L0A((2, 64, 32), "float16")
            b = T.alloc_L0B((32, 48), "float16")
            c = T.alloc_L0C((64, 48), "float32")
            T.copy(A[0, 0], a_l1)
            T.copy(B[0, 0], b_l1)
            T.copy(a_l1, a[1, :, :])
            T.copy(b_l1, b)
            if column == 0:
                T.mma(a[1, :, :], b, c, init=True)
            else:
                T.mma(a[1, :, 0:16], b[column:32, :], c, init=True)
            T.copy(c, C[0, 0])

    return product_in_l0


def test_mma_multiplies_what_is_in_l0() -> None:
    kernel = tilewright.compile(mma_kernel(0), out_idx=[-1], target="ascend", pass_configs=AUTO)
    a, b = normal(64, 32), normal(32, 48)
    np.testing.assert_allclose(kernel(a, b), product(a, b), rtol=1e-4, atol=1e-4)
    assert kernel.get_kernel_source().count("multiply(c, a[2048], b, 64, 48, 32, true)") == 1
    with pytest.raises(tilewright.CompileError, match="b of a gemm is a part of a tile in L0B"):
        tilewright.compile(mma_kernel(16), target="ascend", pass_configs=AUTO)


def test_a_tile_that_is_cut_to_one_column() -> None:
    @T.prim_func
    def edge(A: T.Tensor((20, 1), "float32"), B: T.Tensor((20, 1), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(3, is_npu=True) as (cid, vid):
            x = T.alloc_shared((8, 3), "float32")
            T.copy(A[cid * 8, 0], x)
            for i, j in T.Parallel(8, 3):
                x[i, j] = x[i, j] + 1.0
            T.copy(x, B[cid * 8, 0])

    kernel = tilewright.compile(edge, out_idx=[-1], target="ascend", pass_configs=AUTO)
    a = normal(20, 1, dtype="float32")
    np.testing.assert_array_equal(kernel(a), a + 1)


def test_blocks_dealt_out_in_turn_are_in_bounds() -> None:
    """No copy is clamped where each block takes every third tile, as long as there are some."""

    @T.prim_func
    def double(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(3, is_npu=True) as (cid, vid):
            x = T.alloc_shared((4, 64), "float32")
            for i in T.Pipelined(T.ceildiv(16 - cid, 3), num_stages=2):
                T.copy(A[(i * 3 + cid) * 4, 0], x)
                for p, q in T.Parallel(4, 64):
                    x[p, q] = x[p, q] + x[p, q]
                T.copy(x, B[(i * 3 + cid) * 4, 0])

    kernel = tilewright.compile(double, out_idx=[-1], target="ascend", pass_configs=AUTO)
    a = normal(64, 64, dtype="float32")
    np.testing.assert_array_equal(kernel(a), 2 * a)
    source = kernel.get_kernel_source()
    assert (
        "smaller(" not in source and "x = localTensor<float>(TPosition::VECCALC, 0, 512)" in source
    )


def test_other_targets_have_no_report() -> None:
    kernel = tilewright.compile(softmax(64, 64, 16), target="reference")
    with pytest.raises(tilewright.UnsupportedError) as refused:
        kernel.report()
    assert "target 'reference' has no report; only 'ascend' has" in str(refused.value)


def test_kernel_of_a_library(tmp_path):
    """As TileLang's caches make them: of a function and what was written before."""
    path = str(tmp_path / "lib.so")
    made = tilewright.compile(copy_kernel(True), out_idx=[-1], target="ascend")
    made.export_library(path)
    source = made.get_kernel_source()
    again = tilewright.JITKernel.from_database(
        copy_kernel(True), source, path, made.params, "ascend", None, [-1], None, "cython", None
    )
    inputs = made.get_profiler().inputs()
    np.testing.assert_array_equal(np.asarray(again(*inputs)), np.asarray(made(*inputs)))
    assert again.get_kernel_source() == source
    with pytest.raises(
        ValueError, match=": this function with these options gives another source than"
    ):
        tilewright.JITKernel.from_database(copy_kernel(False), source, path, target="ascend")
