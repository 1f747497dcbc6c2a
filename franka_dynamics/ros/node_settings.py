# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What parameter values stand for: an arm, settings, limits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .parameters import live_table
from ..arm import ArmDescription, load
from ..control.contact import ContactLimits
from ..control.settings import Settings, StateSource, Terms
from ..control.supervision import SupervisionLimits
from ..errors import SettingsError

# Where a model comes from.
DESCRIPTION, URDF_FILE, ROBOT_DESCRIPTION = 'description', 'urdf_file', 'robot_description'


def load_arm(values: dict[str, Any]) -> ArmDescription:
    """
    Return the arm that the parameters name.

    Raises
    ------
    DescriptionError
        If there is no such arm, set or hand, or its file is at fault.
    InertiaError
        If the repair asked for is impossible.
    SettingsError
        If joint_names does not fit the arm.

    """
    description = load(
        values['robot_type'],
        values['inertial_set'] or None,
        hand=values['hand'],
        prefix=values['arm_prefix'],
        repair=values['repair'] or None,
    )
    names = list(values['joint_names'])
    if not names:
        return description
    if len(names) != description.n or len(set(names)) != len(names):
        raise SettingsError(
            f'joint_names must be {description.n} different names, one per joint of '
            f'{description.name} from base to tip; got {names}.'
        )
    joints = tuple(replace(joint, name=name) for joint, name in zip(description.joints, names))
    return replace(description, joints=joints)


def settings_from(values: dict[str, Any]) -> Settings:
    """Return the live settings that parameter values stand for."""
    return Settings(
        target=values['target'],
        terms=Terms(
            *(values[f'terms.{term}'] for term in ('gravity', 'coriolis', 'inertia', 'friction'))
        ),
        state_source=StateSource(values['state_source']),
        gravity_vector=tuple(values['gravity_vector']),
        payload=tuple(values['payload']),
        payload_known_to_robot=values['payload_known_to_robot'],
        kp=tuple(values['kp']),
        kd=tuple(values['kd']),
        max_tracking_error=tuple(values['max_tracking_error']),
        max_flange_error=values['max_flange_error'],
        max_payload=values['max_payload'],
        scale=values['scale'],
        ramp_time=values['ramp_time'],
        stream_period=values['stream_period'],
    )


def torque_settings(values: dict[str, Any]) -> Settings:
    """Return the settings of values that say what torques are; all others keep their defaults."""
    return settings_from({spec.name: spec.default for spec in live_table('feedforward')} | values)


def supervision_from(values: dict[str, Any]) -> SupervisionLimits:
    """Return the supervision limits that parameter values stand for."""
    return SupervisionLimits(
        min_input_rate=values['min_input_rate'],
        state_timeout=values['state_timeout'],
        max_state_age=values['max_state_age'],
        recovery_samples=values['recovery_samples'],
        max_restarts=values['max_restarts'],
    )


def contact_limits_from(values: dict[str, Any]) -> ContactLimits:
    """Return the contact limits that parameter values stand for."""
    return ContactLimits(
        threshold=values['contact.threshold'],
        threshold_per_speed=values['contact.threshold_per_speed'],
        joint_factors=tuple(values['contact.joint_factors']),
        release=values['contact.release'],
        high_pass=values['contact.high_pass'],
    )
