# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The feedforward node, which answers each joint state with a feedforward torque."""

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

from .control_cycle import CHECK_PERIOD_S, ControlCycle, IDLE_PERIOD_S
from .controller_factory import change_settings, make_controller, resolve_model
from .diagnostics import FeedforwardDiagnostics
from .lifecycle_threads import NodeEntities, run_lifecycle
from .motion_requests import MotionRequests
from .node_process import run_node
from .parameter_tables import live_table, parameter_specs, ROBOT_DESCRIPTION, settings_from
from .parameters import CheckedParameters, declare, values
from .rclpy_private import destroy_state_machine, with_sequence_number
from .receiver_check import ReceiverCheck, TorquePermission
from .term_publishers import TermPublishers
from .topics import DESCRIPTION_QOS, PUBLISHER_QOS, QOS_OVERRIDES, STATE_QOS
from .trajectory_action import TrajectoryAction
from ..control.feedforward import ACTIVE_STATES, Feedforward, State, Stop
from ..control.stopping import MAX_BRAKING_TIME_S
from ..errors import FrankaDynamicsError, short_text, StartRefusedError
from ..parameter_schema import specs_in_file

NODE_NAME = 'feedforward'
_REFRESH_PERIOD_S = 0.05  # between two looks at subscribers, receivers and reports [s]
# Longest time for which a transition waits until the arm is braked, by the steady clock [s]. The
# core ends braking after half of it by the stamps of joint states.
_MAX_BRAKING_S = 2.0 * MAX_BRAKING_TIME_S
_END_IN_TIME = (
    'rclpy.init(signal_handler_options=SignalHandlerOptions.NO), and destroy_node() before '
    'rclpy.shutdown(), let this node end its torque, which a receiver may hold for ever'
)
_DELIVERY_TIMEOUT = Duration(seconds=0.5)


