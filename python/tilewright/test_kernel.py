# SPDX-License-Identifier: Apache-2.0
"""JITKernel and its profiler, on kernels written in C."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pytest

from tilewright import cache
from tilewright.kernel import JITKernel, stage_files
from tilewright.kernel_fixtures import build_library, manifest_of, scalar, symbol_dim, tensor
from tilewright.profiler import Profiler, TensorSupplyType, do_bench

SCALE = """
const float *x = (const float *)slots[0]; float *y = (float *)slots[1]; float f;
memcpy(&f, &slots[2], 4);
for (int64_t i = 0; i < (int64_t)slots[3]; ++i) y[i] = x[i] * f;
"""
PARAMS = [tensor("x", [symbol_dim(0)]), scalar("f", "float32"), tensor("y", [symbol_dim(0)])]
STAGES = [("tile", "tile text"), ("llvm", "llvm text")]


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return build_library(tmp_path_factory.mktemp("kernels"), "scale", SCALE).read_bytes()


@pytest.fixture
def make(library, tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path))
    cache.clear_memory()

    def make_kernel(stages=(), recompile=None, out_idx=-1):
        manifest = manifest_of("scale", PARAMS, symbols=["n"])
        extra = stage_files(stages, "int scale(void);") if stages else {}
        entry = cache.store(f"{len(stages):064x}", library, manifest, extra)
        return JITKernel(entry, out_idx, recompile=recompile)

    yield make_kernel
    cache.clear_memory()


@pytest.fixture
def kernel(make):
    return make(STAGES)


def test_call(kernel):
    x = np.arange(5, dtype=np.float32)
    np.testing.assert_array_equal(kernel(x, 2.5), [0, 2.5, 5, 7.5, 10])
    assert kernel.out_idx == [2]
    assert [param["name"] for param in kernel.params] == ["x", "f", "y"]
    assert repr(kernel) == "<JITKernel scale(x, f, y) for cpu>"
    assert kernel.latency is None


def test_sources(kernel, tmp_path, capsys):
    assert kernel.stages() == STAGES
    assert kernel.get_kernel_source() == "llvm text"
    assert kernel.get_kernel_source(kernel_only=False) == "int scale(void);\nllvm text"
    assert kernel.get_host_source() == "int scale(void);"
    assert kernel.stage("tile") == "tile text"
    with pytest.raises(KeyError, match="scale: no stage 'asm'; there are: tile, llvm"):
        kernel.stage("asm")
    kernel.show_source()
    assert capsys.readouterr().out == "llvm text\n"
    kernel.export_sources(str(tmp_path / "k.ll"), str(tmp_path / "k.h"))
    assert (tmp_path / "k.ll").read_text() == "llvm text"
    assert (tmp_path / "k.h").read_text() == "int scale(void);"
    with pytest.raises(ValueError, match="scale: export_sources needs kernel_path or host_path"):
        kernel.export_sources()


def test_stages_that_were_not_kept_are_made_by_compiling_again(make):
    calls = []

    def recompile():
        calls.append(1)
        return STAGES

    kernel = make(recompile=recompile)
    assert kernel.get_kernel_source() == "llvm text"
    assert kernel.stages() == STAGES
    assert calls == [1]
    with pytest.raises(KeyError, match="scale: no stage 'llvm'; there are: none"):
        make().get_kernel_source()


def test_export_library(kernel, library, tmp_path):
    kernel.export_library(str(tmp_path / "lib.so"))
    assert (tmp_path / "lib.so").read_bytes() == library


def test_wrong_keywords_of_the_profiler():
    """As of the compiler's own functions: with the keyword that was probably meant."""
    with pytest.raises(TypeError, match=r"argument 'wramup'; did you mean 'warmup'\? \(it has: fn"):
        do_bench(lambda: None, wramup=1)
    with pytest.raises(TypeError, match="'repeats'; did you mean 'repeat'"):
        Profiler(None).assert_consistent(repeats=1)
    with pytest.raises(TypeError, match="'inputs'; did you mean 'input_tensors'"):
        Profiler(None).do_bench(inputs=[])
    with pytest.raises(TypeError, match="'supply_type'; did you mean 'tensor_supply_type'"):
        JITKernel.get_profiler(None, supply_type=1)


def test_do_bench_measures_milliseconds():
    import time

    mean = do_bench(lambda: time.sleep(0.002), warmup=1, rep=30)
    assert 2.0 <= mean < 10
    calls = []
    do_bench(lambda: calls.append(1), _n_warmup=3, _n_repeat=4)
    assert len(calls) == 1 + 5 + 3 + 4
    low, high = do_bench(lambda: None, rep=1, quantiles=[0.0, 1.0])
    assert 0 < low <= high
    for mode in ("mean", "median", "min", "max"):
        assert do_bench(lambda: None, rep=1, return_mode=mode) > 0
    with pytest.raises(ValueError, match="do_bench: return_mode is 'best' but one of"):
        do_bench(lambda: None, return_mode="best")
    with pytest.raises(ValueError, match="do_bench: backend is 'zzz' but one of"):
        do_bench(lambda: None, backend="zzz")
    for name in ("warmup", "rep", "_n_warmup", "_n_repeat"):
        with pytest.raises(ValueError, match=f"do_bench: {name} is -1 but can't be negative"):
            do_bench(lambda: None, **{name: -1})
    assert do_bench(lambda: time.sleep(0.002), rep=1000, early_stop_baseline=0.1) >= 2.0


