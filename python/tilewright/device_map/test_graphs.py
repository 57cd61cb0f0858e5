# SPDX-License-Identifier: Apache-2.0
"""Graphs that record torch's operations and call them again, beside the same calls by hand."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import tilewright  # noqa: E402
import tilewright.language as T  # noqa: E402
from tilewright import device_map  # noqa: E402


@pytest.fixture(autouse=True)
def mapped():
    device_map.install()
    yield
    device_map.remove()


def test_results_views_and_writes():
    x = torch.arange(6.0, device="cuda").view(2, 3)
    count = torch.zeros(1, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=torch.cuda.graph_pool_handle()):
        y = x * 2 + 1
        row = y[1]  # a view, of what comes later as well
        row += 10
        count.add_(1)
        total = torch.zeros(3, device="cuda")
        total[1:] = y.sum(0)[1:]
        start = torch.tensor(5.0, device="cuda")
        start += total.sum()
        most, at = torch.max(y, dim=1)
    assert count.item() == 0  # a capture changes nothing
    later = y.t()
    for n in range(1, 4):
        x.copy_(torch.arange(6.0).view(2, 3) * n - 4)
        graph.replay()
        expected = (np.arange(6.0).reshape(2, 3) * n - 4) * 2 + 1
        expected[1] += 10
        columns = expected.sum(0)
        np.testing.assert_array_equal(y, expected)
        np.testing.assert_array_equal(later, expected.T)
        np.testing.assert_array_equal(row, expected[1])
        np.testing.assert_array_equal(total, [0, *columns[1:]])
        assert start.item() == 5 + columns[1:].sum()
        np.testing.assert_array_equal(most, expected.max(1))
        np.testing.assert_array_equal(at, expected.argmax(1))
        assert count.item() == n
    assert y.is_cuda and total.is_cuda


def test_training_steps():
    """Those of a graph beside those without one."""
    x, goal = torch.randn(8, 4, device="cuda"), torch.randn(8, 2, device="cuda")
    torch.manual_seed(0)
    ours, theirs = (torch.nn.Linear(4, 2).cuda() for _ in range(2))
    theirs.load_state_dict(ours.state_dict())

    def step(model):
        model.zero_grad(set_to_none=False)
        loss = (model(x) - goal).square().mean()
        loss.backward()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter -= 0.1 * parameter.grad
        return loss

    for model in (ours, theirs):
        step(model)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step(ours)
    for _ in range(3):
        graph.replay()
        expected = step(theirs)
        torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(ours.weight, theirs.weight)
    assert not torch.equal(ours.weight, torch.zeros_like(ours.weight))


def test_under_inference_mode():
    x = torch.ones(3, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.inference_mode(), torch.cuda.graph(graph):
        y = x + 1
        y *= 3
    x.fill_(4)
    graph.replay()
    assert y.tolist() == [15.0] * 3


@pytest.mark.parametrize("inference", [False, True])
@pytest.mark.parametrize("norm", ["BatchNorm1d", "InstanceNorm1d"])
def test_running_statistics(norm, inference):
    """A capture leaves them, and each replay moves them once, as a call of the module does."""
    x = torch.randn(6, 4, 5, device="cuda") + 5
    options = {"affine": True, "track_running_stats": True}
    ours, theirs = (getattr(torch.nn, norm)(4, **options).cuda() for _ in range(2))
    with torch.inference_mode(inference):
        ours(x)
        theirs(x)
        before = {name: value.clone() for name, value in ours.state_dict().items()}
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = ours(x)
        for name, value in ours.state_dict().items():
            assert torch.equal(value, before[name]), name
        for n in range(2):
            x.copy_(torch.randn(6, 4, 5) * (n + 1) - n)
            graph.replay()
            torch.testing.assert_close(y, theirs(x), rtol=0, atol=0)
            for name, value in theirs.state_dict().items():
                assert torch.equal(ours.state_dict()[name], value), name
    assert not torch.equal(ours.running_mean, before["running_mean"])


def test_running_statistics_by_hand():
    norm = torch.nn.BatchNorm1d(4, momentum=0.25).cuda()
    x = torch.randn(16, 4, device="cuda") + 5
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        norm(x)
    assert norm.running_mean.tolist() == [0] * 4 and norm.running_var.tolist() == [1] * 4
    graph.replay()
    values = np.asarray(x, dtype="float64")
    np.testing.assert_allclose(norm.running_mean, values.mean(0) / 4, rtol=1e-5)
    np.testing.assert_allclose(norm.running_var, 0.75 + values.var(0, ddof=1) / 4, rtol=1e-5)
    assert norm.num_batches_tracked.item() == 1


def test_kernels_that_make_their_outputs():
    @T.prim_func
    def doubled(A: T.Tensor((8,)), B: T.Tensor((8,))):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(8):
                B[i] = A[i] * 2

    kernel = tilewright.compile(doubled, out_idx=[1])
    x = torch.ones(8, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = kernel(kernel(x + 1))
    x.fill_(5)
    graph.replay()
    assert y.tolist() == [24.0] * 8 and y.is_cuda


def test_what_graphs_refuse():
    graph = torch.cuda.CUDAGraph()
    with pytest.raises(RuntimeError, match="a graph must be captured before it is replayed"):
        graph.replay()
    with pytest.raises(RuntimeError, match=r"capture_end\(\) without capture_begin\(\)"):
        graph.capture_end()
    with (
        torch.cuda.graph(graph),
        pytest.raises(
            RuntimeError, match="a graph is captured already; its capture must end first"
        ),
    ):
        torch.cuda.CUDAGraph().capture_begin()
    graph.reset()
    with pytest.raises(RuntimeError, match="must be captured before"):
        graph.replay()
    assert torch.cuda.make_graphed_callables(len, ()) is len
