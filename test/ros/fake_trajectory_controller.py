# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
A stand-in for joint_trajectory_controller's action, as a process of its own.

What it does with a goal the goal itself says, by the seconds of its goal_time_tolerance.
"""

from control_msgs.action import FollowJointTrajectory
import rclpy
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.task import Future
from trajectory_msgs.msg import JointTrajectory

SUCCEED, REJECT, UNTIL_CANCELLED, ABORT = range(1, 5)
PREEMPTED, CANCELLED = 'preempted', 'cancelled there'


class FakeController(Node):
    def __init__(self):
        super().__init__('feedforward_trajectory_controller')
        self.received = self.create_publisher(JointTrajectory, '~/received', 10)
        self.end = Future()  # why the followed goal ends
        self.server = ActionServer(
            self,
            FollowJointTrajectory,
            '~/follow_joint_trajectory',
            self.follow,
            goal_callback=self.answer,
            cancel_callback=self.cancel,
        )

    def answer(self, goal):
        rejected = goal.goal_time_tolerance.sec == REJECT
        return GoalResponse.REJECT if rejected else GoalResponse.ACCEPT

    def cancel(self, _):
        self.end.set_result(CANCELLED)
        return CancelResponse.ACCEPT

    async def follow(self, handle):
        goal = handle.request
        self.end.set_result(PREEMPTED)
        end = self.end = Future()
        self.received.publish(goal.trajectory)
        feedback = FollowJointTrajectory.Feedback()
        feedback.actual.positions = [0.25] * 7
        handle.publish_feedback(feedback)
        result = FollowJointTrajectory.Result(error_string=goal.path_tolerance[0].name)
        if goal.goal_time_tolerance.sec == UNTIL_CANCELLED:
            result.error_string = await end
            if result.error_string == CANCELLED:
                handle.canceled()
            else:
                # joint_trajectory_controller ends a replaced goal like this.
                handle.abort()
                result.error_code = result.INVALID_GOAL
        elif goal.goal_time_tolerance.sec == ABORT:
            handle.abort()
            result.error_code = result.PATH_TOLERANCE_VIOLATED
            result.error_string = 'fr3_joint4 is 0.3 rad off'
        else:
            handle.succeed()
        return result


def main():
    rclpy.init()
    try:
        rclpy.spin(FakeController())
    except (KeyboardInterrupt, ExternalShutdownException):
        pass


if __name__ == '__main__':
    main()
