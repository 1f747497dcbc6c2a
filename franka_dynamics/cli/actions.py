# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What every action can be given: `arm check` is the class ArmCheck, `demo` is Demo."""

from __future__ import annotations

from dataclasses import dataclass, MISSING, replace
import math
from pathlib import Path
from typing import ClassVar, Self

from ._action import Action
from ._options import (
    arm_prefix_option,
    ArmOptions,
    BagNames,
    file_option,
    folder_option,
    gravity_option,
    json_option,
    new_bag,
    new_prefix,
    NewFile,
    PayloadFiles,
    picture_option,
    RecordingOptions,
    ros_name,
    Topics,
)
from ..codegen.options import Parameters, Quantity
from ..errors import OutputError
from ..files import writable_file
from ..identification.options import ExcitationLimits, IdentificationOptions
from ..names import Convention, FORMATS
from ..options import argument, option, switch
from ..recordings.options import ColumnMap, effort_scale_option, LAYOUTS

# Frames of --mount relative to the flange frame: translation along z [m], rotation about z [rad].
# The Franka hand is mounted at -45 degrees, and its tool centre point lies 103.4 mm in front of
# the flange (franka_description).
MOUNTS = {'flange': (0.0, 0.0), 'hand': (0.0, -math.pi / 4), 'hand_tcp': (0.1034, -math.pi / 4)}
_LEAST = 1e-9  # smallest mass [kg] and density [kg/m^3]: both must be positive
_EVERY = tuple(one.value for one in Quantity)
DIRECTIONS = ('vertical', 'tilted', 'none')  # of gravity, for base parameters
FEWEST, MOST = 10, 200  # range of repetitions if their number is not given
TRANSITIONS = ('configure', 'activate', 'deactivate', 'cleanup', 'shutdown')


@dataclass(frozen=True, kw_only=True)
class Demo(ArmOptions):
    """
    Run the node with a simulated arm over ROS 2; then simulate an arm with an inexact model.

    A Franka arm carries the Franka hand unless --hand is given.
    """

    output: Path = folder_option(
        'folder below which figures, pictures, bag and logs get a new folder',
        default=Path('demo_output'),
    )

    def resolved(self) -> Self:
        """Return the action with the Franka hand on a Franka arm, unless --hand is given."""
        from ..arm.arm_file import is_franka

        plain = 'hand' in self.options_given or not is_franka(self.load_arm().name)
        return self if plain else replace(self, hand='franka_hand')


@dataclass(frozen=True, kw_only=True)
class Sim(ArmOptions):
    """
    Run a simulated arm with the node that holds it and a view in the browser.

    A --realistic arm differs from the model: inertias some 10 % off, friction, sensor noise, and
    0.2 kg on the flange that the model does not know. An --ideal one is the model itself, without
    the armature and friction that are known of the real arm's joints.
    """

    target: str = option(
        'who compensates gravity: the node (mujoco), or the arm as a real Franka arm does (fci)',
        choices=('mujoco', 'fci'),
        default='mujoco',
    )
    realistic: bool = switch('simulate an arm that differs from the model')
    ideal: bool = switch('simulate the model itself')
    real_time_factor: float = option(
        'largest ratio of simulated to real time', 'F', default=1.0, least=0.05, most=100.0
    )
    no_gains: bool = switch('hold by feedforward alone, without a weak joint PD')
    no_view: bool = switch('do not serve the page for a browser')
    output: Path | None = folder_option("keep the nodes' logs here (default: they are deleted)")
    duration: float | None = option(
        'end after this time [s] (default: at Ctrl-C)', 'S', least=1e-3
    )


@dataclass(frozen=True, kw_only=True)
class Doctor(ArmOptions, Topics):
    """
    Check permissions, kernel, DDS, topics, clock and gravity compensation.

    With --robot, compare the model (M, C dq, g, Jacobian, pose), the load and the gravity that a
    robot serves over FCI with the arm's; needs pylibfranka, commands nothing.
    """

    machine: bool = switch('check only this machine, not the running nodes')
    robot: str | None = option('compare the robot at this address with the arm', 'HOST')
    json: Path | None = json_option()


