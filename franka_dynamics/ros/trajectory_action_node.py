# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
An action server that adds feedforward torques to goals of joint_trajectory_controller.

A client such as MoveIt sends its FollowJointTrajectory goal to this node. The node sends the goal,
with `effort` at every point, to the controller's own action, and returns the controller's
feedback, result and error codes to the client. A goal that cannot be followed is aborted with a
sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
import math
import sys
import time
from typing import Any

from action_msgs.msg import GoalStatus
import numpy as np
from rclpy.action import ActionClient, ActionServer, CancelResponse
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from .follow_joint_trajectory import ACTION, action_type, parse_goal
from .messages import JointStateReader, motion_message, STATE_QOS
from .node_process import OFF, run_node, StopRequest
from .parameter_tables import live_table, load_arm, settings_from, table
from .parameters import declare, NamesUnknownParameters, values
from ..control.control_law import ControlLaw
from ..control.request import TrajectoryRequest
from ..control.trajectory import Trajectory
from ..control.trajectory_goal import goal_with_efforts
from ..errors import (
    FrankaDynamicsError,
    JointStateError,
    ReferenceRefusedError,
)
from ..typing import Array

NODE_NAME = 'trajectory_action'
_SPIN_TIMEOUT_S = 0.1  # longest time between two looks of a waiting goal [s]
_RESULT_DELIVERY_S = 0.5  # time to send the results of goals before the process ends [s]


class _Turn:
    """Awaited, it lets the executor wait for its next event, for at most _SPIN_TIMEOUT_S."""

    def __await__(self) -> Generator[None, None, None]:
        yield


