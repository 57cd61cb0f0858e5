# SPDX-License-Identifier: Apache-2.0
"""Every message of the front end: its words, kind and place, and that it comes once."""

import re
from pathlib import Path

import pytest

import tilewright.language as T
from tilewright.capture import recording_compiler
from tilewright.capture.recording_compiler import body_of as body
from tilewright.errors import CompileError, JITNoBuilderError, TilewrightWarning
from tilewright.language.values import LanguageError, PoisonUsed


def errors(kernel) -> list[str]:
    with pytest.raises(CompileError) as caught:
        kernel.capture(recording_compiler)
    return [d.message for d in caught.value.errors]


def test_outside_a_kernel():
    with pytest.raises(
        JITNoBuilderError,
        match=r"the tile language can only be used inside a kernel \(@T.prim_func or @T.macro\)",
    ):
        T.alloc_shared((1,), "float32")


def test_five_errors_at_once():
    @T.prim_func
    def kernel(A: T.Tensor((8, 8), "float32")):
        with T.Kernel(4) as bx:
            S = T.alloc_shred((8,), "float32")
            T.copy(A[0, 0], S)
            x = undefined + 1  # noqa: F821
            A[0] = x
            try:
                pass
            finally:
                pass
            y = [1, 2][5]
            A[0, 0] = y
            T.copy(A)
            A[bx, 0] = 1 / 0

    with pytest.raises(CompileError) as caught:
        kernel.capture(recording_compiler)
    found = [(d.place.line, d.message) for d in caught.value.errors]
    start = kernel.function.__code__.co_firstlineno
    assert [(line - start, text) for line, text in found] == [
        (3, "T has no 'alloc_shred'; did you mean 'alloc_shared'?"),
        (5, "name 'undefined' is not defined"),
        (6, "buffer 'A' has 2 dimensions but is indexed with 1"),
        (7, "'try' can't be captured in a kernel"),
        (11, "this raises IndexError: list index out of range"),
        (13, "T.copy() missing 1 required positional argument: 'dst'"),
        (14, "this raises ZeroDivisionError: division by zero"),
    ]
    text = str(caught.value)
    assert f"{__file__}:{start + 3}:17: error: T has no 'alloc_shred'" in text
    assert "            S = T.alloc_shred((8,)" in text
    assert "7 errors in kernel 'kernel'" in text
    traceback = caught.value.__traceback__
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    assert traceback.tb_lineno == start + 3
    assert traceback.tb_frame.f_code.co_filename == __file__


def test_a_name_can_not_leave_its_loop():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32"), n: T.int32):
        with T.Kernel(4):
            for i in T.serial(4):
                S = T.alloc_shared((8,), "float32")
                last = A[i]
            A[0] = last
            A[1] = S[0]
            A[2] = i
            if n > 1:  # noqa: SIM108
                size = 3
            else:
                size = 4
            A[3] = size

    found = errors(kernel)
    assert [text.split(" at line")[0] for text in found] == [
        "'last' is used outside the serial loop",
        "'S' is used outside the serial loop",
        "'i' is used outside the serial loop",
        "'size' is used outside the if",
    ]


def test_a_change_is_not_carried():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(4) as bx:
            total = 0.0
            for i in T.serial(4):
                total += A[i]
            A[0] = 0.0
            scale = 1.0
            if bx > 1:
                scale = 2.0
            A[1] = scale

    found = errors(kernel)
    start = kernel.function.__code__.co_firstlineno
    assert found == [
        f"'total' is changed in the serial loop at line {start + 4}"
        ", but the change is not carried to the next iteration; use T.alloc_var or a buffer",
        f"'scale' was changed in the if at line {start + 8}"
        ", and its value after that is not known while tracing; use T.alloc_var or a buffer",
    ]


def test_a_harmless_change_is_allowed():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(4) as bx:
            offset = 0
            dtype = "float32"
            for i in T.serial(4):
                offset = i * 2
                A[offset] = T.cast(bx, dtype)
                dtype = "float32"
            A[0] = T.cast(bx, dtype)

    assert body(kernel)[1] == "mul(%i, 2) -> %1"


