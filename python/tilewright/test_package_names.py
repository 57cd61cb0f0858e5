# SPDX-License-Identifier: Apache-2.0
"""The names of the package that scripts for TileLang import."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright.language.values import LanguageError

NAMES = """jit compile par_compile JITKernel autotune Profiler TensorSupplyType Layout Fragment
PassConfigKey lower register_cuda_postproc register_hip_postproc register_c_postproc enable_cache
disable_cache is_cache_enabled set_log_level env dtypes language layout testing transform engine
cdiv next_power_of_2 DataType math profiler cache autotuner utils tvm tools tileop ir"""


@pytest.mark.parametrize("name", NAMES.split())
def test_name_is_there(name):
    assert getattr(tilewright, name) is not None


def test_modules_of_tilelang(tmp_path):
    """In a process of its own: which package answers to `tilelang` is global."""
    code = """
import tilewright.as_tilelang
import tilelang, tilelang.language as T
from tilelang.utils.tensor import map_torch_type, TensorSupplyType, torch_assert_close
from tilelang.utils.target import determine_target, target_is_cuda, target_has_bulk_copy
from tvm.tir import IndexMap
from tilelang.utils import map_torch_type
from tilelang.engine import lower
from tilelang.transform import PassConfigKey
from tilelang.layout import make_swizzled_layout, make_linear_layout
from tilelang.intrinsics import make_zn_layout
from tilelang.profiler import do_bench
from tilelang.math import cdiv, next_power_of_2
from tilelang.language.fp8 import determine_fp8_type
from tilelang.autotuner import autotune
from tilelang import tvm
from tilelang.tools import Analyzer
from tilelang.tileop.base import GemmWarpPolicy
from tilelang.primitives.gemm.base import GemmWarpPolicy; from tilelang.language.proxy import Tensor
from tilelang.language.v2 import PrimFunc; from tilelang.language.v2.builder import macro
import tilelang.env, tilelang.dtypes, tilelang.testing
assert tilelang.jit is __import__("tilewright").jit
from tilelang.carver.template import MatmulTemplate
from tilelang.carver.arch import CUDA, driver
from tilelang.carver.roller.rasterization import NoRasterization
from tilelang import analysis, carver
from tilelang.tools import plot_layout
from tilelang.tools.plot_layout import plot_layout
from tilelang.engine.callback import register_cuda_postproc, register_cuda_postproc_callback
from tilelang.utils.tensor import get_tensor_supply
from tilelang.carver.arch.cuda import CUDA
from tilelang.carver.arch.ascend import Ascend
from tilelang.contrib import nvcc
from tilelang.contrib.nvcc import parse_compute_version
from tilelang.backend.target import determine_target
from tilelang.layout.fragment import Fragment
from tvm import tirx
from tvm.tirx import op, const
from tvm.tirx.op import floordiv
assert tirx.Var is tvm.tir.Var and register_cuda_postproc_callback is register_cuda_postproc
assert driver.get_num_sms() == tilelang.get_num_threads()
assert parse_compute_version(nvcc.get_target_compute_version()) == (8, 0)
class Parameter: shape, dtype = (2, 3), "float16"
assert get_tensor_supply(TensorSupplyType.One)(Parameter).sum() == 6
from tilelang.intrinsics import make_mma_swizzle_layout, TensorCoreIntrinEmitter
from tilelang.intrinsics.utils import get_mma_micro_size
from tilelang.intrinsics.mma_macro_generator import TensorCoreIntrinEmitter
from tilelang.intrinsics.mma_sp_macro_generator import SparseTensorCoreIntrinEmitter
from tilelang.intrinsics.wgmma_macro_generator import WGMMATensorCoreIntrinEmitter
from tilelang.intrinsics.wgmma_sp_macro_generator import WGSparseTensorCoreIntrinEmitter
from tilelang.intrinsics.tcgen05_macro_generator import TCGEN05TensorCoreIntrinEmitter
from tilelang.intrinsics.mma_sm70_macro_generator import TensorCoreIntrinEmitter
from tilelang.intrinsics.mma_layout import get_swizzle_layout
from tilelang.cuda.intrinsics import make_mma_swizzle_layout
from tilelang.cuda.intrinsics.macro.mma_sp_macro_generator import SparseTensorCoreIntrinEmitter
from tilelang.cuda.intrinsics.layout.utils import get_mma_micro_size
from tilelang.layout.swizzle import make_swizzled_layout
from tilelang.profiler.bench import do_bench
from tilelang.autotuner.capture import set_autotune_inputs
from tilelang import JITImpl
from tilelang.transform import simplify_prim_func
from tilelang.env import env
from tilelang.tileop.gemm import GemmWarpPolicy
from tilelang.language.kernel import KernelLaunchFrame
from tilelang.cpu import language as C
import tilelang.cuda.language, tilelang.rocm.language
assert C is T and env.TILELANG_ENABLE_IR_SPAN == "1" and simplify_prim_func.__module__
from tilelang.cache import cached
from tilelang.engine.param import KernelParam
from tilelang.transform import get_pass_context
from tilelang.transform.simplify import apply_simplify
from tilelang.autotuner import get_autotune_inputs
from tilelang.language.eager import macro, prim_func
from tilelang.language.eager.builder import const
from tilelang.carver.common_schedules import get_block
from tilelang.intrinsics.mma_macro_generator import INT4TensorCoreIntrinEmitter
from tilelang.env import CUTLASS_INCLUDE_DIR, COMPOSABLE_KERNEL_INCLUDE_DIR
from tilelang import libinfo
assert get_pass_context().config == {} and apply_simplify.__module__ and CUTLASS_INCLUDE_DIR == ""
assert libinfo.find_lib_path("_runtime") == __import__("tilewright")._runtime.__file__
from tilelang.jit import JITKernel, JITNoBuilderError, jit
from tilelang.jit.exceptions import EagerJITBuildError
from tilelang.jit.kernel import JITKernel

