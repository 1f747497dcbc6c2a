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
)
from .json_types import to_json_types
from .verdict import mass_ambiguity_sentences, verdict_headline, verdict_lines
from ..arm.arm_file import is_franka_arm
from ..arm.friction import LinearFriction
from ..arrays import Array
from ..errors import plural
from ..fit.options import MAX_MASS_RATIO
from ..fit.result_parts import MIN_IMPROVEMENT_RATIO
from ..identification.arm_text import added_gravity_sentence, load_friction_sentence
from ..identification.results import Identification
from ..recordings.preprocessing import Motion
from ..tracking.tracking import FRANKA_ROS2_GAINS

# Why links are poorly known, by the first letter of the parameters that the motion leaves open.
_POORLY_KNOWN_REASONS = {
    'XYZI': 'they turn too slowly to show all their inertia',
    'm': 'they are never tilted enough against gravity',
    'f': 'their joints hardly move, so that friction is not seen',
}
_MIN_TOLD_CONSTRAINT_COST = 0.02
_PLOT_COLUMN_COUNT = 4  # of joints in the figure of friction


def identification_as_data(result: Identification) -> dict[str, Any]:
    """Return an identification as data for JSON, errors E in `result.error_unit`, others in SI."""
    recordings = result.recordings
    estimate = result.estimate
    parameter_names = estimate.model.parameter_names
    parameter_keys = 'name', 'start', 'base', 'base_deviation', 'consistent'
    data = {
        'arm': result.start.name,
        'starting_set': result.start.inertial_set,
        'hand': result.start.hand,
        'recordings': recordings.notes,
        'unusable': recordings.failures,
        'signal': recordings.signal,
        'options': result.options,
        'torque_errors': result.torque_errors,
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
            'precision': estimate.prior.widths.regularization,
            'widths': estimate.prior.widths,
            'fixed': result.options.fixed_widths,
            'supported': estimate.precision,
        },
        'parameters': [dict(zip(parameter_keys, row)) for row in _parameter_rows(result)],
        'left_open': dict(zip(parameter_names, estimate.std_to_prior_ratios)),
        'slip_reaches_rad': estimate.model.friction.slip_reaches,
        'residual_of_recordings': dict(zip(recordings.names, recordings.errors)),
        'unseen_recordings': recordings.names[len(recordings.names) - recordings.test_count :],
        'masses': [link.mass for link in result.arm.links],
        'remarks': recordings.remarks,
    }
    return data


def _parameter_rows(result: Identification) -> list[tuple[Any, ...]]:
    """Return rows of a parameter's name, start or None, estimate, deviation, consistent value."""
    estimate = result.estimate
    names = estimate.model.parameter_names
    base_values = estimate.model.base.values(result.start)
    friction_count = len(names) - len(base_values)
    start_values = [*base_values, *[None] * friction_count]
    return list(
        zip(names, start_values, estimate.unconstrained_theta, estimate.std, estimate.theta)
    )


def _verdict_sentences(result: Identification) -> list[str]:
    """Return the verdict's sentences on faults of the recordings."""
    effort_scales = result.options.effort_scales(result.estimate.model.n)
    return verdict_lines(result.verdict, result.start.joint_names, effort_scales)


def conclusion_text(result: Identification) -> str:
    """Return sentences on faults of recordings, and whether the identified arm predicts better."""
    unit = result.error_unit
    arm_errors = result.arm_errors.test
    error_to_effort = arm_errors.E / result.recordings.effort_rms.E
    worst_joint = int(np.argmax(arm_errors.per_joint))
    worst_unit = result.start.joints[worst_joint].kind.effort_unit
    best_published = result.best_published_errors
    judgement = 'better'
    if not result.improvement.better:
        judgement = f'NOT better {_missed_improvement_text(result)}'
    comparison = (
        f'{_test_data_phrase(result)} the identified arm has E = {arm_errors.E:.3f} {unit} over '
        f'all joints, {error_to_effort:.1%} of the efforts; '
        f'{result.start.joint_names[worst_joint]} is worst, '
        f'{arm_errors.per_joint[worst_joint]:.3f} {worst_unit}. The best published set, '
        f'{best_published.name}, has {best_published.test.E:.3f} {unit} with friction fitted '
        f'alike: the identified arm is {judgement}.'
    )
    headlines = (verdict_headline(result.verdict), _contradiction_headline(result), comparison)
    return ' '.join(filter(None, headlines))


