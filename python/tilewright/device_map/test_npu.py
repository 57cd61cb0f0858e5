# SPDX-License-Identifier: Apache-2.0
"""Torch's device "npu" on the CPU, and scripts that import torch_npu."""

import subprocess
import sys
import time

import pytest

torch = pytest.importorskip("torch")

import tilewright  # noqa: E402
import tilewright.language as T  # noqa: E402
from tilewright import device_map  # noqa: E402
from tilewright.profiler import do_bench  # noqa: E402


@pytest.fixture
def mapped():
    device_map.install()
    yield
    device_map.remove()
    assert not hasattr(torch.Tensor, "is_npu") or not hasattr(torch, "npu")


def test_moving(mapped):
    host = torch.arange(4.0)
    device = host.npu()
    device += 1
    assert host.tolist() == [0, 1, 2, 3]
    assert device.tolist() == [1, 2, 3, 4]
    assert device.is_npu and not device.is_cuda and not host.is_npu
    assert device.device == torch.device("npu", 0)
    for target in ("npu", "npu:0", torch.device("npu"), device):
        assert host.to(target).is_npu
    assert torch.ones(3, device="npu").is_npu
    assert (device * 2).is_npu
    assert device.cuda().is_cuda and not device.cuda().is_npu
    assert not device.cpu().is_npu
    module = torch.nn.Linear(3, 2).npu()
    assert module.weight.is_npu and module(torch.ones(3).npu()).is_npu


def test_torch_npu_namespace(mapped):
    torch.npu.synchronize()
    torch.npu.set_device(0)
    torch.npu.config.allow_internal_format = True
    assert torch.npu.is_available() and torch.npu.device_count() == 1
    assert torch.npu.current_device() == 0
    assert torch.npu.get_device_properties(0).vector_core_num == 48
    start, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    start.record()
    end.record()
    assert start.elapsed_time(end) >= 0
    assert torch.npu.current_stream().npu_stream == 0


def test_names_that_the_stand_in_lacks(mapped):
    device_map_message = r"has no 'npu_swiglu_backward' without an NPU \(it is a stand-in of"
    with pytest.raises(AttributeError, match=rf"torch\.ops\.npu {device_map_message}"):
        torch.ops.npu.npu_swiglu_backward  # noqa: B018
    with pytest.raises(
        AttributeError, match=r"torch\.ops\.npu has no 'other' .*'tilewright run'\)$"
    ):
        torch.ops.npu.other  # noqa: B018
    assert "npu_swiglu" in dir(torch.ops.npu)


def test_overloads_of_operators(mapped):
    """As torch.ops has them: `default` is the only one of each."""
    x = torch.randn(4, 8).npu()
    made = torch.ops.npu.npu_swiglu.default(x, dim=-1)
    assert made.is_npu and torch.equal(made, torch.ops.npu.npu_swiglu(x))
    for name in dir(torch.ops.npu):
        assert callable(getattr(torch.ops.npu, name).default), name
    with pytest.raises(AttributeError, match="has no attribute 'out'"):
        torch.ops.npu.npu_swiglu.out  # noqa: B018


def test_events_have_the_modelled_time(mapped):
    @T.prim_func
    def doubled(A: T.Tensor((64,)), C: T.Tensor((64,))):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((64,), "float")
            T.copy(A, a)
            T.tile.add(a, a, a)
            T.copy(a, C)

    options = {"tl.ascend_auto_sync": True}
    kernel = tilewright.compile(doubled, out_idx=[1], target="ascend", pass_configs=options)
    x = torch.ones(64).npu()
    modelled = do_bench(lambda: kernel(x))
    before, first, third, last = (torch.npu.Event(enable_timing=True) for _ in range(4))
    before.record()
    kernel(x)
    first.record()
    kernel(x)
    assert kernel.report(x).startswith("estimated time")  # whose call counts for nothing
    y = kernel(x)
    third.record()
    assert y.is_npu and y.tolist() == [2.0] * 64
    time.sleep(0.02)
    last.record()
    assert before.elapsed_time(first) == pytest.approx(modelled, rel=1e-9)
    assert before.elapsed_time(third) == pytest.approx(3 * modelled, rel=1e-9)
    assert third.elapsed_time(last) > 19  # no launch: the time of day
    # A measurement of calls that use events sees the launches as well.
    both = [torch.cuda.Event(enable_timing=True) for _ in range(2)]

    def timed():
        both[0].record()
        kernel(x)
        both[1].record()

    assert do_bench(timed) == pytest.approx(modelled, rel=1e-9)
    assert both[0].elapsed_time(both[1]) == pytest.approx(modelled, rel=1e-9)


