# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
What commands with many options are asked: one dataclass each, whose fields are the options.

Commands and the modules that do their work share them. The module imports no NumPy.
"""

from dataclasses import dataclass
import math
from pathlib import Path
from typing import Annotated, Literal

import click

from .command import Argument, Option
from .option_types import (
    CommaList,
    FILE_TYPE,
    HAND_TYPE,
    NEW_BAG_TYPE,
    Number,
    OUT_DIR_TYPE,
    OUT_FILE_TYPE,
    OUT_PATH_TYPE,
    PICTURE_TYPE,
    VECTOR_TYPE,
)
from .options import (
    BAGS_TYPE,
    CommandTopic,
    DeskFile,
    EffortScale,
    Force,
    GravityVector,
    HELD_JOINTS_OPTION,
    JOINTS_OPTION,
    JsonPath,
    NodeName,
    ParameterFile,
    PREFIX_OPTION,
    Resume,
    StartPose,
    StateTopic,
    Workers,
)
from ..constants import (
    Convention,
    GAINS_LAW_NAME,
    GRAVITY,
    LAW_NAMES,
    ParameterMode,
    PRECISIONS,
    Quantity,
)
from ..excitation.limits import (
    DEFAULT_REST_POSES,
    MAX_REPETITIONS,
    MAX_REST_POSES,
    MIN_REPETITIONS,
    MIN_REST_POSES,
)

_QUANTITIES = [quantity.value for quantity in Quantity]
# Both must be positive, and options have bounds that are allowed themselves.
_MIN_MASS_KG = 1e-9
_MIN_DENSITY_KG_M3 = 1e-9
# Frames of --mount in the flange frame: offset along z [m] and rotation about z [rad].
# The Franka hand is mounted at -45 degrees, and its tool centre point lies 103.4 mm in front of
# the flange (franka_description).
_HAND_YAW = -math.pi / 4
MOUNT_OFFSETS = {
    'flange': (0.0, 0.0),
    'hand': (0.0, _HAND_YAW),
    'hand_tcp': (0.1034, _HAND_YAW),
}


# Arms --------------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class ImportRequest:
    """What URDF to convert to which arm file: the options of `arm import`."""

    urdf: Annotated[str, Argument(type=FILE_TYPE)]
    output: Annotated[Path, Option('the arm file to write (.yaml)', OUT_FILE_TYPE)]
    force: Force = False
    anyway: Annotated[bool, Option('write the arm file even if it differs from the URDF')] = False
    name: Annotated[str | None, Option("name of the arm (default: the URDF's robot name)")] = None
    joints: Annotated[tuple[str, ...], JOINTS_OPTION] = ()
    held: Annotated[tuple[tuple[str, float], ...], HELD_JOINTS_OPTION] = ()
    tip: Annotated[
        str | None,
        Option(
            'link that is the flange (default: tool0 or another usual name, else the last link)'
        ),
    ] = None
    prefix: Annotated[str, PREFIX_OPTION] = ''
    convention: Annotated[
        str,
        Option('DH convention of the arm file', [convention.value for convention in Convention]),
    ] = 'modified'


# Nodes -------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class NodeAddress:
    """Which node to ask, and how long to wait for it."""

    node: NodeName = 'feedforward'
    timeout: Annotated[float, Option('how long to wait for the node [s]', Number(0.1, 3600.0))] = (
        5.0
    )


@dataclass(frozen=True, kw_only=True)
class PlayRequest:
    """Which motion to send, and how: the options of `node play`."""

    file: Annotated[str | None, Argument(type=FILE_TYPE)] = None
    joints_one_by_one: Annotated[
        bool,
        Option(
            'in place of FILE: move each joint alone by 0.1 rad and back, and stop if another '
            'moves'
        ),
    ] = False
    lead: Annotated[
        float,
        Option(
            "time in which the arm first moves to the motion's beginning [s]",
            Number(0.0, 60.0),
        ),
    ] = 0.0
    record: Annotated[Path | None, Option('record all topics in this new bag', NEW_BAG_TYPE)] = (
        None
    )
    topic: StateTopic = 'joint_states'
    command: CommandTopic = None


@dataclass(frozen=True, kw_only=True)
class RecordRequest:
    """
    What to record, and for how long: the options of `bag record`.

    `output` is the new bag (None: named by the time), `duration` [s] how long to record (None:
    until a signal), `node` the feedforward node, `topic` that of joint states and `command` that
    of the torques (None: the one on which the node publishes).
    """

    output: Annotated[
        Path | None, Option('the new bag (default: recording-DATE-TIME)', NEW_BAG_TYPE)
    ] = None
    duration: Annotated[
        float | None, Option('end after this time [s] (default: at Ctrl-C)', Number(1e-3, 86400.0))
    ] = None
    node: NodeName = 'feedforward'
    topic: StateTopic = 'joint_states'
    command: CommandTopic = None


@dataclass(frozen=True, kw_only=True)
class SimRequest:
    """How an arm is simulated, and how long: the options of `sim`."""

    target: Annotated[
        Literal['mujoco', 'fci'],
        Option('mujoco: the node sends gravity torques; fci: the arm adds them itself'),
    ] = 'mujoco'
    realistic: Annotated[bool, Option('simulate an arm that differs from the model')] = False
    ideal: Annotated[bool, Option('simulate the model itself')] = False
    real_time_factor: Annotated[
        float, Option('simulated time per real time, at most', Number(0.05, 100.0))
    ] = 1.0
    clock: Annotated[
        bool, Option('publish simulated time on /clock, for programs with use_sim_time')
    ] = False
    no_gains: Annotated[bool, Option('hold by feedforward alone, without a weak joint PD')] = False
    no_view: Annotated[bool, Option('serve no page for a browser')] = False
    output: Annotated[
        Path | None,
        Option("keep the nodes' logs here (default: they are deleted)", OUT_DIR_TYPE),
    ] = None
    duration: Annotated[
        float | None, Option('end after this time [s] (default: at Ctrl-C)', Number(1e-3))
    ] = None


# Recordings --------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class ReplayRequest:
    """What a bag or data set is compared with, and what is written: options of `bag replay`."""

    bag: Annotated[str, Argument('BAG|DATASET', FILE_TYPE)]
    sets: Annotated[
        tuple[str, ...],
        Option(
            "the arm's inertial sets to try (default: all)", CommaList('SET,...'), flags='--set'
        ),
    ] = ()
    hands: Annotated[
        tuple[str, ...],
        Option(
            "hands to try (default: the arm's own, none and franka_hand)",
            CommaList('HAND,...', HAND_TYPE),
            flags='--hand',
        ),
    ] = ()
    everything: Annotated[
        bool, Option('print all sets and hands, not only the best', flags='--all')
    ] = False
    output: Annotated[
        Path,
        Option(
            'folder for plots, or for the table of a DATASET (default: its name with _replay)',
            OUT_DIR_TYPE,
        ),
    ] = Path('replay_output')
    no_plots: Annotated[bool, Option('draw no plots')] = False
    workers: Workers = '1'
    resume: Resume = False
    json: JsonPath = None
    external: Annotated[
        Path | None,
        Option(
            'write external torque and flange wrench to this file (.csv), of a DATASET into a new '
            'folder',
            OUT_PATH_TYPE,
        ),
    ] = None
    write: Annotated[
        bool,
        Option(
            "with --external: the folder is a copy of LeRobot's DATASET with these columns beside "
            'its own'
        ),
    ] = False
    require: Annotated[
        float | None,
        Option(
            'exit with 1 only if the torque error E is larger [N m; % if a joint slides]',
            Number(0.0),
        ),
    ] = None
    gains: Annotated[
        str | None,
        Option("predict the tracking error of a PD with these kp (KP,...), or with franka_ros2's"),
    ] = None
    damping: Annotated[
        tuple[float, ...],
        Option(
            'kd of --gains [N m s/rad] (default: 0.05 s times kp)',
            CommaList('KD,...', Number(0.0)),
        ),
    ] = ()
    laws: Annotated[
        tuple[str, ...],
        Option(
            'predict the lag and error of arms that follow the motion under these laws, and what '
            'changes from the first to the last; gains is the PD of --gains',
            CommaList('LAW,...', click.Choice((*LAW_NAMES, GAINS_LAW_NAME))),
            flags='--law',
        ),
    ] = ()
    policy_rate: Annotated[float | None, Option('last law: targets per second [Hz]')] = None
    latency: Annotated[
        float | None, Option('last law: age of its targets [s]', Number(0.0, 0.5))
    ] = None
    target_filter: Annotated[
        float | None, Option('last law: cut-off of a low-pass on its targets [Hz]')
    ] = None


# Motions and payloads ----------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class PlanRequest:
    """Which motion to plan for an identification: the options of `identify plan`."""

    gravity: GravityVector = GRAVITY
    output: Annotated[Path, Option('file to write, a JointTrajectory as YAML', OUT_FILE_TYPE)] = (
        Path('excitation.yaml')
    )
    period: Annotated[float, Option('duration of the motion [s]')] = 10.0
    repetitions: Annotated[
        int | None,
        Option(
            'how often it is recorded (default: as needed, '
            f'{MIN_REPETITIONS} to {MAX_REPETITIONS})',
            click.IntRange(1),
        ),
    ] = None
    given: Annotated[
        tuple[str, ...],
        Option('bags that were recorded before, for a second motion', BAGS_TYPE),
    ] = ()
    start: StartPose = ()
    draws: Annotated[
        int, Option('number of random trajectories to start from', click.IntRange(1))
    ] = 100
    iterations: Annotated[
        int, Option('largest number of iterations of the optimisation', click.IntRange(1))
    ] = 300


@dataclass(frozen=True, kw_only=True)
class PayloadRequest:
    """From which recordings to identify a payload, or their plan: of `identify payload`."""

    plan: Annotated[
        Path | None,
        Option(
            'write a motion for `node play` to poses at which the arm rests; takes no recordings',
            OUT_FILE_TYPE,
        ),
    ] = None
    pose_count: Annotated[
        int,
        Option(
            'number of poses in the motion of --plan',
            click.IntRange(MIN_REST_POSES, MAX_REST_POSES),
            flags='--poses',
        ),
    ] = DEFAULT_REST_POSES
    start: StartPose = ()
    without: Annotated[tuple[str, ...], Option('recordings without the payload', BAGS_TYPE)] = ()
    loaded: Annotated[
        tuple[str, ...],
        Option('recordings of the same motion with the payload', BAGS_TYPE, flags='--with'),
    ] = ()
    known_mass: Annotated[
        float | None,
        Option(
            'weighed mass of the payload [kg], which tells the scale of the efforts', Number(1e-3)
        ),
    ] = None
    effort_scale: EffortScale = (1.0,)
    gravity: GravityVector = GRAVITY
    json: JsonPath = None
    output: ParameterFile = None
    desk: DeskFile = None


@dataclass(frozen=True, kw_only=True)
class MeshRequest:
    """Which mesh a tool has, how heavy and where it is: the options of `payload-from-mesh`."""

    mesh: Annotated[str, Argument(type=FILE_TYPE)]
    density: Annotated[
        float | None, Option('density of the material [kg/m^3]', Number(_MIN_DENSITY_KG_M3))
    ] = None
    mass: Annotated[
        float | None, Option('weighed mass of the tool [kg]', Number(_MIN_MASS_KG))
    ] = None
    unit: Annotated[
        Literal['m', 'cm', 'mm', 'in'] | None,
        Option('unit of the mesh (default: guessed from its size)'),
    ] = None
    mount: Annotated[str, Option('frame on which the tool is mounted', [*MOUNT_OFFSETS])] = (
        'flange'
    )
    xyz: Annotated[
        tuple[float, ...],
        Option("the mesh's origin in the frame of --mount [m]", VECTOR_TYPE),
    ] = (0.0, 0.0, 0.0)
    rpy: Annotated[
        tuple[float, ...],
        Option("the mesh's roll, pitch and yaw there, as in URDF [rad]", VECTOR_TYPE),
    ] = (0.0, 0.0, 0.0)
    arm: Annotated[str, Option('arm whose rated load the mass is compared with')] = 'fr3'
    plot: Annotated[
        Path | None,
        Option('draw mesh and inertia ellipsoid to this file (.png, .svg, .pdf)', PICTURE_TYPE),
    ] = None
    output: ParameterFile = None
    desk: DeskFile = None


# Generated code ----------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class CodegenRequest:
    """Which equations to generate, in what language and form: the options of `codegen`."""

    language: Annotated[Literal['c', 'cuda', 'python'], Option('language of the code')] = 'c'
    output: Annotated[
        Path | None,
        Option('folder for the file; without it operations are only counted', OUT_DIR_TYPE),
    ] = None
    parameters: Annotated[
        str,
        Option(
            'inertias and gravity: baked, as numbers in the code; run_time, set later',
            [mode.value for mode in ParameterMode],
        ),
    ] = 'baked'
    gravity: GravityVector = GRAVITY
    package: Annotated[
        bool,
        Option(
            'copy the C++ package of the ros2_control controller to --output, and no equations'
        ),
    ] = False
    name: Annotated[
        str | None, Option("name of the functions and the file (default: the arm's)")
    ] = None
    quantities: Annotated[
        tuple[str, ...],
        Option(
            f'quantities to generate: {", ".join(_QUANTITIES)}',
            CommaList('QUANTITY,...', click.Choice(_QUANTITIES)),
            flags='--quantity',
        ),
    ] = ('inverse_dynamics', 'gravity', 'coriolis', 'mass_matrix')
    precision: Annotated[str, Option('precision of C and CUDA', PRECISIONS)] = 'double'
    frame: Annotated[
        str, Option('frame of pose and Jacobian: a joint, a link, a number or hand_tcp')
    ] = 'flange'
