# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Reads ROS messages for several tests."""


def stamp(message):
    """Return a message's header stamp [s]."""
    return message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec
