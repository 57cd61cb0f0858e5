# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tilewright import cache

KEY = "ab" + "0" * 62
OTHER = "cd" + "1" * 62
EXTRA = {"tile.mlir": b"module {}\n" * 50}
LIBRARY = bytes(range(256)) * 40


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path))
    for name in ("TILELANG_DISABLE_CACHE", "TILEWRIGHT_DISABLE_CACHE", "TILEWRIGHT_CACHE_BYTES"):
        monkeypatch.delenv(name, raising=False)
    cache.clear_memory()
    yield tmp_path
    cache.clear_memory()


def entry_folder(root: Path, key: str = KEY) -> Path:
    return root / "v1" / key[:2] / key


def test_stores_and_finds(folder):
    assert cache.lookup(KEY) is None
    stored = cache.store(KEY, LIBRARY, '{"name": "k"}', EXTRA)
    assert cache.lookup(KEY) is stored
    cache.clear_memory()
    found = cache.lookup(KEY)
    assert found is not None
    assert found.manifest == '{"name": "k"}'
    assert Path(found.library).read_bytes() == LIBRARY
    assert found.extra("tile.mlir") == EXTRA["tile.mlir"]
    assert found.extra("none") is None
    assert found.extra_names() == ["tile.mlir"]
    assert cache.lookup(OTHER) is None


def test_leaves_no_temporary_folders(folder):
    cache.store(KEY, LIBRARY, "{}", EXTRA)
    cache.clear_memory()
    cache.store(KEY, LIBRARY, "{}", EXTRA)
    assert [path.name for path in (folder / "v1" / "ab").iterdir()] == [KEY]


def test_wrong_keys_and_names(folder):
    for key in ("", "x" * 64, "AB" + "0" * 62, "../../" + "0" * 58, "0" * 65):
        with pytest.raises(ValueError, match="is not a key of 64 lower-case hexadecimal digits"):
            cache.lookup(key)
    for name in ("", "a/b", ".hidden", "digests", "kernel.so", "a\nb"):
        with pytest.raises(ValueError, match="can't be the name of an extra file"):
            cache.store(KEY, b"", "{}", {name: b""})


