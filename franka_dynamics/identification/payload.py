# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Identification of a payload on the flange, from recordings with and without it.

Torque is linear in the load's ten parameters in the flange frame, as it is in a link's parameters
(Gautier and Khalil 1990, eq. 12). The load is estimated together with the arm's base parameters
and friction, which both sets of recordings share, so that most errors of the arm's model cancel.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from .prior import Prior, with_minimum_gyration
from .summary import as_recordings, motion_of, RecordingLike
from .torque_model import SLIP_REACHES_RAD, TorqueModel
from .. import former_names
from ..arm import LinkInertia
from ..arm.payload import payload_array
from ..arm_io import ArmLike, as_description
from ..arrays import Array, ArrayLike, NDArray
from ..dynamics.model import GRAVITY
from ..dynamics.regressor import N_LINK_PARAMETERS
from ..errors import IdentificationError
from ..recordings.preprocessing import Motion

# The motion shows the load's inertia if the standard deviations of all entries of the inertia are
# below mass times _MAX_INERTIA_STD_RADIUS_M squared.
_MAX_INERTIA_STD_RADIUS_M = 0.1
# Step of central differences of the load's parameters [kg m^2, kg m, kg].
_LOAD_PARAMETER_STEP = 1e-6
# Smallest radius of gyration of `PayloadEstimate.payload`, unless it is a point mass.
_MIN_GYRATION_M = 1e-3
# Standard deviations of a weak prior about zero for the load's ten parameters [kg m^2, kg m, kg].
# The deviations are far above a load's parameters: the prior matters only for parameters that the
# motion does not determine.
_LOAD_PRIOR_STD = np.array([10.0] * 6 + [10.0] * 3 + [30.0])


@former_names.of_attributes('0.3', inertia_shown='inertia_identified', noise='noise_std')
@dataclass(frozen=True, eq=False)
class PayloadEstimate:
    """
    An estimated payload in the flange frame, with standard deviations.

    `values` (10,) are mass [kg], centre of mass [m] and inertia about the centre of mass (xx xy xz
    yy yz zz) [kg m^2] by least squares, not necessarily of a physical body; `std` (10,) are their
    standard deviations. `inertia_identified` says whether the motion shows the inertia to better
    than mass times (0.1 m)^2. `payload` (10,) is for the node's parameter `payload`, ordered like
    `values`: a body of physical inertia, or a point mass if the motion does not show the inertia.
    `noise_std` (n,) is the standard deviation of each joint's residual [N m].
    """

    values: Array
    std: Array
    inertia_identified: bool = field(metadata={'former_key': 'inertia_shown'})
    payload: Array
    noise_std: Array = field(metadata={'former_key': 'noise'})


def payload_estimate(
    phi: Array, covariance: Array, noise_std: Array, arm_mass: float
) -> PayloadEstimate:
    """
    Return the estimate from a load's parameters; IdentificationError without significant mass.

    `phi` (10,) and `covariance` (10, 10) are in the order of Gautier and Khalil 1990, eq. 3.
    Raises IdentificationError unless the mass is above both three of its standard deviations and a
    millionth of `arm_mass` [kg].
    """
    mass = float(phi[9])
    spread = float(np.sqrt(covariance[9, 9]))
    if not mass > max(3.0 * spread, 1e-6 * arm_mass):
        raise IdentificationError(
            f'No payload was found: its estimated mass is {mass:.3g} kg with a standard '
            f'deviation of {spread:.2g} kg. Are the recordings with and without it swapped, '
            'or is the motion too small?'
        )
    steps = _LOAD_PARAMETER_STEP * np.eye(N_LINK_PARAMETERS)
    slopes = [(_central_parameters(phi + one) - _central_parameters(phi - one)) for one in steps]
    jacobian = np.transpose(slopes) / (2.0 * _LOAD_PARAMETER_STEP)
    values = _central_parameters(phi)
    deviations = np.sqrt(np.einsum('ij,jk,ik->i', jacobian, covariance, jacobian))
    shown = bool(deviations[4:].max() < mass * _MAX_INERTIA_STD_RADIUS_M**2)
    body = LinkInertia.from_center_of_mass(mass, values[1:4], np.zeros(6))
    if shown:
        body = with_minimum_gyration(LinkInertia.from_parameters(phi), _MIN_GYRATION_M)
    return PayloadEstimate(values, deviations, shown, payload_array(body), noise_std)


def _central_parameters(phi: Array) -> Array:
    """Return mass, centre of mass and central inertia (10,) from parameters about the origin."""
    return payload_array(LinkInertia.from_parameters(phi))


