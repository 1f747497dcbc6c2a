# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The root command `franka-dynamics`, its groups of commands, and the commands in no group.

Modules that declare commands import no NumPy, so that help and completion are quick; a command
imports what does the work. Exit status: 0 done, 1 a check failed (a mismatch, a missed bound), or
a node or robot failed or did not answer, 2 wrong input or a missing library, 3 the machine is too
busy (demo), 130 interrupted, 141 the reader of the output has gone.
"""

from collections.abc import Sequence
import os
import sys
from typing import Any
import warnings

import click
from click.shell_completion import shell_complete

from . import options as shared
from .command import Group
from .groups import arm, bag, identify, node
from .options import CommaList, flag, Number, option
from .. import __version__
from ..constants import ParameterMode, PRECISIONS, Quantity
from ..errors import ArmWarning, FrankaDynamicsError

PROGRAM_NAME = 'franka-dynamics'
_CONTEXT_SETTINGS = {'help_option_names': ['-h', '--help'], 'show_default': True}
_COMPLETION_VARIABLE = '_FRANKA_DYNAMICS_COMPLETE'  # set by the script that click gives a shell
EXIT_INVALID_INPUT = FrankaDynamicsError.status
EXIT_INTERRUPTED = 130  # as shells report SIGINT
EXIT_BROKEN_PIPE = 141  # as shells report SIGPIPE
_MIN_MASS_OR_DENSITY = 1e-9  # smallest mass [kg] and density [kg/m^3]: both must be positive
_QUANTITIES, _MODES = ([member.value for member in kind] for kind in (Quantity, ParameterMode))


@click.group(cls=Group, context_settings=_CONTEXT_SETTINGS)
@click.version_option(__version__, message='%(prog)s %(version)s')
def root_command() -> None:
    """
    Check, compare and identify the dynamics of Franka arms, and generate code for them.

    COMMAND --help lists the options of a command or the commands of a group.
    """


for group in (arm, bag, identify, node):
    root_command.add_command(group)


@root_command.command(short_help='Run a simulated arm with its node, and measure both.')
@option(
    '--output',
    'folder in which each run makes a new one',
    shared.OUT_DIR_TYPE,
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
    shared.OUT_DIR_TYPE,
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
@option('--urdf', 'URDF with the meshes to show (default: that of --arm)', click.Path())
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
@option('--density', 'density of the material [kg/m^3]', Number(_MIN_MASS_OR_DENSITY))
@option('--mass', 'weighed mass of the tool [kg]', Number(_MIN_MASS_OR_DENSITY))
@option('--unit', 'unit of the mesh (default: guessed from its size)', ('m', 'cm', 'mm', 'in'))
@option('--mount', 'frame on which the tool is mounted', [*shared.MOUNT_OFFSETS], default='flange')
@option(
    '--xyz', "the mesh's origin in the frame of --mount [m]", shared.VECTOR_TYPE, default='0,0,0'
)
@option(
    '--rpy',
    "the mesh's roll, pitch and yaw there, as in URDF [rad]",
    shared.VECTOR_TYPE,
    default='0,0,0',
)
@option('--arm', 'arm whose rated load the mass is compared with', default='fr3')
@option(
    '--plot',
    'draw mesh and inertia ellipsoid to this file (.png, .svg, .pdf)',
    shared.PICTURE_TYPE,
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
    shared.OUT_DIR_TYPE,
)
@option(
    '--parameters',
    'inertias and gravity: baked, as numbers in the code; run_time, set later',
    _MODES,
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
    'quantities',
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


def main(argv: Sequence[str] | None = None) -> int:
    """
    Run the command line and return its exit status.

    After wrong input, an error of this package or Ctrl-C, one sentence on standard error says
    what happened.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    instruction = os.environ.get(_COMPLETION_VARIABLE)
    if instruction:
        return shell_complete(root_command, {}, PROGRAM_NAME, _COMPLETION_VARIABLE, instruction)
    if sys.stderr is None:
        # Its number is taken, or what libraries say would get into a file that is opened later.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        sys.stderr = os.fdopen(2, 'w')
    if sys.stdout is None:  # files opened later would take its place
        return _print_error('standard output is closed; >/dev/null drops it', EXIT_INVALID_INPUT)
    try:
        with (
            root_command.make_context(PROGRAM_NAME, words) as command,
            warnings.catch_warnings(),
        ):
            warnings.simplefilter('once', ArmWarning)  # some commands load an arm twice
            warnings.showwarning = _show_warning
            status: int = root_command.invoke(command) or 0
        sys.stdout.flush()
        return status
    except click.exceptions.Exit as ended:  # of --help and --version
        return ended.exit_code
    except click.ClickException as error:
        context = getattr(error, 'ctx', None)
        message = error.format_message().rstrip('.').replace('\n', ' ')
        where = context.command_path if context else PROGRAM_NAME
        if isinstance(error, click.NoSuchOption) and error.option_name[1:2].isdigit():
            message += '; a list has commas and no spaces, as 0,0,-9.81'
        return _print_error(f'{message} (see {where} --help)', EXIT_INVALID_INPUT)
    except FrankaDynamicsError as error:
        return _print_error(f'{error}', error.status)
    except KeyboardInterrupt:
        return _print_error('interrupted', EXIT_INTERRUPTED)
    except OSError as error:
        # What is still to be written goes nowhere, or Python would fail to write it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return EXIT_BROKEN_PIPE
        what = error.strerror or error
        return _print_error(f'{error.filename or "standard output"}: {what}.', EXIT_INVALID_INPUT)


def _show_warning(message: Any, category: Any, *place: Any, **_: Any) -> None:
    """Print a warning about an arm as one sentence, any other warning as Python does."""
    text = warnings.formatwarning(message, category, *place[:2])
    print(
        f'warning: {message}' if issubclass(category, ArmWarning) else text,
        file=sys.stderr,
    )


def _print_error(sentence: str, exit_status: int) -> int:
    """Print an error sentence to standard error; return the given exit status."""
    print(f'{PROGRAM_NAME}: {sentence}', file=sys.stderr)
    return exit_status


if __name__ == '__main__':
    sys.exit(main())
