# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Arrows, meshes and the table of torques, as the page shows them; terms of a recorded motion."""

from dataclasses import replace
import re

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.arm.shapes import load_shapes, ShapeKind
from franka_dynamics.dynamics.model import GRAVITY as GRAVITY_VECTOR
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.recordings.preprocessing import prepare
from franka_dynamics.urdf.writer import urdf_text
from franka_dynamics.view.meshes import MeshesError, package_folders, shape_meshes, urdf_meshes
from franka_dynamics.view.scene import (
    COLUMNS,
    COMMANDED,
    CORIOLIS,
    EXTERNAL,
    GRAVITY,
    INERTIA,
    LEAST_TORQUE,
    MEASURED,
    share_of_limit,
    torque_table,
    ViewState,
)
from franka_dynamics.view.window import Playback, Window

from ..optional import needs

pytestmark = needs('viser', 'trimesh')

FER = load('fer')
Q = np.array([0.3, -0.5, 0.2, -1.9, 0.4, 1.7, 0.6])
VISUAL = '<visual><geometry><mesh filename="package://some_arm/{}.stl"/></geometry></visual>'


@pytest.fixture(scope='module')
def page():
    with Window(FER, port=0) as window:
        yield window


@pytest.fixture
def packages(tmp_path):
    """Install a package with a box for each link, centred where the link's frame is."""
    import trimesh

    (tmp_path / 'some_arm').mkdir()
    for i in range(FER.n + 1):
        trimesh.creation.box((0.1, 0.08, 0.06)).export(tmp_path / f'some_arm/link{i}.stl')
    return tmp_path


def urdf_with_meshes():
    """Return the arm's URDF with a mesh in each link."""
    text = re.sub(r'<link name="(\w+)" />', r'<link name="\1"></link>', urdf_text(FER))
    mesh = VISUAL.format(r'\1')
    return re.sub(r'<link name="fer_(link[0-7])">', rf'<link name="fer_\1">{mesh}', text)


def test_arrows_of_torques_that_can_be_told_lie_along_the_joints_axes(page):
    arrows = page._scene._arrows
    for external in (np.zeros(7), np.full(7, 0.99 * LEAST_TORQUE)):
        page.show(ViewState(0.0, Q, {EXTERNAL: external}))
        assert not arrows.visible
    external = np.array([2.0, -3.0, 0.0, 4.0, 0.1, -1.0, 0.6])
    page.show(ViewState(0.0, Q, {EXTERNAL: external}))
    assert arrows.visible
    shown = [0, 1, 3, 5, 6]
    frames = PinocchioModel(FER).frames(Q)[shown]
    tails, tips = np.swapaxes(arrows.points, 0, 1)
    np.testing.assert_allclose(tails, frames[:, :3, 3], rtol=0.0, atol=1e-6)
    along = 0.03 * external[shown, None] * frames[:, :3, 2]
    np.testing.assert_allclose(tips - tails, along, rtol=0.0, atol=1e-6)


@pytest.mark.parametrize('arm', [load('fer'), load('rpr')])
def test_shapes_are_drawn_in_their_size_at_their_links(arm):
    drawn = shape_meshes(arm)
    parts = [
        (frame, part)
        for frame, shapes in load_shapes(arm.name).items()
        for shape in shapes
        for part in shape.parts()
    ]
    q = np.linspace(-0.3, 0.4, arm.n)
    frames = [arm.base, *NewtonEulerModel(arm).frames(q)]
    assert len(drawn.meshes) == len(parts) > 0
    for mesh, pose, (frame, shape) in zip(drawn.meshes, drawn.poses(q), parts):
        assert mesh.joint == frame
        np.testing.assert_allclose(pose, frames[frame] @ shape.pose, rtol=0.0, atol=1e-9)
        radius, length = (*shape.size, 2.0 * shape.size[0])[:2]
        size = shape.size if shape.kind is ShapeKind.BOX else (2 * radius, 2 * radius, length)
        # Polygons in place of circles: less than 1 % smaller, and never larger.
        np.testing.assert_allclose(np.ptp(mesh.vertices, axis=0), size, rtol=0.01, atol=0.0)


def test_a_hand_is_drawn_with_the_arm():
    held, bare = (shape_meshes(load('fer', hand=hand)).meshes for hand in ('franka_hand', 'none'))
    assert len(held) > len(bare)


