# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The feedforward node's work for one configured arm: joint states in, torques out."""

from __future__ import annotations

import time
from typing import Any

from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from .clearance import Clearance
from .diagnostics import FeedforwardDiagnostics
from .durations import Durations
from .external_watch import ExternalWatch
from .messages import doubles, motion_message
from .qos import PUBLISHER_QOS, qos_overriding_options
from .received import JointStateReader, OtherJointsError
from .state_log import ClockLog, MissingStates, ReferenceReports, StateLog
from .term_publishers import TermPublishers
from .trajectories import read_trajectory, reference_of
from ..control.control_law import ControlLaw
from ..control.feedforward import Feedforward, State
from ..control.limits import LONGEST_STEP_S
from ..control.reference import Reference
from ..control.trajectory import Trajectory
from ..control.trajectory_goal import with_torques
from ..errors import JointStateError, NotStartedError, ReferenceRefusedError
from ..typing import Array
from ..validation.crosscheck import crosscheck

_LISTEN_S = 0.5  # how long an activation listens for another sender of torques
_IDLE_S = 5e-3  # time between two checks whether joint states have ceased
_REFRESH_PERIOD_S = 0.02
_CHECKED_STATES = 50  # states at which the models of changed settings are compared
_LOG_PERIOD_S = 1.0
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
        controller: Feedforward,
        parameters: dict[str, Any],
        residual: float,
    ) -> None:
        self._node = node
        self.controller = controller
        self._names = list(controller.description.joint_names)
        self._reader = JointStateReader(self._names)
        self._latency = Durations()
        # ExternalWatch and TermPublishers refuse an unknown frame, so they come before the
        # publishers, which would otherwise have to be destroyed.
        frame = parameters['frame']
        frame = int(frame) if frame.isdigit() else frame
        self._external = ExternalWatch(controller, frame, parameters['tool_center'])
        self._terms = TermPublishers(node, controller, frame, self._external)
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
        self._diagnostics.residual = residual  # of the cross-check at configure
        self._state_log, self._clock_log = StateLog(node, controller), ClockLog(node)
        self._references = ReferenceReports(node, controller)
        self._arrival, self._clock_arrival, self._got_state = 0.0, 0.0, False
        self.ending = False  # whether a deactivation or shutdown brakes the arm
        self._simulated_time = False

    def begin(self, topic: str) -> None:
        """Begin an activation: joint states come on `topic`, and nothing is commanded yet."""
        self._simulated_time = self._node.get_parameter('use_sim_time').value
        now = time.monotonic()
        self._next_housekeeping, self._next_stop_step = now + _REFRESH_PERIOD_S, now
        self.ending = False
        self._diagnostics.times.note_change()
        # It is started once nothing speaks against a first torque.
        self.controller.stop('listening for other senders and for the receiver')
        self.clearance.begin(topic, _LISTEN_S)
        self._missing_states.begin(topic, now)
        self._terms.refresh()
        self._state_log.activated(topic)

    def finish(self) -> None:
        """End braking; publish the stop sequence, a torque per ms, and read no further states."""
        controller = self.controller
        if controller.state is not State.SILENT:
            self._publish(controller.lose(controller.why, time.monotonic()))
        while controller.state is not State.SILENT:
            time.sleep(LONGEST_STEP_S)
            self._publish(controller.tick(time.monotonic()))
        self.note_state()

    def wait_until_delivered(self, timeout: Any) -> None:
        """Wait at most `timeout` for subscribers to confirm commands."""
        self._command_publisher.wait_for_all_acked(timeout)
        self.clearance.close()

    def destroy(self) -> None:
        """Destroy all publishers of this arm."""
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
        now, self._arrival, self._got_state = self._now(), time.monotonic(), True
        self._clock_arrival = now
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
            if not others or controller.latest is None:
                self._publish(controller.lose(str(wrong), self._arrival))
                self.note_state()
            return
        # While a deactivation or shutdown brakes the arm, no thread receives simulated time, so
        # the ages of states are unknown.
        unknown = self._simulated_time and self.ending
        torque = controller.step(
            reading.position,
            reading.velocity,
            reading.stamp,
            effort=reading.effort,
            age=None if unknown else now - reading.stamp,
            now=self._arrival,
        )
        sent = self._publish(torque)
        if sent:
            self._latency.add(time.perf_counter() - began)
        state = controller.latest
        if state is not None and state.stamp == reading.stamp and self._terms.has_listeners:
            self._terms.publish(state, torque if sent else None, reading.stamp_message)
        self.note_state()

    def _publish(self, torque: Array) -> bool:
        """Publish a torque, (n,) [N m], if the controller sends it; return whether it did."""
        if self.controller.sends:
            self._command_publisher.publish(Float64MultiArray(data=doubles(torque)))
        return self.controller.sends

    def _stop_for(self, reason: str) -> None:
        """Latch a fault if a second node publishes states, of which one may be another arm's."""
        if reason and not self.controller.faulty:
            self.clearance.close()
            self._publish(self.controller.lose(reason, self._arrival, faulty=True))

    def _look_at_receivers(self) -> None:
        """Start the controller, or stop it if a receiver is not the target's."""
        refused, listens = self.clearance.look(), self.clearance.listens
        if refused:
            # Whoever takes these torques must not go on with those that would hold the target.
            if not self.controller.faulty:
                self.clearance.close()
                self.controller.stop(refused, to_zero=True)
        elif not (listens or self.controller.started or self.controller.faulty or self.ending):
            try:
                self.controller.start()
            except NotStartedError as error:
                self._node.get_logger().error(f'{error}', throttle_duration_sec=_LOG_PERIOD_S)

    def _now(self) -> float:
        """Return the node's time [s]; time.time reads the system clock faster than rclpy."""
        return (
            self._node.get_clock().now().nanoseconds * 1e-9
            if self._simulated_time
            else time.time()
        )

    def run_due(self) -> float:
        """
        Publish the stop sequence and run the checks that are due; return time to next call [s].

        The checks detect missing joint states and receivers that are not the target's. The control
        thread calls `run_due` after each event and when due. Executor timers are not used, because
        on a busy machine they were seen not to fire; the cause is unknown.
        """
        now, stopping = time.monotonic(), self.controller.state is State.STOPPING
        if stopping and now >= self._next_stop_step:
            self._next_stop_step = now + LONGEST_STEP_S
            self._publish(self.controller.tick(now))
        elif not (stopping or self._got_state):
            self._check_silence(now)
        self._got_state = False
        if now >= self._next_housekeeping:
            self._next_housekeeping = now + _REFRESH_PERIOD_S
            self._run_housekeeping()
        return LONGEST_STEP_S if self.controller.state is State.STOPPING else _IDLE_S

    def run_beside(self) -> float:
        """Publish diagnostics if due; return the time until the next call [s]."""
        return self._diagnostics.times.run(self._diagnostics.publish_all)

    def check_models(self, law: ControlLaw) -> None:
        """Compare the models of a new law; latch a fault if they differ."""
        gravity = law.settings.gravity_vector
        report = crosscheck(law.terms.loaded, gravity=gravity, count=_CHECKED_STATES)
        self._diagnostics.residual = report.largest
        if not report.passed:
            self.controller.stop(f'cross-check: {" ".join(report.findings)}', final=True)

    def _check_silence(self, now: float) -> None:
        """Stop if joint states have ceased; simulated time does not pass in a pause."""
        if not self._simulated_time:
            self._publish(self.controller.tick(now))
        else:
            simulated = self._now()
            silence = max(0.0, simulated - self._clock_arrival)
            self._publish(self.controller.tick(now, silence))
            self._clock_log.note(simulated, now)
            self._diagnostics.clock = (
                'simulated, stands still' if self._clock_log.stands else 'simulated'
            )
        self.note_state()

    def note_state(self) -> None:
        """Log and publish changes of the controller's state and of references."""
        if self._state_log.note():
            self._diagnostics.times.note_change()
            self._diagnostics.publish_status()
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
            planned = self._planned(arguments, mark)
        except ReferenceRefusedError as error:
            self._diagnostics.note_refused_reference(str(error))
            latest = self.controller.latest
            stamp = 0.0 if latest is None else latest.stamp
            self.controller.reference.refuse(stamp, str(error), mark)
            self._references.note()
            return
        self._diagnostics.note_refused_reference('')
        set_point = request.is_set_point
        if not set_point and self._trajectory_publisher.get_subscription_count() > 0:
            filled, efforts = with_torques(planned, self.controller.law.trajectory_efforts)
            self._trajectory_publisher.publish(
                motion_message(self._names, filled, efforts, filled.begin)
            )

    def _planned(self, arguments: dict[str, Any], mark: str) -> Trajectory:
        """Follow a reference; if states come too rarely for torques, only plan a trajectory."""
        controller = self.controller
        latest, slow = controller.latest, controller.period * controller.limits.min_input_rate > 1
        if not slow or latest is None or arguments.get('times') is None:
            return controller.follow(**arguments, mark=mark)
        beside = Reference(controller.description)
        beside.at(latest.stamp)
        planned = beside.follow(**arguments, measured=latest.q)
        reason = f'torques were added to it, but it is not followed here: {controller.trouble}'
        controller.reference.pass_by(planned, latest.stamp, reason, mark)
        return planned

    def _run_housekeeping(self) -> None:
        self._terms.refresh()
        self._look_at_receivers()
        missing = self._missing_states.check(self.controller.latest is None, time.monotonic())
        if missing:
            self._node.get_logger().warning(missing)
