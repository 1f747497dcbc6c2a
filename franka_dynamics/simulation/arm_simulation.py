# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A simulated arm with brakes, sensors, friction, elastic gears and joint stops."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

import numpy as np

from .joint_elasticity import ElasticDrive, JointElasticity
from .mujoco_model import build_mujoco_model, FLANGE_SITE, import_mujoco, TIMESTEP_S
from .. import former_names
from ..arm import ArmDescription, LinkInertia
from ..arm.friction import FrictionState, LinearFriction, SigmoidFriction
from ..arrays import Array
from ..dynamics.model import GRAVITY
from ..errors import RecordingError, SettingsError, unreadable_file_message
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


@former_names.of_attributes('0.3', active='is_active', start='start_time')
@dataclass(frozen=True)
class Push:
    """
    A wrench that pushes the arm, in the world frame, from `start_time` for `duration` seconds.

    `force` [N] and `moment` [N m] act at the flange, or, if `link` is 1 to n, at `point` [m] in
    the frame of that link.
    """

    force: tuple[float, float, float] = (0.0, 0.0, 0.0)
    start_time: float = 0.0
    duration: float = 0.0
    moment: tuple[float, float, float] = (0.0, 0.0, 0.0)
    link: int = 0
    point: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def is_active(self, time: float) -> bool:
        """Return whether the wrench acts at a time [s]."""
        return self.start_time <= time < self.start_time + self.duration


