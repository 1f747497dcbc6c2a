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
from .messages import float64_message_prefix, JointStateReader, NoArmJointsError
from .receivers import ReceiverCheck
from .state_sources import StateSources
from .term_publishers import TermPublishers
from ..arrays import Array
from ..control.feedforward import ACTIVE_STATES, Feedforward, State
from ..errors import JointStateError

INACTIVE_POLL_PERIOD_S = 0.1  # between two calls while the node is not active [s]
SILENCE_CHECK_PERIOD_S = 5e-3  # between two checks whether joint states have ceased [s]


class ControlCycle:
    """
    The control cycle of a feedforward node, which while active answers states with torques.

    The control thread does not log in a cycle: a terminal that does not read would stop it.
    Torques go to one publisher, model terms to `TermPublishers`. `controller` is there from
    configure to cleanup. `active` says whether joint states are answered, `is_ending` whether a
    transition brakes the arm, `has_receiver` whether there is a receiver, without which no torque
    is published, and `uses_simulated_time` whether rclpy's clock is simulated. Whoever holds
    `lock` may change `active`.
    """

    controller: Feedforward | None = None
    active = is_ending = has_receiver = uses_simulated_time = False

    def __init__(self, node: Any, reports: FeedforwardDiagnostics, terms: TermPublishers) -> None:
        """Make a node's cycle; `set_joints` must be called before the first joint state."""
        self._command_publisher = node.command_publisher
        self._clock = node.get_clock()
        self._receivers: ReceiverCheck = node.receivers
        self._state_sources: StateSources = node.state_sources
        self._diagnostics = reports
        self._term_publishers = terms
        self.lock = threading.Lock()
        self.arrival_clock_time = 0.0  # the node's time when the latest joint state came [s]
        # The steady times between its latest steps, as far as joint states show them [s].
        self._clock_steps = deque[float](maxlen=5)
        self._clock_step_time = np.nan
        self.last_stamp = np.nan  # of the latest joint state [s]
        self.has_new_state = False
        self._publish_time = 0.0

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
        self._begin_time = time.perf_counter()
        with self.lock:
            if self.active and self.controller is not None:
                self._run_cycle(self.controller, data, message_number)

    def _run_cycle(self, controller: Feedforward, data: bytes, message_number: int | None) -> None:
        """Answer, reject or skip a joint state of an active node; the caller must hold `lock`."""
        now = time.monotonic()
        clock = self.node_time()
        wrong = ''
        try:
            reading = self._reader.read(data)
        except NoArmJointsError as error:
            # Another node may publish other joints, such as a gripper's, on the same topic. They
            # are no sign of the arm, whose states may have ceased.
            self._state_sources.add_other_joints(error.joint_names)
            if controller.latest is None:
                self._diagnostics.status_log.state_arrival_time = now
                controller.reject_state(str(error).removesuffix('.'), now)
            return
        except JointStateError as error:
            wrong = str(error).removesuffix('.')
        else:
            if reading.stamp == self.last_stamp == 0.0:  # simulated time may begin at 0
                wrong = 'header.stamp of the joint states is not set: it is 0'
            self.last_stamp = reading.stamp
        if clock != self.arrival_clock_time:
            if not np.isnan(self._clock_step_time):
                self._clock_steps.append(now - self._clock_step_time)
            self.arrival_clock_time = clock
            self._clock_step_time = now
        self.has_new_state = True
        self._diagnostics.status_log.state_arrival_time = now
        acts = controller.state in ACTIVE_STATES
        is_numbered = message_number is not None
        self._receivers.count_state()
        second = self._state_sources.check_sequence_number(message_number, acts=acts)
        if second and (acts or not controller.faulty):
            # Of two nodes' states one may be another arm's. Without numbers the other one may be a
            # node that was killed: then the states are waited for.
            controller.reject_state(second, now, faulty=acts or is_numbered)
        if second and not is_numbered:
            return
        if not second and self._state_sources.has_new_publisher:
            return  # the next number shows whether it is of another arm
        if wrong:
            controller.reject_state(wrong, now)
            return
        # While a deactivation or shutdown brakes the arm, no thread receives simulated time, so
        # the ages of states are unknown.
        age = None if self.uses_simulated_time and self.is_ending else clock - reading.stamp
        q = reading.position
        dq = reading.velocity
        effort = reading.effort
        torque = controller.step(q, dq, reading.stamp, effort=effort, age=age, now=now)
        if controller.sends:
            self._diagnostics.latencies.append(self._publish_time - self._begin_time)
        state = controller.latest
        if state is not None and state.stamp == reading.stamp:
            sent = torque if controller.sends else None
            self._term_publishers.publish_terms(state, sent, reading.stamp_message)

    def publish_torque(self, torque: Array) -> None:
        """Publish the controller's torque, (n,) [N m], if there is a receiver."""
        if self.has_receiver:
            self._command_publisher.publish(self._command_prefix + torque.tobytes())
            self._diagnostics.published_count += 1
        self._publish_time = time.perf_counter()

    def node_time(self) -> float:
        """Return the time [s] of the node's clock, simulated or the system's."""
        # time.time reads the system clock faster than rclpy.
        return self._clock.now().nanoseconds * 1e-9 if self.uses_simulated_time else time.time()

    @property
    def clock_rate_hz(self) -> float:
        """How often the node's clock is updated [Hz], by latest joint states; inf before any."""
        if np.isnan(self._clock_step_time):
            return np.inf
        stands_still = time.monotonic() - self._clock_step_time
        longest = max(median(self._clock_steps or [0.0]), stands_still)
        return 1.0 / longest if longest else np.inf

    def run_timed_tasks(self) -> float:
        """
        Publish due torques and detect missing joint states; return the time to the next call [s].

        The control thread calls it after each event and when due. It needs no executor's timer:
        on a busy machine these were seen not to fire; the cause is unknown.
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
