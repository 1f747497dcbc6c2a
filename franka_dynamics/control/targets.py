# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What a commanded torque means to whoever receives it: who adds gravity and friction."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ..errors import SettingsError


class Start(str, Enum):
    """The torque a first command starts from."""

    ZERO = 'zero'
    GRAVITY = 'gravity'


class Stop(str, Enum):
    """Where the stop sequence ends before the node falls silent."""

    ZERO = 'zero'
    HOLD_GRAVITY = 'hold_gravity'


@dataclass(frozen=True)
class TargetProfile:
    """
    One receiver of torques.

    `receiver_adds_gravity` decides what is commanded: the difference between the true gravity
    torque and the one the receiver already adds, or all of it. Receivers hold the last command
    for ever (ros2_control's forward controllers do), so `stop` is a torque at which the arm may
    be left: zero where the receiver keeps it up, the last gravity torque where nobody else does.
    """

    name: str
    receiver_adds_gravity: bool
    receiver_adds_friction: bool
    start: Start
    stop: Stop


TARGETS = {profile.name: profile for profile in (
    TargetProfile('fci', True, True, Start.ZERO, Stop.ZERO),
    TargetProfile('franka_gazebo', True, False, Start.ZERO, Stop.ZERO),
    TargetProfile('gz_ros2_control', False, False, Start.GRAVITY, Stop.HOLD_GRAVITY),
    TargetProfile('mujoco', False, False, Start.GRAVITY, Stop.HOLD_GRAVITY),
)}
DEFAULT_TARGET = 'fci'


def target_profile(name: str) -> TargetProfile:
    """Return the profile of that name, or raise SettingsError listing those there are."""
    if name not in TARGETS:
        raise SettingsError(f'There is no target {name!r}; the choices are {", ".join(TARGETS)}.')
    return TARGETS[name]
