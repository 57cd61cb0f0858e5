# SPDX-License-Identifier: Apache-2.0
"""Operators of torch_npu, beside their formulas in NumPy and float64."""

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tilewright import device_map  # noqa: E402
from tilewright.errors import TilewrightError  # noqa: E402


@pytest.fixture(autouse=True)
def ops():
    device_map.install()
    yield torch.ops.npu
    device_map.remove()


def random(*shape, dtype=torch.float32, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator).to(dtype).npu()


def exact(x):
    return x.cpu().double().numpy()


def assert_rounded(made, expected):
    """Within two units in the last place of the dtype, and on the NPU."""
    assert made.is_npu
    eps = torch.finfo(made.dtype).eps
    np.testing.assert_allclose(exact(made), expected, rtol=2 * eps, atol=8 * eps)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("mode", ["half", "interleave"])
def test_rotary_mul(ops, dtype, mode):
    x, r1, r2 = random(2, 3, 4, 8, dtype=dtype), random(2, 1, 4, 8), random(2, 1, 4, 8, seed=2)
    r1, r2 = r1.to(dtype), r2.to(dtype)
    expected = np.zeros(x.shape)
    for n in range(8):
        other = (n + 4) % 8 if mode == "half" else n ^ 1
        sign = -1 if other > n else 1
        expected[..., n] = exact(x)[..., n] * exact(r1)[..., n]
        expected[..., n] += sign * exact(x)[..., other] * exact(r2)[..., n]
    made = ops.npu_rotary_mul(x, r1, r2, rotary_mode=mode)
    assert made.dtype == dtype
    assert_rounded(made, expected)


def phi(x):
    return np.vectorize(lambda v: 0.5 * math.erfc(-v / math.sqrt(2)))(x)


def test_gelu_and_its_slope(ops):
    x, grad = random(5, 7), random(5, 7, seed=1)
    v, root = exact(x), math.sqrt(2 / math.pi)
    assert_rounded(ops.npu_gelu(x), v * phi(v))
    tanh = np.tanh(root * (v + 0.044715 * v**3))
    assert_rounded(ops.npu_gelu(x, approximate="tanh"), 0.5 * v * (1 + tanh))
    slope = phi(v) + v * np.exp(-v * v / 2) / math.sqrt(2 * math.pi)
    assert_rounded(ops.npu_gelu_backward(grad, x, approximate="none"), exact(grad) * slope)
    inner = root * (1 + 3 * 0.044715 * v * v)
    slope = 0.5 * (1 + tanh) + 0.5 * v * (1 - tanh**2) * inner
    assert_rounded(ops.npu_gelu_backward(grad, x, approximate="tanh"), exact(grad) * slope)


def test_swiglu(ops):
    x = random(3, 8, dtype=torch.float16)
    v = exact(x)
    silu = v / (1 + np.exp(-v))
    assert_rounded(ops.npu_swiglu(x), silu[:, :4] * v[:, 4:])
    x = random(4, 3)
    v = exact(x)
    assert_rounded(ops.npu_swiglu(x, dim=0), v[:2] / (1 + np.exp(-v[:2])) * v[2:])


def test_norms(ops):
    x, other, gamma = random(3, 4, 8), random(3, 4, 8, seed=1), random(8, seed=2)
    v, w = exact(x), exact(gamma)
    rstd = 1 / np.sqrt((v * v).mean(-1, keepdims=True) + 1e-5)
    y, r = ops.npu_rms_norm(x, gamma, epsilon=1e-5)
    assert_rounded(y, v * rstd * w)
    assert_rounded(r, rstd)
    total = v + exact(other)
    rstd = 1 / np.sqrt((total**2).mean(-1, keepdims=True) + 1e-6)
    y, r, added = ops.npu_add_rms_norm(x, other, gamma)
    for made, expected in ((y, total * rstd * w), (r, rstd), (added, total)):
        assert_rounded(made, expected)
    y, r = ops.npu_rms_norm(x.half(), random(4, 8).half())
    assert y.dtype == torch.float16 and r.dtype == torch.float32 and r.shape == (3, 1, 1)


