# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Braking brings a moving arm to rest before its torque is taken back.

A computed torque against the measured velocity: tau = M(q) a with a = -dq / T within the joints'
acceleration limits, beside the gravity and Coriolis torque that were commanded all along. It needs
no reference, only a state that is trusted.
"""

from __future__ import annotations

import numpy as np

from .terms import TermModel
from ..arm import ArmDescription
from ..typing import Array

# [s] The velocity decays with it: thirty cycles of 1 ms, so that a delay of two costs no damping.
_TIME_CONSTANT_S = 0.03
_ACCELERATION = 10.0  # [rad/s^2] of a joint whose file states no limit; FR3's own
REST_SPEED = 0.02  # [rad/s] of every joint: what an encoder's noise may look like
_REST_SAMPLES = 5
# [s] From 2.6 rad/s at 7.5 rad/s^2 it takes 0.35; whoever still moves then is being moved.
LONGEST_BRAKING_S = 1.0
# A brake takes energy out. Were it to put some in, the model or the velocity would be wrong.
_MOST_ENERGY_GAIN, _LEAST_ENERGY_J = 1.5, 0.05


class Braking:
    """
    One stop of one arm, from when it is asked for to rest.

    Parameters
    ----------
    description : ArmDescription
        Whose acceleration limits hold.

    """

    def __init__(self, description: ArmDescription) -> None:
        limit = np.abs(description.limit('acceleration'))
        self._most = np.where(np.isfinite(limit), limit, _ACCELERATION)
        self._began: float | None = None
        self.failure = ''  # why it ended otherwise than at rest
        self._energy = 0.0
        self._still = 0

    def begin(self) -> None:
        """Start with the next state."""
        self._began, self.failure = None, ''
        self._still = 0

    def torque(self, stamp: float, q: Array, dq: Array, terms: TermModel) -> Array | None:
        """
        Return M(q) a, shape (n,) [N m], or None when braking is over.

        It is over at rest, after LONGEST_BRAKING_S, or when the arm gains energy.

        Parameters
        ----------
        stamp : float
            Stamp of the state [s].
        q, dq : ndarray, shape (n,)
            A trusted state.
        terms : TermModel
            The torque terms in use.

        """
        energy = 0.5 * float(dq @ terms.inertia(q, dq))
        if self._began is None:
            self._began, self._energy = stamp, energy
        self._still = self._still + 1 if np.abs(dq).max() < REST_SPEED else 0
        if self._still >= _REST_SAMPLES:
            return None
        if stamp - self._began > LONGEST_BRAKING_S:
            self.failure = f'it moves on after {LONGEST_BRAKING_S:g} s'
        elif energy > _MOST_ENERGY_GAIN * self._energy + _LEAST_ENERGY_J:
            self.failure = 'it gains energy'
        if self.failure:
            return None
        return terms.inertia(q, np.clip(-dq / _TIME_CONSTANT_S, -self._most, self._most))
