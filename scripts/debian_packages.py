# SPDX-License-Identifier: Apache-2.0
"""Debian packages by name: installed by apt-get as root, else unpacked into a folder without root.

Without root, `apt-get` works on state folders of its own: it resolves and downloads what is
missing, which is then unpacked into `.deps/root`, a sysroot for clang. Packages ending in `-dev`
are taken as not installed there, so that the sysroot is complete; shared libraries that the machine
has already are linked into it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

DPKG_INFO = Path("/var/lib/dpkg/info")
DPKG_STATUS = Path("/var/lib/dpkg/status")


class SetupError(Exception):
    """What could not be installed, and how to get it: shown as it is, without a traceback."""


@dataclass(frozen=True)
class Package:
    """One line of packages.txt."""

    name: str
    version: str
    why: str


def read_packages(path: Path) -> list[Package]:
    """Reads `name version why...` lines; `#` starts a comment line."""
    lines = [line.split(None, 2) for line in path.read_text().splitlines()]
    return [Package(*fields) for fields in lines if fields and not fields[0].startswith("#")]


def run_logged(
    command: Sequence[str | Path], log: Path, label: str, cwd: Path | None = None
) -> None:
    """Runs with its output in `log`, and says every 15 s that it is still at it.

    Raises SetupError with the log's last lines.
    """
    start = time.monotonic()
    with log.open("a") as stream:
        print("$", *command, file=stream, flush=True)
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
        process = subprocess.Popen(
            [str(word) for word in command],
            stdout=stream,
            stderr=stream,
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
        )
        while True:
            try:
                status = process.wait(timeout=15)
                break
            except subprocess.TimeoutExpired:
                print(f"    {label}: {time.monotonic() - start:.0f} s ...", flush=True)
    if status != 0:
        tail = "\n".join(
            "    " + line for line in log.read_text(errors="replace").splitlines()[-12:]
        )
        raise SetupError(f"{label} failed (status {status}); the end of {log}:\n{tail}")


def is_installed(name: str) -> bool:
    """Whether dpkg has the package's file list: a fast sign that it is installed."""
    return (DPKG_INFO / f"{name}.list").exists() or any(DPKG_INFO.glob(f"{name}:*.list"))


def warn_of_versions(packages: Sequence[Package]) -> None:
    """Says which installed packages are of another version than the tested one."""
    query = [
        "dpkg-query",
        "-W",
        "-f",
        "${Package} ${Version}\n",
        *(package.name for package in packages),
    ]
    answer = subprocess.run(query, capture_output=True, text=True, check=False).stdout
    versions = dict(line.split(" ", 1) for line in answer.splitlines() if " " in line)
    for package in packages:
        version = versions.get(package.name, "")
        if version and not version.startswith(package.version):
            print(f"    warning: {package.name} is {version}, tested with {package.version}*")


def privilege() -> list[str] | None:
    """The prefix that runs a command as root, or None."""
    if os.geteuid() == 0:
        return []
    if (
        shutil.which("sudo")
        and subprocess.run(["sudo", "-n", "true"], capture_output=True, check=False).returncode == 0
    ):
        return ["sudo", "-n", "--preserve-env=DEBIAN_FRONTEND,LC_ALL"]
    return None


def unavailable(names: Sequence[str], options: Sequence[str] = ()) -> list[str]:
    """Those that apt has no version of in its sources."""
    missing = []
    for name in names:
        answer = subprocess.run(
            ["apt-cache", *options, "policy", name], capture_output=True, text=True, check=False
        )
        candidate = re.search(r"Candidate: (.*)", answer.stdout)
        if not candidate or candidate[1] == "(none)":
            missing.append(name)
    return missing


def how_to_get(names: Sequence[str]) -> str:
    """The words for packages that apt does not know."""
    return (
        f"these Debian packages are not in this machine's apt sources: {' '.join(names)}\n"
        "    Debian 12 has them in `bookworm main` and (LLVM 22) `bookworm-security main`: add\n"
        "    both suites to /etc/apt/sources.list, then run the command again. On another system,\n"
        "    install what docs/dependencies.md lists."
    )


def install_as_root(missing: Sequence[Package], log: Path, prefix: Sequence[str]) -> None:
    """apt-get install, after an update where the lists do not have every name yet."""
    names = [package.name for package in missing]
    if unavailable(names):
        run_logged([*prefix, "apt-get", "update"], log, "apt-get update")
    unknown = unavailable(names)
    if unknown:
        raise SetupError(how_to_get(unknown))
    install = [
        *prefix,
        "apt-get",
        "install",
        "-y",
        "--no-install-recommends",
        "-o",
        "DPkg::Lock::Timeout=300",
        *names,
    ]
    try:
        run_logged(install, log, "apt-get install")
    except SetupError:
        # The lists may be older than the archive: once more with new ones.
        run_logged([*prefix, "apt-get", "update"], log, "apt-get update")
        run_logged(install, log, "apt-get install")


# Without root -----------------------------------------------------------------------------------