UNSUPPORTED = {
    "T.rng_init(1, generator='curandStateSobol32_t')\nx = T.rng_rand() + T.rng_rand()": (
        "the generator 'curandStateSobol32_t' is not supported; there are "
        "curandStatePhilox4_32_10_t, curandStateXORWOW_t, curandStateMRG32k3a_t"
    ),
    "for i in T.serial(4):\n    pass\nelse:\n    pass": (
        "'else' of a for loop can't be captured in a kernel"
    ),
    "while A[0] > 1:\n    pass\nelse:\n    pass": (
        "'else' of a while loop can't be captured in a kernel"
    ),
    "class C:\n    pass": "a class definition can't be captured in a kernel",
    "del A": "'del' can't be captured in a kernel",
    "match A:\n    case _:\n        pass": "'match' can't be captured in a kernel",
    "global g\ng = 1": "'global' can't be captured in a kernel",
    "x = yield": "'yield' can't be captured in a kernel",
    "A.x = 1": "assigning to an attribute can't be captured in a kernel",
    "A.x += 1": "assigning to an attribute can't be captured in a kernel",
    "T.topk(A, A)": (
        "T.topk is not supported yet; for a small k take k times the T.reduce_max and put the "
        "least number in its place, or, on an NPU, call TopK in an Ascend C function of your own "
        "by T.call_extern (docs/ascend-primitives.md)"
    ),
    "x = locals()": "locals() can't be captured in a kernel",
    "if A[0] > 1:\n    return": "'return' inside a loop or branch of the running kernel",
    "T.copy(A[0:8:2], A)": "a slice of 'A' with a step is not supported",
    "for k in [1, 2]:\n    if A[0] > 1:\n        break": (
        "'break' of a loop over a Python sequence under a condition of the running kernel"
    ),
    "if A[0] > 1:\n    raise ValueError": (
        "'raise' under a condition of the running kernel; use assert"
    ),
    "x = T.cast(bx, 'int8', sat=False)": (
        "round, sat and rbits of T.cast from int32 to int8 are not supported; they are for "
        "float32, float16 and bfloat16, to float16, bfloat16, float8_e5m2, float8_e4m3fn, "
        "float6_e2m3fn, float6_e3m2fn, float4_e2m1fn"
    ),
    "x = T.view(A[0], (1,))": "T.view of a part of a buffer is not supported",
    "T.lookup_param(A)": (
        "T.lookup_param is unsupported on cpu: it belongs to TVM's modules with parameters; pass "
        "the tensor as an argument"
    ),
    "T.gemm(A, A, A, mbar=1)": (
        "mbar of T.gemm is unsupported on cpu and ascend: a gemm is complete when it returns; "
        "call T.mbarrier_arrive(mbar) after it"
    ),
    "@T.prim_func\ndef k():\n    pass": "a kernel inside a kernel is not supported",
}
WRONG = {
    "T.Kernel(1, prelude=4)": "T.import_source takes text, not 4 of type int",
    "x = T.Parallel(4, loop_layout=1)": "loop_layout of T.Parallel must be a T.Fragment, not 1",
    "x = T.Pipelined(4, sync=1)": "sync of T.Pipelined must be a list, not 1",
    "T.copy(A, A, loop_layout=1)": "loop_layout of T.copy must be a T.Fragment, not 1",
    "x = T.Tensor((1,), data=3)": "T.view needs a buffer",
    "A[10**30] = 1": f"the number {10**30} does not fit in 64 bits",
    "A[0] = 10**9999": "the number of 33216 bits does not fit in 64 bits",
    "x = 1 in A": "buffer 'A' has no 'in'; compare elements, as in A[0]",
    "S = T.alloc_shared((10**30,), 'float32')": f"the number {10**30} does not fit in 64 bits",
    "for i in T.Pipelined(4, num_stages=A):\n    pass": "'num_stages' can't be buffer 'A'",
    "x = " + "- " * 900 + "A[0]": "the kernel nests too deeply",
    "forever()": "macro 'forever' is nested in 500 macros, the most that there may be; it may call "
    "itself without end",
    "while True:\n    pass": "the condition of this loop is always True",
    "while 1 < 2:\n    pass": "the condition of this loop is always True",
    "T.gemm(A, A, A, k_pack=3)": "k_pack of T.gemm is 3 but must be 1 or 2",
    "T.gemm(A, A, A, k_pack='2')": "k_pack of T.gemm is '2' but must be 1 or 2",
    "T.gemm(A, A, A, k_pack=True)": "k_pack of T.gemm is True but must be 1 or 2",
    "T.gemm(A, A, A, k_pack=None)": "k_pack of T.gemm is None but must be 1 or 2",
    "T.gemm(A, A, A, wg_wait=None)": "wg_wait of T.gemm must be an integer, not None",
    "if A:\n    pass": "buffer 'A' can't be a condition; index it",
    "if A == A:\n    pass": (
        "buffer 'A' can't be compared; compare elements, as in A[0], or write 'is' to ask whether "
        "two names are one buffer"
    ),
    "x = 1 if A[0:2] != 3 else 2": "a region of 'A' can't be compared; compare elements",
    "x, y = A": "buffer 'A' can't be iterated or unpacked",
    "A += 1": "augmented assignment to the whole buffer 'A'; write A[0] op= value",
    "A[0:2] = 1": "a slice of 'A' can't be assigned; use T.copy or T.fill",
    "A[0:2] += 1": "a slice of 'A' can't be assigned; use T.Parallel",
    "A.__setitem__(slice(0, 2), 1)": "a slice of 'A' can't be assigned; use T.copy or T.fill",
    "x = A + 1": "buffer 'A' has no arithmetic; index it, as in A[0]",
    "S = T.alloc_shared((8, 8), 'float32')\nx = S + 1": (
        "buffer 'S' has no arithmetic; index it, as in S[0, 0]"
    ),
    "S = T.alloc_shared((8, 8), 'float32')\nS += 1": (
        "augmented assignment to the whole buffer 'S'; write S[0, 0] op= value"
    ),
    "for x in A:\n    pass": (
        "a for loop needs a loop of the language, a range or a Python sequence, not buffer 'A'"
    ),
    "for i in range(0, 4, 0):\n    pass": "the step of a loop must not be 0",
    "a, b = 1, 2, 3": "2 names are bound to 3 values",
    "for i, j in T.Parallel(4):\n    pass": "2 names are bound to 1 value",
    "for i, j in T.serial(4):\n    pass": "2 names are bound to 1 value",
    "for i, j in T.grid(2, 3, 4):\n    pass": "2 names are bound to 3 values",
    "A[0] = A[1] @ A[2]": "numbers have no '@'; '*' multiplies them, T.gemm(A, B, C) multiplies "
    "tiles",
    "S = T.alloc_shared((2, 2), 'int32')\n"
    "for i in T.Parallel(2, 2):\n    S[i, 0] = 1": "an index of 'S' must be an integer "
    "or a slice, not 2 of them; a loop over several extents gives as many numbers: for i, j in "
    "T.Parallel(m, n)",
    "A[[bx, bx + 1]] = 1": "an index of 'A' must be an integer or a slice, not a list of "
    "numbers; a launch over several extents gives as many: with T.Kernel(m, n) as (bx, by)",
    "A['x'] = 1": "an index of 'A' must be an integer or a slice, not str",
    "A[0.5] = 1": "an index of 'A' must be an integer or a slice, not float",
    "T.copy(A, 3)": "the target of T.copy must be a buffer or a part of one, not 3 of type int",
    "S = T.alloc_shared((A[0],), 'float32')": (
        "the shape of an allocation must be known while compiling, not "
        "a value of the running kernel"
    ),
    "S = T.alloc_shared((8,), 'thing')": "there is no dtype 'thing'",
    "S = T.alloc_shared((8,), 'flot32')": "there is no dtype 'flot32'; did you mean 'float32'?",
    "S = T.alloc_shared((8,), 'bf16')": "there is no dtype 'bf16'; did you mean 'bfloat16'?",
    "S = T.alloc_shared((8,), 'FP16')": "there is no dtype 'FP16'; did you mean 'float16'?",
    "x = T.tile.addd": "T.tile has no 'addd'; did you mean 'add'?",
    # What follows from a mistake isn't told, whoever meets it.
    "b = T.nosuch(3)\nT.sync_threads(b, 256)": "T has no 'nosuch'",
    # Only what is true is told: a choice that is refused is closed, too.
    "T.print(1) if A[0] > 0 else T.print(2)": (
        "a side of this choice gives no value; where a statement is meant, write `if` and `else`"
    ),
    "x = A[0] if A[1] > 0 else None": (
        "a side of this choice gives no value; where a statement is meant, write `if` and `else`"
    ),
    "for i in T.serial(2):\n    if A[i] > 0:\n        x = A[i // bx] if A[1] > 0 else 'a'": (
        "expected a scalar but got 'a' of type str"
    ),
    "S = T.alloc_shared((8,), 8)": (
        "expected a dtype but got 8; the dims of a shape are one argument, as in (64, 64)"
    ),
    "x = T.Tensor(8, 8, 'float32')": ("T.Tensor takes its shape as one argument: (8, 8), not 8, 8"),
    "with T.serial:\n    pass": "T.serial is not called; a with statement takes T.serial(..)",
    "for i in T.Parallel(2, 2):\n    A[i * 2 + bx] = 1.0": (
        "'i' holds several values, not one; give each a name of its own, or index them, as in i[0]"
    ),
    "x = [A, A][bx]": (
        "which of these 2 values is meant is known only in the running kernel; choose it by if "
        "statements, or make one buffer with a dim more"
    ),
    "x = np.ones((2, 3))[0, bx]": (
        "which of these 6 values is meant is known only in the running kernel; choose it by if "
        "statements, or make one buffer with a dim more"
    ),
    "x = {1: 2.0}[bx]": (
        "which of these 1 values is meant is known only in the running kernel; choose it by if "
        "statements, or make one buffer with a dim more"
    ),
    "x = A if bx > 0 else A": (
        "a conditional expression chooses between numbers, not between buffers such as 'A'; write "
        "an if statement"
    ),
    "x = A[0].exp()": "a value has no attribute 'exp'; T.exp(x) is a function",
    "x = A @ A": (
        "buffer 'A' has no '@'; T.gemm(A, B, C) adds the product of two tiles to a third"
    ),
    "T.Kernel(2.0)": (
        "expected an integer but got 2.0 of type float; write '//' or T.ceildiv for a quotient"
    ),
    "assert 1 > 2, 'sizes'": "assertion failed while tracing: sizes",
    "raise ValueError('bad tile')": "the kernel raises ValueError: bad tile",
    "raise ValueError": "the kernel raises ValueError",
    "raise": "the kernel raises RuntimeError: No active exception to reraise",
    "import math\nx = math.exp(A[0])": (
        "math.exp() takes numbers, not values of the kernel; use T.exp"
    ),
    "import math\nx = math.gcd(bx)": (
        "math.gcd() takes numbers, not values of the kernel; use functions of the language"
    ),
    "import numpy as np\nx = np.exp(A[0])": (
        "np.exp() takes numbers, not values of the kernel; use T.exp"
    ),
    "import numpy as np\nx = np.exp(A)": (
        "np.exp() takes numbers, not values of the kernel; use T.exp"
    ),
    "x = round(A[0])": "round() takes numbers, not values of the kernel; use T.round",
    "x = y_later\ny_later = 1": "name 'y_later' is used before it is bound",
    "t = T\nt.nosuch(A)": "t has no 'nosuch'",
    "T.nosuch(A)\nfor T in range(2):\n    pass": "T has no 'nosuch'",
    "x = A.shap": "buffer 'A' has no attribute 'shap'; did you mean 'shape'?",
    "x = int(A[0])": (
        "an integer that is known only in the running kernel can't be used here; "
        "T.cast(x, 'int32') converts it there"
    ),
    "x = float(A[0])": (
        "a float that is known only in the running kernel can't be used here; "
        "T.cast(x, 'float32') converts it there"
    ),
    "for i in T.Parallel():\n    pass": "T.Parallel needs at least one extent",
    "x = T.max(A, 1)": "buffer 'A' is used as a scalar; index it, as in A[0]",
    "x = T.max('a', 1)": "expected a scalar but got 'a' of type str",
    "x = T.exp(A[0:2])": "a region of 'A' is used as a scalar",
    "x = T.const('M')": (
        "T.const can only be used in an eager kernel (@tilelang.jit without T.prim_func)"
    ),
    "return 3": "a kernel can't return a value; name its outputs with out_idx",
    "with 3:\n    pass": "int can't be used in a with statement",
    "choose(A[0])": (
        "a condition that is known only in the running kernel can't be used here in a plain Python "
        "function; make it a @T.macro"
    ),
    "broken()": "broken() raised KeyError: 'no such tile'",
    "swap(1, 2)": "parameter 'a' is a T.Ref and needs a variable or an element",
    "x = A[bx + 4] if bx > 1 else twice(A)": (
        "macro 'twice' has statements and can't be used in a lazy expression"
    ),
    "x = T.alloc_var('int32', 1, 2)": "T.alloc_var takes a dtype, an initial value and a scope",
    "x = T.view(3, (1,))": "T.view needs a buffer",
    "x = T.infinity('int32')": "int32 has no infinity; use T.max_value",
    "x = T.infinity('float8_e4m3fn')": "float8_e4m3fn has no infinity; use T.max_value",
    "x = T.int32(T_INF)": "inf can't be converted to int32",
    "T.Kernel(1, 1, 1, 1)": "T.Kernel takes 1 to 3 grid extents but got 4",
    "T.Kernel(1, threads=[1, 1, 1, 1])": "threads of T.Kernel takes 1 to 3 extents but got 4",
    "T.Kernel(1, threads=0)": "threads of T.Kernel must be positive, not 0",
    "T.Kernel(1.5)": "expected an integer but got 1.5 of type float",
    "T.atomic_add(A, A, return_prev=True)": (
        "return_prev of T.atomic_add needs a scalar, not a tile"
    ),
    "x = len(bx)": "a scalar of the kernel has no length",
    "x = [i for i in range(3) if bx > 0]": (
        "a comprehension runs while tracing, so its conditions must be known then; write a loop "
        "with an if statement"
    ),
    "T.gemm(A, A, A, policy='Square')": (
        "policy of T.gemm must be a T.GemmWarpPolicy, as in T.GemmWarpPolicy.Square, not 'Square'"
    ),
    "x, y = A[0]": "a scalar of the kernel can't be iterated or unpacked",
    "x = A[0]\nA[1] = x[0]": "a scalar of the kernel can't be indexed",
    "x = T.StridedTensor((1, 2), (1,))": "1 strides for 2 dimensions",
    "x = T.dynamic('')": "'' is not a list of names",
    "x = T.dynamic(1)": "1 is not a list of names",
    "x = list(T.serial(4))": (
        "a serial loop can only be used in a kernel or a @T.macro, not in plain Python"
    ),
}