def _contradiction_headline(result: Identification) -> str:
    """Return a sentence on how many recordings contradict the others, '' for none."""
    count = len(result.recordings.remarks)
    total = len(result.recordings.names)
    if not count:
        return ''
    if count == total:
        return 'The recordings contradict each other.'
    verb = 'contradicts' if count == 1 else 'contradict'
    return f'{count} of {total} recordings {verb} the others.'


def _missed_improvement_text(result: Identification) -> str:
    """Return why the arm is not better, by how much E had to fall, as a sentence's end."""
    improvement = result.improvement
    unit = result.error_unit
    missed = f'by as much as {MIN_IMPROVEMENT_RATIO:.0%}'
    if improvement.reduction > improvement.min_reduction:
        missed = f'by more than the spread between parts, {improvement.spread:.3f} {unit}'
    if not result.verdict.sound:
        return missed
    if not result.keeps_published_inertias:
        return f'{missed}: the published set already explains the recordings, nothing to gain'
    kept_errors = result.published_fit.errors
    return (
        f'{missed}, but its friction is kept: beside the inertias of {kept_errors.name} it lowers '
        f'E from {kept_errors.frictionless.E:.3f} to {kept_errors.test.E:.3f} {unit}'
    )


def tracking_error_sentence(result: Identification) -> str:
    """Return a sentence on a PD controller's predicted tracking error of a Franka arm, else ''."""
    kp, _ = FRANKA_ROS2_GAINS
    if not is_franka_arm(result.start.name) or result.start.n != len(kp):
        return ''
    friction = result.saved_arm.friction
    assert isinstance(friction, LinearFriction)
    offset = friction.offset
    robot_offset = friction.offset_to_command(receiver_adds_gravity=True)
    # The robot adds gravity by its own model. What that is wrong by varies with the pose. A fit's
    # residual does not correlate with it, so the squares add up. Without friction the offset stays
    # as well; the residual has the one beside this arm's gravity.
    varying = np.square(result.gravity_difference_std)
    left_with_friction = np.square(result.saved_errors.test.per_joint) + varying
    left_without = np.square(result.saved_errors.frictionless.per_joint) + varying
    left_without = left_without + np.square(robot_offset) - np.square(offset)
    # A PD's error is the torque that it has to add, divided by its gain.
    error_rad, rigid_error_rad = (
        float(np.sqrt(np.mean(np.maximum(left, 0.0) / np.square(kp))))
        for left in (left_with_friction, left_without)
    )
    return (
        f"{_test_data_phrase(result)} a PD with franka_ros2's gains and a velocity reference "
        f'would keep {1e3 * rigid_error_rad:.2g} mrad with this C dq + M ddq, and '
        f'{1e3 * error_rad:.2g} mrad with this friction and its offset, too (terms.friction and '
        'terms.offset, before the margin), a prediction. Other gains: bag replay --gains.'
    )


def detail_sentences(result: Identification) -> Iterator[str]:
    """Yield sentences on recordings' faults and remarks, masses, and the hand."""
    if result.options.add_gravity:
        yield f'Efforts came without gravity: {added_gravity_sentence(result)}.'
    if load := load_friction_sentence(result):
        yield f'{load[0].upper()}{load[1:]}.'
    yield from _verdict_sentences(result)
    yield from _mass_ratio_sentences(result)
    yield from _bound_mass_sentences(result)
    yield from _constraint_sentences(result)
    yield from (f'left out: {failure}' for failure in result.recordings.failures)
    for note in result.recordings.notes:
        for sentence in (*note.warnings, *note.remarks):
            yield sentence if sentence.startswith(note.name) else f'{note.name}: {sentence}'
    yield from result.recordings.remarks
    yield from _other_hand_sentences(result)


def open_question_sentences(result: Identification) -> Iterator[str]:
    """Yield sentences on what the recordings leave open: efforts' scale, a load, joints, links."""
    yield from mass_ambiguity_sentences(result.verdict, result.start.joint_names)
    yield from _poorly_known_link_sentences(result)


