# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The effect of a fault: by what factor it raises the error E of the arm that is identified.

effect = E(arm identified from the recordings) / E(arm identified with the fault undone)

Both errors are those on the recordings with the fault undone.
"""

import numpy as np

from .faults import Fault
from ..arrays import Array
from ..fit import least_squares
from ..fit.least_squares import GramStack, TORQUE_COLUMN
from ..fit.prior import Prior
from ..recordings.replay import TorqueErrorUnit


class FaultEffects:
    """The effects of faults on the arm identified from recordings, of which `grams` are known."""

    def __init__(self, grams: GramStack, prior: Prior) -> None:
        """Identify the arm from the recordings as they are, as users do."""
        self._grams = grams
        self._prior = prior
        self._unit_factors = np.array(TorqueErrorUnit.for_arm(prior.reference).factors)
        self._min_residual = least_squares.min_noise(grams)
        self._recorded_theta = least_squares.identified_theta(grams, prior)

    def effect(self, fault: Fault, coefficients: Array) -> float:
        """Return the effect of a fault whose size are the `coefficients` (k,) of its columns."""
        undone = self._undone(fault, coefficients)
        undone_at_real_states = self._undone(fault, fault.at_real_states(coefficients))
        undone_theta = least_squares.identified_theta(undone, self._prior)
        error_with_fault = self._squared_error(undone_at_real_states, self._recorded_theta)
        error_without = self._squared_error(undone, undone_theta)
        return float(np.sqrt(error_with_fault / error_without))

    def _undone(self, fault: Fault, coefficients: Array) -> GramStack:
        """Return the Gram matrices with efforts from which a fault of a size (k,) is undone."""
        joint_count, column_count, _ = self._grams.total_matrices.shape
        effort_factors, fault_coefficients = fault.undoing(coefficients, joint_count)
        undone_effort = np.zeros((joint_count, column_count))
        undone_effort[:, TORQUE_COLUMN] = effort_factors
        undone_effort[:, self._grams.column_indices(fault.column_names)] = fault_coefficients
        return self._grams.with_efforts(undone_effort)

    def _squared_error(self, grams: GramStack, theta: Array) -> float:
        """Return E^2 of an arm's parameters, each joint's residual at least the least noise."""
        mean_squares = grams.squared_residuals(theta) / grams.sample_count
        return float(np.maximum(mean_squares, self._min_residual**2) @ self._unit_factors**2)
