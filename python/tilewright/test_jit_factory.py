# SPDX-License-Identifier: Apache-2.0
"""Kernels written in Python, compiled for the CPU, against NumPy in float64."""

import copy
import os
import re
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import pytest

np = numpy = pytest.importorskip("numpy")
pytest.importorskip("tilewright._compiler")

import tilewright  # noqa: E402
import tilewright.language as T  # noqa: E402
from tilewright.errors import CompileError, UnsupportedError  # noqa: E402

PACKAGE = Path(__file__).resolve().parents[1]


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "cache"))


@tilewright.jit(out_idx=[2])
def gemm(M, N, K, block=32, dtype="float32"):
    @T.prim_func
    def kernel(
        A: T.Tensor((M, K), dtype),
        B: T.Tensor((K, N), dtype),
        C: T.Tensor((M, N), dtype),
        scale: T.float32,
    ):
        with T.Kernel(T.ceildiv(N, block), T.ceildiv(M, block)) as (bx, by):
            A_shared = T.alloc_shared((block, block), dtype)
            B_shared = T.alloc_shared((block, block), dtype)
            C_local = T.alloc_fragment((block, block), "float")
            T.clear(C_local)
            for k in T.Pipelined(T.ceildiv(K, block), num_stages=2):
                T.copy(A[by * block, k * block], A_shared)
                T.copy(B[k * block, bx * block], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            for i, j in T.Parallel(block, block):
                C_local[i, j] = T.max(C_local[i, j] * scale, T.float32(0.0))
            T.copy(C_local, C[by * block, bx * block])

    return kernel


@pytest.mark.parametrize("shape", [(64, 64, 64), (45, 70, 33), (1, 5, 100)])
def test_gemm(shape):
    M, N, K = shape
    rng = numpy.random.default_rng(1)
    a, b = (rng.standard_normal(s).astype("float32") for s in ((M, K), (K, N)))
    found = gemm(M, N, K)(a, b, 0.5)
    expected = numpy.maximum(a.astype("float64") @ b.astype("float64") * 0.5, 0)
    assert isinstance(found, numpy.ndarray) and found.dtype == numpy.float32
    numpy.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_the_kernel_of_the_same_arguments_is_the_same():
    assert gemm(64, 64, 64) is gemm(64, 64, 64)
    assert gemm(64, 64, 64) is not gemm(64, 64, 64, block=16)
    named = gemm(64, 64, K=64, block=16)
    assert named is gemm(64, 64, block=16, K=64)


def test_what_a_kernel_says_of_itself():
    kernel = gemm(64, 64, 64)
    assert "define" in kernel.get_kernel_source()
    assert "int32_t" in kernel.get_host_source()
    assert [name for name, _ in kernel.stages()][0] == "tile"
    assert "func.func @kernel" in gemm.get_tir(64, 64, 64).script()


def test_scalars_loops_and_branches():
    @T.prim_func
    def kernel(A: T.Tensor((8, 6), "float32"), B: T.Tensor((8,), "float32"), n: T.int32):
        with T.Kernel(8) as bx:
            total = T.alloc_var("float32", init=0.0)
            for i in range(0, 6, 2):
                if i == n:
                    break
                total += A[bx, i]
            step = T.alloc_var("int32", init=0)
            while step < bx:
                step += 3
            if bx % 2 == 0 and bx > 0:
                total = total * 2 + step
            B[bx] = total if bx != 3 else -1.0

    compiled = tilewright.compile(kernel, out_idx=[1])
    a = numpy.arange(48, dtype="float32").reshape(8, 6)
    expected = []
    for row in range(8):
        total = a[row, 0] + a[row, 2]
        step = -(-row // 3) * 3
        if row % 2 == 0 and row > 0:
            total = total * 2 + step
        expected.append(-1.0 if row == 3 else total)
    assert compiled(a, 4).tolist() == expected


def test_dynamic_shapes():
    m = T.dynamic("m")

    @T.prim_func
    def kernel(A: T.Tensor((m, 8), "float32"), B: T.Tensor((m, 8), "float32")):
        with T.Kernel(T.ceildiv(m, 4)) as bx:
            tile = T.alloc_fragment((4, 8), "float32")
            T.copy(A[bx * 4, 0], tile)
            for i, j in T.Parallel(4, 8):
                tile[i, j] = tile[i, j] + bx
            T.copy(tile, B[bx * 4, 0])

    compiled = tilewright.compile(kernel, out_idx=1)
    for rows in (1, 4, 9, 0):
        a = numpy.ones((rows, 8), "float32")
        expected = a + (numpy.arange(rows) // 4)[:, None]
        assert numpy.array_equal(compiled(a), expected)


def test_eager():
    @tilewright.jit
    def add(A, B, block=16):
        N = T.const("N")
        A: T.Tensor[[N], T.float32]
        B: T.Tensor[[N], T.float32]
        C = T.empty([N], T.float32)
        with T.Kernel(T.ceildiv(N, block)) as bx:
            tile = T.alloc_fragment((block,), T.float32)
            other = T.alloc_fragment((block,), T.float32)
            T.copy(A[bx * block], tile)
            T.copy(B[bx * block], other)
            for i in T.Parallel(block):
                tile[i] += other[i]
            T.copy(tile, C[bx * block])
        return C

    for size in (16, 33, 16):
        a, b = numpy.arange(size, dtype="float32"), numpy.ones(size, "float32")
        assert numpy.array_equal(add(a, b), a + b)
        assert numpy.array_equal(add(B=b, A=a * 2, block=8), a * 2 + b)
    assert len(add.prepared) == 4
    with pytest.raises(tilewright.EagerJITBuildError, match="'N' is 16 but argument 'B' has 33"):
        add(numpy.ones(16, "float32"), numpy.ones(33, "float32"))


def test_errors_of_the_builder_have_our_places():
    @T.prim_func
    def kernel(
        A: T.Tensor((64, 32), "float16"),
        C: T.Tensor((64, 64), "float32"),
    ):
        with T.Kernel(1) as bx:
            a = T.alloc_shared((64, 32), "float16")
            b = T.alloc_shared((64, 64), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            T.copy(A[0, 0, 0], a)
            T.gemm(a, b, c)
            x = undefined_name + 1  # noqa: F821
            c[0, 0] = x
            T.copy(a[0:32, :], b[0:16, :])
            for _ in T.serial(4):
                late = T.alloc_shared((4,), "float32")
            T.fill(late, 0)
            T.clear(late)
            c[0, 0] = c[1, 2] & bx
            lambda: (yield)

    with pytest.raises(CompileError) as caught:
        tilewright.compile(kernel)
    first = kernel.function.__code__.co_firstlineno
    found = [(d.place.line - first, d.message.split(":")[0]) for d in caught.value.errors]
    assert [line for line, _ in found] == [9, 10, 11, 13, 16, 17, 18, 19]
    texts = [d.message for d in caught.value.errors]
    assert texts[0] == "buffer 'A' has 2 dimensions but is indexed with 3"
    assert "K disagrees" in texts[1] and "32" in texts[1] and "64" in texts[1]
    assert texts[3] == "copy source has 32 rows but destination has 16"
    assert caught.value.errors[1].place.column == 13
    frames = []
    trace = caught.value.__traceback__
    while trace is not None:
        frames.append((trace.tb_frame.f_code.co_filename, trace.tb_lineno))
        trace = trace.tb_next
    assert frames[-1] == (__file__, first + 9)
    assert len(frames) == 3  # this test, tilewright.compile, the kernel


AS_JSON = '{"kind": "llvm", "mcpu": "native", "tag": ""}'


@pytest.mark.parametrize(
    ("target", "ours", "theirs", "expected"),
    [
        (None, None, "auto", "cpu"),
        (None, None, "", "cpu"),
        ("auto", "auto", "reference", "reference"),
        (None, None, '{"kind": "reference"}', "reference"),
        (None, None, ' {"kind": "auto"}', "cpu"),
        (None, '{"kind": "ascend"}', "llvm", "ascend"),
        (AS_JSON, None, "reference", "cpu"),
        ({"kind": "reference"}, "cpu", "cpu", "reference"),
        ({"kind": "auto"}, None, "reference", "reference"),
    ],
)
def test_forms_of_a_target(target, ours, theirs, expected, monkeypatch):
    for name, value in {"TILEWRIGHT_TARGET": ours, "TILELANG_DEFAULT_TARGET": theirs}.items():
        monkeypatch.delenv(name, raising=False)
        if value is not None:
            monkeypatch.setenv(name, value)
    assert tilewright.options.resolve_target(target) == expected


def test_a_kernel_for_the_target_of_the_environment(monkeypatch):
    monkeypatch.setenv("TILELANG_DEFAULT_TARGET", '{"kind": "reference"}')
    assert tilewright.compile(gemm.get_tir(8, 8, 8)).target == "reference"
    for text, message in {
        '{"kind": "reference"': "environment variable TILELANG_DEFAULT_TARGET is .*must be JSON",
        '{"kind": "abacus"}': "there is no target 'abacus'",
        "{}": "the environment variable TILELANG_DEFAULT_TARGET is '{}' but a target of fields",
    }.items():
        monkeypatch.setenv("TILELANG_DEFAULT_TARGET", text)
        with pytest.raises(ValueError, match=message):
            tilewright.compile(gemm.get_tir(8, 8, 8))
    monkeypatch.setenv("TILELANG_DEFAULT_TARGET", '{"kind": "cuda", "arch": "sm_90a"}')
    with pytest.raises(UnsupportedError, match="target 'cuda' is not supported yet"):
        tilewright.compile(gemm.get_tir(8, 8, 8))


def test_targets():
    with pytest.raises(UnsupportedError, match="target 'cuda' is not supported yet"):
        tilewright.jit(gemm.function, target="cuda").compile(8, 8, 8)
    text = (
        "target 'npuir' is not supported yet; use target='ascend', or 'tilewright run "
        "--target ascend' to run a script"
    )
    with pytest.raises(UnsupportedError, match=text):
        tilewright.jit(gemm.function, target="npuir").compile(8, 8, 8)
    with pytest.raises(ValueError, match="there is no target 'gpu'"):
        tilewright.compile(gemm.get_tir(8, 8, 8), target="gpu")
    with pytest.raises(TypeError, match=r"jit\(\) got an unexpected keyword argument 'outidx'"):
        tilewright.jit(outidx=[1])
    with pytest.raises(ValueError, match="pass config 'tl.Simplify' has the value"):
        tilewright.compile(gemm.get_tir(8, 8, 8), pass_configs={"tl.Simplify": object()})
    for wrong in (tilewright.jit(lambda: 3), len, int):
        message = re.escape(f"@jit needs a function defined with 'def' but got {wrong!r}")
        with pytest.raises(TypeError, match=message):
            tilewright.jit(wrong)
    tuned = tilewright.autotune(configs=[{"b": 8}])(gemm.function)
    with pytest.raises(
        TypeError, match="@jit stands above @autotune: swap them, as @autotune tunes what @jit made"
    ):
        tilewright.jit(tuned)
    code = gemm.function.__code__
    factory = f"the factory 'gemm' ({code.co_filename}:{code.co_firstlineno}); call it first"
    for wrong in (gemm, gemm.function):
        with pytest.raises(TypeError, match=re.escape(factory)):
            tilewright.compile(wrong)
    with pytest.raises(TypeError, match=r"gave function '<lambda>' \(.*:\d+\); put @T.prim_func"):
        tilewright.jit(lambda: lambda: 3).get_tir()
    with pytest.raises(TypeError, match=r"must give a kernel \(@T.prim_func\) but gave int"):
        tilewright.jit(lambda: 3).get_tir()

    @tilewright.jit
    def forgetful(n):
        @T.prim_func
        def kernel(A: T.Tensor((n,), "float32")):
            with T.Kernel(1):
                A[0] = 1

    line = forgetful.function.__code__.co_firstlineno
    message = f"{__file__}:{line}: the factory begins here; 'return kernel' is missing at its end"
    with pytest.raises(TypeError, match=re.escape(message)):
        forgetful.compile(4)
    with pytest.raises(TypeError, match=r"expected a kernel \(@T.prim_func\) but got the factory"):
        tilewright.compile(gemm)  # type: ignore[arg-type]


def test_par_compile():
    kernels = gemm.par_compile([(16, 16, 16), {"M": 32, "N": 16, "K": 16}], num_workers=2)
    a = numpy.ones((32, 16), "float32")
    assert kernels[1](a, a[:16], 1.0).tolist() == numpy.full((32, 16), 16.0).tolist()
    broken = gemm.par_compile([(16, 16, "x")], ignore_error=True)
    assert broken == [None]


SCRIPT = """
import sys
import tilewright
sys.path.insert(0, {folder!r})
import my_kernel
kernel = my_kernel.double({size})
print("_compiler", "tilewright._compiler" in sys.modules)
print("libraries", "LLVM" in open("/proc/self/maps").read())
print("result", kernel.name)
"""
KERNEL = """
import tilewright
import tilewright.language as T

@tilewright.jit(out_idx=-1)
def double(N):
    @T.prim_func
    def twice(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32")):
        with T.Kernel(N) as bx:
            B[bx] = A[bx] * {factor}
    return twice
"""


def run_script(folder: Path, factor: int, size: int = 4) -> dict[str, str]:
    (folder / "my_kernel.py").write_text(KERNEL.format(factor=factor))
    code = SCRIPT.format(folder=str(folder), size=size)
    env = {**os.environ, "PYTHONPATH": str(PACKAGE), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return dict(line.split() for line in done.stdout.splitlines())


def test_a_cache_hit_traces_nothing_and_loads_no_llvm(tmp_path):
    assert run_script(tmp_path, 2)["_compiler"] == "True"
    again = run_script(tmp_path, 2)
    assert again == {"_compiler": "False", "libraries": "False", "result": "twice"}
    assert run_script(tmp_path, 3)["_compiler"] == "True"
    assert run_script(tmp_path, 2, size=5)["_compiler"] == "True"


def test_interrupting_a_trace():
    def wait():
        time.sleep(30)

    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(1):
            wait()

    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    started = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            tilewright.compile(kernel)
    finally:
        timer.cancel()
    assert time.monotonic() - started < 5


@tilewright.jit(out_idx=[1])
def half(divisor):
    @T.prim_func
    def kernel(X: T.Tensor((4,), "int32"), Y: T.Tensor((4,), "float32")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(4):
                Y[i] = X[i] * divisor if isinstance(divisor, int) else X[i] / divisor

    return kernel


@pytest.mark.parametrize("order", [(2, 2.0), (2.0, 2)])
def test_equal_numbers_of_other_types(order):
    x = numpy.arange(4, dtype=numpy.int32)
    for divisor in order:
        expected = x * divisor if isinstance(divisor, int) else x / divisor
        numpy.testing.assert_array_equal(half(divisor)(x), expected.astype(numpy.float32))


def test_code_for_another_processor_says_so():
    other, here = ("avx2", "AArch64") if os.uname().machine == "aarch64" else ("neon", "x86-64")

    @T.prim_func
    def clear(Y: T.Tensor((4,), "float32")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(4):
                Y[i] = 0.0

    wanted = f"clear: compiled for '.*', but this machine's processor is {here}"
    with pytest.raises(OSError, match=wanted):
        tilewright.compile(clear, cpu=other)


FACTOR = 2.0


@tilewright.jit(out_idx=[1])
def by_factor(n):
    @T.prim_func
    def kernel(X: T.Tensor((n,), "float32"), Y: T.Tensor((n,), "float32")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(n):
                Y[i] = X[i] * FACTOR

    return kernel


@tilewright.jit
def eager_by_factor(X):
    N = T.const("N")
    X: T.Tensor[[N], "float32"]
    Y = T.empty([N], "float32")
    with T.Kernel(1, threads=32):
        for i in T.Parallel(N):
            Y[i] = X[i] * FACTOR
    return Y


def test_a_captured_global_that_changes(monkeypatch):
    x = numpy.arange(4, dtype="float32")
    for factor in (2.0, 3.0, 2.0):
        monkeypatch.setitem(globals(), "FACTOR", factor)
        numpy.testing.assert_array_equal(by_factor(4)(x), x * factor)
        numpy.testing.assert_array_equal(eager_by_factor(x), x * factor)
    assert by_factor(4) is by_factor(4)


def test_an_eager_kernel_found_in_the_cache_knows_its_outputs():
    x = numpy.arange(4, dtype="float32")
    for _ in range(2):
        eager_by_factor._kernels.clear()
        eager_by_factor.prepared.clear()
        numpy.testing.assert_array_equal(eager_by_factor(x), x * FACTOR)


class Scaler:
    """Its method is a factory."""

    def __init__(self, factor):
        self.factor = factor

    @tilewright.jit(out_idx=[1])
    def kernel(self, n):
        factor = self.factor

        @T.prim_func
        def kernel(X: T.Tensor((n,), "float32"), Y: T.Tensor((n,), "float32")):
            with T.Kernel(1, threads=32):
                for i in T.Parallel(n):
                    Y[i] = X[i] * factor

        return kernel


def test_methods():
    x = numpy.arange(4, dtype="float32")
    scaler = Scaler(2.0)
    numpy.testing.assert_array_equal(scaler.kernel(4)(x), x * 2)
    scaler.factor = 5.0
    numpy.testing.assert_array_equal(scaler.kernel(4)(x), x * 5)
    numpy.testing.assert_array_equal(Scaler(3.0).kernel(4)(x), x * 3)


@pytest.mark.parametrize(
    ("choices", "kind", "message"),
    [
        (
            {"out_idx": "x"},
            TypeError,
            "out_idx is 'x' but must be an integer or a list of integers",
        ),
        ({"out_idx": 1.5}, TypeError, "out_idx is 1.5 but must be an integer or a list of"),
        ({"out_idx": [True]}, TypeError, r"out_idx is \[True\] but must be"),
        ({"pass_configs": 3}, TypeError, "pass_configs is 3 but must be a dict"),
        *(
            (
                {"pass_configs": {name: value}},
                ValueError,
                f"pass config '{name}' is {value!r} but must be True or False",
            )
            for name in ("tl.ascend_auto_sync", "tilewright.normwise_gemm")
            for value in ("yes", "False", 2, 1.0)
        ),
        (
            {"target": "abacus"},
            ValueError,
            "there is no target 'abacus'; there are: ascend, ascendc, auto, c, cpu",
        ),
        ({"target": '{"kind": "abacus"}'}, ValueError, "there is no target 'abacus'"),
        (
            {"target": '{"kind": llvm}'},
            ValueError,
            "'{\"kind\": llvm}' but must be JSON: ",
        ),
        (
            {"target": '{"mcpu": "x"}'},
            ValueError,
            'target is \'{"mcpu": "x"}\' but a target of fields needs "kind", a name',
        ),
        (
            {"execution_backend": "x"},
            ValueError,
            "no execution_backend 'x'; there are: .*, which all mean the same here",
        ),
    ],
)
def test_choices_are_checked_at_the_decorator(choices, kind, message):
    with pytest.raises(kind, match=message):
        tilewright.jit(**choices)(gemm.function)


def test_pto_is_ascend_which_a_remark_says_once(monkeypatch):
    monkeypatch.setattr(tilewright.options, "_remarks", set())
    message = (
        "target 'pto' is 'ascend' here: the same kernels become Ascend C, not PTO instructions"
    )
    with pytest.warns(tilewright.errors.TilewrightWarning, match=re.escape(message)):
        assert tilewright.options.resolve_target("pto") == "ascend"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tilewright.options.resolve_target({"kind": "pto"}) == "ascend"


@pytest.mark.parametrize("name", ["tl.enable_fast_math", "tilewright.normwise_gemm"])
def test_fast_math_on_ascend_is_a_remark(name, monkeypatch):
    monkeypatch.setattr(tilewright.options, "_remarks", set())
    message = f"pass config '{name}' has no effect on Ascend"
    with pytest.warns(tilewright.errors.TilewrightWarning, match=message):
        tilewright.options.Options("ascend", pass_configs={name: True})


def test_fast_math_gives_other_code():
    def make(fast):
        @tilewright.jit(out_idx=[1], pass_configs={"tl.enable_fast_math": fast})
        def factory():
            @T.prim_func
            def powers(A: T.Tensor((62,), "float32"), B: T.Tensor((62,), "float32")):
                with T.Kernel(1, threads=32):
                    for i in T.Parallel(62):
                        B[i] = T.exp2(A[i])

            return powers

        return factory()

    x = np.linspace(-127, 30, 62, dtype=np.float32)
    kernels = make(False), make(True)
    assert kernels[0].stage("asm") != kernels[1].stage("asm")
    strict, fast = (kernel(x) for kernel in kernels)
    exact = np.exp2(x.astype(np.float64))
    assert strict[0] > 0 and fast[0] == 0  # below 2^-126, but for whole vectors of AVX-512
    np.testing.assert_allclose(fast[1:], exact[1:], rtol=2.0**-22)


def test_a_kernel_has_no_defaults():
    @T.prim_func
    def kernel(X: T.Tensor((4,), "float32"), factor: T.float32 = 2.0):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(4):
                X[i] = X[i] * factor

    wanted = "parameter 'factor' of a kernel can't have a default; give it at each call"
    with pytest.raises(UnsupportedError, match=wanted):
        tilewright.compile(kernel)


def test_blocks_that_are_no_numbers():
    with pytest.raises(CompileError) as caught:
        gemm(64, 64, 64, block="x")
    messages = [d.message for d in caught.value.errors]
    assert messages == ["expected a scalar but got 'x' of type str, the value of 'block'"]
    with pytest.raises(CompileError) as caught:
        gemm(64, 64.0, 64)
    messages = [d.message for d in caught.value.errors]
    assert messages == [
        "expected an integer but got 64.0 of type float, the value of 'N'",
        "expected an integer but got 2.0 of type float; write '//' or T.ceildiv for a quotient",
    ]


def test_a_factory_is_called_with_arrays():
    np = pytest.importorskip("numpy")

    @tilewright.jit
    def axpy(M, N):
        @T.prim_func
        def kernel(A: T.Tensor((M, N), "float32"), B: T.Tensor((M, N), "float32")):
            with T.Kernel(M) as bx:
                B[bx, 0] = A[bx, 0]

        return kernel

    ones = np.ones((4, 4), np.float32)
    says = (
        r"argument 'M' of the factory 'axpy' is an array: first make the kernel, axpy\(M, N\), "
        "then call it with the arrays"
    )
    with pytest.raises(TypeError, match=says) as caught:
        axpy(ones, ones)
    assert caught.value.__suppress_context__
    with pytest.raises(TypeError, match=says) as caught:
        axpy(ones, ones, ones)
    assert "takes 2 positional arguments but 3 were given" in str(caught.value.__cause__)
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match=says):
        axpy(torch.ones(4, 4), N=4)
    with pytest.raises(CompileError) as caught:
        axpy(100, "x")
    messages = [d.message for d in caught.value.errors]
    assert messages == ["expected a scalar but got 'x' of type str, the value of 'N'"]
    place = caught.value.errors[0].place
    line = Path(__file__).read_text().splitlines()[place.line - 1]
    assert line[place.column - 1 : place.end_column - 1] == "N"


def test_arrays_that_a_factory_asks_for():
    """Their kernels say what is wrong themselves, and so does their own code."""
    np = pytest.importorskip("numpy")

    @tilewright.jit
    def add(table):
        @T.prim_func
        def kernel(A: T.Tensor((4,), "float32")):
            with T.Kernel(4) as bx:
                A[bx] = A[bx, 0] + float(table[1])

        return kernel

    with pytest.raises(CompileError, match="buffer 'A' has 1 dimension but is indexed with 2"):
        add(np.arange(3.0))

    @tilewright.jit
    def scale(n, table):
        if len(table) != 3:
            raise ValueError("the table has 3 entries")

        @T.prim_func
        def kernel(A: T.Tensor((n,), "float32")):
            with T.Kernel(n) as bx:
                A[bx] = A[bx] * table

        return kernel

    with pytest.raises(CompileError) as caught:
        scale(4, np.arange(3.0))
    (error,) = caught.value.errors
    assert error.message == "expected a scalar but got an array of shape (3,), the value of 'table'"
    assert error.place.line == scale.function.__code__.co_firstlineno + 8
    with pytest.raises(ValueError, match="the table has 3 entries") as caught:
        scale(4, np.arange(2.0))
    assert caught.value.__notes__ == [
        "argument 'table' of the factory 'scale' is an array; if its kernel was meant: first make "
        "the kernel, scale(n, table), then call it with the arrays"
    ]


def test_workspaces_are_made_and_dropped():
    np = pytest.importorskip("numpy")

    def factory(outputs):
        @T.prim_func
        def main(
            A: T.Tensor((8,), "float32"),
            space: T.Tensor((8,), "float32"),
            B: T.Tensor((8,), "float32"),
            C: T.Tensor((8,), "float32"),
        ):
            with T.Kernel(1) as _:
                for i in T.Parallel(8):
                    space[i] = A[i] + 1
                for i in T.Parallel(8):
                    B[i] = space[i] * 2
                for i in T.Parallel(8):
                    C[i] = space[i] * 3

        return main

    a = np.arange(8, dtype=np.float32)
    b, c = np.zeros_like(a), np.zeros_like(a)
    both = tilewright.jit(factory, out_idx=[3, -2], workspace_idx=1)(0)
    given = np.zeros_like(a)
    for results in (both(a), both(a, None, None, None), both(a, np.zeros_like(a), given, C=None)):
        for made, expected in zip(results, ((a + 1) * 3, (a + 1) * 2), strict=True):
            np.testing.assert_array_equal(made, expected)
    np.testing.assert_array_equal(given, (a + 1) * 2)
    one = tilewright.compile(factory(1), out_idx=-1, workspace_idx=[1, 2], platform="A2")
    np.testing.assert_array_equal(one(a), (a + 1) * 3)
    assert one.workspace_idx == [1, 2] and one.out_idx == [3] and one.made_idx == [3, 1, 2]
    assert [tensor.shape for tensor in one.get_profiler().inputs()] == [(8,)]
    none = tilewright.compile(factory(2), workspace_idx=[1])
    assert none(a, b, c) is None and none.out_idx == []
    np.testing.assert_array_equal(b, (a + 1) * 2)
    np.testing.assert_array_equal(c, (a + 1) * 3)

    def eager(A):
        with T.Kernel(1):
            pass

    with pytest.raises(
        ValueError, match="eager: workspace_idx is not for eager kernels; use T.alloc_global"
    ):
        tilewright.jit(eager, workspace_idx=[1])


def test_jit_of_a_kernel_is_a_factory_without_arguments():
    @tilewright.jit(out_idx=-1)
    @T.prim_func
    def counted(A: T.Tensor((4,), "int32"), B: T.Tensor((4,), "int32")):
        with T.Kernel(1):
            for i in T.serial(4):
                B[i] = A[i] + i

    a = np.arange(4, dtype=np.int32)
    kernel = counted()
    # As in TileLang, where `jit` gives a JITImpl, whose call gives the kernel.
    assert isinstance(kernel, tilewright.JITKernel)
    assert not isinstance(counted, tilewright.JITKernel)
    assert kernel(a).tolist() == counted(a).tolist() == [0, 2, 4, 6]
    assert counted.params == kernel.params and copy.copy(counted)() is kernel

    @tilewright.jit(out_idx=[0])
    @T.prim_func
    def made(B: T.Tensor((2,), "int32")):
        with T.Kernel(1):
            B[0] = 3
            B[1] = 4

    assert made()().tolist() == [3, 4]


def test_jit_of_a_kernel_says_what_it_is():
    @tilewright.jit
    @T.prim_func
    def doubled(A: T.Tensor((4,), "float32")):
        """Twice as much."""
        with T.Kernel(1):
            A[0] = A[0] * 2

    assert repr(doubled) == "<tilewright.jit doubled, a kernel>"
    assert doubled.__doc__ == "Twice as much."
    message = (
        "'doubled' is a kernel already: par_compile is for factories, @jit functions that make "
        "kernels of arguments"
    )
    with pytest.raises(TypeError, match=message):
        doubled.par_compile([()])


def test_what_a_factory_was_given_has_the_names_of_tilelang():
    """Published kernels ask `__jit_impl__` for the target inside of the factory, too."""

    @tilewright.jit(out_idx=[-1], target="cpu")
    def copies(n):
        length = n if copies.__jit_impl__.target == "cpu" else 0

        @T.prim_func
        def main(A: T.Tensor((length,), "float32"), B: T.Tensor((length,), "float32")):
            with T.Kernel(1):
                a = T.alloc_shared((length,), "float32")
                T.copy(A, a)
                T.copy(a, B)

        return main

    a = np.arange(8, dtype=np.float32)
    np.testing.assert_array_equal(copies(8)(a), a)
    assert copies.__jit_impl__.func is copies.function
    assert tilewright.jit(lambda n: n).__jit_impl__.target == "auto"


def test_none_has_no_name():
    def factory(oshape=None):
        @T.prim_func
        def kernel(A: T.Tensor((8,), "float32")):
            with T.Kernel(1):
                if oshape is None:
                    A[0] = T.max(A[0], None)

        return kernel

    with pytest.raises(CompileError) as caught:
        tilewright.compile(factory(), target="reference")
    assert caught.value.errors[0].message == "expected a scalar but got None of type NoneType"
