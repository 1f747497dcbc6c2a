# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Writes torques, mass matrix and other quantities of a chain as expressions of its inputs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
import functools
from typing import Any, NamedTuple

import numpy as np

from .chain import (
    link_parameter_names,
    regroup_parameters,
    ScalarArray,
    SymbolicChain,
    with_origins_nearest_parent,
)
from .expression import Expression, gradient, Graph, Scalar
from .program import OutputValue
from .recursion import (
    bias_acceleration,
    first_moment,
    inverse_dynamics,
    jacobian,
    JointInputs,
    mass_matrix,
    tip_pose,
    wrench_in_tip_frame,
)
from ..constants import Quantity
from ..dynamics.body_tree import BASE_BODY
from ..dynamics.model import (
    ALIGNED_FRAME,
    MIN_FREE_TO_MAX_INERTIA,
    singular_frame_error,
)
from ..dynamics.regressor import N_LINK_PARAMETERS
from ..errors import InertiaError

TWIST_SIZE = 6  # numbers of a twist or a wrench


@dataclass(frozen=True)
class QuantityWriter:
    """
    Writes the inputs, torques and mass matrix of a chain as expressions of a graph.

    `chains` differ in their tips, of which only FRAMES has several. `keeps_standard_parameters`
    keeps the parameters of the description, which are else regrouped to base parameters. With
    `with_wrench` the surroundings exert a wrench on the tip. `regressor_columns`
    are those of a regressor, `reference_frame` is a Jacobian's.
    """

    graph: Graph
    chains: Sequence[SymbolicChain]
    with_wrench: bool = False
    keeps_standard_parameters: bool = False
    regressor_columns: Sequence[int] | None = None
    reference_frame: str = ALIGNED_FRAME

    @property
    def chain(self) -> SymbolicChain:
        """The first of the chains, with inertial parameters that are not regrouped."""
        return self.chains[0]

    @functools.cached_property
    def _regrouped_chain(self) -> SymbolicChain:
        """The chain with base parameters and moved origins; unchanged if parameters are kept."""
        if self.keeps_standard_parameters:
            return self.chain
        return regroup_parameters(with_origins_nearest_parent(self.chain))

    @property
    def q(self) -> tuple[Expression, ...]:
        """Joint positions as expressions of the graph."""
        return self.input_elements('q')

    def input_elements(self, array: str, count: int = 0) -> tuple[Expression, ...]:
        """Return `count` elements of an input array as expressions, by default one per joint."""
        return tuple(self.graph.variable(f'{array}{i + 1}') for i in range(count or self.chain.n))

    def torques(self, *nonzero: str, weightless: bool = False) -> list[Expression]:
        """Return torques with any wrench; dq, ddq not in `nonzero` are 0, g if `weightless`."""
        chain = self._regrouped_chain
        none = (self.graph.zero,) * self.chain.n
        dq, ddq = (self.input_elements(one) if one in nonzero else none for one in ('dq', 'ddq'))
        inputs = JointInputs(self.q, dq, ddq, weightless=weightless)
        if self.with_wrench and chain.tip_body != BASE_BODY:
            wrench = np.array(self.input_elements('wrench', TWIST_SIZE))
            at_tip = wrench_in_tip_frame(self.graph, chain, self.q, wrench)
            inputs = replace(inputs, tip_wrench=at_tip)
        return inverse_dynamics(self.graph, chain, inputs)

    def mass_matrix(self) -> dict[tuple[int, int], Expression]:
        """Return the elements (i, j), i <= j, of the mass matrix."""
        return mass_matrix(self.graph, self._regrouped_chain, self.q)


# The elements of a quantity by their indices; of a symmetric matrix those (..., i, j), i <= j.
ElementsByIndex = dict[tuple[int, ...], Scalar]


_QuantityFunction = Callable[[QuantityWriter], ElementsByIndex | ScalarArray | Sequence[Scalar]]


def _torques(*nonzero: str, weightless: bool = False) -> _QuantityFunction:
    """Return a function of a QuantityWriter that gives torques, dq and ddq 0 unless `nonzero`."""
    return lambda writer: writer.torques(*nonzero, weightless=weightless)


def _tip_function(quantity: Callable[..., ScalarArray], *input_names: str) -> _QuantityFunction:
    """Return a function that calls `quantity` with a writer's graph, chain and inputs."""
    return lambda one: quantity(one.graph, one.chain, *map(one.input_elements, input_names))


def _mass_matrix(writer: QuantityWriter) -> ElementsByIndex:
    """Return the elements (i, j), i <= j, of the mass matrix, row by row."""
    return dict(sorted(writer.mass_matrix().items()))


