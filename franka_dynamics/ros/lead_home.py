# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
A program that leads an arm to its start pose as soon as its feedforward node commands torques.

The launch file of Gazebo runs it where the arm leaves that pose before the first torque.
Arguments: the node's full name, and JOINT=POSITION of each joint there [rad, m].
"""

from collections.abc import Mapping, Sequence
import sys

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.duration import Duration
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from .node_client import NodeClient, NodeClientError
from .topics import DESCRIPTION_QOS
from ..control.feedforward import State
from ..errors import FrankaDynamicsError

_TIMEOUT_S = 120.0  # in which the node must begin to command
_WAY_S = 1.0  # duration of the motion, of some milliradians


def lead_home(client: NodeClient, home: Mapping[str, float]) -> None:
    """Lead the joints to positions [rad, m] once the node commands; raise NodeClientError."""
    states: list[str] = []

    def on_status(message: DiagnosticStatus) -> None:
        values = {pair.key: pair.value for pair in message.values}
        states.append(values.get('state', ''))

    topic = f'{client.name}/status'
    client.node.create_subscription(DiagnosticStatus, topic, on_status, DESCRIPTION_QOS)
    if not client.wait_until(lambda: states[-1:] == [State.RUNNING.value], _TIMEOUT_S):
        raise NodeClientError(f'{client.name} commands no torques within {_TIMEOUT_S:g} s.')
    point = JointTrajectoryPoint(positions=list(home.values()))
    point.time_from_start = Duration(seconds=_WAY_S).to_msg()
    client.follow_trajectory(JointTrajectory(joint_names=list(home), points=[point]))


def main(args: Sequence[str] | None = None) -> int:
    """Lead an arm to its start pose; return 1 if that fails, as beside another motion."""
    name, *pairs = sys.argv[1:] if args is None else args
    home = {joint: float(position) for joint, position in (one.split('=') for one in pairs)}
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
