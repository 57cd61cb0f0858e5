# SPDX-License-Identifier: Apache-2.0
"""`tilewright profile`: a script, and what its kernels reached."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import MISSING, running

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..profiling import Measured

_DESCRIPTION = """\
Runs a script as `tilewright run` does, times every call of a kernel, and prints per kernel and set
of shapes: time, GFLOP/s, GB/s, and the share of what this machine could do at most, which is
measured first. docs/profiling.md tells what the numbers mean. The script's options follow its name.
"""


def add_to(commands: Any) -> None:
    parser = commands.add_parser(
        "profile", help="run a script and measure its kernels", description=_DESCRIPTION
    )
    parser.add_argument("--json", action="store_true", help="print JSON, on the last line")
    parser.add_argument(
        "--cores", action="store_true", help="--json with what each core of an Ascend launch did"
    )
    parser.add_argument(
        "--roofline", metavar="FILE.svg", type=_picture, help="also draw a roofline (SVG)"
    )
    running.add_script_arguments(parser)
    parser.set_defaults(action=profile)


def _picture(name: str) -> Path:
    """A file that can be written, as is known before the script runs."""
    path = Path(name)
    if path.suffix != ".svg":
        raise argparse.ArgumentTypeError(f"a roofline is drawn as SVG: '{name}' must end in .svg")
    try:
        path.open("a").close()
    except OSError as error:
        raise argparse.ArgumentTypeError(f"'{name}' can't be written: {error.strerror}") from None
    return path


def profile_on_ascend(
    code_and_run: Callable[[], int], prints_json: bool, with_cores: bool = False
) -> int:
    """Modelled times instead of measured ones: our host is no measure of the chip."""
    from ..profiling import KernelRecorder
    from ..profiling.ascend_time import calls_of, is_estimated, recorded_times, times_table

    with recorded_times() as times, KernelRecorder(True, is_estimated) as recorder:
        code = code_and_run()
    if prints_json:
        calls = calls_of(times, recorder.order)
        places = [
            {"shapes": call.shapes(), "place": call.place()} if call else {} for call in calls
        ]
        launches = [vars(time) | at for time, at in zip(times, places, strict=True)]
        for launch in [] if with_cores else launches:
            del launch["cores"]
        print(json.dumps({"launches": launches}))
    elif times:
        print(times_table(times, recorder.order))
    else:
        print("no kernel was launched on the Ascend host")
    return code


def profile(options: argparse.Namespace) -> int:
    from .. import _runtime
    from ..options import resolve_target
    from ..profiling import KernelRecorder, evaluate, roofline, table

    code_and_run = running.script_to_run(options)
    if resolve_target(options.target) == "ascend":
        return profile_on_ascend(code_and_run, options.json or options.cores, options.cores)
    peaks = _runtime.measure_peaks()
    if peaks["bytes"] == 0:
        sys.stderr.write("tilewright profile: not enough memory to measure the machine (512 MiB)\n")
        return MISSING
    with KernelRecorder() as recorder:
        code = code_and_run()
    measured: list[Measured] = [evaluate(row, peaks) for row in recorder.rows]
    if options.json:
        report = {"machine": peaks, "kernels": [one.as_dict() for one in measured]}
        print(json.dumps(report))
    elif measured:
        print(table(measured, peaks))
    else:
        print("no kernel was called")
    if options.roofline:
        options.roofline.write_text(roofline(measured, peaks), encoding="utf-8")
    return code
