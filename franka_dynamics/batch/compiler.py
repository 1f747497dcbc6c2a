# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""numba and what lies beneath it, or one sentence about the extra that brings them."""

from __future__ import annotations

from ..errors import MissingDependencyError

try:
    from llvmlite import ir
    import numba
    from numba.core import cgutils
    from numba.extending import intrinsic
except ImportError as error:
    raise MissingDependencyError(
        "Batches need numba: pip install 'franka_dynamics[batch]'"
    ) from error

__all__ = ['cgutils', 'intrinsic', 'ir', 'numba']
