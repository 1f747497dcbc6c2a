# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The outputs of an expression graph as a list of statements.

Values that depend on parameters alone are computed by separate statements, the preparation.

The statements' right-hand sides are valid in Python and in C: +, -, *, 1.0 / x, sin, cos, sqrt,
parentheses, names and literals. A variable holds the value of a node; if an expression with a
textbook name is the node's negative, the variable has that name with the prefix m_.
"""

from collections import Counter
from collections.abc import Sequence
import re
from typing import NamedTuple

from .expression import Expression, Graph, Node, NodeKind, reachable_nodes

_SUM_KINDS = (NodeKind.ADD, NodeKind.SUBTRACT)
_INPUT_KINDS = (NodeKind.VARIABLE, NodeKind.PARAMETER)
_COSTLY_KINDS = (NodeKind.SIN, NodeKind.COS, NodeKind.SQRT, NodeKind.RECIPROCAL)
_ELEMENT_PATTERN = re.compile(r'(?P<array>[a-z]+)(?P<number>\d+)')  # such as q3


class OutputValue(NamedTuple):
    """An expression, and the indices of all elements of the output array that are equal to it."""

    element_indices: tuple[tuple[int, ...], ...]
    value: Expression


class Program:
    """
    A computation as a list of assignments, without branches or loops.

    `inputs` maps each input array to the elements that the program reads, counted from 1.
    `statements` and `preparation` are texts `target = expression`; `results` are places in the
    output (equal elements of a symmetric matrix are one result) and their expressions.
    `prepared_names` are the parameters and results of `preparation` that `statements` and
    `results` read.
    """

    def __init__(
        self, graph: Graph, outputs: Sequence[OutputValue], input_names: Sequence[str]
    ) -> None:
        """
        Write the statements that compute the outputs, each value before it is read.

        `input_names` are those of the arrays in the order of the function's arguments, whether the
        equations read them or not.
        """
        self._graph = graph
        result_nodes = [output.value.node for output in outputs]
        nodes = reachable_nodes(output.value for output in outputs)
        self._result_indices = {node.index for node in result_nodes}
        self._use_counts = _use_counts(nodes, result_nodes)
        self._prepared_indices = _prepared_indices(nodes, result_nodes)
        # Names of variables, by the index of the node whose value they hold.
        self._variable_names = {
            node.index: node.name for node in nodes if node.kind in _INPUT_KINDS
        }
        self.statements: list[str] = []
        self.preparation: list[str] = []
        for node in nodes:
            if node.operands and self._needs_variable(node):
                lines = self.preparation if node.is_const else self.statements
                lines.append(self._statement(node))
        self.inputs = _input_elements(nodes, input_names)
        self.results = [
            (output.element_indices, self._signed_text(output.value)) for output in outputs
        ]
        self.prepared_names = [self._variable_names[index] for index in self._prepared_indices]

    def body_lines(self, prepared_array: str) -> list[str]:
        """Return lines that read inputs and the array `prepared_array`, and the statements."""
        lines = [
            f'{array}{number} = {array}[{number - 1}]'
            for array, numbers in self.inputs.items()
            for number in numbers
        ]
        lines += [f'{name} = {prepared_array}[{k}]' for k, name in enumerate(self.prepared_names)]
        return [*lines, *self.statements]

    def preparation_lines(self, names: Sequence[str]) -> list[str]:
        """Return lines that read run-time parameters and compute values from these alone."""
        used_names = {*self.prepared_names, *re.findall(r'\w+', ' '.join(self.preparation))}
        lines = [f'{name} = X[{k}]' for k, name in enumerate(names) if name in used_names]
        return [*lines, *self.preparation]

    def result_lines(self, output: str, separator: str) -> list[str]:
        """Return lines such as M[0][1] = M[1][0] = t9, where `separator` separates indices."""
        lines = []
        for element_indices, value in self.results:
            elements = [
                f'{output}[{separator.join(map(str, place))}]' for place in element_indices
            ]
            lines.append(' = '.join([*elements, value]))
        return lines

    def _needs_variable(self, node: Node) -> bool:
        """Return whether generated code stores a node's value in a variable."""
        if node.kind in _COSTLY_KINDS or self._use_counts[node.index] > 1:
            return True
        if node.is_const:
            return node.index in self._prepared_indices
        # A result that nothing else reads is written into the output, not into a named variable.
        return self._graph.name_of(node) is not None and node.index not in self._result_indices

    def _statement(self, node: Node) -> str:
        """Return a node's assignment to a variable, and record the variable's name."""
        if node.kind in (NodeKind.SIN, NodeKind.COS):
            angle = self._node_text(node.operands[0])
            target = f'{node.kind[0]}_{_angle_name(angle)}'
            text = f'{node.kind}({angle})'
        else:
            target = self._variable_name(node)
            text = self._operation_text(node)
        self._variable_names[node.index] = target
        return f'{target} = {text}'

    def _variable_name(self, node: Node) -> str:
        """Return a node's variable name: p_3 if in the array `p`, a textbook name, or t12."""
        if node.is_const and node.index in self._prepared_indices:
            return f'p_{self._prepared_indices.index(node.index)}'
        return self._graph.name_of(node) or f't{node.index}'

    def _node_text(self, node: Node) -> str:
        """Return a node's text in an expression: its variable, constant or operation."""
        if node.index in self._variable_names:
            return self._variable_names[node.index]
        return repr(node.value) if node.kind == NodeKind.CONSTANT else self._operation_text(node)

    def _operation_text(self, node: Node) -> str:
        """Return the text of the operation that computes a node."""
        if node.kind == NodeKind.RECIPROCAL:
            return f'1.0 / {self._operand_text(node.operands[0], *_SUM_KINDS, NodeKind.MULTIPLY)}'
        if node.kind == NodeKind.SQRT:
            return f'sqrt({self._node_text(node.operands[0])})'
        first, second = node.operands
        if node.kind == NodeKind.MULTIPLY:
            factors = (self._operand_text(factor, *_SUM_KINDS) for factor in (first, second))
            return '*'.join(factors)
        if node.kind == NodeKind.SUBTRACT:
            return f'{self._node_text(first)} - {self._operand_text(second, *_SUM_KINDS)}'
        return f'{self._node_text(first)} + {self._node_text(second)}'

    def _operand_text(self, node: Node, *parenthesized_kinds: str) -> str:
        """Return an operand's text, in parentheses if it is an operation of one of those kinds."""
        has_variable = node.index in self._variable_names
        if not has_variable and node.kind in parenthesized_kinds:
            return f'({self._node_text(node)})'
        return self._node_text(node)

    def _signed_text(self, value: Expression) -> str:
        """Return the text of an expression with its sign."""
        if value.sign > 0 or value.is_zero:
            return self._node_text(value.node)
        return self._negated_text(value.node) or f'-{self._operand_text(value.node, *_SUM_KINDS)}'

    def _negated_text(self, node: Node) -> str:
        """
        Return the text of -node if negation takes no further operation, else ''.

        A product with a number negates the number, -(a - b) is b - a, and a sum is negated if one
        of its terms can be: -(a + b) is (-a) - b.
        """
        if node.index in self._variable_names or not node.operands:
            return ''
        first = node.operands[0]
        second = node.operands[-1]
        if node.kind == NodeKind.MULTIPLY and first.kind == NodeKind.CONSTANT:
            return f'-{self._operation_text(node)}'
        if node.kind == NodeKind.SUBTRACT:
            return f'{self._node_text(second)} - {self._operand_text(first, *_SUM_KINDS)}'
        if node.kind == NodeKind.ADD:
            for negated, subtracted in ((first, second), (second, first)):
                text = self._negated_text(negated)
                if text:
                    return f'{text} - {self._operand_text(subtracted, *_SUM_KINDS)}'
        return ''


