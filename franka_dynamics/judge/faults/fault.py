# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The base class of faults in recordings, and the torques that form their regressor columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np

from ...arrays import Array
from ...fit.torque_samples import TorqueSamples

# Student's t of four degrees of freedom (five folds), one-sided, 95 %.
CRITICAL_T_VALUE = 2.13
# A fault matters whose identified arm has more than so many times the error E of the arm that is
# identified with the fault undone.
MIN_HARMFUL_ERROR_RATIO = 1.4
# The deviation of a Gaussian's one-sided range that holds 99.73 %, as three to both sides do.
_RANGE_QUANTILE = 2.782
# [rad] A larger angle found by a first derivative is only about right.
_MAX_LINEAR_ANGLE_RAD = 0.2


@dataclass(frozen=True)
class Diagnosis:
    """
    A fault found in recordings, or a question about one, with joints, values and torque errors.

    `kind` and `joints` (indices from 0) are those of a `Fault`, `values` are in the user's terms,
    as the kind says. `error_before` and `error_after` are E on left-out parts without and with the
    fault in the fit, `rival_error` is E with the next best fault, or else that without a fault.
    `recording` names that in which something touched the arm, or changed. `effect` is the factor
    by which the fault raises E of the identified arm, on the recordings with the fault undone.
    """

    kind: str
    joints: tuple[int, ...]
    values: tuple[float, ...]
    error_before: float = np.nan
    error_after: float = np.nan
    rival_error: float = np.nan
    recording: str = ''
    effect: float = np.nan


def sure_share(size: Array, covariance: Array) -> float:
    """
    Return how much of a fault's likeliest size (k,) is sure, from 0 to 1.

    That is the part from the end of the size's range that is nearest to no fault. The range has
    99.73 % of the probability: three standard deviations for k = 1, by Wilson and Hilferty 1931,
    "The distribution of chi-square", PNAS 17(12), for others.
    """
    k = len(size)
    # The cube root of chi square over k is nearly Gaussian, with this variance.
    cube_root_variance = 2.0 / (9.0 * k)
    cube_root = 1.0 - cube_root_variance + _RANGE_QUANTILE * np.sqrt(cube_root_variance)
    radius = np.sqrt(k * cube_root**3)
    distance = np.sqrt(max(float(size @ np.linalg.solve(covariance, size)), 0.0))
    return float(1.0 - radius / max(radius, distance))


FAULT_CLASSES: 'dict[str, type[Fault]]' = {}  # all kinds of faults, by `kind`


@dataclass(frozen=True)
class Fault:
    """
    A fault of a recording, with torques that it adds to measured ones and text for the user.

    `joints` (indices from 0) are those at fault, none if the fault is of all. A subclass with a
    `kind` of its own is a kind of fault, and is entered in FAULT_CLASSES; the class variables say
    what sets it apart.
    """

    joints: tuple[int, ...] = ()
    # The name of the kind.
    kind: ClassVar[str]
    # Of how many joints the fault may be: 0 of all together, 1 of each, 2 of any two.
    joint_counts: ClassVar[tuple[int, ...]] = (0,)
    # Whether its value is read off all fitted torques, because inertias explain a part.
    value_is_from_torques: ClassVar[bool] = False
    # Whether the user is asked about one that does no harm.
    asks_if_harmless: ClassVar[bool] = False
    # What the names of its columns end with, if it has several.
    column_suffixes: ClassVar[tuple[str, ...]] = ()
    # A sentence for the user, for `str.format` with the words of `sentence`.
    message: ClassVar[str]

    def __init_subclass__(cls) -> None:
        """Enter a subclass with a `kind` of its own in FAULT_CLASSES."""
        if 'kind' in vars(cls):
            FAULT_CLASSES[cls.kind] = cls

    @classmethod
    def for_joint_count(cls, n: int) -> 'list[Fault]':
        """Return the faults of this kind that an arm of n joints may have."""
        return [
            cls(joints)
            for joint_count in cls.joint_counts
            for joints in combinations(range(n), joint_count)
        ]

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of the fault's regressor columns; some are columns of the torque model."""
        name = '_'.join([self.kind, *(f'{joint + 1}' for joint in self.joints)])
        return tuple(f'{name}_{suffix}' for suffix in self.column_suffixes) or (name,)

    @property
    def simpler_fault(self) -> 'Fault':
        """A fault with fewer columns that this fault extends, or else this fault."""
        return self

    def regressor_columns(self, samples: TorqueSamples) -> list[Array]:
        """
        Return the torques (N, n) that one unit of each regressor column adds to the effort.

        A kind without columns of its own is found otherwise, or has columns of the torque model.
        """
        return []

    def at_real_states(self, coefficients: Array) -> Array:
        """Return the columns' coefficients (k,) by which an arm's torques err at real states."""
        return coefficients

    def possible_coefficients(self, coefficients: Array, gravity: Array) -> Array:
        """Return coefficients (k,) of a fault of this kind, near those found, `coefficients`."""
        return coefficients

    def reported_values(self, coefficients: Mapping[str, float], gravity: Array) -> list[float]:
        """
        Return the fault's values for the user, from fitted coefficients by column name.

        `coefficients` has those of the fit's other faults as well; `gravity` (3,) is as declared.
        """
        return [coefficients[name] for name in self.column_names]

    def undoing(self, coefficients: Array, n: int) -> tuple[Array, Array]:
        """
        Return what undoes the fault in the efforts of n joints, given its columns' coefficients.

        Efforts without the fault are those recorded times the first array, (n,), plus the columns
        times the second, (k,).
        """
        return np.ones(n), -coefficients

    def counts_as_fault(self, reported_values: Sequence[float], gravity: Array) -> bool:
        """Return whether `reported_values` under `gravity` show such a fault, by default True."""
        return True

    @classmethod
    def sentence(cls, diagnosis: Diagnosis, joints: Sequence[str], effort_scales: Array) -> str:
        """
        Return sentences that say what is wrong with the recording, and what to do about it.

        `effort_scales` (n,) are the factors with which efforts were read.
        """
        value = diagnosis.values[0] if diagnosis.values else 0.0
        joint_names = [joints[joint] for joint in diagnosis.joints]
        return cls.message.format(
            *diagnosis.values,
            effort=f'The effort of {joint_names[0]}' if joint_names else 'Every effort',
            joints=' and '.join(joint_names),
            of_joints=f' of {" and ".join(joint_names)}' if joint_names else '',
            size=abs(value),
            about='about ' if abs(value) > _MAX_LINEAR_ANGLE_RAD else '',
            ms=1e3 * abs(value),
            late_or_early='late' if value > 0.0 else 'early',
            where=diagnosis.recording,
        )
