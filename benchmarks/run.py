# SPDX-License-Identifier: Apache-2.0
"""Measures everything that has a number in our goals: a table, and build/bench/results.json.

    python benchmarks/run.py                    all rows (`make bench`)
    python benchmarks/run.py call gemm/f32      rows whose names begin so
    python benchmarks/run.py --repeats 3        a quick look

Each row is measured in fresh processes with a kernel cache of their own. `ratio` is our speed to
the peer's in one run: above 1 is better for us. `share` is that of the chip's limit. `reason` says
why a published time is shown beside ours but not gated.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import ascend_speed
import host_speed
import operator_speed
import profile_rows

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
DTYPES = {"f32": "float32", "f16": "float16", "bf16": "bfloat16"}
SIZES = (512, 1024, 2048, 4096)
AIMS = {
    "import": 0.15, "compile/fused_gemm": 0.15, "compile/flash_attention": 0.4, "cache_load": 0.010,
    "call/alloc": 3e-6, "call/out": 3e-6,
    "ascend/compile": 0.1, "ascend/build/cube": 3.0, "ascend/build/mixed": 3.0,
    "ascend/load": 0.020,
}  # fmt: skip
#: Least shares of the chip's limit.
SHARES = {
    "ascend/gemm/expert/4096": 0.75, "ascend/gemm/developer/4096": 0.60,
    "ascend/add/expert/8192": 0.85, "ascend/add/developer/8192": 0.85,
}  # fmt: skip


@dataclass
class Row:
    """One line of the results. `ratio` is nothing where there is no peer; a share of a limit has
    `share` in its place."""

    name: str
    value: float | None
    unit: str
    peer: str | None = None
    peer_value: float | None = None
    ratio: float | None = None
    gated: bool | None = None
    fitted: bool | None = None
    reason: str | None = None
    share: float | None = None

    def entry(self) -> dict[str, Any]:
        """Its object in the results: what not every row has stands only where it is known."""
        fields = asdict(self)
        missing = {name for name in ("share", "gated", "fitted", "reason") if fields[name] is None}
        if self.share is not None:
            missing.add("ratio")
        return {name: value for name, value in fields.items() if name not in missing}


class Failed(Exception):
    """A measurement that ended without a number; the text says why."""


def measure(cache: str, *arguments: str) -> dict[str, Any]:
    """What `measure.py` says in a fresh process."""
    paths = [str(ROOT / "python"), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {
        "TILEWRIGHT_CACHE_DIR": cache,
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
        "PYTHONDONTWRITEBYTECODE": "",
    }
    command = [sys.executable, str(HERE / "measure.py"), *arguments]
    try:
        answer = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=300, check=False
        )
    except subprocess.TimeoutExpired:
        raise Failed("took more than 300 s") from None
    if answer.returncode != 0:
        lines = answer.stderr.strip().splitlines()
        raise Failed(lines[-1] if lines else f"ended with {answer.returncode}")
    result: dict[str, Any] = json.loads(answer.stdout.splitlines()[-1])
    return result


def repeated(
    name: str, repeats: int, cold: bool, *arguments: str, before: tuple[str, ...] = ()
) -> Row:
    """The median of so many processes; the first is not counted, so that files are in memory.
    `cold`: each has an empty cache. `before` fills the cache of the others."""
    seconds = []
    with tempfile.TemporaryDirectory() as cache:
        if before:
            measure(cache, *before)
        for _ in range(repeats + 1):
            seconds.append(measure(cache, *arguments)["seconds"])
            if cold:
                shutil.rmtree(cache)
                Path(cache).mkdir()
    return Row(name, statistics.median(seconds[1:]), "s")


def compared(name: str, unit: str, peer: str, *arguments: str) -> Row:
    """One process that measures in pairs with the peer."""
    with tempfile.TemporaryDirectory() as cache:
        answer = measure(cache, *arguments)
    row = Row(name, statistics.median(answer["ours"]), unit)
    if answer["peer"]:
        row.peer = peer
        row.peer_value = statistics.median(answer["peer"])
        row.ratio = answer["ratio"]
    return row


def all_rows(repeats: int) -> dict[str, Callable[[], Row]]:
    """Every row by its name."""
    rows: dict[str, Callable[[], Row]] = {
        "import": lambda: repeated("import", repeats, False, "import"),
        "compile/fused_gemm": lambda: repeated("compile/fused_gemm", repeats, True, "compile"),
        "compile/flash_attention": lambda: repeated(
            "compile/flash_attention", repeats, True, "compile_attention"
        ),
        "cache_load": lambda: repeated(
            "cache_load", repeats, False, "cache_load", before=("compile",)
        ),
    }
    for kind in ("alloc", "out"):
        name = f"call/{kind}"
        rows[name] = lambda name=name, kind=kind: compared(  # type: ignore[misc]
            name, "s", "torch.add", "call", kind
        )
    for short, dtype in DTYPES.items():
        for size in SIZES:
            name = f"gemm/{short}/{size}"
            rows[name] = lambda name=name, dtype=dtype, size=size: compared(  # type: ignore[misc]
                name, "GFLOP/s", "torch.matmul", "gemm", dtype, str(size)
            )
    for name in operator_speed.rows():
        rows[name] = lambda name=name: compared(  # type: ignore[misc]
            name, operator_speed.unit(name), operator_speed.peer(name), "operator", name
        )
    for name in ascend_speed.names():
        rows[name] = lambda name=name: on_ascend(name, min(repeats, 3))  # type: ignore[misc]
    for name, measured in host_speed.rows().items():
        rows[name] = lambda name=name, measured=measured: host(name, measured)  # type: ignore[misc]
    for name in profile_rows.names():
        rows[name] = lambda name=name: profiled(name)  # type: ignore[misc]
    return rows


def on_ascend(name: str, repeats: int) -> Row:
    """A compile time, or the modelled time of a tuned kernel and its share of the chip's limit."""
    if name == "ascend/load":
        return repeated(
            name, repeats, False, "ascend", name, before=("ascend", "ascend/build/cube")
        )
    if name in AIMS:
        return repeated(name, repeats, True, "ascend", name)
    with tempfile.TemporaryDirectory() as cache:
        answer = measure(cache, "ascend", name)
    peer = "published, library" if answer["published"] else None
    return Row(name, answer["value"], "us", peer, answer["published"], share=answer["share"])


