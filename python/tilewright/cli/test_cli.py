# SPDX-License-Identifier: Apache-2.0
"""The command `tilewright`, in processes of its own."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("tilewright._compiler")

from tilewright.cli.ascendc import program  # noqa: E402

PACKAGE = Path(__file__).resolve().parents[2]
ROOT = PACKAGE.parent
KERNELS = """
import tilelang
import tilelang.language as T

@tilelang.jit(out_idx=[1])
def double(N, dtype="float32"):
    @T.prim_func
    def twice(A: T.Tensor((N,), dtype), B: T.Tensor((N,), dtype)):
        with T.Kernel(N) as bx:
            B[bx] = A[bx] * 2.0
    return twice

@T.prim_func
def other(A: T.Tensor((8,), "float32")):
    with T.Kernel(8) as bx:
        A[bx] = 1.0

if __name__ == "__main__":
    raise SystemExit("the main part ran")
"""
WRONG = """
import tilelang.language as T

@T.prim_func
def wrong(A: T.Tensor((8,), "float32")):
    with T.Kernel(8) as bx:
        A[bx, 0] = 1.0
"""


@pytest.fixture
def command(tmp_path):
    (tmp_path / "kernels.py").write_text(KERNELS)
    (tmp_path / "wrong.py").write_text(WRONG)

    def run(*arguments, code=0, **environment):
        env = {**os.environ, "PYTHONPATH": str(PACKAGE), "NO_COLOR": "1"}
        env |= {"TILEWRIGHT_CACHE_DIR": str(tmp_path / "cache"), **environment}
        done = subprocess.run(
            [sys.executable, "-m", "tilewright", *map(str, arguments)],
            env=env,
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done

    return run


def test_help(command):
    text = command("--help").stdout
    assert "tilewright compile" in text and "exit codes: 0 done" in text
    for name in ("run", "compile", "inspect", "doctor", "cache"):
        assert name in text
        command(name, "--help")
    command(code=2)
    assert command("--version").stdout == "0.1.0\n"


def test_run(command, tmp_path):
    (tmp_path / "neighbour.py").write_text("value = 7\n")
    (tmp_path / "script.py").write_text(
        "import sys, tilelang, tilewright, neighbour\n"
        "assert tilelang is tilewright and __name__ == '__main__'\n"
        "print(sys.argv[1:], neighbour.value, 'torch' in sys.modules)\n"
        "sys.exit(5 if '--fail' in sys.argv else 0)\n"
    )
    assert command("run", "script.py", "a", "-b").stdout == "['a', '-b'] 7 False\n"
    command("run", "script.py", "--fail", code=5)
    assert "there is no file 'gone.py'" in command("run", "gone.py", code=2).stderr
    assert "name a script, or a module with -m" in command("run", code=2).stderr
    assert "no target 'x'" in command("run", "--target", "x", "script.py", code=2).stderr
    text = command("run", "--target", "cuda", "script.py", code=2).stderr
    assert "target 'cuda' is not supported yet" in text and "Traceback" not in text
    (tmp_path / "main.py").write_text("import sys; print(__name__, sys.argv[1:])\n")
    assert command("run", "-m", "main", "a", "-b").stdout == "__main__ ['a', '-b']\n"


def test_a_traceback_of_run_ends_at_the_users_line(command, tmp_path):
    (tmp_path / "script.py").write_text(
        "import tilelang\nimport kernels\n"
        "try:\n    kernels.double(4)(1, 2, 3)\n"
        "except TypeError:\n    tilelang.compile(3)\n"
    )
    lines = command("run", "script.py", code=1).stderr.splitlines()
    files = [line.split('"')[1] for line in lines if line.startswith("  File")]
    assert files == ["script.py", "script.py"]
    assert lines[-1].startswith("TypeError: expected a kernel")
    # A slip of ours keeps its frames.
    (tmp_path / "script.py").write_text("import tilewright.suggestions as s\ns.near(None, ['a'])\n")
    assert "suggestions.py" in command("run", "script.py", code=1).stderr


def test_run_of_a_script_for_a_gpu(command, tmp_path):
    pytest.importorskip("torch")
    (tmp_path / "script.py").write_text(
        "import tilelang, tilelang.language as T, torch\n"
        "key = tilelang.PassConfigKey.TL_DISABLE_WARP_SPECIALIZED\n"
        "@tilelang.jit(out_idx=[-1], target='cuda', execution_backend='cython',\n"
        "              pass_configs={key: True, 'tl.disable_tma_lower': True})\n"
        "def double(N):\n"
        "    @T.prim_func\n"
        "    def twice(A: T.Tensor((N,), 'float32'), B: T.Tensor((N,), 'float32')):\n"
        "        with T.Kernel(N, threads=32) as bx:\n"
        "            B[bx] = A[bx] * 2.0\n"
        "    return twice\n"
        "assert torch.cuda.is_available()\n"
        "a = torch.arange(4.0, device='cuda')\n"
        "b = double(4)(a)\n"
        "print(b.is_cuda, b.device, b.cpu().tolist())\n"
    )
    assert command("run", "script.py").stdout == "True cuda:0 [0.0, 2.0, 4.0, 6.0]\n"
    text = command("run", "--no-device-map", "script.py", code=1).stderr
    assert "assert torch.cuda.is_available()" in text


def test_run_shows_errors_of_a_script_as_python_does(command, tmp_path):
    (tmp_path / "script.py").write_text(
        "import tilelang\nfrom wrong import wrong\ntilelang.compile(wrong)\n"
    )
    text = command("run", "script.py", code=1).stderr
    assert "runpy" not in text and "running.py" not in text
    assert re.search(r'File ".*script.py", line 3', text)
    assert "wrong.py:7:9: error: buffer 'A' has 1 dimension but is indexed with 2" in text


def test_inspect(command):
    text = command("inspect", "kernels.py", "-k", "double", "--args", "N=4").stdout
    assert "func.func @twice" in text
    names = command("inspect", "kernels.py", "-k", "other", "--list-stages").stdout.split()
    assert names[0] == "tile" and names[-2:] == ["llvm", "asm"]
    assert "define" in command("inspect", "kernels.py", "-k", "other", "--stage", "llvm").stdout
    for name in ("lower-copies", "cpu-lower-copies"):
        assert (
            "func.func" in command("inspect", "kernels.py", "-k", "other", "--stage", name).stdout
        )
    stages = json.loads(command("inspect", "kernels.py", "-k", "other", "--json").stdout)
    assert [name for name, _ in stages["stages"]] == names
    wrong = command("inspect", "kernels.py", "-k", "other", "--stage", "nothing", code=2)
    assert "there is no stage 'nothing'; there are: tile" in wrong.stderr


def test_the_target_of_the_factory(command, tmp_path):
    """Counts where the command names none."""
    text = KERNELS.replace("@tilelang.jit(", "@tilelang.jit(target='ascend', ", 1)
    assert text != KERNELS
    (tmp_path / "npu.py").write_text(text)
    kernel = ["npu.py", "-k", "double", "--args", "N=64"]
    assert "kernel_operator.h" in command("inspect", *kernel, "--stage", "ascendc").stdout
    stages = command("inspect", *kernel, "--target", "cpu", "--list-stages").stdout.split()
    assert stages[-1] == "asm"
    refused = command("compile", *kernel, "-o", "l.so", "--header", "l.h", code=2)
    assert "target 'ascend' has no header" in refused.stderr


def test_an_eager_kernel(command, tmp_path):
    (tmp_path / "eager.py").write_text(
        "import tilewright, tilewright.language as T\n"
        "@tilewright.jit\n"
        "def add(A, B):\n"
        "    M, N = T.const('M, N')\n"
        "    A: T.Tensor[[M, N], T.float32]\n"
        "    B: T.Tensor[[N], T.float32]\n"
        "    C = T.empty([M, N], T.float32)\n"
        "    with T.Kernel(M) as bx:\n"
        "        C[bx, 0] = A[bx, 0] + B[0]\n"
        "    return C\n"
    )
    text = command("inspect", "eager.py", "--args", "A=3x4", "B=4x").stdout
    assert "!tile.buffer<3x4xf32, global>" in text and "!tile.buffer<4xf32, global>" in text
    wrong = command("inspect", "eager.py", "--args", "A=3x4", "B=5x", code=2).stderr
    assert "'N' is 4 but argument 'B' has 5 there; --args gives tensors as their shapes" in wrong
    wrong = command("inspect", "eager.py", "--args", "A=3x4", "B=4", code=2).stderr
    assert "tensor was expected; --args gives tensors as their shapes: A=64x128" in wrong
    missing = command("inspect", "eager.py", code=2).stderr
    assert "kernel 'add' needs arguments: --args A=... B=...; tensors as their shapes" in missing


def test_a_kernel_under_jit_is_found(command, tmp_path):
    (tmp_path / "bound.py").write_text(
        "import tilewright, tilewright.language as T\n"
        "@tilewright.jit(out_idx=[-1])\n"
        "@T.prim_func\n"
        "def twice(A: T.Tensor((8,), 'float32'), B: T.Tensor((8,), 'float32')):\n"
        "    with T.Kernel(1):\n"
        "        for i in T.Parallel(8):\n"
        "            B[i] = A[i] * 2\n"
    )
    assert "@twice" in command("inspect", "bound.py").stdout
    commas = command("inspect", "kernels.py", "-k", "double", "--args", "N=3,M=4", code=2).stderr
    assert "'N=3,M=4' has commas: spaces stand between arguments, as in M=64 N=64" in commas
    wrong = command("inspect", "bound.py", "--args", "N=1", code=2).stderr
    assert "kernel 'twice' takes no --args: it is no factory" in wrong


def test_wrong_commands(command):
    def message(*arguments):
        return command("inspect", *arguments, code=2).stderr

    assert "there is no file 'gone.py'" in message("gone.py")
    assert "choose a kernel of 'kernels.py' with --kernel; it has: double, other" in message(
        "kernels.py"
    )
    assert "has no kernel 'x'; it has: double, other" in message("kernels.py", "-k", "x")
    assert "needs arguments: --args N=..." in message("kernels.py", "-k", "double")
    assert "takes no --args: it is no factory" in message(
        "kernels.py", "-k", "other", "--args", "N=1"
    )
    assert "is not of the form NAME=VALUE" in message("kernels.py", "-k", "double", "--args", "N")
    assert "factory 'double' has no argument 'M'; it has: N, dtype" in message(
        "kernels.py", "-k", "double", "--args", "N=4", "M=4"
    )
    both = message("kernels.py", "-k", "double", "--args", "M=4", "Q=4")
    assert "needs arguments: --args N=...; it has no argument 'M', 'Q'; it has: N, dtype" in both
    text = command("inspect", "wrong.py", code=1).stderr
    assert "wrong.py:7:9: error: buffer 'A' has 1 dimension" in text
    assert "Traceback" not in text


@pytest.mark.parametrize(
    "arguments",
    [
        ["compile", "kernels.py", "-k", "other", "-o", "l.so"],
        ["inspect", "kernels.py", "-k", "other"],
        ["run", "kernels.py"],
        ["profile", "kernels.py"],
    ],
    ids=lambda words: words[0],
)
def test_targets_that_there_are_not(command, arguments):
    text = command(*arguments[:1], "--target", "toy", *arguments[1:], code=2).stderr
    known = "ascend, ascendc, auto, c, cpu, llvm, npu, pto, reference"
    assert text == f"tilewright {arguments[0]}: there is no target 'toy'; there are: {known}\n"
    text = command(*arguments[:1], "--target", "ascent", *arguments[1:], code=2).stderr
    known = "did you mean 'ascend'?"
    assert text == f"tilewright {arguments[0]}: there is no target 'ascent'; {known}\n"
    text = command(*arguments[:1], "--target", "cuda", *arguments[1:], code=2).stderr
    assert text.startswith(f"tilewright {arguments[0]}: target 'cuda' is not supported yet; ")
    assert text.count("\n") == 1


def test_compile_for_the_reference(command, tmp_path):
    arguments = ["kernels.py", "-k", "other", "--target", "reference", "-o", "l.so"]
    text = command("compile", *arguments, code=2).stderr
    sentence = "makes no library: it interprets the kernel; cpu and ascend make one"
    assert text == f"tilewright compile: target 'reference' {sentence}\n"
    assert not (tmp_path / "l.so").exists()


def test_a_file_does_not_see_the_arguments_of_the_command(command, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/neighbour.py").write_text("value = 7\n")
    (tmp_path / "folder/kernels.py").write_text(
        f"import sys, neighbour\nprint(sys.argv, neighbour.value)\n{KERNELS}"
    )
    text = command("inspect", "folder/kernels.py", "-k", "double", "--args", "N=4").stdout
    assert text.startswith("['folder/kernels.py'] 7\n")


def test_outputs_that_cannot_be_written(command, tmp_path):
    arguments = ["compile", "kernels.py", "-k", "other"]
    text = command(*arguments, "-o", "gone/l.so", code=2).stderr
    assert text == "tilewright compile: 'gone/l.so' can't be written: No such file or directory\n"
    text = command(*arguments, "-o", "l.so", "--header", "gone/l.h", code=2).stderr
    assert "'gone/l.h' can't be written" in text
    assert not list(tmp_path.glob("l.so*"))
    (tmp_path / "folder.h").mkdir()
    text = command(*arguments, "-o", "l.so", "--header", "folder.h", code=2).stderr
    assert "'folder.h' can't be written: Is a directory" in text
    assert not list(tmp_path.glob("l.so*"))
    command(*arguments, "-o", "/dev/null", "--header", "l.h")
    assert [path.name for path in tmp_path.glob("l.*")] == ["l.h"]


@pytest.mark.parametrize(
    ("content", "message"),
    [("1/0\n", "ZeroDivisionError: division by zero"), ("def (\n", "SyntaxError"), ("\0", "null")],
)
def test_files_that_fail(command, tmp_path, content, message):
    (tmp_path / "broken.py").write_text(content)
    text = command("inspect", "broken.py", code=1).stderr
    assert message in text and "kernel_files.py" not in text and "runpy" not in text


def test_compile(command, tmp_path):
    arguments = ["kernels.py", "-k", "double", "--args", "N=4", "dtype=float32"]
    outputs = ["-o", "libtwice.so", "--header", "twice.h", "--json"]
    made = json.loads(command("compile", *arguments, *outputs).stdout)
    assert made["kernel"] == "twice" and made["library"] == "libtwice.so"
    compiler = shutil.which("clang-22") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    prototype = re.search(r"int32_t twice\(([^)]*)\)", (tmp_path / "twice.h").read_text())
    assert prototype is not None
    (tmp_path / "main.c").write_text("""
