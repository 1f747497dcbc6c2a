# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The root command `franka-dynamics`, and declarations of the commands that belong to no group.

Modules that declare commands import no NumPy, so that help and completion are quick.
"""

import click

from . import arm, bag, identify, node
from .. import options as shared
from ..command import Group
from ..option_types import (
    CommaList,
    Number,
    OUT_DIR_TYPE,
    PICTURE_TYPE,
    VECTOR_TYPE,
)
from ..options import flag, option
from ... import __version__
from ...constants import ParameterMode, PRECISIONS, Quantity

_CONTEXT_SETTINGS = {'help_option_names': ['-h', '--help'], 'show_default': True}
# Both must be positive, and options have bounds that are allowed themselves.
_MIN_MASS_KG = 1e-9
_MIN_DENSITY_KG_M3 = 1e-9
_QUANTITIES = [quantity.value for quantity in Quantity]
_PARAMETER_MODES = [mode.value for mode in ParameterMode]


@click.group(cls=Group, context_settings=_CONTEXT_SETTINGS)
@click.version_option(__version__, message='%(prog)s %(version)s')
def root_command() -> None:
    """
    Check, compare and identify the dynamics of Franka arms, and generate code for them.

    COMMAND --help lists the options of a command or the commands of a group.
    """


for group in (arm.arm, bag.bag, identify.identify, node.node):
    root_command.add_command(group)


@root_command.command(short_help='Run a simulated arm with its node, and measure both.')
@option(
    '--output',
    'folder in which each run makes a new one',
    OUT_DIR_TYPE,
    default='demo_output',
)
@flag('--lockstep', 'let simulated time wait for each torque, for a busy machine')
@shared.arm_options
def demo() -> None:
    """
    Run a simulated arm with its node over ROS 2, and measure both.

    A second part simulates an arm that differs from its model. A Franka arm carries the Franka
    hand unless --hand is given.
    """


@root_command.command(short_help='Run a simulated arm with the node that holds it, and show it.')
@option(
    '--target',
    'mujoco: the node sends gravity torques; fci: the arm adds them itself',
    ('mujoco', 'fci'),
    default='mujoco',
)
@flag('--realistic', 'simulate an arm that differs from the model')
@flag('--ideal', 'simulate the model itself')
@option(
    '--real-time-factor',
    'simulated time per real time, at most',
    Number(0.05, 100.0),
    default=1.0,
)
@flag('--clock', 'publish simulated time on /clock, for programs with use_sim_time')
@flag('--no-gains', 'hold by feedforward alone, without a weak joint PD')
@flag('--no-view', 'serve no page for a browser')
@option(
    '--output',
    "keep the nodes' logs here (default: they are deleted)",
    OUT_DIR_TYPE,
)
@option('--duration', 'end after this time [s] (default: at Ctrl-C)', Number(1e-3))
@shared.arm_options
def sim() -> None:
    """
    Run a simulated arm with the node that holds it and a view in the browser.

    By default the arm has the armature and friction that are known of the real arm's joints. With
    --ideal it is the model itself, without these. With --realistic it differs from the model: its
    inertias are some 10 % off, sensors are noisy, and the flange carries 0.2 kg that the model
    does not know.

    With --clock the node uses simulated time, and knows that armature and friction. Programs with
    use_sim_time then measure the same errors on a slow computer as on a fast one.
    """


@root_command.command(short_help='Check machine, network, topics, clock and gravity.')
@flag('--machine', 'check only this machine, not the running nodes')
@option('--robot', 'also compare the robot at this address with the arm', metavar='HOST')
@shared.json_option
@shared.topic_options
@shared.arm_options
def doctor() -> None:
    """
    Check permissions, kernel, DDS, joint states and clock, and print what the nodes say.

    The exit status is 1 if a line says "to do", for example if a node sends no torque. With
    --robot the command also compares the model (M, C dq, g, Jacobian, pose), load and gravity of a
    robot, read over FCI, with those of the arm. That needs pylibfranka, and commands nothing.
    """


@root_command.command(short_help='Show an arm in the browser, running or recorded.')
@click.argument('bag', type=click.Path(), required=False)
@option('--urdf', 'URDF or xacro with the meshes to show (default: that of --arm)', click.Path())
@option('--host', 'address to serve; 0.0.0.0 serves everybody in the network', default='127.0.0.1')
@option('--port', 'port to serve, or the next free one', click.IntRange(0, 65535), default=8080)
@shared.bag_and_stamp_options
@shared.arm_hand_options
def view() -> None:
    """
    Show an arm in the browser, from the running system or from a bag.

    BAG is a rosbag2. Without it the running system is shown.
    """


@root_command.command(
    func='payload.payload_from_mesh',
    short_help="Compute a tool's payload from its mesh (STL, OBJ, PLY).",
)
@click.argument('mesh', type=click.Path())
@option('--density', 'density of the material [kg/m^3]', Number(_MIN_DENSITY_KG_M3))
@option('--mass', 'weighed mass of the tool [kg]', Number(_MIN_MASS_KG))
@option('--unit', 'unit of the mesh (default: guessed from its size)', ('m', 'cm', 'mm', 'in'))
@option('--mount', 'frame on which the tool is mounted', [*shared.MOUNT_OFFSETS], default='flange')
@option('--xyz', "the mesh's origin in the frame of --mount [m]", VECTOR_TYPE, default='0,0,0')
@option(
    '--rpy',
    "the mesh's roll, pitch and yaw there, as in URDF [rad]",
    VECTOR_TYPE,
    default='0,0,0',
)
@option('--arm', 'arm whose rated load the mass is compared with', default='fr3')
@option(
    '--plot',
    'draw mesh and inertia ellipsoid to this file (.png, .svg, .pdf)',
    PICTURE_TYPE,
)
@shared.payload_file_options
def payload_from_mesh() -> None:
    """
    Compute a tool's payload parameters from its mesh (STL, OBJ, PLY).

    Give --density or --mass. Densities [kg/m^3]: aluminium 2700, steel 7850, PLA 1240.
    """


@root_command.command(short_help="Generate an arm's equations as C, CUDA or Python.")
@option('--language', 'language of the code', ('c', 'cuda', 'python'), default='c')
@option(
    '--output',
    'folder for the file; without it operations are only counted',
    OUT_DIR_TYPE,
)
@option(
    '--parameters',
    'inertias and gravity: baked, as numbers in the code; run_time, set later',
    _PARAMETER_MODES,
    default='baked',
)
@shared.gravity_option
@flag(
    '--package',
    'copy the C++ package of the ros2_control controller to --output, and no equations',
)
@option('--name', "name of the functions and the file (default: the arm's)")
@option(
    '--quantity',
    f'quantities to generate: {", ".join(_QUANTITIES)}',
    CommaList('QUANTITY,...', click.Choice(_QUANTITIES)),
    dest='quantities',
    default=('inverse_dynamics', 'gravity', 'coriolis', 'mass_matrix'),
)
@option('--precision', 'precision of C and CUDA', PRECISIONS, default='double')
@option(
    '--frame',
    'frame of pose and Jacobian: a joint, a link, a number or hand_tcp',
    default='flange',
)
@shared.arm_options
def codegen() -> None:
    """
    Generate an arm's equations of motion as C, CUDA or Python; count their operations.

    With --package the command copies the ament_cmake package franka_dynamics_controllers to
    --output: a C++ core and a ros2_control controller. They read the arm when they start, from a
    file of `arm export --format controller`.
    """
