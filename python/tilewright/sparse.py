# SPDX-License-Identifier: Apache-2.0
"""`tilelang.utils.sparse`: torch tensors with zeros for T.gemm_sp, and how they are packed."""

from __future__ import annotations

from .language.dtypes import to_dtype
from .language.sparsity import group_of, metadata_factor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["arange_semi_sparse", "compress", "get_e_factor"]
__all__ += ["randint_semi_sparse", "randn_semi_sparse"]


def get_e_factor(a_dtype: object, meta_dtype: object) -> int:
    """How many numbers of A one word of metadata describes."""
    return metadata_factor(to_dtype(a_dtype), to_dtype(meta_dtype))


def compress(A: Any, meta_dtype: Any = None) -> tuple[Any, Any]:
    """The numbers of a [rows, columns] tensor that aren't 0, and their metadata (int16 words).

    ValueError where a group of four (of float32: two) holds more than two (one) of them."""
    import torch

    dtype, words = to_dtype(A.dtype), to_dtype(meta_dtype or "int16")
    if dtype.bits not in (8, 16, 32) or (dtype.bits == 32 and str(dtype) != "float32"):
        raise TypeError(f"compress takes numbers of 8 or 16 bits, or float32, not {dtype}")
    stored, of = group_of(dtype)
    covered = metadata_factor(dtype, words)
    if A.dim() != 2 or A.shape[1] % covered:
        raise ValueError(
            f"compress takes a matrix with a multiple of {covered} columns, not {tuple(A.shape)}"
        )
    bits = A.contiguous().view({8: torch.int8, 16: torch.int16, 32: torch.int32}[dtype.bits])
    rows, columns = A.shape  # sizes of their own: of 0 rows, reshape doesn't find them
    groups = bits.reshape(rows, columns // of, of)
    is_there = A.to(torch.float64).reshape(groups.shape) != 0
    if bool((is_there.sum(-1) > stored).any()):
        raise ValueError(f"a group of {of} numbers holds more than {stored} that aren't 0")
    # Those that are there come first, in their order; zeros fill up, so that no place comes twice.
    order = torch.arange(of, device=A.device) + of * (~is_there).long()
    places = order.argsort(-1)[..., :stored].sort(-1).values
    kept = groups.gather(-1, places).reshape(rows, columns // of * stored).view(A.dtype)
    codes = places[..., 0] + 4 * places[..., 1] if stored == 2 else 4 + 10 * places[..., 0]
    codes = codes.reshape(rows, columns // covered, words.bits // 4)
    shifts = 4 * torch.arange(words.bits // 4, device=A.device)
    return kept, (codes << shifts).sum(-1).to(words.as_torch())


def _thinned(dense: Any, transposed: bool, dtype: Any) -> Any:
    stored, of = group_of(to_dtype(dtype))
    groups = dense.reshape(dense.shape[0], -1, of)
    groups.scatter_(-1, groups.topk(of - stored, dim=-1).indices, 0)
    thinned = groups.reshape(dense.shape)
    return (thinned.t().contiguous() if transposed else thinned).to(dtype)


def randn_semi_sparse(
    M: int, K: int, dtype: Any = None, device: Any = "cpu", transposed: bool = False
) -> Any:
    """Random numbers of which half are 0, so that `compress` packs them."""
    import torch

    return _thinned(torch.randn(M, K, device=device), transposed, dtype or torch.float16)


def randint_semi_sparse(
    M: int,
    K: int,
    low: int,
    high: int,
    dtype: Any = None,
    device: Any = "cpu",
    transposed: bool = False,
) -> Any:
    """Random integers from `low` up to below `high`, of which half are 0."""
    import torch

    made = torch.randint(low, high, (M, K), device=device)
    return _thinned(made, transposed, dtype or torch.int8)


def arange_semi_sparse(
    M: int, K: int, dtype: Any = None, device: Any = "cpu", transposed: bool = False
) -> Any:
    """The numbers from 0 up, row by row, of which half are 0."""
    import torch

    counted = torch.arange(M * K, device=device).reshape(M, K)
    return _thinned(counted, transposed, dtype or torch.float16)
