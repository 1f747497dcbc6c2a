# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What the parameters of the node that drives a robot over FCI stand for."""

from __future__ import annotations

from typing import Any

import numpy as np

from .node_settings import settings_from
from ..control.settings import Settings
from ..control.supervision import SupervisionLimits
from ..errors import SettingsError
from ..fci.connection import CollisionThresholds
from ..typing import Array

STATES_ONLY, COMMAND, FEEDFORWARD = 'states_only', 'command', 'feedforward'
_TARGET = 'fci'

_LONGEST_GAP_S = 0.2


def collision_thresholds_from(values: dict[str, Any]) -> CollisionThresholds:
    """Return what the robot is to be told about collisions; SettingsError if it is malformed."""
    return CollisionThresholds(
        **{
            name: tuple(values[f'{name}_thresholds'])
            for name in ('lower_torque', 'upper_torque', 'lower_force', 'upper_force')
        }
    )


def preflight_torque_from(values: dict[str, Any]) -> Array:
    """Return the thresholds of the check at rest, shape (7,) [N m]; SettingsError if malformed."""
    threshold = np.asarray(values['preflight_torque'], dtype=float)
    if threshold.shape != (7,) or not ((threshold > 0.0) & (threshold < np.inf)).all():
        raise SettingsError(
            'preflight_torque must be 7 positive finite numbers, one per joint; '
            f'got {threshold.tolist()[:8]}.'
        )
    return threshold


def require_same_gravity(before: Settings, after: Settings) -> None:
    """
    Refuse a change by which other gravity torque would be commanded than was checked at rest.

    Raises
    ------
    SettingsError
        Naming what would change.

    """
    changed = [
        name
        for name in ('gravity_vector', 'payload', 'payload_known_to_robot')
        if getattr(before, name) != getattr(after, name)
    ]
    if changed:
        raise SettingsError(
            f'{" and ".join(changed)} cannot change while torques are commanded, because the '
            'check at rest would not cover it; call ~/enable with false first.'
        )


def fci_settings_from(values: dict[str, Any]) -> Settings:
    """Return the live settings; the target is the robot, which adds gravity and friction."""
    return settings_from({**values, 'target': _TARGET, 'terms.friction': False})


def fci_supervision_from(values: dict[str, Any]) -> SupervisionLimits:
    """Return the limits for states that come with every cycle and carry the robot's own time."""
    # The robot itself stops after 20 lost packets in a row, and libfranka after a second of
    # silence; a state that is read is fresh. What is left to watch are the values.
    return SupervisionLimits(
        min_input_rate=200.0,
        state_timeout=_LONGEST_GAP_S,
        max_state_age=0.0,
        recovery_samples=values['recovery_samples'],
    )
