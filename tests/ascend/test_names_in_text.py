# SPDX-License-Identifier: Apache-2.0
"""Names in the text: what the kernel gives no name is called by its use, and no name of the
kernel's means something else in C++."""

from __future__ import annotations

import importlib.util
import keyword
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kernel_group import AUTOMATIC

import tilewright
import tilewright.language as T
from tilewright import _compiler

ROOT = Path(__file__).parents[2]


@T.prim_func
def main(  # type: ignore[no-untyped-def]
    A: T.Tensor((100, 64), "float32"),
    P: T.Tensor((16,), "int32"),
    C: T.Tensor((100, 64), "float32"),
    n: T.int32,
):
    with T.Kernel(4, is_npu=True, threads=1) as cid:
        a = T.alloc_ub((32, 64), "float32")
        p = T.alloc_ub((16,), "int32")
        T.copy(A[cid * 32, 0], a)
        T.copy(P, p)
        for i in T.serial(16):
            T.copy(a[p[i], 0:64], a[p[i] + 1, 0:64])
        if n * 3 + cid > 7:
            T.tile.add(a, a, 1.0)
        T.copy(a, C[cid * 32, 0])


def test_names() -> None:
    configs = {tilewright.PassConfigKey.TL_ASCEND_AUTO_SYNC: True}
    text = tilewright.compile(main, target="ascend", pass_configs=configs).get_kernel_source()
    names = re.findall(r"^ +const \w+ (\w+) = ", text, re.M)
    assert "rows" in names
    assert "p_value" in names
    assert [name for name in names if re.fullmatch(r"v(_\d+)?", name)] == []
    assert "C[cid * 32 * 64]" in text


@T.prim_func
def reserved(  # type: ignore[no-untyped-def]
    A: T.Tensor((32,), "float32"),
    C: T.Tensor((32,), "float32"),
    half: T.float32,
    min: T.int32,  # noqa: A002
    max: T.int32,  # noqa: A002
    new: T.float32,
    default: T.float32,
    double: T.float32,
    Add: T.float32,
    main: T.float32,
    unix: T.float32,
    NULL: T.float32,
    char16_t: T.float32,
    M_PI: T.float32,
    INFINITY: T.float32,
    tilewrightStream: T.float32,
    slots: T.int32,
    workspace: T.float32,
    int64_t: T.int32,
    A_gm: T.float32,
):
    with T.Kernel(slots, is_npu=True, threads=1) as cid:
        a = T.alloc_ub((8,), "float32")
        T.copy(A[cid * 8], a)
        T.tile.mul(a, a, half + new + default + double + Add + main + unix + NULL + workspace)
        T.tile.add(a, a, A_gm)
        T.tile.add(a, a, char16_t + M_PI + INFINITY + tilewrightStream)
        if cid > min:
            T.tile.add(a, a, 10.0)
        if cid > max + int64_t:
            T.tile.add(a, a, 100.0)
        T.copy(a, C[cid * 8])


def test_scalar_arguments() -> None:
    """One by one in the text's signature, in its body and in what the host makes of the grid."""
    a, c = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
    numbers = [0.5, 0, 1, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 0.5, 1.5, 2.5, 3.5, 4, 8.0, 1, 0.25]
    configs = {tilewright.PassConfigKey.TL_ASCEND_AUTO_SYNC: True}
    tilewright.compile(reserved, target="ascend", pass_configs=configs)(a, c, *numbers)
    block = np.arange(32) // 8
    np.testing.assert_array_equal(c, a * 36.5 + 8.25 + 10 * (block > 0) + 100 * (block > 2))


