# SPDX-License-Identifier: Apache-2.0
"""`simplify_prim_func` and `apply_simplify`: kernels without the tensors that they don't use."""

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("tilewright._compiler")

import tilewright  # noqa: E402
import tilewright.language as T  # noqa: E402
from tilewright.simplify import apply_simplify, simplify_prim_func  # noqa: E402

TARGETS = ["cpu", "reference"]


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "cache"))


def names(kernel):
    return [param.name for param in kernel.params]


def parameters(kernel):
    return [param["name"] for param in kernel.params]


@simplify_prim_func
def linear(rows, columns, with_bias=False):
    @T.prim_func
    def main(
        A: T.Tensor((rows, columns), "float32"),
        bias: T.Tensor((columns,), "float32"),
        scale: T.float32,
        unused: T.float32,
        B: T.Tensor((rows, columns), "float32"),
    ):
        with T.Kernel(rows) as bx:
            T.view(bias, (1, columns))
            for i in T.Parallel(columns):
                if with_bias:
                    B[bx, i] = A[bx, i] * scale + bias[i]
                else:
                    B[bx, i] = A[bx, i] * scale

    return main


a = np.random.default_rng(0).standard_normal((4, 8)).astype(np.float32)
bias = np.arange(8, dtype=np.float32)


@pytest.mark.parametrize("target", TARGETS)
def test_a_tensor_goes_where_the_factory_has_no_use_for_it(target):
    """As a view alone is none. Scalars stay."""
    without, with_it = linear(4, 8), linear(4, 8, with_bias=True)
    assert names(without) == ["A_handle", "scale", "unused", "B_handle"]
    assert names(with_it) == ["A_handle", "bias_handle", "scale", "unused", "B_handle"]
    expected = a.astype(np.float64) * 3
    kernel = tilewright.compile(without, out_idx=[3], target=target)
    assert parameters(kernel) == ["A", "scale", "unused", "B"]
    np.testing.assert_allclose(kernel(a, 3.0, 0.0), expected)
    kernel = tilewright.compile(with_it, out_idx=[-1], target=target)
    np.testing.assert_allclose(kernel(a, bias, 3.0, 0.0), expected + bias, rtol=1e-6)


@pytest.mark.parametrize("target", TARGETS)
def test_below_jit(target):
    """With the factory's own names of arguments, and kernels of their own in every cache."""
    factory = tilewright.jit(out_idx=[-1], target=target)(linear)
    plain = tilewright.jit(out_idx=[-1], target=target)(linear.__wrapped__)
    for _ in range(2):
        np.testing.assert_allclose(factory(4, columns=8)(a, 3.0, 0.0), a * np.float64(3))
        assert len(plain(4, columns=8).params) == 5
    with pytest.raises(TypeError, match="unexpected keyword argument 'column'"):
        factory(4, column=8)
    if target == "cpu":  # found again without a trace
        again = tilewright.jit(out_idx=[-1], target=target)(linear)
        assert parameters(again(4, columns=8)) == ["A", "scale", "unused", "B"]


@pytest.mark.parametrize("target", TARGETS)
def test_a_tensor_that_tells_a_symbol_stays(target):
    """Those of others are told apart from it: they get new numbers."""
    k, m, n = T.dynamic("k"), T.dynamic("m"), T.dynamic("n")

    @T.prim_func
    def main(
        gone: T.Tensor((k, n), "float32"),
        tells: T.Tensor((n, m), "float32"),
        also_gone: T.Tensor((m, 2 * n), "float32"),
        B: T.StridedTensor((n, 4), (m, 1), "float32"),
    ):
        with T.Kernel(n) as bx:
            for i in T.Parallel(4):
                B[bx, i] = m

    kernel = tilewright.compile(apply_simplify(main), target=target)
    assert parameters(kernel) == ["tells", "B"]
    b = np.zeros((3, 5), np.float32)
    kernel(np.zeros((3, 5), np.float32), b[:, :4])
    np.testing.assert_array_equal(b, [[5, 5, 5, 5, 0]] * 3)


def test_outputs_of_an_eager_kernel_stay():
    @T.prim_func
    def main(A: T.Tensor((4,), "float32"), unused: T.Tensor((4,), "float32")):
        B = T.empty((4,), "float32")
        C = T.empty((4,), "float32")
        with T.Kernel(1):
            for i in T.Parallel(4):
                C[i] = A[i] + 1
        return B, C

    kernel = tilewright.compile(
        apply_simplify(main), pass_configs={"tl.disable_buffer_init_check": True}
    )
    assert parameters(kernel)[0] == "A" and len(kernel.params) == 3
    np.testing.assert_array_equal(kernel(bias[:4])[1], [1, 2, 3, 4])


def test_what_is_no_kernel_is_told():
    with pytest.raises(ValueError, match=r"expected a kernel \(@T.prim_func\) but got int"):
        apply_simplify(3)
    with pytest.raises(ValueError, match="but got NoneType"):
        simplify_prim_func(lambda: None)()


def test_of_a_kernel_itself():
    kernel = linear.__wrapped__(4, 8)
    simplified = simplify_prim_func(kernel)
    assert apply_simplify(simplified) is simplified
    assert len(kernel.params) == 5 and len(simplified.params) == 4
    assert '"bias"' not in simplified.script() and '"bias"' in kernel.script()