# Pinocchio's configuration of a continuous joint has two numbers, cosine and sine.
@pytest.mark.parametrize('kind', ['revolute', 'continuous'])
def test_each_mesh_of_a_urdf_is_placed_at_its_link(kind, packages):
    text = urdf_with_meshes().replace('"revolute"', f'"{kind}"')
    found = urdf_meshes(text, FER.joint_names, [packages])
    assert [mesh.joint for mesh in found.meshes] == list(range(8))
    frames = PinocchioModel(FER).frames(Q)[: FER.n]
    np.testing.assert_allclose(found.poses(Q)[1:], frames, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(np.ptp(found.meshes[3].vertices, axis=0), (0.1, 0.08, 0.06))


@pytest.mark.parametrize(
    'text, sentence',
    [
        (urdf_text(FER), 'the URDF has no mesh'),
        ('<robot', 'the meshes cannot be read'),
        (VISUAL.format('x').replace('some_arm', 'elsewhere'), 'package elsewhere, which has'),
        (urdf_text(load('fr3')), 'the URDF has no joint fer_joint1'),
    ],
)
def test_a_sentence_says_why_there_are_no_meshes(text, sentence, packages):
    with pytest.raises(MeshesError, match=sentence):
        urdf_meshes(text, FER.joint_names, [packages])


def test_packages_are_looked_for_where_ros_has_them(tmp_path, monkeypatch):
    (tmp_path / 'a' / 'share').mkdir(parents=True)
    monkeypatch.setenv('AMENT_PREFIX_PATH', f'{tmp_path / "a"}:{tmp_path / "none"}')
    assert package_folders() == [tmp_path / 'a' / 'share']


def test_meshes_take_the_shapes_place_and_are_coloured_by_torque(packages):
    with Window(FER, port=0) as window:
        window.show_meshes(urdf_meshes(urdf_with_meshes(), FER.joint_names, [packages]))
        scene = window._scene
        assert [mesh.joint for mesh in scene._meshes.meshes] == list(range(8))
        window.show(ViewState(0.0, Q, {COMMANDED: 86.9 * np.eye(7)[1]}))
        colours = [tuple(handle.color) for handle in scene._handles]
        assert colours.count(colours[2]) == 1 and colours.count(colours[3]) == 6


def cells(state):
    rows = re.findall('<tr>(.*?)</tr>', torque_table(state, FER))
    return [re.findall('<td.*?>(.*?)</td>', row) for row in rows[1:]]


def test_torques_stand_in_their_columns():
    state = ViewState(1.0, FER.home, {MEASURED: np.arange(7.0), COMMANDED: -np.arange(7.0)})
    rows = cells(state)
    expected = {**dict.fromkeys(COLUMNS, '–'), MEASURED: '3.0', COMMANDED: '-3.0'}
    assert rows[3][1:-1] == [f'{FER.home[3]:.2f}', *expected.values()]
    assert '-0.0' not in rows[0]


def test_the_share_of_the_limit_is_the_commands_the_measured_torques_or_unknown():
    six, zero = np.full(7, -6.0), np.zeros(7)
    shares, told = [6.0 / 87.0] * 4 + [0.5] * 3, 4 * ['7 %'] + 3 * ['50 %']
    for torques, expected, last in (
        ({MEASURED: zero, COMMANDED: six}, shares, told),
        ({GRAVITY: zero, MEASURED: six}, shares, told),
        ({GRAVITY: six}, np.nan, 7 * ['–']),
    ):
        state = ViewState(0.0, FER.home, torques)
        found = share_of_limit(state, FER)
        np.testing.assert_allclose(np.nan if found is None else found, expected, rtol=1e-14)
        assert [row[-1] for row in cells(state)] == last


# Another formulation of the same terms: 1e-13 measured.
ATOL_NM = 1e-11


def test_played_terms_are_the_models_and_external_is_the_rest(simulate):
    push = np.array([0.0, 4.0, 0.0, -3.0, 0.0, 1.0, 0.0])
    recording = simulate(FER, duration=8.0)
    motion = prepare(recording)
    playback = Playback(FER, motion, GRAVITY_VECTOR)
    i = len(motion) // 2
    state = playback.state(float(motion.time[i] - motion.time[0]))
    model, (q, dq, ddq) = PinocchioModel(FER), (motion.q[i], motion.dq[i], motion.ddq[i])
    np.testing.assert_array_equal((state.q, playback.state(1e9).q), (q, motion.q[-1]))
    for name, expected in (
        (GRAVITY, model.gravity(q)),
        (CORIOLIS, model.coriolis(q, dq)),
        (INERTIA, model.mass_matrix(q) @ ddq),
        (MEASURED, motion.effort[i]),
    ):
        np.testing.assert_allclose(state.torques[name], expected, rtol=0.0, atol=ATOL_NM)
    pushed = prepare(replace(recording, effort=recording.effort + push))
    after, before = (
        one.state(3.0).torques[EXTERNAL]
        for one in (Playback(FER, pushed, GRAVITY_VECTOR), playback)
    )
    np.testing.assert_allclose(after - before, push, rtol=0.0, atol=1e-9)  # a filter of gain 1
