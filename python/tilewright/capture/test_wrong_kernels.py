# SPDX-License-Identifier: Apache-2.0
"""Mistakes in kernels, as the compiler tells them: one plain sentence at the user's line."""

import re
from pathlib import Path

import pytest

import tilewright
import tilewright.language as T

pytest.importorskip("tilewright._compiler")

#: Bodies of a kernel, with one `#!` at the end of the line that is wrong, and what is said of it.
WRONG = {
    "v = T.view(A, (2, 2, 2))\nv[0, 0] = 1  #!": "this view of 'A' has 3 dimensions but is indexed "
    "with 2",
    "S = T.alloc_shared((2.5, 4), 'float32')  #!": "expected an integer but got 2.5 of type float",
    "S = T.alloc_fragment((8 / 2,), 'float32')  #!": (
        "expected an integer but got 4.0 of type float; write '//' or T.ceildiv for a quotient"
    ),
    "S = T.alloc_local(('n',), 'float32')  #!": "expected an integer but got 'n' of type str",
    "S = T.alloc_local((n,), 'float32')  #!": (
        "the shape of an allocation must be known while compiling, not a value of the running "
        "kernel"
    ),
    **{
        f"S = T.alloc_{kind}((4,), 'float32', scope={scope!r})  #!": (
            f"T.alloc_{kind} has no scope {scope!r}{told}"
        )
        for kind, scope, told in (
            ("shared", "shared.dyne", "; did you mean 'shared.dyn'?"),
            ("fragment", "local.fragments", "; did you mean 'local.fragment'?"),
            ("local", 3, "; there are: shared, shared.dyn, local.fragment, local, global"),
        )
    },
    "x = T.alloc_var('int32', 0, 'locals')  #!": (
        "T.alloc_var has no scope 'locals'; did you mean 'local'?"
    ),
    **{
        f"x = T.alloc_var(T.int32, 0, scope={scope!r})  #!\nif n > 0:\n    x = 5\nA[x] = 1": (
            "a variable has the scope local.var only, one of each thread; use "
            f"T.alloc_{kind}((1,), 'int32') for one element of {scope!r}"
        )
        for scope, kind in (
            ("shared", "shared"),
            ("shared.dyn", "shared"),
            ("global", "global"),
            ("local.fragment", "fragment"),
        )
    },
    "x = T.alloc_var('int32', 'shared')  #!": (
        "a variable has the scope local.var only, one of each thread; use "
        "T.alloc_shared((1,), 'int32') for one element of 'shared'"
    ),
    **{
        f"S = T.alloc_shared((2, 4), 'float32')\nT.annotate_layout({{{pair}}})  #!": text
        for pair, text in {
            "S: 'zN'": "the layout of 'S' must be a T.Layout, a T.Fragment or a function of the "
            "indices, not 'zN' of type str",
            "S: (4, 1)": "the layout of 'S' must be a T.Layout, a T.Fragment or a function of the "
            "indices, not (4, 1) of type tuple",
            "S: T.Layout((2, 4), lambda i, j: (i, j // 2))": "the layout of 'S' puts elements "
            "[0, 0] and [0, 1] at one place",
            "3: T.Layout((2, 4), lambda i, j: (j, i))": "T.annotate_layout takes layouts of "
            "buffers, not of 3 of type int",
        }.items()
    },
    "x = T.alloc_var('in32')  #!": "there is no dtype 'in32'; did you mean 'int32'?",
    "A[0] = T.cast(A[1], 'flot16')  #!": "there is no dtype 'flot16'; did you mean 'float16'?",
    **{
        f"S = T.alloc_{kind}((4, -4), 'float32')  #!": "dim 1 of 'S' is -4, but it cannot be "
        "negative"
        for kind in ("shared", "fragment", "local", "global", "buffer", "reducer")
    },
    "S = T.alloc_reducer((4, -4), 'float32')  #!\nT.reducer_init(S)\nT.finalize_reducer(S)": (
        "dim 1 of 'S' is -4, but it cannot be negative"
    ),
    **{
        f"for i in T.Pipelined(4, {given}):  #!\n    A[i] = 1": text
        for given, text in {
            "order='abc', stage=[0]": "order of T.Pipelined must be a list, not 'abc'",
            "order=[0], stage=1": "stage of T.Pipelined must be a list, not 1",
            "order=[0.5], stage=[0]": "expected an integer but got 0.5 of type float",
            "order=[0]": "T.Pipelined has order without stage; a schedule by hand is of both",
            "stage=[0]": "T.Pipelined has stage without order; a schedule by hand is of both",
            "order=[0, 1], stage=[0]": "order of T.Pipelined is of length 2, but stage of length "
            "1; each has one number for each statement",
            "order=[0, 1, 1], stage=[0, 0, 1]": "order of T.Pipelined is [0, 1, 1], but it must "
            "hold each of 0 to 2 once",
            "order=[0, -1, 5], stage=[0, -1, 1]": "order of T.Pipelined is [0, -1, 5], but it must "
            "hold each of 0 to 1 once",
            "order=[0, 1], stage=[0, -1]": "statement 1 of T.Pipelined has order 1 and stage -1; "
            "both are from 0 on, or both -1 for what a producer of its own does",
            "order=[-2], stage=[-1]": "statement 0 of T.Pipelined has order -2 and stage -1; "
            "both are from 0 on, or both -1 for what a producer of its own does",
            "group=[[0], [9]]": "group of T.Pipelined is [[0], [9]], but it must hold each of the "
            "statements 0 to 1 once",
            "group=[[0], [1]], order=[0], stage=[0]": "order of T.Pipelined is of length 1, but "
            "group of length 2; order has one number for each group",
            "group=[0]": "a group of T.Pipelined must be a list, not 0",
        }.items()
    },
    "T.sync_threads('a')  #!": "expected an integer but got 'a' of type str",
    "T.sync_threads(1, n)  #!": (
        "the number of threads that wait at a barrier must be known while compiling, not a value "
        "of the running kernel"
    ),
    "r = T.alloc_reducer((1,), 'float32')\nfor i in T.Parallel(4):\n    "
    "T.reducer_update(r[0], A[i])  #!\nT.finalize_reducer(r)": (
        "reducer 'r' is updated before T.reducer_init sets it"
    ),
    "r = T.alloc_reducer((1,), 'float32', op='bitor')  #!": (
        "a reducer 'bitor' works on integers, but this is of dtype float32"
    ),
    "r = T.alloc_reducer((1,), 'float32')\nT.clear(r)\nT.finalize_reducer(r, batch=0)  #!": (
        "the batch of T.finalize_reducer must be at least 1, not 0"
    ),
    "x = T.alloc_var('float32', init=1e300)  #!": (
        "the number 1e+300 does not fit the dtype float32 of 'x'; T.infinity(dtype) is meant to "
        "be infinite"
    ),
    **{
        f"S = T.alloc_shared((2, 4), 'float32')\nS.{attribute}  #!": (
            f"buffer 'S' has no attribute {attribute.partition('(')[0]!r}; {meant}"
        )
        for attribute, meant in {
            "fill(0)": "write T.fill(S, value)",
            "zero_()": "write T.clear(S)",
            "to('int8')": "write T.copy(S, target), which converts to the target's dtype",
            "exp()": "T.exp(x) is a function",
            "shap": "did you mean 'shape'?",
        }.items()
    },
    "T.dp4a(A[0], A[0], A[1])  #!": (
        "T.dp4a adds products of int8 to an int32, but its elements are of float32, float32, "
        "float32"
    ),
    "T.assume(8 == 3)  #!": "the condition of T.assume never holds",
    "for i in T.serial(0, 8, 0.5):  #!\n    A[i] = 1": (
        "expected an integer but got 0.5 of type float"
    ),
    "for i in T.unroll(0, 8, 'x'):  #!\n    A[i] = 1": "expected a scalar but got 'x' of type str",
    "for i in T.serial(0, 8, A[0]):  #!\n    A[i] = 1": (
        "a loop's step must be an integer, but it is of dtype float32"
    ),
    "z = 0\nfor i in range(0, 8, z):  #!\n    A[i] = 1": "the step of a loop must not be 0",
    "with T.Kernel(2) as by:  #!\n    A[by] = 1": "T.Kernel stands inside of another T.Kernel",
    **{
        f"with T.Kernel(2, cpu_num_threads={count}) as by:  #!\n    A[by] = 1": (
            f"cpu_num_threads of T.Kernel must be a positive integer, not {count}"
        )
        for count in (0, True, 1.5)
    },
    "by = T.Kernel(2)  #!\nA[by] = 1": "T.Kernel stands inside of another T.Kernel",
    "for i in T.serial(2):\n    with T.Kernel(2) as by:  #!\n        A[by] = 1": (
        "T.Kernel stands inside of another T.Kernel"
    ),
    "S = T.alloc_shared((2, 4), 'float32')\nT.copy(A, B, S)  #!": (
        "enable_relu of T.copy must be True or False, not buffer 'S'; T.copy takes one source and "
        "one target"
    ),
    "T.copy(A, B, False, 'yes')  #!": (
        "transpose of T.copy must be True or False, not 'yes' of type str; T.copy takes one "
        "source and one target"
    ),
    "T.copy(A, B)  #!": "copy of whole buffers of different shapes: 'A' is (8) but 'B' is (8, 8)"
    "; name the part that is meant: B[0, 0:8]",
    "S = T.alloc_shared((4, 4, 4), 'float32')\nT.copy(S, B[0, 0])  #!": (
        "copy between (4, 4, 4) elements of 'S' and 'B', which has 2 dims: dim 0 of the first has "
        "nothing to go with"
    ),
    **{
        f"{loop}:\n    {text}  #!": "'return' inside a loop or branch of the running kernel"
        for loop in ("for i in T.serial(4)", "for i in T.Parallel(4)", "while A[0] > 0")
        for text in ("return", "return A")
    },
    "T.loop_break()  #!": "'break' outside of a loop",
    "if n > 0:\n    T.loop_break()  #!": "'break' outside of a loop",
    "for i in T.Parallel(4):\n    if A[i] > 0:\n        break  #!": (
        "'break' inside of T.Parallel, whose iterations have no order"
    ),
    "if n > 0:\n    x = A[0]\nA[1] = x  #!": (
        "'x' is used outside the if at line 5 where it was made"
    ),
    "if n > 0:\n    y = 3\nelse:\n    x = 3\nA[1] = x  #!": (
        "'x' is used outside the if at line 5 where it was made"
    ),
    "if n > 0:\n    S = T.alloc_shared((8,), 'float32')\nT.clear(S)  #!": (
        "'S' is used outside the if at line 5 where it was made"
    ),
    **{
        f"{statement}  #!{body}": f"the number {2**63} does not fit int64"
        for statement, body in (
            ("S = T.alloc_shared((2**63,), 'float32')", ""),
            ("for i in T.serial(2**63):", "\n    A[0] = 1"),
            ("for i in T.serial(0, 10, 2**63):", "\n    A[0] = 1"),
            ("for i in T.Parallel(2**63):", "\n    A[0] = 1"),
            ("A[2**63] = 1", ""),
            ("A[0] = A[2**63]", ""),
            ("T.copy(B[2**63, 0], A)", ""),
            ("x = T.view(A, (2**63,))", ""),
            ("T.reduce_sum(B, A, dim=2**63)", ""),
            ("T.cumsum(B, dim=2**63)", ""),
            ("with T.Kernel(2**63):", "\n    A[0] = 1"),
        )
    },
    **{
        f"S = T.alloc_{kind}(64, 64, T.float32)  #!": (
            f"the shape of T.alloc_{kind} is one argument, a tuple: T.alloc_{kind}((64, 64), "
            "'float32')"
        )
        for kind in ("shared", "fragment", "local")
    },
    "T.fill(A, -T.inf)  #!": "T has no 'inf'; write T.infinity(dtype)",
    "import torch\nA[0] = torch.exp(A[1])  #!": (
        "torch.exp() takes tensors, not values of the kernel; use T.exp"
    ),
    "x = [A[i] for i in T.serial(4)]  #!": (
        "a comprehension runs while tracing, so it can't go over a serial loop; use range() with "
        "numbers that are known then, or write a for loop"
    ),
    "A[0] = A[1] * 'x'  #!": "'*' takes two numbers, but one of these is 'x' of type str",
    "A[0] = 'x' * n  #!": "'*' takes two numbers, but one of these is 'x' of type str",
    **{
        "S = T.alloc_fragment((8, 8), 'float32')\nm = T.alloc_fragment((8,), 'float32')\n"
        f"T.clear(S)\nx = T.reduce_sum(S, m)\n{statement}  #!": (
            "'x' is None, as T.reduce_sum() gives no value: it writes 'm'"
        )
        for statement in ("A[0] = x", "A[0] = x + 1", "A[0] += x", "A[0] = T.exp(x)")
    },
    "S = T.alloc_fragment((8, 8), 'float32')\nm = T.alloc_fragment((8,), 'float32')\nT.clear(S)\n"
    "A[0] = T.reduce_sum(S, m)  #!": "T.reduce_sum() gives no value: it writes 'm'",
    "T.print(f'{A[0]:.3f}')  #!": (
        "an f-string is made while the kernel is traced, where A[0] has no value yet; "
        "T.print(A[0], 'text') prints it"
    ),
    "A[0] = T.sync_threads()  #!": "T.sync_threads() gives no value",
    "T.reduce(B, A, 'mean', 1)  #!": (
        "there is no reduction 'mean'; there are: sum, max, min, abssum, absmax, bitand, bitor, "
        "bitxor; for a mean, divide what T.reduce_sum gives"
    ),
    "T.reduce(B, A, 'median')  #!": (
        "there is no reduction 'median'; there are: sum, max, min, abssum, absmax, bitand, bitor, "
        "bitxor"
    ),
    "A[0] = T.shift_left(1, 2**40)  #!": "the number 1 << 1099511627776 does not fit in 64 bits",
    "A[0] = T.pow(3, 2**40)  #!": "the number 3 ** 1099511627776 does not fit in 64 bits",
    "if 8 < 4:\n    x = A[0]\nA[1] = x  #!": "name 'x' is used before it is bound",
    "while A[0] > 1:\n    x = A[1]\nA[1] = x  #!": (
        "'x' is used outside the while loop at line 5 where it was made"
    ),
}
#: The same of the arguments of a kernel.
WRONG_ARGUMENTS = {
    "A: T.Tensor((8 / 2,), 'float32')": (
        "expected an integer but got 4.0 of type float; write '//' or T.ceildiv for a quotient"
    ),
    "A: T.Tensor((8, -4), 'float32')": "dim 1 of 'A' is -4, but it cannot be negative",
    "A: T.Tensor((2**63,), 'float32')": f"the number {2**63} does not fit int64",
    "A: T.Tensor((1,) * 33, 'float32')": "'A' has 33 dims, but a tensor has 32 at most",
    "A: T.Tensor((1,) * 32, 'float32x4')": "'A' has 33 dims, but a tensor has 32 at most",
    "A: T.Tensor((8,), 'float23')": "there is no dtype 'float23'; did you mean 'float32'?",
    "A: \"T.Tensor((8,), 'flot32')\"": "there is no dtype 'flot32'; did you mean 'float32'?",
}
USUAL = "A: T.Tensor((8,), 'float32'), B: T.Tensor((8, 8), 'float32'), n: T.int32"


