# SPDX-License-Identifier: Apache-2.0
"""The cache of compiled kernels: in memory, and on disk as in docs/kernel-abi.md.

A key is 64 hexadecimal digits (sha256 of all that the machine code depends on; its user
makes it).
A front key stands for what is known before any IR is made (source, captured values, arguments,
version) and leads to a key.

Safe with many processes and a kill at any moment: entries appear by one rename, are never changed,
and every file's digest is checked before it is used. What does not fit counts as missing, and is
replaced at the next store. Entries that were used longest ago go when the cache grows beyond
TILEWRIGHT_CACHE_BYTES (default 1 GiB).

Nothing but the standard library's light modules is imported here: a cache hit must cost little.
"""

from __future__ import annotations

import os
import time
from _thread import allocate_lock

from tilewright import _runtime

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_FORMAT = "v1"
_DEFAULT_LIMIT = 1 << 30
_CLEAN_EVERY_S = 3600.0
_STALE_S = 3600.0  # a temporary folder this old has lost its writer
_TOUCH_EVERY_S = 600.0
_HEX = frozenset("0123456789abcdef")
_ON = ("1", "true", "on", "yes")  # of a switch in the environment


class Entry:
    """One compiled kernel: `key`, `manifest` (JSON), and `library`, what `_runtime.Kernel` takes:
    the path of the shared library or, where nothing is on disk, its bytes, or a function."""

    __slots__ = ("_digests", "_extra", "_folder", "key", "library", "manifest")

    def __init__(
        self,
        key: str,
        library: str | bytes | Callable[..., object],
        manifest: str,
        extra: dict[str, bytes],
        folder: str | None = None,
        digests: dict[str, str] | None = None,
    ) -> None:
        self.key = key
        self.library = library
        self.manifest = manifest
        self._extra = extra
        self._folder = folder
        self._digests = digests or {}

    def extra(self, name: str) -> bytes | None:
        """A text that was stored beside the kernel; None if there is none, or it is damaged."""
        if name not in self._extra and self._folder is not None and name in self._digests:
            data = _read_checked(self._folder, name, self._digests)
            if data is not None:
                self._extra[name] = data
        return self._extra.get(name)

    def extra_names(self) -> list[str]:
        return sorted({*self._extra, *self._digests} - {"kernel.so", "manifest.json"})


_lock = allocate_lock()
_memory: dict[str, Entry] = {}
_front_memory: dict[str, str] = {}
_enabled = True
_chosen_folder: str | None = None
_last_clean: dict[str, float] = {}


def folder() -> str:
    """What `set_cache_dir` has said, else TILEWRIGHT_CACHE_DIR, else TILELANG_CACHE_DIR, else
    ~/.tilewright/cache."""
    if _chosen_folder is not None:
        return _chosen_folder
    chosen = os.environ.get("TILEWRIGHT_CACHE_DIR") or os.environ.get("TILELANG_CACHE_DIR")
    return os.path.expanduser(chosen or "~/.tilewright/cache")  # noqa: PTH111 - pathlib costs 5 ms


def set_cache_dir(path: str | os.PathLike[str]) -> None:
    """Entries are looked for and kept there, as long as this process lives."""
    global _chosen_folder
    _chosen_folder = os.path.expanduser(os.fspath(path))  # noqa: PTH111


def get_cache_dir() -> str:
    """`folder()`, by the name that TileLang has for it."""
    return folder()


def cached(func: object, out_idx: object = None, **options: object) -> object:
    """`tilelang.compile(func, out_idx, ...)`, which looks for the kernel here first."""
    from .jit_factory import compile

    return compile(func, out_idx, **options)  # type: ignore[arg-type]


def limit_bytes() -> int:
    """The size beyond which the longest unused entries go."""
    text = os.environ.get("TILEWRIGHT_CACHE_BYTES", "")
    return int(text) if text.isdecimal() else _DEFAULT_LIMIT


def bad_limit() -> str:
    """What TILEWRIGHT_CACHE_BYTES says, where it isn't a number of bytes."""
    text = os.environ.get("TILEWRIGHT_CACHE_BYTES", "")
    return "" if text.isdecimal() else text


def enable() -> None:
    """Uses the disk again (memory is always used)."""
    global _enabled
    _enabled = True


def disable() -> None:
    """No more reading from or writing to the disk."""
    global _enabled
    _enabled = False


def is_enabled() -> bool:
    """Whether the disk is used: not after `disable()`, and not where the environment says
    TILELANG_DISABLE_CACHE=1 or TILEWRIGHT_DISABLE_CACHE=1."""
    return _enabled and disabling_variable() is None


def disabling_variable() -> str | None:
    """The variable of the environment that keeps the disk from being used."""
    names = ("TILEWRIGHT_DISABLE_CACHE", "TILELANG_DISABLE_CACHE")
    return next((name for name in names if os.environ.get(name, "").lower() in _ON), None)


def clear_memory() -> None:
    """Forgets what this process holds; the disk stays."""
    with _lock:
        _memory.clear()
        _front_memory.clear()


