# SPDX-License-Identifier: Apache-2.0
"""From a Python function to calls of the kernel builder; see docs/python-front-end.md."""
