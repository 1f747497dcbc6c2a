# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics payload-from-mesh`: a tool's CAD mesh -> the node's `payload` array."""

from __future__ import annotations

from pathlib import Path

from ._options import PayloadFiles
from ._say import print_or_write, say, say_each, terminal
from .actions import MOUNTS, PayloadFromMesh
from ..arm import ArmDescription, load
from ..arm.payload import desk_json, payload_array, payload_parameter_file
from ..errors import SettingsError
from ..mesh.mesh import mesh_inertia, mesh_volume
from ..mesh.mesh_file import load_mesh
from ..mesh.solid_check import require_solid
from ..report.bodies import draw_payload
from ..spatial import pose_from_xyz_rpy
from ..typing import Array

_DENSEST = 22600.0  # kg/m^3, osmium


def run(given: PayloadFromMesh) -> int:
    """Compute and print the payload; write the files of --output, --desk and --plot."""
    name = Path(given.mesh).name
    if given.density is None and given.mass is None:
        raise SettingsError('How heavy is it? Add --density KG_PER_M3 or --mass KG.')
    if given.mass is not None:
        given.refuse('--mass, from which it follows', 'density')
    arm = load(given.arm)
    with terminal().status(f'reading {name}'):
        file = load_mesh(given.mesh, unit=given.unit, repair=given.mend)
    say_each(file.notes)
    with terminal().status('looking for holes, flipped normals and faces that cross'):
        require_solid(file.mesh, given.mesh, self_intersection=not given.accept_crossing_faces)
    volume = mesh_volume(file.mesh)
    density = given.density or (given.mass or 0.0) / volume
    height, turn = MOUNTS[given.mount]
    mount = pose_from_xyz_rpy((0.0, 0.0, height), (0.0, 0.0, turn))
    mesh = file.mesh.moved(mount @ pose_from_xyz_rpy(given.xyz, given.rpy))
    inertia = mesh_inertia(mesh, density)
    size = f'{len(mesh.faces)} faces, volume {volume * 1e6:.6g} cm^3'
    say(f'{size}, density {density:.6g} kg/m^3, mass {inertia.mass:.6g} kg')
    if density > _DENSEST:
        dense = f'nothing is as dense as {density:.4g} kg/m^3'
        say(f'{dense}; is the unit {file.unit} right?', 'warning')
    comment = f'{name}, {density:.6g} kg/m^3, mount {given.mount}'
    say(
        'in the flange frame: mass [kg], centre of mass x y z [m], inertia about the '
        'centre of mass xx xy xz yy yz zz [kg m^2]'
    )
    write_payload(given, arm, payload_array(inertia), comment, Path(given.mesh).stem)
    if given.plot:
        title = f'{name}: {inertia.mass:.4g} kg, mount {given.mount}'
        draw_payload(mesh, inertia, given.plot, title)
        say(f'written: {given.plot}')
    return 0


def write_payload(
    given: PayloadFiles, arm: ArmDescription, payload: Array, comment: str, name: str
) -> None:
    """
    Print a payload, shape (10,), and write the files of --output and --desk.

    A warning is printed if the payload's mass exceeds the arm's rated load. `comment` is the
    first line of the parameter file, `name` the tool's name in Desk.
    """
    if arm.rated_load is not None and payload[0] > arm.rated_load:
        above = f'above the {arm.rated_load:g} kg that {arm.name} is rated for'
        say(f'{payload[0]:.4g} kg is {above}', 'warning')
    say('payload: [' + ', '.join(f'{number:.9g}' for number in payload) + ']')
    if given.output is not None:
        print_or_write(payload_parameter_file(payload, comment), given.output)
    if given.desk is not None:
        print_or_write(desk_json(payload, name), given.desk)