def clear_cache() -> None:
    """Forgets all kernels, and removes those on disk, in one step for other processes. Kernels that
    somebody holds live on."""
    clear_memory()
    _set_aside(_root())


def lookup(key: str) -> Entry | None:
    """The entry, if there is one whose library and manifest are whole."""
    _check_key(key)
    entry = _memory.get(key)
    if entry is not None or not is_enabled():
        return entry
    entry = _read_entry(key)
    if entry is not None:
        with _lock:
            entry = _memory.setdefault(key, entry)
    return entry


def store(key: str, library: bytes, manifest: str, extra: dict[str, bytes] | None = None) -> Entry:
    """Stores an entry and gives it. Where the disk can't be written (full, read-only), the entry
    lives in memory only; that is no error. An entry that is already there and whole is kept."""
    _check_key(key)
    extra = dict(extra or {})
    for name in extra:
        if not name or name.startswith(".") or "/" in name or "\n" in name or name in _RESERVED:
            raise ValueError(f"cache: '{name}' can't be the name of an extra file")
    entry = Entry(key, library, manifest, extra)
    if is_enabled():
        try:
            entry = _write_entry(key, library, manifest, extra) or entry
            _clean_sometimes()
        except OSError:
            pass
    with _lock:
        _memory[key] = entry
    return entry


_RESERVED = ("kernel.so", "manifest.json", "digests")


def lookup_front(front_key: str) -> str | None:
    """The key that was stored for a front key."""
    _check_key(front_key)
    key = _front_memory.get(front_key)
    if key is not None or not is_enabled():
        return key
    data = _read_file(_front_path(front_key))
    if data is None or len(data) != 129:
        return None
    text = data.decode("ascii", "replace")
    if text[64] != "\n" or _runtime.sha256(f"{front_key} {text[:64]}".encode()) != text[65:]:
        return None
    _front_memory[front_key] = text[:64]
    return text[:64]


def store_front(front_key: str, key: str) -> None:
    """Lets `lookup_front(front_key)` give `key` from now on."""
    _check_key(front_key)
    _check_key(key)
    _front_memory[front_key] = key
    if not is_enabled():
        return
    path = _front_path(front_key)
    temporary = f"{path}.{_unique()}"
    digest = _runtime.sha256(f"{front_key} {key}".encode())
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120
        _write_file(temporary, f"{key}\n{digest}".encode())
        os.replace(temporary, path)  # noqa: PTH105
    except OSError:
        _remove_file(temporary)


def _check_key(key: str) -> None:
    if len(key) != 64 or not _HEX.issuperset(key):
        raise ValueError(f"cache: '{key}' is not a key of 64 lower-case hexadecimal digits")


def _root() -> str:
    return f"{folder()}/{_FORMAT}"


def _front_path(front_key: str) -> str:
    return f"{_root()}/front/{front_key[:2]}/{front_key}"


_serial = 0


def _unique() -> str:
    """A name that no other writer has, in any process on any machine of a shared file system."""
    global _serial
    with _lock:
        _serial += 1
        number = _serial
    return f"tmp-{os.uname().nodename}-{os.getpid()}-{time.time_ns():x}-{number}"


