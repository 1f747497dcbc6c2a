# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The live parameters of the feedforward, validated together, and the torque targets."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arm import ArmDescription, LinkInertia
from ..arm.payload import payload_array, payload_body, PAYLOAD_ORDER
from ..dynamics.model import GRAVITY
from ..errors import InertiaError, listed, SettingsError, shortened
from ..parameter_schema import check, ParameterSpec, specs


@dataclass(frozen=True)
class TargetProfile:
    """
    What a torque target (the receiver) adds to the torques, its brakes and its rotor inertia.

    With `receiver_adds_gravity`, only the difference between the true gravity torque and the
    gravity torque that the receiver adds is commanded; otherwise the whole gravity torque is
    commanded. With `receiver_adds_friction`, the receiver compensates joint friction, and
    terms.friction is refused. `rotor_inertia` is a lower bound of the reflected rotor inertia that
    the joints have and the model lacks [kg m^2]; rotor inertia allows larger gains than link
    inertia alone. The reflected rotor inertia of a Franka arm's joints is 0.07 to 0.2 kg m^2
    (MuJoCo Menagerie, franka_fr3).
    """

    name: str
    receiver_adds_gravity: bool
    receiver_adds_friction: bool
    rotor_inertia: float = 0.0


TARGETS = {
    profile.name: profile
    for profile in (
        TargetProfile('fci', True, True, rotor_inertia=0.05),
        TargetProfile('franka_gazebo', True, False),
        TargetProfile('gz_ros2_control', False, False),
        TargetProfile('mujoco', False, False, rotor_inertia=0.05),
    )
}
DEFAULT_TARGET = 'fci'


def target_profile(name: str) -> TargetProfile:
    """Return the target profile called `name`; raise SettingsError for an unknown name."""
    if name not in TARGETS:
        raise SettingsError(f'There is no target {name!r}; the choices are {", ".join(TARGETS)}.')
    return TARGETS[name]


# Largest gravity component [m/s^2]: any planet an arm stands on, with a margin for a moving base.
MOST_GRAVITY = 30.0
# Range of the norm of gravity [m/s^2] for a robot that compensates gravity itself, which stands on
# the Earth.
EARTH = (9.7, 9.9)
# Difference from the unit matrix at which an arm file's base counts as rotated.
ROTATED = 1e-9
# Largest gain for a joint without a torque limit [N m/rad, N m s/rad]. _MOST_GAIN also keeps every
# torque far from overflow.
_MOST_GAIN = 1e4
# Largest kp and kd relative to the torque limit [1/rad, s/rad]. With the largest gains, a tracking
# error of 0.04 rad or 1/3 rad/s demands the whole torque limit. libfranka's joint impedance
# example has a kp of 600 N m/rad for a torque limit of 87 N m, and a kd of 30 N m s/rad for 12 N
# m.
MOST_STIFFNESS, MOST_DAMPING = 25.0, 3.0


@dataclass(frozen=True)
class Terms:
    """Which terms go into the command, beside the gravity that the target does not add."""

    coriolis: bool = True
    inertia: bool = True
    friction: bool = False


