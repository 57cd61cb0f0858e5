# SPDX-License-Identifier: Apache-2.0
"""Writes a page per name of the language into build/docs/language.

A page holds the signature and docstring of the name, whether it runs on the CPU, and an example:
the shortest conformance test that uses it, which CI runs.
"""

import ast
import inspect
import runpy
import sys
import tempfile
from pathlib import Path

from language_coverage import agreeing_tests, gpu_only, names, used_names
from sources import ROOT, shown

OUT = ROOT / "build/docs/language"
#: A kernel that uses a name which only GPUs have.
_REFUSED = """import tilewright
import tilewright.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), "float32")):
    with {launch}:
        S = T.alloc_shared((128,), "float32")
        {statement}


tilewright.compile(kernel)
"""
_WITHOUT_ARGUMENTS = """
    cluster_arrive cluster_arrive_relaxed cluster_wait cluster_sync block_rank_in_cluster
    tcgen05_before_thread_sync tcgen05_after_thread_sync alloc_descriptor alloc_wgmma_desc
    alloc_tcgen05_smem_desc alloc_tcgen05_instr_desc alloc_tcgen05_instruction_desc
    TensorCoreIntrinEmitter INT4TensorCoreIntrinEmitter WGMMATensorCoreIntrinEmitter
    TCGEN05TensorCoreIntrinEmitter SparseTensorCoreIntrinEmitter
    WGSparseTensorCoreIntrinEmitter TensorCoreIntrinEmitterWithLadderTransform
    INT4TensorCoreIntrinEmitterWithLadderTransform WSSchedule WSRole WSPipeline WSScope
    WSOpRef"""
#: What is written behind such a name, where it is no call with the tensor and the tile.
_WRITTEN = {
    "ClusterKernel": "(4, cluster_dims=(2, 1, 1), threads=128)",
    "CUDASourceCodeKernel": "(1, threads=128, source_code_or_path='kernel.cu')",
    "WSSync": ".producer_acquire(0)",
    "alloc_cluster_barrier": "([1])",
    "alloc_tmem": "((128, 128), 'float32')",
    "annotate_ws_schedule": "(T.WSSchedule)",
    "lookup_param": "('weights')",
    "named_barrier_arrive": "(1, 128)",
    "tma_gather4_bytes": "(64, 'float16')",
    "ws_op": "('load')",
    **dict.fromkeys(
        _WITHOUT_ARGUMENTS.split(),
        "()",
    ),
}


def examples() -> dict[str, tuple[Path, ast.FunctionDef]]:
    """For each name the test to show: one that is called after it, else the shortest."""
    best: dict[str, tuple[tuple[bool, int], Path, ast.FunctionDef]] = {}
    for path, test in agreeing_tests():
        length = (test.end_lineno or 0) - test.lineno
        for name in used_names(test):
            rank = (name.lower() not in test.name, length)
            if name not in best or rank < best[name][0]:
                best[name] = (rank, path, test)
    return {name: (path, test) for name, (_, path, test) in best.items()}


class _Annotation:
    """An annotation's text, without the quotes that a string would have."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _shown_annotation(annotation: object) -> object:
    if annotation in ("Any", inspect.Parameter.empty):
        return inspect.Parameter.empty
    return _Annotation(annotation) if isinstance(annotation, str) else annotation


def signature(name: str, value: object) -> str:
    """How the name is called."""
    if not callable(value):
        return f"T.{name}"
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return f"T.{name}(...)"
    parameters = [
        each.replace(annotation=_shown_annotation(each.annotation))
        for each in found.parameters.values()
    ]
    returned = _shown_annotation(found.return_annotation)
    return f"T.{name}{found.replace(parameters=parameters, return_annotation=returned)}"


def refusal(name: str) -> str:
    """A kernel that uses a name which only GPUs have, and what compiling it says."""
    import tilewright

    use = f"T.{name}{_WRITTEN.get(name, '(A, S)')}"
    is_launch = name.endswith("Kernel")
    source = _REFUSED.format(
        launch=use if is_launch else "T.Kernel(1, threads=128)",
        statement="T.copy(A, S)" if is_launch else use,
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.py"
        path.write_text(source)
        try:
            runpy.run_path(str(path))
        except tilewright.UnsupportedError as error:
            (found,) = error.errors
            said = found.render().replace(f"{folder}/", "")
            return f"```python\n{source}```\n\n```text\n{said}\n```"
    raise AssertionError(f"T.{name} is not refused")


def page(name: str, value: object, example: tuple[Path, ast.FunctionDef] | None) -> str:
    """The page of one name."""
    text = inspect.getdoc(value) or ""
    if name in gpu_only():
        return f"# T.{name}\n\n{text}\n\nExample, and what it says:\n\n{refusal(name)}\n"
    if name in {n for n, _ in names()["dtypes"]}:
        text = f"The dtype `{value}`: an annotation, an argument, and a cast, `T.{name}(x)`."
    call = signature(name, value)
    if text.startswith("("):  # the docstring tells the arguments of one that takes any
        arguments, _, text = text.partition("): ")
        call = f"T.{name}{arguments})"
    parts = [f"# T.{name}", f"```python\n{call}\n```" if text else "", text]
    if example is None:
        return "\n\n".join([*parts, "*Not there yet on the CPU.*"]) + "\n"
    path, test = example
    start = min([test.lineno, *(d.lineno for d in test.decorator_list)])
    lines = path.read_text().splitlines()[start - 1 : test.end_lineno]
    source = "\n".join(lines)
    where = f"Example ({shown(path)}, run by CI on the CPU and the reference interpreter):"
    return "\n\n".join([*parts, where, f"```python\n{source}\n```"]) + "\n"


def pages() -> dict[str, str]:
    """All pages by name."""
    sys.path.insert(0, str(ROOT / "python"))
    import tilewright.language as T

    shown_tests = examples()
    made = {}
    for entries in names().values():
        for name, _ in entries:
            made[name] = page(name, vars(T).get(name), shown_tests.get(name))
    return made


def main() -> int:
    """Writes the pages and an index by subject."""
    OUT.mkdir(parents=True, exist_ok=True)
    made = pages()
    for name, text in made.items():
        (OUT / f"{name}.md").write_text(text)
    index = ["# The names of the language\n"]
    for subject, entries in names().items():
        links = " ".join(f"[{name}]({name}.md)" for name, _ in entries)
        index.append(f"## {subject}\n\n{links}\n")
    (OUT / "index.md").write_text("\n".join(index))
    print(f"docs: {len(made) + 1} pages in {shown(OUT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
