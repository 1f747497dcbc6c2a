# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Arithmetic expressions as a graph without common subexpressions, and their derivatives.

Every expression is a sign and a node. Equal nodes are one object (hash consing), so that no
subexpression is computed twice; signs seldom cost an operation, because sums and products absorb
them. Constants are folded when an expression is made. A value that depends on parameters alone
counts as constant too (`Node.is_const`): it is computed once, when the parameters are set.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
import math
from typing import Any, Union

Scalar = Union['Expression', float, int]


class NodeKind:
    """Names of the kinds of nodes, which are constants, inputs and operations."""

    CONSTANT = 'constant'
    PARAMETER = 'parameter'
    VARIABLE = 'variable'
    ADD = '+'
    SUBTRACT = '-'
    MULTIPLY = '*'
    SIN = 'sin'
    COS = 'cos'
    RECIPROCAL = '1/'
    SQRT = 'sqrt'


@dataclass(frozen=True, eq=False, slots=True)
class Node:
    """A node of a Graph, which is a constant, an input, or an operation on earlier nodes."""

    index: int
    kind: str
    # Left out of the node's text: operands are shared, so that the text would have no end.
    operands: 'tuple[Node, ...]' = field(default=(), repr=False)
    name: str = ''
    value: float = 0.0
    is_const: bool = False


@dataclass(frozen=True, slots=True)
class Expression:
    """A node of a Graph with a sign; +, - and * make new expressions."""

    graph: 'Graph'
    sign: int
    node: Node

    def __add__(self, other: Scalar) -> 'Expression':
        """Return the sum as an expression of the same graph."""
        return self.graph.pair_sum(self, self.graph.expression(other))

    __radd__ = __add__

    def __neg__(self) -> 'Expression':
        """Return the negative, which costs no operation."""
        return self if self.is_zero else Expression(self.graph, -self.sign, self.node)

    def __sub__(self, other: Scalar) -> 'Expression':
        """Return the difference as an expression of the same graph."""
        return self + -self.graph.expression(other)

    def __rsub__(self, other: Scalar) -> 'Expression':
        """Return a number minus the expression."""
        return -self + other

    def __mul__(self, other: Scalar) -> 'Expression':
        """Return the product as an expression of the same graph."""
        return self.graph.product(self, self.graph.expression(other))

    __rmul__ = __mul__

    @property
    def is_zero(self) -> bool:
        """Whether the expression is the constant 0."""
        return self.node.kind == NodeKind.CONSTANT and self.node.value == 0.0

    @property
    def value(self) -> float | None:
        """The value of a numerical constant; None for any other expression."""
        return self.sign * self.node.value if self.node.kind == NodeKind.CONSTANT else None


