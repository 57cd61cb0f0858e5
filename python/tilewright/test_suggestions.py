# SPDX-License-Identifier: Apache-2.0
"""Misspelt names and keywords: one sentence at the user's line that says what was meant."""

import warnings

import pytest

import tilewright
import tilewright.language as T
from tilewright.capture import recording_compiler
from tilewright.errors import CompileError, TilewrightWarning
from tilewright.suggestions import near, of_same_words, unknown_keyword, which_exist

#: Statements of a kernel, the text that the place marks, and the message.
IN_KERNELS = [
    ("T.tile.ad(S, S, S)", "T.tile.ad", "T.tile has no 'ad'; did you mean 'add'?"),
    ("T.tile.exps(S, S)", "T.tile.exps", "T.tile has no 'exps'; did you mean 'exp'?"),
    ("x = T.tile.Silu", "T.tile.Silu", "T.tile has no 'Silu'; did you mean 'silu'?"),
    ("T.tile.brcbb(S, S)", "T.tile.brcbb", "T.tile has no 'brcbb'; did you mean 'brcb'?"),
    ("T.tile.epx(S, S)", "T.tile.epx", "T.tile has no 'epx'; did you mean 'exp'?"),
    ("x = T.alloc_ubb", "T.alloc_ubb", "T has no 'alloc_ubb'; did you mean 'alloc_ub'?"),
    ("x = T.alloc_UBB", "T.alloc_UBB", "T has no 'alloc_UBB'; did you mean 'alloc_UB'?"),
    ("T.tile.multiply(S, S)", "T.tile.multiply", "T.tile has no 'multiply'; did you mean 'mul'?"),
    ("T.tile.maximum(S, S, S)", "T.tile.maximum", "T.tile has no 'maximum'; did you mean 'max'?"),
    ("T.tile.quux(S, S)", "T.tile.quux", "T.tile has no 'quux'"),
    ("T.coppy(A, S)", "T.coppy", "T has no 'coppy'; did you mean 'copy'?"),
    ("x = T.tensr", "T.tensr", "T has no 'tensr'; did you mean 'Tensor'?"),
    # Names of other languages, of which a name that looks alike would lead astray.
    ("T.dot(S, S)", "T.dot", "T has no 'dot'; write T.gemm(A, B, C), which adds to C"),
    (
        "T.reduce_mean(S, S)",
        "T.reduce_mean",
        "T has no 'reduce_mean'; write T.reduce_sum, and divide",
    ),
    ("x = T.where(1, 2, 3)", "T.where", "T has no 'where'; write T.if_then_else(condition, a, b)"),
    ("x = S.shap", "S.shap", "buffer 'S' has no attribute 'shap'; did you mean 'shape'?"),
    (
        "x = A[0].astyp('int32')",
        "A[0].astyp",
        "a value has no attribute 'astyp'; did you mean 'astype'?",
    ),
    (
        "T.copy(A, S, enable_rlu=True)",
        "enable_rlu=True",
        "T.copy has no argument 'enable_rlu'; did you mean 'enable_relu'? (it has: src, dst, "
        "enable_relu, transpose, pad_value, coalesced_width, disable_tma, eviction_policy, "
        "prefer_instruction, annotations, loop_layout, real_k, real_n, unit_flag, tmp)",
    ),
    (
        "T.gemm(S, S, S, transpose_a=True)",
        "transpose_a=True",
        "T.gemm has no argument 'transpose_a'; did you mean 'transpose_A'? (it has: A, B, C, "
        "transpose_A, transpose_B, policy, clear_accum, k_pack, mbar, annotations, wg_wait)",
    ),
    (
        "T.fill(S, 0, zeros=1)",
        "zeros=1",
        "T.fill has no argument 'zeros'; it has: buffer, value, annotations",
    ),
    (
        "for i in T.Pipelined(3, num_stage=2):\n    pass",
        "num_stage=2",
        "T.Pipelined has no argument 'num_stage'; did you mean 'num_stages'? (it has: start, stop, "
        "num_stages, order, stage, sync, group, cross_interval, annotations)",
    ),
    (
        "for i in T.thread_binding(3, annotation={}):\n    pass",
        "annotation={}",
        "T.thread_binding has no argument 'annotation'; did you mean 'annotations'? (it has: "
        "start, stop, thread, annotations)",
    ),
    (
        "T.use_swizzle(panel_sizes=3)",
        "T.use_swizzle(panel_sizes=3)",
        "T.use_swizzle has no argument 'panel_sizes'; did you mean 'panel_size'? (it has: "
        "panel_size, order, enable)",
    ),
    (
        "store(A, valu=1)",
        "store(A, valu=1)",
        "store has no argument 'valu'; did you mean 'value'? (it has: to, value)",
    ),
    (
        "plain(shift=1)",
        "shift=1",
        "plain has no argument 'shift'; it has: by",
    ),
    ("inner()", "inner()", "inner() got an unexpected keyword argument 'shift'"),
]
LAUNCHES = [
    (
        "T.Kernel(4, is_np=True)",
        "is_np=True",
        "T.Kernel has no argument 'is_np'; did you mean 'is_npu'? (it has: threads, prelude, "
        "is_npu, is_cpu, pipeline, cpu_num_threads)",
    ),
    ("T.Kernl(4)", "T.Kernl", "T has no 'Kernl'; did you mean 'Kernel'?"),
]


