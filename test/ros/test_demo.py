# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The demonstration as processes: its figures, a busy machine, and its end by a signal."""

import json
import os
import signal
from unittest.mock import Mock

import pytest

from franka_dynamics.arm import load

pytest.importorskip('mujoco')

from franka_dynamics.ros import demo

from ..processes import background, descendants, printed, TIMEOUT_S, until

# Run in a separate process, because run_session sets the ROS domain.
PROGRAM = """
import json, signal, sys
from pathlib import Path
from franka_dynamics.arm import load
from franka_dynamics.ros.demo import DemoPlan, run_session
from franka_dynamics.ros.node_group import NodeGroup
from franka_dynamics.simulation.demo_figures import demo_figures

end_all = NodeGroup.end_all

def crash(nodes):
    if 'feedforward_node' in nodes._running:
        nodes._running['feedforward_node'].send_signal(signal.SIGABRT)
    return end_all(nodes)

NodeGroup.end_all = crash
plan = DemoPlan(load('fer'), {'robot_type': 'fer'}, 0.3, 1.0, 0.2)
run = run_session(plan, Path(sys.argv[1]), pacing='lockstep')
figures = demo_figures(run.steps, run.hold, run.motions)
print(json.dumps({
    'residual': run.residual, 'drift': figures.drift, 'errors': run.errors,
    'tracking': figures.with_feedforward.rms, 'gravity': figures.gravity_only.rms,
    'missed': run.rates.missed, 'steps': run.rates.steps, 'failed': run.failed,
}))
"""


def test_in_lockstep_every_torque_is_new_and_a_crash_at_the_end_loses_no_figure(tmp_path):
    said = json.loads(printed('-c', PROGRAM, tmp_path))
    assert said['residual'] < 1e-12
    assert said['drift'] < 1e-6
    assert said['tracking'] < said['gravity'] / 30.0
    # The arm waits a second for a torque; if the machine pauses for longer, a step is missed.
    assert said['missed'] < 0.01 * said['steps'] and said['steps'] > 900
    # An orderly end is that of `make demo`.
    (error,) = said['errors']
    log = tmp_path / 'feedforward_node.log'
    assert error == f'feedforward_node was ended by SIGABRT; its log is {log}.'
    assert said['failed']
    assert 'Fatal Python error: Aborted' in log.read_text()


BUSY = demo.TooBusyError('half of the cycles had no new command')
RATES = demo.DemoRates(1000.0, 0, 1, 0, (0.0, 0.0), '', True)
DONE = demo.DemoRun(None, (0.0, 1.0), (), RATES, 0.0, (), False)


@pytest.mark.parametrize(
    ('results', 'end'),
    [
        ([BUSY, DONE], None),
        ([BUSY, BUSY], demo.TooBusyError),
        # The failure of a process in real time is not taken for a busy machine.
        ([demo.DemoError('feedforward_node ended')], demo.DemoError),
    ],
)
def test_a_machine_too_busy_by_the_clock_runs_in_lockstep_and_says_why(
    results, end, monkeypatch, tmp_path
):
    ran, session = [], Mock(side_effect=results)
    monkeypatch.setattr(demo._Session, 'run', lambda one: ran.append(one._pacing) or session())
    monkeypatch.setattr(demo, 'use_isolated_network', lambda: None)
    plan = demo.DemoPlan(load('fer'), {})
    if end is None:
        assert demo.run_session(plan, tmp_path).rates.too_busy == str(BUSY)
    else:
        with pytest.raises(end):
            demo.run_session(plan, tmp_path)
    assert ran == ['wall', 'lockstep'][: len(results)]


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
