# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A recorded motion's terms: they add up to the recording."""

from dataclasses import replace

import numpy as np

from franka_dynamics.arm import load
from franka_dynamics.dynamics.model import GRAVITY as GRAVITY_VECTOR
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.recordings.preprocessing import prepare
from franka_dynamics.view.scene import CORIOLIS, EXTERNAL, GRAVITY, INERTIA, MEASURED
from franka_dynamics.view.window import Playback

FER = load('fer')
# Another formulation of the same terms: 1e-13 measured.
ATOL_NM = 1e-11


def test_played_terms_are_the_models_and_external_is_the_rest(simulate):
    push = np.array([0.0, 4.0, 0.0, -3.0, 0.0, 1.0, 0.0])
    recording = simulate(FER, duration=8.0)
    motion = prepare(recording)
    playback = Playback(FER, motion, GRAVITY_VECTOR)
    i = len(motion) // 2
    state = playback.state(float(motion.time[i] - motion.time[0]))
    model, (q, dq, ddq) = PinocchioModel(FER), (motion.q[i], motion.dq[i], motion.ddq[i])
    np.testing.assert_allclose(state.q, q, rtol=0.0, atol=0.0)
    for name, expected in (
        (GRAVITY, model.gravity(q)),
        (CORIOLIS, model.coriolis(q, dq)),
        (INERTIA, model.mass_matrix(q) @ ddq),
        (MEASURED, motion.effort[i]),
    ):
        np.testing.assert_allclose(state.torques[name], expected, rtol=0.0, atol=ATOL_NM)
    pushed = prepare(replace(recording, effort=recording.effort + push))
    after, before = (
        one.state(3.0).torques[EXTERNAL]
        for one in (Playback(FER, pushed, GRAVITY_VECTOR), playback)
    )
    np.testing.assert_allclose(after - before, push, rtol=0.0, atol=1e-9)  # a filter of gain 1
