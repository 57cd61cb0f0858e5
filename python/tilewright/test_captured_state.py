# SPDX-License-Identifier: Apache-2.0
"""What a factory reads outside itself, when that changes in one process."""

import types

from tilewright.captured_state import CapturedState

BLOCK = 4
SIZES = [1, 2]
settings = types.SimpleNamespace(block=4, unread=1)


def one_more():
    return BLOCK + 1


def reads_global():
    return BLOCK


def reads_through_another():
    return one_more()


def reads_list():
    return SIZES[0]


def reads_attribute():
    return settings.block


def closing_over(number):
    def reads_cell():
        return number

    def change(value):
        nonlocal number
        number = value

    return reads_cell, change


def test_globals(monkeypatch):
    states = [CapturedState(f) for f in (reads_global, reads_through_another)]
    other = CapturedState(reads_list)
    assert all(state.holds() for state in [*states, other])
    monkeypatch.setitem(globals(), "BLOCK", 8)
    assert not any(state.holds() for state in states)
    assert other.holds()


def test_contents_of_lists(monkeypatch):
    state = CapturedState(reads_list)
    monkeypatch.setitem(globals(), "BLOCK", 8)
    assert state.holds()
    SIZES.append(3)
    assert not state.holds()
    SIZES.pop()
    assert state.holds()


def test_attributes(monkeypatch):
    state = CapturedState(reads_attribute)
    monkeypatch.setattr(settings, "unread", 2)
    assert state.holds()
    monkeypatch.setattr(settings, "block", 8)
    assert not state.holds()


def test_closures():
    reads_cell, change = closing_over(1)
    state = CapturedState(reads_cell)
    assert state.holds()
    change(2)
    assert not state.holds()
