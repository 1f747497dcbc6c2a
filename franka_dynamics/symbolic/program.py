# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
M, C and g of an arm as the straight-line program that code generation writes.

Links enter by the ten parameters in their frames, X1_xx ..., X1_hx ..., X1_m, rotors by X1_rotor;
what depends on these alone is computed first. C is half the slope of C dq by dq, which makes it
the matrix of Christoffel symbols.
"""

from __future__ import annotations

from ..arm import ArmDescription
from ..codegen.chain import build_chain
from ..codegen.equations import mass_matrix, parameter_names
from ..codegen.expression import gradient, Graph
from ..codegen.plan import plain_plan
from ..codegen.program import Output, Program, write_program
from ..codegen.recursion import Inputs, inverse_dynamics
from ..dynamics.model import GRAVITY


def equations_program(description: ArmDescription) -> Program:
    """
    Return the program of M, C and g, with results `M`, `C` and `g`.

    Its inputs are q and dq; its parameters are those of `parameter_values`.
    """
    graph, n = Graph(), description.n
    chain = build_chain(description, None, graph)
    plan = plain_plan(chain)
    regrouped = plan.apply(chain)
    q, dq = (tuple(graph.variable(f'{name}{i + 1}') for i in range(n)) for name in ('q', 'dq'))
    still, free = (graph.zero,) * n, (graph.zero,) * 3
    mass = mass_matrix(graph, regrouped, q)
    turning = Inputs(q, dq, still, free, free, weightless=True)
    coriolis = inverse_dynamics(graph, regrouped, turning, plan.style)
    gravity = inverse_dynamics(graph, regrouped, Inputs(q, still, still, free, free), plan.style)
    outputs = [
        Output('M', ((i, j), (j, i)) if i < j else ((i, i),), mass[i, j]) for i, j in sorted(mass)
    ]
    outputs += [
        Output('C', ((i, j),), 0.5 * slope)
        for i, torque in enumerate(coriolis)
        for j, slope in enumerate(gradient(graph, torque, dq))
    ]
    outputs += [Output('g', ((i,),), torque) for i, torque in enumerate(gravity)]
    return write_program('equations', graph, outputs, ('q', 'dq'), parameter_names(n))


def parameter_values(description: ArmDescription) -> dict[str, float]:
    """Return the numbers of the program's parameters: of the links, the rotors and gravity."""
    numbers = [
        float(value)
        for link, joint in zip(description.links, description.joints)
        for value in (*link.parameters(), joint.rotor_inertia)
    ]
    return dict(zip(parameter_names(description.n), [*numbers, *GRAVITY]))