@T.prim_func
def usual(  # type: ignore[no-untyped-def]
    workspace: T.Tensor((64, 64), "float32"),
    column: T.Tensor((64, 64), "float32"),
    column_gm: T.Tensor((64, 64), "float32"),
    multiply: T.Tensor((64, 64), "float32"),
    grid: T.int32,
    larger: T.int32,
    stream: T.int32,
):
    with T.Kernel(1, is_npu=True, threads=2) as block:
        magnitude = T.alloc_L1((64, 64), "float32")
        power = T.alloc_L1((64, 64), "float32")
        sine = T.alloc_L0C((64, 64), "float32")
        T.copy(workspace, magnitude)
        T.copy(column, power)
        T.gemm_v0(magnitude, power, sine, init=True)
        rows = T.alloc_ub((64, 64), "float32")
        T.copy(sine, rows)
        for smaller in T.serial(T.min(grid, T.max(larger, stream))):
            T.tile.add(rows, rows, T.cast(T.abs(stream - smaller) + block, "float32"))
        T.tile.sin(rows, rows)
        T.copy(rows, column_gm)
        T.copy(rows[0 : T.min(larger, 64), :], multiply[0 : T.min(larger, 64), :])


def test_names_that_the_compiler_could_have_wanted() -> None:
    """Each is kept: what the compiler makes has other names; functions of our headers say whose."""
    compiled = tilewright.compile(usual, target="ascend", pass_configs=AUTOMATIC)
    text = compiled.get_kernel_source()
    text = text[: text.index('extern "C" void usual_grid')]
    for name in ("workspace", "column", "column_gm", "multiply"):
        assert f"GlobalTensor<float> {name};" in text
    for name in ("magnitude", "power", "sine", "rows"):
        assert f"auto {name} = localTensor<float>(" in text
    assert "for (int64_t smaller = 0;" in text
    for name in ("grid", "larger", "stream"):
        assert f"int32_t {name}, " in text
    assert "GM_ADDR workspace_1)" in text
    for call in ("tilewright::smaller(", "tilewright::multiply(", "tilewright::sine("):
        assert call in text
    random = np.random.default_rng(3)
    a = (random.standard_normal((64, 64)) / 8).astype(np.float32)
    b = random.standard_normal((64, 64)).astype(np.float32)
    whole, some = np.zeros((64, 64), np.float32), np.zeros((64, 64), np.float32)
    compiled(a, b, whole, some, 3, 17, 2)
    expected = np.sin(a.astype(np.float64) @ b + 2 + 1 + 0)
    np.testing.assert_allclose(whole, expected, atol=1e-5)
    np.testing.assert_allclose(some[:17], expected[:17], atol=1e-5)
    assert not some[17:].any()


def listed_of_headers(folder: Path, *options: str) -> str:
    source = folder / "headers.cpp"
    source.write_text('#include "kernel_operator.h"\n#include "tilewright_ascend.h"\n')
    folders = ["simulator/ascendc", "simulator/include", "device/ascend"]
    command = ["clang++-22", "-std=c++17", *options, "-D__NPU_ARCH__=2201", source]
    command += ["-DTILEWRIGHT_ASCEND=1", "-D__CCE_AICORE__=220", "-D__DAV_CUBE__=1"]
    command += [f"-I{ROOT / name}" for name in folders]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def macros_of_headers(folder: Path) -> list[str]:
    names = re.findall(r"^#define ([A-Za-z]\w*)", listed_of_headers(folder, "-dM", "-E"), re.M)
    return sorted({name for name in names if not keyword.iskeyword(name)})


def declarations_of_headers(folder: Path) -> list[str]:
    """What the text may use by its name alone: of our namespaces, and constants beside them."""
    listed = listed_of_headers(folder, "-fsyntax-only", "-Xclang", "-ast-list")
    names = re.findall(r"^(?:AscendC|tilewright)::([A-Za-z]\w{2,})$", listed, re.M)
    names += re.findall(r"^((?:PIPE|EVENT|KERNEL_TYPE|CACHELINE)_\w+)$", listed, re.M)
    return sorted(set(names))