def compile_text(folder: Path, body: str, arguments: str = USUAL) -> Path:
    lines = "\n".join("        " + line for line in body.splitlines())
    path = folder / "kernel.py"
    path.write_text(
        "import tilewright.language as T\n@T.prim_func\n"
        f"def kernel({arguments}):\n    with T.Kernel(4, threads=32) as bx:\n{lines}\n"
    )
    names: dict = {"__name__": "kernel"}
    exec(compile(path.read_text(), str(path), "exec"), names)
    tilewright.compile(names["kernel"])
    return path


@pytest.mark.parametrize("body", WRONG)
def test_a_wrong_statement(body, tmp_path):
    with pytest.raises(tilewright.CompileError) as caught:
        compile_text(tmp_path, body)
    (error,) = caught.value.errors
    line = next(n for n, text in enumerate(body.splitlines()) if text.endswith("#!"))
    assert (error.message, error.place.line) == (WRONG[body], 5 + line)
    assert error.place.file == str(tmp_path / "kernel.py")


@pytest.mark.parametrize("arguments", WRONG_ARGUMENTS)
def test_a_wrong_argument(arguments, tmp_path):
    with pytest.raises(tilewright.CompileError) as caught:
        compile_text(tmp_path, "pass", arguments)
    (error,) = caught.value.errors
    assert (error.message, error.place.line) == (WRONG_ARGUMENTS[arguments], 3)


