# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""One difference between what a file says and what is known."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """
    A difference, ready to be read: where, what, both numbers, why, and what it does to torque.

    `certain` is True where the difference can only be a mistake (axes swapped, an inertia about
    the wrong point), False where it may be meant (another mass).
    """

    place: str
    quantity: str
    found: str
    expected: str
    cause: str
    effect: str = ''
    certain: bool = True

    def __str__(self) -> str:
        """Return the finding as one sentence."""
        effect = f' Effect on torque: {self.effect}.' if self.effect else ''
        return (
            f'{self.place}: {self.quantity} is {self.found}, expected {self.expected}; '
            f'likeliest cause: {self.cause}.{effect}'
        )
