# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Commands as bytes against the middleware's own serialization."""

import numpy as np
import pytest
from rclpy.serialization import deserialize_message, serialize_message
from std_msgs.msg import Float64MultiArray

from franka_dynamics.ros.serialized import command_bytes


@pytest.mark.parametrize('n', [1, 7])
def test_a_serialized_torques_bytes_are_the_middlewares(n):
    for torque in np.random.default_rng(n).normal(0, 50, (20, n)):
        expected = bytes(serialize_message(Float64MultiArray(data=list(torque))))
        actual = command_bytes(torque)
        # Header, empty layout and count; then four bytes of padding that nobody writes; values.
        assert (len(actual), actual[:16], actual[20:]) == (
            len(expected),
            expected[:16],
            expected[20:],
        )
        assert list(deserialize_message(actual, Float64MultiArray).data) == list(torque)
