# SPDX-License-Identifier: Apache-2.0
"""Eager kernels: constants are read off the tensors, outputs are the T.empty tensors."""

from types import SimpleNamespace

import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright.capture import recording_compiler
from tilewright.eager import EagerCall
from tilewright.errors import CompileError, EagerJITBuildError


@tilewright.jit
def scale(A, B, factor: float = 2.0, block: int = 4):
    M, N = T.const("M, N")
    A: T.Tensor[[M, N], T.float32]
    B: T.Tensor[[N], T.float16]
    C = T.empty([M, N // block], T.float32)
    D = T.empty(N, dtype="float16")
    with T.Kernel(T.ceildiv(M, block)) as bx:
        C[bx, 0] = A[bx, 0] * factor
        D[0] = B[0]
    return D, C


def shaped(*shape):
    return SimpleNamespace(shape=shape)


def lines(function, *args, **keywords):
    captured = EagerCall(function, args, keywords).capture(recording_compiler)
    return captured, captured.module.lines


def test_capture():
    captured, recorded = lines(scale, shaped(10, 32), shaped(32), block=8)
    assert recorded == [
        "tensor [10, 32] float32 -> %A",
        "tensor [32] float16 -> %B",
        "tensor [10, 4] float32 -> %C",
        "tensor [32] float16 -> %D",
        "begin_launch [2] [128]",
        "load %A[%b0, 0] -> %1",
        "mul(%1, 2.0) -> %2",
        "store %C[%b0, 0] = %2",
        "load %B[0] -> %3",
        "store %D[0] = %3",
        "end_launch",
    ]
    assert captured.outputs == [3, 2]


def test_a_keyword_binds_a_constant():
    @tilewright.jit
    def kernel(A):
        M, S = T.const("M"), T.const("S")
        A: T.Tensor[[M], "float32"]
        B = T.empty((M, S), "float32")
        with T.Kernel(1):
            B[0, 0] = A[0]
        return B

    _, recorded = lines(kernel, shaped(7), S=3)
    assert "tensor [7, 3] float32 -> %B" in recorded
    with pytest.raises(
        EagerJITBuildError, match="'S' is not an extent or stride of any tensor argument by itself"
    ):
        EagerCall(kernel, (shaped(7),), {})
    with pytest.raises(TypeError, match="'S' is a number, not 'x'"):
        EagerCall(kernel, (shaped(7),), {"S": "x"})


def test_a_misspelt_keyword_is_refused():
    wanted = r"argument 'blok': it names no parameter and no T.const; did you mean 'block'\?"
    with pytest.raises(TypeError, match=wanted):
        EagerCall(scale, (shaped(10, 32), shaped(32)), {"blok": 8})


def test_shapes_must_agree():
    with pytest.raises(EagerJITBuildError, match="'N' is 32 but argument 'B' has 33 there"):
        EagerCall(scale, (shaped(10, 32), shaped(33)), {})
    with pytest.raises(EagerJITBuildError, match="'A' has 1 dim but 2 dims were declared"):
        EagerCall(scale, (shaped(10), shaped(33)), {})
    with pytest.raises(EagerJITBuildError, match="'A' is of type list but a tensor was expected"):
        EagerCall(scale, ([1.0, 2.0], shaped(33)), {})
    with pytest.raises(TypeError, match="missing a required argument: 'B'"):
        EagerCall(scale, (shaped(10, 2),), {})


def test_returns():
    @tilewright.jit
    def forgets(A):
        M = T.const("M")
        A: T.Tensor[[M], "float32"]
        B = T.empty([M], "float32")
        with T.Kernel(1):
            B[0] = A[0]

    with pytest.raises(CompileError, match="T.empty makes 1 tensor but the kernel returns 0"):
        lines(forgets, shaped(4))

    @tilewright.jit
    def other(A):
        M = T.const("M")
        A: T.Tensor[[M], "float32"]
        with T.Kernel(1):
            A[0] = 1.0
        return A

    with pytest.raises(
        CompileError, match="an eager kernel can only return tensors made by T.empty"
    ):
        lines(other, shaped(4))


def test_dtypes_that_there_are_not():
    """Each at its place, however it is written; what follows from it isn't told."""

    @tilewright.jit
    def kernel(A, B):
        M = T.const("M")
        A: T.Tensor[[M], "float23"]
        B: T.Tensor[M, "float24"]
        C = T.empty([M], "float25")
        D = T.empty([M], dtype="float26")
        with T.Kernel(1):
            D[0] = C[0]
        return C, D

    with pytest.raises(CompileError) as caught:
        kernel(shaped(4), shaped(4))
    first = kernel.function.__code__.co_firstlineno
    assert [(d.place.line - first, d.message) for d in caught.value.errors] == [
        (3, "there is no dtype 'float23'; did you mean 'float32'?"),
        (4, "there is no dtype 'float24'; did you mean 'float64'?"),
        (5, "there is no dtype 'float25'; did you mean 'float32'?"),
        (6, "there is no dtype 'float26'; did you mean 'float64'?"),
    ]


def test_constants_come_before_the_launch():
    @tilewright.jit
    def late(A):
        M = T.const("M")
        A: T.Tensor[[M], "float32"]
        B = T.empty([M], "float32")
        with T.Kernel(1):
            B[0] = A[T.const("Z")]
        return B

    message = "T.const 'Z' is not an extent or stride of any tensor argument of this call"
    with pytest.raises(CompileError, match=message):
        lines(late, shaped(4))


def test_out_idx_is_refused():
    with pytest.raises(
        ValueError, match="kernel: out_idx is not for eager kernels; return the T.empty tensors"
    ):

        @tilewright.jit(out_idx=[0])
        def kernel(A):
            with T.Kernel(1):
                pass


def test_a_wrong_annotation_is_named_where_a_constant_is_missing():
    @tilewright.jit
    def misspelt(A, B):
        N = T.const("N")
        A: T.Tensr[[N], T.float32]  # noqa: F821
        B: "float"
        with T.Kernel(1):
            A[0] = B[0]

    with pytest.raises(EagerJITBuildError) as wrong:
        EagerCall(misspelt, (shaped(4), shaped(4)), {})
    first, of_a, of_b = str(wrong.value).splitlines()
    assert first.endswith("T.const 'N' is not an extent or stride of any tensor argument by itself")
    start = misspelt.function.__code__.co_firstlineno
    assert of_a.startswith(f"{__file__}:{start + 3}:12: the annotation of 'A' gives ")
    assert "T has no 'Tensr'" in of_a or "'Tensr'" in of_a
    assert of_b == f"{__file__}:{start + 4}:12: the annotation of 'B', 'float', is no tensor's"


def messages_of(function, *tensors):
    """Line in the function, column and text of each error of a call."""
    with pytest.raises(CompileError) as caught:
        EagerCall(function, tensors, {}).capture(recording_compiler)
    start = function.function.__code__.co_firstlineno
    return [(d.place.line - start, d.place.column, d.message) for d in caught.value.errors]


def test_a_name_that_an_annotation_lacks():
    @tilewright.jit
    def names(A, B, C):
        A: T.Tensor[[n], T.float32]  # noqa: F821
        B: T.Tensor[[4], dt]  # noqa: F821
        C: "T.Tensor[[4], missing]"  # noqa: F821
        with T.Kernel(1):
            A[0] = B[0] + C[0]

    assert messages_of(names, shaped(4), shaped(4), shaped(4)) == [
        (2, 22, "name 'n' is not defined"),
        (3, 26, "name 'dt' is not defined"),
        (4, 12, "name 'missing' is not defined"),
    ]


def test_a_name_that_an_output_lacks():
    @tilewright.jit
    def output(A):
        A: T.Tensor[[4], T.float32]
        C = T.empty([m], T.float32)  # noqa: F821
        with T.Kernel(1):
            C[0] = A[0]
        return C

    assert messages_of(output, shaped(4)) == [(3, 22, "name 'm' is not defined")]


def test_what_else_an_annotation_raises():
    @tilewright.jit
    def raises(A, B):
        N = T.const("N")
        A: T.Tensor[[N], T.flot32]  # noqa: F821
        B: T.Tensor[[N], T.float32]  # noqa: F821
        with T.Kernel(1):
            B[0] = A[0]

    ((line, column, message),) = messages_of(raises, shaped(4), shaped(4))
    assert (line, column) == (3, 12)
    assert message.startswith("this annotation raises AttributeError: ") and "flot32" in message


def test_an_annotation_with_a_name_that_is_wrong_itself():
    @tilewright.jit
    def consequence(A):
        dt = nothing  # noqa: F821
        A: T.Tensor[[4], dt]  # noqa: F821
        with T.Kernel(1):
            A[0] = 1

    assert messages_of(consequence, shaped(4)) == [(2, 14, "name 'nothing' is not defined")]


def declared(function, *tensors):
    """What the tensors of a call are declared as."""
    _, recorded = lines(function, *tensors)
    return [line for line in recorded if line.startswith("tensor ")]


LATER = (
    "an annotation can't use {!r}, which is set in a loop, as a function or under a condition on "
    "T.const: those run later"
)


def test_annotations_of_what_imports_lambdas_and_loops_make():
    """Names of their own are not the kernel's; `v`, which is both, is."""

    @tilewright.jit
    def made(A, B, C, D, E):
        N = T.const("N")
        import collections.abc as kinds
        import math
        from math import floor as down

        h = math.ceil(2.5)
        a, w = len(kinds.__name__.split(".")), down(1.5)
        v = 5
        m = (lambda v: v * 2)(N)
        count = sum(1 for c in [c for c in "ab"])
        squares = {k: k * v for k in range(3)}
        A: T.Tensor[[N], T.float32]
        B: T.Tensor[[N * h], T.float32]
        C: T.Tensor[[m], T.float32]
        D: T.Tensor[[count, squares[2]], T.float32]
        E: T.Tensor[[a, w], T.float32]
        with T.Kernel(1):
            B[0] = A[0] + C[0] + D[0, 0] + E[0, 0]

    tensors = [shaped(8), shaped(24), shaped(16), shaped(2, 10), shaped(2, 1)]
    shapes = ["[8]", "[24]", "[16]", "[2, 10]", "[2, 1]"]
    assert declared(made, *tensors) == [
        f"tensor {shape} float32 -> %{name}" for shape, name in zip(shapes, "ABCDE", strict=True)
    ]


def test_annotations_follow_conditions_and_updates():
    @tilewright.jit
    def made(A, B, C, block=4):
        N = T.const("N")
        count: int = 2
        if block > 2:
            w = 2
        else:
            w = 3
            block = 2
        w += 1
        if N == 8:
            w = w + 1
        A: T.Tensor[[N], T.float32]
        B: T.Tensor[[count * 4], T.float32]
        with T.Kernel(1):
            A[0] = w

    _, recorded = lines(made, shaped(8), shaped(8), shaped(1))
    assert recorded[:2] == ["tensor [8] float32 -> %A", "tensor [8] float32 -> %B"]
    assert recorded[3] == "store %A[0] = 4"

    @tilewright.jit
    def follows(A, B, block=4):
        N = T.const("N")
        w = 1
        if block > 2:
            w += 1
        A: T.Tensor[[N], T.float32]
        B: T.Tensor[[N * w], T.float32]
        with T.Kernel(1):
            A[0] = B[0]

    assert declared(follows, shaped(8), shaped(16))[1] == "tensor [16] float32 -> %B"

    @tilewright.jit
    def unknown(A, B):
        N = T.const("N")
        w = 1
        if N == 8:
            w = 2
        A: T.Tensor[[N], T.float32]
        B: T.Tensor[[N * w], T.float32]
        with T.Kernel(1):
            A[0] = B[0]

    assert messages_of(unknown, shaped(8), shaped(16)) == [(7, 26, LATER.format("w"))]


def test_an_import_that_fails_is_told_once():
    @tilewright.jit
    def imports(A):
        import no_such_module_at_all as nothing

        A: T.Tensor[[nothing.N], T.float32]
        with T.Kernel(1):
            A[0] = 1

    ((line, _, message),) = messages_of(imports, shaped(4))
    assert line == 2 and "no_such_module_at_all" in message


def test_a_value_that_is_asked_only_needs_no_annotation():
    """As those that are imported for type checkers alone; one whose numbers are used does."""

    @tilewright.jit
    def asked(A, like: "torch.Tensor", unused: "torch.Tensor"):  # noqa: F821
        A: T.Tensor[[like.shape[0]], T.float32]
        with T.Kernel(1):
            A[0] = like.shape[1]

    _, recorded = lines(asked, shaped(3), shaped(3, 7), shaped(1))
    assert recorded[0] == "tensor [3] float32 -> %A" and "store %A[0] = 7" in recorded[2]

    @tilewright.jit
    def read(A, like: "torch.Tensor"):  # noqa: F821
        A: T.Tensor[[3], T.float32]
        with T.Kernel(1):
            A[0] = like.shape[1] + like[0, 0]

    ((_, _, message),) = messages_of(read, shaped(3), shaped(3, 7))
    assert message == "name 'torch' is not defined"


def test_another_dtype_is_another_kernel():
    """Also of a tensor that has no annotation and is asked for nothing else."""

    @tilewright.jit
    def width(A, like):
        A: T.Tensor[[4], T.float32]
        bits = 32 if str(like.dtype) == "float32" else 16
        with T.Kernel(1):
            for i in T.Parallel(4):
                A[i] = bits

    a = np.zeros(4, np.float32)
    for dtype, bits in [("float32", 32), ("float16", 16), ("float32", 32)]:
        width(a, np.zeros(3, dtype))
        np.testing.assert_array_equal(a, bits)


def test_a_tensor_without_a_kind_is_never_dropped():
    """The trace can do what the first pass couldn't: its assignment is no error."""

    @tilewright.jit
    def dropped(A, B):
        for h in range(1):
            n = h + 4
        n = n + 0
        A: T.Tensor[[4], T.float32]
        B: T.Tensor[[n], T.float32]
        with T.Kernel(1):
            B[0] = A[0]

    assert messages_of(dropped, shaped(4), shaped(4)) == [(6, 22, LATER.format("n"))]


def test_a_tensor_without_annotation_is_named_where_a_constant_is_missing():
    @tilewright.jit
    def bare(A):
        N = T.const("N")
        C = T.empty((N,), "float32")
        with T.Kernel(1):
            C[0] = A[0]
        return C

    with pytest.raises(EagerJITBuildError, match="'A' has no annotation"):
        EagerCall(bare, (shaped(4),), {})


POINTERS = [T.ptr, T.ptr(), T.ptr("float32"), T.ptr(T.float32), "T.ptr"]


@pytest.mark.parametrize("target", ["cpu", "reference"])
@pytest.mark.parametrize("kind", POINTERS, ids=str)
def test_addresses(kind, target):
    @tilewright.jit(target=target)
    def in_signature(A: kind, B: kind, M: int):
        A = T.make_tensor(A, (M,), "float32")
        B = T.make_tensor(B, (M,), "float32")
        with T.Kernel(1):
            for i in T.Parallel(M):
                B[i] = A[i] + 1

    @tilewright.jit(target=target)
    def in_body(A, B, M: int, kind=kind):
        A: kind
        B: kind
        a = T.make_tensor(A, (M,), "float32")
        b = T.make_tensor(B, (M,), "float32")
        with T.Kernel(1):
            for i in T.Parallel(M):
                b[i] = a[i] + 1

    for kernel in (in_signature, in_body):
        given, made = np.arange(8, dtype="float32"), np.zeros(8, "float32")
        kernel(given, made, 8)
        assert (made == given + 1).all()
        kernel.par_compile([{"A": T.ptr(), "B": T.ptr(), "M": 8}])[0](made, given)
        assert (given == made + 1).all()


def test_numbers_whose_dtype_is_a_string():
    @tilewright.jit
    def kernel(A: T.Tensor((2,), "float32"), n: "int32"):  # noqa: F821
        with T.Kernel(1):
            A[n] = n

    made = np.zeros(2, "float32")
    kernel(made, 1)
    assert made.tolist() == [0, 1]
    assert [param["kind"] for param in kernel.compile(made, 1).params] == ["tensor", "scalar"]


@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_tensors_that_are_not_used_may_be_none(target):
    @tilewright.jit(target=target)
    def kernel(A, B, has_b: bool):
        N, M = T.const("N"), T.const("M")
        A: T.Tensor[[N, M], "float32"]
        B: T.Tensor[[M], "float32"]
        with T.Kernel(1):
            for i, j in T.Parallel(N, M):
                A[i, j] = B[j] if has_b else 2

    made = np.zeros((2, 3), "float32")
    kernel(made, None, False)
    assert (made == 2).all()
    kernel(made, np.arange(3, dtype="float32"), True)
    assert made.tolist() == [[0, 1, 2]] * 2
    with pytest.raises((TypeError, ValueError), match="B"):
        kernel(made, None, True)
    with pytest.raises(EagerJITBuildError, match="'N' is not an extent or stride"):
        kernel(None, made[0], True)


@tilewright.jit
def transposed(X, Y, block: int = 4):
    M, N = T.const("M N")
    X: T.Tensor[[M, N], T.float32]
    Y: T.Tensor[[N, M], T.float32]
    with T.Kernel(T.ceildiv(M, block)) as bx:
        for i, j in T.Parallel(block, N):
            Y[j, bx * block + i] = X[bx * block + i, j]


def test_compiling_without_tensors():
    kernels = [
        transposed.compile(M=8, N=3),
        *transposed.par_compile([{"M": 8, "N": 3, "block": 2}]),
        tilewright.compile(transposed.get_tir(N=3, M=8)),
        transposed.compile(Y=shaped(3, 8)),
    ]
    x = np.arange(24, dtype="float32").reshape(8, 3)
    for kernel in kernels:
        y = np.zeros((3, 8), "float32")
        kernel(x, y)
        assert (y == x.T).all()


def test_what_compiling_needs():
    missing = r"\(\) missing a required argument: "
    with pytest.raises(TypeError, match=missing + "'X'; or name T.const 'N'"):
        transposed.compile(M=8)
    with pytest.raises(TypeError, match=missing + "'X'$"):
        transposed(M=8, N=3)

    @tilewright.jit
    def with_a_value(X, value):
        M = T.const("M")
        X: T.Tensor[[M], T.float32]
        with T.Kernel(1):
            X[0] = value

    with pytest.raises(TypeError, match=missing + "'value'$"):
        with_a_value.compile(M=8)
    assert [p["shape"] for p in with_a_value.compile(M=8, value=2).params] == [(8,)]


def test_an_annotation_that_needs_a_missing_tensor():
    @tilewright.jit
    def kernel(A, B):
        A: T.Tensor[[4], T.float32]
        B: T.Tensor[[A.shape[0]], T.float32]
        with T.Kernel(1):
            B[0] = A[0]

    with pytest.raises(CompileError) as caught:
        kernel.compile(B=shaped(4))
    (error,) = caught.value.errors
    assert error.message == "no argument is given for 'A'"
    assert error.place.line == kernel.function.__code__.co_firstlineno + 3


@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_constants_that_are_no_integers(target):
    @tilewright.jit(target=target)
    def kernel(A):
        N, factor = T.const("N, factor")
        A: T.Tensor[[N], "float32"]
        with T.Kernel(1):
            for i in T.Parallel(N):
                A[i] = A[i] * factor + 7 // factor

    made = np.ones((3, 4), "float32")
    for row, factor in zip(made, (2, 2.0, 2.5), strict=True):
        kernel(row, factor=factor)
    assert made[:, 0].tolist() == [5, 5, 4.5]
    assert kernel.compile(made[0], factor=2) is not kernel.compile(made[0], factor=2.0)


@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_annotations_that_follow_from_arguments(target):
    """Each makes a kernel of its own, though no constant and no other argument differs."""

    @tilewright.jit(target=target)
    def one_more(A, B):
        A: T.Tensor[[4], T.float32]
        B: T.Tensor[B.shape, B.dtype]
        with T.Kernel(1):
            for i in T.Parallel(4):
                A[i] = B[i] + 1

    a = np.zeros(4, np.float32)
    for given in (np.arange(4, dtype="float32"), np.arange(4, dtype="int32"), np.arange(6.0)):
        one_more(a, given)
        assert a.tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_extents_of_packed_tensors_count_their_elements(dtype):
    """Two to a byte: of 3 rows of 8 bytes, K is 16, and the rows are 32 elements apart."""

    @tilewright.jit
    def widened(A):
        M, K, S = T.const("M, K, S")
        A: T.StridedTensor[[M, K], [S, 1], T.int4]
        B = T.empty((M, K + 1), T.int32)
        with T.Kernel(1):
            for i, j in T.Parallel(M, K):
                B[i, j] = A[i, j]
            for i in T.Parallel(M):
                B[i, K] = S
        return B

    held = np.arange(48, dtype=dtype).reshape(6, 8)[::2]
    low, high = held & 15, held >> 4
    elements = np.stack([low, high], -1).reshape(3, 16).astype(np.int32)
    signed = np.where(elements > 7, elements - 16, elements)
    expected = np.concatenate([signed, np.full((3, 1), 32)], 1)
    np.testing.assert_array_equal(widened(held), expected)


def test_a_tensor_that_may_be_left_out():
    """Annotated under an if of Python's: it is None in the kernel, or a tensor."""

    @tilewright.jit
    def scaled(A, bias=None, scale=None, factor=1.0):
        M, N = T.const("M, N")
        A: T.Tensor[[M, N], T.float32]
        if bias is not None:
            bias: T.Tensor[[N], T.float32]
            if scale is None:
                factor = 3.0
            else:
                scale: T.Tensor[[M], T.float32]
        C = T.empty([M, N], T.float32)
        with T.Kernel(M, threads=32) as row:
            for j in T.Parallel(N):
                C[row, j] = A[row, j] * factor
                if bias is not None:
                    C[row, j] += bias[j]
                    if scale is not None:
                        C[row, j] *= scale[row]
        return C

    a, bias = np.arange(6, dtype=np.float32).reshape(2, 3), np.array([1, 2, 4], np.float32)
    scale = np.array([2, 5], np.float32)
    for _ in range(2):
        np.testing.assert_array_equal(scaled(a), a)
        np.testing.assert_array_equal(scaled(a, bias), a * 3 + bias)
        np.testing.assert_array_equal(scaled(a, bias, scale), (a + bias) * scale[:, None])
    with pytest.raises(tilewright.EagerJITBuildError, match="'N' is 3 but argument 'bias' has 2"):
        scaled(a, scale)
