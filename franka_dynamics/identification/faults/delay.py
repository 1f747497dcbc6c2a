# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""All efforts are late against the positions."""

from .fault import Fault, Samples
from ...typing import Array


class Delay(Fault):
    """Its value is the time by which efforts are late [s]."""

    kind = 'delay'
    text = (
        'Efforts are {ms:.0f} ms {late} against positions. Record both in one message, or move '
        'the effort columns.'
    )

    def columns(self, at: Samples) -> list[Array]:
        """Return minus the rate of the torques."""
        return [-at.rate]
