# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Identification of a payload on the flange, from recordings with and without it.

Torque is linear in the load's ten parameters in the flange frame, as it is in a link's parameters
(Gautier and Khalil 1990, eq. 12). The load is estimated together with the arm's base parameters
and friction, which both sets of recordings share, so that most errors of the arm's model cancel.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from .prior import Prior, with_minimum_gyration
from .sources import as_recordings, motion_of, RecordingLike
from .torque_model import SLIP_REACHES_RAD, TorqueModel
from ..arm import LinkInertia
from ..arm.payload import payload_array
from ..arm_io import ArmLike, as_description
from ..arrays import Array, ArrayLike, NDArray
from ..constants import GRAVITY
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
# A recording is cut into so many parts, unless there are several recordings of each kind.
_PART_COUNT = 5
_KNOWN_STD_COUNT = 1.96  # of a normal distribution with a known deviation, that cover 95 %
# Standard deviations of a weak prior about zero for the load's ten parameters [kg m^2, kg m, kg].
# The deviations are far above a load's parameters: the prior matters only for parameters that the
# motion does not determine.
_LOAD_PRIOR_STD = np.array([10.0] * 6 + [10.0] * 3 + [30.0])


@dataclass(frozen=True, eq=False)
class PayloadEstimate:
    """
    An estimated payload in the flange frame, with standard deviations.

    `values` (10,) are mass [kg], centre of mass [m] and inertia about the centre of mass (xx xy xz
    yy yz zz) [kg m^2] by least squares, not necessarily of a physical body; `std` (10,) are their
    standard deviations. `inertia_identified` says whether the motion shows the inertia to better
    than mass times (0.1 m)^2. `payload` (10,) is for the node's parameter `payload`, ordered like
    `values`: a body of physical inertia, or a point mass if the motion does not show the inertia.
    `noise_std` (n,) is the standard deviation of each joint's residual [N m]. `inflation` is how
    many times `std` was widened because the mass differs between parts of the recordings by more
    than residuals within seconds tell.
    """

    values: Array
    std: Array
    inertia_identified: bool
    payload: Array
    noise_std: Array
    inflation: float = 1.0


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
    mass_std = float(np.sqrt(covariance[9, 9]))
    if not mass > max(3.0 * mass_std, 1e-6 * arm_mass):
        raise IdentificationError(
            f'No payload was found: its estimated mass is {mass:.3g} kg with a standard '
            f'deviation of {mass_std:.2g} kg. Are the recordings with and without it swapped, '
            'or is the motion too small?'
        )
    values = _central_parameters(phi)
    jacobian = _central_parameter_jacobian(phi)
    # The diagonal of J C J^T.
    std = np.sqrt(np.einsum('ij,jk,ik->i', jacobian, covariance, jacobian))
    max_inertia_std = std[4:].max()
    inertia_identified = bool(max_inertia_std < mass * _MAX_INERTIA_STD_RADIUS_M**2)
    body = LinkInertia.from_center_of_mass(mass, values[1:4], np.zeros(6))
    if inertia_identified:
        body = with_minimum_gyration(LinkInertia.from_parameters(phi), _MIN_GYRATION_M)
    return PayloadEstimate(values, std, inertia_identified, payload_array(body), noise_std)


