# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The feedforward node, which answers joint states with cross-checked feedforward torques."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import gc
import sys
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
from .messages import with_number
from .model_source import make_controller, resolve_model, ResolvedModel
from .node_process import run_lifecycle, run_node
from .node_settings import ROBOT_DESCRIPTION, settings_from
from .parameter_tables import live_table, table
from .parameters import declare, LiveParameters, values
from .qos import DESCRIPTION_QOS, qos_overriding_options, REFERENCE_QOS, STATE_QOS
from .two_threads import ControlThreadCalls, NodePart
from ..control.braking import LONGEST_S
from ..control.feedforward import Feedforward, State
from ..control.limits import LONGEST_STEP_S
from ..errors import FrankaDynamicsError, NotStartedError
from ..parameter_schema import specs

NODE_NAME = 'feedforward'
_IDLE_S = 0.1
# Longest time for which a transition waits until the arm is braked, by the steady clock [s]. The
# controller ends braking after LONGEST_S by the stamps of joint states.
_LONGEST_BRAKING_S = 2.0 * LONGEST_S
_DELIVERY_TIMEOUT = Duration(seconds=0.5)


class FeedforwardNode(LifecycleNode):
    """
    Lifecycle node around the core, Feedforward; docs/reference has topics and parameters.

    The control thread serves `control_part`, the subscription to joint states, and calls
    `run_due`. The service thread serves `service_part`, which is all other callbacks except that
    of Clearance, and calls `run_beside`.
    """

    def __init__(self, **node_options: Any) -> None:
        super().__init__(NODE_NAME, **node_options)
        self.refusal = ''
        # The wait for robot_description ends when `should_stop`, which run_lifecycle sets, returns
        # True.
        self.should_stop: Callable[[], bool] = lambda: False
        # `serve_states` returns after a given time [s], in which joint states are processed by the
        # caller or by the control thread. The thread that stops the node calls `serve_states`
        # until braking is over. If `serve_states` is None, the arm is not braked.
        self.serve_states: Callable[[float], None] | None = None
        self.calls = ControlThreadCalls()
        self._state_group = MutuallyExclusiveCallbackGroup()
        self.control_part = NodePart(
            self, lambda entity: entity.callback_group is self._state_group
        )
        # No executor serves this group: Clearance takes the messages itself.
        self.watch_group = MutuallyExclusiveCallbackGroup()
        self.service_part = NodePart(
            self, lambda entity: entity.callback_group not in (self._state_group, self.watch_group)
        )
        self._finalized = False
        declare(self, table(NODE_NAME))
        self._live = LiveParameters(
            self,
            table(NODE_NAME),
            live_table(NODE_NAME),
            self._require_usable,
            lambda: bool(self._subscriptions_of_activation),
        )
        self.create_service(Trigger, '~/clear_fault', self._on_clear_fault)
        self._model: ResolvedModel | None = None
        self._arm: ConfiguredArm | None = None
        self._configured_with: dict[str, Any] = {}
        self._subscriptions_of_activation: list[Any] = []

    @property
    def arm(self) -> ConfiguredArm:
        """The configured arm; it exists from configure to cleanup."""
        assert self._arm is not None, 'only called between configure and cleanup'
        return self._arm

    @property
    def controller(self) -> Feedforward:
        """The controller; it exists from configure to cleanup."""
        return self.arm.controller

    # Lifecycle ---------------------------------------------------------------------------------

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Load the arm, cross-check its models, and create the publishers."""
        try:
            self._configure()
        except FrankaDynamicsError as error:
            self.refusal = str(error)
            self.get_logger().error(f'not configured: {error}')
            return TransitionCallbackReturn.FAILURE
        except Exception:
            # rclpy turns an exception in a transition into a return code without logging it.
            self.get_logger().fatal(f'not configured:\n{traceback.format_exc()}')
            raise
        return super().on_configure(state)

    def _configure(self) -> None:
        parameters = values(self, table(NODE_NAME))
        model = self._model = resolve_model(self, parameters, self.should_stop)
        controller, residual = make_controller(self, parameters, model)
        arm = ConfiguredArm(self, controller, parameters, residual)
        self._configured_with = values(self, specs(NODE_NAME))
        self._live.forget()  # the law has been made with all parameters of now
        # `_arm` is set last, because other callbacks treat the node as configured once it is set.
        self._arm = arm

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """
        Reconfigure if non-live parameters changed; subscribe to joint states and references.

        The first torque waits until Clearance has nothing against it.
        """
        # The arm is None after an earlier activation failed to reconfigure the node.
        if self._arm is None or self._configured_with != values(self, specs(NODE_NAME)):
            self._release()
            if self.on_configure(state) is not TransitionCallbackReturn.SUCCESS:
                return TransitionCallbackReturn.FAILURE
        # Exempt all present objects from later garbage collections, which would otherwise delay
        # control cycles.
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
                JointTrajectory, '~/reference', self.arm.on_reference, REFERENCE_QOS, raw=True
            ),
        ]
        if self.get_parameter('model_source').value == ROBOT_DESCRIPTION:
            self._subscriptions_of_activation.append(
                self.create_subscription(
                    String, ROBOT_DESCRIPTION, self._on_robot_description, DESCRIPTION_QOS
                )
            )
        self.arm.begin(self._subscriptions_of_activation[0].topic_name)
        self.wake()

    def wake(self) -> None:
        """Wake both threads, so that their executors see new or removed subscriptions."""
        for part in (self.control_part, self.service_part):
            if part.executor is not None:
                part.executor.wake()

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Brake the arm, end the subscriptions, and publish the stop sequence."""
        self._end_activation('deactivated')
        self.get_logger().info('deactivated')
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Destroy the publishers and the configured arm."""
        self._release()
        self.get_logger().info('cleaned up')
        return TransitionCallbackReturn.SUCCESS

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """End an activation, destroy publishers."""
        self._finalized = True
        self._end_activation('shut down')
        self._release()
        return TransitionCallbackReturn.SUCCESS

    def shut_down(self) -> None:
        """Trigger the shutdown transition unless it has already run."""
        if not self._finalized:
            self.trigger_shutdown()

    def destroy_node(self) -> None:
        """
        Destroy the node and its lifecycle state machine.

        rclpy leaves the state machine, which keeps the middleware's node and its threads until
        the end of the process.
        """
        super().destroy_node()
        self._state_machine.destroy_when_not_in_use()

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """After an exception in a transition, stop the arm and return to unconfigured."""
        self._end_activation('error')
        self._release()
        return TransitionCallbackReturn.SUCCESS

    def _end_activation(self, reason: str) -> None:
        if self._arm is None:
            return
        self.arm.ending = True
        self.controller.stop(reason)
        self.arm.note_state()
        give_up = time.monotonic() + _LONGEST_BRAKING_S
        while self.controller.state is State.BRAKING and time.monotonic() < give_up:
            if self.serve_states is None:
                break
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
        """Publish the stop sequence and run checks that are due; return time to next call [s]."""
        return self.arm.run_due() if self._subscriptions_of_activation else _IDLE_S

    def run_beside(self) -> float:
        """Apply parameters, cross-check, publish diagnostics; return time until next call [s]."""
        self._live.apply(self._apply_settings)
        return _IDLE_S if self._arm is None else self.arm.run_beside()

    # Services, parameters ----------------------------------------------------------------------

    def _on_clear_fault(self, _: Trigger.Request, answer: Trigger.Response) -> Trigger.Response:
        """Acknowledge a latched fault; answer success if none remains, and a sentence."""
        if self._arm is None:
            answer.success, answer.message = False, 'the node is not configured'
            return answer
        controller = self.controller
        if not controller.faulty:
            answer.success, answer.message = True, 'there was no fault'
        elif not self._subscriptions_of_activation:
            answer.success, answer.message = False, 'the node is not active; activation clears it'
        else:
            try:
                controller.start()
                answer.success = True
                answer.message = 'cleared; torques are commanded again once states allow it'
            except NotStartedError as error:
                answer.success, answer.message = False, str(error)
            self.get_logger().info(f'~/clear_fault: {answer.message}')
        return answer

    def _on_robot_description(self, message: String) -> None:
        """Latch a fault if robot_description has changed since the model was made from it."""
        if self._model is not None and message.data != self._model.urdf:
            self.controller.stop(
                'robot_description has changed since this node was configured from it; clean it '
                'up and configure it again',
                final=True,
            )

    def _require_usable(self, merged: dict[str, Any]) -> None:
        if self._arm is not None:
            self.controller.prepare(**vars(settings_from(merged)))

    def _apply_settings(self, live: dict[str, Any]) -> None:
        if self._arm is None:
            return
        before = self.controller.law
        law = self.controller.prepare(**vars(settings_from(live)))
        self.controller.use(law)
        if law.terms.loaded != before.terms.loaded or (
            law.settings.gravity_vector != before.settings.gravity_vector
        ):
            self.arm.check_models(law)


def main(args: Sequence[str] | None = None) -> int:
    """Run the node until a signal or ROS shutdown ends it; return a process exit status."""
    return run_node(FeedforwardNode, run_lifecycle, args)


if __name__ == '__main__':
    sys.exit(main())
