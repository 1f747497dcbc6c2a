# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The feedforward node's work for one configured arm: joint states in, torques out."""

from __future__ import annotations

from contextlib import AbstractContextManager
import time
from typing import Any

import numpy as np
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from .clearance import Clearance
from .diagnostics import FeedforwardDiagnostics
from .external_watch import ExternalWatch
from .messages import doubles, motion_message
from .qos import PUBLISHER_QOS, qos_overriding_options
from .received import JointStateReader, OtherJointsError
from .state_log import ClockLog, MissingStates, ReferenceReports, StateLog
from .term_publishers import TermPublishers
from .trajectories import read_trajectory, reference_of
from ..control.cycle_result import Durations, Mode
from ..control.fault_latch import ClearedBy
from ..control.feedforward import FeedforwardController
from ..control.limits import LONGEST_STEP_S
from ..control.possible_motion import Condition
from ..control.trajectory_goal import with_torques
from ..errors import JointStateError, ReferenceRefusedError
from ..typing import Array

_SILENCE_CHECKS_PER_TIMEOUT = 2
_SIMULATED_SILENCE_PERIOD_S = 0.02
_REFRESH_PERIOD_S = 0.02
_MOST_MARK = 64  # largest number of characters of a reference's frame id in reports


class ConfiguredArm:
    """
    Callbacks, publishers and reports for one arm, from configure to cleanup.

    The control thread, which is the process's main thread, calls `on_joint_state` and `run_due`,
    the service thread `on_reference` and `run_beside`. When the process ends without an error, the
    service thread ends first; while the control thread then brakes the arm, the control thread
    also calls `run_beside`. Raises SettingsError or FrameError if ExternalWatch or TermPublishers
    refuse the parameters.
    """

    def __init__(
        self,
        node: Any,
        controller: FeedforwardController,
        parameters: dict[str, Any],
        lock: AbstractContextManager[Any],
    ) -> None:
        self._node, self._lock = node, lock
        self.controller = controller
        self._names = list(controller.description.joint_names)
        self._reader = JointStateReader(self._names)
        self._latency = Durations()
        # ExternalWatch and TermPublishers refuse an unknown frame, so they come before the
        # publishers, which would otherwise have to be destroyed.
        frame = parameters['frame']
        frame = int(frame) if frame.isdigit() else frame
        self._external = ExternalWatch(controller, frame, parameters['tool_center'])
        self._terms = TermPublishers(
            node, controller, frame, parameters['reference_frame'], self._external
        )
        self._command_publisher = node.create_lifecycle_publisher(
            Float64MultiArray,
            '~/command',
            PUBLISHER_QOS,
            qos_overriding_options=qos_overriding_options(),
        )
        self._trajectory_publisher = node.create_lifecycle_publisher(
            JointTrajectory, '~/feedforward_trajectory', PUBLISHER_QOS
        )
        self.clearance = Clearance(
            node, self._command_publisher, controller.settings.target, node.watch_group
        )
        self._missing_states = MissingStates(node)
        self._diagnostics = FeedforwardDiagnostics(
            node, controller, self._latency, self.clearance.topic, self._external
        )
        self._state_log, self._clock_log = StateLog(node, controller), ClockLog(node)
        self._references = ReferenceReports(node, controller)
        self._last_publication = self._last_arrival = 0.0
        self._last_command: Array = np.zeros(len(self._names))
        self.read_clock()

    def read_clock(self) -> None:
        """Read use_sim_time; tell the supervisor whether states are stamped by simulated time."""
        simulated = self._node.get_parameter('use_sim_time').value
        with self._lock:
            self._simulated_time = simulated
            self.controller.supervisor.ages_are_delays = simulated

    def begin(self, topic: str) -> None:
        """Begin an activation: reset and enable the controller; joint states come on `topic`."""
        timeout = self._node.get_parameter('state_timeout').value
        self._silence_period = timeout / _SILENCE_CHECKS_PER_TIMEOUT
        if self._simulated_time:  # simulated time may run faster than the steady clock
            self._silence_period = min(self._silence_period, _SIMULATED_SILENCE_PERIOD_S)
        now = time.monotonic()
        self._silence_checked, self._skipped_check = now, False
        self._next_check = now + self._silence_period
        self._next_housekeeping = now + _REFRESH_PERIOD_S
        self._next_stop_step = now
        self._diagnostics.times.note_change()
        self.controller.reset()
        # It is enabled once nothing speaks against a first torque.
        self.controller.refuse_activation('listening for other senders and for the receiver')
        self.clearance.begin(topic, self._node.get_parameter('listen_before_activation').value)
        self._missing_states.begin(topic, time.monotonic())
        self._terms.refresh()
        self._state_log.activated(topic)

    def finish(self) -> None:
        """End braking; publish the stop sequence, a torque per ms, and read no further states."""
        self.controller.stop('it would not come to rest', brake=False)
        while self.publish_stop_step():
            time.sleep(LONGEST_STEP_S)
        self.note_state()

    def wait_until_delivered(self, timeout: Any) -> None:
        """Wait at most `timeout` for subscribers to confirm commands."""
        self._command_publisher.wait_for_all_acked(timeout)
        self.clearance.close()

    def destroy(self) -> None:
        """Destroy all publishers of this arm; log that a latched fault is cleared."""
        self._state_log.close()
        self._terms.destroy()
        self._diagnostics.destroy()
        self._references.destroy()
        for publisher in (self._command_publisher, self._trajectory_publisher):
            self._node.destroy_lifecycle_publisher(publisher)

    def on_joint_state(self, data: bytes, number: int | None = None) -> None:
        """
        Run a control cycle for a serialized joint state; publish its terms, and any command.

        `number` is the message number that the publisher gave the joint state; None if the
        middleware does not number messages.
        """
        began = time.perf_counter()
        now, self._last_arrival = self._now(), time.monotonic()
        controller = self.controller
        reading = wrong = None
        try:
            reading = self._reader.read(data)
        except JointStateError as error:
            wrong = error
        # Another node may publish other joints, such as a gripper's, on the same topic.
        others = isinstance(wrong, OtherJointsError)
        if not others:
            self._stop_for(self.clearance.note_state(number))
        if reading is None:
            if others and controller.latest is not None:
                return
            with self._lock:
                controller.reject(Condition.MISMATCHED, str(wrong))
            self.note_state()
            return
        stamp = reading.stamp
        # While a deactivation or shutdown brakes the arm, no thread receives simulated time, so
        # the ages of states are unknown.
        unknown = self._simulated_time and not controller.enabled
        with self._lock:
            cycle = controller.update(
                stamp,
                reading.position,
                reading.velocity,
                self._last_arrival,
                effort=reading.effort,
                age=None if unknown else now - stamp,
            )
        command = cycle.command
        if command is not None:
            self.publish_command(command)
            self._latency.add(time.perf_counter() - began)
        # Updating the monitors must not delay the command.
        with self._lock:
            controller.update_monitors(cycle)
        if cycle.state is not None and self._terms.has_listeners:
            self._terms.publish(cycle.state, command, reading.stamp_message)
        self.note_state()

    def _stop_for(self, reason: str) -> None:
        """Latch a fault for a reason that is not '', unless one is latched already."""
        if reason and not self.controller.fault:
            with self._lock:
                self._enable()
                self.controller.latch_fault(reason, ClearedBy.ACTIVATION)

    def _enable(self) -> None:
        if not self.controller.enabled:
            self.clearance.close()
            self.controller.enable()

    def _look_at_receivers(self) -> None:
        """Enable the controller, or stop if a receiver is not the target's."""
        refused, listens = self.clearance.look(), self.clearance.listens
        if refused and not self.controller.fault:
            last = self._last_command.copy()
            self._stop_for(refused)
            # Whoever takes these torques must not go on with those that would hold the target.
            with self._lock:
                self.controller.stop(refused, brake=False)
                while self.controller.stop_step(LONGEST_STEP_S) is not None:
                    pass
            for share in np.linspace(1.0, 0.0, 1 + int(np.ceil(np.abs(last).max())))[1:]:
                self.publish_command(share * last)  # at most 1 N m less than the one before
                time.sleep(LONGEST_STEP_S)
            self.note_state()
        elif not refused and not listens:
            with self._lock:
                self._enable()

    def _now(self) -> float:
        """Return the node's time [s]; time.time reads the system clock faster than rclpy."""
        return (
            self._node.get_clock().now().nanoseconds * 1e-9
            if self._simulated_time
            else time.time()
        )

    def publish_command(self, torque: Array) -> None:
        """Publish a torque, shape (n,) [N m]; remember it and the time."""
        self._command_publisher.publish(Float64MultiArray(data=doubles(torque)))
        self._last_publication, self._last_command = time.monotonic(), torque

    def publish_stop_step(self) -> bool:
        """Publish the next torque of the stop sequence; return False at its end."""
        with self._lock:
            torque = self.controller.stop_step(time.monotonic() - self._last_publication)
        if torque is None:
            return False
        self.publish_command(torque)
        return True

    def run_due(self) -> float:
        """
        Publish the stop sequence and run the checks that are due; return time to next call [s].

        The checks detect missing joint states and receivers that are not the target's. The control
        thread calls `run_due` after each event and when due. Executor timers are not used, because
        on a busy machine they were seen not to fire; the cause is unknown.
        """
        now = time.monotonic()
        if self.controller.mode is Mode.STOPPING and now >= self._next_stop_step:
            self._next_stop_step = now + LONGEST_STEP_S
            if not self.publish_stop_step():
                self.note_state()
        if now >= self._next_check:
            self._next_check = now + self._silence_period
            self._check_silence()
        if now >= self._next_housekeeping:
            self._next_housekeeping = now + _REFRESH_PERIOD_S
            self._run_housekeeping()
        due = (
            LONGEST_STEP_S
            if self.controller.mode is Mode.STOPPING
            else min(self._next_check, self._next_housekeeping) - time.monotonic()
        )
        return max(0.0, due)

    def run_beside(self) -> float:
        """Run cross-check and diagnostics if due; return the time until the next call [s]."""
        self.controller.check_models(self._lock)
        return self._diagnostics.times.run(self._diagnostics.publish_all)

    def _check_silence(self) -> None:
        now = time.monotonic()
        since = now - self._silence_checked
        self._silence_checked = now
        # After a pause of this process, joint states may wait to be read, so the check is skipped.
        # After a second pause in a row the check runs: the process cannot keep up.
        late = since > 2.0 * self._silence_period
        skip, self._skipped_check = late and not self._skipped_check, late
        if skip:
            return
        simulated = self._now() if self._simulated_time else None
        with self._lock:
            self.controller.check_silence(now, simulated)
        if simulated is not None:
            self._clock_log.note(simulated, now)
            self._diagnostics.clock = (
                'simulated, stands still' if self._clock_log.stands else 'simulated'
            )
        self.note_state()

    def note_state(self) -> None:
        """Log and publish changes of the controller's state and of references."""
        with self._lock:
            if self._state_log.note():
                self._diagnostics.times.note_change()
            self._references.note()

    def on_reference(self, data: bytes) -> None:
        """Follow or refuse a reference; publish a trajectory with torques if it is subscribed."""
        mark = ''
        try:
            message = read_trajectory(data)
            # A joint trajectory needs no frame, so the sender may use frame_id to mark a
            # trajectory and recognise the reports about it.
            mark = message.header.frame_id[:_MOST_MARK]
            request = reference_of(message)
            arguments = request.arguments(self.controller.description)
            planned = self.controller.follow(**arguments, mark=mark)
        except ReferenceRefusedError as error:
            self._diagnostics.note_refused_reference(str(error))
            with self._lock:
                self.controller.refuse_reference(str(error), mark)
                self._references.note()
            return
        self._diagnostics.note_refused_reference('')
        set_point = request.is_set_point
        if not set_point and self._trajectory_publisher.get_subscription_count() > 0:
            filled, efforts = with_torques(planned, self.controller.law.trajectory_efforts)
            self._trajectory_publisher.publish(
                motion_message(self._names, filled, efforts, filled.begin)
            )

    def _run_housekeeping(self) -> None:
        self._terms.refresh()
        now = time.monotonic()
        self._look_at_receivers()
        missing = self._missing_states.check(
            self.controller.supervisor.condition is Condition.WAITING, now
        )
        if missing:
            self._node.get_logger().warning(missing)
