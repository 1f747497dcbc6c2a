# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The comparison of four controllers on a simulated arm that differs from the published model.

The same weak joint PD follows the same motion with the gravity torque of a published set, with all
terms of that set's model, and with a model identified from a recording of the simulated arm (the
plant), without and with its friction. The controller is the feedforward node's, one cycle per
millisecond, without ROS and without waiting for a clock, so that the figures are the same on every
machine up to rounding.
"""

import numpy as np

from .multisine import multisine
from .random_plant import Plant, random_plant
from .results import OnProgress, TrackingErrorSeries
from ..arm import ArmDescription
from ..control.core_table import State
from ..control.default_gains import low_gains
from ..control.feedforward import Feedforward
from ..control.settings import Terms
from ..errors import SettingsError
from ..excitation.excitation import random_trajectory
from ..excitation.excitation_problem import ExcitationProblem
from ..excitation.limits import ExcitationLimits
from ..identification.identify import identify
from ..motion.planning import TrajectoryRequest
from ..motion.trajectory import Trajectory
from ..recordings.recording import Recording
from ..simulation.arm_simulation import ArmSimulation
from ..simulation.mujoco_model import TIMESTEP_S

_MAX_VELOCITY_DAMPING_PER_S = 300.0  # of velocities by the PD; torques act a millisecond late
EXCITATION_PERIOD_COUNT = 2  # of the motion for identification
CANDIDATE_MOTION_COUNT = 30  # random motions of which the most informative one is chosen
_SETTLING_TIME_S = 1.0
_FIRST_STAMP_NS = 1_700_000_000_000_000_000


def compare_controllers(
    published: ArmDescription,
    duration: float = 10.0,
    amplitude: float = 0.5,
    on_progress: OnProgress = lambda *_: None,
) -> tuple[Recording, dict[str, TrackingErrorSeries]]:
    """
    Return a recording of a randomly drawn arm, and tracking errors of four controllers on it.

    Two of the controllers use the model identified from this recording. A controller's tracking
    error, by its name, is times (k,) [s] and desired minus true positions (k, n) [rad].

    `published` is the arm near which the plant is drawn. The motion to follow, which is not used
    for identification, lasts `duration` seconds and deflects a joint by at most `amplitude` [rad].
    `on_progress` is called with the step that begins and the progress of the trial, 0 to 1. Raises
    SettingsError, with the reason, if the simulated arm runs away or the controller stops it, or
    `published` has no home pose.
    """
    request = multisine(published, duration, amplitude)
    plant = random_plant(published)
    recording = record_plant(published, on_progress)
    on_progress('identifying it', 0.4)
    identified = identify([recording], published).arm
    controllers = {
        'PD + g': (published, Terms(coriolis=False, inertia=False)),
        '+ published model': (
            published,
            Terms(friction=published.friction is not None),
        ),
        '+ identified model, without friction': (identified, Terms()),
        '+ its friction': (identified, Terms(friction=True, offset=True)),
    }
    errors = {}
    for share, (name, (arm, terms)) in enumerate(controllers.items()):
        on_progress(f'following with {name}', 0.5 + 0.12 * share)
        _, errors[name] = _follow_motion(plant, _weak_controller(arm, published, terms), request)
    return recording, errors


def record_plant(published: ArmDescription, progress: OnProgress = lambda *_: None) -> Recording:
    """Return a recording, along an informative motion, of an arm drawn near a published one."""
    progress('arm that differs from the model: planning a motion to identify it', 0.0)
    excitation = _excitation_motion(published)
    progress('recording the plant', 0.2)
    controller = _weak_controller(published, published, Terms(coriolis=False, inertia=False))
    return _follow_motion(random_plant(published), controller, excitation)[0]


def _excitation_motion(arm: ArmDescription) -> TrajectoryRequest:
    """Return the most informative of CANDIDATE_MOTION_COUNT random periodic motions."""
    # A margin to the limits, as a weak PD with a wrong gravity torque errs by tenths of a radian.
    problem = ExcitationProblem(arm, ExcitationLimits(fraction=0.5, position_margin=0.4))
    rng = np.random.default_rng(0)
    home = arm.home_position
    period = 10.0
    drawn = [random_trajectory(problem, home, period, rng) for _ in range(CANDIDATE_MOTION_COUNT)]
    best = min(drawn, key=lambda motion: problem.criterion(*motion.states_over_period(100)))
    # At 50 points per second the quintics between points err far less than an encoder's noise.
    duration = EXCITATION_PERIOD_COUNT * period
    points = np.linspace(0.0, duration, round(duration * 50) + 1)
    return TrajectoryRequest(arm.joint_names, points, *best.states_at(points))


def _weak_controller(arm: ArmDescription, tuned_arm: ArmDescription, terms: Terms) -> Feedforward:
    """Return a controller with the model of `arm` and weak gains computed for `tuned_arm`."""
    kp, kd = (tuple(gain) for gain in low_gains(tuned_arm, _MAX_VELOCITY_DAMPING_PER_S))
    return Feedforward(arm, 'mujoco', terms=terms, kp=kp, kd=kd)


def _follow_motion(
    plant: Plant, controller: Feedforward, request: TrajectoryRequest
) -> tuple[Recording, TrackingErrorSeries]:
    """Return recording and tracking error of a motion; raise SettingsError if the arm stops."""
    arm = controller.description
    simulation = ArmSimulation(plant.arm, plant.settings)
    rows = []
    errors = []
    times = []
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
