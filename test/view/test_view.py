# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The command `view` on a bag: its page, and who may see it."""

import re
import signal
import socket
import subprocess
from urllib.request import urlopen

import pytest

from franka_dynamics.arm import load
from franka_dynamics.cli import view
from franka_dynamics.cli.main import main
from franka_dynamics.errors import SettingsError
from franka_dynamics.recordings.recording import write_recording

from ..processes import background, TIMEOUT_S

FER = load('fer')


@pytest.fixture(scope='module')
def address(simulate, tmp_path_factory):
    """Serve a made-up recording; end the server as a user would."""
    bag = tmp_path_factory.mktemp('served') / 'bag'
    write_recording(simulate(FER, duration=6.0), bag)
    command = ['-um', 'franka_dynamics', 'view', bag, '--port', '0']
    with background(*command, stderr=subprocess.STDOUT) as server:
        said = next(line for line in server.stdout if 'in a browser' in line)
        yield re.search(r'open (http://\S+) in a browser', said)[1]
        server.send_signal(signal.SIGINT)
        assert server.wait(TIMEOUT_S) == 0


def test_a_bags_terms_are_under_the_gravity_that_is_given(simulate, tmp_path, monkeypatch):
    write_recording(simulate(FER, duration=3.0), tmp_path / 'bag')
    asked = []

    def playback(description, motion, gravity):
        asked.append(gravity)
        raise SettingsError('seen enough.')

    monkeypatch.setattr(view, 'Playback', playback)
    for options in ('', ' --gravity 9.81 0 0'):
        assert main(f'view {tmp_path / "bag"}{options}'.split()) == 2
    assert asked == [(0.0, 0.0, -9.81), (9.81, 0.0, 0.0)]


def test_the_default_host_serves_a_page_to_this_machine_only(address):
    host, port = address.removeprefix('http://').split(':')
    assert host == '127.0.0.1'
    with urlopen(address) as page:
        assert page.status == 200 and b'<html' in page.read()
    # Another address of this machine, at which a server on all addresses would answer.
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(('127.0.0.2', int(port)))