@pytest.mark.parametrize(
    ("body", "told"),
    {
        "B[0, 100] = 1": "index 1 of 'B' is 100, but the dim has 8 elements: this store does "
        "nothing",
        "for i in T.serial(4):\n    B[8, i] += 1": "index 0 of 'B' is 8, but the dim has 8 "
        "elements: this store does nothing",
        "A[0] = B[0, 100]": "index 1 of 'B' is 100, but the dim has 8 elements: this read gives 0",
        "for i in T.serial(4):\n    A[i] = B[8, i]": "index 0 of 'B' is 8, but the dim has 8 "
        "elements: this read gives 0",
        "A[0] = 0\nA[1] = T.Select(n > 0, 1, A[8])": "index 0 of 'A' is 8, but the dim has 8 "
        "elements: this read gives 0",
        "A[7] = B[7, 0]": None,
        "if n > 8:\n    A[8] = 1": None,
        "if n > 8:\n    A[0] = A[8]": None,
        "A[0] = T.if_then_else(n > 8, A[8], 0)": None,
        "A[0] = T.if_then_else(n > 8, 1 // A[8], 0)": None,
        "A[0] = A[8] if n > 8 else 0": None,
        "A[0] = T.cast(n > 8 and A[8] > 0, 'int32')": None,
        "A[0] = T.cast(0 < n < A[8], 'int32')": None,
        "T.annotate_safe_value({A: 5})\nA[0] = A[8]": None,
        "T.annotate_padding({A: 5})\nA[0] = A[8]": None,
        "T.annotate_safe_value({A: 5})\nA[0] = B[0, 9]": "index 1 of 'B' is 9, but the dim has 8 "
        "elements: this read gives 0",
        "S = T.alloc_shared((8,), 'float32')\nT.copy(B[8, 0], S)": None,
    }.items(),
)
def test_a_constant_index_beyond_a_tensor_is_warned_of(body, told, tmp_path, recwarn):
    compile_text(tmp_path, body)
    line = 5 + body.count("\n")
    found = [(str(w.message), w.lineno) for w in recwarn if "but the dim" in str(w.message)]
    assert found == ([(told, line)] if told else [])
    assert all(w.filename == str(tmp_path / "kernel.py") for w in recwarn)