def test_a_graph_launches_kernels_again(mapped):
    @T.prim_func
    def add(A: T.Tensor((64,)), C: T.Tensor((64,))):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((64,), "float")
            c = T.alloc_ub((64,), "float")
            T.copy(A, a)
            T.copy(C, c)
            T.tile.add(c, c, a)
            T.copy(c, C)

    into = tilewright.compile(add, target="reference")
    x, total = torch.ones(64).npu(), torch.zeros(64).npu()
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        assert torch.npu.is_current_stream_capturing()
        into(x * 2, total)
        twice = total * 2
    assert not torch.npu.is_current_stream_capturing()
    assert total.tolist() == [0.0] * 64  # a capture changes nothing
    for x_is in (1, 3, 10):
        x.fill_(x_is)
        graph.replay()
    assert total.tolist() == [28.0] * 64
    assert twice.tolist() == [56.0] * 64 and twice.is_npu


SCRIPT = """
import torch
import torch_npu
from torch_npu.contrib import transfer_to_npu
import torch_npu.contrib.transfer_to_npu
import tilelang
import tilelang.language as T

tilelang.disable_cache()


@tilelang.jit(out_idx=[-1], workspace_idx=[1], target="ascendc")
def double(n):
    @T.prim_func
    def main(A: T.Tensor((n,)), workspace: T.Tensor((n,)), C: T.Tensor((n,))):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_ub((n // 2,), "float")
            T.copy(A[vid * (n // 2)], a)
            T.tile.add(a, a, a)
            T.copy(a, workspace[vid * (n // 2)])
            T.copy(workspace[vid * (n // 2)], a)
            T.copy(a, C[vid * (n // 2)])
    return main


x = torch.randn(64).npu()
y = double(64)(x)
torch.npu.synchronize()
assert y.is_npu and y.device == x.device
torch.testing.assert_close(y, x + x)
try:
    torch_npu.npu_sparse_flash_attention
except AttributeError as error:
    print(error)
print("Test Passed!")
"""


def test_a_script(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    command = [sys.executable, "-m", "tilewright", "run", "--target", "reference", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "torch_npu has no 'npu_sparse_flash_attention' without an NPU (it is a stand-in of "
        "'tilewright run'); of its operators there are npu_rotary_mul, npu_gelu, "
        "npu_gelu_backward, npu_swiglu, npu_rms_norm, npu_add_rms_norm, npu_cross_entropy_loss, "
        "npu_moe_token_permute, npu_moe_token_unpermute, npu_fusion_attention",
        "Test Passed!",
    ]


MIXED = SCRIPT.replace("y = double(64)(x)", "y = double(64)(x.cpu())\nassert not y.is_npu").replace(
    "assert y.is_npu and y.device == x.device",
    """
@tilelang.jit(out_idx=[-1], target="ascendc")
def add(n):
    @T.prim_func
    def main(A: T.Tensor((n,)), B: T.Tensor((n,)), C: T.Tensor((n,))):
        with T.Kernel(1, is_npu=True, threads=1) as cid:
            a = T.alloc_ub((n,), "float")
            b = T.alloc_ub((n,), "float")
            T.copy(A, a)
            T.copy(B, b)
            T.tile.add(a, a, b)
            T.copy(a, C)
    return main


y = add(64)(x, x)
assert y.is_npu
try:
    add(64)(x, x.cpu())
except ValueError as error:
    print(error)

@tilelang.jit(out_idx=[-1], target="ascendc")
def shifted(n):
    @T.prim_func
    def main(A: T.Tensor((n,)), by: T.int32, C: T.Tensor((n,))):
        with T.Kernel(1, is_npu=True, threads=1) as cid:
            a = T.alloc_ub((n,), "float")
            T.copy(A, a)
            T.tile.add(a, a, T.cast(by, "float32"))
            T.copy(a, C)
    return main

assert torch.equal(shifted(64)(x, torch.tensor(3)).cpu(), x.cpu() + 3)
""",
)


def test_the_traceback_of_a_wrong_call(mapped):
    """It leads from the caller's line to the kernel's own frames, past those of the map."""

    @tilewright.jit(target="reference")
    def doubled(n):
        @T.prim_func
        def main(A: T.Tensor((n,), "float32")):
            with T.Kernel(1, is_npu=True, threads=1) as _:
                a = T.alloc_ub((n,), "float32")
                T.copy(A, a)
                T.tile.add(a, a, a)
                T.copy(a, A)

        return main

    kernel = doubled(64)
    kernel(torch.ones(64, device="npu"))
    with pytest.raises(ValueError, match=r"'A' has shape \(32,\) but \(64,\)") as found:
        kernel(torch.ones(32, device="npu"))
    names = [entry.name for entry in found.traceback]
    assert names == ["test_the_traceback_of_a_wrong_call", "marked"]


def test_a_tensor_of_the_cpu_beside_others(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(MIXED)
    command = [sys.executable, "-m", "tilewright", "run", "--target", "reference", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.splitlines()[0] == (
        "main: tensor 'B' is on the CPU, but other tensors of the call are on the NPU; move it "
        "with .npu()"
    )
