# SPDX-License-Identifier: Apache-2.0
"""lit's configuration: `.mlir` tests lie beside what they test, anywhere under compiler/.

`lit compiler --param build=BUILD` runs all; a file's or a folder's path runs those.
"""

import os
import sys
from pathlib import Path

import lit.formats

root = Path(__file__).resolve().parent.parent
build = Path(lit_config.params.get("build", root / "build")).resolve()  # noqa: F821
llvm_tools = lit_config.params.get("llvm_tools", "/usr/lib/llvm-22/bin")  # noqa: F821

config.name = "tilewright"  # noqa: F821
config.test_format = lit.formats.ShTest(execute_external=False)  # noqa: F821
config.suffixes = [".mlir"]  # noqa: F821
config.test_source_root = str(root / "compiler")  # noqa: F821
config.test_exec_root = str(build / "lit")  # noqa: F821
config.environment["PATH"] = os.pathsep.join(  # noqa: F821
    [str(build / "bin"), llvm_tools, os.environ["PATH"]]
)
config.substitutions.append(("%root", str(root)))  # noqa: F821
config.substitutions.append(("%python", sys.executable))  # noqa: F821
for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]  # noqa: F821
