# SPDX-License-Identifier: Apache-2.0
"""Torch's device "cuda" on the CPU, and torch as it was afterwards."""

import threading
import time

import pytest

torch = pytest.importorskip("torch")

import tilewright  # noqa: E402
import tilewright.language as T  # noqa: E402
from tilewright import device_map  # noqa: E402


@pytest.fixture
def mapped():
    device_map.install()
    yield
    device_map.remove()


def test_moving(mapped):
    host = torch.arange(4.0)
    device = host.cuda()
    device += 1
    assert host.tolist() == [0, 1, 2, 3]
    assert device.tolist() == [1, 2, 3, 4]
    assert (host.is_cuda, device.is_cuda) == (False, True)
    assert device.device == torch.device("cuda", 0)
    assert device.get_device() == 0
    back = device.cpu()
    back += 1
    assert device.tolist() == [1, 2, 3, 4]
    assert not back.is_cuda and back.device.type == "cpu"
    for target in ("cuda", "cuda:0", torch.device("cuda"), 0, device):
        assert host.to(target).is_cuda
    assert host.to("cuda", torch.float16).dtype == torch.float16
    assert host.to(device="cuda", dtype=torch.float16).is_cuda
    assert not device.to("cpu").is_cuda
    assert device.to(torch.float16).is_cuda
    assert device.cuda() is device


def test_outputs_of_kernels(mapped):
    """They are where the inputs are; those of kernels without any, on the device."""

    @T.prim_func
    def fill(Out: T.Tensor((8,), "int8")):
        with T.Kernel(1, threads=32):
            T.fill(Out, -7)

    @T.prim_func
    def copy(A: T.Tensor((8,), "int8"), B: T.Tensor((8,), "int8")):
        with T.Kernel(1, threads=32):
            T.copy(A, B)

    made = tilewright.compile(fill, out_idx=[0])()
    torch.testing.assert_close(made, torch.full((8,), -7, dtype=torch.int8, device="cuda"))
    kernel = tilewright.compile(copy, out_idx=[1])
    assert kernel(made).is_cuda and not kernel(made.cpu()).is_cuda


def test_results_stay_on_the_device(mapped):
    x = torch.ones(2, 3, device="cuda")
    assert x.is_cuda
    results = [x.half(), x @ x.T, torch.relu(x), x[0], x.view(3, 2), torch.cat([x, x])]
    results += [torch.empty_like(x), x.new_zeros(3), *torch.max(x, dim=1), torch.zeros_like(x)]
    assert all(r.is_cuda for r in results)
    assert not torch.ones(2).is_cuda
    assert torch.empty(2, device=x.device).is_cuda
    assert torch.tensor([1], device=torch.device("cuda")).is_cuda
    torch.testing.assert_close(x * 2, x + x)


def test_a_function_that_torch_compiles_runs_as_it_is(mapped):
    @torch.compile
    def scaled(x):
        return torch.nn.Parameter(x).data * 2

    halved = torch.compile(dynamic=True)(lambda x: x / 2)
    x = torch.arange(3.0, device="cuda")
    assert scaled(x).tolist() == [0, 2, 4] and scaled(x).is_cuda
    assert halved(scaled(x)).tolist() == x.tolist()


def test_functions_that_torch_must_not_compile(mapped):
    """torch.compiler.disable imports torch._dynamo, which looks at functions of torch's."""

    @torch.compiler.disable
    def doubled(x):
        return torch.nn.Parameter(x).data * 2

    x = torch.arange(3.0, device="cuda")
    assert doubled(x).tolist() == [0, 2, 4] and doubled(x).is_cuda
    assert not torch.cuda.is_current_stream_capturing()


def test_generators_modules_defaults(mapped):
    generator = torch.Generator(device="cuda")
    generator.manual_seed(3)
    first = torch.randn(4, generator=generator, device="cuda")
    generator.manual_seed(3)
    assert torch.equal(first, torch.randn(4, generator=generator, device="cuda"))
    assert isinstance(generator, torch.Generator)
    module = torch.nn.Linear(2, 2).cuda()
    assert module.weight.is_cuda
    assert module(torch.ones(1, 2, device="cuda")).is_cuda
    with torch.device("cuda"):
        assert torch.ones(2).is_cuda and torch.ones(2).sum() == 2
        assert not torch.ones(2, device="cpu").is_cuda
    assert not torch.ones(2).is_cuda
    torch.set_default_device("cuda")
    try:
        assert torch.ones(2).is_cuda
    finally:
        torch.set_default_device(None)
    assert not torch.ones(2).is_cuda


