# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Fits with corrected states: for reversed axes, zeros off by quarter turns, exchanged columns.

Such faults are far from the recording, and other masses may explain them well. What tells them is
the log evidence (`prior.log_evidence`): the right states need masses like the published ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from .faults import Diagnosis, MIN_HARMFUL_ERROR_RATIO, state_faults_of, StateFault
from .options import DEFAULT_PRIOR_PRECISION
from .prior import log_evidence, Prior
from .solve import fit_gram, residual_weights, sqrt_equations
from .torque_model import MASS_AND_FIRST_MOMENT, OFFSET_SYMBOL, TorqueModel
from ..arrays import Array
from ..recordings.preprocessing import Motion

_MAX_SAMPLE_COUNT = 600  # of a recording, spread over it, that stand for all


def corrected_state_sums(
    model: TorqueModel, motion: Motion, noise: Array, per_joint: Array
) -> tuple[Array, int]:
    """
    Return Gram matrices at the recorded and at each fault's corrected states, and a sample count.

    The matrices (2, 1 + faults, p + 1, p + 1) are weighted by each joint's `noise` (n,) [N m], and
    by `per_joint` (n,), which converts efforts to the unit of E. The first is at the recorded
    states, the others with each of `state_faults_of` corrected.
    """
    chosen = np.zeros(len(motion), dtype=bool)
    chosen[np.linspace(0, len(motion) - 1, min(len(motion), _MAX_SAMPLE_COUNT)).astype(int)] = True
    part, friction = motion.part(chosen), model.friction_columns(motion)[chosen]
    weights = np.stack([residual_weights(noise), per_joint**2]) * (len(motion) / len(part))
    found = []
    for fault in (None, *state_faults_of(model.n)):
        states = part.q, part.dq, part.ddq
        base = model.base.regressor(*(fault.corrected_states(*states) if fault else states))
        rows = model.regressor(fault.as_recorded(base) if fault else base, friction)
        rows = np.concatenate([rows, part.effort[..., None]], axis=-1)
        each = rows.swapaxes(0, 1)
        found.append(np.tensordot(weights, each.swapaxes(1, 2) @ each, 1))
    return np.stack(found, axis=1), len(motion)


class StateFaultFit(NamedTuple):
    """
    A fit at states corrected for a fault, with the fault's effect, log evidence and errors E.

    `log_bayes_factor` is the log evidence with the fault corrected less that at the recorded
    states.
    """

    fault: StateFault
    effect: float
    log_bayes_factor: float
    before: float
    after: float

    def diagnosis(self, other: StateFaultFit | None = None) -> Diagnosis:
        """Return the fault with E of the fits without it, with it, and with the next best one."""
        second = other.after if other else self.before
        fault = self.fault
        return Diagnosis(
            fault.kind, fault.joints, fault.known_values, self.before, self.after, second
        )


def state_fault_fits(sums: Array, count: int, prior: Prior) -> list[StateFaultFit]:
    """
    Return the fits that matter, the largest evidence first; if one is likely, harmless ones, too.

    `sums` are those of `corrected_state_sums`, of `count` samples.
    """
    (own, *others), (plain, *rest) = sums
    theta = fit_gram(own, prior, DEFAULT_PRIOR_PRECISION)
    before, known = _torque_error(plain, theta, count), _log_evidence_of(own, prior)

    def fits(matter: bool) -> Iterator[StateFaultFit]:
        """Yield the fits with a clear effect if `matter`, else the others."""
        for fault, weighted, common in zip(state_faults_of(prior.model.n), others, rest):
            corrected = fit_gram(weighted, prior, DEFAULT_PRIOR_PRECISION)
            after = _torque_error(common, corrected, count)
            effect = _torque_error(common, theta, count) / after
            # One that fits worse than the recorded states by more than their E is none.
            if (effect > MIN_HARMFUL_ERROR_RATIO) is matter and after < 2.0 * before:
                evidence = _log_evidence_of(weighted, prior) - known
                yield StateFaultFit(fault, effect, evidence, before, after)

    found = [*fits(True)]
    if any(fit.log_bayes_factor > 0.0 for fit in found):
        found += fits(False)
    return sorted(found, key=lambda fit: -fit.log_bayes_factor)


def _torque_error(gram: Array, theta: Array, count: int) -> float:
    """Return the torque error E of parameters, from the Gram matrix of `count` samples."""
    residual = np.append(-theta, 1.0)
    return float(np.sqrt(max(residual @ gram @ residual, 0.0) / count))


def _log_evidence_of(gram: Array, prior: Prior) -> float:
    """
    Return the log evidence of a Gram matrix, with a common factor of efforts and offsets free.

    A load is free where that is likelier. Masses are known as well as in the fit, or better:
    those of a set that is good for nothing would explain the recorded states, too.
    """
    triangle, effort = sqrt_equations(gram, [*range(len(prior.std))], prior.std)
    load = prior.model.load_matrix[:, MASS_AND_FIRST_MOMENT]
    b = len(prior.model.base)
    offsets = [name.startswith(OFFSET_SYMBOL) for name in prior.model.names]
    free = np.column_stack([triangle[:, :b] @ prior.center[:b], triangle[:, offsets]])
    tables = (
        log_evidence(
            (triangle, effort), prior, unknown, min_mass_precision=DEFAULT_PRIOR_PRECISION
        )
        for unknown in (free, np.column_stack([free, triangle[:, :b] @ load]))
    )
    rest = float(gram[-1, -1] - effort @ effort)
    return max(float(table.max()) for table in tables) - 0.5 * rest
