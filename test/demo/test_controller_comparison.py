# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The demonstration's parts: drawn inertias, vibration, the log of steps, the figures."""

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.demo import controller_comparison
from franka_dynamics.demo.controller_comparison import compare_controllers
from franka_dynamics.demo.random_plant import random_plant
from franka_dynamics.demo.report import demo_metrics
from franka_dynamics.errors import RecordingError
from franka_dynamics.motion.trajectory import Trajectory
from franka_dynamics.recordings.recording import Recording
from franka_dynamics.simulation import arm_simulation
from franka_dynamics.simulation.arm_simulation import (
    ArmSimulation,
    read_steps,
    SimulationSettings,
)

from ..agreement import refuses


def test_drawn_links_are_physical_and_off_by_the_deviation():
    fer = load('fer')
    plants = [random_plant(fer, seed) for seed in range(50)]
    masses = np.array([[link.mass for link in plant.arm.links] for plant in plants])
    published = np.array([link.mass for link in fer.links])
    assert all(link.is_physical() for plant in plants for link in plant.arm.links)
    # 50 draws of 7 links: the deviation of a deviation of 0.1 is 0.1 / sqrt(2 * 350) = 0.004;
    # correlations between a pseudo-inertia's entries make it less than 0.1 itself.
    assert 0.05 < np.std(masses / published) < 0.12
    assert random_plant(fer, 3).arm.links[2].mass == random_plant(fer, 3).arm.links[2].mass


def test_vibration_has_its_rms_in_every_band():
    simulation = ArmSimulation(load('fer'), SimulationSettings(vibration_rms=0.5))
    samples = []
    for _ in range(4000):  # behind closed brakes the sensors see the drives and the vibration
        simulation.step(np.zeros(7))
        simulation.is_braked = True
        samples.append(simulation.read().effort)
    spectrum = np.abs(np.fft.rfft(np.array(samples), axis=0)) ** 2 * 2.0 / len(samples) ** 2
    frequency = np.fft.rfftfreq(len(samples), 1e-3)
    for low, high in arm_simulation.VIBRATION_BANDS_HZ:
        # A tone near a band's edge leaks over it: half a hertz of room.
        rms = np.sqrt(spectrum[((frequency > low - 0.5) & (frequency < high + 0.5))].sum(axis=0))
        assert (rms[:4] > 0.45).all()
        assert (rms[4:] < 0.15).all()  # 12 of 87 N m


@pytest.mark.long
def test_an_identified_model_follows_better_than_a_published_one(monkeypatch):
    # A recording half as long, of the best of a third as many random motions.
    monkeypatch.setattr(controller_comparison, 'EXCITATION_PERIOD_COUNT', 1)
    monkeypatch.setattr(controller_comparison, 'CANDIDATE_MOTION_COUNT', 10)
    _, errors = compare_controllers(load('fr3'), duration=6.0)
    gravity, published, rigid, whole = (np.linalg.norm(error) for _, error in errors.values())
    assert published < 0.75 * gravity
    assert whole < 2.0 / 3.0 * published and whole < 0.8 * rigid


FER = load('fer')
EPOCH = 1.7e9


def test_steps_come_back_as_they_were_read(tmp_path):
    arm = ArmSimulation(FER, SimulationSettings(brake_release_after=0.0, position_noise=1e-4))
    log = (tmp_path / 'steps').open('wb')
    readings = []
    for step in range(50):
        reading = arm.read()
        reading.write_step(log, EPOCH + reading.time)
        arm.step(np.full(7, 0.1 * step))
        readings.append(reading)
    log.close()
    # The last row is cut in the middle, as of an arm that was killed.
    with (tmp_path / 'steps').open('ab') as file:
        file.write(bytes(28))
    steps = read_steps(tmp_path / 'steps', FER.joint_names)
    told = np.array([(one.position, one.velocity, one.effort) for one in readings])
    np.testing.assert_array_equal((steps.q, steps.dq, steps.effort), told.swapaxes(0, 1))
    # A double holds the time since 1970 to a quarter of a microsecond, as do the published stamps.
    np.testing.assert_allclose(np.diff(steps.stamp_ns), 10**6, atol=500)


def test_no_step_is_said_in_a_sentence(tmp_path):
    (tmp_path / 'steps').write_bytes(b'')
    with refuses(RecordingError, 'no step'):
        read_steps(tmp_path / 'steps', FER.joint_names)


def planted_steps(error):
    """Return steps of 3 s: held with a drift, then a motion followed with an error [rad]."""
    time = np.arange(3000) * 1e-3
    position = np.where(time < 1.0, 1e-5 * time, 1e-5 + (time - 1.0) / 10.0)
    position[time > 1.0] -= error
    columns = np.repeat(position[:, None], 7, axis=1)
    stamps = np.round(1e9 * (EPOCH + time)).astype(np.int64)
    return Recording('', '', FER.joint_names, stamps, columns, 0.0 * columns, columns)


@pytest.mark.parametrize('error', [1e-3, 3e-2])
def test_planted_drift_and_error_are_found(error):
    times = EPOCH + np.array([1.0, 3.0])
    still = np.zeros((2, 7))
    positions = 1e-5 + np.array([[0.0], [0.2]]) * np.ones(7)
    motion = Trajectory(times, np.stack((positions, still + 0.1, still), axis=1))
    metrics = demo_metrics(planted_steps(error), (0.2, 0.9), (motion, motion))
    assert metrics.holding_drift == pytest.approx(0.7e-5, rel=1e-2)
    for _, found in metrics.tracking_errors.values():
        assert np.sqrt(np.mean(found**2)) == pytest.approx(error, rel=1e-3)


def test_a_motion_without_steps_is_refused():
    late = Trajectory(np.array([5.0, 6.0]), np.zeros((2, 3, 7)), EPOCH)
    with refuses(RecordingError, 'No step'):
        demo_metrics(planted_steps(0.0), (0.2, 0.9), (late, late))
