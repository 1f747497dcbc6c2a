# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The comparison of four controllers on a simulated arm that differs from the published model.

The same weak joint PD follows the same motion with the gravity torque of a published set, with all
terms of that set's model, and with a model identified from a recording of the simulated arm (the
plant), without and with its friction. The controller is the feedforward node's, one cycle per
millisecond, without ROS and without waiting for a clock, so that the figures are the same on every
machine up to rounding.

The plant's inertias differ from the published ones; the plant also has friction, vibration, sensor
noise, an undeclared load and, if it has seven joints, elastic gears.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from .multisine import multisine
from .report import TrackingErrorSeries
from ..arm import ArmDescription, LinkInertia, ViscousCoulombFriction
from ..control.default_gains import low_gains
from ..control.feedforward import Feedforward, State
from ..control.settings import Terms
from ..errors import SettingsError
from ..identification.excitation import random_trajectory
from ..identification.excitation_problem import ExcitationLimits, ExcitationProblem
from ..identification.identify import identify
from ..motion.planning import TrajectoryRequest
from ..motion.trajectory import Trajectory
from ..recordings.recording import Recording
from ..simulation.arm_simulation import ArmSimulation, SimulationSettings
from ..simulation.joint_elasticity import franka_elasticity
from ..simulation.mujoco_model import TIMESTEP_S

# Of a real arm's inertias about the published ones: about 10 %, as identification from the public
# recording of a bare FER suggests for gaz2019.
INERTIA_STD_RATIO = 0.1
# Friction identified from a 1 kHz recording of a real FER (viscous, Coulomb, offset), rounded.
_VISCOUS_FRICTION_NM_S_PER_RAD = (0.05, 0.11, 0.06, 0.10, 0.07, 0.005, 0.065)
_COULOMB_FRICTION_NM = (0.22, 0.17, 0.19, 0.48, 0.25, 0.16, 0.21)
_FRICTION_OFFSET_NM = (-0.13, -0.02, 0.09, -0.09, -0.01, 0.08, -0.002)
_UNDECLARED_LOAD = LinkInertia.from_center_of_mass(0.2, (0.05, 0.0, 0.05), np.zeros(6))
# Vibration of joint 2 of a real FER between 15 and 40 Hz, per band of 5 Hz [N m rms].
_VIBRATION_RMS_NM = 0.5
_FRANKA_JOINT_COUNT = 7  # number of joints of the arms whose gears are known
# Standard deviations of the sensors' noise [rad, rad/s, N m].
_POSITION_NOISE_STD, _VELOCITY_NOISE_STD, _EFFORT_NOISE_STD = 1e-5, 1e-3, 0.2
_MAX_DAMPING_RATE_PER_S = 300.0  # of velocities by the PD; torques act a millisecond late
MOTION_PERIOD_COUNT = 2  # of the motion for identification
RANDOM_MOTION_COUNT = 30  # random motions of which the most informative one is chosen
_SETTLING_TIME_S = 1.0
_FIRST_STAMP_NS = 1_700_000_000_000_000_000
OnProgress = Callable[[str, float], None]


@dataclass(frozen=True, eq=False)
class Plant:
    """
    A simulated arm whose true inertias differ from those of every published inertial set.

    `arm` is the arm that MuJoCo simulates, its friction included; `settings` hold the load unknown
    to the model, elastic joints, vibration and sensor noise.
    """

    arm: ArmDescription
    settings: SimulationSettings


def random_plant(
    published: ArmDescription, seed: int = 0, deviation: float = INERTIA_STD_RATIO
) -> Plant:
    """
    Return a simulated arm whose inertias are drawn at random near a published arm's.

    Every link's pseudo-inertia P = L L^T becomes L exp(S) L^T, which is physically consistent. S
    is symmetric and Gaussian, with standard deviation `deviation` on the diagonal and `deviation`
    / sqrt(2) off the diagonal. To second order and up to a constant, the negative logarithm of the
    probability density of S is the log-determinant divergence that identification uses as prior,
    divided by the square of `deviation` (Lee, Wensing and Park 2020, "Geometric robot dynamic
    identification", IEEE T-RO 36(2)). An arm of seven joints gets a Franka arm's elastic gears;
    sensors on the link side of the gears do not measure the torque that accelerates the motors.

    `seed` is the seed of the random links, vibration and noise. Raises InertiaError if a link of
    the published arm is not physical.
    """
    published.require_physical('a plant drawn about it')
    rng = np.random.default_rng(seed)
    links = tuple(_random_link(link, rng, deviation) for link in published.links)
    n = published.n
    values = _VISCOUS_FRICTION_NM_S_PER_RAD, _COULOMB_FRICTION_NM, _FRICTION_OFFSET_NM
    viscous, coulomb, offset = (np.resize(row, n) for row in values)
    friction = ViscousCoulombFriction(viscous, coulomb, offset)
    settings = SimulationSettings(
        payload=_UNDECLARED_LOAD,
        friction=True,
        vibration_rms=_VIBRATION_RMS_NM,
        elasticity=franka_elasticity(published) if n == _FRANKA_JOINT_COUNT else None,
        position_noise=_POSITION_NOISE_STD,
        velocity_noise=_VELOCITY_NOISE_STD,
        effort_noise=_EFFORT_NOISE_STD,
        brake_release_after=0.0,
        seed=seed,
    )
    drawn = replace(published, links=links, friction=friction, inertial_set='drawn')
    return Plant(drawn, settings)


