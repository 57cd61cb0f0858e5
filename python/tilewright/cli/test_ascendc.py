# SPDX-License-Identifier: Apache-2.0
"""`tilewright ascendc` hands everything on to tilewright-ascendc."""

from pathlib import Path

import pytest

from tilewright.cli import MISSING, ascendc, main


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that notes its arguments and ends with code 5."""
    program = tmp_path / "driver"
    program.write_text(f'#!/bin/sh\nprintf "%s|" "$@" > {tmp_path / "arguments"}\nexit 5\n')
    program.chmod(0o755)
    monkeypatch.setenv("TILEWRIGHT_ASCENDC", str(program))
    return program


@pytest.mark.parametrize(
    "arguments", [["build", "a b.cpp", "-o", "out", "-DX=1", "--no-check"], ["--help"], []]
)
def test_arguments_and_exit_code(driver: Path, arguments: list[str]) -> None:
    """Options too, with blanks in them, and the exit code comes back."""
    assert main(["ascendc", *arguments]) == 5
    noted = (driver.parent / "arguments").read_text()
    assert noted == ("".join(f"{a}|" for a in arguments) or "|")


def test_driver_of_the_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a name, the build of the checkout is looked into."""
    monkeypatch.delenv("TILEWRIGHT_ASCENDC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("TILEWRIGHT_BUILD", str(tmp_path))
    assert ascendc.program() is None
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "tilewright-ascendc").touch()
    assert ascendc.program() == tmp_path / "bin" / "tilewright-ascendc"


def test_missing_driver(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """What is missing and what to do."""
    monkeypatch.delenv("TILEWRIGHT_ASCENDC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("TILEWRIGHT_BUILD", str(tmp_path))
    assert main(["ascendc", "build"]) == MISSING
    assert "tilewright-ascendc is not installed; build the simulator" in capfd.readouterr().err
    monkeypatch.setenv("TILEWRIGHT_ASCENDC", str(tmp_path / "nothing"))
    assert main(["ascendc", "build"]) == MISSING
    assert "cannot start" in capfd.readouterr().err
