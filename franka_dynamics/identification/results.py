# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Results of an identification, and the identified arm as the text of an arm file."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from .options import IdentificationOptions
from .prior import Prior, StartingSetPrecision
from .receiver_offset import gravity_differences, with_receiver_offset
from .recording_verdict import RecordingVerdict
from .summary import RecordingNote
from .torque_model import LOAD_SYMBOL, OFFSET_SYMBOL, SLIP_SYMBOL, TorqueModel
from .. import former_names
from ..arm import ArmDescription, available_arms, LinkInertia, load
from ..arm.arm_file import arm_file_text
from ..arm.payload import as_payload, PayloadLike
from ..arrays import Array
from ..errors import IdentificationError
from ..files import write_text
from ..recordings.options import SignalOptions
from ..recordings.replay import ResidualRms, TorqueErrorUnit

IDENTIFIED_SET_NAME = 'identified'  # name of the identified arm's inertial set
# `Improvement.spread` is _SPREAD_STD_ERROR_COUNT standard errors of `reduction`;
# MIN_IMPROVEMENT_RATIO is the smallest useful reduction of E, relative to the published set's E.
_SPREAD_STD_ERROR_COUNT = 2.0
MIN_IMPROVEMENT_RATIO = 0.05
# A link that becomes so many times as heavy, or light, is doubted: of two sound FER none is beyond
# 1.27; of a start with a third or a quarter of a link's mass that link becomes 1.46 to 3 times it.
_MIN_OUTLYING_MASS_RATIO = 1.4
_MASS_ROUNDING_KG = 1e-9
# A parameter is poorly known if this part of its prior deviation is left.
_MIN_POORLY_KNOWN_STD_TO_PRIOR = 0.5
# Offsets, slip elements and growth with the load, which many sound motions leave near zero.
_NEAR_ZERO_SYMBOLS = (OFFSET_SYMBOL, SLIP_SYMBOL, LOAD_SYMBOL)


@former_names.of_attributes('0.3', folds='fold_errors', rigid='frictionless')
@dataclass(frozen=True, eq=False)
class TorqueErrors:
    """
    Rms torque errors, measured minus predicted, of one way to get the parameters.

    `train` are the errors of the fit to all recordings, `test` those on unseen parts, each
    predicted by a fit without it; `frictionless` without friction and offset.
    `fold_errors` has E of each unseen part.
    """

    name: str
    train: ResidualRms
    test: ResidualRms
    frictionless: ResidualRms = field(metadata={'former_key': 'rigid'})
    fold_errors: tuple[float, ...] = field(metadata={'former_key': 'folds'})


@former_names.of_attributes(
    '0.3', best='best_set', gain='reduction', min_gain='min_reduction', of='from_errors'
)
@dataclass(frozen=True)
class Improvement:
    """
    A comparison of an identified arm's torque errors with those of the best published set.

    `best_set` is the best published set's name. `reduction` is the mean over unseen parts of its E
    minus the identified arm's, `spread` two standard errors of this mean (NaN with a single part),
    and `min_reduction` the smallest useful one: 5 % of the published set's E.
    """

    best_set: str = field(metadata={'former_key': 'best'})
    reduction: float = field(metadata={'former_key': 'gain'})
    spread: float
    min_reduction: float = field(metadata={'former_key': 'min_gain'})
    json_fields = 'best_set', 'reduction', 'spread', 'min_reduction', 'better'

    @classmethod
    def from_errors(cls, errors: TorqueErrors, published: Sequence[TorqueErrors]) -> 'Improvement':
        """Return the comparison of an arm's errors with the best published inertial set's."""
        best = min(published, key=_test_error)
        return cls.from_fold_errors(best.name, errors.fold_errors, best.fold_errors)

    @classmethod
    def from_fold_errors(
        cls, best_set: str, fold_errors: Sequence[float], best_fold_errors: Sequence[float]
    ) -> 'Improvement':
        """Return the comparison of E on each unseen part with that of the set `best_set`."""
        reductions = np.subtract(best_fold_errors, fold_errors)  # of E, on each unseen part
        std = float(reductions.std(ddof=1)) if len(reductions) > 1 else np.nan
        return cls(
            best_set,
            reduction=float(reductions.mean()),
            spread=_SPREAD_STD_ERROR_COUNT * std / float(np.sqrt(len(reductions))),
            min_reduction=MIN_IMPROVEMENT_RATIO * float(np.mean(best_fold_errors)),
        )

    @property
    def better(self) -> bool:
        """Whether E falls by over two standard errors and by over 5 % of the published set's E."""
        return bool(self.reduction > max(np.nan_to_num(self.spread), self.min_reduction))