def text_with(names: list[str], folder: Path) -> str:
    """Of a kernel with scalar arguments of these names."""
    source = folder / "kernel.py"
    arguments = ", ".join(f"{name}: T.float32" for name in names)
    source.write_text(
        "import tilewright.language as T\n@T.prim_func\n"
        f"def many(A: T.Tensor((8,), 'float32'), {arguments}):\n"
        "    with T.Kernel(1, is_npu=True, threads=1) as _:\n"
        "        a = T.alloc_ub((8,), 'float32')\n"
        + "".join(f"        T.tile.add(a, a, {name})\n" for name in names)
    )
    spec = importlib.util.spec_from_file_location("kernel", source)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    configs = {tilewright.PassConfigKey.TL_ASCEND_AUTO_SYNC.value: True}
    options = _compiler.CompileOptions(
        "ascend", "native", configs, keep_stages=True, build_library=False
    )
    artifact, found = _compiler.compile(module.many.capture().module, options)
    assert artifact is not None, [d.message for d in found]
    return str(dict(artifact.stages)["ascendc"])


def names_in_text(names: list[str], folder: Path) -> list[str]:
    """What a kernel's scalar arguments of these names are called."""
    signature = re.search(r"many_kernel\(([^)]*)\)", text_with(names, folder))
    assert signature is not None
    written = re.findall(r"float (\w+)", signature[1])
    assert len(written) == len(set(written)) == len(names)
    return written


@pytest.mark.skipif(shutil.which("clang++-22") is None, reason="lists the macros")
def test_macros_are_no_names(tmp_path: Path) -> None:
    macros = macros_of_headers(tmp_path)
    assert {"M_PI", "INFINITY", "NAN", "UINT32_MAX", "BUFSIZ", "EINVAL"} <= set(macros)
    names = [*macros, "char16_t", "tilewrightBlocks", "tilewrightStream"]
    assert set(names_in_text(names, tmp_path)) & set(names) == set()


@pytest.mark.skipif(shutil.which("clang++-22") is None, reason="lists the declarations")
def test_declarations_are_no_names(tmp_path: Path) -> None:
    names = declarations_of_headers(tmp_path)
    used = {"PIPE_V", "EVENT_ID0", "KERNEL_TYPE_AIV_ONLY", "toBfloat16", "twFailRequirement"}
    assert used <= set(names)
    kept = set(names_in_text(names, tmp_path)) & set(names)
    # Words that a kernel may well have: what the text calls of them says that it is ours.
    assert kept == {"combine", "cosine", "larger", "magnitude", "multiply", "power"} | {
        "sine",
        "smaller",
    }


CHAIN = 5000
ONES = T.Tensor((32, 32), "float32")
DEFINED = "#define shift(x) x * 2\n#  define twice 2"


# It has the name of its own device function, and names of constants, a macro and beyond ASCII.
@T.prim_func
def kernel(  # type: ignore[no-untyped-def]
    é: ONES,
    é_gm: ONES,
    __gm: ONES,
    kernel_kernel: T.float32,
    KERNEL_TYPE_AIV_ONLY: T.float32,
    shift: T.float32,
):
    with T.Kernel(1, is_npu=True, threads=1) as twice:
        T.import_source(DEFINED)
        PIPE_V = T.alloc_ub((32, 32), "float32")
        GM_ADDR = T.alloc_ub((32, 32), "float32")
        T.copy(é, PIPE_V)
        T.copy(é_gm, GM_ADDR)
        T.tile.add(PIPE_V, PIPE_V, GM_ADDR)
        T.tile.mul(PIPE_V, PIPE_V, kernel_kernel + KERNEL_TYPE_AIV_ONLY)
        T.tile.add(PIPE_V, PIPE_V, shift + T.cast(twice, "float32"))
        T.copy(PIPE_V, __gm)


def chained(x: Any) -> Any:  # noqa: ANN401
    number = x
    for _ in range(CHAIN):
        number = (number + x) ^ 1
    return number


@T.prim_func
def zählen(A: T.Tensor((8,), "int32"), x: T.int32):  # type: ignore[no-untyped-def]
    with T.Kernel(1, is_npu=True, threads=1) as _:
        a = T.alloc_ub((8,), "int32")
        ergänzt = chained(x)
        T.tile.fill(a, ergänzt)
        T.copy(a, A)


def test_names_that_others_have() -> None:
    a, b, c = np.ones((32, 32), np.float32), np.full((32, 32), 2, np.float32), np.zeros((32, 32))
    c = c.astype(np.float32)
    tilewright.compile(kernel, target="ascend", pass_configs=AUTOMATIC)(a, b, c, 2.0, 3.0, 0.5)
    np.testing.assert_array_equal(c, 15.5)


