# SPDX-License-Identifier: Apache-2.0
"""Layouts, asked on the host."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tilewright
import tilewright.language as T


def test_layouts():
    """Layouts can be asked on the host."""
    layout = T.Layout((4, 8), lambda i, j: (i, j ^ i))
    assert layout(3, 5) == [3, 6]
    assert layout.get_input_shape() == [4, 8] and layout.get_output_shape() == [4, 8]
    assert layout.inverse()(3, 6) == [3, 5]
    assert layout.is_equal(layout.inverse())  # an xor is its own inverse
    with pytest.raises(ValueError, match="the layout has 2 dims but got 1 indices"):
        layout(1)
    with pytest.raises(
        ValueError, match="a layout that puts two elements at one place has no inverse"
    ):
        T.Layout((4,), lambda i: i // 2).inverse()

    from tilewright.layout import make_linear_layout, make_swizzled_layout

    assert make_linear_layout(3, 4)(2, 1) == [9]
    swizzled = make_swizzled_layout((8, 64))  # of 16-bit elements: rows of 128 bytes
    assert swizzled(0, 8) == [0, 8] and swizzled(1, 8) == [1, 0]
    assert sorted(swizzled(3, j)[1] for j in range(64)) == list(range(64))


def test_repeated_layouts():
    """A fragment of many: more registers of the same threads, or more threads."""
    atom = T.Fragment((8, 8), forward_fn=lambda i, j: (i * 4 + j // 2, j % 2))
    rows = atom.repeat([2, 2])
    assert rows.get_input_shape() == [16, 16] and rows.get_output_shape() == [8]
    assert rows.get_thread_size() == atom.get_thread_size() == 32
    for i, j in ((0, 0), (3, 5), (3, 13), (11, 5), (15, 15)):
        assert rows.map_forward_thread((i, j)) == i % 8 * 4 + j % 8 // 2
        assert rows(i, j) == [j % 2 + 2 * (j // 8 + 2 * (i // 8))]
    columns = atom.repeat([2, 2], lower_dim_first=False)
    assert columns(3, 13) == [1 + 2 * 2] and columns(11, 5) == [1 + 2]
    threads = atom.repeat([3, 1], repeat_on_thread=True)
    assert threads.get_thread_size() == 96 and threads.get_output_shape() == [2]
    assert threads.map_forward_thread((17, 3)) == 64 + 4 + 1 and threads(17, 3) == [1]
    with pytest.raises(ValueError, match="the fragment has 2 dims but got"):
        atom.repeat([2])
    with pytest.raises(
        ValueError, match="a fragment with several dims of registers is repeated on threads"
    ):
        T.Fragment((2, 2), forward_thread_fn=lambda i, j: 0).repeat([2, 1])


def test_expanded_layouts():
    """More dims in front, in the tile as in memory."""
    rows = T.Layout((3, 4), lambda i, j: j * 3 + i)
    more = rows.expand([5, 2])
    assert more.get_input_shape() == [5, 2, 3, 4] and more.get_output_shape() == [5, 2, 12]
    assert more(4, 1, 2, 3) == [4, 1, 11]
    same = T.Layout((2, 3, 4), lambda k, i, j: (k, j * 3 + i))
    assert rows.expand(2).is_equal(same) and rows.expand(()) is rows
    for wrong in (0, [2, -1], [1.5]):
        with pytest.raises(ValueError, match="a layout is expanded by positive integers, not by"):
            rows.expand(wrong)
    with pytest.raises(ValueError, match="a fragment can't be expanded; repeat makes a larger one"):
        T.Fragment((4,), forward_fn=lambda i: (i, 0)).expand(2)


def test_copies_in_fragments():
    """Functions of threads take the copy's number behind the indices."""
    atom = T.Fragment((4,), forward_fn=lambda i: (i, 0))
    twice = atom.replicate(2)
    assert (twice.replicate_size, twice.get_thread_size()) == (2, 8)
    assert [twice.map_forward_thread((3,), copy) for copy in (0, 1)] == [3, 7]
    more = twice.repeat([2], repeat_on_thread=True).condense_rep_var()
    assert more.get_thread_size() == 16 and more.map_forward_thread((5,), 1) == 1 + 4 + 8
    assert twice.replicate(2).map_forward_thread((1,), 3) == 1 + 4 + 8
    by_copy = T.Fragment(
        (4,), forward_thread_fn=lambda i, copy: i + 4 * copy, replicate=2,
        forward_index_fn=lambda i: 0,
    )  # fmt: skip
    assert by_copy.is_equal(twice) and not by_copy.is_equal(atom)
    assert T.Fragment((4,), lambda i, copy: (i + 4 * copy, 0), replicate=2).is_equal(twice)


