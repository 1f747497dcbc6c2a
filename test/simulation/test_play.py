# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Playing a motion on the simulated arm."""

import numpy as np

from franka_dynamics.arm import load
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel

from .playing import play

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
