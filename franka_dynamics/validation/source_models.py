# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Dynamics of an imported arm by Pinocchio from its URDF or by MuJoCo from its MJCF.

Shared with the import are the names of the arm's joints and flange, the positions of held joints,
and that MuJoCo compiles an MJCF with cubes in place of missing meshes; neither the parser nor DH
rows, merged links or removed joints. Pinocchio's model of the whole robot is evaluated; joints
follow others by <mimic> in it or, where Pinocchio cannot read that, stand where they are held.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin

from ..arm import ArmDescription, Joint, LinkInertia
from ..arrays import Array, ArrayLike
from ..constants import GRAVITY
from ..dynamics.model import as_gravity_vector
from ..dynamics.newton_euler import NewtonEulerModel
from ..dynamics.pinocchio_builder import pinocchio_inertia
from ..dynamics.sampling import JointStates, sample_states
from ..spatial import JointKind
from ..urdf.mjcf import compile_mjcf
from ..urdf.pinocchio_reading import pinocchio_model_of_urdf

# Largest allowed difference of a quantity, relative to its size (`FileDifference`). The DH rows of
# an import round angles within 1e-11 rad of a multiple of 45 degrees to it, which changes a pose
# or a torque by some 1e-11 of its size for each joint.
MAX_FILE_DIFFERENCE_RATIO = 1e-9
COMPARED_STATE_COUNT = 50
_MIN_TERM_SIZE = 1e-12  # smallest size that a difference is compared with, of an arm without mass


def pinocchio_terms(arm: ArmDescription, gravity: ArrayLike, states: JointStates) -> list[Array]:
    """
    Return M, C dq, g and the flange's poses in the root frame, by Pinocchio's model of the URDF.

    `arm` must have a `urdf`; nothing else of it is used than the rotor inertias, which
    URDF does not have. The results have one row for each state: shapes (S, n, n), (S, n), (S, n)
    and (S, 4, 4).

    Raises
    ------
    UrdfError
        If Pinocchio cannot read the URDF.

    """
    urdf = arm.urdf
    assert urdf is not None
    model = pinocchio_model_of_urdf(urdf.urdf_text, urdf.name_in_messages, with_mimic=True)
    model.gravity.linear = as_gravity_vector(gravity)
    tip = model.getFrameId(urdf.tip_link, pin.BODY)
    if urdf.added_payload.parameters().any():
        frame = model.frames[tip]
        payload = pinocchio_inertia(urdf.added_payload)
        model.appendBodyToJoint(frame.parentJoint, payload, frame.placement)
    data = model.createData()
    rotors = np.diag([joint.rotor_inertia for joint in arm.joints])
    joints = {name: model.joints[i] for i, name in enumerate(model.names)}
    columns = [joints[name].idx_v for name in urdf.joint_names]
    step, speed, still = np.zeros((3, model.nv))
    for name, position in urdf.held_positions:
        if joints[name].nv == 1:  # neither a mimic nor a floating joint
            step[joints[name].idx_v] = position
    rows = []
    for q, dq in zip(states.q, states.dq):
        step[columns] = q
        speed[columns] = dq
        # Pinocchio's coordinates of a continuous joint are cosine and sine.
        at = pin.integrate(model, pin.neutral(model), step)
        upper = np.triu(pin.crba(model, data, at))
        whole = upper + np.triu(upper, 1).T
        g, moving = (pin.rnea(model, data, at, v, still)[columns] for v in (still, speed))
        pin.framesForwardKinematics(model, data, at)
        pose = data.oMf[tip].homogeneous
        rows.append((whole[np.ix_(columns, columns)] + rotors, moving - g, g, pose))
    return [np.array(one) for one in zip(*rows)]


class FileDifference(NamedTuple):
    """
    Largest difference of an arm's quantity from Pinocchio's or MuJoCo's value for its file.

    `difference` is relative to `size`, the largest of the quantity's entries at any state and of
    what follows from the arm's mass m, its reach r and its fastest joint: m r^2 for M, m r^2 dq^2
    for C dq, 9.81 m r for g, and r and 1 for the pose. `joint` has the largest difference; it is
    empty for the pose.
    """

    quantity: str
    unit: str
    difference: float
    size: float
    joint: str

    @property
    def passed(self) -> bool:
        """Whether the difference is at most MAX_FILE_DIFFERENCE_RATIO, which a NaN never is."""
        return self.difference <= MAX_FILE_DIFFERENCE_RATIO

    def __str__(self) -> str:
        """Return the difference as part of a sentence."""
        at = f' at {self.joint}' if self.joint else ''
        return f'{self.quantity}{at} ({self.difference * self.size:.2g} {self.unit})'


