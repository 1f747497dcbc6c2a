# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Validates settings and limits of joint states; describes the receivers of torques (targets)."""

from dataclasses import dataclass, field, fields, replace
from operator import attrgetter
from typing import Any

import numpy as np

from ..arguments import with_argument_checks
from ..arm import ArmDescription, FrictionModel, LinkInertia
from ..arm.frames import is_base_tilted, mount_rotation
from ..arm.payload import payload_array, payload_from_array, PAYLOAD_ORDER
from ..arrays import Array, as_array
from ..dynamics.model import GRAVITY
from ..errors import InertiaError, SettingsError
from ..parameter_schema import LIVE_PARAMETER_FILES, require_allowed_value, specs_in_files


@dataclass(frozen=True)
class ReceiverProfile:
    """
    Properties of a receiver of torques, such as whether it adds the gravity torque.

    With `receiver_adds_gravity`, only the difference between the true gravity torque and the
    gravity torque that the receiver adds is commanded; otherwise the whole gravity torque is
    commanded. `efforts_contain_friction`: the measured torques do, those of sensors between the
    drives and the links. `min_rotor_inertia` is a lower bound of the reflected rotor inertia that
    the joints have and the model lacks [kg m^2]; rotor inertia allows larger gains than link
    inertia alone. The reflected rotor inertia of a Franka arm's joints is 0.07 to 0.2 kg m^2
    (MuJoCo Menagerie, franka_fr3).
    """

    name: str
    receiver_adds_gravity: bool
    efforts_contain_friction: bool
    min_rotor_inertia: float = 0.0


RECEIVER_PROFILES = {
    'fci': ReceiverProfile('fci', True, True, min_rotor_inertia=0.05),
    'franka_gazebo': ReceiverProfile('franka_gazebo', True, False),
    'gz_ros2_control': ReceiverProfile('gz_ros2_control', False, False),
    'mujoco': ReceiverProfile('mujoco', False, False, min_rotor_inertia=0.05),
}
# Largest gravity component: any planet an arm stands on, with a margin for a moving base.
MAX_GRAVITY_M_S2 = 30.0
# Norm of gravity for a robot that compensates gravity itself, which stands on the Earth.
MIN_EARTH_GRAVITY_M_S2 = 9.7
MAX_EARTH_GRAVITY_M_S2 = 9.9
# Largest gain for a joint without a torque limit [N m/rad, N m s/rad]; it also keeps every torque
# far from overflow.
_MAX_GAIN_OF_UNLIMITED_JOINT = 1e4
# Largest kp and kd relative to the torque limit [1/rad, s/rad]. With the largest gains, a tracking
# error of 0.04 rad or 1/3 rad/s demands the whole torque limit. libfranka's joint impedance
# example has a kp of 600 N m/rad for a torque limit of 87 N m, and a kd of 30 N m s/rad
# for 12 N m.
MAX_KP_RATIO = 25.0
MAX_KD_RATIO = 3.0
_PAYLOAD_LABEL = f'payload ({", ".join(PAYLOAD_ORDER)}, or the first four)'
EFFORT_FRICTION_CHOICES = 'auto', 'included', 'excluded'
# Largest angle between gravity_vector and the gravity that a tilted mount implies.
_MAX_DIRECTION_ERROR_RAD = 5e-3


@dataclass(frozen=True)
class Terms:
    """Selects the torque terms to command in addition to the gravity torque."""

    coriolis: bool = True
    inertia: bool = True
    friction: bool = False


