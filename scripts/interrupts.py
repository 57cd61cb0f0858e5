# SPDX-License-Identifier: Apache-2.0
"""What the scripts do at Ctrl-C: they end all that they started, say one line, and give 130. If
nobody reads what they print any more, they end it as well, and say nothing."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType

INTERRUPTED = 130
#: What a shell gives for a process that nobody reads from any more: `make bench | head`.
UNREAD = 141
SECONDS_TO_END = 10.0
PR_SET_CHILD_SUBREAPER = 36
#: The process that says the line: the first of these scripts, not those that it starts.
SPEAKER = "TILEWRIGHT_SAYS_INTERRUPTED"
#: Set at Ctrl-C. What threads started then ends, and they have nothing to say about it.
interrupted = threading.Event()


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


def adopt_orphans() -> None:
    """From now on, what a process of ours leaves behind when it ends is a child of this one."""
    try:
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    except (ImportError, OSError, AttributeError):
        return  # not Linux: what a killed process left behind stays


def end_descendants(patience: float) -> None:
    """Interrupts them, and those that they start meanwhile, and waits until they are gone; what is
    left after `patience` seconds is killed."""
    end = time.monotonic() + patience
    told: set[int] = set()
    while left := [p for p in descendants() if _fields(p)[:1] not in ([], ["Z"])]:
        is_late = time.monotonic() > end
        new = [process for process in left if is_late or process not in told]
        signal_all(new, signal.SIGKILL if is_late else signal.SIGINT)
        told.update(new)
        time.sleep(0.02)


def run_until_interrupted(main: Callable[[], int], patience: float = SECONDS_TO_END) -> int:
    """What `main` gives. At Ctrl-C, or SIGINT to this process alone, all processes that it started
    get that signal as well, and `patience` seconds to end."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        interrupted.set()
        # Now: while the stack unwinds, subprocess.run kills its process, which ends none of its.
        adopt_orphans()
        signal_all(descendants(), signal.SIGINT)
        raise KeyboardInterrupt

    is_speaker = os.environ.setdefault(SPEAKER, str(os.getpid())) == str(os.getpid())
    # Also where a shell's background job would ignore it, and so would all tests of it.
    signal.signal(signal.SIGINT, interrupt)
    try:
        return main()
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # a second one ends this process at once
        end_descendants(patience)
        if is_speaker:
            print("\ninterrupted; the same command goes on where it stopped", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        end_descendants(patience)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left at the end
        return UNREAD