@tilelang.jit(target="reference")
def kernel(A):
    A: T.Tensor((4,), "float32")
    with T.Kernel(1, threads=4):
        A[0] = 5.0
import numpy
numbers = numpy.zeros(4, numpy.float32)
kernel(numbers)
assert numbers[0] == 5
print(determine_target("auto"), cdiv(7, 2), next_power_of_2(5), determine_fp8_type("e5m2"))
"""
    (tmp_path / "script.py").write_text(code)
    ran = subprocess.run([sys.executable, tmp_path / "script.py"], capture_output=True, text=True)
    assert ran.stdout.splitlines()[-1:] == ["cpu 4 8 float8_e5m2"], ran.stderr


def test_libraries_that_are_not_there():
    for name in ("tilelang", "../tilewright/_runtime", "_*"):
        told = "there is no library .*, which has _compiler, _runtime$"
        with pytest.raises(RuntimeError, match=told):
            tilewright.libinfo.find_lib_path(name)


@T.prim_func
def increment(A: T.Tensor((8,), "float32")):
    with T.Kernel(1, threads=8):
        for i in T.Parallel(8):
            A[i] = A[i] + 1.0


def test_lower():
    artifact = tilewright.lower(increment, target="c")
    assert "define void @increment_blocks" in artifact.kernel_source
    assert artifact.params == ["A"]
    with pytest.raises(TypeError, match="expected a kernel"):
        tilewright.lower(5)


def test_lower_says_what_a_target_lacks():
    @T.prim_func
    def doubles(A: T.Tensor((8,), "float64")):
        with T.Kernel(1, is_npu=True):
            T.copy(A, T.alloc_ub((8,), "float64"))

    with pytest.raises(tilewright.CompileError, match="'A' has elements of float64") as caught:
        tilewright.lower(doubles, target="ascend")
    assert caught.value.errors[0].place.file == __file__


def test_postprocs_are_ignored_aloud():
    with pytest.warns(UserWarning, match="register_c_postproc has no effect"):

        @tilewright.register_c_postproc
        def edit(code, target):
            return code

    assert edit("x", None) == "x"


def test_environment(monkeypatch):
    env = importlib.import_module("tilewright.env")
    assert env.TILELANG_ENABLE_IR_SPAN == "1"
    monkeypatch.setenv("TILELANG_VERBOSE", "1")
    assert env.TILELANG_VERBOSE == "1"
    assert "TL_TEMPLATE_PATH" in dir(env)
    with pytest.raises(AttributeError, match="tilewright.env has no 'TILELANG_COLOUR'"):
        env.TILELANG_COLOUR  # noqa: B018


def test_ignored_variables_are_told_once(monkeypatch):
    monkeypatch.setenv("TILELANG_PASS_PROFILE", "1")
    monkeypatch.setenv("TILELANG_ENABLE_IR_SPAN", "1")  # as it is anyway
    monkeypatch.setattr("tilewright.options._remarks", set())
    text = "the environment variable TILELANG_PASS_PROFILE has no effect in this package"
    with pytest.warns(UserWarning, match=text) as told:
        tilewright.compile(increment, target="reference")
        tilewright.compile(increment, target="reference")
    assert len(told) == 1


def test_ignored_variables_are_told_of_kernels_from_the_cache(monkeypatch):
    tilewright.compile(increment)
    monkeypatch.setenv("TILELANG_PASS_PROFILE", "1")
    monkeypatch.setattr("tilewright.options._remarks", set())
    with pytest.warns(UserWarning, match="TILELANG_PASS_PROFILE has no effect"):
        tilewright.compile(increment)


@pytest.mark.parametrize("given", ["x", "-5", "1G", "1.5"])
def test_a_size_of_the_cache_that_is_no_number(monkeypatch, given):
    monkeypatch.setenv("TILEWRIGHT_CACHE_BYTES", given)
    monkeypatch.setattr("tilewright.options._remarks", set())
    text = f"TILEWRIGHT_CACHE_BYTES is a number of bytes, not '{given}'; the limit is 1 GiB"
    with pytest.warns(UserWarning, match=text) as told:
        tilewright.compile(increment)
    assert len(told) == 1 and tilewright.cache.limit_bytes() == 1 << 30


@pytest.mark.parametrize(
    "name",
    ["TL_LAYOUT_COST_MODEL", "TL_PASS_PROFILE", "TL_DISABLE_SHUFFLE_ELECT", "TL_SIMPLIFY",
     "TL_ENABLE_LOWER_LDGSTG_PREDICATED", "TL_STORAGE_REWRITE_DETECT_INPLACE",
     "CUDA_KERNELS_OUTPUT_DIR", "TIR_USE_ASYNC_COPY"],
)  # fmt: skip
def test_pass_config_keys(name):
    assert tilewright.PassConfigKey[name].value.partition(".")[0] in ("tl", "tirx", "cuda")


def test_dtypes():
    dtypes = importlib.import_module("tilewright.dtypes")
    assert dtypes.float16.bits == 16 and tilewright.DataType("half") == "float16"
    with pytest.raises(AttributeError, match="tilewright.dtypes has no 'float17'"):
        dtypes.float17  # noqa: B018
    from tilewright.language.fp8 import determine_fp8_type

    assert determine_fp8_type() == "float8_e4m3fn"
    with pytest.raises(ValueError, match="there is no 8-bit float format 'e3m4'"):
        determine_fp8_type("e3m4")


def test_torch_assert_close():
    torch = pytest.importorskip("torch")
    from tilewright.tensors import map_torch_type, torch_assert_close

    assert map_torch_type("float16") is torch.float16
    ones = torch.ones(1000)
    other = ones.clone()
    other[0] = 2
    assert torch_assert_close(ones, other)  # one of a thousand
    other[1] = 2
    with pytest.raises(AssertionError, match="elements differ, by 1 at most; allowed are"):
        torch_assert_close(ones, other)
    with pytest.raises(AssertionError, match="the shapes differ:"):
        torch_assert_close(ones, ones[:5])


def test_par_compile():
    kernels = tilewright.par_compile([increment, increment], num_workers=2)
    a = np.zeros(8, np.float32)
    for kernel in kernels:
        kernel(a)
    assert a.tolist() == [2.0] * 8


def test_target_as_a_context():
    """Tests for the CPU are written so; the innermost target counts."""
    from tilewright import tvm

    with tvm.target.Target("reference") as outer:
        assert outer.kind == "reference" and repr(outer) == "Target('reference')"
        assert outer.kind.name == "reference"
        assert tilewright.compile(increment, target=tvm.target.Target("c")).target == "cpu"
        with tvm.target.Target("c"):
            assert tilewright.compile(increment).target == "cpu"
        assert tilewright.compile(increment).target == "reference"
        assert tvm.target.Target.current().name == "reference"
    assert tvm.target.Target.current() is None
    with pytest.raises(ValueError, match="no target is open; use one with `with`"):
        tvm.target.Target.current(allow_none=False)
    with pytest.raises(
        AttributeError, match="tilewright.tvm has no .relay.: TVM is no part of this package"
    ):
        tvm.relay  # noqa: B018


def test_pass_contexts_nest():
    from tilewright import tvm
    from tilewright.options import PassConfigKey, get_pass_context

    key = PassConfigKey.TL_DISABLE_TMA_LOWER
    assert str(key) in tvm.transform.PassContext.list_configs()
    with tvm.transform.PassContext(opt_level=3, config={key: True}) as outer:
        assert tvm.transform.PassContext.current() is outer
        with tvm.transform.PassContext():
            assert get_pass_context().config == {}
        assert get_pass_context().config["tl.disable_tma_lower"]
    assert get_pass_context().config == {}


def test_analyzer():
    from tilewright.tools import Analyzer

    result = Analyzer.analysis(increment)
    assert (result.total_flops, result.total_global_bytes) == (8, 2 * 8 * 4)
    assert not result.is_upper_bound
    from tilewright.carver import CUDA

    on_machine = Analyzer(increment, CUDA("cuda")).ir_pass().calculate()
    assert on_machine == result == Analyzer.analysis(increment, CUDA("cuda"))
    assert 0 < on_machine.estimated_time < 1e-3
    assert on_machine.expected_tflops > 0 and on_machine.expected_bandwidth_GBps > 0
    bytes_alone = on_machine.total_global_bytes / on_machine.expected_bandwidth_GBps / 1e9
    assert on_machine.estimated_time >= bytes_alone * 0.999
    n = T.dynamic("n")

    @T.prim_func
    def any_size(A: T.Tensor((n,), "float32")):
        with T.Kernel(1):
            A[0] = 1.0

    with pytest.raises(ValueError, match="any_size: the work depends on n; give numbers for it"):
        Analyzer.analysis(any_size)


@pytest.mark.parametrize(
    ("name", "reason"),
    [("carver.GEMVTemplate", "give configs to tilewright.autotune"),
     ("analysis.NestedLoopChecker", "the builder checks kernels"),
     ("autodd.main", 'give the kernel to target="reference"')],
)  # fmt: skip
def test_absent_parts_say_why(name, reason):
    module, _, inner = name.partition(".")
    absent = getattr(getattr(tilewright, module), inner)
    message = f"tilelang.{name} is not supported: .*{reason}"
    for use in (absent, lambda: absent.something):
        with pytest.raises(LanguageError, match=message):
            use()
    assert repr(absent) == f"<tilelang.{name}, not supported>"
    with pytest.raises(AttributeError):
        absent.__wrapped__  # noqa: B018
    with pytest.raises(AttributeError):
        getattr(tilewright, module).__wrapped__  # noqa: B018


def test_code_of_gpus():
    kernel = tilewright.compile(increment, target="reference")
    for show in (kernel.show_ptx, kernel.export_ptx, kernel.show_sass, kernel.export_sass):
        with pytest.raises(tilewright.UnsupportedError) as caught:
            show()
        with pytest.raises(tilewright.UnsupportedError):
            show(path="kernel.txt")
        assert "has no PTX or SASS, the code of GPUs; see get_kernel_source()" in str(caught.value)


def test_plot_layout(tmp_path):
    from tilewright.layout import Layout, make_gemm_fragment_8x8
    from tilewright.tools import plot_layout

    path = plot_layout(make_gemm_fragment_8x8(), str(tmp_path / "new"), "eight")
    picture = ElementTree.parse(path).getroot()
    texts = [t.text for t in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert len(texts) == 8 + 8 + 64 and texts[16:19] == ["T0 0", "T0 1", "T1 0"]
    assert texts[-1] == "T31 1"
    path = plot_layout(Layout((2, 3), lambda i, j: (j, i)), str(tmp_path))
    assert path.endswith("layout.svg") and ">2, 1</text></svg>" in Path(path).read_text()
    with pytest.raises(
        ValueError,
        match=r"a picture is of a layout of 2 dims and 65536 elements at most, not of \[300, 300\]",
    ):
        plot_layout(Layout((300, 300), lambda i, j: (i, j)))


def test_swizzles():
    from tilewright.intrinsics import get_mma_micro_size, get_swizzle_layout
    from tilewright.intrinsics import make_mma_swizzle_layout as swizzle

    class Tile:
        shape, dtype = (8, 32), tilewright.DataType("float16")

    layout = swizzle(Tile)
    assert layout(5, 9) == [5, 1] and layout(5, 1) == [5, 9]  # 16 bytes change with their neighbour
    assert sorted(tuple(layout(i, j)) for i in range(8) for j in range(32)) == [
        (i, j) for i in range(8) for j in range(32)
    ]
    assert swizzle(Tile, is_smooth=True)(5, 9) == [5, 9]
    for i, j in ((0, 0), (5, 9), (7, 63)):
        row, column = get_swizzle_layout(i, j, 64, "float16")
        assert (row, column) == (i, (j // 8 ^ i % 8) * 8 + j % 8)
    with pytest.raises(ValueError, match="rows of 40 bytes have no whole number of 32"):
        get_swizzle_layout(0, 0, 20, "float16")
    with pytest.raises(ValueError, match="a swizzle is of 128, 64 or 32 bytes, and rows of 48 by"):
        get_swizzle_layout(0, 0, 24, "float16", swizzle_bytes=32)
    with pytest.raises(AttributeError, match="tilewright.intrinsics has no 'make_mma'"):
        tilewright.intrinsics.make_mma  # noqa: B018
    assert get_mma_micro_size("int8") == (16, 16, 32) and get_mma_micro_size("float16")[2] == 16


@pytest.mark.parametrize(
    "name",
    [
        "TL_REDUCER_FORCE_BASELINE",
        "TL_ENABLE_VECTORIZE_PLANNER_VERBOSE",
        "TL_PASS_PROFILE_THRESHOLD_MS",
        "TL_ENABLE_REDUCER_PLAN_VERBOSE",
        "TL_ENABLE_PTXAS_VERBOSE_OUTPUT",
        "TL_DUMP_IR_DIR",
        "TL_LOOP_UNSWITCHING_ALLOW_NON_TRIVIAL_ELSE",
        "TL_IF_STMT_BINDING_INLINE_REPLAYABLE_BINDS",
        "TL_SIMPLIFY_ENABLE_LET_INLINE",
    ],
)
def test_pass_keys_of_the_newest_release_are_accepted(name):
    key = tilewright.PassConfigKey[name]
    tilewright.compile(increment, target="cpu", pass_configs={key: False})


def test_parameters_of_a_kernel():
    """As dictionaries, and with the attributes that TileLang's have."""
    from tilewright.kernel_param import KernelParam

    n = T.dynamic("n")

    @T.prim_func
    def kernel(A: T.Tensor((n, 4), "float8_e4m3fn"), flag: T.bool, k: T.uint8, p: T.ptr):
        with T.Kernel(1, threads=4):
            if flag:
                A[0, 0] = k

    params = tilewright.compile(kernel).params
    assert [param["name"] for param in params] == ["A", "flag", "k", "p"]
    assert [(param.dtype, param.shape) for param in params[:3]] == [
        (T.float8_e4m3fn, ["n", 4]),
        (T.bool, []),
        (T.uint8, []),
    ]
    assert [param.is_scalar() for param in params] == [False, True, True, True]
    assert [param.is_boolean() for param in params] == [False, True, False, False]
    assert [param.is_unsigned() for param in params[:3]] == [False, False, True]
    assert [param.is_float8() for param in params] == [True, False, False, False]
    assert [KernelParam(dtype, [4]).is_float4() for dtype in (T.float4_e2m1fn, T.int4)] == [
        True,
        False,
    ]
    made = KernelParam(T.float16, [3, 4])
    assert (made.dtype, made.shape, made["dtype"]) == (T.float16, [3, 4], "float16")


