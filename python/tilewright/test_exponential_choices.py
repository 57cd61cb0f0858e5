# SPDX-License-Identifier: Apache-2.0
"""What `pass_configs` say of exponentials: right bits, and what arguments are at most."""

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("tilewright._compiler")

import tilewright  # noqa: E402
import tilewright.language as T  # noqa: E402


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "cache"))


def compiled(element, configs):
    """B[i] = element(A[i]); no whole vectors of AVX-512, which need no clamp with fast math."""

    @tilewright.jit(out_idx=[1], pass_configs=configs)
    def factory():
        @T.prim_func
        def powers(A: T.Tensor((62,), "float32"), B: T.Tensor((62,), "float32")):
            with T.Kernel(1, threads=32):
                for i in T.Parallel(62):
                    B[i] = element(A[i])

        return powers

    return factory()


def test_bits_of_exponentials():
    """With fast math alone."""
    x = np.linspace(-100, 30, 62, dtype=np.float32)
    exact = np.exp2(x.astype(np.float64))
    bits = {"tilewright.exp_bits": 13}
    np.testing.assert_allclose(compiled(T.exp2, bits)(x), exact, rtol=2.0**-23)
    short = compiled(T.exp2, {"tl.enable_fast_math": True, **bits})(x)
    np.testing.assert_allclose(short, exact, rtol=2.0**-13)
    assert np.abs(short / exact - 1).max() > 2.0**-15  # a shorter polynomial


def both(x):
    return T.exp2(x) + T.exp(x)


@pytest.mark.parametrize("fast", [True, False])
def test_exponentials_of_what_is_bounded(fast):
    """No other results up to the bound, down to minus infinity, and of NaN."""
    x = np.linspace(-200, 80, 62, dtype=np.float32)
    x[:3] = -np.inf, np.nan, -3e38
    configs = {"tl.enable_fast_math": fast}
    bounded, plain = compiled(both, {"tilewright.exp_most": 80, **configs}), compiled(both, configs)
    np.testing.assert_array_equal(bounded(x), plain(x))
    assert bounded(x)[0] == 0 and np.isnan(bounded(x)[1])
    assert len(bounded.stage("asm")) < len(plain.stage("asm"))


@pytest.mark.parametrize("most", [0.5, "8", True])
def test_the_bound_of_exponentials_is_a_whole_number(most):
    with pytest.raises(ValueError, match=r"'tilewright.exp_most' is .* but must be a whole number"):
        tilewright.options.Options(pass_configs={"tilewright.exp_most": most})


@pytest.mark.parametrize("bits", [0, 25, "13", True, 8.0])
def test_bits_of_exponentials_are_from_1_to_24(bits):
    with pytest.raises(ValueError, match=r"'tilewright.exp_bits' is .* but must be from 1 to 24"):
        tilewright.options.Options(pass_configs={"tilewright.exp_bits": bits})
