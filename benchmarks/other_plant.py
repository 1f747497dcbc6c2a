# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
A simulated FR3 of another make than the package's own, for benches of the core's guard.

It shares no code with `franka_dynamics.simulation`, so that rules that were chosen on one plant
are judged on another: motors behind elastic gears are bodies of their own, stiction is a
constraint, brakes are friction at the joints, and encoders count. The torque sensors are between
gear and link.

Masses and inertias are those of franka_description's fr3; rotors, damping and stiction those of
MuJoCo Menagerie's franka_fr3. The stiffness of the gears is a harmonic drive's of such a size.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import mujoco
import numpy as np

from franka_dynamics.arm import LinkInertia
from franka_dynamics.arrays import Array
from franka_dynamics.simulation.arm_simulation import (
    Push,
    SensorReading,
    SimulationSettings,
)

N = 7
SUBSTEPS = 4
STEP_S = 1e-3
# Place of the joint in the body before [m], and its turn about x in quarters.
PLACES = (
    ((0.0, 0.0, 0.333), 0),
    ((0.0, 0.0, 0.0), -1),
    ((0.0, -0.316, 0.0), 1),
    ((0.0825, 0.0, 0.0), 1),
    ((-0.0825, 0.384, 0.0), -1),
    ((0.0, 0.0, 0.0), 1),
    ((0.088, 0.0, 0.0), 1),
)
# Mass [kg], centre of mass [m], and inertia about it [kg m^2]: xx, yy, zz, xy, xz, yz.
Body = tuple[float, Sequence[float], Sequence[float]]
BODIES: tuple[Body, ...] = (
    (
        2.927,
        (0.0, -0.01813, -0.0386),
        (0.02393, 0.02248, 0.00635, 1.3e-05, -0.00011, -0.002),
    ),
    (
        2.936,
        (0.0032, -0.0743, 0.0088),
        (0.0419, 0.0252, 0.0617, 0.0002, 0.0041, -0.0042),
    ),
    (
        2.245,
        (0.0407, -0.0048, -0.029),
        (0.0241, 0.0197, 0.019, 0.0024, -0.0029, -0.0021),
    ),
    (
        2.616,
        (-0.0459, 0.063, -0.0085),
        (0.0345, 0.0289, 0.0413, 0.0132, 0.0102, -0.001),
    ),
    (
        2.327,
        (-0.0016, 0.0293, -0.0973),
        (0.0516, 0.0479, 0.0164, -0.0057, -0.0036, 0.0107),
    ),
    (
        1.817,
        (0.0597, -0.041, -0.0102),
        (0.0054, 0.0141, 0.0161, 0.0062, 0.0014, -0.0013),
    ),
    (
        0.627,
        (0.0045, 0.0086, -0.0162),
        (2.16e-4, 1.82e-4, 6.5e-5, -2.4e-5, 4.6e-5, 8.7e-5),
    ),
)
# The Franka hand in the flange's frame, with its fingers.
HAND: Body = (
    0.73,
    (0.0075, 0.0075, 0.03),
    (0.0018, 0.0018, 0.0018, -0.0008, -0.0001, -0.0001),
)
ROTOR = np.array([0.195] * 4 + [0.074] * 3)  # behind the gears [kg m^2]
STICTION = np.array([1.137] * 4 + [0.763, 0.44, 0.248])  # [N m]
DAMPING = 0.21  # [N m s/rad]
STIFFNESS = np.array([1e4] * 4 + [3e3] * 3)  # of the gears [N m/rad]
GEAR_DAMPING = np.array([10.0] * 4 + [3.0] * 3)  # [N m s/rad]
LIMIT = np.array([87.0] * 4 + [12.0] * 3)  # of the drives [N m]
LIMITS = (  # of the positions [rad]
    *((-2.9007, 2.9007), (-1.8361, 1.8361), (-2.9007, 2.9007), (-3.0770, -0.1169)),
    *((-2.8763, 2.8763), (0.4398, 4.6216), (-3.0508, 3.0508)),
)
BRAKE_NM = 200.0  # friction of a closed brake


@dataclass(frozen=True)
class Make:
    """
    What distinguishes one such arm from another.

    `deviation` is by what share masses differ, drawn by `draw` (0: none do), and `stiction` a
    factor of it; `count` is of the encoders [rad].
    """

    draw: int = 0
    deviation: float = 0.1
    stiction: float = 1.0
    hand: bool = False
    count: float = 3e-6


