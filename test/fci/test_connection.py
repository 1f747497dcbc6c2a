# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What libfranka raises comes out with a name; a robot that does not answer is given up on."""

import socket
import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest

from franka_dynamics.errors import FciError, MissingDependencyError, SettingsError
from franka_dynamics.fci.connection import (
    _require_answer,
    CollisionThresholds,
    COMMUNICATION,
    FciConnection,
    REFLEX,
    REFUSED,
)

library = pytest.importorskip('pylibfranka', reason="libfranka's bindings are not installed")


@pytest.mark.parametrize(
    ('raised', 'fault', 'sentence'),
    [
        (library.ControlException('libfranka: aborted'), REFLEX, 'the robot stopped: aborted'),
        (library.CommandException('libfranka: no'), REFUSED, 'the robot refused: no'),
        (
            library.NetworkException('libfranka: Timeout'),
            COMMUNICATION,
            'the connection to robot failed: Timeout',
        ),
        (RuntimeError('Net Exception'), COMMUNICATION, 'Net Exception'),  # Poco's own
    ],
)
def test_what_libfranka_raises_on_reading_is_named_as_a_fault(raised, fault, sentence):
    connection = FciConnection.__new__(FciConnection)
    connection._library, connection.address = library, 'robot'
    connection._motion = connection._socket = None

    def read_once():
        raise raised

    connection._robot = SimpleNamespace(read_once=read_once)
    with pytest.raises(FciError, match=sentence) as caught:
        connection.read()
    assert caught.value.fault == fault


def test_no_answer_on_connecting_suspects_another_client():
    def hang(command, timeout, **_):
        raise subprocess.TimeoutExpired(command, timeout)

    with pytest.raises(FciError, match='does not answer within 3 s; is another client'):
        _require_answer('robot', 3.0, hang)


def test_a_missing_pylibfranka_names_the_extra_to_install(monkeypatch):
    monkeypatch.setitem(__import__('sys').modules, 'pylibfranka', None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'franka_dynamics\[fci\]'"):
        FciConnection('robot')


@pytest.mark.parametrize(
    ('wrong', 'sentence'),
    [
        ({'upper_torque': (20.0,)}, 'upper_torque_thresholds must be 7 positive finite numbers'),
        ({'lower_force': (float('nan'),) * 6}, 'lower_force_thresholds must be 6 positive finite'),
        ({'lower_torque': (0.0,) * 7}, 'lower_torque_thresholds must be 7 positive'),
        (
            {'lower_torque': (20, 20, 19, 18, 16, 14, 12)},
            r'lower_torque_thresholds\[2\] is 19, a',
        ),
    ],
)
def test_thresholds_at_fault_name_the_parameter(wrong, sentence):
    with pytest.raises(SettingsError, match=sentence):
        CollisionThresholds(**wrong)


def test_while_a_state_is_waited_for_other_threads_run():
    connection = FciConnection.__new__(FciConnection)
    connection._library, connection.address, connection._motion = library, 'robot', None
    robot, ours = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    connection._socket = ours.fileno()
    connection._robot = SimpleNamespace(read_once=lambda: ours.recv(100, socket.MSG_DONTWAIT))

    reader, over = threading.get_ident(), threading.Event()

    def answer():
        while sys._current_frames()[reader].f_code.co_name != '_wait' and not over.is_set():
            pass
        robot.send(b'state')

    other = threading.Thread(target=answer)
    with robot, ours, pytest.MonkeyPatch.context() as patch:
        patch.setattr('franka_dynamics.fci.connection.reading_from', lambda state: state)
        patch.setattr('franka_dynamics.fci.connection._LONGEST_WAIT_S', 60.0)
        other.start()
        # Whoever keeps Python's lock waits for a state that nobody can send, and reads none.
        try:
            assert connection.read() == b'state'
        finally:
            over.set()
            other.join()


def answering(*ends):
    """Return a `run` that ends as told, one after the other, and how often it was called."""
    asked = []

    def run(*_, **__):
        asked.append(ends[min(len(asked), len(ends) - 1)])
        return SimpleNamespace(returncode=1 if asked[-1] else 0, stderr=asked[-1])

    return run, asked


def test_a_first_state_that_comes_late_is_waited_for_anew():
    late = 'NetworkException: libfranka: UDP receive: Timeout\n'
    run, asked = answering(late, late, '')
    _require_answer('robot', 10.0, run)
    assert len(asked) == 3


@pytest.mark.parametrize('end', ['UDP receive: Timeout', 'Connection to FCI refused'])
def test_a_robot_that_never_answers_is_told_by_libfrankas_reason(end):
    run, _ = answering(f'NetworkException: libfranka: {end}\n')
    with pytest.raises(FciError, match=f'robot cannot be reached: {end}'):
        _require_answer('robot', 0.01, run)
