# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
What an identified arm is worth on later recordings: simulated FR3 with a hand in slow work.

    python benchmarks/identification_study.py [--draws 6] [--first 0]

Every draw is another arm: links drawn around the published set by 3 to 15 %, friction of shapes
that no model here has (three slip elements, a Stribeck velocity of its own, load-dependent
Coulomb friction), torque sensors with offsets of their own in every run, ripple, a lag, a cable
that pulls, and two joints that hardly move. Torques are MuJoCo's inverse dynamics. Four runs of
60 s at 30 or 100 Hz, over which friction cools by up to 30 %, are what `identify` is given; two
later runs, cooler or warmer, are what its file is then judged by, against the published set with
the friction that was fitted alike to the same four. A draw takes 2 to 3 s of processor time.
Printed are left-out and later errors E [N m], draw by draw, beside those of the published set and
what the true inertias leave with friction fitted alike to the other runs: what is above that is
the identified inertias' doing. Then what was lost.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import mujoco
import numpy as np

from franka_dynamics.arm import ArmDescription, load, MaxwellSlipFriction
from franka_dynamics.arm.friction import friction_along
from franka_dynamics.identification.identify import identify
from franka_dynamics.identification.options import IdentificationOptions
from franka_dynamics.identification.torque_model import TorqueModel
from franka_dynamics.identification.verdict import judge
from franka_dynamics.recordings.preprocessing import Motion, prepare
from franka_dynamics.recordings.recording import Recording
from franka_dynamics.simulation.model_trial import draw_plant
from franka_dynamics.simulation.mujoco_model import build_mujoco

ARM = load('fr3', hand='franka_hand')
OPTIONS = IdentificationOptions()
MODEL = OPTIONS.torque_model(ARM)
RUNS, LATER, DURATION_S = 4, 2, 60.0
RATES = (30.0, 100.0)
STRONGEST = float(ARM.limit('effort').max())


@dataclass(frozen=True, eq=False)
class Draw:
    """One arm as it is, and what is wrong with its sensors."""

    arm: ArmDescription
    friction: MaxwellSlipFriction
    rate: float
    resting: np.ndarray
    load_share: np.ndarray  # Coulomb friction per N m of rigid torque
    ripple: np.ndarray  # [N m], twenty to a turn of the joint
    cable: np.ndarray  # [N m/rad]
    lag: float  # [s] of effort behind position
    offset: float  # of a torque sensor in one run, as a part of its limit


def drawn(seed: int) -> Draw:
    """Return one arm."""
    rng = np.random.default_rng(seed)
    n = ARM.n
    part = ARM.limit('effort') / STRONGEST
    size = np.where(part > 0.5, 1.0, 0.35)

    def between(low: float, high: float) -> np.ndarray:
        return np.asarray(size * rng.uniform(low, high, n))

    friction = MaxwellSlipFriction(
        between(0.1, 0.8),
        between(0.1, 0.5),
        between(0.0, 0.3),
        np.zeros(n),
        np.array([between(0.05, 0.3), between(0.0, 0.3), between(0.05, 0.5)]),
        np.array([0.0015, 0.012, 0.15]),
        0.004,
        0.05,
    )
    resting = np.zeros(n, dtype=bool)
    resting[rng.choice(n, 2, replace=False)] = True
    return Draw(
        draw_plant(ARM, seed, rng.uniform(0.03, 0.15)).arm,
        friction,
        float(rng.choice(RATES)),
        resting,
        rng.uniform(0.0, 0.015, n),
        between(0.0, 0.1),
        between(0.0, 0.3) * (rng.random(n) < 0.3),
        rng.uniform(-1e-3, 4e-3),
        rng.uniform(0.0, 0.003),
    )


