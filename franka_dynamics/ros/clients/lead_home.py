# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
A program that leads an arm to its start pose as soon as it gets its feedforward node's torques.

The launch file of Gazebo runs it where the arm leaves that pose before the first torque.
Arguments: the node's full name, and JOINT=POSITION of each joint there [rad, m].
"""

from collections.abc import Mapping, Sequence
import sys

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.duration import Duration
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from .node_client import NodeClient, NodeClientError
from ..topics import DESCRIPTION_QOS
from ...control.core_table import State
from ...errors import FrankaDynamicsError

_TIMEOUT_S = 120.0  # in which the node must begin to command
# A node that begins to command says with the second status, a second later, whether somebody
# receives its torques. If a receiver appears later, the node first finds out what it is, and
# interrupts a motion that has begun.
_GOOD_STATUS_COUNT = 2
_MOTION_TIME_S = 1.0  # duration of the motion, which is of some milliradians


def lead_home(client: NodeClient, home: Mapping[str, float]) -> None:
    """
    Lead the joints to positions [rad, m] once somebody receives the node's torques.

    Raises NodeClientError if nobody does in time, or if the motion fails.
    """
    statuses: list[bool] = []  # whether each says that torques are sent and received

    def on_status(message: DiagnosticStatus) -> None:
        """Store whether a status says that torques are sent and received."""
        values = {pair.key: pair.value for pair in message.values}
        is_running = values.get('state', '') == State.RUNNING.value
        statuses.append(is_running and message.level == DiagnosticStatus.OK)

    def are_good() -> bool:
        """Return whether enough statuses in a row say so."""
        latest = statuses[-_GOOD_STATUS_COUNT:]
        return len(latest) == _GOOD_STATUS_COUNT and all(latest)

    topic = f'{client.name}/status'
    client.node.create_subscription(DiagnosticStatus, topic, on_status, DESCRIPTION_QOS)
    if not client.wait_until(are_good, _TIMEOUT_S):
        raise NodeClientError(
            f'{client.name} commands no torques that somebody receives within {_TIMEOUT_S:g} s.'
        )
    point = JointTrajectoryPoint(positions=list(home.values()))
    point.time_from_start = Duration(seconds=_MOTION_TIME_S).to_msg()
    client.follow_trajectory(JointTrajectory(joint_names=list(home), points=[point]))


def main(args: Sequence[str] | None = None) -> int:
    """Lead an arm to its start pose; return 1 if that fails, as beside another motion."""
    name, *pairs = sys.argv[1:] if args is None else args
    home = {}
    for pair in pairs:
        joint, position = pair.split('=')
        home[joint] = float(position)
    try:
        with NodeClient(name, _TIMEOUT_S) as client:
            lead_home(client, home)
    except KeyboardInterrupt:
        return 0  # the launch ends, and with it the need
    except FrankaDynamicsError as error:
        print(f'The arm was not led to its start pose: {error}', file=sys.stderr)
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
