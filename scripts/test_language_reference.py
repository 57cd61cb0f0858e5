# SPDX-License-Identifier: Apache-2.0
"""What the pages of the language's names show."""

import language_reference
import tilewright.language as T


def shown(name: str) -> str:
    """The signature on the page of a name."""
    page = language_reference.page(name, vars(T)[name], None)
    return page.partition("```python\n")[2].partition("\n```")[0]


def test_strings_keep_their_quotes():
    assert shown("print").startswith("T.print(obj=None, msg: str = '', ")
    assert (
        shown("alloc_fragment") == "T.alloc_fragment(shape, dtype, scope: str = 'local.fragment')"
    )


def test_a_docstring_may_tell_the_arguments():
    arguments = "buffer, out, dim=-1, clear=True, real_shape=None, batch=1, nan_propagate=False"
    assert shown("reduce_sum") == f"T.reduce_sum({arguments})"
    page = language_reference.page("reduce_sum", T.reduce_sum, None)
    assert "\n\nsums along a dim. With `clear=False` what `out` holds takes part.\n" in page
