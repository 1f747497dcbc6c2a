# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The URDF from which an arm was imported, for checks of the import."""

from __future__ import annotations

from dataclasses import dataclass, field

from .inertia import LinkInertia


@dataclass(frozen=True)
class UrdfProvenance:
    """
    The URDF from which an arm was read, and the joints and the flange in it.

    `source` is the URDF's name in messages, `text` its XML. `joint_names` are the arm's joints
    there, from base to tip; `tip` is the link that is the flange. `held` are the other joints that
    the arm carries or stands on, with their positions [rad or m]. `payload` is the inertia of
    what was put on the flange since then, about its origin and in its frame. `mjcf` is the path or
    the text of the MJCF that the URDF was made from, empty if there is none.
    """

    source: str
    text: str
    joint_names: tuple[str, ...]
    tip: str
    held: tuple[tuple[str, float], ...] = ()
    payload: LinkInertia = field(default_factory=LinkInertia.zero)
    mjcf: str = ''

    @property
    def other_reader(self) -> str:
        """The library whose own reading of the file the arm is compared with."""
        return 'MuJoCo' if self.mjcf else 'Pinocchio'