@dataclass(frozen=True, eq=False)
class Settings:
    """
    Target, gains, payload and gravity of the controller; `validate` checks them together.

    Each field is the node's parameter of the same name, `terms` the parameters terms.*;
    config/feedforward/default.yaml explains the parameters. A single kp or kd applies to all
    joints. The payload is mass [kg], centre of mass [m] in the flange frame, and inertia about the
    centre of mass [kg m^2] in the order xx, xy, xz, yy, yz, zz; the first four alone are a point
    mass. A LinkInertia about the flange's origin, or None, may be given, too. Raises SettingsError
    for a payload that is no numbers.
    """

    target: str = 'fci'
    terms: Terms = field(default_factory=Terms)
    gravity_vector: tuple[float, ...] = GRAVITY  # in the base frame [m/s^2]
    payload: tuple[float, ...] = (0.0,) * 10
    payload_known_to_robot: bool = True
    mount_tilt_compensated_by: str = ''
    kp: tuple[float, ...] = (0.0,)  # [N m/rad or N/m]
    kd: tuple[float, ...] = (0.0,)  # [N m s/rad or N s/m]
    scale: float = 1.0

    def changed(self, **changes: Any) -> 'Settings':
        """Return a copy with values replaced by name; raise SettingsError for an unknown name."""
        known = [one.name for one in fields(self)]
        for name in changes.keys() - known:
            raise SettingsError(f'There is no setting {name!r}; there are {", ".join(known)}.')
        return replace(self, **changes)

    def __post_init__(self) -> None:
        """Raise SettingsError for wrong types; make payload a tuple of floats, (10,) if valid."""
        if not isinstance(self.terms, Terms):
            raise SettingsError(f'terms must be fd.Terms(...); got {self.terms!r:.80}.')
        given: Any = (0.0,) * 10 if self.payload is None else self.payload
        numbers = payload_array(given) if isinstance(given, LinkInertia) else given
        numbers = as_array(numbers, (None,), _PAYLOAD_LABEL, SettingsError, finite=False)
        if len(numbers) == 4:
            numbers = np.append(numbers, np.zeros(6))
        object.__setattr__(self, 'payload', tuple(numbers.tolist()))

    @property
    def profile(self) -> ReceiverProfile:
        """The profile of the target, which is the receiver of the torques."""
        return RECEIVER_PROFILES[self.target]

    def gains(self, n: int) -> tuple[Array, Array]:
        """Return kp and kd as arrays of shape (n,); a single number applies to all joints."""
        return values_per_joint('kp', self.kp, n), values_per_joint('kd', self.kd, n)

    def payload_inertia(self) -> LinkInertia:
        """
        Return the payload's spatial inertia about the flange's origin, in the flange frame.

        Raises SettingsError unless the payload is ten finite numbers, and InertiaError unless
        `payload_from_array` accepts them: a physical body (or zeros), neither too heavy nor too
        far from the flange.
        """
        return payload_from_array(as_array(self.payload, (10,), _PAYLOAD_LABEL, SettingsError))

    def gravity_in_space(self, arm: ArmDescription) -> Array:
        """
        Return the true gravity in the space frame {S}, shape (3,) [m/s^2].

        A tilted mount says where down is, and `gravity_vector` in the base frame is not needed; if
        it is given, it must say the same. Raises SettingsError if it does not.
        """
        given = as_array(self.gravity_vector, (3,), 'gravity_vector', SettingsError)
        mount, tilted = mount_rotation(arm), is_base_tilted(arm)
        if tilted and tuple(self.gravity_vector) == GRAVITY:
            return given
        gravity = mount @ given
        sideways = np.linalg.norm(gravity[:2]) > _MAX_DIRECTION_ERROR_RAD * np.linalg.norm(given)
        if tilted and (sideways or gravity[2] > 0.0):
            raise SettingsError(
                f'gravity_vector is {given.tolist()}, and {arm.file} mounts the arm so '
                f'that gravity is {((mount.T @ GRAVITY).round(4) + 0.0).tolist()} m/s^2 in its '
                'base frame, if its root is level. Leave gravity_vector out, or correct the mount.'
            )
        return gravity

    def gravity_assumed_by_receiver(self, arm: ArmDescription) -> Array:
        """Return the gravity in {S} that a compensating receiver assumes, (3,) [m/s^2]."""
        if self.mount_tilt_compensated_by == 'robot':
            return self.gravity_in_space(arm)
        return mount_rotation(arm) @ GRAVITY

    def validate(self, arm: ArmDescription) -> None:
        """Raise SettingsError if a value is out of range, or does not suit this arm or target."""
        for spec in specs_in_files(*LIVE_PARAMETER_FILES):
            value = attrgetter(spec.name)(self)
            if spec.type_name == 'bool' and not isinstance(value, (bool, np.bool_)):
                raise SettingsError(f'{spec.name} must be True or False; got {value!r:.80}.')
            if spec.type_name == 'double':
                value = float(as_array(value, (), spec.name, SettingsError))
            require_allowed_value(spec, value)
        try:
            arm.require_within_rated_load(self.payload_inertia().mass)
        except InertiaError as error:
            raise SettingsError(str(error)) from error
        self._require_gravity(arm)
        self._require_gains(arm)
        name = arm.file or arm.name
        if self.terms.friction and arm.friction is None:
            raise SettingsError(
                f'terms.friction is on, but {name} has no friction model; add one (identify '
                'writes it; a simulator may have that of simulated_friction), or switch it off.'
            )

    def _require_gravity(self, arm: ArmDescription) -> None:
        """Raise SettingsError unless gravity and mount suit each other and the target."""
        self.gravity_in_space(arm)
        profile, name = self.profile, arm.file or arm.name
        gravity = np.asarray(self.gravity_vector)
        low, high = MIN_EARTH_GRAVITY_M_S2, MAX_EARTH_GRAVITY_M_S2
        off_earth = profile.receiver_adds_gravity and not low <= np.linalg.norm(gravity) <= high
        if off_earth or np.abs(gravity).max() > MAX_GRAVITY_M_S2:
            raise SettingsError(
                f'gravity_vector is {gravity.tolist()}, of length '
                f'{np.linalg.norm(gravity):.4g}; it must be gravity in the base frame, such as '
                f'{list(GRAVITY)}: each at most {MAX_GRAVITY_M_S2} m/s^2, and of length {low} to '
                f'{high} m/s^2 for a target that compensates gravity itself, as fci does.'
            )
        if self.mount_tilt_compensated_by and not profile.receiver_adds_gravity:
            raise SettingsError(
                f'mount_tilt_compensated_by is {self.mount_tilt_compensated_by}, but the target '
                f'{self.target} compensates no gravity: leave it empty.'
            )
        unsaid = profile.receiver_adds_gravity and not self.mount_tilt_compensated_by
        if unsaid and is_base_tilted(arm) and tuple(self.gravity_vector) == GRAVITY:
            raise SettingsError(
                f'{name} mounts the arm tilted, and the target {self.target} compensates gravity '
                'for the mounting set in Desk: set mount_tilt_compensated_by to robot if this '
                'tilt is set there, or to node if Desk says upright.'
            )

    def _require_gains(self, arm: ArmDescription) -> None:
        """Raise SettingsError if a gain is negative, or too large for a joint's torque limit."""
        effort, names = arm.limit('effort'), arm.joint_names
        shares = MAX_KP_RATIO, MAX_KD_RATIO
        for name, gain, share in zip(('kp', 'kd'), self.gains(arm.n), shares):
            most = np.where(np.isfinite(effort), share * effort, _MAX_GAIN_OF_UNLIMITED_JOINT)
            for joint in np.flatnonzero((gain < 0.0) | (gain > most))[:1]:
                raise SettingsError(
                    f'{name} must be within 0 and {most[joint]:g} at {names[joint]} ({share:g} '
                    f'times its torque limit, if that is known); got {gain[joint]:g}.'
                )