@former_names.of_attributes(
    '0.3',
    like_real='with_real_effects',
    start='start_position',
    vibration='vibration_rms',
)
@dataclass(frozen=True, eq=False)
class SimulationSettings:
    """
    Settings of a simulated arm's friction, gears, sensors, load and surroundings.

    `friction` switches on the arm file's `friction`, or without one its `simulated_friction`;
    `armature` its `simulated_armature`, which the effort sensors, behind the drives, do not feel.
    `with_real_effects` returns both as far as an arm has them; without them plant and model are
    equal. `elasticity`, which brings its own motors in place of the armature, puts elastic gears
    between motors and links; the measured velocity is then the motors', as in recordings of a real
    FER. `start_position`, (n,), is the first one, by default the `home_position`; `gravity` is in
    the space frame [m/s^2]. `position_noise`, `velocity_noise` and `effort_noise` are standard
    deviations [rad, rad/s, N m] of noise drawn from `seed`. `push` is a wrench on the arm.
    A vibration is added to the drive torques, and the effort sensors measure it: `vibration_rms`
    [N m] is its rms in each band of 5 Hz from 15 to 40 Hz at the strongest joints, and less at
    others in proportion to their torque limits. With `gravity_compensation` the arm itself adds
    g(q), for an upright base without `payload`, as under FCI. The brakes open when commands have
    come without a gap for `brake_release_after` [s]; 0 opens them with the first command.
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


@former_names.of_attributes(
    '0.3', at_stops='joints_at_stops', braked='is_braked', ran_away='runaway_text'
)
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
    arm file has none, DescriptionError if the start pose is outside the limits, or armature is on
    and the arm file has none, InertiaError if the inertial set is not physical, and
    MissingDependencyError if MuJoCo is not installed.
    """

    @former_names.of_arguments('0.3', description='arm')
    def __init__(self, arm: ArmDescription, settings: SimulationSettings) -> None:
        """Make the arm at rest in its start position, with closed brakes."""
        self._mujoco = import_mujoco()
        self.description = arm
        self.settings = settings
        self.push = settings.push  # may be replaced between steps
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
        # With the gravity that an upright arm has.
        if settings.gravity_compensation:
            self._upright_model = build_mujoco_model(arm, gravity=arm.mount_pose[:3, :3] @ GRAVITY)
            self._upright_data = self._mujoco.MjData(self._upright_model)
        # The robot's own model has another gravity than an arm identified from its recordings, by
        # about as much as the offsets differ that belong beside the one and the other.
        self._gravity_model_difference: Array | float = 0.0
        if isinstance(arm.friction, LinearFriction):
            beside_both = [arm.friction.offset_to_command(adds) for adds in (True, False)]
            self._gravity_model_difference = beside_both[0] - beside_both[1]
        friction = arm.friction or arm.simulated_friction
        if settings.friction and friction is None:
            raise SettingsError(f'{arm.name} has no friction model; switch friction off.')
        self._friction_state = FrictionState(friction, relaxed=True) if settings.friction else None
        self._last_speed: Array | None = None  # at the last step with friction of the load
        self._rng = np.random.default_rng(settings.seed)
        self._vibration_tones = self._draw_vibration()
        self.flange_site = self.model.site(FLANGE_SITE).id
        warnings = self._mujoco.mjtWarning
        of_states = slice(int(warnings.mjWARN_BADQPOS), int(warnings.mjWARN_BADQACC) + 1)
        self._instability_counts = self.data.warning.number[of_states]  # a view of MuJoCo's
        start = arm.home_position if settings.start_position is None else settings.start_position
        self.data.qpos[:] = arm.joint_vector(start, 'start')
        arm.require_within_limits(self.data.qpos, 'start')
        self._mujoco.mj_forward(self.model, self.data)
        gears = settings.elasticity
        self._elastic_drive = None if gears is None else ElasticDrive(gears, self.data.qpos)
        self.is_braked = True
        self.runaway_text = ''  # why the brakes closed for good; empty if they did not
        self._effort = np.zeros(arm.n)
        if settings.gravity_compensation:
            self._effort = self._gravity_torque()
        self._step_count = 0
        self._command_stream_start = 0.0
        self._last_command_time = -np.inf

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
        low, high = (self.description.limit(name) for name in ('lower', 'upper'))
        pressed = (self.data.qpos < low) | (self.data.qpos > high)
        return tuple(name for name, at in zip(self.description.joint_names, pressed) if at)

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
        data = self.data
        gears = self._elastic_drive
        torque = np.zeros(self.description.n) if command is None else np.asarray(command)
        drive = drive_now = torque + self._compensation_torque() + self._vibration_torque()
        self._effort = drive
        self._step_count += 1
        if self.is_braked:
            if gears is not None:
                gears.put_at_rest(data.qpos.copy(), drive)
            if self.settings.gravity_compensation:
                self._effort = self._gravity_torque()
            return
        self._apply_push()
        before = data.qpos.copy()
        speed = data.qvel.copy()
        if self.settings.elasticity is not None:
            drawn = self._rng.standard_normal(self.description.n)
            drive = drive + self.settings.elasticity.torque_noise_std * drawn
        for _ in range(self._substep_count):
            if gears is not None:
                drive_now = gears.step(drive, data.qpos, data.qvel, self.model.opt.timestep)
            data.ctrl[:] = drive_now - self._split_friction_into_damping()
            self._mujoco.mj_step(self.model, data)
        if gears is not None:
            self._effort = gears.gear_torque(data.qpos, data.qvel)
        else:
            self._effort = drive - self._armature * ((data.qvel - speed) / TIMESTEP_S)
        if any(self._instability_counts.tolist()):
            self._close_brakes_for_good(before, speed)

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
        n = self.description.n
        deviations = (
            settings.position_noise,
            settings.velocity_noise,
            settings.effort_noise,
        )
        # Without noise no number is drawn, so that the others stay as they are.
        noises = [each and each * self._rng.standard_normal(n) for each in deviations]
        speed = self.data.qvel if self._elastic_drive is None else self._elastic_drive.velocity
        values = self.data.qpos, speed, self._effort
        return SensorReading(self.time, *map(np.add, values, noises))

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
        return (
            2.0 * np.pi * frequency,
            phase,
            np.broadcast_to(amplitude, frequency.shape),
        )

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
        gear = 0.0 if self.settings.elasticity is None else self.settings.elasticity.damping
        if (friction := self._friction_state) is None:
            self.model.dof_damping[:] = gear
            return 0.0
        speed = self.data.qvel
        velocity = speed.copy()
        velocity[abs(speed) < _MIN_SECANT_SPEED_RAD_S] = _MIN_SECANT_SPEED_RAD_S
        friction.update(self.time, self.data.qpos.copy())
        smooth = isinstance(friction.model, SigmoidFriction)  # zero at rest
        load = self._rigid_torque() if friction.grows_with_load else None
        at_rest = 0.0 if smooth else friction.torque(0.0 * velocity, rigid_torque=load)
        chord = (friction.torque(velocity, rigid_torque=load) - at_rest) / velocity
        damping = np.maximum(chord, 0.0)
        self.model.dof_damping[:] = damping + gear
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
            wrench = (np.array(vector, dtype=float) for vector in (push.force, push.moment))
            self._mujoco.mj_applyFT(model, data, *wrench, place, body, data.qfrc_applied)
