# SPDX-License-Identifier: Apache-2.0
"""Each check of the sources finds what it is there to find, and passes what is right."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import check
import check_conflicts
import check_docs
import check_layering
import check_merged
import check_messages
import check_names
import check_sizes
import check_spdx
import cpp_names
import debian_packages
import make_docs
import run_tests
import setup
from sources import ROOT


def test_spdx_finds_a_file_without_licence():
    assert check_spdx.lacks_licence("#include <x>\n\n\n// SPDX-License-Identifier: Apache-2.0\n")
    assert not check_spdx.lacks_licence("// SPDX-License-Identifier: Apache-2.0\n")


def test_conflicts_finds_the_marks_of_git():
    text = "a\n" + "<" * 7 + " HEAD\nb\n" + "=" * 7 + "\nc\n" + ">" * 7 + " topic\n"
    assert check_conflicts.marked_lines(text) == [2, 6]
    assert check_conflicts.marked_lines("Title\n=======\n\n>>>>>>>> x\n") == []


@pytest.mark.parametrize(
    "name", ["string_utils.cpp", "Emit.cpp", "emit-loop.py", "v2.h", "misc.md"]
)
def test_names_refuses_a_file(name):
    assert check_names.file_name_fault(Path(name))


@pytest.mark.parametrize(
    "name", ["emit_loop_test.cpp", "README.md", "CMakeLists.txt", "kernel-abi.md", "__init__.py"]
)
def test_names_accepts_a_file(name):
    assert check_names.file_name_fault(Path(name)) is None


def test_names_finds_a_banned_word_in_a_declaration():
    text = "class Layout {};\n  struct BufferManager {\n"
    assert list(check_names.declared_faults(text)) == [(2, "BufferManager")]


def test_names_wants_one_stem_for_a_pass(tmp_path):
    text = 'struct SplitCube : mlir::PassWrapper<SplitCube, X> {\n kArgument = "split-cubes";\n'
    faults = list(check_names.pass_faults(tmp_path / "split.cpp", text))
    assert faults == [
        "pass SplitCube is not in split_cube.cpp",
        "pass SplitCube has no option 'split-cube'",
        "pass SplitCube has no test split_cube.mlir beside it",
    ]
    assert list(check_names.pass_faults(tmp_path / "passes_test.cpp", text)) == []
    (tmp_path / "split_cube.mlir").touch()
    right = 'class SplitCube : public KernelPass<SplitCube> { kArgument = "split-cube"; }'
    assert list(check_names.pass_faults(tmp_path / "split_cube.cpp", right)) == []


def test_sizes_counts_cpp_functions():
    text = """namespace a {
struct S {
  int f() const {
    if (true) {
      return 1; // }
    }
    return 2;
  }
};
void g(int x) { use("{"); }
int table[] = {1, 2};
} // namespace a
S::S(int x)
    : y(x) {
}
"""
    functions = {item.name: (item.line, item.lines) for item in check_sizes.cpp_functions(text)}
    assert functions["f"] == (3, 6)
    assert functions["g"] == (10, 1)
    assert set(functions) >= {"f", "g"} and len(functions) == 3


def test_sizes_counts_python_functions():
    functions = list(check_sizes.python_functions("def f():\n    x = 1\n    return x\n"))
    assert functions == [check_sizes.Function("f", 1, 3)]


def test_sizes_finds_what_is_too_long(tmp_path):
    path = tmp_path / "long.py"
    path.write_text("def f():\n" + "    x = 1\n" * 120)
    keys = [key for key, _ in check_sizes.oversized(path, 100, 100)]
    assert keys == [str(path), f"{path}:f"]


def names_in(text):
    return {(name.name, name.kind, name.detail) for name in cpp_names.names_of(text)}


def test_names_of_a_cpp_file():
    text = """#define ADD(x) \\
  int added##x
