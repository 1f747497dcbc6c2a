# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The outputs of an expression graph as a list of statements.

Values that depend on parameters alone are computed by separate statements, the preparation.

The statements' right-hand sides are valid in Python and in C: +, -, *, 1.0 / x, sin, cos,
parentheses, names and literals. A variable may hold the negative of a value; if the value has a
textbook name, the variable has that name with the prefix m_. The sums and products that use a
negated variable absorb the sign, so that few negations remain.
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
        self.held: dict[int, tuple[str, int]] = {}  # name and sign of the variable, by node
        self.crossed = 0  # number of prepared values so far
        self.preferred = {output.value.node.number: output.value.sign for output in outputs}

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
        crossing = self._crossing()
        for node in self.nodes:
            if node.kind in (VARIABLE, PARAMETER):
                self.held[node.number] = (node.name, 1)
                found = _INPUT.fullmatch(node.name)
                if node.kind == VARIABLE and found:
                    inputs[found[1]].append(int(found[2]))
            elif node.number in crossing or self._deserves_statement(node):
                target = preparation if node.constant else statements
                target.append(self._statement(node, node.number in crossing))
        results = tuple(Result(o.array, o.places, self._signed(o.value)) for o in self.outputs)
        ordered = {array: tuple(sorted(found)) for array, found in inputs.items()}
        return Program(
            name,
            ordered,
            tuple(statements),
            results,
            parameters,
            tuple(preparation),
            tuple(self.held[number][0] for number in sorted(crossing)),
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
        named = self.graph.name_of(node) is not None and not node.constant
        return named or self.uses[node.number] > 1

    def _statement(self, node: Node, crossing: bool) -> Statement:
        if node.kind in (SIN, COS):
            angle = self._render(node.operands[0])
            target = ('s_' if node.kind == SIN else 'c_') + _angle_name(angle[0])
            self.held[node.number] = (target, 1)
            return Statement(
                target,
                _negated(angle[0], node.operands[0].kind) if angle[1] < 0 else angle[0],
                node.kind,
            )
        name, meant = self.graph.name_of(node) or (f't{node.number}', 0)
        text, sign = self._expand(node, self.preferred.get(node.number, meant))
        if crossing:
            # Prepared values are named p_0, p_1, ..., and none of them holds the negative of a
            # node.
            if sign < 0:
                text, sign = f'-({text})', 1
            target = f'p_{self.crossed}'
            self.crossed += 1
        else:
            target = name if meant in (sign, 0) else f'm_{name}'
        self.held[node.number] = (target, sign)
        return Statement(target, text)

    def _render(self, node: Node) -> tuple[str, int]:
        """Return the text that stands for sign * node in an expression, and the sign."""
        if node.number in self.held:
            return self.held[node.number]
        if node.kind == CONSTANT:
            return repr(node.value), 1
        return self._expand(node)

    def _expand(self, node: Node, preferred: int = 0) -> tuple[str, int]:
        """Return a node's operation as text of sign * node, and sign: `preferred` if possible."""
        if node.kind == PARAMETER:
            return node.name, 1
        if node.kind == RECIPROCAL:
            text, sign = self._render(node.operands[0])
            return f'1.0 / ({text})' if ' ' in text or '*' in text else f'1.0 / {text}', sign
        if node.kind == MULTIPLY:
            text, sign = self._product(node)
            if sign == -preferred and node.operands[0].kind == CONSTANT:
                return f'-{text}', preferred
            return text, sign
        terms = [(sign, term, *self._render(term)) for sign, term in self._terms(node, 1)]
        signed = [(sign * held, text, term) for sign, term, text, held in terms]
        for overall in (preferred or 1, -(preferred or 1)):
            plus = [text for sign, text, _ in signed if sign == overall]
            minus = [text for sign, text, _ in signed if sign != overall]
            if plus:
                return ' - '.join([' + '.join(plus), *minus]), overall
            literal = next(
                (
                    text
                    for _, text, term in signed
                    if term.number not in self.held
                    and term.kind == MULTIPLY
                    and term.operands[0].kind == CONSTANT
                ),
                '',
            )
            if literal and preferred:
                minus.remove(literal)
                return ' - '.join([f'-{literal}', *minus]), overall
        raise AssertionError('a sum has terms of one sign at least')

    def _terms(self, node: Node, sign: int) -> list[tuple[int, Node]]:
        """Return the signed terms of a sum; inner sums that no variable holds are expanded."""
        terms = []
        first, second = node.operands
        for operand, own in ((first, sign), (second, sign if node.kind == ADD else -sign)):
            inside = operand.kind in _SUMS and operand.number not in self.held
            terms.extend(self._terms(operand, own) if inside else [(own, operand)])
        return terms

    def _product(self, node: Node) -> tuple[str, int]:
        texts, sign = [], 1
        for operand in node.operands:
            text, held = self._render(operand)
            inline = operand.number not in self.held
            texts.append(f'({text})' if inline and operand.kind in _SUMS else text)
            sign *= held
        return '*'.join(texts), sign

    def _signed(self, value: Expression) -> str:
        text, sign = self._render(value.node)
        return text if sign == value.sign else _negated(text, value.node.kind)


def _negated(text: str, kind: str) -> str:
    if text.endswith('0.0') and float(text) == 0.0:
        return text
    return f'-({text})' if kind in _SUMS and ' ' in text else f'-{text}'


def _angle_name(text: str) -> str:
    """Return the name after s_ or c_: q2, q2_q3, q7_offset for angle q2, q2 + q3, q7 + 0.36."""
    parts = [part if part[0].isalpha() else 'offset' for part in re.split(r' [+-] ', text)]
    return '_'.join(parts)
