# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Compares independent formulations of an arm's dynamics.

`compare_formulations` compares all COMPARED_QUANTITIES by default. `crosscheck`, which the node
runs whenever it is configured, compares the frames and the terms of the node's torques. They allow
differences up to the `tolerance` of the arm's geometry. An arm from a URDF is also compared with
Pinocchio's own reading of that file (`source_models`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .source_models import compare_with_urdf, FileDifference
from ..arm import ArmDescription
from ..arm_io import ArmLike, as_description
from ..arrays import Array, ArrayLike
from ..constants import GRAVITY
from ..dynamics.newton_euler import NewtonEulerModel
from ..dynamics.pinocchio_model import PinocchioModel
from ..dynamics.product_of_exponentials import ExponentialsModel
from ..dynamics.sampling import sample_states
from ..errors import CrosscheckError, SettingsError

# The node uses Pinocchio, with which the other formulations are compared.
DynamicsModel = PinocchioModel | NewtonEulerModel | ExponentialsModel
FORMULATIONS: dict[str, Callable[[ArmDescription, ArrayLike], DynamicsModel]] = {
    'Pinocchio': PinocchioModel,
    'Newton-Euler': NewtonEulerModel,
    'exponentials': ExponentialsModel,
}
# Largest allowed difference of an arm without far DH frames (`CrosscheckResult.tolerance`),
# scaled as in `CrosscheckResult`: 26 times the largest difference at 20 states of each of 1,000
# random arms (3.8e-14).
MAX_RELATIVE_DIFFERENCE = 1e-12


class ComparedQuantity(NamedTuple):
    """
    A quantity in which models are compared, with its number of inputs (q, dq, ddq) and unit.

    For forward_dynamics a torque takes the place of ddq.
    """

    name: str
    input_count: int
    unit: str


COMPARED_QUANTITIES = (
    ComparedQuantity('frames', 1, 'm'),
    ComparedQuantity('link_twists', 2, 'm/s'),
    ComparedQuantity('jacobian', 1, 'm'),
    ComparedQuantity('center_of_mass', 1, 'm'),
    ComparedQuantity('mass_matrix', 1, 'kg m^2'),
    ComparedQuantity('coriolis_matrix', 2, 'N m s'),
    ComparedQuantity('coriolis', 2, 'N m'),
    ComparedQuantity('gravity', 1, 'N m'),
    ComparedQuantity('inverse_dynamics', 3, 'N m'),
    ComparedQuantity('forward_dynamics', 3, 'N m'),
    ComparedQuantity('joint_wrenches', 3, 'N m'),
    ComparedQuantity('kinetic_energy', 2, 'J'),
    ComparedQuantity('potential_energy', 1, 'J'),
)
# A power of two, by which velocities are multiplied without rounding.
_SLOW_VELOCITY_RATIO = 2.0**-20
# The quantities that `crosscheck` compares: the frames, and the terms of the node's torques.
_QUANTITIES_OF_NODE = 'frames', 'mass_matrix', 'coriolis', 'gravity', 'inverse_dynamics'


@dataclass(frozen=True, eq=False)
class CrosscheckResult:
    """
    Differences of other formulations of an arm's dynamics from a reference formulation.

    A difference is the largest |a - b| of all entries and states, relative to the arm's largest
    torque M ddq + C dq + g there (a Coriolis matrix: this torque by the largest velocity), or, for
    what is no torque, to the largest |b|, with b by the reference formulation; NaN if a or b is
    NaN anywhere. C dq is also computed at velocities that are 2^-20 times as large, and compared
    after division by 2^-40, so that a loss of digits in slow motion is seen. Forward dynamics is
    evaluated at the torques of the reference's inverse dynamics and compared as M ddq, because at
    a wrist joint with an inertia of 1e-4 kg m^2 rounding errors of a torque cause large
    accelerations.

    Attributes
    ----------
    description : ArmDescription
        The arm.
    gravity : tuple of float
        Gravity in the space frame [m/s^2].
    state_count, seed : int
        Number of random states, and their seed.
    reference : str
        Name of the reference formulation.
    differences : dict of dict of float
        By quantity and by name of the other formulation; at most `tolerance` if they agree.
    urdf_differences : tuple of FileDifference
        Differences from the URDF that the arm was read from; empty for other arms.

    """

    description: ArmDescription
    gravity: tuple[float, ...]
    state_count: int
    seed: int
    reference: str
    differences: dict[str, dict[str, float]]
    urdf_differences: tuple[FileDifference, ...] = ()
    json_fields = tuple(
        'description gravity state_count seed reference tolerance passed largest differences '
        'urdf_differences findings'.split()
    )

    @property
    def formulations(self) -> tuple[str, ...]:
        """Names of the formulations compared with the reference."""
        return tuple(next(iter(self.differences.values())))

    @property
    def largest(self) -> float:
        """The largest relative difference between formulations; NaN if any is NaN."""
        return float(np.max([list(row.values()) for row in self.differences.values()]))

    @property
    def tolerance(self) -> float:
        """
        Largest relative difference between formulations that counts as agreement.

        It is MAX_RELATIVE_DIFFERENCE, times (l / r)^2 if the longest a or d of a DH row, l, is
        longer than the largest distance r of the flange at home from a link's centre of mass (at
        least 1 m): DH frames of nearly parallel axes can lie far from the arm, and inertias about
        their origins cancel.
        """
        arm = self.description
        frames = arm.frames(arm.home_position)
        pairs = zip(frames, arm.links)
        centers = [one @ [*link.center_of_mass, 1.0] for one, link in pairs if link.mass]
        away = [float(np.linalg.norm(one[:3] - frames[-1, :3, 3])) for one in centers]
        rows = (arm.flange, *(joint.row for joint in arm.joints))
        longest = max(max(abs(row.a), abs(row.d)) for row in rows)
        return MAX_RELATIVE_DIFFERENCE * max(1.0, (longest / max([*away, 1.0])) ** 2)

    @property
    def passed(self) -> bool:
        """Whether every difference is within its tolerance, which a NaN never is."""
        return not self.findings

    @property
    def findings(self) -> tuple[str, ...]:
        """Messages on formulations beyond the tolerance, and on a differing reading of a URDF."""
        found = []
        tolerance = self.tolerance
        for name in self.formulations:
            values = {quantity: row[name] for quantity, row in self.differences.items()}
            beyond = [f'{key} ({one:.2g})' for key, one in values.items() if not one <= tolerance]
            differing = ', '.join(beyond)
            if differing:
                found.append(f'{name} differs from {self.reference} in {differing}.')
        if self.description.urdf and not all(one.passed for one in self.urdf_differences):
            differing = ', '.join(f'{one}' for one in self.urdf_differences if not one.passed)
            urdf = self.description.urdf
            reading = f"{urdf.words.reader}'s own reading of {urdf.name_in_messages}"
            found.append(f'It differs from {reading} in {differing}.')
        return tuple(found)

    def require(self) -> None:
        """Raise CrosscheckError, naming the quantities that differ, unless `passed`."""
        if not self.passed:
            arm = self.description
            found = ' '.join(self.findings)
            raise CrosscheckError(
                f'The models of {arm.name} ({arm.inertial_set}, hand {arm.hand}) disagree '
                f'(tolerance {self.tolerance:.0e}, {self.state_count} states). {found} '
                'Do not use any of them until franka-dynamics arm check passes.'
            )


