# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics view`: an arm with its torques in the browser, live or from a bag."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ._arm_options import add_hand_option, load_arm
from ._interrupts import until_interrupted
from ._options import add_gravity_option, refuse
from ._recording_options import (
    add_recording_options,
    progress_bar,
    read_from_options,
    signal_options,
)
from ._say import say, terminal
from ..arm import ArmDescription

if TYPE_CHECKING:
    from rich.console import Console

    from ..view.meshes import ArmMeshes

SUMMARY = 'Show an arm with its torques in the browser, beside a running node or from a bag.'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    parser.add_argument(
        'bag',
        nargs='?',
        metavar='BAG',
        help='a rosbag2 folder, or one .mcap or .db3 file (default: the running system)',
    )
    add_recording_options(parser)
    parser.add_argument(
        '--set',
        dest='inertial_set',
        metavar='SET',
        help="one of the arm file's inertial sets (default: the file's own)",
    )
    add_hand_option(parser)
    add_gravity_option(parser, 'base', note=', of a bag')
    parser.add_argument(
        '--urdf',
        type=Path,
        metavar='FILE',
        help='show the meshes of this URDF (xacro expanded), whose packages are installed '
        "(default: a running arm's robot_description, an installed franka_description, "
        'or else the shapes that the arm collides with)',
    )
    parser.add_argument(
        '--node',
        default='feedforward',
        metavar='NAME',
        help='the feedforward node whose terms are shown (default: %(default)s)',
    )
    parser.add_argument(
        '--host',
        default='127.0.0.1',
        metavar='ADDRESS',
        help='address to serve; 0.0.0.0 lets everybody in, unasked (default: %(default)s)',
    )
    parser.add_argument(
        '--port',
        type=int,
        default=8080,
        help='port; the next free one if it is in use (default: %(default)s)',
    )


def run(arguments: argparse.Namespace) -> int:
    """Serve until interrupted."""
    from ..view.window import Window

    console = terminal()
    if arguments.bag:
        refuse(arguments, 'a bag: no node runs', node='--node')
    else:
        refuse(
            arguments,
            'a running arm, which is shown as it comes: it is for a bag',
            joint_names='--joint-names',
            stamps='--stamps',
            rate='--rate',
            cutoff='--cutoff',
            trim='--trim',
            gravity='--gravity',
        )
    description = load_arm(arguments)
    meshes = _meshes(arguments, description, console)
    if arguments.bag:
        return _play(arguments, description, meshes, console)
    from ..ros.live_view import watch

    with Window(description, arguments.host, arguments.port) as window:
        if meshes is not None:
            window.show_meshes(meshes)
        _serve(
            console,
            window.address,
            lambda go_on: watch(
                window,
                description,
                arguments.topic or 'joint_states',
                arguments.node,
                go_on,
                look_for_meshes=arguments.urdf is None,
            ),
        )
    return 0


def _meshes(
    arguments: argparse.Namespace, description: ArmDescription, console: Console
) -> ArmMeshes | None:
    """Return the meshes of the URDF that was named, or of what is installed."""
    from ..view.meshes import installed_meshes, MeshesError, urdf_meshes

    if arguments.urdf is None:
        try:
            return installed_meshes(description)
        except MeshesError as error:  # nobody asked for them by name
            say(console, error, 'note')
            return None
    from ..urdf.document import read_urdf

    return urdf_meshes(read_urdf(arguments.urdf), description.joint_names)


def _play(
    arguments: argparse.Namespace,
    description: ArmDescription,
    meshes: ArmMeshes | None,
    console: Console,
) -> int:
    from ..dynamics import GRAVITY
    from ..recordings.preprocessing import prepare
    from ..view.window import play, Playback, Window

    with progress_bar(console) as bar:
        recording = read_from_options(arguments, description, bar)
        gravity = tuple(arguments.gravity or GRAVITY)
        playback = Playback(description, prepare(recording, signal_options(arguments)), gravity)
    with Window(description, arguments.host, arguments.port) as window:
        if meshes is not None:
            window.show_meshes(meshes)
        _serve(console, window.address, lambda go_on: play(window, playback, go_on))
    return 0


def _serve(console: Console, address: str, work: Callable[[Callable[[], bool]], None]) -> None:
    with until_interrupted() as go_on:
        console.print(f'open {address} in a browser; Ctrl-C ends')
        work(go_on)
