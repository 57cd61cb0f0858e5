# SPDX-License-Identifier: Apache-2.0
"""What Python's own functions read that no name and no attribute holds: files, the environment,
random numbers, contexts. `captured_state` compares what can be compared; of the rest it knows that
it may have changed.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: Functions that read the environment.
_ENVIRONMENT = (os.getenv, os.path.expandvars, os.path.expanduser)
#: Functions that read the working directory.
_FOLDER = (os.getcwd, os.path.abspath, os.path.realpath, os.path.relpath)
_FILES = (open, os.open, os.stat, os.lstat, os.listdir, os.scandir, os.walk, os.access)
_FILES_BY_PATH = (
    os.path.exists, os.path.isfile, os.path.isdir, os.path.islink, os.path.getmtime, os.path.getsize
)  # fmt: skip
#: Functions by identity: nothing of a user's is asked whether it is equal to one of them.
_KINDS = {
    id(function): kind
    for kind, functions in {
        "environment": (*_ENVIRONMENT, *([os.getenvb] if hasattr(os, "getenvb") else [])),
        "folder": _FOLDER,
        "a file": (*_FILES, *_FILES_BY_PATH),
        "what is typed": (input,),
    }.items()
    for function in functions
}
#: Modules all of whose functions do.
_MODULES = {
    "random": "random numbers",
    "secrets": "random numbers",
    "uuid": "random numbers",
    "subprocess": "another process",
    "socket": "a network",
    "urllib": "a network",
    "http": "a network",
    "glob": "a folder's files",
    "fileinput": "a file",
    "linecache": "a file",
    "sqlite3": "a file",
    "shelve": "a file",
    "dbm": "a file",
}
#: Those whose objects do.
_OF_OBJECTS = ("random", "subprocess", "socket", "sqlite3", "shelve")
#: Of a path, what isn't in it itself.
_OF_PATHS = frozenset(
    ["read_text", "read_bytes", "open", "exists", "is_file", "is_dir", "is_symlink", "iterdir"]
    + ["glob", "rglob", "walk", "stat", "lstat", "samefile", "owner", "group", "readlink"]
)
_OF_PATHS_AND_FOLDER = frozenset(["cwd", "absolute", "resolve"])
_OF_PATHS_AND_ENVIRONMENT = frozenset(["home", "expanduser"])
#: Of NumPy and PyTorch, what reads files.
_LOADERS = frozenset(["load", "loadtxt", "genfromtxt", "fromfile", "memmap", "fromregex"])


def kind_of_reader(value: object) -> str:
    """What a function reads: "environment", "folder" (which can be compared), in words what can't,
    or nothing."""
    return _KINDS.get(id(value), "")


def read_of_module(name: str, attributes: set[str]) -> str:
    """What is read through these attributes of a module that isn't followed."""
    top = name.partition(".")[0]
    if top in ("numpy", "torch"):
        return "a file" if attributes & _LOADERS else ""
    return _MODULES.get(top, "") if attributes else ""


def read_of_object(module: str) -> str:
    """What is read through an object of a class of this module."""
    top = module.partition(".")[0].lstrip("_")
    return _MODULES[top] if top in _OF_OBJECTS else ""


def read_of_path(value: Any, names: set[str]) -> str:
    """What is read through a path of pathlib, or its class; the reader mentions these names."""
    pathlib = sys.modules.get("pathlib")
    if pathlib is None:
        return ""
    kind = value if isinstance(value, type) else type(value)
    if not issubclass(kind, pathlib.PurePath):
        return ""
    if names & _OF_PATHS:
        return "a file"
    if names & _OF_PATHS_AND_FOLDER:
        return "folder"
    return "environment" if names & _OF_PATHS_AND_ENVIRONMENT else ""


def names_in_getter(value: object) -> set[str]:
    """The attributes that an attrgetter or methodcaller of `operator` reads."""
    if type(value).__module__ not in ("operator", "_operator"):
        return set()
    if type(value).__name__ not in ("attrgetter", "methodcaller"):
        return set()
    made: Any = value.__reduce__()
    maker, given = made
    parts = (*getattr(maker, "args", ()), *given)  # of a methodcaller with keywords, a partial one
    return {word for part in parts if isinstance(part, str) for word in part.split(".")}


def is_context(value: object) -> bool:
    contexts = sys.modules.get("_contextvars")
    return contexts is not None and type(value) is contexts.ContextVar
