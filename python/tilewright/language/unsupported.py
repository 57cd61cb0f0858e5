# SPDX-License-Identifier: Apache-2.0
"""Names of the language that this version knows of and does not carry out yet.

Using one is an "unsupported" error with its place; any other name is an unknown one.
"""

_NAMES = """
init_sort_buf merge_sort topk shmem_put_nbi shmem_get_nbi shmem_ub_put_nbi shmem_ub_get_nbi
"""

KNOWN_NAMES = frozenset(_NAMES.split())


def is_known_name(name: str) -> bool:
    return name in KNOWN_NAMES
