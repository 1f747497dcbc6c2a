# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The demonstration on a busy machine, `node play --record`, and their ends."""

from contextlib import closing
import errno
import os
import signal
import subprocess
from unittest.mock import Mock

import numpy as np
import pytest
from rosbags.rosbag2 import Reader
from sensor_msgs.msg import JointState

from franka_dynamics.arm import load
from franka_dynamics.cli.main import main
from franka_dynamics.errors import OutputError
from franka_dynamics.ros import demo_session as demo
from franka_dynamics.ros.node_group import NodeEndedError
from franka_dynamics.ros.recording_session import record_bag

from .conftest import launching, LOCKSTEP, PATIENT, Probe, ROOT_NAMES
from ..processes import background, descendants, TIMEOUT_S, until

pytest.importorskip('mujoco')


BUSY = demo.TooBusyError('half of the cycles had no new command')
RATES = demo.DemoTiming(1000.0, 0, 1, 0, (0.0, 0.0), '', True)
DONE = demo.DemoResult(None, (0.0, 1.0), (), RATES, 0.0, (), False)


@pytest.mark.parametrize(
    ('results', 'end', 'busy', 'why'),
    [
        ([BUSY, DONE], None, 3.2, 'too busy'),
        ([BUSY, DONE], None, 0.01, 'too slow'),
        ([BUSY, BUSY], demo.TooBusyError, 0.0, ''),
        # The failure of a process in real time is not taken for a busy machine.
        ([NodeEndedError('feedforward_node ended')], NodeEndedError, 0.0, ''),
    ],
)
def test_a_busy_machine_runs_lockstep_and_says_why(results, end, busy, why, monkeypatch, tmp_path):
    ran, session = [], Mock(side_effect=results)
    monkeypatch.setattr(demo._DemoRun, 'run', lambda x: ran.append(x._plan.lockstep) or session())
    monkeypatch.setattr(demo, 'use_isolated_network', lambda: None)
    monkeypatch.setattr(os, 'getloadavg', lambda: (busy, busy, busy))
    plan, said = demo.DemoPlan(load('fer'), {}), []
    if end is None:
        # It says so before the second run, whose progress begins at zero.
        note = lambda sentence: said.append((len(ran), sentence))  # noqa: E731
        assert demo.run_demo(plan, tmp_path, Mock(), note).rates.too_busy == str(BUSY)
        ((runs, sentence),) = said
        assert runs == 1 and str(BUSY) in sentence and why in sentence
    else:
        with pytest.raises(end):
            demo.run_demo(plan, tmp_path, Mock(), Mock())
    assert ran == [False, True][: len(results)]


def test_a_signal_ends_the_demonstration_in_one_sentence(tmp_path):
    before = descendants(os.getpid())
    with background('-m', 'franka_dynamics', 'demo', '--output', tmp_path) as running:
        until(
            lambda: any('feedforward_node' in one for one in descendants(running.pid).values()),
            'the node of the demonstration',
            process=running,
        )
        running.send_signal(signal.SIGINT)
        said = running.communicate(timeout=TIMEOUT_S)[1]
    assert running.returncode == 130
    *progress, last = said.splitlines()  # lines of progress, on a busy machine
    assert 'interrupted' in last and all(' of ' in line for line in progress), said
    assert not set(descendants(os.getpid())) - set(before)


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
        record_bag(bag, ['joint'], *topics, lambda _: False)


def test_a_disk_that_fills_ends_the_recording_with_a_bag_that_can_be_read(tmp_path, monkeypatch):
    free = iter([10**9, 10**9, 10**6])
    monkeypatch.setattr('shutil.disk_usage', lambda _: Mock(free=next(free)))
    bag, topics = tmp_path / 'bag', ('/joint_states', '/commands', '/feedforward')
    assert record_bag(bag, ['joint'], *topics, lambda _: True).disk_is_full
    with Reader(bag) as reader:
        assert '/joint_states' in reader.topics
