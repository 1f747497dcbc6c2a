# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A process is seen to appear and to vanish, however it ends."""

import os
import signal
import subprocess
import sys
import threading

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from franka_dynamics.ros.process_beacon import BeaconWatch, ProcessBeacon

TIMEOUT_S = 60.0
CHILD = """
import sys, time
from franka_dynamics.ros.process_beacon import ProcessBeacon
beacon = ProcessBeacon(sys.argv[1])
print(beacon.lit, flush=True)
time.sleep(600)
"""


@pytest.fixture
def topic():
    return f'/arm_{os.getpid()}/effort_controller/commands' + 'x' * 200


@pytest.fixture
def watch(topic):
    """Return a watch's two events."""
    appeared, vanished = threading.Event(), threading.Event()
    watching = BeaconWatch(topic, appeared.set, vanished.set)
    yield appeared, vanished
    watching.close()


@pytest.fixture
def child(topic):
    children = []

    def start():
        children.append(
            subprocess.Popen(
                [sys.executable, '-c', CHILD, topic],
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, 'PYTHONPATH': os.pathsep.join(sys.path)},
            )
        )
        assert children[-1].stdout.readline() == 'True\n'
        return children[-1]

    yield start
    for process in children:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.mark.parametrize('number', [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
def test_a_process_that_dies_is_noticed_and_its_heir_too(watch, child, number):
    appeared, vanished = watch
    for _ in range(2):
        process = child()
        assert appeared.wait(TIMEOUT_S)
        appeared.clear()
        assert not vanished.is_set()
        process.send_signal(number)
        assert vanished.wait(TIMEOUT_S)
        vanished.clear()


def test_given_a_stopped_process_then_it_is_still_there(watch, child):
    appeared, vanished = watch
    process = child()
    assert appeared.wait(TIMEOUT_S)
    process.send_signal(signal.SIGSTOP)
    assert not vanished.wait(0.2)
    process.send_signal(signal.SIGCONT)


def test_two_processes_of_one_topic_then_the_second_is_not_lit(topic):
    first, second = ProcessBeacon(topic), ProcessBeacon(topic)
    assert (first.lit, second.lit) == (True, False)
    first.close()
    third = ProcessBeacon(topic)
    assert third.lit
    third.close()
