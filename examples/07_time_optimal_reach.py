# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Find a locally fastest reach with a load, within Franka's limits, by the package's derivatives.

Accelerations are linear between knots, so that they determine positions and velocities; inverse
dynamics then gives the torques. A sequence of convex programs (Mao et al. 2016, "Successive
convexification of non-convex optimal control problems") shortens the duration within the limits of
position, velocity (the FR3's depends on position), acceleration, torque and torque rate, from rest
to rest. Each program needs the derivatives of all torques, from
`BatchModel.inverse_dynamics_derivatives`. The torques are then sent to an arm in MuJoCo, without
feedback and with a linear-quadratic regulator along the motion, designed with `linearize`, each
with the planned load and with 0.2 kg more. Run `python examples/07_time_optimal_reach.py --arm
fr3`. The torques include gravity. Collisions are not checked.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace
import time
from typing import Any

import numpy as np
import scipy.sparse as sparse

from franka_dynamics.arm import ArmDescription, LinkInertia, load
from franka_dynamics.batch.batch_model import BatchModel
from franka_dynamics.control.limits import TorqueLimiter
from franka_dynamics.dynamics.body_tree import BodyTree
from franka_dynamics.dynamics.derivatives import linearize, tree_motion
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.simulation.mujoco_model import build_mujoco, import_mujoco

START = np.array([-0.9, 0.3, -0.3, -1.6, -0.4, 1.9, 0.2])  # rad
GOAL = np.array([0.9, -0.4, 0.5, -2.2, 0.6, 2.6, 1.2])
# The load: mass of a cube of 0.12 m; distance of the cube's centre from the flange [m].
LOAD_KG, LOAD_M = 2.0, 0.1
# Fraction of every limit, except of position, that the plan may use; the rest is for feedback.
SHARE = 0.95
INTERVALS = 40  # number of intervals between knots
FIRST_DURATION = 2.5  # s, duration of the polynomial with which the programs begin
LEAP = 0.2  # largest relative change of the duration from one program to the next
# Units of one program's changes of position, velocity and acceleration at each knot [rad, rad/s,
# rad/s^2].
UNITS = (1.0, 1.0, 10.0)
# Weight of the knots' squared changes in a program, relative to the duration [s]: first value,
# factor from program to program, smallest value. The weight keeps the changes small enough for the
# linearisation.
NEAR = (0.3, 0.6, 0.005)
GAIN = 1e-3  # relative reduction of the duration below which the programs end
# Factor by which the duration grows, repeatedly, until the limits hold without linearisation.
STRETCH = 1.0 + 1e-4
PHYSICS, CONTROL = 1e-4, 1e-3  # s
# LQR: position and velocity errors [rad, rad/s] and fraction of the torque limit that each cost 1.
ERRORS, TORQUE = (0.02, 0.4), 0.05


def loaded_arm(name: str, mass: float = LOAD_KG) -> ArmDescription:
    """Return an arm, named or from an arm file, that carries the load."""
    return load(name).with_payload(
        LinkInertia.from_center_of_mass(
            mass,
            [0.0, 0.0, LOAD_M],
            mass * 0.12**2 / 6.0 * np.array([1.0, 0.0, 0.0, 1.0, 0.0, 1.0]),
        )
    )


@dataclass(frozen=True)
class Plan:
    """
    A path p(s), 0 <= s <= 1, at K + 1 knots: p, p' and p'', (K + 1, n) each, and its duration [s].

    `programs` is the number of convex programs that were solved for this plan.
    """

    p: np.ndarray
    dp: np.ndarray
    ddp: np.ndarray
    duration: float
    programs: int = 0

    @property
    def knots(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Position, velocity and acceleration at the knots, (K + 1, n) each."""
        return self.p, self.dp / self.duration, self.ddp / self.duration**2

    def at(self, times: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return position, velocity, acceleration, (N, n) each, at N times [s] within the plan."""
        count = len(self.p) - 1
        s = np.clip(times / self.duration, 0.0, 1.0)
        k = np.minimum((s * count).astype(int), count - 1)
        r = (s - k / count)[:, None]
        p, dp, ddp = self.p[k], self.dp[k], self.ddp[k]
        slope = (self.ddp[k + 1] - ddp) * count
        return (
            p + r * dp + r**2 / 2.0 * ddp + r**3 / 6.0 * slope,
            (dp + r * ddp + r**2 / 2.0 * slope) / self.duration,
            (ddp + r * slope) / self.duration**2,
        )


class Reach:
    """Plans the reach by a sequence of convex programs."""

    def __init__(self, arm: ArmDescription, intervals: int = INTERVALS) -> None:
        self.arm, self.n, self.intervals = arm, arm.n, intervals
        self.model = BatchModel(arm)

    def solve(self, most: int = 60) -> Plan:
        """
        Return the plan that at most `most` convex programs make of a quintic to GOAL.

        The programs end once the weight has NEAR's smallest value and the last program shortened
        the duration by less than the fraction GAIN.
        """
        s, way = np.linspace(0.0, 1.0, self.intervals + 1)[:, None], GOAL - START
        plan = Plan(
            START + way * s**3 * (10.0 - 15.0 * s + 6.0 * s**2),
            way * 30.0 * s**2 * (1.0 - s) ** 2,
            way * 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s),
            FIRST_DURATION,
        )
        before, near = np.inf, NEAR[0]
        while plan.programs < most and (
            near > NEAR[2] or before - plan.duration > GAIN * plan.duration
        ):
            before, plan = plan.duration, self._program(plan, near)
            near = max(NEAR[1] * near, NEAR[2])
        while self.used(plan) > SHARE:
            plan = replace(plan, duration=plan.duration * STRETCH)
        return plan

    def used(self, plan: Plan) -> float:
        """Return the largest fraction of a limit, except of position, used at a plan's knots."""
        arm, (q, dq, ddq) = self.arm, plan.knots
        tau = self.model.inverse_dynamics(q, dq, ddq)
        rate = np.diff(tau, axis=0) * self.intervals / plan.duration
        low, high = arm.velocity_bounds(q)
        shares = [np.maximum(dq / high, dq / low)]
        for values, limit in ((ddq, 'acceleration'), (tau, 'effort'), (rate, 'effort_rate')):
            shares.append(np.abs(values) / arm.limit(limit))
        return float(max(share.max() for share in shares))

    def _program(self, plan: Plan, near: float) -> Plan:
        """Return `plan` with knots and duration changed by the solution of one convex program."""
        import clarabel

        arm, n, K, T = self.arm, self.n, self.intervals, plan.duration
        q, dq, ddq = plan.knots
        tau = self.model.inverse_dynamics(q, dq, ddq)
        slopes = self.model.inverse_dynamics_derivatives(q, dq, ddq)
        rate = np.diff(tau, axis=0) * K / T
        # Variables: steps of position, velocity and acceleration at every knot, in UNITS, and the
        # step of the duration, which changes velocity and acceleration, too.
        at_knots = [
            sparse.kron(sparse.identity(K + 1), np.kron(unit[None], np.eye(n))).tocsr()
            for unit in np.diag(UNITS)
        ]
        longer = [0.0 * q, -dq / T, -2.0 * ddq / T]
        by_q, by_dq, by_ddq = (
            sparse.hstack((by, slope.reshape(-1, 1))).tocsr()
            for by, slope in zip(at_knots, longer)
        )
        size = by_q.shape[1]
        duration = sparse.csr_matrix(([1.0], ([0], [size - 1])), (1, size))
        by_tau = sum(
            sparse.block_diag([sparse.csr_matrix(block) for block in slope]) @ by
            for slope, by in zip(slopes, (by_q, by_dq, by_ddq))
        )
        by_rate = (by_tau[n:] - by_tau[:-n]) * K / T
        by_rate = by_rate - sparse.csr_matrix(rate.reshape(-1, 1) / T) @ duration
        bounded = [
            (q, by_q, arm.limit('lower'), arm.limit('upper')),
            (np.array([T]), duration, (1.0 - LEAP) * T, (1.0 + LEAP) * T),
        ]
        for values, by, name in (
            (dq, by_dq, 'velocity'),
            (ddq, by_ddq, 'acceleration'),
            (tau, by_tau, 'effort'),
            (rate, by_rate, 'effort_rate'),
        ):
            most = SHARE * arm.limit(name)
            bounded.append((values, by, -most, most))
        rows, room = [], []
        for by, left in self._braking(q, dq, by_q, by_dq):
            rows.append(by)
            room.append(left)
        for values, by, low, high in bounded:
            rows += [by, -by]
            room += [(high - values).reshape(-1), (values - low).reshape(-1)]
        # Velocities are integrals of accelerations, positions of velocities; the first and the
        # last knot do not change.
        h = T / K
        before, after = ([by[:-n] for by in at_knots], [by[n:] for by in at_knots])
        joined = sparse.vstack(
            (
                after[1] - before[1] - h / 2.0 * (before[2] + after[2]),
                after[0] - before[0] - h * before[1] - h**2 * (before[2] / 3.0 + after[2] / 6.0),
                *(by[part] for by in at_knots for part in (slice(n), slice(-n, None))),
            )
        )
        off = np.concatenate(
            (
                np.diff(dq, axis=0) - h / 2.0 * (ddq[:-1] + ddq[1:]),
                np.diff(q, axis=0) - h * dq[:-1] - h**2 * (ddq[:-1] / 3.0 + ddq[1:] / 6.0),
                np.zeros((6, n)),
            )
        )
        equal = sparse.hstack((joined, sparse.csr_matrix((off.size, 1))))
        b = np.concatenate((-off.reshape(-1), *room))
        cost = np.append(np.full(size - 1, 2.0 * near / (K + 1)), 0.0)
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        found = clarabel.DefaultSolver(
            sparse.diags(cost).tocsc(),
            duration.toarray()[0],
            sparse.vstack((equal, *rows)).tocsc(),
            b,
            [clarabel.ZeroConeT(off.size), clarabel.NonnegativeConeT(len(b) - off.size)],
            settings,
        ).solve()
        z = np.array(found.x)
        steps = np.moveaxis(z[:-1].reshape(K + 1, 3, n), 1, 0)
        powers = (unit * T**k * step for k, (unit, step) in enumerate(zip(UNITS, steps)))
        path = [old + step for old, step in zip((plan.p, plan.dp, plan.ddp), powers)]
        return Plan(*path, T + z[-1], plan.programs + 1)

    def _braking(
        self, q: np.ndarray, dq: np.ndarray, by_q: Any, by_dq: Any
    ) -> Iterator[tuple[Any, np.ndarray]]:
        """
        Yield the constraints that the FR3's position-dependent velocity limits set.

        (dq / SHARE + offset)^2 <= 2 deceleration (upper - q), likewise at `lower`, linearised.
        """
        for i, joint in enumerate(self.arm.joints):
            offset, braking = joint.limits.velocity_offset, joint.limits.velocity_deceleration
            if offset is None or braking is None:
                continue
            here = slice(i, None, self.n)
            for sign, end in ((1.0, joint.limits.upper), (-1.0, joint.limits.lower)):
                speed = np.maximum(sign * dq[:, i] / SHARE + offset, 0.0)
                by_speed = sparse.diags(2.0 * speed * sign / SHARE) @ by_dq[here]
                yield (
                    by_speed + 2.0 * braking * sign * by_q[here],
                    2.0 * braking * sign * (end - q[:, i]) - speed**2,
                )


def gains(arm: ArmDescription, plan: Plan) -> np.ndarray:
    """Return the LQR's gains (N, n, 2n) of N cycles, each by `linearize` at the nearest knot."""
    n, tree = arm.n, BodyTree.from_description(arm)
    q, dq, ddq = plan.knots
    torques = tree_motion(tree, q, dq, ddq).tau
    weights = np.diag(np.repeat(np.array(ERRORS) ** -2.0, n))
    cost = np.diag((TORQUE * arm.limit('effort')) ** -2.0)
    here = [linearize(tree, *state) for state in zip(q, dq, torques)]
    riccati, found = weights * CONTROL, []
    count = round(plan.duration / CONTROL)
    for k in reversed(range(count)):
        model = here[round(k / count * (len(here) - 1))]
        A, B = np.eye(2 * n) + CONTROL * model.A, CONTROL * model.B
        gain = np.linalg.solve(cost * CONTROL + B.T @ riccati @ B, B.T @ riccati @ A)
        riccati = weights * CONTROL + A.T @ riccati @ (A - B @ gain)
        found.append(gain)
    return np.array(found[::-1])


@dataclass(frozen=True)
class Played:
    """Joint errors at the end, (n,) [rad], [rad/s]; velocities, torques of N cycles, (N, n)."""

    off_position: np.ndarray
    off_velocity: np.ndarray
    dq: np.ndarray
    tau: np.ndarray


def play(
    arm: ArmDescription, known: ArmDescription, plan: Plan, gain: np.ndarray | None = None
) -> Played:
    """
    Send a plan's torques to an arm in MuJoCo, within the arm's limits of torque and torque rate.

    The torques are computed for the arm `known`, for which the motion was planned.

    With LQR gains the torque changes at 1 kHz, as on a robot. Without gains every physics step
    gets the plan's torque; if `arm` is `known`, the error is MuJoCo's difference from the package.
    """
    mujoco = import_mujoco()
    count, held = round(plan.duration / CONTROL), 1 if gain is None else round(CONTROL / PHYSICS)
    count *= 1 if gain is not None else round(CONTROL / PHYSICS)
    cycle = plan.duration / count  # so that the plan lasts a whole number of cycles
    model = build_mujoco(arm, timestep=cycle / held)
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    data = mujoco.MjData(model)
    data.qpos[:] = START
    limiter = TorqueLimiter(arm.limit('effort'), arm.limit('effort_rate'))
    states = np.hstack(plan.at(cycle * np.arange(count))[:2])
    planned = PinocchioModel(known)
    middle = planned.inverse_dynamics(*plan.at(cycle * (np.arange(count) + 0.5)))
    last, velocities, torques = planned.gravity(START), [], []
    for k in range(count):
        tau = middle[k]
        if gain is not None:
            tau = tau - gain[k] @ (np.concatenate((data.qpos, data.qvel)) - states[k])
        last = limiter.limit(tau, last, cycle)
        data.ctrl[:] = last
        for _ in range(held):
            mujoco.mj_step(model, data)
        velocities.append(data.qvel.copy())
        torques.append(last)
    return Played(data.qpos - GOAL, data.qvel.copy(), np.array(velocities), np.array(torques))


def draw(reach: Reach, plan: Plan, file: str) -> None:
    """Draw a plan's velocities, torques and torque rates, each relative to its limit."""
    from matplotlib.figure import Figure

    arm, (q, speed, ddq) = reach.arm, plan.knots
    torque = reach.model.inverse_dynamics(q, speed, ddq)
    knots = np.linspace(0.0, plan.duration, len(q))
    figure = Figure(figsize=(8.0, 7.5), layout='constrained')
    figure.suptitle(
        f'{arm.name}, {LOAD_KG:g} kg on the flange: {plan.duration:.3f} s within '
        f'{SHARE:.0%} of the limits'
    )
    rows = figure.subplots(3, 1, sharex=True)
    rows[0].plot(knots, speed / arm.limit('velocity'))
    rows[1].plot(
        knots, torque / arm.limit('effort'), label=[f'joint {i + 1}' for i in range(arm.n)]
    )
    rows[1].legend(ncols=4, fontsize=7)
    rates = np.diff(torque, axis=0) / np.diff(knots)[:, None]
    for rate in (rates / arm.limit('effort_rate')).T:
        rows[2].stairs(rate, knots, baseline=None)
    for axes, label in zip(rows, ('velocity', 'torque', 'torque rate')):
        axes.set_ylabel(f'{label} over its limit')
        axes.grid(True, alpha=0.3)
        for side in (-SHARE, SHARE):
            axes.axhline(side, color='black', lw=0.8, ls='--')
    rows[2].set_xlabel('time [s]')
    figure.savefig(file, dpi=110)


def main() -> None:
    """Plan the reach, play it in MuJoCo, print the errors and draw the plan."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        '--arm', default='fer', help='a Franka arm: name or arm file (default: fer)'
    )
    parser.add_argument('--plot', default='time_optimal_reach.png', metavar='FILE')
    arguments = parser.parse_args()
    reach = Reach(loaded_arm(arguments.arm))
    reach.solve(most=1)  # the first call compiles
    began = time.perf_counter()
    plan = reach.solve()
    print(
        f'{plan.duration:.4f} s after {plan.programs} programs in '
        f'{time.perf_counter() - began:.2f} s'
    )
    gain = gains(reach.arm, plan)
    alone = np.abs(GOAL - START)
    print(
        f'{reach.arm.name}: the slowest joint at full speed all the way would need '
        f'{(alone / (SHARE * reach.arm.limit("velocity"))).max():.3f} s'
    )
    for text, arm, used in (
        ('the torques alone', reach.arm, None),
        ('with feedback', reach.arm, gain),
        ('load 0.2 kg heavier, torques alone', loaded_arm(arguments.arm, LOAD_KG + 0.2), None),
        ('load 0.2 kg heavier, feedback', loaded_arm(arguments.arm, LOAD_KG + 0.2), gain),
    ):
        end = play(arm, reach.arm, plan, used)
        shares = (
            (np.abs(end.dq) / arm.limit('velocity')).max(),
            (np.abs(end.tau) / arm.limit('effort')).max(),
        )
        print(
            f'MuJoCo, {text}: ends {1e3 * np.abs(end.off_position).max():.2g} mrad and '
            f'{1e3 * np.abs(end.off_velocity).max():.2g} mrad/s off; at most {shares[0]:.1%} of a '
            f'velocity and {shares[1]:.1%} of a torque'
        )
    draw(reach, plan, arguments.plot)
    print(f'written: {arguments.plot}')


if __name__ == '__main__':
    main()
