# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
A simulator of one's own, as a node that takes feedforward torques with gravity.

Its PD holds the arm, and the torques are added. If none comes for 0.05 s, the arm is braked and
held by its model. Run beside it:

    feedforward_node --ros-args -p target:=mujoco -r '~/command:=effort_controller/commands'
"""

from contextlib import suppress

import mujoco
import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

import franka_dynamics as fd
from franka_dynamics.control.settings import Settings
from franka_dynamics.simulation.receiver import ReceiverState, TorqueReceiver
from franka_dynamics.urdf.mjcf_writer import mjcf_text

ARM = fd.load('fr3')
DECLARES = '~/franka_dynamics/takes_torques_with_gravity'


class Simulator(Node):
    """An arm in MuJoCo that publishes its joint states and takes torques."""

    def __init__(self) -> None:
        super().__init__('own_simulator')
        self.receiver = TorqueReceiver(ARM, Settings(target='mujoco'), 0.05)
        self.followed = 0
        self.data = mujoco.MjData(mujoco.MjModel.from_xml_string(mjcf_text(ARM)))
        self.data.qpos[:] = ARM.home
        self.states = self.create_publisher(JointState, 'joint_states', 1)
        commands = 'effort_controller/commands'
        take = self._take
        # rclpy's types do not know that a callback may take `info`.
        self.create_subscription(Float64MultiArray, commands, take, 1)  # type: ignore[arg-type]
        self.create_service(Trigger, DECLARES, lambda _, answer: answer)
        self.create_timer(2e-3, self._step)

    def _take(self, message, info):
        self.receiver.accept(message.data, info['publication_sequence_number'])

    def _step(self):
        q = self.data.qpos
        dq = self.data.qvel
        now = self.get_clock().now()
        pd = ARM.limit('effort') * (1.2 * (ARM.home - q) - 0.12 * dq)
        self.data.ctrl[:] = pd + self.receiver.step(1e-9 * now.nanoseconds, q, dq)
        self.followed += self.receiver.state is ReceiverState.FOLLOWING
        if self.followed > 250:  # brakes hold the arm until torques have come for half a second
            mujoco.mj_step(self.data.model, self.data, 2)
        state = JointState(name=ARM.joint_names, position=q, velocity=dq, effort=self.data.ctrl)
        state.header.stamp = now.to_msg()
        self.states.publish(state)


if __name__ == '__main__':
    rclpy.init()
    with suppress(KeyboardInterrupt, ExternalShutdownException):
        rclpy.spin(Simulator())
