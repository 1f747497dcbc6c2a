# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Compares an arm's model with the model that a robot serves over the Franka Control Interface (FCI).

Nothing is commanded: one state is read, libfranka loads the robot's model, and both models are
evaluated at the same random states.
"""

import os
import subprocess
import sys
from typing import Any, NamedTuple

import numpy as np

from ..arm import ArmDescription, LinkInertia
from ..arrays import Array
from ..constants import GRAVITY
from ..dynamics.pinocchio_model import PinocchioModel
from ..dynamics.sampling import sample_states
from ..errors import require_extra, RobotInterfaceError

# Largest allowed difference of M and of C dq, relative to the largest entry of the robot's term
# over all states. M and C dq of a FER without hand by gaz2019 and by franka_description differ by
# 0.17 to 0.21 of their largest entry.
MAX_ROBOT_MODEL_DIFFERENCE_RATIO = 0.3
# Largest allowed difference of the gravity torque [N m], joint by joint. On two real FERs the
# measured torque at rest differs from the best published g(q) by up to 1.6 N m.
MAX_GRAVITY_TORQUE_DIFFERENCE_NM = np.array([4.0, 4.0, 4.0, 4.0, 1.5, 1.5, 1.5])
# Largest allowed difference of the Jacobian [m/rad or 1] and of the end effector's position [m].
# With the same geometry Jacobian and position agree to rounding; with another flange they differ
# by centimetres.
MAX_JACOBIAN_DIFFERENCE = MAX_POSITION_DIFFERENCE_M = 0.01
# [m/s^2] largest allowed difference of gravity in the base frame.
MAX_GRAVITY_DIFFERENCE_M_S2 = 0.5
COMPARED_STATE_COUNT = 300
POSE_SUBJECT = 'pose of the end effector'
# libfranka waits for ever for a robot that another client is connected to, so a child process,
# which can be ended, connects first. The child repeats the connection if a busy machine misses the
# first state, for which libfranka waits a second.
_CONNECTION_PROBE_SCRIPT = """
import sys, pylibfranka
while True:
    try:
        pylibfranka.Robot(sys.argv[1], pylibfranka.RealtimeConfig.kIgnore)
        break
    except pylibfranka.NetworkException as error:
        if 'UDP receive: Timeout' not in str(error):
            raise
"""


class RobotDifference(NamedTuple):
    """A quantity's difference between model and robot as text, and whether it is within bounds."""

    subject: str
    sentence: str
    is_allowed: bool


def read_robot_state_and_model(address: str, timeout: float = 10.0) -> tuple[Any, Any]:
    """
    Return a robot's pylibfranka RobotState and Model, read over FCI, or raise RobotInterfaceError.

    `address` is the host name or IP address of the robot's control unit. A child process first
    tries to connect, for at most `timeout` seconds.

    Raises
    ------
    RobotInterfaceError
        If the robot cannot be reached, does not answer, or refuses the connection.
    MissingDependencyError
        If pylibfranka is not installed.

    """
    with require_extra("the robot's control interface", 'fci'):
        import pylibfranka
    try:
        probe = [sys.executable, '-c', _CONNECTION_PROBE_SCRIPT, address]
        answer = subprocess.run(probe, timeout=timeout, capture_output=True, encoding='utf-8')
    except subprocess.TimeoutExpired as error:
        raise RobotInterfaceError(
            f'{address} does not answer within {timeout:g} s; is another client connected to it?'
        ) from error
    if answer.returncode:
        said = answer.stderr.strip() or f'the client of libfranka ended by {answer.returncode}'
        reason = said.splitlines()[-1].split(': ', 1)[-1].removeprefix('libfranka: ')
        raise RobotInterfaceError(f'{address} cannot be reached: {reason}')
    # libfranka gives the thread that connects the highest real-time priority where it may, which
    # the comparison's long sums must not have.
    policy = os.sched_getscheduler(0)
    priority = os.sched_getparam(0)
    try:
        robot = pylibfranka.Robot(address, pylibfranka.RealtimeConfig.kIgnore)
        return robot.read_once(), robot.load_model()
    except (pylibfranka.FrankaException, RuntimeError) as error:
        # Errors of Poco, libfranka's network library, arrive as plain RuntimeErrors.
        reason = str(error).removeprefix('libfranka: ')
        raise RobotInterfaceError(f'{address}: {reason}') from error
    finally:
        os.sched_setscheduler(0, policy, priority)