def _use_counts(nodes: Sequence[Node], result_nodes: Sequence[Node]) -> Counter[int]:
    """Return how often each node is an operand or a result, by its index."""
    operands = [operand.index for node in nodes for operand in node.operands]
    return Counter([*operands, *(node.index for node in result_nodes)])


def _prepared_indices(nodes: Sequence[Node], result_nodes: Sequence[Node]) -> list[int]:
    """Return the indices of parameters and prepared values that statements or results read."""
    operands = [operand for node in nodes if not node.is_const for operand in node.operands]
    constants = [node for node in (*operands, *result_nodes) if node.is_const]
    return sorted({node.index for node in constants if node.kind != NodeKind.CONSTANT})


def _input_elements(nodes: Sequence[Node], input_names: Sequence[str]) -> dict[str, list[int]]:
    """Return, by input array, the sorted numbers of the elements among some nodes."""
    elements: dict[str, list[int]] = {array: [] for array in input_names}
    for node in nodes:
        element = _ELEMENT_PATTERN.fullmatch(node.name)
        if node.kind == NodeKind.VARIABLE and element:
            elements[element['array']].append(int(element['number']))
    return {array: sorted(numbers) for array, numbers in elements.items()}


def _angle_name(angle_text: str) -> str:
    """Return an angle as part of a name: q7 for q7, and q7_offset for q7 + 0.36."""
    parts = [part if part[0].isalpha() else 'offset' for part in re.split(r' [+-] ', angle_text)]
    return '_'.join(parts)
