# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Feedforward torques for an FR3 over the Franka Control Interface (FCI), without ROS.

Every millisecond libfranka's own bindings read a state, and `Feedforward` answers with M(q) ddq_d
+ C(q, dq) dq plus a joint PD torque. The robot compensates gravity and its motors'
friction itself. One joint moves out and back, then the arm is stopped:

    franka-dynamics doctor --robot 172.16.0.2 --arm fr3 --hand none   # first: is the model right?
    python examples/05_fci.py 172.16.0.2 --hand none
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace
import gc
import signal
import sys
from typing import Any

import numpy as np

from franka_dynamics import crosscheck, load
from franka_dynamics.control.feedforward import Feedforward, State, StateLimits

LEAD_S = 1.0  # time at rest before the motion, and after it [s]
MOST_DAMPING_RATE = 20.0  # largest rate at which the PD's kd makes velocities decay [1/s]
# Used fraction of the torque rate limits, because a rounding error above a limit stops the robot.
RATE_SHARE = 0.999
# External torques [N m], forces [N] and moments [N m] at which the robot's collision reflex stops
# it, from libfranka's communication_test.cpp and joint_impedance_control.cpp.
TORQUES = [20.0, 20.0, 18.0, 18.0, 16.0, 14.0, 12.0]
FORCES = [20.0, 20.0, 20.0, 25.0, 25.0, 25.0]


class TorqueLoop:
    """Answers each state with a torque that ramps up from zero and, at the end, down to zero."""

    def __init__(self, library: Any, robot: Any, controller: Feedforward) -> None:
        self._library = library
        self._robot = robot
        self._controller = controller
        self.sent = 0
        self._begin = np.full(controller.description.n, np.nan)  # where the motion begins [rad]
        self._end = np.inf
        self._stop = ''
        self.failure: Exception | None = None
        signal.signal(signal.SIGINT, lambda *_: self.stop('interrupted'))
        signal.signal(signal.SIGTERM, lambda *_: self.stop('terminated'))

    def stop(self, reason: str) -> None:
        """Make the loop brake the arm and end."""
        self._stop = self._stop or reason

    def move(self, way: np.ndarray, duration: float) -> tuple[str, float]:
        """
        Move by `way`, (n,) [rad], and back within `duration` [s], until that or a stop ends it.

        Returns why the torques ended, and how far the arm then is from where it began [rad].
        """
        # Collect garbage now, because a full collection takes longer than a cycle.
        gc.collect()
        gc.freeze()
        controller = self._controller
        motion = self._robot.start_torque_control()
        while True:
            state, _ = motion.readOnce()
            try:
                torque = self._torque(state, way, duration)
            except Exception as error:  # the torque ramps to zero, then main raises the error
                self.failure = self.failure or error
                torque = controller.reject_state(str(error), state.time.to_sec(), faulty=True)
            self.sent += 1
            command = self._library.Torques(torque.tolist())
            command.motion_finished = controller.needs_start and not torque.any()
            motion.writeOnce(command)
            if command.motion_finished:
                return controller.why, float(np.abs(state.q - self._begin).max())

    def _torque(self, state: Any, way: np.ndarray, duration: float) -> np.ndarray:
        """Return a state's torque, (n,) [N m]; begin the motion once torques are sent."""
        controller = self._controller
        stamp = state.time.to_sec()
        torque = controller.step(state.q, state.dq, stamp, effort=state.tau_J)
        if controller.state is State.RUNNING and self._end == np.inf:
            q = np.array(state.q)
            still = np.zeros((3, len(way)))
            times = LEAD_S + duration * np.array([0.0, 0.5, 1.0])
            self._begin = q
            self._end = controller.follow([q, q + way, q], times, still, still).end
        if stamp > self._end + LEAD_S:
            self.stop('the motion has ended')
        # An arm that is held, as g(q) does not carry it, is left to the robot's own control.
        if self._stop and (controller.enabled or controller.state is State.HOLDING):
            controller.stop(self._stop)
        return torque


def main(arguments: Sequence[str] | None = None) -> int:
    """Move one joint out and back; return 0 if the motion ended as planned, else 1."""
    parser = argparse.ArgumentParser(description='Move one joint of an FR3 out and back, by FCI.')
    parser.add_argument('address', help="host name or IP address of the robot's control unit")
    parser.add_argument('--arm', default='fr3', help='a shipped arm or an arm file (fr3)')
    parser.add_argument('--hand', default='as_listed', help='none, franka_hand, ... (as_listed)')
    parser.add_argument('--joint', type=int, choices=range(1, 8), default=4)
    parser.add_argument('--angle', type=float, default=0.1, help='rotation of the joint [rad]')
    parser.add_argument('--duration', type=float, default=4.0, help='duration of the motion [s]')
    options = parser.parse_args(arguments)
    import pylibfranka as library

    arm = load(options.arm, hand=options.hand)
    crosscheck(arm).require()
    slower = (
        replace(one.limits, effort_rate=RATE_SHARE * one.limits.effort_rate) for one in arm.joints
    )
    joints = tuple(replace(one, limits=limits) for one, limits in zip(arm.joints, slower))
    controller = Feedforward(
        replace(arm, joints=joints),
        'fci',
        soft_gains=MOST_DAMPING_RATE,
        limits=StateLimits(state_timeout=0.2),
    )
    try:
        robot = library.Robot(options.address, library.RealtimeConfig.kIgnore)
        robot.set_collision_behavior(TORQUES, TORQUES, FORCES, FORCES)
        loop = TorqueLoop(library, robot, controller)
        way = options.angle * np.eye(arm.n)[options.joint - 1]
        reason, off = loop.move(way, options.duration)
    except (library.FrankaException, RuntimeError) as error:
        print(f'the robot or its connection ended the motion: {error}', file=sys.stderr)
        return 1
    if loop.failure is not None:
        raise loop.failure
    print(
        f'{loop.sent} torques were sent; they ended because {reason}; the arm is {off:.2g} rad '
        'from where it began'
    )
    return 0 if reason == 'the motion has ended' else 1


if __name__ == '__main__':
    sys.exit(main())