def host(name: str, measured: Callable[[], float]) -> Row:
    """A speed of the Ascend host."""
    try:
        return Row(name, measured(), "s")
    except (OSError, subprocess.SubprocessError) as problem:
        raise Failed(str(problem)) from None


def profiled(name: str) -> Row:
    """A modelled time beside the published one."""
    try:
        answer = profile_rows.answers()[name]
    except (OSError, subprocess.SubprocessError) as problem:
        raise Failed(str(problem)) from None
    peer = "published, fitted" if answer["fitted"] else "published, predicted"
    value, published = answer["value"], answer["peer_value"]
    row = Row(name, value, "us", peer, published, value / published)
    row.gated, row.fitted = answer["gated"], answer["fitted"]
    if not row.gated:
        row.reason = profile_rows.reason(name)
    return row


def shown(value: float | None, unit: str) -> str:
    """A number with its unit, short."""
    if value is None:
        return ""
    if unit == "s":
        for scale, short in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
            if value >= scale:
                return f"{value / scale:.3g} {short}"
        return f"{value * 1e9:.0f} ns"
    return f"{value:.1f} {unit}"


def table_line(row: Row) -> str:
    """One line of the table; a missed aim is marked."""
    aim = AIMS.get(row.name)
    remark = ""
    if aim is not None and row.value is not None:
        remark = f"aim {shown(aim, row.unit)}" + ("" if row.value <= aim else "  MISSED")
    if row.share is not None:
        least = SHARES.get(row.name)
        remark = f"{row.share:.1%} of the limit"
        if least is not None:
            remark += f", aim {least:.0%}" + ("" if row.share >= least else "  MISSED")
    if row.reason is not None:
        remark = f"not gated: {row.reason}"
    ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
    peer = "" if row.peer is None else f"{shown(row.peer_value, row.unit)} ({row.peer})"
    return (
        f"{row.name:<36}{shown(row.value, row.unit):>16}  {peer:<34}{ratio:>6}  {remark}".rstrip()
    )


def show_progress(done: int, total: int, name: str) -> None:
    """A bar, on terminals only."""
    if sys.stderr.isatty():
        filled = 24 * done // total
        bar = "#" * filled + "." * (24 - filled)
        end = "" if done < total else "\r\033[K"
        sys.stderr.write(f"\r\033[K[{bar}] {done}/{total} {name}{end}")
        sys.stderr.flush()


def main(arguments: list[str]) -> int:
    """Gives 1 if a row could not be measured for another reason than a missing torch."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="*", help="only rows whose names begin so")
    parser.add_argument("--repeats", type=int, default=20, help="processes per row in seconds")
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "bench" / "results.json")
    options = parser.parse_args(arguments)
    rows = all_rows(options.repeats)
    wanted = [name for name in rows if not options.rows or name.startswith(tuple(options.rows))]
    if not wanted:
        parser.error(
            f"no row begins with {' or '.join(options.rows)}; there are: {', '.join(rows)}"
        )
    results: list[Row] = []
    status = 0
    for number, name in enumerate(wanted):
        show_progress(number, len(wanted), name)
        try:
            row = rows[name]()
        except Failed as problem:
            row = Row(name, None, "")
            line = f"{name:<36}  not measured: {problem}"
            status |= "No module named 'torch'" not in str(problem)
        else:
            line = table_line(row)
            results.append(row)
        if sys.stderr.isatty():
            sys.stderr.write("\r\033[K")
        print(line, flush=True)
    show_progress(len(wanted), len(wanted), "")
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps([row.entry() for row in results], indent=1) + "\n")
    print(f"{len(results)} of {len(wanted)} rows in {options.output}")
    return int(status)


if __name__ == "__main__":
    sys.path.append(str(ROOT / "scripts"))
    from interrupts import run_until_interrupted

    sys.exit(run_until_interrupted(lambda: main(sys.argv[1:])))
