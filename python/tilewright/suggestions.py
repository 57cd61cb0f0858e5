# SPDX-License-Identifier: Apache-2.0
"""What a misspelt name or keyword was probably meant to be."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any


#: What other languages of kernels, and NumPy, have under a name that nothing of ours looks like.
_ELSEWHERE = {
    "where": "T.if_then_else(condition, a, b)",
    "dot": "T.gemm(A, B, C), which adds to C",
    "matmul": "T.gemm(A, B, C), which adds to C",
    "mm": "T.gemm(A, B, C), which adds to C",
    "load": "T.copy(A[i, j], tile), or A[i, j] for one element",
    "store": "T.copy(tile, A[i, j]), or A[i, j] = x for one element",
    "inf": "T.infinity(dtype)",
    "zeros": "T.alloc_fragment(shape, dtype), and T.clear",
    "full": "T.alloc_fragment(shape, dtype), and T.fill",
    "zero": "T.clear",
    "arange": "the variables of a loop, for i in T.Parallel(n)",
    "program_id": "the names of the launch, with T.Kernel(m, n) as (bx, by)",
    "range": "T.serial",
    "sum": "T.reduce_sum",
    "mean": "T.reduce_sum, and divide",
    "reduce_mean": "T.reduce_sum, and divide",
    "softmax": "T.reduce_max, T.exp in T.Parallel and T.reduce_sum",
}

#: What NumPy, or torch, calls a function of T.tile that nothing there looks like.
_TILE_ELSEWHERE = {
    "multiply": "mul",
    "subtract": "sub",
    "minus": "sub",
    "divide": "div",
    "plus": "add",
    "maximum": "max",
    "minimum": "min",
    "power": "pow",
    "log": "ln",
    "absolute": "abs",
    "invert": "bitwise_not",
    "where": "select",
    "clip": "clamp",
    "arange": "arith_progression",
    "full": "fill",
    "astype": "cast",
}


def near(name: str, known: Iterable[str], cutoff: float = 0.75) -> str:
    """The known name that is most like this one, whatever its case; empty where none is."""
    from difflib import get_close_matches

    by_lower: dict[str, str] = {}
    for other in sorted(known, reverse=True):
        # Of twins as Tensor and tensor the capital one, of alloc_UB and alloc_ub that written so.
        twin = by_lower.get(other.lower(), "")
        if not twin or other[:1].isupper() or twin.islower() != name.islower():
            by_lower[other.lower()] = other
    close = get_close_matches(name.lower(), by_lower, 1, cutoff)
    if not close:  # exp for epx, of whom two letters of three are in order
        close = [other for other in by_lower if sorted(other) == sorted(name.lower())]
    return by_lower[close[0]] if close else ""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name."""
    meant = near(name, (other for other in known if not other.startswith("_")))
    return f"; did you mean {meant!r}?" if meant else ""


def meant_of_language(name: str, known: Iterable[str]) -> str:
    """The end of a message about a name that the language does not have."""
    if (instead := _ELSEWHERE.get(name)) is not None:
        return f"; write {instead}"
    return did_you_mean(name, known)


def meant_of_tiles(name: str, known: Iterable[str]) -> str:
    """The end of a message about a name that T.tile does not have."""
    if (instead := _TILE_ELSEWHERE.get(name)) is not None:
        return f"; did you mean {instead!r}?"
    return did_you_mean(name, known)


def of_same_words(keyword: str, known: Iterable[str]) -> str:
    """The one that has all words of the keyword and more: `num_stages` for `stages`, though `stage`
    looks more like it; empty where none or several have."""
    words = set(keyword.lower().split("_"))
    longer = [other for other in known if words < set(other.lower().split("_"))]
    return longer[0] if len(longer) == 1 else ""


def which_exist(keyword: str, known: Iterable[str], meant: str = "") -> str:
    """The end of a message about an unknown keyword: the nearest one, and all that there are."""
    names = list(known)
    meant = meant or of_same_words(keyword, names) or near(keyword, names, 0.6)
    if not names:
        return "; it has no keywords"
    listed = f"it has: {', '.join(names)}"
    return f"; did you mean {meant!r}? ({listed})" if meant else f"; {listed}"


def unknown_keyword(
    error: BaseException, function: Callable[..., Any], given: Iterable[str]
) -> tuple[str, str] | None:
    """Of a call of `function` with the keywords `given`: the one that it does not have, and the end
    of a message about it; None where `error` is of another kind, or of a call within."""
    import inspect
    import re

    found = re.search(r"got an unexpected keyword argument '(\w+)'", str(error))
    if not isinstance(error, TypeError) or found is None or found[1] not in given:
        return None
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    kinds = inspect.Parameter
    if any(p.kind is kinds.VAR_KEYWORD or p.name == found[1] for p in parameters):
        return None
    positional = (kinds.POSITIONAL_ONLY, kinds.VAR_POSITIONAL)
    return found[1], which_exist(found[1], (p.name for p in parameters if p.kind not in positional))
