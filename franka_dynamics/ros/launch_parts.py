# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Parts of launch files that start controllers of ros2_control; ROS's launch is needed here."""

from __future__ import annotations

from typing import Any


def spawner(controller: str, *arguments: str) -> Any:
    """Return the process that loads and activates a controller."""
    from launch_ros.actions import Node

    return Node(
        package='controller_manager',
        executable='spawner',
        output='screen',
        arguments=[controller, *arguments, '--controller-manager-timeout', '30'],
    )


def after(process: Any, following: Any) -> Any:
    """Start a process when another has done its work; end everything if it failed."""
    from launch.actions import RegisterEventHandler, Shutdown
    from launch.event_handlers import OnProcessExit

    def start(event: Any, _: Any) -> list[Any]:
        if event.returncode == 0:
            return [following]
        return [Shutdown(reason=f'{event.process_name} failed')]

    return RegisterEventHandler(OnProcessExit(target_action=process, on_exit=start))
