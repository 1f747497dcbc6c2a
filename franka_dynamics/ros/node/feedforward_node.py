# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The feedforward node, which while active answers joint states with feedforward torques."""

from array import array
from collections.abc import Callable, Sequence
from contextlib import suppress
import gc
import logging
import sys
import threading
import time
import traceback
from typing import Any

from rcl_interfaces.msg import SetParametersResult
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.duration import Duration
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.parameter import Parameter
from rclpy.signals import get_current_signal_handlers_options, SignalHandlerOptions
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import Trigger

from .control_cycle import ControlCycle, INACTIVE_POLL_PERIOD_S, SILENCE_CHECK_PERIOD_S
from .controller_factory import (
    arm_and_urdf_from_parameters,
    change_settings,
    make_controller,
)
from .diagnostics import FeedforwardDiagnostics
from .state_sources import StateSources
from .term_publishers import TermPublishers
from .. import parameter_tables as tables
from ..motions.motion_requests import MotionServer
from ..node_entities import NodeEntities
from ..node_process import run_lifecycle_node, run_node
from ..parameters import CheckedParameters, declare_parameters, parameter_values
from ..rclpy_private import destroy_state_machine
from ..receivers.receivers import ReceiverCheck, TorquePermission
from ..topics import (
    DESCRIPTION_QOS,
    PUBLISHER_QOS,
    QOS_OVERRIDES,
    STATE_QOS,
    subscribe_numbered,
)
from ...control.core_table import State, Stop
from ...control.feedforward import ACTIVE_STATES, Feedforward
from ...control.stopping import MAX_BRAKING_TIME_S
from ...errors import FrankaDynamicsError, short_text, StartRefusedError
from ...parameter_schema import LIVE_PARAMETER_FILES, specs_in_files

NODE_NAME = 'feedforward'
_BACKGROUND_TASK_PERIOD_S = 0.05  # between two looks at subscribers, receivers and reports [s]
# Longest time for which a transition waits until the arm is braked, by the steady clock [s]. The
# core ends braking after half of it by the stamps of joint states.
_MAX_BRAKING_WAIT_S = 2.0 * MAX_BRAKING_TIME_S
_SHUTDOWN_ADVICE = (
    'rclpy.init(signal_handler_options=SignalHandlerOptions.NO), and destroy_node() before '
    'rclpy.shutdown(), let this node end its torque, which a receiver may hold for ever'
)
_TORQUE_DELIVERY_TIMEOUT = Duration(seconds=0.5)