def _frame_poses(writer: QuantityWriter) -> ScalarArray:
    """Return the poses of all frames as expressions; each frame is the tip of one chain."""
    return np.array([tip_pose(writer.graph, chain, writer.q) for chain in writer.chains])


def _jacobian(writer: QuantityWriter) -> ScalarArray:
    """Return the tip's Jacobian in the reference frame."""
    return jacobian(writer.graph, writer.chain, writer.q, writer.reference_frame)


def _torque_derivatives(writer: QuantityWriter) -> ElementsByIndex:
    """Return D[0] = dtau/dq, D[1] = dtau/d(dq) and D[2] = dtau/d(ddq) = M, which is symmetric."""
    torques = writer.torques('dq', 'ddq')
    joints = range(writer.chain.n)
    arrays = [writer.input_elements(name) for name in ('q', 'dq', 'ddq')]
    variables = [each for array in arrays for each in array]
    slopes = [gradient(writer.graph, torque, variables) for torque in torques]
    places = [(i, k, j) for i in joints for k in range(3) for j in joints if k < 2 or i <= j]
    return {(k, i, j): slopes[i][k * len(joints) + j] for i, k, j in places}


def _coriolis_matrix(writer: QuantityWriter) -> ScalarArray:
    """Return the elements of the Coriolis matrix of Christoffel symbols."""
    # Each element of C dq is a quadratic form of dq, whose symmetric coefficients are the
    # Christoffel symbols of the first kind (Siciliano et al. 2009, "Robotics", eq. 7.45): half
    # its gradient is a row of C.
    graph = writer.graph
    rates = writer.input_elements('dq')
    rows = [gradient(graph, value, rates) for value in writer.torques('dq', weightless=True)]
    return 0.5 * np.array(rows)


def _regressor(writer: QuantityWriter) -> ScalarArray:
    """Return the torque regressor's elements in the writer's `regressor_columns`."""
    # The torques are linear in the parameters, so their gradients by the parameters are the rows
    # of the regressor.
    every = [name for link in range(writer.chain.n) for name in link_parameter_names(link + 1)]
    columns = range(len(every)) if writer.regressor_columns is None else writer.regressor_columns
    parameters = [writer.graph.variable(every[column]) for column in columns]
    rows = [gradient(writer.graph, torque, parameters) for torque in writer.torques('dq', 'ddq')]
    return np.array(rows, dtype=object).reshape(len(rows), len(parameters))


def _forward_dynamics(writer: QuantityWriter) -> list[Expression]:
    """Return the accelerations M^-1 (tau - C dq - g)."""
    right = [tau - rest for tau, rest in zip(writer.input_elements('tau'), writer.torques('dq'))]
    factors = ldl_factors(writer.graph, writer.mass_matrix(), writer.chain.joint_names)
    return solve_ldl(writer.graph, *factors, right)


def _operational_space_inertia(writer: QuantityWriter) -> ElementsByIndex:
    """Return elements (i, j), i <= j, of the tip's (J M^-1 J^T)^-1 in {S}; or InertiaError."""
    graph = writer.graph
    if len(writer.chain.joints_to_tip()) < TWIST_SIZE:
        raise singular_frame_error()
    J = jacobian(graph, writer.chain, writer.q, ALIGNED_FRAME)
    lower, inverse = ldl_factors(graph, writer.mass_matrix(), writer.chain.joint_names)
    # With M = L D L^T the mobility J M^-1 J^T is Y D^-1 Y^T, rows of Y = J L^-T.
    Y = [solve_lower(graph, lower, row) for row in J]
    places = [(i, j) for i in range(TWIST_SIZE) for j in range(i, TWIST_SIZE)]
    products = {(i, j): zip(Y[i], Y[j], inverse) for i, j in places}
    mobility = {at: graph.sum(y * z * d for y, z, d in each) for at, each in products.items()}
    least = MIN_FREE_TO_MAX_INERTIA * graph.sum(mobility[i, i] for i in range(TWIST_SIZE))
    factors = ldl_factors(graph, mobility, min_pivot=least)
    columns = [solve_ldl(graph, *factors, unit) for unit in np.eye(TWIST_SIZE)]
    return {(i, j): columns[j][i] for i, j in places}


class _QuantitySpec(NamedTuple):
    """
    A quantity's input arrays, output array, its shape, and the function that writes it.

    The function returns an array of expressions, or elements by their indices. In the shape n is
    the number of joints. `parameter_kinds` are the parameters that the quantity depends on, masses
    and gravity.
    """

    input_names: str
    output_name: str
    shape: str
    write: _QuantityFunction
    parameter_kinds: str = 'mass gravity'


