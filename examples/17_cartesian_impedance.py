# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Cartesian impedance with damping in the null space, friction and the guard, on a simulated arm.

The flange is pulled to a moving pose like a spring,

    tau = J^T (K e - D J dq) + N (K_n (q_n - q) - D_n dq)

e is the position and orientation error in the base frame, and N = 1 - J^T (J M^-1 J^T)^-1 J M^-1
the dynamically consistent projector (Khatib 1987), so that the posture spring moves no flange.
`Feedforward.step` adds gravity, C dq and a part of the joints' friction at the velocity that the
law wants, keeps the limits of torque and rate, and guards the arm. Where the law ceases while the
arm moves, it brakes the arm. Run it: python examples/17_cartesian_impedance.py
"""

import argparse
from dataclasses import replace

import numpy as np

import franka_dynamics as fd
from franka_dynamics.control.feedforward import Feedforward, State
from franka_dynamics.simulation.arm_simulation import ArmSimulation, SimulationSettings
from franka_dynamics.spatial import log3

STIFFNESS = np.diag([600.0] * 3 + [30.0] * 3)  # N/m, N m/rad
DAMPING = np.diag([50.0] * 3 + [4.0] * 3)  # N s/m, N m s/rad
POSTURE_STIFFNESS = 5.0  # N m/rad
POSTURE_DAMPING = 1.0  # N m s/rad
RADIUS_M = 0.08
FREQUENCY_HZ = 0.25
FRICTION_PART = 1.0  # at the velocity that the law wants; at the measured one begin with a part
SECONDS = 6.0
BEGIN_S = 1.0  # until then the flange is held where it is


def main(arguments: list[str] | None = None) -> int:
    """Lead the flange along a circle; print the error, and return 0 if the arm was commanded."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[1])
    parser.add_argument('--seconds', type=float, default=SECONDS, help='simulated time [s]')
    parser.add_argument('--friction', type=float, default=FRICTION_PART, help='its part, 0 to 1')
    given = parser.parse_args(arguments)
    arm = fd.load('fr3', hand='none')
    simulation = ArmSimulation(arm, SimulationSettings(friction=True, brake_release_after=0.0))
    # Of a real arm `identify` writes the friction into the arm file.
    known = replace(arm, friction=arm.simulated_friction)
    model = fd.Model(arm)
    controller = Feedforward(
        known,
        'mujoco',
        terms=fd.Terms(friction=True),
        friction_scale=given.friction,
    )
    home = np.array(arm.home)
    begin = model.frame_pose(home)
    errors = []
    for _ in range(round(1e3 * given.seconds)):
        reading = simulation.read()
        goal, goal_velocity = moving_goal(begin, reading.time)
        law, error, joint_velocity = impedance(
            model, reading.position, reading.velocity, goal, goal_velocity, home
        )
        torque = controller.step(
            reading.position,
            reading.velocity,
            reading.time,
            effort=reading.effort,
            torque=law,
            velocity=joint_velocity,
        )
        simulation.step(torque)
        if reading.time > BEGIN_S:
            errors.append(error)
    print(controller.status)
    if errors:
        print(f'rms error of the flange: {1e3 * np.sqrt(np.mean(np.square(errors))):.1f} mm')
    return int(controller.state is not State.RUNNING)


def moving_goal(begin: np.ndarray, time: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the pose (4, 4) that the flange is pulled to, and its velocity (3,) [m/s]."""
    passed = max(0.0, time - BEGIN_S)
    rate = 2.0 * np.pi * FREQUENCY_HZ
    ramp = min(1.0, passed)  # the circle begins slowly
    goal = begin.copy()
    goal[1, 3] += RADIUS_M * ramp * np.sin(rate * passed)
    goal[2, 3] += RADIUS_M * ramp * (np.cos(rate * passed) - 1.0)
    velocity = RADIUS_M * ramp * rate * np.array([0.0, np.cos(rate * passed), 0.0])
    velocity[2] = -RADIUS_M * ramp * rate * np.sin(rate * passed)
    return goal, velocity


def impedance(
    model: fd.Model,
    q: np.ndarray,
    dq: np.ndarray,
    goal: np.ndarray,
    goal_velocity: np.ndarray,
    posture: np.ndarray,
) -> tuple[np.ndarray, float, np.ndarray]:
    """Return the law's torque (n,) [N m], the position error [m], and the wanted dq (n,)."""
    jacobian = model.jacobian(q)
    pose = model.frame_pose(q)
    position_error = goal[:3, 3] - pose[:3, 3]
    turn = log3(goal[:3, :3] @ pose[:3, :3].T)  # in the base frame
    wanted = np.append(goal_velocity, np.zeros(3))
    wrench = STIFFNESS @ np.append(position_error, turn) + DAMPING @ (wanted - jacobian @ dq)
    mass_inverse = np.linalg.inv(model.mass_matrix(q))
    inertia = np.linalg.pinv(jacobian @ mass_inverse @ jacobian.T)
    projector = np.eye(len(q)) - jacobian.T @ inertia @ jacobian @ mass_inverse
    posture_torque = POSTURE_STIFFNESS * (posture - q) - POSTURE_DAMPING * dq
    law = jacobian.T @ wrench + projector @ posture_torque
    return law, float(np.linalg.norm(position_error)), np.linalg.pinv(jacobian) @ wanted


if __name__ == '__main__':
    raise SystemExit(main())
