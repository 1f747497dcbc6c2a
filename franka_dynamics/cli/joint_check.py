# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The work of `node play --joints-one-by-one`, which shows whether torques reach their joints."""

from collections.abc import Sequence

import numpy as np

from .bag_record import arm_choice_of_node
from ..arrays import Array
from ..errors import list_text
from ..ros.clients.node_client import NodeClient, NodeClientError
from ..ros.trajectory_messages import trajectory_message

# Asked of each joint. A tenth of the usual gains then overcomes a joint's friction.
_STEP_RAD_OR_M = 0.1
# Time to move by the step, and again to move back.
_STEP_TIME_S = 1.5
# A joint moves if it moves by this share of the step or more.
_MIN_SHARE_OF_STEP = 0.3
_STATE_TIMEOUT_S = 5.0


def move_joints_one_by_one(client: NodeClient, topic: str) -> int:
    """
    Move each joint alone and back, and print how far it moved; return 0, or 1 at the first fault.

    A joint moves away from its nearer limit, one without limits in the negative direction. After a
    fault the other joints stay where they are. Raises NodeClientError if no joint states come on
    `topic`, or the node refuses a motion.
    """
    arm = arm_choice_of_node(client).load()
    names = arm.joint_names
    middle = (arm.limit('lower') + arm.limit('upper')) / 2.0  # NaN without limits
    for joint, name in enumerate(names):
        start = _positions(client, topic, names)
        step = np.zeros(len(names))
        step[joint] = _STEP_RAD_OR_M if start[joint] < middle[joint] else -_STEP_RAD_OR_M
        largest = _move_and_return(client, topic, names, start, step)
        print(f'{name}: asked to move by {step[joint]:+.3f}, moved by {largest[joint]:+.3f}')
        fault = _fault(names, joint, largest / step[joint])
        if fault:
            rest = 'the joints that follow were not moved.'
            print(f'{fault} Check wires, signs and the order of joints; {rest}')
            return 1
    return 0


def _positions(client: NodeClient, topic: str, names: Sequence[str]) -> Array:
    """Return the newest joint positions, shape (n,) [rad or m]; wait for the first message."""

    def newest() -> Array | None:
        """Return the newest positions, or None before the first message."""
        return client.joint_positions(topic, names)

    if newest() is None:
        client.wait_until(lambda: newest() is not None, _STATE_TIMEOUT_S)
    positions = newest()
    if positions is None:
        raise NodeClientError(f'no joint states of {list_text(names)} came on {topic}.')
    return positions


def _move_and_return(
    client: NodeClient, topic: str, names: Sequence[str], start: Array, step: Array
) -> Array:
    """Move the arm from `start` by `step` and back; return each joint's largest displacement."""
    points = np.array([start, start + step, start])
    times = [0.0, _STEP_TIME_S, 2.0 * _STEP_TIME_S]
    check_interrupt = client.on_wait
    largest = np.zeros(len(names))

    def watch() -> None:
        """Check for an interrupt, then keep the largest displacements."""
        check_interrupt()
        displacement = _positions(client, topic, names) - start
        is_larger = np.abs(displacement) > np.abs(largest)
        largest[is_larger] = displacement[is_larger]

    client.on_wait = watch
    try:
        client.follow_trajectory(trajectory_message(names, times, points, np.zeros_like(points)))
    finally:
        client.on_wait = check_interrupt
    return largest


def _fault(names: Sequence[str], joint: int, shares: Array) -> str:
    """Return what is wrong if joints move by `shares` of the step of one joint, or ''."""
    if shares[joint] <= -_MIN_SHARE_OF_STEP:
        return f'{names[joint]} moves the wrong way.'
    moved = [name for name, share in zip(names, shares) if abs(share) >= _MIN_SHARE_OF_STEP]
    others = [name for name in moved if name != names[joint]]
    if others:
        return f'{list_text(others)} moved where {names[joint]} was to move.'
    if shares[joint] < _MIN_SHARE_OF_STEP:
        return f'{names[joint]} hardly moves: gains too small for its friction, or no torque.'
    return ''
