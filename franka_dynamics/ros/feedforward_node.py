# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The feedforward node, which answers each joint state with a feedforward torque."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
import gc
import logging
from statistics import median
import sys
import threading
import time
import traceback
from typing import Any

import numpy as np
from rcl_interfaces.msg import SetParametersResult
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.duration import Duration
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import Trigger

from .controller_factory import change_settings, make_controller, resolve_model
from .diagnostics import FeedforwardDiagnostics
from .joint_state_messages import JointStateReader, NoArmJointsError
from .messages import float64_message_head
from .motion_requests import MotionRequests
from .node_process import NodeEntities, run_lifecycle, run_node
from .parameter_tables import live_table, ROBOT_DESCRIPTION, settings_from, table
from .parameters import CheckedParameters, declare, values
from .qos import DESCRIPTION_QOS, PUBLISHER_QOS, QOS_OVERRIDES, STATE_QOS
from .rclpy_private import destroy_state_machine, with_sequence_number
from .receiver_check import ReceiverCheck, TorquePermission
from .term_publishers import TermPublishers
from .trajectory_action import TrajectoryAction
from ..control.braking import MAX_BRAKING_TIME_S
from ..control.feedforward import ACTIVE, Feedforward, State, Stop
from ..errors import FrankaDynamicsError, JointStateError, shortened, StartRefusedError
from ..parameter_schema import specs
from ..typing import Array

NODE_NAME = 'feedforward'
_IDLE_PERIOD_S = 0.1  # between two calls while the node is not active [s]
_CHECK_PERIOD_S = 5e-3  # between two checks whether joint states have ceased [s]
_REFRESH_PERIOD_S = 0.05  # between two looks at subscribers, receivers and reports [s]
# Longest time for which a transition waits until the arm is braked, by the steady clock [s]. The
# core ends braking after half of it by the stamps of joint states.
_MAX_BRAKING_S = 2.0 * MAX_BRAKING_TIME_S
_DELIVERY_TIMEOUT = Duration(seconds=0.5)


