# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The node: joint states in, cross-checked feedforward torques out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import gc
import sys
import threading
import time
import traceback
from typing import Any

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.duration import Duration
from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from .arm_parameters import ROBOT_DESCRIPTION
from .diagnostics import FeedforwardDiagnostics
from .feedforward_parameters import (
    contact_limits_from,
    FEEDFORWARD_PARAMETERS,
    FIXED_PARAMETERS,
    LIVE_PARAMETERS,
    settings_from,
    supervision_from,
)
from .live_parameters import LiveParameters
from .messages import effort_message, JointReading, trajectory_message
from .model_source import DESCRIPTION_QOS, resolve_model
from .monitors import CommandWatch, ContactWatch, MissingStates, StatePublishers
from .node_parts import CycleCalls, NodePart
from .node_process import GuardedLifecycleNode, run_lifecycle_node
from .parameters import declare, refuse_unknown, values
from .process_beacon import ProcessBeacon
from .qos import PUBLISHER_QOS, qos_overriding_options, REFERENCE_QOS, STATE_QOS
from .reference_intake import take_reference
from .reference_reports import ReferenceReports
from .serialized import CommandBytes, RawJointStateReader, trajectory_mark
from .state_log import ClockLog, StateLog
from .term_publishers import TermPublishers
from ..arm import ArmDescription
from ..control.braking import LONGEST_BRAKING_S
from ..control.cycle import Cycle, Mode
from ..control.default_gains import default_gains
from ..control.faults import ClearedBy
from ..control.feedforward import FeedforwardController
from ..control.limits import LONGEST_STEP_S
from ..control.reference import Trajectory
from ..control.running_crosscheck import RunningCrosscheck
from ..control.statistics import Durations
from ..control.supervision import Condition
from ..dynamics.newton_euler import NewtonEulerModel
from ..errors import (
    FrankaDynamicsError,
    JointStateError,
    ReferenceRefusedError,
)
from ..validation.crosscheck import crosscheck, TOLERANCE

NODE_NAME = 'feedforward'
_SILENCE_CHECKS_PER_TIMEOUT = 2
_SIMULATED_SILENCE_PERIOD_S = 0.02
# A rival is to be noticed within 0.1 s, of which its discovery takes some.
_REFRESH_PERIOD_S, _DIAGNOSTICS_PERIOD_S = 0.02, 1.0
_IDLE_S, _FLOWING_S = 0.1, 0.2
_LONGEST_BRAKING_S = 2.0 * LONGEST_BRAKING_S  # by this clock; the controller counts by stamps
_LOG_PERIOD_S = 1.0  # of a sentence that would otherwise come with every message
_DELIVERY_TIMEOUT = Duration(seconds=0.5)


