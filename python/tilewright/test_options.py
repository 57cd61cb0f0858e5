# SPDX-License-Identifier: Apache-2.0
"""Choices of a compilation that have no effect: each is said once, or has what it asks for."""

from __future__ import annotations

import pytest

import tilewright
import tilewright.language as T

FOR_GPUS = "no effect here: a GPU's compiler is told so how to work"
#: Those of TileLang-Ascend that are inherited: names of a kernel's pass_configs that must be there.
INHERITED_KEYS = [
    getattr(tilewright.PassConfigKey, name)
    for name in (
        *("TL_SIMPLIFY", "TL_DYNAMIC_ALIGNMENT", "TL_DISABLE_DYNAMIC_TAIL_SPLIT"),
        *("TL_DISABLE_WARP_SPECIALIZED", "TL_DISABLE_TMA_LOWER", "TL_DISABLE_WGMMA"),
        *("TL_DISABLE_SAFE_MEMORY_ACCESS", "TL_DISABLE_OUT_OF_BOUND_WARNING"),
        *("TIR_ENABLE_EQUIV_TERMS_IN_CSE", "TIR_DISABLE_CSE", "TIR_SIMPLIFY", "TIR_NOALIAS"),
    )
]


@pytest.mark.parametrize(
    ("target", "cpu", "message"),
    [
        (
            "cpu",
            "sapphirerapid",
            "no CPU is named 'sapphirerapid' on x86_64; did you mean 'sapphirerapids'?",
        ),
        ("cpu", "nehalem", "CPU 'nehalem' lacks avx2, which the cpu target needs"),
        (
            "ascend",
            "avx2",
            "there is no Ascend chip 'avx2'; there are: 910B1, 910B2, 910B3, 910B4, 910_9391",
        ),
    ],
)
def test_a_wrong_cpu_is_told_where_it_is_named(monkeypatch, target, cpu, message):
    with pytest.raises(tilewright.CompileError) as named:
        tilewright.compile(factory(7), target=target, cpu=cpu)
    assert str(named.value).endswith(f"\nunsupported: {message}")
    monkeypatch.setenv("TILEWRIGHT_CPU", cpu)
    with pytest.raises(tilewright.CompileError) as set_outside:
        tilewright.compile(factory(7), target=target)
    expected = f"unsupported: environment variable TILEWRIGHT_CPU: {message}"
    assert str(set_outside.value).endswith(f"\n{expected}")


