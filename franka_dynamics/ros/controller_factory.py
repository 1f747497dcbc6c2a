# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Functions that make a feedforward controller from node parameters and cross-check its model.

The arm comes from an arm file, a URDF file or the topic robot_description.
"""

from collections.abc import Callable
from dataclasses import replace
import time
from typing import Any

import numpy as np
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy
from std_msgs.msg import String

from . import parameter_tables as tables
from .topics import DESCRIPTION_QOS, node_name_of
from ..arm import ArmDescription
from ..arm.arm_file import AS_LISTED
from ..arrays import Array
from ..control.default_gains import default_gains, gains_against_friction
from ..control.feedforward import Feedforward, StateLimits, Stop
from ..errors import DescriptionError, SettingsError
from ..files import expanded_path
from ..simulation.receiver import COMMAND_TIMEOUT_S
from ..validation.crosscheck import crosscheck
from ..validation.urdf_check import checked_arm_from_urdf

_KP_FOR_DEFAULT_GAINS = [-1.0]  # of the parameter kp: default gains
_CROSSCHECK_STATE_COUNT = 50  # states at which the models of changed settings are compared
# After so many of the longest usual periods without a joint state they count as lost: 20 ms of a
# real arm's default, in which a forward controller holds the last torque.
STATE_TIMEOUT_PERIOD_COUNT = 4.0
_DESCRIPTION_WARNING_DELAY_S = 5.0  # of robot_description
_DESCRIPTION_WARNING_PERIOD_S = 10.0
_POLL_PERIOD_S = 0.5  # longest time between two calls of `should_stop` [s]
# Friction of Franka's wrists over their torque limit (MuJoCo Menagerie).
_WRIST_FRICTION_TO_TORQUE_LIMIT = 0.02
ROBOT_DESCRIPTION_TIMEOUT_S = 30.0  # longest wait for robot_description [s]


def arm_and_urdf_from_parameters(
    node: Any, parameters: dict[str, Any], should_stop: Callable[[], bool]
) -> tuple[ArmDescription, str | None]:
    """
    Return the arm that parameters select, and robot_description's text or None; or raise an error.

    What is found out about the URDF is logged. Raises SettingsError if parameters are
    inconsistent; DescriptionError if an arm file is missing or cannot be read, or
    robot_description does not arrive in time; UrdfError if a URDF cannot be read or is incomplete;
    UrdfMismatchError if the URDF does not describe this arm; and the other errors of
    `arm_from_parameters`.
    """
    source = parameters['model_source']
    of_file = tables.ARM_MODEL_SOURCE, tables.SIMULATED_MODEL_SOURCE
    if source not in of_file and parameters['inertial_set']:
        raise SettingsError(
            f'inertial_set is {parameters["inertial_set"]}, but model_source is {source}, whose '
            'inertials are those of the URDF; leave inertial_set empty.'
        )
    reference = tables.arm_from_parameters(parameters)
    if source == tables.SIMULATED_MODEL_SOURCE:
        reference = _simulated_arm(reference)
    if source in of_file:
        return reference, None
    name = source
    hand = parameters['hand']
    urdf: Any = expanded_path(source)
    if source == tables.ROBOT_DESCRIPTION_TOPIC:
        name, urdf = _wait_for_robot_description(node, should_stop)
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
    return arm, urdf if isinstance(urdf, str) else None


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
    Return an arm's checked controller and its two models' largest difference, or raise an error.

    The controller calls `send` with each torque, (n,) [N m]. Default gains (kp -1.0) are set in
    the node's parameters kp and kd, and in `parameters`. Raises InertiaError if the arm's inertias
    are physically impossible, SettingsError if the parameters cannot be used on this arm,
    CrosscheckError if the two models disagree.
    """
    arm.require_physical('commanding torques')
    for sentence in (*arm.repairs, *arm.torque_notes):
        node.get_logger().warning(sentence)
    _set_default_gains(node, parameters, arm)
    # Under a target that adds no gravity every receiver that is allowed says, or is known, to
    # apply torques alone (`receivers.py`): what holds the arm before the first torque, such
    # as a brake, its own PD or Gazebo's initial effort, is no sign of a wrong target.
    limits = replace(
        tables.dataclass_from_parameters(StateLimits, parameters),
        min_input_rate=1.0 / parameters['period'],
        state_timeout=STATE_TIMEOUT_PERIOD_COUNT * parameters['period'],
        held_until_commanded=True,
    )
    settings = vars(tables.settings_from_parameters(parameters))
    controller = Feedforward(arm, limits=limits, applied_when_silent=False, send=send, **settings)
    controller.stop('not activated')
    terms = controller.requested_law.terms
    if rubs := controller.requested_law.unused_friction_note():
        node.get_logger().info(rubs)
    if controller.settings.is_tilted(arm):
        node.get_logger().warning(_mount_compensation_sentence(controller))
    report = crosscheck(terms.loaded_arm, gravity=terms.space_gravity)
    report.require()
    node.get_logger().info(
        f'{arm.name} ({arm.inertial_set}, hand {arm.hand}): Pinocchio '
        f'and Newton-Euler in DH frames agree to {report.largest:.1e} over {report.state_count} '
        f'states{", and with the URDF as Pinocchio reads it" if report.urdf_differences else ""}; '
        f'target {controller.settings.target}'
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
    Apply changed parameters; return the models' difference if payload or gravity changed, or None.

    The difference is None unless the payload or gravity changes. If the models disagree, the
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
    """Compute, set and log default gains kp and kd if the parameter kp is [-1.0]."""
    if list(parameters['kp']) != _KP_FOR_DEFAULT_GAINS:
        return
    settings = tables.settings_from_parameters({**parameters, 'kp': [0.0], 'kd': [0.0]})
    # The simulated arm holds no torque longer than COMMAND_TIMEOUT_S, but is braked.
    periods = 0.0 if settings.target == 'mujoco' else STATE_TIMEOUT_PERIOD_COUNT
    held = max(COMMAND_TIMEOUT_S, periods * parameters['period'])
    loaded = arm.with_payload(settings.payload_inertia())
    if settings.profile.min_rotor_inertia and loaded.simulated_armature is not None:
        # Without the drives' inertia the last joint of a bare FR3 would be nearly free.
        loaded = loaded.with_armature()
    gains = default_gains(loaded, held)
    if settings.target == 'mujoco' and settings.terms.friction:
        gains = gains_against_friction(arm, gains)
    kp, kd = ([float(f'{value:.4g}') for value in rows] for rows in gains)
    given = {'kp': kp, 'kd': kd}
    parameters.update(given)
    node.set_parameters([Parameter(name, value=value) for name, value in given.items()])
    node.get_logger().info(f'default gains (inertia at home): kp {kp} N m/rad, kd {kd} N m s/rad')
    # 1 rad off, the spring of a free joint does not overcome its friction.
    weak = gains[0] < _WRIST_FRICTION_TO_TORQUE_LIMIT * arm.limit('effort')
    if weak.any():
        free = ', '.join(np.array(arm.joint_names)[weak])
        node.get_logger().warning(f'{free} is nearly free: set kp and kd if something disturbs it')


def _wait_for_robot_description(node: Any, should_stop: Callable[[], bool]) -> tuple[str, str]:
    """
    Wait for robot_description; return its full name and text, or raise DescriptionError.

    The subscription belongs to a node of its own, because a transition runs in a callback, and no
    executor serves this node's subscriptions meanwhile.
    """
    topic = node.resolve_topic_name(tables.ROBOT_DESCRIPTION_TOPIC)
    came = list[Any]()
    options = {
        'context': node.context,
        'use_global_arguments': False,
        'enable_rosout': False,
    }
    waiting = Node(f'{node.get_name()}_description', start_parameter_services=False, **options)
    waiting.create_subscription(String, topic, came.append, DESCRIPTION_QOS)
    executor = SingleThreadedExecutor(context=node.context)
    executor.add_node(waiting)
    began = time.monotonic()
    seconds = ROBOT_DESCRIPTION_TIMEOUT_S
    try:
        while not came and (waited := time.monotonic() - began) < seconds:
            executor.spin_once(timeout_sec=_POLL_PERIOD_S)
            if waited >= _DESCRIPTION_WARNING_DELAY_S:
                node.get_logger().warning(
                    f'waiting for {topic} for {waited:.0f} s, where '
                    f'{node.count_publishers(topic)} publish; at most {seconds:g} s',
                    throttle_duration_sec=_DESCRIPTION_WARNING_PERIOD_S,
                )
            if should_stop() or not node.context.ok():
                raise DescriptionError(f'{topic} did not come before this node was told to stop.')
    finally:
        executor.shutdown()
        waiting.destroy_node()
    if came:
        return topic, came[0].data
    cause = 'nobody publishes it in this namespace: start robot_state_publisher there'
    for one in node.get_publishers_info_by_topic(topic):
        cause = f'{node_name_of(one)} publishes there, but no text has come'
        if one.qos_profile.durability is not DurabilityPolicy.TRANSIENT_LOCAL:
            cause = f'{node_name_of(one)} publishes it as volatile: make it transient local'
            break
    raise DescriptionError(f'{topic} did not arrive within {seconds:g} s; {cause}.')
