# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
A stand-in for joint_trajectory_controller's action, as a process of its own.

What it does with a goal the goal itself says, by the seconds of its goal_time_tolerance.
"""

import threading
import time

from control_msgs.action import FollowJointTrajectory
import rclpy
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor
from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory

SUCCEED, REJECT, UNTIL_CANCELLED, ABORT = range(1, 5)


class FakeController(Node):
    def __init__(self):
        super().__init__('feedforward_trajectory_controller')
        self.received = self.create_publisher(JointTrajectory, '~/received', 10)
        self.cancelled = threading.Event()
        self.replaced = threading.Event()  # set when another goal replaces the followed one
        self.server = ActionServer(
            self,
            FollowJointTrajectory,
            '~/follow_joint_trajectory',
            self.follow,
            goal_callback=self.answer,
            cancel_callback=self.cancel,
            callback_group=ReentrantCallbackGroup(),
        )

    def answer(self, goal):
        rejected = goal.goal_time_tolerance.sec == REJECT
        return GoalResponse.REJECT if rejected else GoalResponse.ACCEPT

    def cancel(self, _):
        self.cancelled.set()
        return CancelResponse.ACCEPT

    def follow(self, handle):
        goal = handle.request
        self.replaced.set()
        replaced = self.replaced = threading.Event()
        self.received.publish(goal.trajectory)
        feedback = FollowJointTrajectory.Feedback()
        feedback.actual.positions = [0.25] * 7
        handle.publish_feedback(feedback)
        result = FollowJointTrajectory.Result(error_string=goal.path_tolerance[0].name)
        if goal.goal_time_tolerance.sec == UNTIL_CANCELLED:
            while not self.cancelled.wait(1e-3):
                if replaced.is_set():
                    # joint_trajectory_controller ends a replaced goal like this.
                    handle.abort()
                    result.error_code, result.error_string = result.INVALID_GOAL, 'preempted'
                    return result
            self.cancelled.clear()
            while not handle.is_cancel_requested:  # set once the callback has returned
                time.sleep(1e-3)
            handle.canceled()
            result.error_string = 'cancelled there'
        elif goal.goal_time_tolerance.sec == ABORT:
            handle.abort()
            result.error_code = result.PATH_TOLERANCE_VIOLATED
            result.error_string = 'fr3_joint4 is 0.3 rad off'
        else:
            handle.succeed()
        return result


def main():
    rclpy.init()
    executor = MultiThreadedExecutor(4)
    executor.add_node(FakeController())
    try:
        executor.spin()
    except (KeyboardInterrupt, ExternalShutdownException):
        pass


if __name__ == '__main__':
    main()