@former_names.of_attributes('0.3', base='unconstrained_theta', std_ratios='std_to_prior_ratios')
@dataclass(frozen=True, eq=False)
class Estimate:
    """
    Parameters fitted to all recordings, their covariance, prior, and the starting arm's precision.

    `theta` (p,) are the identified arm's base parameters, then its friction parameters.
    `unconstrained_theta` (p,) and `covariance` (p, p) are base parameters and friction without
    constraints, and their covariance; `std_to_prior_ratios` (p,) are standard deviations relative
    to the prior's (`least_squares.std_to_prior_ratios`). `precision` is the smallest precision of
    the starting set that agrees with the samples.
    """

    model: TorqueModel
    prior: Prior
    theta: Array
    unconstrained_theta: Array
    covariance: Array
    std_to_prior_ratios: Array
    precision: StartingSetPrecision

    @property
    def std(self) -> Array:
        """The standard deviations of `unconstrained_theta`, (p,)."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))

    @property
    def poorly_known_names(self) -> list[str]:
        """Names of parameters, but offsets, slip and load, that the motion hardly determines."""
        return [
            name
            for name, ratio in zip(self.model.parameter_names, self.std_to_prior_ratios)
            if ratio > _MIN_POORLY_KNOWN_STD_TO_PRIOR and name[:2] not in _NEAR_ZERO_SYMBOLS
        ]


@dataclass(frozen=True, eq=False)
class PublishedFit:
    """
    The published set that predicts recordings best, with the friction that they show with it.

    Of the sets with the starting arm's hand, those whose links are physical come first. `arm` has
    that set's inertias and the friction fitted to all recordings, `theta` (p,) are its base and
    friction parameters, `errors` its torque errors.
    """

    arm: ArmDescription
    theta: Array
    errors: TorqueErrors

    @property
    def friction_helps(self) -> bool:
        """Whether its friction lowers E on unseen parts by more than 5 %."""
        without = self.errors.frictionless.E
        return bool(without - self.errors.test.E > MIN_IMPROVEMENT_RATIO * without)


@former_names.of_attributes('0.3', efforts='effort_rms', unseen='test_count')
@dataclass(frozen=True)
class UsedRecordings:
    """
    Notes on, and torque errors of, the recordings used; the last `test_count` are for tests.

    `errors` are E of the identified arm on each, `effort_rms` root mean squares of all. All were
    prepared with the options `signal`. `failures` has a sentence for each unusable bag, `remarks`
    one for each bag that does not fit together with the others.
    """

    notes: tuple[RecordingNote, ...]
    errors: tuple[float, ...]
    effort_rms: ResidualRms
    test_count: int
    signal: SignalOptions
    failures: tuple[str, ...]
    remarks: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the recordings."""
        return tuple(note.name for note in self.notes)