class FeedforwardNode(CheckedParameters, LifecycleNode):
    """
    A lifecycle node that, while active, answers joint states by torques of a `Feedforward` core.

    The control thread serves `control_entities`, the subscription to joint states, and calls
    `cycle.run_timed_tasks`. The service thread serves `service_entities`, all other callbacks, and
    calls `run_background_tasks`. An inactive node drops joint states. docs/reference has the
    node's topics and parameters.
    """

    # Defaults for rclpy's __init__, which already reads `executor` and `active`.
    cycle: ControlCycle = None  # type: ignore[assignment]
    service_entities: NodeEntities | None = None
    _shared_executor: Any = None  # the executor of another program that serves both parts
    _runs_by_timers = False  # of a shared executor, in place of the threads
    _must_autostart = False  # whether a timer is still to configure and activate the node

    def __init__(self, **node_options: Any) -> None:
        """Make the unconfigured node by rclpy's options; a bad parameter raises SettingsError."""
        super().__init__(NODE_NAME, **node_options)
        # The node logs what the core reports; without a handler Python would print it, too.
        logging.getLogger('franka_dynamics').addHandler(logging.NullHandler())
        # The wait for robot_description ends when `should_stop`, which run_lifecycle_node sets,
        # returns True. While `runs_cycles`, another thread than that of a transition runs the
        # control cycles, so that a transition can wait until the arm is braked.
        self.should_stop: Callable[[], bool] = lambda: False
        self.runs_cycles = False
        self._urdf_text: str | None = None  # of which the arm was made
        self._configured_values: dict[str, Any] = {}
        self._background_lock = threading.RLock()
        self._is_finalized = False
        self._next_receiver_check = 0.0
        state_group = MutuallyExclusiveCallbackGroup()

        def serves_states(entity: Any) -> bool:
            """Return whether the control thread serves a subscription, timer or service."""
            return entity.callback_group is state_group

        self.control_entities = NodeEntities(self, serves_states)
        self.service_entities = NodeEntities(self, lambda entity: not serves_states(entity))
        declare_parameters(self, tables.parameter_specs(NODE_NAME))
        self.command_publisher = self.create_lifecycle_publisher(
            Float64MultiArray,
            '~/command',
            PUBLISHER_QOS,
            qos_overriding_options=QOS_OVERRIDES,
        )
        self._term_publishers = TermPublishers(self)
        self._state_topic = self.resolve_topic_name('joint_states')
        self.receivers = ReceiverCheck(self, self.command_publisher)
        self.state_sources = StateSources(self)
        self.diagnostics = FeedforwardDiagnostics(self, self._state_topic, self._term_publishers)
        self.cycle = ControlCycle(self, self.diagnostics, self._term_publishers)
        self.add_on_set_parameters_callback(self._on_set_parameters)
        self.add_post_set_parameters_callback(self._apply_live_parameters)
        self.create_service(Trigger, '~/clear_fault', self._on_clear_fault)
        self._motion_server = MotionServer(
            self, self.diagnostics.status_log.status, self.diagnostics.report_refusal
        )
        self.diagnostics.on_reference_event = self._motion_server.on_reference_event
        self.state_sources.subscription = subscribe_numbered(
            self,
            JointState,
            'joint_states',
            self.cycle.on_joint_state,
            qos_profile=STATE_QOS,
            callback_group=state_group,
        )
        if self.get_parameter('model_source').value == tables.ROBOT_DESCRIPTION_TOPIC:
            self.create_subscription(
                String,
                tables.ROBOT_DESCRIPTION_TOPIC,
                self._on_robot_description,
                DESCRIPTION_QOS,
            )

    @property
    def controller(self) -> Feedforward | None:
        """The node's controller; None unless the node is configured."""
        return self.cycle.controller

    @property
    def active(self) -> bool:  # type: ignore[override]
        """Whether the node is active, so that it answers joint states with torques."""
        return self.cycle is not None and self.cycle.active

    @property
    def executor(self) -> Any:
        """
        The executor that rclpy wakes when the node's topics, timers or services change.

        The node runs in one of two ways:

        - In a process of its own two threads with an executor each serve its two parts. All that
          changes is the service thread's, so its executor is woken; one that is not woken never
          serves new entities, nor lets go of destroyed ones.
        - In another program (composition) the executor to which the node is added serves both
          parts, and timers call what the threads call. Torques then wait for all callbacks of that
          executor.
        """
        return self._shared_executor or (self.service_entities and self.service_entities.executor)

    @executor.setter
    def executor(self, executor: Any) -> None:
        """Store another program's executor; for the first one make timers in place of threads."""
        if executor is not None and not self._runs_by_timers:
            self._run_by_timers()
        self._shared_executor = executor

    def _run_by_timers(self) -> None:
        """Make the timers that do what the threads of a process of the node's own do."""
        if get_current_signal_handlers_options() != SignalHandlerOptions.NO:
            self.get_logger().warning(f'Ctrl-C would shut ROS down first: {_SHUTDOWN_ADVICE}')
        self._runs_by_timers = True
        self._must_autostart = self.get_parameter('autostart').value
        self.create_timer(SILENCE_CHECK_PERIOD_S, self.cycle.run_timed_tasks)
        self.create_timer(_BACKGROUND_TASK_PERIOD_S, self._on_background_timer)

    def _on_background_timer(self) -> None:
        """Unless shut down, configure and activate once if `autostart`; run background tasks."""
        with self._background_lock:
            if self._is_finalized:
                return
            if self._must_autostart:
                self._must_autostart = False
                if self.trigger_configure() is TransitionCallbackReturn.SUCCESS:
                    self.trigger_activate()
            self.run_background_tasks()

    # Lifecycle ---------------------------------------------------------------------------------

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Make the arm's controller and cross-check it; if that fails, log why, return FAILURE."""
        try:
            self._configure()
        except FrankaDynamicsError as error:
            self.get_logger().error(f'not configured: {error}')
            return TransitionCallbackReturn.FAILURE
        except Exception:
            # rclpy turns an exception in a transition into a return code without logging it.
            self.get_logger().fatal(f'not configured:\n{traceback.format_exc()}')
            raise
        return super().on_configure(state)

    def _configure(self) -> None:
        """Make and store the controller from the parameters, or raise FrankaDynamicsError."""
        parameters = parameter_values(self, tables.parameter_specs(NODE_NAME))
        arm, self._urdf_text = arm_and_urdf_from_parameters(self, parameters, self.should_stop)
        controller, difference = make_controller(self, parameters, arm, self.cycle.publish_torque)
        frame_name = parameters['frame']
        frame = int(frame_name) if frame_name.isdecimal() else frame_name
        self._term_publishers.set_controller(controller, frame)
        self.diagnostics.set_controller(controller, difference)
        # A real arm measures its velocities; some simulators publish none.
        measures_velocity = parameters['target'] == 'fci'
        self.cycle.set_joints(controller.joint_names, measures_velocity=measures_velocity)
        self._configured_values = parameter_values(self, specs_in_files(NODE_NAME))
        # It is set last, because other callbacks treat the node as configured once it is set.
        self.cycle.controller = controller

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """
        Begin to answer joint states, after configuring if needed; return FAILURE if that fails.

        The first torque waits until its receivers are found to be of the kind for `target`.
        """
        # The controller is None after an earlier activation failed to reconfigure the node.
        configuration = parameter_values(self, specs_in_files(NODE_NAME))
        if self.controller is None or self._configured_values != configuration:
            self.cycle.controller = None
            if self.on_configure(state) is not TransitionCallbackReturn.SUCCESS:
                return TransitionCallbackReturn.FAILURE
        # Exempt all present objects from later garbage collections, which would otherwise delay
        # control cycles.
        gc.collect()
        gc.freeze()
        result = super().on_activate(state)
        self.cycle.uses_simulated_time = self.get_parameter('use_sim_time').value
        self.cycle.is_ending = False
        self.diagnostics.status_log.reset()
        # Others may receive torques now than before. Without a permission, to clear the fault
        # begins the search for receivers anew, too.
        self.receivers.permission = TorquePermission.CHECKING
        with suppress(StartRefusedError):  # a final fault stays
            self.clear_fault()
        self.get_logger().info('activated: commands begin once good states come')
        # Last, because from here on the control thread answers joint states.
        with self.cycle.lock:
            self.cycle.active = True
        return result

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """
        End the torques, after braking unless composed with other nodes, and become inactive.

        This takes as long as the arm needs to come to rest, at most _MAX_BRAKING_WAIT_S, then some
        tenths of a second until the last torque has arrived.
        """
        self._end_activation('deactivated')
        self.get_logger().info('deactivated')
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Discard the arm and its controller."""
        self.cycle.controller = None
        self.get_logger().info('cleaned up')
        return super().on_cleanup(state)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """End the torques as `on_deactivate` does; the node never commands again."""
        self._is_finalized = True
        self.diagnostics.status_log.is_shut_down = True
        self._end_activation('shut down')
        self.get_logger().info('shut down')
        self.cycle.controller = None
        return super().on_shutdown(state)

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """After an exception in a transition, end torques as `on_deactivate` does; unconfigure."""
        self._end_activation('error')
        self.cycle.controller = None
        return super().on_error(state)

    def shut_down(self) -> None:
        """Unless shut down, trigger the shutdown transition, and send results of ended goals."""
        if not self._is_finalized:
            self.trigger_shutdown()
            self._motion_server.deliver_results()

    def destroy_node(self) -> None:
        """If active and ROS runs, stop the arm; destroy node, action server, state machine."""
        if self.active and self.context.ok():
            self.shut_down()
        elif self.active:
            with self.cycle.lock:  # another thread may run a cycle
                self.cycle.active = False
            self.get_logger().error(f'ROS was shut down before this node: {_SHUTDOWN_ADVICE}')
        # Threads of a MultiThreadedExecutor outlive its shutdown (rclpy, issue 893).
        with self._background_lock:
            self._is_finalized = True
            self._motion_server.destroy_server()
            super().destroy_node()
        destroy_state_machine(self)

    def _end_activation(self, reason: str) -> None:
        """End the torques, after braking if another thread runs cycles; then answer no states."""
        controller = self.controller
        if controller is None:
            return
        self.cycle.is_ending = True
        controller.stop(reason)
        end = time.monotonic() + _MAX_BRAKING_WAIT_S
        while self.runs_cycles and controller.state is State.BRAKING and time.monotonic() < end:
            time.sleep(_BACKGROUND_TASK_PERIOD_S)
            self.diagnostics.report_status_changes()
        with self.cycle.lock:
            self.cycle.active = False
        if controller.state is not State.SILENT:  # the stop sequence, a torque per ms
            controller.reject_state(controller.why, time.monotonic())
        while controller.state is not State.SILENT:
            time.sleep(Feedforward.TICK_PERIOD_S)
            controller.tick(time.monotonic())
        self.command_publisher.wait_for_all_acked(_TORQUE_DELIVERY_TIMEOUT)
        self.receivers.close()
        self.diagnostics.report_status_changes()
        self._motion_server.update_goals()

    # The service thread ------------------------------------------------------------------------

    def run_background_tasks(self) -> float:
        """Check receivers, report and serve goals as due; return the time to the next call [s]."""
        controller = self.controller
        if controller is None:
            self._motion_server.update_goals()
            return INACTIVE_POLL_PERIOD_S
        if self.active and time.monotonic() >= self._next_receiver_check:
            self._next_receiver_check = time.monotonic() + _BACKGROUND_TASK_PERIOD_S
            self._term_publishers.update_subscribed_terms()
            self.check_receivers(controller)
        self.diagnostics.report_status_changes()
        self._motion_server.update_goals()
        return _BACKGROUND_TASK_PERIOD_S if self.active else INACTIVE_POLL_PERIOD_S

    def check_receivers(self, controller: Feedforward) -> None:
        """Update the receiver check; stop, pause or, at a first receiver, reset the controller."""
        check = self.receivers
        check.update_permission()
        controller.blocked = check.reason
        permission = check.permission
        acts = controller.state in ACTIVE_STATES
        if permission is TorquePermission.REFUSED and (acts or not controller.faulty):
            # The torque goes to zero, and the arm is not held: a gravity torque is right for the
            # target alone, and this receiver is another one.
            controller.stop(check.reason, Stop.TO_ZERO)
        elif permission is TorquePermission.CHECKING and acts:
            controller.stop(check.reason, Stop.PAUSE)
        if not check.has_receiver:
            self.cycle.has_receiver = False
            return
        with self.cycle.lock:
            is_first_receiver = not self.cycle.has_receiver
            if is_first_receiver and controller.state is not State.SILENT:
                if controller.faulty:
                    return  # the torques after a fault, which nobody got, are for nobody
                # The arm may be elsewhere than where the torques that nobody got would hold it.
                controller.reset()
            self.cycle.has_receiver = True

    def _on_clear_fault(self, _: Trigger.Request, answer: Trigger.Response) -> Trigger.Response:
        """Clear an active node's fault; return `answer`, a success if there was none, too."""
        controller = self.controller
        if controller is None:
            answer.message = 'the node is not configured'
        elif not controller.faulty:
            answer.success = True
            answer.message = 'there was no fault'
        elif not self.active:
            answer.message = 'the node is not active; activation clears it'
        else:
            answer.message = 'cleared; torques begin again once states and receivers allow it'
            try:
                self.clear_fault()
                answer.success = True
            except StartRefusedError as error:
                answer.message = str(error)
            self.get_logger().info(f'~/clear_fault: {answer.message}')
        return answer

    def clear_fault(self) -> None:
        """
        Clear the fault; the node commands again once all checks pass.

        Unless the receivers of the torques are known to be right, they are looked for anew.

        Raises
        ------
        StartRefusedError
            If the torque still goes to zero, or `Feedforward.start` refuses.

        """
        controller = self.controller
        receivers = self.receivers
        assert controller is not None  # as it is configured
        with self.cycle.lock:
            if receivers.permission is not TorquePermission.GRANTED:
                if controller.state is not State.SILENT:
                    # The check would hear this node's own torques as those of another sender.
                    raise StartRefusedError('The torque still goes to zero; try again.')
                names = controller.joint_names
                receivers.on_activation(controller.settings.target, names)
                self.state_sources.on_activation(self._state_topic)
                controller.blocked = receivers.reason
            controller.start()

    def _on_set_parameters(self, changes: Sequence[Parameter]) -> SetParametersResult:
        """Return whether the controller, if any, can use changed parameters; if not, why."""
        given = {change.name: change.value for change in changes}
        merged = parameter_values(self, specs_in_files(*LIVE_PARAMETER_FILES)) | given
        try:
            if self.controller is not None:
                self.controller.changed_law(**vars(tables.settings_from_parameters(merged)))
        except FrankaDynamicsError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _apply_live_parameters(self, changes: Sequence[Parameter]) -> None:
        """Apply changed parameters that need no configuring, and log them, if configured."""
        live = parameter_values(self, specs_in_files(*LIVE_PARAMETER_FILES))
        changed = {change.name: change.value for change in changes if change.name in live}
        if not changed or self.controller is None:
            return
        if (difference := change_settings(self.controller, live)) is not None:
            self.diagnostics.model_difference = difference
        assignments = [f'{name} = {_value_text(value)}' for name, value in changed.items()]
        self.get_logger().info(f'now: {", ".join(assignments)}')

    def _on_robot_description(self, message: String) -> None:
        """Latch a final fault if robot_description is not the text that the model was made of."""
        if self.controller and message.data != self._urdf_text:
            self.controller.stop(
                'robot_description has changed: clean up and configure anew', Stop.FINAL
            )


def _value_text(value: Any) -> str:
    """Return a parameter's value as text of limited length, an array as a list."""
    return short_text(str(list(value) if isinstance(value, array) else value), 200)


def main(args: Sequence[str] | None = None) -> int:
    """Run the node to its end; return 0, 1 if its autostart failed, or 2 for wrong input."""
    return run_node(FeedforwardNode, run_lifecycle_node, args)


if __name__ == '__main__':
    sys.exit(main())
