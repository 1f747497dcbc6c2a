# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Contact told from load: a fast part of the external torque against a slow one.

The momentum observer's residual is parted by a first-order high-pass. What passes is compared
with thresholds and sets the contact flag, with hysteresis; what remains is the load: a payload
that nobody declared, or a push that stays.

The node's detection also runs over recorded states.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from .external_torque import LONGEST_STEP_S, MomentumObserver
from .external_wrench import relative_deviation
from .interval_motion import Interval, IntervalMotion
from ..arm import ArmDescription
from ..arm.friction import FrictionModel
from ..dynamics.model import GRAVITY
from ..dynamics.pinocchio_model import PinocchioModel
from ..errors import SettingsError
from ..typing import Array

# Over which states are averaged before they are observed [s]; see interval_motion.
PERIOD_S = 0.004
# A payload error that motion at half the velocity limits does not turn into a contact, at the
# default limits; and one that is worth a warning, because it is more than the best published
# model errs by on a real arm (0.28 kg).
LARGEST_LOAD_KG, LOAD_WARNING_KG = 0.2, 0.5
# A joint has felt a contact if it had this share of its threshold, within so many seconds after
# the flag: later the arm swings, and the model's errors are felt by all joints.
LINK_SHARE, LINK_WINDOW_S = 0.5, 0.1
# With less lever than this [N m/kg] a pose shows no mass.
_LEAST_LEVER = 0.5


# How much more than the largest share seen in a recording that nobody touched is allowed: hours
# bring larger ones than minutes do.
LEARNING_MARGIN = 1.5
# On whose recordings the defaults were set and seen to raise no alarm.
SEEN_ON = ('fer',)

# Shares of the thresholds at rest and per speed of the joints of a Franka arm, from two hours of a
# simulated FER with elastic joints and an erring model, and raised where either recording of a
# real FER asks for it, for less than one false alarm an hour.
_AT_REST = np.array([1.0, 1.0, 0.92, 0.76, 0.35, 0.375, 0.225])
_PER_SPEED = np.array([0.43, 1.0, 0.7, 0.9, 0.09, 0.15, 0.07])


def joint_shares(description: ArmDescription) -> tuple[Array, Array]:
    """
    Return what each joint has of the thresholds at rest and per speed, (n,) each.

    For arms of other than seven joints both go by `relative_deviation`.
    """
    if description.n == len(_AT_REST):
        return _AT_REST, _PER_SPEED
    return relative_deviation(description), relative_deviation(description)


@dataclass(frozen=True)
class ContactLimits:
    """
    When the high-passed residual is a contact.

    A contact begins where any joint exceeds `threshold` + `threshold_per_speed` v, and ends when
    all joints have been below `release` times that for `hold`. v is the fastest joint's speed,
    remembered with the high-pass's time constant, because a model errs in proportion to motion.
    That is for the joint that errs most; the others have the shares of it that `joint_shares`
    gives, and each joint's is multiplied by its factor of `joint_factors`, one for all or one per
    joint, as `learnt` finds them.

    `threshold` [N m], `threshold_per_speed` [N m s/rad], `release` [1], `hold` [s]; `high_pass`
    is the time constant [s] after which a constant torque counts as load; `settle` [s] passes
    after a (re)start before anything is flagged.
    """

    threshold: float = 1.25
    threshold_per_speed: float = 1.25
    release: float = 0.5
    hold: float = 0.1
    high_pass: float = 0.5
    settle: float = 0.5
    joint_factors: tuple[float, ...] = (1.0,)


@dataclass(eq=False)
class Contact:
    """
    A contact: at which stamp [s] and joint it was flagged, and how strong it has been.

    `peak` is that joint's largest torque [N m], `share` the most that it had of its threshold.
    `shares` are what each joint had of its own, at most, from the flag on for LINK_WINDOW_S: the
    pattern that tells the link.

    """

    stamp: float
    joint: int
    peak: float
    share: float
    shares: Array

    @property
    def link(self) -> int:
        """
        The link that was touched, 1 to n, as far as the joints tell.

        Joints beyond the touched link feel nothing, so it is that of the last joint that felt
        more than LINK_SHARE of its threshold (De Luca et al. 2006; Haddadin, De Luca and
        Albu-Schaeffer 2017, section on isolation). It may be a link further out, where the force
        has no lever on the last joints.
        """
        felt = [place for place, share in enumerate(self.shares) if share >= LINK_SHARE]
        return 1 + max(felt, default=self.joint)