#define GONE 1
#undef GONE
#include "x.h"
extern "C" { void outside(); extern int elsewhere; }
namespace a {
class Declared;
using namespace mlir;
using Rows = std::vector<int>;
namespace {
template <class T, int n = 2> struct Box : Base<T> { int inner; void method(); };
enum Kind { first = 1, second };
enum class Space { L1, UB };
constexpr int64_t kSide = 16, kOther[2] = {f(1), 2};
const std::function<void(int)> handler = [](int a) { run(a); };
Map<int, Value> table{{1, 2}}, *more;
std::map<int, Value> find(const mlir::Value& value, int count = 3, unsigned) { return {"};"}; }
bool operator==(const Box& a, const Box &) { return true; }
} // namespace
Thing::Thing(int x) : y{x}, z{1} { call(); }
int Thing::method() { return 1; }
static_assert(sizeof(int) == 4);
TEST(Suite, Name) { int local; }
static auto last(Op op) -> Value { return op; }
} // namespace a
"""
    assert names_in(text) == {
        ("ADD", "macro", ""),
        ("outside", "function", ""),
        ("Rows", "alias", "std::vector<int>"),
        ("Box", "type", ""),
        ("Kind", "type", ""),
        ("first", "enumerator", ""),
        ("second", "enumerator", ""),
        ("Space", "type", ""),
        ("kSide", "variable", ""),
        ("kOther", "variable", ""),
        ("handler", "variable", ""),
        ("table", "variable", ""),
        ("more", "variable", ""),
        ("find", "function", "const Value &, int, unsigned"),
        ("operator==", "function", "const Box &, const Box &"),
        ("last", "function", "Op"),
    }
    found = {name.name: name for name in cpp_names.names_of(text)}
    assert (found["Box"].scope, found["Box"].line, found["Box"].is_nameless) == ("a", 12, True)
    assert found["last"].is_nameless and not found["Rows"].is_nameless


@pytest.mark.parametrize(
    ("one", "other", "is_met"),
    [
        ("namespace { struct Box { int a; }; }", "static Box Box = {};", True),
        ("static int f(Value a, int b);", "namespace { int f(mlir::Value x, int) { } }", True),
        ("static int f(Value a, int b) {}", "static int f(Value a) {}", False),
        ("namespace { enum { A, B }; }", "namespace { constexpr int B = 1; }", True),
        ("namespace a { const int k = 1; }", "namespace b { const int k = 1; }", False),
        ("namespace a { const int k = 1; }", "namespace a { const int k = 2; }", True),
        ("using A = int;", "using A = int;", False),
        ("using A = int;", "using A = long;", True),
        ("#define A 1", "#define A 2", True),
        ("void f();", "void f() {}", False),
        ("namespace a { struct Declared; }", "namespace a { struct Declared { int x; }; }", False),
        ("int main() {}", "int main() {}", False),
    ],
)
def test_merged_finds_names_that_two_files_have(one, other, is_met):
    files = {ROOT / "compiler/one.cpp": one, ROOT / "compiler/other.cpp": "\n" + other}
    found = list(check_merged.collisions(files, {}))
    assert bool(found) == is_met, found
    for text in found:
        assert text.startswith("compiler/other.cpp:2: error: '")
        assert text.endswith(
            "' is also a name in compiler/one.cpp:1, and both files may be compiled as one"
        )


def test_merged_finds_names_of_headers():
    """Those in the same namespace, and those of a namespace around, which are hidden."""
    header = "namespace a {\nstd::string nameOf(Value value);\nstruct Turn { int x; }; }"
    names = {}
    for name in cpp_names.names_of(header):
        names[name.name] = [(ROOT / "compiler/names.h", name)]
    text = "namespace a::b { namespace {\nint nameOf(Type t) {}\n} }\n"
    text += "namespace a { static int nameOf(Type t) {}\nnamespace { class Turn {}; }\n"
    text += "std::string nameOf(Value value) { return text; } }"
    found = list(check_merged.collisions({ROOT / "compiler/one.cpp": text}, names))
    assert [line.split(" error: ")[0] for line in found] == [
        "compiler/one.cpp:2:",
        "compiler/one.cpp:5:",
    ]


def test_merged_leaves_out_what_is_compiled_for_itself():
    files = [Path("c_entry.cpp"), Path("gemm.cpp")]
    assert check_merged.apart("set(TILEWRIGHT_MERGE OFF)\n", files) == set(files)
    listed = "tilewright_library(cpu LINK passes\n  APART elf.cpp\n c_entry.cpp)\n"
    assert check_merged.apart(listed, files) == {files[0]}
    assert check_merged.apart("tilewright_library(cpu)", files) == set()


def test_layering_is_transitive_and_has_a_direction():
    assert "compiler/base" in check_layering.closure("compiler/passes")
    assert "compiler/passes" not in check_layering.closure("compiler/ir")
    assert check_layering.MLIR not in check_layering.closure("runtime")
    assert "compiler/targets/ascend" not in check_layering.closure("compiler/targets/cpu")


@pytest.mark.parametrize(
    ("source", "include", "fault"),
    [
        ("runtime/load.cpp", "mlir/IR/Builders.h", True),
        ("runtime/load.cpp", "compiler/base/json.h", False),
        ("compiler/ir/tile.cpp", "compiler/builder/kernel.h", True),
        ("compiler/ir/tile.cpp", "mlir/IR/Builders.h", False),
        ("compiler/targets/cpu/lower.cpp", "compiler/targets/ascend/lower.h", True),
        ("examples/cpp/gemm.cpp", "tilewright/builder.h", False),
        ("examples/cpp/gemm.cpp", "compiler/api/compile.h", True),
        ("simulator/acl/sync_address.cpp", "runtime/rt_ffts.h", False),
        ("simulator/acl/sync_address.cpp", "runtime/ascend/device.h", True),
    ],
)
def test_layering_of_an_include(source, include, fault):
    found = list(check_layering.include_faults(ROOT / source, f'\n#include "{include}"\n'))
    assert [line for line, _ in found] == ([2] if fault else [])


def layering_of_the_architecture():
    """The rows of ARCHITECTURE.md's table that the check holds: folder and the folders it uses."""
    folder = r"^\| `((?:compiler|device|include|simulator|runtime)[^`]*)`"
    row = re.compile(folder + r" \|.*\| (.*) \|$", re.M)
    for folder, uses in row.findall((ROOT / "ARCHITECTURE.md").read_text()):
        names = [] if uses in ("–", "nothing of ours") else uses.replace("`", "").split(", ")
        if uses != "all of compiler":
            yield folder, [x if x == "MLIR" or "/" in x else f"compiler/{x}" for x in names]


