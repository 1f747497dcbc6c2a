# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Options of `demo` reach its plan; failures have exit statuses of their own."""

from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from franka_dynamics.cli import demo as command
from franka_dynamics.cli.actions import Demo
from franka_dynamics.cli.main import main
from franka_dynamics.errors import IdentificationError
from franka_dynamics.report.demo import DemoReport, Row
from franka_dynamics.ros import demo


@pytest.mark.parametrize(('error', 'status'), [(demo.DemoError, 1), (demo.TooBusyError, 3)])
def test_options_reach_the_plan_and_failures_have_statuses_of_their_own(
    error, status, monkeypatch, capsys, tmp_path
):
    plans = []

    def crash(plan, folder, show):
        plans.append(plan)
        raise error('simulator_node was ended by SIGSEGV; its log is a.log.')

    monkeypatch.setattr(command, 'run_session', crash)
    options = '--arm fr3 --hand none --payload 0.3,0,0,0.05'.split()
    assert main(['demo', '--output', str(tmp_path / 'out'), *options]) == status
    assert 'simulator_node was ended by SIGSEGV' in capsys.readouterr().err
    (plan,) = plans
    assert (plan.arm.name, plan.arm.hand) == ('fr3', 'none')
    assert plan.arm_parameters.items() >= {'robot_type': 'fr3', 'hand': 'none'}.items()
    assert plan.arm_parameters['payload'][:4] == [0.3, 0.0, 0.0, 0.05]


def test_only_a_franka_arm_carries_frankas_hand():
    assert [Demo(arm=arm).resolved().hand for arm in ('fr3', 'rpr')] == [
        'franka_hand',
        'as_listed',
    ]


def test_an_arm_without_room_about_its_home_has_a_first_part_alone(tmp_path, monkeypatch, capsys):
    def fail(*_arguments, **_options):
        raise IdentificationError('The start pose is too near to the table.')

    def run_session(_plan, folder, _progress):
        (folder / 'steps').touch()
        (folder / 'bag').mkdir()
        return MagicMock(rates=SimpleNamespace(too_busy='12 of 50 cycles had no command'))

    monkeypatch.setattr(command, 'run_session', run_session)
    monkeypatch.setattr(command, 'run_trial', fail)
    monkeypatch.setattr(command, 'demo_report', lambda *_, **__: DemoReport((Row('a', 1, '2'),)))
    for name in ('write_recording', 'demo_figures', 'draw', 'write_json'):
        monkeypatch.setattr(command, name, lambda *_: None)
    assert main(['demo', '--output', str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert 'too busy for 1 kHz: 12 of 50 cycles had no command' in said
    assert 'second part is left out' in said and 'home' in said and 'plant_bag' not in said
