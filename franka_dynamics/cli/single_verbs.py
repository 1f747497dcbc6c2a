# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What the actions of one word can be given: demo, sim, doctor, view and others."""

from __future__ import annotations

from dataclasses import dataclass
import math
from pathlib import Path
from typing import ClassVar

from ._arm_options import ArmOptions
from ._options import (
    folder_option,
    gravity_option,
    json_option,
    PayloadFiles,
    picture_option,
    Topics,
)
from ._recording_options import RecordingOptions
from ..codegen.options import Parameters, Quantity
from ..options import option

# Frames of --mount relative to the flange frame: translation along z [m], rotation about z [rad].
# The Franka hand is mounted at -45 degrees, and its tool centre point lies 103.4 mm in front of
# the flange (franka_description).
MOUNTS = {'flange': (0.0, 0.0), 'hand': (0.0, -math.pi / 4), 'hand_tcp': (0.1034, -math.pi / 4)}
_LEAST = 1e-9  # smallest mass [kg] and density [kg/m^3]: both must be positive
_EVERY = tuple(one.value for one in Quantity)


@dataclass(frozen=True, kw_only=True)
class Demo(ArmOptions):
    """Run the node with a simulated arm over ROS 2; then simulate an arm with an inexact model."""

    work: ClassVar[str] = 'demo'
    hand: str = option(
        'a shipped hand, the path of a hand file, none, or as_listed: the hand the inertial set '
        'was published with',
        'HAND',
        default='franka_hand',
    )
    output: Path = folder_option(
        'folder below which figures, pictures, bag and logs get a new folder',
        default=Path('demo_output'),
    )


@dataclass(frozen=True, kw_only=True)
class Sim(ArmOptions):
    """Run a simulated arm with the node that holds it and a view in the browser."""

    work: ClassVar[str] = 'sim'
    target: str = option(
        'who compensates gravity: the node (mujoco), or the simulated arm itself, as a real '
        'Franka arm does (fci)',
        choices=('mujoco', 'fci'),
        default='mujoco',
    )
    realistic: bool = option(
        'simulate an arm that differs from the model: inertias some 10 % off, friction, sensor '
        'noise, and 0.2 kg on the flange that the model does not know',
        default=False,
    )
    ideal: bool = option(
        'simulate the model itself, without the armature and friction that are known of the '
        "real arm's joints",
        default=False,
    )
    real_time_factor: float = option(
        'largest ratio of simulated to real time, 0.05 to 100; late torques slow the simulation '
        'down. 0.25 shows details and saves processor time',
        'F',
        default=1.0,
        least=0.05,
        most=100.0,
    )
    no_gains: bool = option('hold by feedforward alone, without a weak joint PD', default=False)
    no_view: bool = option('do not serve the page for a browser', default=False)
    output: Path | None = folder_option(
        "keep the nodes' logs in this folder (default: they are deleted)"
    )
    duration: float | None = option(
        'end after this time [s] (default: at Ctrl-C)', 'S', default=None, least=1e-3
    )


@dataclass(frozen=True, kw_only=True)
class Doctor(ArmOptions, Topics):
    """
    Check permissions, kernel, DDS, topics, clock and gravity compensation.

    With --robot, compare the model that a robot serves over FCI with the arm's.
    """

    work: ClassVar[str] = 'doctor'
    machine: bool = option('check only this machine, not the running nodes', default=False)
    robot: str | None = option(
        'compare the model (M, C dq, g, Jacobian, pose), the load and the gravity of the robot '
        'at this address with the arm; needs pylibfranka, commands nothing',
        'HOST',
        default=None,
    )
    json: Path | None = json_option()


@dataclass(frozen=True, kw_only=True)
class View(RecordingOptions, ArmOptions):
    """Show an arm with its torques in the browser, from the running system or from a bag."""

    work: ClassVar[str] = 'view'
    bag: str | None = option(
        'a rosbag2 folder, or one .mcap or .db3 file (default: the running system)',
        'BAG',
        positional=True,
        default=None,
    )
    gravity: tuple[float, float, float] = gravity_option()
    urdf: Path | None = option(
        'show the meshes of this URDF (.xacro is expanded), whose packages must be installed '
        "(default: the running arm's robot_description, or else the simple collision shapes)",
        'FILE',
        default=None,
    )
    node: str = option('the feedforward node whose terms are shown', 'NAME', default='feedforward')
    host: str = option(
        'address to serve; with 0.0.0.0 everybody in the network can open the page',
        'ADDRESS',
        default='127.0.0.1',
    )
    port: int = option(
        'port; if it is in use, the next free port', default=8080, least=0, most=65535
    )


@dataclass(frozen=True, kw_only=True)
class PayloadFromMesh(PayloadFiles):
    """Compute a tool's payload parameters from its mesh (STL, OBJ, PLY)."""

    work: ClassVar[str] = 'payload_from_mesh'
    mesh: str = option('an .stl, .obj or .ply file', 'MESH', positional=True)
    density: float | None = option(
        'density of the material: 2700 aluminium, 7850 steel, 1240 PLA',
        'KG_PER_M3',
        default=None,
        least=_LEAST,
    )
    mass: float | None = option('weighed mass of the tool', 'KG', default=None, least=_LEAST)
    unit: str | None = option(
        "unit of the file's numbers (default: found from the size of the mesh)",
        choices=('m', 'cm', 'mm', 'in'),
        default=None,
    )
    mount: str = option(
        'frame that --xyz and --rpy refer to', choices=sorted(MOUNTS), default='flange'
    )
    xyz: tuple[float, float, float] = option(
        "the mesh's origin in the frame --mount [m]", ('X', 'Y', 'Z'), default=(0.0, 0.0, 0.0)
    )
    rpy: tuple[float, float, float] = option(
        "the mesh's axes in the frame --mount: roll, pitch, yaw about fixed axes, as in "
        'URDF [rad]',
        ('R', 'P', 'Y'),
        default=(0.0, 0.0, 0.0),
    )
    arm: str = option(
        'arm or arm file whose rated load the mass is compared with', 'ARM', default='fr3'
    )
    mend: bool = option(
        'remove repeated faces, close holes, correct flipped faces, and report each repair',
        default=False,
    )
    accept_crossing_faces: bool = option(
        'do not look for faces that cross or touch: for meshes of parts that touch; where parts '
        'overlap, the volume counts twice',
        default=False,
    )
    plot: Path | None = picture_option('draw mesh, centre of mass and inertia ellipsoid')


@dataclass(frozen=True, kw_only=True)
class Codegen(ArmOptions):
    """Generate an arm's equations of motion as C or Python; count their operations."""

    work: ClassVar[str] = 'codegen'
    language: str = option(
        'a C99 header or a Python module; cpp: with --package',
        choices=('c', 'python', 'cpp'),
        default='c',
    )
    output: Path | None = folder_option(
        'folder of the file; without it operations are only counted'
    )
    parameters: str = option(
        'inertial parameters and gravity as numbers in the code (baked), or set at run time',
        choices=[one.value for one in Parameters],
        default='baked',
    )
    gravity: tuple[float, float, float] = gravity_option()
    package: str | None = option(
        'write a whole ament_cmake package of that name below --output: a C++ core, a chainable '
        'ros2_control controller, a solver plugin',
        'NAME',
        default=None,
    )
    quantities: tuple[str, ...] = option(
        f'quantities to generate: {", ".join(_EVERY)}',
        'QUANTITY',
        flags=('--quantity',),
        choices=_EVERY,
        default=('inverse_dynamics', 'gravity', 'coriolis', 'mass_matrix'),
    )