_QUANTITY_SPECS = {
    Quantity.INVERSE_DYNAMICS: _QuantitySpec('q dq ddq', 'tau', 'n', _torques('dq', 'ddq')),
    Quantity.NONLINEAR_EFFECTS: _QuantitySpec('q dq', 'tau', 'n', _torques('dq')),
    Quantity.GRAVITY: _QuantitySpec('q', 'tau', 'n', _torques()),
    Quantity.CORIOLIS: _QuantitySpec('q dq', 'tau', 'n', _torques('dq', weightless=True), 'mass'),
    Quantity.MASS_MATRIX: _QuantitySpec('q', 'M', 'n n', _mass_matrix, 'mass'),
    Quantity.DERIVATIVES: _QuantitySpec('q dq ddq', 'D', '3 n n', _torque_derivatives),
    Quantity.FORWARD_DYNAMICS: _QuantitySpec('q dq tau', 'ddq', 'n', _forward_dynamics),
    Quantity.CORIOLIS_MATRIX: _QuantitySpec('q dq', 'C', 'n n', _coriolis_matrix, 'mass'),
    Quantity.REGRESSOR: _QuantitySpec('q dq ddq', 'H', 'n columns', _regressor),
    Quantity.FLANGE_POSE: _QuantitySpec('q', 'T', '4 4', _tip_function(tip_pose, 'q'), ''),
    Quantity.JACOBIAN: _QuantitySpec('q', 'J', '6 n', _jacobian, ''),
    Quantity.BIAS_ACCELERATION: _QuantitySpec(
        'q dq', 'a', '6', _tip_function(bias_acceleration, 'q', 'dq'), ''
    ),
    Quantity.OPERATIONAL_SPACE_INERTIA: _QuantitySpec(
        'q', 'A', '6 6', _operational_space_inertia, 'mass'
    ),
    Quantity.FRAMES: _QuantitySpec('q', 'T', 'frames 4 4', _frame_poses, ''),
    Quantity.FIRST_MOMENT: _QuantitySpec('q', 'h', '3', _tip_function(first_moment, 'q'), 'mass'),
}
# In a formula {tip} stands for the name of a frame.
FORMULAS = {
    Quantity.INVERSE_DYNAMICS: 'tau = M(q) ddq + C(q, dq) dq + g(q)',
    Quantity.NONLINEAR_EFFECTS: 'tau = C(q, dq) dq + g(q)',
    Quantity.GRAVITY: 'tau = g(q)',
    Quantity.CORIOLIS: 'tau = C(q, dq) dq',
    Quantity.MASS_MATRIX: 'M = M(q), symmetric, rotor inertias on its diagonal',
    Quantity.DERIVATIVES: 'D[0] = dtau/dq, D[1] = dtau/d(dq), D[2] = M, of inverse dynamics',
    Quantity.CORIOLIS_MATRIX: 'C = C(q, dq) of Christoffel symbols: dM/dt = C + C^T',
    Quantity.FORWARD_DYNAMICS: 'ddq = M(q)^-1 (tau - C(q, dq) dq - g(q)), by L D L^T',
    Quantity.REGRESSOR: 'H with tau = H X without rotors, X the ten parameters of every link',
    Quantity.FLANGE_POSE: 'T = pose of {tip} in the space frame',
    Quantity.JACOBIAN: 'J with (v, omega) = J dq of {tip}',
    Quantity.BIAS_ACCELERATION: 'a = dJ/dt dq of {tip}, in space axes',
    Quantity.OPERATIONAL_SPACE_INERTIA: 'A = (J M^-1 J^T)^-1 at {tip}, in space axes',
    Quantity.FRAMES: "T = poses of the joints' frames and of the flange in the space frame",
    Quantity.FIRST_MOMENT: 'h = sum of mass times centre of mass of all links, in the space frame',
}
# Names of a quantity's input arrays and of its output.
INPUT_NAMES = {one: tuple(row.input_names.split()) for one, row in _QUANTITY_SPECS.items()}
OUTPUT_NAMES = {one: row.output_name for one, row in _QUANTITY_SPECS.items()}
# Words mass and gravity, for quantities that depend on them.
PARAMETER_KINDS = {one: row.parameter_kinds.split() for one, row in _QUANTITY_SPECS.items()}