def _kernel(folder, launch, body):
    lines = "\n".join("        " + line for line in body.splitlines())
    source = f"""import tilewright.language as T

@T.macro
def store(to, value):
    to[0] = value

def plain(by):
    return by

def inner():
    return plain(shift=1)

@T.prim_func
def kernel(A: T.Tensor((8,), "float32")):
    with {launch} as bx:
        S = T.alloc_shared((8,), "float32")
{lines}
"""
    path = folder / "kernel.py"
    path.write_text(source)
    names = {"__name__": "kernel"}
    exec(compile(source, str(path), "exec"), names)
    return names["kernel"]


CASES = [("T.Kernel(4)", *case) for case in IN_KERNELS]
CASES += [(launch, "T.copy(A, S)", marked, message) for launch, marked, message in LAUNCHES]


@pytest.mark.parametrize(("launch", "body", "marked", "message"), CASES)
def test_in_a_kernel(launch, body, marked, message, tmp_path):
    """The message comes alone, and its place is the misspelt word."""
    with pytest.raises(CompileError) as caught:
        _kernel(tmp_path, launch, body).capture(recording_compiler)
    assert [d.message for d in caught.value.errors] == [message]
    place = caught.value.errors[0].place
    line = (tmp_path / "kernel.py").read_text().splitlines()[place.line - 1]
    assert line[place.column - 1 : place.end_column - 1] == marked


@T.prim_func
def doubled(A: T.Tensor((8,), "float32")):
    with T.Kernel(1):
        A[0] = A[0] * 2


@tilewright.jit
def factory(n, block_n=8):
    return doubled


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: tilewright.compile(doubled, pass_config={}),
            "compile() got an unexpected keyword argument 'pass_config'; did you mean "
            "'pass_configs'? (it has: func, out_idx, execution_backend, target, target_host, "
            "verbose, pass_configs, compile_flags, cpu, workspace_idx, platform)",
        ),
        (
            lambda: tilewright.jit(outidx=[1]),
            "jit() got an unexpected keyword argument 'outidx'; did you mean 'out_idx'? (it has: "
            "func, out_idx, target, target_host, execution_backend, verbose, pass_configs, "
            "debug_root_path, compile_flags, workspace_idx, cpu, platform)",
        ),
        (
            lambda: factory(8, blok_n=4),
            "factory() got an unexpected keyword argument 'blok_n'; did you mean 'block_n'? (it "
            "has: n, block_n)",
        ),
        (lambda: tilewright.compil, "tilewright has no 'compil'; did you mean 'compile'?"),
        (
            lambda: T.arange,
            "T has no 'arange'; write the variables of a loop, for i in T.Parallel(n)",
        ),
        (lambda: T.Tensr, "T has no 'Tensr'; did you mean 'Tensor'?"),
        (
            lambda: tilewright.PassConfigKey.TL_ASCEND_AUTO_SYNCS,
            "PassConfigKey has no 'TL_ASCEND_AUTO_SYNCS'; did you mean 'TL_ASCEND_AUTO_SYNC'?",
        ),
    ],
)
def test_outside_of_kernels(call, message):
    with pytest.raises((TypeError, AttributeError)) as caught:
        call()
    assert str(caught.value) == message


@pytest.mark.parametrize("key", ["tl.ascend_auto_synk", "ascend_auto_sync", "TL_ASCEND_AUTO_SYNC"])
def test_keys_of_pass_configs(key, monkeypatch):
    monkeypatch.setattr("tilewright.options._remarks", set())
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        tilewright.compile(doubled, pass_configs={key: True})
    remarks = [w for w in heard if w.category is TilewrightWarning]
    assert [(str(w.message), w.filename) for w in remarks] == [
        (
            f"pass config {key!r} is unknown, and ignored; did you mean 'tl.ascend_auto_sync'?",
            __file__,
        )
    ]


def test_words_that_are_near():
    assert near("transpose_a", ["transpose_A", "transpose_B"]) == "transpose_A"
    assert near("tensr", ["tensor", "Tensor"]) == "Tensor"
    assert near("x", ["alpha"]) == ""
    assert which_exist("x", []) == "; it has no keywords"
    assert which_exist("stages", ["stage", "num_stages"]).startswith("; did you mean 'num_stages'?")
    assert which_exist("stge", ["stage", "num_stages"]).startswith("; did you mean 'stage'?")
    assert of_same_words("size", ["block_size", "wave_size"]) == ""


def test_only_wrong_keywords_of_the_call_itself_count():
    wrong = TypeError("f() got an unexpected keyword argument 'b'")
    assert unknown_keyword(wrong, lambda a: a, {"b": 1}) == ("b", "; it has: a")
    assert unknown_keyword(wrong, lambda a: a, {}) is None
    assert unknown_keyword(wrong, lambda b: b, {"b": 1}) is None
    assert unknown_keyword(wrong, lambda **all: all, {"b": 1}) is None
    assert unknown_keyword(wrong, type.__call__, {"b": 1}) is None
    assert unknown_keyword(ValueError(str(wrong)), lambda a: a, {"b": 1}) is None
