# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`node play --record`: a motion and its recording in one command."""

from contextlib import closing
import errno
import signal
import subprocess

import numpy as np
import pytest
from sensor_msgs.msg import JointState

from franka_dynamics.cli.main import main
from franka_dynamics.errors import OutputError
from franka_dynamics.ros.recording_session import record

from .conftest import launching, LOCKSTEP, PATIENT, Probe, ROOT_NAMES
from ..processes import background, TIMEOUT_S

pytest.importorskip('mujoco')
pytest.importorskip('rosbags')

PLAY = ['-m', 'franka_dynamics', 'node', 'play']


@pytest.fixture(scope='module')
def holding(tmp_path_factory):
    """Start a simulated arm and the node that holds it."""
    for launch in launching(tmp_path_factory.mktemp('nodes')):
        launch('simulator_node', **ROOT_NAMES, **LOCKSTEP)
        gains = {'kp': [50.0] * 7, 'kd': [5.0] * 7}
        launch('feedforward_node', **PATIENT, target='mujoco', **gains)
        with closing(Probe()) as probe:
            probe.until_status('simulator', held='True')
        yield


def test_what_ends_a_motion_before_its_end_brings_the_arm_to_rest(holding, probe, tmp_path):
    states = probe.collect(JointState, 'joint_states')
    # A process of its own plays the motion; the recorder interrupts it at its own end.
    words = [*PLAY, 'fer', '--record', tmp_path / 'bag']
    with background(*words, stderr=subprocess.STDOUT) as process:
        probe.until(lambda: states and np.abs(states[-1].velocity).max() > 0.3, 'motion')
        process.send_signal(signal.SIGTERM)
        said, _ = process.communicate(timeout=TIMEOUT_S)
    assert ('brought to rest' in said) or ('comes to rest' in said), said

    def rests():
        return np.abs([state.velocity for state in states[-200:]]).max() < 0.05

    probe.until(rests, 'the arm at rest')
    probe.until_status('feedforward', state='running')


def test_a_motion_that_is_refused_ends_the_recording_with_status_1(holding, tmp_path, capfd):
    assert main(['node', 'play', 'fr3', '--record', str(tmp_path / 'bag')]) == 1
    said = ' '.join(capfd.readouterr().out.split())
    assert 'fr3 was not played to its end: ' in said and '`franka-dynamics node play fer`' in said


def test_a_bag_for_which_the_disk_has_no_space_is_named(tmp_path, monkeypatch):
    def close(_):
        raise OSError(errno.ENOSPC, 'No space left on device')

    monkeypatch.setattr('rosbags.rosbag2.Writer.close', close)
    bag, topics = tmp_path / 'bag', ('/joint_states', '/commands', '/feedforward')
    with pytest.raises(OutputError, match=str(bag)):
        record(bag, ['joint'], *topics, lambda _: False)