def _mass_ratio_sentences(result: Identification) -> Iterator[str]:
    """Yield a sentence on any links fitted far heavier or lighter, unless a fault is named."""
    ratio_by_link = result.outlying_mass_ratios
    if ratio_by_link and not result.verdict.causes:
        links = ', '.join(str(link) for link in ratio_by_link)
        ratios = ', '.join(f'{ratio:.2g}' for ratio in ratio_by_link.values())
        yield (
            "Are the starting set's masses right? The fit makes "
            f'{plural(len(ratio_by_link), "link")} {links} {ratios} times as '
            f'heavy ({MAX_MASS_RATIO:g} times at most). Correct them, take another --set, or plan '
            'a motion that shows them.'
        )


def _bound_mass_sentences(result: Identification) -> Iterator[str]:
    """Yield a sentence on links whose mass ends at its bound, where the torques ask for more."""
    if bound := result.masses_at_bound:
        links = ', '.join(f'{link} ({ratio:.2f} times its start)' for link, ratio in bound.items())
        yield (
            f'The mass of {plural(len(bound), "link")} {links} ends at its bound: the torques ask '
            'for a mass that the starting set excludes. Correct that mass in the arm file, or '
            'take another --set.'
        )


def _constraint_sentences(result: Identification) -> Iterator[str]:
    """Yield a sentence if physical constraints raise E on unseen parts by more than 2 %."""
    free, consistent = (errors.test.E for errors in result.torque_errors[:2])
    if consistent > (1.0 + _MIN_TOLD_CONSTRAINT_COST) * free:
        yield (
            f'That links are physical and friction brakes costs {consistent / free - 1.0:.0%} of '
            f'E on unseen parts: without it E is {free:.3f} {result.error_unit}. Something acts '
            'on the arm that its links and friction do not explain, or its starting set is wrong.'
        )


def _other_hand_sentences(result: Identification) -> Iterator[str]:
    """Yield a sentence if published sets with another hand predict the recordings better."""
    if result.better_hand_errors is not None:
        other_hand, named_hand = result.better_hand_errors
        yield (
            f'Is another hand mounted? {other_hand.name} predicts these recordings better (E = '
            f'{other_hand.test.E:.3f} {result.error_unit}) than every set with the hand '
            f'{result.start.hand} ({named_hand.test.E:.3f} {result.error_unit}). Name the mounted '
            'hand by --hand.'
        )


def _test_data_phrase(result: Identification) -> str:
    """Return the beginning of a sentence on E, such as 'On 2 unseen bags, learnt from 5,'."""
    test_count = result.recordings.test_count
    if test_count:
        fitted_count = len(result.recordings.names) - test_count
        bags = plural(test_count, 'bag')
        return f'On {test_count} unseen {bags}, learnt from {fitted_count},'
    return f'On {len(result.arm_errors.fold_errors)} parts, each predicted from the others,'


def _poorly_known_link_sentences(result: Identification) -> Iterator[str]:
    """Yield a sentence on the links whose parameters the motion leaves open, if any, and why."""
    poorly_known = result.estimate.poorly_known_names  # such as XXR_2
    if not poorly_known:
        return
    links = sorted({int(name.rpartition('_')[2]) for name in poorly_known})  # after the last _
    first_letters = {name[0] for name in poorly_known}
    reasons = [
        reason for letters, reason in _POORLY_KNOWN_REASONS.items() if first_letters & set(letters)
    ]
    links_text = ', '.join(str(link) for link in links)
    verb = 'are' if len(links) > 1 else 'is'
    yield (
        f'{plural(len(links), "Link")} {links_text} {verb} poorly known, because '
        f'{" and ".join(reasons)}. `identify plan --given` plans a motion that shows them.'
    )


def identification_tables(result: Identification) -> list[Table]:
    """Return tables of errors by set, joint, part and recording, and of links; no one-row ones."""
    tables = [
        _set_error_table(result),
        _joint_error_table(result),
        _part_error_table(result),
        _recording_error_table(result),
        _link_table(result),
    ]
    if result.options.rotor_inertia:
        tables.append(_rotor_table(result))
    return [table for table in tables if len(table.rows) > 1]


