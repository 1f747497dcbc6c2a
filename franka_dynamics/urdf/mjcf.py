# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Reads an MJCF: MuJoCo compiles it, and the compiled tree is written as a URDF's.

The arm's files meet in that text: chains, plausibility and comparisons know URDFs alone. A link of
the tree is a body, a site (without mass), or what stands between two joints of one body.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from ..errors import listed, require_extra, UrdfError
from ..spatial import exp6, inverse_transform, joint_twist, JointKind, rpy_from_rotation
from ..typing import Array

# The element of the URDF that holds what URDFs cannot say: the MJCF's path or text as `original`,
# notes, joints with their attributes `armature`, `damping`, `frictionloss` and `home`, and bodies
# with the attribute of <inertial> that states their `tensor`, or GEOMS.
MJCF_TAG = 'mjcf'
GEOMS = 'geoms'
# In the name of a link that is no body of the MJCF, but stands between a joint and its body.
BETWEEN_JOINTS = '@'
_UNKNOWN_LIMIT = 1e9  # which `parse_urdf` reads as none


def is_mjcf_text(text: str) -> bool:
    """Return whether a text is XML with the root element <mujoco>."""
    try:
        return ElementTree.fromstring(text.strip()).tag == 'mujoco'
    except (ElementTree.ParseError, UnicodeEncodeError):
        return False


def urdf_of_mjcf(text: str, source: str, path: Path | None = None) -> str:
    """
    Return the text of a URDF with the links, joints and inertias of an MJCF.

    Of a file also give the `path`, from which MuJoCo finds what the MJCF includes. Geoms are left
    out, and so are meshes, unless inertias have to be computed from them.

    Raises
    ------
    MissingDependencyError
        If MuJoCo is not installed.
    UrdfError
        If MuJoCo cannot read the MJCF; the message has MuJoCo's reason.

    """
    model, tensors = compiled(text, source, path)
    robot = ElementTree.Element(
        'robot', name=model.names[: model.names.index(b'\0')].decode() or 'arm'
    )
    extra = _add(robot, MJCF_TAG, original=str(path or text))
    notes = _Tree(model, robot, extra).add_all()
    for name, stated in tensors.items():
        _add(extra, 'body', name=name, tensor=stated)
    if inferred := [name for name, stated in tensors.items() if stated == GEOMS]:
        notes.append(f'{listed(inferred)}: the inertia is computed from the geoms of the body.')
    for note in notes:
        _add(extra, 'note', text=note)
    return ElementTree.tostring(robot, encoding='unicode')


def compiled(text: str, source: str, path: Path | None = None) -> tuple[Any, dict[str, str]]:
    """
    Return MuJoCo's compiled model of an MJCF, and what states each moving body's inertia tensor.

    Arguments and errors are those of `urdf_of_mjcf`.
    """
    with require_extra(f'{source} is an MJCF, which MuJoCo reads', 'sim'):
        import mujoco

    def read() -> Any:
        spec = mujoco.MjSpec.from_file(str(path)) if path else mujoco.MjSpec.from_string(text)
        for kind, parts in (('body', spec.bodies), ('joint', spec.joints)):
            for number, one in enumerate(parts):
                one.name = one.name or f'{kind}{number}'
        return spec

    try:
        spec = read()
        tensors = _delete_what_has_no_mass(mujoco, spec)
        try:
            return spec.compile(), tensors
        except ValueError:  # something else refers to what was deleted
            return read().compile(), tensors
    except (ValueError, OSError) as error:
        reason = ' '.join(str(error).split())
        raise UrdfError(f'{source}: MuJoCo cannot read this MJCF: {reason}.') from error


