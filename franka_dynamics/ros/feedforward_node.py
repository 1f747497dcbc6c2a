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
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from .configured_arm import ConfiguredArm
from .controller_unloading import require_messages, unload
from .messages import with_number
from .model_source import make_controller, resolve_model, ResolvedModel
from .node_process import run_lifecycle_node
from .node_settings import ROBOT_DESCRIPTION, settings_from
from .parameter_tables import live_table, table
from .parameters import declare, LiveParameters, values
from .qos import DESCRIPTION_QOS, qos_overriding_options, REFERENCE_QOS, STATE_QOS
from .two_threads import ControlThreadCalls, NodePart
from ..control.braking import LONGEST_BRAKING_S
from ..control.control_law import ControlLaw
from ..control.cycle_result import Mode
from ..control.fault_latch import ClearedBy
from ..control.feedforward import FeedforwardController
from ..control.limits import LONGEST_STEP_S
from ..errors import FrankaDynamicsError
from ..parameter_schema import specs

NODE_NAME = 'feedforward'
_IDLE_S = 0.1
_LONGEST_BRAKING_S = 2.0 * LONGEST_BRAKING_S  # by this clock; the controller counts by stamps
_DELIVERY_TIMEOUT = Duration(seconds=0.5)


class FeedforwardNode(LifecycleNode):
    """
    Lifecycle node around a FeedforwardController; docs/reference has topics and parameters.

    Two threads may serve it, each a part. `control_part` is the joint states, whose thread calls
    `run_due` as well; `service_part` is all else. Whatever the second changes of the controller
    it changes under a lock, and only in steps that take microseconds.
    """

    def __init__(self, **node_options: Any) -> None:
        super().__init__(NODE_NAME, **node_options)
        self.refusal = ''
        # Asked while something is waited for; whoever runs the node may say when to give up.
        self.should_stop: Callable[[], bool] = lambda: False
        # Lets the thread that stops the node serve its cycles until the arm is at rest.
        self.serve_states: Callable[[float], None] | None = None
        self.calls = ControlThreadCalls()
        self._state_group = MutuallyExclusiveCallbackGroup()
        self.control_part = NodePart(
            self, lambda entity: entity.callback_group is self._state_group
        )
        # CommandWatch takes the messages of this group itself; no executor does.
        self.watch_group = MutuallyExclusiveCallbackGroup()
        self.service_part = NodePart(
            self,
            lambda entity: entity.callback_group not in (self._state_group, self.watch_group),
        )
        self._lock = threading.RLock()
        self._finalized = False
        declare(self, table(NODE_NAME))
        self._live = LiveParameters(
            self,
            table(NODE_NAME),
            live_table(NODE_NAME),
            self._require_usable,
            lambda: self._arm is not None and self.controller.enabled,
        )
        self.create_service(Trigger, '~/clear_fault', self._on_clear_fault)
        self._model: ResolvedModel | None = None
        self._arm: ConfiguredArm | None = None
        self._configured_with: dict[str, Any] = {}
        self._subscriptions_of_activation: list[Any] = []

    @property
    def arm(self) -> ConfiguredArm:
        """What serves the arm; there is one from configure to cleanup."""
        assert self._arm is not None, 'only called between configure and cleanup'
        return self._arm

    @property
    def controller(self) -> FeedforwardController:
        """The controller; there is one from configure to cleanup."""
        return self.arm.controller

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
        parameters = values(self, table(NODE_NAME))
        if parameters['controller']:
            require_messages()
        model = self._model = resolve_model(self, parameters, self.should_stop)
        controller = make_controller(self, parameters, model)
        arm = ConfiguredArm(self, controller, parameters, self._lock)
        self._configured_with = values(self, specs(NODE_NAME))
        # Set last: other callbacks take it as the sign that configuration is complete.
        self._arm = arm

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Refuse if somebody else commands; otherwise listen to the arm."""
        # None after a configuration that was refused here before.
        if self._arm is None or self._configured_with != values(self, specs(NODE_NAME)):
            self._release()
            if self.on_configure(state) is not TransitionCallbackReturn.SUCCESS:
                return TransitionCallbackReturn.FAILURE
        seconds = self.get_parameter('listen_before_activation').value
        self.refusal = self.arm.command_watch.listen(seconds)
        if self.refusal:
            self.get_logger().error(f'not activated: {self.refusal}')
            return TransitionCallbackReturn.FAILURE
        # What set-up left behind would otherwise be walked through in the middle of a cycle.
        gc.collect()
        gc.freeze()
        result = super().on_activate(state)
        self.calls.call(self._open_activation)
        return result

    def _open_activation(self) -> None:
        self._subscriptions_of_activation = [
            self.create_subscription(
                JointState,
                'joint_states',
                with_number(self.arm.on_joint_state),
                STATE_QOS,
                raw=True,
                callback_group=self._state_group,
                qos_overriding_options=qos_overriding_options(),
            ),
            self.create_subscription(
                JointTrajectory,
                '~/reference',
                self.arm.on_reference,
                REFERENCE_QOS,
                raw=True,
            ),
        ]
        if self.get_parameter('model_source').value == ROBOT_DESCRIPTION:
            self._subscriptions_of_activation.append(
                self.create_subscription(
                    String,
                    ROBOT_DESCRIPTION,
                    self._on_robot_description,
                    DESCRIPTION_QOS,
                )
            )
        self.arm.begin(self._subscriptions_of_activation[0].topic_name)
        self.wake()

    def wake(self) -> None:
        """Let both threads look at the node's entities anew."""
        for part in (self.control_part, self.service_part):
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
        self._unload_controller()
        return TransitionCallbackReturn.SUCCESS

    def _unload_controller(self) -> None:
        """Deactivate and unload the controller that took the torques, if the node knows it."""
        controller = self.get_parameter('controller').value
        if not controller:
            return
        try:
            manager = self.resolve_service_name('controller_manager')
            self.get_logger().info(f'{unload(manager, controller)}')
        except FrankaDynamicsError as error:
            self.get_logger().error(f'{error}')

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
        if self._arm is None:
            return
        with self._lock:
            self.controller.disable(reason, brake=self.serve_states is not None)
        self.arm.note_state()
        give_up = time.monotonic() + _LONGEST_BRAKING_S
        while self.controller.mode is Mode.BRAKING and time.monotonic() < give_up:
            if self.serve_states is not None:
                self.serve_states(LONGEST_STEP_S)
                self.run_beside()
        self.calls.call(self._close_activation)
        self.arm.wait_until_delivered(_DELIVERY_TIMEOUT)

    def _close_activation(self) -> None:
        for subscription in self._subscriptions_of_activation:
            self.destroy_subscription(subscription)
        self._subscriptions_of_activation = []
        self.wake()
        self.arm.finish()

    def _release(self) -> None:
        if self._arm is not None:
            self._arm.destroy()
            self._arm = None

    def run_due(self) -> float:
        """Do what is due by the steady clock; return for how long nothing will be [s]."""
        return self.arm.run_due() if self._subscriptions_of_activation else _IDLE_S

    def run_beside(self) -> float:
        """Do what takes longer than a cycle may, on the other thread; return as `run_due`."""
        self._live.apply(self._apply_settings)
        return self.arm.run_beside() if self._subscriptions_of_activation else _IDLE_S

    # Services, parameters ----------------------------------------------------------------------

    def _on_clear_fault(self, _: Trigger.Request, answer: Trigger.Response) -> Trigger.Response:
        """Acknowledge a latched fault; what an acknowledgement does not clear stays."""
        if self._arm is None:
            answer.success, answer.message = False, 'the node is not configured'
            return answer
        with self._lock:
            fault = self.controller.fault
            answer.success, answer.message = self.controller.clear_fault()
        if fault:
            self.get_logger().info(f'~/clear_fault: {answer.message}')
        return answer

    def _on_robot_description(self, message: String) -> None:
        """Stop an arm whose description is no longer the one the model was made from."""
        if self._model is not None and message.data != self._model.urdf:
            with self._lock:
                self.controller.latch_fault(
                    'robot_description has changed since this node was configured from it; clean '
                    'it up and configure it again',
                    ClearedBy.CONFIGURATION,
                )

    def _require_usable(self, merged: dict[str, Any]) -> None:
        settings = settings_from(merged)
        if self._arm is not None:
            self.controller.prepare(settings)

    def _apply_settings(self, live: dict[str, Any]) -> None:
        if self._arm is None:
            return
        self.arm.read_clock()
        # Judged when they were set: an error here would end a node that commands.
        law = ControlLaw(self.controller.description, settings_from(live))
        with self._lock:
            # The interpreter was shared with this thread meanwhile.
            self.controller.supervisor.ignore_next_gap()
            self.controller.use(law)


def main(args: Sequence[str] | None = None) -> int:
    """Run the node until it is told to stop; return a process exit status."""
    return run_lifecycle_node(FeedforwardNode, args)


if __name__ == '__main__':
    sys.exit(main())
