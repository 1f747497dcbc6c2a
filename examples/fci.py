# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Feedforward torques for an FR3 over the Franka Control Interface (FCI), without ROS.

Every millisecond libfranka's own bindings read a state, `FeedforwardController` computes M(q)
ddq_d + C(q, dq) dq and a joint PD torque, and the robot gets their sum. The robot compensates
gravity and part of its friction itself. One joint moves out and back, then the arm is stopped:

    franka-dynamics doctor --robot 172.16.0.2 --arm fr3 --hand none   # first: is the model right?
    python examples/fci.py 172.16.0.2 --hand none
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
import gc
import signal
import sys
import time
from typing import Any

import numpy as np

from franka_dynamics.arm import load
from franka_dynamics.control.cycle_result import Mode
from franka_dynamics.control.default_gains import weak_gains
from franka_dynamics.control.feedforward import FeedforwardController
from franka_dynamics.control.limits import LONGEST_STEP_S, TorqueLimiter
from franka_dynamics.control.possible_motion import Condition
from franka_dynamics.control.settings import Settings
from franka_dynamics.control.supervision import SupervisionLimits
from franka_dynamics.validation.crosscheck import crosscheck

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

    def __init__(self, library: Any, robot: Any, controller: FeedforwardController) -> None:
        arm = controller.description
        self._library, self._robot, self._controller = library, robot, controller
        self._limiter = TorqueLimiter(
            arm.limit('effort'), RATE_SHARE * np.asarray(arm.limit('effort_rate'))
        )
        self._last = np.zeros(arm.n)
        self._stop = ''
        self.failure: Exception | None = None
        signal.signal(signal.SIGINT, lambda *_: self.stop('interrupted'))
        signal.signal(signal.SIGTERM, lambda *_: self.stop('terminated'))

    def stop(self, reason: str) -> None:
        """Make the loop brake the arm and end."""
        self._stop = self._stop or reason

    def wait_until_trusted(self) -> np.ndarray:
        """Read states until the controller trusts them; return the last position [rad]."""
        controller = self._controller
        while not (controller.ready and controller.supervisor.condition is Condition.TRUSTED):
            if self._stop or controller.fault:
                raise SystemExit(f'nothing was commanded: {self._stop or controller.fault}')
            self._take(self._robot.read_once())
        return controller.latest[1]

    def move(self, way: np.ndarray, duration: float) -> str:
        """
        Move by `way`, (n,) [rad], and back within `duration` [s]; return why the torques ended.

        A motion, a stop or a fault ends them.
        """
        # Collect garbage now, because a full collection takes longer than a cycle.
        gc.collect()
        gc.freeze()
        controller, end = self._controller, np.inf
        motion = self._robot.start_torque_control()
        controller.enable()
        while True:
            state, _ = motion.readOnce()
            try:
                wanted = self._take(state)
                if controller.mode is Mode.RUNNING and end == np.inf:
                    q, still = np.array(state.q), np.zeros((3, len(way)))
                    times = LEAD_S + duration * np.array([0.0, 0.5, 1.0])
                    planned = controller.follow([q, q + way, q], times, still, still)
                    end = planned.end
                if state.time.to_sec() > end + LEAD_S:
                    self.stop('the motion has ended')
                if self._stop:
                    controller.disable(self._stop)
            except Exception as error:  # the torque ramps to zero, then main raises the error
                self.failure, wanted = error, None
            silent = wanted is None
            limited = self._limiter.limit(
                np.zeros_like(self._last) if silent else wanted, self._last, LONGEST_STEP_S
            )
            self._last = limited.torque
            command = self._library.Torques(self._last.tolist())
            command.motion_finished = silent and not self._last.any()
            motion.writeOnce(command)
            if command.motion_finished:
                return controller.stop_reason

    def _take(self, state: Any) -> np.ndarray | None:
        """Return a state's torque, (n,) [N m]; None after an error or once silent."""
        controller = self._controller
        if self.failure is not None:
            return None
        cycle = controller.update(
            state.time.to_sec(),
            np.array(state.q),
            np.array(state.dq),
            time.monotonic(),
            effort=np.array(state.tau_J),
        )
        controller.update_monitors(cycle)
        if cycle.command is not None:
            return cycle.command
        if controller.mode is Mode.STOPPING:
            return controller.stop_step(LONGEST_STEP_S)
        return self._last if controller.mode is not Mode.SILENT else None


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
    kp, kd = (tuple(gains) for gains in weak_gains(arm, MOST_DAMPING_RATE))
    # The states have stamps of the robot's clock, so their age is unknown and not checked.
    supervision = SupervisionLimits(max_state_age=0.0, state_timeout=0.2)
    controller = FeedforwardController(arm, Settings(target='fci', kp=kp, kd=kd), supervision)
    try:
        robot = library.Robot(options.address, library.RealtimeConfig.kIgnore)
        robot.set_collision_behavior(TORQUES, TORQUES, FORCES, FORCES)
        loop = TorqueLoop(library, robot, controller)
        q = loop.wait_until_trusted()
        way = options.angle * np.eye(arm.n)[options.joint - 1]
        reason = loop.move(way, options.duration)
    except (library.FrankaException, RuntimeError) as error:
        print(f'the robot or its connection ended the motion: {error}', file=sys.stderr)
        return 1
    if loop.failure is not None:
        raise loop.failure
    error = np.abs(controller.latest[1] - q)
    print(
        f'{controller.counters.commands} torques were sent; they ended because {reason}; the arm '
        f'is {error.max():.2g} rad from where it began'
    )
    return 0 if reason == 'the motion has ended' else 1


if __name__ == '__main__':
    sys.exit(main())