def compare_with_urdf(
    description: ArmDescription,
    gravity: ArrayLike = GRAVITY,
    states: JointStates | None = None,
) -> tuple[FileDifference, ...]:
    """
    Compare an arm's flange pose, M, C dq, g with its file's by Pinocchio or MuJoCo; () if no file.

    Compared are the flange's pose, M, C dq and g, at `states` or at COMPARED_STATE_COUNT random
    states within the limits. The arm's are computed by the Newton-Euler recursion in DH frames.
    The result is empty for an arm that is from no URDF.
    """
    if description.urdf is None:
        return ()
    states = sample_states(description, COMPARED_STATE_COUNT) if states is None else states
    q, dq, _ = states
    ours = NewtonEulerModel(description, gravity)
    frames = ours.frames(q)
    mass = sum(link.mass for link in description.links)
    fastest = float(np.abs(dq).max())
    terms_of_file = pinocchio_terms
    if description.urdf.mjcf_text:
        bare = description.with_payload(LinkInertia.zero() - description.urdf.added_payload)
        ours = NewtonEulerModel(bare, gravity)
        terms_of_file = mujoco_terms
    M, coriolis, g, poses = terms_of_file(description, gravity, states)
    reach = float(np.linalg.norm(frames[..., :3, 3] - description.base[:3, 3], axis=-1).max())
    moment = max(mass * reach**2, float(np.abs(M).max()))
    weight = 9.81 * mass * reach
    rows = (
        ('the flange pose', max(1.0, reach), frames[:, -1], poses),
        ('M', moment, ours.mass_matrix(q), M),
        ('C dq', moment * fastest**2, ours.coriolis(q, dq), coriolis),
        ('g', weight, ours.gravity(q), g),
    )
    found = []
    for quantity, scale, own, other in rows:
        error = np.abs(own - other)
        size = max(scale, float(np.abs(other).max()), _MIN_TERM_SIZE)
        worst = np.unravel_index(np.argmax(error), error.shape)
        if quantity == 'the flange pose':
            unit = 'm'
            joint = ''
        else:
            # Of M the entry of two joints is the largest, of torques that of one joint.
            joints = [description.joints[int(place)] for place in worst[1:]]
            unit = _entry_unit(joints)
            joint = joints[0].name
        found.append(FileDifference(quantity, unit, float(error[worst] / size), size, joint))
    return tuple(found)


def _entry_unit(joints: Sequence[Joint]) -> str:
    """Return the unit of one joint's torque, or of the entry of two joints in the mass matrix."""
    if len(joints) == 1:
        return joints[0].kind.effort_unit
    turning = sum(joint.kind is JointKind.REVOLUTE for joint in joints)
    return ('kg', 'kg m', 'kg m^2')[turning]


# What MuJoCo adds to the dynamics of rigid bodies, as its model names it.
_ZEROED_MUJOCO_FIELDS = tuple(
    'dof_armature dof_damping dof_dampingpoly dof_frictionloss jnt_stiffness jnt_stiffnesspoly '
    'body_gravcomp tendon_armature tendon_damping tendon_dampingpoly tendon_stiffness '
    'tendon_stiffnesspoly actuator_armature actuator_damping actuator_dampingpoly'.split()
)


def mujoco_terms(arm: ArmDescription, gravity: ArrayLike, states: JointStates) -> list[Array]:
    """
    Return M, C dq, g and the flange's poses that MuJoCo computes from the arm's MJCF.

    Armature, damping, friction, springs, compensated gravity, contacts and limits are left out,
    which the models do not have either. Shapes: (S, n, n), (S, n), (S, n) and (S, 4, 4).
    """
    urdf = arm.urdf
    assert urdf is not None
    path = None if urdf.mjcf_text.lstrip().startswith('<') else Path(urdf.mjcf_text)
    mujoco, _, model = compile_mjcf(urdf.mjcf_text, urdf.name_in_messages, path)
    for name in _ZEROED_MUJOCO_FIELDS:
        if hasattr(model, name):  # MuJoCo 3 has no polynomials
            getattr(model, name)[:] = 0.0
    model.opt.density = model.opt.viscosity = 0.0
    model.opt.disableflags = mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    data = mujoco.MjData(model)
    mujoco.mj_setConst(model, data)  # M of bodies that only slide is kept, with its armature
    names = [model.joint(k).name or f'unnamed_joint{k}' for k in range(model.njnt)]
    for name, position in urdf.held_positions:
        data.qpos[model.jnt_qposadr[names.index(name)]] = position
    joints = [names.index(name) for name in urdf.joint_names]
    places = model.jnt_qposadr[joints]
    rows = model.jnt_dofadr[joints]
    tip = _flange_object(model, data, urdf.tip_link)

    def torque(q: Array, dq: Array | float, ddq: Array | float, gravity: ArrayLike) -> Array:
        """Return the joint torques (n,) [N m] at a state under `gravity`, by MuJoCo."""
        data.qpos[places] = q
        data.qvel[:] = 0.0
        data.qacc[:] = 0.0
        data.qvel[rows] = dq
        data.qacc[rows] = ddq
        model.opt.gravity[:] = gravity
        mujoco.mj_inverse(model, data)
        return np.array(data.qfrc_inverse[rows])

    found = []
    rotors = np.diag([joint.rotor_inertia for joint in arm.joints])
    for q, dq in zip(states.q, states.dq):
        M = np.array([torque(q, 0.0, unit, np.zeros(3)) for unit in np.eye(arm.n)])
        coriolis = torque(q, dq, 0.0, np.zeros(3))
        g = torque(q, 0.0, 0.0, as_gravity_vector(gravity))
        pose = np.eye(4)
        pose[:3, :3] = tip.xmat.reshape(3, 3)
        pose[:3, 3] = tip.xpos
        found.append((M + rotors, coriolis, g, pose))
    return [np.array(one) for one in zip(*found)]


def _flange_object(model: Any, data: Any, name: str) -> Any:
    """Return MuJoCo's data of the body, or otherwise of the site, with the flange's name."""
    bodies = [model.body(k).name or f'unnamed_body{k}' for k in range(model.nbody)]
    if name in bodies:
        return data.body(bodies.index(name))
    sites = [model.site(k).name for k in range(model.nsite)]
    return data.site(name if name in sites else name.rstrip('_').removesuffix('_site'))
