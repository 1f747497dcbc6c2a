# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The results of an identification as sentences, tables, figures, JSON and an HTML page."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from . import elements
from .elements import (
    Cell,
    headers,
    MEASURED_COLOR,
    PREDICTED_COLOR,
    Table,
    to_json_types,
)
from .replay import mass_ambiguity_sentences, verdict_headline, verdict_lines
from ..arm.arm_file import is_franka_arm
from ..arm.friction import LinearFriction
from ..errors import plural
from ..identification.options import MAX_MASS_RATIO
from ..identification.results import (
    added_gravity_sentence,
    Identification,
    load_friction_sentence,
    MIN_IMPROVEMENT_RATIO,
)
from ..identification.tracking import FRANKA_ROS2_GAINS
from ..recordings.preprocessing import Motion

# Former keys of the JSON, until release `elements.FORMER_KEYS_UNTIL`, and those in their place.
FORMER_KEYS = {'scores': 'torque_errors'}
# Why links are poorly known, by the first letter of the parameters that the motion leaves open.
_POORLY_KNOWN_REASONS = {
    'XYZI': 'they turn too slowly to show all their inertia',
    'm': 'they are never tilted enough against gravity',
    'f': 'their joints hardly move, so that friction is not seen',
}
_PLOT_COLUMN_COUNT = 4  # of joints in the figure of friction


def identification_as_data(result: Identification) -> dict[str, Any]:
    """Return an identification as data for JSON, errors E in `result.error_unit`, others in SI."""
    recordings = result.recordings
    estimate = result.estimate
    heads = 'name', 'start', 'base', 'base_deviation', 'consistent'
    data = {
        'arm': result.start.name,
        'starting_set': result.start.inertial_set,
        'hand': result.start.hand,
        'recordings': recordings.notes,
        'unusable': recordings.failures,
        'signal': recordings.signal,
        'options': result.options,
        'torque_errors': result.torque_errors,
        'load_independent_errors': result.load_independent_errors,
        'improvement': result.improvement,
        'verdict': {
            **to_json_types(result.verdict),
            'sound': result.verdict.sound,
            'accepted': result.accepted,
            'published_inertias_kept': result.keeps_published_inertias,
            'sentences': [
                *_verdict_sentences(result),
                *open_question_sentences(result),
            ],
        },
        'prior': {
            'precision': result.options.regularization,
            'supported': estimate.precision,
        },
        'parameters': [dict(zip(heads, row)) for row in _parameter_rows(result)],
        'left_open': dict(zip(estimate.model.parameter_names, estimate.std_to_prior_ratios)),
        'slip_reaches_rad': estimate.model.friction.slip_reaches,
        'residual_of_recordings': dict(zip(recordings.names, recordings.errors)),
        'unseen_recordings': recordings.names[len(recordings.names) - recordings.test_count :],
        'masses': [link.mass for link in result.arm.links],
        'remarks': recordings.remarks,
    }
    return data | {old: data[key] for old, key in FORMER_KEYS.items()}


def _parameter_rows(result: Identification) -> list[tuple[Any, ...]]:
    """Return rows of a parameter's name, start or None, estimate, deviation, consistent value."""
    found = result.estimate
    names = found.model.parameter_names
    start = found.model.base.values(result.start)
    starts = [*start, *[None] * (len(names) - len(start))]
    return list(zip(names, starts, found.unconstrained_theta, found.std, found.theta))


def _verdict_sentences(result: Identification) -> list[str]:
    """Return the verdict's sentences on faults of the recordings."""
    scale = result.options.effort_scales(result.estimate.model.n)
    return verdict_lines(result.verdict, result.start.joint_names, scale)


def conclusion_text(result: Identification) -> str:
    """Return sentences on faults of recordings, and whether the identified arm predicts better."""
    unit = result.error_unit
    own = result.arm_errors.test
    gained = result.improvement
    worst = int(np.argmax(own.per_joint))
    worst_unit = result.start.joints[worst].kind.effort_unit
    best = result.best_published_errors
    judged = 'better' if gained.better else f'NOT better {_missed_improvement_text(result)}'
    where = _test_data_phrase(result)
    sentences = [
        verdict_headline(result.verdict),
        f'{where} the identified arm has E = {own.E:.3f} {unit} over all joints, '
        f'{own.E / result.recordings.effort_rms.E:.1%} of the efforts; '
        f'{result.start.joint_names[worst]} is worst, '
        f'{own.per_joint[worst]:.3f} {worst_unit}. The best '
        f'published set, {best.name}, has {best.test.E:.3f} {unit} with friction fitted '
        f'alike: the identified arm is {judged}.',
    ]
    return ' '.join(one for one in sentences if one)


