# SPDX-License-Identifier: Apache-2.0
"""lit's configuration: x.mlir stands beside what it tests.

Run `scripts/run_tests.py --only lit`, or lit itself, where `--param build=FOLDER` names the build
folder (default: build). Tests find tilewright-opt, FileCheck and not on the PATH.
"""

from pathlib import Path
from typing import Any

import lit.formats

config: Any = globals()["config"]
lit_config: Any = globals()["lit_config"]

root = Path(__file__).resolve().parent.parent
build = Path(lit_config.params.get("build", root / "build")).resolve()
llvm_tools = Path("/usr/lib/llvm-22/bin")
unpacked_tools = root / ".deps/root/usr/lib/llvm-22/bin"

config.name = "tilewright"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.excludes = ["lit.cfg.py"]
config.test_source_root = str(Path(__file__).parent)
config.test_exec_root = str(build / "lit")
tools = unpacked_tools if unpacked_tools.exists() else llvm_tools
config.environment["PATH"] = f"{build / 'bin'}:{tools}:{config.environment['PATH']}"
