# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics payload-from-mesh`: a tool's CAD mesh -> the node's `payload` array."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._options import add_desk_option, add_output_option, add_plot_option
from ._say import say, terminal
from ..arm import load

SUMMARY = "Compute a tool's payload parameters from its mesh (STL, OBJ, PLY)."
# Poses in the flange frame: height along z [m] and turn about z [rad]. The hand is mounted at
# -45 degrees, and its tool centre point lies 103.4 mm in front of the flange (franka_description).
MOUNTS = {'flange': (0.0, 0.0), 'hand': (0.0, -np.pi / 4), 'hand_tcp': (0.1034, -np.pi / 4)}
_DENSEST = 22600.0  # kg/m^3, osmium


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    parser.add_argument('mesh', help='an .stl, .obj or .ply file')
    weight = parser.add_mutually_exclusive_group(required=True)
    weight.add_argument(
        '--density',
        type=float,
        metavar='KG_PER_M3',
        help='of the material: 2700 aluminium, 7850 steel, 1240 PLA',
    )
    weight.add_argument('--mass', type=float, metavar='KG', help='of the tool, as weighed')
    parser.add_argument(
        '--unit',
        choices=('m', 'cm', 'mm', 'in'),
        help="of the file's numbers; told from their size if not given",
    )
    parser.add_argument(
        '--mount',
        choices=sorted(MOUNTS),
        default='flange',
        help='frame that --xyz and --rpy refer to (default: %(default)s)',
    )
    parser.add_argument(
        '--xyz',
        type=float,
        nargs=3,
        default=(0.0, 0.0, 0.0),
        metavar=('X', 'Y', 'Z'),
        help="the mesh's origin in that frame [m]",
    )
    parser.add_argument(
        '--rpy',
        type=float,
        nargs=3,
        default=(0.0, 0.0, 0.0),
        metavar=('R', 'P', 'Y'),
        help="the mesh's axes in that frame: roll, pitch, yaw about fixed axes, as in URDF [rad]",
    )
    parser.add_argument(
        '--arm',
        default='fer',
        metavar='ARM',
        help='the arm, or arm file, whose rated load it is held against (default: %(default)s)',
    )
    parser.add_argument(
        '--repair',
        action='store_true',
        help='close holes and turn flipped normals, and say what was done',
    )
    parser.add_argument(
        '--accept-crossing-faces',
        action='store_true',
        help='do not look for faces that cross or touch: right for parts that '
        'touch; volume in which parts overlap counts twice',
    )
    add_output_option(parser, 'write a ROS parameter file for the feedforward node')
    add_desk_option(parser)
    add_plot_option(parser, 'mesh, centre of mass and inertia ellipsoid')


def mesh_pose(mount: str, xyz: ArrayLike, rpy_angles: ArrayLike) -> NDArray[np.float64]:
    """Return the pose of the mesh's frame in the flange frame, shape (4, 4)."""
    from ..spatial import rpy

    height, turn = MOUNTS[mount]
    frame, pose = np.eye(4), np.eye(4)
    frame[:3, :3], frame[2, 3] = rpy(0.0, 0.0, turn), height
    pose[:3, :3], pose[:3, 3] = rpy(*np.asarray(rpy_angles, dtype=float)), xyz
    return frame @ pose


def run(arguments: argparse.Namespace) -> int:
    """Print the payload and write what was asked for."""
    from ..arm.payload import (
        desk_json,
        payload_array,
        payload_parameter_file,
        require_positive,
    )
    from ..files import write_text
    from ..mesh.mesh import mesh_inertia, mesh_volume
    from ..mesh.mesh_file import load_mesh
    from ..mesh.solid_check import require_solid

    name = Path(arguments.mesh).name
    quantity, value = (
        ('--mass', arguments.mass)
        if arguments.density is None
        else ('--density', arguments.density)
    )
    require_positive(quantity, value)
    arm = load(arguments.arm)
    console = terminal()
    with console.status(f'reading {name}'):
        file = load_mesh(arguments.mesh, unit=arguments.unit, repair=arguments.repair)
    for note in file.notes:
        say(console, note, style='yellow' if note.startswith('repair') else '')
    with console.status('looking for holes, flipped normals and faces that cross'):
        require_solid(
            file.mesh, arguments.mesh, self_intersection=not arguments.accept_crossing_faces
        )
    volume = mesh_volume(file.mesh)
    density = arguments.density if arguments.mass is None else arguments.mass / volume
    mesh = file.mesh.moved(mesh_pose(arguments.mount, arguments.xyz, arguments.rpy))
    inertia = mesh_inertia(mesh, density)
    say(
        console,
        f'{len(mesh.faces)} faces, volume {volume * 1e6:.6g} cm^3, density '
        f'{density:.6g} kg/m^3, mass {inertia.mass:.6g} kg',
    )
    if arm.rated_load is not None and inertia.mass > arm.rated_load:
        say(
            console,
            f'{inertia.mass:.4g} kg is above the {arm.rated_load:g} kg that {arm.name} is rated '
            'for',
            'warning',
        )
    if density > _DENSEST:
        say(
            console,
            f'nothing is as dense as {density:.4g} kg/m^3; is the unit {file.unit} right?',
            'warning',
        )
    payload = payload_array(inertia)
    say(console, 'payload: [' + ', '.join(f'{number:.9g}' for number in payload) + ']')
    say(
        console,
        'in the flange frame: mass [kg], centre of mass x y z [m], inertia about the '
        'centre of mass xx xy xz yy yz zz [kg m^2]',
    )
    if arguments.output:
        comment = f'{name}, {density:.6g} kg/m^3, mount {arguments.mount}'
        write_text(arguments.output, payload_parameter_file(payload, comment))
        say(console, f'written: {arguments.output}')
    if arguments.desk:
        write_text(arguments.desk, desk_json(payload, Path(arguments.mesh).stem))
        say(console, f'written: {arguments.desk}')
    if arguments.plot:
        from ..report.bodies import draw_payload

        draw_payload(
            mesh,
            inertia,
            arguments.plot,
            f'{name}: {inertia.mass:.4g} kg, mount {arguments.mount}',
        )
        say(console, f'written: {arguments.plot}')
    return 0
