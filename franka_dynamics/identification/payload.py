# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
What hangs on the flange, from recordings with and without it.

Both recordings share the arm's base parameters and friction, which are estimated along with the
load; what the arm's model gets wrong is common to both and goes with it. The load's ten
parameters in the flange frame are as linear in torque as a link's (Gautier and Khalil 1990, eq.
12).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np
from numpy.typing import ArrayLike

from .noise import filter_inflation, lag_sums, residual_inflation
from .payload_estimate import PayloadEstimate
from .prior import Prior
from .qr_factors import QRFactors
from .torque_model import TorqueModel
from ..arm import ArmDescription, LinkInertia
from ..dynamics.model import GRAVITY
from ..dynamics.regressor import PER_LINK
from ..errors import IdentificationError
from ..recordings.preprocessing import Motion, SignalOptions
from ..recordings.recording import Recording
from ..typing import Array

# Beyond what any arm of this kind carries: kg m^2, kg m, kg in eq. 3's order. It only keeps
# parameters that no motion shows from being anything at all.
_PRIOR = np.array([10.0] * 6 + [10.0] * 3 + [30.0])
_ROUNDS, _SETTLED = 20, 1e-6


@dataclass(frozen=True, eq=False)
class _System:
    """The factors of both recordings and how the load enters them."""

    prior: Prior
    without: QRFactors
    loaded: QRFactors
    onto_base: Array  # (b, 10): base parameters of a load

    def thetas(self, solution: Array) -> tuple[Array, Array]:
        """Return the parameters without and with the load."""
        theta = solution[:-PER_LINK]
        shifted = theta.copy()
        shifted[: len(self.onto_base)] += self.onto_base @ solution[-PER_LINK:]
        return theta, shifted

    def squares(self, solution: Array) -> Array:
        """Return each joint's sum of squared residuals over both recordings, shape (n,)."""
        theta, shifted = self.thetas(solution)
        return self.without.squares(theta) + self.loaded.squares(shifted)

    def solve(self, weights: Array) -> tuple[Array, Array, float]:
        """Return solution, covariance and the degrees of freedom spent."""
        bare, bare_effort = self.without.weighted(weights)
        held, held_effort = self.loaded.weighted(weights)
        b, p = self.onto_base.shape[0], bare.shape[1]
        data = np.block(
            [[bare, np.zeros((len(bare), PER_LINK))], [held, held[:, :b] @ self.onto_base]]
        )
        known = np.concatenate(
            [
                np.pad(
                    np.concatenate([self.prior.root, self.prior.friction_root]),
                    ((0, 0), (0, PER_LINK)),
                ),
                np.pad(np.diag(1.0 / _PRIOR), ((0, 0), (p, 0))),
            ]
        )
        right = np.concatenate(
            [
                bare_effort,
                held_effort,
                self.prior.root @ self.prior.center,
                np.zeros(len(known) - len(self.prior.root)),
            ]
        )
        rows = np.concatenate([data, known])
        scale = np.linalg.norm(rows, axis=0)
        inverse = np.linalg.pinv(rows / scale, rcond=1e-12) / scale[:, None]
        covariance = inverse @ inverse.T
        spent = float(np.sum(covariance * (data.T @ data)))
        return inverse @ right, covariance, spent


def identify_payload(
    without: Sequence[Motion],
    loaded: Sequence[Motion],
    arm: ArmDescription,
    *,
    gravity: ArrayLike = GRAVITY,
    width: float = 0.02,
) -> PayloadEstimate:
    """
    Return the load that one set of recordings has and the other has not.

    Parameters
    ----------
    without, loaded : sequence of Motion
        Recordings of the same arm, prepared alike; or `static_samples` of them. The same motion in
        both cancels most of what the model gets wrong.
    arm : ArmDescription
        The arm without the load; known to 100 % only, so that any published set will do.
    gravity : array_like, shape (3,)
        In the space frame [m/s^2].
    width : float
        Where Coulomb friction has turned over [rad/s].

    Raises
    ------
    IdentificationError
        If one of the two is missing, or there are too few samples.

    """
    if not without or not loaded:
        raise IdentificationError('A payload needs recordings without and with it.')
    model = TorqueModel.of(arm, gravity=gravity, width=width)
    factors = [
        reduce(add, [QRFactors.of(model, motion) for motion in motions])
        for motions in (without, loaded)
    ]
    system = _System(
        Prior.towards(arm, model),
        factors[0],
        factors[1],
        model.base.matrix @ _onto_last_link(arm, model),
    )
    still = all(_is_still(motion) for motion in (*without, *loaded))
    from_filter = 1.0 if still else filter_inflation(without[0].options)
    inflation = np.full(model.n, from_filter)
    solution, covariance, deviation = _reweighted(system, inflation)
    if not still:
        inflation = np.maximum(
            from_filter, _residual_inflation(model, system, solution, without, loaded)
        )
        solution, covariance, deviation = _reweighted(system, inflation)
    last = slice(-PER_LINK, None)
    return PayloadEstimate.of(
        solution[last],
        covariance[last, last],
        noise=deviation,
        arm_mass=sum(link.mass for link in arm.links),
    )


