# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The customised equations of one arm: which quantity, which parameters, in the cheapest form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
import hashlib
import pickle

from numpy.typing import ArrayLike

from .chain import (
    build_chain,
    build_tree_chain,
    GeneratorChain,
    GeneratorJoint,
    link_parameter_names,
    Moments,
)
from .expression import Expression, gradient, Graph, Number
from .plan import FEWER_MULTIPLICATIONS, find_plan, Plan
from .program import Output, Program, solved_for_acceleration, write_program
from .recursion import Inputs, inverse_dynamics, joint_turn
from .regrouping import RegroupedChain
from .vectors import (
    add,
    apply,
    arm_to,
    cross,
    lifted,
    Matrix,
    rotate,
    rotate_back,
    scale,
    Turn,
    turned_moments,
    twist,
    untwist,
    Vector,
)
from ..arm import ArmDescription
from ..dynamics.body_tree import BASE, BodyTree
from ..dynamics.model import GRAVITY, gravity_vector
from ..errors import TreeError
from ..typing import Array


def mass_matrix(
    graph: Graph,
    regrouped: RegroupedChain,
    q: tuple[Expression, ...],
) -> dict[tuple[int, int], Expression]:
    """Return the elements (i, j), i <= j, of the mass matrix."""
    joints = regrouped.chain.joints
    n = len(joints)
    turns = [joint_turn(graph, joint, q[j]) for j, joint in enumerate(joints)]
    parents = regrouped.chain.parents
    composites = [joint.moments for joint in joints]
    elements: dict[tuple[int, int], Expression] = {}
    for j in reversed(range(n)):
        joint, composite = joints[j], composites[j]
        force, moment = _effort(graph, joint, composite)
        own = moment[2] if joint.revolute else force[2]
        elements[j, j] = own + joint.rotor_inertia
        # Joints of another branch do not move this body.
        elements |= {(i, j): graph.zero for i in range(j)}
        outer, i = j, parents[j]
        while i != BASE:
            arm = arm_to(graph, joints[outer], q[outer])
            force = twist(joints[outer], rotate(turns[outer], force))
            moment = twist(joints[outer], rotate(turns[outer], moment))
            moment = add(moment, cross(arm, force))
            elements[i, j] = moment[2] if joints[i].revolute else force[2]
            outer, i = i, parents[i]
        if parents[j] != BASE:
            # A mass kept on the axis, at the origin, has an effect from the joint before on.
            composite = replace(composite, mass=composite.mass + regrouped.kept[j])
            carried = _propagated(graph, joint, turns[j], composite, arm_to(graph, joint, q[j]))
            composites[parents[j]] = composites[parents[j]] + carried
    return elements


def _effort(graph: Graph, joint: GeneratorJoint, body: Moments) -> tuple[Vector, Vector]:
    """Return force and moment that accelerate a body by one about, or along, z."""
    hx, hy, _ = lifted(graph, body.first)
    xx, _, xz, yy, yz, _ = (graph.lift(entry) for entry in body.second)
    zero = graph.zero
    if joint.revolute:
        return (-hy, hx, zero), (-xz, -yz, xx + yy)
    return (zero, zero, graph.lift(body.mass)), (hy, -hx, zero)


def _propagated(
    graph: Graph, joint: GeneratorJoint, turned: Turn, body: Moments, arm: Vector
) -> Moments:
    """Return a body's moments in the frame before the joint's."""
    body = turned_moments(graph, turned, body)
    tilted = body.expressed_in(joint.twist.tolist(), (0.0, 0.0, 0.0))
    h, m = lifted(graph, tilted.first), graph.lift(tilted.mass)
    # Half of S' = S + h p' + p h' + m p p', so that the symmetric products are written once.
    half = [h[k] + 0.5 * (m * arm[k]) for k in range(3)]
    pairs = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
    second: list[Number] = [
        s + (2.0 * (half[i] * arm[i]) if i == j else half[i] * arm[j] + half[j] * arm[i])
        for s, (i, j) in zip(tilted.second, pairs)
    ]
    first = [h[k] + m * arm[k] for k in range(3)]
    return Moments(
        m,
        (first[0], first[1], first[2]),
        (second[0], second[1], second[2], second[3], second[4], second[5]),
    )


class Quantity(str, Enum):
    """What equations can be generated for."""

    INVERSE_DYNAMICS = 'inverse_dynamics'  # M ddq + C dq + g
    GRAVITY = 'gravity'  # g
    CORIOLIS = 'coriolis'  # C dq
    MASS_MATRIX = 'mass_matrix'  # M
    DERIVATIVES = 'derivatives'  # of M ddq + C dq + g by q, dq and ddq
    FORWARD_DYNAMICS = 'forward_dynamics'  # M^-1 (tau - C dq - g)
    CORIOLIS_MATRIX = 'coriolis_matrix'  # C of Christoffel symbols, dM/dt = C + C^T


