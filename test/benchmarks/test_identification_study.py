# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The study's runs are what they say, and what is lost is counted."""

from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.dynamics.newton_euler import NewtonEulerModel

pytest.importorskip('mujoco', reason='the [sim] extra is not installed')


def test_a_runs_torque_is_the_drawn_arms_and_noise(benchmark, monkeypatch):
    monkeypatch.setattr(benchmark, 'DURATION_S', 10.0)
    nothing = np.zeros(7)
    draw = replace(
        benchmark.drawn(1), load_share=nothing, ripple=nothing, cable=nothing, lag=0.0, offset=0.0
    )
    motion, _ = benchmark.led(draw, np.random.default_rng(5))
    run = benchmark.recorded(draw, 5, 0.0)
    rigid = NewtonEulerModel(draw.arm).inverse_dynamics(*np.moveaxis(motion, 1, 0))
    # A standard deviation estimated from 300 samples or more is good to 4 %.
    noise = 0.15 * np.sqrt(draw.arm.limit('effort') / 87.0)
    np.testing.assert_allclose((run.effort - rigid).std(axis=0), noise, rtol=0.2, atol=0.0)
    assert np.abs(run.dq[:, draw.resting]).max() < 0.04


def test_lost_runs_of_written_files_are_counted(benchmark):
    def outcome(written, later):
        left_out = ((0.3, 0.4), (0.34, 0.5))
        return benchmark.Outcome(0, written, 0.1, 0.0, 10.0, (), (), left_out, later)

    lines = benchmark.summary(
        [
            outcome(True, ((0.3, 0.4), (0.55, 0.5))),
            outcome(False, ((0.8, 0.4), (0.8, 0.4))),
            outcome(False, ((0.3, 0.4), (0.3, 0.4))),
        ]
    )
    assert lines[0] == '1 of 3 files written'
    assert lines[1].startswith('left_out: lost 0 of 2 (none)')
    assert lines[2].startswith('later: lost 1 of 2 (10.0 %)')
    assert lines[3].endswith('1 of 1 files')
    assert lines[4].endswith('every later run: 1 of 2')