@former_names.of_attributes(
    '0.3',
    arm_score='arm_errors',
    published='published_errors',
    scores='torque_errors',
    unit='error_unit',
)
@dataclass(frozen=True, eq=False)
class Identification:
    """
    All results of an identification, with the fit to all recordings and errors on unseen parts.

    `arm` is the identified arm, physically consistent, with friction; `start` is the starting set.
    `torque_errors` are the torque errors of base parameters, of the identified arm, and of the
    published sets with friction fitted; `improvement` says whether the arm is better than the best
    of these, `verdict` whether the recordings are sound, and what they ask. `published_fit` is the
    best published set with the starting arm's hand, with its fitted friction.
    `load_independent_errors` are the identified arm's without friction that grows with the load,
    where this was chosen, because parts left out are predicted better with it; else None.
    `recorded_positions` (N, n) are positions at equal steps along all recordings.
    """

    start: ArmDescription
    options: IdentificationOptions
    arm: ArmDescription
    estimate: Estimate
    torque_errors: tuple[TorqueErrors, ...]
    published_fit: PublishedFit
    improvement: Improvement
    verdict: RecordingVerdict
    recordings: UsedRecordings
    load_independent_errors: TorqueErrors | None = None
    recorded_positions: Array | None = None

    @property
    def robot_arm(self) -> ArmDescription:
        """
        The arm of the robot's own model, whose gravity torque a robot adds that adds any.

        It is the arm with which identification started: the published one, or the owner's URDF. If
        that is an identified arm, it is the published arm of its name, if there is one.
        """
        start = self.start
        if start.inertial_set == IDENTIFIED_SET_NAME and start.name in available_arms():
            return load(start.name, hand=start.hand)
        return start

    @property
    def gravity_difference_std(self) -> Array:
        """
        Standard deviation of what the robot's own gravity torque is wrong by, (n,) [N m].

        It is that of the gravity torque of `saved_arm` minus that of `robot_arm`, along the
        recordings. What is the same at all poses is in the friction's `receiver_offset`.
        """
        if self.recorded_positions is None or not len(self.recorded_positions):
            return np.zeros(self.start.n)
        gravity = self.options.gravity
        arm = self.saved_arm
        differences = gravity_differences(arm, self.robot_arm, self.recorded_positions, gravity)
        return np.asarray(differences.std(axis=0))

    def with_receiver_offsets(self, positions: Array) -> 'Identification':
        """Return the result with `recorded_positions`, and arms with `receiver_offset`."""
        known = replace(self, recorded_positions=positions)
        published = replace(
            self.published_fit, arm=known.with_receiver_offset(self.published_fit.arm)
        )
        return replace(known, arm=known.with_receiver_offset(self.arm), published_fit=published)

    def with_receiver_offset(self, arm: ArmDescription) -> ArmDescription:
        """Return an identified arm whose friction knows its offset beside the robot's gravity."""
        if self.recorded_positions is None:
            return arm
        gravity = self.options.gravity
        return with_receiver_offset(arm, self.robot_arm, self.recorded_positions, gravity)

    @property
    def error_unit(self) -> str:
        """Unit of the torque error E over all joints."""
        return TorqueErrorUnit.for_arm(self.start).name

    @property
    def accepted(self) -> bool:
        """
        Whether the identified arm is improved and recordings are sound.

        True, too, if `accept_unsound` is set.
        """
        return self.options.accept_unsound or (self.improvement.better and self.verdict.sound)

    @property
    def keeps_published_inertias(self) -> bool:
        """
        Whether the friction found is accepted, but not the inertias.

        Four things must hold: the recordings are sound; no other hand fits them better; the
        identified arm is no better than the published set; and friction lowers that set's E on
        unseen parts.
        """
        return (
            not self.accepted
            and self.verdict.sound
            and self.better_hand_errors is None
            and self.published_fit.friction_helps
        )

    @property
    def accepted_arm(self) -> ArmDescription | None:
        """
        The arm that `save` writes without `anyway`, or None.

        It is the identified arm if that is accepted, the published inertias with the fitted
        friction if only that is (`keeps_published_inertias`).
        """
        if self.keeps_published_inertias:
            return self.published_fit.arm
        return self.arm if self.accepted else None

    @property
    def saved_arm(self) -> ArmDescription:
        """The accepted arm or, if there is none, the identified one."""
        return self.published_fit.arm if self.keeps_published_inertias else self.arm

    @property
    def saved_theta(self) -> Array:
        """Base and friction parameters (p,) of the accepted arm or, without one, identified."""
        return self.published_fit.theta if self.keeps_published_inertias else self.estimate.theta

    @property
    def saved_errors(self) -> TorqueErrors:
        """Torque errors of the accepted arm or, if there is none, of the identified one."""
        return self.published_fit.errors if self.keeps_published_inertias else self.arm_errors

    @property
    def arm_errors(self) -> TorqueErrors:
        """Torque errors of the identified arm."""
        return self.torque_errors[1]

    @property
    def published_errors(self) -> tuple[TorqueErrors, ...]:
        """Torque errors of the published sets, with friction fitted to the recordings."""
        return self.torque_errors[2:]

    @property
    def best_published_errors(self) -> TorqueErrors:
        """Torque errors of the published set that predicts unseen parts best."""
        return min(self.published_errors, key=_test_error)

    @property
    def outlying_mass_ratios(self) -> dict[int, float]:
        """Ratios of fitted to starting mass above 1.4 or below 1 / 1.4, by link number from 1."""
        ratios = mass_ratios(self.arm, self.start).tolist()
        return {
            link: ratio
            for link, ratio in enumerate(ratios, 1)
            if max(ratio, 1.0 / ratio) > _MIN_OUTLYING_MASS_RATIO
        }

    @property
    def better_hand_errors(self) -> tuple[TorqueErrors, TorqueErrors] | None:
        """
        Errors of the best sets with another, clearly better hand and with the arm's, or None.

        None, too, if a link other than the last differs most from the start, by a factor over 1.4.
        """
        name_end = f', {self.start.hand}'  # sets are named by inertial set and hand
        with_own_hand = [
            errors for errors in self.published_errors if errors.name.endswith(name_end)
        ]
        best = self.best_published_errors
        if not with_own_hand or best in with_own_hand:
            return None
        if not Improvement.from_errors(best, with_own_hand).better:
            return None
        # A hand is part of the last link: where another link differs most, no hand explains it.
        mass_changes = np.abs(np.log(mass_ratios(self.arm, self.start)))
        if self.outlying_mass_ratios and mass_changes.argmax() < self.start.n - 1:
            return None
        return best, min(with_own_hand, key=_test_error)

    def save(
        self,
        path: str | Path,
        *,
        payload: PayloadLike | None = None,
        anyway: bool = False,
    ) -> None:
        """
        Write the `accepted_arm` to a file (.yaml), or with `anyway` at least the identified arm.

        `payload`, on the flange during the recordings and given as for `load`, is subtracted from
        the arm. Raises IdentificationError if no arm was accepted, unless `anyway`, or if the arm
        states a smaller payload, and OutputError if the file cannot be written.
        """
        if not anyway and self.accepted_arm is None:
            why = 'it does not predict torques better than the published sets'
            if not self.verdict.sound:
                why = 'its recordings are not sound, as its verdict says'
            raise IdentificationError(
                f'{path} is not written: the identified arm was not accepted, because {why}. '
                'Use the published set, or write the file with anyway=True.'
            )
        write_text(path, identified_arm_text(self, payload))