_ARRAYS = {
    Quantity.INVERSE_DYNAMICS: ('q', 'dq', 'ddq'),
    Quantity.GRAVITY: ('q',),
    Quantity.CORIOLIS: ('q', 'dq'),
    Quantity.MASS_MATRIX: ('q',),
    Quantity.DERIVATIVES: ('q', 'dq', 'ddq'),
    Quantity.FORWARD_DYNAMICS: ('q', 'dq'),
    Quantity.CORIOLIS_MATRIX: ('q', 'dq'),
}
# Those of one sweep are written as that sweep is cheapest.
_PLANNED_AS = {
    Quantity.DERIVATIVES: Quantity.INVERSE_DYNAMICS,
    Quantity.FORWARD_DYNAMICS: Quantity.INVERSE_DYNAMICS,
    Quantity.CORIOLIS_MATRIX: Quantity.CORIOLIS,
}
# Plans by all that they depend on; a kilobyte each.
_FOUND: dict[bytes, Plan] = {}


class Parameters(str, Enum):
    """When inertial parameters and gravity become known."""

    BAKED = 'baked'  # numbers in the code
    RUN_TIME = 'run_time'  # arguments of a preparation that is run once


class WrenchFrame(str, Enum):
    """Where a terminal wrench acts, and in whose axes it is."""

    SPACE = 'space'  # about the flange's origin, axes of the space frame
    LAST_FRAME = 'last_frame'  # about the origin and in the axes of the last DH frame


@dataclass(frozen=True)
class Equations:
    """
    The equations of one `quantity` of one `arm`, of `n` joints.

    `program` holds the statements; `plan` says how they came to be written this way.
    """

    arm: str
    n: int
    quantity: Quantity
    plan: Plan
    program: Program


def customised_equations(
    description: ArmDescription | BodyTree,
    quantity: Quantity = Quantity.INVERSE_DYNAMICS,
    gravity: ArrayLike = GRAVITY,
    *,
    parameters: Parameters = Parameters.BAKED,
    terminal_wrench: bool = False,
    wrench_frame: WrenchFrame = WrenchFrame.SPACE,
    addition_cost: float = FEWER_MULTIPLICATIONS,
    classical: bool = False,
    plan: Plan | None = None,
) -> Equations:
    """
    Return the customised equations of an arm.

    Parameters
    ----------
    description : ArmDescription or BodyTree
        The arm, with its hand and payload as desired; revolute and prismatic joints. Or a tree of
        bodies whose joints lie along their frames' z: a torso with two arms.
    quantity : Quantity
        What is to be computed.
    gravity : array_like, shape (3,)
        Gravity in the space frame [m/s^2]; not read if parameters come at run time.
    parameters : Parameters
        BAKED writes numbers. RUN_TIME leaves the ten parameters of each link, its rotor and
        gravity as arguments of a preparation, whose results the equations read.
    terminal_wrench : bool
        Whether the surroundings exert a force and a moment on the flange, given as inputs f1..f3
        and m1..m3 [N, N m]. Only for INVERSE_DYNAMICS.
    wrench_frame : WrenchFrame
        SPACE has the wrench about the flange's origin in the axes of the space frame, as the
        `wrench` of the models; LAST_FRAME about the origin and in the axes of the last DH frame,
        which takes fewer operations: Gautier and Khalil's terminal forces are there.
    addition_cost : float
        What an addition costs in multiplications when plans are compared; see `find_plan`.
    classical : bool
        Whether the ten parameters of each link are used as they are, instead of base
        parameters: for comparison, for it costs more.
    plan : Plan, optional
        How to write them; the cheapest found if not given.

    Raises
    ------
    TreeError
        If a terminal wrench of a tree is to be in the space frame.

    """
    at_run_time = parameters is Parameters.RUN_TIME
    planned = _PLANNED_AS.get(quantity, quantity)
    frame = wrench_frame if terminal_wrench else None
    if isinstance(description, BodyTree) and frame is WrenchFrame.SPACE:
        raise TreeError(
            'A tree has several tips: its terminal wrench acts on the last body, in that '
            "body's frame; ask for WrenchFrame.LAST_FRAME."
        )

    def outputs(candidate: Plan, graph: Graph) -> list[Output]:
        chain = _chain(description, gravity, graph if at_run_time else None)
        return _outputs(graph, chain, candidate, quantity, frame)

    def values(candidate: Plan) -> list[Expression]:
        graph = Graph()
        chain = _chain(description, gravity, graph if at_run_time else None)
        return [output.value for output in _outputs(graph, chain, candidate, planned, frame)]

    if plan is None:
        # The search takes a second; several quantities, and all who ask again, share one.
        asked = (
            description,
            tuple(gravity_vector(gravity)),
            planned,
            parameters,
            frame,
            addition_cost,
            classical,
        )
        key = hashlib.sha256(pickle.dumps(asked)).digest()
        plan = _FOUND.get(key)
        if plan is None:
            plan = _FOUND[key] = find_plan(
                _chain(description, gravity),
                values,
                turnable_tip=not at_run_time and not terminal_wrench,
                movable_tip=not terminal_wrench,
                addition_cost=addition_cost,
                classical=classical,
            )
    graph = Graph()
    names = parameter_names(description.n) if at_run_time else ()
    arrays = (*_ARRAYS[quantity], *(('f', 'm') if terminal_wrench else ()))
    program = write_program(quantity.value, graph, outputs(plan, graph), arrays, names)
    if quantity is Quantity.FORWARD_DYNAMICS:
        program = solved_for_acceleration(program, description.n)
    name = 'tree' if isinstance(description, BodyTree) else description.name
    return Equations(name, description.n, quantity, plan, program)


