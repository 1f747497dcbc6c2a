# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
How often an identified parameter is further off than its deviation says.

    FRANKA_DYNAMICS_RECORDINGS=DIR python benchmarks/deviation_study.py [--draws 20] [--json FILE]

The motions are those of the two public recordings in DIR, slow and fast. Their torques are
replaced by those of other arms, with friction of the model's own terms and white noise of the size
that excite predicts with: arms drawn around gaz2019 by 3, 10 and 30 %, and every shipped set of
the FER in place of the real arm while every other is the starting set. All choices are made as
identify makes them, that of the prior's precision among them. Printed are how many of the 43 base
parameters lie beyond 3 and 2 deviations (0.3 and 4.6 % if all errors were normal and each
deviation right), the root mean square of error over deviation, and the deviations' median as a
part of what is not known before; once as the precision claims (the covariance of the posterior)
and once as stated. A fit takes about half a second of processor time.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import permutations
import json
import os
from pathlib import Path

import numpy as np

from franka_dynamics.arm import ArmDescription, available_sets, load
from franka_dynamics.identification.held_out import Problem
from franka_dynamics.identification.least_squares import solve
from franka_dynamics.identification.noise import filter_inflation
from franka_dynamics.identification.options import IdentificationOptions
from franka_dynamics.identification.qr_factors import Part, QRFactors, split, total
from franka_dynamics.recordings.preprocessing import low_pass, Motion, prepare, SignalOptions
from franka_dynamics.recordings.recording import read_recording
from franka_dynamics.simulation.model_trial import draw_plant

ARM = load('fer')
OPTIONS = IdentificationOptions()
MODEL = OPTIONS.torque_model(ARM)
B = len(MODEL.base)
SIGNAL = SignalOptions()
INFLATION = np.full(ARM.n, filter_inflation(SIGNAL))
LIMIT = ARM.limit('effort')
# Of white noise before the filter [N m]: what is left behind it times the root of the samples that
# are worth one.
NOISE = np.where(LIMIT >= 50.0, 0.006, 0.018) * LIMIT
MOTIONS = {'slow': 'fer_excitation', 'fast': 'fer_gaz2019_1khz'}
# Viscous, Coulomb and both slip elements of a joint of 87 N m.
FRICTION = {'fv': 0.3, 'fc': 0.3, 'fz4mrad': 0.2, 'fz300mrad': 0.2}


def parameters(arm: ArmDescription) -> np.ndarray:
    """Return an arm's parameters with friction as above."""
    one = [FRICTION.get(symbol, 0.0) for symbol in MODEL.friction.symbols]
    friction = np.multiply.outer(np.sqrt(LIMIT / LIMIT.max()), one)
    return np.concatenate([MODEL.base.values(arm), friction.ravel()])


@dataclass(frozen=True, eq=False)
class Stretch:
    """One stretch's equations, joint by joint: orthogonal (n, N, w) times triangle (n, w, w)."""

    orthogonal: np.ndarray
    triangle: np.ndarray

    @classmethod
    def of(cls, motion: Motion) -> Stretch:
        """Return the equations of a motion."""
        return cls(*np.linalg.qr(np.moveaxis(np.concatenate(MODEL.blocks(motion), -1), 1, 0)))

    @property
    def samples(self) -> int:
        """Number of samples."""
        return self.orthogonal.shape[1]

    def part(self, theta: np.ndarray, noise: np.ndarray) -> Part:
        """Return the samples with the torques of parameters and noise (N, n)."""
        base, friction = MODEL.split(theta)
        own = np.concatenate([np.tile(base, (ARM.n, 1)), friction], axis=1)
        width = own.shape[1]
        seen = np.einsum('jnc,nj->jc', self.orthogonal, noise)
        rest = noise - np.einsum('jnc,jc->nj', self.orthogonal, seen)
        rows = np.zeros((ARM.n, width + 2, width + 2))
        rows[:, :width, :width] = self.triangle
        rows[:, :width, width:] = (np.einsum('jrc,jc->jr', self.triangle, own) + seen)[:, :, None]
        rows[:, width, width:] = np.linalg.norm(rest, axis=0)[:, None]
        return Part('', QRFactors(rows, MODEL.friction.terms, self.samples), {})


