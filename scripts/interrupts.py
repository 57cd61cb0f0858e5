# SPDX-License-Identifier: Apache-2.0
"""What the scripts do at Ctrl-C: they end all that they started, say one line, and give 130."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType

INTERRUPTED = 130
SECONDS_TO_END = 10.0
#: The process that says the line: the first of these scripts, not those that it starts.
SPEAKER = "TILEWRIGHT_SAYS_INTERRUPTED"


def _fields(process: int) -> list[str]:
    """State, parent and what follows of a process; none if it is gone."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def descendants() -> list[int]:
    """The processes that this one started, theirs, and so on."""
    running = (int(folder.name) for folder in Path("/proc").glob("[0-9]*"))
    parents = {process: int(fields[1]) for process in running if (fields := _fields(process))}
    found = [os.getpid()]
    for known in found:  # it grows meanwhile
        found += [process for process, parent in parents.items() if parent == known]
    return found[1:]


def signal_all(processes: list[int], number: int) -> None:
    """Those that are gone, or another user's, are left out."""
    for process in processes:
        try:
            os.kill(process, number)
        except (ProcessLookupError, PermissionError):
            continue


def wait_for_end(processes: list[int], patience: float) -> None:
    """Waits until they are gone; what is left after `patience` seconds is killed."""
    end = time.monotonic() + patience
    while any(_fields(process)[:1] not in ([], ["Z"]) for process in processes):
        if time.monotonic() > end:
            return signal_all(processes, signal.SIGKILL)
        time.sleep(0.02)
    return None


def run_until_interrupted(main: Callable[[], int], patience: float = SECONDS_TO_END) -> int:
    """What `main` gives. At Ctrl-C, or SIGINT to this process alone, all processes that it started
    get that signal as well, and `patience` seconds to end."""
    started: list[int] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        # Before the stack unwinds: subprocess.run kills its process, whose own would get lost.
        started.extend(descendants())
        signal_all(started, signal.SIGINT)
        raise KeyboardInterrupt

    is_speaker = os.environ.setdefault(SPEAKER, str(os.getpid())) == str(os.getpid())
    # Also where a shell's background job would ignore it, and so would all tests of it.
    signal.signal(signal.SIGINT, interrupt)
    try:
        return main()
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # a second one ends this process at once
        wait_for_end(started, patience)
        if is_speaker:
            print("\ninterrupted; the same command goes on where it stopped", file=sys.stderr)
        return INTERRUPTED
