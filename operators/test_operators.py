# SPDX-License-Identifier: Apache-2.0
"""Every operator in the language against its reference in float64: a folder with kernel.py,
reference.py and cases.py."""

import importlib.util
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import tilewright

HERE = Path(__file__).parent
NAMES = sorted(cases.parent.name for cases in HERE.glob("*/cases.py"))
# As the tests of conformance: the rounding of the result, and what a sum adds to it.
TOLERANCE = {"float32": 1e-5, "float16": 2e-3, "bfloat16": 1.6e-2, "int8": 0}


def part(name, which):
    spec = importlib.util.spec_from_file_location(f"{name}_{which}", HERE / name / f"{which}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def cases():
    for name in NAMES:
        for case in part(name, "cases").CASES:
            label = "-".join(str(value) for value in case.values())
            yield pytest.param(name, case, id=f"{name}-{label}")


def test_there_are_operators():
    assert "flash_attention" in NAMES and "gemm" in NAMES


@pytest.mark.parametrize(("name", "case"), list(cases()))
def test_operator(name, case):
    torch = pytest.importorskip("torch")
    reference = part(name, "reference")
    dtype = case["dtype"]
    arrays = arrays_of(name, case)
    tensors = [
        torch.from_numpy(a.astype(np.float32)).bfloat16()
        if a.dtype == ml_dtypes.bfloat16
        else torch.from_numpy(a)
        for a in arrays
    ]
    actual = getattr(part(name, "kernel"), name)(**case)(*tensors).double().numpy()
    exact = reference.reference(case, *arrays)
    error = np.abs(actual - exact).max() / np.abs(exact).max()
    assert actual.shape == exact.shape and error <= TOLERANCE[dtype]


def arrays_of(name, case):
    """The operands of a case, in its dtype."""
    dtype = case["dtype"]
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else np.dtype(dtype)
    arrays = part(name, "reference").inputs(np.random.default_rng(7), case)
    return [a.astype(kind) if a.dtype == np.float64 else a for a in arrays]


@pytest.mark.parametrize(("name", "case"), list(cases()))
def test_operator_as_the_interpreter_runs_it(name, case):
    """It also finds what no value shows: races, elements that nobody wrote, indices beyond."""
    arrays = arrays_of(name, case)
    kernel = getattr(part(name, "kernel"), name)(**case)
    defined = tilewright.compile(kernel.prim_func, out_idx=kernel.out_idx, target="reference")
    actual = np.asarray(defined(*arrays)).astype(np.float64)
    exact = part(name, "reference").reference(case, *arrays)
    error = np.abs(actual - exact).max() / np.abs(exact).max()
    assert actual.shape == exact.shape and error <= TOLERANCE[case["dtype"]]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_gemm_of_whole_depth_into_its_own_rows(dtype):
    """A is read where it lies, but not after the result was written there."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(7)
    a, b = (torch.randn(256, 256).to(getattr(torch, dtype)) for _ in range(2))
    exact = a.double() @ b.double()
    run = part("gemm", "kernel").gemm(256, 256, 256, dtype, rows=256, block_m=64, block_n=256)
    run(a, b, a)
    assert (a.double() - exact).abs().max() / exact.abs().max() <= TOLERANCE[dtype]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("row", [[-3.3e38], [3e38, 0], [1.7e10, 0], [3.3e9, 3.3e9, 0], [-1.1e10]])
def test_softmax_of_large_numbers(dtype, row):
    """As of a row that is masked by the lowest number: the largest element is subtracted first."""
    torch = pytest.importorskip("torch")
    numbers = torch.full((4, 64), row[-1], dtype=torch.float64)
    numbers[:, : len(row)] = torch.tensor(row)
    x = numbers.to(getattr(torch, dtype))
    actual = part("softmax", "kernel").softmax(4, 64, dtype)(x).double()
    assert (actual - torch.softmax(x.double(), 1)).abs().max() <= TOLERANCE[dtype]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_softmax_of_rows_with_what_is_no_number(dtype):
    """As PyTorch's: NaN or infinity make a row NaN, minus infinity gives 0, alone NaN."""
    torch = pytest.importorskip("torch")
    inf, nan = float("inf"), float("nan")
    rows = [[nan, 1], [inf, 1], [inf, nan], [-inf, 1], [-inf, -inf], [-3.3e38, -inf], [-inf, inf]]
    rows += [[0, -80], [0, -100], [3e38, -3e38], [-2e38, -3e38], [1e38, -inf], [-0.0, 0.0]]
    x = torch.zeros(len(rows), 128)
    for row, (first, others) in zip(x, rows, strict=True):
        row[:] = others
        row[5] = first
    x = x.to(getattr(torch, dtype))
    actual = part("softmax", "kernel").softmax(len(rows), 128, dtype)(x).double()
    wanted = torch.softmax(x.double(), 1)
    assert torch.equal(actual.isnan(), wanted.isnan())
    least = 2.0**-125  # fast math gives 0 in place of what is smaller
    error = (actual - wanted).abs() - TOLERANCE[dtype] * wanted.abs()
    assert error.nan_to_num(0.0).max() <= least


def test_softmax_of_bfloat16_is_within_two_thirds_of_a_unit():
    """0.65 of the last place, for all that float64 gives, down to the smallest numbers."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(7)
    for spread in (1, 30, 1000):
        x = (torch.randn(64, 512) * spread).bfloat16()
        actual = part("softmax", "kernel").softmax(64, 512, "bfloat16")(x).double()
        wanted = torch.softmax(x.double(), 1)
        seen = wanted > 2.0**-120
        unit = torch.exp2(torch.floor(torch.log2(wanted[seen])) - 7)
        assert ((actual - wanted)[seen].abs() / unit).max() <= 0.65
        assert (actual[~seen] <= 2.0**-119).all()


@pytest.mark.parametrize("form", [{}, {"strip": 16}, {"strip": 32}])
def test_attention_where_larger_scores_come(form):
    """From block to block, by little and by much; what sees nothing harms no other query."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(7)
    q, k, v = (torch.randn(1, 128, 64) for _ in range(3))
    k *= torch.linspace(0.1, 12, 128)[:, None]
    k[..., 0] = 0.5
    q[0, 3] = 0
    q[0, 3, 0] = -float("inf")
    shape = {"heads": 1, "length": 128, "dim": 64, "dtype": "float32", "causal": False}
    attend = part("flash_attention", "kernel").flash_attention
    actual = attend(**shape, block_m=32, block_n=16, **form)(q, k, v)[0].double()
    exact = (torch.softmax(q.double() @ k.double().mT / 8, -1) @ v.double())[0]
    assert actual[3].isnan().all()
    seen = torch.arange(128) != 3
    assert (actual - exact)[seen].abs().max() <= TOLERANCE["float32"] * exact[seen].abs().max()


@pytest.mark.parametrize(
    ("name", "sizes", "told"),
    [
        (
            "linear_int4",
            {"m": 1, "n": 64, "k": 600},
            "linear_int4 takes k in steps of 2 block_k = 512, not 600",
        ),
        (
            "rope",
            {"length": 4, "heads": 2, "dim": 65},
            "rope turns two halves of a head, but dim is 65",
        ),
    ],
)
def test_sizes_that_an_operator_has_no_kernel_for(name, sizes, told):
    with pytest.raises(ValueError, match=told):
        getattr(part(name, "kernel"), name)(**sizes, dtype="float32")