def _onto_last_link(arm: ArmDescription, model: TorqueModel) -> Array:
    """Return the map from a load's ten parameters at the flange to the arm's vector."""
    onto = np.zeros((model.base.matrix.shape[1], PER_LINK))
    last = slice(PER_LINK * (arm.n - 1), PER_LINK * arm.n)
    for column, unit in enumerate(np.eye(PER_LINK)):
        body = LinkInertia.from_parameters(unit).expressed_in(arm.flange_transform())
        onto[last, column] = body.parameters()
    return onto


def _reweighted(system: _System, inflation: Array) -> tuple[Array, Array, Array]:
    """Return solution, covariance and the joints' noise [N m] by iterated reweighting."""
    samples = system.without.samples + system.loaded.samples
    deviation = np.ones(len(inflation))
    for _ in range(_ROUNDS):
        weights = 1.0 / (deviation * np.sqrt(inflation))
        solution, covariance, spent = system.solve(weights)
        freedom = 1.0 - spent / np.sum(samples / inflation)
        if freedom <= 0.0:
            raise IdentificationError(
                f'{samples} samples are too few to tell a load from the arm; record longer, or '
                'more poses.'
            )
        found = np.sqrt(system.squares(solution) / samples / freedom)
        found = np.maximum(found, np.sqrt(np.finfo(float).tiny))
        if np.allclose(found, deviation, rtol=_SETTLED, atol=0.0):
            break
        deviation = found
    return solution, covariance, deviation


def _residual_inflation(
    model: TorqueModel,
    system: _System,
    solution: Array,
    without: Sequence[Motion],
    loaded: Sequence[Motion],
) -> Array:
    residuals = (
        piece.effort - model.torque(piece, theta)
        for theta, motions in zip(system.thetas(solution), (without, loaded))
        for motion in motions
        for piece in motion.pieces()
    )
    return residual_inflation(lag_sums(residuals, without[0].options, model.n))


def _is_still(motion: Motion) -> bool:
    return not motion.dq.any()


STILL_RAD_PER_S = 0.01
_SHORTEST_S = 0.5
_SETTLING_S = 0.2  # after a stop the arm still rings


def static_samples(recording: Recording, *, still: float = STILL_RAD_PER_S) -> Motion:
    """
    Return one sample per stretch of rest: mean position and torque, no velocity.

    Parameters
    ----------
    recording : Recording
        Of an arm that is led to poses and held there.
    still : float
        Below this velocity of every joint it stands [rad/s].

    Raises
    ------
    IdentificationError
        If it never stood for half a second.

    """
    resting = (np.abs(recording.dq) < still).all(axis=1)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], resting, [False]]).astype(int)))
    time = recording.time
    q, effort, at = [], [], []
    for first, end in zip(edges[::2], edges[1::2]):
        chosen = np.arange(first, end)[time[first:end] >= time[first] + _SETTLING_S]
        if time[end - 1] - time[first] >= _SHORTEST_S and len(chosen):
            q.append(recording.q[chosen].mean(axis=0))
            effort.append(recording.effort[chosen].mean(axis=0))
            at.append(float(time[chosen].mean()))
    if not q:
        raise IdentificationError(
            f'{recording.source}: the arm never stood still for {_SHORTEST_S} s (all joints '
            f'below {still} rad/s); hold it longer in each pose.'
        )
    torque, zeros = np.array(effort), np.zeros((len(q), recording.q.shape[1]))
    return Motion(
        np.array(at),
        np.array(q),
        zeros,
        zeros,
        torque,
        torque,
        np.arange(len(q)),
        SignalOptions(),
        recording.remarks,
    )