def test_a_kernel_of_the_cache():
    from tilewright.cache import cached

    numbers = np.zeros(8, np.float32)
    cached(increment, target="cpu")(numbers)
    assert (numbers == 1).all()


def test_inputs_of_the_autotuner():
    from tilewright.autotuner import get_autotune_inputs, set_autotune_inputs

    assert get_autotune_inputs() is None
    with set_autotune_inputs(1, 2):
        assert get_autotune_inputs() == (1, 2)
    assert get_autotune_inputs() is None


def test_a_kernel_is_made_of_a_function():
    """`JITKernel(prim_func, ..)`, as older scripts write `compile`."""

    @T.prim_func
    def doubled(A: T.Tensor((4,), "float32"), B: T.Tensor((4,), "float32")):
        with T.Kernel(1, threads=4):
            for i in T.Parallel(4):
                B[i] = A[i] * 2

    kernel = tilewright.JITKernel(doubled, out_idx=[1], target="reference", from_database=False)
    assert isinstance(kernel, tilewright.JITKernel) and kernel.target == "reference"
    assert kernel(np.arange(4, dtype=np.float32)).tolist() == [0, 2, 4, 6]
    with pytest.raises(TypeError, match="unexpected keyword argument 'outidx'"):
        tilewright.JITKernel(doubled, outidx=[1])


def test_what_scripts_ask_of_targets_and_maps():
    from tilewright.target_queries import check_cuda_availability, target_is_cuda, target_is_hip
    from tilewright.tir import IndexMap

    assert not any((target_is_cuda("cuda"), target_is_hip("cpu"), check_cuda_availability()))
    moved = IndexMap.from_func(lambda i, j: (j, i + 1), index_dtype="int32")
    assert moved.map_indices([2, 5]) == [5, 3]
    assert IndexMap.from_func(lambda i: i * 2).map_indices([3]) == [6]
