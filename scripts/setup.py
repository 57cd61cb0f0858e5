#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs what is missing to build and test: Debian packages, and Python packages into `.venv`.

With root (or passwordless sudo) apt-get installs the Debian packages; without, they are unpacked
into `.deps`. Either way `.deps/env.sh` then names the paths; the Makefile sources it. When nothing
is missing this takes milliseconds: `.deps/stamp` holds the digest of the lists.
TILEWRIGHT_SETUP=unpack chooses the way without root. A `.venv` that is a symbolic link is refused
where it runs another checkout; TILEWRIGHT_LINKED_VENV=1 has it run this one from now on.

Exit status: 0 all there; 1 something required could not be installed: it says which, and how to
get it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from debian_packages import (
    Package,
    SetupError,
    install_as_root,
    is_installed,
    privilege,
    read_packages,
    run_logged,
    unpack_without_root,
    warn_of_versions,
)
from interrupts import run_until_interrupted

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = ROOT / "scripts"
DEPS = ROOT / ".deps"
VENV = ROOT / ".venv"
LOG = DEPS / "setup.log"
LLVM = "lib/llvm-22"
#: Puts the checkout on the path of .venv's Python.
PATH_FILE = "tilewright_checkout.pth"
OLDEST_PYTHON = (3, 11)


def say(text: str) -> None:
    """One line of progress."""
    print(f"setup: {text}", flush=True)


def digest() -> str:
    """Changes when the lists, these scripts, the interpreter or the checkout's place change."""
    state = hashlib.sha256(f"{sys.version} {ROOT}".encode())
    for name in ("packages.txt", "requirements.txt", "setup.py", "debian_packages.py"):
        state.update((SCRIPTS / name).read_bytes())
    return state.hexdigest()


def has_package(name: str) -> bool:
    """Whether the package is installed, or unpacked in `.deps`."""
    return (DEPS / "packages" / name).exists() or is_installed(name)


def install_debian_packages(packages: list[Package]) -> None:
    """Installs the missing ones, or raises SetupError."""
    missing = [package for package in packages if not has_package(package.name)]
    if not missing:
        return
    say(f"{len(missing)} Debian packages are missing:")
    for package in missing:
        print(f"    {package.name:<22}{package.why}")
    prefix = None if os.environ.get("TILEWRIGHT_SETUP") == "unpack" else privilege()
    if prefix is not None and shutil.which("apt-get"):
        say("installing them (apt-get)")
        install_as_root(missing, LOG, prefix)
    else:
        say(f"no root here: unpacking them into {DEPS}")
        unpack_without_root(missing, DEPS, LOG, say)
    warn_of_versions(packages)


def make_venv() -> None:
    """Makes `.venv` if there is none that runs; works without python3-venv, by pip's own wheel."""
    python = VENV / "bin/python"
    probe: list[str | Path] = [python, "-c", "import pip"]
    if python.exists() and subprocess.run(probe, capture_output=True, check=False).returncode == 0:
        return
    say("making .venv")
    wheels = sorted((DEPS / "root/usr/share/python-wheels").glob("pip-*.whl"))
    if wheels:
        run_logged([sys.executable, "-m", "venv", "--clear", "--without-pip", VENV], LOG, "venv")
        run_logged([python, f"{wheels[-1]}/pip", "install", "--no-index", wheels[-1]], LOG, "pip")
    else:
        run_logged([sys.executable, "-m", "venv", "--clear", VENV], LOG, "venv")


def whose_venv() -> str:
    """Why `.venv` must not be written, in a sentence: it is a link to what other checkouts use."""
    if not VENV.is_symlink() or os.environ.get("TILEWRIGHT_LINKED_VENV", "") not in ("", "0"):
        return ""
    files = VENV.glob(f"lib/python3*/site-packages/{PATH_FILE}")
    runs = [file.read_text().partition("\n")[0] for file in files]
    if runs and all(Path(folder) == ROOT / "python" for folder in runs):
        return ""  # since it was permitted
    return (
        f".venv is a symbolic link to {VENV.resolve()}, which "
        f"{f'runs {Path(runs[0]).parent}' if runs else 'is not of this checkout'} and would run "
        f"{ROOT} from now on: remove the link, for a .venv of its own, or set "
        "TILEWRIGHT_LINKED_VENV=1 to have it so"
    )


def installed_python_packages() -> dict[str, str]:
    """Name (as in PyPI's normal form) and version, from the metadata folders."""
    folders = VENV.glob("lib/python3*/site-packages/*.dist-info")
    pairs = (folder.name.removesuffix(".dist-info").split("-", 1) for folder in folders)
    return {name.lower().replace("_", "-"): version for name, version in pairs}


def install_python_packages() -> None:
    """Installs the pinned packages; one marked optional may be missing, with a word about it."""
    have = installed_python_packages()
    required: list[str] = []
    optional: list[str] = []
    for line in (SCRIPTS / "requirements.txt").read_text().splitlines():
        requirement, _, comment = line.partition("#")
        name, _, version = requirement.strip().partition("==")
        # A build of the same version may carry a suffix, as in 2.13.0+cpu.
        if name and have.get(name.lower().replace("_", "-"), "").split("+")[0] != version:
            (optional if comment.strip() == "optional" else required).append(requirement.strip())
    # Without pip's bytecode of all modules: most of PyTorch's ten thousand are never imported.
    words = ("-m", "pip", "install", "--quiet", "--no-compile")
    pip: list[str | Path] = [VENV / "bin/python", *words]
    if required:
        say(f"installing into .venv: {' '.join(required)}")
        try:
            run_logged([*pip, *required], LOG, "pip install")
        except SetupError as error:
            by_hand = f"{VENV}/bin/pip install {' '.join(required)}"
            raise SetupError(
                f"{error}\nget them by hand, then run this again (PIP_INDEX_URL names another "
                f"index than PyPI):\n    {by_hand}"
            ) from None
    for requirement in optional:
        say(f"installing into .venv: {requirement} (optional)")
        try:
            run_logged([*pip, requirement], LOG, f"pip install {requirement}")
        except SetupError as error:
            say(
                f"warning: going on without {requirement}; later: "
                f".venv/bin/pip install {requirement}\n{error}"
            )