def compare_with_robot(
    state: Any, robot_model: Any, arm: ArmDescription, bare_arm: ArmDescription
) -> list[RobotDifference]:
    """
    Return differences of model and robot in M, C dq, g, Jacobian, load, tool and base gravity.

    The load that is set on the robot is compared by its gravity torques: g of `bare_arm` with this
    load, and g of `arm`.

    `read_robot_state_and_model` returns the first two. `arm` has the hand and payload that
    should be set on the robot, `bare_arm` neither. The models are compared at random states within
    the joint limits.

    Raises
    ------
    RobotInterfaceError
        If the robot has another number of joints than the arm.

    """
    if arm.n != (n := len(state.q)):
        raise RobotInterfaceError(f'the robot has {n} joints and {arm.name} {arm.n}; give --arm.')
    model = PinocchioModel(arm, GRAVITY)
    tool = np.reshape(state.F_T_EE, (4, 4), order='F')
    reported = np.reshape(state.O_T_EE, (4, 4), order='F')
    distance = np.linalg.norm((reported - model.frames(np.array(state.q))[-1] @ tool)[:3, 3])
    load = LinkInertia.from_center_of_mass(state.m_total, np.array(state.F_x_Ctotal), np.zeros(6))
    loaded = PinocchioModel(bare_arm.with_payload(load), GRAVITY)
    base = np.array(state.O_ddP_O)
    q, dq, _ = sample_states(arm, COMPARED_STATE_COUNT)
    mass, coriolis, gravity, jacobian = _terms_of_robot(state, robot_model, q, dq)
    own = model.gravity(q)
    known = f'g by the load the robot knows ({state.m_total:.3g} kg)'
    compared: tuple[tuple[str, str, Any, Array, Array], ...] = (
        ('M', 'kg m^2', None, mass, model.mass_matrix(q)),
        ('C dq', 'N m', None, coriolis, model.coriolis(q, dq)),
        ('g', 'N m', MAX_GRAVITY_TORQUE_DIFFERENCE_NM, gravity, own),
        (
            'Jacobian',
            'm',
            MAX_JACOBIAN_DIFFERENCE,
            jacobian,
            _jacobian_of_tool(model, q, tool),
        ),
        # With the load that is set on the robot, then with hand and payload.
        (known, 'N m', MAX_GRAVITY_TORQUE_DIFFERENCE_NM, loaded.gravity(q), own),
    )
    sentence = f'{distance:.3g} m apart ({MAX_POSITION_DIFFERENCE_M:g} allowed)'
    pose = RobotDifference(POSE_SUBJECT, sentence, bool(distance <= MAX_POSITION_DIFFERENCE_M))
    base_gravity = RobotDifference(
        'gravity in the base frame',
        f'the robot reports {np.round(base, 2).tolist()} m/s^2',
        not base.any() or bool(np.abs(base - GRAVITY).max() <= MAX_GRAVITY_DIFFERENCE_M_S2),
    )
    return [
        *(_largest_difference(arm, *terms) for terms in compared),
        pose,
        base_gravity,
    ]


def _terms_of_robot(state: Any, robot_model: Any, q: Array, dq: Array) -> tuple[Array, ...]:
    """Return the robot's M, C dq, g and Jacobian of its end effector at states (S, n)."""
    n = q.shape[-1]
    rows = []
    unchanged = (state.q, state.dq, state.O_ddP_O)
    try:
        # libfranka's model takes gravity from the state, and a simulated robot may report zeros.
        state.O_ddP_O = list(GRAVITY)
        for position, velocity in zip(q.tolist(), dq.tolist()):
            state.q = position
            state.dq = velocity
            terms = (getattr(robot_model, term)(state) for term in ('mass', 'coriolis', 'gravity'))
            rows.append((*terms, robot_model.zero_jacobian(state)))
    finally:
        state.q, state.dq, state.O_ddP_O = unchanged
    mass, coriolis, gravity, jacobian = map(np.array, zip(*rows))
    return (
        mass.reshape(-1, n, n),
        coriolis,
        gravity,
        jacobian.reshape(-1, n, 6).swapaxes(1, 2),
    )


def _jacobian_of_tool(model: PinocchioModel, q: Array, tool_pose: Array) -> Array:
    """Return the Jacobians of an end effector at `tool_pose` in the flange, (S, 6, n)."""
    jacobian = model.jacobian(q)
    lever = model.frames(q)[:, -1, :3, :3] @ tool_pose[:3, 3]
    jacobian[:, :3] += np.cross(jacobian[:, 3:], lever[..., None], axis=1)
    return jacobian


def _largest_difference(
    arm: ArmDescription,
    subject: str,
    unit: str,
    bound: Any,
    robot_term: Array,
    model_term: Array,
) -> RobotDifference:
    """Return a term's RobotDifference, at the entry where it is largest relative to the bound."""
    if bound is None:
        bound = MAX_ROBOT_MODEL_DIFFERENCE_RATIO * np.abs(robot_term).max()
    # If M or C dq is zero at all states, only rounding errors are allowed.
    error = np.abs(robot_term - model_term)
    allowed = np.broadcast_to(np.maximum(bound, np.finfo(float).eps), error.shape)
    worst = np.unravel_index(np.argmax(error / allowed), error.shape)
    return RobotDifference(
        subject,
        f'differs by up to {error[worst]:.3g} {unit} at {arm.joint_names[int(worst[-1])]} '
        f'({allowed[worst]:.3g} allowed)',
        bool(error[worst] <= allowed[worst]),  # False for NaN
    )