def test_a_seed_warns_of_nothing(mapped, recwarn):
    torch.manual_seed(3)
    first = torch.randn(2, device="npu")
    torch.manual_seed(3)
    assert torch.equal(first, torch.randn(2, device="npu"))
    assert not recwarn.list


def test_pinned_memory(mapped):
    plain, pinned = torch.ones(2), torch.ones(2, pin_memory=True)
    assert not plain.is_pinned() and pinned.is_pinned()
    copy = plain.pin_memory()
    copy += 1
    assert copy.is_pinned() and plain.sum() == 2 and not plain.is_pinned()
    assert pinned.pin_memory() is pinned
    assert not pinned.cuda().is_pinned() and not (pinned + 1).is_pinned()


def test_names_of_types_and_generators(mapped):
    x = torch.cuda.FloatTensor([1, 2])
    assert x.is_cuda and x.dtype == torch.float32 and x.tolist() == [1, 2]
    assert isinstance(x, torch.cuda.FloatTensor) and not isinstance(x, torch.cuda.HalfTensor)
    assert not isinstance(x.cpu(), torch.cuda.FloatTensor)
    assert torch.cuda.LongTensor(2, 3).shape == (2, 3)
    generator = torch.Generator(device="cuda")
    assert generator.device == torch.device("cuda:0")
    assert torch.Generator().device == torch.device("cpu")
    assert torch.randn(2, generator=generator, device="cuda").is_cuda
    torch.cuda.manual_seed(5)
    first = torch.randn(3, device="cuda")
    torch.cuda.default_generators[0].manual_seed(5)
    assert torch.equal(first, torch.randn(3, device="cuda"))


def test_cuda_module(mapped):
    assert torch.cuda.is_available()
    assert torch.cuda.device_count() == 1
    torch.cuda.synchronize()
    torch.cuda.manual_seed_all(1)
    torch.cuda.empty_cache()
    properties = torch.cuda.get_device_properties(0)
    assert properties.total_memory > 0 and properties.multi_processor_count > 0
    assert torch.cuda.get_device_capability() == (8, 0)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda.current_stream().synchronize()


def test_parameters_and_autocast(mapped):
    assert torch.nn.Parameter(torch.ones(2, device="cuda")).is_cuda
    assert not torch.nn.Parameter(torch.ones(2)).is_cuda
    x = torch.ones(2, 2, device="cuda")
    with torch.autocast("cuda"):
        assert (x @ x).dtype == torch.float16
    with torch.autocast(device_type="cuda", dtype=torch.bfloat16):
        assert (x @ x).dtype == torch.bfloat16 and (x @ x).is_cuda
    assert (x @ x).dtype == torch.float32


def test_streams_and_ranges(mapped):
    x = torch.ones(2, device="cuda")
    stream = torch.cuda.Stream()
    torch.cuda.current_stream().wait_stream(stream)
    assert x.record_stream(stream) is None
    torch.cuda.nvtx.range_push("step")
    torch.cuda.nvtx.range_pop()
    with torch.cuda.nvtx.range("step"):
        pass


def test_events(mapped):
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    with pytest.raises(
        RuntimeError, match="both events must be recorded before their time is asked for"
    ):
        start.elapsed_time(end)
    start.record()
    time.sleep(0.02)
    end.record()
    assert 19 < start.elapsed_time(end) < 2000
    with pytest.raises(RuntimeError, match="both events must be created with enable_timing=True"):
        torch.cuda.Event().elapsed_time(end)


def test_threads(mapped):
    found = []
    thread = threading.Thread(target=lambda: found.append(torch.ones(2, device="cuda").is_cuda))
    thread.start()
    thread.join()
    assert found == [True]


def test_removal():
    before = {name: getattr(torch.cuda, name) for name in ("is_available", "Event", "Stream")}
    generator, run = torch.Generator, threading.Thread.run
    changed = [(torch.Tensor, "record_stream"), (torch.Tensor, "_make_subclass")]
    changed += [(torch.autocast, "__init__"), (torch.cuda, "nvtx")]
    originals = [getattr(owner, name) for owner, name in changed]
    device_map.install()
    device_map.install()
    assert device_map.is_installed()
    device_map.remove()
    assert not device_map.is_installed()
    assert before == {name: getattr(torch.cuda, name) for name in before}
    assert originals == [getattr(owner, name) for owner, name in changed]
    assert (generator, run) == (torch.Generator, threading.Thread.run)
    assert not torch.ones(2).is_cuda