def keep_bytecode() -> None:
    """Imports what tests and examples import, so that its bytecode is there from the start.

    Where PYTHONDONTWRITEBYTECODE is set, each process would compile these modules anew.
    """
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    for modules in ("torch", "numpy, ml_dtypes, hypothesis, pytest, xdist, lit.main, mypy, tqdm"):
        command: list[str | Path] = [VENV / "bin/python", "-c", f"import {modules}"]
        subprocess.run(command, env=environment, capture_output=True, check=False)


def path_lines(package: Path) -> str:
    """The .pth file that puts the folder on Python's path; says nothing once it is gone."""
    alias = str(package / "tilewright_alias.py")
    there = f"import os; os.path.exists({alias!r}) and __import__('tilewright_alias')"
    return f"{package}\n{there}\n"


def expose_package() -> None:
    """Makes .venv's `import tilewright` and command `tilewright` use this checkout's build."""
    for site in VENV.glob("lib/python3*/site-packages"):
        (site / PATH_FILE).write_text(path_lines(ROOT / "python"))
    command = VENV / "bin/tilewright"
    command.write_text(
        f"#!{VENV}/bin/python\nimport sys\n\nfrom tilewright.cli import main\n\nsys.exit(main())\n"
    )
    command.chmod(0o755)


def write_environment() -> None:
    """Writes .deps/env.sh, and for unpacked packages what clang and CMake need to find them."""
    usr = DEPS / "root/usr"
    paths = [VENV / "bin"]
    lines = []
    if (DEPS / "packages").exists():
        libraries = [
            str(folder)
            for folder in (*sorted((usr / "lib").glob("*-linux-gnu")), usr / LLVM / "lib")
        ]
        paths += [usr / "bin", usr / LLVM / "bin"]
        lines.append(
            f'export LD_LIBRARY_PATH="{":".join(libraries)}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"'
        )
        lines.append(f'export QEMU_LD_PREFIX="{usr}/aarch64-linux-gnu"')
        lines.append(f'export CMAKE_TOOLCHAIN_FILE="{DEPS}/toolchain.cmake"')
        for name in ("clang", "clang++"):
            (usr / LLVM / "bin" / f"{name}.cfg").write_text(f"--sysroot={DEPS}/root\n")
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        (DEPS / "toolchain.cmake").write_text(
            f"# Written by scripts/setup.py: Debian packages unpacked without root.\n"
            f'list(PREPEND CMAKE_PREFIX_PATH "{usr}" "{usr}/{LLVM}")\n'
            f'set(CMAKE_BUILD_RPATH "{";".join(libraries)}")\n'
            f'set(CMAKE_INSTALL_RPATH "{";".join(libraries)}")\n'
            "# The old kind of run path, which also serves the libraries that our libraries need.\n"
            "foreach(kind EXE SHARED MODULE)\n"
            '  set(CMAKE_${kind}_LINKER_FLAGS_INIT "-Wl,--disable-new-dtags")\n'
            "endforeach()\n"
            f'if(EXISTS "{usr}/include/python{version}/Python.h")\n'
            f'  set(Python_INCLUDE_DIR "{usr}/include/python{version}" CACHE PATH "")\n'
            "endif()\n"
        )
    paths.append(ROOT / "build/bin")  # tilewright-ascendc, once it is built
    path = ":".join(str(path) for path in paths)
    text = "\n".join(
        [
            "# Written by scripts/setup.py; the Makefile sources it.",
            f'export PATH="{path}:$PATH"',
            *lines,
        ]
    )
    (DEPS / "env.sh").write_text(text + "\n")


def main() -> int:
    """See the module's text."""
    start = time.monotonic()
    if sys.version_info < OLDEST_PYTHON:
        version = sys.version.split()[0]
        print(f"setup: needs Python 3.11 or newer, not {version}: make PYTHON=python3.11 ...")
        return 1
    if whose := whose_venv():
        print(f"setup: error: {whose}", file=sys.stderr)
        return 1
    packages = read_packages(SCRIPTS / "packages.txt")
    stamp = DEPS / "stamp"
    DEPS.mkdir(exist_ok=True)
    with (DEPS / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        fresh = stamp.exists() and stamp.read_text() == digest() and (VENV / "bin/python").exists()
        if fresh and all(has_package(package.name) for package in packages):
            return 0
        try:
            install_debian_packages(packages)
            make_venv()
            install_python_packages()
            keep_bytecode()
        except SetupError as error:
            print(f"setup: error: {error}", file=sys.stderr)
            return 1
        expose_package()
        write_environment()
        stamp.write_text(digest())
    say(f"done in {time.monotonic() - start:.0f} s")
    return 0


if __name__ == "__main__":
    # dpkg is never killed: it would have to be repaired by hand.
    sys.exit(run_until_interrupted(main, patience=600))
