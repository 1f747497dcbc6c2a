# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`bag record`: when it ends, when it sends a motion, and how it judges the bag."""

from dataclasses import replace
from pathlib import Path
import time

import click
import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.cli import bag_record
from franka_dynamics.cli._choices import ArmChoice
from franka_dynamics.cli.main import command
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.recordings.recording import write_recording
from franka_dynamics.ros.recording_session import Progress


def waiting(meanwhile):
    while True:
        meanwhile()
        time.sleep(0.01)


@pytest.fixture
def run(monkeypatch, tmp_path, answered, capsys):
    """
    Return a function that records, with a stand-in for the recorder and the player.

    It runs `bag record`, or with `motion` what `node play fr3 --record` runs.
    """
    monkeypatch.chdir(tmp_path)

    def run(record, *words, player=waiting, motion=False):
        played = []

        def play(meanwhile):
            played.append(True)
            return player(meanwhile)

        monkeypatch.setattr(bag_record, 'record', record)
        if not motion:
            return *answered('bag record --output', 'a bag', *words), played
        names = 'feedforward', 'joint_states', 'effort_controller/commands'
        with click.Context(command):
            status = bag_record.run(ArmChoice('fr3'), Path('a bag'), None, *names, 'fr3', play)
        return status, ' '.join(capsys.readouterr().out.split()), played

    return run


@pytest.mark.parametrize(
    ('progress', 'goes_on'),
    [
        ({'seconds': 0.2}, True),  # no state yet
        ({'seconds': 4.5}, True),  # publishers are found late
        ({'seconds': 5.5}, False),  # nobody publishes
        ({'seconds': 5.5, 'span': 1.0, 'states': 100}, True),  # a slow clock
        ({'seconds': 4.1, 'span': 4.1, 'states': 4000}, False),  # enough
        ({'seconds': 81.0, 'span': 1.0, 'states': 100}, False),  # too slow
        (
            {'seconds': 3.0, 'since_first_state': 1.5, 'states': 100},
            True,
        ),  # perhaps of another arm
        ({'seconds': 3.0, 'since_first_state': 2.5, 'states': 100}, False),  # of another arm
        ({'seconds': 3.0, 'since_first_state': 2.5, 'states': 100, 'of_arm': True}, True),
    ],
)
def test_the_time_that_starting_takes_does_not_count(progress, goes_on, monkeypatch, run):
    answers = []

    def record(*arguments):
        # A busy machine took this long to start.
        monkeypatch.setattr(time, 'monotonic', lambda now=time.monotonic: now() + 100.0)
        answers.append(arguments[-1](Progress(**progress)))
        return Progress()

    assert run(record, '--duration', '4')[0] == 1
    assert answers == [goes_on]


@pytest.mark.parametrize(('heard', 'of_arm'), [(2.1, True), (2.1, False), (1.0, False)])
def test_nothing_moves_while_the_states_are_of_another_arm(heard, of_arm, run):
    progress = Progress(seconds=2.5, since_first_state=heard, states=2100, of_arm=of_arm)

    def record(*arguments):
        # States of another arm are taken for a mistake only after 2 s.
        assert arguments[-1](progress) is (of_arm or heard < 2.0)
        return progress

    status, said, played = run(record, motion=True)
    assert (status, played) == (1, [True] * of_arm)
    assert ('fr3 was not played to its end: interrupted' in said) == of_arm


def test_a_fault_of_the_program_in_the_player_is_no_failed_motion(run):
    def record(*arguments):
        while arguments[-1](Progress(states=100, of_arm=True)):
            time.sleep(0.01)
        return Progress()

    with pytest.raises(ZeroDivisionError):
        run(record, player=lambda _: 1 / 0, motion=True)


def test_faults_that_the_bag_does_not_show_are_printed_at_the_end(simulate, run):
    recorded = simulate(load('fr3'), rate=100.0)

    def record(path, names, *_):
        write_recording(replace(recorded, joint_names=tuple(names)), path)
        problems = ['/joint_states has been silent for 7 s']
        return Progress(12.0, 12.0, len(recorded), topic='/joint_states', problems=problems)

    status, said, _ = run(record)
    assert status == 0 and 'note: /joint_states has been silent for 7 s' in said


@pytest.mark.parametrize('moves', [True, False])
def test_a_motion_that_moved_no_joint_is_not_usable(moves, simulate, run):
    fr3 = load('fr3')
    recorded = simulate(fr3, rate=100.0, noise=0.1)
    if not moves:
        still = np.full_like(recorded.q, 0.5)
        effort = recorded.effort - recorded.effort.mean(axis=0)
        effort += NewtonEulerModel(fr3).gravity(still[0])
        recorded = replace(recorded, q=still, dq=np.zeros_like(still), effort=effort)

    def record(path, names, *arguments):
        write_recording(replace(recorded, joint_names=tuple(names)), path)
        progress = Progress(
            12.0,
            12.0,
            len(recorded),
            since_first_state=12.0,
            topic='/joint_states',
            of_arm=True,
            rate=100.0,
        )
        while arguments[-1](progress):  # until the motion that was sent has ended
            time.sleep(0.01)
        return progress

    status, said, _ = run(record, player=lambda _: 'finished', motion=True)
    assert (status, 'not usable: no joint moved' in said) == ((0, False) if moves else (1, True))
    assert ('usable: ' in said.replace('not usable', '')) is moves
