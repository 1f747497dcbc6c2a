# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Dynamics by MuJoCo of an MJCF, to check an arm imported from it.

MuJoCo compiles the file as it is, here again. Shared with the import are the names of the arm's
joints and flange and the positions of held joints, but no code.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
import warnings

import numpy as np
from numpy.typing import ArrayLike

from ..arm import ArmDescription
from ..dynamics.model import gravity_vector
from ..dynamics.sampling import JointStates
from ..errors import UrdfError
from ..typing import Array

# What MuJoCo adds to the dynamics of rigid bodies, as its model names it.
_LEFT_OUT = (
    *('dof_armature', 'dof_damping', 'dof_dampingpoly', 'dof_frictionloss'),
    *('jnt_stiffness', 'jnt_stiffnesspoly', 'body_gravcomp'),
    *('tendon_armature', 'tendon_damping', 'tendon_dampingpoly'),
    *('tendon_stiffness', 'tendon_stiffnesspoly', 'actuator_damping', 'actuator_dampingpoly'),
)


def mjcf_terms(
    description: ArmDescription, gravity: ArrayLike, states: JointStates
) -> tuple[Array, Array, Array, Array]:
    """
    Return M, C dq, g and the flange's poses by MuJoCo's inverse dynamics of the arm's MJCF.

    Armature, damping, friction, springs, compensated gravity, contacts and limits are left out,
    which the models do not have either. Shapes: (S, n, n), (S, n), (S, n) and (S, 4, 4).
    """
    import mujoco

    urdf = description.urdf
    assert urdf is not None
    model = _compiled(mujoco, urdf.mjcf, urdf.source)
    for name in _LEFT_OUT:
        if hasattr(model, name):  # MuJoCo 3 has no polynomials
            getattr(model, name)[:] = 0.0
    model.opt.density = model.opt.viscosity = 0.0
    model.opt.disableflags = mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    data = mujoco.MjData(model)
    mujoco.mj_setConst(model, data)  # M of bodies that only slide is kept, with its armature
    names = [model.joint(k).name or f'unnamed_joint{k}' for k in range(model.njnt)]
    for name, position in urdf.held:
        data.qpos[model.jnt_qposadr[names.index(name)]] = position
    joints = [names.index(name) for name in urdf.joint_names]
    places, rows = model.jnt_qposadr[joints], model.jnt_dofadr[joints]
    bodies = [model.body(k).name or f'unnamed_body{k}' for k in range(model.nbody)]

    site = None
    if urdf.tip not in bodies:  # one with a body's name has more behind it
        sites = [model.site(k).name for k in range(model.nsite)]
        site = urdf.tip if urdf.tip in sites else urdf.tip.rstrip('_').removesuffix('_site')

    def torque(q: Array, dq: Array | float, ddq: Array | float, weight: ArrayLike) -> Array:
        data.qpos[places], data.qvel[:], data.qacc[:] = q, 0.0, 0.0
        data.qvel[rows], data.qacc[rows], model.opt.gravity[:] = dq, ddq, weight
        mujoco.mj_inverse(model, data)
        return np.array(data.qfrc_inverse[rows])

    found = []
    for q, dq in zip(states.q, states.dq):
        M = np.array([torque(q, 0.0, unit, np.zeros(3)) for unit in np.eye(description.n)])
        coriolis = torque(q, dq, 0.0, np.zeros(3))
        g = torque(q, 0.0, 0.0, gravity_vector(gravity))
        tip = data.body(bodies.index(urdf.tip)) if site is None else data.site(site)
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = tip.xmat.reshape(3, 3), tip.xpos
        found.append(
            (M + np.diag([j.rotor_inertia for j in description.joints]), coriolis, g, pose)
        )
    M, coriolis, g, poses = map(np.array, zip(*found))
    return M, coriolis, g, poses


def _compiled(mujoco: Any, mjcf: str, source: str) -> Any:
    """Return MuJoCo's model of an MJCF, by path or text, without geoms that lack their file."""
    model, spec = mujoco.MjModel, mujoco.MjSpec
    text = mjcf.lstrip().startswith('<')
    try:
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            return model.from_xml_string(mjcf) if text else model.from_xml_path(mjcf)
    except ValueError as error:
        if 'opening file' not in str(error):
            raise UrdfError(f'{source}: MuJoCo cannot read it: {error}') from error
    found = spec.from_string(mjcf) if text else spec.from_file(mjcf)
    folder = Path('' if text else mjcf).parent / found.compiler.meshdir
    absent = {mesh.name for mesh in found.meshes if text or not (folder / mesh.file).is_file()}
    for geom in found.geoms:
        geom.material = ''
        if geom.meshname in absent or geom.hfieldname:
            found.delete(geom)
    for one in (*found.sites, *found.tendons):
        one.material = ''
    meshes = [mesh for mesh in found.meshes if mesh.name in absent]
    for one in (*found.skins, *found.materials, *found.textures, *found.hfields, *meshes):
        found.delete(one)
    return found.compile()