def _chain(
    arm: ArmDescription | BodyTree,
    gravity: ArrayLike,
    graph: Graph | None = None,
) -> GeneratorChain:
    if isinstance(arm, BodyTree):
        return build_tree_chain(arm, gravity, graph)
    return build_chain(arm, gravity, graph)


def parameter_names(n: int) -> tuple[str, ...]:
    """Return what a preparation reads, in order: 11 parameters of each link, then gravity."""
    links = [
        name
        for link in range(1, n + 1)
        for name in (*link_parameter_names(link), f'X{link}_rotor')
    ]
    return (*links, 'gx', 'gy', 'gz')


def _outputs(
    graph: Graph, chain: GeneratorChain, plan: Plan, quantity: Quantity, frame: WrenchFrame | None
) -> list[Output]:
    regrouped = plan.apply(chain)
    q = _variables(graph, 'q', chain.n)
    matrix: list[Output] = []
    if quantity in (Quantity.MASS_MATRIX, Quantity.FORWARD_DYNAMICS):
        elements = mass_matrix(graph, regrouped, q)
        matrix = [
            Output('M', ((i, j),) if i == j else ((i, j), (j, i)), elements[i, j])
            for i, j in sorted(elements)
        ]
    if quantity is Quantity.MASS_MATRIX:
        return matrix
    zeros = (graph.zero,) * chain.n
    moving = quantity is not Quantity.GRAVITY
    pushed = quantity in (Quantity.INVERSE_DYNAMICS, Quantity.DERIVATIVES)
    still = (graph.zero,) * 3
    inputs = Inputs(
        q,
        _variables(graph, 'dq', chain.n) if moving else zeros,
        _variables(graph, 'ddq', chain.n) if pushed else zeros,
        *((still, still) if frame is None else _terminal_wrench(graph, regrouped.chain, q, frame)),
        weightless=quantity in (Quantity.CORIOLIS, Quantity.CORIOLIS_MATRIX),
    )
    torques = inverse_dynamics(graph, regrouped, inputs, plan.style)
    if quantity is Quantity.DERIVATIVES:
        return _derivatives(graph, torques, (inputs.q, inputs.dq, inputs.ddq))
    if quantity is Quantity.CORIOLIS_MATRIX:
        return _coriolis_matrix(graph, torques, inputs.dq)
    return [*matrix, *(Output('tau', ((i,),), torque) for i, torque in enumerate(torques))]


def _terminal_wrench(
    graph: Graph, chain: GeneratorChain, q: tuple[Expression, ...], frame: WrenchFrame
) -> tuple[Vector, Vector]:
    """Return what the last link exerts on its surroundings, in its frame, about its origin."""
    force, moment = (scale(-1.0, _vector(graph, array)) for array in ('f', 'm'))
    if frame is WrenchFrame.LAST_FRAME:
        return force, moment
    force, moment = (apply(_rows(chain.root.T), vector) for vector in (force, moment))
    for j, joint in enumerate(chain.joints):
        turned = joint_turn(graph, joint, q[j])
        if j:
            force, moment = untwist(joint, force), untwist(joint, moment)
        force, moment = rotate_back(turned, force), rotate_back(turned, moment)
    return force, add(moment, cross(lifted(graph, chain.tip[:3, 3].tolist()), force))


def _rows(matrix: Array) -> Matrix:
    x, y, z = (tuple(row[:3].tolist()) for row in matrix[:3])
    return x, y, z


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
                outputs.append(Output('D', ((kind, i, j),), slope))
            elif i <= j:
                outputs.append(
                    Output('D', ((2, i, j), (2, j, i)) if i < j else ((2, i, i),), slope)
                )
    return outputs


def _coriolis_matrix(
    graph: Graph, torques: Sequence[Expression], rates: Sequence[Expression]
) -> list[Output]:
    """
    Return C = 1/2 d(C dq)/d(dq).

    C dq is a quadratic form of dq, whose symmetric coefficients are the Christoffel symbols of
    the first kind (Siciliano et al. 2009, "Robotics", eq. 7.45): half its slopes are their C.
    """
    return [
        Output('C', ((i, j),), 0.5 * slope)
        for i, torque in enumerate(torques)
        for j, slope in enumerate(gradient(graph, torque, rates))
    ]


def _variables(graph: Graph, array: str, n: int) -> tuple[Expression, ...]:
    return tuple(graph.variable(f'{array}{i + 1}') for i in range(n))


def _vector(graph: Graph, array: str) -> tuple[Expression, Expression, Expression]:
    x, y, z = _variables(graph, array, 3)
    return x, y, z
