# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The demonstration on a busy machine, and its end by a signal; CI runs it whole."""

import os
import signal
from unittest.mock import Mock

import pytest

from franka_dynamics.arm import load

pytest.importorskip('mujoco')

from franka_dynamics.ros import demo_session as demo
from franka_dynamics.ros.node_group import NodeEndedError

from ..processes import background, descendants, TIMEOUT_S, until

BUSY = demo.TooBusyError('half of the cycles had no new command')
RATES = demo.DemoRates(1000.0, 0, 1, 0, (0.0, 0.0), '', True)
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
def test_a_machine_too_busy_by_the_clock_runs_in_lockstep_and_says_why(
    results, end, busy, why, monkeypatch, tmp_path
):
    ran, session = [], Mock(side_effect=results)
    monkeypatch.setattr(
        demo._Session, 'run', lambda one: ran.append(one._plan.lockstep) or session()
    )
    monkeypatch.setattr(demo, 'use_isolated_network', lambda: None)
    monkeypatch.setattr(os, 'getloadavg', lambda: (busy, busy, busy))
    plan, said = demo.DemoPlan(load('fer'), {}), []
    if end is None:
        # It says so before the second run, whose progress begins at zero.
        note = lambda sentence: said.append((len(ran), sentence))  # noqa: E731
        assert demo.run_demo(plan, tmp_path, log=note).rates.too_busy == str(BUSY)
        ((runs, sentence),) = said
        assert runs == 1 and str(BUSY) in sentence and why in sentence
    else:
        with pytest.raises(end):
            demo.run_demo(plan, tmp_path)
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
