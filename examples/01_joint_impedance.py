# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Joint impedance control that takes the arm's dynamics from the feedforward node's topics.

tau = K (q_d - q) + D (dq_d - dq) + M(q) ddq_d + C(q, dq) dq, for an arm that compensates its own
gravity, as a real arm does under FCI. For an arm that does not compensate gravity add g(q) of the
topic feedforward/gravity. The gains suit a FER. Ctrl-C ramps the torque to zero and ends the
program; `--plot FILE` then draws tracking error and torque.
"""

import argparse
import sys
import time

import numpy as np
import rclpy
from rclpy.duration import Duration
from rclpy.exceptions import InvalidParameterTypeException
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import remove_ros_args
from sensor_msgs.msg import JointState
from stamp_matcher import StampMatcher
from std_msgs.msg import Float64MultiArray

from franka_dynamics.errors import JointStateError
from franka_dynamics.ros.node_process import StopRequest

STIFFNESS = np.array([200.0, 200.0, 200.0, 200.0, 60.0, 60.0, 30.0])  # N m/rad
DAMPING = np.array([20.0, 20.0, 20.0, 20.0, 3.0, 3.0, 1.0])  # N m s/rad
AMPLITUDE = np.array([0.3, 0.2, 0.3, 0.2, 0.4, 0.3, 0.5])  # rad
# Angular frequency of the motion [rad/s]; time that the arm stands still before the motion [s].
FREQUENCY, HOLD_S = 2.0 * np.pi * 0.4, 0.5
# Time without messages after which the awaited topics are printed [s]; time between two printed
# tracking errors [s].
PATIENCE_S, REPORT_S = 2.0, 2.5
# Longest wait for every subscriber to confirm the last torque, which is zero.
DELIVERY = Duration(seconds=5.0)


class Controller(Node):
    """Publishes torques of an arm's joints, and ramps them to zero at the end."""

    def __init__(self, name):
        # A real arm's topics are in another namespace: -r __ns:=/ for the root namespace.
        super().__init__(name, namespace='simulation')
        self._joints = self.declare_parameter(
            'joints', [f'fer_joint{i}' for i in range(1, 8)]
        ).value
        self._command = self.create_publisher(Float64MultiArray, 'effort_controller/commands', 1)
        self._start, self._torque = None, np.zeros(len(self._joints))

    def command(self, torque):
        """Publish torques [N m]."""
        self._torque = torque
        self._command.publish(Float64MultiArray(data=torque.tolist()))

    def stop(self):
        """
        Ramp the torque to zero in 0.1 s, because a receiver may hold the last torque.

        Wait at most DELIVERY until subscribers have confirmed the zero: DDS sends a lost message
        again only while its publisher exists.
        """
        last = self._torque
        for share in np.linspace(1.0, 0.0, 101):
            self.command(share * last)
            time.sleep(1e-3)
        self._command.wait_for_all_acked(DELIVERY)


class JointImpedance(Controller):
    """Lets the joints swing about their positions in the first joint state."""

    def __init__(self):
        super().__init__('joint_impedance')
        topics = {'state': 'joint_states'}
        if self.declare_parameter('terms', True).value:
            topics |= {name: f'feedforward/{name}' for name in ('mass_matrix', 'coriolis')}
        self.report = Report('joint positions', 'mrad', topics.values())
        self._desired = self.create_publisher(JointState, '~/desired', 1)
        self._matcher = StampMatcher(
            self, {name: (JointState, topic) for name, topic in topics.items()}, self._answer
        )

    def _answer(self, stamp, messages):
        state = messages['state']
        order = joint_order(state.name, self._joints)
        q, dq = np.array(state.position)[order], np.array(state.velocity)[order]
        self._start = self._start or (stamp + HOLD_S, q)
        offset, dq_d, ddq_d = (AMPLITUDE * wave for wave in smooth_wave(stamp - self._start[0]))
        q_d = self._start[1] + offset
        torque = STIFFNESS * (q_d - q) + DAMPING * (dq_d - dq)
        if 'mass_matrix' in messages:
            mass_matrix = np.reshape(messages['mass_matrix'].effort, (len(q), len(q)))
            torque += mass_matrix @ ddq_d + messages['coriolis'].effort
        self.command(torque)
        self.report.add(stamp - self._start[0], q_d - q, torque)
        self._desired.publish(
            JointState(
                header=state.header,
                name=self._joints,
                position=q_d.tolist(),
                velocity=dq_d.tolist(),
            )
        )