@dataclass(frozen=True, kw_only=True)
class View(RecordingOptions, ArmOptions):
    """Show an arm with its torques in the browser, from the running system or from a bag."""

    bag: str | None = argument('a rosbag2 (default: the running system)', 'BAG', default=None)
    gravity: tuple[float, float, float] = gravity_option()
    urdf: Path | None = option(
        "show this URDF's meshes (default: the running arm's, or simple shapes)", 'FILE'
    )
    node: str = ros_name('the feedforward node whose terms are shown', 'feedforward', 'NAME')
    host: str = option(
        'address to serve; 0.0.0.0: everybody in the network', 'ADDRESS', default='127.0.0.1'
    )
    port: int = option('port, or the next free one', default=8080, least=0, most=65535)


@dataclass(frozen=True, kw_only=True)
class PayloadFromMesh(PayloadFiles):
    """
    Compute a tool's payload parameters from its mesh (STL, OBJ, PLY).

    The mesh's origin and axes are given in the frame --mount by --xyz [m] and --rpy [rad] (roll,
    pitch, yaw about fixed axes, as in URDF). Densities: 2700 aluminium, 7850 steel, 1240 PLA.
    """

    mesh: str = argument('an .stl, .obj or .ply file', 'MESH')
    density: float | None = option('density of the material', 'KG_PER_M3', least=_LEAST)
    mass: float | None = option('weighed mass of the tool', 'KG', least=_LEAST)
    unit: str | None = option(
        'unit of the mesh (default: found from its size)', choices=('m', 'cm', 'mm', 'in')
    )
    mount: str = option('frame of the tool', choices=sorted(MOUNTS), default='flange')
    xyz: tuple[float, float, float] = option('origin', ('X', 'Y', 'Z'), default=(0.0, 0.0, 0.0))
    rpy: tuple[float, float, float] = option('axes', ('R', 'P', 'Y'), default=(0.0, 0.0, 0.0))
    arm: str = option('arm whose rated load the mass is compared with', default='fr3')
    mend: bool = switch('remove repeated faces, close holes, correct flipped faces; say which')
    accept_crossing_faces: bool = switch('do not look for faces that cross or touch')
    plot: Path | None = picture_option('draw mesh, centre of mass and inertia ellipsoid')


@dataclass(frozen=True, kw_only=True)
class Codegen(ArmOptions):
    """
    Generate an arm's equations of motion as C or Python; count their operations.

    With --package, write a whole ament_cmake package below --output: a C++ core, a chainable
    ros2_control controller, a solver plugin.
    """

    language: str = option(
        'C99 header or Python module; cpp: with --package',
        choices=('c', 'python', 'cpp'),
        default='c',
    )
    output: Path | None = folder_option('folder of the file; without it operations are counted')
    parameters: str = option(
        'inertial parameters and gravity as numbers (baked), or set at run time',
        choices=[one.value for one in Parameters],
        default='baked',
    )
    gravity: tuple[float, float, float] = gravity_option()
    package: str | None = option('write a package of that name', 'NAME')
    quantities: tuple[str, ...] = option(
        f'quantities to generate: {", ".join(_EVERY)}',
        'QUANTITY',
        flags=('--quantity',),
        choices=_EVERY,
        default=('inverse_dynamics', 'gravity', 'coriolis', 'mass_matrix'),
    )