def _test_error(errors: TorqueErrors) -> float:
    """Return E on unseen parts, by which sets are compared."""
    return errors.test.E


def mass_ratios(arm: ArmDescription, start: ArmDescription) -> Array:
    """Return the masses of an arm's links divided by those of the arm `start`, (n,)."""
    return np.array(
        [link.mass / start_link.mass for link, start_link in zip(arm.links, start.links)]
    )


def identified_arm_text(result: Identification, payload: PayloadLike | None = None) -> str:
    """
    Return the accepted or identified arm, less `payload`, as an arm file's text.

    It names the recordings and the errors. `payload`, on the flange during the recordings, is
    subtracted from the links and from the payload that the arm states, if any. The inertias are
    the published ones if only the friction was accepted; then it is subtracted only if they state
    it. Raises IdentificationError if the arm states less than `payload`.
    """
    names = result.recordings.names
    shown = ', '.join(names[:5]) + (f' and {len(names) - 5} more' if len(names) > 5 else '')
    origin = f'identified by franka-dynamics from {shown}'
    # What the starting set did not know of masses, the recordings have told.
    arm = replace(result.arm, inertial_set=IDENTIFIED_SET_NAME, unmeasured=())
    source = origin
    title = f'{result.arm.name}, identified'
    notes = [_torque_error_note(result), *_fit_notes(result), *_warning_notes(result)]
    if result.keeps_published_inertias:
        arm = result.published_fit.arm
        source = arm.source
        title = f'{arm.name}, friction identified'
    if payload is not None:
        body = as_payload(payload)
        arm = _without_recorded_payload(arm, body, fitted=not result.keeps_published_inertias)
        arm = result.with_receiver_offset(arm)
        notes.append(f'recorded with a payload of {body.mass:g} kg, not in these numbers')
    return arm_file_text(
        arm, title=title, source=source, notes='; '.join(notes), friction_source=origin
    )


