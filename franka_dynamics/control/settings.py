# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Everything about the feedforward that may change while it runs, validated as one whole."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from ..arm import ArmDescription, LinkInertia
from ..dynamics import GRAVITY
from ..errors import InertiaError, SettingsError


class Start(str, Enum):
    """The torque a first command starts from."""

    ZERO = 'zero'
    GRAVITY = 'gravity'


class Stop(str, Enum):
    """Where the stop sequence ends before the node falls silent."""

    ZERO = 'zero'
    HOLD_GRAVITY = 'hold_gravity'


@dataclass(frozen=True)
class TargetProfile:
    """
    One receiver of torques.

    `receiver_adds_gravity` decides what is commanded: the difference between the true gravity
    torque and the one the receiver already adds, or all of it. Receivers hold the last command
    for ever (ros2_control's forward controllers do), so `stop` is a torque at which the arm may
    be left: zero where the receiver keeps it up, the last gravity torque where nobody else does.
    """

    name: str
    receiver_adds_gravity: bool
    receiver_adds_friction: bool
    start: Start
    stop: Stop


TARGETS = {profile.name: profile for profile in (
    TargetProfile('fci', True, True, Start.ZERO, Stop.ZERO),
    TargetProfile('franka_gazebo', True, False, Start.ZERO, Stop.ZERO),
    TargetProfile('gz_ros2_control', False, False, Start.GRAVITY, Stop.HOLD_GRAVITY),
    TargetProfile('mujoco', False, False, Start.GRAVITY, Stop.HOLD_GRAVITY),
)}
DEFAULT_TARGET = 'fci'


def target_profile(name: str) -> TargetProfile:
    """Return the profile of that name, or raise SettingsError listing those there are."""
    if name not in TARGETS:
        raise SettingsError(f'There is no target {name!r}; the choices are {", ".join(TARGETS)}.')
    return TARGETS[name]


PAYLOAD_ORDER = ('mass', 'x', 'y', 'z', 'xx', 'xy', 'xz', 'yy', 'yz', 'zz')
# Gravity on the largest bodies anybody mounts an arm on, with room for a moving base.
_MOST_GRAVITY = 30.0
# A real robot stands on the Earth: what differs from its gravity is a slip of the pen.
_EARTH = (9.7, 9.9)
# Beyond these no number is meant: an arm's joint stiffness, and what its flange carries (kg, m,
# kg m^2). They also keep every torque far from overflow.
_MOST_GAIN, _MOST_PAYLOAD = 1e5, 100.0


class StateSource(str, Enum):
    """The state at which Coriolis and inertia terms are evaluated; gravity is at the measured."""

    MEASURED = 'measured'
    REFERENCE = 'reference'


@dataclass(frozen=True)
class Terms:
    """Which terms go into the command (gravity only as far as the target leaves it to us)."""

    gravity: bool = True
    coriolis: bool = True
    inertia: bool = True
    friction: bool = False


