# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
All that an identification found, and which arm of it is accepted.

Beside it stands `arm_text`, the arm as a file's text, and above both `results.Identification`.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from .receiver_offset import gravity_differences, with_receiver_offset
from ..arm import ArmDescription
from ..arm.robot_arm import robot_arm
from ..arrays import Array
from ..fit.options import IdentificationOptions, MAX_MASS_RATIO
from ..fit.result_parts import (
    Estimate,
    Improvement,
    PublishedFit,
    TorqueErrors,
    unseen_error,
    UsedRecordings,
)
from ..judge.verdict import RecordingVerdict
from ..recordings.replay import TorqueErrorUnit

IDENTIFIED_SET_NAME = 'identified'  # name of the identified arm's inertial set
# A link that becomes so many times as heavy, or light, is doubted: of two sound FER none is beyond
# 1.27; of a start with a third or a quarter of a link's mass that link becomes 1.46 to 3 times it.
_MIN_OUTLYING_MASS_RATIO = 1.4
_BOUND_SHARE = 0.99  # a mass is at its bound within it: the solver stops before it


@dataclass(frozen=True, eq=False)
class IdentificationRecord:
    """
    All results of an identification, with the fit to all recordings and errors on unseen parts.

    `arm` is the identified arm, physically consistent, with friction; `start` is the starting set.
    `torque_errors` are the torque errors of base parameters, of the identified arm, and of the
    published sets with friction fitted; `improvement` says whether the arm is better than the best
    of these, `verdict` whether the recordings are sound, and what they ask. `published_fit` is the
    best published set with the starting arm's hand, with its fitted friction.
    `judged_masses` (n,) [kg] are the links' in a fit with the prior before torques choose its
    widths, by which the starting set is doubted. `recorded_positions` (N, n) are positions at
    equal steps along all recordings.
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
    judged_masses: Array
    recorded_positions: Array | None = None

    @property
    def robot_arm(self) -> ArmDescription:
        """
        The arm of the robot's own model, whose gravity torque a robot adds that adds any.

        It is that of the arm with which identification started: that arm itself if it is published
        or the owner's URDF, else the published arm of its name, if there is one.
        """
        return robot_arm(self.start)

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

    def with_receiver_offsets(self, positions: Array) -> Self:
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
        Whether the identified arm is improved, and recordings are sound without an open question.

        True, too, if `accept_unsound` is set.
        """
        return self.options.accept_unsound or (self.improvement.better and self.is_trusted)

    @property
    def open_questions(self) -> tuple[str, ...]:
        """Options that would answer what the recordings ask, '' for what none answers."""
        return self.verdict.open_questions(self.options.stated_names)

    @property
    def is_trusted(self) -> bool:
        """Whether recordings are sound, and each question about them is answered."""
        return self.verdict.sound and not self.open_questions

    @property
    def keeps_published_inertias(self) -> bool:
        """
        Whether the friction found is accepted, but not the inertias.

        Four things must hold: the recordings are sound, without an open question; no other hand
        fits them better; the identified arm is no better than the published set; and friction
        lowers that set's E on unseen parts.
        """
        return (
            not self.accepted
            and self.is_trusted
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
        return min(self.published_errors, key=unseen_error)

    @property
    def _judged_ratios(self) -> Array:
        """Ratios of `judged_masses` to the starting masses, (n,)."""
        return self.judged_masses / np.array([link.mass for link in self.start.links])

    @property
    def outlying_mass_ratios(self) -> dict[int, float]:
        """Ratios of judged to starting mass above 1.4 or below 1 / 1.4, by link number from 1."""
        ratios = self._judged_ratios.tolist()
        return {
            link: ratio
            for link, ratio in enumerate(ratios, 1)
            if max(ratio, 1.0 / ratio) > _MIN_OUTLYING_MASS_RATIO
        }

    @property
    def masses_at_bound(self) -> dict[int, float]:
        """Ratios of fitted to starting mass that end at their bound, by link number from 1."""
        ratios = mass_ratios(self.arm, self.start).tolist()
        return {
            link: ratio
            for link, ratio in enumerate(ratios, 1)
            if max(ratio, 1.0 / ratio) > _BOUND_SHARE * MAX_MASS_RATIO
        }

    @property
    def better_hand_errors(self) -> tuple[TorqueErrors, TorqueErrors] | None:
        """
        Errors of the best sets with another, clearly better hand and with the arm's, or None.

        None, too, if a link other than the last differs most from the start, by a factor over 1.4.
        """
        best = self.best_published_errors
        with_start_hand = [
            errors for errors in self.published_errors if errors.hand == self.start.hand
        ]
        if not with_start_hand or best.hand == self.start.hand:
            return None
        if not Improvement.from_errors(best, with_start_hand).better:
            return None
        # A hand is part of the last link: where another link differs most, no hand explains it.
        mass_changes = np.abs(np.log(self._judged_ratios))
        if self.outlying_mass_ratios and mass_changes.argmax() < self.start.n - 1:
            return None
        return best, min(with_start_hand, key=unseen_error)


def mass_ratios(arm: ArmDescription, start: ArmDescription) -> Array:
    """Return the masses of an arm's links divided by those of the arm `start`, (n,)."""
    return np.array(
        [link.mass / start_link.mass for link, start_link in zip(arm.links, start.links)]
    )
