# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics payload-from-mesh`: a tool's CAD mesh -> the node's `payload` array."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ._options import PayloadFiles, picture_option
from ._say import say, say_each, terminal
from ..arm import load
from ..errors import SettingsError
from ..options import option
from ..spatial import pose_from_xyz_rpy

# Frames of --mount relative to the flange frame: translation along z [m], rotation about z [rad].
# The Franka hand is mounted at -45 degrees, and its tool centre point lies 103.4 mm in front of
# the flange (franka_description).
MOUNTS = {'flange': (0.0, 0.0), 'hand': (0.0, -np.pi / 4), 'hand_tcp': (0.1034, -np.pi / 4)}
_DENSEST = 22600.0  # kg/m^3, osmium
_LEAST = 1e-9  # smallest mass [kg] and density [kg/m^3]: both must be positive


@dataclass(frozen=True, kw_only=True)
class PayloadFromMesh(PayloadFiles):
    """Compute a tool's payload parameters from its mesh (STL, OBJ, PLY)."""

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
    repair: bool = option(
        'remove repeated faces, close holes, correct flipped faces, and report each repair',
        default=False,
    )
    accept_crossing_faces: bool = option(
        'do not look for faces that cross or touch: for meshes of parts that touch; where parts '
        'overlap, the volume counts twice',
        default=False,
    )
    plot: Path | None = picture_option('draw mesh, centre of mass and inertia ellipsoid')

    def run(self) -> int:
        """Compute and print the payload; write the files of --output, --desk and --plot."""
        from ..arm.payload import payload_array
        from ..mesh.mesh import mesh_inertia, mesh_volume
        from ..mesh.mesh_file import load_mesh
        from ..mesh.solid_check import require_solid

        name = Path(self.mesh).name
        if self.density is None and self.mass is None:
            raise SettingsError('How heavy is it? Add --density KG_PER_M3 or --mass KG.')
        if self.mass is not None:
            self.refuse('--mass, from which it follows', 'density')
        arm = load(self.arm)
        with terminal().status(f'reading {name}'):
            file = load_mesh(self.mesh, unit=self.unit, repair=self.repair)
        say_each(file.notes)
        with terminal().status('looking for holes, flipped normals and faces that cross'):
            require_solid(file.mesh, self.mesh, self_intersection=not self.accept_crossing_faces)
        volume = mesh_volume(file.mesh)
        density = self.density or (self.mass or 0.0) / volume
        height, turn = MOUNTS[self.mount]
        mount = pose_from_xyz_rpy((0.0, 0.0, height), (0.0, 0.0, turn))
        mesh = file.mesh.moved(mount @ pose_from_xyz_rpy(self.xyz, self.rpy))
        inertia = mesh_inertia(mesh, density)
        say(
            f'{len(mesh.faces)} faces, volume {volume * 1e6:.6g} cm^3, density '
            f'{density:.6g} kg/m^3, mass {inertia.mass:.6g} kg'
        )
        if density > _DENSEST:
            say(
                f'nothing is as dense as {density:.4g} kg/m^3; is the unit {file.unit} right?',
                'warning',
            )
        comment = f'{name}, {density:.6g} kg/m^3, mount {self.mount}'
        say(
            'in the flange frame: mass [kg], centre of mass x y z [m], inertia about the '
            'centre of mass xx xy xz yy yz zz [kg m^2]'
        )
        self.write_payload(arm, payload_array(inertia), comment, Path(self.mesh).stem)
        if self.plot:
            from ..report.bodies import draw_payload

            title = f'{name}: {inertia.mass:.4g} kg, mount {self.mount}'
            draw_payload(mesh, inertia, self.plot, title)
            say(f'written: {self.plot}')
        return 0
