# SPDX-License-Identifier: Apache-2.0
"""What the vendor's compiler orders by itself, where a kernel's compile_flags ask for it."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright.errors import TilewrightWarning

ROWS = T.Tensor((4, 64), "float32")


@T.prim_func
def without_barriers(A: ROWS, C: ROWS):  # type: ignore[no-untyped-def]
    """Flags around the loads and stores, no barrier between what the vector unit does."""
    with T.Kernel(4, is_npu=True, threads=1) as cid:
        x = T.alloc_ub((64,), "float32")
        T.copy(A[cid, :], x)
        T.set_flag("mte2", "v", 0)
        T.wait_flag("mte2", "v", 0)
        T.tile.add(x, x, 1.0)
        T.tile.mul(x, x, 2.0)
        T.tile.add(x, x, 3.0)
        T.set_flag("v", "mte3", 0)
        T.wait_flag("v", "mte3", 0)
        T.copy(x, C[cid, :])


@T.prim_func
def without_a_flag(A: ROWS, C: ROWS):  # type: ignore[no-untyped-def]
    """Which no compiler puts in."""
    with T.Kernel(4, is_npu=True, threads=1) as cid:
        x = T.alloc_ub((64,), "float32")
        T.copy(A[cid, :], x)
        T.tile.add(x, x, 1.0)
        T.set_flag("v", "mte3", 0)
        T.wait_flag("v", "mte3", 0)
        T.copy(x, C[cid, :])


def compiled(kernel: Any, flags: list[str] | str | None) -> tuple[Any, list[str]]:  # noqa: ANN401
    """With what the compiler warns of."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        made = tilewright.compile(kernel, target="ascend", compile_flags=flags)
    return made, [str(each.message) for each in found]


def run(kernel: Any) -> Any:  # noqa: ANN401
    """The result for ones; RuntimeError: what the host finds."""
    result = np.zeros((4, 64), np.float32)
    kernel(np.ones((4, 64), np.float32), result)
    return result


@pytest.mark.parametrize("flags", [["--cce-auto-sync=on"], "-O2 --cce-auto-sync"])
def test_the_kernel_alone_is_relaxed(flags: list[str] | str) -> None:
    relaxed, told = compiled(without_barriers, flags)
    assert [each for each in told if "nothing orders" in each] == []
    assert (run(relaxed) == 7).all()
    strict, told = compiled(without_barriers, None)
    assert sum("nothing orders them" in each for each in told) == 2
    assert all("the vendor's compiler orders these two by itself" in each for each in told)
    assert sum("--cce-auto-sync=on in compile_flags" in each for each in told) == 1
    with pytest.raises(RuntimeError) as caught:
        run(strict)
    text = str(caught.value)
    assert text.count("the vendor's compiler orders these two by itself") == 2
    assert text.count(": a kernel that relies on it runs here with --cce-auto-sync=on in ") == 1
    assert (run(relaxed) == 7).all()


@pytest.mark.parametrize(
    "flags", [["--cce-auto-sync=ON"], "--cce-auto-sync=1", ["--cce-auto-sync", "true"]]
)
def test_words_for_on(flags: list[str] | str) -> None:
    assert (run(compiled(without_barriers, flags)[0]) == 7).all()


@pytest.mark.parametrize(
    "flags",
    [
        ["--cce-auto-sync=on", "--cce-auto-sync=off"],
        ["--cce-auto-sync=on", "--cce-auto-sync", "off"],
        "--cce-auto-sync=on --cce-auto-sync=False",
    ],
)
def test_the_last_flag_counts(flags: list[str] | str) -> None:
    strict, told = compiled(without_barriers, flags)
    assert any("nothing orders them" in each for each in told)
    with pytest.raises(RuntimeError, match="may still be writing them"):
        run(strict)


def test_what_no_compiler_puts_in_is_found() -> None:
    relaxed, told = compiled(without_a_flag, ["--cce-auto-sync=on"])
    assert any("nothing orders them" in each for each in told)
    with pytest.raises(RuntimeError, match="may still be writing them"):
        run(relaxed)


@T.prim_func
def stored_by_all(A: ROWS, C: ROWS):  # type: ignore[no-untyped-def]
    """The same bytes by each block."""
    with T.Kernel(4, is_npu=True, threads=1) as _:
        x = T.alloc_ub((64,), "float32")
        T.copy(A[0, :], x)
        T.barrier_all()
        T.copy(x, C[0, :])


