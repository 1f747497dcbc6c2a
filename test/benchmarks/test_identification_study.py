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
    run, floor = benchmark.recorded(draw, 5, 0.0, 0.0)
    rigid = NewtonEulerModel(draw.arm).inverse_dynamics(*np.moveaxis(motion, 1, 0))
    # A standard deviation estimated from 300 samples or more is good to 4 %.
    noise = 0.15 * np.sqrt(draw.arm.limit('effort') / 87.0)
    np.testing.assert_allclose((run.effort - rigid).std(axis=0), noise, rtol=0.2, atol=0.0)
    assert np.abs(run.dq[:, draw.resting]).max() < 0.04
    # Metric E's low-pass keeps about 1/6 of white noise at 30 Hz, a third of that at 100 Hz.
    kept = np.sqrt(np.sum(noise**2) * (30.0 / draw.rate) / 6.0)
    assert 0.7 * kept < floor < 1.4 * kept
    # Friction that a perfect file lacks is above the floor's noise.
    _, warmer = benchmark.recorded(draw, 5, 0.3, 0.0)
    assert warmer > 1.5 * floor


def test_lost_runs_of_written_files_are_counted(benchmark):
    def outcome(written, later):
        left_out = ((0.3, 0.4), (0.34, 0.5))
        return benchmark.Outcome(
            0, written, 0.1, 0.0, 10.0, (), left_out, later, (0.29, 0.33), (0.2, 0.36)
        )

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
    assert lines[3].startswith(
        'left-out runs, written: median E 0.320 N m, of true inertias 0.310, floor 0.280'
    )
    assert lines[5].endswith('1 of 1 files; with true inertias 1, at the floor 0')
    assert lines[6].endswith('every later run: 1 of 2')
