# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The results of an identification as sentences, tables and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .diagnosis import cause_and_fix, diagnosis_lines
from .elements import plus_minus, rounded
from .replay import errors_as_data
from .table import Cell, Head, plain, Table
from ..identification.effort_scale import SCALE_NOT_SHOWN
from ..identification.joint_scale import NOT_SHOWN
from ..identification.results import Identification
from ..identification.samples import BY_BAG
from ..identification.scoring import Score
from ..identification.verdict import LEAST_GAIN, Verdict

_NAMES = 5  # largest number of names in a sentence


def identification_as_data(result: Identification) -> dict[str, Any]:
    """Return the results in JSON's types: E, also by bag, in `result.unit`, the rest in SI."""
    fit, links = result.fit, result.arm.links
    bags, unseen = result.recorded.bags, result.recorded.unseen_bags
    data = {
        'arm': result.start.name,
        'starting_set': result.start.inertial_set,
        'hand': result.start.hand,
        'bags': result.recorded.notes,
        'bags_left_out': result.recorded.failures,
        'signal': result.recorded.signal,
        'options': result.options,
        'scores': [_score(one) for one in result.scores],
        'noise': {
            'deviation': fit.noise.deviation,
            'samples_per_independent_one': fit.noise.inflation,
        },
        'prior': {
            'strength': result.consistent.regularization,
            'shown_precision': fit.precision,
        },
        'condition_number': {
            'without_prior': None
            if result.unregularised is None
            else result.unregularised.condition_number,
            'with_prior': result.base.condition_number,
        },
        'parameters': [
            dict(zip(('name', 'start', 'without_prior', 'without_prior_deviation'), row[:4]))
            | dict(zip(('base', 'base_deviation', 'consistent'), row[4:]))
            for row in _parameters(result)
        ],
        'not_shown': result.not_shown,
        'slip_reaches_rad': result.model.friction.reaches,
        'effort_scale': result.effort_scale,
        'effort_scale_relative_deviation': fit.scale.deviation,
        'verdict': {
            **plain(result.verdict),
            'better': result.verdict.better,
            'accepted': result.accepted,
        },
        'diagnosis': {
            'times_the_normal_residual': result.diagnosis.times,
            'sound': result.diagnosis.sound,
            'gains': result.diagnosis.gains,
            'fault': result.diagnosis.fault,
            'rotors': result.diagnosis.rotors,
            'sentences': diagnosis_lines(result),
        },
        'residual_of_bags': dict(bags),
        'unseen_bags': [name for name, _ in bags[len(bags) - unseen :]],
        'contradictions': result.contradictions,
        'masses': [link.mass for link in links],
        'consistency_margins': [link.consistency_margin() for link in links],
        'remarks': result.remarks,
    }
    return {key: plain(value) for key, value in data.items()}


def _parameters(result: Identification) -> list[tuple[Any, ...]]:
    """
    Return one row per base parameter and friction parameter.

    A row has the name, the starting value, the estimate without a prior and its standard
    deviation, the estimate with the prior and its standard deviation, and the consistent arm's
    value.
    """
    start, free, base = result.model.base.values(result.start), result.unregularised, result.base
    return [
        (
            name,
            float(start[i]) if i < len(start) else None,
            None if free is None else float(free.theta[i]),
            None if free is None else float(free.deviations[i]),
            float(base.theta[i]),
            float(base.deviations[i]),
            float(result.consistent.theta[i]),
        )
        for i, name in enumerate(result.model.names)
    ]


def _score(one: Score) -> dict[str, Any]:
    return {
        'name': one.name,
        'train': errors_as_data(one.train),
        'test': errors_as_data(one.test),
        'test_without_friction': errors_as_data(one.test_rigid),
        'test_with_friction_of_the_unseen': errors_as_data(one.test_inertias),
        'test_unfiltered': errors_as_data(one.test_unfiltered),
        'parts': [
            {
                'name': part.name,
                'samples': part.samples,
                'E': part.error,
                'E_without_friction': part.rigid_error,
            }
            for part in one.parts
        ],
    }


