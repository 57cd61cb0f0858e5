# SPDX-License-Identifier: Apache-2.0
"""Variables whose initialisers run when a program starts: a device has no such time."""

import shutil
import subprocess
from pathlib import Path

import pytest
from built_driver import DRIVER, needs_driver

pytestmark = needs_driver

HEADER = """
int number();
template <class T> struct Holder { static inline T held = T(number()); };
"""
SOURCE = """#include "acl/acl.h"
#include "kernel_operator.h"
#include "holder.h"
#include <cstdio>
#include <vector>
using namespace AscendC;
int number() { return 7; }
struct Table { int rows[4]; Table() { for (int& r : rows) r = number(); } };
static Table table; // line 9
static const int* behind = &table.rows[1];
namespace ns { inline int shared = number() + 1; }
static Table onlyHost; // the kernel doesn't use it
static int plain = 5;
constexpr int constants[3] = {2, 3, 4};
static int zero; // what follows is zero everywhere when the program starts, whoever names it
static int onlyReads = number() + zero;
int touched;
struct Registry { Registry(int* where) : at(where) { number(); } int* at; };
static Registry registry(&touched);
struct Closed { int value = 0; ~Closed() { number(); } };
static Closed closed;
Closed closedToo;
static Table onManyLines = // line 23
    Table(
    );
static int sum =
    number() +
    number();
static int left = number(), right = number(); static int both = left + number(); // line 29
static std::vector<int> empty; // zeros, also in C++17
std::vector<float> emptyToo;
std::vector<int> full(number());
static __aicore__ inline int inner(int i) { return *behind + Holder<short>::held + i; }
__global__ __aicore__ void k(__gm__ int32_t* out, int i) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GlobalTensor<int32_t> g;
  g.SetGlobalBuffer(out, 8);
  g.SetValue(0, inner(ns::shared) + plain + constants[i] + zero);
  g.SetValue(1, touched + closed.value + closedToo.value + onManyLines.rows[i] + sum);
  g.SetValue(2, left + right + both);
  g.SetValue(3, empty.size() + emptyToo.size() + full.size());
}
int main() {
  k<<<1, nullptr, nullptr>>>(nullptr, onlyHost.rows[0] + onlyReads + *registry.at);
}
"""


@pytest.mark.parametrize("compiler", ["clang++-22", "g++-12"])
def test_what_is_zero_in_kernels(tmp_path: Path, compiler: str) -> None:
    """A warning at the variable; none for constants, what only the host uses or others name."""
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    source = tmp_path / "late.cpp"
    source.write_text(SOURCE)
    (tmp_path / "holder.h").write_text(HEADER)
    command = [DRIVER, "build", source, "-o", tmp_path / "late", "--cxx", compiler]
    built = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert built.returncode == 0, built.stderr
    why = (
        "is zero in kernel 'k': its initialiser runs when the program starts, which a device has "
        "not; make it constexpr, or hand its value to the kernel"
    )
    assert sorted(built.stderr.splitlines()) == [
        f"{tmp_path}/holder.h:3: warning: 'Holder<short>::held' {why}",
        f"{source}:11: warning: 'ns::shared' {why}",
        f"{source}:23: warning: 'onManyLines' {why}",
        f"{source}:26: warning: 'sum' {why}",
        f"{source}:29: warning: 'both' {why}",
        f"{source}:29: warning: 'left' {why}",
        f"{source}:29: warning: 'right' {why}",
        f"{source}:32: warning: 'full' {why}",
        f"{source}:9: warning: 'table' {why}",
    ]
    command[2] = "late.cpp"
    built = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=120, cwd=tmp_path
    )
    assert f"late.cpp:9: warning: 'table' {why}" in built.stderr.splitlines()
