# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Options of `demo` reach its plan; failures have exit statuses of their own."""

import pytest

from franka_dynamics.cli.main import main

pytest.importorskip('rclpy', reason='ROS 2 is not installed')


def test_the_demos_options_reach_its_plan(monkeypatch, tmp_path):
    from franka_dynamics.ros import demo

    plans = []

    def start(plan, folder, show):
        plans.append(plan)
        raise demo.DemoError('seen enough')

    monkeypatch.setattr(demo, 'run_session', start)
    options = '--arm fr3 --hand none --payload 0.3,0,0,0.05'.split()
    assert main(['demo', '--output', str(tmp_path), *options]) == 1
    (plan,) = plans
    assert (plan.arm.name, plan.arm.hand) == ('fr3', 'none')
    assert plan.arm_parameters.items() >= {'robot_type': 'fr3', 'hand': 'none'}.items()
    assert plan.payload['payload'][:4] == [0.3, 0.0, 0.0, 0.05]


@pytest.mark.parametrize(('name', 'status'), [('DemoError', 1), ('TooBusyError', 3)])
def test_a_failure_and_a_busy_machine_have_statuses_of_their_own(
    name, status, monkeypatch, capsys, tmp_path
):
    from franka_dynamics.ros import demo

    error = getattr(demo, name)

    def crash(plan, folder, show):
        raise error('simulator_node was ended by SIGSEGV; its log is a.log.')

    monkeypatch.setattr(demo, 'run_session', crash)
    assert main(['demo', '--output', str(tmp_path / 'out')]) == status
    assert 'simulator_node was ended by SIGSEGV' in capsys.readouterr().err
