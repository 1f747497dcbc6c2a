# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The law that brakes a moving arm to rest and then holds it there; it needs no reference.

It damps by the gains, which also pull each joint to where its torque was last held back by a limit
of torque or rate (else to where braking began), and by M(q) a as far as they damp less. So braking
is hardly softer than the gains by which the arm was moved, and hardly stiffer if these are firm:
with late states that would swing. Where states are old, the gains are softer.
"""

from __future__ import annotations

import numpy as np

from .terms import StateTerms, TermModel
from ..arm import ArmDescription
from ..typing import Array

# Time constant with which braking makes velocities decay [s]: thirty cycles of 1 ms, so that a
# delay of two cycles causes no overshoot; but at least AGES times the age of the state.
TIME_CONSTANT_S, AGES = 0.03, 3.0
# Largest braking acceleration [rad/s^2]. With 10 the light wrist hardly brakes a load that nobody
# declared; with none a falling arm's joints 2 and 4 ask for more torque than its rate allows
# (chosen on draw 6 of benchmarks/guard_misconfiguration.py, judged on draw 9).
MAX_BRAKING_ACCELERATION = 30.0
# A joint slower than REST_SPEED [rad/s] is at rest, up to encoder noise. The arm is at rest after
# REST_STATES states in a row with every joint below twice REST_SPEED; the factor of two allows for
# the ripple of gears.
REST_SPEED, REST_STATES = 0.02, 20
# Rate at which braking follows the torque that the model does not explain [1/s].
FOLLOW_RATE = 25.0
# Compensation makes firm gains swing where states are late. So the gains bear an unexplained
# torque that turns a joint by up to YIELD [rad], times the share of braking that their kd does
# alone; only what is beyond is compensated. YIELD was chosen on FER and FR3 as they are and on
# draws 10 to 12 of benchmarks/guard_misconfiguration.py, and judged on draw 13.
YIELD = 0.05
# Along the motion it is compensated less the faster the joint moves, and not at all from SLOW on
# [rad/s]: it would keep the joint moving against friction.
SLOW = 0.1
# A braked arm is driven by something else (the model, a sensor or the wiring is wrong) if a joint
# is faster than at first by FASTER of its velocity limit for GAINING_S [s]; checked from LATE_S
# [s] on, since until then the torque before braking may still act. FASTER was chosen on draw 0 of
# benchmarks/guard_misconfiguration.py, and judged on draws 6 and 9.
FASTER, GAINING_S, LATE_S = 0.4, 0.005, 0.02
MAX_BRAKING_S = (
    1.0  # an arm that moves longer than this is driven by something else, unless held [s]
)
# So is an arm at rest that gets this kinetic energy [J]; such pushes gave it 0.8 J.
HELD_J = 1.5


class Brake:
    """
    Brakes one arm from `begin` on.

    Attributes
    ----------
    held : ndarray, shape (n,)
        The filtered torque that the model does not explain [N m], in FCI's sign.
    at_rest : bool
        Whether the arm has come to rest since `begin`.
    limited : ndarray of bool, shape (n,)
        Where the last torque was less than asked for; set by the caller.
    driven : str
        Why braking cannot succeed: something drives the arm; empty while braking works.

    """

    def __init__(self, description: ArmDescription) -> None:
        self._names = description.joint_names
        self._faster = FASTER * description.limit('velocity')
        self.begin(np.zeros(description.n))

    def begin(self, unexplained: Array) -> None:
        """Brake from the next state on; `unexplained` is the present torque, (n,) [N m]."""
        self.held, self.at_rest, self.driven = unexplained, False, ''
        self._time = self._gaining = 0.0
        self._speed, self._resting = np.zeros_like(unexplained), 0
        self._at: Array | None = None  # where the gains pull to
        self._gains = np.zeros_like(unexplained), np.zeros_like(unexplained)  # kp and kd
        self.limited = np.zeros(len(unexplained), dtype=bool)
        # Share of braking that kd alone does, kp, and torque that the gains bear.
        self._own = self._kp = self._bearable = np.zeros_like(unexplained)

    def torque(
        self,
        state: StateTerms,
        terms: TermModel,
        unexplained: Array,
        elapsed: float,
        age: float = 0.0,
        gains: tuple[Array, Array] | None = None,
    ) -> Array:
        """
        Return the torque that brakes and then holds the arm, shape (n,) [N m].

        It is the sum of the PD torque, towards at most YIELD from where braking began, of M(q) a,
        and of the unexplained torque beyond what kp bears. The acceleration a of a joint
        is -dq / T less what its kd alone gives it, and at most MAX_BRAKING_ACCELERATION. The gains
        are scaled down where kd alone would slow a joint within AGES ages. The caller adds gravity
        and Coriolis torque. `elapsed` is the time since the state before [s], `age` the age of
        `state` [s]; `gains` are kp and kd, (n,) each [N m/rad, N m s/rad].
        """
        q, dq = state.q, state.dq
        self.held = self.held + min(1.0, elapsed * FOLLOW_RATE) * (unexplained - self.held)
        mass = terms.true.mass_matrix(q)
        self._watch(0.5 * float(dq @ mass @ dq), np.abs(dq), elapsed)
        kp, kd = gains or (np.zeros_like(q), np.zeros_like(q))
        changed = not np.array_equal((kp, kd), self._gains)
        carried = self._pull(q) + self._compensated()
        duration = max(TIME_CONSTANT_S, AGES * age)
        if self._at is None or changed:
            self._own = np.minimum(1.0, kd * duration / mass.diagonal())
        self._gains = kp, kd
        soft = 1.0 / np.maximum(1.0, AGES * age * kd / mass.diagonal())
        self._kp, kd = soft * kp, soft * kd
        self._bearable = self._own * YIELD * self._kp
        along = np.maximum(0.0, 1.0 - np.abs(dq) / SLOW)
        share = np.where(self.held * dq > 0.0, along, 1.0)
        compensated = self._compensated()
        if self._at is not None and changed:  # other gains give a held arm the same torque
            self._at = q + self._turned(carried - compensated)
        here = q + self._turned(share * (self.held - compensated))  # the gains bear their part
        if self._at is None:
            self._at = here
        elif not self.at_rest:
            # Where limits hold back the torque, a pull to where braking began would come too late,
            # and make a joint with firm gains faster than it was.
            self._at = np.where(self.limited, here, self._at)
        wanted = (self._own - 1.0) / duration * dq
        wanted = np.clip(wanted, -MAX_BRAKING_ACCELERATION, MAX_BRAKING_ACCELERATION)
        return mass @ wanted + share * compensated + self._pull(q) - kd * dq

    @property
    def gets_faster(self) -> bool:
        """Whether something drives the arm, rather than that it does not come to rest."""
        return self._gaining >= GAINING_S

    def change_load(self, more: Array) -> None:
        """Give a held arm the same torque, after g(q) grew by `more`, (n,) [N m]."""
        before = self._compensated()
        self.held = self.held - more
        if self._at is not None:
            self._at = self._at + self._turned(before - self._compensated() - more)

    def _compensated(self) -> Array:
        return self.held - np.clip(self.held, -self._bearable, self._bearable)

    def _pull(self, q: Array) -> Array:
        return np.zeros_like(q) if self._at is None else self._kp * (self._at - q)

    def _turned(self, torque: Array) -> Array:
        """Return how far the gains turn under a torque that they bear, (n,) [rad]."""
        return np.divide(torque, self._kp, where=self._kp > 0.0, out=np.zeros_like(torque))

    def _watch(self, energy: float, speed: Array, elapsed: float) -> None:
        """Set `at_rest` and `driven`."""
        self._time += elapsed
        self._resting = self._resting + 1 if speed.max() < 2.0 * REST_SPEED else 0
        self.at_rest = self.at_rest or self._resting >= REST_STATES
        if self.at_rest:
            gains, what = energy > HELD_J, f'the held arm moves with {energy:.2g} J'
        elif self._time < LATE_S:
            self._speed = np.maximum(self._speed, speed)
            return
        else:
            faster = speed - self._speed
            joint = int((faster - self._faster).argmax())
            gains = faster[joint] > self._faster[joint]
            what = f'braking makes {self._names[joint]} faster by {faster[joint]:.2g} rad/s'
        self._gaining = self._gaining + elapsed if gains else 0.0
        if self._gaining >= GAINING_S:
            self.driven = what
        elif self._time > MAX_BRAKING_S and not self.at_rest:
            self.driven = f'the braked arm still moves after {MAX_BRAKING_S:g} s'