def without_development_packages(status: str) -> str:
    """A dpkg status without `-dev` packages, and without what depends on one of them."""
    stanzas: dict[str, str] = {}
    needs: dict[str, list[set[str]]] = {}
    for stanza in status.split("\n\n"):
        fields = dict(re.findall(r"^(Package|Status|Depends|Pre-Depends): (.*)$", stanza, re.M))
        if "Package" not in fields or not fields.get("Status", "").endswith(" installed"):
            continue
        stanzas[fields["Package"]] = stanza
        groups = ", ".join(
            fields[key] for key in ("Depends", "Pre-Depends") if key in fields
        ).split(",")
        needs[fields["Package"]] = [
            {re.split(r"[\s(:]", choice.strip())[0] for choice in group.split("|")}
            for group in groups
            if group.strip()
        ]
    removed = {name for name in stanzas if name.endswith("-dev")}
    grew = True
    while grew:
        broken = {
            name
            for name in stanzas
            if name not in removed and any(group <= removed for group in needs[name])
        }
        removed |= broken
        grew = bool(broken)
    return "\n\n".join(stanza for name, stanza in stanzas.items() if name not in removed) + "\n"


def apt_options(state: Path) -> list[str]:
    """apt on folders of ours instead of the system's."""
    for folder in ("state/lists/partial", "cache/archives/partial", "log"):
        (state / folder).mkdir(parents=True, exist_ok=True)
    settings = {
        "Dir::State": state / "state",
        "Dir::State::status": state / "status",
        "Dir::Cache": state / "cache",
        "Dir::Log": state / "log",
        "Debug::NoLocking": "true",
        "APT::Sandbox::User": "root",
        "APT::Install-Recommends": "false",
    }
    return [word for key, value in settings.items() for word in ("-o", f"{key}={value}")]


def link_host_libraries(root: Path) -> None:
    """Links the machine's shared libraries into the sysroot where it has none, for the linker."""
    for folder in sorted({*Path("/usr/lib").glob("*-linux-gnu"), Path("/usr/lib64")}):
        target = root / folder.relative_to("/")
        if not folder.is_dir():
            continue
        target.mkdir(parents=True, exist_ok=True)
        for library in folder.iterdir():
            place = target / library.name
            if (
                ".so" in library.name
                and not library.is_dir()
                and not place.is_symlink()
                and not place.exists()
            ):
                place.symlink_to(library)


def repair_links(root: Path) -> None:
    """Makes absolute links of the packages point into the root; those to the machine's own stay."""
    for folder, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = Path(folder, name)
            target = path.readlink() if path.is_symlink() else Path()
            inside = root / target.relative_to("/") if target.is_absolute() else path
            if not target.is_relative_to(root) and inside != path and inside.exists():
                path.unlink()
                path.symlink_to(inside)


def link_run_path(root: Path) -> None:
    """Lets LLVM's libraries, whose run path is `$ORIGIN/../lib`, find what they need themselves."""
    for folder in sorted((root / "usr/lib").glob("*-linux-gnu")):
        if (folder / "libc.so").exists() and not (folder.parent / "lib").is_symlink():
            (folder.parent / "lib").symlink_to(folder.name)


def unpack_without_root(
    missing: Sequence[Package], deps: Path, log: Path, say: Callable[[str], None]
) -> None:
    """Downloads the packages and what they depend on, and unpacks them into `deps`/root."""
    names = [package.name for package in missing]
    if not shutil.which("apt-get") or not shutil.which("dpkg"):
        raise SetupError(f"no apt-get here; install (see docs/dependencies.md): {' '.join(names)}")
    state, root, archives = deps / "apt", deps / "root", deps / "archives"
    options = apt_options(state)
    archives.mkdir(parents=True, exist_ok=True)
    (state / "status").write_text(without_development_packages(DPKG_STATUS.read_text()))
    say("apt-get update, without root")
    run_logged(["apt-get", *options, "update"], log, "apt-get update")
    unknown = unavailable(names, options)
    if unknown:
        raise SetupError(how_to_get(unknown))
    plan = subprocess.run(
        ["apt-get", *options, "-s", "install", *names], capture_output=True, text=True, check=False
    )
    wanted = re.findall(r"^Inst (\S+) (?:\[[^]]*\] )?\((\S+)", plan.stdout, re.M)
    if plan.returncode != 0 or not wanted:
        raise SetupError(
            f"apt-get cannot resolve {' '.join(names)}:\n{plan.stdout[-1500:]}{plan.stderr[-1500:]}"
        )
    say(f"downloading {len(wanted)} packages")
    exact = [f"{name}={version}" for name, version in wanted]
    run_logged(["apt-get", *options, "download", *exact], log, "download", archives)
    say(f"unpacking {len(wanted)} packages into {root}")
    for folder in ("bin", "sbin", "lib", "lib64"):
        (root / "usr" / folder).mkdir(parents=True, exist_ok=True)
        if not (root / folder).is_symlink():
            (root / folder).symlink_to(f"usr/{folder}")
    for archive in sorted(archives.glob("*.deb")):
        # Not `dpkg -x`: it would replace the links of a merged /usr by folders.
        unpack = 'dpkg-deb --fsys-tarfile "$0" | tar -x --keep-directory-symlink -C "$1"'
        command: list[str | Path] = ["bash", "-o", "pipefail", "-c", unpack, archive, root]
        run_logged(command, log, f"unpacking {archive.name}")
    repair_links(root)
    link_host_libraries(root)
    link_run_path(root)
    shutil.rmtree(archives)
    for name, _ in wanted:
        (deps / "packages").mkdir(exist_ok=True)
        (deps / "packages" / name).touch()


if __name__ == "__main__":
    sys.exit("scripts/setup.py is the command")