class Graph:
    """
    The expressions of one computation, in which equal expressions share one node.

    With `parameters_vary` parameters count as variables, so that `gradient` can differentiate by
    parameters.
    """

    def __init__(self, *, parameters_vary: bool = False) -> None:
        self._parameters_vary = parameters_vary
        self._nodes: dict[tuple[Any, ...], Node] = {}
        self._names: dict[int, str] = {}
        self._used_names: set[str] = set()
        self.zero = self.expression(0.0)

    def expression(self, value: Scalar) -> Expression:
        """Return a number as a constant expression, and an expression unchanged."""
        if isinstance(value, Expression):
            return value
        node = self._shared_node(NodeKind.CONSTANT, value=abs(float(value)), is_const=True)
        return Expression(self, -1 if value < 0 else 1, node)

    def variable(self, name: str) -> Expression:
        """Return the expression of an input `name` that changes with every evaluation."""
        return Expression(self, 1, self._shared_node(NodeKind.VARIABLE, name=name))

    def parameter(self, name: str) -> Expression:
        """Return the expression of an input `name` set once, constant unless `parameters_vary`."""
        if self._parameters_vary:
            return self.variable(name)
        return Expression(self, 1, self._shared_node(NodeKind.PARAMETER, name=name, is_const=True))

    def set_name(self, name: str, value: Scalar) -> None:
        """
        Give a computed value a textbook name in generated code, unless it or the name is taken.

        If the value is the negative of its node, the node's name is m_ and the name.
        """
        value = self.expression(value)
        index = value.node.index
        is_computed = bool(value.node.operands)
        if is_computed and index not in self._names and name not in self._used_names:
            self._names[index] = name if value.sign > 0 else f'm_{name}'
            self._used_names.add(name)

    def set_component_names(self, name: str, vector: Iterable[Scalar]) -> None:
        """Name a vector's components in generated code: `name` followed by x, y or z."""
        for component, axis in zip(vector, 'xyz'):
            self.set_name(name + axis, component)

    def name_of(self, node: Node) -> str | None:
        """Return a node's textbook name, or None if it has none."""
        return self._names.get(node.index)

    def sin_cos(self, angle: Expression) -> tuple[Expression, Expression]:
        """Return sine and cosine of an angle as expressions."""
        if angle.value is not None:
            return self.expression(math.sin(angle.value)), self.expression(math.cos(angle.value))
        sine = Expression(self, angle.sign, self._shared_node(NodeKind.SIN, (angle.node,)))
        return sine, Expression(self, 1, self._shared_node(NodeKind.COS, (angle.node,)))

    def pair_sum(self, a: Expression, b: Expression) -> Expression:
        """Return the sum a + b, simplified where terms are zero, constant, alike or cancel."""
        if a.is_zero:
            return b
        if b.is_zero:
            return a
        if a.value is not None and b.value is not None:
            return self.expression(a.value + b.value)
        if a.node is b.node:
            return 2.0 * a if a.sign == b.sign else self.zero
        cancelled = self._cancelled_sum(a, b) or self._cancelled_sum(b, a)
        if simpler := cancelled or self._factored_sum(a, b):
            return simpler
        if a.node.index > b.node.index:
            a, b = b, a
        kind = NodeKind.ADD if a.sign == b.sign else NodeKind.SUBTRACT
        return Expression(self, a.sign, self._shared_node(kind, (a.node, b.node)))

    def product(self, a: Expression, b: Expression) -> Expression:
        """Return the product a b, simplified where a factor is constant."""
        sign = a.sign * b.sign
        if a.is_zero or b.is_zero:
            return self.zero
        if a.node.kind == NodeKind.CONSTANT and b.node.kind == NodeKind.CONSTANT:
            return self.expression(sign * a.node.value * b.node.value)
        if b.node.is_const and not a.node.is_const:
            a, b = b, a
        if a.node.kind == NodeKind.CONSTANT and a.node.value == 1.0:
            return Expression(self, sign, b.node)
        if b.node.kind == NodeKind.CONSTANT and b.node.value == 1.0:
            return Expression(self, sign, a.node)
        if (
            a.node.is_const
            and not b.node.is_const
            and b.node.kind == NodeKind.MULTIPLY
            and b.node.operands[0].is_const
        ):
            inner, rest = b.node.operands  # c (k x) = (c k) x; c k is computed once
            factor = Expression(self, sign, a.node) * Expression(self, 1, inner)
            return factor * Expression(self, 1, rest)
        ordered = (a.node, b.node)
        if a.node.is_const == b.node.is_const and a.node.index > b.node.index:
            ordered = (b.node, a.node)
        return Expression(self, sign, self._shared_node(NodeKind.MULTIPLY, ordered))

    def reciprocal(self, a: Expression) -> Expression:
        """Return 1 / a, a number where a is a number; ZeroDivisionError for 0."""
        if a.value is not None:
            return self.expression(1.0 / a.value)
        return Expression(self, a.sign, self._shared_node(NodeKind.RECIPROCAL, (a.node,)))

    def sqrt(self, a: Expression) -> Expression:
        """Return a square root, NaN at run time if negative; ValueError for a constant < 0."""
        if a.value is not None:
            return self.expression(math.sqrt(a.value))
        node = a.node
        if a.sign < 0:
            node = self._shared_node(NodeKind.SUBTRACT, (self.zero.node, node))
        return Expression(self, 1, self._shared_node(NodeKind.SQRT, (node,)))

    def sum(self, terms: Iterable[Scalar]) -> Expression:
        """Return the sum of all terms, 0 if there are none."""
        return self.expression(sum(terms, self.zero))

    def _cancelled_sum(self, a: Expression, b: Expression) -> Expression | None:
        """Return a + b if the sum b contains -a, as in a - (a + y) = -y; otherwise None."""
        if b.node.kind not in (NodeKind.ADD, NodeKind.SUBTRACT):
            return None
        first, second = b.node.operands
        sign_of_first = b.sign
        sign_of_second = b.sign if b.node.kind == NodeKind.ADD else -b.sign
        if first is a.node and sign_of_first == -a.sign:
            return Expression(self, sign_of_second, second)
        if second is a.node and sign_of_second == -a.sign:
            return Expression(self, sign_of_first, first)
        return None

    def _factored_sum(self, a: Expression, b: Expression) -> Expression | None:
        """Return (c + k) x for a = c x and b = k x with constants c and k; None for other sums."""
        if a.node.is_const or b.node.is_const:
            return None
        c, x = self._split_coefficient(a)
        k, y = self._split_coefficient(b)
        both_are_one = c.node is k.node and c.node.value == 1.0
        if x is not y or both_are_one:
            return None
        return (c + k) * Expression(self, 1, x)

    def _split_coefficient(self, a: Expression) -> tuple[Expression, Node]:
        """Return c and x of an expression c x with a constant c, +-1 without a factor."""
        if a.node.kind == NodeKind.MULTIPLY and a.node.operands[0].is_const:
            factor, rest = a.node.operands
            return Expression(self, a.sign, factor), rest
        return self.expression(float(a.sign)), a.node

    def _shared_node(
        self,
        kind: str,
        operands: tuple[Node, ...] = (),
        *,
        name: str = '',
        value: float = 0.0,
        is_const: bool = False,
    ) -> Node:
        """
        Return the node of an operation, constant or input, one object for all equal nodes.

        `is_const` is that of a number or an input. An operation is constant if its operands are.
        """
        key = (kind, name, value, *(operand.index for operand in operands))
        node = self._nodes.get(key)
        if node is None:
            if operands:
                is_const = all(operand.is_const for operand in operands)
            node = Node(len(self._nodes), kind, operands, name, value, is_const)
            self._nodes[key] = node
        return node