@dataclass(frozen=True, eq=False)
class Settings:
    """
    One consistent set of live parameters.

    `payload` is the ten numbers of libfranka's setLoad, in the flange frame: mass [kg], centre of
    mass [m], inertia about it [kg m^2] in the order xx, xy, xz, yy, yz, zz. `kp` [N m/rad] and
    `kd` [N m s/rad] belong to the optional joint PD.
    """

    target: str = DEFAULT_TARGET
    terms: Terms = field(default_factory=Terms)
    state_source: StateSource = StateSource.MEASURED
    gravity_vector: tuple[float, ...] = GRAVITY
    payload: tuple[float, ...] = (0.0,) * len(PAYLOAD_ORDER)
    payload_known_to_robot: bool = True
    kp: tuple[float, ...] = (0.0,)
    kd: tuple[float, ...] = (0.0,)
    scale: float = 1.0
    ramp_time: float = 0.2

    @property
    def profile(self) -> TargetProfile:
        """Return the target's profile."""
        return target_profile(self.target)

    @property
    def inclined(self) -> bool:
        """Whether the base is mounted otherwise than FCI assumes it."""
        return tuple(self.gravity_vector) != GRAVITY

    def gains(self, n: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return kp and kd as arrays of shape (n,); a single number stands for every joint."""
        return _gain('kp', self.kp, n), _gain('kd', self.kd, n)

    def payload_inertia(self) -> LinkInertia:
        """
        Return the payload about the flange's origin, in the flange frame.

        Raises
        ------
        SettingsError
            If it does not have ten finite numbers, or no real body has those.

        """
        values = np.asarray(self.payload, dtype=float)
        if values.shape != (len(PAYLOAD_ORDER),) or not np.isfinite(values).all():
            raise SettingsError(
                f'payload must be ten finite numbers ({", ".join(PAYLOAD_ORDER)}); got '
                f'{list(self.payload)}.')
        if np.abs(values).max() > _MOST_PAYLOAD:
            raise SettingsError(
                f'payload has a value of {values[np.abs(values).argmax()]:g}; in kg, m and kg m^2 '
                f'none is beyond {_MOST_PAYLOAD:g}. Are these grams or millimetres?')
        mass, center, inertia = values[0], values[1:4], values[4:]
        if mass < 0.0:
            raise SettingsError(f'payload.mass is {mass} kg; a mass cannot be negative.')
        if mass == 0.0 and values[1:].any():
            raise SettingsError('payload has no mass but a centre of mass or an inertia; give the '
                                'mass, or ten zeros for no payload.')
        try:
            body = LinkInertia.from_center_of_mass(mass, center, inertia)
        except InertiaError as error:
            raise SettingsError(f'payload: {error}') from error
        if not body.is_physical():
            raise SettingsError(
                f'payload inertia {list(inertia)} (xx, xy, xz, yy, yz, zz about the centre of '
                f'mass) belongs to no real body: its principal moments miss the triangle '
                f'inequality A + B >= C by {-body.triangle_margin():.3g} kg m^2.')
        return body

    def validate(self, description: ArmDescription) -> None:
        """
        Refuse what cannot be commanded on this arm.

        Raises
        ------
        SettingsError
            Naming the parameter, its value and what it must be.

        """
        target_profile(self.target)
        self.payload_inertia()
        gravity = np.asarray(self.gravity_vector, dtype=float)
        if (gravity.shape != (3,) or not np.isfinite(gravity).all()
                or np.abs(gravity).max() > _MOST_GRAVITY):
            raise SettingsError(
                f'gravity_vector must be three numbers of at most {_MOST_GRAVITY} m/s^2 in the '
                f'base frame, such as {list(GRAVITY)}; got {list(self.gravity_vector)}.')
        norm = float(np.linalg.norm(gravity))
        if self.profile.receiver_adds_gravity and not _EARTH[0] <= norm <= _EARTH[1]:
            raise SettingsError(
                f'gravity_vector {list(self.gravity_vector)} has a length of {norm:.4g} m/s^2; '
                f'target {self.target} compensates gravity itself, and only its direction in the '
                f'base frame can differ ({_EARTH[0]} to {_EARTH[1]} m/s^2 in all). Gravity is '
                'switched off with terms.gravity.')
        for name, gain in zip(('kp', 'kd'), self.gains(description.n)):
            if (gain < 0.0).any() or (gain > _MOST_GAIN).any():
                raise SettingsError(f'{name} must be within 0 and {_MOST_GAIN:g}; got '
                                    f'{gain.tolist()}.')
        if not 0.0 <= self.scale <= 1.0:
            raise SettingsError(f'scale must be within 0 and 1; got {self.scale}.')
        if not 0.0 <= self.ramp_time <= 10.0:
            raise SettingsError(f'ramp_time must be within 0 and 10 s; got {self.ramp_time}.')
        if self.terms.friction and description.friction is None:
            raise SettingsError(
                f'terms.friction is on, but {description.file or description.name} has no '
                'friction model; add one to the arm file (identify writes it) or switch it off.')
        if self.terms.friction and self.profile.receiver_adds_friction:
            raise SettingsError(
                f'terms.friction is on, but the target {self.target} compensates friction '
                'itself; adding it twice can drive the arm by itself. Switch it off.')


def _gain(name: str, values: tuple[float, ...], n: int) -> NDArray[np.float64]:
    gain = np.asarray(values, dtype=float)
    gain = np.repeat(gain, n) if gain.shape == (1,) else gain
    if gain.shape != (n,) or not np.isfinite(gain).all():
        raise SettingsError(
            f'{name} must be one finite number for all joints, or {n} of them, one per joint; got '
            f'{list(values)}.')
    return gain