def _missed_improvement_text(result: Identification) -> str:
    """Return why the arm is not better, by how much E had to fall, as a sentence's end."""
    gained = result.improvement
    why = f'by as much as {MIN_IMPROVEMENT_RATIO:.0%}'
    if gained.reduction > gained.min_reduction:
        why = f'by more than the spread between parts, {gained.spread:.3f} {result.error_unit}'
    if not result.verdict.sound:
        return why
    if not result.keeps_published_inertias:
        return f'{why}: the published set already explains the recordings, nothing to gain'
    kept = result.published_fit
    unit = result.error_unit
    return (
        f'{why}, but its friction is kept: beside the inertias of {kept.errors.name} it lowers E '
        f'from {kept.errors.frictionless.E:.3f} to {kept.errors.test.E:.3f} {unit}'
    )


def tracking_error_sentence(result: Identification) -> str:
    """Return a sentence on a PD controller's predicted tracking error of a Franka arm, else ''."""
    kp, _ = FRANKA_ROS2_GAINS
    if not is_franka_arm(result.start.name) or result.start.n != len(kp):
        return ''
    rigid, whole = (
        1e3 * float(np.sqrt(np.mean((one.per_joint / kp) ** 2)))
        for one in (result.saved_errors.frictionless, result.saved_errors.test)
    )
    where = _test_data_phrase(result)
    return (
        f"{where} a PD with franka_ros2's gains and a velocity reference would keep "
        f'{rigid:.2g} mrad with this C dq + M ddq, and {whole:.2g} mrad with this friction, too '
        '(terms.friction, before its margin), a prediction. Other gains: bag replay --gains.'
    )


def detail_sentences(result: Identification) -> Iterator[str]:
    """Yield sentences on recordings' faults and remarks, masses, and the hand."""
    if result.options.add_gravity:
        yield f'Efforts came without gravity: {added_gravity_sentence(result)}.'
    if load := load_friction_sentence(result):
        yield f'{load[0].upper()}{load[1:]}.'
    yield from _verdict_sentences(result)
    yield from _mass_ratio_sentences(result)
    yield from (f'left out: {failure}' for failure in result.recordings.failures)
    for one in result.recordings.notes:
        for sentence in (*one.warnings, *one.remarks):
            yield (sentence if sentence.startswith(one.name) else f'{one.name}: {sentence}')
    yield from result.recordings.remarks
    yield from _other_hand_sentences(result)


def open_question_sentences(result: Identification) -> Iterator[str]:
    """Yield sentences on what the recordings leave open: efforts' scale, a load, joints, links."""
    yield from mass_ambiguity_sentences(result.verdict, result.start.joint_names)
    yield from _poorly_known_link_sentences(result)


def _mass_ratio_sentences(result: Identification) -> Iterator[str]:
    """Yield a sentence on any links fitted far heavier or lighter, unless a fault is named."""
    doubted = result.outlying_mass_ratios
    if doubted and not result.verdict.causes:
        ratios = ', '.join(f'{one:.2g}' for one in doubted.values())
        yield (
            "Are the starting set's masses right? The fit makes "
            f'{plural(len(doubted), "link")} {", ".join(map(str, doubted))} {ratios} times as '
            f'heavy ({MAX_MASS_RATIO:g} times at most). Correct them, take another --set, or plan '
            'a motion that shows them.'
        )


def _other_hand_sentences(result: Identification) -> Iterator[str]:
    """Yield a sentence if published sets with another hand predict the recordings better."""
    if result.better_hand_errors is not None:
        best, own = result.better_hand_errors
        yield (
            f'Is another hand mounted? {best.name} predicts these recordings better (E = '
            f'{best.test.E:.3f} {result.error_unit}) than every set with the hand '
            f'{result.start.hand} ({own.test.E:.3f} {result.error_unit}). Name the mounted '
            'hand by --hand.'
        )


def _test_data_phrase(result: Identification) -> str:
    """Return the beginning of a sentence on E, such as 'On 2 unseen bags, learnt from 5,'."""
    unseen = result.recordings.test_count
    count = len(result.recordings.names)
    if unseen:
        bags = plural(unseen, 'bag')
        return f'On {unseen} unseen {bags}, learnt from {count - unseen},'
    return f'On {len(result.arm_errors.fold_errors)} parts, each predicted from the others,'


def _poorly_known_link_sentences(result: Identification) -> Iterator[str]:
    """Yield a sentence on the links whose parameters the motion leaves open, if any, and why."""
    opened = result.estimate.poorly_known_names
    links = sorted({int(name.rpartition('_')[2]) for name in opened})
    letters = {name[0] for name in opened}
    why = [text for kinds, text in _POORLY_KNOWN_REASONS.items() if letters & set(kinds)]
    if opened:
        yield (
            f'{plural(len(links), "Link")} {", ".join(map(str, links))} '
            f'{"are" if len(links) > 1 else "is"} poorly known, because {" and ".join(why)}. '
            '`identify plan --given` plans a motion that shows them.'
        )


