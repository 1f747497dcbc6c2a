# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The checks of an arm in Gazebo, in small, on MuJoCo's physics behind the same messages."""

import importlib
import json
import os
from pathlib import Path
import subprocess
import sys

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('mujoco')

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / 'benchmarks' / 'gazebo_check.py'


def run(*arguments, **environment):
    return subprocess.run(
        [sys.executable, str(SCRIPT), *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=1200.0,
        env={**os.environ, 'PYTHONPATH': str(ROOT), **environment},
    )


def test_the_stand_in_of_gazebo_keeps_all_bounds(tmp_path):
    # In lockstep, so that the load of this machine does not decide: a message that is lost costs
    # a step of 1 ms on the torque before it. The pause lasts five times as long as the node waits
    # for a state, and a quicker motion shows the terms as a slower one does.
    done = run(
        '--stand-in',
        *'--lockstep 0.2 --seconds 1.2 --still 0.3 --paused 1 --recovery 2.5'.split(),
        *'--checks hold track pause reset'.split(),
        '--json',
        str(tmp_path / 'figures.json'),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    figures = {
        row['name']: row['value'] for row in json.loads((tmp_path / 'figures.json').read_text())
    }
    with_terms = figures['track ±0.3 rad, g + M ddq + C dq + PD']
    assert 20.0 * with_terms < figures['track ±0.3 rad, g + PD alone']
    # 1e-11 rad is what a real physics of Gazebo's kept over 62 s.
    assert figures['hold: away from home'] < 1e-9


def test_given_no_gazebo_when_checked_then_one_sentence_says_so(tmp_path):
    done = run(PATH=str(tmp_path))
    assert done.returncode == 0
    assert done.stdout.startswith('gazebo-check: skipped, because gz is not installed here')
    assert done.stdout.count('\n') == 1


def test_figures_before_a_failure_are_kept(tmp_path, monkeypatch, capsys):
    # A run in real Gazebo takes minutes: what it measured before a check that never ends counts.
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    gazebo_check = importlib.import_module('gazebo_check')

    def check(options, folder):
        yield gazebo_check.Figure('hold: away from home', 1e-13, 'rad', 1e-3)
        raise RuntimeError('never happened: the planned motion')

    monkeypatch.setattr(gazebo_check, 'check', check)
    monkeypatch.setattr(gazebo_check, 'use_isolated_network', lambda: None)
    path = tmp_path / 'figures.json'
    assert gazebo_check.main(['--stand-in', '--json', str(path)]) == 1
    assert json.loads(path.read_text())[0]['value'] == 1e-13
    output = capsys.readouterr()
    assert 'hold: away from home' in output.out.split('Stand-in')[1]
    assert output.err == 'gazebo-check: never happened: the planned motion\n'