def _read_file(path: str) -> bytes | None:
    # Not pathlib, and not open(): os.read costs a tenth on the way of a cache hit.
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        size = os.fstat(descriptor).st_size
        parts = []
        while size > 0 and (part := os.read(descriptor, size)):
            parts.append(part)
            size -= len(part)
        return b"".join(parts)
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _write_file(path: str, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
    finally:
        os.close(descriptor)


def _remove_file(path: str) -> None:
    try:
        os.unlink(path)  # noqa: PTH108
    except OSError:
        return


def _remove_folder(path: str) -> None:
    try:
        names = os.listdir(path)  # noqa: PTH208
    except OSError:
        return
    for name in names:
        inner = f"{path}/{name}"
        if os.path.isdir(inner) and not os.path.islink(inner):  # noqa: PTH112, PTH114
            _remove_folder(inner)  # nothing of ours; but what is in the way goes
        else:
            _remove_file(inner)
    try:
        os.rmdir(path)  # noqa: PTH106
    except OSError:
        return


def _read_checked(entry_folder: str, name: str, digests: dict[str, str]) -> bytes | None:
    data = _read_file(f"{entry_folder}/{name}")
    if data is None or _runtime.sha256(data) != digests.get(name):
        return None
    return data


def _read_digests(entry_folder: str, key: str) -> dict[str, str] | None:
    """File names and digests of an entry; None if its list is missing or damaged."""
    data = _read_file(f"{entry_folder}/digests")
    if data is None or len(data) < 65:
        return None
    # The list's digest includes the key, so that an entry in the wrong place is none.
    if _runtime.sha256(key.encode() + data[:-64]) != data[-64:].decode("ascii", "replace"):
        return None
    lines = data[:-64].decode("utf-8").splitlines()
    return {line[66:]: line[:64] for line in lines}


def _read_entry(key: str) -> Entry | None:
    entry_folder = f"{_root()}/{key[:2]}/{key}"
    digests = _read_digests(entry_folder, key)
    if digests is None:
        return None
    manifest = _read_checked(entry_folder, "manifest.json", digests)
    path = f"{entry_folder}/kernel.so"
    if manifest is None or _runtime.sha256_file(path) != digests.get("kernel.so"):
        return None
    _touch(entry_folder)
    return Entry(key, path, manifest.decode("utf-8"), {}, entry_folder, digests)


def _touch(entry_folder: str) -> None:
    """Notes the use of an entry, for the order of clean-up."""
    path = f"{entry_folder}/digests"
    try:
        if time.time() - os.stat(path).st_mtime > _TOUCH_EVERY_S:  # noqa: PTH116
            os.utime(path)
    except OSError:
        return


def _write_entry(key: str, library: bytes, manifest: str, extra: dict[str, bytes]) -> Entry | None:
    parent = f"{_root()}/{key[:2]}"
    os.makedirs(parent, exist_ok=True)  # noqa: PTH103
    temporary = f"{parent}/{_unique()}"
    target = f"{parent}/{key}"
    files = {"kernel.so": library, "manifest.json": manifest.encode("utf-8"), **extra}
    digests = {name: _runtime.sha256(data) for name, data in files.items()}
    listing = "".join(f"{digest}  {name}\n" for name, digest in digests.items()).encode("utf-8")
    listing += _runtime.sha256(key.encode() + listing).encode()
    try:
        os.mkdir(temporary)  # noqa: PTH102
        for name, data in files.items():
            _write_file(f"{temporary}/{name}", data)
        _write_file(f"{temporary}/digests", listing)
        for _ in range(10):
            try:
                os.rename(temporary, target)  # noqa: PTH104
                return Entry(key, f"{target}/kernel.so", manifest, extra, target, digests)
            except OSError:
                present = _read_entry(key)
                if present is not None:
                    return present  # another process was faster
                _set_aside(target)
    finally:
        _remove_folder(temporary)
    return None


def _set_aside(target: str) -> None:
    """Removes an entry in one step for all others: it is renamed first."""
    aside = f"{os.path.dirname(target)}/{_unique()}"  # noqa: PTH120
    try:
        os.rename(target, aside)  # noqa: PTH104
    except OSError:
        _remove_file(target)  # a file where a folder should be
        return
    _remove_folder(aside)


def _clean_sometimes() -> None:
    root = _root()
    now = time.time()
    if now - _last_clean.get(root, 0.0) < _CLEAN_EVERY_S / 60:
        return
    _last_clean[root] = now
    stamp = f"{root}/cleaned"
    try:
        if now - os.stat(stamp).st_mtime < _CLEAN_EVERY_S:  # noqa: PTH116
            return
        os.utime(stamp)
    except OSError:
        _write_file(stamp, b"")
    clean()


def clean(limit: int | None = None) -> int:
    """Removes what was used longest ago until the entries have at most `limit` bytes (default:
    `limit_bytes()`), and what killed writers left. Gives the bytes that remain."""
    limit = limit_bytes() if limit is None else limit
    entries: list[tuple[float, int, str]] = []
    now = time.time()
    for parent in _folders_in(_root()):
        for path in _folders_in(parent):
            name = path.rpartition("/")[2]
            if "tmp-" in name:
                if now - _modified(path) > _STALE_S:
                    _remove_folder(path)
            elif len(name) == 64:
                size = sum(_size(f"{path}/{file}") for file in _names_in(path))
                entries.append((_modified(f"{path}/digests"), size, path))
    _clean_front(now)
    total = sum(size for _, size, _ in entries)
    for _, size, path in sorted(entries):
        if total <= limit:
            break
        _set_aside(path)
        total -= size
    return total


def _clean_front(now: float) -> None:
    """Front keys lead nowhere once their entry is gone; they go after 30 days without a change."""
    for parent in _folders_in(f"{_root()}/front"):
        for name in _names_in(parent):
            age = now - _modified(f"{parent}/{name}")
            if age > (_STALE_S if "tmp-" in name else 30 * 86400):
                _remove_file(f"{parent}/{name}")


def _names_in(path: str) -> list[str]:
    try:
        return os.listdir(path)  # noqa: PTH208
    except OSError:
        return []


def _folders_in(path: str) -> list[str]:
    return [f"{path}/{name}" for name in _names_in(path) if os.path.isdir(f"{path}/{name}")]  # noqa: PTH112


def _modified(path: str) -> float:
    try:
        return os.stat(path).st_mtime  # noqa: PTH116
    except OSError:
        return 0.0


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size  # noqa: PTH116
    except OSError:
        return 0


if os.environ.get("TILELANG_CLEAR_CACHE", "").lower() in _ON:
    clear_cache()
    os.environ["TILELANG_CLEAR_CACHE"] = "0"  # the children of this process find what it makes