def _kernel_of(text: str, folder: Path):
    lines = "\n".join("        " + line for line in text.splitlines())
    source = f"""import numpy as np; import tilewright.language as T

def choose(x):
    return 1 if x > 0 else 2

def broken():
    raise KeyError("no such tile")

@T.macro
def forever():
    forever()

@T.macro
def swap(a: T.Ref, b: T.Ref):
    a = b

@T.macro
def twice(x):
    T.clear(x)
    return 1

T_INF = float("inf")

@T.prim_func
def kernel(A: T.Tensor((8,), "float32")):
    with T.Kernel(4) as bx:
{lines}
"""
    path = folder / "kernel.py"
    path.write_text(source)
    names: dict = {"__name__": "kernel"}
    exec(compile(source, str(path), "exec"), names)
    return names["kernel"]


@pytest.mark.parametrize("text", [*UNSUPPORTED, *WRONG])
def test_message(text, tmp_path):
    kernel = _kernel_of(text, tmp_path)
    with pytest.raises(CompileError) as caught:
        kernel.capture(recording_compiler)
    first = caught.value.errors[0]
    assert first.message == {**UNSUPPORTED, **WRONG}[text]
    assert first.kind == ("unsupported" if text in UNSUPPORTED else "error")
    assert first.place.file == str(tmp_path / "kernel.py")
    before_body, _ = Path(first.place.file).read_text().split("with T.Kernel(4) as bx:\n")
    start = before_body.count("\n") + 2
    is_in_macro = text == "forever()" or "twice(A)" in text
    assert is_in_macro or start <= first.place.line <= start + text.count("\n")
    assert first.message[0].islower() or first.message[0] in "'T12"
    assert len(caught.value.errors) == 1


