# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The elastic arm of the simulator as one compiled loop: hours of motion in minutes.

The equations and the integration are those of `ArmSimulation` with elastic joints (semi-implicit
Euler, joint damping implicit); M and C dq + g come from the generated equations instead of
MuJoCo. `test/benchmarks/test_elastic_plant.py` compares the two.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import math

import numpy as np

from franka_dynamics.arm import ArmDescription, Convention
from franka_dynamics.codegen.emit import python_function
from franka_dynamics.codegen.equations import customised_equations, Quantity
from franka_dynamics.codegen.friction_code import FrictionCode
from franka_dynamics.simulation.joint_elasticity import JointElasticity

STEP_S, SUBSTEPS = 1e-3, 2
CHORD = 1e-6  # [rad/s], as ArmSimulation's
STIFFNESS, DAMPING = 400.0, 40.0  # [1/s^2, 1/s] times M


@dataclass(frozen=True, eq=False)
class SensorNoise:
    """Standard deviations of what is measured: position, velocity [rad, rad/s], effort [N m]."""

    position: float = 2e-6
    velocity: float = 3e-3
    effort: float = 0.05


@dataclass(frozen=True, eq=False)
class States:
    """What the sensors said before each step, shape (N, n), and where the flange pushed."""

    q: np.ndarray
    dq: np.ndarray
    effort: np.ndarray
    true_q: np.ndarray


class ElasticPlant:
    """
    An arm with elastic joints under computed torque with a model that need not be its own.

    Parameters
    ----------
    arm : ArmDescription
        What moves, its friction included; modified rows, revolute joints.
    model : ArmDescription
        What the controller takes it for; its friction is not compensated.
    elasticity : JointElasticity
        Its gears.

    """

    def __init__(
        self, arm: ArmDescription, model: ArmDescription, elasticity: JointElasticity
    ) -> None:
        if arm.convention is not Convention.MODIFIED:
            raise ValueError(f'{arm.name} has standard rows; the loop knows modified ones.')
        self._arm, self._elasticity = arm, elasticity
        self._rows = np.array([joint.row.transform(arm.convention) for joint in arm.joints])
        self._rows[0] = np.asarray(arm.base) @ self._rows[0]
        self._flange = np.asarray(arm.flange_transform())
        self._loop = _compile(arm, model)

    def run(
        self,
        motion: np.ndarray,
        seed: int,
        *,
        push: np.ndarray | None = None,
        noise: SensorNoise | None = None,
    ) -> States:
        """
        Follow a motion of shape (N, 3, n) at 1 kHz; forces at the flange of shape (N, 3) [N].

        The arm starts at rest where the motion begins.
        """
        noise, joints = noise or SensorNoise(), self._elasticity
        count, _, n = motion.shape
        push = np.zeros((count, 3)) if push is None else push
        out = np.zeros((4, count, n))
        self._loop(
            np.ascontiguousarray(motion),
            np.ascontiguousarray(push),
            seed,
            np.array([noise.position, noise.velocity, noise.effort]),
            self._rows,
            self._flange,
            np.array([joints.stiffness, joints.damping, joints.motor_inertia, joints.noise]),
            2.0 * np.pi * joints.harmonics[:, None] * joints.cycles,
            np.ascontiguousarray(joints.ripple),
            out,
        )
        return States(*out)