def _set_error_table(result: Identification) -> Table:
    """Return a table of E of each set of parameters, on all data, unseen data, and rigid."""
    title = (
        f'E over all joints [{result.error_unit}], friction of published sets fitted to the same '
        'data; rigid alone: without friction and offset'
    )
    numbers = headers(('all data', 'unseen', 'rigid alone'), '.3f')
    rows = [
        (errors.name, errors.train.E, Cell(errors.test.E, 'strong'), errors.frictionless.E)
        for errors in result.torque_errors
    ]
    return Table(title, ['parameters', *numbers], rows)


def _joint_error_table(result: Identification) -> Table:
    """Return a table of each set's rms error by joint on unseen data, last as part of efforts."""
    joint_names = result.start.joint_names
    unit = elements.effort_unit_text(result.start)
    title = (
        f'root mean square per joint on unseen data [{unit}], {joint_names[0]} to '
        f'{joint_names[-1]}'
    )
    numbers = headers(map(str, range(1, len(joint_names) + 1)), '.2f')
    rows = [(errors.name, *errors.test.per_joint) for errors in result.torque_errors]
    efforts = result.recordings.effort_rms.per_joint
    shares = result.arm_errors.test.per_joint / np.where(efforts > 0.0, efforts, np.nan)
    rows.append(('identified, part of the effort', *shares))
    return Table(title, ['parameters', *numbers], rows)


def _part_error_table(result: Identification) -> Table:
    """Return a table of E on each left-out part, of the identified arm and the best published."""
    best_published = result.best_published_errors
    numbers = headers(('identified', best_published.name), '.3f')
    fold_errors = zip(result.arm_errors.fold_errors, best_published.fold_errors)
    rows = [(f'{k}', *errors) for k, errors in enumerate(fold_errors, 1)]
    return Table(f'E on each left-out part [{result.error_unit}]', ['left out', *numbers], rows)


def _recording_error_table(result: Identification) -> Table:
    """Return a table of E of the identified arm on each recording."""
    rows = list(zip(result.recordings.names, result.recordings.errors))
    title = f'E of the identified arm on each recording [{result.error_unit}]'
    return Table(title, ['recording', *headers(['E'], '.3f')], rows)


def _link_table(result: Identification) -> Table:
    """Return a table of each link's mass before and after, and of its centre's displacement."""
    masses = headers(('mass at the start', 'identified'), '.3f', 'kg')
    displacements = headers((f'centre moved in {axis}' for axis in 'xyz'), '.3f', 'm')
    rows = [
        (f'{k}', start.mass, link.mass, *(link.center_of_mass - start.center_of_mass))
        for k, (start, link) in enumerate(zip(result.start.links, result.arm.links), 1)
    ]
    return Table('links', ['link', *masses, *displacements], rows)


