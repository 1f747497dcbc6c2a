# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Corrections of an arm's joint twists and tool from measured poses (Kwon, (6) to (8)).

Every iteration updates A_i <- Ad(exp([d eta_i])) A_i, which keeps |omega| = 1 and
omega . v = 0 without constraints (Li et al. 2016, the reference of Kwon's footnote 1).

The gauge: of the six numbers eta_i of a revolute joint four act. Turning an axis about itself and
sliding it along itself leave the line, and so the motion, as it is. Of a prismatic joint's six
two act: turning about its direction, and any shift. With six for the tool, 4 r + 2 p + 6
combinations are identifiable: 34 for a seven-joint arm. An offset of an encoder is among them: it
shows as a turn of all axes behind that joint, and of the tool, about that joint.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from ..arm import ArmDescription, JointKind
from ..arm.sampling import sample_states
from ..dynamics.body_tree import BodyTree
from ..dynamics.derivatives import differentiate
from ..dynamics.newton_euler import NewtonEulerModel
from ..errors import CalibrationError
from ..spatial import ad, inverse_transform, log3
from ..typing import Array
from ..urdf.dh_recovery import recover_rows, RecoveredRows
from ..urdf.serial_chain import ChainJoint, SerialChain

_MOST_ITERATIONS = 50
_STEP = 1e-10  # rad or m; smaller steps change no digit that a measurement carries
_CHUNK = 256  # poses differentiated at once
# Singular values of the scaled Jacobian below this share of the largest: not determined.
_RANK = 1e-8
_RIGID = 1e-6  # trackers and cameras write rotations in single precision
_FAR = 1.0  # rad: no manufacturing error; a wrong frame or joint order


@dataclass(frozen=True, eq=False)
class GeometricCalibration:
    """
    A calibrated tree and how well the poses determine it.

    `basis` (6n + 6, m) holds the identifiable directions of the stacked eta, joints first, in
    the calibrated bodies' frames; `covariance` (m, m) belongs to the coordinates in it, for the
    stated measurement deviations. `rotation_rms` [rad] and `translation_rms` [m] are the root
    mean squares of the residual before and after. `chi_square` is the weighted sum of squares;
    for stated deviations that are true it is near `degrees_of_freedom`. `gauge` says which
    combinations no pose can tell.
    """

    tree: BodyTree
    basis: Array
    covariance: Array
    rotation_rms: tuple[float, float]
    translation_rms: tuple[float, float]
    chi_square: float
    degrees_of_freedom: int
    iterations: int
    gauge: tuple[str, ...]

    def coordinates(self, eta: ArrayLike) -> Array:
        """Return what can be identified, shape (m,), of a correction eta of shape (n + 1, 6)."""
        return self.basis.T @ np.asarray(eta, dtype=float).ravel()


def calibrate(
    tree: BodyTree,
    q: ArrayLike,
    poses: ArrayLike,
    *,
    rotation_deviation: float,
    translation_deviation: float,
) -> GeometricCalibration:
    """
    Estimate twist and tool corrections from measured poses of the tool's frame.

    Parameters
    ----------
    tree : BodyTree
        The nominal arm; the poses must be measured in its base frame. A small misplacement of
        that frame is absorbed into the twists.
    q : array_like, shape (N, n)
        Joint positions as read [rad or m].
    poses : array_like, shape (N, 4, 4)
        Measured poses of the tool's frame (the flange for `BodyTree.from_description`).
    rotation_deviation, translation_deviation : float
        Standard deviations of the measurement about and along each axis [rad], [m].

    Raises
    ------
    CalibrationError
        If there are too few poses, if they leave a combination undetermined (the message names
        the joints), if they are far from the model, or if the iteration does not settle.

    """
    positions = tree.joint_vector(q, 'q')
    measured = _measured_poses(poses, positions, tree.n)
    weights = _weights(rotation_deviation, translation_deviation)
    before = _residual(tree, positions, measured)
    _require_near(before)
    current = tree
    for iteration in range(1, _MOST_ITERATIONS + 1):
        residual = _residual(current, positions, measured)
        basis = identifiable_basis(current)
        jacobian = (_jacobian(current, positions) @ basis) * weights[:, None]
        flat = jacobian.reshape(-1, basis.shape[1])
        _require_determined(flat, basis, current)
        step = basis @ np.linalg.lstsq(flat, (residual * weights).ravel(), rcond=None)[0]
        current = current.with_twist_corrections(step.reshape(tree.n + 1, 6))
        if np.abs(step).max() < _STEP:
            return _result(
                current,
                basis,
                flat,
                weights,
                iteration,
                before,
                _residual(current, positions, measured),
            )
    raise CalibrationError(
        f'The calibration has not settled after {_MOST_ITERATIONS} iterations; '
        f'its last step was {np.abs(step).max():.2g}.'
    )


def _measured_poses(poses: ArrayLike, q: Array, n: int) -> Array:
    measured = np.asarray(poses, dtype=float)
    if q.ndim != 2 or measured.shape != (len(q), 4, 4):
        raise CalibrationError(
            f'q has shape {q.shape} and poses {measured.shape}; expected '
            f'(N, {n}) and (N, 4, 4): one pose per row of q.'
        )
    rotation = measured[:, :3, :3]
    with np.errstate(invalid='ignore'):
        off = np.abs(rotation @ np.swapaxes(rotation, 1, 2) - np.eye(3)).max(axis=(1, 2))
        proper = (
            (off < _RIGID)
            & (np.linalg.det(rotation) > 0.0)
            & np.isfinite(measured).all(axis=(1, 2))
            & (measured[:, 3] == (0, 0, 0, 1)).all(axis=1)
        )
    if not proper.all():
        bad = int(np.flatnonzero(~proper)[0])
        raise CalibrationError(
            f'Measured pose {bad} is no rigid motion [R, p; 0, 1]: {measured[bad].tolist()}.'
        )
    return measured


def _weights(rotation_deviation: float, translation_deviation: float) -> Array:
    deviations = np.array([translation_deviation] * 3 + [rotation_deviation] * 3)
    if not (np.isfinite(deviations).all() and (deviations > 0.0).all()):
        raise CalibrationError(
            'The deviations of the measurement must be positive numbers [rad], '
            f'[m]; got {rotation_deviation} and {translation_deviation}.'
        )
    return 1.0 / deviations


def _require_near(residual: Array) -> None:
    angles = np.linalg.norm(residual[:, 3:], axis=1)
    if angles.max() > _FAR:
        raise CalibrationError(
            f'Measured pose {int(np.argmax(angles))} is turned by more than '
            f'{_FAR} rad against the model; check the order of the joints, '
            'their units and the frames the poses are measured in and of.'
        )


def _result(
    found: BodyTree,
    basis: Array,
    jacobian: Array,
    weights: Array,
    iterations: int,
    before: Array,
    after: Array,
) -> GeometricCalibration:
    return GeometricCalibration(
        tree=found,
        basis=basis,
        covariance=np.asarray(np.linalg.inv(jacobian.T @ jacobian), dtype=float),
        rotation_rms=(_rms(before[:, 3:]), _rms(after[:, 3:])),
        translation_rms=(_rms(before[:, :3]), _rms(after[:, :3])),
        chi_square=float(((after * weights) ** 2).sum()),
        degrees_of_freedom=jacobian.shape[0] - jacobian.shape[1],
        iterations=iterations,
        gauge=tuple(f'{name}: {_gauge(twist)}' for name, twist in zip(found.names, found.twists)),
    )


def identifiable_basis(tree: BodyTree) -> Array:
    """
    Return orthonormal directions of the stacked eta that change the motion, (6n + 6, m).

    The complement of the null space of ad(A_i) for each joint, by (8), and all six of the tool.
    """
    blocks = []
    for twist in tree.twists:
        _, values, rows = np.linalg.svd(ad(twist))
        blocks.append(rows[values > 1e-9 * values[0]].T)
    blocks.append(np.eye(6))
    basis = np.zeros((6 * len(blocks), sum(block.shape[1] for block in blocks)))
    column = 0
    for i, block in enumerate(blocks):
        basis[6 * i : 6 * i + 6, column : column + block.shape[1]] = block
        column += block.shape[1]
    return basis


def _residual(tree: BodyTree, q: Array, measured: Array) -> Array:
    """Return where the measured tool lies, seen from the computed one: (N, 6), (v, omega)."""
    computed = tree.poses(q)[:, tree.tool_body] @ tree.tool
    off = inverse_transform(computed) @ measured
    return np.concatenate((off[:, :3, 3], log3(off[:, :3, :3])), axis=1)


def _jacobian(tree: BodyTree, q: Array) -> Array:
    """Return the tool's displacement by the stacked eta, (N, 6, 6n + 6)."""
    still = np.zeros(tree.n)
    parts = [
        differentiate(tree, q[start : start + _CHUNK], still, still).tool_displacement.by_eta
        for start in range(0, len(q), _CHUNK)
    ]
    return np.concatenate(parts).reshape(len(q), 6, -1)


def _require_determined(jacobian: Array, basis: Array, tree: BodyTree) -> None:
    if jacobian.shape[0] < jacobian.shape[1]:
        raise CalibrationError(
            f'{jacobian.shape[0] // 6} poses give {jacobian.shape[0]} numbers '
            f'for {jacobian.shape[1]} unknowns; record at least '
            f'{-(-jacobian.shape[1] // 6)} poses, better five times as many.'
        )
    scale = np.linalg.norm(jacobian, axis=0)
    if (scale > 0.0).all():
        _, values, rows = np.linalg.svd(jacobian / scale, full_matrices=False)
        weak = rows[values <= _RANK * values[0]]
    else:
        weak = np.eye(len(scale))[scale == 0.0]
    if len(weak):
        shares = np.abs(basis @ weak.T).reshape(tree.n + 1, -1).max(axis=1)
        labels = (*tree.names, 'the tool')
        named = [labels[i] for i in np.flatnonzero(shares > 0.1 * shares.max())]
        raise CalibrationError(
            f'The poses leave {len(weak)} combination(s) of corrections '
            f'undetermined, in which {", ".join(named)} take part; record '
            'poses in which these joints move, and independently.'
        )


def _gauge(twist: Array) -> str:
    if twist[3:].any():
        return 'a turn of its axis about itself and a shift along itself change nothing'
    return 'a turn about its direction and any shift change nothing'


def _rms(values: Array) -> float:
    return float(np.sqrt((values**2).sum(axis=1).mean()))


_FLANGE = 'flange'
_STATES = 100


@dataclass(frozen=True, eq=False)
class CalibratedArm:
    """
    The description, and how far its flange is from the tree's, at worst over the arm's range.

    `deviation` is (rad, m). Rows hold the geometry exactly but for axes within 1e-4 rad of
    parallel, which they take for parallel: a flange tilted by less than that.
    """

    description: ArmDescription
    deviation: tuple[float, float]


def calibrated_arm(nominal: ArmDescription, tree: BodyTree) -> CalibratedArm:
    """
    Return an arm with the geometry of a calibrated tree, its links where they are.

    Frames move with their axes, so that a and d may differ much from the nominal rows where two
    axes are nearly parallel (the flange's and the last joint's); poses and torques do not.
    `arm.arm_file_writer.arm_file_text` writes it to an arm file.

    Parameters
    ----------
    nominal : ArmDescription
        What the tree was made from; names, limits, rotors and the rest are kept.
    tree : BodyTree
        `BodyTree.from_description(nominal)`, calibrated.

    Raises
    ------
    CalibrationError
        If the tree is no serial arm with the same joints, its tool on the last link.

    """
    if tree.names != nominal.joint_names or not tree.is_chain or tree.tool_body != tree.n - 1:
        raise CalibrationError(
            f'The tree with the joints {", ".join(tree.names)} is not {nominal.name} with its '
            f'joints {", ".join(nominal.joint_names)} in a row and the tool on its last link.'
        )
    zero = tree.poses(np.zeros(tree.n))
    rows = recover_rows(_chain(nominal, tree, zero), nominal.convention, _FLANGE)
    joints = tuple(replace(joint, row=row) for joint, row in zip(nominal.joints, rows.rows))
    links = tuple(
        link.expressed_in(inverse_transform(frame) @ pose)
        for link, frame, pose in zip(tree.inertias, rows.frames, zero)
    )
    description = replace(
        nominal, joints=joints, links=links, flange=rows.flange, base=_base(rows), file=''
    )
    return CalibratedArm(description, _deviation(description, tree))


def _chain(nominal: ArmDescription, tree: BodyTree, zero: Array) -> SerialChain:
    """Return the axes of a tree as the recovery of rows takes them."""
    joints = []
    for joint, twist, pose in zip(nominal.joints, tree.twists, zero):
        v, omega = twist[:3], twist[3:]
        foot = np.eye(4)
        if joint.kind is JointKind.REVOLUTE:
            foot[:3, 3] = np.cross(omega, v)
        axis = omega if joint.kind is JointKind.REVOLUTE else v
        # The inertia is not read; links are carried over with their own poses.
        joints.append(
            ChainJoint(joint.name, joint.kind, joint.name, pose @ foot, axis, nominal.links[0], ())
        )
    return SerialChain(
        nominal.name,
        'the calibrated arm',
        'base',
        np.eye(4),
        None,
        tuple(joints),
        tool_frames={_FLANGE: zero[-1] @ tree.tool},
    )


def _base(rows: RecoveredRows) -> Array:
    """Return frame {0} with its rotation orthonormal to the last digit."""
    base = np.array(rows.base)
    left, _, right = np.linalg.svd(base[:3, :3])
    base[:3, :3] = left @ right
    return base


def _deviation(description: ArmDescription, tree: BodyTree) -> tuple[float, float]:
    q = sample_states(description, _STATES, 0).q
    expected = tree.poses(q)[:, -1] @ tree.tool
    off = inverse_transform(expected) @ NewtonEulerModel(description).frames(q)[:, -1]
    return (
        float(np.linalg.norm(log3(off[:, :3, :3]), axis=1).max()),
        float(np.linalg.norm(off[:, :3, 3], axis=1).max()),
    )
