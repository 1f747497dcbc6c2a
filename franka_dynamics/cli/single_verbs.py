# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What the actions of one word can be given: demo, sim, doctor, view and others."""

from __future__ import annotations

from dataclasses import dataclass, replace
import math
from pathlib import Path
from typing import ClassVar, Self

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
from ..options import argument, option, switch

# Frames of --mount relative to the flange frame: translation along z [m], rotation about z [rad].
# The Franka hand is mounted at -45 degrees, and its tool centre point lies 103.4 mm in front of
# the flange (franka_description).
MOUNTS = {'flange': (0.0, 0.0), 'hand': (0.0, -math.pi / 4), 'hand_tcp': (0.1034, -math.pi / 4)}
_LEAST = 1e-9  # smallest mass [kg] and density [kg/m^3]: both must be positive
_EVERY = tuple(one.value for one in Quantity)


@dataclass(frozen=True, kw_only=True)
class Demo(ArmOptions):
    """
    Run the node with a simulated arm over ROS 2; then simulate an arm with an inexact model.

    A Franka arm carries the Franka hand unless --hand is given.
    """

    work: ClassVar[str] = 'demo'
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

    work: ClassVar[str] = 'sim'
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

    work: ClassVar[str] = 'doctor'
    machine: bool = switch('check only this machine, not the running nodes')
    robot: str | None = option('compare the robot at this address with the arm', 'HOST')
    json: Path | None = json_option()


@dataclass(frozen=True, kw_only=True)
class View(RecordingOptions, ArmOptions):
    """Show an arm with its torques in the browser, from the running system or from a bag."""

    work: ClassVar[str] = 'view'
    bag: str | None = argument('a rosbag2 (default: the running system)', 'BAG', default=None)
    gravity: tuple[float, float, float] = gravity_option()
    urdf: Path | None = option(
        "show this URDF's meshes (default: the running arm's, or simple shapes)", 'FILE'
    )
    node: str = option('the feedforward node whose terms are shown', 'NAME', default='feedforward')
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

    work: ClassVar[str] = 'payload_from_mesh'
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

    work: ClassVar[str] = 'codegen'
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
