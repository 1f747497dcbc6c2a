# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The node's answers by compiled code, over DDS: the same torques, and what it says of them."""

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from franka_dynamics.arm import load
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel

from .conftest import NodeWorld
from ..codegen.c_core import needs_compiler

FER = load('fer')
GRAVITY = NewtonEulerModel(FER).gravity(FER.home)


@pytest.fixture
def make_world(tmp_path):
    """Make a world that ends with the test."""
    worlds = []

    def make(**parameters):
        worlds.append(NodeWorld(tmp_path / 'node.log', robot_type='fer', **parameters))
        return worlds[-1]

    yield make
    for world in worlds:
        world.close()


def published(world, at_least):
    """Publish states until so many commands are reported; return them, and those by the code."""
    found = {}

    def told():
        world.arm.send(20)
        _, _, found['pairs'] = world.probe.diagnostics.get('feedforward: Command', (0, '', {}))
        return int(found['pairs'].get('published', 0)) >= at_least

    world.probe.until(told, f'{at_least} commands')
    world.arm.until(lambda: world.commands, 'a command')
    np.testing.assert_allclose(world.commands[-1].data, GRAVITY, rtol=0, atol=1e-9)
    return int(found['pairs']['published']), int(found['pairs']['published before judged'])


@needs_compiler
def test_most_states_are_answered_by_compiled_code(make_world):
    world = make_world(target='mujoco')
    all_of_them, compiled = published(world, 2000)
    # But for those in which the start is faded in, and what a busy machine keeps back.
    assert 0.5 * all_of_them < compiled < all_of_them
    assert 'judged in Python' not in world.node.text


def test_without_the_parameter_python_answers_alone(make_world):
    world = make_world(target='mujoco', compiled_cycle=False)
    assert published(world, 500)[1] == 0
    assert 'judged in Python' not in world.node.text


def test_a_node_without_a_compiler_says_so_and_works(make_world, monkeypatch, tmp_path):
    monkeypatch.setenv('PATH', str(tmp_path))
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path))
    world = make_world(target='mujoco')
    assert published(world, 500)[1] == 0
    assert 'every state is judged in Python before it is answered' in world.node.text
    assert 'No C compiler (cc, gcc or clang) is on the PATH. Install a C' in world.node.text
