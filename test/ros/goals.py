# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A client of the node's action."""

from control_msgs.action import FollowJointTrajectory
from rclpy.action import ActionClient


class GoalClient:
    """Sends goals to the node's action; `until` waits as Probe.until does."""

    def __init__(self, probe, until) -> None:
        self._until, self.feedback = until, []
        name = 'feedforward/follow_joint_trajectory'
        self._action = ActionClient(probe, FollowJointTrajectory, name)
        probe.until(self._action.server_is_ready, 'the action')

    def send(self, goal):
        """Send a goal; return its handle once it is answered."""
        answer = self._action.send_goal_async(goal, self.feedback.append)
        self._until(answer.done, 'an answer to the goal')
        return answer.result()

    def followed(self, goal):
        """Send a goal; return its handle once feedback has come."""
        seen, handle = len(self.feedback), self.send(goal)
        self._until(lambda: len(self.feedback) > seen, 'the goal at the controller')
        return handle

    def cancel(self, handle):
        """Cancel a goal, once it is said that it is cancelled."""
        wish = handle.cancel_goal_async()
        self._until(wish.done, 'an answer to the wish')
        assert len(wish.result().goals_canceling) == 1

    def end(self, handle):
        """Wait for the end of a goal; return its status, error code and error sentence."""
        result = handle.get_result_async()
        self._until(result.done, 'the end of the goal')
        end = result.result()
        return end.status, end.result.error_code, end.result.error_string