def inertial(body: Body) -> str:
    """Return a body's inertia as MJCF."""
    mass, center, inertia = body
    com, full = (' '.join(f'{value:.9g}' for value in values) for values in (center, inertia))
    return f'<inertial mass="{mass:.9g}" pos="{com}" fullinertia="{full}"/>'


def mjcf(bodies: Sequence[Body], hand: bool) -> str:
    """Return arm, load and motors as MJCF; the joints' coordinates come first."""
    turns = {0: '1 0 0 0', 1: '1 1 0 0', -1: '1 -1 0 0'}
    chain = ''
    for i, ((place, turn), body) in enumerate(zip(PLACES, bodies)):
        low, high = LIMITS[i]
        chain += (
            f'<body pos="{place[0]} {place[1]} {place[2]}" quat="{turns[turn]}">{inertial(body)}'
            f'<joint name="j{i}" axis="0 0 1" range="{low} {high}" limited="true" '
            f'damping="{DAMPING}" frictionloss="{STICTION[i]}"/>'
        )
    held = f'<body pos="0 0 0.107">{inertial(HAND)}</body>' if hand else ''
    motors = ''.join(
        f'<body>{inertial((1.0, (0.0, 0.0, 0.0), (rotor,) * 3 + (0.0,) * 3))}'
        f'<joint name="m{i}" axis="0 0 1"/></body>'
        for i, rotor in enumerate(ROTOR)
    )
    gears = ''.join(
        f'<fixed name="g{i}" stiffness="{STIFFNESS[i]}" damping="{GEAR_DAMPING[i]}">'
        f'<joint joint="m{i}" coef="1"/><joint joint="j{i}" coef="-1"/></fixed>'
        for i in range(N)
    )
    return (
        f'<mujoco><compiler angle="radian"/><option integrator="implicitfast" '
        f'timestep="{STEP_S / SUBSTEPS}"/><worldbody>{chain}<site name="flange" pos="0 0 0.107"/>'
        f'<body name="load" pos="0 0 0.107">'
        f'{inertial((1e-6, (0.0, 0.0, 0.0), (1e-9,) * 3 + (0.0,) * 3))}</body>{held}'
        f'{"</body>" * N}{motors}</worldbody><tendon>{gears}</tendon></mujoco>'
    )


def drawn(make: Make) -> list[Body]:
    """Return the links of one arm: masses and centres of mass differ from the published ones."""
    rng = np.random.default_rng([make.draw, 2])
    bodies: list[Body] = []
    for mass, center, inertia in BODIES:
        share = float(np.exp(rng.normal(0.0, make.deviation))) if make.draw else 1.0
        shift = rng.normal(0.0, 0.02 * make.deviation, 3) if make.draw else np.zeros(3)
        moved = np.add(center, shift)
        scaled = share * np.asarray(inertia)
        bodies.append((share * mass, moved.tolist(), scaled.tolist()))
    return bodies


@dataclass
class Joints:
    """Coordinates of the links alone, (n,)."""

    qpos: Array
    qvel: Array
    site_xpos: Array
    site_xmat: Array


