# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What a person sees: tables, JSON, plots, pages."""

from typing import TYPE_CHECKING

from .._lazy import lazy_exports

if TYPE_CHECKING:  # for editors and type checkers
    from .elements import page as page
    from .table import Cell as Cell
    from .table import Head as Head
    from .table import json_text as json_text
    from .table import plain as plain
    from .table import Table as Table

__getattr__, __dir__, __all__ = lazy_exports(__name__)