class FeedforwardNode(CheckedParameters, LifecycleNode):
    """
    Lifecycle node around a `Feedforward` controller; docs/reference has topics and parameters.

    The control thread serves `control_entities`, the subscription to joint states, and calls
    `run_timed_tasks`; it never logs, because a terminal that does not read its output would stop
    it. The service thread serves `service_entities`, which is all other callbacks, and calls
    `run_background_tasks`. An inactive node drops joint states.
    """

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
        self.core: Feedforward | None = None  # from configure to cleanup
        self._configured_with: dict[str, Any] = {}
        self._finalized = False
        # Held during a control cycle; whoever holds it may change `active`.
        self._cycle = threading.Lock()
        self.active = self._ending = False
        self._simulated_time = False
        self._clock_arrival = 0.0  # the node's time when the latest joint state came [s]
        # The steady times between its latest steps, as far as joint states show them [s].
        self._clock_steps, self._clock_stepped = deque[float](maxlen=5), 0.0
        self._last_stamp = np.nan
        self._got_state = False
        self._next_look = self._published = 0.0
        self._sends = False  # whether torques are published
        states = MutuallyExclusiveCallbackGroup()
        self.control_entities = NodeEntities(self, lambda entity: entity.callback_group is states)
        self.service_entities = NodeEntities(
            self, lambda entity: entity.callback_group is not states
        )
        declare(self, table(NODE_NAME))
        self.commands = self.create_lifecycle_publisher(
            Float64MultiArray,
            '~/command',
            PUBLISHER_QOS,
            qos_overriding_options=QOS_OVERRIDES,
        )
        self._terms = TermPublishers(self)
        self._topic = self.resolve_topic_name('joint_states')
        self.receivers = ReceiverCheck(self, self.commands)
        self._diagnostics = FeedforwardDiagnostics(self, self._topic, self.receivers)
        self.add_on_set_parameters_callback(self._on_set_parameters)
        self.add_post_set_parameters_callback(self._use_parameters)
        self.create_service(Trigger, '~/clear_fault', self._on_clear_fault)
        requests = MotionRequests(self, self._diagnostics)
        self._goals = TrajectoryAction(self, requests, self._diagnostics)
        self.create_subscription(
            JointState,
            'joint_states',
            with_sequence_number(self._on_joint_state),
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
    def executor(self) -> Any:
        """
        The executor that rclpy tells of entities which are made or destroyed while the node runs.

        In a process of the node's own they are all the service thread's; untold, it never serves
        them, nor lets go of them. An executor that the node is added to, as in composition, serves
        both parts, and timers call what the threads call: torques then wait for all its callbacks.
        """
        whole = self.__dict__.get('whole_executor')
        return whole or getattr(self, 'service_entities', self).__dict__.get('executor')

    @executor.setter
    def executor(self, executor: Any) -> None:
        if executor is not None and 'whole_executor' not in self.__dict__:
            self._autostarts = self.get_parameter('autostart').value
            self.create_timer(_CHECK_PERIOD_S, self.run_timed_tasks)
            self.create_timer(_REFRESH_PERIOD_S, self._run_as_component)
        self.__dict__['whole_executor'] = executor

    def _run_as_component(self) -> None:
        """Configure and activate the node once, if it is to; then run its background tasks."""
        if self._autostarts:
            self._autostarts = False
            if self.trigger_configure() is TransitionCallbackReturn.SUCCESS:
                self.trigger_activate()
        self.run_background_tasks()

    @property
    def controller(self) -> Feedforward:
        """The node's `Feedforward` controller; only a configured node has one."""
        assert self.core is not None, 'only called between configure and cleanup'
        return self.core

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
        parameters = values(self, table(NODE_NAME))
        arm, self._urdf = resolve_model(self, parameters, self.should_stop)
        controller, residual = make_controller(self, parameters, arm, self._publish)
        frame = parameters['frame']
        frame = int(frame) if frame.isdigit() else frame
        self._terms.set_controller(controller, frame)
        self._diagnostics.set_controller(controller, self._terms, residual)
        # A real arm measures its velocities; some simulators publish none.
        simulated = parameters['target'] != 'fci'
        self._reader = JointStateReader(controller.names, derive_velocity=simulated)
        self._command_head = float64_message_head(controller.description.n)
        self._configured_with = values(self, specs(NODE_NAME))
        # It is set last, because other callbacks treat the node as configured once it is set.
        self.core = controller

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """
        Reconfigure if non-live parameters changed; take joint states and references.

        The first torque waits until the receivers are found to be the target's.
        """
        # The controller is None after an earlier activation failed to reconfigure the node.
        if self.core is None or self._configured_with != values(self, specs(NODE_NAME)):
            self.core = None
            if self.on_configure(state) is not TransitionCallbackReturn.SUCCESS:
                return TransitionCallbackReturn.FAILURE
        # Exempt all present objects from later garbage collections, which would otherwise delay
        # control cycles.
        gc.collect()
        gc.freeze()
        result = super().on_activate(state)
        self._simulated_time = self.get_parameter('use_sim_time').value
        self._ending = False
        self._diagnostics.begin_activation()
        # Activation clears a fault; torques begin once nothing speaks against a first torque.
        self._listen()
        with suppress(StartRefusedError):  # a final fault stays
            self.controller.start()
        self.get_logger().info(
            f'activated: commands begin once the states on {self._topic} are good'
        )
        self.active = True
        return result

    def _listen(self) -> None:
        core = self.controller
        self.receivers.begin(core.settings.target, self._topic, core.names)
        self.controller.blocked = self.receivers.reason

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
        self.core = None
        self.get_logger().info('cleaned up')
        return super().on_cleanup(state)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Brake the arm if the node is active, as `on_deactivate` does."""
        self._finalized = self._diagnostics.status.ends = True
        self._end_activation('shut down')
        self.get_logger().info('shut down')
        self.core = None
        return super().on_shutdown(state)

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop the arm after an exception in a transition, and return to unconfigured."""
        self._end_activation('error')
        self.core = None
        return super().on_error(state)

    def shut_down(self) -> None:
        """Trigger the shutdown transition unless it has already run."""
        if not self._finalized:
            self.trigger_shutdown()
            self._goals.deliver()

    def destroy_node(self) -> None:
        """Destroy the node, its action and its lifecycle state machine; stop the arm before."""
        if self.active:
            self.shut_down()
        self._goals.destroy()
        super().destroy_node()
        destroy_state_machine(self)

    def _end_activation(self, reason: str) -> None:
        controller = self.core
        if controller is None:
            return
        self._ending = True
        controller.stop(reason)
        give_up = time.monotonic() + _MAX_BRAKING_S
        while (
            self.cycles_go_on and controller.state is State.BRAKING and time.monotonic() < give_up
        ):
            time.sleep(_REFRESH_PERIOD_S)
            self._diagnostics.report()
        with self._cycle:
            self.active = False
        if controller.state is not State.SILENT:  # the stop sequence, a torque per ms
            controller.reject_state(controller.why, time.monotonic())
        while controller.state is not State.SILENT:
            time.sleep(Feedforward.TICK_S)
            controller.tick(time.monotonic())
        self.commands.wait_for_all_acked(_DELIVERY_TIMEOUT)
        self.receivers.close()
        self._diagnostics.report()
        self._goals.poll()

    # The control thread ------------------------------------------------------------------------

    def _on_joint_state(self, data: bytes, number: int | None = None) -> None:
        """
        Run a control cycle for a serialized joint state; publish its terms, and any command.

        `number` is the message number that the publisher gave the joint state; None if the
        middleware does not number messages.
        """
        began = time.perf_counter()
        with self._cycle:
            if self.active:
                self._answer(data, number, began)

    def _answer(self, data: bytes, number: int | None, began: float) -> None:
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
        if clock != self._clock_arrival:
            self._clock_steps.append(now - self._clock_stepped)
            self._clock_arrival, self._clock_stepped = clock, now
        self._got_state, self._diagnostics.status.arrival = True, now
        second = self.receivers.check_sequence_number(number)
        if second and (controller.state in ACTIVE or not controller.faulty):
            # Of two nodes' states one may be another arm's.
            controller.reject_state(second, now, faulty=True)
        elif self.receivers.is_first_of_another:
            return  # the next number shows whether it is of another arm
        if wrong:
            controller.reject_state(wrong, now)
            return
        # While a deactivation or shutdown brakes the arm, no thread receives simulated time, so
        # the ages of states are unknown.
        unknown = self._simulated_time and self._ending
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

    def _publish(self, torque: Array) -> None:
        """Publish a torque, (n,) [N m], if there is a receiver; the controller calls it."""
        if self._sends:
            self.commands.publish(self._command_head + torque.tobytes())
            self._diagnostics.sent += 1
        self._published = time.perf_counter()

    def _now(self) -> float:
        """Return the node's time [s]; time.time reads the system clock faster than rclpy."""
        return self.get_clock().now().nanoseconds * 1e-9 if self._simulated_time else time.time()

    @property
    def clock_rate(self) -> float:
        """How often the node's time goes on [Hz], at most as often as joint states come."""
        return 1.0 / median(self._clock_steps) if self._clock_steps else np.inf

    def run_timed_tasks(self) -> float:
        """
        Publish due torques and detect missing joint states; return the time to the next call [s].

        The control thread calls it after each event and when due. It needs no executor's timer:
        on a busy machine these were seen not to fire; the cause is unknown.
        """
        with self._cycle:
            if not self.active:
                return _IDLE_PERIOD_S
            controller = self.controller
            if not self._got_state:
                # Simulated time does not pass in a pause, where a stop must end nevertheless.
                by_stamps = self._simulated_time and controller.state is not State.STOPPING
                silence = self._now() - self._clock_arrival if by_stamps else None
                controller.tick(time.monotonic(), silence)
            self._got_state = False
            return Feedforward.TICK_S if controller.state is State.STOPPING else _CHECK_PERIOD_S

    # The service thread ------------------------------------------------------------------------

    def run_background_tasks(self) -> float:
        """Check the receivers and publish diagnostics; return the time until the next call [s]."""
        if self.core is None:
            self._goals.poll()
            return _IDLE_PERIOD_S
        if self.active and time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + _REFRESH_PERIOD_S
            self._terms.refresh()
            self._look_at_receivers()
        self._diagnostics.report()
        self._goals.poll()
        return _REFRESH_PERIOD_S if self.active else _IDLE_PERIOD_S

    def _look_at_receivers(self) -> None:
        """Let torques begin, or stop the controller if a receiver is not the target's."""
        controller, receivers = self.controller, self.receivers
        receivers.poll()
        controller.blocked = receivers.reason
        # The torque goes to zero: gravity torques are right for the target only, and this receiver
        # is another one.
        permission, acts = receivers.state, controller.state in ACTIVE
        if permission is TorquePermission.REFUSED and (acts or not controller.faulty):
            controller.stop(receivers.reason, Stop.TO_ZERO)
        elif permission is TorquePermission.CHECKING and acts:
            controller.stop(receivers.reason, Stop.PAUSE)
        if receivers.is_open and not self._sends and controller.state is not State.SILENT:
            # The arm may be elsewhere than where the torques that nobody got would hold it.
            with self._cycle:
                controller.reset()
        self._sends = receivers.is_open

    def _on_clear_fault(self, _: Trigger.Request, answer: Trigger.Response) -> Trigger.Response:
        """Acknowledge a latched fault; answer success if none remains, and a sentence."""
        answer.success = self.core is not None and not self.core.faulty
        if self.core is None:
            answer.message = 'the node is not configured'
        elif not self.core.faulty:
            answer.message = 'there was no fault'
        elif not self.active:
            answer.message = 'the node is not active; activation clears it'
        else:
            try:
                self.clear_fault()
            except StartRefusedError as error:
                answer.message = str(error)
            else:
                answer.success = True
                answer.message = (
                    'cleared; torques are commanded again once states and receivers allow it'
                )
            self.get_logger().info(f'~/clear_fault: {answer.message}')
        return answer

    def clear_fault(self) -> None:
        """Clear the fault; look up first who receives torques, unless that is known."""
        with self._cycle:
            if self.receivers.state is not TorquePermission.GRANTED:
                self._listen()
            self.controller.start()

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
        residual = change_settings(self.core, live)
        if residual is not None:
            self._diagnostics.residual = residual
        now = (
            f'{name} = {shortened(str(list(value) if isinstance(value, array) else value), 200)}'
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
