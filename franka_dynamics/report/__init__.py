# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What a person sees: tables, JSON, plots, pages."""

from typing import TYPE_CHECKING

from .._lazy import lazy_exports

if TYPE_CHECKING:  # for editors and type checkers
    from .html_page import Cell as Cell
    from .html_page import page as page

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        'html_page': ('Cell', 'page'),
    },
)
