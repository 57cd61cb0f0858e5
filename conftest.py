# SPDX-License-Identifier: Apache-2.0
"""What all Python tests share: a kernel cache of their own, independent of earlier runs, one
process for kernels that share a library, MLIR's verifier behind each pass, and ears for Ctrl-C."""

import os
import signal
import tempfile
import threading

import pytest


def pytest_configure(config):
    """Before any test, and in each process of pytest-xdist."""
    folder = tempfile.TemporaryDirectory(prefix="tilewright-tests-")
    os.environ["TILEWRIGHT_CACHE_DIR"] = folder.name
    config.add_cleanup(folder.cleanup)
    os.environ.setdefault("TILEWRIGHT_VERIFY_PASSES", "1")
    # What a shell starts in the background ignores SIGINT, and so does all that it starts.
    is_main = threading.current_thread() is threading.main_thread()
    if is_main and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Each process of pytest-xdist that runs a test of a KernelGroup builds all of its kernels."""
    shared = {}
    for item in items:
        module = getattr(item, "module", None)
        if module not in shared:
            names = {type(each).__name__ for each in vars(module).values()} if module else set()
            shared[module] = "KernelGroup" in names
        if shared[module]:
            item.add_marker(pytest.mark.xdist_group(module.__name__))
