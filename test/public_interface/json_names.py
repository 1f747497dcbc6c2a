# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Keys of what each command writes with `--json`.

The commands run; what a dataclass may hold beside what this run has put into it is known from the
annotations of its fields. `[]` stands for the items of a list, `{}` for keys that are data, such
as names of joints.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import chdir, ExitStack, redirect_stderr, redirect_stdout
from dataclasses import fields, is_dataclass, replace
from importlib import import_module
import io
from pathlib import Path
from pkgutil import iter_modules
from tempfile import TemporaryDirectory
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints, NamedTuple, Union
from unittest.mock import patch

import numpy as np
from sensor_msgs.msg import JointState

from franka_dynamics import cli, LinkInertia, load, write_recording, write_urdf
from franka_dynamics.arm import MaxwellSlipFriction
from franka_dynamics.arm.arm_file import arm_file_text
from franka_dynamics.cli.main import PROGRAM_NAME, root_command
from franka_dynamics.ros.status import NodeSnapshot, NodeStatus

from ..made_recordings import simulate

# Commands of which each writes what others of the same words do not.
COMMANDS = {
    'arm show': 'arm show friction.yaml --q home',
    'arm show --base-parameters': 'arm show rpr --base-parameters',
    'arm check': 'arm check arm.urdf --states 2',
    'arm check FOLDER': 'arm check . --states 2',
    'arm compare': 'arm compare fr3 fer',
    'bag replay': 'bag replay bare --arm fer --no-plots --gains 100 --law droid',
    'identify arm': 'identify arm bare --arm fer',
    'identify payload': 'identify payload --arm fer --without bare --with loaded',
    'identify payload --plan': 'identify payload --plan poses.yaml --arm fer',
    'doctor': 'doctor --machine',
}
# Mappings whose keys are data; those of a dataclass have an annotation that says so.
DATA_KEYED = (
    'arm check FOLDER: ',
    'identify arm: left_open',
    'identify arm: residual_of_recordings',
    'node state: nodes[].statuses',
    'node state: nodes[].statuses{}.values',
    'node state: nodes[].torque_limits',
    'node state: nodes[].torques',
    'node state: nodes[].torques{}.effort',
)


def json_names(_listed: Set[str] = frozenset()) -> set[str]:
    """Return the keys of each command's JSON as COMMAND: KEY.KEY."""
    written: dict[str, Any] = {'node state': _node_state()}
    found: list[Any] = []
    modules = [import_module(f'{cli.__name__}.{one.name}') for one in iter_modules(cli.__path__)]
    reports = ('json_types', 'identification', 'replay')
    modules += [import_module(f'franka_dynamics.report.{name}') for name in reports]
    with ExitStack() as stack:
        stack.enter_context(chdir(stack.enter_context(TemporaryDirectory())))
        stack.enter_context(redirect_stdout(io.StringIO()))
        stack.enter_context(redirect_stderr(io.StringIO()))
        _write_inputs()
        for module in modules:
            if hasattr(module, 'write_json'):
                keep = stack.enter_context(patch.object(module, 'write_json'))
                keep.side_effect = lambda _path, data: found.append(data)
            if hasattr(module, 'to_json_types'):
                stack.enter_context(patch.object(module, 'to_json_types', _fields_of))
        for name, words in COMMANDS.items():
            arguments = [*words.split(), '--json', 'out.json']
            root_command.main(arguments, prog_name=PROGRAM_NAME, standalone_mode=False)
            written[name] = found.pop()
    return {path for command, data in written.items() for path in _keys(data, f'{command}: ')}


