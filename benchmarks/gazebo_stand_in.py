# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
A stand-in for Gazebo: MuJoCo's physics behind the messages of Gazebo's own joint systems.

What ros_gz_bridge makes of gz-sim's JointStatePublisher, ApplyJointForce and clock: joint states
whose zero is the start pose and whose efforts are zeros, one topic of force per joint whose last
value acts for ever, /clock. It starts paused, publishes while paused, and waits for nobody, but
with --lockstep for the forces that answer a state, as a test needs it.
`python benchmarks/gazebo_stand_in.py --help`
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
import sys
import time

import mujoco
import numpy as np
import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.experimental import EventsExecutor
from rclpy.node import Node
from rclpy.utilities import remove_ros_args
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64
from std_srvs.srv import SetBool, Trigger

from franka_dynamics.arm import ArmDescription, load
from franka_dynamics.ros.messages import doubles, stamp_from_seconds
from franka_dynamics.ros.qos import PUBLISHER_QOS
from franka_dynamics.simulation.gazebo import start_of, with_zero_at
from franka_dynamics.simulation.mujoco_model import build_mujoco, TIMESTEP_S

NAME = 'gazebo_stand_in'
_PAUSED_PERIOD_S = 0.005
_MOST_LAG_S = 0.05  # real time that is caught up with, as Gazebo does not either


class GazeboStandIn(Node):
    """Physics that is fed by joint forces and paced by a real-time factor."""

    def __init__(
        self, description: ArmDescription, real_time_factor: float, lockstep: float
    ) -> None:
        super().__init__(NAME)
        self._lockstep = lockstep
        self._answered: set[int] = set()
        start = start_of(description)
        self._model = build_mujoco(with_zero_at(description, start.position), stops=True)
        self._data = mujoco.MjData(self._model)
        mujoco.mj_forward(self._model, self._data)
        self._names = list(description.joint_names)
        self._forces = np.zeros(description.n)
        self._steps = 0
        self.paused = True
        self.declare_parameter('real_time_factor', real_time_factor)
        self._states = self.create_publisher(JointState, 'gazebo/joint_states', PUBLISHER_QOS)
        self._clock_publisher = self.create_publisher(Clock, '/clock', PUBLISHER_QOS)
        for joint, name in enumerate(self._names):
            self.create_subscription(
                Float64,
                f'gazebo/{name}/cmd_force',
                lambda message, joint=joint: self._on_force(joint, message),
                PUBLISHER_QOS,
            )
        self.create_service(SetBool, '~/pause', self._on_pause)
        self.create_service(Trigger, '~/reset', self._on_reset)

    def run(self) -> None:
        """Step until the process is interrupted."""
        executor = EventsExecutor()
        executor.add_node(self)
        due = time.perf_counter()
        while rclpy.ok():
            self._answered.clear()
            self._publish()
            factor = self.get_parameter('real_time_factor').value
            due += _PAUSED_PERIOD_S if self.paused else TIMESTEP_S / factor
            due = max(due, time.perf_counter() - _MOST_LAG_S)
            while (left := due - time.perf_counter()) > 0.0:
                executor.spin_once(timeout_sec=left)
            executor.spin_once(timeout_sec=0.0)
            give_up = time.perf_counter() + (0.0 if self.paused else self._lockstep)
            while (
                len(self._answered) < len(self._names)
                and (left := give_up - time.perf_counter()) > 0.0
            ):
                executor.spin_once(timeout_sec=left)
            if not self.paused:
                self._data.ctrl[:] = self._forces
                mujoco.mj_step(self._model, self._data)
                self._steps += 1

    def _publish(self) -> None:
        stamp = stamp_from_seconds(self._steps * TIMESTEP_S)
        message = JointState(
            name=self._names,
            position=doubles(self._data.qpos),
            velocity=doubles(self._data.qvel),
            effort=doubles(np.zeros(len(self._names))),
        )
        message.header.stamp = stamp
        self._clock_publisher.publish(Clock(clock=stamp))
        self._states.publish(message)

    def _on_force(self, joint: int, message: Float64) -> None:
        self._forces[joint] = message.data
        self._answered.add(joint)

    def _on_pause(self, request: SetBool.Request, answer: SetBool.Response) -> SetBool.Response:
        self.paused = request.data
        answer.success = True
        return answer

    def _on_reset(self, _: Trigger.Request, answer: Trigger.Response) -> Trigger.Response:
        """Put time and joints back to where they began; forces go on acting, as in Gazebo."""
        mujoco.mj_resetData(self._model, self._data)
        mujoco.mj_forward(self._model, self._data)
        self._steps = 0
        answer.success = True
        return answer


def main(args: Sequence[str] | None = None) -> int:
    """Run until interrupted."""
    arguments = list(sys.argv if args is None else args)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--robot-type', default='fr3')
    parser.add_argument('--hand', default='none')
    parser.add_argument('--real-time-factor', type=float, default=1.0)
    parser.add_argument(
        '--lockstep',
        type=float,
        default=0.0,
        metavar='S',
        help='wait for the forces that answer a state, at most so long [s of real '
        'time] (default: not at all)',
    )
    options = parser.parse_args(remove_ros_args(arguments)[1:])
    rclpy.init(args=arguments)
    node = GazeboStandIn(
        load(options.robot_type, hand=options.hand), options.real_time_factor, options.lockstep
    )
    try:
        node.run()
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        node.destroy_node()
        rclpy.try_shutdown()
    return 0


if __name__ == '__main__':
    sys.exit(main())