def _delete_what_has_no_mass(mujoco: Any, spec: Any) -> dict[str, str]:
    """
    Delete geoms that no inertia is computed from, and what needs files, which may be missing.

    Returns what states the tensor of each moving body: an attribute of <inertial>, or GEOMS, which
    are kept.
    """
    kind = mujoco.mjtInertiaFromGeom
    always = spec.compiler.inertiafromgeom == kind.mjINERTIAFROMGEOM_TRUE
    moving, tensors = dict[str, bool](), dict[str, str]()
    for body in spec.bodies:
        above = body.parent
        moving[body.name] = bool(list(body.joints)) or bool(above and moving[above.name])
        stated, geoms = body.explicitinertial and not always, list(body.geoms)
        if moving[body.name] and (stated or geoms):
            full = 'diaginertia' if np.isnan(body.fullinertia[0]) else 'fullinertia'
            tensors[body.name] = full if stated else GEOMS
            geoms = geoms if stated else []
        for geom in geoms if not always else []:
            spec.delete(geom)
    for one in (*spec.geoms, *spec.sites, *spec.tendons):
        one.material = ''
    used = {geom.meshname for geom in spec.geoms}
    meshes = (mesh for mesh in spec.meshes if mesh.name not in used)
    seen = (*spec.skins, *spec.materials, *spec.textures, *spec.hfields, *meshes)
    for one in (*spec.sensors, *spec.pairs, *spec.excludes, *seen):
        spec.delete(one)
    return tensors


