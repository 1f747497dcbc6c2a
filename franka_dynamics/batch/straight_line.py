# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Statements of a generated kernel as LLVM instructions, past numba's inference of types.

numba takes a millisecond and more for each sum and product of a function, and kernels have
thousands; here all numbers are of one type, which is known. What is emitted is what numba emits.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from .simd import cgutils, intrinsic, ir, numba

_OPERATIONS = {ast.Add: 'fadd', ast.Sub: 'fsub', ast.Mult: 'fmul', ast.Div: 'fdiv'}


def straight_line(text: str) -> Any:
    """
    Return a function of an array W and a place i that runs statements, for use in kernels.

    Parameters
    ----------
    text : str
        Assignments in Python: sums, differences, products and quotients of names assigned before,
        numbers, and elements `W[place]`, which stand for `W[place + i]`. Targets are names or
        elements; nothing checks that these lie within W. All is computed in the type of W.

    """
    assignments = [
        (line.targets[0], line.value)
        for line in ast.parse(text).body
        if isinstance(line, ast.Assign)
    ]

    def run(typing_context: Any, array: Any, i: Any) -> tuple[Any, Callable[..., Any]]:
        del typing_context, i

        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            data = context.make_array(array)(context, builder, arguments[0]).data
            emitter = _Emitter(builder, context.get_data_type(array.dtype), data, arguments[1])
            for target, value in assignments:
                emitter.assign(target, emitter.value(value))
            return context.get_dummy_value()

        return numba.void(array, numba.intp), emit

    return intrinsic(run)


class _Emitter:
    """What one call of a function of statements emits."""

    def __init__(self, builder: Any, number: Any, data: Any, i: Any) -> None:
        self.builder, self.number, self.data, self.i = builder, number, data, i
        self.values: dict[str, Any] = {}

    def assign(self, target: Any, value: Any) -> None:
        if isinstance(target, ast.Name):
            self.values[target.id] = value
        else:
            self.builder.store(value, self._element(target))

    def value(self, node: Any) -> Any:
        if isinstance(node, ast.BinOp):
            operation = getattr(self.builder, _OPERATIONS[type(node.op)])
            return operation(self.value(node.left), self.value(node.right))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return self.builder.fneg(self.value(node.operand))
        if isinstance(node, ast.Constant):
            return ir.Constant(self.number, float(ast.literal_eval(node)))
        if isinstance(node, ast.Name):
            return self.values[node.id]
        return self.builder.load(self._element(node))

    def _element(self, node: ast.Subscript) -> Any:
        place = ir.Constant(self.i.type, ast.literal_eval(node.slice))
        return cgutils.gep_inbounds(self.builder, self.data, self.builder.add(self.i, place))
