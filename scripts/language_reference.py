# SPDX-License-Identifier: Apache-2.0
"""Writes a page per name of the language into build/docs/language.

A page holds the signature and docstring of the name, whether it runs on the CPU, and an example:
the shortest conformance test that uses it, which CI runs.
"""

import ast
import inspect
import sys
from pathlib import Path

from language_coverage import agreeing_tests, gpu_only, names, used_names
from sources import ROOT, shown

OUT = ROOT / "build/docs/language"


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


def page(name: str, value: object, example: tuple[Path, ast.FunctionDef] | None) -> str:
    """The page of one name."""
    text = inspect.getdoc(value) or ""
    if name in gpu_only():
        return f"# T.{name}\n\n{text}\n"
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