def test_cores_are_as_without_it() -> None:
    """Nothing orders blocks, and that they write the same is no order."""
    with pytest.raises(RuntimeError, match="nothing orders this write of 'C'"):
        run(compiled(stored_by_all, ["--cce-auto-sync=on"])[0])
    with pytest.raises(tilewright.KernelError, match="blocks of the grid"):
        run(tilewright.compile(stored_by_all, target="reference"))


@T.prim_func
def of_half_a_tile(A: ROWS, C: ROWS):  # type: ignore[no-untyped-def]
    with T.Kernel(4, is_npu=True, threads=1) as cid:
        x = T.alloc_ub((64,), "float32")
        T.copy(A[cid, 0:32], x[0:32])
        T.barrier_all()
        T.tile.add(x, x, 1.0)
        T.barrier_all()
        T.copy(x, C[cid, :])
        T.barrier_all()


def test_stores_of_what_nothing_has_written() -> None:
    """A warning that says which statement stores what the computation made of it."""
    relaxed, _ = compiled(of_half_a_tile, ["--cce-auto-sync=on"])
    with pytest.warns(TilewrightWarning, match="which nothing has written") as told:
        run(relaxed)
    text = str(told[0].message)
    assert "uses what comes of it here" in text
    assert "nothing uses" not in text


def of_rows_of_a_tile(dtype: str, adds: bool) -> Any:
    @T.prim_func
    def main(A: T.Tensor((4, 64), dtype), C: T.Tensor((4, 64), dtype)):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_ub((4, 64), dtype)
            T.copy(A[0:2, :], x[0:2, :])
            T.barrier_all()
            if adds:
                T.atomic_add(C, x)
            else:
                T.copy(x, C)

    return main


@pytest.mark.parametrize("adds", [False, True])
@pytest.mark.parametrize(("dtype", "nobodys"), [("float32", np.nan), ("int32", -1)])
def test_what_nothing_has_written_never_counts_as_zero(
    dtype: str, nobodys: float, adds: bool
) -> None:
    """It is stored, or added, with all bits set."""
    relaxed, _ = compiled(of_rows_of_a_tile(dtype, adds), ["--cce-auto-sync=on"])
    a, c = np.full((4, 64), 5, dtype), np.full((4, 64), 9, dtype)
    with pytest.warns(TilewrightWarning, match="which nothing has written"):
        relaxed(a, c)
    assert (c[:2] == (14 if adds else 5)).all()
    np.testing.assert_array_equal(c[2:], np.full((2, 64), nobodys + 9 * adds, dtype))


def test_of_a_decorator() -> None:
    @tilewright.jit(target="ascend", out_idx=[1], compile_flags=["--cce-auto-sync=on"])
    def made() -> Any:  # noqa: ANN401
        return without_barriers

    assert (made()(np.ones((4, 64), np.float32)) == 7).all()


SCRIPT = """
import numpy as np, tilelang, tilelang.language as T
from tests_kernel import without_barriers
result = np.zeros((4, 64), np.float32)
tilelang.compile(without_barriers, target="ascend")(np.ones((4, 64), np.float32), result)
print(result[3, 3])
"""


def test_of_a_script(tmp_path: Path) -> None:
    """`tilewright run --relaxed`, for all kernels of a script."""
    own = Path(__file__).read_text()
    kernel = own[own.index("ROWS = ") : own.index("@T.prim_func\ndef without_a_flag")]
    (tmp_path / "tests_kernel.py").write_text(f"import tilelang.language as T\n{kernel}")
    (tmp_path / "script.py").write_text(SCRIPT)
    environment = {k: v for k, v in os.environ.items() if k != "TILEWRIGHT_ASCEND"}
    command = [sys.executable, "-m", "tilewright", "run", "--target", "ascend"]

    def ended(*more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*command, *more, "script.py"],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    relaxed = ended("--relaxed")
    assert (relaxed.stdout, relaxed.returncode) == ("7.0\n", 0), relaxed.stderr
    assert "nothing orders them" not in relaxed.stderr
    strict = ended()
    assert strict.returncode != 0
    assert "may still be writing them" in strict.stderr