def smooth_wave(since):
    """Return sin(FREQUENCY t)^3 at a time t [s] and its first two derivatives; zero for t < 0."""
    s, c = (wave(FREQUENCY * max(since, 0.0)) for wave in (np.sin, np.cos))
    return s**3, FREQUENCY * 3.0 * s**2 * c, FREQUENCY**2 * (6.0 * s * c**2 - 3.0 * s**3)


def joint_order(names, joints):
    """Return each joint's index in the names; raise JointStateError if a joint is missing."""
    if missing := [joint for joint in joints if joint not in names]:
        raise JointStateError(
            f"joint_states has no {missing[0]}, but {', '.join(names[:7])}: name the arm's "
            'joints in their order with --ros-args -p joints:="[..., ...]".'
        )
    return [names.index(joint) for joint in joints]


class Report:
    """Prints the tracking error every REPORT_S, and at the end the whole motion's error."""

    def __init__(self, what, unit, topics):
        self.what, self.unit, self.topics = what, unit, ', '.join(topics)
        self._since, self._part = None, []
        self._motion = []  # time [s], squared error and largest torque [N m] of each state

    @property
    def count(self):
        """Number of joint states answered by a torque during the motion."""
        return len(self._motion)

    def waiting(self):
        """Print the awaited topics, unless messages with one stamp have come from all of them."""
        if self._since is None:
            print(
                f'waiting for {self.topics} with one stamp: do the arm and the feedforward node '
                'run?',
                flush=True,
            )

    def add(self, since, error, torque):
        """
        Add a state: time since the motion began [s], error [rad or m], torque [N m].

        Prints a line at the first state and every REPORT_S; states before the motion do not count.
        """
        if self._since is None:
            print(f'heard {self.topics}; standing still for {HOLD_S:g} s, then moving', flush=True)
            self._since = 0.0
        if since <= 0.0:
            return
        square = float(error @ error)
        self._motion.append((since, square, float(np.abs(torque).max())))
        self._part.append(square)
        if since - self._since >= REPORT_S:
            self._since = since
            rms = 1e3 * np.sqrt(np.mean(self._part))
            print(f'{since:6.1f} s: {self.what} are {rms:.3g} {self.unit} off (rms)', flush=True)
            self._part.clear()

    def close(self, picture=None):
        """Print and draw the motion's tracking error; return 1 if there was no motion, else 0."""
        if not self.count:
            print(f'no motion: not all of {self.topics} came with one stamp.', file=sys.stderr)
            return 1
        times, squares, torques = np.array(self._motion).T
        rms, largest = 1e3 * np.sqrt([squares.mean(), squares.max()])
        print(
            f'{self.count} states answered: {self.what} were {rms:.3g} {self.unit} off (rms), '
            f'{largest:.3g} {self.unit} at most; torques up to {torques.max():.1f} N m; now zero',
            flush=True,
        )
        if picture:
            self._draw(picture, times, 1e3 * np.sqrt(squares), torques)
        return 0

    def _draw(self, picture, times, off, torques):
        from matplotlib.figure import Figure

        figure = Figure(figsize=(9.0, 5.0), layout='constrained')
        upper, lower = figure.subplots(2, sharex=True)
        upper.plot(times, off, linewidth=0.8)
        upper.set(ylabel=f'error [{self.unit}]', title=self.what)
        lower.plot(times, torques, linewidth=0.8)
        lower.set(xlabel='time [s]', ylabel='largest torque [N m]')
        figure.savefig(picture, dpi=110)
        print(f'written: {picture}', flush=True)


def run(make_node, description):
    """Control until Ctrl-C (SIGINT), SIGTERM or a missing joint; return the exit status."""
    parser = argparse.ArgumentParser(
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog='parameters, after --ros-args: -p terms:=false (the same gains without M and '
        'C dq),\n-p joints:="[..., ...]" (default: fer_joint1 to fer_joint7)',
    )
    parser.add_argument('--plot', metavar='FILE', help='draw error and torque at the end')
    arguments = parser.parse_args(remove_ros_args(sys.argv)[1:])
    stop = StopRequest()
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    try:
        node = make_node()
    except InvalidParameterTypeException as error:
        print(f'{error}', file=sys.stderr)
        return 2
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    began, failure = time.monotonic(), None
    while not stop.requested and failure is None:
        try:
            executor.spin_once(timeout_sec=0.1)
        except JointStateError as error:
            failure = error
        if began is not None and time.monotonic() - began > PATIENCE_S:
            began = None
            node.report.waiting()
    node.stop()
    executor.shutdown()
    node.destroy_node()
    rclpy.try_shutdown()
    if failure is not None:
        print(failure, file=sys.stderr)
        return 2
    return node.report.close(arguments.plot)


if __name__ == '__main__':
    sys.exit(run(JointImpedance, __doc__))
