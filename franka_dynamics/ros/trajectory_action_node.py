# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
An action server in front of joint_trajectory_controller that fills in feedforward torques.

A client such as MoveIt sends its FollowJointTrajectory goal to this node. The node sends the goal,
with `effort` at every point, to the controller's own action, and returns the controller's
feedback, result and error codes to the client. A goal that cannot be followed is aborted with a
sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from queue import Empty, SimpleQueue
import sys
import threading
import time
from typing import Any

from action_msgs.msg import GoalStatus
import numpy as np
from rclpy.action import ActionClient, ActionServer, CancelResponse, GoalResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import MultiThreadedExecutor
from rclpy.node import Node
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from .messages import motion_message
from .node_process import run_node, StopRequest
from .node_settings import load_arm, settings_from
from .parameter_tables import live_table, table
from .parameters import declare, values
from .qos import STATE_QOS
from .realtime import OFF
from .received import JointStateReader
from .trajectories import request_of
from ..control.control_law import ControlLaw
from ..control.trajectory import Trajectory
from ..control.trajectory_goal import code_of_refusal, fill, GoalError
from ..errors import (
    FrankaDynamicsError,
    JointStateError,
    MissingDependencyError,
    ReferenceRefusedError,
)
from ..typing import Array

NODE_NAME = 'trajectory_action'
ACTION = '~/follow_joint_trajectory'
# Largest number of goals at a time: the goal being followed, and goals that wait to replace it.
# Each goal has a thread.
_MOST_GOALS = 4
_THREADS = _MOST_GOALS + 3  # three for joint states, the controller's answers and cancelling
_LOOK_S, _SPIN_S = 0.1, 0.1
_LAST_WORDS_S = 0.5  # time to send the results of goals before the process ends [s]


class _RefusedError(Exception):
    """The reason why a goal is not followed, with the error code of its result."""

    def __init__(self, sentence: str, code: GoalError = GoalError.INVALID_GOAL) -> None:
        super().__init__(sentence)
        self.code = code


class _Relay:
    """One goal: events from controller and client in order, and its motion."""

    def __init__(self) -> None:
        self.events: SimpleQueue[tuple[str, Any]] = SimpleQueue()
        self.motion: Trajectory | None = None


