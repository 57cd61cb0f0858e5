# SPDX-License-Identifier: Apache-2.0
"""Generates the reference of the tile dialect's ops, of the passes, and of the language's names
into build/docs.

Ops come from their definitions (mlir-tblgen), passes from the head comment of their file, names
from their docstrings and tests (language_reference.py).
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import language_reference
from check_names import OPTION, PASS
from interrupts import run_until_interrupted
from sources import ROOT, files_with, shown

OUT = ROOT / "build/docs"


def op_reference(definitions: Path) -> str | None:
    """The Markdown of the ops in a .td file; None if it defines none."""
    tool = shutil.which("mlir-tblgen-22") or "mlir-tblgen"
    include = Path(shutil.which("llvm-config-22") or "llvm-config")
    folder = subprocess.run([include, "--includedir"], capture_output=True, text=True, check=True)
    command = [tool, "-gen-op-doc", f"-I{ROOT}", f"-I{folder.stdout.strip()}", str(definitions)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        raise SystemExit(f"{shown(definitions)}: {answer.stderr}")
    return answer.stdout if "### `" in answer.stdout else None


def head_comment(text: str) -> str:
    """The comment that begins the file, without the licence line."""
    lines = text.splitlines()[1:]
    comment = []
    for line in lines:
        if not line.startswith("//"):
            break
        comment.append(re.sub(r"^///? ?", "", line))
    return "\n".join(comment)


def pass_reference() -> str:
    """One section per pass, by its option."""
    sections = []
    for path in files_with(".cpp"):
        text = path.read_text(errors="replace")
        for name, option in zip(PASS.findall(text), OPTION.findall(text), strict=False):
            section = f"## `--{option}`\n\n`{name}` in {shown(path)}\n\n{head_comment(text)}\n"
            sections.append(section)
    return "# Passes\n\n" + "\n".join(sorted(sections))


def main() -> int:
    """Writes one page per group of ops, one for all passes, and an index."""
    OUT.mkdir(parents=True, exist_ok=True)
    pages = []
    for path in files_with(".td"):
        page = op_reference(path)
        if page:
            (OUT / f"{path.stem}.md").write_text(f"# {shown(path)}\n\n{page}")
            pages.append(path.stem)
    (OUT / "passes.md").write_text(pass_reference())
    pages.append("passes")
    language_reference.main()
    pages.append("language/index")
    index = "".join(f"- [{name}]({name}.md)\n" for name in pages)
    (OUT / "index.md").write_text(
        f"# Tilewright's reference, generated from the sources\n\n{index}"
    )
    print(f"docs: {len(pages) + 1} pages in {shown(OUT)}")
    return 0


if __name__ == "__main__":
    sys.exit(run_until_interrupted(main))
