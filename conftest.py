# SPDX-License-Identifier: Apache-2.0
"""What all Python tests share: a kernel cache of their own, independent of earlier runs."""

import os
import tempfile


def pytest_configure(config):
    """Before any test, and in each process of pytest-xdist."""
    folder = tempfile.TemporaryDirectory(prefix="tilewright-tests-")
    os.environ["TILEWRIGHT_CACHE_DIR"] = folder.name
    config.add_cleanup(folder.cleanup)
