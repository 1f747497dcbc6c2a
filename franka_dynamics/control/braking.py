# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The law that brakes a moving arm to rest and then holds it there; it needs no reference.

It is a PD torque towards the pose where braking began, M(q) a as far as kd damps less, and the
torque that the model does not explain, as far as it was there when braking began or is small. What
has grown since may be braking's own torque, which a wrong sensor cannot tell from a load.
"""

from __future__ import annotations

import numpy as np

from .limits import MAX_BRAKING_ACCELERATION, MAX_STEP_S, MAX_TORQUE_RATE
from .terms import StateTerms, TorqueTermModel
from ..arm import ArmDescription
from ..typing import Array

# Time constant with which braking makes velocities decay [s]: thirty cycles of 1 ms, so that a
# delay of two cycles causes no overshoot; but at least MIN_AGES times the age of the state. The
# pull to the stop pose damps critically with it, or is kp if that is larger.
TIME_CONSTANT_S = 0.03
MIN_AGES = 3.0
REST_SPEED = 0.02  # up to which a joint is at rest [rad/s]: noise of encoders
# The arm is at rest after so many states in a row below twice REST_SPEED, for the gears' ripple.
REST_STATES = 20
# Speed of a joint [rad/s] from which no residual is compensated along the motion, which it would
# keep up.
MAX_COMPENSATED_SPEED = 0.1
# The residual when braking began is the largest until the observer has settled [s]: at first it
# lags behind an arm that falls, and an FR3 mounted upside down, undeclared, was not held.
SETTLED_S = 0.05
# Whenever it comes, a residual of SMALL times the torque limit is compensated: without it a person
# who pushes a held arm with 80 N moves it so far that it is let go.
SMALL = 0.1
# A braked arm is driven by something else (the model, a sensor or the wiring is wrong) if a joint
# is faster than at first by this share of its velocity limit for MIN_GAINING_S [s] (chosen on draw
# 0 of benchmarks/guard_misconfiguration.py, judged on draws 6 and 9).
MAX_SPEED_GAIN_SHARE = 0.4
MIN_GAINING_S = 0.005
# Before this the torque from before braking may still act [s]; longer where the limit of its rate
# holds it back.
MIN_BRAKING_S = 0.02
# After MAX_BRAKING_S [s] the arm counts as held, even if it still moves. A held arm that gets more
# kinetic energy than HELD_J [J] is driven by something else; such pushes gave it 0.8 J.
MAX_BRAKING_S = 1.0
HELD_J = 1.5
# Time constant with which an arm whose motion is not seen is brought to rest, and time after which
# that is over [s]. On draw 73 of benchmarks/guard_misconfiguration.py an FR3 with firm gains, all
# joints frozen in motion, reached 7.6 rad/s with a time constant of 0.06, and 2.5 with 0.1, each
# over after 0.3 s; with the values below 1.6.
UNSEEN_TIME_CONSTANT_S = 0.1
UNSEEN_STOP_S = 2.5 * UNSEEN_TIME_CONSTANT_S
# A joint state counts while the arm is stopped until it is older than this [s].
MAX_SEEN_AGE_S = 0.05


class UnseenStop:
    """
    Brings an arm to rest of which some joints' sensors do not show how they move.

    The velocity of each joint is to decay exponentially. `q` and `dq`, (n,) each, are where the
    arm probably is at a time `begun` [s], and how fast; `see` gives them of the other joints.
    """

    def __init__(self, terms: TorqueTermModel, q: Array, dq: Array, begun: float) -> None:
        self._terms, self._q, self._dq, self._begun = terms, q, dq, begun
        self._seen, self._live = (q, dq), np.zeros(len(q), dtype=bool)
        self._seen_at = begun

    def see(self, q: Array, dq: Array, live: Array, now: float) -> None:
        """Take note of the joints, `live`, whose sensors show how they move, (n,) each."""
        self._seen, self._live, self._seen_at = (q, dq), live, now

    def torque(self, now: float) -> Array:
        """Return the torque to command at a time [s], (n,) [N m]."""
        terms, decay = self._terms, UNSEEN_TIME_CONSTANT_S
        left = float(np.exp(-max(0.0, now - self._begun) / decay))
        probably = self._q + (1.0 - left) * decay * self._dq, left * self._dq
        q, dq = (np.where(self._live, *both) for both in zip(self._seen, probably))
        gravity = terms.gravity_to_command(q, terms.gravity(q))
        return gravity + terms.coriolis(q, dq) - terms.inertia_torque(q, dq / decay)

    def over(self, now: float) -> bool:
        """
        Return whether the arm probably rests at a time [s].

        Where the target adds no gravity, the unseen joint may fall, and the others are slowed as
        long as they are seen.
        """
        if now - self._begun < UNSEEN_STOP_S:
            return False
        speed = np.abs(self._seen[1][self._live])
        moves = speed.size and (speed.max() > REST_SPEED or not self._terms.adds_gravity)
        return not (moves and now - self._seen_at < MAX_SEEN_AGE_S)


class Brake:
    """
    Brakes one arm from `begin` on.

    Attributes
    ----------
    residual : ndarray, shape (n,)
        The compensated part of the torque that the model does not explain [N m], in FCI's sign.
    at_rest : bool
        Whether the arm has come to rest since `begin`.
    held_back : ndarray, shape (n,)
        The part of the last torque that limits held back [N m]; set by the caller.
    driven : str
        Why braking cannot succeed: something drives the arm; empty while braking works.

    """

    def __init__(self, description: ArmDescription) -> None:
        self._names = description.joint_names
        self._faster = MAX_SPEED_GAIN_SHARE * description.limit('velocity')
        self._small = SMALL * description.limit('effort')
        # The time in which the torque goes from one limit to the other [s].
        self._turn_s = min(
            MAX_BRAKING_S, 2.0 * description.limit('effort').max() / MAX_TORQUE_RATE
        )
        self.begin(np.zeros(description.n))

    def begin(self, residual: Array, gains: tuple[Array, Array] | None = None) -> None:
        """
        Brake from the next state on.

        `residual` is the present torque that the model does not explain, (n,) [N m]; `gains` are
        kp and kd of a PD torque, (n,) each [N m/rad, N m s/rad]. None: there is no PD torque.
        """
        self.residual = self._largest = residual
        self._gains = gains or (np.zeros_like(residual), np.zeros_like(residual))
        self._pulls = gains is not None
        self.at_rest, self.driven = False, ''
        self.held_back = np.zeros_like(residual)
        self._stop_pose: Array | None = None
        self._time = self._gaining = 0.0
        self._speed, self._resting = np.zeros_like(residual), 0

    def torque(
        self,
        state: StateTerms,
        terms: TorqueTermModel,
        residual: Array,
        elapsed: float,
        age: float = 0.0,
    ) -> Array:
        """
        Return the torque that brakes and then holds the arm, shape (n,) [N m].

        The caller adds gravity and Coriolis torque. `residual` is the torque that the model does
        not explain now, (n,) [N m], `elapsed` the time since the state before [s], `age` the age
        of `state` [s]. With old states, and in a slow loop, whose torques are late, too, gains are
        scaled down until kd alone would not slow a joint within MIN_AGES ages.
        """
        age += max(0.0, elapsed - MAX_STEP_S)
        q, dq, mass = state.q, state.dq, terms.true.mass_matrix(state.q)
        self._watch(0.5 * float(dq @ mass @ dq), np.abs(dq), elapsed)
        inertia, decay = mass.diagonal(), max(TIME_CONSTANT_S, MIN_AGES * age)
        soft = 1.0 / np.maximum(1.0, MIN_AGES * age * self._gains[1] / inertia)
        kp, kd = soft * self._gains[0], soft * self._gains[1]
        if self._stop_pose is None:
            self._stop_pose = q
        elif not self.at_rest:
            # Where limits hold back the torque, a pull to where braking began would come too late,
            # and make a joint with firm gains faster than it was.
            self._stop_pose = np.where(self.held_back != 0.0, q, self._stop_pose)
        if self._time < SETTLED_S:
            self._largest = np.where(
                np.abs(residual) > np.abs(self._largest), residual, self._largest
            )
        faded = self.residual + min(1.0, elapsed / TIME_CONSTANT_S) * (residual - self.residual)
        most, small = self._largest, self._small
        self.residual = np.clip(faded, np.minimum(-small, most), np.maximum(small, most))
        along = np.maximum(0.0, 1.0 - np.abs(dq) / MAX_COMPENSATED_SPEED)
        share = np.where(self.residual * dq > 0.0, along, 1.0)
        # It yields where M(q) a would reach its bound, and the arm stays where it was pushed to.
        yields = MAX_BRAKING_ACCELERATION * (2.0 * decay) ** 2
        away = np.clip(q - self._stop_pose, -yields, yields)
        self._stop_pose = q - away
        missing = 1.0 - np.minimum(1.0, kd * decay / inertia)
        slowing = np.clip(dq / decay, -MAX_BRAKING_ACCELERATION, MAX_BRAKING_ACCELERATION)
        slowing = -missing * (self._pulls / (2.0 * decay) ** 2 * away + slowing)
        return mass @ slowing - kp * away - kd * dq + share * self.residual

    def change_load(self, more: Array) -> None:
        """Give a held arm the same torque, after g(q) grew by `more`, (n,) [N m]."""
        self.residual, self._largest = self.residual - more, self._largest - more

    def _watch(self, energy: float, speed: Array, elapsed: float) -> None:
        """Set `at_rest` and `driven`."""
        self._time += elapsed
        self._resting = self._resting + 1 if speed.max() < 2.0 * REST_SPEED else 0
        self.at_rest = self.at_rest or self._resting >= REST_STATES or self._time > MAX_BRAKING_S
        if self.at_rest:
            gains, what = energy > HELD_J, f'the held arm moves with {energy:.2g} J'
        elif self._time < (self._turn_s if self.held_back.any() else MIN_BRAKING_S):
            self._speed = np.maximum(self._speed, speed)
            return
        else:
            faster = speed - self._speed
            joint = int((faster - self._faster).argmax())
            gains = faster[joint] > self._faster[joint]
            what = f'braking makes {self._names[joint]} faster by {faster[joint]:.2g} rad/s'
        self._gaining = self._gaining + elapsed if gains else 0.0
        if self._gaining >= MIN_GAINING_S:
            self.driven = what
