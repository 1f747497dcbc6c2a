# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Functions that make a feedforward controller from node parameters and cross-check its model.

The arm comes from an arm file, a URDF file or the topic robot_description.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from rclpy.parameter import Parameter

from .robot_description import wait_for_robot_description
from .. import parameter_tables as tables
from ...arm import ArmDescription
from ...arrays import Array
from ...constants import AS_LISTED
from ...control.core_table import Stop
from ...control.default_gains import default_gains, gains_against_friction
from ...control.feedforward import Feedforward
from ...control.settings import StateLimits
from ...errors import SettingsError
from ...files import expanded_path
from ...simulation.receiver import COMMAND_TIMEOUT_S
from ...validation.crosscheck import crosscheck
from ...validation.urdf_check import checked_arm_from_urdf

_KP_FOR_DEFAULT_GAINS = [-1.0]  # of the parameter kp: default gains
_CROSSCHECK_STATE_COUNT = 50  # states at which the models of changed settings are compared
# After so many of the longest usual periods without a joint state they count as lost: 20 ms of a
# real arm's default, in which a forward controller holds the last torque.
STATE_TIMEOUT_PERIOD_COUNT = 4.0
# Friction of Franka's wrists over their torque limit (MuJoCo Menagerie).
_WRIST_FRICTION_TO_TORQUE_LIMIT = 0.02


def arm_and_urdf_from_parameters(
    node: Any, parameters: dict[str, Any], should_stop: Callable[[], bool]
) -> tuple[ArmDescription, str | None]:
    """
    Return the arm that parameters select, and robot_description's text if it comes from there.

    What is found out about the URDF is logged. Besides the errors below those of
    `arm_from_parameters` are raised.

    Raises
    ------
    SettingsError
        If parameters are inconsistent.
    DescriptionError
        If an arm file is missing or cannot be read, or robot_description does not arrive in time.
    UrdfError
        If a URDF cannot be read or is incomplete.
    UrdfMismatchError
        If the URDF does not describe this arm.

    """
    source = parameters['model_source']
    is_arm_file = source in (tables.ARM_MODEL_SOURCE, tables.SIMULATED_MODEL_SOURCE)
    if not is_arm_file and parameters['inertial_set']:
        raise SettingsError(
            f'inertial_set is {parameters["inertial_set"]}, but model_source is {source}, whose '
            'inertials are those of the URDF; leave inertial_set empty.'
        )
    reference = tables.arm_from_parameters(parameters)
    if source == tables.SIMULATED_MODEL_SOURCE:
        reference = _simulated_arm(reference)
    if is_arm_file:
        return reference, None
    urdf_text = None
    urdf: Any = expanded_path(source)
    name = source
    if source == tables.ROBOT_DESCRIPTION_TOPIC:
        name, urdf_text = wait_for_robot_description(node, should_stop)
        urdf = urdf_text
    hand = parameters['hand']
    arm, verdict = checked_arm_from_urdf(
        urdf,
        reference,
        source=name,
        joint_names=list(parameters['joint_names']) or None,
        expected_hand=None if hand == AS_LISTED else hand,
        accept_unknown_inertials=parameters['accept_unknown_inertials'],
    )
    for sentence in (verdict.summary(), *verdict.notes):
        if sentence not in arm.torque_notes:  # which make_controller logs
            node.get_logger().info(sentence)
    return arm, urdf_text


def _simulated_arm(arm: ArmDescription) -> ArmDescription:
    """Return an arm with the friction and the drives' inertia with which it is simulated."""
    arm = replace(arm, friction=arm.friction or arm.simulated_friction)
    if arm.simulated_armature is None:
        return arm
    return replace(arm.with_armature(), simulated_armature=None)


