# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Publishes one excitation trajectory as a reference, and says how far the arm is from its end.

Options come before --ros-args: reference_player_node --tolerance 0.02 --ros-args -p
robot_type:=fr3. All else are ROS parameters.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
import sys
import time
from typing import Any
import uuid

from diagnostic_msgs.msg import DiagnosticArray
import numpy as np
import rclpy
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.utilities import remove_ros_args
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from .messages import JointReading, JointStateReader, request_message
from .node_process import start_node
from .node_settings import load_arm
from .parameter_tables import table
from .parameters import declare, values
from .qos import REFERENCE_QOS, REFERENCE_STATE_QOS, STATE_QOS
from .statuses import ReferenceReports
from ..control.multisine import multisine
from ..control.planning import TrajectoryRequest
from ..errors import FrankaDynamicsError, JointStateError
from ..typing import Array

REFERENCE_TOPIC = 'feedforward/reference'
REFERENCE_STATE_TOPIC = 'feedforward/reference_state'
NOT_DONE, INPUT_AT_FAULT = 1, 2
_LOOK_PERIOD_S, _CALLBACKS = 0.05, 4
_AGAIN_PERIOD_S = 0.5


class ReferencePlayerNode(Node):
    """Plays a multisine about the arm's home pose."""

    def __init__(self, **node_options: Any) -> None:
        super().__init__('reference_player', **node_options)
        declare(self, table('reference_player'))
        self._plan = values(self, table('reference_player'))
        self._description = load_arm(self._plan)
        self._reader = JointStateReader(self._description.joint_names)
        self._latest: JointReading | None = None
        self._arrival = 0.0
        self._told = ReferenceReports('')
        self._publisher = self.create_publisher(JointTrajectory, REFERENCE_TOPIC, REFERENCE_QOS)
        self.create_subscription(JointState, 'joint_states', self._on_state, STATE_QOS)
        self.create_subscription(
            DiagnosticArray, REFERENCE_STATE_TOPIC, self._on_reference_state, REFERENCE_STATE_QOS
        )

    def play(self) -> int:
        """Publish the motion, wait until the arm's stamps have passed its end; exit status."""
        until = time.monotonic() + self._plan['wait']
        while self._latest is None or self._publisher.get_subscription_count() == 0:
            rclpy.spin_once(self, timeout_sec=0.1)
            if time.monotonic() > until:
                missing = (
                    'joint_states of this arm'
                    if self._latest is None
                    else f'a listener on {self._publisher.topic_name}'
                )
                print(
                    f'{missing} did not appear within {self._plan["wait"]:g} s.', file=sys.stderr
                )
                return NOT_DONE
        request = multisine(self._description, self._plan['duration'], self._plan['amplitude'])
        # A node that has only just started, or stopped for a moment, refuses at first.
        while (
            (seen := self._follow(request))
            and self._told.state == 'refused'
            and time.monotonic() < until
        ):
            time.sleep(_AGAIN_PERIOD_S)
        if not seen:
            return NOT_DONE
        return self._report(request, self._latest.position)

    def _follow(self, request: TrajectoryRequest) -> bool:
        """Publish the motion and wait for its end, or until it is known not to be followed."""
        assert self._latest is not None
        self._told = ReferenceReports(str(uuid.uuid4()))
        # A zero stamp starts it on arrival, and the node leads the arm to its first point.
        message = request_message(request, self._plan['lead_in'])
        message.header.frame_id = self._told.mark
        self._publisher.publish(message)
        # By the arm's own stamps: whether they are simulated or fall behind, the node goes by
        # them too.
        end = self._latest.stamp + self._plan['lead_in'] + float(request.times[-1])
        end += self._plan['settle']
        self._arrival = time.monotonic()
        while self._latest.stamp < end and not self._told.not_followed:
            # Reading a kilohertz of joint states only to see time pass would cost a tenth of a
            # core; a subscription of depth 1 has the freshest ready.
            time.sleep(_LOOK_PERIOD_S)
            for _ in range(_CALLBACKS):
                rclpy.spin_once(self, timeout_sec=0.0)
            if time.monotonic() - self._arrival > self._plan['wait']:
                print(
                    f'no joint state has come for {self._plan["wait"]:g} s; is the arm still '
                    'there, and its simulation not paused?',
                    file=sys.stderr,
                )
                return False
        return True

    def _report(self, request: TrajectoryRequest, position: Array) -> int:
        """Print how far the arm is from where the motion ends; return the exit status."""
        error = np.abs(position - request.positions[-1])
        joint = int(error.argmax())
        tolerance = self._plan['tolerance']
        worst = f'{error[joint]:.3g} rad, {self._description.joint_names[joint]}'
        if self._told.not_followed:
            print(
                f'the motion was not followed to its end: {self._told.not_followed} (the arm is '
                f'{worst} from its end).',
                file=sys.stderr,
            )
            return NOT_DONE
        if 0.0 < tolerance < error[joint]:
            print(
                f'the arm is not where the motion ends: error at the end {worst}, more than '
                f'the tolerance of {tolerance:g} rad. /diagnostics says what the node saw.',
                file=sys.stderr,
            )
            return NOT_DONE
        print(
            f'error at the end: {worst}' + (f' (tolerance {tolerance:g} rad)' if tolerance else '')
        )
        return 0

    def _on_state(self, message: JointState) -> None:
        try:
            self._latest = self._reader.read(message)
            self._arrival = time.monotonic()
        except JointStateError as error:
            self.get_logger().warning(str(error), throttle_duration_sec=1.0)

    def _on_reference_state(self, message: DiagnosticArray) -> None:
        self._told.take(message)


def main(args: Sequence[str] | None = None) -> int:
    """Play once; 1 if it was not followed or nobody was there, 2 if a parameter is at fault."""
    arguments = list(sys.argv if args is None else args)
    parser = argparse.ArgumentParser(
        prog='reference_player_node',
        description=__doc__,
        epilog='Exit status: 0 the arm stands where the motion ends, 1 it does not, or nobody '
        'followed the motion, 2 a parameter is at fault. config/reference_player/'
        'default.yaml lists all parameters.',
    )
    parser.add_argument(
        '--tolerance',
        type=float,
        metavar='RAD',
        help='largest error at the end, over the parameter tolerance; 0 only reports it',
    )
    options = parser.parse_args(remove_ros_args(arguments)[1:])
    overrides = (
        [] if options.tolerance is None else [Parameter('tolerance', value=options.tolerance)]
    )
    try:
        node = start_node(lambda: ReferencePlayerNode(parameter_overrides=overrides), arguments)
        try:
            return node.play()
        finally:
            node.destroy_node()
    except FrankaDynamicsError as error:
        print(f'{error}', file=sys.stderr)
        return INPUT_AT_FAULT
    except KeyboardInterrupt:
        return 130
    finally:
        rclpy.try_shutdown()


if __name__ == '__main__':
    sys.exit(main())