def headline(result: Identification) -> str:
    """
    Return any fault of the recordings and the verdict as sentences.

    They include E of the identified arm and of the best published set on unseen data.
    """
    unit = result.unit
    own, worst = result.arm_score.test, int(np.argmax(result.arm_score.test.joints))
    sentence = (
        f'The identified arm predicts unseen torques with an error of {own.whole:.3f} {unit} '
        f'over all joints; {result.start.joint_names[worst]} is worst, {own.joints[worst]:.3f} N m'
    )
    best = _best(result)
    if best is not None:
        sentence += f'. The best published set, {best.name}, reaches {best.test.whole:.3f} {unit}'
    judged = f'{sentence}: the identified arm is {"" if result.verdict.better else "NOT "}better.'
    if result.diagnosis.sound:
        return judged
    return f'The recordings are NOT sound. {" ".join(cause_and_fix(result))} {judged}'


def verdict(result: Identification) -> list[str]:
    """Return the conclusions as sentences, the most important conclusion first."""
    arm, said, unit = result.arm_score, result.verdict, result.unit
    sentences = [
        f'{_left_out(result)} the identified arm has E = {arm.test.whole:.3f} {unit} '
        f'({arm.test_unfiltered.whole:.3f} on unfiltered effort), without its friction and offset '
        f'{arm.test_rigid.whole:.3f} {unit}.'
    ]
    best = _best(result)
    if best is not None:
        sentences.append(
            f'The best published set with friction fitted in the same way, {said.best}, has '
            f'{best.test.whole:.3f} {unit} there: the identified arm is '
            f'{_judged(result, said)}.'
        )
    # Friction is not blamed if the bags contradict each other, the model lacks rotor inertias or
    # the recordings are not sound: other sentences report these likelier causes.
    explained_already = (
        result.contradictions or result.diagnosis.rotors or not result.diagnosis.sound
    )
    if not said.inertias_hold and not explained_already:
        sentences.append(
            'With friction fitted to the unseen data, the identified inertias are NOT as good as '
            f'those of {result.start.inertial_set} (E = {said.inertias:.3f} against '
            f'{said.start_inertias:.3f} {unit}): friction or offset may have absorbed part of '
            'gravity. Record a motion that turns every joint to and fro.'
        )
    return [
        *sentences,
        *_about_the_scale(result),
        *_about_joint_scales(result),
        *_about_the_prior(result),
    ]


def _best(result: Identification) -> Score | None:
    """Return the score of the best published set; None if no published set was scored."""
    return next((one for one in result.published if one.name == result.verdict.best), None)


def _about_the_scale(result: Identification) -> list[str]:
    """Return sentences on identified effort scales [N m/A], and on those too uncertain to use."""
    if not result.options.scale_unknown:
        return []
    names, start = result.start.joint_names, result.start.inertial_set
    scale, deviation = result.effort_scale, result.fit.scale.deviation
    hidden = [name for name, part in zip(names, deviation) if part > SCALE_NOT_SHOWN]
    figures = ', '.join(
        f'{name} {value:.4g} ({"not shown" if part > SCALE_NOT_SHOWN else f"{part:.0%}"})'
        for name, value, part in zip(names, scale, deviation)
    )
    sentences = [
        f'N m per A of motor current, with the standard deviation relative to the other joints: '
        f'{figures}.',
        'Currents do not determine the common factor of all scales. It is taken from the inertias '
        f'of {start}: if those are 10% too large, so are these scales, every mass and every N m '
        'here. Give known scales with --effort-scale where that matters.',
    ]
    if hidden:
        sentences.append(
            f'The motion does not show the scale of {shown_names(hidden)}: it is held at the '
            'median of the other joints. Torques of these joints are right in amperes only.'
        )
    return sentences


