# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The trial: drawn inertias, vibration, and which controller has the smallest tracking error."""

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.simulation import model_trial
from franka_dynamics.simulation.arm_simulation import (
    ArmSimulation,
    SimulationSettings,
    VIBRATION_BANDS,
)
from franka_dynamics.simulation.model_trial import draw_plant, run_trial

from ..optional import needs

pytestmark = needs('mujoco', 'cvxpy', 'scipy')


def test_drawn_links_are_physical_and_off_by_the_deviation():
    fer = load('fer')
    plants = [draw_plant(fer, seed) for seed in range(50)]
    masses = np.array([[link.mass for link in plant.arm.links] for plant in plants])
    published = np.array([link.mass for link in fer.links])
    assert all(link.is_physical() for plant in plants for link in plant.arm.links)
    # 50 draws of 7 links: the deviation of a deviation of 0.1 is 0.1 / sqrt(2 * 350) = 0.004;
    # correlations between a pseudo-inertia's entries make it less than 0.1 itself.
    spread = np.std(masses / published)
    assert 0.05 < spread < 0.12
    assert draw_plant(fer, 3).arm.links[2].mass == draw_plant(fer, 3).arm.links[2].mass


def test_vibration_has_its_rms_in_every_band():
    arm = load('fer')
    simulation = ArmSimulation(arm, SimulationSettings(vibration=0.5))
    samples = []
    for _ in range(4000):  # behind closed brakes the sensors see the drives and the vibration
        simulation.step(np.zeros(7))
        simulation.braked = True
        samples.append(simulation.read().effort)
    spectrum = np.abs(np.fft.rfft(np.array(samples), axis=0)) ** 2 * 2.0 / len(samples) ** 2
    frequency = np.fft.rfftfreq(len(samples), 1e-3)
    for low, high in VIBRATION_BANDS:
        # A tone near a band's edge leaks over it: half a hertz of room.
        inside = (frequency > low - 0.5) & (frequency < high + 0.5)
        rms = np.sqrt(spectrum[inside].sum(axis=0))
        assert (rms[:4] > 0.45).all()
        assert (rms[4:] < 0.15).all()  # 12 of 87 N m


@pytest.mark.long
def test_an_identified_model_follows_better_than_a_published_one(monkeypatch):
    # A recording half as long, of the best of a third as many random motions.
    monkeypatch.setattr(model_trial, 'PERIODS', 1)
    monkeypatch.setattr(model_trial, 'DRAWS', 10)
    _, errors = run_trial(load('fr3'), motion=6.0)
    gravity, published, identified = (np.linalg.norm(error) for _, error in errors.values())
    assert published < 0.75 * gravity
    assert identified < 2.0 / 3.0 * published
