# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
LLVM assembly that evaluates equations for many states, one state in each lane of a vector.

The assembly text is in single-assignment form with explicit vectors and calls nothing but LLVM's
intrinsics, so that LLVM only has to choose registers and instructions: no optimisation passes are
needed.
"""

from collections.abc import Mapping, Sequence
import math
import struct
from typing import NamedTuple

import numpy as np

from .equations import Equations
from .expression import Node, NodeKind, reachable_nodes

_INSTRUCTION_BY_KIND = {
    NodeKind.ADD: 'fadd',
    NodeKind.SUBTRACT: 'fsub',
    NodeKind.MULTIPLY: 'fmul',
}


class _SineConstants(NamedTuple):
    """
    Constants by which sines and cosines are computed.

    `half_pi_parts` add up to pi/2. The first ones have so few digits that their products with a
    number of quarter turns are exact (Cody and Waite 1980). Adding `rounding_constant`, a large
    number, rounds a number of quarter turns to a whole number. The coefficients are those of the
    polynomials of sine and cosine (fdlibm, Sun Microsystems 1993; Cephes, Moshier 1992).
    `largest_angle` [rad] is the largest whose sine is right to an ulp where products and sums are
    fused.
    """

    half_pi_parts: tuple[float, ...]
    rounding_constant: float
    sine_coefficients: tuple[float, ...]
    cosine_coefficients: tuple[float, ...]
    largest_angle: float


_DOUBLE_SINE_CONSTANTS = _SineConstants(
    half_pi_parts=(
        1.57079632673412561417e00,
        6.07710050630396597660e-11,
        2.02226624879595063154e-21,
    ),
    rounding_constant=6755399441055744.0,
    sine_coefficients=(
        -1.66666666666666324348e-01,
        8.33333333332248946124e-03,
        -1.98412698298579493134e-04,
        2.75573137070700676789e-06,
        -2.50507602534068634195e-08,
        1.58969099521155010221e-10,
    ),
    cosine_coefficients=(
        -0.5,
        4.16666666666666019037e-02,
        -1.38888888888741095749e-03,
        2.48015872894767294178e-05,
        -2.75573143513906633035e-07,
        2.08757232129817482790e-09,
        -1.13596475577881948265e-11,
    ),
    largest_angle=2**49 * math.pi / 2,
)
_SINGLE_SINE_CONSTANTS = _SineConstants(
    half_pi_parts=(1.5703125, 4.837512969970703125e-4, 7.54978995489188e-8),
    rounding_constant=12582912.0,
    sine_coefficients=(-1.6666654611e-1, 8.3321608736e-3, -1.9515295891e-4),
    cosine_coefficients=(
        -0.5,
        4.166664568298827e-2,
        -1.388731625493765e-3,
        2.443315711809948e-5,
    ),
    largest_angle=2**20 * math.pi / 2,
)


def vector_llvm_ir(equations: Equations, lanes: int, *, single_precision: bool = False) -> str:
    """
    Return LLVM assembly whose function `run` computes one quantity at any number of states.

    The arguments of `run` are a pointer to each input array and to the output, then for each array
    the bytes from one state to the next, then the number of states, at least 1. A state's values
    are contiguous; the output must not overlap an input. A state with an input that is not finite,
    or positions that exceed 8.8e14 (1.65e6 in float32), gives NaN in that state's result alone.
    `equations` must have no parameters that are set at run time and no wrench: each input array
    has n values. A vector holds `lanes` states, a power of two; with `single_precision` arrays and
    arithmetic are float32.
    """
    # Without the attributes in `#0`, LLVM uses vectors of 256 bits on many x86 processors that
    # have 512.
    writer = _AssemblyWriter(equations, lanes, single_precision)
    bits = lanes * writer.bits
    return '\n'.join(
        [
            'declare i64 @llvm.umin.i64(i64, i64)',
            f'declare {writer.vector} {writer.sqrt_function}({writer.vector})',
            writer.function_text(),
            f'attributes #0 = {{ nounwind "min-legal-vector-width"="{bits}" '
            f'"prefer-vector-width"="{bits}" }}',
            '',
        ]
    )


class _AssemblyWriter:
    """Writes the LLVM function `run` of one quantity, statement by statement."""

    def __init__(self, equations: Equations, lanes: int, is_single: bool) -> None:
        self.equations = equations
        self.lanes = lanes
        self.single_precision = is_single
        self.number = 'float' if is_single else 'double'
        self.bits = 32 if is_single else 64
        self.vector = f'<{lanes} x {self.number}>'
        self.sine_constants = _SINGLE_SINE_CONSTANTS if is_single else _DOUBLE_SINE_CONSTANTS
        self.sqrt_function = f'@llvm.sqrt.v{lanes}f{self.bits}'
        self.lines: list[str] = []
        self.value_names: dict[int, str] = {}  # LLVM name of a node's value, by the node's number
        # LLVM names of an angle's sine and cosine, by the node's number.
        self.sine_cosine_names: dict[int, tuple[str, str]] = {}

    def function_text(self) -> str:
        """Return the text of the function `run`."""
        arrays = [*self.equations.input_names, 'out']
        self.lines = [
            'entry:',
            '  %last = sub i64 %count, 1',
            '  br label %loop',
            'loop:',
            '  %start = phi i64 [ 0, %entry ], [ %next, %loop ]',
        ]
        # Lanes beyond the last state compute the last state again, so that every vector is full.
        wanted = [self._emit(f'add i64 %start, {lane}') for lane in range(self.lanes)]
        states = [self._emit(f'call i64 @llvm.umin.i64(i64 {i}, i64 %last)') for i in wanted]
        elements = {array: self._load_array(array, states) for array in self.equations.input_names}
        unknown = self._emit_nan_mask(elements)
        inputs = dict[str, str]()
        for array, values in elements.items():
            inputs |= {f'{array}{k}': value for k, value in enumerate(values, 1)}
        for node in reachable_nodes(output.value for output in self.equations.outputs):
            self.value_names[node.index] = self._emit_node(node, inputs)
        self._store_results(unknown, states)
        self.lines += [
            f'  %next = add i64 %start, {self.lanes}',
            '  %more = icmp ult i64 %next, %count',
            '  br i1 %more, label %loop, label %done',
            'done:',
            '  ret void',
        ]
        arguments = [f'ptr noalias %{array}' for array in arrays]
        arguments += [f'i64 %{array}_step' for array in arrays]
        return '\n'.join(
            [
                f'define void @run({", ".join([*arguments, "i64 %count"])}) #0 {{',
                *self.lines,
                '}',
            ]
        )

    def _emit(self, text: str) -> str:
        """Append a statement, and return the name of its value."""
        name = f'%v{len(self.lines)}'
        self.lines.append(f'  {name} = {text}')
        return name

    def _emit_operation(self, instruction: str, a: str, b: str) -> str:
        """Append a floating-point operation on two vectors, and return the name of its value."""
        # `contract` allows LLVM to fuse a product and a sum, and nothing else.
        return self._emit(f'{instruction} contract {self.vector} {a}, {b}')

    def _constant_vector(self, value: float) -> str:
        """Return the text of a vector constant with a number in every lane."""
        if self.single_precision:
            value = struct.unpack('f', struct.pack('f', value))[0]
        bits = f'0x{struct.unpack("<Q", struct.pack("<d", value))[0]:016X}'
        return self._broadcast(f'{self.number} {bits}')

    def _broadcast(self, element: str) -> str:
        """Return the text of a vector constant with the same element in every lane."""
        return '<' + ', '.join([element] * self.lanes) + '>'

    def _emit_nan_mask(self, inputs: Mapping[str, Sequence[str]]) -> str:
        """Append a vector of zeros, NaN for states with invalid inputs, and return its name."""
        largest = np.finfo(np.float32 if self.single_precision else float).max
        scale = self._constant_vector(float(largest / self.sine_constants.largest_angle))
        # A position beyond the limit becomes infinite here, and times 0 NaN.
        positions = [self._emit_operation('fmul', value, scale) for value in inputs['q']]
        rates = [value for name, values in inputs.items() if name != 'q' for value in values]
        total, *others = (*positions, *rates)
        for value in others:
            total = self._emit_operation('fadd', total, value)
        return self._emit_operation('fmul', total, self._constant_vector(0.0))

    def _emit_node(self, node: Node, inputs: dict[str, str]) -> str:
        """Append the statements that compute a node, and return the name of its value."""
        if node.kind == NodeKind.VARIABLE:
            return inputs[node.name]
        if node.kind == NodeKind.CONSTANT:
            return self._constant_vector(node.value)
        operands = [self.value_names[operand.index] for operand in node.operands]
        if node.kind == NodeKind.SQRT:
            argument = f'({self.vector} {operands[0]})'
            return self._emit(f'call {self.vector} {self.sqrt_function}{argument}')
        if node.kind == NodeKind.RECIPROCAL:
            return self._emit_operation('fdiv', self._constant_vector(1.0), operands[0])
        if node.kind in (NodeKind.SIN, NodeKind.COS):
            angle = node.operands[0].index
            if angle not in self.sine_cosine_names:
                self.sine_cosine_names[angle] = self._emit_sine_cosine(operands[0])
            sine, cosine = self.sine_cosine_names[angle]
            return sine if node.kind == NodeKind.SIN else cosine
        return self._emit_operation(_INSTRUCTION_BY_KIND[node.kind], *operands)

    def _emit_sine_cosine(self, x: str) -> tuple[str, str]:
        """
        Append sine and cosine of a vector of angles, and return their names.

        The angle is k quarter turns and a rest of at most an eighth of a turn, of which
        polynomials are sine and cosine.
        """
        constants = self.sine_constants
        rounding_constant = self._constant_vector(constants.rounding_constant)
        rounded = self._emit_operation('fmul', x, self._constant_vector(2.0 / math.pi))
        rounded = self._emit_operation('fadd', rounded, rounding_constant)
        quarters = self._emit_operation('fsub', rounded, rounding_constant)
        rest = x
        for part in constants.half_pi_parts:
            product = self._emit_operation('fmul', quarters, self._constant_vector(part))
            rest = self._emit_operation('fsub', rest, product)
        square = self._emit_operation('fmul', rest, rest)
        cubed = self._emit_operation('fmul', square, rest)
        higher = self._emit_polynomial(constants.sine_coefficients, square)
        sine = self._emit_operation('fmul', cubed, higher)
        sine = self._emit_operation('fadd', rest, sine)
        higher = self._emit_polynomial(constants.cosine_coefficients, square)
        cosine = self._emit_operation('fmul', square, higher)
        cosine = self._emit_operation('fadd', self._constant_vector(1.0), cosine)
        return self._emit_turned_by_quarters(sine, cosine, rounded)

    def _emit_turned_by_quarters(self, sine: str, cosine: str, rounded: str) -> tuple[str, str]:
        """
        Append the sine and the cosine of an angle to which k quarter turns are added; return both.

        The lowest mantissa bits of `rounded` hold k. An odd k exchanges sine and cosine. The
        second-lowest bit of k is the sign of the sine, and that of k + 1 the sign of the cosine.
        """
        integers = f'<{self.lanes} x i{self.bits}>'
        k = self._emit(f'bitcast {self.vector} {rounded} to {integers}')
        k_plus_1 = self._emit(f'add {integers} {k}, {self._broadcast(f"i{self.bits} 1")}')
        is_odd = self._emit(f'trunc {integers} {k} to <{self.lanes} x i1>')
        turned_sine = self._emit_with_sign(is_odd, sine, cosine, k)
        turned_cosine = self._emit_with_sign(is_odd, cosine, sine, k_plus_1)
        return turned_sine, turned_cosine

    def _emit_with_sign(self, is_odd: str, if_even: str, if_odd: str, quarters: str) -> str:
        """Append the choice of a value, negated if the second-lowest bit of `quarters` is set."""
        integers = f'<{self.lanes} x i{self.bits}>'
        shift_to_sign_bit = self._broadcast(f'i{self.bits} {self.bits - 2}')
        sign_bit = self._broadcast(f'i{self.bits} {-(1 << (self.bits - 1))}')
        choice = f'{self.vector} {if_odd}, {self.vector} {if_even}'
        chosen = self._emit(f'select <{self.lanes} x i1> {is_odd}, {choice}')
        shifted = self._emit(f'shl {integers} {quarters}, {shift_to_sign_bit}')
        sign = self._emit(f'and {integers} {shifted}, {sign_bit}')
        bits = self._emit(f'bitcast {self.vector} {chosen} to {integers}')
        bits = self._emit(f'xor {integers} {bits}, {sign}')
        return self._emit(f'bitcast {integers} {bits} to {self.vector}')

    def _emit_polynomial(self, coefficients: Sequence[float], x: str) -> str:
        """Append the evaluation of a polynomial by Horner, and return the name of its value."""
        value = self._constant_vector(coefficients[-1])
        for coefficient in coefficients[-2::-1]:
            value = self._emit_operation('fmul', x, value)
            value = self._emit_operation('fadd', self._constant_vector(coefficient), value)
        return value

    def _emit_row_addresses(self, array_name: str, state_numbers: Sequence[str]) -> list[str]:
        """Append the addresses of the states' rows of an array, and return their names."""
        offsets = [self._emit(f'mul i64 {state}, %{array_name}_step') for state in state_numbers]
        return [self._emit(f'getelementptr i8, ptr %{array_name}, i64 {at}') for at in offsets]

    def _load_array(self, array_name: str, state_numbers: Sequence[str]) -> list[str]:
        """Append loads of an input array; return names of vectors of states, one per joint."""
        rows = self._emit_row_addresses(array_name, state_numbers)
        vectors = []
        for column in range(self.equations.n):
            vector = 'poison'
            for lane, row in enumerate(rows):
                element = self._emit(f'load {self.number}, ptr {self._emit_address(row, column)}')
                operands = f'{self.vector} {vector}, {self.number} {element}'
                vector = self._emit(f'insertelement {operands}, i32 {lane}')
            vectors.append(vector)
        return vectors

    def _store_results(self, nan_mask: str, state_numbers: Sequence[str]) -> None:
        """Append the stores of each state's results as one row of the output."""
        shape = self.equations.shape
        values = [''] * math.prod(shape)
        for output in self.equations.outputs:
            unsigned = self.value_names[output.value.node.index]
            instruction = 'fadd' if output.value.sign > 0 else 'fsub'
            value = self._emit_operation(instruction, nan_mask, unsigned)
            for place in output.element_indices:
                values[int(np.ravel_multi_index(place, shape))] = value
        # Results are written in square tiles of `size` values of `size` states, a power of two.
        rows = self._emit_row_addresses('out', state_numbers)
        size = 1 << (min(len(values), self.lanes).bit_length() - 1)
        tile_vector = f'<{size} x {self.number}>'
        align = f'align {self.bits // 8}'
        for column in _tile_starts(len(values), size):
            for first_lane in range(0, self.lanes, size):
                lanes = range(first_lane, first_lane + size)
                columns = [
                    self._emit_shuffle(value, value, lanes)
                    for value in values[column : column + size]
                ]
                for row, part in zip(rows[first_lane:], self._emit_transpose(columns)):
                    address = self._emit_address(row, column)
                    self.lines.append(f'  store {tile_vector} {part}, ptr {address}, {align}')

    def _emit_address(self, row_address: str, column: int) -> str:
        """Append the address of a value in a row, and return its name."""
        return self._emit(f'getelementptr {self.number}, ptr {row_address}, i64 {column}')

    def _emit_shuffle(self, a: str, b: str, indices: Sequence[int], vector_size: int = 0) -> str:
        """Append a vector of the elements at `indices` of a and b joined; return its name."""
        vector = f'<{vector_size or self.lanes} x {self.number}>'
        mask = ', '.join(f'i32 {place}' for place in indices)
        operands = f'{vector} {a}, {vector} {b}, <{len(indices)} x i32> <{mask}>'
        return self._emit(f'shufflevector {operands}')

    def _emit_transpose(self, rows: list[str]) -> list[str]:
        """
        Append the transposition of a square matrix of `rows`; return its columns' names.

        With steps 1, 2, 4, ... the matrix is seen as blocks of step by step elements, and the two
        blocks beside the diagonal of each 2 x 2 blocks change places (Eklundh 1972, "A Fast
        Computer Method for Matrix Transposing", IEEE Trans. Computers C-21(7)).
        """
        size = len(rows)
        step = 1
        matrix = list(rows)
        while step < size:
            # The new elements of the upper and of the lower of two rows that are a step apart:
            # indices below `size` are in the upper row, those from there on in the lower one.
            upper = [j - step + size if j & step else j for j in range(size)]
            lower = [j + size if j & step else j + step for j in range(size)]
            for i in range(size):
                if not i & step:
                    a = matrix[i]
                    b = matrix[i + step]
                    matrix[i] = self._emit_shuffle(a, b, upper, size)
                    matrix[i + step] = self._emit_shuffle(a, b, lower, size)
            step *= 2
        return matrix


def _tile_starts(column_count: int, tile_size: int) -> list[int]:
    """Return the starts of tiles that cover `column_count` values; the last two may overlap."""
    first = list(range(0, column_count - tile_size + 1, tile_size))
    return first if column_count % tile_size == 0 else [*first, column_count - tile_size]