@pytest.mark.parametrize("word", ["break", "continue"])
def test_a_jump_outside_of_a_loop_is_of_no_python(word, tmp_path):
    with pytest.raises(SyntaxError, match=f"'{word}' .*loop") as caught:
        compile_text(tmp_path, f"if n > 0:\n    {word}")
    assert caught.value.lineno == 6


def double(factor):
    @T.prim_func
    def kernel(A: T.Tensor((4,), "float32"), B: T.Tensor((4,), "float32")):
        with T.Kernel(1, threads=4):
            for i in T.Parallel(4):
                B[i] = A[i] * factor

    return kernel


@pytest.mark.parametrize("out_idx", [2, -3, [0, 2], [1, 7]])
def test_an_output_that_is_no_argument(out_idx):
    number = out_idx[-1] if isinstance(out_idx, list) else out_idx
    message = re.escape(f"kernel: out_idx {number} is out of range for 2 parameters")
    with pytest.raises(ValueError, match=message):
        tilewright.compile(double(2), out_idx=out_idx)
    with pytest.raises(ValueError, match=message):
        tilewright.jit(double, out_idx=out_idx)(2)


@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_kernels_of_one_name_are_two_kernels(target):
    """No mistake: each compiles, and both run side by side."""
    np = pytest.importorskip("numpy")
    first, second = (tilewright.compile(double(k), out_idx=1, target=target) for k in (2, 3))
    a = np.arange(4, dtype=np.float32)
    for _ in range(2):
        np.testing.assert_array_equal(first(a), a * 2)
        np.testing.assert_array_equal(second(a), a * 3)


def test_a_launch_of_what_failed_tells_nothing_more():
    """The grid reads a tensor, which no host does: that is told, and that alone."""

    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(T.ceildiv(T.cast(A[0], "int32"), 4)) as bx:
            A[bx] = 1.0

    with pytest.raises(tilewright.CompileError) as caught:
        kernel.capture()
    (error,) = caught.value.errors
    assert error.message.startswith("a load stands outside of T.Kernel")
