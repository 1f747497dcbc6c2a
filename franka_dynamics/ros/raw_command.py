# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Commands as the bytes of a std_msgs/Float64MultiArray, made without a message object."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from rclpy.serialization import deserialize_message, serialize_message
from std_msgs.msg import Float64MultiArray

from .joint_state import doubles

_DOUBLE = 8


class CommandBytes:
    """
    Serializes torques of one arm.

    Parameters
    ----------
    n : int
        Number of joints.

    """

    def __init__(self, n: int) -> None:
        # The middleware's own bytes for such a message; only the values at its end change. (The
        # padding before them is whatever its memory held; ours is always the same.)
        marked = doubles(np.full(n, -1.0))
        whole = bytes(serialize_message(Float64MultiArray(data=marked)))
        self._head = whole[:len(whole) - _DOUBLE * n]
        again = deserialize_message(self._head + marked.tobytes(), Float64MultiArray)
        self.direct = again.data == marked and not again.layout.dim

    def serialize(self, torque: NDArray[np.float64]) -> bytes:
        """Return the message that carries a torque, shape (n,)."""
        if not self.direct:
            return serialize_message(Float64MultiArray(data=doubles(torque)))
        return self._head + np.ascontiguousarray(torque, dtype='<f8').tobytes()