def _without_recorded_payload(
    arm: ArmDescription, body: LinkInertia, fitted: bool
) -> ArmDescription:
    """
    Return an arm less a load that was on the flange; IdentificationError if it states another.

    If the arm states no load, links that were `fitted` to recordings hold it all the same, and
    published links do not.
    """
    stated = arm.payload
    if stated.parameters().any():
        if stated.mass - body.mass < -_MASS_ROUNDING_KG:
            raise IdentificationError(
                f'The payload of {body.mass:g} kg is no part of the {stated.mass:g} kg that the '
                'arm states it carries: give that which the start was loaded with.'
            )
        return arm.with_payload(LinkInertia.zero() - body)
    if not fitted:
        return arm
    bare = arm.with_payload(LinkInertia.zero() - body)
    return replace(bare, payload=stated, carried_mass=arm.carried_mass)


def _torque_error_note(result: Identification) -> str:
    """Return an arm file's note on the torque errors of its arm."""
    errors = result.saved_errors
    unit = result.error_unit
    return (
        f'E on unseen data {errors.test.E:.4f} {unit}, without friction and offset '
        f'{errors.frictionless.E:.4f} {unit}'
    )


def _fit_notes(result: Identification) -> Iterator[str]:
    """Yield an arm file's notes on how its arm was fitted, and whether that is better."""
    if result.options.add_gravity:
        yield f'efforts came without gravity: {added_gravity_sentence(result)}'
    if result.keeps_published_inertias:
        yield 'inertias as published, to which the identified ones were NOT better'
        yield 'friction fitted to all of the data'
        if load := load_friction_sentence(result):
            yield load
        return
    yield f'{"" if result.improvement.better else "NOT "}better than the best published set'
    if not result.verdict.sound:
        yield 'recordings that are NOT sound'
    yield 'fitted to all of the data'
    if load := load_friction_sentence(result):
        yield load
    yield 'physically consistent'
    prior = f'{result.start.inertial_set} of precision {result.options.regularization:g}'
    yield f'prior about {prior}'


def load_friction_sentence(result: Identification) -> str:
    """Return why friction grows with the load, '' if it does not."""
    without = result.load_independent_errors
    if without is None:
        return ''
    return (
        'friction grows with the load (load_dependent), because that lowers E on unseen data '
        f'from {without.test.E:.4f} to {result.arm_errors.test.E:.4f} {result.error_unit}'
    )


def added_gravity_sentence(result: Identification) -> str:
    """Return what holds the parameters that gravity shows, where efforts came without it."""
    return (
        f'the gravity torque of {result.start.inertial_set} was added before the fit, so that '
        'what gravity alone shows of masses and their centres is of that set, and not of the data'
    )


def _warning_notes(result: Identification) -> Iterator[str]:
    """Yield an arm file's note on the warnings of its recordings, if there are any."""
    # A question about masses that nobody knows has no value.
    questions = [
        ' '.join((f'asks: {question.kind}', *(f'{value:.3g}' for value in question.values[:1])))
        for question in result.verdict.questions
    ]
    doubts = [
        f'{note.name}: {warning}' for note in result.recordings.notes for warning in note.warnings
    ]
    warnings = [*questions, *result.recordings.remarks, *doubts]
    if warnings:
        yield f'{len(warnings)} warnings when it was made: {" | ".join(warnings[:10])}'
