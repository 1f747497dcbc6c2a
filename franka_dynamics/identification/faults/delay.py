# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""All efforts are late against the positions."""

from collections.abc import Sequence

from .fault import Fault, Samples
from ...typing import Array

# Up to _ASKED [s] it is asked about: the efforts of a sound Med7 are 0.031 late.
_ASKED = 0.04


class Delay(Fault):
    """A delay of all efforts; its value is the time by which they lag the positions [s]."""

    kind = 'delay'
    text = (
        'Efforts are {ms:.0f} ms {late} against positions. Record both in one message, or move '
        'the effort columns.'
    )

    def columns(self, at: Samples) -> list[Array]:
        """Return minus the time derivative of the rigid-body torques."""
        return [-at.rate]

    def possible(self, values: Sequence[float], gravity: Array) -> bool:
        """Return whether efforts are so late, or so early, that it is a fault."""
        return abs(values[0]) > _ASKED

    def is_question(self, values: Sequence[float], gravity: Array, std: Array) -> bool:
        """Return whether efforts are a little late or early."""
        return abs(values[0]) <= _ASKED