def _rotor_table(result: Identification) -> Table:
    """Return a table of the joints' rotor inertias, and of which only a sum is known."""
    told_apart = {
        name.rpartition('_')[2] for name in result.estimate.model.base.names if 'Ia' in name
    }
    rows = [
        (joint.name, joint.rotor_inertia, '' if f'{k}' in told_apart else 'sum')
        for k, joint in enumerate(result.arm.joints, 1)
    ]
    title = (
        'rotor inertia behind the gears [kg m^2, kg if the joint slides]; sum: motion shows only '
        'its sum with inertias of the links, which the starting set divides'
    )
    return Table(title, ['joint', *headers(['identified'], '.3g'), ''], rows)


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
    something_is_better = result.improvement.better or result.keeps_published_inertias
    mark: elements.Mark = 'good' if result.verdict.sound and something_is_better else 'bad'
    if mark == 'good' and (result.open_questions or result.recordings.remarks):
        mark = 'warning'
    parts: list[str | Table] = [
        # The only colour of the page: what follows are reasons and remarks, not verdicts.
        elements.paragraph_html(conclusion_text(result), mark),
        elements.paragraph_html(tracking_error_sentence(result)),
        *(elements.paragraph_html(line) for line in detail_sentences(result)),
        *(elements.paragraph_html(line) for line in open_question_sentences(result)),
        *identification_tables(result),
        elements.heading_html('Torques and friction'),
        *(
            picture
            for name, motion in motions
            for picture in _motion_pictures(result, motion, name)
        ),
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
    assert isinstance(friction, LinearFriction)
    base_parameters = result.saved_theta[: len(model.base)]
    no_friction = np.zeros(len(model.friction.parameter_names))
    rigid_theta = np.append(base_parameters, no_friction)
    friction_torque = motion.effort - model.torque(motion, rigid_theta)  # measured, (N, n), N m
    max_speed = np.abs(motion.dq).max(axis=0)
    speeds = np.linspace(-1.0, 1.0, 401)[:, None] * max_speed  # (401, n), rad/s
    mean_load = np.abs(motion.effort - friction_torque).mean(axis=0)  # (n,), N m
    curve = friction.torque(speeds, rigid_torque=mean_load)
    std = friction.torque_std(friction.terms(speeds, rigid_torque=mean_load))
    lower_curve = curve - 2.0 * std
    upper_curve = curve + 2.0 * std
    row_count = -(-model.n // _PLOT_COLUMN_COUNT)  # rounded up
    figure = elements.figure_of_size((12.0, 2.4 * row_count + 0.6))
    axes = [*figure.subplots(row_count, _PLOT_COLUMN_COUNT, squeeze=False).flat]
    for j, (axis, joint_name) in enumerate(zip(axes, result.start.joint_names)):
        axis.set_title(joint_name, fontsize=9)
        measured = motion.dq[:, j], friction_torque[:, j]
        band = lower_curve[:, j], upper_curve[:, j]
        _plot_joint_friction(axis, measured, speeds[:, j], curve[:, j], band)
    for axis in axes[model.n :]:
        axis.set_axis_off()
    units = {joint.kind.position_unit: joint.kind.effort_unit for joint in result.start.joints}
    velocities = ' or '.join(f'{unit}/s' for unit in units)
    figure.supxlabel(f'velocity [{velocities}]', fontsize=9)
    figure.supylabel(f'friction torque [{" or ".join(units.values())}]', fontsize=9)
    figure.legend(*axes[0].get_legend_handles_labels(), loc='outside upper right', ncols=3)
    figure.suptitle(name, x=0.01, ha='left', fontsize=11)
    return figure


def _plot_joint_friction(
    axis: Any,
    measured: tuple[Array, Array],
    speeds: Array,
    curve: Array,
    band: tuple[Array, Array],
) -> None:
    """Plot a joint's measured velocities and friction torques, and the identified curve."""
    axis.plot(*measured, '.', color=MEASURED_COLOR, ms=2, label='measured')
    axis.plot(speeds, curve, color=PREDICTED_COLOR, label='identified, sliding')
    axis.fill_between(speeds, *band, color=PREDICTED_COLOR, alpha=0.3, label='two deviations')
    axis.tick_params(labelsize=8)
    axis.grid(alpha=0.25)


def parameter_figure(result: Identification) -> Any:
    """Return a figure of base parameters' changes from the start, with standard deviations."""
    estimate = result.estimate
    base = estimate.model.base
    b = len(base)
    start_values = base.values(result.start)
    names = np.array(base.names)
    estimated_change = estimate.unconstrained_theta[:b] - start_values
    consistent_change = estimate.theta[:b] - start_values
    is_first_moment = np.char.startswith(names, 'm')
    figure = elements.figure_of_size((12.0, 6.0))
    panels = (
        ('first moments [kg m]', is_first_moment),
        ('inertias [kg m²]', ~is_first_moment),
    )
    for axis, (label, is_shown) in zip(figure.subplots(2), panels):
        places = np.arange(is_shown.sum())
        axis.errorbar(
            places,
            estimated_change[is_shown],
            2.0 * estimate.std[:b][is_shown],
            fmt='o',
            color=PREDICTED_COLOR,
            capsize=3,
            label='by the recordings, with two standard deviations',
        )
        axis.plot(
            places,
            consistent_change[is_shown],
            'x',
            color=MEASURED_COLOR,
            label='of the identified arm',
        )
        axis.axhline(0.0, color='#aaaaaa', lw=0.6)
        axis.set_xticks(places, names[is_shown], rotation=90, fontsize=8)
        axis.set_ylabel(label)
        axis.grid(alpha=0.25)
    figure.legend(*axis.get_legend_handles_labels(), loc='outside upper right', ncols=2)
    figure.suptitle('change from the starting set', x=0.01, ha='left', fontsize=11)
    return figure
