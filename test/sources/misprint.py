# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""One misprint of a source."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Misprint:
    """`printed` differs from the `true` value by `by`, `corrected` by at most `atol`."""

    item: str
    printed: Any
    corrected: Any
    true: Any
    by: float
    atol: float = 1e-14