def _about_joint_scales(result: Identification) -> list[str]:
    """Return sentences on how wrong a joint's effort scale could be without being noticed."""
    if result.options.scale_unknown or not result.diagnosis.sound:
        return []  # a fault's residuals would give too large factors
    names, tried = result.start.joint_names, result.diagnosis.gains
    gains = [one for one in tried if one.deviation <= NOT_SHOWN]
    # If rotor inertias are identified, the fit uses the effort of every joint, also of joints
    # whose effort scale the motion does not determine.
    uncertain = [names[one.joints[0]] for one in tried if one.deviation > NOT_SHOWN]
    used = {one.joints[0] for one in tried}
    hidden = [name for joint, name in enumerate(names) if joint not in used]
    sentences = []
    if gains:
        # A wrong effort scale (gain) is reported only if |log(estimate)| is at least `least`. If
        # this logarithm errs by less than `least`, a gain whose true |log| is twice `least` is
        # reported.
        factors = [np.exp(2.0 * one.least) for one in gains]
        coarse = gains[int(np.argmax(factors))].joints[0]
        other = (
            f', at {names[coarse]} only from {max(factors):.2f} on'
            if max(factors) - min(factors) > 0.005
            else ''
        )
        sentences.append(
            "A wrong scale of one joint's effort (unit, gear, torque constant) would be "
            f'noticed from a factor of {min(factors):.2f} on{other}; the table of scales shows '
            'how well this motion determines each.'
        )
    if uncertain:
        sentences.append(
            f'The motion does not show the scale of {shown_names(uncertain)}: a wrong one may '
            'go unnoticed.'
        )
    if hidden:
        sentences.append(
            f'The motion does not show the scale of {shown_names(hidden)}, where weight and '
            'inertia make little torque beside friction: inertias are estimated without it, and '
            'its friction is right only if its effort is in N m.'
        )
    return sentences


def _left_out(result: Identification) -> str:
    """Return the beginning of a sentence on E: the bags or stretches that the fits did not use."""
    unseen, bags = result.recorded.unseen_bags, len(result.recorded.bags)
    if unseen:
        return f'On {unseen} unseen bag{"s" * (unseen > 1)}, learnt from {bags - unseen},'
    parts = len(result.arm_score.parts)
    what = 'stretches' if bags < BY_BAG else 'bags' if bags == parts else 'groups of bags'
    return f'On {parts} {what}, each predicted from the others,'


def _judged(result: Identification, said: Verdict) -> str:
    gain, spread = rounded(abs(said.gain), said.spread)
    unit = result.unit
    less = 'smaller' if said.gain >= 0.0 else 'larger'
    figures = f'its E is {gain} {unit} {less} on average, spread {spread} {unit}'
    # Of several reasons against the identified arm only one is reported.
    enough = not said.lost and said.gain > said.spread
    if result.contradictions:
        richer = 'the bags contradict each other, as the warning above says'
    elif result.diagnosis.rotors is not None or not result.diagnosis.sound:
        richer = 'the warnings above say why'
    elif enough:
        richer = 'stay with the published set'
    else:
        richer = 'record a richer motion before using it'
    if said.better:
        return f'better ({figures})'
    if said.lost:
        reason = f', because it is worse on {shown_names(said.lost)}'
    elif said.gain > max(said.spread, said.least):
        reason = ", because its inertias predict worse than the starting set's"
    elif said.gain > said.spread:
        reason = f' by as much as {LEAST_GAIN:.0%}, or {said.least:.3f} {unit}'
    else:
        reason = ' by more than the spread'
    return f'NOT better{reason} ({figures}); {richer}'


def shown_names(names: Sequence[str]) -> str:
    """Return the first five names as a string, ending with the number of others, if any."""
    more = f' and {len(names) - _NAMES} more' if len(names) > _NAMES else ''
    return ', '.join(names[:_NAMES]) + more


def warning_lines(result: Identification) -> list[str]:
    """Return warnings: unusable or doubtful bags, contradictions, likely faults, remarks."""
    return [
        *(f'left out: {failure}' for failure in result.recorded.failures),
        *(
            sentence if sentence.startswith(one.bag) else f'{one.bag}: {sentence}'
            for one in result.recorded.notes
            for sentence in (*one.suspicions, *one.remarks)
        ),
        *result.contradictions,
        *diagnosis_lines(result),
        *result.remarks,
    ]


def _about_the_prior(result: Identification) -> list[str]:
    regularization, start = result.consistent.regularization, result.start.inertial_set
    precision = result.fit.precision
    free = result.unregularised
    reason = (
        'the motion alone does not determine every parameter'
        if free is None
        else f'without it the condition number is {free.condition_number:.0f}'
    )
    sentences = [
        f'The prior on inertias is {start}, known to {_part(regularization)} (precision '
        f'{regularization:.3g}; {reason}). The standard deviations assume that it is known to '
        f'{_part(min(regularization, precision.masses))} in masses and centres of mass and '
        f'to {_part(min(regularization, precision.inertias))} in inertias about them: the '
        "largest errors that still agree with these torques, but at least the prior's."
    ]
    if result.not_shown:
        sentences.append(
            f'This motion determines {len(result.not_shown)} of {len(result.model.base)} base '
            f'parameters poorly or not at all; they stay near {start}: '
            f'{", ".join(result.not_shown)}. {advice(result.not_shown)}'
        )
    return sentences


