# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Reads links, joints and inertias of an MJCF from the model that MuJoCo compiles.

A link is a body, a site (without mass), or what stands between two joints of one body.
"""

from collections.abc import Iterator, Mapping, Sequence
import os
from pathlib import Path
from typing import Any
import warnings
from xml.etree import ElementTree

import numpy as np

from . import document
from .document import UrdfDocument, UrdfInertial, UrdfJoint, VIRTUAL_LINK_MARK
from .mjcf_notes import notes_on_left_out_parts
from ..arm.arm_fields import JointLimits
from ..arrays import Array
from ..errors import list_text, require_extra, UrdfError
from ..files import utf16_advice
from ..spatial import exp6, joint_twist, JointKind

# Names of what has none in the MJCF, with its number there.
UNNAMED_BODY = 'unnamed_body'
UNNAMED_JOINT = 'unnamed_joint'
# Of a joint, as MuJoCo names them.
_SIMULATED_ATTRIBUTES = ('armature', 'damping', 'frictionloss')
_CUBE_CORNERS_M = 0.01 * document.CUBE_CORNERS


def is_mjcf_text(text: str) -> bool:
    """Return whether a text is XML with the root element <mujoco>."""
    try:
        return ElementTree.fromstring(text.strip()).tag == 'mujoco'
    except (ElementTree.ParseError, UnicodeEncodeError):
        return False


def read_mjcf(text: str, source_name: str, path: Path | None = None) -> UrdfDocument:
    """
    Return the links and joints of an MJCF, as MuJoCo compiles it.

    Of a file also give the `path`, from which MuJoCo finds what the MJCF includes. Files of meshes
    and pictures may be missing, unless inertias have to be computed from them.

    Raises
    ------
    MissingDependencyError
        If MuJoCo is not installed.
    UrdfError
        If MuJoCo cannot read the MJCF, with MuJoCo's reason, or a mesh that an inertia is computed
        from is missing.

    """
    mujoco, spec, model = compile_mjcf(text, source_name, path)
    tree = _LinkTreeBuilder(mujoco, model)
    tensors = _tensor_sources(spec, tree.body_names, spec.compiler.inertiafromgeom)
    notes = notes_on_left_out_parts(mujoco, spec, model, tree.body_names, tree.joint_names)
    return tree.build_document(text, source_name, str(path or text), tensors, notes)


def compile_mjcf(text: str, source_name: str, path: Path | None) -> tuple[Any, Any, Any]:
    """Return module mujoco, an MJCF's MjSpec, MjModel; UrdfError, ImportError without MuJoCo."""
    with require_extra(f'{source_name} is an MJCF, which MuJoCo reads', 'sim'):
        import mujoco
    try:
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')  # of attributes that MuJoCo will not have for long
            return mujoco, *_spec_and_model(mujoco, text, source_name, path)
    except UrdfError:  # a ValueError, too
        raise
    except (ValueError, OSError) as error:
        reason = (path and utf16_advice(path)) or ' '.join(str(error).split())
        raise UrdfError(f'{source_name}: MuJoCo cannot read this MJCF: {reason}.') from error


def _spec_and_model(mujoco: Any, text: str, name: str, path: Path | None) -> tuple[Any, Any]:
    """Return MjSpec and MjModel, cubes for missing meshes; UrdfError if inertias need them."""

    def read_spec() -> Any:
        """Return MuJoCo's editable description of the file or the text."""
        return mujoco.MjSpec.from_file(str(path)) if path else mujoco.MjSpec.from_string(text)

    spec = read_spec()
    try:
        return spec, spec.compile()
    except ValueError as error:
        if 'opening file' not in str(error):
            raise
    models = []
    # An inertia that depends on a missing mesh depends on its size.
    for size in (1.0, 2.0):
        spec = read_spec()
        missing = _put_cubes_for_meshes(mujoco, spec, path, size)
        models.append(spec.compile())
    first, second = models
    changed = (first.body_inertia != second.body_inertia).any(axis=1)
    changed |= first.body_mass != second.body_mass
    of_mesh = [first.body(int(k)).name for k in np.flatnonzero(changed)]
    if of_mesh:
        raise UrdfError(
            f'{name}: masses or inertias of {list_text(of_mesh)} are computed from meshes that '
            f'are missing ({list_text(missing)}); put them where the MJCF has them.'
        )
    return spec, second


