# SPDX-License-Identifier: Apache-2.0
"""`python -m tilewright` is the command `tilewright`."""

from __future__ import annotations

import sys

from .cli import main

sys.exit(main())