#include <stdio.h>
#include "twice.h"
int main(void) {
  float a[4] = {1, 2, 3, 4}, b[4] = {0};
  int32_t status = twice(a, b);
  printf("%d %g %g %g %g\\n", status, b[0], b[1], b[2], b[3]);
  return 0;
}
""")
    subprocess.run(
        [
            compiler,
            "main.c",
            "-I",
            str(ROOT / "include"),
            "-L.",
            "-ltwice",
            "-Wl,-rpath,.",
            "-o",
            "m",
        ],
        cwd=tmp_path,
        check=True,
    )
    done = subprocess.run(["./m"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "0 2 4 6 8\n"
    needed = subprocess.run(
        ["readelf", "-d", "libtwice.so"], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout
    assert "MLIR" not in needed and "python" not in needed


def test_compile_for_other_cpus(command, tmp_path):
    for cpu in ("avx2", "neon"):
        arguments = ["kernels.py", "-k", "other", "--cpu", cpu, "-o", f"{cpu}.so"]
        command("compile", *arguments)
        machine = (tmp_path / f"{cpu}.so").read_bytes()[18:20]
        assert machine == (b"\xb7\x00" if cpu == "neon" else b"\x3e\x00")


def test_a_cpu_that_there_is_not_is_a_wrong_command(command):
    for words in (
        ["compile", "kernels.py", "-k", "other", "-o", "z.so"],
        ["inspect", "kernels.py", "-k", "other"],
        ["run", "kernels.py"],
    ):
        name, *others = words
        wrong = command(name, "--cpu", "z80", *others, code=2)
        assert wrong.stderr.startswith(f"tilewright {name}: no CPU is named 'z80' on ")


def test_compile_for_ascend(command, tmp_path):
    if program() is None:
        pytest.skip("the Ascend host is not built")
    kernel = [str(ROOT / "examples/ascend/gemm.py"), "-k", "matmul_developer", "--target", "ascend"]
    kernel += ["--args", "M=64", "N=64", "K=64", "block_M=32", "block_N=32", "K_L1=32"]
    command("compile", *kernel, "-o", "gemm.so", "--manifest", "gemm.json")
    manifest = json.loads((tmp_path / "gemm.json").read_text())
    assert manifest["target"] == "ascend" and manifest["name"] == "main"
    library = (tmp_path / "gemm.so").read_bytes()
    assert b"main_grid" in library and b"main_launch" in library
    stages = json.loads(command("inspect", *kernel, "--json").stdout)["stages"]
    assert len(dict(stages)) == len(stages)  # a pass that runs twice gives two names
    for name in ("cse", "cse-2"):
        assert command("inspect", *kernel, "--stage", name).stdout == dict(stages)[name] + "\n"
    # With the factory's pass configs: the compiler places the flags.
    text = command("inspect", *kernel, "--stage", "ascendc").stdout
    assert "SetFlag<HardEvent::MTE2_MTE1>" in text
    refused = command("compile", *kernel, "-o", "gemm.so", "--header", "gemm.h", code=2)
    assert "has no header: its library is launched through acl" in refused.stderr


def test_doctor(command, tmp_path):
    text = command("doctor").stdout
    assert "target     cpu          ok" in text and str(tmp_path / "cache") in text
    report = json.loads(command("doctor", "--json").stdout)
    assert report["works"] is True
    states = {(f["part"], f["name"]): f["state"] for f in report["findings"]}
    assert states["target", "cuda"] == "planned"
    has_host = program() is not None
    assert states["target", "ascend"] == ("ok" if has_host else "missing")
    assert states["compiler", "host C++"] == "ok" and states["compiler", "bisheng"] == "missing"
    bisheng = tmp_path / "toolkit/bin/bisheng"
    bisheng.parent.mkdir(parents=True)
    bisheng.write_text("")
    bisheng.chmod(0o755)
    found = command("doctor", ASCEND_HOME_PATH=str(tmp_path / "toolkit")).stdout
    assert re.search(rf"compiler\s+bisheng\s+ok .*{bisheng}", found)
    bare = command("doctor", PATH=str(tmp_path)).stdout
    assert re.search(r"target\s+ascend\s+missing\s+there is no C\+\+ compiler", bare)
    assert re.search(r"compiler\s+host C\+\+\s+missing", bare)
    file = tmp_path / "file"
    file.write_text("")
    under_a_file = command("doctor", TILEWRIGHT_CACHE_DIR=str(file / "cache")).stdout
    assert f"{file}/cache can't be written" in under_a_file
    for name in ("TILELANG_DISABLE_CACHE", "TILEWRIGHT_DISABLE_CACHE"):
        off = command("doctor", **{name: "1"}).stdout
        assert re.search(rf"cache\s+disk\s+off.*\({name}\)", off)


def test_without_what_is_built(tmp_path):
    shutil.copytree(PACKAGE / "tilewright", tmp_path / "tilewright", ignore=lambda _, names: [
        name for name in names if name.endswith(".so")
    ])  # fmt: skip

    def python(*arguments):
        return subprocess.run(
            [sys.executable, *arguments],
            env={**os.environ, "PYTHONPATH": str(tmp_path), "TILEWRIGHT_BUILD": str(tmp_path)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )

    remedy = "run 'make build' in a clone, or install a wheel of tilewright"
    done = python("-m", "tilewright", "doctor")
    assert done.returncode == 3, done.stderr
    assert "Traceback" not in done.stderr and "apt-get install libmlir" not in done.stdout
    built = rf"missing  tilewright._runtime is not built\n +-> {remedy}\n"
    assert re.search(rf"runtime\s+_runtime\s+{built}", done.stdout)
    assert re.search(rf"target\s+cpu\s+{built.replace('runtime', 'compiler')}", done.stdout)
    assert re.search(rf"cache\s+disk\s+{built}", done.stdout)
    assert re.search(r"target\s+ascend\s+missing", done.stdout)

    for name in ("jit", "compile", "autotune", "get_num_threads"):
        lines = python("-c", f"import tilewright\ntilewright.{name}").stderr.splitlines()
        error = "tilewright.errors.CompilerMissingError: tilewright._runtime is not built"
        assert lines[-1] == f"{error}; {remedy}"
        assert sum(line.startswith("  File") for line in lines) == 2

    (tmp_path / "script.py").write_text("print(1)\n")
    done = python("-m", "tilewright", "profile", "script.py")
    assert done.returncode == 3
    assert done.stderr == f"tilewright profile: tilewright._runtime is not built; {remedy}\n"


def test_cache(command, tmp_path):
    (tmp_path / "script.py").write_text("import kernels\nkernels.double(4)\n")
    command("run", "script.py")
    listed = json.loads(command("cache", "ls", "--json").stdout)
    assert [e["kernel"] for e in listed] == ["twice"]
    assert "twice" in command("cache", "list").stdout
    assert command("cache", "path").stdout.strip() == str(tmp_path / "cache")
    assert command("cache", "clear").stdout.startswith("removed 1 kernels")
    assert command("cache", "ls", "--json").stdout.strip() == "[]"


def test_another_tilelang_is_named(command, tmp_path):
    (tmp_path / "site" / "tilelang").mkdir(parents=True)
    (tmp_path / "site" / "tilelang" / "__init__.py").write_text("")
    (tmp_path / "script.py").write_text("import tilelang; print(tilelang.__name__)\n")
    paths = f"{PACKAGE}{os.pathsep}{tmp_path / 'site'}"
    done = command("run", "script.py", PYTHONPATH=paths)
    assert done.stdout == "tilewright\n"
    assert "'import tilelang' gives tilewright, not" in done.stderr


@pytest.mark.parametrize("case", ["ours", "late", "another"])
def test_doctor_says_whose_tilelang_is_imported(tmp_path, case):
    """What it says is compared with what a fresh Python imports."""
    site = tmp_path / "site"
    site.mkdir()
    if case == "ours":  # as in a folder of packages, where Python reads tilewright_alias.pth
        (site / "sitecustomize.py").write_text("import tilewright_alias\n")
    if case == "another":
        (site / "tilelang").mkdir()
        (site / "tilelang" / "__init__.py").write_text("")

    def python(code: str) -> str:
        code = ("import sitecustomize\n" if case == "ours" else "") + code
        environment = {**os.environ, "PYTHONPATH": f"{site}{os.pathsep}{PACKAGE}"}
        # -S: without the alias of the environment that the test runs in
        command = [sys.executable, "-S", "-c", code]
        return subprocess.run(command, env=environment, capture_output=True, text=True).stdout

    imported = python(
        "try:\n import tilelang; print(tilelang.__name__)\nexcept ImportError: print('none')"
    )
    text = python("from tilewright.cli import main\nmain(['doctor'])")
    told = next(line for line in text.splitlines() if line.startswith("alias"))
    wanted = {
        "ours": ("tilewright", r"ok +'import tilelang' gives this package$"),
        "late": ("none", r"off +'import tilelang' gives this package only after"),
        "another": ("tilelang", r"off +another tilelang is installed: .*site/tilelang"),
    }
    assert imported.strip() == wanted[case][0]
    assert re.search(wanted[case][1], told), told
