# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
A parameter file loaded into a running node: all of it at once, or none.

`ros2 param load` sets one parameter after the other, so that a file which is refused half-way is
half in use, and prints a failure for each read-only parameter of a dump.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
import time
from typing import Any

from rcl_interfaces.msg import ParameterDescriptor, ParameterType, ParameterValue
from rcl_interfaces.srv import DescribeParameters, GetParameters, SetParametersAtomically
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python

from .parameter_files import matches, read_sections
from ..errors import SettingsError

_KINDS = {
    ParameterType.PARAMETER_BOOL: bool,
    ParameterType.PARAMETER_INTEGER: int,
    ParameterType.PARAMETER_DOUBLE: float,
    ParameterType.PARAMETER_STRING: str,
}
_LISTS = {
    ParameterType.PARAMETER_BOOL_ARRAY: bool,
    ParameterType.PARAMETER_INTEGER_ARRAY: int,
    ParameterType.PARAMETER_DOUBLE_ARRAY: float,
    ParameterType.PARAMETER_STRING_ARRAY: str,
}


class NoAnswerError(SettingsError):
    """The node is not there, or does not answer."""


@dataclass(frozen=True)
class Loaded:
    """What became of a file: parameters that were set, that were so already, and a refusal."""

    changed: tuple[str, ...]
    unchanged: tuple[str, ...]
    refusal: str = ''


def load_parameters(node_name: str, path: Path, timeout: float = 10.0) -> Loaded:
    """
    Set the parameters that a file gives a running node, in one atomic call.

    Those that have the file's value already are left out, so that a whole dump can be loaded.

    Parameters
    ----------
    node_name : str
        Fully qualified, such as /feedforward.
    path : Path
        As `ros2 param dump` and `franka-dynamics node defaults` write it.
    timeout : float
        How long to wait for the node [s].

    Raises
    ------
    SettingsError
        If the file cannot be used for this node: it names a parameter that does not exist, has a
        value of another type, or another value for one that is read-only.
    NoAnswerError
        If the node does not answer in time.

    """
    given: dict[str, Any] = {}
    for pattern, parameters in read_sections(path).items():
        if matches(pattern, node_name):
            given.update(parameters)
    if not given:
        raise SettingsError(f'{path} has no parameters for {node_name}.')
    context = Context()
    context.init(args=[])
    client = _Client(context, node_name, timeout)
    try:
        return _load(client, path, given)
    finally:
        client.close()


def _load(client: _Client, path: Path, given: dict[str, Any]) -> Loaded:
    names = list(given)
    descriptors = client.call(DescribeParameters, 'describe_parameters', names).descriptors
    present = client.call(GetParameters, 'get_parameters', names).values
    if len(descriptors) != len(names) or len(present) != len(names):
        # rclpy answers with nothing at all if one of them does not exist.
        unknown = [
            name
            for name in names
            if not client.call(DescribeParameters, 'describe_parameters', [name]).descriptors
        ]
        raise SettingsError(
            f'{path}: {client.target} has no parameter {", ".join(unknown)}. Nothing was set.'
        )
    changes = []
    for name, descriptor, value in zip(names, descriptors, present):
        requested = _as_declared(path, name, descriptor, given[name])
        if parameter_value_to_python(value) != parameter_value_to_python(requested):
            if descriptor.read_only:
                raise SettingsError(
                    f'{path}: {name} is {parameter_value_to_python(value)!r} and read-only, the '
                    f'file says {given[name]!r}; start the node with it. Nothing was set.'
                )
            changes.append(Parameter.from_parameter_msg(_message(name, requested)))
    unchanged = tuple(name for name in names if name not in {one.name for one in changes})
    if not changes:
        return Loaded((), unchanged)
    result = client.call(
        SetParametersAtomically,
        'set_parameters_atomically',
        [change.to_parameter_msg() for change in changes],
    ).result
    changed = tuple(change.name for change in changes)
    return Loaded(
        changed, unchanged, '' if result.successful else result.reason or 'the node gave no reason'
    )


def _message(name: str, value: ParameterValue) -> Any:
    from rcl_interfaces.msg import Parameter as ParameterMessage

    return ParameterMessage(name=name, value=value)


def _as_declared(
    path: Path,
    name: str,
    descriptor: ParameterDescriptor,
    value: Any,
) -> ParameterValue:
    """Return a value from YAML in the parameter's own type; 1 stands for 1.0, [] for any list."""
    kind = descriptor.type
    field = {
        ParameterType.PARAMETER_BOOL: 'bool_value',
        ParameterType.PARAMETER_INTEGER: 'integer_value',
        ParameterType.PARAMETER_DOUBLE: 'double_value',
        ParameterType.PARAMETER_STRING: 'string_value',
        ParameterType.PARAMETER_BOOL_ARRAY: 'bool_array_value',
        ParameterType.PARAMETER_INTEGER_ARRAY: 'integer_array_value',
        ParameterType.PARAMETER_DOUBLE_ARRAY: 'double_array_value',
        ParameterType.PARAMETER_STRING_ARRAY: 'string_array_value',
    }.get(kind)
    if field is None:
        raise SettingsError(f'{path}: {name} has a type that no file can give.')
    entries: Sequence[Any] = value if isinstance(value, list) else [value]
    want = _LISTS.get(kind) or _KINDS[kind]
    fits = isinstance(value, list) is (kind in _LISTS) and all(
        type(entry) is want or (want is float and type(entry) is int) for entry in entries
    )
    if not fits:
        raise SettingsError(
            f'{path}: {name} is {value!r}, but must be '
            f'{"a list of " if kind in _LISTS else ""}{want.__name__}. Nothing was set.'
        )
    converted = [want(entry) for entry in entries]
    return ParameterValue(type=kind, **{field: converted if kind in _LISTS else converted[0]})


class _Client:
    """Calls a node's parameter services."""

    def __init__(self, context: Context, target: str, timeout: float) -> None:
        self.target = target
        self._context, self._timeout = context, timeout
        self._node = Node(
            'load_parameters', context=context, start_parameter_services=False, enable_rosout=False
        )
        self._executor = SingleThreadedExecutor(context=context)
        self._executor.add_node(self._node)

    def call(self, kind: Any, service: str, argument: Sequence[Any]) -> Any:
        """Return the answer to a request with one list, by the name its type gives it."""
        client = self._node.create_client(kind, f'{self.target}/{service}')
        request = kind.Request()
        setattr(request, next(iter(request.get_fields_and_field_types())), list(argument))
        give_up = time.monotonic() + self._timeout
        while not client.wait_for_service(timeout_sec=0.1):
            if time.monotonic() > give_up:
                raise NoAnswerError(
                    f'{self.target} is not there: no service '
                    f'{self.target}/{service} within {self._timeout:g} s. '
                    'Is it running, in this namespace and ROS domain?'
                )
        # A server that has not found this client yet throws its answer away: ask again.
        while time.monotonic() < give_up:
            future = client.call_async(request)
            self._executor.spin_until_future_complete(future, timeout_sec=1.0)
            if future.done():
                self._node.destroy_client(client)
                return future.result()
        raise NoAnswerError(f'{self.target}/{service} gave no answer within {self._timeout:g} s.')

    def close(self) -> None:
        self._executor.shutdown()
        self._node.destroy_node()
        self._context.try_shutdown()
