# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The next command that a command prints is run as it was printed, and reads the same."""

import ast
from dataclasses import replace
from pathlib import Path
import re
import shlex

import click
import numpy as np
import pytest
import yaml

from franka_dynamics.arm import load
from franka_dynamics.arm.payload import read_payload
from franka_dynamics.cli import bag_record
from franka_dynamics.cli._options import ArmChoice
from franka_dynamics.cli.main import command, main
from franka_dynamics.recordings.recording import write_bag, write_recording
from franka_dynamics.ros.recording_session import Progress

LOAD = '1.5,0,0.02,0.06'
FR3 = load('fr3', hand='none')
NAMES = tuple(f'axis{k}' for k in range(7))


def printed(said, beginning):
    """Return the words of each printed command that begins so."""
    lines = [line.partition(f' {beginning} ') for line in said.splitlines()]
    found = [shlex.split(f'{beginning} {rest}') for _, here, rest in lines if here]
    assert found, said
    return found


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Return a function that runs words in an empty folder and returns status and output."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv('COLUMNS', '300')

    def run(*words):
        return main([*map(str, words)]), capsys.readouterr().out

    return run


@pytest.fixture
def loaded(simulate):
    """Return a recording of an FR3 with a load of 1.5 kg."""
    return simulate(FR3.with_payload(read_payload(LOAD)), duration=20.0, rate=100.0, noise=0.05)


def test_what_replay_prints_identifies_the_arm_without_its_load(run, loaded):
    # Two topics, foreign joint names, efforts in mN m.
    mine = replace(
        loaded, joint_names=NAMES, topic='/franka/joint_states', effort=1e3 * loaded.effort
    )
    write_bag(Path('bag'), [mine, replace(mine, topic='/feedforward', q=0.0 * mine.q)], [])
    words = 'bag replay bag --arm fr3 --hand none --no-plots --effort-scale 0.001'.split()
    words += ['--payload', LOAD, '--topic', mine.topic, '--joint-names', ','.join(NAMES)]
    status, said = run(*words, '--stamps', 'received')
    assert status == 0
    (following,) = printed(said, 'identify arm')
    # The arm equals the published one, and is not better.
    status, said = run(*following, '--anyway', '--friction', 'viscous_coulomb')
    assert status == 0, said
    # The load is not in the arm file: told again with it, the arm has its load once.
    found = yaml.safe_load(Path('arm.yaml').read_text())
    last = found['inertial_sets'][found['default_set']]['links'][-1]
    assert abs(last['mass'] - FR3.links[-1].mass) < 0.3
    # Without the load this wrist may be unphysical: no export is printed, the check fails.
    exports = printed(said, 'arm export') if ' arm export ' in said else []
    assert [main(words) for words in exports] == [0] * len(exports)
    (following,) = printed(said, 'arm check')
    assert main(following) == bool(load('arm.yaml').inconsistencies()) == (not exports)


def recorder(recorded, topic, node=''):
    """Return a stand-in for the recorder that writes a recording, joints named as asked for."""

    def record(path, names, *_):
        write_recording(replace(recorded, joint_names=tuple(names), topic=topic), path)
        return Progress(30.0, 30.0, len(recorded), topic=topic, node=node)

    return record


def fits(run, said):
    """Run the replay that was printed; assert that it reads the bag and knows the load."""
    (following,) = printed(said, 'bag replay')
    status, said = run(*following, '--no-plots', '--require', '0.2')
    assert status == 0, said


def test_what_record_prints_replays_the_arm_with_its_load(run, loaded, monkeypatch):
    monkeypatch.setattr(bag_record, 'record', recorder(loaded, '/left/joint_states'))
    arm = ['--arm', 'fr3', '--hand', 'none', '--payload', LOAD, '--arm-prefix', 'left_']
    status, said = run('bag', 'record', '--output', 'a bag', *arm)
    assert status == 0, said
    fits(run, said)


def test_what_play_prints_replays_the_arm_that_the_node_has(run, loaded, monkeypatch, capsys):
    monkeypatch.setattr(bag_record, 'record', recorder(loaded, '/simulation/joint_states'))
    arm = ArmChoice('fr3', hand='none', payload=LOAD, arm_prefix='left_')
    names = '/simulation/feedforward', '/simulation/joint_states', 'commands'
    motion = lambda _: 'finished'  # noqa: E731
    with click.Context(command):
        assert bag_record.run(arm, Path('bag'), None, *names, 'fr3', motion) == 0
    fits(run, capsys.readouterr().out)


def test_what_record_prints_has_the_load_that_a_running_node_has(run, loaded, monkeypatch):
    class Client:
        def __init__(self, name):
            assert name == '/feedforward'

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def parameter_values(self, keys):
            payload = np.zeros(10)
            payload[:4] = [float(one) for one in LOAD.split(',')]
            node = {'robot_type': 'fr3', 'hand': 'none', 'payload': payload.tolist()}
            return [node.get(key, '') for key in keys]

    monkeypatch.setattr(bag_record, 'NodeClient', Client)
    monkeypatch.setattr(
        bag_record, 'record', recorder(loaded, '/joint_states', node='/feedforward')
    )
    status, said = run('bag', 'record', '--output', 'bag')
    assert status == 0 and LOAD in said
    fits(run, said)


def test_a_direction_of_gravity_is_printed_as_it_is_given(run, simulate):
    # Given an arm that was mounted with a tilt of 0.4 rad about x.
    mounted = np.eye(4)
    mounted[1:3, 1:3] = [[np.cos(0.4), -np.sin(0.4)], [np.sin(0.4), np.cos(0.4)]]
    turned = simulate(replace(FR3, base=mounted), duration=20.0, rate=100.0, noise=0.05)
    write_recording(turned, Path('bag'))
    words = 'bag replay bag --arm fr3 --hand none --no-plots'.split()
    said = run(*words)[1]
    advised = re.search(r'--gravity \S+', said)
    assert advised, said
    status, said = run(*words, *shlex.split(advised[0]))
    assert status == 0 and advised[0] in said


def options(one):
    """Yield the options of a command and of the commands below it."""
    for param in one.params:
        yield from [*param.opts, *param.secondary_opts]
    for below in getattr(one, 'commands', {}).values():
        yield from options(below)


OF_OTHER_PROGRAMS = {
    *('--ros-args', '--param', '--params-file', '--once', '--help', '--version'),
    *('--param-file', '--controller-manager-timeout', '--cap-add'),
}


def test_every_option_that_a_sentence_names_exists():
    known, package = {*options(command), *OF_OTHER_PROGRAMS}, Path(main.__code__.co_filename)
    for path in package.parents[1].rglob('*.py'):
        for node in ast.walk(ast.parse(path.read_text('utf-8'))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                named = set(re.findall(r'(?<![\w-])--[a-z][a-z-]*', node.value))
                assert named <= known, f'{path.name}:{node.lineno}'