def gradient(graph: Graph, value: Expression, variables: Sequence[Expression]) -> list[Expression]:
    """
    Return the derivatives of a scalar expression by some variables, as expressions of `graph`.

    Reverse accumulation (Griewank and Walther 2008, "Evaluating Derivatives", section 3.2): from
    the value to the inputs, each node adds its adjoint times the partial derivative to each
    operand's adjoint. The derivatives share subexpressions, because equal expressions are one
    node.
    """
    adjoints: dict[int, Expression] = {value.node.index: graph.expression(float(value.sign))}

    def add_term(node: Node, contribution: Expression) -> None:
        """Add a contribution to a node's adjoint, unless the node is constant."""
        if not node.is_const:
            adjoints[node.index] = adjoints.get(node.index, graph.zero) + contribution

    for node in reversed(reachable_nodes([value], into_constants=False)):
        adjoint = adjoints.get(node.index, graph.zero)
        if adjoint.is_zero or not node.operands:
            continue
        first = node.operands[0]
        last = node.operands[-1]
        if node.kind in (NodeKind.ADD, NodeKind.SUBTRACT):
            add_term(first, adjoint)
            add_term(last, adjoint if node.kind == NodeKind.ADD else -adjoint)
        elif node.kind == NodeKind.MULTIPLY:
            add_term(first, adjoint * Expression(graph, 1, last))
            add_term(last, adjoint * Expression(graph, 1, first))
        elif node.kind == NodeKind.RECIPROCAL:
            reciprocal = Expression(graph, 1, node)
            add_term(first, -(adjoint * (reciprocal * reciprocal)))
        elif node.kind == NodeKind.SQRT:
            root = Expression(graph, 1, node)
            add_term(first, adjoint * (0.5 * graph.reciprocal(root)))
        else:
            sine, cosine = graph.sin_cos(Expression(graph, 1, first))
            if node.kind == NodeKind.SIN:
                add_term(first, adjoint * cosine)
            else:
                add_term(first, -(adjoint * sine))
    return [
        variable.sign * adjoints.get(variable.node.index, graph.zero) for variable in variables
    ]


def reachable_nodes(outputs: Iterable[Expression], *, into_constants: bool = True) -> list[Node]:
    """Return the nodes on which outputs depend, operands before the nodes that use them."""
    found: dict[int, Node] = {}
    pending = [output.node for output in outputs]
    while pending:
        node = pending.pop()
        if node.index not in found:
            found[node.index] = node
            if into_constants or not node.is_const:
                pending.extend(node.operands)
    return [found[number] for number in sorted(found)]
