# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Let the RPR arm draw an ellipse in MuJoCo, by its closed-form inverse kinematics.

Positions come from `RprKinematics.inverse_within` (the posture within the limits that is nearest
to the previous one), velocities, accelerations and torques from `Model`. Three controllers are
compared: computed torque, tau = M (ddq_d + Kd de + Kp e) + C dq + g; gravity g plus the same
feedback times the diagonal of M at the start; and the desired motion's torques without feedback.
MuJoCo simulates the arm, without friction, from the MJCF of `urdf.writer`. Run `python
examples/documents/rpr_tracking.py`; it writes `rpr_tracking.png`.
"""

from dataclasses import dataclass

import numpy as np

import franka_dynamics as fd
from franka_dynamics.rpr.kinematics import RprKinematics
from franka_dynamics.simulation.mujoco_model import import_mujoco
from franka_dynamics.urdf.mjcf_writer import mjcf_text

CENTRE = np.array([0.25, -0.40, 0.35])  # m
WIDTHS = np.array([0.15, 0.08, 0.12])  # m, half axes of the ellipse: (x, y, 0) and (0, 0, z)
TURNS = 2  # along the ellipse
DURATION = 4.0  # of all turns [s]
# Errors have two equal poles at -20/s.
GAIN = 400.0  # 1/s^2
DAMPING = 40.0  # 1/s
PERIOD = 1e-3  # time between two torques [s]
PARTS = 10  # physics steps in this time
# Offsets of the joints at the start of the runs with feedback [rad, m, rad].
OFF = np.array([0.02, 0.01, -0.02])
WAYS = (
    'computed torque',
    'gravity and the same gains',
    'torques alone, from the ellipse',
)


@dataclass(frozen=True)
class Desired:
    """N times [s]; end effector [m], joint positions, velocities, accelerations, (N, 3) each."""

    times: np.ndarray
    position: np.ndarray
    q: np.ndarray
    dq: np.ndarray
    ddq: np.ndarray


@dataclass(frozen=True)
class Followed:
    """The simulated arm: end effector [m], torques or forces, (N, 3) each."""

    position: np.ndarray
    tau: np.ndarray


def ellipse(duration: float = DURATION) -> Desired:
    """Return the motion along the ellipse, from rest to rest."""
    arm = fd.load('rpr')
    model = fd.Model(arm)
    kinematics = RprKinematics.from_description(arm)
    times = PERIOD * np.arange(round(duration / PERIOD) + 1)
    s = times / duration
    # The angle is a quintic of time: velocity and acceleration are zero at both ends.
    turn = 2.0 * np.pi * TURNS
    angle = turn * s**3 * (10.0 - 15.0 * s + 6.0 * s**2)
    rate = turn * 30.0 * s**2 * (1.0 - s) ** 2 / duration
    angular_acceleration = turn * 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s) / duration**2
    along = WIDTHS * [1.0, 1.0, 0.0]
    across = WIDTHS * [0.0, 0.0, 1.0]
    sine = np.sin(angle)[:, None]
    cosine = np.cos(angle)[:, None]
    position = CENTRE + cosine * along + sine * across
    by_angle = cosine * across - sine * along
    velocity = by_angle * rate[:, None]
    acceleration = (
        by_angle * angular_acceleration[:, None] - (position - CENTRE) * rate[:, None] ** 2
    )
    lower = arm.limit('lower')
    upper = arm.limit('upper')
    last = None
    q, dq, ddq = np.zeros((3, len(times), 3))
    for k, point in enumerate(position):
        postures = kinematics.inverse_within(point, lower, upper)
        nearest = 0 if last is None else np.abs(postures - last).max(axis=1).argmin()
        q[k] = last = postures[nearest]
        jacobian = model.jacobian(q[k])[:3]
        dq[k] = np.linalg.solve(jacobian, velocity[k])
        ahead, behind = (model.jacobian(q[k] + sign * 1e-6 * dq[k])[:3] for sign in (1.0, -1.0))
        ddq[k] = np.linalg.solve(jacobian, acceleration[k] - (ahead - behind) / 2e-6 @ dq[k])
    return Desired(times, position, q, dq, ddq)


def follow(way: str, desired: Desired) -> Followed:
    """Follow the ellipse in MuJoCo with one of the three controllers in WAYS."""
    mujoco = import_mujoco()
    arm = fd.load('rpr')
    rpr = fd.Model(arm)
    model = mujoco.MjModel.from_xml_string(mjcf_text(arm, ideal=True))
    model.opt.timestep = PERIOD / PARTS
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    data = mujoco.MjData(model)
    alone = way == WAYS[2]
    data.qpos[:] = desired.q[0] + (0.0 if alone else OFF)
    followed = []
    torques = []
    for k in range(len(desired.times)):
        q = data.qpos.copy()
        dq = data.qvel.copy()
        correction = GAIN * (desired.q[k] - q) + DAMPING * (desired.dq[k] - dq)
        if alone:  # at the middle of the cycle, because the torque is held for the whole cycle
            n = min(k + 1, len(desired.times) - 1)
            middle = (0.5 * (each[k] + each[n]) for each in (desired.q, desired.dq, desired.ddq))
            tau = rpr.inverse_dynamics(*middle)
        elif way == WAYS[0]:
            tau = rpr.inverse_dynamics(q, dq, desired.ddq[k] + correction)
        else:
            tau = rpr.gravity(q) + np.diag(rpr.mass_matrix(desired.q[0])) * correction
        followed.append(q)
        torques.append(tau)
        data.ctrl[:] = tau
        for _ in range(PARTS):
            mujoco.mj_step(model, data)
    return Followed(rpr.frames(np.array(followed))[:, -1, :3, 3], np.array(torques))


def draw(desired: Desired, found: dict[str, Followed]) -> None:
    """Draw the ellipse, the end effector's paths and distances from its desired positions."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 4.5), layout='constrained')
    path, error = figure.subplots(1, 2)
    path.plot(desired.position[:, 0], desired.position[:, 2], color='0.8', lw=9.0, label='desired')
    # Two of the paths lie on the ellipse within a line's width, so each is drawn thinner than the
    # one below it.
    for way, width in zip(WAYS, (5.0, 1.2, 1.8)):
        line = {'lw': width, 'label': way}
        path.plot(found[way].position[:, 0], found[way].position[:, 2], **line)
        off = np.linalg.norm(found[way].position - desired.position, axis=1)
        error.semilogy(desired.times, np.maximum(1e3 * off, 1e-6))
    path.set(xlabel='x [m]', ylabel='z [m]', aspect='equal')
    error.set(xlabel='time [s]', ylabel='end effector off its desired position [mm]')
    figure.legend(loc='outside lower center', ncols=4)
    figure.savefig('rpr_tracking.png', dpi=110)


def main() -> None:
    """Follow the ellipse with each controller; print and draw the end effector's errors."""
    desired = ellipse()
    found = {way: follow(way, desired) for way in WAYS}
    for way, followed in found.items():
        off = 1e3 * np.linalg.norm(followed.position - desired.position, axis=1)
        half = len(off) // 2
        print(
            f'{way}: {off[0]:.2f} mm off at first, RMS {np.sqrt(np.mean(off[half:] ** 2)):.2g} mm '
            f'in the second half, {off[-1]:.2g} mm at the end; torques up to '
            f'{np.abs(followed.tau).max(axis=0).round(1).tolist()} (N m, N, N m)'
        )
    draw(desired, found)


if __name__ == '__main__':
    main()
