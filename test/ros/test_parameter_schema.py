# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""generate_parameter_library, reading config/parameters, declares what the nodes declare."""

from types import SimpleNamespace

import pytest
from rclpy.context import Context
from rclpy.node import Node

from franka_dynamics.parameter_schema import specs
from franka_dynamics.resources import share_directory

generator = pytest.importorskip(
    'generate_parameter_library_py.generate_python_module',
    reason='generate_parameter_library_py is not installed',
)
FILES = sorted((share_directory() / 'config/parameters').glob('*.yaml'))


@pytest.mark.parametrize('path', FILES, ids=lambda path: path.stem)
def test_its_generated_code_declares_the_same_parameters(path, tmp_path):
    written = tmp_path / f'{path.stem}.py'
    generator.run(str(written), str(path))
    # Our own validator is not in the library; it restricts when a parameter may change.
    names = {'franka_dynamics': SimpleNamespace(while_inactive=lambda parameter: '')}
    exec(compile(written.read_text(encoding='utf-8'), str(written), 'exec'), names)
    context = Context()
    context.init()
    node = Node('declares', context=context)
    names[path.stem].ParamListener(node)
    try:
        for spec in specs(path.stem):
            value, descriptor = (
                node.get_parameter(spec.name).value,
                node.describe_parameter(spec.name),
            )
            assert (list(value) if isinstance(spec.default, list) else value) == spec.default
            assert (descriptor.description, descriptor.read_only) == (
                spec.sentence,
                spec.read_only,
            )
            for bounds in (*descriptor.floating_point_range, *descriptor.integer_range):
                assert spec.minimum == bounds.from_value
                assert spec.maximum is None or spec.maximum == bounds.to_value
            if spec.minimum is not None and spec.maximum is not None:
                assert descriptor.floating_point_range or descriptor.integer_range
    finally:
        node.destroy_node()
        context.try_shutdown()