@dataclass(frozen=True, kw_only=True)
class ArmShow(ArmOptions):
    """
    Print an arm's Denavit-Hartenberg and inertia tables, or its base parameters.

    Base parameters are the smallest set of inertial parameters that the torques depend on, with
    gravity along -z of the space frame (vertical), in any direction (tilted) or none.
    """

    q: tuple[str, ...] = option(
        'show inertias in the space frame at this pose: zero, home, or each joint [rad, m]',
        default=(),
    )
    base_parameters: str | None = option(
        'print the base parameters; alone: vertical', choices=DIRECTIONS, const=DIRECTIONS[0]
    )
    symbolic: str | None = option(
        'print the base parameters in symbols', choices=('text', 'latex'), const='text'
    )
    json: Path | None = json_option()
    plot: Path | None = picture_option('draw the frames and centres of mass at --q')


@dataclass(frozen=True, kw_only=True)
class ArmCheck(ArmOptions):
    """
    Compare three independent formulations of an arm's dynamics, or the arm with OTHER.

    OTHER is a shipped arm or an arm file, which gets the same --hand and --payload, or a URDF.
    Listed are the numbers that differ and their effects on torques. Without --arm, a file is
    compared with the shipped arm of its name or joint names; for a URDF, in the set nearest to it.
    """

    other: str | None = argument(
        'a shipped arm, an arm file, a URDF, xacro', 'OTHER', default=None
    )
    states: int = option('number of random states', 'N', least=1, most=1e6, default=1000)
    seed: int = option('seed of the random states', 'N', default=0)
    gravity: tuple[float, float, float] = gravity_option()
    all: bool = switch('print everything: the tables of every quantity')
    json: Path | None = json_option()
    prefix: str | None = option(
        'prefix of the joint names in OTHER, a URDF (default: found)', flags=('--arm-prefix',)
    )


@dataclass(frozen=True, kw_only=True)
class ArmImport(NewFile):
    """Convert a URDF to an arm file (DH rows, inertias, limits) and check it against Pinocchio."""

    output: Path = file_option('the arm file to write (.yaml)', default=MISSING)
    anyway: bool = switch('write an arm file that differs from the URDF, too')
    urdf: Path = argument('the URDF; .xacro is expanded', 'URDF')
    name: str | None = option("name of the arm (default: the URDF's robot name)")
    joints: tuple[str, ...] = option(
        'joints from base to tip (default: the only chain)', 'JOINT', default=()
    )
    tip: str | None = option('flange (default: link8, flange, tool0 or the last link)', 'LINK')
    arm_prefix: str = arm_prefix_option()
    convention: str = option(
        'convention of the DH rows', choices=[one.value for one in Convention], default='modified'
    )


@dataclass(frozen=True, kw_only=True)
class ArmExport(NewFile, ArmOptions):
    """Write an arm as URDF or MJCF."""

    arm_prefix: str = arm_prefix_option(kind=new_prefix)
    format: str = option('format of the output', choices=FORMATS, default=FORMATS[0])
    ideal: bool = switch("leave the joints' armature and friction out of an MJCF")


@dataclass(frozen=True, kw_only=True)
class BagRecord(Topics, ArmOptions):
    """Record joint states, commands, references, diagnostics; say if the recording is usable."""

    arm_prefix: str = arm_prefix_option()
    output: Path | None = folder_option('the new bag (default: recording-DATE-TIME)', kind=new_bag)
    duration: float | None = option(
        'end after this time of the stamps [s] (default: at Ctrl-C)', 'S', least=1e-3, most=86400.0
    )
    node: str = ros_name('the feedforward node, if one runs', 'feedforward', 'NAME')


@dataclass(frozen=True, kw_only=True)
class BagImport(ColumnMap, BagNames):
    """
    Convert a log (CSV, parquet, HDF5, npy, npz) to a rosbag2 of joint states.

    COLUMNS is the name of an array with one column per joint, such as a dataset of HDF5, some
    columns of a wider one such as q[1-7], a pattern such as q{} (q1, q2, ...; q{0} counts from
    0), names separated by commas, or numbers counted from 1 such as 2-8.
    """

    log: str = argument(
        'a .csv, .tsv, .txt, .dat, .parquet, .h5, .hdf5, .npy or .npz file', 'FILE'
    )
    output: Path | None = folder_option('the new bag (default: the name of FILE)', kind=new_bag)
    list: bool = switch('print columns with first, last, least and largest values; write nothing')
    layout: str | None = option("a known format: droid is DROID's trajectory.h5", choices=LAYOUTS)
    topic: str = ros_name('topic of the joint states in the bag', '/joint_states')

    def __post_init__(self) -> None:
        """Leave out the check of ColumnMap, because --list needs no column options."""


