# SPDX-License-Identifier: Apache-2.0
"""A random kernel as a program that anyone can run, with its inputs and what it should give."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from random_kernels import LIMIT

if TYPE_CHECKING:
    from random_kernels import RandomKernel
    from thread_kernels import ThreadKernel

HEAD = '''"""A kernel that failed a random test. Run it: it says which target differs from NumPy,
and where. Its exit code is then 1."""

import sys

import numpy as np

import tilewright
'''

TAIL = '''

def inputs():
    generator = np.random.default_rng({seed})
    return [
        generator.integers({low}, {high}, shape).astype(np.float32)
        for shape in {shapes}
    ]


# What NumPy gave.
EXPECTED = np.array(
    {expected},
    np.float32,
).reshape({output})


def difference(target):
    """What `target` does wrong; empty if it does all right."""
    found = np.zeros(EXPECTED.shape, np.float32)
    try:
        tilewright.compile(kernel, target=target)(*inputs(), found)
    except Exception as failure:
        return f"{{type(failure).__name__}}: {{failure}}"
    is_same = (found == EXPECTED) | (np.isnan(found) & np.isnan(EXPECTED))
    lines = [f"{{(~is_same).sum()}} of {{found.size}} elements differ from NumPy's"]
    for at in np.argwhere(~is_same)[:10]:
        where = tuple(int(i) for i in at)
        lines.append(f"  Out{{list(where)}} is {{found[where]}}, should be {{EXPECTED[where]}}")
    return "" if is_same.all() else "\\n".join(lines)


def main():
    has_failed = False
    for target in ("reference", "cpu"):
        print(f"{{target}}: ", end="", flush=True)  # what ends the process is seen, too
        wrong = difference(target)
        print(wrong or "right")
        has_failed |= bool(wrong)
    return int(has_failed)


if __name__ == "__main__":
    sys.exit(main())
'''


def numbers(values: np.ndarray[Any, Any]) -> str:
    flat = [int(v) if float(v).is_integer() else float(v) for v in values.ravel()]
    return repr(flat).replace("nan", "np.nan").replace("inf", "np.inf")


def program(random: RandomKernel | ThreadKernel, seed: int, expected: np.ndarray[Any, Any]) -> str:
    """The text of the program, for the inputs that `random_inputs` makes of the seed."""
    return (
        HEAD
        + random.source
        + TAIL.format(
            seed=seed,
            low=-LIMIT,
            high=LIMIT + 1,
            shapes=list(random.inputs.values()),
            expected=numbers(expected),
            output=tuple(random.output),
        )
    )