def _central_parameter_jacobian(phi: Array) -> Array:
    """Return the derivatives (10, 10) of `_central_parameters` by parameters about the origin."""
    steps = _LOAD_PARAMETER_STEP * np.eye(N_LINK_PARAMETERS)
    changes = [_central_parameters(phi + step) - _central_parameters(phi - step) for step in steps]
    return np.transpose(changes) / (2.0 * _LOAD_PARAMETER_STEP)


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
    1986, "Longitudinal data analysis using generalized linear models", Biometrika 73(1)), and are
    widened if the mass found without one recording, or without a fifth of one where there are not
    several of each kind, shows more.

    Raises IdentificationError if recordings without or with the load are missing, there are too
    few samples, or no significant mass is found.
    """
    arm = as_description(arm)
    bare_motions = [motion_of(source) for source in as_recordings(without, arm)]
    loaded_motions = [motion_of(source) for source in as_recordings(loaded, arm)]
    if not bare_motions or not loaded_motions:
        raise IdentificationError('A payload needs recordings without and with it.')
    model = TorqueModel.for_arm(
        arm,
        gravity=gravity,
        rotor_inertia=True,  # always fitted: a load's inertia would take their torques
        slip_reaches=SLIP_REACHES_RAD,  # as of `identify arm`
    )
    motions = [*bare_motions, *loaded_motions]
    regressors = [
        *(_load_regressor(model, motion, load_factor=0.0) for motion in bare_motions),
        *(_load_regressor(model, motion, load_factor=1.0) for motion in loaded_motions),
    ]
    max_torque = np.max([np.abs(motion.effort).max(axis=0) for motion in motions], axis=0)
    found = _fit_load(
        np.concatenate(regressors),
        np.concatenate([motion.effort for motion in motions]),
        _second_ids(motions),
        _part_ids(motions, whole=min(len(bare_motions), len(loaded_motions)) >= 2),
        Prior.centered_at(arm, model, max_torque),
    )
    arm_mass = sum(link.mass for link in arm.links)
    estimate = payload_estimate(found.parameters, found.covariance, found.noise_std, arm_mass)
    return replace(estimate, inflation=found.inflation)


def _second_ids(motions: Sequence[Motion]) -> NDArray[np.intp]:
    """Return for each sample of all motions the number of its second, (N,); none is shared."""
    second_ids = []
    first_id = 0
    for motion in motions:
        seconds = motion.one_second_indices()
        second_ids.append(first_id + seconds)
        first_id += seconds.max() + 1
    return np.concatenate(second_ids)


def _part_ids(motions: Sequence[Motion], *, whole: bool) -> NDArray[np.intp]:
    """Return for each sample the number of its part, (N,): a fifth of its motion, or all of it."""
    count = 1 if whole else _PART_COUNT
    ids = [
        count * k + count * np.arange(len(motion)) // len(motion)
        for k, motion in enumerate(motions)
    ]
    return np.concatenate(ids)


class _LoadFit(NamedTuple):
    """A load's parameters (10,), their covariance (10, 10), and joints' noise (n,) [N m]."""

    parameters: Array
    covariance: Array
    noise_std: Array
    inflation: float  # of deviations, beyond what sums over seconds tell


class _WeightedFit(NamedTuple):
    """Parameters of arm and load that fit torques with given weights of the joints."""

    theta: Array  # of the arm, then of the load, (p + 10,)
    normal_matrix: Array  # K, (p + 10, p + 10)
    residual: Array  # (N, n) [N m]
    noise_std: Array  # its rms, (n,) [N m]


def _fit_load(
    regressor: Array,
    torque: Array,
    second_ids: NDArray[np.intp],
    part_ids: NDArray[np.intp],
    prior: Prior,
) -> _LoadFit:
    """
    Return the fit of a load; IdentificationError for <= 10 seconds.

    `regressor` (N, n, p + 10) has the columns of the
    arm with `prior`, then of the load, `torque` (N, n) the measured torques. Residuals of samples
    with the same number in `second_ids` (N,) are summed; there must be more than ten such numbers.

    The covariance is K^-1 V K^-1 of the normal equations K theta = r, with V that of r: the sum of
    products of regressor and residual, whose covariance follows from its sums over seconds (Liang
    and Zeger 1986), and the prior's information. Where errors last for longer, as those of
    drifting sensors in slow work, it is too small; it is widened by what the mass changes by when
    the samples of one number in `part_ids` (N,) are left out.
    """
    p = len(prior.std)
    second_count = len(np.unique(second_ids))
    if second_count <= N_LINK_PARAMETERS:
        raise IdentificationError(
            f'The recordings hold {second_count} independent samples, too few for '
            f'{N_LINK_PARAMETERS} parameters of a load; record longer, or more poses.'
        )
    prior_information = np.diag(np.append(np.zeros(p), _LOAD_PRIOR_STD**-2.0))
    information_times_mean = np.zeros(len(prior_information))
    prior_information[:p, :p], information_times_mean[:p] = prior.information(1.0)

    def fit_weighted(noise_std: Array) -> _WeightedFit:
        """Fit with weights by the joints' noise (n,) [N m]."""
        weighted_regressor = regressor / noise_std[:, None]
        gram = np.einsum('tja,tjb->ab', weighted_regressor, weighted_regressor)
        torque_products = np.einsum('tja,tj->a', weighted_regressor, torque / noise_std)
        normal_matrix = gram + prior_information
        theta = np.linalg.solve(normal_matrix, torque_products + information_times_mean)
        residual = torque - regressor @ theta
        rms_residual = np.sqrt(np.mean(residual**2, axis=0))
        least_std = 1e-9 * prior.expected_residual  # of torques that fit exactly
        return _WeightedFit(theta, normal_matrix, residual, np.maximum(rms_residual, least_std))

    first = fit_weighted(prior.expected_residual)
    final = fit_weighted(first.noise_std)
    # By the noise that is left, not by the weights of the fit. With these, deviations are smaller
    # by 2 to 4 % where errors are white, but too small by a factor of two on slow work, where
    # errors last for longer than a second.
    products = np.einsum('tja,tj->ta', regressor, final.residual / final.noise_std**2)
    products_covariance = _covariance_of_sum(products, second_ids) + prior_information
    normal_inverse = np.linalg.inv(final.normal_matrix)
    covariance = normal_inverse @ products_covariance @ normal_inverse
    load_covariance = covariance[p:, p:]
    weighted_regressor = regressor / first.noise_std[:, None]
    weighted_torque = torque / first.noise_std
    left_out_masses = []
    for part in np.unique(part_ids):
        kept = part_ids != part
        gram = np.einsum('tja,tjb->ab', weighted_regressor[kept], weighted_regressor[kept])
        products = np.einsum('tja,tj->a', weighted_regressor[kept], weighted_torque[kept])
        theta = np.linalg.solve(gram + prior_information, products + information_times_mean)
        left_out_masses.append(theta[-1])
    shown_std = _jackknife_std(np.array(left_out_masses))
    inflation = max(1.0, shown_std / float(np.sqrt(load_covariance[-1, -1])))
    return _LoadFit(final.theta[p:], inflation**2 * load_covariance, final.noise_std, inflation)