def test_an_exception_of_user_code_is_chained(tmp_path):
    kernel = _kernel_of("broken()", tmp_path)
    with pytest.raises(CompileError) as caught:
        kernel.capture(recording_compiler)
    assert isinstance(caught.value.__cause__, KeyError)
    note = caught.value.errors[0].notes[0]
    assert (note.place.line, note.message) == (7, "KeyError was raised here")


def test_errors_in_a_macro_name_both_places():
    @T.macro
    def wrong(x):
        T.copy(x)

    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(4):
            wrong(A)

    with pytest.raises(CompileError) as caught:
        kernel.capture(recording_compiler)
    error = caught.value.errors[0]
    assert error.place.line == wrong.function.__code__.co_firstlineno + 2
    assert error.notes[-1].place.line == kernel.function.__code__.co_firstlineno + 3
    assert error.notes[-1].message == "in macro 'wrong' called here"


def test_open_parameters():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32"), *more: T.Tensor((8,), "float32"), **named: T.int32):
        with T.Kernel(4) as bx:
            A[bx] = 1.0

    with pytest.raises(CompileError) as caught:
        kernel.capture(recording_compiler)
    assert [e.message for e in caught.value.errors] == [
        "a kernel can't have a parameter '*more'; name each",
        "a kernel can't have a parameter '**named'; name each",
    ]