def led(draw: Draw, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return a motion (N, 3, n) from pose to pose with pauses, and its times (N,)."""
    time = np.arange(round(DURATION_S * draw.rate) + 1) / draw.rate
    motion = np.zeros((len(time), 3, ARM.n))
    reach = rng.uniform(0.15, 0.5) * np.where(draw.resting, 0.02, 1.0)
    pose, row = np.array(ARM.home), 0
    while row < len(time):
        target = np.array(ARM.home) + reach * rng.uniform(-1.0, 1.0, ARM.n)
        takes = rng.uniform(1.5, 4.0)
        steps = min(round(takes * draw.rate), len(time) - row)
        s = np.arange(steps)[:, None, None] / draw.rate / takes
        least_jerk = np.concatenate(
            [
                10 * s**3 - 15 * s**4 + 6 * s**5,
                (30 * s**2 - 60 * s**3 + 30 * s**4) / takes,
                (60 * s - 180 * s**2 + 120 * s**3) / takes**2,
            ],
            axis=1,
        )
        motion[row : row + steps] = least_jerk * (target - pose)
        motion[row : row + steps, 0] += pose
        row += steps
        pause = round(rng.uniform(0.0, 0.8) * draw.rate)
        motion[row : row + pause, 0] = target
        pose, row = target, row + pause
    return motion, time


def recorded(draw: Draw, seed: int, warmth: float) -> Recording:
    """Return a run, its friction `warmth` times the arm's."""
    rng = np.random.default_rng(seed)
    motion, time = led(draw, rng)
    q, dq, _ = np.moveaxis(motion, 1, 0)
    model = build_mujoco(draw.arm)
    data = mujoco.MjData(model)
    rigid = np.empty_like(q)
    for k, (data.qpos[:], data.qvel[:], data.qacc[:]) in enumerate(motion):
        mujoco.mj_inverse(model, data)
        rigid[k] = data.qfrc_inverse
    part = ARM.limit('effort') / STRONGEST
    turned = np.tanh(dq / draw.friction.width)
    rubbing = friction_along(draw.friction, q, dq)
    effort = (
        rigid
        + warmth * rubbing
        + draw.load_share * np.abs(rigid) * turned
        + draw.ripple * np.sin(20.0 * q)
        + draw.cable * (q - np.array(ARM.home))
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


def runs(seed: int) -> tuple[list[Motion], list[Recording]]:
    """Return the runs that are learnt from, and the later ones."""
    draw = drawn(seed)
    rng = np.random.default_rng(10**6 + seed)
    cooler = rng.uniform(0.1, 0.3)
    warmth = [1.0 + cooler * (1.0 - k / (RUNS - 1)) for k in range(RUNS)]
    warmth += list(1.0 + rng.uniform(-0.1, 0.3, LATER))
    every = [recorded(draw, 100 * seed + k, one) for k, one in enumerate(warmth)]
    learnt = [prepare(one, columns=MODEL.friction.columns) for one in every[:RUNS]]
    return learnt, every[RUNS:]


def error(recording: Recording, model: TorqueModel, theta: np.ndarray) -> float:
    """Return E of a model's parameters on a recording [N m]."""
    motion = prepare(recording, columns=model.friction.columns)
    left = motion.effort - model.torque(motion, theta)
    return float(np.sqrt(np.mean(np.sum(left**2, axis=1))))


@dataclass(frozen=True)
class Outcome:
    """
    One draw: was the file written, and errors E [N m] of it and of the published set beside it.

    `left_out` has a pair for every run that was left out, `later` for every later one; `true` is
    what true inertias with friction fitted alike leave of the former.
    """

    seed: int
    written: bool
    left_out: tuple[tuple[float, float], ...]
    later: tuple[tuple[float, float], ...]
    true: tuple[float, ...]

    @classmethod
    def of(cls, seed: int) -> Outcome:
        """Identify one arm and return its figures."""
        learnt, later = runs(seed)
        # The true arm stands among the published sets to have its friction fitted alike.
        result = identify(learnt, ARM, [ARM, drawn(seed).arm], OPTIONS)
        own, (best, true) = result.arm_score, result.published
        return cls(
            seed,
            bool(judge(own, [best], result.start_score).better),
            tuple((ours.error, theirs.error) for ours, theirs in zip(own.parts, best.parts)),
            tuple(
                (error(one, result.model, own.theta), error(one, result.model, best.theta))
                for one in later
            ),
            tuple(one.error for one in true.parts),
        )

    def line(self) -> str:
        """Return the draw in words."""
        left_out, later = (
            ' '.join(f'{own:.3f}/{other:.3f}' for own, other in pairs)
            for pairs in (self.left_out, self.later)
        )
        true = ' '.join(f'{one:.3f}' for one in self.true)
        word = 'written' if self.written else 'refused'
        return f'{self.seed:4d} {word}  left out {left_out}  true inertias {true}  later {later}'


def summary(every: list[Outcome]) -> list[str]:
    """Return what was lost and won over all draws."""
    written = [one for one in every if one.written]
    lines = [f'{len(written)} of {len(every)} files written']
    for name in ('left_out', 'later'):
        pairs = np.array([pair for one in written for pair in getattr(one, name)]).reshape(-1, 2)
        if not len(pairs):
            continue
        ratio = pairs[:, 0] / pairs[:, 1]
        lost = sorted(100.0 * (ratio[ratio > 1.0] - 1.0))
        lines.append(
            f'{name}: lost {len(lost)} of {len(pairs)} '
            f'({", ".join(f"{one:.1f} %" for one in lost) or "none"}), median ratio '
            f'{np.median(ratio):.2f}, median E {np.median(pairs[:, 0]):.3f} N m'
        )
    owns = np.array([own for one in every for own, _ in one.left_out])
    trues = np.array([value for one in every for value in one.true])
    lines.append(
        f'left-out runs of all draws: median E {np.median(owns):.3f} N m, of true inertias '
        f'{np.median(trues):.3f}'
    )
    return lines


def main() -> None:
    """Run the draws."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('--draws', type=int, default=6, help='how many arms (default: 6)')
    parser.add_argument('--first', type=int, default=0, help='seed of the first (default: 0)')
    arguments = parser.parse_args()
    every = []
    for seed in range(arguments.first, arguments.first + arguments.draws):
        every.append(Outcome.of(seed))
        print(every[-1].line(), flush=True)
    print('\n'.join(summary(every)))


if __name__ == '__main__':
    main()
