# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The figures of an identification as data for JSON and as sentences for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from ..identification.bag_job import BagNote
from ..identification.identification_result import Identification, Score
from ..identification.replay import Errors
from ..identification.signal_processing import SignalOptions

# Errors that differ by a smaller part than this are alike.
_EVEN = 0.02


def identification_as_data(result: Identification, bags: Sequence[BagNote],
                           signal: SignalOptions, failures: Sequence[str] = (),
                           ) -> dict[str, Any]:
    """Return all figures of an identification in types that JSON has; SI units."""
    return {
        'arm': result.start.name,
        'starting_set': result.start.inertial_set,
        'hand': result.start.hand,
        'bags': [asdict(one) for one in bags],
        'bags_left_out': list(failures),
        'signal': asdict(signal),
        'options': {**asdict(result.options),
                    'gravity': np.asarray(result.options.gravity).tolist()},
        'scores': [_score(one) for one in result.scores],
        'noise': {'deviation': result.noise.deviation.tolist(),
                  'samples_per_independent_one': result.noise.inflation.tolist(),
                  'of_which_the_filter': result.filter_inflation},
        'pull': {'strength': result.base.strength,
                 'cross_validation': None if result.validation is None else
                 asdict(result.validation)},
        'condition_number': {
            'without_pull': None if result.unregularised is None else
            result.unregularised.condition_number,
            'with_pull': result.base.condition_number},
        'parameters': _parameters(result),
        'not_shown': list(result.not_shown),
        'masses': [link.mass for link in result.consistent.arm.links],
        'consistency_margins': [link.consistency_margin()
                                for link in result.consistent.arm.links],
        'remarks': list(result.remarks),
    }


def _parameters(result: Identification) -> list[dict[str, Any]]:
    start = result.model.base.values(result.start)
    free = result.unregularised
    rows = []
    for i, name in enumerate(result.model.names):
        rows.append({
            'name': name,
            'start': float(start[i]) if i < len(start) else None,
            'without_pull': None if free is None else float(free.theta[i]),
            'without_pull_deviation': None if free is None else float(free.deviations[i]),
            'base': float(result.base.theta[i]),
            'base_deviation': float(result.base.deviations[i]),
            'bias_from_encoder_noise': None if result.bias is None else float(result.bias[i]),
            'consistent': float(result.consistent.theta[i]),
        })
    return rows


def _score(one: Score) -> dict[str, Any]:
    return {'name': one.name, 'train': _errors(one.train), 'test': _errors(one.test),
            'test_unfiltered': _errors(one.test_unfiltered),
            'test_at_other_cutoffs': {f'{cutoff:g}': _errors(errors)
                                      for cutoff, errors in one.other_cutoffs.items()}}


def _errors(errors: Errors) -> dict[str, Any]:
    return {'E': errors.whole, 'joints': errors.joints.tolist()}


def verdict(result: Identification) -> list[str]:
    """Return what a reader must know, one sentence each, the most important first."""
    arm = result.arm_score
    base = next(one for one in result.scores if one.name == 'base parameters')
    sentences = [
        f'On the unseen half the identified arm has E = {arm.test.whole:.3f} N m '
        f'({arm.test_unfiltered.whole:.3f} on unfiltered effort), its base parameters '
        f'{base.test.whole:.3f} N m.']
    if result.published:
        best = min(result.published, key=lambda one: one.test.whole)
        ratio = arm.test.whole / best.test.whole
        judged = ('better' if ratio < 1.0 - _EVEN else 'as good' if ratio <= 1.0 + _EVEN else
                  'NOT better; record a richer motion before using it')
        sentences.append(
            f'The best published set with friction fitted alike, {best.name}, has '
            f'{best.test.whole:.3f} N m there: the identified arm is {judged}.')
    return [*sentences, *_about_the_pull(result)]


def doubts(result: Identification, bags: Sequence[BagNote], failures: Sequence[str]) -> list[str]:
    """Return what looks wrong about the recordings, one sentence each."""
    return [*(f'left out: {failure}' for failure in failures),
            *(f'{one.bag}: {sentence}' for one in bags
              for sentence in (*one.suspicions, *one.remarks)),
            *result.remarks]


def _about_the_pull(result: Identification) -> list[str]:
    strength, start = result.base.strength, result.start.inertial_set
    chosen = ('by cross-validation within the training half' if result.validation is not None
              else 'by hand')
    free = result.unregularised
    reason = ('the motion alone does not determine every parameter' if free is None else
              f'without it the condition number is {free.condition_number:.0f}')
    sentences = [
        f'No pull towards {start} was chosen ({chosen}).' if strength == 0.0 else
        f'The parameters are pulled towards {start} with strength {strength:.3g}, chosen '
        f'{chosen}: {start} counts as known to {strength**-0.5:.0%} ({reason}).']
    if result.not_shown:
        sentences.append(
            f'This motion tells little or nothing about {len(result.not_shown)} of '
            f'{len(result.model.base)} base parameters, which stay near {start}: '
            f'{", ".join(result.not_shown)}. {advice(result.not_shown)}')
    return sentences


def advice(names: Sequence[str]) -> str:
    """Return what motion would show base parameters, by their names."""
    symbols = {name.split('_')[0].removesuffix('R') for name in names}
    joints = sorted({int(name.rpartition('_')[2]) for name in names})
    listed = ', '.join(map(str, joints))
    said = []
    if symbols & {'XX', 'XY', 'XZ', 'YY', 'YZ', 'ZZ', 'Ia'}:
        said.append(f'Faster motion with more acceleration of the joints up to {joints[-1]} '
                    f'shows inertias of links {listed}')
    if symbols & {'mX', 'mY', 'mZ', 'm'}:
        said.append(f'poses in which links {listed} are tilted differently against gravity show '
                    'first moments')
    return '; '.join(said) + '.' if said else ''
