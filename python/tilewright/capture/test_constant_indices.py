# SPDX-License-Identifier: Apache-2.0
"""The warning of a constant index beyond a tensor: of atomic operations, too, and nowhere that a
kernel need never come to (more cases are in test_wrong_kernels.py)."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

import tilewright

pytest.importorskip("tilewright._compiler")

BEYOND = "index 0 of 'A' is 8, but the dim has 8 elements: "
READ, STORE, UPDATE = (
    BEYOND + told
    for told in ("this read gives 0", "this store does nothing", "this atomic update does nothing")
)

#: Bodies of a kernel, and what is told of their lines that end with `#!`.
TOLD = {
    "A[0] = T.atomic_load(A[8])  #!": READ,
    "T.atomic_store(A[8], 1)  #!": STORE,
    "T.atomic_add(A[8], 1)  #!": UPDATE,
    "A[0] = T.atomic_max(A[8], 1, return_prev=True)  #!": UPDATE,
    "T.atomic_or(A[8], 1)  #!": UPDATE,
    "T.atomic_addx2(A[7], A[0])  #!": UPDATE,
    """
    for i in T.serial(4):
        if i == n:
            break
    A[8] = 1  #!
    """: STORE,
    """
    while A[0] < 4:
        A[0] += 1
        if A[0] == n:
            continue
    A[0] = A[8]  #!
    """: READ,
    """
    with T.sblock():
        T.annotate_safe_value({A: 5})
        A[1] = A[8]
    A[0] = A[8]  #!
    """: READ,
    """
    with T.sblock():
        T.annotate_padding({A: 5})
        A[1] = A[8]
    A[0] = A[8]  #!
    """: READ,
}
SILENT = [
    "A[0] = T.atomic_load(A[7])",
    "T.atomic_addx2(A[6], A[0])",
    "T.atomic_addx4(A[4], A[0])",
    """
    if n > 8:
        T.atomic_add(A[8], 1)
    """,
    """
    for i in T.serial(4):
        if n <= 8:
            continue
        A[0] = A[8]
    """,
    """
    for i in T.serial(4):
        for j in T.serial(4):
            if n <= 8:
                break
            A[8] = 1
    """,
    """
    while A[0] < 4:
        A[0] += 1
        if n <= 8:
            break
        A[8] = 1
    """,
    """
    for i in T.serial(4):
        if T.int32(8) <= 8:
            continue
        A[8] = 1
    """,
    """
    for i in T.serial(4):
        if True:
            continue
        A[8] = 1
    """,
    """
    for i in T.serial(4):
        if n <= 8:
            T.loop_break()
        A[8] = 1
    """,
    """
    for i in T.serial(0):
        A[8] = 1
    """,
    """
    for i in T.serial(4, 2):
        A[8] = 1
    """,
    """
    for i in T.Parallel(0):
        A[i] = A[8]
    """,
    """
    for i, j in T.grid(4, 0):
        A[8] = 1
    """,
    """
    for k in T.Pipelined(0, num_stages=2):
        A[8] = 1
    """,
    """
    while False:
        A[8] = 1
    """,
    """
    with T.If(n > 8), T.Then():
        A[8] = 1
    """,
]


def told(folder: Path, text: str, recwarn: pytest.WarningsRecorder) -> list[tuple[str, int]]:
    path = folder / "kernel.py"
    path.write_text("import tilewright.language as T\n" + text)
    names: dict = {"__name__": "kernel"}
    exec(compile(path.read_text(), str(path), "exec"), names)
    tilewright.compile(names["kernel"])
    assert all(w.filename == str(path) for w in recwarn)
    return [(str(w.message), w.lineno) for w in recwarn if "but the dim" in str(w.message)]


def kernel_of(*launches: str) -> str:
    head = "@T.prim_func\ndef kernel(A: T.Tensor((8,), 'int32'), n: T.int32):\n"
    start = "    with T.Kernel(1, threads=1):\n"
    return head + "".join(
        start + textwrap.indent(textwrap.dedent(body).strip("\n") + "\n", " " * 8)
        for body in launches
    )


@pytest.mark.parametrize("body", TOLD)
def test_what_is_told(body, tmp_path, recwarn):
    text = kernel_of(body)
    line = 2 + next(n for n, each in enumerate(text.splitlines()) if each.endswith("#!"))
    assert told(tmp_path, text, recwarn) == [(TOLD[body], line)]


@pytest.mark.parametrize("body", SILENT)
def test_what_need_never_run(body, tmp_path, recwarn):
    assert told(tmp_path, kernel_of(body), recwarn) == []


@pytest.mark.parametrize("annotate", ["annotate_safe_value", "annotate_padding"])
def test_what_a_launch_says_ends_with_it(annotate, tmp_path, recwarn):
    text = kernel_of(f"T.{annotate}({{A: 5}})\nA[0] = A[8]", "A[0] = A[8]")
    assert told(tmp_path, text, recwarn) == [(READ, len(text.splitlines()) + 1)]