def _part(precision: float) -> str:
    """Return 1 / sqrt(precision), the relative standard deviation of a prior, in percent."""
    part = precision**-0.5
    return f'{part:.0%}' if part > 0.01 else f'{100.0 * part:.1g}%'


def advice(names: Sequence[str]) -> str:
    """Return advice on motions that would determine the named base parameters."""
    symbols = {name.split('_')[0].removesuffix('R') for name in names}
    joints = sorted({int(name.rpartition('_')[2]) for name in names})
    listed = ', '.join(map(str, joints))
    said = []
    if symbols & {'XX', 'XY', 'XZ', 'YY', 'YZ', 'ZZ', 'Ia'}:
        said.append(
            f'Faster motion with more acceleration of the joints up to {joints[-1]} '
            f'shows inertias of links {listed}'
        )
    if symbols & {'mX', 'mY', 'mZ', 'm'}:
        said.append(
            f'poses in which links {listed} are tilted differently against gravity show '
            'first moments'
        )
    return '; '.join(said) + '.' if said else ''


def tables(result: Identification) -> list[Table]:
    """Return tables of errors by set, joint, left-out data and bag, and of effort over torque."""
    best, scores, unit = _best(result), result.scores, result.unit
    names = result.start.joint_names

    def heads(*names: str, form: str = '.3f') -> list[Head]:
        return [Head(name, form=form) for name in names]

    found = [
        Table(
            f'E over all joints [{unit}], friction of published sets fitted to the same data; '
            'rigid alone: without friction and offset',
            ['parameters', *heads('all data', 'unseen', 'rigid alone', 'unfiltered')],
            [
                (
                    one.name,
                    one.train.whole,
                    Cell(one.test.whole, 'strong'),
                    one.test_rigid.whole,
                    one.test_unfiltered.whole,
                )
                for one in scores
            ],
        ),
        Table(
            f'root mean square per joint on unseen data [N m], {names[0]} to {names[-1]}',
            ['parameters', *heads(*(f'{k}' for k in range(1, len(names) + 1)), form='.2f')],
            [(one.name, *one.test.joints) for one in scores],
        ),
        Table(
            f'E on each left-out part [{unit}]',
            ['left out', *heads('identified', 'rigid alone', result.verdict.best or '-')],
            [
                (own.name, own.error, own.rigid_error, best and best.parts[k].error)
                for k, own in enumerate(result.arm_score.parts)
            ],
        ),
    ]
    gains = {one.joints[0]: one for one in result.diagnosis.gains if one.deviation <= NOT_SHOWN}
    if gains:
        each = [gains.get(joint) for joint in range(len(names))]
        found.append(
            Table(
                'recorded effort over torque, fitted with the neighbours (1: right), '
                f'{names[0]} to {names[-1]}',
                ['', *heads(*(f'{k}' for k in range(1, len(names) + 1)), form='.2f')],
                [
                    ('scale', *(one and one.values[0] for one in each)),
                    ('one standard deviation', *(one and one.spread for one in each)),
                ],
            )
        )
    if len(result.recorded.bags) > 1:
        found.append(
            Table(
                f'residual of each bag under the final fit to all of them [{unit}]',
                ['bag', *heads('root mean square')],
                result.recorded.bags,
            )
        )
    return found


def parameter_table(result: Identification) -> Table:
    """Return a table of base and friction parameters with their standard deviations."""
    meanings = [str(one) for one in result.model.base.relations]
    rows = []
    for i, (name, start, free, spread, base, deviation, arm) in enumerate(_parameters(result)):
        rows.append(
            (
                meanings[i] if i < len(meanings) else name,
                start,
                None if free is None else plus_minus(free, spread),
                plus_minus(base, deviation),
                rounded(arm, deviation)[0],
            )
        )
    return Table(
        'kg m², kg m, kg; friction N m s/rad, N m, N m; ± one standard deviation',
        ['parameter', Head('start', form='.4g'), 'without prior', 'base parameters', 'consistent'],
        rows,
    )
