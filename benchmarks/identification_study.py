# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
How well identified arms predict left-out parts of runs: simulated FR3 with a hand, moving slowly.

    python benchmarks/identification_study.py [--draws 6] [--first 0]

Every draw is another random arm: inertias 3 to 15 % off the published set; friction that no model
of this package can represent (three slip elements, a random Stribeck torque, load-dependent
Coulomb friction); torque sensors with a new offset in every run, ripple and a lag; a pulling
cable; two joints that hardly move. Rigid-body torques are MuJoCo's inverse dynamics. `identify`
gets four runs of 60 s at 30 or 100 Hz, from the first to the last of which all friction but the
load-dependent part falls by 9 to 23 %. Identifying an arm takes 2 to 3 s of processor time. A line
for each arm gives the error E [N m] of the predicted torques in each left-out fold: for the
identified arm, the published set and the true inertias, with friction fitted to the other folds.
If the identified arm's error exceeds that of the true inertias, the identified inertias are the
cause.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
import sys

import mujoco
import numpy as np

from franka_dynamics.arm import ArmDescription, load, MaxwellSlipFriction
from franka_dynamics.arm.friction import friction_along
from franka_dynamics.demo.controller_comparison import draw_plant
from franka_dynamics.identification.identify import identify
from franka_dynamics.identification.options import IdentificationOptions
from franka_dynamics.identification.results import Improvement
from franka_dynamics.recordings.preprocessing import Motion, prepare
from franka_dynamics.recordings.recording import Recording
from franka_dynamics.simulation.mujoco_model import build_mujoco

sys.path.append(str(Path(__file__).parents[1] / 'test'))
from made_recordings import least_jerk_work

ARM = load('fr3', hand='franka_hand')
OPTIONS = IdentificationOptions()
MODEL = OPTIONS.torque_model(ARM)
RUNS, DURATION_S = 4, 60.0
STRIBECK_SPEED = 0.05  # [rad/s]
RATES = (30.0, 100.0)
STRONGEST = float(ARM.limit('effort').max())


@dataclass(frozen=True, eq=False)
class Draw:
    """A random arm and the errors of its sensors."""

    arm: ArmDescription
    friction: MaxwellSlipFriction
    stribeck: np.ndarray  # [N m] more at the lowest speeds, gone beyond STRIBECK_SPEED
    rate: float
    resting: np.ndarray
    load_share: np.ndarray  # Coulomb friction per N m of rigid torque
    ripple: np.ndarray  # amplitude [N m], twenty periods per turn of the joint
    cable: np.ndarray  # [N m/rad]
    lag: float  # [s] of effort behind position
    offset: float  # offset of a torque sensor in one run, relative to the torque limit


def drawn(seed: int) -> Draw:
    """Return a random arm."""
    rng = np.random.default_rng(seed)
    n = ARM.n
    part = ARM.limit('effort') / STRONGEST
    size = np.where(part > 0.5, 1.0, 0.35)

    def between(low: float, high: float) -> np.ndarray:
        return np.asarray(size * rng.uniform(low, high, n))

    viscous, coulomb, stribeck = between(0.1, 0.8), between(0.1, 0.5), between(0.0, 0.3)
    friction = MaxwellSlipFriction(
        viscous,
        coulomb,
        np.zeros(n),
        np.array([between(0.05, 0.3), between(0.0, 0.3), between(0.05, 0.5)]),
        np.array([0.0015, 0.012, 0.15]),
        0.004,
    )
    resting = np.zeros(n, dtype=bool)
    resting[rng.choice(n, 2, replace=False)] = True
    return Draw(
        draw_plant(ARM, seed, rng.uniform(0.03, 0.15)).arm,
        friction,
        stribeck,
        float(rng.choice(RATES)),
        resting,
        rng.uniform(0.0, 0.015, n),
        between(0.0, 0.1),
        between(0.0, 0.3) * (rng.random(n) < 0.3),
        rng.uniform(-1e-3, 4e-3),
        rng.uniform(0.0, 0.003),
    )


def recorded(draw: Draw, seed: int, warmth: float) -> Recording:
    """Return a simulated recording of one run; `warmth` multiplies `draw.friction`."""
    rng = np.random.default_rng(seed)
    time = np.arange(round(DURATION_S * draw.rate) + 1) / draw.rate
    reach, home = rng.uniform(0.15, 0.5) * np.where(draw.resting, 0.02, 1.0), np.array(ARM.home)
    motion = least_jerk_work(rng, home, home, reach, len(time), draw.rate)
    q, dq, _ = motion
    model = build_mujoco(draw.arm)
    data = mujoco.MjData(model)
    rigid = np.empty_like(q)
    for k, (data.qpos[:], data.qvel[:], data.qacc[:]) in enumerate(np.moveaxis(motion, 1, 0)):
        mujoco.mj_inverse(model, data)
        rigid[k] = data.qfrc_inverse
    part = ARM.limit('effort') / STRONGEST
    turned = np.tanh(dq / draw.friction.width)
    rubbing = friction_along(draw.friction, q, dq)
    rubbing += draw.stribeck * np.exp(-np.square(dq / STRIBECK_SPEED)) * turned
    effort = (
        rigid
        + warmth * rubbing
        + draw.load_share * np.abs(rigid) * turned
        + draw.ripple * np.sin(20.0 * q)
        + draw.cable * (q - home)
        + draw.offset * ARM.limit('effort') * rng.uniform(-1.0, 1.0, ARM.n)
    )
    late = [np.interp(time - draw.lag, time, column) for column in effort.T]
    effort = np.column_stack(late) + 0.15 * np.sqrt(part) * rng.standard_normal(q.shape)
    return Recording(
        f'run{seed}',
        '/joint_states',
        ARM.joint_names,
        1 + np.round(time * 1e9).astype(np.int64),
        q + 1e-5 * rng.standard_normal(q.shape),
        dq + 2e-3 * rng.standard_normal(q.shape),
        effort,
    )


def runs(seed: int) -> list[Motion]:
    """Return the runs of one random arm, prepared for identification."""
    draw = drawn(seed)
    cooler = np.random.default_rng(10**6 + seed).uniform(0.1, 0.3)
    every = [
        recorded(draw, 100 * seed + k, 1.0 + cooler * (1.0 - k / (RUNS - 1))) for k in range(RUNS)
    ]
    return [prepare(one) for one in every]


def main() -> None:
    """Run the draws."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('--draws', type=int, default=6, help='how many arms (default: 6)')
    parser.add_argument('--first', type=int, default=0, help='seed of the first (default: 0)')
    arguments = parser.parse_args()
    owns, trues = [], []
    for seed in range(arguments.first, arguments.first + arguments.draws):
        # The true arm is treated as one more published set, so that its friction is fitted in the
        # same way.
        result = identify(runs(seed), ARM, [ARM, drawn(seed).arm], OPTIONS)
        own, best, true = (one.folds for one in (result.arm_score, *result.published))
        written = Improvement.of(result.arm_score, [result.published[0]]).better
        pairs = ' '.join(f'{own:.3f}/{theirs:.3f}' for own, theirs in zip(own, best))
        print(
            f'{seed:4d} {"written" if written else "refused"}  left out {pairs}  true inertias '
            + ' '.join(f'{one:.3f}' for one in true),
            flush=True,
        )
        owns += own
        trues += true
    print(
        f'left-out folds of all draws: median E {np.median(owns):.3f} N m, of true inertias '
        f'{np.median(trues):.3f}'
    )


if __name__ == '__main__':
    main()
