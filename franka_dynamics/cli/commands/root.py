# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The root command `franka-dynamics`, and the commands that belong to no group.

Modules of commands import no NumPy, so that help and completion are quick.
"""

from pathlib import Path
from typing import Annotated

import click

from . import arm, bag, identify, node
from ..command import Argument, command_of, Group, Option
from ..option_types import FILE_TYPE, OUT_DIR_TYPE
from ..options import (
    ArmOptions,
    CommandTopic,
    JsonPath,
    ShownArmOptions,
    StampedBagOptions,
    StateTopic,
)
from ..requests import CodegenRequest, MeshRequest, SimRequest
from ... import __version__

root_command = Group(
    'franka-dynamics',
    help="""Check, compare and identify the dynamics of Franka arms, and generate code for them.

    COMMAND --help lists the options of a command or the commands of a group.
    """,
    context_settings={'help_option_names': ['-h', '--help'], 'show_default': True},
)
click.version_option(__version__, message='%(prog)s %(version)s')(root_command)
for _group in (arm.arm, bag.bag, identify.identify, node.node):
    root_command.add_command(_group)


@command_of(
    root_command, 'demo', short_help='Run a simulated arm with its node, and measure both.'
)
def demo(
    *,
    output: Annotated[
        Path, Option('folder in which each run makes a new one', OUT_DIR_TYPE)
    ] = Path('demo_output'),
    lockstep: Annotated[
        bool, Option('let simulated time wait for each torque, for a busy machine')
    ] = False,
    choice: ArmOptions,
) -> int:
    """
    Run a simulated arm with its node over ROS 2, and measure both.

    A second part simulates an arm that differs from its model. A Franka arm carries the Franka
    hand unless --hand is given.
    """
    from ..demo import run_demonstration

    return run_demonstration(choice, output, lockstep=lockstep)


@command_of(
    root_command,
    'sim',
    short_help='Run a simulated arm with the node that holds it, and show it.',
)
def sim(*, request: SimRequest, choice: ArmOptions) -> int:
    """
    Run a simulated arm with the node that holds it and a view in the browser.

    By default the arm has the armature and friction that are known of the real arm's joints. With
    --ideal it is the model itself, without these. With --realistic it differs from the model: its
    inertias are some 10 % off, sensors are noisy, and the flange carries 0.2 kg that the model
    does not know.

    With --clock the node uses simulated time, and knows that armature and friction. Programs with
    use_sim_time then measure the same errors on a slow computer as on a fast one.
    """
    from ..sim import simulate

    return simulate(choice, request)


@command_of(
    root_command, 'doctor', short_help='Check machine, network, topics, clock and gravity.'
)
def doctor(
    *,
    machine: Annotated[bool, Option('check only this machine, not the running nodes')] = False,
    robot: Annotated[
        str | None,
        Option('also compare the robot at this address with the arm', metavar='HOST'),
    ] = None,
    json: JsonPath = None,
    topic: StateTopic = 'joint_states',
    command: CommandTopic = None,
    choice: ArmOptions,
) -> int:
    """
    Check permissions, kernel, DDS, joint states and clock, and print what the nodes say.

    The exit status is 1 if a line says "to do", for example if a node sends no torque. With
    --robot the command also compares the model (M, C dq, g, Jacobian, pose), load and gravity of a
    robot, read over FCI, with those of the arm. That needs pylibfranka, and commands nothing.
    """
    from ..doctor import check_system

    return check_system(choice, robot, json, topic, command, machine_only=machine)


@command_of(root_command, 'view', short_help='Show an arm in the browser, running or recorded.')
def view(
    *,
    bag: Annotated[str | None, Argument(type=FILE_TYPE)] = None,
    urdf: Annotated[
        str | None,
        Option('URDF or xacro with the meshes to show (default: that of --arm)', FILE_TYPE),
    ] = None,
    host: Annotated[
        str, Option('address to serve; 0.0.0.0 serves everybody in the network')
    ] = '127.0.0.1',
    port: Annotated[
        int, Option('port to serve, or the next free one', click.IntRange(0, 65535))
    ] = 8080,
    reader: StampedBagOptions,
    choice: ShownArmOptions,
) -> int:
    """
    Show an arm in the browser, from the running system or from a bag.

    BAG is a rosbag2. Without it the running system is shown.
    """
    from ..view import show_arm

    return show_arm(choice, reader, bag, urdf, host, port)


@command_of(
    root_command,
    'payload-from-mesh',
    short_help="Compute a tool's payload from its mesh (STL, OBJ, PLY).",
)
def payload_from_mesh(*, request: MeshRequest) -> int:
    """
    Compute a tool's payload parameters from its mesh (STL, OBJ, PLY).

    Give --density or --mass. Densities [kg/m^3]: aluminium 2700, steel 7850, PLA 1240.
    """
    from ..payload import payload_from_mesh

    return payload_from_mesh(request)


@command_of(
    root_command, 'codegen', short_help="Generate an arm's equations as C, CUDA or Python."
)
def codegen(*, request: CodegenRequest, choice: ArmOptions) -> int:
    """
    Generate an arm's equations of motion as C, CUDA or Python; count their operations.

    With --package the command copies the ament_cmake package franka_dynamics_controllers to
    --output: a C++ core and a ros2_control controller. They read the arm when they start, from a
    file of `arm export --format controller`.
    """
    from ..codegen import generate_code

    return generate_code(choice, request)
