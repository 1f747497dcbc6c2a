# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The control cycle of a feedforward node, from a joint state to its torque."""

from collections import deque
from collections.abc import Sequence
from statistics import median
import threading
import time
from typing import Any

import numpy as np

from .diagnostics import FeedforwardDiagnostics
from .joint_state_messages import JointStateReader, NoArmJointsError
from .messages import float64_message_head
from .receiver_check import ReceiverCheck
from .term_publishers import TermPublishers
from ..control.feedforward import ACTIVE_STATES, Feedforward, State
from ..errors import JointStateError
from ..typing import Array

IDLE_PERIOD_S = 0.1  # between two calls while the node is not active [s]
CHECK_PERIOD_S = 5e-3  # between two checks whether joint states have ceased [s]


class ControlCycle:
    """
    Answers each joint state with a torque; what the control thread of a feedforward node runs.

    This thread never logs, because a terminal that does not read its output would stop it. Torques
    go to the publisher `commands`, model terms to `terms`. `core` is the controller from configure
    to cleanup. `active` says whether joint states are answered, `ending` whether a transition
    brakes the arm, `sends` whether torques are published, which is so while there is a receiver;
    `simulated_time` whether `clock`, rclpy's, is simulated. Whoever holds `lock` may change
    `active`.
    """

    core: Feedforward | None = None
    active = ending = sends = simulated_time = False

    def __init__(
        self,
        commands: Any,
        clock: Any,
        receivers: ReceiverCheck,
        diagnostics: FeedforwardDiagnostics,
        terms: TermPublishers,
    ) -> None:
        self._commands, self._clock, self._receivers = commands, clock, receivers
        self._diagnostics, self._terms, self.lock = diagnostics, terms, threading.Lock()
        self.clock_arrival = 0.0  # the node's time when the latest joint state came [s]
        # The steady times between its latest steps, as far as joint states show them [s].
        self._clock_steps, self._clock_stepped = deque[float](maxlen=5), 0.0
        self._last_stamp, self.got_state, self._published = np.nan, False, 0.0

    @property
    def controller(self) -> Feedforward:
        """The controller `core`; only a configured node has one."""
        assert self.core is not None, 'only called between configure and cleanup'
        return self.core

    def prepare(self, names: Sequence[str], *, measures_velocity: bool) -> None:
        """Read joint states of these joints from now on, and write their torques."""
        self._reader = JointStateReader(names, derive_velocity=not measures_velocity)
        self._command_head = float64_message_head(len(names))

    def on_joint_state(self, data: bytes, number: int | None = None) -> None:
        """
        Run a control cycle for a serialized joint state; publish its terms, and any command.

        `number` is the message number that the publisher gave the joint state; None if the
        middleware does not number messages.
        """
        began = time.perf_counter()
        with self.lock:
            if self.active:
                self._answer(data, number, began)

    def _answer(self, data: bytes, number: int | None, began: float) -> None:
        """Run one control cycle of an active node; the lock is held."""
        controller, now, clock, wrong = self.controller, time.monotonic(), self._now(), ''
        try:
            reading = self._reader.read(data)
        except NoArmJointsError as error:
            # Another node may publish other joints, such as a gripper's, on the same topic. They
            # are no sign of the arm, whose states may have ceased.
            if controller.latest is None:
                self._diagnostics.status.arrival = now
                controller.reject_state(str(error).removesuffix('.'), now)
            return
        except JointStateError as error:
            wrong = str(error).removesuffix('.')
        else:
            if reading.stamp == self._last_stamp == 0.0:  # simulated time may begin at 0
                wrong = 'header.stamp of the joint states is not set: it is 0'
            self._last_stamp = reading.stamp
        if clock != self.clock_arrival:
            self._clock_steps.append(now - self._clock_stepped)
            self.clock_arrival, self._clock_stepped = clock, now
        self.got_state, self._diagnostics.status.arrival = True, now
        second = self._receivers.check_sequence_number(number)
        if second and (controller.state in ACTIVE_STATES or not controller.faulty):
            # Of two nodes' states one may be another arm's.
            controller.reject_state(second, now, faulty=True)
        elif self._receivers.is_first_of_another:
            return  # the next number shows whether it is of another arm
        if wrong:
            controller.reject_state(wrong, now)
            return
        # While a deactivation or shutdown brakes the arm, no thread receives simulated time, so
        # the ages of states are unknown.
        unknown = self.simulated_time and self.ending
        torque = controller.step(
            reading.position,
            reading.velocity,
            reading.stamp,
            effort=reading.effort,
            age=None if unknown else clock - reading.stamp,
            now=now,
        )
        if controller.sends:
            self._diagnostics.latency.append(self._published - began)
        state = controller.latest
        if state is not None and state.stamp == reading.stamp:
            self._terms.publish(state, torque if controller.sends else None, reading.stamp_message)

    def publish(self, torque: Array) -> None:
        """Publish a torque, (n,) [N m], if there is a receiver; the controller calls it."""
        if self.sends:
            self._commands.publish(self._command_head + torque.tobytes())
            self._diagnostics.sent += 1
        self._published = time.perf_counter()

    def _now(self) -> float:
        """Return the node's time [s]; time.time reads the system clock faster than rclpy."""
        return self._clock.now().nanoseconds * 1e-9 if self.simulated_time else time.time()

    @property
    def clock_rate(self) -> float:
        """How often the node's time goes on [Hz], at most as often as joint states come."""
        stands_still = time.monotonic() - self._clock_stepped
        return 1.0 / max(median(self._clock_steps), stands_still) if self._clock_steps else np.inf

    def run_timed_tasks(self) -> float:
        """
        Publish due torques and detect missing joint states; return the time to the next call [s].

        The control thread calls it after each event and when due. It needs no executor's timer:
        on a busy machine these were seen not to fire; the cause is unknown.
        """
        with self.lock:
            if not self.active:
                return IDLE_PERIOD_S
            controller = self.controller
            if not self.got_state:
                # Simulated time does not pass in a pause, where a stop must end nevertheless.
                by_stamps = self.simulated_time and controller.state is not State.STOPPING
                silence = self._now() - self.clock_arrival if by_stamps else None
                controller.tick(time.monotonic(), silence)
            self.got_state = False
            return Feedforward.TICK_S if controller.state is State.STOPPING else CHECK_PERIOD_S