def _random_link(link: LinkInertia, rng: np.random.Generator, deviation: float) -> LinkInertia:
    """Return a physically consistent link inertia drawn at random near a given one."""
    raw = rng.normal(0.0, deviation, (4, 4))
    # Off the diagonal `change` is the mean of two independent values, with standard deviation
    # `deviation` / sqrt(2); on the diagonal `change` is one value, with the whole `deviation`.
    change = 0.5 * (raw + raw.T)
    values, vectors = np.linalg.eigh(change)
    root = np.linalg.cholesky(link.pseudo_inertia())
    drawn = root @ (vectors * np.exp(values)) @ vectors.T @ root.T
    second = drawn[:3, :3]
    return LinkInertia(
        float(drawn[3, 3]), drawn[:3, 3], np.trace(second) * np.eye(3) - 0.5 * (second + second.T)
    )


def compare_controllers(
    published: ArmDescription,
    motion: float = 10.0,
    amplitude: float = 0.5,
    progress: OnProgress = lambda *_: None,
) -> tuple[Recording, dict[str, TrackingErrorSeries]]:
    """
    Return a recording of a randomly drawn arm, and tracking errors of four controllers on it.

    Two of the controllers use the model identified from this recording. A controller's tracking
    error, by its name, is times (k,) [s] and desired minus true positions (k, n) [rad].

    `published` is the arm near which the plant is drawn. The motion to follow, which is not used
    for identification, lasts `motion` seconds and deflects a joint by at most `amplitude` [rad].
    `progress` is called with the step that begins and the progress of the trial, 0 to 1. Raises
    SettingsError, with the reason, if the simulated arm runs away or the controller stops it, or
    `published` has no home pose.
    """
    request = multisine(published, motion, amplitude)
    plant = random_plant(published)
    recording = record_plant(published, progress)
    progress('identifying it', 0.4)
    identified = identify([recording], published).arm
    controllers = {
        'PD + g': (published, Terms(coriolis=False, inertia=False)),
        '+ published model': (published, Terms(friction=published.friction is not None)),
        '+ identified model, without friction': (identified, Terms()),
        '+ its friction': (identified, Terms(friction=True)),
    }
    errors = {}
    for share, (name, (arm, terms)) in enumerate(controllers.items()):
        progress(f'following with {name}', 0.5 + 0.12 * share)
        controller = _controller(arm, published, terms)
        _, errors[name] = _follow_motion(plant, controller, request)
    return recording, errors


def record_plant(published: ArmDescription, progress: OnProgress = lambda *_: None) -> Recording:
    """Return a recording, along an informative motion, of an arm drawn near a published one."""
    progress('arm that differs from the model: planning a motion to identify it', 0.0)
    excitation = _excitation_motion(published)
    progress('recording the plant', 0.2)
    controller = _controller(published, published, Terms(coriolis=False, inertia=False))
    return _follow_motion(random_plant(published), controller, excitation)[0]


def _excitation_motion(arm: ArmDescription) -> TrajectoryRequest:
    """Return, of random periodic motions, the one that best excites the inertial parameters."""
    # A margin to the limits, as a weak PD with a wrong gravity torque errs by tenths of a radian.
    problem = ExcitationProblem(arm, ExcitationLimits(fraction=0.5, position_margin=0.4))
    rng = np.random.default_rng(0)
    home, period = arm.home_position, 10.0
    drawn = [random_trajectory(problem, home, period, rng) for _ in range(RANDOM_MOTION_COUNT)]
    best = min(drawn, key=lambda motion: problem.criterion(*motion.states_over_period(100)))
    # At 50 points per second the quintics between points err far less than an encoder's noise.
    duration = MOTION_PERIOD_COUNT * period
    points = np.linspace(0.0, duration, round(duration * 50) + 1)
    return TrajectoryRequest(arm.joint_names, points, *best.at(points))


def _controller(arm: ArmDescription, published: ArmDescription, terms: Terms) -> Feedforward:
    """Return a controller with the model of `arm` and weak gains computed for `published`."""
    kp, kd = (tuple(gain) for gain in low_gains(published, _MAX_DAMPING_RATE_PER_S))
    return Feedforward(arm, 'mujoco', terms=terms, kp=kp, kd=kd)


def _follow_motion(
    plant: Plant, controller: Feedforward, request: TrajectoryRequest
) -> tuple[Recording, TrackingErrorSeries]:
    """Return the recording and tracking error of a motion that one controller follows."""
    arm, simulation = controller.description, ArmSimulation(plant.arm, plant.settings)
    rows, errors, times = [], [], []
    planned: Trajectory | None = None
    duration = float(request.times[-1])
    for _ in range(round((_SETTLING_TIME_S + duration) / TIMESTEP_S)):
        time = simulation.time
        reading = simulation.read()
        torque = controller.step(reading.position, reading.velocity, time)
        if planned is None and time >= _SETTLING_TIME_S:
            planned = controller.follow(**request.follow_kwargs(arm))
        if planned is not None and time >= planned.begin:
            times.append(time - planned.begin)
            errors.append(planned.at(time).q - simulation.position)
        simulation.step(torque)
        stopped = controller.state is not State.RUNNING and time > 0.5 * _SETTLING_TIME_S
        if simulation.runaway_text or stopped:
            why = simulation.runaway_text or controller.status
            raise SettingsError(f'The simulated arm stopped: {why}')
        rows.append((reading.position, reading.velocity, simulation.read().effort))
    q, dq, effort = (np.array(column) for column in zip(*rows[-len(times) :]))
    stamps = _FIRST_STAMP_NS + np.round(np.arange(len(times)) * TIMESTEP_S * 1e9).astype(np.int64)
    recording = Recording('plant', '/joint_states', arm.joint_names, stamps, q, dq, effort)
    return recording, (np.array(times), np.array(errors))
