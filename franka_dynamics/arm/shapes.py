# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Simple bodies that stand for a link's looks and for what it may touch."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Shape:
    """A cylinder along z (radius, length), a sphere (radius) or a box (three edges), all in m."""

    kind: str
    size: tuple[float, ...]
    pose: NDArray[np.float64] = field(default_factory=lambda: np.eye(4))

    def dimensions(self) -> dict[str, tuple[float, ...]]:
        """Return the dimensions under the names that URDF and SDF give them."""
        if self.kind == 'box':
            return {'size': self.size}
        return dict(zip(('radius', 'length'), ((value,) for value in self.size)))
