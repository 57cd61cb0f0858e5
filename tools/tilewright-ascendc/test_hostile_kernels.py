# SPDX-License-Identifier: Apache-2.0
"""Kernels whose C++ code does what no core can: each ends with its line, the program goes on."""

import os
import platform
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("TILEWRIGHT_BUILD", ROOT / "build"))
DRIVER = BUILD / "bin" / "tilewright-ascendc"

pytestmark = pytest.mark.skipif(not DRIVER.exists(), reason="tilewright-ascendc is not built")

NO_SYSTEM = "the kernel called a function of the operating system, which a core has not"
# What a kernel does (`one` is 1, and the compiler doesn't know it), and the error.
CASES = [
    ("char* p = new char[100]; p[112 * one] = 1;", "touched byte 112 of 100 that it took"),
    ("char* p = (char*)malloc(9000); p[-4097 * one] = 1;", "touched byte -4097 of 9000 that it "),
    ("char* p = (char*)calloc(10, 10); memset(p, 7, 4000 * one);", "touched byte 112 of 100 that"),
    (
        "char* p = new char[100]; p[101 * one] = 1; delete[] p;",
        "the kernel has written past the end of 100 bytes that it took from the heap",
    ),
    (
        "char* p = new char[100]; p[-one] = 1; delete[] p;",
        "the kernel has written before the start of 100 bytes that it took from the heap",
    ),
    (
        "char* p = new char[100]; delete[] p; p[one] = 1;",
        "the kernel touched memory that it has freed",
    ),
    ("int* p = new int; delete p; delete p;", "the kernel freed the same memory twice"),
    (
        "char* p = (char*)malloc(100); free(p + 16 * one);",
        "the kernel freed an address inside or beside of 100 bytes that it took from the heap",
    ),
    (
        "char onStack[64]; free(onStack + 16 * one);",
        "the kernel freed what it didn't take from the heap",
    ),
    (
        "char onStack[64]; sink = realloc(onStack, 100);",
        "the kernel reallocates what it didn't take from the heap",
    ),
    (
        "for (;;) { char* p = new char[1 << 24]; p[one] = 1; sink = p; }",
        "the kernel threw a C++ exception: std::bad_alloc",
    ),
    (
        "std::vector<int> v(10); for (int i = 0; i < 100000; ++i) v[i * one] = i; sink = &v[0];",
        "the kernel touched byte 48 of 40 that it took from the heap",
    ),
    # The same of one of many pieces.
    (
        "take_many(one); char* p = new char[100]; p[101 * one] = 1; delete[] p;",
        "the kernel has written past the end of 100 bytes that it took from the heap",
    ),
    (
        "take_many(one); char* p = new char[100]; p[-one] = 1; delete[] p;",
        "the kernel has written before the start of 100 bytes that it took from the heap",
    ),
    (
        "take_many(one); int* p = new int; delete p; delete p;",
        "the kernel freed the same memory twice",
    ),
    (
        "take_many(one); char* p = (char*)malloc(100); free(p + 16 * one);",
        "the kernel freed an address inside or beside of 100 bytes that it took from the heap",
    ),
    (
        "take_many(one); int* p = new int; delete p; *p = 1; for (;;) delete new int;",
        "the kernel has written to memory that it had freed",
    ),
    (
        "take_many(one); char* p = (char*)malloc(50); sink = p; memset(p, 7, 70000 * one);",
        " of 50 that it took from the heap",
    ),
    (
        "take_many(one); char* p = (char*)malloc(20000); sink = p; p[20000 * one] = 1;",
        "the kernel touched byte 20000 of 20000 that it took from the heap",
    ),
    ("sink = (void*)(long)fork();", NO_SYSTEM),
    ('execl("/bin/true", "true", (char*)nullptr);', NO_SYSTEM),
    ("signal(SIGSEGV, SIG_DFL);", NO_SYSTEM),
    ("sleep(1000);", NO_SYSTEM),
    (
        "getchar();",
        "the kernel has waited for 1 s in a call of the operating system, which a core "
        "has not [507014]",
    ),
    (
        "*(volatile int*)0x7fffffffffffffffull = one;",
        "the kernel's scalar code touched an address that no memory can have",
    ),
    # The address that it returns to is damaged.
    (
        'AscendC::PipeBarrier<PIPE_V>(); __asm__ volatile("mov (%rbp), %rax; push %rax; ret");'
        if platform.machine() == "x86_64"
        else "exit(1);",
        "the kernel jumped onto its own stack, which is damaged"
        if platform.machine() == "x86_64"
        else "the kernel called exit(1); a kernel ends by returning",
    ),
    # Right: what a kernel may do on this machine, if not on a chip.
    (
        "std::map<int, std::string> m; for (int i = 0; i < 300; ++i) m[i] = std::string(i, 'x');\n"
        "std::vector<int> v; for (int i = 0; i < 5000; ++i) v.push_back(i);\n"
        'char* p = (char*)realloc(strdup("text") == nullptr ? nullptr : malloc(10), 10000);\n'
        'free(p); free(strdup("text")); sink = std::aligned_alloc(256, 512); free(sink);\n'
        "if (m.size() + v.size() != 5300) abort();",
        None,
    ),
    (
        "std::list<int> l; for (int i = 0; i < 20000; ++i) l.push_back(i);\n"
        "std::map<int, std::string> m; for (int i = 0; i < 999; ++i) m[i] = std::string(i, 'x');\n"
        "for (int i = 0; i < 999; ++i) if (m[i] != std::string(i, 'x')) abort();\n"
        "struct alignas(256) Wide { char bytes[300]; };\n"
        "Wide* w = new Wide; if ((unsigned long)w % 256) abort(); delete w;\n"
        "char* p = (char*)realloc(memset(malloc(1000), 7, 1000), 50000); if (p[999] != 7)\n"
        "  abort();\n"
        "free(p); p = (char*)calloc(50, 20); for (int i = 0; i < 1000; ++i) if (p[i]) abort();\n"
        "free(p); if (l.size() != 20000) abort();",
        None,
    ),
]
SOURCE = """#include "acl/acl.h"
#include "kernel_operator.h"
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <map>
#include <string>
#include <unistd.h>
#include <vector>
static void* volatile sink;
__aicore__ void take_many(int n) {
  for (int i = 0; i < 200 + n; ++i)
    delete new int;
}
__global__ __aicore__ void takes_and_fails(int n, int* nothing) {
  for (int i = 0; i < n; ++i)
    sink = new char[i % 2 ? 64 : 131072];
  if (nothing != (int*)1)
    *(nothing + 1) = 1;
}
"""


