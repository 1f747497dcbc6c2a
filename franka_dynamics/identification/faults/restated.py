# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Faults that are undone by other positions, velocities and accelerations, all or nothing."""

from __future__ import annotations

from abc import ABC, abstractmethod

from .fault import Fault
from ...typing import Array


class Restated(Fault, ABC):
    """A fault without columns: the model is evaluated at other states, and fitted again."""

    kind = 'restated'

    @property
    def names(self) -> tuple[str, ...]:
        """No columns."""
        return ()

    @property
    def found(self) -> tuple[float, ...]:
        """The fault's values in user units."""
        return (1.0,)

    @abstractmethod
    def states(self, q: Array, dq: Array, ddq: Array) -> tuple[Array, Array, Array]:
        """Return the real states (N, n) of recorded ones."""

    def recorded(self, torques: Array) -> Array:
        """Return torques at the real states, or columns of them (N, n, ...), as recorded."""
        return torques