@dataclass
class OtherPlant:
    """
    One arm under torques, with what the benches use of the package's own simulation.

    Of `settings` it takes gravity, whether the arm carries itself, load, push, brakes and noise.
    `brakes`, (n,), are those that stay closed or close later; `drive_gain`, (n,), multiplies the
    commanded torque, and `tap`, (n,), is a torque from outside [N m].
    """

    start: Array
    settings: SimulationSettings
    make: Make = field(default_factory=Make)
    flange_site = 0
    runaway_text = ''

    def __post_init__(self) -> None:
        text = mjcf(drawn(self.make), self.make.hand)
        # The arm knows itself, but not its load, and takes its base for level.
        self.model, self.own = (mujoco.MjModel.from_xml_string(text) for _ in range(2))
        self._all, self._own = mujoco.MjData(self.model), mujoco.MjData(self.own)
        self.model.opt.gravity[:] = self.settings.gravity
        self.push: Push = self.settings.push
        self.brakes = np.zeros(N, bool)
        self.drive_gain = np.ones(N)
        self.tap = np.zeros(N)
        self.rng = np.random.default_rng([self.make.draw, 3])
        self.time = 0.0
        self._count = 0
        self._opens = np.inf
        self._open = False
        self.set_payload(self.settings.payload)
        self._all.qpos[:] = np.concatenate([self.start, self.start])
        mujoco.mj_forward(self.model, self._all)
        self.effort = self._weight() if self.settings.gravity_compensation else np.zeros(N)
        # The gears carry the arm at its first state, too.
        self._all.qpos[N:] += self.effort / STIFFNESS

    @property
    def position(self) -> Array:
        """True positions of the links, (n,) [rad]."""
        return self._all.qpos[:N].copy()

    @property
    def data(self) -> Joints:
        """The true state."""
        return Joints(
            self._all.qpos[:N],
            self._all.qvel[:N],
            self._all.site_xpos,
            self._all.site_xmat,
        )

    def set_payload(self, payload: LinkInertia) -> None:
        """Replace the load on the flange."""
        load = self.model.body('load').id
        mass = max(payload.mass, 1e-6)
        self.model.body_mass[load] = mass
        self.model.body_ipos[load] = np.asarray(payload.first_moment) / mass
        self.model.body_inertia[load] = max(1e-9, 0.003 * mass)
        mujoco.mj_setConst(self.model, mujoco.MjData(self.model))

    def _weight(self) -> Array:
        """Return the torque that carries the links where they are, (n,) [N m]."""
        still = mujoco.MjData(self.model)
        still.qpos[:] = self._all.qpos
        mujoco.mj_forward(self.model, still)
        return np.array(still.qfrc_bias[:N])

    def _carried(self) -> Array:
        """Return the gravity torque that an arm that carries itself adds, (n,) [N m]."""
        if not self.settings.gravity_compensation:
            return np.zeros(N)
        self._own.qpos[:] = self._all.qpos
        mujoco.mj_forward(self.own, self._own)
        return np.array(self._own.qfrc_bias[:N])

    def step(self, command: Array | None, *, is_new: bool = True) -> None:
        """Advance by a millisecond under a commanded torque, (n,) [N m]."""
        self._count += 1
        self.time = self._count * STEP_S
        if command is not None and is_new and not self._open:
            self._opens = min(self._opens, self.time + self.settings.brake_release_after)
            self._open = self.time >= self._opens
        torque = np.zeros(N) if command is None else np.clip(command, -LIMIT, LIMIT)
        drive = self.drive_gain * torque + self._carried()
        if not self._open:
            held = self.settings.gravity_compensation
            self.effort = self._weight() if held else drive
            self._all.qpos[N:] = self._all.qpos[:N] + self.effort / STIFFNESS
            return
        self._all.qfrc_applied[:] = 0.0
        if self.push.is_active(self.time):
            force, moment = (
                np.reshape(one, (3, 1)) for one in (self.push.force, self.push.moment)
            )
            point = self._all.site_xpos[0].reshape(3, 1)
            body = self.model.site_bodyid[0]
            mujoco.mj_applyFT(
                self.model,
                self._all,
                force,
                moment,
                point,
                body,
                self._all.qfrc_applied,
            )
        self._all.qfrc_applied[:] += np.concatenate([self.tap, drive])
        self.model.dof_frictionloss[:N] = np.where(
            self.brakes, BRAKE_NM, self.make.stiction * STICTION
        )
        self.model.dof_damping[:N] = min(1.0, self.make.stiction) * DAMPING
        for _ in range(SUBSTEPS):
            mujoco.mj_step(self.model, self._all)
        turn, speed = (value[N:] - value[:N] for value in (self._all.qpos, self._all.qvel))
        self.effort = STIFFNESS * turn + GEAR_DAMPING * speed
        if not np.abs(self._all.qvel).max() < 100.0:
            self.runaway_text = 'the arm ran away'

    def read(self) -> SensorReading:
        """Return what encoders and torque sensors measure."""
        settings = self.settings
        count = self.make.count
        deviations = (
            settings.position_noise,
            settings.velocity_noise,
            settings.effort_noise,
        )
        q, dq, effort = np.reshape(deviations, (3, 1)) * self.rng.standard_normal((3, N))
        counts = np.round((self._all.qpos[:N] + q) / count)
        return SensorReading(
            self.time, counts * count, self._all.qvel[:N] + dq, self.effort + effort
        )