class TrajectoryActionNode(NamesUnknownParameters, Node):
    """Serves ~/follow_joint_trajectory; goals are coroutines on one thread."""

    def __init__(self, **node_options: Any) -> None:
        super().__init__(NODE_NAME, **node_options)
        parameters = declare(self, table('trajectory_action'))
        self._description = load_arm(parameters)
        self._description.require_physical('commanding torques')
        # This ControlLaw is made only to refuse wrong parameters at the start.
        ControlLaw(self._description, settings_from(parameters))
        self._type = action_type()
        self._wait = parameters['wait']
        self._controller_action = parameters['controller_action']
        self._followed: Trajectory | None = None  # the motion that the controller follows
        self.under_way = 0  # number of goals
        self.ending = False  # whether all goals are to be cancelled
        self._client = ActionClient(self, self._type, self._controller_action)
        self._server = ActionServer(
            self,
            self._type,
            ACTION,
            self._execute,
            cancel_callback=lambda handle: CancelResponse.ACCEPT,
        )

    def destroy_node(self) -> None:
        """Destroy action server and client, then the node."""
        self._server.destroy()
        self._client.destroy()
        super().destroy_node()

    async def _execute(self, handle: Any) -> Any:
        """Follow one goal to its end; return its result."""
        self.under_way += 1
        motion = None
        try:
            motion, theirs = await self._passed_on(handle)
            self._followed = motion
            answer = await self._end_of(handle, theirs)
        except FrankaDynamicsError as error:
            self.get_logger().warning(f'a goal was aborted: {error}')
            handle.abort()
            code = getattr(error, 'code', ReferenceRefusedError.code)
            return self._type.Result(error_code=code, error_string=str(error))
        finally:
            self.under_way -= 1
            if self._followed is motion:
                self._followed = None
        if answer.status == GoalStatus.STATUS_SUCCEEDED:
            handle.succeed()
        elif answer.status == GoalStatus.STATUS_CANCELED and handle.is_cancel_requested:
            handle.canceled()
        else:  # also if the controller cancelled this goal for a later one
            handle.abort()
        return answer.result

    async def _passed_on(self, handle: Any) -> tuple[Trajectory, Any]:
        """Send a goal with torques to the controller; return its motion, and its goal there."""
        goal = handle.request
        give_up = time.monotonic() + self._wait
        while not self._client.server_is_ready():
            if time.monotonic() > give_up:
                raise ReferenceRefusedError(
                    f'Nobody serves {self._controller_action}; load and activate the '
                    'joint_trajectory_controller, or set controller_action.'
                )
            await _Turn()
        motion, goal.trajectory = self._filled(parse_goal(goal), *await self._state())

        def pass_feedback(message: Any) -> None:
            if handle.is_active:
                handle.publish_feedback(message.feedback)

        theirs = await self._watched(self._client.send_goal_async(goal, pass_feedback))
        if not theirs.accepted:
            raise ReferenceRefusedError(
                f'{self._controller_action} rejected the goal; its log says why.'
            )
        return motion, theirs

    async def _end_of(self, handle: Any, theirs: Any) -> Any:
        """Wait for the controller's result and return it; forward a request to cancel."""
        cancelled = False

        def pass_cancellation() -> None:
            nonlocal cancelled
            if not cancelled and (handle.is_cancel_requested or self.ending):
                cancelled = True
                theirs.cancel_goal_async()

        return await self._watched(theirs.get_result_async(), pass_cancellation)

    async def _watched(self, future: Any, meanwhile: Callable[[], None] = lambda: None) -> Any:
        """
        Return the controller's answer, and call `meanwhile` while waiting for it.

        Raises ReferenceRefusedError if its action server is gone for longer than `wait`.
        """
        seen = time.monotonic()
        while not future.done():
            meanwhile()
            if self._client.server_is_ready():
                seen = time.monotonic()
            elif time.monotonic() - seen > self._wait:
                raise ReferenceRefusedError(
                    f'{self._controller_action} is gone; how the motion ended is unknown.'
                )
            await _Turn()
        return future.result()

    def _filled(
        self, request: TrajectoryRequest, stamp: float, q: Array
    ) -> tuple[Trajectory, JointTrajectory]:
        """Return the motion of a goal, and its trajectory with torques."""
        law = ControlLaw(
            self._description, settings_from(values(self, live_table('trajectory_action')))
        )
        motion, effort, start = goal_with_efforts(request, law, stamp, q, self._followed)
        return motion, motion_message(self._description.joint_names, motion, effort, start)

    async def _state(self) -> tuple[float, Array]:
        """
        Wait for a new joint state, at most the parameter `wait`; return stamp [s] and positions.

        The subscription exists only during the wait, because reading 1 kHz states without a goal
        would be wasted work.
        """
        reader, states = JointStateReader(self._description.joint_names), list[bytes]()
        subscription = self.create_subscription(
            JointState, 'joint_states', states.append, STATE_QOS, raw=True
        )
        problem = (
            f'No joint state came on {subscription.topic_name} within {self._wait:g} s; remap '
            'joint_states to the topic of the arm.'
        )
        give_up = time.monotonic() + self._wait
        try:
            while time.monotonic() < give_up:
                while states:
                    try:
                        reading = reader.read(states.pop(0))
                    except JointStateError as error:
                        problem = str(error)
                        continue
                    if np.isfinite(reading.position).all():
                        return reading.stamp, reading.position
                    problem = 'The joint state holds a position that is not finite.'
                await _Turn()
            raise ReferenceRefusedError(problem)
        finally:
            self.destroy_subscription(subscription)


def _run(node: TrajectoryActionNode, stop: StopRequest) -> int:
    executor = SingleThreadedExecutor()
    executor.add_node(node)

    def spin(until: Callable[[], bool], seconds: float = math.inf) -> None:
        give_up = time.monotonic() + seconds
        while not until() and time.monotonic() < give_up:
            executor.spin_once(timeout_sec=_SPIN_TIMEOUT_S)

    try:
        spin(lambda: stop.requested)
        node.ending = True
        spin(lambda: not node.under_way, node.get_parameter('wait').value)
        spin(lambda: False, _RESULT_DELIVERY_S)
        return 0
    finally:
        executor.shutdown()


def main(args: Sequence[str] | None = None) -> int:
    """Serve until a signal asks to end; return 2 for a wrong parameter or no control_msgs."""
    return run_node(TrajectoryActionNode, _run, args, OFF)


if __name__ == '__main__':
    sys.exit(main())