class ContactMonitor:
    """
    Flags contacts of one arm and reports what it carries.

    `in_contact` is the flag, `latest` the contact it stands or stood for, `largest_share` the
    most that any joint had of its threshold until its reader set it to zero, `shares` what each
    has of its own now, shape (n,). `load` and `fast`,
    shape (n,) [N m] in FCI's sign, are the slow and the fast part of the external torque;
    `settled` says whether they are known yet. `external` is the whole of it where the latest
    state ended an interval, else None.

    Parameters
    ----------
    model : PinocchioModel
        The arm with its declared payload, under its true gravity.
    limits : ContactLimits
        When it is a contact.
    friction : FrictionModel, optional
        Friction that the measured torque contains; none if not given.

    Raises
    ------
    SettingsError
        If there are not one or n joint factors.

    """

    def __init__(
        self,
        model: PinocchioModel,
        limits: ContactLimits | None = None,
        friction: FrictionModel | None = None,
    ) -> None:
        self.limits = limits or ContactLimits()
        self._model = model
        self._observer = MomentumObserver(model, friction)
        self._motion = IntervalMotion(model.description.n, PERIOD_S)
        n, factors = model.description.n, np.array(self.limits.joint_factors)
        if factors.shape not in ((1,), (n,)) or not (factors > 0.0).all():
            raise SettingsError(
                f'contact.joint_factors is {factors.tolist()}; give one positive number, or {n}, '
                'one per joint.'
            )
        self._rest, self._moving = (factors * shares for shares in joint_shares(model.description))
        self.contacts = 0
        self.latest: Contact | None = None
        self.restart()

    def restart(self) -> None:
        """Forget the states so far (not the count of contacts); settle anew."""
        n = self._model.description.n
        self._observer.restart()
        self._motion.restart()
        self.external: Array | None = None
        self._stamp: float | None = None
        self._began = self._time = 0.0
        self._q = np.zeros(n)
        self._quiet = self._speed = self.largest_share = 0.0
        self.shares = np.zeros(n)
        self.in_contact = self.settled = False
        self.load = np.zeros(n)
        self.fast = np.zeros(n)

    def update(self, stamp: float, q: Array, dq: Array, effort: Array) -> bool:
        """
        Take one state; return whether the contact flag changed.

        It is evaluated once in PERIOD_S, on the means of the states in between: real drivers
        report velocities that carry the gears' ripple, and stamps that jitter; observed state by
        state, both are newton metres. Parameters are those of MomentumObserver.update.
        """
        last, self._stamp = self._stamp, stamp
        if last is None or not 0.0 <= stamp - last <= LONGEST_STEP_S:
            flagged = self.in_contact
            self.restart()
            self._stamp = self._began = stamp
            self._q = q
            self._motion.add(stamp, q, dq, effort)
            return flagged
        interval = self._motion.add(stamp, q, dq, effort)
        if interval is None:
            self.external = None
            return False
        self._time += interval.seconds
        self.external = self._observer.update(self._time, interval.q, interval.dq, interval.effort)
        return self._evaluate(stamp, self.external, interval)

    @property
    def position(self) -> Array:
        """Where the arm was when it was evaluated last, shape (n,) [rad]."""
        return self._q

    def load_mass(self) -> float:
        """
        Return the load as a point mass at the flange [kg].

        The mass fits the slow part of the external torque best; NaN while it is not known, or
        where gravity has no lever on the flange.
        """
        jacobian = self._model.jacobian(self._q)[:3]
        lever = -jacobian.T @ self._model.model.gravity.linear
        square = float(lever @ lever)
        if not self.settled or square < _LEAST_LEVER**2:
            return float('nan')
        return float(lever @ self.load) / square

    def _evaluate(self, stamp: float, residual: Array, interval: Interval) -> bool:
        limits, elapsed = self.limits, interval.seconds
        self._q = interval.q
        # While settling the load is learnt five times within the time there is.
        constant = limits.high_pass if self.settled else 0.2 * limits.settle
        share = elapsed / (constant + elapsed)
        self.fast = (1.0 - share) * (residual - self.load)
        self.load = self.load + share * (residual - self.load)
        self._speed = max(float(np.abs(interval.dq).max()), (1.0 - share) * self._speed)
        if not self.settled:
            self.settled = stamp - self._began >= limits.settle
            return False
        return self._judge(stamp, elapsed)

    def _judge(self, stamp: float, elapsed: float) -> bool:
        limits = self.limits
        thresholds = (
            limits.threshold * self._rest + limits.threshold_per_speed * self._speed * self._moving
        )
        self.shares = shares = np.abs(self.fast) / thresholds
        joint = int(shares.argmax())
        share, peak = float(shares[joint]), abs(float(self.fast[joint]))
        self.largest_share = max(self.largest_share, share)
        if not self.in_contact:
            if share <= 1.0:
                return False
            self.in_contact, self._quiet = True, 0.0
            self.contacts += 1
            self.latest = Contact(stamp, joint, peak, share, shares)
            return True
        contact = self.latest
        if contact is not None:
            contact.peak = max(contact.peak, abs(float(self.fast[contact.joint])))
            contact.share = max(contact.share, float(shares[contact.joint]))
            if stamp - contact.stamp <= LINK_WINDOW_S:
                contact.shares = np.maximum(contact.shares, shares)
        self._quiet = self._quiet + elapsed if share < limits.release else 0.0
        self.in_contact = self._quiet < limits.hold
        return not self.in_contact