class _Tree:
    """Writes a compiled model's bodies, joints and sites into the element of a URDF."""

    def __init__(self, model: Any, robot: ElementTree.Element, extra: ElementTree.Element) -> None:
        import mujoco

        self._mujoco, self._model, self._robot, self._extra = mujoco, model, robot, extra
        self._bodies = [model.body(k).name for k in range(model.nbody)]
        self._joints = {model.joint(k).name for k in range(model.njnt)}

    def add_all(self) -> list[str]:
        """Add all links and joints; return notes on what a chain of joints leaves out."""
        model = self._model
        self._link(self._bodies[0])
        for body in range(1, model.nbody):
            self._body(body)
        known = set(self._bodies)
        for site in map(model.site, range(model.nsite)):
            name = f'{site.name}_site' if site.name in known else site.name
            if name:
                self._link(name)
                parent = self._bodies[int(site.bodyid[0])]
                self._fixed(parent, name, _pose(site.pos, site.quat))
        bent = getattr(model, 'dof_dampingpoly', np.zeros(0))  # of MuJoCo 4
        counts = {
            'equality constraint': model.neq,
            'tendon': model.ntendon,
            'joint spring': int(np.count_nonzero(model.jnt_stiffness)),
            'nonlinear damping term': int(np.count_nonzero(bent)),
        }
        return [
            f'left out of the MJCF: {n} {what}{"s"[: n > 1]}.' for what, n in counts.items() if n
        ]

    def _body(self, body: int) -> None:
        model, name = self._model, self._bodies[body]
        parent = self._bodies[int(model.body_parentid[body])]
        pose = _pose(model.body_pos[body], model.body_quat[body])
        first, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
        anchor = np.eye(4)
        for joint in range(first, first + count):
            anchor = _pose(model.jnt_pos[joint])
            last = joint == first + count - 1 and not model.jnt_pos[joint].any()
            child = name if last else f'{name}{BETWEEN_JOINTS}{joint - first + 1}'
            if not last:
                self._link(child)
            self._moving(joint, parent, child, pose @ anchor)
            parent, pose = child, inverse_transform(anchor)
        self._link(name, body)
        if parent != name:
            self._fixed(parent, name, pose)

    def _moving(self, joint: int, parent: str, child: str, pose: Array) -> None:
        """Add a moving joint; MuJoCo's zero is where the joint has its `ref`."""
        model, kinds = self._model, self._mujoco.mjtJoint
        name = model.joint(joint).name
        slides = model.jnt_type[joint] == kinds.mjJNT_SLIDE
        if not slides and model.jnt_type[joint] != kinds.mjJNT_HINGE:
            self._joint(name, 'floating', parent, child, pose)
            return
        at, dof = int(model.jnt_qposadr[joint]), int(model.jnt_dofadr[joint])
        axis, reference = model.jnt_axis[joint], float(model.qpos0[at])
        motion = JointKind.PRISMATIC if slides else JointKind.REVOLUTE
        twist = joint_twist(axis, np.zeros(3), motion)
        limited = bool(model.jnt_limited[joint])
        kind = 'prismatic' if slides else 'revolute' if limited else 'continuous'
        element = self._joint(name, kind, parent, child, pose @ exp6(twist, -reference))
        _add(element, 'axis', xyz=axis)
        low, high = model.jnt_range[joint] if limited else (-_UNKNOWN_LIMIT, _UNKNOWN_LIMIT)
        bounds = {} if kind == 'continuous' else {'lower': low, 'upper': high}
        effort = min(filter(None, [_UNKNOWN_LIMIT, *self._efforts(joint)]))
        _add(element, 'limit', effort=effort, velocity=_UNKNOWN_LIMIT, **bounds)
        values = {
            'armature': model.dof_armature[dof],
            'damping': np.ravel(model.dof_damping[dof])[0],
            'frictionloss': model.dof_frictionloss[dof],
        }
        for k in range(model.nkey):
            if model.key(k).name == 'home':
                values['home'] = model.key_qpos[k][at]
        _add(self._extra, 'joint', name=name, **values)

    def _efforts(self, joint: int) -> Iterator[float]:
        """Yield the limits of a joint's torque, by its own range and by those of its motors."""
        model = self._model
        if model.jnt_actfrclimited[joint]:
            yield float(np.abs(model.jnt_actfrcrange[joint]).max())
        for k in range(model.nu):
            on_joint = model.actuator_trntype[k] == self._mujoco.mjtTrn.mjTRN_JOINT
            if not on_joint or model.actuator_trnid[k][0] != joint:
                continue
            gear = abs(float(model.actuator_gear[k][0]))
            if model.actuator_forcelimited[k]:
                yield gear * float(np.abs(model.actuator_forcerange[k]).max())
            is_motor = model.actuator_biastype[k] == self._mujoco.mjtBias.mjBIAS_NONE
            if is_motor and model.actuator_ctrllimited[k]:
                gain = abs(float(model.actuator_gainprm[k][0]))
                yield gear * gain * float(np.abs(model.actuator_ctrlrange[k]).max())

    def _link(self, name: str, body: int | None = None) -> None:
        link, model = _add(self._robot, 'link', name=name), self._model
        if body is None or not (model.body_mass[body] or model.body_inertia[body].any()):
            return
        inertial = _add(link, 'inertial')
        _origin(inertial, _pose(model.body_ipos[body], model.body_iquat[body]))
        _add(inertial, 'mass', value=model.body_mass[body])
        moments = dict(zip(('ixx', 'iyy', 'izz'), model.body_inertia[body]))
        _add(inertial, 'inertia', **moments, ixy=0.0, ixz=0.0, iyz=0.0)

    def _fixed(self, parent: str, child: str, pose: Array) -> None:
        name = f'{child}_fixed'
        while name in self._joints:  # which the MJCF has
            name += '_'
        self._joint(name, 'fixed', parent, child, pose)

    def _joint(
        self, name: str, kind: str, parent: str, child: str, pose: Array
    ) -> ElementTree.Element:
        joint = _add(self._robot, 'joint', name=name, type=kind)
        _origin(joint, pose)
        _add(joint, 'parent', link=parent)
        _add(joint, 'child', link=child)
        return joint


def _pose(position: Array, quaternion: Sequence[float] = (1.0, 0.0, 0.0, 0.0)) -> Array:
    """Return a pose from a position and a unit quaternion w, x, y, z, shape (4, 4)."""
    w, x, y, z = map(float, quaternion)
    pose = np.eye(4)
    pose[:3, 3] = position
    turn = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    pose[:3, :3] = np.eye(3) + 2.0 * (w * turn + turn @ turn)
    return pose


def _origin(element: ElementTree.Element, pose: Array) -> None:
    rpy = rpy_from_rotation(pose[:3, :3])
    _add(element, 'origin', xyz=pose[:3, 3], rpy=rpy)


def _add(parent: ElementTree.Element, tag: str, **values: Any) -> ElementTree.Element:
    """Add an element to a parent and return it; numbers keep all their digits."""
    texts = {
        key: value if isinstance(value, str) else ' '.join(map(repr, np.ravel(value).tolist()))
        for key, value in values.items()
    }
    return ElementTree.SubElement(parent, tag, texts)
