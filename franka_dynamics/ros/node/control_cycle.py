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
from .state_sources import StateSources
from .term_publishers import TermPublishers
from ..joint_states import JointReading, JointStateReader, NoArmJointsError
from ..messages import float64_message_prefix
from ..receivers.receivers import ReceiverCheck
from ...arrays import Array
from ...control.core_table import State
from ...control.feedforward import ACTIVE_STATES, Feedforward
from ...errors import JointStateError

INACTIVE_POLL_PERIOD_S = 0.1  # between two calls while the node is not active [s]
SILENCE_CHECK_PERIOD_S = 5e-3  # between two checks whether joint states have ceased [s]


class ControlCycle:
    """
    The control cycle of a feedforward node, which while active answers states with torques.

    Torques go to one publisher, model terms to `TermPublishers`. The control thread does not log
    in a cycle: a terminal that does not read would stop it.

    `controller` is there from configure to cleanup. `active` says whether joint states are
    answered; whoever holds `lock` may change it. `is_ending` says whether a transition brakes the
    arm, `has_receiver` whether there is a receiver, without which no torque is published, and
    `uses_simulated_time` whether rclpy's clock is simulated.
    """

    def __init__(self, node: Any, reports: FeedforwardDiagnostics, terms: TermPublishers) -> None:
        """Make a node's cycle; `set_joints` must be called before the first joint state."""
        self._command_publisher = node.command_publisher
        self._clock = node.get_clock()
        self._receivers: ReceiverCheck = node.receivers
        self._state_sources: StateSources = node.state_sources
        self._diagnostics = reports
        self._term_publishers = terms
        self.controller: Feedforward | None = None
        self.active = False
        self.is_ending = False
        self.has_receiver = False
        self.uses_simulated_time = False
        self.lock = threading.Lock()
        self.arrival_clock_time = 0.0  # the node's time when the latest joint state came [s]
        # Steady times [s] between the latest changes of the node's clock, and of the latest one,
        # as they are seen when joint states arrive.
        self._clock_update_periods = deque[float](maxlen=5)
        self._clock_update_time = np.nan
        self.last_stamp = np.nan  # of the latest joint state [s]
        self.has_new_state = False
        self._begin_time = 0.0  # of the latest cycle, by the performance counter [s]
        self._publish_time = 0.0  # when its torque was published, likewise

    def set_joints(self, joint_names: Sequence[str], *, measures_velocity: bool) -> None:
        """Set the joints to read, in the torques' order, and whether states have velocities."""
        self._reader = JointStateReader(joint_names, derive_velocity=not measures_velocity)
        self._command_prefix = float64_message_prefix(len(joint_names))

    def on_joint_state(self, data: bytes, message_number: int | None = None) -> None:
        """
        If active, publish torque and model terms for a serialized joint state, or reject it.

        `message_number` is the message number that the publisher gave the joint state; None if the
        middleware does not number messages.
        """
        self._begin_time = time.perf_counter()  # only the thread that serves states sets it
        with self.lock:
            if self.active and self.controller is not None:
                self._run_cycle(self.controller, data, message_number)

    def _run_cycle(self, controller: Feedforward, data: bytes, message_number: int | None) -> None:
        """Answer, reject or skip a joint state of an active node; the caller must hold `lock`."""
        now = time.monotonic()
        clock_time = self.node_time()
        reading = None
        try:
            reading = self._reader.read(data)
            problem = self._stamp_problem(reading.stamp)
        except NoArmJointsError as error:
            self._take_other_joints(controller, error, now)
            return
        except JointStateError as error:
            problem = str(error).removesuffix('.')
        self._store_arrival(clock_time, now)
        self._receivers.count_state()
        if not self._is_source_good(controller, message_number, now):
            return
        if reading is None or problem:
            controller.reject_state(problem, now)
            return
        self._answer_state(controller, reading, clock_time, now)

    def _stamp_problem(self, stamp: float) -> str:
        """Store the stamp of a joint state [s]; return that stamps are not set, or ''."""
        is_unset = stamp == self.last_stamp == 0.0  # simulated time may begin at 0
        self.last_stamp = stamp
        return 'header.stamp of the joint states is not set: it is 0' if is_unset else ''

    def _take_other_joints(
        self, controller: Feedforward, error: NoArmJointsError, now: float
    ) -> None:
        """
        Take a joint state without the arm's joints, such as a gripper's on the same topic.

        It is no sign of the arm, whose states may have ceased. Before the first state of the arm
        it is the reason for which nothing is commanded.
        """
        self._state_sources.add_other_joints(error.joint_names)
        if controller.latest is None:
            self._diagnostics.status_log.state_arrival_time = now
            controller.reject_state(str(error).removesuffix('.'), now)

    def _store_arrival(self, clock_time: float, now: float) -> None:
        """Store that a state of the arm came at a time of the node's and of the steady clock."""
        if clock_time != self.arrival_clock_time:
            if not np.isnan(self._clock_update_time):
                self._clock_update_periods.append(now - self._clock_update_time)
            self.arrival_clock_time = clock_time
            self._clock_update_time = now
        self.has_new_state = True
        self._diagnostics.status_log.state_arrival_time = now

    def _is_source_good(
        self, controller: Feedforward, message_number: int | None, now: float
    ) -> bool:
        """
        Return whether to use a joint state, by the sources of joint states that are known.

        If two nodes publish states of the arm, the controller gets that as a problem.
        """
        acts = controller.state in ACTIVE_STATES
        is_numbered = message_number is not None
        sources = self._state_sources
        problem = sources.check_sequence_number(message_number, acts=acts)
        if not problem:
            # The first state of a new publisher is left out: that may be another arm, and the
            # number of the next state shows it.
            return not sources.has_new_publisher
        if acts or not controller.faulty:
            # One of the two sources may be another arm. Where messages carry no numbers, the
            # second one may also be a killed node that is still listed. Before torques flow the
            # node then waits until it is gone, without a fault.
            controller.reject_state(problem, now, faulty=acts or is_numbered)
        return is_numbered  # after the fault these states go on to the controller

    def _answer_state(
        self, controller: Feedforward, reading: JointReading, clock_time: float, now: float
    ) -> None:
        """Let the controller publish its torque for a joint state; publish the model terms."""
        # While a deactivation or shutdown brakes the arm, no thread receives simulated time, so
        # the ages of states are unknown.
        is_age_known = not (self.uses_simulated_time and self.is_ending)
        torque = controller.step(
            reading.position,
            reading.velocity,
            reading.stamp,
            effort=reading.effort,
            age=clock_time - reading.stamp if is_age_known else None,
            now=now,
        )
        if controller.sends:
            self._diagnostics.latencies.append(self._publish_time - self._begin_time)
        state = controller.latest
        if state is not None and state.stamp == reading.stamp:
            command = torque if controller.sends else None
            self._term_publishers.publish_terms(state, command, reading.stamp_message)

    def publish_torque(self, torque: Array) -> None:
        """Publish the controller's torque, (n,) [N m], if there is a receiver."""
        if self.has_receiver:
            self._command_publisher.publish(self._command_prefix + torque.tobytes())
            self._diagnostics.published_count += 1
        self._publish_time = time.perf_counter()

    def node_time(self) -> float:
        """Return the time [s] of the node's clock, simulated or the system's."""
        if self.uses_simulated_time:
            return self._clock.now().nanoseconds * 1e-9
        return time.time()  # the system clock, which rclpy reads slower

    @property
    def clock_rate_hz(self) -> float:
        """How often the node's clock changes [Hz], by latest joint states; inf before any."""
        if np.isnan(self._clock_update_time):
            return np.inf
        usual_period = median(self._clock_update_periods or [0.0])
        longest = max(usual_period, time.monotonic() - self._clock_update_time)
        return 1.0 / longest if longest else np.inf

    def run_timed_tasks(self) -> float:
        """
        Publish due torques and detect missing joint states; return the time to the next call [s].

        The control thread calls it after each event and when due. An executor's timers would not
        do: on a busy machine they were seen not to fire; the cause is unknown.
        """
        with self.lock:
            controller = self.controller
            if not self.active or controller is None:
                return INACTIVE_POLL_PERIOD_S
            if not self.has_new_state:
                # Simulated time does not pass in a pause, where a stop must end nevertheless.
                by_stamps = self.uses_simulated_time and controller.state is not State.STOPPING
                silence = self.node_time() - self.arrival_clock_time if by_stamps else None
                controller.tick(time.monotonic(), silence)
            self.has_new_state = False
            stopping = controller.state is State.STOPPING
            return Feedforward.TICK_PERIOD_S if stopping else SILENCE_CHECK_PERIOD_S
