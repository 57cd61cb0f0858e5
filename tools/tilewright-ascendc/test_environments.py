# SPDX-License-Identifier: Apache-2.0
"""Folders that the driver needs and that aren't there, full or no folders. Needs a simulator."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from built_driver import DRIVER, ROOT, needs_driver

SOURCE = ROOT / "examples" / "ascend" / "relu_custom.cpp"

pytestmark = needs_driver


def drive(
    *words: str | Path, cwd: Path | None = None, **environment: str | Path | None
) -> subprocess.CompletedProcess[str]:
    """The driver with these variables; None takes one away."""
    names = {**os.environ, **{name: str(value) for name, value in environment.items()}}
    for name, value in environment.items():
        if value is None:
            del names[name]
    return subprocess.run(
        [str(word) for word in (DRIVER, *words)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=cwd,
        env=names,
    )


def test_no_temporary_folder(tmp_path: Path) -> None:
    """The message names the folder, and what to do."""
    file = tmp_path / "file"
    file.touch()
    for folder, why in (
        (tmp_path / "none", "No such file or directory"),
        (file, "Not a directory"),
    ):
        answer = drive("build", SOURCE, "-o", tmp_path / "a", TMPDIR=folder)
        assert (answer.returncode, answer.stderr) == (
            1,
            f"error: cannot make a temporary folder in '{folder}': {why}; set TMPDIR to a folder "
            "that you may write\n",
        )


def test_no_cache(tmp_path: Path) -> None:
    """What can't be kept is made anew; the last resort is the folder for temporary files."""
    cache = tmp_path / "tilewright" / "ascendc"
    cache.parent.mkdir()
    cache.touch()
    places: dict[str, str | Path | None] = {
        "TILEWRIGHT_CACHE_DIR": None,
        "XDG_CACHE_HOME": tmp_path,
    }
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    other = temporary / f"tilewright-ascendc-{os.getuid()}"
    other.touch()
    answer = drive("build", SOURCE, "-o", tmp_path / "a", TMPDIR=temporary, **places)
    assert (answer.returncode, answer.stderr) == (
        0,
        f"warning: cannot write the cache '{other}': Not a directory; set TILEWRIGHT_CACHE_DIR to "
        "a folder that you may write, or each build takes longer\n",
    )
    other.unlink()
    answer = drive("build", SOURCE, "-o", tmp_path / "a", TMPDIR=temporary, **places)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert list(other.glob("*/inputs"))


def test_working_folder_that_is_gone(tmp_path: Path) -> None:
    """Only what is relative to it can't be."""
    script = f"cd {tmp_path}/gone && rmdir ../gone && exec {DRIVER} build {SOURCE} -o "
    for output, status, said in (
        (tmp_path / "a", 0, ""),
        ("a", 1, "cannot open output file a: No such file or directory"),
    ):
        (tmp_path / "gone").mkdir()
        answer = subprocess.run(
            ["sh", "-c", f"{script} {output}"],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert answer.returncode == status, answer.stderr
        assert said in answer.stderr


def test_outputs_that_cannot_be(tmp_path: Path) -> None:
    """A folder, a file in the place of a folder, and no folder at all."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    for command, output, said in (
        ("build", "folder", "folder"),
        ("build", "none/a", "none/a"),
        ("launch-headers", "file", "error: cannot make the folder 'file': Not a directory\n"),
    ):
        answer = drive(command, SOURCE, "-o", output, cwd=tmp_path)
        assert answer.returncode == 1, answer.stderr
        assert said in answer.stderr


def test_full_disk(tmp_path: Path) -> None:
    """The cache is done without, and the others are told."""
    full = tmp_path / "full"
    full.mkdir()
    mount = shutil.which("mount")
    command = [str(mount), "-t", "tmpfs", "-o", "size=64k", "none", str(full)]
    if not mount or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("needs a disk that it may fill")
    try:
        output = tmp_path / "a"
        answer = drive("build", SOURCE, "-o", output, TILEWRIGHT_CACHE_DIR=full)
        assert (answer.returncode, answer.stderr) == (
            0,
            f"warning: cannot write the cache '{full}/ascendc': No space left on device; set "
            "TILEWRIGHT_CACHE_DIR to a folder that you may write, or each build takes longer\n",
        )
        (full / "much").write_bytes(b"x" * (os.statvfs(full).f_bavail * os.statvfs(full).f_bsize))
        answer = drive("build", SOURCE, "-o", output, TMPDIR=full)
        assert answer.returncode == 1
        assert "No space left on device" in answer.stderr
    finally:
        subprocess.run(["umount", str(full)], check=True)
