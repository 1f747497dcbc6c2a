# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""ROS nodes, their clients and launch actions; other packages compute dynamics and torques."""

from importlib.metadata import PackageNotFoundError, version
import os

from ..files import share_directory

# Namespace of simulated arms, of their nodes and of their torque topics. A real arm's controller
# listens on COMMAND_TOPIC in the root namespace, and ROS discovers the whole subnet.
SIMULATION_NAMESPACE = 'simulation'
COMMAND_TOPIC = 'effort_controller/commands'  # on which simulated arms take torques
# The module that holds each node, by the name of its program.
NODE_MODULES = {
    'feedforward_node': 'franka_dynamics.ros.node.feedforward_node',
    'simulator_node': 'franka_dynamics.ros.simulators.simulator_node',
    'gazebo_direct_node': 'franka_dynamics.ros.simulators.gazebo_direct_node',
}
# Environment variables that name a profiles file of Fast DDS: from version 3 on, and before.
FASTDDS_PROFILE_VARIABLES = (
    'FASTDDS_DEFAULT_PROFILES_FILE',
    'FASTRTPS_DEFAULT_PROFILES_FILE',
)
ROS_INSTALL_HINT = (
    "source it, or install its wheels with pip install '.[ros-jazzy]' in a clone of "
    'franka_dynamics'
)


def use_fastdds_profile(file_name: str) -> None:
    """Make Fast DDS use the profile config/`file_name` for this process's later nodes."""
    # Fast DDS 3, which Kilted with rclpy 9 has, warns of the older name; before it knows no other.
    try:
        newer = int(version('rclpy').partition('.')[0]) >= 9
    except PackageNotFoundError:  # without ROS, where tests of nodes are skipped
        newer = False
    variable = FASTDDS_PROFILE_VARIABLES[0 if newer else 1]
    os.environ[variable] = str(share_directory() / 'config' / file_name)


def see_whole_graph() -> None:
    """
    Let this process's later contexts see all nodes where a Fast DDS discovery server is used.

    A server tells a client only of what matches the client's own publishers and subscriptions, and
    a super client of everything: without it, what receives torques cannot be known. Call it before
    rclpy.init. ROS_SUPER_CLIENT stays as it is if it is set.
    """
    if os.environ.get('ROS_DISCOVERY_SERVER'):
        os.environ.setdefault('ROS_SUPER_CLIENT', 'TRUE')
