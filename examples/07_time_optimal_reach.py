# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Find the fastest reach with a load that Franka's limits allow, by the package's derivatives.

Direct multiple shooting with a free duration: the state is x = (q, dq, tau), the input u the
torque's rate, constant over an interval, and a step of Runge and Kutta's fourth order leads from
knot to knot. A sequence of convex programs (Mao et al. 2016, "Successive convexification of
non-convex optimal control problems") shortens the duration within the limits of position,
velocity (the FR3's depends on position), torque and torque rate, from rest to rest. Each program
needs the derivatives of all steps by x, u and the duration, from
`BatchModel.inverse_dynamics_derivatives`. The torques are then played to an arm in MuJoCo, which
knows nothing of all this: as they are, and with the gains of an LQR along the motion, from
`linearize`, to an arm whose load is not the planned one. Run `python
examples/07_time_optimal_reach.py --arm fr3`. The torques include gravity, and nothing here looks
at collisions.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
import time

import numpy as np
import scipy.sparse as sparse

from franka_dynamics.arm import ArmDescription, LinkInertia, load
from franka_dynamics.batch.batch_model import BatchModel
from franka_dynamics.batch.steps import RungeKuttaSteps, StepDerivatives
from franka_dynamics.control.limits import TorqueLimiter
from franka_dynamics.dynamics.body_tree import BodyTree
from franka_dynamics.dynamics.derivatives import linearize
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.simulation.mujoco_model import build_mujoco, import_mujoco

START = np.array([-0.9, 0.3, -0.3, -1.6, -0.4, 1.9, 0.2])  # rad
GOAL = np.array([0.9, -0.4, 0.5, -2.2, 0.6, 2.6, 1.2])
LOAD_KG, LOAD_M = 2.0, 0.1  # a cube of 0.12 m, its centre so far beyond the flange, on its axis
SHARE = 0.95  # of the limits of velocity, torque and rate is the plan's, the rest the feedback's
INTERVALS, PARTS = 40, 4  # of the plan, and of each of them for the integration
FIRST_DURATION = 2.5  # s, of the polynomial that the programs begin with
SMOOTH = 1e-2  # s, for full torque rates all the time: makes the optimum one
LEAP = 0.2  # of the duration at most from program to program
NEAR = (0.3, 0.6, 0.005)  # s, for steps of one unit everywhere: first, factor, least
GAIN = 1e-3  # of the duration: a program that gains less is the last to shorten it
DEFECT = 10.0  # s, for a defect of one in the units below
UNITS = (1.0, 1.0, 10.0)  # rad, rad/s, N m: what counts as alike in defects and steps
CLOSE = 1e-9  # largest defect at the end, in those units
PHYSICS, CONTROL = 1e-4, 1e-3  # s
ERRORS, TORQUE = (0.02, 0.4), 0.05  # LQR: rad and rad/s, and share of a limit, that cost one


def loaded_arm(name: str, mass: float = LOAD_KG) -> ArmDescription:
    """Return a shipped arm that carries the load."""
    return load(name).with_payload(
        LinkInertia.from_center_of_mass(
            mass,
            [0.0, 0.0, LOAD_M],
            mass * 0.12**2 / 6.0 * np.array([1.0, 0.0, 0.0, 1.0, 0.0, 1.0]),
        )
    )


@dataclass(frozen=True)
class Plan:
    """Knots x (K + 1, 3n), rates u (K, n), duration [s]; what each program took and gained."""

    x: np.ndarray
    u: np.ndarray
    duration: float
    programs: int
    defect: float
    derivative_time: float
    total_time: float

    def at(self, times: np.ndarray) -> np.ndarray:
        """Return the states (N, 3n) at times [s], linear between the knots, held at the end."""
        knots = np.linspace(0.0, self.duration, len(self.x))
        return np.stack([np.interp(times, knots, column) for column in self.x.T], axis=1)


class Reach:
    """The reach as a sequence of convex programs."""

    def __init__(self, arm: ArmDescription, intervals: int = INTERVALS) -> None:
        self.arm, self.n, self.intervals = arm, arm.n, intervals
        self.steps = RungeKuttaSteps(BatchModel(arm), PARTS)
        self.backend = PinocchioModel(arm)
        self.unit = np.repeat(UNITS, self.n)
        self.rate = SHARE * arm.limit('effort_rate')
        fast = SHARE * np.concatenate((arm.limit('velocity'), arm.limit('effort')))
        self.bounds = (
            np.concatenate((arm.limit('lower'), -fast)),
            np.concatenate((arm.limit('upper'), fast)),
        )

    def first_guess(self) -> tuple[np.ndarray, np.ndarray, float]:
        """Return knots, rates and duration of a polynomial from rest to rest."""
        s = np.linspace(0.0, 1.0, self.intervals + 1)[:, None]
        T, way = FIRST_DURATION, GOAL - START
        q = START + way * s**3 * (10.0 - 15.0 * s + 6.0 * s**2)
        dq = way * 30.0 * s**2 * (1.0 - s) ** 2 / T
        ddq = way * 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s) / T**2
        tau = self.backend.inverse_dynamics(q, dq, ddq)
        return np.hstack((q, dq, tau)), np.diff(tau, axis=0) * self.intervals / T, T

    def solve(self, most: int = 60) -> Plan:
        """Shorten the polynomial until it gets no shorter; then close the defects."""
        began, spent = time.perf_counter(), 0.0
        x, u, T = self.first_guess()
        near, shorten, defect = NEAR[0], True, np.inf
        programs = 0
        while programs < most:
            programs += 1
            start = time.perf_counter()
            slopes = self.steps.derivatives(x[:-1], u, T / self.intervals)
            spent += time.perf_counter() - start
            before = T
            x, u, T = self._program(x, u, T, slopes, near, shorten)
            off = (x[1:] - self.steps.ends(x[:-1], u, T / self.intervals)) / self.unit
            defect = np.abs(off).max()
            if shorten and near == NEAR[2] and before - T < GAIN * T:
                # The last programs keep the duration and close what is left open.
                shorten, near, T = False, NEAR[0], T * (1.0 + GAIN)
            elif shorten:
                near = max(NEAR[1] * near, NEAR[2])
            elif defect < CLOSE:
                break
        return Plan(x, u, T, programs, defect, spent, time.perf_counter() - began)

    def _program(
        self,
        x: np.ndarray,
        u: np.ndarray,
        T: float,
        slopes: StepDerivatives,
        near: float,
        shorten: bool,
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Return the next knots, rates and duration, and the cost that the program expects."""
        import clarabel

        n, K, m = self.n, self.intervals, 3 * self.n
        knots, rates, defects = m * (K + 1), n * K, m * K
        # Variables: steps of the knots and the rates, in their units, the step of the duration,
        # and what is left of each defect, above and below.
        size = knots + rates + 1 + 2 * defects
        down = self.unit[:, None]
        by_x = sparse.block_diag([step[:, :m] * self.unit / down for step in slopes.ends])
        by_u = sparse.block_diag(list(slopes.ends[:, :, m:-1] * self.rate / down))
        by_T = (slopes.ends[:, :, -1] / K / self.unit).reshape(-1, 1)
        left = sparse.identity(defects)
        ahead = sparse.eye(defects, knots, m) - sparse.hstack(
            (by_x, sparse.csr_matrix((defects, m)))
        )
        off = (self.steps.ends(x[:-1], u, T / K) - x[1:]) / self.unit
        w = (u / self.rate).reshape(-1)
        motion = sparse.hstack((ahead, -by_u, -by_T, -left, left))
        steps = sparse.eye(knots + rates, size)
        low, high = (
            np.concatenate((((limit - x) / self.unit).reshape(-1), sign * np.ones(rates)))
            for limit, sign in zip(self.bounds, (-1.0, 1.0))
        )
        more, room = self._more_limits(x, slopes.accelerations)
        by_duration = sparse.eye(1, size, knots + rates)
        rows = [
            motion,
            sparse.eye(m, size),  # the first knot stays, and the last one
            sparse.eye(m, size, knots - m),
            steps,
            -steps,
            by_duration,
            -by_duration,
            -sparse.eye(2 * defects, size, knots + rates + 1),
            sparse.hstack((more, sparse.csr_matrix((len(room), size - knots)))),
        ]
        right = [
            off.reshape(-1) - by_u @ w,
            np.zeros(2 * m),
            high,
            -low,
            np.full(2, LEAP * T * shorten),
            np.zeros(2 * defects),
            room,
        ]
        curvature, linear = np.zeros(size), np.zeros(size)
        curvature[:knots] = 2.0 * near / (self.intervals + 1)
        curvature[knots : knots + rates] = 2.0 * (SMOOTH * shorten + near) / rates
        linear[knots : knots + rates] = -2.0 * near * w / rates
        linear[knots + rates], linear[knots + rates + 1 :] = 1.0, DEFECT
        b = np.concatenate(right)
        equal = defects + 2 * m
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        found = clarabel.DefaultSolver(
            sparse.diags(curvature).tocsc(),
            linear,
            sparse.vstack(rows).tocsc(),
            b,
            [clarabel.ZeroConeT(equal), clarabel.NonnegativeConeT(len(b) - equal)],
            settings,
        ).solve()
        z = np.array(found.x)
        moved = x + z[:knots].reshape(K + 1, m) * self.unit
        new_u = z[knots : knots + rates].reshape(K, n) * self.rate
        return moved, new_u, float(T + z[knots + rates])

    def _more_limits(
        self, x: np.ndarray, slopes: np.ndarray
    ) -> tuple[sparse.csr_matrix, np.ndarray]:
        """
        Return the limits that are no bounds, linearised: rows @ steps of the knots <= room.

        Of acceleration, and of the FR3's velocity towards the ends of its joints' ranges:
        (dq + offset)^2 <= 2 deceleration (upper - q), and its mirror image.
        """
        arm, n, K = self.arm, self.n, self.intervals
        most = SHARE * arm.limit('acceleration')
        by_x = sparse.block_diag(list(slopes * self.unit / most[:, None]))
        by_x = sparse.hstack((by_x, sparse.csr_matrix((n * K, 3 * n))))
        share = (self.steps.accelerations(x[:-1]) / most).reshape(-1)
        rows, columns, entries, room = [], [], [], []
        for i, joint in enumerate(arm.joints):
            offset, braking = joint.limits.velocity_offset, joint.limits.velocity_deceleration
            if offset is None or braking is None:
                continue
            for sign, end in ((1.0, joint.limits.upper), (-1.0, joint.limits.lower)):
                for k, speed in enumerate(np.maximum(sign * x[:, n + i] / SHARE + offset, 0.0)):
                    rows += [len(room)] * 2
                    columns += [3 * n * k + i, 3 * n * k + n + i]
                    entries += [2.0 * braking * sign, 2.0 * speed * sign / SHARE]
                    room.append(2.0 * braking * sign * (end - x[k, i]) - speed**2)
        brakes = sparse.csr_matrix((entries, (rows, columns)), (len(room), 3 * n * (K + 1)))
        units = sparse.diags(np.tile(self.unit, K + 1))
        return (
            sparse.vstack((by_x, -by_x, brakes @ units)),
            np.concatenate((1.0 - share, 1.0 + share, room)),
        )


def gains(arm: ArmDescription, plan: Plan) -> np.ndarray:
    """Return the LQR's gains of each cycle, shape (N, n, 2n), by `linearize` at the knots."""
    n, tree = arm.n, BodyTree.from_description(arm)
    weights = np.diag(np.repeat(np.array(ERRORS) ** -2.0, n))
    cost = np.diag((TORQUE * arm.limit('effort')) ** -2.0)
    here = [linearize(tree, *np.split(x, 3)) for x in plan.x]
    riccati, found = weights * CONTROL, []
    count = round(plan.duration / CONTROL)
    for k in reversed(range(count)):
        model = here[min(round(k / count * len(plan.u)), len(plan.u))]
        A, B = np.eye(2 * n) + CONTROL * model.A, CONTROL * model.B
        gain = np.linalg.solve(cost * CONTROL + B.T @ riccati @ B, B.T @ riccati @ A)
        riccati = weights * CONTROL + A.T @ riccati @ (A - B @ gain)
        found.append(gain)
    return np.array(found[::-1])


@dataclass(frozen=True)
class Played:
    """Times (N,) [s]; off the plan's end (n,) [rad]; states and torques of each cycle."""

    off_position: np.ndarray
    off_velocity: np.ndarray
    dq: np.ndarray
    tau: np.ndarray


def play(arm: ArmDescription, plan: Plan, gain: np.ndarray | None = None) -> Played:
    """
    Play a plan to an arm in MuJoCo, within the arm's limits of torque and torque rate.

    With gains at 1 kHz, as a robot is controlled; without, every step of the physics has the
    plan's torque, so that what is off at the end is one engine against the other.
    """
    mujoco = import_mujoco()
    count, held = round(plan.duration / CONTROL), 1 if gain is None else round(CONTROL / PHYSICS)
    count *= 1 if gain is not None else round(CONTROL / PHYSICS)
    cycle = plan.duration / count  # a whole number of cycles
    model = build_mujoco(arm, timestep=cycle / held)
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    data, n = mujoco.MjData(model), arm.n
    data.qpos[:] = START
    limiter = TorqueLimiter(arm.limit('effort'), arm.limit('effort_rate'))
    states = plan.at(cycle * np.arange(count))
    middle = plan.at(cycle * (np.arange(count) + 0.5))[:, 2 * n :]
    last, velocities, torques = plan.x[0, 2 * n :], [], []
    for k in range(count):
        tau = middle[k]
        if gain is not None:
            tau = tau - gain[k] @ (np.concatenate((data.qpos, data.qvel)) - states[k, : 2 * n])
        last = limiter.limit(tau, last, cycle).torque
        data.ctrl[:] = last
        for _ in range(held):
            mujoco.mj_step(model, data)
        velocities.append(data.qvel.copy())
        torques.append(last)
    return Played(data.qpos - GOAL, data.qvel.copy(), np.array(velocities), np.array(torques))


def draw(reach: Reach, plan: Plan, file: str) -> None:
    """Draw velocities and torques of a plan over their limits, and its torque rates."""
    from matplotlib.figure import Figure

    arm, n = reach.arm, reach.n
    knots = np.linspace(0.0, plan.duration, len(plan.x))
    figure = Figure(figsize=(8.0, 7.5), layout='constrained')
    figure.suptitle(
        f'{arm.name}, {LOAD_KG:g} kg on the flange: {plan.duration:.3f} s within '
        f'{SHARE:.0%} of the limits'
    )
    rows = figure.subplots(3, 1, sharex=True)
    speed, torque = np.split(plan.x[:, n:], 2, axis=1)
    rows[0].plot(knots, speed / arm.limit('velocity'))
    rows[1].plot(knots, torque / arm.limit('effort'), label=[f'joint {i + 1}' for i in range(n)])
    rows[1].legend(ncols=4, fontsize=7)
    for rate in (plan.u / arm.limit('effort_rate')).T:
        rows[2].stairs(rate, knots, baseline=None)
    for axes, label in zip(rows, ('velocity', 'torque', 'torque rate')):
        axes.set_ylabel(f'{label} over its limit')
        axes.grid(True, alpha=0.3)
        for side in (-SHARE, SHARE):
            axes.axhline(side, color='black', lw=0.8, ls='--')
    rows[2].set_xlabel('time [s]')
    figure.savefig(file, dpi=110)


def main() -> None:
    """Solve, play, print and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--arm', default='fer', help='a shipped seven-joint arm or its file')
    parser.add_argument('--intervals', type=int, default=INTERVALS)
    parser.add_argument('--plot', default='time_optimal_reach.png', metavar='FILE')
    arguments = parser.parse_args()
    reach = Reach(loaded_arm(arguments.arm), arguments.intervals)
    reach.solve(most=1)  # compiles
    plan = reach.solve()
    print(
        f'{plan.duration:.4f} s after {plan.programs} programs in {plan.total_time:.2f} s, '
        f'{plan.derivative_time / plan.total_time:.0%} of it derivatives; defect '
        f'{plan.defect:.0e}'
    )
    gain = gains(reach.arm, plan)
    alone = np.abs(np.diff(plan.x[[0, -1], : reach.n], axis=0)[0])
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
        end = play(arm, plan, used)
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
