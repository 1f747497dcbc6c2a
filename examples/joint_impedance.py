# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Joint impedance control that takes the arm's dynamics from the feedforward node's topics.

tau = K (q_d - q) + D (dq_d - dq) + M(q) ddq_d + C(q, dq) dq, for an arm that carries itself, as
one behind FCI does. Elsewhere, subscribe to feedforward/gravity likewise.
See docs/howto/examples.md.
"""

import time

import numpy as np
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from franka_dynamics.ros.node_process import StopRequest
from franka_dynamics.ros.stamp_matcher import StampMatcher

STIFFNESS = np.array([200.0, 200.0, 200.0, 200.0, 60.0, 60.0, 30.0])  # N m/rad
DAMPING = np.array([20.0, 20.0, 20.0, 20.0, 3.0, 3.0, 1.0])  # N m s/rad
AMPLITUDE = np.array([0.3, 0.2, 0.3, 0.2, 0.4, 0.3, 0.5])  # rad
FREQUENCY, HOLD_S = 2.0 * np.pi * 0.4, 0.5  # rad/s; standing still before the motion [s]


class JointImpedance(Node):
    """Follows a motion about the pose in which it first sees the arm."""

    def __init__(self):
        super().__init__('joint_impedance')
        self._joints = self.declare_parameter(
            'joints', [f'fer_joint{i}' for i in range(1, 8)]
        ).value
        topics = {'state': 'joint_states'}
        if self.declare_parameter('terms', True).value:
            topics |= {name: f'feedforward/{name}' for name in ('mass_matrix', 'coriolis')}
        self._command = self.create_publisher(Float64MultiArray, 'effort_controller/commands', 1)
        self._desired = self.create_publisher(JointState, '~/desired', 1)
        self._start, self._torque = None, np.zeros(len(self._joints))
        self._matcher = StampMatcher(
            self, {name: (JointState, topic) for name, topic in topics.items()}, self._answer
        )

    def _answer(self, stamp, messages):
        state = messages['state']
        order = [state.name.index(joint) for joint in self._joints]
        q, dq = np.array(state.position)[order], np.array(state.velocity)[order]
        self._start = self._start or (stamp + HOLD_S, q)
        offset, dq_d, ddq_d = (AMPLITUDE * wave for wave in smooth_wave(stamp - self._start[0]))
        q_d = self._start[1] + offset
        self._torque = STIFFNESS * (q_d - q) + DAMPING * (dq_d - dq)
        if 'mass_matrix' in messages:
            mass_matrix = np.reshape(messages['mass_matrix'].effort, (len(q), len(q)))
            self._torque += mass_matrix @ ddq_d + messages['coriolis'].effort
        self._command.publish(Float64MultiArray(data=self._torque.tolist()))
        self._desired.publish(
            JointState(
                header=state.header,
                name=self._joints,
                position=q_d.tolist(),
                velocity=dq_d.tolist(),
            )
        )

    def let_go(self):
        """Fade the torque out within 0.1 s, because receivers hold the last one for ever."""
        for share in np.linspace(1.0, 0.0, 101):
            self._command.publish(Float64MultiArray(data=(share * self._torque).tolist()))
            time.sleep(1e-3)


def smooth_wave(since):
    """Return sin^3 and its derivatives a time [s] after the start; all three begin at zero."""
    s, c = (wave(FREQUENCY * max(since, 0.0)) for wave in (np.sin, np.cos))
    return s**3, FREQUENCY * 3.0 * s**2 * c, FREQUENCY**2 * (6.0 * s * c**2 - 3.0 * s**3)


def run(make_node):
    """Control until interrupted or terminated."""
    stop = StopRequest()
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node = make_node()
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    while not stop.requested:
        executor.spin_once(timeout_sec=0.1)
    node.let_go()
    rclpy.try_shutdown()


if __name__ == '__main__':
    run(JointImpedance)
