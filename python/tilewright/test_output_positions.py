# SPDX-License-Identifier: Apache-2.0
"""Which parameters `out_idx` and `workspace_idx` name."""

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("tilewright._compiler")

import tilewright  # noqa: E402
import tilewright.language as T  # noqa: E402


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "cache"))


@pytest.mark.parametrize("target", ["cpu", "ascend", "reference"])
def test_outputs_and_workspaces_count_scalars(target):
    """As TileLang does: a position among all parameters, for both, on every target. For an NPU
    tensors alone count in both where a number would be a scalar's, as its documents say."""

    @T.prim_func
    def main(
        A: T.Tensor((32,), "float32"),
        s: T.float32,
        B: T.Tensor((32,), "float32"),
        C: T.Tensor((32,), "float32"),
        t: T.float32,
    ):
        with T.Kernel(1) as _:
            for i in T.Parallel(32):
                B[i] = A[i] * s
                C[i] = A[i] * s * t

    def compiled(out_idx, workspace_idx=None):
        return tilewright.compile(main, out_idx, target=target, workspace_idx=workspace_idx)

    a = np.arange(32, dtype=np.float32)
    for out_idx, workspace_idx in (([-2], [-3]), ([3], [2]), (3, -3)):
        kernel = compiled(out_idx, workspace_idx)
        assert (kernel.out_idx, kernel.workspace_idx) == ([3], [2])
        np.testing.assert_array_equal(kernel(a, 2.0, 3.0), a * 6)
    wrong = [
        ([-1], None, "out_idx -1 is 't', which is no tensor; scalars count, too: 'C' is -2"),
        ([1], None, "out_idx 1 is 's', which is no tensor; scalars count, too: 'B' is 2"),
        ([5], None, "out_idx 5 is out of range for 5 parameters"),
        ([3], [-6], "workspace_idx -6 is out of range for 5 parameters"),
        ([-2], [3], "out_idx and workspace_idx both name parameter 3, 'C'"),
        ([-2], [4], "workspace_idx 4 is 't', which is no tensor"),
    ]
    if target == "ascend":
        for out_idx, workspace_idx in (([-1], [-2]), ([2], [1]), ([-1], [1])):
            kernel = compiled(out_idx, workspace_idx)
            assert (kernel.out_idx, kernel.workspace_idx) == ([3], [2])
            np.testing.assert_array_equal(kernel(a, 2.0, 3.0), a * 6)
        wrong = wrong[2:]
    for out_idx, workspace_idx, text in wrong:
        with pytest.raises(ValueError) as caught:
            compiled(out_idx, workspace_idx)
        assert str(caught.value) == f"main: {text}"