class TrajectoryActionNode(Node):
    """Serves ~/follow_joint_trajectory; every goal has a thread that waits for its end."""

    def __init__(self, **node_options: Any) -> None:
        super().__init__(NODE_NAME, **node_options)
        parameters = declare(self, table('trajectory_action'))
        self._description = load_arm(parameters)
        self._description.require_physical('commanding torques')
        # This ControlLaw is made only to refuse wrong parameters at the start.
        ControlLaw(self._description, settings_from(parameters))
        try:
            from control_msgs.action import FollowJointTrajectory
        except ImportError as error:
            raise MissingDependencyError(
                'control_msgs is not installed, whose FollowJointTrajectory this node serves; '
                'install it by apt install ros-$ROS_DISTRO-control-msgs.'
            ) from error
        self._type = FollowJointTrajectory
        self._wait = parameters['wait']
        self._controller_action = parameters['controller_action']
        self._lock = threading.Lock()
        self._relays: dict[bytes, _Relay] = {}
        self._followed: _Relay | None = None
        self._group = ReentrantCallbackGroup()
        self._client = ActionClient(
            self, self._type, self._controller_action, callback_group=self._group
        )
        self._server = ActionServer(
            self,
            self._type,
            ACTION,
            self._execute,
            goal_callback=self._on_goal,
            handle_accepted_callback=self._on_accepted,
            cancel_callback=self._on_cancel,
            callback_group=self._group,
        )

    @property
    def busy(self) -> bool:
        """Whether a goal is under way."""
        return bool(self._relays)

    def cancel_all(self) -> None:
        """Ask the controller to cancel every goal; clients' uncancelled goals end as aborted."""
        for relay in list(self._relays.values()):
            relay.events.put(('cancel', None))

    def destroy_node(self) -> None:
        """Destroy action server and client, then the node."""
        self._server.destroy()
        self._client.destroy()
        super().destroy_node()

    # The client's side -------------------------------------------------------------------------

    def _on_goal(self, _: Any) -> GoalResponse:
        if len(self._relays) >= _MOST_GOALS:
            self.get_logger().warning(f'a goal was rejected: {_MOST_GOALS} are under way')
            return GoalResponse.REJECT
        return GoalResponse.ACCEPT

    def _on_accepted(self, handle: Any) -> None:
        self._relays[bytes(handle.goal_id.uuid)] = _Relay()
        handle.execute()

    def _on_cancel(self, handle: Any) -> CancelResponse:
        relay = self._relays.get(bytes(handle.goal_id.uuid))
        if relay is None:
            return CancelResponse.REJECT
        relay.events.put(('cancel', None))
        return CancelResponse.ACCEPT

    def _execute(self, handle: Any) -> Any:
        """Follow one goal to its end; return its result."""
        key = bytes(handle.goal_id.uuid)
        relay = self._relays[key]
        try:
            self._pass_on(handle, relay)
            return self._follow(handle, relay)
        except (FrankaDynamicsError, _RefusedError) as error:
            self.get_logger().warning(f'a goal was aborted: {error}')
            handle.abort()
            code = getattr(error, 'code', GoalError.INVALID_GOAL)
            return self._type.Result(error_code=int(code), error_string=str(error))
        finally:
            with self._lock:
                if self._followed is relay:
                    self._followed = None
                del self._relays[key]

    def _pass_on(self, handle: Any, relay: _Relay) -> None:
        """Send a goal with torques to the controller; its answer comes as a relay event."""
        goal = handle.request
        if goal.multi_dof_trajectory.joint_names or goal.multi_dof_trajectory.points:
            raise _RefusedError(
                'The goal has a multi_dof_trajectory; leave it empty, this arm has single joints.',
                GoalError.INVALID_JOINTS,
            )
        if not self._client.wait_for_server(self._wait):
            raise _RefusedError(
                f'Nobody serves {self._controller_action}; load and activate the '
                'joint_trajectory_controller, or set controller_action.'
            )
        goal.trajectory = self._filled(goal.trajectory, relay)

        def pass_feedback(message: Any) -> None:
            if handle.is_active:
                handle.publish_feedback(message.feedback)

        sent = self._client.send_goal_async(goal, pass_feedback)
        sent.add_done_callback(lambda future: relay.events.put(('answer', future.result())))

    def _follow(self, handle: Any, relay: _Relay) -> Any:
        """
        Wait for the controller's result and return it; forward requests to cancel.

        Raises _RefusedError if the controller rejects the goal, or if its action server is gone
        for longer than the parameter `wait`.
        """
        theirs, cancelled, seen = None, False, time.monotonic()
        while True:
            try:
                event, value = relay.events.get(timeout=_LOOK_S)
            except Empty:
                if self._client.server_is_ready():
                    seen = time.monotonic()
                elif time.monotonic() - seen > self._wait:
                    raise _RefusedError(
                        f'{self._controller_action} is gone; how the motion ended is unknown.'
                    ) from None
                continue
            if event == 'answer':
                if not value.accepted:
                    raise _RefusedError(
                        f'{self._controller_action} rejected the goal; its log says why.'
                    )
                theirs = value
                with self._lock:
                    self._followed = relay
                theirs.get_result_async().add_done_callback(
                    lambda future: relay.events.put(('result', future.result()))
                )
            elif event == 'result':
                return self._ended(handle, value)
            cancelled |= event == 'cancel'
            if cancelled and theirs is not None:
                theirs.cancel_goal_async()
                cancelled = False

    def _ended(self, handle: Any, answer: Any) -> Any:
        """Return the controller's result, and set the status of the client's goal."""
        if answer.status == GoalStatus.STATUS_SUCCEEDED:
            handle.succeed()
        elif answer.status == GoalStatus.STATUS_CANCELED and handle.is_cancel_requested:
            handle.canceled()
        else:  # also if the controller cancelled this goal for a later one
            handle.abort()
        return answer.result

    # The torques -------------------------------------------------------------------------------

    def _filled(self, trajectory: JointTrajectory, relay: _Relay) -> JointTrajectory:
        """Return a goal's trajectory with torques, and set `relay.motion` to the goal's motion."""
        request = request_of(trajectory)
        law = ControlLaw(
            self._description, settings_from(values(self, live_table('trajectory_action')))
        )
        stamp, q = self._state()
        with self._lock:
            followed = None if self._followed is None else self._followed.motion
        try:
            filled = fill(request, law, stamp, q, followed)
        except ReferenceRefusedError as error:
            code = code_of_refusal(request, self._description, stamp)
            raise _RefusedError(str(error), code) from error
        relay.motion = filled.motion
        return motion_message(self._description.joint_names, *filled)

    def _state(self) -> tuple[float, Array]:
        """
        Wait for a new joint state, at most the parameter `wait`; return stamp [s] and positions.

        The subscription exists only during the wait, because reading 1 kHz states without a goal
        would be wasted work.
        """
        reader, states = JointStateReader(self._description.joint_names), SimpleQueue[bytes]()
        subscription = self.create_subscription(
            JointState, 'joint_states', states.put, STATE_QOS, raw=True, callback_group=self._group
        )
        problem = (
            f'No joint state came on {subscription.topic_name} within {self._wait:g} s; remap '
            'joint_states to the topic of the arm.'
        )
        give_up = time.monotonic() + self._wait
        try:
            while True:
                try:
                    state = states.get(timeout=max(0.0, give_up - time.monotonic()))
                    reading = reader.read(state)
                except Empty:
                    raise _RefusedError(problem) from None
                except JointStateError as error:
                    problem = str(error)
                    continue
                if np.isfinite(reading.position).all():
                    return reading.stamp, reading.position
                problem = 'The joint state holds a position that is not finite.'
        finally:
            self.destroy_subscription(subscription)


def _run(node: TrajectoryActionNode, stop: StopRequest) -> int:
    executor = MultiThreadedExecutor(_THREADS)
    executor.add_node(node)
    try:
        while not stop.requested:
            executor.spin_once(timeout_sec=_SPIN_S)
        node.cancel_all()
        until = time.monotonic() + node.get_parameter('wait').value
        while node.busy and time.monotonic() < until:
            executor.spin_once(timeout_sec=_SPIN_S)
        until = time.monotonic() + _LAST_WORDS_S
        while time.monotonic() < until:
            executor.spin_once(timeout_sec=_SPIN_S)
        return 0
    finally:
        executor.shutdown(_SPIN_S)


def main(args: Sequence[str] | None = None) -> int:
    """Serve until a signal asks to end; return 2 for a wrong parameter or no control_msgs."""
    return run_node(TrajectoryActionNode, _run, args, OFF)


if __name__ == '__main__':
    sys.exit(main())
