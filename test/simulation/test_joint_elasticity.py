# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Elastic joints against the two-mass equations, integrated by scipy."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from franka_dynamics.arm import JointLimits, LinkInertia, load
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.errors import SettingsError
from franka_dynamics.simulation.arm_simulation import ArmSimulation, SimulationSettings
from franka_dynamics.simulation.joint_elasticity import franka_elasticity, JointElasticity

from ..agreement import refuses

FER = load('fer')
# Joint 1 alone turns about the vertical: one link of 1 kg m^2, without gravity.
LINK = LinkInertia.from_center_of_mass(5.0, np.zeros(3), (1.0, 0.0, 0.0, 1.0, 0.0, 1.0))
SINGLE = replace(
    FER,
    joints=(replace(FER.joints[0], limits=JointLimits()),),
    links=(LINK,),
    home=np.zeros(1),
    simulated_armature=None,
    friction=None,
)
K, D, B = 12e3, 10.0, 0.15
STEP = 1e-3


def single_arm(ripple=0.0):
    values = [K], [D], [B], [38.4], [[ripple]], [1.0], [0.0]
    elasticity = JointElasticity(*map(np.array, values))
    return ArmSimulation(
        SINGLE, SimulationSettings(elasticity=elasticity, brake_release_after=0.0)
    )


def test_a_torque_step_swings_as_the_two_mass_equations_say():
    # Given the link's own inertia, and a step of motor torque.
    inertia = NewtonEulerModel(SINGLE).mass_matrix(np.zeros(1))[0, 0]
    torque = 2.0

    def two_masses(_, state):
        theta, q, dtheta, dq = state
        gear = K * (theta - q) + D * (dtheta - dq)
        return [dtheta, dq, (torque - gear) / B, gear / inertia]

    time = STEP * np.arange(1, 61)
    exact = solve_ivp(two_masses, (0.0, 0.06), [0.0] * 4, t_eval=time, rtol=1e-9, atol=1e-12).y
    gear = K * (exact[0] - exact[1]) + D * (exact[2] - exact[3])
    # When simulated in steps of 1 ms.
    arm, found = single_arm(), []
    for _ in time:
        arm.step(np.array([torque]))
        reading = arm.read()
        found.append((reading.effort[0], reading.velocity[0]))
    # Then the torque sensor and the motor's velocity show the same swing, to what two substeps of
    # first order allow at a resonance of sqrt(K (1/B + 1/M)) = 305 rad/s: h w / 2 = 8 % of its
    # amplitude.
    for shown, expected in zip(np.transpose(found), (gear, exact[2])):
        np.testing.assert_allclose(shown, expected, rtol=0.0, atol=0.08 * np.ptp(expected))
    assert np.ptp(gear) > 1.0  # a rigid joint's would be constant


def test_at_rest_the_gear_carries_gravity_without_a_jolt():
    smooth = replace(franka_elasticity(FER), noise=np.zeros(7), ripple=np.zeros((3, 7)))
    arm = ArmSimulation(FER, SimulationSettings(elasticity=smooth, brake_release_after=0.1))
    gravity = NewtonEulerModel(FER).gravity(FER.home)
    for _ in range(300):
        arm.step(gravity)
    assert not arm.braked
    np.testing.assert_allclose(arm.position, FER.home, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(arm.read().effort, gravity, rtol=0.0, atol=1e-6)


def test_the_gear_ripples_in_proportion_to_speed():
    arm, effort, speed = single_arm(ripple=0.3), [], 0.8
    for _ in range(6000):
        reading = arm.read()
        arm.step(2.0 * (speed - reading.velocity))
        effort.append(reading.effort[0])
    spectrum = np.abs(np.fft.rfft(np.array(effort[2000:]) * np.hanning(4000)))
    found = np.argmax(spectrum[8:]) + 8  # above 2 Hz
    assert found / 4.0 == pytest.approx(38.4 * speed, abs=0.5)


def test_another_arm_has_no_elasticity_of_ours():
    with refuses(SettingsError, '3 joints'):
        franka_elasticity(load('rpr'))
