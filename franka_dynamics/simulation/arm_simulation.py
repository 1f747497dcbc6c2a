# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A simulated arm with brakes, sensors, friction, elastic gears and joint stops."""

from dataclasses import dataclass, field, replace
from numbers import Integral
from pathlib import Path
from typing import BinaryIO

import numpy as np

from .joint_elasticity import ElasticDrive, JointElasticity
from .mujoco_model import build_mujoco_model, FLANGE_SITE, import_mujoco, TIMESTEP_S
from ..arguments import with_argument_checks
from ..arm import ArmDescription, LinkInertia
from ..arm.friction import LinearFriction, SigmoidFriction
from ..arm.friction_state import FrictionState
from ..arrays import Array, as_array
from ..constants import GRAVITY
from ..errors import RecordingError, SettingsError, short_repr, unreadable_file_message
from ..recordings.recording import Recording

_ELASTIC_SUBSTEP_COUNT = 2  # substeps of a time step, for resonances of up to 200 Hz
_MIN_SECANT_SPEED_RAD_S = 1e-6  # [rad/s] smallest speed for the slope of the friction chord
# Frequency bands in which recordings of a real FER show vibration [Hz].
VIBRATION_BANDS_HZ = (
    (15.0, 20.0),
    (20.0, 25.0),
    (25.0, 30.0),
    (30.0, 35.0),
    (35.0, 40.0),
)
# Largest gap between two commands of a stream that opens the brakes [s].
_MAX_COMMAND_GAP_S = 0.02


@with_argument_checks
@dataclass(frozen=True)
class Push:
    """
    A wrench that pushes the arm, in the world frame, from `start_time` for `duration` seconds.

    `force` [N] and `moment` [N m] act at the flange, or, if `link` is 1 to n, at `point` [m] in
    the frame of that link. Raises SettingsError if one of their numbers is not finite.
    """

    force: tuple[float, float, float] = (0.0, 0.0, 0.0)
    start_time: float = 0.0
    duration: float = 0.0
    moment: tuple[float, float, float] = (0.0, 0.0, 0.0)
    link: int = 0
    point: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        """Raise SettingsError for a number that is not finite."""
        for name in ('force', 'moment', 'point'):
            as_array(getattr(self, name), (3,), f'{name} of a push', SettingsError)

    def is_active(self, time: float) -> bool:
        """Return whether the wrench acts at a time [s]."""
        return self.start_time <= time < self.start_time + self.duration


@dataclass(frozen=True, eq=False)
class SimulationSettings:
    """
    Settings of a simulated arm's friction, gears, sensors, load and surroundings.

    By default the arm has none of them, so that plant and model are equal; `with_real_effects`
    switches on what is known of an arm. For a sliding joint read m for rad, N for N m.

    Attributes
    ----------
    start_position : ndarray, shape (n,), or None
        The first joint positions [rad]; None for the arm's `home_position`.
    gravity : tuple of float
        In the space frame [m/s^2].
    payload : LinkInertia
        What is on the flange, about its origin and in its frame.
    friction : bool
        Whether joints have the arm file's `friction`, or without one its `simulated_friction`.
    armature : bool
        Whether joints have the arm's `simulated_armature`. The effort sensors, which are behind
        the drives, do not feel it.
    elasticity : JointElasticity or None
        Elastic gears between motors and links. They bring their own motors, in place of the
        armature, and the measured velocity is then the motors', as in recordings of a real FER.
    gravity_compensation : bool
        Whether the arm itself adds g(q), for an upright base without `payload`, as under FCI.
    position_noise, velocity_noise, effort_noise : float
        Standard deviations of the sensors' noise [rad, rad/s, N m].
    vibration_rms : float
        Rms of a vibration in each band of 5 Hz from 15 to 40 Hz, at the joints with the largest
        torque limit [N m]; at others it is less in proportion to their limits. It is added to the
        drive torques, and the effort sensors measure it.
    push : Push
        A wrench on the arm.
    brake_release_after : float
        Time for which commands must have come without a gap until the brakes open [s]; 0 opens
        them with the first command.
    seed : int
        Seed of noise and vibration.

    Raises
    ------
    SettingsError
        If a noise, the vibration or the time is negative or not finite, or the seed is no whole
        number of 0 or more.

    """

    start_position: Array | None = None
    gravity: tuple[float, ...] = GRAVITY
    payload: LinkInertia = field(default_factory=LinkInertia.zero)
    friction: bool = False
    armature: bool = False
    elasticity: JointElasticity | None = None
    gravity_compensation: bool = False
    position_noise: float = 0.0
    velocity_noise: float = 0.0
    effort_noise: float = 0.0
    vibration_rms: float = 0.0
    push: Push = field(default_factory=Push)
    brake_release_after: float = 0.5
    seed: int = 0

    def __post_init__(self) -> None:
        """Raise SettingsError for a number that must not be negative and is, or is not finite."""
        for name in (
            'position_noise',
            'velocity_noise',
            'effort_noise',
            'vibration_rms',
            'brake_release_after',
        ):
            value = getattr(self, name)
            if not 0.0 <= value < np.inf:
                raise SettingsError(
                    f'{name} of a simulation is {value}; it must be a finite number, 0 or more.'
                )
        if not isinstance(self.seed, Integral) or self.seed < 0:
            raise SettingsError(
                f'seed of a simulation is {short_repr(self.seed)}; it must be a whole number, '
                '0 or more.'
            )

    def with_real_effects(self, arm: ArmDescription) -> 'SimulationSettings':
        """Return these settings with friction and armature on if the arm has them, else off."""
        rubs = arm.friction is not None or arm.simulated_friction is not None
        return replace(self, friction=rubs, armature=arm.simulated_armature is not None)


