# SPDX-License-Identifier: Apache-2.0
"""Operators of torch_npu that scripts compare their kernels with, in terms of torch.

Each is computed in float32 and rounded to the dtype of its input once, whatever the real one does.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NoReturn

import torch
from torch.nn import functional

from .cuda_stand_in import MissingOnCpuError
from .mapped_tensors import any_mapped, mark

if TYPE_CHECKING:
    from collections.abc import Callable

#: The operators by their names in `torch_npu` and `torch.ops.npu`.
OPERATORS: dict[str, Callable[..., Any]] = {}


def _operator(function: Callable[..., Any]) -> Callable[..., Any]:
    """One of them; its results are on the device of its arguments."""

    @functools.wraps(function)
    def called(*args: Any, **keywords: Any) -> Any:
        device = any_mapped((*args, *keywords.values()))
        result = function(*args, **keywords)
        return mark(result, device) if device else result

    called.default = called  # type: ignore[attr-defined] # the overload, of which there is one
    OPERATORS[function.__name__] = called
    return called


def _refuse(function: str, name: str, value: object = "...") -> NoReturn:
    """Refuses the value of an argument."""
    raise MissingOnCpuError(f"torch_npu.{function}: {name}={value} is unsupported without an NPU")


@_operator
def npu_rotary_mul(input: Any, r1: Any, r2: Any, rotary_mode: str = "half") -> Any:
    """input * r1 + turned * r2, where `turned` has the halves (or the neighbours) of the last dim
    changed for each other, the second one negative."""
    if rotary_mode not in ("half", "interleave"):
        _refuse("npu_rotary_mul", "rotary_mode", rotary_mode)
    x = input.float()
    if rotary_mode == "half":
        first, second = x.chunk(2, -1)
        turned = torch.cat((-second, first), -1)
    else:
        turned = torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)
    return (x * r1.float() + turned * r2.float()).to(input.dtype)


@_operator
def npu_gelu(input: Any, approximate: str = "none") -> Any:
    """x * Phi(x), or its form by tanh."""
    return functional.gelu(input.float(), approximate=approximate).to(input.dtype)


@_operator
def npu_gelu_backward(grad_output: Any, input: Any, *, approximate: str = "none") -> Any:
    """grad_output times the derivative of `npu_gelu` at the input."""
    slope = torch.ops.aten.gelu_backward(
        grad_output.float(), input.float(), approximate=approximate
    )
    return slope.to(torch.promote_types(grad_output.dtype, input.dtype))


@_operator
def npu_swiglu(input: Any, dim: int = -1) -> Any:
    """silu of the first half along `dim`, times the second."""
    first, second = input.float().chunk(2, dim)
    return (functional.silu(first) * second).to(input.dtype)


def _rms_norm(x: Any, gamma: Any, epsilon: float) -> tuple[Any, Any]:
    dims = tuple(range(-gamma.ndim, 0))
    rstd = torch.rsqrt(x.square().mean(dims, keepdim=True) + epsilon)
    return x * rstd * gamma.float(), rstd


@_operator
def npu_rms_norm(input: Any, gamma: Any, epsilon: float = 1e-6) -> tuple[Any, Any]:
    """The input by its root mean square over the dims of gamma, times gamma; and the reciprocal of
    that root, in float32."""
    y, rstd = _rms_norm(input.float(), gamma, epsilon)
    return y.to(input.dtype), rstd


@_operator
def npu_add_rms_norm(x1: Any, x2: Any, gamma: Any, epsilon: float = 1e-6) -> tuple[Any, Any, Any]:
    """`npu_rms_norm` of the sum, and the sum."""
    total = x1.float() + x2.float()
    y, rstd = _rms_norm(total, gamma, epsilon)
    return y.to(x1.dtype), rstd, total.to(x1.dtype)


@_operator
def npu_cross_entropy_loss(
    input: Any,
    target: Any,
    weight: Any = None,
    reduction: str = "mean",
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    lse_square_scale_for_zloss: float = 0.0,
    return_zloss: bool = False,
) -> tuple[Any, Any, Any, Any]:
    """The loss, the logarithms of the probabilities and, of the z-loss, two empty tensors."""
    if lse_square_scale_for_zloss != 0:
        _refuse("npu_cross_entropy_loss", "lse_square_scale_for_zloss", lse_square_scale_for_zloss)
    if return_zloss:
        _refuse("npu_cross_entropy_loss", "return_zloss", return_zloss)
    x, labels = input.float(), target.long()
    loss = functional.cross_entropy(
        x,
        labels,
        weight=weight,
        reduction=reduction,
        ignore_index=ignore_index,
        label_smoothing=label_smoothing,
    )
    nothing = x.new_empty(0)
    log_prob = functional.log_softmax(x, -1).to(input.dtype)
    return loss.to(input.dtype), log_prob, nothing, nothing.clone()


@_operator
def npu_moe_token_permute(
    tokens: Any, indices: Any, num_out_tokens: int | None = None, padded_mode: bool = False
) -> tuple[Any, Any]:
    """The tokens in the order of their experts, `indices`; and where each of them went. Of the
    rows only the first `num_out_tokens` are kept (or all but the last -n); all for 0 or None."""
    if padded_mode:
        _refuse("npu_moe_token_permute", "padded_mode", padded_mode)
    top_k = indices.shape[1] if indices.ndim == 2 else 1
    order = torch.argsort(indices.reshape(-1), stable=True)
    places = torch.argsort(order, stable=True).to(torch.int32)
    kept = order[:num_out_tokens] if num_out_tokens else order
    return tokens.index_select(0, kept // top_k), places


@_operator
def npu_moe_token_unpermute(
    permuted_tokens: Any,
    sorted_indices: Any,
    probs: Any = None,
    padded_mode: bool = False,
    restore_shape: object = None,
) -> Any:
    """Undoes `npu_moe_token_permute`: of each token, the sum of its experts' rows times `probs`."""
    if padded_mode:
        _refuse("npu_moe_token_unpermute", "padded_mode", padded_mode)
    if len(sorted_indices) != len(permuted_tokens):
        raise ValueError(
            f"torch_npu.npu_moe_token_unpermute: sorted_indices has {len(sorted_indices)} numbers, "
            f"but permuted_tokens has {len(permuted_tokens)} rows"
        )
    rows = permuted_tokens.float().index_select(0, sorted_indices.long())
    if probs is not None:
        top_k = probs.shape[1] if probs.ndim == 2 else 1
        rows = rows * probs.float().reshape(-1, 1)
        rows = rows.reshape(-1, top_k, rows.shape[-1]).sum(1)
    return rows.to(permuted_tokens.dtype)


