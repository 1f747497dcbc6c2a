# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""One item of what a source gets wrong."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Misprint:
    """One item of a source: the printed form misses the true value by `by`."""

    item: str
    printed: Any
    corrected: Any
    true: Any
    by: float
    atol: float = 1e-14