def test_what_is_no_function():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(4) as bx:
            A[bx] = 1.0

    for wrong, text in ((kernel, "a kernel"), (3, "3"), (len, "<built-in function len>")):
        message = f"@T.prim_func needs a function defined with 'def' but got {text}"
        with pytest.raises(LanguageError, match=re.escape(message)):
            T.prim_func(wrong)


def test_no_source():
    names: dict = {"T": T}
    exec("@T.prim_func\ndef kernel(A: T.Tensor((8,), 'float32')):\n    pass\n", names)
    with pytest.raises(CompileError, match="the source of kernel 'kernel' can't be read") as e:
        names["kernel"].capture(recording_compiler)
    assert "<string>:1: error" in str(e.value)


def test_a_failure_without_a_message_is_a_fault_of_ours():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(4):
            fail()

    def fail():
        raise PoisonUsed

    assert errors(kernel) == ["a statement failed without a message"]


def test_layouts_of_source(tmp_path):
    text = """import tilewright.language as T
if True:
    @T.prim_func
    def kernel(
        A: T.Tensor((8,), "float32"),
    ):
        with T.Kernel(
1
):
            A[0] = 1.0; A[
1] = (2.0
)
# a comment to the left
            A[2] = 3.0
        # the end
    after = 1
"""
    path = tmp_path / "kernel.py"
    path.write_text(text)
    names: dict = {"__name__": "kernel"}
    exec(compile(text, str(path), "exec"), names)
    assert body(names["kernel"]) == [
        "store %A[0] = 1.0",
        "store %A[1] = 2.0",
        "store %A[2] = 3.0",
    ]
    path.write_text("gone")
    names["kernel"]._captured = None
    with pytest.raises(CompileError, match="kernel.py' has changed"):
        names["kernel"].capture(recording_compiler)


