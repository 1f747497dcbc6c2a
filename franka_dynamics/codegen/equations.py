# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The customised equations of one arm: which quantity, which parameters, in the cheapest form."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from numpy.typing import ArrayLike

from .chain import build_chain, Chain, link_parameter_names
from .composite import mass_matrix
from .expression import Expression, Graph
from .motion import Inputs
from .plan import FEWER_MULTIPLICATIONS, find_plan, Plan
from .program import Output, Program, write_program
from .recursion import inverse_dynamics
from ..arm import ArmDescription
from ..dynamics.model import GRAVITY


class Quantity(str, Enum):
    """What equations can be generated for."""

    INVERSE_DYNAMICS = 'inverse_dynamics'  # M ddq + C dq + g
    GRAVITY = 'gravity'  # g
    CORIOLIS = 'coriolis'  # C dq
    MASS_MATRIX = 'mass_matrix'  # M


_ARRAYS = {Quantity.INVERSE_DYNAMICS: ('q', 'dq', 'ddq'), Quantity.GRAVITY: ('q',),
           Quantity.CORIOLIS: ('q', 'dq'), Quantity.MASS_MATRIX: ('q',)}


class Parameters(str, Enum):
    """When inertial parameters and gravity become known."""

    BAKED = 'baked'  # numbers in the code
    RUN_TIME = 'run_time'  # arguments of a preparation that is run once


@dataclass(frozen=True)
class Equations:
    """
    The equations of one quantity of one arm.

    `program` holds the statements; `plan` says how they came to be written this way.
    """

    arm: str
    n: int
    quantity: Quantity
    plan: Plan
    program: Program


def customised_equations(
        description: ArmDescription, quantity: Quantity = Quantity.INVERSE_DYNAMICS,
        gravity: ArrayLike = GRAVITY, *, parameters: Parameters = Parameters.BAKED,
        terminal_wrench: bool = False, addition_cost: float = FEWER_MULTIPLICATIONS,
        plan: Plan | None = None) -> Equations:
    """
    Return the customised equations of an arm.

    Parameters
    ----------
    description : ArmDescription
        The arm, with its hand and payload as wanted; revolute and prismatic joints.
    quantity : Quantity
        What is to be computed.
    gravity : array_like, shape (3,)
        Gravity in the space frame [m/s^2]; not read if parameters come at run time.
    parameters : Parameters
        BAKED writes numbers. RUN_TIME leaves the ten parameters of each link, its rotor and
        gravity as arguments of a preparation, whose results the equations read.
    terminal_wrench : bool
        Whether the last link exerts a force and a moment on its surroundings, given as inputs
        f1..f3 and m1..m3 about the origin and in the axes of the last DH frame [N, N m]. Only
        for INVERSE_DYNAMICS.
    addition_cost : float
        What an addition costs in multiplications when plans are compared; see `find_plan`.
    plan : Plan, optional
        How to write them; the cheapest found if not given.

    """
    at_run_time = parameters is Parameters.RUN_TIME

    def outputs(candidate: Plan, graph: Graph) -> list[Output]:
        chain = build_chain(description, gravity, graph if at_run_time else None)
        return _outputs(graph, chain, candidate, quantity, terminal_wrench)

    def values(candidate: Plan) -> list[Expression]:
        return [output.value for output in outputs(candidate, Graph())]

    if plan is None:
        plan = find_plan(build_chain(description, gravity), values,
                         turnable_tip=not at_run_time and not terminal_wrench,
                         movable_tip=not terminal_wrench, addition_cost=addition_cost)
    graph = Graph()
    names = parameter_names(description.n) if at_run_time else ()
    arrays = (*_ARRAYS[quantity], *(('f', 'm') if terminal_wrench else ()))
    program = write_program(quantity.value, graph, outputs(plan, graph), arrays, names)
    return Equations(description.name, description.n, quantity, plan, program)


def parameter_names(n: int) -> tuple[str, ...]:
    """Return what a preparation reads, in order: 11 parameters of each link, then gravity."""
    links = [name for link in range(1, n + 1)
             for name in (*link_parameter_names(link), f'X{link}_rotor')]
    return (*links, 'gx', 'gy', 'gz')


def _outputs(graph: Graph, chain: Chain, plan: Plan, quantity: Quantity,
             terminal_wrench: bool) -> list[Output]:
    regrouped = plan.apply(chain)
    q = _variables(graph, 'q', chain.n)
    if quantity is Quantity.MASS_MATRIX:
        elements = mass_matrix(graph, regrouped, q)
        return [Output('M', ((i, j),) if i == j else ((i, j), (j, i)), elements[i, j])
                for i, j in sorted(elements)]
    zeros = (graph.zero,) * chain.n
    moving = quantity in (Quantity.INVERSE_DYNAMICS, Quantity.CORIOLIS)
    pushed = quantity is Quantity.INVERSE_DYNAMICS
    still = (graph.zero,) * 3
    inputs = Inputs(
        q, _variables(graph, 'dq', chain.n) if moving else zeros,
        _variables(graph, 'ddq', chain.n) if pushed else zeros,
        _vector(graph, 'f') if terminal_wrench else still,
        _vector(graph, 'm') if terminal_wrench else still,
        weightless=quantity is Quantity.CORIOLIS)
    torques = inverse_dynamics(graph, regrouped, inputs, plan.style)
    return [Output('tau', ((i,),), torque) for i, torque in enumerate(torques)]


def _variables(graph: Graph, array: str, n: int) -> tuple[Expression, ...]:
    return tuple(graph.variable(f'{array}{i + 1}') for i in range(n))


def _vector(graph: Graph, array: str) -> tuple[Expression, Expression, Expression]:
    x, y, z = _variables(graph, array, 3)
    return x, y, z