class FeedforwardNode(GuardedLifecycleNode):
    """
    Lifecycle node around a FeedforwardController; docs/reference has topics and parameters.

    Two threads may serve it, each a part. `cycle_part` is the joint states, whose thread calls
    `run_due` as well; `service_part` is all else. Whatever the second changes of the controller
    it changes under a lock, and only in steps that take microseconds.
    """

    def __init__(self, **node_options: Any) -> None:
        super().__init__(NODE_NAME, **node_options)
        self.refusal = ''
        # Asked while something is waited for; whoever runs the node may say when to give up.
        self.should_stop: Callable[[], bool] = lambda: False
        # Lets the thread that stops the node serve its cycles until the arm is at rest.
        self.spin_cycles: Callable[[float], None] | None = None
        self.calls = CycleCalls()
        self._cycle_group = MutuallyExclusiveCallbackGroup()
        self.cycle_part = NodePart(self, self._is_of_cycle)
        self.service_part = NodePart(self, lambda entity: not self._is_of_cycle(entity))
        self._lock = threading.RLock()
        self._finalized = False
        declare(self, FEEDFORWARD_PARAMETERS)
        refuse_unknown(self, FEEDFORWARD_PARAMETERS)
        LiveParameters(
            self,
            FEEDFORWARD_PARAMETERS,
            LIVE_PARAMETERS,
            self._judge_settings,
            self._apply_settings,
            self._is_enabled,
        )
        self.create_service(Trigger, '~/clear_fault', self._on_clear_fault)
        self._controller: FeedforwardController | None = None
        self._configured_with: dict[str, Any] = {}
        self._subscriptions_of_activation: list[Any] = []

    @property
    def controller(self) -> FeedforwardController:
        """The controller; there is one from configure to cleanup."""
        assert self._controller is not None, 'only called between configure and cleanup'
        return self._controller

    def _is_of_cycle(self, entity: Any) -> bool:
        return entity.callback_group is self._cycle_group

    def _is_enabled(self) -> bool:
        return self._controller is not None and self._controller.enabled

    # Lifecycle ---------------------------------------------------------------------------------

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Load the arm, compare its models with each other, open the publishers."""
        try:
            self._configure()
        except FrankaDynamicsError as error:
            self.refusal = str(error)
            self.get_logger().error(f'not configured: {error}')
            return TransitionCallbackReturn.FAILURE
        except Exception:
            # rclpy turns an exception in a transition into a return code and says nothing.
            self.get_logger().fatal(f'not configured:\n{traceback.format_exc()}')
            raise
        return super().on_configure(state)

    def _configure(self) -> None:
        parameters = values(self, FEEDFORWARD_PARAMETERS)
        self._model = resolve_model(self, parameters, self.should_stop)
        description = self._model.description
        for sentence in self._model.sentences:
            self.get_logger().info(sentence)
        description.require_physical('commanding torques')
        for sentence in description.repairs:
            self.get_logger().warning(sentence)
        self._set_default_gains(parameters, description)
        controller = FeedforwardController(
            description,
            settings_from(parameters),
            supervision_from(parameters),
            crosscheck=RunningCrosscheck(parameters['crosscheck_period'], TOLERANCE),
            take_over=parameters['take_over'],
        )
        report = crosscheck(
            controller.terms.loaded,
            gravity=controller.settings.gravity_vector,
            count=parameters['crosscheck_states'],
        )
        report.require()
        self.get_logger().info(
            f'{description.name} ({description.inertial_set}, hand {description.hand}): Pinocchio '
            f'and Newton-Euler in DH frames agree to {report.largest:.1e} over {report.states} '
            f'states; target {controller.settings.target}'
        )
        self._names = list(description.joint_names)
        self._reader = RawJointStateReader(self._names)
        self._command_bytes = CommandBytes(description.n)
        controller.crosscheck.at_configure = report.largest
        self._latency = Durations()
        # These first, because they may refuse (no friction model, a frame that does not exist).
        frame = parameters['frame']
        self._contact = ContactWatch(
            controller,
            contact_limits_from(parameters),
            parameters['effort_friction'],
            int(frame) if frame.isdigit() else frame,
            parameters['tool_center'],
        )
        self._terms = TermPublishers(
            self,
            controller,
            parameters['frame'],
            parameters['reference_frame'],
            parameters['effort_friction'],
            parameters['tool_center'],
        )
        options: dict[str, Any] = {'qos_overriding_options': qos_overriding_options()}
        self._command_publisher = self.create_lifecycle_publisher(
            Float64MultiArray, '~/command', PUBLISHER_QOS, **options
        )
        self._feedforward_publisher = self.create_lifecycle_publisher(
            JointState, '~/feedforward', PUBLISHER_QOS, **options
        )
        self._trajectory_publisher = self.create_lifecycle_publisher(
            JointTrajectory, '~/feedforward_trajectory', PUBLISHER_QOS, **options
        )
        self._command_watch = CommandWatch(self, self._command_publisher)
        self._beacon = ProcessBeacon(self._command_publisher.topic_name)
        self._state_publishers = StatePublishers(self)
        self._missing_states = MissingStates(self)
        self._diagnostics = FeedforwardDiagnostics(
            self, controller, self._latency, self._command_watch, self._contact
        )
        self._state_log, self._clock_log = StateLog(self, controller), ClockLog(self)
        self._references = ReferenceReports(self, controller)
        self._diagnostics.references = self._references.counts
        self._last_publication = self._last_arrival = 0.0
        self._simulated_time = self.get_parameter('use_sim_time').value
        self._configured_with = values(self, FIXED_PARAMETERS)
        # Last: whoever finds a controller finds all the rest.
        self._controller = controller

    def _set_default_gains(self, parameters: dict[str, Any], description: ArmDescription) -> None:
        """Give kp and kd their values where none are given and default_gains asks for them."""
        if not parameters['default_gains'] or any(parameters['kp']) or any(parameters['kd']):
            return
        payload = settings_from(parameters).payload_inertia()
        loaded = description.with_payload(payload) if payload.mass else description
        gains = default_gains(NewtonEulerModel(loaded))
        given = {
            name: [float(f'{value:.4g}') for value in rows]
            for name, rows in (('kp', gains.kp), ('kd', gains.kd))
        }
        parameters.update(given)
        self.set_parameters([Parameter(name, value=value) for name, value in given.items()])
        self.get_logger().info(
            f'default gains from M at home: kp {given["kp"]} N m/rad, kd {given["kd"]} N m s/rad'
        )

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Refuse if somebody else commands; otherwise listen to the arm."""
        if self._configured_with != values(self, FIXED_PARAMETERS):
            self._release()
            if self.on_configure(state) is not TransitionCallbackReturn.SUCCESS:
                return TransitionCallbackReturn.FAILURE
        rival = self._command_watch.listen(self.get_parameter('listen_before_activation').value)
        if rival:
            self.refusal = rival
            self.get_logger().error(f'not activated: {rival}')
            return TransitionCallbackReturn.FAILURE
        self.refusal = ''
        # What set-up left behind would otherwise be walked through in the middle of a cycle.
        gc.collect()
        gc.freeze()
        result = super().on_activate(state)
        self.calls.call(self._open_activation)
        return result

    def _open_activation(self) -> None:
        options: dict[str, Any] = {'qos_overriding_options': qos_overriding_options()}
        self._subscriptions_of_activation = [
            self.create_subscription(
                JointState,
                'joint_states',
                self._on_joint_state,
                STATE_QOS,
                raw=True,
                callback_group=self._cycle_group,
                **options,
            ),
            self.create_subscription(
                JointTrajectory,
                '~/reference',
                self._on_reference,
                REFERENCE_QOS,
                raw=True,
                **options,
            ),
        ]
        if self.get_parameter('model_source').value == ROBOT_DESCRIPTION:
            self._subscriptions_of_activation.append(
                self.create_subscription(
                    String,
                    ROBOT_DESCRIPTION,
                    self._on_robot_description,
                    DESCRIPTION_QOS,
                    **options,
                )
            )
        timeout = self.get_parameter('state_timeout').value
        self._silence_period = timeout / _SILENCE_CHECKS_PER_TIMEOUT
        if self._simulated_time:  # which may run faster than the steady clock
            self._silence_period = min(self._silence_period, _SIMULATED_SILENCE_PERIOD_S)
        now = time.monotonic()
        self._silence_checked, self._skipped_check = now, False
        self._next_check, self._next_house = now + self._silence_period, now + _REFRESH_PERIOD_S
        self._next_stop_step, self._next_diagnostics = now, now + _DIAGNOSTICS_PERIOD_S
        self.controller.reset()
        self.controller.enable()
        self._state_publishers.begin(self._subscriptions_of_activation[0].topic_name)
        self._missing_states.begin(
            self._subscriptions_of_activation[0].topic_name, time.monotonic()
        )
        self._look_who_listens()
        self._state_log.activated(self._subscriptions_of_activation[0].topic_name)
        self._wake()

    def _wake(self) -> None:
        """Let both threads look at the node's entities anew."""
        for part in (self.cycle_part, self.service_part):
            if part.executor is not None:
                part.executor.wake()

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Publish the stop sequence, then fall silent."""
        self._end_activation('deactivated')
        self.get_logger().info('deactivated')
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Close the publishers and forget the arm."""
        self._release()
        self.get_logger().info('cleaned up')
        return TransitionCallbackReturn.SUCCESS

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Publish the stop sequence if active, and end."""
        self._finalized = True
        self._end_activation('shut down')
        self._release()
        return TransitionCallbackReturn.SUCCESS

    def shut_down(self) -> None:
        """Go through the shutdown transition unless that has happened already."""
        if not self._finalized:
            self.trigger_shutdown()

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """After an exception in a transition: stop the arm and start over, unconfigured."""
        self._end_activation('error')
        self._release()
        return TransitionCallbackReturn.SUCCESS

    def _end_activation(self, reason: str) -> None:
        if self._controller is None:
            return
        with self._lock:
            self.controller.disable(reason, brake=self.spin_cycles is not None)
        self._note_state()
        give_up = time.monotonic() + _LONGEST_BRAKING_S
        while self.controller.mode is Mode.BRAKING and time.monotonic() < give_up:
            if self.spin_cycles is not None:
                self.spin_cycles(LONGEST_STEP_S)
        self.calls.call(self._close_activation)
        self._command_publisher.wait_for_all_acked(_DELIVERY_TIMEOUT)
        self._command_watch.close()

    def _close_activation(self) -> None:
        for subscription in self._subscriptions_of_activation:
            self.destroy_subscription(subscription)
        self._subscriptions_of_activation = []
        self._wake()
        self.controller.stop('it would not come to rest', brake=False)
        while self._publish_stop_step():
            time.sleep(LONGEST_STEP_S)
        self._note_state()

    def _release(self) -> None:
        if self._controller is None:
            return
        self._beacon.close()
        self._terms.destroy()
        self._diagnostics.destroy()
        self._references.destroy()
        for publisher in (
            self._command_publisher,
            self._feedforward_publisher,
            self._trajectory_publisher,
        ):
            self.destroy_lifecycle_publisher(publisher)
        self._controller = None

    # The control path --------------------------------------------------------------------------

    def _on_joint_state(self, data: bytes) -> None:
        began = time.perf_counter()
        self._last_arrival = time.monotonic()
        try:
            reading = self._reader.read(data)
        except JointStateError as error:
            with self._lock:
                self.controller.reject(Condition.MISMATCHED, str(error))
            self._after_cycle(None, None)
            return
        with self._lock:
            cycle = self.controller.cycle(
                reading.stamp,
                reading.position,
                reading.velocity,
                time.monotonic(),
                effort=reading.effort,
                age=self._age(reading.stamp),
            )
        if cycle.command is not None:
            self._publish_command(cycle.command)
            self._latency.add(time.perf_counter() - began)
        self._after_cycle(cycle, reading)

    def _age(self, stamp: float) -> float | None:
        """
        Return how old a stamp is by the node's clock [s], or None where that cannot be said.

        Simulated time comes by a message that nobody takes while the arm is braked before the
        node stops: its thread waits for just that.
        """
        if self._simulated_time and self.controller.mode is Mode.BRAKING:
            return None
        return self._now() - stamp

    def _now(self) -> float:
        """Return the node's time [s]; asking the operating system is a third of the price."""
        return self.get_clock().now().nanoseconds * 1e-9 if self._simulated_time else time.time()

    def _after_cycle(self, cycle: Cycle | None, reading: JointReading | None) -> None:
        """Do what may wait until the command is out."""
        if cycle is not None and reading is not None:
            with self._lock:
                self.controller.update_monitors(cycle)
            self._publish_terms(cycle, reading)
        self._note_state()

    def _publish_terms(self, cycle: Cycle, reading: JointReading) -> None:
        if cycle.command is not None and self._feedforward_publisher.get_subscription_count() > 0:
            self._feedforward_publisher.publish(
                effort_message(
                    reading.stamp_message, self._names, cycle.command, self._terms.base_frame
                )
            )
        if cycle.gravity is None:
            return
        if self._terms.has_listeners:
            self._terms.publish(cycle, reading.stamp_message)
        if self._contact.listening and self._contact.run(cycle):
            self._diagnostics.publish_contact()

    def _look_who_listens(self) -> None:
        self._terms.refresh()
        self._contact.listen(self._diagnostics.listened_to)

    def _publish_command(self, torque: Any) -> None:
        data = self._command_bytes.serialize(torque)
        # First, because the message may be back before `publish` returns.
        self._command_watch.sent(data)
        self._command_publisher.publish(data)
        self._last_publication = time.monotonic()

    def _publish_stop_step(self) -> bool:
        """Publish the next torque of the stop sequence; return whether there was one."""
        with self._lock:
            torque = self.controller.stop_step(time.monotonic() - self._last_publication)
        if torque is None:
            return False
        self._publish_command(torque)
        return True

    def run_due(self) -> float:
        """
        Do what is due by the steady clock; return for how long nothing will be [s].

        Called by the thread of the cycles after each event. Not left to timers of
        executors: on a busy machine such checks of silence were seen to stay away, for a cause
        that is not known.
        """
        if not self._subscriptions_of_activation:
            return _IDLE_S
        now = time.monotonic()
        if self.controller.stopping and now >= self._next_stop_step:
            self._next_stop_step = now + LONGEST_STEP_S
            if not self._publish_stop_step():
                self._note_state()
        if now >= self._next_check:
            self._next_check = now + self._silence_period
            self._check_silence()
        if now >= self._next_house:
            self._next_house = now + _REFRESH_PERIOD_S
            self._keep_house()
        due = (
            LONGEST_STEP_S
            if self.controller.stopping
            else min(self._next_check, self._next_house) - time.monotonic()
        )
        return max(0.0, due)

    def _check_silence(self) -> None:
        now = time.monotonic()
        since = now - self._silence_checked
        if since < 0.5 * self._silence_period:
            return  # ticks that have queued up while this process stalled say nothing new
        self._silence_checked = now
        # A stall of this process is no silence of the arm: messages may be waiting to be read.
        # Two in a row are no stall any more, but a process that cannot keep up.
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
        self._note_state()

    def _note_state(self) -> None:
        """Tell what has changed: the controller's state, and what became of a reference."""
        with self._lock:
            self._state_log.note()
            self._references.note()

    # References, parameters, diagnostics -------------------------------------------------------

    def _on_reference(self, data: bytes) -> None:
        mark = trajectory_mark(data)
        try:
            planned = take_reference(self.controller, self._lock, data)
        except ReferenceRefusedError as error:
            self._diagnostics.note_refused_reference(str(error))
            with self._lock:
                self._references.refused(str(error), mark)
            return
        self._diagnostics.note_refused_reference('')
        with self._lock:
            self._references.accepted(planned, mark)
        if (
            isinstance(planned, Trajectory)
            and self._trajectory_publisher.get_subscription_count() > 0
        ):
            start = float(planned.times[0])
            self._trajectory_publisher.publish(
                trajectory_message(
                    self._names,
                    planned.times - start,
                    planned.positions,
                    planned.velocities,
                    planned.accelerations,
                    self.controller.trajectory_efforts(planned),
                    start,
                )
            )

    def _on_clear_fault(self, _: Trigger.Request, answer: Trigger.Response) -> Trigger.Response:
        """Acknowledge a latched fault; what an acknowledgement does not clear stays."""
        if self._controller is None:
            answer.success, answer.message = False, 'the node is not configured'
            return answer
        with self._lock:
            fault = self.controller.conflict
            answer.success, answer.message = self.controller.clear_fault()
        if fault:
            self.get_logger().info(f'~/clear_fault: {answer.message}')
        return answer

    def _on_robot_description(self, message: String) -> None:
        """Let go of an arm whose description is no longer the one the model was made from."""
        if message.data != self._model.urdf:
            with self._lock:
                self.controller.inhibit(
                    'robot_description has changed since this node was configured from it; clean '
                    'it up and configure it again',
                    ClearedBy.CONFIGURATION,
                )

    def _judge_settings(self, merged: dict[str, Any]) -> None:
        settings = settings_from(merged)
        if self._controller is not None:
            self.controller.require_usable(settings)

    def _apply_settings(self, live: dict[str, Any]) -> None:
        self._simulated_time = self.get_parameter('use_sim_time').value
        if self._controller is None:
            return
        law = self.controller.prepare(settings_from(live))
        with self._lock:
            # The interpreter was shared with this thread meanwhile.
            self.controller.supervisor.ignore_next_gap()
            self.controller.use(law)

    def _keep_house(self) -> None:
        self._look_who_listens()
        now = time.monotonic()
        # A killed simulator takes its clock along, and then no silence is counted.
        flowing = (
            self.controller.supervisor.condition is Condition.TRUSTED
            and now - self._last_arrival < _FLOWING_S
        )
        rival = self._command_watch.check() or self._state_publishers.check(flowing, now)
        if rival and not self.controller.conflict:
            with self._lock:
                self.controller.inhibit(rival, ClearedBy.ACTIVATION)
        if self._command_watch.opened:
            self._wake()
        now = time.monotonic()
        missing = self._missing_states.check(
            self.controller.supervisor.condition is Condition.WAITING, now
        )
        if missing:
            self.get_logger().warning(missing)
        if now >= self._next_diagnostics:
            self._next_diagnostics = now + _DIAGNOSTICS_PERIOD_S
            self._diagnostics.publish()


def main(args: Sequence[str] | None = None) -> int:
    """Run the node until it is told to stop; return a process exit status."""
    return run_lifecycle_node(FeedforwardNode, args)


if __name__ == '__main__':
    sys.exit(main())