def _write_inputs() -> None:
    """Write the files that the commands read into the present folder."""
    arm = load('fer', hand='none')
    write_urdf(arm, 'arm.urdf')
    write_urdf(arm, 'again.urdf')
    Path('damaged.urdf').write_text('<robot/>', encoding='utf-8')
    slips = MaxwellSlipFriction(
        *np.zeros((3, 7)),
        np.zeros((1, 7)),
        [0.1],
        load_dependent=np.zeros(7),
        stribeck=np.zeros(7),
    )
    text = arm_file_text(replace(arm, friction=slips))
    Path('friction.yaml').write_text(text, encoding='utf-8')
    loaded = arm.with_payload(LinkInertia.from_center_of_mass(1.0, (0.0, 0.0, 0.1), np.zeros(6)))
    for name, moved in (('bare', arm), ('loaded', loaded)):
        write_recording(simulate(moved, duration=10.0, rate=50.0), name)


def _node_state() -> dict[str, Any]:
    """Return what `node state` writes of a node that was heard."""
    heard = NodeSnapshot('feedforward')
    heard.store_status(NodeStatus(heard.name, 'Command', 'OK', 'running', {'rate': '1'}), 0.0)
    heard.torques['gravity'] = JointState(name=('joint',), effort=(1.0,))
    return {'state': 'active', 'nodes': [heard.as_dict(0.0)]}


class _Annotated(NamedTuple):
    """A field's value with its annotation."""

    value: Any
    hint: Any


def _fields_of(value: Any) -> Any:
    """Return a dataclass's fields by their keys in JSON, each with its annotation."""
    if not is_dataclass(value):
        return value
    return {name: _Annotated(getattr(value, name), hint) for name, hint in _fields(type(value))}


def _fields(cls: type) -> Iterator[tuple[str, Any]]:
    """Yield name and annotation of the fields of a dataclass or named tuple in JSON."""
    hints = get_type_hints(cls)
    names = [field.name for field in fields(cls)] if is_dataclass(cls) else cls._fields
    for name in getattr(cls, 'json_fields', names):
        if name not in hints:
            member = getattr(cls, name)
            function = getattr(member, 'fget', None) or member.func
            hints[name] = get_type_hints(function)['return']
        yield name, hints[name]


def _joined(path: str, key: str) -> str:
    """Return the path of a key below another path, of which ': ' ends the command."""
    return f'{path}{key}' if path.endswith(': ') else f'{path}.{key}'


def _keys(value: Any, path: str, hint: Any = Any) -> Iterator[str]:
    """Yield the keys below a value, and those that others of its annotation may have."""
    if isinstance(value, _Annotated):
        value, hint = value
    yield from _keys_of_type(hint, path)
    if is_dataclass(value) or hasattr(value, '_fields'):
        for name, inner in _fields(type(value)):
            at = _joined(path, name)
            yield at
            yield from _keys(getattr(value, name), at, inner)
    elif isinstance(value, Mapping):
        annotated = get_origin(hint) in (dict, Mapping)
        data_keyed = annotated or path in DATA_KEYED
        for key, one in value.items():
            at = f'{path}{{}}' if data_keyed else _joined(path, str(key))
            yield at
            yield from _keys(one, at, get_args(hint)[1] if annotated else Any)
    elif isinstance(value, Sequence | Set) and not isinstance(value, str):
        for one in value:
            yield from _keys(one, f'{path}[]')


def _keys_of_type(hint: Any, path: str) -> Iterator[str]:
    """Yield the keys that a value of an annotated type has in JSON."""
    kind = get_origin(hint) or hint
    inner = get_args(hint)
    if kind in (Union, UnionType):
        for one in inner:
            yield from _keys_of_type(one, path)
    elif not isinstance(kind, type):
        return
    elif is_dataclass(kind) or hasattr(kind, '_fields'):
        for name, below in _fields(kind):
            at = _joined(path, name)
            yield at
            yield from _keys_of_type(below, at)
    elif issubclass(kind, Mapping) and inner:
        yield f'{path}{{}}'
        yield from _keys_of_type(inner[1], f'{path}{{}}')
    elif issubclass(kind, Sequence | Set) and inner:
        yield from _keys_of_type(inner[0], f'{path}[]')