@dataclass(frozen=True, eq=False)
class Settings:
    """
    Values of the live parameters; `validate` checks them together.

    Each field is the node's parameter of the same name, `terms` the parameters terms.*;
    config/feedforward/default.yaml explains the parameters. A single kp or kd applies to all
    joints. The payload is mass [kg], centre of mass [m] in the flange frame, and
    inertia about the centre of mass [kg m^2] in the order xx, xy, xz, yy, yz, zz; the first four
    alone are a point mass. A LinkInertia about the flange's origin, or None, may be given, too.
    Raises SettingsError for a payload that is no numbers.
    """

    target: str = DEFAULT_TARGET
    terms: Terms = field(default_factory=Terms)
    gravity_vector: tuple[float, ...] = GRAVITY  # in the base frame [m/s^2]
    payload: tuple[float, ...] = (0.0,) * len(PAYLOAD_ORDER)
    payload_known_to_robot: bool = True
    kp: tuple[float, ...] = (0.0,)  # [N m/rad or N/m]
    kd: tuple[float, ...] = (0.0,)  # [N m s/rad or N s/m]
    scale: float = 1.0

    def changed(self, **others: Any) -> Settings:
        """Return these settings with others; raises SettingsError for an unknown one."""
        known = [one.name for one in fields(self)]
        unknown = next((name for name in others if name not in known), None)
        if unknown is not None:
            raise SettingsError(f'There is no setting {unknown!r}; there are {", ".join(known)}.')
        return replace(self, **others)

    def __post_init__(self) -> None:
        """Make ten numbers of the payload."""
        if not isinstance(self.terms, Terms):
            raise SettingsError(
                f'terms must be fd.Terms(...), got {shortened(repr(self.terms), 80)}.'
            )
        given: Any = self.payload
        if isinstance(given, LinkInertia):
            given = payload_array(given)
        try:
            numbers = [] if given is None else [float(one) for one in given]
        except (TypeError, ValueError):
            raise SettingsError(
                f'payload must be numbers ({", ".join(PAYLOAD_ORDER)}, or the first four); got '
                f'{shortened(repr(self.payload), 80)}.'
            ) from None
        if given is None or len(numbers) == 4:
            numbers += [0.0] * (len(PAYLOAD_ORDER) - len(numbers))
        object.__setattr__(self, 'payload', tuple(numbers))

    @property
    def profile(self) -> TargetProfile:
        """Return the profile of the target, which is the receiver of the torques."""
        return target_profile(self.target)

    def gains(self, n: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return kp and kd as arrays of shape (n,); a single number applies to all joints."""
        return per_joint('kp', self.kp, n), per_joint('kd', self.kd, n)

    def payload_inertia(self) -> LinkInertia:
        """
        Return the payload about the flange's origin, in the flange frame.

        Raises SettingsError unless the payload is ten finite numbers that `payload_body` accepts:
        a physical body (or zeros), neither too heavy nor too far from the flange.
        """
        values = np.asarray(self.payload, dtype=float)
        if values.shape != (len(PAYLOAD_ORDER),) or not np.isfinite(values).all():
            raise SettingsError(
                f'payload must be ten finite numbers ({", ".join(PAYLOAD_ORDER)}); got '
                f'[{listed(self.payload)}].'
            )
        try:
            return payload_body(values)
        except InertiaError as error:
            raise SettingsError(str(error)) from error

    def validate(self, description: ArmDescription) -> None:
        """Raise SettingsError if a value is out of range, or does not suit this arm or target."""
        target_profile(self.target)
        payload = self.payload_inertia()
        try:
            description.require_load(payload.mass)
        except InertiaError as error:
            raise SettingsError(str(error)) from error
        gravity = np.asarray(self.gravity_vector, dtype=float)
        if (
            gravity.shape != (3,)
            or not np.isfinite(gravity).all()
            or np.abs(gravity).max() > MOST_GRAVITY
        ):
            raise SettingsError(
                f'gravity_vector must be three numbers of at most {MOST_GRAVITY} m/s^2 in the '
                f'base frame, such as {list(GRAVITY)}; got '
                f'[{listed(self.gravity_vector)}].'
            )
        norm = float(np.linalg.norm(gravity))
        if self.profile.receiver_adds_gravity and not EARTH[0] <= norm <= EARTH[1]:
            raise SettingsError(
                f'gravity_vector {list(self.gravity_vector)} has a length of {norm:.4g} m/s^2; '
                f'target {self.target} compensates gravity itself, and only its direction in the '
                f'base frame can differ ({EARTH[0]} to {EARTH[1]} m/s^2 in all).'
            )
        off = np.abs(description.base[:3, :3] - np.eye(3)) > ROTATED
        if (off[2].any() and self.profile.receiver_adds_gravity) or (
            off.any() and gravity[:2].any()
        ):
            # The model takes the gravity vector in the space frame, the robot in the base frame.
            raise SettingsError(
                f'the arm file {description.file or description.name} rotates the base, and then '
                f'gravity_vector {list(self.gravity_vector)} with target {self.target} cannot be '
                'used. Leave the base unrotated in the file, and set gravity_vector to gravity in '
                'the base frame.'
            )
        self._require_gains(description)
        for spec in _ranges():
            check(spec, getattr(self, spec.name))
        if self.terms.friction and description.friction is None:
            simulated = (
                '; for a simulated arm with friction give the controller '
                'dataclasses.replace(arm, friction=arm.simulated_friction)'
                if description.simulated_friction is not None
                else ''
            )
            raise SettingsError(
                f'terms.friction is on, but {description.file or description.name} has no '
                'friction model; add one to the arm file (identify writes it) or switch it off'
                f'{simulated}.'
            )
        if self.terms.friction and self.profile.receiver_adds_friction:
            raise SettingsError(
                f'terms.friction is on, but the target {self.target} compensates friction '
                'itself; adding it twice can drive the arm by itself. Switch it off.'
            )

    def _require_gains(self, description: ArmDescription) -> None:
        effort = description.limit('effort')
        for name, gain, share in zip(
            ('kp', 'kd'), self.gains(description.n), (MOST_STIFFNESS, MOST_DAMPING)
        ):
            most = np.where(np.isfinite(effort), share * effort, _MOST_GAIN)
            if (gain < 0.0).any() or (gain > most).any():
                joint = int(np.flatnonzero((gain < 0.0) | (gain > most))[0])
                known = np.isfinite(effort[joint])
                bound = f' ({share:g} times its torque limit)' if known else ''
                raise SettingsError(
                    f'{name} must be within 0 and {most[joint]:g} at '
                    f'{description.joint_names[joint]}{bound}; got {gain[joint]:g}.'
                )


@functools.cache
def _ranges() -> tuple[ParameterSpec, ...]:
    """Return the declarations of the live parameters whose value is a single number."""
    found = (*specs('torque'), *specs('motion'))
    return tuple(spec for spec in found if spec.kind == 'double')


def per_joint(name: str, values: tuple[float, ...], n: int) -> NDArray[np.float64]:
    """Return one value per joint, (n,); raise SettingsError unless given 1 or n finite numbers."""
    gain = np.atleast_1d(np.asarray(values, dtype=float))
    gain = np.repeat(gain, n) if gain.shape == (1,) else gain
    if gain.shape != (n,) or not np.isfinite(gain).all():
        raise SettingsError(
            f'{name} must be one finite number for all joints, or {n} of them, one per joint; got '
            f'[{listed(np.ravel(values).tolist())}].'
        )
    return gain
