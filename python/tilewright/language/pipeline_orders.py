# SPDX-License-Identifier: Apache-2.0
"""The schedule of a `T.Pipelined` that is given by hand: numbers that contradict themselves.

`order` and `stage` have a number for each statement, or for each group of them where there is
`group`, which names the statements. -1 in both is what a producer of its own does on a GPU.
"""

from __future__ import annotations

from .values import LanguageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _as_list(name: str, given: Any) -> list[Any]:
    if not isinstance(given, (list, tuple)):
        raise LanguageError(
            f"{name} of T.Pipelined must be a list, not {given!r}", python=TypeError
        )
    return list(given)


def _numbers(name: str, given: Any) -> list[int]:
    from ..capture.tracer import current

    return current().integers(_as_list(name, given), f"{name} of T.Pipelined")


def _grouped(group: Any) -> list[list[int]]:
    groups = [_numbers("a group", each) for each in _as_list("group", group)]
    members = [number for each in groups for number in each]
    if sorted(members) != list(range(len(members))):
        raise LanguageError(
            f"group of T.Pipelined is {groups}, but it must hold each of the statements 0 to "
            f"{len(members) - 1} once"
        )
    return groups


def _check_order(order: list[int], stage: list[int]) -> None:
    for number, (place, level) in enumerate(zip(order, stage, strict=True)):
        if min(place, level) < -1 or (place == -1) != (level == -1):
            raise LanguageError(
                f"statement {number} of T.Pipelined has order {place} and stage {level}; both are "
                "from 0 on, or both -1 for what a producer of its own does"
            )
    placed = [place for place in order if place >= 0]
    if sorted(placed) != list(range(len(placed))):
        raise LanguageError(
            f"order of T.Pipelined is {order}, but it must hold each of 0 to {len(placed) - 1} once"
        )


def scheduled_statements(order: Any, stage: Any, group: Any) -> int | None:
    """How many statements the schedule is of; None where there is none."""
    groups = None if group is None else _grouped(group)
    given = {"order": order, "stage": stage}
    numbers = {name: _numbers(name, each) for name, each in given.items() if each is not None}
    if len(numbers) == 1:
        (has,) = numbers
        (lacks,) = given.keys() - numbers
        raise LanguageError(f"T.Pipelined has {has} without {lacks}; a schedule by hand is of both")
    if not numbers:
        return None if groups is None else sum(map(len, groups))
    if len(numbers["order"]) != len(numbers["stage"]):
        lengths = [len(each) for each in numbers.values()]
        raise LanguageError(
            f"order of T.Pipelined is of length {lengths[0]}, but stage of length {lengths[1]}; "
            "each has one number for each statement"
        )
    _check_order(numbers["order"], numbers["stage"])
    if groups is None:
        return len(numbers["order"])
    if len(groups) != len(numbers["order"]):
        raise LanguageError(
            f"order of T.Pipelined is of length {len(numbers['order'])}, but group of length "
            f"{len(groups)}; order has one number for each group"
        )
    return sum(map(len, groups))
