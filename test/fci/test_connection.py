# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What libfranka raises comes out with a name; a robot that does not answer is given up on."""

import subprocess
from types import SimpleNamespace

import pytest

from franka_dynamics.errors import FciError, MissingDependencyError
from franka_dynamics.fci.connection import (
    _require_answer,
    COMMUNICATION,
    FciConnection,
    REFLEX,
    REFUSED,
)

library = pytest.importorskip('pylibfranka', reason="libfranka's bindings are not installed")


@pytest.mark.parametrize(('raised', 'fault', 'sentence'), [
    (library.ControlException('libfranka: Move command aborted: motion aborted by reflex!'),
     REFLEX, 'the robot stopped: Move command aborted'),
    (library.CommandException('libfranka: Set load command rejected'), REFUSED,
     'the robot refused: Set load command rejected'),
    (library.NetworkException('libfranka: UDP receive: Timeout'), COMMUNICATION,
     'the connection to robot failed: UDP receive: Timeout'),
    (RuntimeError('Net Exception'), COMMUNICATION, 'Net Exception'),  # Poco's own
])
def test_given_what_libfranka_raises_when_reading_then_the_fault_is_named(
        raised, fault, sentence):
    connection = FciConnection.__new__(FciConnection)
    connection._library, connection.address, connection._motion = library, 'robot', None

    def read_once():
        raise raised
    connection._robot = SimpleNamespace(read_once=read_once)
    with pytest.raises(FciError, match=sentence) as caught:
        connection.read()
    assert caught.value.fault == fault


def test_given_no_answer_when_connecting_then_another_client_is_suspected():
    def hang(command, timeout, **_):
        raise subprocess.TimeoutExpired(command, timeout)
    with pytest.raises(FciError, match='does not answer within 3 s; is another client'):
        _require_answer('robot', 3.0, hang)


def test_given_no_library_when_connecting_then_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__('sys').modules, 'pylibfranka', None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'franka_dynamics\[fci\]'"):
        FciConnection('robot')