_PROGRESS_EVERY = 500


@dataclass(frozen=True, eq=False)
class ContactReplay:
    """
    What the contact monitor would have said about a recording.

    `contacts` in order of time, with stamps in seconds since the first state; `shares` is the
    most that each joint ever had of its threshold, shape (n,); `watched` is for how long the
    monitor was settled [s].
    """

    contacts: tuple[Contact, ...]
    shares: Array
    watched: float

    @property
    def largest_share(self) -> float:
        """The most that any joint had of its threshold."""
        return float(self.shares.max())


def learnt(found: ContactReplay, limits: ContactLimits | None = None) -> ContactLimits:
    """
    Return limits for an arm of which a recording was replayed that nobody touched.

    Each joint's factor is LEARNING_MARGIN times the most it had of its threshold, and never lower
    than it was: a short recording can show that a threshold is too low, not that it is too high.

    Parameters
    ----------
    found : ContactReplay
        Of that recording.
    limits : ContactLimits, optional
        With which it was replayed; the node's defaults.

    """
    limits = limits or ContactLimits()
    factors = np.array(limits.joint_factors) * np.maximum(1.0, LEARNING_MARGIN * found.shares)
    # Rounded up, so that the text of a parameter file is no lower.
    return replace(limits, joint_factors=tuple((np.ceil(1e3 * factors) * 1e-3).round(3).tolist()))


def origin(description: ArmDescription, limits: ContactLimits) -> str:
    """Return in words where an arm's thresholds come from."""
    if any(factor != 1.0 for factor in limits.joint_factors):
        return 'set for this arm by contact.joint_factors'
    if description.name in SEEN_ON:
        return 'the defaults, set on recordings of two FERs that nobody touched'
    return (
        f"the defaults, set on two FERs and seen on no {description.name}: learn this arm's from "
        'a recording that nobody touches (bag replay --contact --learn FILE)'
    )


def replay_contact(
    arm: ArmDescription,
    time: Array,
    q: Array,
    dq: Array,
    effort: Array,
    *,
    gravity: ArrayLike = GRAVITY,
    limits: ContactLimits | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> ContactReplay:
    """
    Run the contact monitor over recorded states, one by one, as the node does.

    Parameters
    ----------
    arm : ArmDescription
        The arm with what it carried; its friction is taken out of the torques.
    time : ndarray, shape (N,)
        Stamps [s], increasing.
    q, dq, effort : ndarray, shape (N, n)
        Position [rad], velocity [rad/s] and measured torque [N m].
    gravity : array_like, shape (3,)
        Gravity in the base frame [m/s^2].
    limits : ContactLimits, optional
        When it is a contact; the node's defaults.
    progress : callable, optional
        Called with the number of states done and of all.

    """
    monitor = ContactMonitor(PinocchioModel(arm, gravity), limits, arm.friction)
    contacts: list[Contact] = []
    largest, watched = np.zeros(arm.n), 0.0
    steps = np.diff(time, prepend=time[:1])
    for count, (stamp, step, *state) in enumerate(zip(time, steps, q, dq, effort), start=1):
        began = monitor.update(float(stamp), *state) and monitor.in_contact
        if began and monitor.latest is not None:
            contacts.append(monitor.latest)  # whose peak grows on
        largest = np.maximum(largest, monitor.shares)
        watched += float(step) * monitor.settled
        if progress is not None and count % _PROGRESS_EVERY == 0:
            progress(count, len(time))
    return ContactReplay(tuple(contacts), largest, watched)
