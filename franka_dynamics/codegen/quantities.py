# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Writes torques, mass matrix and other quantities of a chain as expressions of its inputs."""

from collections.abc import Callable, Sequence
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
from .linear_algebra import ldl_factors, solve_ldl, solve_lower
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

TWIST_SIZE = 6  # numbers of a twist or a wrench


@dataclass(frozen=True)
class QuantityWriter:
    """
    Writes the inputs, torques and mass matrix of a chain as expressions of a graph.

    `chains` differ in their tips; only FRAMES has several. With `with_wrench` the surroundings
    exert a wrench on the tip. `keeps_standard_parameters` keeps the parameters of the description,
    which otherwise are regrouped to base parameters. `regressor_columns` are those of a regressor,
    `reference_frame` is a Jacobian's.
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

    def torques(
        self, *, with_dq: bool = False, with_ddq: bool = False, weightless: bool = False
    ) -> list[Expression]:
        """
        Return the torques at q, with the wrench if there is one.

        Velocities and accelerations are zero unless `with_dq` and `with_ddq`; `weightless` leaves
        gravity out.
        """
        chain = self._regrouped_chain
        zeros = (self.graph.zero,) * self.chain.n
        dq = self.input_elements('dq') if with_dq else zeros
        ddq = self.input_elements('ddq') if with_ddq else zeros
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


def _inverse_dynamics(writer: QuantityWriter) -> list[Expression]:
    """Return the torques M ddq + C dq + g."""
    return writer.torques(with_dq=True, with_ddq=True)


def _nonlinear_effects(writer: QuantityWriter) -> list[Expression]:
    """Return the torques C dq + g."""
    return writer.torques(with_dq=True)


def _gravity(writer: QuantityWriter) -> list[Expression]:
    """Return the torques g."""
    return writer.torques()


def _coriolis(writer: QuantityWriter) -> list[Expression]:
    """Return the torques C dq."""
    return writer.torques(with_dq=True, weightless=True)


def _mass_matrix(writer: QuantityWriter) -> ElementsByIndex:
    """Return the elements (i, j), i <= j, of the mass matrix, row by row."""
    return dict(sorted(writer.mass_matrix().items()))


def _tip_pose(writer: QuantityWriter) -> ScalarArray:
    """Return the tip's pose in the space frame."""
    return tip_pose(writer.graph, writer.chain, writer.q)


def _frame_poses(writer: QuantityWriter) -> ScalarArray:
    """Return the poses of all frames as expressions; each frame is the tip of one chain."""
    return np.array([tip_pose(writer.graph, chain, writer.q) for chain in writer.chains])


def _jacobian(writer: QuantityWriter) -> ScalarArray:
    """Return the tip's Jacobian in the reference frame."""
    return jacobian(writer.graph, writer.chain, writer.q, writer.reference_frame)


def _bias_acceleration(writer: QuantityWriter) -> ScalarArray:
    """Return dJ/dt dq of the tip in space axes."""
    q = writer.q
    return bias_acceleration(writer.graph, writer.chain, q, writer.input_elements('dq'))


def _first_moment(writer: QuantityWriter) -> ScalarArray:
    """Return the first moment of all links in the space frame."""
    return first_moment(writer.graph, writer.chain, writer.q)


def _torque_derivatives(writer: QuantityWriter) -> ElementsByIndex:
    """Return D[0] = dtau/dq, D[1] = dtau/d(dq) and D[2] = dtau/d(ddq) = M, which is symmetric."""
    torques = writer.torques(with_dq=True, with_ddq=True)
    n = writer.chain.n
    inputs = [
        *writer.input_elements('q'),
        *writer.input_elements('dq'),
        *writer.input_elements('ddq'),
    ]
    elements: ElementsByIndex = {}
    for i, torque in enumerate(torques):
        slopes = gradient(writer.graph, torque, inputs)
        for j in range(n):
            elements[0, i, j] = slopes[j]
        for j in range(n):
            elements[1, i, j] = slopes[n + j]
        for j in range(i, n):
            elements[2, i, j] = slopes[2 * n + j]
    return elements


def _coriolis_matrix(writer: QuantityWriter) -> ScalarArray:
    """Return the elements of the Coriolis matrix of Christoffel symbols."""
    # Each element of C dq is a quadratic form of dq, whose symmetric coefficients are the
    # Christoffel symbols of the first kind (Siciliano et al. 2009, "Robotics", eq. 7.45): half
    # its gradient is a row of C.
    graph = writer.graph
    rates = writer.input_elements('dq')
    rows = [gradient(graph, torque, rates) for torque in _coriolis(writer)]
    return 0.5 * np.array(rows)


def _regressor(writer: QuantityWriter) -> ScalarArray:
    """Return the torque regressor's elements in the writer's `regressor_columns`."""
    # The torques are linear in the parameters, so their gradients by the parameters are the rows
    # of the regressor.
    names = [name for link in range(writer.chain.n) for name in link_parameter_names(link + 1)]
    if writer.regressor_columns is not None:
        names = [names[column] for column in writer.regressor_columns]
    parameters = [writer.graph.variable(name) for name in names]
    rows = [gradient(writer.graph, torque, parameters) for torque in _inverse_dynamics(writer)]
    return np.array(rows, dtype=object).reshape(len(rows), len(parameters))


def _forward_dynamics(writer: QuantityWriter) -> list[Expression]:
    """Return the accelerations M^-1 (tau - C dq - g)."""
    applied = writer.input_elements('tau')
    driving = [tau - bias for tau, bias in zip(applied, _nonlinear_effects(writer))]
    factors = ldl_factors(writer.graph, writer.mass_matrix(), writer.chain.joint_names)
    return solve_ldl(writer.graph, *factors, driving)


def _operational_space_inertia(writer: QuantityWriter) -> ElementsByIndex:
    """Return elements (i, j), i <= j, of the tip's (J M^-1 J^T)^-1 in {S}; or InertiaError."""
    graph = writer.graph
    if len(writer.chain.joints_to_tip()) < TWIST_SIZE:
        raise singular_frame_error()
    J = jacobian(graph, writer.chain, writer.q, ALIGNED_FRAME)
    L, D_inverse = ldl_factors(graph, writer.mass_matrix(), writer.chain.joint_names)
    # With M = L D L^T the mobility J M^-1 J^T is Y D^-1 Y^T, rows of Y = J L^-T.
    Y = [solve_lower(graph, L, row) for row in J]
    upper_triangle = [(i, j) for i in range(TWIST_SIZE) for j in range(i, TWIST_SIZE)]
    mobility = {
        (i, j): graph.sum(y * z * d for y, z, d in zip(Y[i], Y[j], D_inverse))
        for i, j in upper_triangle
    }
    trace = graph.sum(mobility[i, i] for i in range(TWIST_SIZE))
    factors = ldl_factors(graph, mobility, min_pivot=MIN_FREE_TO_MAX_INERTIA * trace)
    columns = [solve_ldl(graph, *factors, unit) for unit in np.eye(TWIST_SIZE)]
    return {(i, j): columns[j][i] for i, j in upper_triangle}


class _QuantitySpec(NamedTuple):
    """
    A quantity's arrays, formula, parameters and options, and the function that writes it.

    A size of the `shape` is a number, 'n' (joints), 'frames' or 'columns' (of a regressor).
    `write` returns an array of expressions, or elements by their indices. In the `formula` {tip}
    stands for the name of a frame. `parameter_kinds` are the parameters on which the quantity
    depends, masses and gravity. `options` are those arguments of `customised_equations` that only
    some quantities have: columns, frame, reference_frame, wrench.
    """

    input_names: tuple[str, ...]
    output_name: str
    shape: tuple[int | str, ...]
    write: _QuantityFunction
    formula: str
    parameter_kinds: tuple[str, ...] = ('mass', 'gravity')
    options: tuple[str, ...] = ()