def identify_payload(
    without: Sequence[RecordingLike] | RecordingLike,
    loaded: Sequence[RecordingLike] | RecordingLike,
    arm: ArmLike,
    *,
    gravity: ArrayLike = GRAVITY,
) -> PayloadEstimate:
    """
    Return the flange's load in recordings `loaded`, not `without`; IdentificationError if none.

    All recordings, given as to `identify`, are of the same arm and prepared alike. If both sets
    contain the same motion, most errors of the arm's model cancel. `arm` is the arm without the
    load, or its name or file; the prior standard deviation of its links' masses is 100 %, so any
    published set will do. `gravity` (3,) is in the space frame [m/s^2]. The standard deviations
    follow from the residuals, whose sums over one second are taken as independent (Liang and Zeger
    1986, "Longitudinal data analysis using generalized linear models", Biometrika 73(1)).

    Raises IdentificationError if recordings without or with the load are missing, there are too
    few samples, or no significant mass is found.
    """
    arm = as_description(arm)
    bare, carrying = ([*map(motion_of, as_recordings(one, arm))] for one in (without, loaded))
    if not bare or not carrying:
        raise IdentificationError('A payload needs recordings without and with it.')
    # As of `identify arm`; rotors, whose torques a load's inertia would take, are always fitted.
    reaches = SLIP_REACHES_RAD
    model = TorqueModel.for_arm(arm, gravity=gravity, rotor_inertia=True, slip_reaches=reaches)
    both = [*bare, *carrying]
    max_torque = np.max([np.abs(motion.effort).max(axis=0) for motion in both], axis=0)
    rows = [_load_columns(model, motion, float(k >= len(bare))) for k, motion in enumerate(both)]
    data = np.concatenate(rows), np.concatenate([one.effort for one in both])
    prior = Prior.centered_at(arm, model, max_torque)
    numbers = [motion.one_second_indices() for motion in both]
    firsts = np.cumsum([0, *(one.max() + 1 for one in numbers)])
    seconds = np.concatenate([first + one for first, one in zip(firsts, numbers)])
    vector, covariance, noise = _fit_load(*data, seconds, prior)
    return payload_estimate(vector, covariance, noise, sum(link.mass for link in arm.links))


def _fit_load(
    columns: Array, torque: Array, second_ids: NDArray[np.intp], prior: Prior
) -> tuple[Array, Array, Array]:
    """
    Return a load's parameters, covariance, joints' noise; IdentificationError for <= 10 seconds.

    Shapes are (10,), (10, 10) and (n,) [N m]. `columns` (N, n, p + 10) are those of the arm with
    `prior`, and of the load, `torque` (N, n) the measured torques. Residuals of samples with the
    same number in `second_ids` (N,) are summed; there must be more than ten such numbers.
    """
    p = len(prior.std)
    count = len(np.unique(second_ids))
    if count <= N_LINK_PARAMETERS:
        raise IdentificationError(
            f'The recordings hold {count} independent samples, too few for '
            f'{N_LINK_PARAMETERS} parameters of a load; record longer, or more poses.'
        )
    information = np.diag(np.append(np.zeros(p), _LOAD_PRIOR_STD**-2.0))
    pull = np.zeros(len(information))
    information[:p, :p], pull[:p] = prior.information(1.0)
    noise = prior.expected_residual
    for _ in range(2):  # the second time with the residuals of the first
        scaled = columns / noise[:, None]
        matrix = np.einsum('tja,tjb->ab', scaled, scaled) + information
        theta = np.linalg.solve(matrix, np.einsum('tja,tj->a', scaled, torque / noise) + pull)
        residual = torque - columns @ theta
        noise = np.maximum(np.sqrt(np.mean(residual**2, axis=0)), 1e-9 * prior.expected_residual)
    own = np.zeros((count, len(theta)))
    np.add.at(
        own,
        second_ids,
        np.einsum('tja,tj->ta', columns / noise[:, None], residual / noise),
    )
    spread = own.T @ own * count / (count - N_LINK_PARAMETERS) + information
    inverse = np.linalg.inv(matrix)
    return theta[p:], (inverse @ spread @ inverse)[p:, p:], noise


def _load_columns(model: TorqueModel, motion: Motion, load_factor: float) -> Array:
    """Return regressor columns of the arm and, times `load_factor`, of a load, (N, n, p + 10)."""
    base, friction = model.regressor_blocks(motion)
    load = load_factor * (base @ model.payload_to_base_matrix)
    return np.concatenate([model.regressor(base, friction), load], axis=-1)
