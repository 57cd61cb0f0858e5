# SPDX-License-Identifier: Apache-2.0
"""Kernels whose C++ code does what no core can: each ends with its line, the program goes on."""

import ctypes
import os
import platform
import re
import signal
import subprocess
from pathlib import Path

import pytest
from built_driver import DRIVER, needs_driver

pytestmark = needs_driver

IS_X86 = platform.machine() == "x86_64"
PR_SET_SYSCALL_USER_DISPATCH = 59  # of Linux 5.11
HANDS_CALLS_OVER = (
    IS_X86 and ctypes.CDLL(None).prctl(PR_SET_SYSCALL_USER_DISPATCH, *[ctypes.c_ulong(0)] * 4) == 0
)
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
        "the kernel freed what it didn't take from the heap: it lies on the stack",
    ),
    (
        "static int table[64]; free(table + 4 * one);",
        "the kernel freed what it didn't take from the heap: it is a static variable",
    ),
    (
        "AscendC::LocalTensor<int> t(AscendC::TPosition::VECCALC, 0, 64); "
        "free((void*)t[8 * one].GetPhyAddr());",
        "the kernel freed what it didn't take from the heap: it lies in a memory of the core",
    ),
    ("free((void*)(0x1234L * one));", "the heap: its address is that of no piece"),
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
        if IS_X86
        else "exit(1);",
        "the kernel jumped onto its own stack, which is damaged"
        if IS_X86
        else "the kernel called exit(1); a kernel ends by returning",
    ),
    ("longjmp(jump, 1);", "the kernel's scalar code touched an address that no memory can have"),
    ("memset(jump, 7, sizeof jump); siglongjmp(jump, 1);", "address that no memory can have"),
    ("for (int i = 0; i < 99; ++i) close(i);", NO_SYSTEM),
    ("pthread_exit(nullptr);", NO_SYSTEM),
    ("sigset_t all; sigfillset(&all); pthread_sigmask(SIG_BLOCK, &all, nullptr);", NO_SYSTEM),
    (
        "static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; for (;;) pthread_mutex_lock(&m);",
        "the kernel has waited for 1 s in a call of the operating system, which a core has not",
    ),
    (
        "AscendC::PipeBarrier<PIPE_V>(); memset(&tilewright::ascend::agentView(), 7, 64 * one);",
        "a wild write of the kernel has changed what the machine knows of its core",
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
# With 5000 bytes of GM: what plain pointers do there.
CASES_OF_GM = [
    "for (int i = 0; i < 99999 * one; ++i) gm[i] = 1;",
    "for (int i = 0; i < 99999 * one; ++i) gm[-i] = 1;",
]
# A note names the kernel and its launch; the program can't go on.
DAMAGES = [
    (
        "memset(host + 24, 0x41, 8 * 4);",
        "the program's heap is damaged: by a wild write of a kernel, or by the host code itself",
    ),
    (
        'using Call = long (*)(long, ...); ((Call)dlsym(RTLD_DEFAULT, "syscall"))(SYS_exit, 0);',
        "the kernel has ended its thread by a system call, and the launch with it",
    ),
    (
        "memset(stdout, 0x41, 200);",
        "the program failed in code of the host: a wild write of a kernel has damaged its memory, "
        "or the host code itself touches what it has not",
    ),
]
if HANDS_CALLS_OVER:
    CASES += [
        (
            f'long r; asm volatile("syscall" : "=a"(r) : "a"({call}), "D"(0) : "rcx", "r11");',
            NO_SYSTEM,
        )
        for call in (57, 60, 231)  # fork, exit, exit_group
    ]
if IS_X86:
    CASES += [
        (  # where Linux would keep the processor's number, and end the program if it can't
            'char* p; asm("mov %%fs:0, %0" : "=r"(p)); memset(p + __rseq_offset, 65, 32 * one); '
            "for (volatile int i = 0; i < 20000000 * one; ++i) {}",
            None,
        ),
    ]
    DAMAGES += [
        (  # the thread's own variables: nobody can look at anything. The C library keeps 1664 bytes
            # free for libraries that come late, beside those in use (the machine's are 801); below
            # them there may be nothing, and a write that begins there is an error at its line.
            'char* p; asm("mov %%fs:0, %0" : "=r"(p)); memset(p - 2000, 0x41, 3000);',
            "the machine itself failed while a kernel ran: a wild write of the kernel has damaged ",
        ),
    ]
SOURCE = """#include "acl/acl.h"
#include "kernel_operator.h"
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <list>
#include <map>
#include <pthread.h>
#include <string>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>
static void* volatile sink;
static jmp_buf jump;
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
__global__ __aicore__ void prints_for_ever(int start) {
  for (int i = start;; ++i)
    AscendC::printf("round %d\\n", i);
}
__global__ __aicore__ void frees(GM_ADDR gm) { delete (int*)(gm + 512); }
"""


FAILING_LAUNCHES = 1000
PRINTING = 1001
FREEING = 1002
FIRST_DAMAGE = 2000
FIRST_OF_GM = 3000


@pytest.fixture(scope="module", name="program")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that runs the case that its argument names."""
    folder = tmp_path_factory.mktemp("hostile")
    text = SOURCE
    for k, (body, _) in enumerate(CASES):
        text += f"__global__ __aicore__ void k{k}(int one) {{ // case {k}\n{body}\n}}\n"
    for k, body in enumerate(CASES_OF_GM):
        text += (
            f"__global__ __aicore__ void g{k}(int one, GM_ADDR gm) {{ // of GM {k}\n{body}\n}}\n"
        )
    for k, (body, _) in enumerate(DAMAGES):
        text += f"__global__ __aicore__ void d{k}(char* host) {{\n{body}\n}}\n"
    text += "int main(int, char** arguments) {\n  aclInit(nullptr);\n  aclrtSetDevice(0);\n"
    text += "  void* gm;\n  aclrtMalloc(&gm, 5000, ACL_MEM_MALLOC_HUGE_FIRST);\n"
    text += "  switch (atoi(arguments[1])) {\n"
    for k in range(len(CASES)):
        text += f"  case {k}: k{k}<<<1, nullptr, nullptr>>>(1); break;\n"
    for k in range(len(CASES_OF_GM)):
        text += f"  case {FIRST_OF_GM + k}: g{k}<<<1, nullptr, nullptr>>>(1, (GM_ADDR)gm); break;\n"
    for k in range(len(DAMAGES)):
        text += f"  case {FIRST_DAMAGE + k}: d{k}<<<1, nullptr, nullptr>>>(new char[24]); break;\n"
    text += f"  case {PRINTING}: prints_for_ever<<<1, nullptr, nullptr>>>(0); break;\n"
    text += f"  case {FREEING}: frees<<<1, nullptr, nullptr>>>((GM_ADDR)gm); break;\n"
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


def test_free_of_gm(program: Path) -> None:
    """It damages nothing, so that only the core fails."""
    command = [program, str(FREEING)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert "the kernel freed what it didn't take from the heap: it lies in GM" in answer.stderr
    assert (answer.returncode, answer.stdout) == (66, "went on, 507035\n")


def test_plain_pointers_that_leave_gm(program: Path) -> None:
    """Beside of GM is nothing, so that nothing of the host is damaged."""
    lines = program.with_suffix(".cpp").read_text().splitlines()
    for k in range(len(CASES_OF_GM)):
        command = [program, str(FIRST_OF_GM + k)]
        answer = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        line = next(i for i, text in enumerate(lines, 1) if text.endswith(f"// of GM {k}")) + 1
        assert f"hostile.cpp:{line}: error: the kernel's scalar code touched address " in (
            answer.stderr
        )
        assert answer.stdout == "went on, 507035\n"


@pytest.mark.parametrize(("number", "error"), [(k, d[1]) for k, d in enumerate(DAMAGES)])
def test_damage_is_told(program: Path, number: int, error: str) -> None:
    """Wherever a fault shows in the end, the program says which kernel ran, and ends by itself."""
    lines = program.with_suffix(".cpp").read_text().splitlines()
    command = [program, str(FIRST_DAMAGE + number)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    launch = next(i for i, text in enumerate(lines, 1) if f" d{number}<<<" in text)
    assert answer.returncode == 66, answer.stderr
    assert f"error: {error}" in answer.stderr
    note = f"hostile.cpp:{launch}: note: the last launch is that of kernel 'd{number}(char*)'"
    assert note in answer.stderr


def test_the_hosts_own_signals_stay(program: Path) -> None:
    """TILEWRIGHT_ASCEND_EXIT=0: a host program ends as it would without kernels."""
    answer = subprocess.run(
        [program, str(FIRST_DAMAGE + 2)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env=os.environ | {"TILEWRIGHT_ASCEND_EXIT": "0"},
    )
    assert answer.returncode == -signal.SIGSEGV
    assert answer.stderr == ""


def test_failed_launches_take_nothing_from_the_next(program: Path) -> None:
    """A core that fails frees nothing: the heap of each of them is given back as a whole."""
    command = [program, str(FAILING_LAUNCHES)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert answer.stdout == "went on, 0\n"
    assert "which is not its memory" in answer.stderr
    assert "bad_alloc" not in answer.stderr


def test_text_without_end(program: Path) -> None:
    """A core prints 16 MiB at most, or as much as the option says; what it has printed stays."""
    lines = program.with_suffix(".cpp").read_text().splitlines()
    line = next(i for i, text in enumerate(lines, 1) if "AscendC::printf(" in text)
    for limit, option in ((1 << 12, "print-limit=0.00390625"), (16 << 20, "threads=1")):
        answer = subprocess.run(
            [program, str(PRINTING)],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            env=os.environ | {"TILEWRIGHT_ASCEND": option},
        )
        text, _, last = answer.stdout.rpartition("went on, ")
        assert last == "507035\n"
        assert limit - 20 < len(text) <= limit
        assert text.startswith("round 0\nround 1\n")
        printed = f"{limit / (1 << 20):g} MiB of text; a chip has room for 1 MiB"
        assert f"hostile.cpp:{line}: error: a core has printed more than {printed}" in answer.stderr
