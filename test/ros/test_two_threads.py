# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The service thread goes on after an entity was destroyed, and ends if a callback fails."""

import threading

import pytest
import rclpy
from rclpy.exceptions import InvalidHandle

from franka_dynamics.ros.two_threads import NodePart, ServiceThread

PATIENCE_S = 30.0  # only reached when something is broken


@pytest.mark.parametrize(
    ('error', 'goes_on'),
    [(InvalidHandle('destruction was requested'), True), (ValueError('a fault'), False)],
)
def test_an_entity_that_is_gone_ends_nothing_and_a_fault_does(error, goes_on):
    # If the control thread destroys an entity that has a queued event, rclpy raises InvalidHandle
    # from the executor, as this callback does.
    rclpy.init()
    node = rclpy.create_node('served')
    raised, again = threading.Event(), threading.Event()

    def tick():
        if not raised.is_set():
            raised.set()
            raise error
        again.set()

    node.create_timer(0.01, tick)
    services = ServiceThread(NodePart(node, lambda entity: True), lambda: 0.1)
    try:
        assert raised.wait(PATIENCE_S)
        if goes_on:
            assert again.wait(PATIENCE_S)
            assert services.failure is None
        else:
            services._thread.join(PATIENCE_S)
            assert services.failure is error
    finally:
        services.close()
        node.destroy_node()
        rclpy.shutdown()