def _jackknife_std(left_out: Array) -> float:
    """
    Return the deviation of an estimate, two of which cover 95 %, from those without a part each.

    It is the delete-one jackknife of k parts (Efron and Stein 1981, "The jackknife estimate of
    variance", Annals of Statistics 9(3)), as wide as Student's t of k - 1 degrees of freedom asks.
    """
    from scipy.stats import t

    count = len(left_out)
    std = np.sqrt((count - 1.0) * np.var(left_out))
    return float(std * t.ppf(0.975, count - 1.0) / _KNOWN_STD_COUNT)


def _covariance_of_sum(samples: Array, second_ids: NDArray[np.intp]) -> Array:
    """
    Return the covariance of the sum of samples (N, k) that are correlated within seconds, (k, k).

    Sums over each second are taken as independent, with a mean of zero. Ten degrees of freedom are
    lost to the load's fitted parameters.
    """
    second_count = len(np.unique(second_ids))
    second_sums = np.zeros((second_count, samples.shape[1]))
    np.add.at(second_sums, second_ids, samples)
    degrees_of_freedom = second_count - N_LINK_PARAMETERS
    return np.asarray(second_sums.T @ second_sums * second_count / degrees_of_freedom)


def _load_regressor(model: TorqueModel, motion: Motion, load_factor: float) -> Array:
    """Return regressor columns of the arm and, times `load_factor`, of a load, (N, n, p + 10)."""
    base_columns, friction_columns = model.regressor_blocks(motion)
    load_columns = load_factor * (base_columns @ model.payload_to_base_matrix)  # (N, n, 10)
    arm_columns = model.regressor(base_columns, friction_columns)  # (N, n, p)
    return np.concatenate([arm_columns, load_columns], axis=-1)
