# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The compiled elastic arm moves as the simulator's does in MuJoCo."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from franka_dynamics.arm import load
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.simulation.arm_simulation import ArmSimulation, Push, SimulationSettings
from franka_dynamics.simulation.joint_elasticity import franka_elasticity

pytest.importorskip('numba', reason='the [batch] extra is not installed')

FER = load('fer')
FORCE, FROM_STEP = (3.0, -5.0, 4.0), 100


def test_the_compiled_arm_moves_as_mujocos(benchmark):
    # Given a motion at up to 1.5 rad/s, a push from 0.1 s on, and no noise.
    time = 1e-3 * np.arange(300)[:, None]
    w = np.linspace(2.0, 5.0, 7)
    motion = np.stack(
        [
            FER.home + 0.3 * np.sin(w * time),
            0.3 * w * np.cos(w * time),
            -0.3 * w * w * np.sin(w * time),
        ],
        axis=1,
    )
    force = np.zeros((300, 3))
    force[FROM_STEP:] = FORCE
    gears = replace(franka_elasticity(FER), noise=np.zeros(7))
    # When both follow it.
    found = benchmark.ElasticPlant(FER, FER, gears).run(
        motion, 0, push=force, noise=benchmark.SensorNoise(0.0, 0.0, 0.0)
    )
    simulation = ArmSimulation(
        FER,
        SimulationSettings(
            start=motion[0, 0],
            brake_release_after=0.0,
            friction=True,
            elasticity=gears,
            push=Push(FORCE, 1e-3 * (FROM_STEP + 0.5), 10.0),
        ),
    )
    model = PinocchioModel(FER)
    expected = []
    for at, speed, acceleration in motion:
        reading = simulation.read()
        expected.append([reading.position, reading.velocity, reading.effort])
        desired = acceleration + benchmark.STIFFNESS * (at - reading.position)
        desired += benchmark.DAMPING * (speed - reading.velocity)
        simulation.step(
            pin.rnea(model.model, model.data, reading.position, reading.velocity, desired)
        )
    q, dq, effort = np.array(expected).swapaxes(0, 1)
    # Then to rounding before the push; the push itself acts at where the flange was a step ago
    # in MuJoCo, which makes 1e-3 of it.
    for name, given, tolerance in (('q', q, 1e-9), ('dq', dq, 1e-7), ('effort', effort, 1e-6)):
        np.testing.assert_allclose(
            getattr(found, name)[:FROM_STEP], given[:FROM_STEP], rtol=0, atol=tolerance
        )
    np.testing.assert_allclose(found.q, q, rtol=0, atol=1e-4)
    np.testing.assert_allclose(found.effort, effort, rtol=0, atol=0.02)
    assert np.ptp(effort, axis=0)[:4].min() > 5.0