def test_a_lambda_is_no_kernel():
    with pytest.raises(CompileError, match="it is not a plain 'def'"):
        T.prim_func(lambda A: None).capture(recording_compiler)
    message = "'k' can't be called; compile it with tilelang.compile or @tilelang.jit"
    with pytest.raises(LanguageError, match=message):
        T.prim_func(_kernel_named_k)()


def _kernel_named_k():
    pass


_kernel_named_k.__name__ = "k"


def test_signatures():
    @T.prim_func
    def kernel(A, B: T.Tensor, c: 3, d: T.ptr, e: T.SharedBuffer((1,))):
        with T.Kernel(4):
            pass

    assert errors(kernel) == [
        "parameter 'A' of the kernel has no annotation; write what it is, as in "
        "A: T.Tensor((M, N), 'float32')",
        "the annotation of parameter 'B' is neither a tensor nor a dtype: T.Tensor",
        "the annotation of parameter 'c' is neither a tensor nor a dtype: 3",
        "parameter 'e' must be in global memory",
    ]


def test_dtypes_that_there_are_not():
    @T.prim_func
    def kernel(
        A: T.Tensor((4,), "float23"), B: T.Tensor((4,), 7), C: T.StridedTensor((4,), (1,), "f")
    ):
        with T.Kernel(4) as bx:
            A[bx] = B[bx]
            C[bx, 0, 0] = D[bx]  # noqa: F821

    with pytest.raises(CompileError) as caught:
        kernel.capture(recording_compiler)
    line = kernel.function.__code__.co_firstlineno
    found = [(d.place.line - line, d.place.column, d.message) for d in caught.value.errors]
    assert found == [
        (2, 9, "there is no dtype 'float23'; did you mean 'float32'?"),
        (
            2,
            39,
            "expected a dtype but got 7; the dims of a shape are one argument, as in (64, 64)",
        ),
        (2, 61, "there is no dtype 'f'"),
        (6, 27, "name 'D' is not defined"),
    ]