def test_cross_entropy_loss(ops):
    x, target = random(6, 5), torch.tensor([0, 4, 2, -100, 1, 1], dtype=torch.int32).npu()
    v = exact(x)
    log_prob = v - np.log(np.exp(v).sum(-1, keepdims=True))
    losses = np.array([0 if t < 0 else -log_prob[n, t] for n, t in enumerate(target.tolist())])
    for reduction, expected in (
        ("none", losses),
        ("sum", losses.sum()),
        ("mean", losses.sum() / 5),
    ):
        loss, logs, zloss, lse = ops.npu_cross_entropy_loss(x, target, reduction=reduction)
        assert_rounded(loss, expected)
        assert_rounded(logs, log_prob)
        assert zloss.numel() == lse.numel() == 0
    with pytest.raises(
        TilewrightError,
        match="npu_cross_entropy_loss: return_zloss=True is unsupported without an NPU",
    ):
        ops.npu_cross_entropy_loss(x, target, return_zloss=True)


def test_tokens_by_expert_and_back(ops):
    tokens = random(4, 3)
    experts = torch.tensor([[1, 0], [2, 1], [0, 2], [1, 0]]).npu()
    rows = [(e, 2 * n + k) for n, pair in enumerate(experts.tolist()) for k, e in enumerate(pair)]
    order = [row for _, row in sorted(rows)]
    permuted, places = ops.npu_moe_token_permute(tokens, experts)
    assert permuted.is_npu and places.dtype == torch.int32
    np.testing.assert_array_equal(exact(permuted), exact(tokens)[[row // 2 for row in order]])
    assert [order[place] for place in places.tolist()] == list(range(8))
    few, _ = ops.npu_moe_token_permute(tokens, experts, num_out_tokens=5)
    assert torch.equal(few, permuted[:5])
    for all_of_them in (0, None):
        every, _ = ops.npu_moe_token_permute(tokens, experts, num_out_tokens=all_of_them)
        assert torch.equal(every, permuted)
    but_two, _ = ops.npu_moe_token_permute(tokens, experts, num_out_tokens=-2)
    assert torch.equal(but_two, permuted[:-2])
    probs = random(4, 2, seed=3)
    back = ops.npu_moe_token_unpermute(permuted, places, probs=probs)
    assert_rounded(back, exact(tokens) * exact(probs).sum(-1, keepdims=True))
    once = ops.npu_moe_token_permute(tokens, experts[:, 0])
    assert torch.equal(ops.npu_moe_token_unpermute(*once), tokens)
    with pytest.raises(
        ValueError,
        match="torch_npu.npu_moe_token_unpermute: sorted_indices has 8 numbers, but "
        "permuted_tokens has 5 rows",
    ):
        ops.npu_moe_token_unpermute(few, places)
    with pytest.raises(TilewrightError, match="npu_moe_token_permute: padded_mode=True is unsupp"):
        ops.npu_moe_token_permute(tokens, experts, padded_mode=True)


def attention(q, k, v, scale, hidden):
    """Of (batch, heads, rows, numbers), with as many heads in k and v, or fewer."""
    heads, shared = q.shape[1], k.shape[1]
    out, most, total = np.zeros((*q.shape[:3], v.shape[3])), *np.zeros((2, *q.shape[:3]))
    for b, h, i in np.ndindex(*q.shape[:3]):
        seen = [j for j in range(k.shape[2]) if not hidden(i, j)]
        scores = np.array([scale * (q[b, h, i] @ k[b, h * shared // heads, j]) for j in seen])
        most[b, h, i] = scores.max()
        weights = np.exp(scores - scores.max())
        total[b, h, i] = weights.sum()
        out[b, h, i] = weights @ v[b, h * shared // heads, seen] / weights.sum()
    return out, most, total


LAYOUTS = {
    "BNSD": lambda x: x,
    "BSND": lambda x: x.transpose(1, 2),
    "BSH": lambda x: x.transpose(1, 2).flatten(2),
    "SBH": lambda x: x.permute(2, 0, 1, 3).flatten(2),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_attention(ops, layout):
    q, k, v = random(2, 4, 3, 8), random(2, 2, 5, 8, seed=1), random(2, 2, 5, 8, seed=2)
    mask = torch.triu(torch.ones(3, 5), 2).bool().npu()
    place = LAYOUTS[layout]
    made = ops.npu_fusion_attention(
        *(place(x).contiguous() for x in (q, k, v)), 4, layout, atten_mask=mask, scale=0.3
    )
    out, most, total = attention(exact(q), exact(k), exact(v), 0.3, lambda i, j: j >= i + 2)
    assert_rounded(made[0], exact(place(torch.tensor(out))))
    for rows, expected in zip(made[1:3], (most, total), strict=True):
        assert_rounded(rows, np.repeat(expected[..., None], 8, -1))
    assert made[3].numel() == 0 and made[4:] == (0, 0, 0)


HIDDEN = {
    (0, 9, 9): lambda i, j: False,
    (2, 9, 9): lambda i, j: j > i,
    (3, 9, 9): lambda i, j: j > i + 2,
    (4, 1, 1): lambda i, j: not -1 <= j - i - 2 <= 1,
}


@pytest.mark.parametrize("mode", HIDDEN)
def test_attention_by_its_sparse_mode(ops, mode):
    q, k, v = random(1, 2, 3, 8), random(1, 2, 5, 8, seed=1), random(1, 2, 5, 8, seed=2)
    sparse, before, after = mode
    triangle = torch.triu(torch.ones(2048, 2048), 1).bool().npu() if sparse else None
    made = ops.npu_fusion_attention(
        q, k, v, 2, "BNSD", atten_mask=triangle, sparse_mode=sparse, pre_tockens=before,
        next_tockens=after,
    )  # fmt: skip
    assert_rounded(made[0], attention(exact(q), exact(k), exact(v), 1.0, HIDDEN[mode])[0])


def test_attention_of_rows_that_see_nothing(ops):
    x = random(1, 1, 3, 8)
    mask = torch.zeros(3, 3).bool()
    mask[1] = True
    made = ops.npu_fusion_attention(x, x, x, 1, "BNSD", atten_mask=mask.npu())[0]
    assert made[0, 0, 1].tolist() == [0.0] * 8 and bool(made[0, 0, 0].any())
    v = exact(x)
    within = ops.npu_fusion_attention(
        x, x, x, 1, "BNSD", atten_mask=(mask & False).npu(), pre_tockens=1, next_tockens=0
    )[0]
    assert_rounded(within, attention(v, v, v, 1.0, lambda i, j: not i - 1 <= j <= i)[0])


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"keep_prob": 0.9}, "keep_prob=0.9"),
        ({"pse": torch.ones(1)}, "pse=..."),
        ({"sparse_mode": 5}, "sparse_mode=5"),
        ({"input_layout": "TND"}, "input_layout=TND"),
    ],
)
def test_what_attention_refuses(ops, given, told):
    x = random(1, 1, 3, 8)
    with pytest.raises(
        TilewrightError,
        match=rf"torch_npu\.npu_fusion_attention: {told} is unsupported without an NPU",
    ):
        ops.npu_fusion_attention(x, x, x, 1, **{"input_layout": "BNSD", **given})
    with pytest.raises(TilewrightError, match="npu_rotary_mul: rotary_mode=third is unsupported"):
        ops.npu_rotary_mul(x, x, x, rotary_mode="third")
    with pytest.raises(TilewrightError, match="unpermute: padded_mode=True is unsupported"):
        ops.npu_moe_token_unpermute(x[0, 0], torch.arange(3), padded_mode=True)
    with pytest.raises(TilewrightError, match="lse_square_scale_for_zloss=1.0 is unsupported"):
        ops.npu_cross_entropy_loss(x[0, 0], torch.arange(3), lse_square_scale_for_zloss=1.0)
