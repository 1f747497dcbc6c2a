# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The efforts of a joint, or all, are late against the positions."""

from .fault import Fault, Samples
from ...typing import Array


class Delay(Fault):
    """A delay of efforts; its value is the time by which they lag the positions [s]."""

    kind, of_each, is_asked = 'delay', True, True
    text = (
        '{effort} is {ms:.0f} ms {late} against the positions. Record both in one message, or '
        'move the effort columns.'
    )

    def columns(self, at: Samples) -> list[Array]:
        """Return minus the time derivative of the torques."""
        return [at.of(-at.rate, self.joints)]