def test_annotations_that_are_strings():
    size = 16

    @T.prim_func
    def kernel(A: "T.Tensor((size, 4), 'float16')", n: "int32", B: "T.Tensor((sise,))"):  # noqa: F821
        with T.Kernel(4):
            pass

    assert errors(kernel) == ["name 'sise' is not defined"]


def test_keyboard_interrupt_passes():
    def interrupt():
        raise KeyboardInterrupt

    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(4):
            interrupt()

    with pytest.raises(KeyboardInterrupt):
        kernel.capture(recording_compiler)


def test_values_of_another_kernel():
    kept = []

    @T.prim_func
    def first(A: T.Tensor((8,), "float32")):
        with T.Kernel(4) as bx:
            kept.extend([A, bx])

    @T.prim_func
    def second(A: T.Tensor((8,), "float32")):
        with T.Kernel(4):
            A[kept[1]] = 0.0
            T.clear(kept[0])
            A[0] = kept[0][0]

    first.capture(recording_compiler)
    assert errors(second) == [
        "a value of another kernel is used here",
        "a buffer of another kernel is used here",
        "a buffer of another kernel is used here",
    ]


def test_a_variable_in_a_plain_python_function():
    @T.meta_class
    class State:
        def __init__(self):
            self.total = T.alloc_var("int32", init=1)

    def plain(state):
        return state.total + 1

    @T.prim_func
    def kernel(A: T.Tensor((8,), "int32")):
        with T.Kernel(1):
            state = State()
            A[0] = plain(state)

    assert errors(kernel) == [
        "variable 'total' is used in a plain Python function; make it a @T.macro"
    ]


def test_an_error_about_an_argument_stands_at_it():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(1):
            A[0] = T.max(A[1], "zero")
            A[0] = T.clamp(A[1], 0, max_val=A)
            A[0] = T.exp(A[0:2])

    with pytest.raises(CompileError) as caught:
        kernel.capture(recording_compiler)
    lines = Path(__file__).read_text().splitlines()
    marked = [
        lines[d.place.line - 1][d.place.column - 1 : d.place.end_column - 1]
        for d in caught.value.errors
    ]
    assert marked == ['"zero"', "A", "A[0:2]"]


