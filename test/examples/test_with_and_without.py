# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The animated picture: its motion, what feedforward is worth in it, and its size."""

import numpy as np
from numpy.testing import assert_allclose
import pytest

import franka_dynamics as fd

from .. import scripts

pytest.importorskip('mujoco')

PICTURE = scripts.ROOT / 'docs' / 'images' / 'with_and_without.gif'


def test_velocity_and_acceleration_are_the_derivatives_of_the_motion(example):
    arm, h = fd.load('fr3'), 1e-4
    for time in np.linspace(0.05, 2.5 * example.PERIOD_S, 23):
        before, now, after = (example.motion(arm, time + k * h) for k in (-1, 0, 1))
        # Central differences err by h^2 / 6 times a third derivative, below 1e-5 here.
        assert_allclose((after[0] - before[0]) / (2 * h), now[1], rtol=0.0, atol=1e-4)
        assert_allclose((after[1] - before[1]) / (2 * h), now[2], rtol=0.0, atol=1e-4)


def test_the_motion_keeps_the_limits_of_the_arm(example):
    arm = fd.load('fr3')
    moments = np.linspace(0.0, 2.0 * example.PERIOD_S, 400)
    q, dq, _ = (np.array(part) for part in zip(*(example.motion(arm, time) for time in moments)))
    assert (q > arm.limit('lower')).all() and (q < arm.limit('upper')).all()
    assert (np.abs(dq) < arm.limit('velocity')).all()


def test_feedforward_leaves_less_than_half_of_the_error(example, capsys):
    assert example.main([]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_the_committed_picture_moves_and_is_small():
    with pytest.importorskip('PIL.Image').open(PICTURE) as image:
        assert image.n_frames > 20
    assert PICTURE.stat().st_size < 1.5e6
