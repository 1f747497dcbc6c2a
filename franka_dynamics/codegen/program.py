# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The outputs of an expression graph as a list of statements.

Values that depend on parameters alone are computed by separate statements, the preparation.

The statements' right-hand sides are valid in Python and in C: +, -, *, 1.0 / x, sin, cos,
parentheses, names and literals. A variable holds the value of a node; if an expression with a
textbook name is the node's negative, the variable has that name with the prefix m_.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
import re

from .expression import (
    ADD,
    CONSTANT,
    COS,
    Expression,
    Graph,
    MULTIPLY,
    Node,
    PARAMETER,
    reachable,
    RECIPROCAL,
    SIN,
    SUBTRACT,
    VARIABLE,
)

_SUMS = (ADD, SUBTRACT)
_INPUT = re.compile(r'([a-z]+)(\d+)')


@dataclass(frozen=True)
class Statement:
    """The statement target = expression, or target = function(expression) with sin or cos."""

    target: str
    expression: str
    function: str = ''


@dataclass(frozen=True)
class Result:
    """One element of an output array; equal elements of a symmetric matrix are one Result."""

    array: str
    places: tuple[tuple[int, ...], ...]
    expression: str


@dataclass(frozen=True)
class Program:
    """
    A straight-line computation.

    `inputs` maps each input array to the elements that the program reads, counted from 1; `shape`
    is the output array's. `parameters` are the arguments of `preparation`; `prepared` are the
    parameters and results of `preparation` that `statements` and `results` read.
    """

    name: str
    inputs: Mapping[str, tuple[int, ...]]
    statements: tuple[Statement, ...]
    results: tuple[Result, ...]
    parameters: tuple[str, ...] = ()
    preparation: tuple[Statement, ...] = ()
    prepared: tuple[str, ...] = ()
    shape: tuple[int, ...] = ()


@dataclass(frozen=True)
class Output:
    """A value, and the indices of the elements of an output array that have this value."""

    array: str
    places: tuple[tuple[int, ...], ...]
    value: Expression


def write_program(
    name: str,
    graph: Graph,
    outputs: Sequence[Output],
    arrays: Sequence[str],
    parameters: Sequence[str] = (),
    shape: Sequence[int] = (),
) -> Program:
    """
    Return the statements that compute the outputs; each value is computed before it is read.

    `arrays` names the input arrays in the order of the function's arguments, whether the equations
    read them or not; `shape` is the output array's.
    """
    return _Writer(graph, outputs).program(name, tuple(arrays), tuple(parameters), tuple(shape))


class _Writer:
    def __init__(self, graph: Graph, outputs: Sequence[Output]) -> None:
        self.graph, self.outputs = graph, outputs
        self.nodes = reachable(output.value for output in outputs)
        self.uses = Counter(operand.number for node in self.nodes for operand in node.operands)
        self.uses.update(output.value.node.number for output in outputs)
        self.results = {output.value.node.number for output in outputs}
        self.held: dict[int, str] = {}  # names of variables, by the node's number

    def program(
        self,
        name: str,
        arrays: tuple[str, ...],
        parameters: tuple[str, ...],
        shape: tuple[int, ...],
    ) -> Program:
        inputs: dict[str, list[int]] = {array: [] for array in arrays}
        statements: list[Statement] = []
        preparation: list[Statement] = []
        prepared: list[str] = []
        crossing = self._crossing()
        for node in self.nodes:
            if node.kind in (VARIABLE, PARAMETER):
                self.held[node.number] = node.name
                found = _INPUT.fullmatch(node.name)
                if node.kind == VARIABLE and found:
                    inputs[found[1]].append(int(found[2]))
            elif node.number in crossing:
                preparation.append(self._statement(node, f'p_{len(preparation)}'))
            elif self._deserves_statement(node):
                name_of = self.graph.name_of(node) or f't{node.number}'
                target = preparation if node.constant else statements
                target.append(self._statement(node, name_of))
            if node.number in crossing:
                prepared.append(self.held[node.number])
        results = tuple(Result(o.array, o.places, self._signed(o.value)) for o in self.outputs)
        ordered = {array: tuple(sorted(found)) for array, found in inputs.items()}
        return Program(
            name,
            ordered,
            tuple(statements),
            results,
            parameters,
            tuple(preparation),
            tuple(prepared),
            shape,
        )

    def _crossing(self) -> set[int]:
        """Return `Node.number` of parameter and prepared nodes that statements or outputs use."""
        reads = [operand for node in self.nodes if not node.constant for operand in node.operands]
        reads += [output.value.node for output in self.outputs]
        return {node.number for node in reads if node.constant and node.kind != CONSTANT}

    def _deserves_statement(self, node: Node) -> bool:
        if node.kind == CONSTANT:
            return False
        if node.kind in (SIN, COS, RECIPROCAL):
            return True
        if self.uses[node.number] > 1:
            return True
        # A result that nothing else reads is written into the output, not into a named variable.
        named = self.graph.name_of(node) is not None and not node.constant
        return named and node.number not in self.results

    def _statement(self, node: Node, target: str) -> Statement:
        function, text = '', ''
        if node.kind in (SIN, COS):
            function, text = node.kind, self._render(node.operands[0])
            target = ('s_' if node.kind == SIN else 'c_') + _angle_name(text)
        statement = Statement(target, text or self._operation(node), function)
        self.held[node.number] = target
        return statement

    def _render(self, node: Node) -> str:
        """Return the text that stands for a node in an expression."""
        if node.number in self.held:
            return self.held[node.number]
        return repr(node.value) if node.kind == CONSTANT else self._operation(node)

    def _operation(self, node: Node) -> str:
        if node.kind == RECIPROCAL:
            return f'1.0 / {self._factor(node.operands[0], *_SUMS, MULTIPLY)}'
        first, second = node.operands
        if node.kind == MULTIPLY:
            return f'{self._factor(first, *_SUMS)}*{self._factor(second, *_SUMS)}'
        inner = _SUMS if node.kind == SUBTRACT else ()
        return f'{self._render(first)} {node.kind} {self._factor(second, *inner)}'

    def _factor(self, node: Node, *kinds: str) -> str:
        """Return the text of an operand, in parentheses if it is an operation of these kinds."""
        inline = node.number not in self.held and node.kind in kinds
        return f'({self._render(node)})' if inline else self._render(node)

    def _signed(self, value: Expression) -> str:
        if value.sign > 0 or value.is_zero:
            return self._render(value.node)
        return self._negative(value.node) or f'-{self._factor(value.node, *_SUMS)}'

    def _negative(self, node: Node) -> str:
        """Return the text of -node if it takes no further operation, else ''."""
        if node.number in self.held or not node.operands:
            return ''
        first, second = node.operands[0], node.operands[-1]
        if node.kind == MULTIPLY and first.kind == CONSTANT:
            return f'-{self._operation(node)}'
        if node.kind == SUBTRACT:
            return f'{self._render(second)} - {self._factor(first, *_SUMS)}'
        if node.kind == ADD:
            for one, other in ((first, second), (second, first)):
                if text := self._negative(one):
                    return f'{text} - {self._factor(other, *_SUMS)}'
        return ''


def _angle_name(text: str) -> str:
    """Return the name after s_ or c_: q2, q2_q3, q7_offset for angle q2, q2 + q3, q7 + 0.36."""
    parts = [part if part[0].isalpha() else 'offset' for part in re.split(r' [+-] ', text)]
    return '_'.join(parts)