def identification_tables(result: Identification) -> list[Table]:
    """Return tables of errors by set, joint, part and recording, and of links; no one-row ones."""
    sets = result.torque_errors
    unit = result.error_unit
    names = result.start.joint_names
    best = result.best_published_errors
    own = result.arm_errors.test
    recordings = result.recordings
    title = (
        f'E over all joints [{unit}], friction of published sets fitted to the same data; rigid '
        'alone: without friction and offset'
    )
    heads = headers(('all data', 'unseen', 'rigid alone'), '.3f')
    errors = [(k.name, k.train.E, Cell(k.test.E, 'strong'), k.frictionless.E) for k in sets]
    found = [Table(title, ['parameters', *heads], errors)]
    effort_unit = elements.effort_unit_text(result.start)
    title = f'root mean square per joint on unseen data [{effort_unit}], {names[0]} to {names[-1]}'
    heads = headers(map(str, range(1, len(names) + 1)), '.2f')
    joints = [(one.name, *one.test.per_joint) for one in sets]
    efforts = recordings.effort_rms.per_joint
    shares = own.per_joint / np.where(efforts > 0.0, efforts, np.nan)
    joints.append(('identified, part of the effort', *shares))
    found.append(Table(title, ['parameters', *heads], joints))
    parts = [(f'{k}', *e) for k, e in enumerate(zip(sets[1].fold_errors, best.fold_errors), 1)]
    heads = headers(('identified', best.name), '.3f')
    found.append(Table(f'E on each left-out part [{unit}]', ['left out', *heads], parts))
    title = f'E of the identified arm on each recording [{unit}]'
    rows = [*zip(recordings.names, recordings.errors)]
    found.append(Table(title, ['recording', *headers(['E'], '.3f')], rows))
    links = [
        (f'{k}', start.mass, link.mass, *(link.center_of_mass - start.center_of_mass))
        for k, (start, link) in enumerate(zip(result.start.links, result.arm.links), 1)
    ]
    heads = headers(('mass at the start', 'identified'), '.3f', 'kg')
    heads += headers((f'centre moved in {axis}' for axis in 'xyz'), '.3f', 'm')
    found.append(Table('links', ['link', *heads], links))
    return [one for one in found if len(one.rows) > 1]


def parameter_table(result: Identification) -> Table:
    """Return a table of parameters' start, estimate, standard deviation and consistent value."""
    numbers = headers(('start', 'base', 'deviation', 'consistent'), '.4g')
    title = 'base parameters and friction'
    rows = _parameter_rows(result)
    return Table(title, ['parameter', *numbers], rows)


def identification_page(result: Identification, motions: Iterable[tuple[str, Motion]] = ()) -> str:
    """
    Return an identification as an HTML page with plots of torques and friction per motion.

    `motions` are pairs (name, motion); an iterator need not hold all motions in memory.
    """
    good = result.verdict.sound and (result.improvement.better or result.keeps_published_inertias)
    parts: list[str | Table] = [
        elements.paragraph_html(conclusion_text(result), 'good' if good else 'bad'),
        elements.paragraph_html(tracking_error_sentence(result)),
        *(elements.paragraph_html(line, 'warning') for line in detail_sentences(result)),
        *(elements.paragraph_html(line) for line in open_question_sentences(result)),
        *identification_tables(result),
        elements.heading_html('Torques and friction'),
        *(one for name, motion in motions for one in _motion_pictures(result, motion, name)),
        elements.heading_html('Base parameters'),
        elements.picture_html(parameter_figure(result), 'base parameters, 2 standard deviations'),
        parameter_table(result),
        elements.heading_html('How'),
        elements.paragraph_html(_method_sentence(result)),
    ]
    return elements.html_page(f'Identification of {result.start.name}', parts)


def _method_sentence(result: Identification) -> str:
    """Return sentences on how signals were filtered, and how many parameters were fitted."""
    signal = result.recordings.signal
    model = result.estimate.model
    return (
        f'Signals at {signal.rate:g} Hz, zero-phase second-order Butterworth at '
        f'{signal.cutoff:g} Hz on position, velocity and effort, {signal.trim:g} s trimmed; '
        f'{len(model.base)} base parameters (Gautier and Khalil 1990) and '
        f'{len(model.friction.parameter_names)} friction parameters. The documentation (Theory, '
        'Identification) explains the fit, its bounds and the standard deviations.'
    )


