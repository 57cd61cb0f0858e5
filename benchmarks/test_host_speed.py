# SPDX-License-Identifier: Apache-2.0
"""The rows of the Ascend host's speed can be measured, and are within wide limits."""

import host_speed
import pytest

pytestmark = pytest.mark.skipif(
    not host_speed.PROGRAM.exists(), reason="the simulator's benchmarks are not built"
)


@pytest.mark.parametrize("kernel", ["add", "matmul"])
def test_launch(kernel: str) -> None:
    """Two seconds are what is promised on an idle machine; results are compared in the program."""
    assert 0 < host_speed.launch(kernel, "") < 10


def test_names() -> None:
    """All rows are of the host."""
    assert all(name.startswith("ascend_host/") for name in host_speed.rows())
