# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
All uses that this package makes of rclpy beyond its public interface.

Each use says what it gains. Where rclpy lacks it, or FRANKA_DYNAMICS_PUBLIC_RCLPY is set to 1,
rclpy's public interface does the same, slower: `make test-public-rclpy` runs the nodes so.
"""

from collections.abc import Callable
from contextlib import suppress
import inspect
import os
from typing import Any

from rclpy.executors import SingleThreadedExecutor

USE_ONLY_PUBLIC_RCLPY = os.environ.get('FRANKA_DYNAMICS_PUBLIC_RCLPY') == '1'
_NO_SEQUENCE_NUMBER = 2**64 - 1  # rmw's value if the middleware does not count messages

# A round trip takes 0.76 of the time with the EventsExecutor, in the median and the 99th
# percentile. In some releases its `spin` runs no callbacks; `spin_once` does.
Executor: Any = SingleThreadedExecutor
# Errors of ROS itself, to tell them from an error of this program's, which ends it.
RCLError: Any = RuntimeError
RMWError: Any = RuntimeError
UnknownROSArgsError: Any = RuntimeError
_can_take_messages = False  # whether messages can be taken without an executor
if not USE_ONLY_PUBLIC_RCLPY:
    with suppress(ImportError):
        from rclpy import _rclpy_pybind11 as _rclpy  # type: ignore[attr-defined]
        from rclpy.experimental import EventsExecutor

        Executor = EventsExecutor
        UnknownROSArgsError = _rclpy.UnknownROSArgsError
        RCLError = _rclpy.RCLError
        RMWError = _rclpy.RMWError
        _can_take_messages = hasattr(_rclpy.Subscription, 'take_message')


def with_sequence_number(
    callback: Callable[[Any, int | None], None],
) -> Callable[..., None]:
    """
    Return a subscription callback that passes messages and their sequence numbers to `callback`.

    A publisher numbers its messages from 1; the number is None if the middleware gives none.
    rclpy's EventsExecutor passes message and information as one tuple, other executors as two
    arguments. rclpy passes the information only if the callback's signature has two parameters.
    """

    def on_message(*arguments: Any) -> None:
        """Call `callback` with a message and its sequence number, None if that is missing."""
        message, info = arguments[0] if len(arguments) == 1 else arguments
        number = info['publication_sequence_number']
        callback(message, None if number == _NO_SEQUENCE_NUMBER else number)

    signature = inspect.signature(lambda message, info: None)
    on_message.__signature__ = signature  # type: ignore[attr-defined]
    return on_message


def take_waiting_messages(node: Any, on_arrival: Callable[[int], None]) -> bool:
    """
    Call the callbacks of a node's waiting messages; return whether rclpy allows this.

    Messages are taken without an executor: a recorder of three topics at 1 kHz needs 4 % of a
    core instead of 16 %. `on_arrival` gets the time of a message's arrival [ns] before its
    callback is called.
    """
    if not _can_take_messages:
        return False
    for subscription in list(node.subscriptions):
        for _ in range(subscription.qos_profile.depth):
            with subscription.handle:
                waiting = subscription.handle.take_message(subscription.msg_type, subscription.raw)
            if waiting is None:
                break
            on_arrival(waiting[1]['received_timestamp'])
            subscription.callback(waiting[0])
    return True


def mark_goal_executing(goal_handle: Any) -> None:
    """
    Mark an action's goal as executing, for its clients, if more than public rclpy may be used.

    rclpy says so only of a goal whose callback runs. Such a coroutine keeps an EventsExecutor busy
    until the goal ends; without it a goal counts as accepted until then.
    """
    if not USE_ONLY_PUBLIC_RCLPY:
        goal_handle._update_state(_rclpy.GoalEvent.EXECUTE)


def destroy_state_machine(node: Any) -> None:
    """
    Destroy a destroyed lifecycle node's state machine, if more than public rclpy may be used.

    rclpy leaves it, and with it the middleware's node and threads until the process ends: then
    unloading the libraries was seen to crash.
    """
    machine = None if USE_ONLY_PUBLIC_RCLPY else getattr(node, '_state_machine', None)
    if machine is not None:
        machine.destroy_when_not_in_use()