#: From a layout to (batch, heads, rows, numbers); "H" is heads times numbers.
_LAYOUTS: dict[str, Callable[[Any, int], Any]] = {
    "BNSD": lambda x, heads: x,
    "BSND": lambda x, heads: x.transpose(1, 2),
    "BSH": lambda x, heads: x.unflatten(2, (heads, -1)).transpose(1, 2),
    "SBH": lambda x, heads: x.unflatten(2, (heads, -1)).permute(1, 2, 0, 3),
}
_BACK: dict[str, Callable[[Any], Any]] = {
    "BNSD": lambda x: x,
    "BSND": lambda x: x.transpose(1, 2),
    "BSH": lambda x: x.transpose(1, 2).flatten(2),
    "SBH": lambda x: x.permute(2, 0, 1, 3).flatten(2),
}


def _hidden(rows: int, columns: int, mode: int, mask: Any, before: int, after: int) -> Any:
    """Which scores don't count, by `sparse_mode`; None if all of them do."""
    shift = columns - rows if mode in (3, 4) else 0  # counted from the last row and column
    ahead = torch.arange(columns) - torch.arange(rows)[:, None] - shift
    if mode in (2, 3):
        return ahead > 0
    band = (ahead > after) | (ahead < -before)
    if mode == 4:
        return band
    if mask is None:
        return None
    return mask.bool() | band if mode == 0 else mask.bool()


@_operator
def npu_fusion_attention(
    query: Any,
    key: Any,
    value: Any,
    head_num: int,
    input_layout: str,
    pse: Any = None,
    padding_mask: Any = None,
    atten_mask: Any = None,
    scale: float = 1.0,
    keep_prob: float = 1.0,
    pre_tockens: int = 2147483647,
    next_tockens: int = 2147483647,
    inner_precise: int = 0,
    prefix: Any = None,
    actual_seq_qlen: Any = None,
    actual_seq_kvlen: Any = None,
    sparse_mode: int = 0,
    gen_mask_parallel: bool = True,
    sync: bool = False,
) -> tuple[Any, ...]:
    """softmax(scale * query @ key^T, without what the mask hides) @ value; the rows' maxima and
    sums, eight of each; then an empty tensor and three zeros, which serve the dropout. Rows of
    which everything is hidden are zero."""
    absent = {"pse": pse, "padding_mask": padding_mask, "prefix": prefix}
    absent |= {"actual_seq_qlen": actual_seq_qlen, "actual_seq_kvlen": actual_seq_kvlen}
    for name, given in absent.items():
        if given is not None:
            _refuse("npu_fusion_attention", name)
    if keep_prob != 1:
        _refuse("npu_fusion_attention", "keep_prob", keep_prob)
    if sparse_mode not in range(5):
        _refuse("npu_fusion_attention", "sparse_mode", sparse_mode)
    if input_layout not in _LAYOUTS:
        _refuse("npu_fusion_attention", "input_layout", input_layout)
    split = _LAYOUTS[input_layout]
    q = split(query.float(), head_num)
    # Of H, the key's and the value's share of the heads is known by the length of a head.
    of_head = "H" in input_layout
    shared_heads = key.shape[2] // q.shape[-1] if of_head else 0
    k, v = split(key.float(), shared_heads), split(value.float(), shared_heads)
    k, v = (x.repeat_interleave(head_num // x.shape[1], 1) for x in (k, v))
    scores = scale * q @ k.mT
    rows, columns = scores.shape[-2:]
    hidden = _hidden(rows, columns, sparse_mode, atten_mask, pre_tockens, next_tockens)
    if hidden is not None:
        scores = scores.masked_fill(hidden, -torch.inf)
    most = scores.amax(-1, keepdim=True)
    weights = torch.exp(scores - most.masked_fill(most == -torch.inf, 0))
    total = weights.sum(-1, keepdim=True)
    out = weights @ v / total.masked_fill(total == 0, 1)
    of_rows = [x.expand(*x.shape[:-1], 8).contiguous() for x in (most, total)]
    made = _BACK[input_layout](out).contiguous().to(query.dtype)
    return made, *of_rows, query.new_empty(0), 0, 0, 0