def test_profiler(kernel):
    profiler = kernel.get_profiler()
    symbols = {"n": 1000}
    assert profiler.do_bench(warmup=1, rep=2, dynamic_symbolic_constraints=symbols) > 0
    x, factor = profiler.inputs(symbols)
    assert factor == 1.0
    assert x.shape == (1000,)
    assert profiler.do_bench(input_tensors=[x, 2.0], warmup=1, rep=2, quantiles=[0.5])[0] > 0
    profiler.assert_allclose(lambda x, f: x * f, dynamic_symbolic_constraints=symbols)
    message = "scale: output 0 differs at 1000 of 1000 elements, first at (0,): "
    values = r"\S+ but the reference has \S+$"
    with pytest.raises(AssertionError, match=re.escape(message) + values):
        profiler.assert_allclose(lambda x, f: x * f + 1, dynamic_symbolic_constraints=symbols)
    with pytest.raises(AssertionError, match=re.escape("has shape (1000,) but the reference (999")):
        profiler.assert_allclose(lambda x, f: x[1:], dynamic_symbolic_constraints=symbols)
    with pytest.raises(AssertionError, match="gives 1 outputs but the reference 2"):
        profiler.assert_allclose(lambda x, f: (x, x), dynamic_symbolic_constraints=symbols)
    with pytest.raises(
        ValueError, match="symbols n need values: pass dynamic_symbolic_constraints={'n'"
    ):
        profiler.do_bench()


def test_names_of_tilelang(kernel):
    assert kernel.kernel_source == kernel.get_kernel_source() == kernel.adapter.kernel_source
    assert kernel.host_source == kernel.artifact.host_source == "int scale(void);"
    assert kernel.workspace_idx == kernel.auto_gm_idx == []
    profiler = kernel.get_profiler()
    shapes = {"n": 8}
    x = profiler.inputs(shapes)
    seen = []
    profiler.manual_assert_close(
        lambda values, factor: values * factor,
        input_tensors=x,
        manual_check_prog=lambda made, wanted: seen.append((made, wanted)),
    )
    ((made, wanted),) = seen
    np.testing.assert_allclose(made[0], wanted[0])
    with pytest.raises(ValueError, match="scale: manual_assert_close needs manual_check_prog"):
        profiler.manual_assert_close(lambda *values: values, input_tensors=x)


def test_what_a_tuner_has_found(kernel):
    with pytest.raises(ValueError, match="scale: no tuner has measured this kernel"):
        kernel.get_tuner_result()
    assert kernel.update_tuner_result(0.5, {"block": 64}, 1.5) is kernel
    found = {"latency": 0.5, "config": {"block": 64}, "ref_latency": 1.5}
    assert kernel.get_tuner_result() == found


def test_dtypes_that_torch_has_not():
    pytest.importorskip("torch")
    from tilewright.profiler import _in_framework

    with pytest.raises(ValueError, match="torch has no dtype float6_e2m3fn; pass input_tensors"):
        _in_framework(np.zeros(2), "float6_e2m3fn")


def test_supply_types(kernel):
    from tilewright.profiler import Profiler

    for supply in TensorSupplyType:
        profiler = Profiler(kernel, supply)
        values = np.asarray(profiler.inputs({"n": 200})[0], dtype=np.float64)
        if supply is TensorSupplyType.Zero:
            assert (values == 0).all()
        elif supply is TensorSupplyType.One:
            assert (values == 1).all()
        elif supply is TensorSupplyType.Integer:
            assert set(values) == {-2, -1, 0, 1, 2}
        else:
            assert 0.3 < values.std() < 1.5
        for dtype in ("bool", "uint8", "int64", "bfloat16", "float8_e4m3fn", "float16"):
            assert tuple(profiler._maker.tensor([2, 3], dtype).shape) == (2, 3)
        assert tuple(profiler._maker.tensor([2, 3], "int4").shape) == (2, 2)


def test_assert_consistent(tmp_path):
    body = "static float calls; ((float *)slots[0])[0] = calls; calls += 1;"
    library = build_library(tmp_path, "counting", body).read_bytes()
    entry = cache.Entry("0" * 64, library, manifest_of("counting", [tensor("C", [1])]), {})
    with pytest.raises(AssertionError, match="counting: output 0 differs in call 2 at 1 elements"):
        JITKernel(entry, [0]).get_profiler().assert_consistent()
    body = "((float *)slots[0])[0] = 0.0f / 0.0f;"
    library = build_library(tmp_path, "steady", body).read_bytes()
    entry = cache.Entry("0" * 64, library, manifest_of("steady", [tensor("C", [1])]), {})
    JITKernel(entry, [0]).get_profiler().assert_consistent()


def test_import_is_light():
    code = (
        "import sys; before = set(sys.modules); import tilewright.kernel\n"
        "slow = {'json', 'hashlib', 'pathlib', 'numpy', 'torch', 'typing', 'statistics'}\n"
        "print(*sorted(slow & (set(sys.modules) - before)))"
    )
    command = [sys.executable, "-S", "-c", code]
    answer = subprocess.run(
        command,
        env={"PYTHONPATH": str(cache.__file__).rpartition("/tilewright/")[0]},
        check=True,
        capture_output=True,
        text=True,
    )
    assert answer.stdout.strip() == ""