def test_layering_is_that_of_the_architecture():
    rows = dict(layering_of_the_architecture())
    assert rows.keys() | {"compiler/driver"} >= {
        folder for folder in check_layering.MAY_USE if folder.startswith("compiler/")
    }
    for folder, uses in rows.items():
        allowed = {folder}.union(*map(check_layering.closure, uses))
        assert check_layering.closure(folder) == allowed, folder


def test_layering_knows_only_folders_that_are_there():
    assert [name for name in check_layering.MAY_USE if not (ROOT / name).is_dir()] == []


def test_layering_finds_folders_that_the_table_does_not_know(tmp_path):
    for name in ("targets/cpu", "targets/abacus", "builder", "wishes", "targets/empty"):
        (tmp_path / "compiler" / name).mkdir(parents=True)
        if name != "targets/empty":
            (tmp_path / "compiler" / name / "x.cpp").touch()
    found = [
        str(folder.relative_to(tmp_path)) for folder in check_layering.unknown_folders(tmp_path)
    ]
    assert sorted(found) == ["compiler/targets/abacus", "compiler/wishes"]


def test_layering_finds_an_early_import_of_torch():
    source = ROOT / "python/tilewright/kernel.py"
    late = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch\n"
    late += "def f():\n    import torch\n"
    assert list(check_layering.import_faults(source, late)) == []
    assert [
        line
        for line, _ in check_layering.import_faults(
            source, "try:\n  import torch\nexcept E:\n  pass"
        )
    ] == [2]


def test_messages_finds_one_without_a_test():
    cpp = 'void f() {\n  op.emitError() << "copy has " << n\n      << " rows but is short";\n}\n'
    python = "raise KernelError(f\"unknown name '{name}' in this kernel\")\n"
    found = [
        *check_messages.cpp_messages(Path("a.cpp"), cpp),
        *check_messages.python_messages(Path("a.py"), python),
    ]
    assert [(item.line, item.piece) for item in found] == [
        (2, "rows but is short"),
        (1, "in this kernel"),
    ]
    assert check_messages.untested(found, "x rows but is short") == found[1:]


def test_messages_finds_names_of_instructions():
    instructions = {"LoadUbOp": "load_ub", "CastOp": "cast", "MmadOp": "mmad"}
    words = "npu::LoadUbOp npu::CastOp"
    sources = {
        check_messages.WORDS_OF_INSTRUCTIONS: words,
        "a.cpp": '// emitError("load_ub");\nx.emitWarning() << a << " needs load_ub";\n'
        'emitError("a cast of b");\n',
        "b.cpp": "return op->getName().stripDialect();",
    }
    lines = [
        line.split(": error: ") for line in check_messages.internal_words(instructions, sources)
    ]
    assert [place for place, _ in lines] == [
        f"{check_messages.WORDS_OF_INSTRUCTIONS}:1",
        "a.cpp:2",
        "b.cpp:1",
    ]
    assert not list(check_messages.internal_names())


def test_docs_finds_paths_and_targets_that_do_not_exist():
    text = "`scripts/check.py` `scripts/gone.py` `make test`\n`make gone` [a](gone.md) `x/y`\n"
    faults = list(check_docs.document_faults(ROOT / "README.md", text, {"test"}))
    assert [line for line, _ in faults] == [1, 2, 2]