@pytest.mark.parametrize(
    ("loop", "message"),
    [
        ("T.grid(2, 2.5)", "expected an integer but got 2.5 of type float"),
        ("T.grid(2, 2, 'x')", "expected a scalar but got 'x' of type str"),
        ("T.grid(2, None)", "expected a scalar but got None of type NoneType"),
        ("T.grid(2, A)", "buffer 'A' is used as a scalar; index it, as in A[0]"),
        ("T.grid(2, A[0])", "a loop's stop must be an integer, but it is of dtype float32"),
        ("T.grid(2, n > 3)", "a loop's stop must be an integer, but it is of dtype bool"),
        ("T.grid(2, True)", "an extent of T.grid must be an integer, not True"),
        ("T.grid(2, -1)", "an extent of T.grid is -1, but it cannot be negative"),
        ("T.grid()", "T.grid needs at least one extent"),
    ],
)
def test_a_loop_nest_is_checked_before_it_is_opened(tmp_path, loop, message):
    """No loop stays open: what follows has no errors, and the launch ends well."""
    path = tmp_path / "nest.py"
    path.write_text(
        "import tilewright.language as T\n\n"
        "@T.prim_func\ndef kernel(A: T.Tensor((8,), 'float32'), n: T.int32):\n"
        f"    with T.Kernel(1):\n        for i, j in {loop}:\n            A[i + j] = 1\n"
        "        for k in T.Parallel(8):\n            A[k] = 2\n"
    )
    scope = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    with pytest.raises(CompileError) as caught:
        scope["kernel"].capture()
    assert [(d.kind, d.message) for d in caught.value.errors] == [("error", message)]
    assert (caught.value.errors[0].place.line, caught.value.errors[0].place.column) == (6, 21)


@pytest.mark.parametrize(
    ("launch", "names", "message"),
    [
        (
            "T.Kernel(4, is_npu=True, threads=2)",
            "(cid, vid)",
            "T.Kernel with threads gives the number of the block alone (without threads it gives "
            "that of the vector core, too), but 2 names are bound to it",
        ),
        (
            "T.Kernel(4, is_npu=True)",
            "(cid,)",
            "T.Kernel with is_npu=True gives the numbers of the block and the vector core, but 1 "
            "name is bound to it",
        ),
        (
            "T.Kernel(4, 2)",
            "(bx, by, bz)",
            "T.Kernel with 2 grid extents gives 2 numbers, but 3 names are bound to it",
        ),
        (
            "T.Kernel(4)",
            "(bx, by)",
            "T.Kernel with 1 grid extent gives 1 number, but 2 names are bound to it; is_npu=True "
            "gives the number of the vector core, too",
        ),
    ],
)
def test_names_of_a_launch(tmp_path, launch, names, message):
    path = tmp_path / "launch.py"
    path.write_text(
        "import tilewright.language as T\n\n"
        "@T.prim_func\ndef kernel(A: T.Tensor((8,), 'float32')):\n"
        f"    with {launch} as {names}:\n        pass\n"
    )
    scope = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    with pytest.raises(CompileError) as caught:
        scope["kernel"].capture()
    (error,) = caught.value.errors
    assert error.message == message
    assert (error.place.line, error.place.column) == (5, len("    with ") + 1)


def test_a_launch_of_cores_has_one_extent():
    """What its names are bound to follows from that, and isn't told."""

    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(2, 3, is_npu=True) as (cid, vid):
            A[vid] = cid

    with pytest.raises(CompileError) as caught:
        kernel.capture()
    assert [d.message for d in caught.value.errors] == [
        "T.Kernel for an NPU takes 1 grid extent, not 2"
    ]


def test_a_print_of_what_only_the_running_kernel_knows(capsys):
    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(1) as bx:
            print("sizes", A.shape)
            print("A is", A[bx])

    with pytest.warns(TilewrightWarning) as caught:
        kernel.capture()
    assert [str(each.message) for each in caught] == [
        "print runs while the kernel is traced, where this has no value yet; use T.print"
    ]
    assert capsys.readouterr().out.startswith("sizes (8,)\nA is ")


def test_a_number_is_compared_with_no_text():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(1):
            if A[0] == "float32":
                A[1] = 1.0
            if "x" != A[0]:  # noqa: SIM300
                A[2] = 1.0
            if A[0] != None:  # noqa: E711
                A[3] = 1.0

    said = (
        "a number of the kernel is compared with the text {!r}, which it never equals; where its "
        "dtype is meant, write `.dtype`"
    )
    assert errors(kernel) == [said.format("float32"), said.format("x")]


def test_a_buffer_is_no_function():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(1):
            A[0] = A(1)

    assert errors(kernel) == ["buffer 'A' is no function; its elements are A[...]"]
