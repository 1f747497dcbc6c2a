# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Expressions fold, share and cancel as algebra has it."""

import numpy as np

from franka_dynamics.codegen.emit import python_function
from franka_dynamics.codegen.expression import Graph
from franka_dynamics.codegen.program import Output, write_program

ATOL = 1e-12  # a dozen operations on numbers up to 20


def run(graph, value, inputs):
    """Compute an expression by the code that is emitted for it."""
    program = write_program('f', graph, [Output('out', ((0,),), value)], ('x',))
    namespace = {}
    exec(python_function(program), namespace)
    out = np.empty(1)
    namespace['f'](inputs, out)
    return out[0]


def drawn_tree(rng, depth=5):
    """Return a function of x1..x3 that can be evaluated on numbers, symbols or expressions."""
    if depth == 0 or rng.random() < 0.25:
        k = rng.integers(3)
        return lambda x: x[k]
    if rng.random() < 0.2:
        c = rng.choice([-2.0, -1.0, 0.0, 0.5, 1.0, 3.0])
        return lambda x: c
    left, right = drawn_tree(rng, depth - 1), drawn_tree(rng, depth - 1)
    operation = rng.choice([np.add, np.subtract, np.multiply])
    if operation is np.add:
        return lambda x: left(x) + right(x)
    if operation is np.subtract:
        return lambda x: left(x) - right(x)
    return lambda x: left(x) * right(x)


def test_an_emitted_formula_has_the_value_of_the_formula():
    rng = np.random.default_rng(0)
    for _ in range(80):
        tree, numbers, graph = drawn_tree(rng), rng.uniform(-2.0, 2.0, 3), Graph()
        value = graph.lift(tree([graph.variable(f'x{i + 1}') for i in range(3)]))
        np.testing.assert_allclose(
            run(graph, value, numbers), tree(numbers), rtol=1e-12, atol=ATOL
        )
