# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Notes on parts of an MJCF other than rigid bodies, and on what MuJoCo's compiler changed."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .document import Notes
from ..arrays import Array
from ..constants import GRAVITY
from ..errors import list_text, plural

_MAX_ROUNDING_RATIO = 1e-9  # relative, of masses and tensors that the compiler did not change
# Attributes of a compiled model for each joint or degree of freedom, and what is said of them.
_SIMULATION_WORDS = 'in no model, only in simulations'
_LEFT_OUT_WORDS = 'left out of models and simulations'
_NOTE_BY_JOINT_ATTRIBUTE = (
    ('dof_armature', f'armature is {_SIMULATION_WORDS} (with_armature adds it to M)'),
    ('dof_damping', f'damping is {_SIMULATION_WORDS}'),
    ('dof_frictionloss', f'frictionloss is {_SIMULATION_WORDS}'),
    ('dof_dampingpoly', f'nonlinear damping is {_LEFT_OUT_WORDS}'),
    ('jnt_stiffness', f'the joint spring (stiffness) is {_LEFT_OUT_WORDS}'),
    ('jnt_stiffnesspoly', f'the nonlinear joint spring is {_LEFT_OUT_WORDS}'),
)


def notes_on_left_out_parts(
    mujoco: Any, spec: Any, model: Any, bodies: Sequence[str], joints: Sequence[str]
) -> Notes:
    """Return notes on parts of an MJCF that no arm model has, and on changes by its compiler."""
    of_torque = [
        *_gravity_notes(mujoco, model, bodies),
        *_compiler_notes(spec, model, bodies),
    ]
    return Notes(
        of_torque,
        [*_joint_notes(model, joints), *_unmodelled_part_notes(mujoco, model)],
    )


def _gravity_notes(mujoco: Any, model: Any, body_names: Sequence[str]) -> Iterator[str]:
    """Yield notes on gravity other than the default, and on bodies with gravity compensation."""
    off = model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_GRAVITY
    gravity = np.zeros(3) if off else model.opt.gravity
    if np.abs(gravity - GRAVITY).max() > _MAX_ROUNDING_RATIO:
        words = ', '.join(f'{component:g}' for component in gravity)
        yield (
            f'the MJCF has the gravity ({words}) m/s^2: models compute with the one that they are '
            'given (gravity=, --gravity), by default (0, 0, -9.81).'
        )
    first = model.body_jntadr[model.body_rootid]  # joint of each body's tree, -1 if it has none
    floats = np.append(model.jnt_type, -1)[first] == int(mujoco.mjtJoint.mjJNT_FREE)
    is_compensated = (model.body_gravcomp != 0.0) & ~floats
    compensated = [body_names[int(k)] for k in np.flatnonzero(is_compensated)]
    if compensated:
        yield f'{list_text(compensated)}: gravity is compensated (gravcomp); g(q) has the weight.'


def _compiler_notes(spec: Any, model: Any, body_names: Sequence[str]) -> Iterator[str]:
    """Yield notes on masses and tensors that the compiler changed from those of <inertial>."""
    masses: list[str] = []
    tensors: list[str] = []
    by_geoms = int(spec.compiler.inertiafromgeom) == 1  # then <inertial> counts for nothing
    for body in () if by_geoms else spec.bodies:
        if not (body.explicitinertial and 0 < body.id < len(body_names)):
            continue
        name = body_names[body.id]
        mass = float(model.body_mass[body.id])
        ratio = mass / body.mass if body.mass else 1.0
        if abs(ratio - 1.0) > _MAX_ROUNDING_RATIO:
            masses.append(f'{name} from {body.mass:g} to {mass:g} kg')
        moments = _stated_principal_moments(body)
        compiled = np.sort(model.body_inertia[body.id])
        # A mass that boundmass raises leaves the tensor as it is; settotalmass scales both.
        bound = _MAX_ROUNDING_RATIO * compiled.max()
        is_kept = np.abs(compiled - moments).max() <= bound
        is_scaled = np.abs(compiled - ratio * moments).max() <= bound
        if not (is_kept or is_scaled):
            before = ', '.join(f'{moment:.4g}' for moment in moments)
            after = ', '.join(f'{moment:.4g}' for moment in compiled)
            tensors.append(f'{name} from principal moments {before} to {after} kg m^2')
    for what, by, changes in (
        ('masses', 'settotalmass, boundmass', masses),
        ('inertia tensors', 'balanceinertia, boundinertia', tensors),
    ):
        if changes:
            more = f', and {len(changes) - 1} more' if len(changes) > 1 else ''
            yield f'{what} are changed by the compiler ({by}): {changes[0]}{more}.'
    if spec.compiler.settotalmass > 0.0 and not masses:
        yield f'masses are scaled to {spec.compiler.settotalmass:g} kg in all (settotalmass).'


def _stated_principal_moments(body: Any) -> Array:
    """Return the principal moments that <inertial> states, in ascending order, (3,) [kg m^2]."""
    xx, yy, zz, xy, xz, yz = body.fullinertia
    if np.isnan(xx):
        return np.sort(body.inertia)
    return np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def _joint_notes(model: Any, joint_names: Sequence[str]) -> Iterator[str]:
    """Yield notes on armature, damping, friction and springs of joints."""
    for attribute, said in _NOTE_BY_JOINT_ATTRIBUTE:
        values = getattr(model, attribute, None)  # MuJoCo 3 has no polynomials
        if values is None or not len(values):
            continue
        rows = np.flatnonzero(np.any(np.reshape(values, (len(values), -1)), axis=1))
        if attribute.startswith('dof'):
            rows = np.unique(model.dof_jntid[rows])
        if len(rows):
            yield f'{list_text([joint_names[int(k)] for k in rows])}: {said}.'


def _unmodelled_part_notes(mujoco: Any, model: Any) -> Iterator[str]:
    """Yield notes on constraints, tendons and other parts that no model has."""
    joint_law = (model.eq_type == mujoco.mjtEq.mjEQ_JOINT) & (model.eq_obj2id >= 0)
    linear = joint_law & ~np.any(model.eq_data[:, 2:5], axis=1)
    medium = model.opt.density or model.opt.viscosity
    counts = {
        'equality constraint': int(np.sum(model.eq_active0 & ~linear)),
        'tendon': model.ntendon,
        'flexible body': getattr(model, 'nflex', 0),
        'plugin': model.nplugin,
        'actuator with armature or damping': _count_actuators_with_inertia(model),
        'drag of the medium (density, viscosity)': int(bool(medium)),
    }
    for what, count in counts.items():
        if count:
            yield f'left out of the MJCF: {count} {plural(count, what)}.'


def _count_actuators_with_inertia(model: Any) -> int:
    """Return how many actuators have armature or damping; in MuJoCo 3 none can have them."""
    names = ('actuator_armature', 'actuator_damping')
    stated = [getattr(model, name) for name in names if hasattr(model, name)]
    return sum(any(np.any(values[k]) for values in stated) for k in range(model.nu))
