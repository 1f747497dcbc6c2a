# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Reach a point with the flange by sampling torques: MPPI on batched forward dynamics.

Model predictive path integral control (Williams et al. 2017, "Information theoretic MPC for
model-based reinforcement learning"): fifty times a second 2,000 torque sequences of 30 steps of 10
ms are rolled out by `BatchModel.forward_dynamics`, and their average, weighted by exp(-cost /
temperature), is commanded to an arm in MuJoCo, within the limits of torque and torque rate. Run
`python examples/14_mppi_reach.py`; it prints how long planning takes and writes `mppi_reach.png`.
The torques include gravity.
"""

from dataclasses import dataclass
import time

import numpy as np

from franka_dynamics.arm import load
from franka_dynamics.batch.batch_model import BatchModel
from franka_dynamics.control.limits import TorqueLimiter
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.simulation.mujoco_model import build_mujoco_model, import_mujoco

ARM = load('fer')
# Number of torque sequences; steps in a sequence; duration of a step [s].
ROLLOUTS = 2000
HORIZON = 30
STEP = 0.01
EVERY = 2  # steps between two plans
TEMPERATURE = 0.05  # relative to the median of the costs, each minus the smallest cost
NOISE = 8.0  # standard deviation of a torque's noise over the joint's entry of M_ii [rad/s^2]
NEAR = 0.1  # distance from the goal [m] below which the noise decreases
SMOOTH = 0.98  # correlation of a torque's noise from step to step
GOAL = np.array([0.45, 0.30, 0.35])  # m, in the base frame
# weights of the cost
DISTANCE = 3000.0
SPEED = 2.0
TERMINAL = 1000.0
PHYSICS = 1e-3  # s


@dataclass(frozen=True)
class Run:
    """N physics steps: times [s], goal distances [m], torques [N m]; planning times [s]."""

    times: np.ndarray
    distances: np.ndarray
    torques: np.ndarray
    planning: np.ndarray


class Planner:
    """Keeps a sequence of future torques and improves it from the arm's present state."""

    def __init__(self, seed: int) -> None:
        self._model = BatchModel(ARM)
        self._backend = PinocchioModel(ARM)
        self._rng = np.random.default_rng(seed)
        self._extra = np.zeros((HORIZON, ARM.n))  # torques in addition to gravity's [N m]
        limits = (ARM.limit(name) for name in ('effort', 'lower', 'upper'))
        self._limit, self._lower, self._upper = limits

    def torques(self, q: np.ndarray, dq: np.ndarray) -> np.ndarray:
        """Plan from (q, dq); return the next EVERY steps' torques, shape (EVERY, n) [N m]."""
        hold = self._backend.gravity(q)
        away = np.linalg.norm(self._backend.frames(q)[-1][:3, 3] - GOAL)
        deviation = NOISE * np.clip(away / NEAR, 0.1, 1.0) * np.diag(self._backend.mass_matrix(q))
        noise = self._rng.standard_normal((HORIZON, ROLLOUTS, ARM.n), np.float32)
        torques = noise.astype(float)
        for k in range(1, HORIZON):
            torques[k] *= np.sqrt(1.0 - SMOOTH**2)
            torques[k] += SMOOTH * torques[k - 1]
        torques *= deviation
        torques[:, 0] = 0.0  # one of the sequences is the present plan, without noise
        torques += (hold + self._extra)[:, None]
        np.clip(torques, -self._limit, self._limit, out=torques)
        cost = self._rolled_out(q, dq, torques)
        worse = cost - cost.min()
        weights = np.exp(-worse / (TEMPERATURE * np.median(worse) + 1e-12))
        self._extra = np.einsum('r,hrn->hn', weights / weights.sum(), torques) - hold
        commands = hold + self._extra[:EVERY]
        self._extra = np.vstack([self._extra[EVERY:], *[self._extra[-1:]] * EVERY])
        return commands

    def _rolled_out(self, q: np.ndarray, dq: np.ndarray, torques: np.ndarray) -> np.ndarray:
        """Return the cost of each torque sequence, shape (ROLLOUTS,)."""
        position = np.tile(q, (ROLLOUTS, 1))
        velocity = np.tile(dq, (ROLLOUTS, 1))
        cost = np.zeros(ROLLOUTS)
        for k, tau in enumerate(torques):
            velocity += STEP * self._model.forward_dynamics(position, velocity, tau)
            position += STEP * velocity
            away = self._model.flange_pose(position)[:, :3, 3] - GOAL
            beyond = np.maximum(0.0, np.maximum(self._lower - position, position - self._upper))
            weight = TERMINAL if k == HORIZON - 1 else DISTANCE * STEP
            cost += weight * (away**2).sum(axis=1) + 1e3 * beyond.sum(axis=1)
            cost += SPEED * STEP * (velocity**2).sum(axis=1)
        cost += SPEED * (velocity**2).sum(axis=1)
        finite = np.isfinite(cost)  # other sequences get the largest finite cost
        return np.where(finite, cost, cost[finite].max(initial=0.0))


def run(duration: float = 3.0, seed: int = 0) -> Run:
    """Let the arm reach for the goal in MuJoCo."""
    mujoco = import_mujoco()
    model = build_mujoco_model(ARM)
    model.opt.timestep = PHYSICS
    data = mujoco.MjData(model)
    home = ARM.home_position
    data.qpos[:] = home
    planner = Planner(seed)
    limiter = TorqueLimiter(ARM.limit('effort'), ARM.limit('effort_rate'))
    frames = PinocchioModel(ARM)
    planner.torques(home, np.zeros(ARM.n))  # the first call compiles
    command = frames.gravity(home)
    times = []
    distances = []
    torques = []
    planning = []
    for _ in range(round(duration / (EVERY * STEP))):
        began = time.perf_counter()
        desired = planner.torques(data.qpos.copy(), data.qvel.copy())
        planning.append(time.perf_counter() - began)
        for k in range(round(EVERY * STEP / PHYSICS)):
            command = limiter.limit(desired[int(k * PHYSICS / STEP)], command, PHYSICS)
            data.ctrl[:] = command
            mujoco.mj_step(model, data)
            times.append(data.time)
            torques.append(command)
            distances.append(np.linalg.norm(frames.frames(data.qpos)[-1][:3, 3] - GOAL))
    return Run(*map(np.array, (times, distances, torques, planning)))


def plot(found: Run) -> None:
    """Draw the distance to the goal and the torques relative to their limits."""
    from matplotlib.figure import Figure

    figure = Figure(layout='constrained')
    way, shares = figure.subplots(2, 1, sharex=True)
    way.semilogy(found.times, 1e3 * found.distances)
    way.set_ylabel('flange to goal [mm]')
    lines = shares.plot(found.times, found.torques / ARM.limit('effort'), lw=0.8)
    shares.set(xlabel='time [s]', ylabel='torque over its limit')
    names = [f'joint {joint}' for joint in range(1, ARM.n + 1)]
    figure.legend(lines, names, loc='outside lower center', ncols=ARM.n, fontsize=7)
    figure.savefig('mppi_reach.png', dpi=120)


def main() -> None:
    """Simulate a reach; print and draw it."""
    found = run()
    p50, p99 = np.percentile(1e3 * found.planning, (50, 99))
    first, last = 1e3 * found.distances[[0, -1]]
    print(f'{first:.0f} mm from the goal at first, {last:.1f} mm at the end')
    print(f'a plan takes {p50:.1f} ms (99th percentile {p99:.1f}) of {1e3 * EVERY * STEP:.0f} ms')
    plot(found)


if __name__ == '__main__':
    main()