def _external_path(text: str) -> Path:
    """Return --external as a path: a .csv or .h5 file, or the folder of a new bag."""
    suffix = Path(text).suffix.lower()
    if suffix not in ('', '.csv', '.h5'):
        raise OutputError(
            f'{text}: the name must end in .csv or .h5, or in nothing for a rosbag2.'
        )
    return writable_file(text) if suffix else new_bag(text)


@dataclass(frozen=True, kw_only=True)
class BagReplay(RecordingOptions):
    """Compare a recording's measured torques with the model's, for each inertial set and hand."""

    bag: str = argument('a rosbag2 folder, or one .mcap or .db3 file', 'BAG')
    sets: tuple[str, ...] = option(
        'inertial sets to try (default: all)', 'SET', flags=('--set',), default=()
    )
    hands: tuple[str, ...] = option(
        'hands to try, as for the arm (default: all)', 'HAND', flags=('--hand',), default=()
    )
    gravity: tuple[float, float, float] = gravity_option()
    effort_scale: tuple[float, ...] = effort_scale_option()
    output: Path = folder_option('folder for plots', default=Path('replay_output'))
    all: bool = switch('print everything: all sets and hands')
    no_plots: bool = switch('draw no plots')
    json: Path | None = json_option()
    external: Path | None = option(
        'write the external torque and wrench: .csv, .h5, or a new rosbag2',
        'PATH',
        kind=_external_path,
    )
    frame: str = option("frame of the wrench: 'flange' or a joint's number", default='flange')
    tool_center: tuple[float, float, float] = option(
        'point in --frame at which the wrench acts [m]', ('X', 'Y', 'Z'), default=(0.0, 0.0, 0.0)
    )
    learn: Path | None = file_option(
        "write the guard's bounds for this arm, untouched here, as parameters of the node"
    )
    require: float | None = option(
        "exit with 1 unless the best set's E is at most this [N m; % if a joint slides]",
        'E',
        least=0.0,
    )


@dataclass(frozen=True, kw_only=True)
class IdentifyArm(RecordingOptions, IdentificationOptions, ArmOptions, NewFile):
    """
    Identify an arm's inertias and friction from recordings of it.

    The arm file is written if it predicts motion that the fit has not seen better than the best
    published set; it is fitted to all bags.
    """

    bags: tuple[str, ...] = argument('rosbag2 folders, .mcap or .db3 files of one arm', 'BAG')
    tests: tuple[str, ...] = option(
        'bags that decide, not fitted (default: parts of the bags in turn)',
        'BAG',
        flags=('--test',),
        default=(),
    )
    output: Path | None = file_option('file for the identified arm')
    gravity: tuple[float, float, float] = gravity_option()
    processes: int = option(
        'number of processes that read bags and make fits', 'N', default=1, least=1
    )
    dask: str | None = option('read and fit on this Dask cluster (tcp://host:8786)', 'ADDRESS')
    all: bool = switch('print everything: base parameters and friction with standard deviations')
    skip_bad_bags: bool = switch('go on without bags that cannot be used, and name them')
    report: Path | None = file_option('write an HTML page with plots')
    json: Path | None = json_option()
    require: float | None = option(
        'reject the arm unless E on the left-out parts is at most this [N m; % if a joint slides]',
        'E',
        least=0.0,
    )