class FeedforwardNode(CheckedParameters, LifecycleNode):
    """
    Lifecycle node around a `Feedforward` controller; docs/reference has topics and parameters.

    The control thread serves `control_entities`, the subscription to joint states, and calls
    `cycle.run_timed_tasks`. The service thread serves `service_entities`, all other callbacks, and
    calls `run_background_tasks`. An inactive node drops joint states.
    """

    # Defaults for rclpy's __init__, which already reads `executor`.
    service_entities: NodeEntities | None = None
    _whole_executor: Any = None  # the executor, not of this package, that serves both parts
    _is_component = False

    def __init__(self, **node_options: Any) -> None:
        super().__init__(NODE_NAME, **node_options)
        # The node logs what the core reports; without a handler Python would print it, too.
        logging.getLogger('franka_dynamics').addHandler(logging.NullHandler())
        # The wait for robot_description ends when `should_stop`, which run_lifecycle sets, returns
        # True. While `cycles_go_on`, another thread than that of a transition runs the control
        # cycles, so that a transition can wait until the arm is braked.
        self.should_stop: Callable[[], bool] = lambda: False
        self.cycles_go_on = False
        self._urdf: str | None = None  # of which the arm was made
        self._configured_with: dict[str, Any] = {}
        self._background_lock, self._finalized, self._next_look = threading.RLock(), False, 0.0
        states = MutuallyExclusiveCallbackGroup()
        self.control_entities = NodeEntities(self, lambda one: one.callback_group is states)
        self.service_entities = NodeEntities(self, lambda one: one.callback_group is not states)
        declare(self, parameter_specs(NODE_NAME))
        self.commands = self.create_lifecycle_publisher(
            Float64MultiArray, '~/command', PUBLISHER_QOS, qos_overriding_options=QOS_OVERRIDES
        )
        self._terms = TermPublishers(self)
        self._topic = self.resolve_topic_name('joint_states')
        self.receivers = ReceiverCheck(self, self.commands)
        self._diagnostics = FeedforwardDiagnostics(self, self._topic, self.receivers)
        self.cycle = ControlCycle(
            self.commands, self.get_clock(), self.receivers, self._diagnostics, self._terms
        )
        self.add_on_set_parameters_callback(self._on_set_parameters)
        self.add_post_set_parameters_callback(self._use_parameters)
        self.create_service(Trigger, '~/clear_fault', self._on_clear_fault)
        requests = MotionRequests(self, self._diagnostics)
        self._goals = TrajectoryAction(self, requests, self._diagnostics)
        self.create_subscription(
            JointState,
            'joint_states',
            with_sequence_number(self.cycle.on_joint_state),
            STATE_QOS,
            raw=True,
            callback_group=states,
            qos_overriding_options=QOS_OVERRIDES,
        )
        if self.get_parameter('model_source').value == ROBOT_DESCRIPTION:
            self.create_subscription(
                String, ROBOT_DESCRIPTION, self._on_robot_description, DESCRIPTION_QOS
            )

    @property
    def core(self) -> Feedforward | None:
        """The node's controller; None unless the node is configured."""
        return self.cycle.core

    @property
    def active(self) -> bool:  # type: ignore[override]
        """Whether the node is active, and answers joint states."""
        return 'cycle' in vars(self) and self.cycle.active

    @property
    def executor(self) -> Any:
        """
        The executor that rclpy tells of entities which are made or destroyed while the node runs.

        In a process of the node's own they are all the service thread's; untold, it never serves
        them, nor lets go of them. An executor that the node is added to, as in composition, serves
        both parts, and timers call what the threads call: torques then wait for all its callbacks.
        """
        return self._whole_executor or (self.service_entities and self.service_entities.executor)

    @executor.setter
    def executor(self, executor: Any) -> None:
        if executor is not None and not self._is_component:
            self._become_component()
        self._whole_executor = executor

    def _become_component(self) -> None:
        """Let timers call what the threads call in a process of the node's own."""
        self._is_component = True
        if get_current_signal_handlers_options() != SignalHandlerOptions.NO:
            self.get_logger().warning(f'Ctrl-C would shut ROS down first: {_END_IN_TIME}')
        self._autostarts = self.get_parameter('autostart').value
        self.create_timer(CHECK_PERIOD_S, self.cycle.run_timed_tasks)
        self.create_timer(_REFRESH_PERIOD_S, self._run_as_component)

    def _run_as_component(self) -> None:
        """Configure and activate the node once, if it is to; then run its background tasks."""
        with self._background_lock:
            if self._finalized:
                return
            if self._autostarts:
                self._autostarts = False
                if self.trigger_configure() is TransitionCallbackReturn.SUCCESS:
                    self.trigger_activate()
            self.run_background_tasks()

    # Lifecycle ---------------------------------------------------------------------------------

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Load the arm, cross-check its model between formulations, and make the controller."""
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
        """Make the controller from the parameters; raise an error if that is not possible."""
        parameters = values(self, parameter_specs(NODE_NAME))
        arm, self._urdf = resolve_model(self, parameters, self.should_stop)
        controller, residual = make_controller(self, parameters, arm, self.cycle.publish)
        frame = parameters['frame']
        self._terms.set_controller(controller, int(frame) if frame.isdigit() else frame)
        self._diagnostics.set_controller(controller, self._terms, residual)
        # A real arm measures its velocities; some simulators publish none.
        self.cycle.prepare(controller.names, measures_velocity=parameters['target'] == 'fci')
        self._configured_with = values(self, specs_in_file(NODE_NAME))
        # It is set last, because other callbacks treat the node as configured once it is set.
        self.cycle.core = controller

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """
        Reconfigure if non-live parameters changed; take joint states and references.

        The first torque waits until the receivers are found to be the target's.
        """
        # The controller is None after an earlier activation failed to reconfigure the node.
        if self.core is None or self._configured_with != values(self, specs_in_file(NODE_NAME)):
            self.cycle.core = None
            if self.on_configure(state) is not TransitionCallbackReturn.SUCCESS:
                return TransitionCallbackReturn.FAILURE
        # Exempt all present objects from later garbage collections, which would otherwise delay
        # control cycles.
        gc.collect()
        gc.freeze()
        result = super().on_activate(state)
        self.cycle.simulated_time = self.get_parameter('use_sim_time').value
        self.cycle.ending = False
        self._diagnostics.begin_activation()
        # Activation clears a fault; torques begin once nothing speaks against a first torque.
        self._begin_receiver_check()
        with suppress(StartRefusedError):  # a final fault stays
            self.cycle.controller.start()
        self.get_logger().info(
            f'activated: commands begin once the states on {self._topic} are good'
        )
        with self.cycle.lock:
            self.cycle.active = True
        return result

    def _begin_receiver_check(self) -> None:
        """Begin to look up who receives torques; until that is known, block them."""
        core = self.cycle.controller
        self.receivers.begin(core.settings.target, self._topic, core.names)
        core.blocked = self.receivers.reason

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """
        Brake the arm, then publish the last torques of the activation.

        This takes as long as the arm needs to come to rest, at most _MAX_BRAKING_S, then some
        tenths of a second until the last torque has arrived.
        """
        self._end_activation('deactivated')
        self.get_logger().info('deactivated')
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Discard the arm and its controller."""
        self.cycle.core = None
        self.get_logger().info('cleaned up')
        return super().on_cleanup(state)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Brake the arm if the node is active, as `on_deactivate` does."""
        self._finalized = self._diagnostics.status.ends = True
        self._end_activation('shut down')
        self.get_logger().info('shut down')
        self.cycle.core = None
        return super().on_shutdown(state)

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop the arm after an exception in a transition, and return to unconfigured."""
        self._end_activation('error')
        self.cycle.core = None
        return super().on_error(state)

    def shut_down(self) -> None:
        """Trigger the shutdown transition unless it has already run."""
        if not self._finalized:
            self.trigger_shutdown()
            self._goals.deliver()

    def destroy_node(self) -> None:
        """Destroy the node, its action and its lifecycle state machine; stop the arm before."""
        if self.active and self.context.ok():
            self.shut_down()
        elif self.active:
            with self.cycle.lock:  # another thread may run a cycle
                self.cycle.active = False
            self.get_logger().error(f'ROS was shut down before this node: {_END_IN_TIME}')
        # Threads of a MultiThreadedExecutor outlive its shutdown (rclpy, issue 893).
        with self._background_lock:
            self._finalized = True
            self._goals.destroy()
            super().destroy_node()
        destroy_state_machine(self)

    def _end_activation(self, reason: str) -> None:
        """Brake the arm, let the torques end, and answer no joint state any more."""
        controller = self.core
        if controller is None:
            return
        self.cycle.ending = True
        controller.stop(reason)
        give_up = time.monotonic() + _MAX_BRAKING_S
        while (
            self.cycles_go_on and controller.state is State.BRAKING and time.monotonic() < give_up
        ):
            time.sleep(_REFRESH_PERIOD_S)
            self._diagnostics.report()
        with self.cycle.lock:
            self.cycle.active = False
        if controller.state is not State.SILENT:  # the stop sequence, a torque per ms
            controller.reject_state(controller.why, time.monotonic())
        while controller.state is not State.SILENT:
            time.sleep(Feedforward.TICK_S)
            controller.tick(time.monotonic())
        self.commands.wait_for_all_acked(_DELIVERY_TIMEOUT)
        self.receivers.close()
        self._diagnostics.report()
        self._goals.poll()

    # The service thread ------------------------------------------------------------------------

    def run_background_tasks(self) -> float:
        """Check the receivers and publish diagnostics; return the time until the next call [s]."""
        if self.core is None:
            self._goals.poll()
            return IDLE_PERIOD_S
        if self.active and time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + _REFRESH_PERIOD_S
            self._terms.refresh()
            self._look_at_receivers()
        self._diagnostics.report()
        self._goals.poll()
        return _REFRESH_PERIOD_S if self.active else IDLE_PERIOD_S

    def _look_at_receivers(self) -> None:
        """Let torques begin, or stop the controller if a receiver is not the target's."""
        controller, receivers = self.cycle.controller, self.receivers
        receivers.poll()
        controller.blocked = receivers.reason
        # The torque goes to zero: gravity torques are right for the target only, and this receiver
        # is another one.
        permission, acts = receivers.state, controller.state in ACTIVE_STATES
        if permission is TorquePermission.REFUSED and (acts or not controller.faulty):
            controller.stop(receivers.reason, Stop.TO_ZERO)
        elif permission is TorquePermission.CHECKING and acts:
            controller.stop(receivers.reason, Stop.PAUSE)
        if receivers.is_open and not self.cycle.sends and controller.state is not State.SILENT:
            # The arm may be elsewhere than where the torques that nobody got would hold it.
            with self.cycle.lock:
                controller.reset()
        self.cycle.sends = receivers.is_open

    def _on_clear_fault(self, _: Trigger.Request, answer: Trigger.Response) -> Trigger.Response:
        """Acknowledge a latched fault; answer success if none remains, and a sentence."""
        if self.core is None:
            answer.message = 'the node is not configured'
        elif not self.core.faulty:
            answer.success, answer.message = True, 'there was no fault'
        elif not self.active:
            answer.message = 'the node is not active; activation clears it'
        else:
            text = 'cleared; torques are commanded again once states and receivers allow it'
            try:
                self.clear_fault()
                answer.success, answer.message = True, text
            except StartRefusedError as error:
                answer.message = str(error)
            self.get_logger().info(f'~/clear_fault: {answer.message}')
        return answer

    def clear_fault(self) -> None:
        """Clear the fault; look up first who receives torques, unless that is known."""
        with self.cycle.lock:
            if self.receivers.state is not TorquePermission.GRANTED:
                self._begin_receiver_check()
            self.cycle.controller.start()

    def _on_set_parameters(self, changes: Sequence[Parameter]) -> SetParametersResult:
        """Refuse changes that the controller cannot use."""
        merged = values(self, live_table()) | {change.name: change.value for change in changes}
        try:
            if self.core is not None:
                self.core.changed_law(**vars(settings_from(merged)))
        except FrankaDynamicsError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _use_parameters(self, changes: Sequence[Parameter]) -> None:
        """Put changes of live parameters into effect, and log them."""
        live = values(self, live_table())
        changed = {one.name: one.value for one in changes if one.name in live}
        if not changed or self.core is None:
            return
        if (residual := change_settings(self.core, live)) is not None:
            self._diagnostics.residual = residual
        now = (
            f'{name} = {short_text(str(list(value) if isinstance(value, array) else value), 200)}'
            for name, value in changed.items()
        )
        self.get_logger().info(f'now: {", ".join(now)}')

    def _on_robot_description(self, message: String) -> None:
        """Latch a fault if robot_description has changed since the model was made from it."""
        if self.core and message.data != self._urdf:
            self.core.stop(
                'robot_description has changed since this node was configured from it; clean it '
                'up and configure it again',
                Stop.FINAL,
            )


def main(args: Sequence[str] | None = None) -> int:
    """Run the node until a signal or ROS shutdown ends it; return a process exit status."""
    return run_node(FeedforwardNode, run_lifecycle, args)


if __name__ == '__main__':
    sys.exit(main())
