# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Options of the demonstration are honoured, or refused before anything is started."""

import pytest

from franka_dynamics.cli.main import main

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

OPTIONS = {
    '--arm': 'fr3',
    '--hand': 'none',
    '--payload': '0.3,0,0,0.05',
}


class Started(Exception):
    """Raised where the demonstration would start."""

    def __init__(self, plan):
        super().__init__()
        arm = plan.arm
        self.plan = {
            '--arm': arm.name,
            '--hand': (arm.hand, *plan.arm_parameters.items()),
            '--payload': plan.payload,
        }


def test_each_option_of_the_demo_reaches_its_plan_beside_all_others(monkeypatch, tmp_path):
    from franka_dynamics.ros import demo

    def start(plan, folder, show, pacing):
        raise Started(plan)

    def planned(folder, options):
        arguments = [text for option in options for text in (option, OPTIONS[option])]
        with pytest.raises(Started) as started:
            main(['demo', '--output', str(tmp_path / folder), *arguments])
        return started.value.plan

    monkeypatch.setattr(demo, 'run_session', start)
    together = planned('all', OPTIONS)
    for option in OPTIONS:
        others = set(OPTIONS) - {option}
        assert planned(option, others)[option] != together[option], option


@pytest.mark.parametrize(('name', 'status'), [('DemoError', 1), ('TooBusyError', 3)])
def test_a_failure_and_a_busy_machine_have_statuses_of_their_own(
    name, status, monkeypatch, capsys, tmp_path
):
    from franka_dynamics.ros import demo

    error = getattr(demo, name)

    def crash(plan, folder, show, pacing):
        raise error('simulator_node was ended by SIGSEGV; its log is a.log.')

    monkeypatch.setattr(demo, 'run_session', crash)
    assert main(['demo', '--output', str(tmp_path / 'out')]) == status
    assert 'simulator_node was ended by SIGSEGV' in capsys.readouterr().err