@pytest.mark.parametrize("kind", [T.Layout, T.Fragment])
@pytest.mark.parametrize(
    ("shape", "error"),
    [(-1, TypeError), ((4, -1), ValueError), ((0,), ValueError), ((4, 2.0), TypeError),
     ("88", TypeError), ((True,), TypeError)],
)  # fmt: skip
def test_shapes_of_layouts(kind, shape, error):
    message = f"the shape of a T.{kind.__name__} is a list of positive integers, not "
    with pytest.raises(error, match=re.escape(f"{message}{shape!r}")):
        kind(shape, lambda *i: (0, 0))


def test_functions_of_layouts():
    with pytest.raises(TypeError, match="forward_fn of a T.Layout is a function of the indices"):
        T.Layout((4,), 3)
    for name in ("forward_fn", "forward_thread_fn", "forward_index_fn"):
        message = f"{name} of a T.Fragment is a function of the indices, not 3"
        with pytest.raises(TypeError, match=message):
            T.Fragment((4,), **{name: 3})
    for replicate in (0, 1.5):
        with pytest.raises(
            ValueError, match="replicate of a T.Fragment is a positive integer, not"
        ):
            T.Fragment((4,), lambda i: (i, 0), replicate=replicate)


def test_repeated_places():
    layout = T.Layout((4, 8), lambda i, j: (j, i))
    assert layout.repeat(-1, 2)(3, 13) == [1, 5, 3] and layout.repeat(0, 1) is layout
    assert layout.repeat(0, 3).get_input_shape() == [12, 8]
    with pytest.raises(ValueError, match="a layout of 2 dims can't be repeated 2 times on 2"):
        layout.repeat(2, 2)


def test_fragments_of_partial_results(agree, random):
    """How many threads share an element says nothing here; the sums are those of the reducer."""

    @T.prim_func
    def kernel(A: T.Tensor((32, 8), "float32"), B: T.Tensor((32,), "float32")):
        with T.Kernel(1, threads=128):
            acc = T.alloc_reducer((32,), "float32", op="sum")
            T.annotate_layout(
                {
                    acc: T.PartialFragment(
                        (32,), forward_thread_fn=lambda i, copy: (i % 16) * 8 + copy, replicate=8
                    )
                }
            )
            T.reducer_init(acc)
            for i, k in T.Parallel(32, 8):
                T.reducer_update(acc[i], A[i, k])
            T.finalize_reducer(acc)
            T.copy(acc, B)

    a = random.standard_normal((32, 8)).astype(np.float32)
    agree(kernel, [a, np.zeros(32, np.float32)], {1: a.sum(1, dtype=np.float64).astype(np.float32)})
    wide = tilewright.layout.make_fully_replicated_partial_fragment([64], 128)
    assert (wide.combine_size, wide.get_thread_size()) == (128, 128) and wide(9) == [9]
    parts = T.PartialFragment((4,), lambda i, copy: (copy, i), replicate=4, combine=2)
    assert (parts.replicate_size, parts.combine_size) == (4, 2)
    with pytest.raises(
        ValueError, match="combine of T.PartialFragment must divide replicate, 4, b"
    ):
        T.PartialFragment((4,), lambda i, copy: (copy, i), replicate=4, combine=3)
