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
import math
import sys
import time
from typing import Any

import numpy as np
import rclpy
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.utilities import remove_ros_args
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from .messages import JointReading, request_message
from .node_client import MotionRefusedError, NodeClient, NodeClientError
from .node_process import INPUT_AT_FAULT, start_node
from .node_settings import load_arm
from .parameter_tables import table
from .parameters import declare
from .qos import STATE_QOS
from .serialized import JointStateReader
from ..control.multisine import multisine
from ..control.planning import TrajectoryRequest
from ..errors import FrankaDynamicsError, JointStateError

NOT_DONE = 1
# Between looks: to read a kilohertz of joint states would cost a tenth of a core, and the newest
# is always ready.
_LOOK_PERIOD_S = 0.05
_AGAIN_PERIOD_S = 0.5


class ReferencePlayerNode(Node):
    """Plays a multisine about the arm's home pose."""

    def __init__(self, **node_options: Any) -> None:
        super().__init__('reference_player', **node_options)
        self._plan = declare(self, table('reference_player'))
        self._description = load_arm(self._plan)
        self._reader = JointStateReader(self._description.joint_names)
        self._latest: JointReading | None = None
        self._arrival = time.monotonic()
        self.create_subscription(JointState, 'joint_states', self._on_state, STATE_QOS, raw=True)

    def play(self) -> int:
        """Have the motion followed, and wait until the arm has settled; return exit status."""
        plan = self._plan
        request = multisine(self._description, plan['duration'], plan['amplitude'])
        # A zero stamp starts it on arrival, and the node leads the arm to its first point.
        message = request_message(request, plan['lead_in'])
        name = f'{self.get_namespace()}/feedforward'
        try:
            with NodeClient(name, plan['wait'], self._look, self) as client:
                self._follow(client, message)
                assert self._latest is not None, 'whose stamps the motion went by'
                # By the arm's own stamps: simulated, or behind, the node goes by them too.
                end = self._latest.stamp + plan['settle']
                client.until(
                    lambda: self._latest is not None and self._latest.stamp >= end, math.inf
                )
        except NodeClientError as error:
            print(f'{error}{self._where(request)}.', file=sys.stderr)
            return NOT_DONE
        return self._report(request)

    def _follow(self, client: NodeClient, message: JointTrajectory) -> None:
        until = time.monotonic() + self._plan['wait']
        while True:
            try:
                client.play(message)
                return
            except MotionRefusedError:
                # A node that has only just started, or stopped for a moment, refuses at first.
                if time.monotonic() > until:
                    raise
                time.sleep(_AGAIN_PERIOD_S)

    def _look(self) -> None:
        time.sleep(_LOOK_PERIOD_S)
        if time.monotonic() - self._arrival > self._plan['wait']:
            raise NodeClientError(
                f'no joint state of this arm has come for {self._plan["wait"]:g} s; it may be '
                'absent, or its simulation paused'
            )

    def _where(self, request: TrajectoryRequest) -> str:
        if self._latest is None:
            return ''
        return f' (the arm is {self._error(request)[1]} from its end)'

    def _error(self, request: TrajectoryRequest) -> tuple[float, str]:
        """Return how far the arm is from the motion's end [rad], also in words with the joint."""
        assert self._latest is not None
        error = np.abs(self._latest.position - request.positions[-1])
        joint = int(error.argmax())
        return error[joint], f'{error[joint]:.3g} rad, {self._description.joint_names[joint]}'

    def _report(self, request: TrajectoryRequest) -> int:
        """Print how far the arm is from where the motion ends; return the exit status."""
        error, worst = self._error(request)
        tolerance = self._plan['tolerance']
        if 0.0 < tolerance < error:
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

    def _on_state(self, data: bytes) -> None:
        try:
            self._latest = self._reader.read(data)
            self._arrival = time.monotonic()
        except JointStateError as error:
            self.get_logger().warning(str(error), throttle_duration_sec=1.0)


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
