# SPDX-License-Identifier: Apache-2.0
"""`tilewright cache`: what is in the cache of compiled kernels, and emptying it."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import OK

if TYPE_CHECKING:
    import argparse


def add_to(commands: Any) -> None:
    parser = commands.add_parser(
        "cache",
        help="list or empty the cache",
        description="The cache of compiled kernels (TILEWRIGHT_CACHE_DIR).",
    )
    parser.add_argument("verb", choices=["ls", "list", "clear", "path"])
    parser.add_argument("--json", action="store_true", help="print as JSON")
    parser.set_defaults(action=_run)


def entries() -> list[dict[str, Any]]:
    """The kernels on disk, the last used first."""
    from .. import cache

    found = []
    for manifest in Path(cache.folder()).glob("v1/??/*/manifest.json"):
        folder = manifest.parent
        if len(folder.name) != 64:
            continue
        try:
            description = json.loads(manifest.read_text(encoding="utf-8").splitlines()[0])
        except (OSError, ValueError, IndexError):
            description = {}
        files = [f.stat() for f in folder.iterdir()]
        found.append(
            {
                "key": folder.name,
                "kernel": description.get("name", "?"),
                "target": description.get("target", "?"),
                "cpu": description.get("cpu", "?"),
                "bytes": sum(f.st_size for f in files),
                "used": max((f.st_mtime for f in files), default=0.0),
            }
        )
    return sorted(found, key=lambda e: -e["used"])


def _run(options: argparse.Namespace) -> int:
    from .. import cache

    if options.verb == "path":
        print(json.dumps({"path": cache.folder()}) if options.json else cache.folder())
        return OK
    known = entries()
    if options.verb in ("ls", "list"):
        if options.json:
            print(json.dumps(known))
            return OK
        for entry in known:
            when = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry["used"]))
            size = f"{entry['bytes'] >> 10} KiB"
            target = f"{entry['target']}/{entry['cpu']}"
            print(f"{when}  {size:>9}  {target:<16} {entry['kernel']:<24} {entry['key'][:12]}")
        return OK
    cache.clear_cache()
    size = sum(e["bytes"] for e in known)
    if options.json:
        print(json.dumps({"removed": len(known), "bytes": size}))
    else:
        print(f"removed {len(known)} kernels, {size >> 10} KiB")
    return OK
