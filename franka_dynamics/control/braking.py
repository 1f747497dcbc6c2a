# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Brakes a moving arm to rest by its joint torques.

The braking command is the sum of gravity torque, Coriolis torque, M(q) a with a = -dq / T (T a
time constant) within the joints' acceleration limits (at rest: _HELD times these limits), and the
guard's residual: the torque that the model does not explain (an undeclared load, a push). Braking
needs no reference, only valid joint states. After braking, the stop sequence takes the command to
zero if the target compensates gravity and no hold was requested, else to the torque that
`resting_torque` returns.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from .terms import StateTerms, TermModel
from ..arm import ArmDescription
from ..typing import Array

# Time constant with which braking makes the velocity decay [s]: thirty cycles of 1 ms, so that a
# delay of two cycles causes no overshoot, but at least _AGES times the age of the state.
_TIME_CONSTANT_S, _AGES = 0.03, 3.0
# Largest braking acceleration once the arm is at rest, as a multiple of the acceleration limits
_HELD = 20.0
_ACCELERATION = 10.0  # [rad/s^2] limit of a joint whose file states none; the FR3's value
# Largest measured speed of a joint at rest [rad/s]: encoder noise.
REST_SPEED = 0.02
# The arm is at rest after _REST_SAMPLES states in a row with every joint below twice REST_SPEED;
# the factor of two allows for ripple of the gears.
_REST_SAMPLES = 20
# Time after which braking ends although the arm still moves, unless the arm is to be held [s].
# Braking from 2.6 rad/s at 7.5 rad/s^2 takes 0.35 s, so something else drives an arm that moves
# after LONGEST_BRAKING_S.
LONGEST_BRAKING_S = 1.0
# Braking takes kinetic energy out of a moving arm. If the kinetic energy of a braked arm grows,
# the model or the velocity is wrong. The torque before braking may still act for _LATE_S [s], so
# the largest energy in this time is the reference. An energy above _MOST_ENERGY_GAIN times the
# reference plus _LEAST_ENERGY_J [J] ends braking if it lasts longer than _GAINING_S [s]: when
# somebody pushes the arm or lets it go, the residual follows late. Once the arm has come to rest,
# its energy is no longer checked, because only a person or a load can move the arm then.
_MOST_ENERGY_GAIN, _LEAST_ENERGY_J, _LATE_S, _GAINING_S = 1.5, 0.05, 0.05, 0.1
# Rates at which braking follows a growing and a fading residual [1/s]. A fading residual is
# followed faster, because a compensated residual that outlasts a push would drive the arm. The
# product of rate and age of the state is at most _RESIDUAL_PER_AGE, or the compensation would
# oscillate. A decrease of the residual by less than _NOISE times the torque limit is followed at
# the slower rate: noise followed at two rates would lower the mean residual, and the arm would
# sink.
_RESIDUAL_RATE, _FADING_RATE, _RESIDUAL_PER_AGE, _NOISE = 25.0, 100.0, 0.5, 0.02
# A compensated residual that pushes a joint along its motion is reduced linearly with speed, to
# zero at _COMPENSATED_BELOW [rad/s]: the full residual would keep the joint moving against
# friction, but is needed to hold the joint at rest.
_COMPENSATED_BELOW = 0.1