def damages(data: bytes):
    """A name and a content for each way to damage a file."""
    yield "empty", b""
    yield "no last byte", data[:-1]
    yield "half", data[: len(data) // 2]
    yield "one byte more", data + b"\0"
    for at in sorted({0, 1, len(data) // 3, len(data) // 2, len(data) - 65, len(data) - 1}):
        if 0 <= at < len(data):
            yield f"bit at {at}", data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
    yield "zeros", bytes(len(data))


@pytest.mark.parametrize("name", ["kernel.so", "manifest.json", "digests"])
def test_a_damaged_entry_is_missing_and_then_replaced(folder, name):
    cache.store(KEY, LIBRARY, '{"name": "k"}', EXTRA)
    whole = (entry_folder(folder) / name).read_bytes()
    for damage, content in damages(whole):
        (entry_folder(folder) / name).write_bytes(content)
        cache.clear_memory()
        assert cache.lookup(KEY) is None, damage
        cache.store(KEY, LIBRARY, '{"name": "k"}', EXTRA)
        assert (entry_folder(folder) / name).read_bytes() == whole, damage
    (entry_folder(folder) / name).unlink()
    cache.clear_memory()
    assert cache.lookup(KEY) is None


def test_a_damaged_extra_is_missing(folder):
    cache.store(KEY, LIBRARY, "{}", EXTRA)
    (entry_folder(folder) / "tile.mlir").write_bytes(b"other")
    cache.clear_memory()
    found = cache.lookup(KEY)
    assert found is not None
    assert found.extra("tile.mlir") is None


def test_an_entry_in_the_wrong_place_is_missing(folder):
    cache.store(KEY, LIBRARY, "{}", EXTRA)
    (folder / "v1" / OTHER[:2]).mkdir()
    entry_folder(folder).rename(entry_folder(folder, OTHER))
    assert cache.lookup(OTHER) is None


def test_a_file_in_the_place_of_an_entry_is_replaced(folder):
    entry_folder(folder).parent.mkdir(parents=True)
    entry_folder(folder).write_text("?")
    cache.store(KEY, LIBRARY, "{}", EXTRA)
    cache.clear_memory()
    assert cache.lookup(KEY) is not None


def test_front_keys(folder):
    assert cache.lookup_front(OTHER) is None
    cache.store_front(OTHER, KEY)
    cache.clear_memory()
    assert cache.lookup_front(OTHER) == KEY
    path = folder / "v1" / "front" / OTHER[:2] / OTHER
    whole = path.read_bytes()
    for damage, content in damages(whole):
        path.write_bytes(content)
        cache.clear_memory()
        assert cache.lookup_front(OTHER) is None, damage
        cache.store_front(OTHER, KEY)
        assert path.read_bytes() == whole
    # Another front key's file says nothing here.
    misplaced = folder / "v1" / "front" / KEY[:2] / KEY
    misplaced.parent.mkdir()
    misplaced.write_bytes(whole)
    cache.clear_memory()
    assert cache.lookup_front(KEY) is None


@pytest.mark.parametrize("name", ["TILELANG_DISABLE_CACHE", "TILEWRIGHT_DISABLE_CACHE"])
def test_disabled_by_the_environment(folder, monkeypatch, name):
    cache.store(KEY, LIBRARY, "{}")
    cache.store_front(OTHER, KEY)
    monkeypatch.setenv(name, "1")
    cache.clear_memory()
    assert cache.lookup(KEY) is None
    assert cache.lookup_front(OTHER) is None
    entry = cache.store("ef" + "2" * 62, LIBRARY, "{}", EXTRA)
    assert entry.library == LIBRARY
    assert entry.extra("tile.mlir") == EXTRA["tile.mlir"]
    assert not (folder / "v1" / "ef").exists()
    monkeypatch.setenv(name, "0")
    assert cache.lookup(KEY) is not None


def test_disabled_and_enabled_by_call(folder):
    cache.disable()
    try:
        cache.store(KEY, LIBRARY, "{}")
        cache.clear_memory()
        assert not cache.is_enabled()
    finally:
        cache.enable()
    assert cache.is_enabled()
    assert cache.lookup(KEY) is None


def test_folder_from_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("TILELANG_CACHE_DIR", str(tmp_path / "theirs"))
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "ours"))
    assert cache.folder() == str(tmp_path / "ours")
    monkeypatch.delenv("TILEWRIGHT_CACHE_DIR")
    assert cache.folder() == str(tmp_path / "theirs")
    monkeypatch.delenv("TILELANG_CACHE_DIR")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache.folder() == str(tmp_path / ".tilewright" / "cache")


def test_a_folder_that_cannot_be_written_is_no_error(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "file"))
    entry = cache.store(KEY, LIBRARY, "{}", EXTRA)
    assert entry.library == LIBRARY
    cache.store_front(OTHER, KEY)
    assert cache.lookup(KEY) is entry
    assert cache.lookup_front(OTHER) == KEY


def test_clean_removes_the_longest_unused(folder):
    keys = [f"{i:02x}" + "3" * 62 for i in range(6)]
    for age, key in enumerate(keys):
        cache.store(key, LIBRARY, "{}")
        when = time.time() - 1000 * (6 - age)
        os.utime(entry_folder(folder, key) / "digests", (when, when))
    cache.clear_memory()
    assert cache.lookup(keys[0]) is not None  # its use counts
    size = sum(path.stat().st_size for path in entry_folder(folder, keys[0]).iterdir())
    assert cache.clean(3 * size) == 3 * size
    cache.clear_memory()
    kept = [key for key in keys if cache.lookup(key) is not None]
    assert kept == [keys[0], keys[4], keys[5]]


def test_clean_removes_what_killed_writers_left(folder):
    cache.store(KEY, LIBRARY, "{}")
    stale = folder / "v1" / "ab" / "tmp-host-1-2-3"
    fresh = folder / "v1" / "ab" / "tmp-host-1-2-4"
    for path in (stale, fresh):
        path.mkdir()
        (path / "kernel.so").write_bytes(b"half")
    (stale / "folder").mkdir()
    (stale / "folder" / "file").write_bytes(b"")
    old = time.time() - 7200
    os.utime(stale, (old, old))
    cache.clean()
    assert not stale.exists()
    assert fresh.exists()
    assert entry_folder(folder).exists()