FAILING_LAUNCHES = 1000


@pytest.fixture(scope="module", name="program")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that runs the case that its argument names."""
    folder = tmp_path_factory.mktemp("hostile")
    text = SOURCE
    for k, (body, _) in enumerate(CASES):
        text += f"__global__ __aicore__ void k{k}(int one) {{ // case {k}\n{body}\n}}\n"
    text += "int main(int, char** arguments) {\n  aclInit(nullptr);\n  aclrtSetDevice(0);\n"
    text += "  switch (atoi(arguments[1])) {\n"
    for k in range(len(CASES)):
        text += f"  case {k}: k{k}<<<1, nullptr, nullptr>>>(1); break;\n"
    text += f"  case {FAILING_LAUNCHES}:\n"
    text += (
        "    for (int i = 0; i < 12; ++i) {\n"
        "      takes_and_fails<<<2, nullptr, nullptr>>>(900, nullptr);\n"
        "      aclrtSynchronizeStream(nullptr);\n"
        "    }\n"
        "    takes_and_fails<<<2, nullptr, nullptr>>>(900, (int*)1); // ends well\n"
    )
    text += (
        "  }\n  int status = aclrtSynchronizeStream(nullptr);\n"
        '  char* p = new char[5000]; delete[] p;\n  ::printf("went on, %d\\n", status);\n}\n'
    )
    source = folder / "hostile.cpp"
    source.write_text(text)
    program = folder / "hostile"
    answer = subprocess.run(
        [DRIVER, "build", source, "-o", program, "-fno-builtin"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert answer.returncode == 0, answer.stderr
    return program


def test_each_ends_at_its_line(program: Path) -> None:
    """The error names the line; the host program goes on, whatever the kernel has done."""
    lines = program.with_suffix(".cpp").read_text().splitlines()
    reader, writer = os.pipe()  # nobody writes
    for k, (body, error) in enumerate(CASES):
        answer = subprocess.run(
            [program, str(k)],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            stdin=reader,
            env=os.environ | {"TILEWRIGHT_ASCEND": "idle-limit=1"},
        )
        line = next(i for i, text in enumerate(lines, 1) if text.endswith(f"// case {k}")) + 1
        if error is None:
            assert answer.returncode == 0, answer.stderr
            assert answer.stdout == "went on, 0\n"
            continue
        assert answer.returncode == 66, (body, answer.stderr)
        assert re.match(rf".*hostile\.cpp:{line}: error: .*", answer.stderr), (body, answer.stderr)
        assert error in answer.stderr, (body, answer.stderr)
        assert re.fullmatch(r"went on, 5070(14|35)\n", answer.stdout), (body, answer.stdout)
    os.close(reader)
    os.close(writer)


def test_failed_launches_take_nothing_from_the_next(program: Path) -> None:
    """A core that fails frees nothing: the heap of each of them is given back as a whole."""
    command = [program, str(FAILING_LAUNCHES)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert answer.stdout == "went on, 0\n"
    assert "which is not its memory" in answer.stderr
    assert "bad_alloc" not in answer.stderr
