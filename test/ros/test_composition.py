# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The feedforward node in an executor of rclpy, beside other nodes, as in composition."""

from threading import Event, Thread
import time

import numpy as np
import pytest
from rclpy.exceptions import InvalidHandle
from rclpy.executors import MultiThreadedExecutor, SingleThreadedExecutor
from rclpy.signals import SignalHandlerOptions

from franka_dynamics.ros import feedforward_node
from franka_dynamics.ros.feedforward_node import FeedforwardNode
from franka_dynamics.ros.rclpy_private import Executor
from franka_dynamics.ros.receivers import ReceiverKind

from .conftest import COMMAND, FER_GRAVITY

GIVEN = {'robot_type': 'fer', 'target': 'mujoco', 'period': 2.5, 'max_state_age': 0.0}


@pytest.mark.parametrize('kind', [SingleThreadedExecutor, MultiThreadedExecutor, Executor])
def test_any_executor_runs_the_node_until_it_is_destroyed(kind, probe, arm, commands, make_node):
    words = [word for name, value in GIVEN.items() for word in ('-p', f'{name}:={value}')]
    node = make_node(FeedforwardNode, *words, '-r', f'feedforward/command:={COMMAND}')
    probe.declare(ReceiverKind.ARM)
    executor, ended = kind(context=node.context), []
    executor.add_node(node)

    def spin():
        while not ended:
            executor.spin_once(timeout_sec=0.05)

    thread = Thread(target=spin)
    thread.start()
    try:
        arm.until(lambda: len(commands) > 100, 'commands')
        assert probe.client.state() == 'active'  # its services are served, too
        np.testing.assert_allclose(commands[-1].data, FER_GRAVITY, rtol=0.0, atol=1e-9)
    finally:
        ended.append(True)
        thread.join()
        executor.shutdown()
    node.destroy_node()  # the stop sequence ends at the torque that holds the arm
    assert not node.active


def test_a_callback_that_outlives_its_executor_uses_no_node_that_is_destroyed(make_node):
    node = make_node(FeedforwardNode, '-p', 'robot_type:=fer', '-p', 'autostart:=false')
    begun, over, wrong = Event(), Event(), []

    def tasks() -> float:
        begun.set()
        time.sleep(0.5)
        try:
            node.commands.get_subscription_count()
        except InvalidHandle as error:
            wrong.append(error)
        over.set()
        return 0.0

    node.run_background_tasks = tasks
    executor = MultiThreadedExecutor(2, context=node.context)
    executor.add_node(node)
    while not begun.is_set():
        executor.spin_once(timeout_sec=0.05)
    executor.shutdown(timeout_sec=0.0)
    node.destroy_node()
    assert over.wait(5.0)
    assert not wrong


def test_what_the_node_destroys_while_it_runs_is_nothing_that_an_executor_may_wait_for(make_node):
    # A MultiThreadedExecutor goes on waiting for what another thread destroys.
    node = make_node(FeedforwardNode, '-p', 'robot_type:=fer', '-p', 'autostart:=false')
    node.trigger_configure()
    node.trigger_activate()  # it listens for other senders of torques until it is deactivated
    waited_for = list(node.waitables)
    node.trigger_deactivate()
    for one in waited_for:
        with one:
            assert one.get_num_entities()


def test_a_node_that_ros_leaves_no_time_to_end_its_torque_says_so(make_node, monkeypatch, capfd):
    handled = lambda: SignalHandlerOptions.ALL  # noqa: E731
    monkeypatch.setattr(feedforward_node, 'get_current_signal_handlers_options', handled)
    node = make_node(FeedforwardNode, '-p', 'robot_type:=fer', '-p', 'autostart:=false')
    executor = SingleThreadedExecutor(context=node.context)
    executor.add_node(node)
    node.trigger_configure()
    node.trigger_activate()
    assert 'signal_handler_options=SignalHandlerOptions.NO' in capfd.readouterr().err
    executor.shutdown()
    node.context.shutdown()
    node.destroy_node()
    said = capfd.readouterr().err
    # From Kilted on rclpy destroys nodes before it shuts down.
    assert 'destroy_node() before rclpy.shutdown()' in said or 'silent: shut down' in said
