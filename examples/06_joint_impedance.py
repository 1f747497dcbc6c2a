# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Joint impedance control that takes the arm's dynamics from the feedforward node's topics.

tau = K (q_d - q) + D (dq_d - dq) + M(q) ddq_d + C(q, dq) dq, for an arm that compensates its own
gravity, as a real arm does under FCI. For an arm that does not compensate gravity add g(q) of the
topic feedforward/gravity. The gains suit a FER. Ctrl-C ramps the torque to zero, and tracking
error and torque are drawn in `joint_impedance.png`. Parameters, after --ros-args: -p terms:=false
(the same gains without M and C dq), -p joints:="[..., ...]" (default: fer_joint1 to fer_joint7).
"""

import time

from matplotlib.figure import Figure
import numpy as np
import rclpy
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState
from stamp_matcher import StampMatcher
from std_msgs.msg import Float64MultiArray

from franka_dynamics.ros.node_process import StopRequest

STIFFNESS = np.array([200.0, 200.0, 200.0, 200.0, 60.0, 60.0, 30.0])  # N m/rad
DAMPING = np.array([20.0, 20.0, 20.0, 20.0, 3.0, 3.0, 1.0])  # N m s/rad
AMPLITUDE = np.array([0.3, 0.2, 0.3, 0.2, 0.4, 0.3, 0.5])  # rad
# Angular frequency of the motion [rad/s]; time that the arm stands still before the motion [s].
FREQUENCY = 2.0 * np.pi * 0.4
HOLD_S = 0.5
# Longest wait for every subscriber to confirm the last torque, which is zero.
DELIVERY = Duration(seconds=5.0)


class Controller(Node):
    """Publishes torques of an arm's joints, and keeps tracking errors and torques for a report."""

    def __init__(self, name, what, unit):
        # A real arm's topics are in another namespace: -r __ns:=/ for the root namespace.
        super().__init__(name, namespace='simulation')
        joints = [f'fer_joint{i}' for i in range(1, 8)]
        self.joints = self.declare_parameter('joints', joints).value
        self.terms = self.declare_parameter('terms', True).value
        self.what = what
        self.unit = unit
        self.start, self.torque, self.rows = None, np.zeros(len(self.joints)), []
        self._publisher = self.create_publisher(Float64MultiArray, 'effort_controller/commands', 1)

    def listen(self, topics):
        """Call `answer` for each stamp with which messages come from all topics."""
        self._matcher = StampMatcher(self, topics, self.answer)
        print(
            'waiting for one stamp of',
            *(topic for _, topic in topics.values()),
            flush=True,
        )

    def answer(self, stamp, messages):
        """Publish the torques for the messages of a stamp [s]."""
        raise NotImplementedError  # the class of each example's law has its own

    def measured(self, state):
        """Return positions and velocities in the order of the joints."""
        if missing := set(self.joints) - set(state.name):
            raise SystemExit(
                f'joint_states has no {min(missing)}, but {", ".join(state.name)}: name the '
                'arm\'s joints in their order with --ros-args -p joints:="[..., ...]".'
            )
        order = [state.name.index(joint) for joint in self.joints]
        return np.array(state.position)[order], np.array(state.velocity)[order]

    def send(self, torque, since=0.0, error=0.0):
        """Publish torques [N m]; keep the error [rad or m] at a time in the motion [s]."""
        self.torque = torque
        self._publisher.publish(Float64MultiArray(data=torque.tolist()))
        if since > 0.0:
            self.rows.append((since, 1e3 * np.linalg.norm(error), np.abs(torque).max()))

    def stop(self):
        """Ramp the torque to zero in 0.1 s, because a receiver may hold the last torque."""
        last = self.torque
        for share in np.linspace(1.0, 0.0, 101):
            self.send(share * last)
            time.sleep(1e-3)
        # DDS sends a lost message again only while its publisher exists.
        self._publisher.wait_for_all_acked(DELIVERY)

    def report(self):
        """Print and draw the motion's tracking error."""
        if not self.rows:
            raise SystemExit('no motion: not all of the topics came with one stamp.')
        times, errors, torques = np.array(self.rows).T
        rms = np.sqrt(np.mean(errors**2))
        most = errors.max()
        print(
            f'{len(times)} states answered: {self.what} were {rms:.3g} {self.unit} off (rms), '
            f'{most:.3g} {self.unit} at most; torques up to {torques.max():.1f} N m; now zero'
        )
        figure = Figure(figsize=(9.0, 5.0), layout='constrained')
        upper, lower = figure.subplots(2, sharex=True)
        upper.plot(times, errors, linewidth=0.8)
        upper.set(ylabel=f'error [{self.unit}]', title=f'how far the {self.what} were off')
        lower.plot(times, torques, linewidth=0.8)
        lower.set(xlabel='time [s]', ylabel='largest torque [N m]')
        figure.savefig(f'{self.get_name()}.png', dpi=110)


class JointImpedance(Controller):
    """Lets the joints swing about their positions in the first joint state."""

    def __init__(self):
        super().__init__('joint_impedance', 'joint positions', 'mrad')
        names = ('mass_matrix', 'coriolis') if self.terms else ()
        self._desired = self.create_publisher(JointState, '~/desired', 1)
        terms = {name: (JointState, f'feedforward/{name}') for name in names}
        self.listen({'state': (JointState, 'joint_states')} | terms)

    def answer(self, stamp, messages):
        """Publish the torques for the joint state of a stamp [s]."""
        q, dq = self.measured(messages['state'])
        self.start = self.start or (stamp + HOLD_S, q)
        since = stamp - self.start[0]
        offset, dq_d, ddq_d = (AMPLITUDE * wave for wave in smooth_wave(since))
        q_d = self.start[1] + offset
        torque = STIFFNESS * (q_d - q) + DAMPING * (dq_d - dq)
        if self.terms:
            mass_matrix = np.reshape(messages['mass_matrix'].effort, (len(q), len(q)))
            torque += mass_matrix @ ddq_d + messages['coriolis'].effort
        self.send(torque, since, q_d - q)
        desired = JointState(header=messages['state'].header, name=self.joints)
        desired.position = q_d.tolist()
        desired.velocity = dq_d.tolist()
        self._desired.publish(desired)


def smooth_wave(since):
    """Return sin(FREQUENCY t)^3 at a time t [s] and its first two derivatives; zero for t < 0."""
    s, c = (wave(FREQUENCY * max(since, 0.0)) for wave in (np.sin, np.cos))
    return (
        s**3,
        FREQUENCY * 3.0 * s**2 * c,
        FREQUENCY**2 * (6.0 * s * c**2 - 3.0 * s**3),
    )


def run(make_node):
    """Control until Ctrl-C (SIGINT) or SIGTERM, then ramp the torque to zero and report."""
    stop = StopRequest()
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node = make_node()
    try:
        while not stop.is_requested:
            rclpy.spin_once(node, timeout_sec=0.1)
    finally:
        node.stop()
    node.report()
    # Or the middleware's threads would still deliver messages while the process ends.
    node.destroy_node()
    rclpy.try_shutdown()


if __name__ == '__main__':
    raise SystemExit(run(JointImpedance))
