# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Logs with what real logs from elsewhere had are judged as what they are."""

from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.recordings.plausibility import faults

from . import geared

FER = load('fer')


@pytest.mark.parametrize('coulomb', [5.0, 10.0, 35.0])
def test_strong_friction_is_not_taken_for_another_arm(coulomb):
    assert faults(geared(FER, coulomb), FER) == ()


def test_behind_strong_friction_another_mounting_is_still_told():
    # The same motion of an arm on the wall: its gravity is not that of one on the floor.
    wall = geared(FER, 10.0)
    turned = geared(FER, 10.0, seed=0)
    gravity = _gravity(turned, (9.81, 0.0, 0.0)) - _gravity(turned, (0.0, 0.0, -9.81))
    (found,) = faults(replace(wall, effort=wall.effort + gravity), FER)
    assert 'gravity explains little of the effort' in found and 'friction' in found


def _gravity(recording, vector):
    from franka_dynamics.dynamics.newton_euler import NewtonEulerModel

    return NewtonEulerModel(FER, np.array(vector)).gravity(recording.q)