def test_names_beyond_ascii_and_long_chains() -> None:
    """An expression of 5000 operations is written in parts that a compiler of C++ can take."""
    a = np.zeros(8, np.int32)
    tilewright.compile(zählen, target="ascend", pass_configs=AUTOMATIC)(a, 7)
    np.testing.assert_array_equal(a, chained(7))


@T.prim_func
def divided(  # type: ignore[no-untyped-def]
    A: T.Tensor((4, 8, 16), "float32"), C: T.Tensor((4, 8, 16), "float32"), n: T.int32
):
    with T.Kernel(32, is_npu=True, threads=1) as cid:
        a = T.alloc_ub((16,), "float32")
        T.copy(A[cid // 8, cid % 8, 0], a)
        T.tile.add(a, a, T.cast((n - cid) // 4 * 100 + (n - cid) % 4, "float32"))
        T.copy(a, C[cid // 8, cid % 8, 0])


def test_divisions() -> None:
    """By powers of two they stay what they are; of numbers below 0 they round down, by a shift."""
    a = np.random.default_rng(0).standard_normal((4, 8, 16)).astype(np.float32)
    c = np.zeros_like(a)
    configs = {tilewright.PassConfigKey.TL_ASCEND_AUTO_SYNC: True}
    kernel = tilewright.compile(divided, target="ascend", pass_configs=configs)
    kernel(a, c, 10)
    left = 10 - np.arange(32).reshape(4, 8, 1)
    expected = a.astype(np.float64) + left // 4 * 100 + left % 4
    np.testing.assert_allclose(c, expected, rtol=1e-5)
    text = kernel.get_kernel_source()
    assert "cid / 8" in text
    assert "cid % 8" in text
    assert ">> 2" in text


@T.prim_func
def gemm_of_dims(  # type: ignore[no-untyped-def]
    A: T.Tensor((T.symbolic("m"), 128), "float16"),
    B: T.Tensor((128, T.symbolic("n")), "float16"),
    C: T.Tensor((T.symbolic("m"), T.symbolic("n")), "float32"),
):
    M, N = T.symbolic("m"), T.symbolic("n")
    with T.Kernel(T.ceildiv(M, 64) * T.ceildiv(N, 64), is_npu=True, threads=2) as cid:
        a = T.alloc_shared((64, 64), "float16")
        b = T.alloc_shared((64, 64), "float16")
        c = T.alloc_fragment((64, 64), "float32")
        d = T.alloc_shared((64, 64), "float32")
        nb = T.ceildiv(N, 64)
        for k in T.serial(2):
            T.copy(A[cid // nb * 64, k * 64], a)
            T.copy(B[k * 64, cid % nb * 64], b)
            T.gemm(a, b, c, clear_accum=(k == 0))
        T.copy(c, d)
        for i, j in T.Parallel(64, 64):
            d[i, j] = d[i, j] * 2.0
        T.copy(d, C[cid // nb * 64, cid % nb * 64])


def test_blocks_of_dynamic_grids_divide_plainly() -> None:
    """What the grid has computed has the kernel's name; blocks and dims are never negative."""
    kernel = tilewright.compile(gemm_of_dims, target="ascend", pass_configs=AUTOMATIC)
    text = kernel.get_kernel_source()
    assert "const int64_t nb = ceilDiv(n, 64);" in text
    assert "cid / nb * 64" in text
    assert "cid % nb * 64" in text
    kernel_text = text[text.index("__global__") : text.index('extern "C" void')]
    for word in ("index", "least", "most", "ascendc_assert", "^", "floorDiv"):
        assert word not in kernel_text
    # The vector cores have no loop: nothing of it is theirs.
    assert "for (" not in kernel_text[kernel_text.index("ASCEND_IS_AIV") :]
    random = np.random.default_rng(7)
    a = random.standard_normal((70, 128)).astype(np.float16)
    b = random.standard_normal((128, 150)).astype(np.float16)
    c = np.zeros((70, 150), np.float32)
    kernel(a, b, c)
    np.testing.assert_allclose(c, 2 * (a.astype(np.float64) @ b), rtol=1e-4, atol=1e-3)


@T.prim_func
def shifted_gemm(  # type: ignore[no-untyped-def]
    A: T.Tensor((64, 128), "float16"),
    B: T.Tensor((128, 64), "float16"),
    C: T.Tensor((64, 64), "float32"),
    first: T.int32,
):
    with T.Kernel(1, is_npu=True, threads=2) as _:
        a = T.alloc_shared((64, 64), "float16")
        b = T.alloc_shared((64, 64), "float16")
        c = T.alloc_fragment((64, 64), "float32")
        d = T.alloc_shared((64, 64), "float32")
        for k in T.serial(2):
            T.copy(A[0, k * 64 + first], a)
            T.copy(B[k * 64, 0], b)
            T.gemm(a, b, c, clear_accum=(k == 0))
        T.copy(c, d)
        for i, j in T.Parallel(64, 64):
            d[i, j] = d[i, j] * 2.0
        T.copy(d, C)


def test_what_a_copy_needs_is_checked_where_it_is() -> None:
    text = tilewright.compile(
        shifted_gemm, target="ascend", pass_configs=AUTOMATIC
    ).get_kernel_source()
    of_cube, of_vector = text.split("if ASCEND_IS_AIV")
    assert "ascendc_assert" in of_cube
    assert "ascendc_assert" not in of_vector
    assert "for (" not in of_vector[: of_vector.index('extern "C" void')]


@T.prim_func
def portable(A: T.Tensor((64, 128), "float16"), C: T.Tensor((64, 64), "float32")):  # type: ignore[no-untyped-def]
    with T.Kernel(1, threads=128) as _:
        a = T.alloc_shared((64, 64), "float16")
        c = T.alloc_fragment((64, 64), "float32")
        T.clear(c)
        for ko in T.Pipelined(2, num_stages=2):
            T.copy(A[0, ko * 64], a)
            for again in T.serial(3):
                if again > 0:
                    T.gemm(a, a, c, transpose_B=True)
        T.copy(c, C)


def test_loops_of_kernels_for_any_target_keep_their_names() -> None:
    text = tilewright.compile(portable, target="ascend", pass_configs=AUTOMATIC).get_kernel_source()
    for name in ("ko", "again"):
        assert f"for (int64_t {name} = 0;" in text


@T.prim_func
def with_temporaries(
    A: T.Tensor((4, 64), "float32"), B: T.Tensor((4, 64), "float32"), t_2: T.int32
):  # type: ignore[no-untyped-def]
    with T.Kernel(1, threads=1, is_npu=True) as _:
        x = T.alloc_ub((4, 64), "float32")
        sums = T.alloc_ub((4,), "float32")
        T.copy(A, x)
        T.reduce_sum(x, sums, dim=-1)
        for i in T.Parallel(4):
            sums[i] = T.rsqrt(sums[i] / 64 + t_2)
        for i, j in T.Parallel(4, 64):
            x[i, j] = x[i, j] * sums[i]
        T.copy(x, B)


def test_the_report_has_the_names_of_the_text(tmp_path: Path) -> None:
    configs = {tilewright.PassConfigKey.TL_ASCEND_AUTO_SYNC: True}
    kernel = tilewright.compile(with_temporaries, target="ascend", pass_configs=configs)
    in_text = re.findall(
        r"auto (\w+) = localTensor<\w+>\(\w+::\w+, (\d+)", kernel.get_kernel_source()
    )
    assert len(set(in_text)) == len(in_text) > 4
    svg = tmp_path / "memory.svg"
    report = kernel.report(svg=str(svg))
    in_map = re.findall(r"^ *(\d+) \+ *\d+  (\w+)  line", report, re.M)
    assert sorted((name, at) for at, name in in_map) == sorted(in_text)
    names = [name for name, _ in in_text]
    assert {"t", "t_1", "t_3"} <= set(names)
    for name in names:
        assert re.search(rf">{name}\b", svg.read_text())
    assert set(re.findall(r" writes to '(\w+)'", report)) <= set(names)