def _motion_pictures(result: Identification, motion: Motion, name: str) -> Iterator[str]:
    """Yield pictures of a motion's measured and predicted torques, and of its friction."""
    predicted = result.estimate.model.torque(motion, result.saved_theta)
    joints = result.start.joint_names
    arm = 'published, friction identified' if result.keeps_published_inertias else 'identified'
    units = elements.effort_units(result.start)
    torques = elements.torque_figure(motion, predicted, arm, joints, name, units)
    yield elements.picture_html(torques, f'measured and predicted torques of {name}')
    yield elements.picture_html(friction_figure(result, motion, name), f'friction of {name}')


def friction_figure(result: Identification, motion: Motion, name: str) -> Any:
    """
    Return a figure of each joint's friction torque over its velocity.

    Points are the measured torques less those of the accepted arm's rigid bodies. The curve is
    its friction while the joint slides, under the motion's mean load, the band twice its standard
    deviation.
    """
    model = result.estimate.model
    arm = result.accepted_arm or result.arm
    friction = arm.friction
    own = len(model.base)
    assert isinstance(friction, LinearFriction)
    bodies = np.append(result.saved_theta[:own], np.zeros(len(model.friction.parameter_names)))
    rest = motion.effort - model.torque(motion, bodies)
    speeds = np.linspace(-1.0, 1.0, 401)[:, None] * np.abs(motion.dq).max(axis=0)
    load = np.abs(motion.effort - rest).mean(axis=0)
    curve = friction.torque(speeds, rigid_torque=load)
    spread = friction.torque_std(friction.terms(speeds, rigid_torque=load))
    rows = -(-model.n // _PLOT_COLUMN_COUNT)
    figure = elements.figure_of_size((12.0, 2.4 * rows + 0.6))
    axes = [*figure.subplots(rows, _PLOT_COLUMN_COUNT, squeeze=False).flat]
    for i, (axis, joint) in enumerate(zip(axes, result.start.joint_names)):
        axis.plot(
            motion.dq[:, i],
            rest[:, i],
            '.',
            color=MEASURED_COLOR,
            ms=2,
            label='measured',
        )
        axis.plot(
            speeds[:, i],
            curve[:, i],
            color=PREDICTED_COLOR,
            label='identified, sliding',
        )
        low, high = ((curve + sign * 2.0 * spread)[:, i] for sign in (-1.0, 1.0))
        band = {'color': PREDICTED_COLOR, 'alpha': 0.3, 'label': 'two deviations'}
        axis.fill_between(speeds[:, i], low, high, **band)
        axis.set_title(joint, fontsize=9)
        axis.tick_params(labelsize=8)
        axis.grid(alpha=0.25)
    for axis in axes[model.n :]:
        axis.set_axis_off()
    units = {joint.kind.position_unit: joint.kind.effort_unit for joint in result.start.joints}
    velocities = ' or '.join(f'{unit}/s' for unit in units)
    figure.supxlabel(f'velocity [{velocities}]', fontsize=9)
    figure.supylabel(f'friction torque [{" or ".join(units.values())}]', fontsize=9)
    figure.legend(*axes[0].get_legend_handles_labels(), loc='outside upper right', ncols=3)
    figure.suptitle(name, x=0.01, ha='left', fontsize=11)
    return figure


def parameter_figure(result: Identification) -> Any:
    """Return a figure of base parameters' changes from the start, with standard deviations."""
    model = result.estimate.model
    estimate = result.estimate
    count = len(model.base)
    start = model.base.values(result.start)
    names = np.array(model.parameter_names[:count])
    first_moments = np.char.startswith(names, 'm')
    figure = elements.figure_of_size((12.0, 6.0))
    panels = (
        ('first moments [kg m]', first_moments),
        ('inertias [kg m²]', ~first_moments),
    )
    for axis, (what, which) in zip(figure.subplots(2), panels):
        change = estimate.unconstrained_theta[:count] - start
        places = np.arange(which.sum())
        bars = {'fmt': 'o', 'color': PREDICTED_COLOR, 'capsize': 3}
        bars['label'] = 'by the recordings, with two standard deviations'
        axis.errorbar(places, change[which], 2.0 * estimate.std[:count][which], **bars)
        consistent = (estimate.theta[:count] - start)[which]
        axis.plot(places, consistent, 'x', color=MEASURED_COLOR, label='of the identified arm')
        axis.axhline(0.0, color='#aaaaaa', lw=0.6)
        axis.set_xticks(places, names[which], rotation=90, fontsize=8)
        axis.set_ylabel(what)
        axis.grid(alpha=0.25)
    figure.legend(*axis.get_legend_handles_labels(), loc='outside upper right', ncols=2)
    figure.suptitle('change from the starting set', x=0.01, ha='left', fontsize=11)
    return figure
