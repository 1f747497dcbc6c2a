# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Playing a motion on the simulated arm."""

import numpy as np
import pytest

from franka_dynamics.arm import LinkInertia, load
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.errors import SettingsError
from franka_dynamics.simulation.arm_simulation import SimulationSettings
from franka_dynamics.simulation.play import play

FER = load('fer')
OMEGA = 2.0 * np.pi * 0.5


def nod(time):
    swing = 0.2 * np.ones(7)
    return (
        FER.home + swing * (1.0 - np.cos(OMEGA * time)),
        swing * OMEGA * np.sin(OMEGA * time),
        swing * OMEGA**2 * np.cos(OMEGA * time),
    )


def test_a_played_motion_is_followed_with_the_models_torques():
    recording = play(FER, nod, 4.0)
    assert len(recording) == 801
    desired = np.array([nod(time) for time in recording.time])
    # The recorded effort acts over the millisecond after the recorded state.
    np.testing.assert_allclose(recording.q, desired[:, 0], rtol=0.0, atol=2e-4)
    torque = NewtonEulerModel(FER).inverse_dynamics(*(desired[:, i] for i in range(3)))
    np.testing.assert_allclose(recording.effort, torque, rtol=0.0, atol=0.2)


def test_a_load_too_heavy_to_hold_says_where_motion_was_lost():
    iron = LinkInertia.from_center_of_mass(80.0, [0.0, 0.0, 0.2], [1.0, 0.0, 0.0, 1.0, 0.0, 1.0])
    with pytest.raises(SettingsError, match=r'more than 0\.5 rad at \d+\.\d\d s'):
        play(FER, nod, 2.0, SimulationSettings(payload=iron))