class Braking:
    """
    Brakes one arm from the request to stop until rest, then holds the arm if requested.

    Attributes
    ----------
    failure : str
        Why braking ended before the arm was at rest; empty if it did not.
    holds : bool
        Whether the arm is held at rest until `release`, as by mechanical brakes.
    after_fault : bool
        Whether the arm was to be held when braking began.
    residual : ndarray, shape (n,)
        The filtered residual: joint torque beyond what the motion needs [N m].
    at_rest : bool
        Whether the arm has come to rest.
    """

    def __init__(self, description: ArmDescription) -> None:
        limit = np.abs(description.limit('acceleration'))
        self._acceleration_limit = np.where(np.isfinite(limit), limit, _ACCELERATION)
        effort = description.limit('effort')
        self._noise = np.where(np.isfinite(effort), _NOISE * effort, 0.0)
        self._zero = np.zeros(description.n)
        self.begin()

    def begin(self, residual: Array | None = None, *, hold: bool = False) -> None:
        """Brake from the next state on, beginning with the guard's `residual`, (n,) [N m]."""
        self._began: float | None = None
        self.failure = ''
        self.holds = self.after_fault = hold
        self.residual = self._zero if residual is None else residual
        self.at_rest = False
        self._energy = self._gaining = self._last = 0.0
        self._resting = 0

    def release(self) -> None:
        """Do not hold the arm: braking ends once the arm is at rest."""
        self.holds = False

    def torque(
        self, state: StateTerms, terms: TermModel, residual: Array | None = None, age: float = 0.0
    ) -> Array | None:
        """
        Return the braking command without gravity and Coriolis torque, (n,) [N m].

        The returned torque is M(q) a, with a the braking acceleration, plus the compensated
        residual; None when braking is over.

        Unless the arm is to be held, braking is over when the arm is at rest, or has not come to
        rest after LONGEST_BRAKING_S. Even if the arm is to be held, braking is over when the arm
        gains energy before it rests (see `failure`). `state` is a valid joint state, `age` seconds
        old. `residual`, shape (n,), is the guard's latest `command_residual` [N m]; default: zero.
        """
        stamp, q, dq = state.stamp, state.q, state.dq
        energy = 0.5 * float(dq @ terms.inertia(q, dq))
        if self._began is None:
            self._began = self._last = stamp
        elapsed, self._last = stamp - self._last, stamp
        residual = self._zero if residual is None else residual
        late = _RESIDUAL_PER_AGE / max(age, 1e-3)
        rate = np.where(
            np.abs(residual) < np.abs(self.residual) - self._noise,
            min(_FADING_RATE, late),
            _RESIDUAL_RATE,
        )
        self.residual = self.residual + np.minimum(1.0, elapsed * np.minimum(rate, late)) * (
            residual - self.residual
        )
        self._resting = self._resting + 1 if np.abs(dq).max() < 2.0 * REST_SPEED else 0
        self.at_rest = self.at_rest or self._resting >= _REST_SAMPLES
        since = stamp - self._began
        if since < _LATE_S:
            self._energy = max(self._energy, energy)
        elif not self.at_rest and energy > _MOST_ENERGY_GAIN * self._energy + _LEAST_ENERGY_J:
            self._gaining += elapsed
            if self._gaining > _GAINING_S:
                self.failure = 'it gains energy'
        else:
            self._gaining = 0.0
        if since > LONGEST_BRAKING_S and not self.at_rest and not self.holds:
            self.failure = f'it moves on after {LONGEST_BRAKING_S:g} s'
        if self.failure or (self._resting >= _REST_SAMPLES and not self.holds):
            return None
        decay = max(_TIME_CONSTANT_S, _AGES * age)
        most = self._acceleration_limit * (_HELD if self.at_rest else 1.0)
        wanted = np.clip(-dq / decay, -most, most)
        compensated = np.where(
            self.residual * dq > 0.0, np.maximum(0.0, 1.0 - np.abs(dq) / _COMPENSATED_BELOW), 1.0
        )
        return terms.inertia(q, wanted) + compensated * self.residual


# Largest difference between a candidate and the torque that holds the arm, as a fraction of the
# torque limit, without and with an undeclared load; and the least magnitude of an undeclared load
# that is considered [kg].
_FITS, _FITS_LOADED, _LEAST_LOAD_KG = 0.10, 0.25, 0.3


def resting_torque(
    held: Array,
    nominal: Array,
    others: Iterable[Array],
    loads: tuple[float, float] | None,
    lever: Array,
    effort: Array,
) -> Array:
    """
    Return the torque at which to end a stop sequence, shape (n,) [N m].

    The candidates are `nominal`, which keeps a free arm at rest if model and settings are right,
    and `others`, which do so if the receiver of the torques is not the settings' target.
    `resting_torque` returns the candidate nearest to the torque `held` that holds the arm now, if
    they differ by at most 10 % of the torque limit at every joint. Else `resting_torque` returns a
    candidate plus the gravity torque of a load on the flange, if this sum differs from `held` by
    at most 25 % of the torque limits. If no load explains `held`, `resting_torque` returns
    `nominal`, because the arm must not push against a person or a wall for ever.

    `loads` is the range of the undeclared load that may explain `held` [kg], negative where the
    arm may lack its declared payload; None: no load. `lever`, shape (n,), is the gravity torque
    per kilogram on the flange [N m/kg], `effort`, shape (n,), the torque limits [N m].
    """

    def misfit(torque: Array) -> float:
        return float((np.abs(held - torque) / effort).max())

    plain = sorted((nominal, *others), key=misfit)
    if misfit(plain[0]) <= _FITS:
        return plain[0]
    square = float(lever @ lever)
    if loads is None or square <= 1.0:
        return nominal
    for torque in plain:
        load = float((held - torque) @ lever) / square
        if loads[0] <= load <= loads[1] and abs(load) >= _LEAST_LOAD_KG:
            loaded = torque + load * lever
            if misfit(loaded) <= _FITS_LOADED:
                return loaded
    return nominal
