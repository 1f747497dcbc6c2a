# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Find a locally fastest reach with a load, within Franka's limits, by the package's derivatives.

The motion goes from rest to rest. Accelerations are linear between knots, and inverse dynamics
gives the torques. Convex programs shorten the duration step by step (Mao et al. 2016, "Successive
convexification of non-convex optimal control problems"), by the derivatives of
`BatchModel.inverse_dynamics_derivatives`. They keep the limits of position, velocity (the FR3's
depends on position), acceleration, torque and torque rate. The torques, which include gravity,
then move an arm in MuJoCo without feedback, and the plan is drawn in `time_optimal_reach.png`.
Collisions are not checked.
"""

import numpy as np

try:
    import clarabel
    from matplotlib.figure import Figure
    import mujoco
    import scipy.sparse as sparse
except ImportError as error:
    raise SystemExit(f"{error}; run, in the clone, pip install '.[sim,replay,identify]'") from None

import franka_dynamics as fd
from franka_dynamics.simulation.mujoco_model import build_mujoco_model

START = np.array([-0.9, 0.3, -0.3, -1.6, -0.4, 1.9, 0.2])  # rad
GOAL = np.array([0.9, -0.4, 0.5, -2.2, 0.6, 2.6, 1.2])
SHARE = 0.95  # of every limit, except of position; the rest is for feedback
K = 40  # number of intervals between knots
FIRST_DURATION_S = 2.5  # of the polynomial with which the programs begin
LEAP = 0.2  # largest relative change of the duration from one program to the next
UNITS = np.array([1.0, 1.0, 10.0])[:, None, None]  # of changes of q, dq and ddq at each knot
# Weight of the changes, for the sake of linearity: first value, factor per program, least value.
NEAR = (0.3, 0.6, 0.005)
GAIN = 1e-3  # relative reduction of the duration below which the programs end
LIMITED = ('velocity', 'acceleration', 'effort', 'effort_rate')


def loaded_arm(mass):
    """Return an FR3 that carries a cube of 0.12 m, its centre 0.1 m from the flange."""
    inertia = mass * 0.12**2 / 6.0 * np.eye(3)[np.triu_indices(3)]
    cube = fd.LinkInertia.from_center_of_mass(mass, [0.0, 0.0, 0.1], inertia)
    return fd.load('fr3').with_payload(cube)


def fastest(arm):
    """Return q, dq, ddq at the knots, (3, K + 1, n), and the least duration [s] that was found."""
    model = fd.BatchModel(arm)
    T = FIRST_DURATION_S
    before = np.inf
    near = NEAR[0]
    quintic = np.polynomial.Polynomial([0.0, 0.0, 0.0, 10.0, -15.0, 6.0])
    s = np.linspace(0.0, 1.0, K + 1)[:, None]
    path = [START, 0.0, 0.0]
    states = np.array([path[d] + (GOAL - START) * quintic.deriv(d)(s) / T**d for d in range(3)])
    while near > NEAR[2] or before - T > GAIN * T:
        before, (states, T) = T, shortened(arm, model, states, T, near)
        near = max(NEAR[1] * near, NEAR[2])
    while max(np.abs(values).max() for values in shares(arm, model, states, T)) > SHARE:
        states = states / 1.0001 ** np.arange(3)[:, None, None]
        T = 1.0001 * T
    return states, T


def shares(arm, model, states, T):
    """Return speed, acceleration, torque and torque rate at the knots over their limits."""
    tau = model.inverse_dynamics(*states)
    rest = zip((states[2], tau, np.diff(tau, axis=0) * K / T), LIMITED[1:])
    speed = np.maximum(*(states[1] / bound for bound in arm.velocity_bounds(states[0])))
    return speed, *(values / arm.limit(name) for values, name in rest)


def shortened(arm, model, states, T, near):
    """Return knots and duration changed by the solution of one convex program."""
    q, dq, ddq = states
    # Variables: changes of q, dq, ddq at every knot, in UNITS, and of T, which scales dq and ddq.
    steps = UNITS[..., None] * np.eye(states.size + 1)[:-1].reshape(*states.shape, -1)
    by_state = steps.copy()
    by_state[1:, ..., -1] = -dq / T, -2.0 * ddq / T
    tau = model.inverse_dynamics(q, dq, ddq)
    slopes = model.inverse_dynamics_derivatives(q, dq, ddq)
    by_tau = np.einsum('dkij,dkjz->kiz', slopes, by_state, optimize=True)
    rate = np.diff(tau, axis=0) * K / T
    by_rate = np.diff(by_tau, axis=0) * K / T
    by_rate[..., -1] -= rate / T
    by_duration = np.eye(states.size + 1)[-1:]
    rows = [by_state[0], -by_state[0], by_duration, -by_duration]
    room = [
        arm.limit('upper') - q,
        q - arm.limit('lower'),
        np.array([LEAP * T, LEAP * T]),
    ]
    by_limited = (by_state[1], by_state[2], by_tau, by_rate)
    for values, by, name in zip((dq, ddq, tau, rate), by_limited, LIMITED):
        rows += [by, -by]
        room += [SHARE * arm.limit(name) - values, SHARE * arm.limit(name) + values]
    # FR3: (dq / SHARE + offset)^2 <= 2 deceleration (upper - q), likewise at `lower`, linearised.
    for i, limits in enumerate(joint.limits for joint in arm.joints):
        for sign, end in (1.0, limits.upper), (-1.0, limits.lower):
            speed = np.maximum(sign * dq[:, i] / SHARE + limits.velocity_offset, 0.0)
            brake = 2.0 * sign * limits.velocity_deceleration
            by_speed = 2.0 * sign / SHARE * speed[:, None] * by_state[1, :, i]
            rows.append(by_speed + brake * by_state[0, :, i])
            room.append(brake * (end - q[:, i]) - speed**2)
    # q is the integral of dq, dq that of ddq; the first and the last knot do not change.
    h = T / K
    equal = [steps[:, 0], steps[:, -1]]
    off = [np.zeros(states[:, 0].size * 2)]
    for sign, target, (x, v, a) in ((1.0, equal, steps), (-1.0, off, states)):
        target.append(sign * (np.diff(v, axis=0) - h / 2.0 * (a[:-1] + a[1:])))
        target.append(sign * (np.diff(x, axis=0) - h * v[:-1] - h**2 * (a[:-1] / 3 + a[1:] / 6)))
    A = np.concatenate([block.reshape(-1, states.size + 1) for block in (*equal, *rows)])
    b = np.concatenate([block.reshape(-1) for block in (*off, *room)])
    cost = np.append(np.full(states.size, 2.0 * near / (K + 1)), 0.0)
    equations = sum(block.size for block in off)
    cones = [
        clarabel.ZeroConeT(equations),
        clarabel.NonnegativeConeT(len(b) - equations),
    ]
    problem = sparse.diags(cost).tocsc(), by_duration[0], sparse.csc_matrix(A), b, cones
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    z = np.array(clarabel.DefaultSolver(*problem, settings).solve().x)
    changed = states + UNITS * z[:-1].reshape(states.shape)
    return changed * (T / (T + z[-1])) ** np.arange(3)[:, None, None], T + z[-1]


def at(states, T, times):
    """Return position, velocity and acceleration, (N, n) each, at N times [s] within the plan."""
    k = np.minimum((times / T * K).astype(int), K - 1)
    t = (times - k * T / K)[:, None]
    (q, dq, ddq), jerk = states[:, k], np.diff(states[2], axis=0)[k] * K / T
    q = q + t * (dq + t * (ddq / 2.0 + t * jerk / 6.0))
    return q, dq + t * (ddq + t * jerk / 2.0), ddq + t * jerk


def play(arm, torques, T):
    """Send torques, (N, n) at equal steps, to an arm in MuJoCo; return its last position."""
    model = build_mujoco_model(arm, dt=T / len(torques))
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    data = mujoco.MjData(model)
    data.qpos[:] = START
    for data.ctrl[:] in torques:
        mujoco.mj_step(model, data)
    return np.array(data.qpos)


def main():
    """Plan the reach, play it in MuJoCo and draw it."""
    arm = loaded_arm(2.0)
    states, T = fastest(arm)
    count = round(T / 1e-4)
    middles = at(states, T, (np.arange(count) + 0.5) * T / count)
    end = play(arm, fd.Model(arm).inverse_dynamics(*middles), T)
    print(f'planned: {T:.3f} s; MuJoCo ends {1e3 * np.abs(end - GOAL).max():.2g} mrad off')
    figure = Figure(figsize=(8.0, 9.0), layout='constrained')
    figure.suptitle(f'FR3, 2 kg on the flange: {T:.3f} s within {SHARE:.0%} of the limits')
    rows = figure.subplots(4, 1, sharex=True)
    knots = np.linspace(0.0, T, K + 1)
    for axes, values, name in zip(rows, shares(arm, fd.BatchModel(arm), states, T), LIMITED):
        axes.plot(
            knots[-len(values) :],
            values,
            label=[f'joint {i + 1}' for i in range(arm.n)],
        )
        axes.set_ylabel(f'{name.replace("_", " ")} over its limit')
    rows[0].legend(ncols=4, fontsize=7)
    rows[3].set_xlabel('time [s]')
    figure.savefig('time_optimal_reach.png', dpi=110)


if __name__ == '__main__':
    main()
