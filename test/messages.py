# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What several tests ask of a ROS message."""


def stamp(message):
    """Return a message's header stamp [s]."""
    return message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec
