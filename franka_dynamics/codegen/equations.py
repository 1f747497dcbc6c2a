# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Generates the customised equations of an arm or a tree, by quantity."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
import functools
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .chain import build_chain, GeneratorChain, link_parameter_names
from .expression import Expression, gradient, Graph, Number
from .kinematics import in_tip_frame, jacobian, tip_pose
from .options import ParameterMode, Quantity
from .program import Output, Program, write_program
from .recursion import Inputs, inverse_dynamics, mass_matrix
from .regrouping import regroup_parameters, with_origins_nearest_parent
from ..arm import ArmDescription
from ..arm.frames import FLANGE, Frame
from ..arm_io import as_description
from ..dynamics.body_tree import BodyTree
from ..dynamics.derivatives import linearize
from ..dynamics.model import GRAVITY, gravity_vector
from ..dynamics.regressor import chosen_columns, LINK_PARAMETERS
from ..errors import as_enum, InertiaError, SettingsError


class _ArraySignature(NamedTuple):
    """The names of a quantity's input arrays and of its output array, and the output's shape."""

    arrays: tuple[str, ...]
    output: str
    shape: tuple[int, ...]


def function_signature(
    quantity: Quantity, n: int, columns: Sequence[int] | None = None
) -> _ArraySignature:
    """Return the names of a quantity's input arrays and output, and the output's shape."""
    width = 10 * n if columns is None else len(columns)
    return {
        Quantity.INVERSE_DYNAMICS: _ArraySignature(('q', 'dq', 'ddq'), 'tau', (n,)),
        Quantity.NONLINEAR_EFFECTS: _ArraySignature(('q', 'dq'), 'tau', (n,)),
        Quantity.GRAVITY: _ArraySignature(('q',), 'tau', (n,)),
        Quantity.CORIOLIS: _ArraySignature(('q', 'dq'), 'tau', (n,)),
        Quantity.MASS_MATRIX: _ArraySignature(('q',), 'M', (n, n)),
        Quantity.DERIVATIVES: _ArraySignature(('q', 'dq', 'ddq'), 'D', (3, n, n)),
        Quantity.FORWARD_DYNAMICS: _ArraySignature(('q', 'dq', 'tau'), 'ddq', (n,)),
        Quantity.CORIOLIS_MATRIX: _ArraySignature(('q', 'dq'), 'C', (n, n)),
        Quantity.REGRESSOR: _ArraySignature(('q', 'dq', 'ddq'), 'H', (n, width)),
        Quantity.FLANGE_POSE: _ArraySignature(('q',), 'T', (4, 4)),
        Quantity.JACOBIAN: _ArraySignature(('q',), 'J', (6, n)),
    }[quantity]


@dataclass(frozen=True, eq=False)
class Equations:
    """
    The equations of one quantity of an arm or tree, as expressions of a graph.

    `outputs` are expressions of `graph` in the elements of the input `arrays`; `shape` is the
    output array's. `parameters` names the parameters that are set at run time; if there are any,
    gravity is one of them, and `gravity` in the space frame [m/s^2] is not used. Pose, Jacobian
    and wrench are those of `frame`.
    """

    description: ArmDescription | BodyTree
    gravity: tuple[float, ...]
    quantity: Quantity
    graph: Graph
    outputs: tuple[Output, ...]
    arrays: tuple[str, ...]
    shape: tuple[int, ...]
    parameters: tuple[str, ...]
    frame: Frame = FLANGE

    @property
    def n(self) -> int:
        """Number of joints."""
        return self.description.n

    @property
    def arm_name(self) -> str:
        """The arm's name; 'tree' for a tree."""
        return 'tree' if isinstance(self.description, BodyTree) else self.description.name

    @functools.cached_property
    def program(self) -> Program:
        """The equations as a straight-line program of assignments."""
        name = self.quantity.value
        return write_program(
            name if self.frame == FLANGE else name.replace('flange', 'frame'),
            self.graph,
            self.outputs,
            self.arrays,
            function_signature(self.quantity, self.n).output,
            self.shape,
            self.parameters,
        )


def customised_equations(
    description: ArmDescription | BodyTree | str | Path,
    quantity: Quantity | str = Quantity.INVERSE_DYNAMICS,
    gravity: ArrayLike = GRAVITY,
    *,
    parameters: ParameterMode | str = ParameterMode.BAKED,
    wrench: bool = False,
    classical: bool = False,
    columns: Sequence[int] | None = None,
    derivatives: bool = False,
    frame: Frame = FLANGE,
) -> Equations:
    """
    Return the equations of one quantity, customised to the constants of an arm or a tree.

    Parameters
    ----------
    description : ArmDescription, BodyTree, str or Path
        The arm (or its name or file), with its hand and payload as desired; revolute and prismatic
        joints. Or a tree of bodies, such as a torso with two arms.
    quantity : Quantity or str
        The quantity to compute, or its value, such as 'gravity'.
    gravity : array_like, shape (3,)
        Gravity in the space frame [m/s^2]; not used if parameters are set at run time.
    parameters : ParameterMode or str
        BAKED writes the inertial parameters and gravity as numbers into the code. RUN_TIME makes
        the ten parameters of each link, its rotor inertia and gravity the arguments of a function
        that is called once and prepares constants.
    wrench : bool
        Whether the surroundings exert a wrench on the flange (on a tree's tool), given as the
        input array `wrench` (6,): force, then moment about the flange's origin, in the axes of the
        space frame [N, N m], as `Model` takes it. Only for INVERSE_DYNAMICS.
    classical : bool
        Whether the ten parameters of each link are used as they are, instead of base
        parameters. This takes more operations and is meant for comparisons.
    columns : sequence of int, optional
        Which of the 10 n columns a regressor has, in this order; all if not given.
    derivatives : bool
        Whether to return the derivatives of the quantity by all inputs (but the wrench) instead
        of the quantity. The output then has one more axis, with the derivatives by q first.
    frame : int or str
        Frame of an arm to which pose, Jacobian and wrench belong in place of the flange, as
        `Model.jacobian` takes it. A tree has its tool.

    Returns
    -------
    Equations
        The expressions of the quantity; its `program` has the statements for generated code.

    Raises
    ------
    SettingsError
        If `quantity` or `parameters` is none of the allowed values, if a regressor is to have
        parameters at run time, or another quantity than inverse dynamics a wrench.
    FrameError
        If an arm has no such frame.
    BaseParameterError
        If a column of a regressor does not exist or is named twice.
    InertiaError
        If forward dynamics are asked for and the mass matrix is singular at every position.

    """
    if not isinstance(description, BodyTree):
        description = as_description(description)
    columns = chosen_columns(columns, LINK_PARAMETERS * description.n)
    quantity = as_enum(Quantity, quantity, 'quantity', SettingsError)
    parameters = as_enum(ParameterMode, parameters, 'parameters', SettingsError)
    at_run_time = parameters is ParameterMode.RUN_TIME
    _require_possible(quantity, at_run_time, wrench)
    graph = Graph(parameters_vary=quantity is Quantity.REGRESSOR)
    symbols = graph if at_run_time or quantity is Quantity.REGRESSOR else None
    chain = build_chain(description, None if at_run_time else gravity, symbols, frame)
    outputs = outputs_of(
        quantity, graph, chain, wrench=wrench, classical=classical, columns=columns
    )
    if quantity is Quantity.FORWARD_DYNAMICS and not at_run_time:
        # `linearize`, called at q = (0, 1, 2, ...), raises InertiaError if the mass matrix is
        # singular but for rounding errors; `_solved` notices only a pivot that is exactly zero.
        linearize(description, np.arange(description.n), *np.zeros((2, description.n)))
    known = function_signature(quantity, description.n, columns)
    arrays, shape = (*known.arrays, *(('wrench',) if wrench else ())), known.shape
    if derivatives:
        outputs = _output_derivatives(graph, outputs, known.arrays, description.n)
        shape = (*shape, description.n * len(known.arrays))
    return Equations(
        description,
        tuple(gravity_vector(gravity).tolist()),
        quantity,
        graph,
        tuple(outputs),
        arrays,
        shape,
        run_time_parameter_names(description.n) if at_run_time else (),
        frame,
    )


def _require_possible(quantity: Quantity, at_run_time: bool, wrench: bool) -> None:
    """Raise SettingsError for what a quantity cannot have."""
    if quantity is Quantity.REGRESSOR and at_run_time:
        raise SettingsError(
            'A regressor has no inertial parameters to set at run time; leave them baked in.'
        )
    if wrench and quantity is not Quantity.INVERSE_DYNAMICS:
        raise SettingsError(
            f'Only inverse dynamics have a wrench as input: {quantity.value} has none; leave '
            'wrench out.'
        )


def run_time_parameter_names(n: int) -> tuple[str, ...]:
    """Return names of run-time parameters: each link's ten and its rotor inertia, then gravity."""
    links = [
        name
        for link in range(1, n + 1)
        for name in (*link_parameter_names(link), f'X{link}_rotor')
    ]
    return (*links, 'gx', 'gy', 'gz')


def run_time_parameter_values(description: ArmDescription) -> tuple[float, ...]:
    """Return an arm's values of the run-time parameters: links, rotors, and gravity 9.81 m/s^2."""
    links = [
        float(value)
        for link, joint in zip(description.links, description.joints)
        for value in (*link.parameters(), joint.rotor_inertia)
    ]
    return (*links, *GRAVITY)


def outputs_of(
    quantity: Quantity,
    graph: Graph,
    chain: GeneratorChain,
    *,
    wrench: bool = False,
    classical: bool = False,
    columns: Sequence[int] | None = None,
) -> list[Output]:
    """Return the elements of a quantity of a chain as expressions of `graph`."""
    n, arrays = chain.n, function_signature(quantity, chain.n).arrays
    q = _variables(graph, 'q', n)
    if quantity is Quantity.FLANGE_POSE:
        return _matrix(graph, tip_pose(graph, chain, q))
    if quantity is Quantity.JACOBIAN:
        return _matrix(graph, jacobian(graph, chain, q))
    if not classical and quantity is not Quantity.REGRESSOR:
        chain = regroup_parameters(with_origins_nearest_parent(chain))
    if quantity is Quantity.MASS_MATRIX:
        return [
            Output(((i, j),) if i == j else ((i, j), (j, i)), element)
            for (i, j), element in sorted(mass_matrix(graph, chain, q).items())
        ]
    force, moment = None, None
    if wrench:
        acting = np.array(_variables(graph, 'wrench', 6))
        force, moment = in_tip_frame(graph, chain, q, acting)
    dq, ddq = (
        _variables(graph, one, n) if one in arrays else (graph.zero,) * n for one in ('dq', 'ddq')
    )
    weightless = quantity in (Quantity.CORIOLIS, Quantity.CORIOLIS_MATRIX)
    inputs = Inputs(q, dq, ddq, force, moment, weightless)
    values = inverse_dynamics(graph, chain, inputs)
    if quantity is Quantity.FORWARD_DYNAMICS:
        given = zip(_variables(graph, 'tau', n), values)
        accelerating = [torque - effects for torque, effects in given]
        values = _solved(graph, mass_matrix(graph, chain, q), accelerating, chain.names)
    return _of_torques(quantity, graph, inputs, values, columns)


def _of_torques(
    quantity: Quantity,
    graph: Graph,
    inputs: Inputs,
    values: Sequence[Expression],
    columns: Sequence[int] | None,
) -> list[Output]:
    """Return a quantity that is the value for each joint, or a gradient of it."""
    if quantity is Quantity.DERIVATIVES:
        return _derivatives(graph, values, (inputs.q, inputs.dq, inputs.ddq))
    if quantity is Quantity.CORIOLIS_MATRIX:
        # Each element of C dq is a quadratic form of dq, whose symmetric coefficients are the
        # Christoffel symbols of the first kind (Siciliano et al. 2009, "Robotics", eq. 7.45): half
        # its gradient is a row of C.
        rows = [gradient(graph, value, inputs.dq) for value in values]
        return _matrix(graph, [[0.5 * slope for slope in row] for row in rows])
    if quantity is Quantity.REGRESSOR:
        # The torques are linear in the parameters, so their gradients by the parameters are the
        # rows of the regressor.
        links = range(1, len(values) + 1)
        every = [name for link in links for name in link_parameter_names(link)]
        named = every if columns is None else [every[column] for column in columns]
        parameters = [graph.variable(name) for name in named]
        return _matrix(graph, [gradient(graph, value, parameters) for value in values])
    return [Output(((i,),), value) for i, value in enumerate(values)]


def _matrix(graph: Graph, rows: Iterable[Iterable[Number]]) -> list[Output]:
    return [
        Output(((i, j),), graph.lift(value))
        for i, row in enumerate(rows)
        for j, value in enumerate(row)
    ]


def _derivatives(
    graph: Graph, torques: Sequence[Expression], variables: Sequence[Sequence[Expression]]
) -> list[Output]:
    """Return D[0] = dtau/dq, D[1] = dtau/d(dq) and D[2] = dtau/d(ddq) = M, which is symmetric."""
    outputs = []
    for i, torque in enumerate(torques):
        slopes = gradient(graph, torque, [variable for array in variables for variable in array])
        for k, slope in enumerate(slopes):
            kind, j = divmod(k, len(torques))
            if kind < 2:
                outputs.append(Output(((kind, i, j),), slope))
            elif i <= j:
                outputs.append(Output(((2, i, j), (2, j, i)) if i < j else ((2, i, i),), slope))
    return outputs


def _output_derivatives(
    graph: Graph, outputs: Sequence[Output], arrays: Sequence[str], n: int
) -> list[Output]:
    variables = [variable for array in arrays for variable in _variables(graph, array, n)]
    return [
        Output(tuple((*place, k) for place in output.places), slope)
        for output in outputs
        for k, slope in enumerate(gradient(graph, output.value, variables))
    ]


def _solved(
    graph: Graph,
    elements: Mapping[tuple[int, int], Expression],
    right: Sequence[Expression],
    names: Sequence[str],
) -> list[Expression]:
    """
    Return x with M x = right, by M = L D L^T (Golub and Van Loan 2013, section 4.1.2).

    Solving M x = right takes n divisions and no square roots. `elements` maps (i, j), i <= j, to
    the elements of M. If the expression of a pivot is 0, an InertiaError names the pivot's joint
    (`names`).
    """
    n = len(right)
    L: dict[tuple[int, int], Expression] = {}
    scaled: dict[tuple[int, int], Expression] = {}  # L D
    inverse: list[Expression] = []
    for j in range(n):
        pivot = elements[j, j] - graph.sum(L[j, k] * scaled[j, k] for k in range(j))
        if pivot.is_zero:
            raise InertiaError(
                f'The mass matrix is singular: {names[j]} moves no mass, or only mass that the '
                'joints before it move in the same way, and has no rotor inertia. Its '
                'acceleration is undetermined. Give its link an inertia, or the joint a '
                'rotor_inertia.'
            )
        inverse.append(graph.reciprocal(pivot))
        graph.name(f'D{j + 1}', pivot)
        graph.name(f'E{j + 1}', inverse[j])
        for i in range(j + 1, n):
            rest = graph.sum(L[j, k] * scaled[i, k] for k in range(j))
            scaled[i, j] = elements[j, i] - rest
            L[i, j] = scaled[i, j] * inverse[j]
            graph.name(f'L{i + 1}_{j + 1}', L[i, j])
    y: list[Expression] = []
    for i in range(n):
        y.append(right[i] - graph.sum(L[i, k] * y[k] for k in range(i)))
    x = [graph.zero] * n
    for i in reversed(range(n)):
        x[i] = y[i] * inverse[i] - graph.sum(L[k, i] * x[k] for k in range(i + 1, n))
    return x


def _variables(graph: Graph, array: str, n: int) -> tuple[Expression, ...]:
    return tuple(graph.variable(f'{array}{i + 1}') for i in range(n))