def factory(n):
    @T.prim_func
    def kernel(A: T.Tensor((n,), "float32")):
        with T.Kernel(1):
            A[0] = 1.0

    return kernel


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"pass_configs": {"tl.no_such": 1}}, "pass config 'tl.no_such' is unknown, and ignored"),
        ({"pass_configs": {tilewright.PassConfigKey.TL_ENABLE_FAST_MATH: True}}, None),
        (
            {"pass_configs": {tilewright.PassConfigKey.TL_CPU_PARALLEL: True}},
            "pass config 'tl.cpu_parallel' has no effect here, because the blocks of a kernel run "
            "on all cores",
        ),
        (
            {"pass_configs": {tilewright.PassConfigKey.TL_CPU_PARALLEL_MIN_TRIP: 64}},
            "pass config 'tl.cpu_parallel_min_trip' has no effect here, because the blocks of a "
            "kernel run on all cores",
        ),
        (
            {"pass_configs": {tilewright.PassConfigKey.TL_PASS_PROFILE: True}},
            "pass config 'tl.pass_profile' has no effect here, whatever the target",
        ),
        *(
            (
                {"pass_configs": {key: value}},
                f"pass config '{key}' has no effect here, whatever the target",
            )
            for key, value in {
                "tl.dump_ir_path": "ir",
                "tl.layout_visualization_formats": "svg",
                "tl.pass_profile_threshold_ms": 5,
            }.items()
        ),
        (
            {"debug_root_path": "debug"},
            "debug_root_path has no effect here, whatever the target; get_kernel_source() gives a "
            "kernel's text",
        ),
        (
            {"pass_configs": {tilewright.PassConfigKey.TL_ASCEND_TAIL_MASK: True}},
            "pass config 'tl.ascend_tail_mask' has no effect here, because what a load leaves of a "
            "tile is pad_value, also in reductions",
        ),
        (
            {"pass_configs": {tilewright.PassConfigKey.TL_ASCEND_SCALAR_STORE_TO_DMA: True}},
            "pass config 'tl.ascend_scalar_store_to_dma' has no effect here, because single "
            "elements go past the scalar unit's cache",
        ),
        (
            {
                "pass_configs": {
                    tilewright.PassConfigKey.TL_ASCEND_VECTOR_MASK_REUSE: False,
                    tilewright.PassConfigKey.TL_ASCEND_AUTO_SYNC_VS: True,
                }
            },
            None,
        ),
        (
            {"compile_flags": ["-O3"], "target": "ascend"},
            "compile_flags but --cce-auto-sync have no effect here, whatever the target",
        ),
        (
            {"compile_flags": "-O3 --cce-auto-sync=off", "target": "ascend"},
            "compile_flags but --cce-auto-sync have no effect here, whatever the target",
        ),
        ({"compile_flags": ["--cce-auto-sync=off"], "target": "ascend"}, None),
        ({"compile_flags": ["--cce-auto-sync=on"], "target": "ascend"}, None),
        ({"compile_flags": ["--cce-auto-sync", "off"], "target": "ascend"}, None),
        (
            {"compile_flags": ["--cce-auto-sync=maybe"], "target": "ascend"},
            "--cce-auto-sync of compile_flags is 'maybe', which is taken as off; write on or off",
        ),
        (
            {"pass_configs": {"tl.disable_tma_lower": True, "tir.use_async_copy": True}},
            f"pass config 'tir.use_async_copy' has {FOR_GPUS}",
        ),
        (
            {"pass_configs": {"tir.merge_static_smem": True, "tirx.disable_vectorize": True}},
            None,
        ),
        (
            {"pass_configs": {"tl.enable_async_copy": True, "tl.layout_cost_model": "io"}},
            f"pass configs 'tl.enable_async_copy', 'tl.layout_cost_model' have {FOR_GPUS}",
        ),
        ({"pass_configs": dict.fromkeys(INHERITED_KEYS, True)}, None),
        ({"pass_configs": {"tirx.Simplify": {"enable_simplify_let_inline": True}}}, None),
        ({"execution_backend": "cython"}, None),
        ({"execution_backend": "tvm_ffi"}, None),
        (
            {"execution_backend": "nvrtc"},
            "execution_backend 'nvrtc' has no effect here, whatever the target",
        ),
        (
            {"execution_backend": "cutedsl"},
            "execution_backend 'cutedsl' has no effect here, whatever the target",
        ),
    ],
)
def test_choices_without_effect_are_said_once(choices, message, recwarn, monkeypatch):
    monkeypatch.setattr("tilewright.options._remarks", set())
    tilewright.jit(**choices)(factory)
    tilewright.jit(**choices)(factory)
    assert [str(w.message) for w in recwarn] == ([message] if message else [])
    assert all(w.filename == __file__ for w in recwarn)


def test_the_environments_backend(monkeypatch):
    """A name that there isn't is told where a kernel is decorated or compiled; the others, and an
    argument, count as there."""
    monkeypatch.setenv("TILELANG_EXECUTION_BACKEND", "bogus")
    message = (
        "the environment variable TILELANG_EXECUTION_BACKEND is 'bogus'; there are: auto, tvm_ffi, "
        "cython, nvrtc, torch, cutedsl, ctypes, dlpack, which all mean the same here"
    )
    for call in (tilewright.jit, tilewright.compile, lambda _: tilewright.jit(out_idx=0)):
        with pytest.raises(ValueError) as caught:
            call(factory)
        assert str(caught.value) == message
    tilewright.jit(execution_backend="cython")(factory)
    for name in ("", "auto", "tvm_ffi"):
        monkeypatch.setenv("TILELANG_EXECUTION_BACKEND", name)
        tilewright.jit(factory)