@dataclass(frozen=True, eq=False)
class SensorReading:
    """Measured joint positions, velocities and efforts, (n,) each, and their time [s]."""

    time: float
    position: Array
    velocity: Array
    effort: Array

    def write_step(self, file: BinaryIO, stamp: float) -> None:
        """
        Write the reading and its stamp [s] as one step to the step log, a binary file.

        A step is a row of 8-byte floats: stamp, positions, velocities, efforts. The arm's own
        process writes the log: recording the steps over DDS would take as much processor time as
        the simulation.
        """
        file.write(np.concatenate(((stamp,), self.position, self.velocity, self.effort)).tobytes())


def read_steps(path: Path, joint_names: tuple[str, ...]) -> Recording:
    """
    Return the simulation steps in a step log as a recording of joint states.

    Raises RecordingError if the file cannot be read, or holds no whole step.
    """
    width = 1 + 3 * len(joint_names)
    try:
        values = np.fromfile(path)
    except OSError as error:
        raise RecordingError(unreadable_file_message(path, error)) from error
    rows = values[: len(values) // width * width].reshape(-1, width)
    if not len(rows):
        raise RecordingError(f'{path} holds no step of the simulated arm.')
    stamps = np.round(rows[:, 0] * 1e9).astype(np.int64)
    q, dq, effort = np.split(rows[:, 1:], 3, axis=1)
    return Recording(str(path), '/joint_states', joint_names, stamps, q, dq, effort)


class ArmSimulation:
    """
    One arm in MuJoCo, to which a torque (n,) [N m] is commanded in every time step.

    With open brakes the measured effort is the torque at the joint torque sensors: the torque of
    the elastic gears or, without gears, command plus the arm's own gravity compensation plus
    vibration. Friction acts on the link side of the sensors, so the measured effort contains
    friction, as in Gaz et al. 2019, section V. The brakes of an arm that compensates gravity
    itself sit at the motors, as a Franka arm's do, so that the sensors of the braked arm measure
    the gravity torque. Brakes of other arms clamp the links, and the sensors of the braked arm
    measure the drives' torque alone. Joints end at stops at the arm's position limits, as the real
    arm's do; the sensors do not measure the stops' torque.

    `arm`, kept as `description`, has no payload. Raises SettingsError if friction is on and the
    arm file has none, or the push is on a link that the arm does not have, DescriptionError if the
    start pose is outside the limits, or armature is on and the arm file has none, InertiaError if
    the inertial set is not physical, and MissingDependencyError if MuJoCo is not installed.
    """

    def __init__(self, arm: ArmDescription, settings: SimulationSettings) -> None:
        """Make the arm at rest in its start position, with closed brakes."""
        self._mujoco = import_mujoco()
        self.description = arm
        self.settings = settings
        self.push = settings.push
        self._build_plant()
        if settings.gravity_compensation:
            self._build_gravity_compensation()
        self._prepare_friction()
        self._rng = np.random.default_rng(settings.seed)
        self._vibration_tones = self._draw_vibration()
        self._put_in_start_position()
        self.is_braked = True
        self.runaway_text = ''  # why the brakes closed for good; empty if they did not
        self._effort = np.zeros(arm.n)
        if settings.gravity_compensation:
            self._effort = self._gravity_torque()
        self._step_count = 0
        self._command_stream_start = 0.0
        self._last_command_time = -np.inf

    def _build_plant(self) -> None:
        """Build the MuJoCo model of the arm with its armature and payload."""
        arm = self.description
        settings = self.settings
        self._substep_count = 1 if settings.elasticity is None else _ELASTIC_SUBSTEP_COUNT
        self._armature = np.zeros(arm.n)
        driven = arm
        if settings.armature and settings.elasticity is None:
            driven = arm.with_armature()
            self._armature = np.asarray(driven.simulated_armature)
        plant = driven.with_payload(settings.payload)
        step = TIMESTEP_S / self._substep_count
        self.model = build_mujoco_model(plant, gravity=settings.gravity, dt=step, stops=True)
        self.data = self._mujoco.MjData(self.model)
        self.flange_site = self.model.site(FLANGE_SITE).id
        warnings = self._mujoco.mjtWarning
        of_states = slice(int(warnings.mjWARN_BADQPOS), int(warnings.mjWARN_BADQACC) + 1)
        self._instability_counts = self.data.warning.number[of_states]  # a view of MuJoCo's

    def _build_gravity_compensation(self) -> None:
        """Build the model by which the arm compensates gravity: upright, without payload."""
        arm = self.description
        upright_gravity = arm.mount_pose[:3, :3] @ GRAVITY
        self._upright_model = build_mujoco_model(arm, gravity=upright_gravity)
        self._upright_data = self._mujoco.MjData(self._upright_model)
        # The robot's own model has another gravity than an arm identified from its recordings, by
        # about as much as the offsets differ that belong beside the one and the other.
        self._gravity_model_difference: Array | float = 0.0
        if isinstance(arm.friction, LinearFriction):
            beside_robots_gravity = arm.friction.offset_to_command(True)
            beside_model_gravity = arm.friction.offset_to_command(False)
            self._gravity_model_difference = beside_robots_gravity - beside_model_gravity

    def _prepare_friction(self) -> None:
        """Begin the state of the arm's friction; raise SettingsError if it should and has none."""
        arm = self.description
        friction = arm.friction or arm.simulated_friction
        if self.settings.friction and friction is None:
            raise SettingsError(f'{arm.name} has no friction model; switch friction off.')
        self._friction_state: FrictionState | None = None
        if self.settings.friction:
            self._friction_state = FrictionState(friction, relaxed=True)
        self._last_speed: Array | None = None  # at the last step with friction of the load

    def _put_in_start_position(self) -> None:
        """Put links and motors at rest in the start position, which must be within the limits."""
        arm = self.description
        start = self.settings.start_position
        self.data.qpos[:] = arm.joint_vector(
            arm.home_position if start is None else start, 'start'
        )
        arm.require_within_limits(self.data.qpos, 'start')
        self._mujoco.mj_forward(self.model, self.data)
        gears = self.settings.elasticity
        self._elastic_drive = None if gears is None else ElasticDrive(gears, self.data.qpos)

    @property
    def push(self) -> Push:
        """The wrench on the arm, which may be replaced between steps."""
        return self._push

    @push.setter
    def push(self, push: Push) -> None:
        n = self.description.n
        if not 0 <= push.link <= n:
            raise SettingsError(
                f'The link of a push is {push.link}; links of {self.description.name} are 1..{n}, '
                'and 0 stands for the flange.'
            )
        self._push = push

    @property
    def time(self) -> float:
        """Simulated time since the start [s]."""
        return self._step_count * TIMESTEP_S

    @property
    def position(self) -> Array:
        """Joint positions without sensor noise, shape (n,) [rad or m]."""
        return np.array(self.data.qpos)

    @property
    def joints_at_stops(self) -> tuple[str, ...]:
        """Names of the joints that press against a stop, beyond a position limit."""
        arm = self.description
        is_beyond = (self.data.qpos < arm.limit('lower')) | (self.data.qpos > arm.limit('upper'))
        return tuple(name for name, beyond in zip(arm.joint_names, is_beyond) if beyond)

    def step(self, command: Array | None, *, is_new: bool = True) -> None:
        """
        Advance the simulation by one time step (TIMESTEP_S) under a commanded torque.

        `command`, shape (n,), is the torque commanded to the drives [N m], None before the first
        command. `is_new` says whether the command arrived since the last step. An old command
        still acts, as with ros2_control's forward controllers, but does not help to open the
        brakes.
        """
        if command is not None and is_new:
            self._open_brakes_if_due()
        commanded = np.zeros(self.description.n) if command is None else np.asarray(command)
        drive_torque = commanded + self._compensation_torque() + self._vibration_torque()
        self._step_count += 1
        if self.is_braked:
            self._rest_at_brakes(drive_torque)
            return
        self._apply_push()
        position_before = self.data.qpos.copy()
        velocity_before = self.data.qvel.copy()
        if self.settings.elasticity is not None:
            noise = self._rng.standard_normal(self.description.n)
            drive_torque = drive_torque + self.settings.elasticity.torque_noise_std * noise
        self._integrate(drive_torque)
        self._effort = self._sensed_torque(drive_torque, velocity_before)
        if any(self._instability_counts.tolist()):
            self._close_brakes_for_good(position_before, velocity_before)

    def _rest_at_brakes(self, drive_torque: Array) -> None:
        """Keep the arm at rest under a drive torque, (n,) [N m], and measure what sensors feel."""
        self._effort = drive_torque
        if self._elastic_drive is not None:
            self._elastic_drive.put_at_rest(self.data.qpos.copy(), drive_torque)
        if self.settings.gravity_compensation:
            self._effort = self._gravity_torque()

    def _integrate(self, drive_torque: Array) -> None:
        """Advance links, and motors if gears are elastic, by one time step of TIMESTEP_S."""
        data = self.data
        gears = self._elastic_drive
        link_torque = drive_torque
        for _ in range(self._substep_count):
            if gears is not None:
                substep = self.model.opt.timestep
                link_torque = gears.step(drive_torque, data.qpos, data.qvel, substep)
            data.ctrl[:] = link_torque - self._split_friction_into_damping()
            self._mujoco.mj_step(self.model, data)

    def _sensed_torque(self, drive_torque: Array, velocity_before: Array) -> Array:
        """Return the torque at the sensors, between drives and links, after a step, (n,) [N m]."""
        data = self.data
        if self._elastic_drive is not None:
            return self._elastic_drive.gear_torque(data.qpos, data.qvel)
        acceleration = (data.qvel - velocity_before) / TIMESTEP_S
        return np.asarray(drive_torque - self._armature * acceleration)

    def _gravity_torque(self) -> Array:
        """Return the gravity torque of the arm at rest with its payload, (n,) [N m]."""
        self._mujoco.mj_forward(self.model, self.data)
        return np.array(self.data.qfrc_bias)

    def set_payload(self, payload: LinkInertia) -> None:
        """
        Replace the payload, given in the flange frame, as when a gripper takes an object.

        Raises InertiaError if the last link is not physical with the payload.
        """
        loaded = self.description.with_payload(payload)
        model = build_mujoco_model(loaded, gravity=self.settings.gravity, stops=True)
        for name in ('body_mass', 'body_ipos', 'body_inertia', 'body_iquat'):
            getattr(self.model, name)[:] = getattr(model, name)
        # mj_setConst updates what MuJoCo derives from masses, and resets the MjData that it gets.
        self._mujoco.mj_setConst(self.model, self._mujoco.MjData(self.model))

    def read(self) -> SensorReading:
        """Return time, positions, velocities and efforts as sensors measure them, with noise."""
        settings = self.settings
        velocity = self.data.qvel if self._elastic_drive is None else self._elastic_drive.velocity
        return SensorReading(
            self.time,
            self.data.qpos + self._drawn_noise(settings.position_noise),
            velocity + self._drawn_noise(settings.velocity_noise),
            self._effort + self._drawn_noise(settings.effort_noise),
        )

    def _drawn_noise(self, deviation: float) -> Array | float:
        """Return noise of a standard deviation, (n,); 0 without one, for which none is drawn."""
        if not deviation:
            return 0.0
        return deviation * self._rng.standard_normal(self.description.n)

    def _draw_vibration(self) -> tuple[Array, Array, Array]:
        """Return frequencies [rad/s], phases and amplitudes [N m] of vibration, (5, n) each."""
        n = self.description.n
        limit = self.description.limit('effort')
        bands = np.array(VIBRATION_BANDS_HZ)
        # A separate random generator, so that vibration does not change the sensor noise.
        rng = np.random.default_rng([self.settings.seed, 1])
        frequency = rng.uniform(bands[:, :1], bands[:, 1:], (len(bands), n))
        largest = max(limit[np.isfinite(limit)], default=1.0)
        share = np.where(np.isfinite(limit), limit / largest, 1.0)
        phase = rng.uniform(0.0, 2.0 * np.pi, frequency.shape)
        amplitude = np.sqrt(2.0) * self.settings.vibration_rms * share
        return 2.0 * np.pi * frequency, phase, np.broadcast_to(amplitude, frequency.shape)

    def _vibration_torque(self) -> Array | float:
        """Return the vibration torque at the simulated time, (n,) [N m], or 0."""
        if not self.settings.vibration_rms:
            return 0.0
        frequency, phase, amplitude = self._vibration_tones
        return np.asarray(np.add.reduce(amplitude * np.sin(frequency * self.time + phase)))

    def _open_brakes_if_due(self) -> None:
        """Note a command; open brakes after `brake_release_after` [s] of commands without gap."""
        if not self.is_braked or self.runaway_text:
            return
        gap = self.time - self._last_command_time
        if gap > _MAX_COMMAND_GAP_S:
            self._command_stream_start = self.time
        self._last_command_time = self.time
        if self.time - self._command_stream_start >= self.settings.brake_release_after:
            self.is_braked = False

    def _close_brakes_for_good(self, position: Array, velocity: Array) -> None:
        """Close the brakes for good at `position` after a joint's `velocity` has diverged."""
        # MuJoCo has reset the diverged arm to zero.
        self.data.qpos[:] = position
        self.data.qvel[:] = 0.0
        self._mujoco.mj_forward(self.model, self.data)
        joint = int(np.abs(velocity).argmax())
        fast = f'{velocity[joint]:.3g} {self.description.joints[joint].kind.position_unit}/s'
        self.is_braked = True
        self.runaway_text = (
            f'{self.description.joint_names[joint]} ran away at {fast} at '
            f'{self.time:.3f} s, beyond what can be simulated; the brakes are closed for good. '
            'Look at the torques that it was sent, and start the simulation anew.'
        )

    def _compensation_torque(self) -> Array | float:
        """Return the gravity torque that the arm itself compensates, (n,) [N m], or 0."""
        if not self.settings.gravity_compensation:
            return 0.0
        self._upright_data.qpos[:] = self.data.qpos
        self._mujoco.mj_forward(self._upright_model, self._upright_data)
        return np.array(self._upright_data.qfrc_bias) - self._gravity_model_difference

    def _split_friction_into_damping(self) -> Array | float:
        """
        Set MuJoCo's joint damping; return the friction torque beyond that damping, (n,) [N m].

        MuJoCo integrates damping implicitly, so that steep Coulomb friction brakes a light joint
        without reversing it within a step. The damping is the slope, if positive, of the chord of
        the friction curve from rest to the present velocity, plus the elastic gears' damping.
        """
        gears = self.settings.elasticity
        gear_damping = 0.0 if gears is None else gears.damping
        friction = self._friction_state
        if friction is None:
            self.model.dof_damping[:] = gear_damping
            return 0.0
        speed = self.data.qvel
        velocity = speed.copy()
        velocity[abs(speed) < _MIN_SECANT_SPEED_RAD_S] = _MIN_SECANT_SPEED_RAD_S
        friction.update(self.time, self.data.qpos.copy())
        load = self._rigid_torque() if friction.grows_with_load else None
        at_rest: Array | float = 0.0  # as sigmoid friction always is
        if not isinstance(friction.model, SigmoidFriction):
            at_rest = friction.torque(np.zeros_like(velocity), rigid_torque=load)
        chord = (friction.torque(velocity, rigid_torque=load) - at_rest) / velocity
        damping = np.maximum(chord, 0.0)
        self.model.dof_damping[:] = damping + gear_damping
        return at_rest + (chord - damping) * speed

    def _rigid_torque(self) -> Array:
        """
        Return the torque that the bodies needed in the last step, without drives, (n,) [N m].

        MuJoCo's own qacc is that before it integrates damping implicitly.
        """
        speed = self.data.qvel.copy()
        before = speed if self._last_speed is None else self._last_speed
        self._last_speed = speed
        acceleration = (speed - before) / self.model.opt.timestep
        needed = np.empty(self.description.n)
        self._mujoco.mj_mulM(self.model, self.data, needed, acceleration)
        return np.asarray(self.data.qfrc_bias + needed - self._armature * acceleration)

    def _apply_push(self) -> None:
        """Apply the wrench of `push` to the simulated arm while the push acts."""
        push = self.push
        model = self.model
        data = self.data
        data.qfrc_applied[:] = 0.0
        if push.is_active(self.time):
            body = model.site_bodyid[self.flange_site]
            place = data.site_xpos[self.flange_site]
            if push.link:
                body = model.jnt_bodyid[push.link - 1]
                place = data.xpos[body] + data.xmat[body].reshape(3, 3) @ np.array(push.point)
            force = np.array(push.force, dtype=float)
            moment = np.array(push.moment, dtype=float)
            self._mujoco.mj_applyFT(model, data, force, moment, place, body, data.qfrc_applied)