def test_runner_counts_failures_and_skips_of_all_writers(tmp_path):
    report = tmp_path / "report.xml"
    report.write_text(
        '<testsuite><testcase name="a"/><testcase name="b" status="fail"/>'
        '<testcase name="c"><failure/></testcase>'
        '<testcase name="d"><skipped message="no GPU"/></testcase>'
        '<testcase name="e"><skipped message="SKIP"/><system-out>f.cpp:1: Skipped\nno qemu\n'
        "</system-out></testcase></testsuite>"
    )
    counts = run_tests.read_junit(report)
    assert counts.summary() == "1 passed, 2 failed, 2 skipped"
    assert counts.skips == {"no GPU": 1, "no qemu": 1}


def test_runner_counts_a_phase_that_dies_as_a_failure(tmp_path):
    counts = run_tests.run_phase("lit", "false", tmp_path / "report.xml")
    assert counts.failures == ["lit itself (status 1)"]


def test_development_packages_and_their_users_count_as_missing():
    def stanza(name, depends):
        return f"Package: {name}\nStatus: install ok installed\nDepends: {depends}"

    status = "\n\n".join(
        [
            stanza("libc6", "libgcc-s1"),
            stanza("libc6-dev", "libc6 (= 2.36)"),
            stanza("g++", "cpp, libc6-dev (>= 2.13)"),
            stanza("python3", "libc6 | libc6-dev"),
        ]
    )
    kept = debian_packages.without_development_packages(status)
    assert "Package: libc6\n" in kept and "Package: python3\n" in kept
    assert "Package: libc6-dev" not in kept and "g++" not in kept


def test_packages_have_a_version_and_a_reason():
    packages = debian_packages.read_packages(ROOT / "scripts/packages.txt")
    assert any(package.name == "libmlir-22-dev" for package in packages)
    assert all(package.version and package.why for package in packages)


def test_docs_take_a_pass_from_its_file_s_head():
    text = "// SPDX-License-Identifier: A\n// Splits.\n///\n/// More.\n#include <x>\n// no\n"
    assert make_docs.head_comment(text) == "Splits.\n\nMore."