def with_torques(
    stretches: Sequence[Stretch], theta: np.ndarray, rng: np.random.Generator
) -> list[Part]:
    """Return stretches with the torques of parameters and white noise behind the filter."""
    count = sum(one.samples for one in stretches)
    noise = low_pass(NOISE * rng.standard_normal((count, ARM.n)), SIGNAL)
    ends = np.cumsum([one.samples for one in stretches])
    return [one.part(theta, piece) for one, piece in zip(stretches, np.split(noise, ends[:-1]))]


@dataclass(frozen=True)
class Cover:
    """What one kind of deviation covers, over all parameters of some fits."""

    beyond_3: float
    beyond_2: float
    root_mean_square: float
    median: float

    @classmethod
    def of(cls, errors: Sequence[np.ndarray], deviations: Sequence[np.ndarray]) -> Cover:
        """Return what deviations cover of errors, both in units of what is not known before."""
        ratio = np.abs(np.array(errors) / np.array(deviations))
        return cls(
            float(np.mean(ratio > 3.0)),
            float(np.mean(ratio > 2.0)),
            float(np.sqrt(np.mean(ratio**2))),
            float(np.median(deviations)),
        )

    def words(self) -> str:
        """Return it in a line."""
        return (
            f'{100.0 * self.beyond_3:5.1f} % beyond 3, {100.0 * self.beyond_2:5.1f} % beyond 2, '
            f'rms {self.root_mean_square:5.2f}, median {self.median:.3f}'
        )


def tried(
    stretches: Sequence[Stretch], truths: Iterator[ArmDescription], start: ArmDescription
) -> tuple[int, Cover, Cover]:
    """Return how many fits there were, and what claimed and stated deviations cover."""
    rng = np.random.default_rng(0)
    problem = Problem(MODEL, start, (), OPTIONS, INFLATION, np.ones(ARM.n))
    errors, claimed, stated = [], [], []
    for truth in truths:
        theta = parameters(truth)
        samples = with_torques(stretches, theta, rng)
        fit = problem.fit(samples)
        equations = total(one.factors for one in samples).weighted(fit.noise.weights)
        unit = fit.prior.deviations
        errors.append((fit.base.theta - theta)[:B] / unit)
        stated.append(fit.base.deviations[:B] / unit)
        claimed.append(solve(equations, fit.prior, fit.base.regularization).deviations[:B] / unit)
    return len(errors), Cover.of(errors, claimed), Cover.of(errors, stated)


def families(draws: int) -> Iterator[tuple[str, Iterator[ArmDescription], ArmDescription]]:
    """Yield a name, true arms and the starting set."""
    for deviation in (0.03, 0.1, 0.3):
        yield (
            f'drawn around gaz2019 by {deviation:.0%}',
            (draw_plant(ARM, seed, deviation).arm for seed in range(draws)),
            ARM,
        )
    for truth, start in permutations(available_sets('fer'), 2):
        yield f'{truth} from {start}', iter([load('fer', truth)] * 2), load('fer', start)


def main() -> None:
    """Run the fits."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('--draws', type=int, default=20, help='arms of each spread (default: 20)')
    parser.add_argument('--json', type=Path, help='write all figures to this file')
    arguments = parser.parse_args()
    folder = os.environ.get('FRANKA_DYNAMICS_RECORDINGS')
    if not folder:
        parser.error('FRANKA_DYNAMICS_RECORDINGS must name the folder with the two recordings')
    rows = []
    for motion, bag in MOTIONS.items():
        prepared = prepare(
            read_recording(Path(folder) / bag, ARM.joint_names), columns=MODEL.friction.columns
        )
        stretches = [Stretch.of(piece) for (piece,) in split([prepared], OPTIONS.folds)]
        for name, truths, start in families(arguments.draws):
            count, claimed, stated = tried(stretches, truths, start)
            rows.append(
                {
                    'motion': motion,
                    'arms': name,
                    'fits': count,
                    'claimed': asdict(claimed),
                    'stated': asdict(stated),
                }
            )
            print(f'{motion}, {name}, {count} fits', flush=True)
            print(f'    posterior: {claimed.words()}')
            print(f'    stated:    {stated.words()}', flush=True)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(rows, indent=2) + '\n', encoding='utf-8')


if __name__ == '__main__':
    main()