def compare_formulations(
    description: ArmLike,
    *,
    gravity: ArrayLike = GRAVITY,
    count: int = 300,
    seed: int = 0,
) -> CrosscheckResult:
    """
    Compare all formulations of an arm's dynamics at random states within its limits.

    An arm from a URDF is compared with Pinocchio's own reading of that file, too, and one from an
    MJCF with MuJoCo's.

    Parameters
    ----------
    description : ArmDescription, str or Path
        The arm with hand and payload, a shipped arm's name, or the path of a file as `load` takes.
    gravity : array_like, shape (3,)
        Gravity in the space frame [m/s^2].
    count, seed : int
        Number of random states, and their seed.

    Returns
    -------
    CrosscheckResult
        The largest relative difference of each of COMPARED_QUANTITIES and each formulation;
        `findings` lists those above the tolerance, and `require()` raises a CrosscheckError if
        there are any.

    Raises
    ------
    InertiaError
        If a link has a first moment but no mass, or forward dynamics has a singular mass matrix.
    SettingsError
        If there are no states.

    """
    return _compare_models(as_description(description), gravity, count, seed)


def crosscheck(
    description: ArmLike,
    *,
    gravity: ArrayLike = GRAVITY,
    count: int = 300,
    seed: int = 0,
) -> CrosscheckResult:
    """
    Compare an arm's frames, M, C dq, g, torques by Pinocchio, Newton-Euler and, if any, its file.

    Only the torque terms that `feedforward_node` commands are compared. The node calls this
    function whenever it is configured. Arguments, result and errors: see `compare_formulations`.
    """
    return _compare_models(as_description(description), gravity, count, seed, node_only=True)


def _compare_models(
    arm: ArmDescription,
    gravity: ArrayLike,
    count: int,
    seed: int,
    *,
    node_only: bool = False,
) -> CrosscheckResult:
    """Return the CrosscheckResult of all formulations; if `node_only`, of two in fewer terms."""
    names = list(FORMULATIONS)[: 2 if node_only else None]
    if count < 1:
        raise SettingsError(f'count is {count}; a comparison needs at least one random state.')
    states = sample_states(arm, count, seed)
    reference, *others = (FORMULATIONS[name](arm, gravity) for name in names)
    torques = reference.inverse_dynamics(*states)
    torque, fastest = (float(np.abs(values).max()) for values in (torques, states.dq))
    sizes = {'N m': torque, 'N m s': torque / (fastest or 1.0)}

    def quantity_values(model: DynamicsModel, quantity: ComparedQuantity) -> Array:
        """Return a model's values of a quantity, a row per state; M ddq for forward dynamics."""
        forward = quantity.name == 'forward_dynamics'
        method = getattr(model, quantity.name)
        inputs = (states.q, states.dq, torques if forward else states.ddq)
        values = np.asarray(method(*inputs[: quantity.input_count]))
        if quantity.name == 'coriolis':
            slow = method(states.q, _SLOW_VELOCITY_RATIO * states.dq) / _SLOW_VELOCITY_RATIO**2
            values = np.stack((values, slow), axis=1)
        if forward:
            values = np.einsum('sij,sj->si', reference.mass_matrix(states.q), values)
        return values.reshape(count, -1)

    differences = {}
    for quantity in COMPARED_QUANTITIES:
        if node_only and quantity.name not in _QUANTITIES_OF_NODE:
            continue
        expected = quantity_values(reference, quantity)
        size = sizes.get(quantity.unit, float(np.abs(expected).max())) or 1.0
        differences[quantity.name] = {
            name: float((np.abs(quantity_values(model, quantity) - expected) / size).max())
            for name, model in zip(names[1:], others)
        }
    fall = tuple(float(value) for value in np.asarray(gravity))
    urdf = compare_with_urdf(arm, gravity, states)
    return CrosscheckResult(arm, fall, count, seed, names[0], differences, urdf)