def make_controller(
    node: Any,
    parameters: dict[str, Any],
    arm: ArmDescription,
    send: Callable[[Array], object],
) -> tuple[Feedforward, float]:
    """
    Return an arm's checked controller, and the largest difference of its two models.

    The controller calls `send` with each torque, (n,) [N m]. Default gains (kp -1.0) are set in
    the node's parameters kp and kd, and in `parameters`.

    Raises
    ------
    InertiaError
        If the arm's inertias are physically impossible.
    SettingsError
        If the parameters cannot be used on this arm.
    CrosscheckError
        If the two models disagree.

    """
    arm.require_physical('commanding torques')
    for sentence in (*arm.repairs, *arm.torque_notes):
        node.get_logger().warning(sentence)
    _set_default_gains(node, parameters, arm)
    limits = replace(
        tables.dataclass_from_parameters(StateLimits, parameters),
        min_input_rate=1.0 / parameters['period'],
        state_timeout=STATE_TIMEOUT_PERIOD_COUNT * parameters['period'],
        # Under a target that adds no gravity every receiver that is allowed says, or is known, to
        # apply torques alone (`receivers.py`): what holds the arm before the first torque, such
        # as a brake, its own PD or Gazebo's initial effort, is no sign of a wrong target.
        held_until_commanded=True,
    )
    settings = vars(tables.settings_from_parameters(parameters))
    controller = Feedforward(arm, limits=limits, applied_when_silent=False, send=send, **settings)
    controller.stop('not activated')
    terms = controller.requested_law.terms
    if note := controller.requested_law.unused_friction_note():
        node.get_logger().info(note)
    if controller.settings.is_tilted(arm):
        node.get_logger().warning(_mount_compensation_sentence(controller))
    report = crosscheck(terms.loaded_arm, gravity=terms.space_gravity)
    report.require()
    urdf = ', and with the URDF as Pinocchio reads it' if report.urdf_differences else ''
    node.get_logger().info(
        f'{arm.name} ({arm.inertial_set}, hand {arm.hand}): Pinocchio '
        f'and Newton-Euler in DH frames agree to {report.largest:.1e} over {report.state_count} '
        f'states{urdf}; target {controller.settings.target}'
    )
    return controller, report.largest


def _mount_compensation_sentence(controller: Feedforward) -> str:
    """Return text on whether the node commands the gravity torque of a tilted mount."""
    settings = controller.settings
    if not settings.profile.receiver_adds_gravity:
        return 'the mount is tilted; this node commands all of gravity.'
    if settings.mount_tilt_compensated_by == 'robot':
        return 'the robot compensates the tilt of the mount (mount_tilt_compensated_by).'
    return 'this node commands what the tilt of the mount adds to the gravity of an upright arm.'


def change_settings(controller: Feedforward, parameters: dict[str, Any]) -> float | None:
    """
    Apply changed parameters; if payload or gravity changed, compare the two models.

    Return their largest difference, None without a comparison. If the models disagree, the
    controller is stopped for good.
    """
    before = controller.requested_law.terms
    controller.change(**vars(tables.settings_from_parameters(parameters)))
    terms = controller.requested_law.terms
    gravity = terms.space_gravity
    if terms.loaded_arm == before.loaded_arm and np.array_equal(gravity, before.space_gravity):
        return None
    report = crosscheck(terms.loaded_arm, gravity=gravity, count=_CROSSCHECK_STATE_COUNT)
    if not report.passed:
        controller.stop(f'cross-check: {" ".join(report.findings)}', Stop.FINAL)
    return report.largest


def _set_default_gains(node: Any, parameters: dict[str, Any], arm: ArmDescription) -> None:
    """
    Compute default gains kp and kd if the parameter kp is [-1.0].

    They are set in `parameters` and in the node's parameters, and logged.
    """
    if list(parameters['kp']) != _KP_FOR_DEFAULT_GAINS:
        return
    gains = _default_gains(parameters, arm)
    kp, kd = ([float(f'{gain:.4g}') for gain in row] for row in gains)
    values = {'kp': kp, 'kd': kd}
    parameters.update(values)
    node.set_parameters([Parameter(name, value=value) for name, value in values.items()])
    node.get_logger().info(f'default gains (inertia at home): kp {kp} N m/rad, kd {kd} N m s/rad')
    # If the spring torque at 1 rad is less than the joint's friction, the joint moves freely.
    is_weak = gains[0] < _WRIST_FRICTION_TO_TORQUE_LIMIT * arm.limit('effort')
    if is_weak.any():
        names = ', '.join(np.array(arm.joint_names)[is_weak])
        node.get_logger().warning(
            f'{names} is nearly free: set kp and kd if something disturbs it'
        )


def _default_gains(parameters: dict[str, Any], arm: ArmDescription) -> tuple[Array, Array]:
    """Return default gains kp and kd, (n,) each, of an arm for a node's parameters."""
    settings = tables.settings_from_parameters({**parameters, 'kp': [0.0], 'kd': [0.0]})
    is_simulated_arm = settings.target == 'mujoco'
    # How long a torque may be held: a simulated arm is braked after COMMAND_TIMEOUT_S.
    longest_hold = COMMAND_TIMEOUT_S
    if not is_simulated_arm:
        longest_hold = max(longest_hold, STATE_TIMEOUT_PERIOD_COUNT * parameters['period'])
    loaded = arm.with_payload(settings.payload_inertia())
    if settings.profile.min_rotor_inertia and loaded.simulated_armature is not None:
        # Without the drives' inertia the last joint of a bare FR3 would be nearly free.
        loaded = loaded.with_armature()
    gains = default_gains(loaded, longest_hold)
    if is_simulated_arm and settings.terms.friction:
        gains = gains_against_friction(arm, gains)
    return gains