def _compile(arm: ArmDescription, model: ArmDescription) -> Callable[..., None]:
    """Return the loop; numba compiles it in about a minute."""
    from numba import njit

    def compiled(description: ArmDescription, quantity: Quantity) -> Callable[..., None]:
        equations = customised_equations(description, quantity)
        scope = {'sin': math.sin, 'cos': math.cos}
        exec(python_function(equations.program), scope)  # of our own making
        return njit(error_model='numpy')(scope[equations.program.name])

    mass_matrix = compiled(arm, Quantity.MASS_MATRIX)
    inverse_dynamics = compiled(arm, Quantity.INVERSE_DYNAMICS)
    known = inverse_dynamics if model is arm else compiled(model, Quantity.INVERSE_DYNAMICS)
    assert arm.friction is not None
    code = FrictionCode.of(arm.friction)
    if code.elements:
        raise ValueError('The loop knows friction without memory.')
    scope = {'tanh': math.tanh, 'exp': math.exp}
    exec(code.python(), scope)
    friction = njit(scope['friction'])

    @njit(error_model='numpy')
    def lever(q, rows, flange, force, tau):
        """Fill tau with J^T of a force at the flange."""
        n = len(q)
        pose = np.eye(4)
        axes, places = np.empty((n, 3)), np.empty((n, 3))
        turn = np.eye(4)
        for i in range(n):
            c, s = math.cos(q[i]), math.sin(q[i])
            turn[0, 0], turn[0, 1], turn[1, 0], turn[1, 1] = c, -s, s, c
            pose = pose @ rows[i] @ turn
            axes[i], places[i] = pose[:3, 2], pose[:3, 3]
        end = (pose @ flange)[:3, 3]
        for i in range(n):
            x, y, z = end[0] - places[i, 0], end[1] - places[i, 1], end[2] - places[i, 2]
            a = axes[i]
            tau[i] = (
                (a[1] * z - a[2] * y) * force[0]
                + (a[2] * x - a[0] * z) * force[1]
                + (a[0] * y - a[1] * x) * force[2]
            )

    @njit(error_model='numpy')
    def solve(matrix, right):
        """Solve by Cholesky in place; the result is in `right`."""
        n = len(right)
        for j in range(n):
            for k in range(j):
                matrix[j, j] -= matrix[j, k] * matrix[j, k]
            matrix[j, j] = math.sqrt(matrix[j, j])
            for i in range(j + 1, n):
                for k in range(j):
                    matrix[i, j] -= matrix[i, k] * matrix[j, k]
                matrix[i, j] /= matrix[j, j]
        for i in range(n):
            for k in range(i):
                right[i] -= matrix[i, k] * right[k]
            right[i] /= matrix[i, i]
        for i in range(n - 1, -1, -1):
            for k in range(i + 1, n):
                right[i] -= matrix[k, i] * right[k]
            right[i] /= matrix[i, i]

    @njit(error_model='numpy', nogil=True)
    def loop(motion, push, seed, noise, rows, flange, joints, waves, ripple, out):
        np.random.seed(seed)
        count, _, n = motion.shape
        h = STEP_S / SUBSTEPS
        q, theta = motion[0, 0].copy(), motion[0, 0].copy()
        dq, dtheta, effort = np.zeros(n), np.zeros(n), np.zeros(n)
        desired, drive, bias = np.empty(n), np.empty(n), np.empty(n)
        resting, moving = np.empty(n), np.empty(n)
        outside, still, speed, total = np.zeros(n), np.zeros(n), np.empty(n), np.empty(n)
        measured_q, measured_dq = np.empty(n), np.empty(n)
        matrix = np.empty((n, n))
        damping = np.empty(n)
        for step in range(count):
            for i in range(n):
                measured_q[i] = q[i] + noise[0] * np.random.normal()
                measured_dq[i] = dtheta[i] + noise[1] * np.random.normal()
                out[0, step, i], out[1, step, i] = measured_q[i], measured_dq[i]
                out[2, step, i] = effort[i] + noise[2] * np.random.normal()
                out[3, step, i] = q[i]
                desired[i] = (
                    motion[step, 2, i]
                    + STIFFNESS * (motion[step, 0, i] - measured_q[i])
                    + DAMPING * (motion[step, 1, i] - measured_dq[i])
                )
            known(measured_q, measured_dq, desired, drive)
            for i in range(n):
                drive[i] += joints[3, i] * np.random.normal()
            pushed = push[step, 0] != 0.0 or push[step, 1] != 0.0 or push[step, 2] != 0.0
            if pushed:
                lever(q, rows, flange, push[step], outside)
            else:
                outside[:] = 0.0
            for _ in range(SUBSTEPS):
                for i in range(n):
                    ripples = 0.0
                    for k in range(len(waves)):
                        ripples += ripple[k, i] * math.sin(waves[k, i] * theta[i])
                    gear = joints[0, i] * (theta[i] - q[i])
                    dtheta[i] += (
                        h
                        * (drive[i] + ripples - gear - joints[1, i] * (dtheta[i] - dq[i]))
                        / joints[2, i]
                    )
                    theta[i] += h * dtheta[i]
                    total[i] = gear + joints[1, i] * dtheta[i] + outside[i]
                    speed[i] = dq[i] if abs(dq[i]) >= CHORD else CHORD
                friction(still, resting)
                friction(speed, moving)
                mass_matrix(q, matrix)
                inverse_dynamics(q, dq, still, bias)
                for i in range(n):
                    chord = (moving[i] - resting[i]) / speed[i]
                    implicit = max(chord, 0.0)
                    damping[i] = implicit + joints[1, i]
                    total[i] -= resting[i] + (chord - implicit) * dq[i]
                    total[i] -= bias[i] + damping[i] * dq[i]
                    matrix[i, i] += h * damping[i]
                solve(matrix, total)
                for i in range(n):
                    dq[i] += h * total[i]
                    q[i] += h * dq[i]
            for i in range(n):
                effort[i] = joints[0, i] * (theta[i] - q[i]) + joints[1, i] * (dtheta[i] - dq[i])

    return loop
