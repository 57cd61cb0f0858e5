# SPDX-License-Identifier: Apache-2.0
"""Who builds Ascend C: the vendor's compiler where a toolkit is installed, else the host; and that
a changed header leads to a new library."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright import ascend_toolchain
from tilewright.cli.ascendc import program
from tilewright.options import Options

DEVICE = Path(__file__).resolve().parents[2] / "device" / "ascend"

#: Notes its command line, then has the host's driver build the text.
FAKE = """#!{python}
import subprocess, sys
with open({log!r}, "w") as log:
    log.write("\\n".join(sys.argv[1:]))
text = sys.argv[sys.argv.index("--shared") + 1]
library = sys.argv[sys.argv.index("-o") + 1]
ours = [word for word in sys.argv if word.startswith("-I")][0]
sys.exit(subprocess.run([{driver!r}, "build", "--shared", text, "-o", library, ours]).returncode)
"""


def doubled(factor: float) -> Any:
    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_ub((64,), "float32")
            T.copy(A, x)
            T.barrier_all()
            T.tile.mul(x, x, factor)
            T.barrier_all()
            T.copy(x, B)

    return main


@pytest.fixture(autouse=True)
def _no_toolkit(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME", "TILEWRIGHT_ASCENDC"):
        monkeypatch.delenv(name, raising=False)


def test_the_compilers_are_those_that_the_native_code_looks_for():
    """`tilewright doctor` can't ask it: it may be what is missing."""
    root = Path(__file__).resolve().parents[2]
    builder = (root / "tools/tilewright-ascendc/builder.cpp").read_text()
    names = re.search(r"candidates = \{(.*?)\};", builder)[1]
    assert tuple(re.findall(r'"(.*?)"', names)) == ascend_toolchain.HOST_COMPILERS
    vendor = (root / "compiler/targets/ascend/vendor_compiler.cpp").read_text()
    programs = re.search(r"kPrograms\[\] = \{(.*?)\};", vendor, re.S)[1]
    assert tuple(re.findall(r'"(.*?)"', programs)) == ascend_toolchain.VENDOR_PROGRAMS


@pytest.mark.parametrize("variable", ["ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"])
def test_vendors_compiler_builds(
    variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = program()
    assert driver is not None
    bisheng = tmp_path / "compiler" / "ccec_compiler" / "bin" / "bisheng"
    bisheng.parent.mkdir(parents=True)
    (tmp_path / "include").mkdir()
    log = tmp_path / "command.txt"
    bisheng.write_text(FAKE.format(python=sys.executable, log=str(log), driver=str(driver)))
    bisheng.chmod(0o755)
    monkeypatch.setenv(variable, str(tmp_path))
    kernel = tilewright.compile(doubled(2.5), out_idx=[-1], target="ascend")
    a = np.arange(64, dtype=np.float32)
    np.testing.assert_array_equal(kernel(a), a * 2.5)
    words = log.read_text().splitlines()
    for word in (
        "--npu-arch=dav-2201",
        "-xasc",
        "-std=c++17",
        "-fwrapv",
        "-fPIC",
        f"-I{DEVICE}",
        f"-I{tmp_path}/include",
        f"-L{tmp_path}/lib64",
        "-lascendcl",
        "-lruntime",
    ):
        assert word in words


def test_vendors_compiler_that_fails_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bisheng = tmp_path / "compiler" / "ccec_compiler" / "bin" / "bisheng"
    bisheng.parent.mkdir(parents=True)
    bisheng.write_text("#!/bin/sh\necho no licence >&2\nexit 1\n")
    bisheng.chmod(0o755)
    monkeypatch.setenv("ASCEND_HOME_PATH", str(tmp_path))
    with pytest.raises(tilewright.CompileError) as caught:
        tilewright.compile(doubled(6.5), out_idx=[-1], target="ascend")
    (error,) = caught.value.errors
    assert error.message.startswith(
        f"the Ascend C of this kernel does not compile with '{bisheng}':\nno licence"
    )


def test_toolkit_without_a_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASCEND_HOME_PATH", str(tmp_path))
    kernel = tilewright.compile(doubled(3.5), out_idx=[-1], target="ascend")
    a = np.arange(64, dtype=np.float32)
    np.testing.assert_array_equal(kernel(a), a * 3.5)


def test_driver_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_ASCENDC", "/no/such/program")
    with pytest.raises(tilewright.CompileError) as caught:
        tilewright.compile(doubled(4.5), out_idx=[-1], target="ascend")
    (error,) = caught.value.errors
    assert error.kind == "error"
    assert error.message == (
        "'/no/such/program' cannot be started; build the Ascend host, or name its "
        "tilewright-ascendc in TILEWRIGHT_ASCENDC"
    )


def test_no_folder_to_build_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", "/no/such/folder")
    with pytest.raises(tilewright.CompileError) as caught:
        tilewright.compile(doubled(5.5), out_idx=[-1], target="ascend")
    (error,) = caught.value.errors
    assert error.kind == "error"
    assert error.message == "no temporary folder can be made for Ascend C; TMPDIR says where"


def test_changed_header_is_another_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    headers = tmp_path / "device"
    shutil.copytree(DEVICE, headers)
    monkeypatch.setenv("TILEWRIGHT_DEVICE_HEADERS", str(headers))

    def described() -> str:
        ascend_toolchain._stamps.clear()
        return Options("ascend", "native").description()

    before = described()
    assert before == described()
    header = headers / "tilewright_vector.h"
    header.write_text(header.read_text() + "// another one\n")
    assert described() != before
    os.utime(header, ns=(1, 1))
    assert described() != before
    assert Options("cpu", "native").description() == Options("cpu", "native").description()


def test_a_cache_hit_is_light(tmp_path: Path) -> None:
    """Of one from start to end: what imports a slow module takes longer than all the rest."""
    script = tmp_path / "kernels.py"
    script.write_text(
        "import sys\nimport tilewright\nimport tilewright.language as T\n"
        "@tilewright.jit(out_idx=[1], target='ascend')\n"
        "def twice(n):\n"
        "    @T.prim_func\n"
        "    def main(A: T.Tensor((n,), 'float32'), B: T.Tensor((n,), 'float32')):\n"
        "        with T.Kernel(1):\n"
        "            for i in T.Parallel(n):\n"
        "                B[i] = A[i] + A[i]\n"
        "    return main\n"
        "before = set(sys.modules)\n"
        "twice(64)\n"
        "slow = {'json', 'hashlib', 'pathlib', 'tempfile', 'numpy', 'tilewright._compiler'}\n"
        "print(*sorted(slow & (set(sys.modules) - before)))\n"
    )
    environment = os.environ | {"TILEWRIGHT_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, str(script)]
    told = [
        subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
        for _ in range(2)
    ]
    assert "tilewright._compiler" in told[0] and told[1].strip() == ""