@with_argument_checks
@dataclass(frozen=True)
class StateLimits:
    """
    Bounds of joint states' rate, gaps and age, and how to read measured efforts.

    `min_input_rate` is the lowest rate of states [Hz]; a loop that says that its period is longer
    has that of its period. `state_timeout` is the longest time between two [s], `max_state_age`
    their largest age [s] (0: ages are not used). `effort_friction` says whether measured torques
    contain friction: included, excluded or auto. `held_until_commanded`: a receiver that adds no
    gravity carries the arm until the first torque comes. Raises SettingsError for other values.
    """

    min_input_rate: float = 200.0
    state_timeout: float = 0.02
    max_state_age: float = 0.1
    effort_friction: str = 'auto'
    held_until_commanded: bool = False

    def __post_init__(self) -> None:
        """Raise SettingsError for a rate or time <= 0 (age: < 0), or unknown effort_friction."""
        for name in ('min_input_rate', 'state_timeout', 'max_state_age'):
            value = getattr(self, name)
            if not value > 0.0 and (name, value) != ('max_state_age', 0.0):
                raise SettingsError(f'{name} is {value:g}; it must be above zero.')
        if self.effort_friction not in EFFORT_FRICTION_CHOICES:
            raise SettingsError(
                f'effort_friction is {self.effort_friction!r:.80}; the choices are '
                f'{", ".join(EFFORT_FRICTION_CHOICES)}.'
            )


def friction_in_measured_effort(
    effort_friction: str, arm: ArmDescription, profile: ReceiverProfile
) -> FrictionModel | None:
    """
    Return the friction model to subtract from measured efforts, or None; raise if it is missing.

    `effort_friction` is included, excluded or auto. A real arm's measured efforts contain joint
    friction, those of a simulator without joint friction do not: `auto` means included under
    target fci, else excluded. If the arm file has no friction model, `auto` gives None, and
    `included` raises SettingsError.
    """
    included = effort_friction == 'included'
    if included and arm.friction is None:
        raise SettingsError(
            f'effort_friction is included, but {arm.file or arm.name} has no '
            'friction model; add one to the arm file (identify writes it) or choose auto.'
        )
    included |= effort_friction == 'auto' and profile.efforts_contain_friction
    return arm.friction if included else None


def values_per_joint(name: str, values: Any, n: int) -> Array:
    """Return one value per joint, (n,); raise SettingsError unless given 1 or n finite numbers."""
    words = f'{name} (one number for all joints, or one for each of {n})'
    gain = as_array([values] if np.isscalar(values) else values, (None,), words, SettingsError)
    return as_array(np.resize(gain, n) if len(gain) == 1 else gain, (n,), words, SettingsError)