@dataclass(frozen=True, kw_only=True)
class IdentifyPayload(PayloadFiles, RecordingOptions, ArmOptions):
    """Identify a payload on the flange from recordings with and without it."""

    without: tuple[str, ...] = option('recordings without the payload', 'BAG', default=MISSING)
    loaded: tuple[str, ...] = option(
        'the same motion with the payload', 'BAG', flags=('--with',), default=MISSING
    )
    gravity: tuple[float, float, float] = gravity_option()
    json: Path | None = json_option()


@dataclass(frozen=True, kw_only=True)
class IdentifyPlan(ExcitationLimits, BagNames, ArmOptions):
    """
    Compute a trajectory for identification, within the arm's limits and above the table.

    It is planned for the parameters that the bags of --given leave uncertain.
    """

    gravity: tuple[float, float, float] = gravity_option()
    output: Path = file_option('a JointTrajectory as YAML', default=Path('excitation.yaml'))
    period: float = option('duration of the motion [s]', 'S', default=10.0)
    repetitions: int | None = option(
        f'how often it will be recorded (default: as needed, {FEWEST} to {MOST})', 'N', least=1
    )
    given: tuple[str, ...] = option('bags that were recorded before', 'BAG', default=())
    start: tuple[float, ...] = option('first and last pose (default: home)', 'RAD', default=())
    draws: int = option('random trajectories to start from', 'N', default=100, least=1)
    iterations: int = option('most iterations of the optimisation', 'N', default=300, least=1)


@dataclass(frozen=True, kw_only=True)
class Question(Action):
    """A request to a node; exit 1 if the node fails or is silent, 2 if it refuses a value."""

    node: str = ros_name('the node, with its namespace', 'feedforward', 'NAME')
    timeout: float = option(
        'how long to wait for the node [s]', 'S', default=5.0, least=0.1, most=3600.0
    )


@dataclass(frozen=True, kw_only=True)
class NodeState(Question):
    """Print a node's state and figures, and what it does and why; or change the state."""

    work: ClassVar[str] = 'node.state'
    transition: str | None = argument(
        f'to another state: {", ".join(TRANSITIONS)}',
        'TRANSITION',
        choices=TRANSITIONS,
        default=None,
    )
    json: Path | None = json_option()


@dataclass(frozen=True, kw_only=True)
class NodeSet(Question):
    """Set a parameter of a node."""

    work: ClassVar[str] = 'node.set_parameter'
    parameter: str = argument('name of the parameter', 'PARAMETER')
    value: str = argument('the value in YAML; of payload also a value of --payload, none', 'VALUE')


@dataclass(frozen=True, kw_only=True)
class NodePlay(Question, Topics):
    """Send a motion to a node and wait until it ends; with --record, record it and judge that."""

    work: ClassVar[str] = 'node.play'
    file: Path = argument('a file of `identify plan`, or an arm with a shipped motion', 'FILE')
    lead: float = option(
        "time to the motion's beginning [s]", 'S', default=0.0, least=0.0, most=60.0
    )
    record: Path | None = folder_option('record all topics in this new bag', kind=new_bag)


@dataclass(frozen=True, kw_only=True)
class NodeClear(Question):
    """Clear a node's fault, so that the node commands again; exit 1 if the fault remains."""

    work: ClassVar[str] = 'node.clear'


@dataclass(frozen=True, kw_only=True)
class NodeMonitor(Action):
    """Show rates, latencies, states and torques of running feedforward nodes in a terminal."""

    work: ClassVar[str] = 'node.monitor'
    namespace: tuple[str, ...] = option(
        "only nodes in these namespaces, '/' for the root (default: all)", 'NS', default=()
    )


@dataclass(frozen=True, kw_only=True)
class NodeDefaults(Action):
    """Print a node's default parameters as a commented YAML file."""

    work: ClassVar[str] = 'node.defaults'
    node: str = argument(
        'feedforward, simulator or trajectory_action', 'NODE', default='feedforward'
    )
    output: Path | None = file_option('file to write (default: print)')