def output_shape(
    quantity: Quantity,
    n: int,
    columns: Sequence[int] | None = None,
    *,
    derivatives: bool = False,
) -> tuple[int, ...]:
    """Return the shape of a quantity, or of its derivatives, for n joints."""
    width = N_LINK_PARAMETERS * n if columns is None else len(columns)
    sizes = {'n': n, 'frames': n + 1, 'columns': width, '3': 3, '4': 4, '6': TWIST_SIZE}
    shape = tuple(sizes[size] for size in _QUANTITY_SPECS[quantity].shape.split())
    return (*shape, n * len(INPUT_NAMES[quantity])) if derivatives else shape


def outputs_of(
    quantity: Quantity, writer: QuantityWriter, *, derivatives: bool = False
) -> list[OutputValue]:
    """
    Return a quantity's elements, or their derivatives, as expressions of the writer's graph.

    With `derivatives` return those of the elements by all inputs: one more axis, at the end.
    """
    found = _QUANTITY_SPECS[quantity].write(writer)
    outputs = []
    if isinstance(found, dict):
        for (*at, i, j), value in found.items():
            places = ((*at, i, j),) if (*at, j, i) in found else ((*at, i, j), (*at, j, i))
            outputs.append(OutputValue(places, writer.graph.expression(value)))
    else:
        array: Any = np.asarray(found, dtype=object)
        every = np.ndindex(array.shape)
        outputs = [OutputValue((at,), writer.graph.expression(array[at])) for at in every]
    if not derivatives:
        return outputs
    variables = [one for array in INPUT_NAMES[quantity] for one in writer.input_elements(array)]
    return [
        OutputValue(tuple((*place, k) for place in output.element_indices), slope)
        for output in outputs
        for k, slope in enumerate(gradient(writer.graph, output.value, variables))
    ]


LowerTriangle = dict[tuple[int, int], Expression]


def ldl_factors(
    graph: Graph,
    elements: Mapping[tuple[int, int], Expression],
    joint_names: Sequence[str] = (),
    *,
    min_pivot: Expression | None = None,
) -> tuple[LowerTriangle, list[Expression]]:
    """
    Return L and reciprocals of D of a symmetric matrix L D L^T; InertiaError if it is singular.

    This takes a division for each row and no square roots (Golub and Van Loan 2013, section
    4.1.2). `elements` maps (i, j), i <= j, to the elements of the matrix. If the expression of a
    pivot is 0, an InertiaError names the pivot's joint or, with `min_pivot`, says that the inertia
    at a frame is singular. A pivot not above `min_pivot` makes the result NaN. With
    `joint_names` the variables of D, 1/D and L in generated code are named D1, E1, L2_1 and so on.
    """
    L: LowerTriangle = {}
    scaled: LowerTriangle = {}  # L D
    inverse: list[Expression] = []
    n = max(i for i, _ in elements) + 1
    for j in range(n):
        pivot = elements[j, j] - graph.sum(L[j, k] * scaled[j, k] for k in range(j))
        if min_pivot is not None:
            if pivot.is_zero:
                raise singular_frame_error()
            root = graph.sqrt(pivot - min_pivot)
            pivot = root * root + min_pivot
        elif pivot.is_zero:
            raise InertiaError(
                f'The mass matrix is singular: {joint_names[j]} moves no mass, or only mass '
                'that the joints before it move in the same way, and has no rotor inertia. Its '
                'acceleration is undetermined. Give its link an inertia, or the joint a '
                'rotor_inertia.'
            )
        inverse.append(graph.reciprocal(pivot))
        if joint_names:
            graph.set_name(f'D{j + 1}', pivot)
            graph.set_name(f'E{j + 1}', inverse[j])
        for i in range(j + 1, n):
            rest = graph.sum(L[j, k] * scaled[i, k] for k in range(j))
            scaled[i, j] = elements[j, i] - rest
            L[i, j] = scaled[i, j] * inverse[j]
            if joint_names:
                graph.set_name(f'L{i + 1}_{j + 1}', L[i, j])
    return L, inverse


def solve_lower(graph: Graph, L: LowerTriangle, rhs: Iterable[Scalar]) -> list[Expression]:
    """Return y with L y = rhs."""
    y: list[Expression] = []
    for i, value in enumerate(rhs):
        y.append(graph.expression(value) - graph.sum(L[i, k] * y[k] for k in range(i)))
    return y


def solve_ldl(
    graph: Graph,
    L: LowerTriangle,
    D_inverse: Sequence[Expression],
    rhs: Iterable[Scalar],
) -> list[Expression]:
    """Return x with L D L^T x = rhs."""
    y = solve_lower(graph, L, rhs)
    n = len(y)
    x = [graph.zero] * n
    for i in reversed(range(n)):
        x[i] = y[i] * D_inverse[i] - graph.sum(L[k, i] * x[k] for k in range(i + 1, n))
    return x