def test_the_size_is_bounded_when_storing(folder, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CACHE_BYTES", "25000")
    for i in range(8):
        cache._last_clean.clear()
        stamp = folder / "v1" / "cleaned"
        if stamp.exists():
            os.utime(stamp, (1, 1))
        cache.store(f"{i:02x}" + "4" * 62, LIBRARY, "{}")
    files = [path for path in (folder / "v1").rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) <= 25000


WRITER = """
import sys
from tilewright import cache
number, rounds = int(sys.argv[1]), 0
while True:
    for i in range(8):
        key = f"{i:02x}" + "5" * 62
        cache.clear_memory()
        entry = cache.lookup(key)
        if entry is None:
            entry = cache.store(key, bytes([i]) * 300_000, f'{{"i": {i}}}', {"text": b"t" * 50_000})
        rounds += 1
        if rounds == 1:
            print("began", flush=True)
        if rounds % 5 == number:
            cache._set_aside(f"{cache._root()}/{key[:2]}/{key}")
"""


def test_writers_killed_at_any_moment(folder):
    """Processes write and remove the same entries and are killed; what is found is always whole."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1])}
    command = [sys.executable, "-S", "-c", WRITER]
    random_source = random.Random(3)
    found = 0
    for _ in range(12):
        writers = [
            subprocess.Popen(
                [*command, str(i)],
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            for i in range(2)
        ]
        for writer in writers:  # on a busy machine Python takes long to start
            assert writer.stdout is not None and writer.stdout.readline() == b"began\n"
        end = time.monotonic() + 0.05 + random_source.random() * 0.1
        while time.monotonic() < end:
            for i in range(8):
                cache.clear_memory()
                entry = cache.lookup(f"{i:02x}" + "5" * 62)
                if entry is not None:
                    found += 1
                    assert entry.manifest == f'{{"i": {i}}}'
                    text = entry.extra("text")  # gone with its entry, but never damaged
                    assert text in (None, b"t" * 50_000)
        for writer in writers:
            writer.send_signal(signal.SIGKILL)
            _, errors = writer.communicate()
            assert errors == b""
    for i in range(8):
        key = f"{i:02x}" + "5" * 62
        cache.clear_memory()
        entry = cache.store(key, bytes([i]) * 300_000, f'{{"i": {i}}}')
        assert Path(entry.library).read_bytes() == bytes([i]) * 300_000
    assert found > 20


def test_import_is_light():
    """The way of a cache hit imports none of the slow modules."""
    code = (
        "import sys; before = set(sys.modules); from tilewright import cache\n"
        "slow = {'json', 'hashlib', 'pathlib', 'tempfile', 'shutil', 'numpy', 'torch', 'typing'}\n"
        "print(*sorted(slow & (set(sys.modules) - before)))"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1])}
    command = [sys.executable, "-S", "-c", code]
    answer = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    assert answer.stdout.strip() == ""


def test_clearing(folder, monkeypatch):
    held = cache.store(KEY, LIBRARY, "{}")
    cache.store_front(OTHER, KEY)
    assert cache.get_cache_dir() == cache.folder() == str(folder)
    cache.clear_cache()
    assert list(folder.iterdir()) == []
    assert cache.lookup(KEY) is None and cache.lookup_front(OTHER) is None
    assert held.manifest == "{}"
    cache.clear_cache()  # of nothing


def test_a_folder_that_the_program_chooses(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "_chosen_folder", None)
    chosen = tmp_path / "elsewhere"
    cache.set_cache_dir(chosen)
    assert cache.get_cache_dir() == str(chosen)
    cache.store(KEY, LIBRARY, "{}")
    assert (chosen / "v1" / KEY[:2] / KEY / "kernel.so").exists()


def test_clearing_by_the_environment(folder):
    cache.store(KEY, LIBRARY, "{}")
    code = "import os; from tilewright import cache; print(os.environ['TILELANG_CLEAR_CACHE'])"
    command = [sys.executable, "-c", code]
    for value, is_there in (("0", True), ("1", False)):
        environment = {**os.environ, "TILELANG_CLEAR_CACHE": value}
        ran = subprocess.run(command, capture_output=True, text=True, env=environment)
        assert ran.stdout.strip() == "0", ran.stderr
        assert entry_folder(folder).exists() == is_there