def test_the_path_file_of_a_removed_checkout_is_silent(tmp_path):
    package = tmp_path / "a 'quoted' checkout" / "python"
    package.mkdir(parents=True)
    (package / "tilewright_alias.py").write_text("print('alias')\n")
    (tmp_path / "checkout.pth").write_text(setup.path_lines(package))
    code = f"import site; site.addsitedir({str(tmp_path)!r})"
    start = [sys.executable, "-S", "-E", "-c", code]
    done = subprocess.run(start, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("alias\n", "")
    shutil.rmtree(package.parent)
    done = subprocess.run(start, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_linked_venv_stays_as_it_is(tmp_path, monkeypatch, capsys):
    """Those that use it, too, would run this checkout; nothing is installed before that is told."""

    def fail(*_):
        raise AssertionError("it went on")

    site = tmp_path / "other/.venv/lib/python3.11/site-packages"
    site.mkdir(parents=True)
    (tmp_path / "here").mkdir()
    link, target = tmp_path / "here/.venv", tmp_path / "other/.venv"
    link.symlink_to(target)
    monkeypatch.delenv("TILEWRIGHT_LINKED_VENV", raising=False)
    for name, value in (("ROOT", link.parent), ("VENV", link), ("DEPS", tmp_path / ".deps")):
        monkeypatch.setattr(setup, name, value)
    monkeypatch.setattr(setup, "read_packages", fail)
    texts = {"": "is not of this checkout", setup.path_lines(tmp_path / "other/python"): "runs "}
    for text, says in texts.items():
        if text:
            (site / setup.PATH_FILE).write_text(text)
            says += str(tmp_path / "other")
        assert setup.main() == 1
        assert capsys.readouterr().err == (
            f"setup: error: .venv is a symbolic link to {target}, which {says} and would run "
            f"{link.parent} from now on: remove the link, for a .venv of its own, or set "
            "TILEWRIGHT_LINKED_VENV=1 to have it so\n"
        )
        assert not text or (site / setup.PATH_FILE).read_text() == text
    monkeypatch.setenv("TILEWRIGHT_LINKED_VENV", "1")
    with pytest.raises(AssertionError, match="it went on"):
        setup.main()
    monkeypatch.delenv("TILEWRIGHT_LINKED_VENV")
    (target / "bin").mkdir()
    setup.expose_package()
    assert setup.whose_venv() == ""  # it is this checkout's since
    link.unlink()
    link.mkdir()
    assert setup.whose_venv() == ""


def test_packages_that_pip_does_not_get_are_named_with_a_way_to_get_them(tmp_path, monkeypatch):
    def fail(command, log, what):
        raise debian_packages.SetupError(f"{what} failed")

    monkeypatch.setattr(setup, "VENV", tmp_path)
    monkeypatch.setattr(setup, "run_logged", fail)
    with pytest.raises(debian_packages.SetupError) as error:
        setup.install_python_packages()
    assert f"    {tmp_path}/bin/pip install numpy==" in str(error.value)
    assert "PIP_INDEX_URL" in str(error.value) and "torch" not in str(error.value)


def test_links_of_packages_point_into_the_root_and_host_links_stay(tmp_path):
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/here").touch()
    (tmp_path / "packaged").symlink_to("/etc/here")
    (tmp_path / "etc/passwd").symlink_to("/etc/passwd")
    for _ in range(2):
        debian_packages.repair_links(tmp_path)
    assert (tmp_path / "packaged").readlink() == tmp_path / "etc/here"
    assert str((tmp_path / "etc/passwd").readlink()) == "/etc/passwd"


def test_every_dependency_has_a_row_with_its_reason():
    text = (ROOT / "docs/dependencies.md").read_text()
    names = [
        package.name for package in debian_packages.read_packages(ROOT / "scripts/packages.txt")
    ]
    for line in (ROOT / "scripts/requirements.txt").read_text().splitlines():
        name, pinned, version = line.partition("#")[0].strip().partition("==")
        assert not pinned or version in text or version.rsplit(".", 1)[0] in text, line
        names += [name] if name else []
    assert [name for name in names if name.lower() not in text.lower()] == []


def test_clang_tidy_gets_no_kernels_for_the_ascend_driver():
    names = {path.name for path in check.changed_cpp(everything=True)}
    assert "link_library.cpp" in names
    assert "profile_matmul.cpp" not in names


def test_clang_tidy_compiles_each_source_as_the_build_does(tmp_path):
    merged = tmp_path / "all_1.cpp"
    merged.write_text('#include "runtime/a.cpp"\n#include "runtime/b.cpp"\n')
    entries = [
        {"directory": str(tmp_path), "file": str(merged), "command": f"cc -DA -c {merged}"},
        {"directory": str(tmp_path), "file": "/x/c.cpp", "command": "cc -DC -c /x/c.cpp"},
    ]
    (tmp_path / "compile_commands.json").write_text(json.dumps(entries))
    a, b = (str(ROOT / "runtime" / name) for name in ("a.cpp", "b.cpp"))
    found = [(e["file"], e["command"]) for e in check.commands_of_sources(tmp_path)]
    assert found == [
        (a, f"cc -DA -c {a}"),
        (b, f"cc -DA -c {b}"),
        ("/x/c.cpp", "cc -DC -c /x/c.cpp"),
    ]


def test_merged_sources_are_of_their_call_alone(tmp_path):
    """What the caller's variables are called must not matter."""
    (tmp_path / "one.cpp").write_text("")
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\nproject(merged NONE)\n"
        f'include("{ROOT}/cmake/Tilewright.cmake")\nset(parts 7)\n'
        'tilewright_merged(sources merged one.cpp)\nmessage("sources: ${sources}")\n'
    )
    command = ["cmake", "-S", str(tmp_path), "-B", str(tmp_path / "build")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert f"sources: {tmp_path}/build/merged_1.cpp\n" in done.stderr


def test_workers_keep_the_tests_of_a_group_together(tmp_path):
    """Kernels of a group are built once, by the worker that has them all."""
    worker = 'import os\nimport pytest\npytestmark = pytest.mark.xdist_group("one")\n'
    test = '@pytest.mark.parametrize("number", range(8))\ndef test(number):\n    '
    (tmp_path / "test_group.py").write_text(
        worker + test + 'print("ran on", os.environ["PYTEST_XDIST_WORKER"])\n'
    )
    command = [sys.executable, "-m", "pytest", "-rP", "-n", "2", "--dist", "loadgroup", "."]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    workers = re.findall(r"^ran on (gw\d)$", done.stdout, re.MULTILINE)
    assert len(workers) == 8 and len(set(workers)) == 1


def test_the_environment_has_what_is_built(tmp_path, monkeypatch):
    monkeypatch.setattr(setup, "DEPS", tmp_path)
    setup.write_environment()
    shown = ["bash", "-c", f". {tmp_path}/env.sh; echo $PATH"]
    path = subprocess.run(shown, capture_output=True, text=True, check=True).stdout.split(":")
    assert path[:2] == [str(setup.VENV / "bin"), str(ROOT / "build" / "bin")]
