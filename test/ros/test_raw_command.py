# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Commands as bytes against the middleware's own serialization."""

import numpy as np
import pytest
from rclpy.serialization import deserialize_message, serialize_message
from std_msgs.msg import Float64MultiArray

from franka_dynamics.ros.serialized import CommandBytes


@pytest.mark.parametrize('n', [1, 3, 7, 14])
def test_a_serialized_torques_bytes_are_the_middlewares(n):
    command = CommandBytes(n)
    assert command.direct
    for torque in np.random.default_rng(n).normal(0, 50, (20, n)):
        expected = bytes(serialize_message(Float64MultiArray(data=list(torque))))
        actual = command.serialize(torque)
        # Header, empty layout and count; then four bytes of padding that nobody writes; values.
        assert len(actual) == len(expected)
        assert actual[:16] == expected[:16]
        assert actual[20:] == expected[20:]
        assert command.serialize(torque) == actual
        assert list(deserialize_message(command.serialize(torque), Float64MultiArray).data) == (
            list(torque)
        )


def test_a_middleware_of_another_form_does_the_serializing():
    command = CommandBytes(2)
    command.direct = False
    torque = np.array([1.5, -2.5])
    assert list(deserialize_message(command.serialize(torque), Float64MultiArray).data) == (
        [1.5, -2.5]
    )