def _put_cubes_for_meshes(mujoco: Any, spec: Any, path: Path | None, scale: float) -> list[str]:
    """Make missing meshes cubes; delete materials, skins, height fields; return missing meshes."""
    missing = []
    for mesh in spec.meshes:
        folder = (path or Path()).parent / spec.compiler.meshdir
        if mesh.file and not (path and os.path.isfile(folder / mesh.file)):
            missing.append(mesh.file)
            mesh.file = ''
            mesh.content_type = ''
            mesh.uservert = (scale * _CUBE_CORNERS_M).ravel()
            mesh.scale = (1.0, 1.0, 1.0)
    for element in (*spec.geoms, *spec.sites, *spec.tendons, *spec.meshes):
        if hasattr(element, 'material'):
            element.material = ''
    height_fields = [geom for geom in spec.geoms if geom.type == mujoco.mjtGeom.mjGEOM_HFIELD]
    for element in (
        *height_fields,
        *spec.skins,
        *spec.materials,
        *spec.textures,
        *spec.hfields,
    ):
        spec.delete(element)
    return missing


def _tensor_sources(spec: Any, bodies: Sequence[str], inertia_from_geom: Any) -> dict[str, str]:
    """Return, by body, the <inertial> attribute that states its tensor, or TENSOR_FROM_GEOMS."""
    stated = {}
    for body in spec.bodies:
        full = 'diaginertia' if np.isnan(body.fullinertia[0]) else 'fullinertia'
        by_geoms = int(inertia_from_geom) == 1 or not body.explicitinertial  # 1: always from geoms
        if 0 < body.id < len(bodies) and (list(body.geoms) or not by_geoms):
            stated[bodies[body.id]] = document.TENSOR_FROM_GEOMS if by_geoms else full
    return stated


