# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Plays a trajectory on the simulated arm and records it, without ROS, faster than real time."""

from dataclasses import replace

from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.simulation.arm_simulation import ArmSimulation, SimulationSettings
from franka_dynamics.simulation.model_trial import recorded
from franka_dynamics.simulation.mujoco_model import TIMESTEP_S

# Gains of the computed-torque controller [1/s^2, 1/s], critically damped
STIFFNESS, DAMPING = 900.0, 60.0
EVERY = 5  # steps between two recorded states


def play(arm, motion, duration, settings=None):
    """
    Let the simulated arm follow a motion by computed torque, and record its states at 200 Hz.

    The controller knows the arm but not the settings' payload and friction, and reads the same
    noisy sensors that are recorded. `motion` returns the desired position, velocity and
    acceleration, each of shape (n,), at a time [s], for `duration` seconds.
    """
    chosen = settings or SimulationSettings()
    simulated = ArmSimulation(arm, replace(chosen, start=motion(0.0)[0], brake_release_after=0.0))
    model, rows = PinocchioModel(arm, chosen.gravity), []
    for step in range(round(duration / TIMESTEP_S) + 1):
        reading = simulated.read()
        q, dq, ddq = motion(reading.time)
        pull = STIFFNESS * (q - reading.position) + DAMPING * (dq - reading.velocity)
        simulated.step(model.inverse_dynamics(reading.position, reading.velocity, ddq + pull))
        if step % EVERY == 0:
            # The effort is read after the step, because effort is the torque during the step.
            rows.append((reading.position, reading.velocity, simulated.read().effort))
    return recorded('simulated', arm, rows, EVERY * TIMESTEP_S)
