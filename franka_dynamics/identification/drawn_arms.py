# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Arms drawn from what an identification knows, and what it does not: for simulators and learning.

Base parameters and friction are drawn from the normal distribution about the identified arm whose
covariance the estimate states. To each drawn vector of base parameters belong many inertias; those
are taken which are nearest to the identified arm's. Every link's pseudo-inertia P = L L^T becomes
L exp(S) L^T, which is physically consistent for any symmetric S (the form of Lee, Wensing and Park
2020, "Geometric robot dynamic identification", IEEE T-RO 36(2)).
"""

from dataclasses import dataclass, replace

import numpy as np

from .results import Identification
from ..arm import ArmDescription, LinkInertia
from ..arm.friction import FrictionModel, LinearFriction
from ..arrays import Array
from ..dynamics.regressor import N_LINK_PARAMETERS, parameter_vector, with_parameter_vector
from ..errors import IdentificationError
from ..fit.result_parts import Estimate

# The search for an arm ends if its base parameters are off by less than this part of their
# deviations, or if only tiny steps bring it nearer.
_TOLERANCE_TO_STD = 1e-3
_MAX_DAMPING = 1e4
_MAX_STEP_COUNT = 60
_MAX_STEP = 1.0  # of an entry of S at a time
_MIN_VARIANCE_RATIO = 1e-12  # of the largest variance or moment, above rounding errors
_DRAWN_SET_NAME = 'drawn'
_BODY_NAMES = (
    *('mass', 'com_x', 'com_y', 'com_z'),
    *('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz'),
)
_TENSOR_ROWS, _TENSOR_COLUMNS = (0, 0, 0, 1, 1, 2), (0, 1, 2, 1, 2, 2)


@dataclass(frozen=True, eq=False)
class DrawnArm:
    """
    An arm drawn from an identification; its inertias are physically consistent.

    `arm` has the friction that was drawn, `base_parameters` (b,) are those of its links. `urdf`
    and `mjcf` are for simulators, `parameters` for tables of domain randomisation.
    """

    arm: ArmDescription
    base_parameters: Array

    def urdf(self) -> str:
        """Return the arm as a URDF."""
        from ..urdf.writer import urdf_text

        return urdf_text(self.arm)

    def mjcf(self) -> str:
        """Return the arm as an MJCF."""
        from ..urdf.mjcf_writer import mjcf_text

        return mjcf_text(self.arm)

    def parameters(self) -> dict[str, float]:
        """
        Return what simulators set, by name: of each link and joint a number in SI units.

        Of link k, in its own frame, `link_k/mass`, `link_k/com_x` ..., and about its centre of
        mass `link_k/ixx` ... `link_k/izz`; of joint k `joint_k/damping` (viscous friction),
        `joint_k/frictionloss` (Coulomb friction with all of the slip) and `joint_k/armature` (the
        rotor's inertia), as MuJoCo names them. Isaac Lab sets masses, centres of mass and inertias
        of bodies, and friction, damping and armature of joints by the same numbers.
        """
        found: dict[str, float] = {}
        for number, link in enumerate(self.arm.links, 1):
            com = link.center_of_mass.tolist()
            tensor = link.inertia_at_center_of_mass[_TENSOR_ROWS, _TENSOR_COLUMNS].tolist()
            values = [link.mass, *com, *tensor]
            found |= {f'link_{number}/{name}': one for name, one in zip(_BODY_NAMES, values)}
        zero = np.zeros(self.arm.n)
        viscous, sliding = zero, zero
        friction = self.arm.friction
        if isinstance(friction, LinearFriction):
            viscous, sliding = friction.viscous, friction.coulomb + friction.slip.sum(axis=0)
        for k, joint in enumerate(self.arm.joints):
            found[f'joint_{k + 1}/damping'] = float(viscous[k])
            found[f'joint_{k + 1}/frictionloss'] = float(sliding[k])
            found[f'joint_{k + 1}/armature'] = joint.rotor_inertia
        return found


def draw_identified(identification: Identification, count: int, seed: int = 0) -> list[DrawnArm]:
    """
    Return arms drawn from what an identification knows of its arm.

    Base parameters and friction are drawn together: their mean is the identified arm's, and their
    covariance `estimate.covariance`. To base parameters that no physically consistent arm has
    belongs the nearest one; an identified arm at the edge of what is possible has such draws, and
    they spread less, and inwards. Coefficients of friction that cannot be negative are cut at
    zero. What base parameters leave open is as near to the identified arm as
    can be. The spread is that of the parameters. What no parameters explain, vibration and the
    like, is in the arm's `torque_deviation`.

    Parameters
    ----------
    identification : Identification
        The result of `fd.identify`.
    count : int
        How many arms are drawn.
    seed : int
        The seed of the draws; the first arms of a larger `count` are the same.

    Raises
    ------
    IdentificationError
        If `count` or `seed` is negative.
    InertiaError
        If the identified arm is not physically consistent.

    """
    if count < 0 or seed < 0:
        raise IdentificationError(f'count is {count} and seed {seed}; neither can be negative.')
    estimate = identification.estimate
    arm = identification.arm
    arm.require_physical('arms drawn about it')
    rng = np.random.default_rng(seed)
    root = _square_root(estimate.covariance)
    found = []
    for _ in range(count):
        theta = estimate.theta + root @ rng.standard_normal(len(root))
        links = _nearest_arm(arm, estimate, theta[: len(estimate.model.base)])
        drawn = replace(links, friction=_friction(estimate, theta), inertial_set=_DRAWN_SET_NAME)
        found.append(DrawnArm(drawn, estimate.model.base.values(drawn)))
    return found


def _square_root(covariance: Array) -> Array:
    """Return a matrix R with R R^T a covariance, which may be singular."""
    values, vectors = np.linalg.eigh(0.5 * (covariance + covariance.T))
    return np.asarray(vectors * np.sqrt(np.clip(values, 0.0, None)))


def _friction(estimate: Estimate, theta: Array) -> FrictionModel:
    """Return the friction that drawn parameters describe."""
    model = estimate.model
    drawn = theta[model.friction_slice]
    sums = model.friction.bounded_sums @ drawn
    sums = np.where(model.friction.nonnegative_mask, np.maximum(sums, 0.0), sums)
    limited = model.friction.from_bounded_sums(sums)
    covariance = estimate.covariance[model.friction_slice, model.friction_slice]
    return model.friction.friction_model(limited, covariance)


def _nearest_arm(arm: ArmDescription, estimate: Estimate, wanted: Array) -> ArmDescription:
    """
    Return the physically consistent arm with wanted base parameters (b,), or the nearest one.

    The method of Levenberg and Marquardt changes the logarithms of pseudo-inertias and of rotor
    inertias, from those of `arm`. Distances count by the covariance of the base parameters.
    """
    base = estimate.model.base
    count = len(base)
    values, vectors = np.linalg.eigh(estimate.covariance[:count, :count])
    whitening = vectors.T / np.sqrt(np.maximum(values, _MIN_VARIANCE_RATIO * values[-1]))[:, None]
    end = N_LINK_PARAMETERS * arm.n  # of the links' parameters, before the rotors'
    vector = parameter_vector(arm, rotor_inertia=base.rotor_inertia)
    missing = whitening @ (wanted - base.matrix @ vector)
    damping = 1.0
    for _ in range(_MAX_STEP_COUNT):
        size = float(np.linalg.norm(missing))
        if size < _TOLERANCE_TO_STD or damping > _MAX_DAMPING:
            break
        pseudo_inertias = _pseudo_inertias(vector[:end])
        roots = np.asarray(np.linalg.cholesky(pseudo_inertias), dtype=float)  # (n, 4, 4)
        columns = whitening @ base.matrix @ _slope(roots, vector[end:])
        weights = np.concatenate([columns, damping * np.eye(columns.shape[1])])
        target = np.concatenate([missing, np.zeros(columns.shape[1])])
        step = np.linalg.lstsq(weights, target, rcond=None)[0]
        changed = _stepped(vector, roots, np.clip(step, -_MAX_STEP, _MAX_STEP))
        left = whitening @ (wanted - base.matrix @ changed)
        if np.linalg.norm(left) < size and _is_regular(_pseudo_inertias(changed[:end])):
            vector, missing = changed, left
            damping *= 0.3
        else:
            damping *= 5.0
    return with_parameter_vector(arm, vector)


def _is_regular(pseudo_inertias: Array) -> bool:
    """Return whether rounding errors leave all pseudo-inertias (n, 4, 4) positive definite."""
    values = np.linalg.eigvalsh(pseudo_inertias)
    return bool((values[:, 0] > _MIN_VARIANCE_RATIO * values[:, -1]).all())


def _stepped(vector: Array, roots: Array, step: Array) -> Array:
    """Return standard parameters of links with pseudo-inertias L exp(S) L^T, then of rotors."""
    end = N_LINK_PARAMETERS * len(roots)
    entries = step[:end].reshape(len(roots), N_LINK_PARAMETERS)
    values, vectors = np.linalg.eigh(np.tensordot(entries, _DIRECTIONS, axes=1))
    halves = roots @ (vectors * np.exp(0.5 * values)[:, None, :])
    links = _parameters_of(halves @ halves.swapaxes(1, 2))
    return np.concatenate([links.ravel(), vector[end:] * np.exp(step[end:])])


def _slope(roots: Array, rotors: Array) -> Array:
    """Return the change of standard parameters by changes S of each link, then of rotors."""
    n = len(roots)
    end = N_LINK_PARAMETERS * n
    slope = np.zeros((end + len(rotors), end + len(rotors)))
    changes = roots[:, None] @ _DIRECTIONS @ roots[:, None].swapaxes(2, 3)  # (n, 10, 4, 4)
    for k, block in enumerate(_parameters_of(changes)):
        rows = slice(N_LINK_PARAMETERS * k, N_LINK_PARAMETERS * (k + 1))
        slope[rows, rows] = block.T
    slope[end:, end:] = np.diag(rotors)
    return slope


def _pseudo_inertias(vector: Array) -> Array:
    """Return the pseudo-inertias (n, 4, 4) of links with standard parameters (10 n,)."""
    links = [LinkInertia.from_parameters(row) for row in vector.reshape(-1, N_LINK_PARAMETERS)]
    return np.array([link.pseudo_inertia() for link in links])


def _parameters_of(pseudo: Array) -> Array:
    """Return the standard parameters (..., 10) of links with pseudo-inertias (..., 4, 4)."""
    second = pseudo[..., :3, :3]
    trace = np.trace(second, axis1=-2, axis2=-1)[..., None, None]
    tensor = trace * np.eye(3) - second
    return np.concatenate([tensor[..., _TENSOR_ROWS, _TENSOR_COLUMNS], pseudo[..., :, 3]], axis=-1)


def _symmetric_directions() -> Array:
    """Return an orthonormal basis of the symmetric 4 x 4 matrices, (10, 4, 4)."""
    found = []
    for i in range(4):
        for j in range(i, 4):
            direction = np.zeros((4, 4))
            direction[i, j] = direction[j, i] = 1.0 if i == j else np.sqrt(0.5)
            found.append(direction)
    return np.array(found)


_DIRECTIONS = _symmetric_directions()