class _LinkTreeBuilder:
    """Builds the links and joints of a UrdfDocument from MuJoCo's compiled model."""

    def __init__(self, mujoco: Any, model: Any) -> None:
        """Read the links, joints and named sites of a compiled model."""
        self._mujoco = mujoco
        self._model = model
        joints = map(model.joint, range(model.njnt))
        self.body_names = [model.body(k).name or f'{UNNAMED_BODY}{k}' for k in range(model.nbody)]
        self.joint_names = [joint.name or f'{UNNAMED_JOINT}{k}' for k, joint in enumerate(joints)]
        self._links: dict[str, UrdfInertial] = {}
        self._urdf_joints: dict[str, UrdfJoint] = {}
        self._unique_link_name = document.UniqueNames(*self.body_names)
        self._unique_joint_name = document.UniqueNames(*self.joint_names)
        self._links[self.body_names[0]] = self._body_inertial(0)
        for body in range(1, model.nbody):
            self._add_body(body)
        for site in map(model.site, range(model.nsite)):
            if site.name:
                taken = site.name in self.body_names
                name = self._unique_link_name(f'{site.name}_site' if taken else site.name)
                self._links[name] = UrdfInertial()
                carrier = self.body_names[int(site.bodyid[0])]
                self._add_fixed_joint(carrier, name, _pose_from_quaternion(site.pos, site.quat))

    def build_document(
        self,
        text: str,
        source: str,
        mjcf: str,
        tensors: Mapping[str, str],
        notes: document.Notes,
    ) -> UrdfDocument:
        """Return the UrdfDocument of the links and joints."""
        model = self._model
        name = model.names[: model.names.index(b'\0')].decode() or 'arm'
        values = {joint: self._simulation_values(k) for k, joint in enumerate(self.joint_names)}
        return UrdfDocument(
            robot_name=name,
            source_name=source,
            text=text,
            links=self._links,
            joints=self._urdf_joints,
            link_order=tuple(self._links),
            notes=tuple(notes.other_notes),
            torque_notes=tuple(notes.torque_notes),
            simulation_values=values,
            mjcf_source=mjcf,
            tensor_sources=tensors,
            loops=self._loop_joints(),
        )

    def _add_body(self, body_id: int) -> None:
        """Add a body and its joints, with a massless link between any two successive joints."""
        model = self._model
        name = self.body_names[body_id]
        parent = self.body_names[int(model.body_parentid[body_id])]
        pose = _pose_from_quaternion(model.body_pos[body_id], model.body_quat[body_id])
        first = int(model.body_jntadr[body_id])
        count = int(model.body_jntnum[body_id])
        for k in range(first, first + count):
            last = k == first + count - 1
            inner = f'{name}{VIRTUAL_LINK_MARK}{k - first + 1}'
            child = name if last else self._unique_link_name(inner)
            self._links[child] = self._body_inertial(body_id) if last else UrdfInertial()
            self._add_moving_joint(k, parent, child, pose)
            parent = child
            pose = np.eye(4)
        if not count:
            self._links[name] = self._body_inertial(body_id)
            self._add_fixed_joint(parent, name, pose)

    def _body_inertial(self, body_id: int) -> UrdfInertial:
        """Return a body's mass, principal moments and their frame's pose in the body."""
        model = self._model
        k = body_id
        pose = _pose_from_quaternion(model.body_ipos[k], model.body_iquat[k])
        return UrdfInertial(float(model.body_mass[k]), np.diag(model.body_inertia[k]), pose)

    def _add_fixed_joint(self, parent: str, child: str, pose: Array) -> None:
        """Add a fixed joint between two links, with a name that no other joint has."""
        name = self._unique_joint_name(f'{child}_fixed')
        self._urdf_joints[name] = UrdfJoint(name, 'fixed', parent, child, pose, np.eye(3)[0])

    def _add_moving_joint(self, joint_id: int, parent: str, child: str, pose: Array) -> None:
        """Add a joint, 0 where MuJoCo's qpos is 0, not at `ref`; a ball or free one floats."""
        model = self._model
        name = self.joint_names[joint_id]
        kinds = self._mujoco.mjtJoint
        slides = model.jnt_type[joint_id] == kinds.mjJNT_SLIDE
        axis = np.array(model.jnt_axis[joint_id])
        point = np.array(model.jnt_pos[joint_id])
        if not slides and model.jnt_type[joint_id] != kinds.mjJNT_HINGE:
            self._urdf_joints[name] = UrdfJoint(name, 'floating', parent, child, pose, axis)
            return
        motion = JointKind.PRISMATIC if slides else JointKind.REVOLUTE
        reference = float(model.qpos0[model.jnt_qposadr[joint_id]])
        origin = pose @ exp6(joint_twist(axis, point, motion), -reference)
        limited = bool(model.jnt_limited[joint_id])
        if slides:
            kind = 'prismatic'
        else:
            kind = 'revolute' if limited else 'continuous'
        low, high = model.jnt_range[joint_id].tolist() if limited else (-np.inf, np.inf)
        # A range of 0 says nothing, as in a URDF.
        efforts = [effort for effort in self._effort_limits(joint_id) if effort > 0.0]
        limits = JointLimits(lower=low, upper=high, effort=min(efforts, default=np.inf))
        self._urdf_joints[name] = UrdfJoint(
            name,
            kind,
            parent,
            child,
            origin,
            axis,
            limits=limits,
            axis_point=point,
            **self._mimic_fields(joint_id),
        )

    def _mimic_fields(self, joint_id: int) -> dict[str, Any]:
        """Return <mimic> fields of a joint coupled to another by an equality constraint, or {}."""
        model = self._model
        kinds = self._mujoco.mjtEq
        for e in range(model.neq):
            joints = model.eq_type[e] == kinds.mjEQ_JOINT and model.eq_active0[e]
            if not joints or model.eq_obj1id[e] != joint_id or model.eq_obj2id[e] < 0:
                continue
            leader_id = model.eq_obj2id[e]
            reference = model.qpos0[model.jnt_qposadr[joint_id]]
            leader_reference = model.qpos0[model.jnt_qposadr[leader_id]]
            offset, slope, *_ = model.eq_data[e]  # both joints counted from their references
            return {
                'leader': self.joint_names[leader_id],
                'multiplier': float(slope),
                'offset': float(reference + offset - slope * leader_reference),
            }
        return {}

    def _loop_joints(self) -> tuple[frozenset[str], ...]:
        """Return the joints of each loop that a <connect> or <weld> between two bodies closes."""
        model = self._model
        kinds = self._mujoco.mjtEq
        closed = (int(kinds.mjEQ_CONNECT), int(kinds.mjEQ_WELD))
        found = []
        for e in range(model.neq):
            if int(model.eq_type[e]) in closed and model.eq_active0[e]:
                ends = [int(model.eq_obj1id[e]), int(model.eq_obj2id[e])]
                if model.eq_objtype[e] == self._mujoco.mjtObj.mjOBJ_SITE:
                    ends = [int(model.site_bodyid[site]) for site in ends]
                first = set(self._joint_names_to_body(ends[0]))
                second = set(self._joint_names_to_body(ends[1]))
                between = first ^ second
                # What holds an arm to the world, or to a body that floats, closes no linkage.
                floats = any(not self._urdf_joints[name].is_moving for name in between)
                if first - second and second - first and not floats:
                    found.append(frozenset(between))
        return tuple(found)

    def _joint_names_to_body(self, body_id: int) -> Iterator[str]:
        """Yield the names of the joints that move a body."""
        model = self._model
        while body_id > 0:
            first = int(model.body_jntadr[body_id])
            yield from self.joint_names[first : first + int(model.body_jntnum[body_id])]
            body_id = int(model.body_parentid[body_id])

    def _effort_limits(self, joint_id: int) -> Iterator[float]:
        """Yield limits of a joint's torque by its `actuatorfrcrange` and its actuators' ranges."""
        model = self._model
        if model.jnt_actfrclimited[joint_id]:
            yield float(np.abs(model.jnt_actfrcrange[joint_id]).max())
        for k in range(model.nu):
            on_joint = model.actuator_trntype[k] == self._mujoco.mjtTrn.mjTRN_JOINT
            if not on_joint or model.actuator_trnid[k][0] != joint_id:
                continue
            gear = abs(float(model.actuator_gear[k][0]))
            if model.actuator_forcelimited[k]:
                yield gear * float(np.abs(model.actuator_forcerange[k]).max())
            is_motor = model.actuator_biastype[k] == self._mujoco.mjtBias.mjBIAS_NONE
            if is_motor and model.actuator_ctrllimited[k]:
                gain = abs(float(model.actuator_gainprm[k][0]))
                yield gear * gain * float(np.abs(model.actuator_ctrlrange[k]).max())

    def _simulation_values(self, joint_id: int) -> dict[str, float]:
        """Return armature, damping and friction of a joint, and its home position if stated."""
        model = self._model
        joint = self._model.joint(joint_id)
        names = _SIMULATED_ATTRIBUTES
        values = {name: float(np.ravel(getattr(joint, name))[0]) for name in names}
        for key in map(model.key, range(model.nkey)):
            if key.name == 'home':
                values['home'] = float(key.qpos[joint.qposadr[0]])
        return values


def _pose_from_quaternion(position: Array, quaternion: Sequence[float]) -> Array:
    """Return a pose from a position and a unit quaternion w, x, y, z, shape (4, 4)."""
    w, x, y, z = map(float, quaternion)
    pose = np.eye(4)
    pose[:3, 3] = position
    turn = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    pose[:3, :3] = np.eye(3) + 2.0 * (w * turn + turn @ turn)
    return pose