_QUANTITY_SPECS = {
    Quantity.INVERSE_DYNAMICS: _QuantitySpec(
        ('q', 'dq', 'ddq'),
        'tau',
        ('n',),
        _inverse_dynamics,
        'tau = M(q) ddq + C(q, dq) dq + g(q)',
        options=('wrench',),
    ),
    Quantity.NONLINEAR_EFFECTS: _QuantitySpec(
        ('q', 'dq'), 'tau', ('n',), _nonlinear_effects, 'tau = C(q, dq) dq + g(q)'
    ),
    Quantity.GRAVITY: _QuantitySpec(('q',), 'tau', ('n',), _gravity, 'tau = g(q)'),
    Quantity.CORIOLIS: _QuantitySpec(
        ('q', 'dq'), 'tau', ('n',), _coriolis, 'tau = C(q, dq) dq', ('mass',)
    ),
    Quantity.MASS_MATRIX: _QuantitySpec(
        ('q',),
        'M',
        ('n', 'n'),
        _mass_matrix,
        'M = M(q), symmetric, rotor inertias on its diagonal',
        ('mass',),
    ),
    Quantity.DERIVATIVES: _QuantitySpec(
        ('q', 'dq', 'ddq'),
        'D',
        (3, 'n', 'n'),
        _torque_derivatives,
        'D[0] = dtau/dq, D[1] = dtau/d(dq), D[2] = M, of inverse dynamics',
    ),
    Quantity.FORWARD_DYNAMICS: _QuantitySpec(
        ('q', 'dq', 'tau'),
        'ddq',
        ('n',),
        _forward_dynamics,
        'ddq = M(q)^-1 (tau - C(q, dq) dq - g(q)), by L D L^T',
    ),
    Quantity.CORIOLIS_MATRIX: _QuantitySpec(
        ('q', 'dq'),
        'C',
        ('n', 'n'),
        _coriolis_matrix,
        'C = C(q, dq) of Christoffel symbols: dM/dt = C + C^T',
        ('mass',),
    ),
    Quantity.REGRESSOR: _QuantitySpec(
        ('q', 'dq', 'ddq'),
        'H',
        ('n', 'columns'),
        _regressor,
        'H with tau = H X without rotors, X the ten parameters of every link',
        options=('columns',),
    ),
    Quantity.FLANGE_POSE: _QuantitySpec(
        ('q',), 'T', (4, 4), _tip_pose, 'T = pose of {tip} in the space frame', (), ('frame',)
    ),
    Quantity.JACOBIAN: _QuantitySpec(
        ('q',),
        'J',
        (TWIST_SIZE, 'n'),
        _jacobian,
        'J with (v, omega) = J dq of {tip}',
        (),
        ('frame', 'reference_frame'),
    ),
    Quantity.BIAS_ACCELERATION: _QuantitySpec(
        ('q', 'dq'),
        'a',
        (TWIST_SIZE,),
        _bias_acceleration,
        'a = dJ/dt dq of {tip}, in space axes',
        (),
        ('frame',),
    ),
    Quantity.OPERATIONAL_SPACE_INERTIA: _QuantitySpec(
        ('q',),
        'A',
        (TWIST_SIZE, TWIST_SIZE),
        _operational_space_inertia,
        'A = (J M^-1 J^T)^-1 at {tip}, in space axes',
        ('mass',),
        ('frame',),
    ),
    Quantity.FRAMES: _QuantitySpec(
        ('q',),
        'T',
        ('frames', 4, 4),
        _frame_poses,
        "T = poses of the joints' frames and of the flange in the space frame",
        (),
    ),
    Quantity.FIRST_MOMENT: _QuantitySpec(
        ('q',),
        'h',
        (3,),
        _first_moment,
        'h = sum of mass times centre of mass of all links, in the space frame',
        ('mass',),
    ),
}
INPUT_NAMES = {quantity: spec.input_names for quantity, spec in _QUANTITY_SPECS.items()}
OUTPUT_NAMES = {quantity: spec.output_name for quantity, spec in _QUANTITY_SPECS.items()}
FORMULAS = {quantity: spec.formula for quantity, spec in _QUANTITY_SPECS.items()}
PARAMETER_KINDS = {quantity: spec.parameter_kinds for quantity, spec in _QUANTITY_SPECS.items()}
OPTIONS = {quantity: spec.options for quantity, spec in _QUANTITY_SPECS.items()}


def output_shape(
    quantity: Quantity,
    n: int,
    columns: Sequence[int] | None = None,
    *,
    derivatives: bool = False,
) -> tuple[int, ...]:
    """Return the shape of a quantity, or of its derivatives, for n joints."""
    column_count = N_LINK_PARAMETERS * n if columns is None else len(columns)
    sizes = {'n': n, 'frames': n + 1, 'columns': column_count}
    shape = [
        size if isinstance(size, int) else sizes[size] for size in _QUANTITY_SPECS[quantity].shape
    ]
    if derivatives:
        shape.append(n * len(INPUT_NAMES[quantity]))
    return tuple(shape)


def outputs_of(
    quantity: Quantity, writer: QuantityWriter, *, derivatives: bool = False
) -> list[OutputValue]:
    """
    Return a quantity's elements, or their derivatives, as expressions of the writer's graph.

    With `derivatives` return those of the elements by all inputs: one more axis, at the end.
    """
    written = _QUANTITY_SPECS[quantity].write(writer)
    outputs = []
    if isinstance(written, dict):
        for (*leading, i, j), value in written.items():
            places: tuple[tuple[int, ...], ...] = ((*leading, i, j),)
            if (*leading, j, i) not in written:  # of a symmetric matrix half the elements
                places = ((*leading, i, j), (*leading, j, i))
            outputs.append(OutputValue(places, writer.graph.expression(value)))
    else:
        array: Any = np.asarray(written, dtype=object)
        for place in np.ndindex(array.shape):
            outputs.append(OutputValue((place,), writer.graph.expression(array[place])))
    if not derivatives:
        return outputs
    variables = [
        variable for name in INPUT_NAMES[quantity] for variable in writer.input_elements(name)
    ]
    return [
        OutputValue(tuple((*place, k) for place in output.element_indices), slope)
        for output in outputs
        for k, slope in enumerate(gradient(writer.graph, output.value, variables))
    ]
