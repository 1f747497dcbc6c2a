# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Meshes as the page shows them; a recorded motion played and served."""

from dataclasses import replace
import re
import socket
import time
from urllib.parse import urlsplit
from urllib.request import urlopen

import numpy as np
import pytest

import franka_dynamics as fd
from franka_dynamics.arm.shapes import load_hand_shapes, load_shapes, ShapeKind
from franka_dynamics.cli import view
from franka_dynamics.cli.main import main
from franka_dynamics.recordings.options import SignalOptions
from franka_dynamics.recordings.preprocessing import Motion, to_motion
from franka_dynamics.spatial import pose_from_xyz_rpy
from franka_dynamics.urdf.writer import urdf_text
from franka_dynamics.view import page as views
from franka_dynamics.view.meshes import MeshesError, urdf_meshes
from franka_dynamics.view.page import ArmPage

from ..agreement import refuses
from ..scripts import parsed

FER = fd.load('fer')
OTHER_HAND = fd.load('fer', hand='robotiq_arg85')  # of which no shape is known
TURNED = replace(OTHER_HAND, base=pose_from_xyz_rpy((0.1, -0.2, 0.3), (0.4, -0.2, 1.0)))
HELD = fd.load('fer', hand='franka_hand')
Q = np.array([0.3, -0.5, 0.2, -1.9, 0.4, 1.7, 0.6])
VISUAL = '<visual><geometry><mesh filename="package://some_arm/{}.stl"/></geometry></visual>'

# A triangle.
DAE = """<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><up_axis>Z_UP</up_axis></asset><library_geometries><geometry id="g"><mesh>
<source id="p"><float_array id="f" count="9">0 0 0 0.1 0 0 0 0.2 0</float_array>
<technique_common><accessor source="#f" count="3" stride="3"><param name="X" type="float"/>
<param name="Y" type="float"/><param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices><triangles count="1">
<input semantic="VERTEX" source="#v" offset="0"/><p>0 1 2</p></triangles></mesh></geometry>
</library_geometries><library_visual_scenes><visual_scene id="s"><node>
<instance_geometry url="#g"/></node></visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#s"/></scene></COLLADA>"""


@pytest.fixture(scope='module')
def page():
    with ArmPage(TURNED, port=0) as window:
        yield window
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(urlsplit(window.address).netloc.split(':'))


@pytest.fixture
def packages(tmp_path):
    """Install a package with a box for each link, centred where the link's frame is."""
    import trimesh

    (tmp_path / 'some_arm').mkdir()
    (tmp_path / 'some_arm/bad.stl').write_text('solid')
    for i in range(FER.n + 1):
        trimesh.creation.box((0.1, 0.08, 0.06)).export(tmp_path / f'some_arm/link{i}.stl')
    return tmp_path


def urdf_with_meshes():
    """Return the arm's URDF with a mesh in each link."""
    text = re.sub(r'<link name="(\w+)" />', r'<link name="\1"></link>', urdf_text(FER))
    mesh = VISUAL.format(r'\1')
    return re.sub(r'<link name="fer_(link[0-7])">', rf'<link name="fer_\1">{mesh}', text)


def pose_of(handle):
    """Return the pose (4, 4) of a node of the scene, whose quaternion begins with its cosine."""
    pose = np.eye(4)
    w = handle.wxyz[0]
    v = handle.wxyz[1:]
    cross = np.cross(np.eye(3), v)
    pose[:3, :3] = np.eye(3) + 2.0 * (w * cross + cross @ cross)
    pose[:3, 3] = handle.position
    return pose


def drawn(arm, q, meshes=None):
    """Return the joint, the pose (4, 4) and the size [m] of each object that the page shows."""
    with ArmPage(arm, port=0) as window:
        if meshes is not None:
            window.show_meshes(meshes)
        window.show_position(q)
        objects = window.meshes.visual_model.geometryObjects
        handles = [window.visualizer.frames[f'links/visual/{one.name}'] for one in objects]
        model = window.meshes.model
        number_of = {model.getJointId(name): i for i, name in enumerate(arm.joint_names, 1)}
        numbers = [number_of.get(one.parentJoint, 0) for one in objects]
        shown = zip(numbers, handles, strict=True)
        return [(joint, pose_of(one), size_of(one)) for joint, one in shown]


def size_of(handle):
    """Return the extent along each axis of a box, ball or mesh."""
    if hasattr(handle, 'dimensions'):
        return np.array(handle.dimensions)
    if hasattr(handle, 'radius'):
        return np.full(3, 2.0 * handle.radius)
    return np.ptp(handle.vertices, axis=0)


@pytest.mark.parametrize('arm', [TURNED, HELD, fd.load('rpr')])
def test_shapes_are_drawn_in_their_size_at_their_links(arm):
    q = np.linspace(-0.3, 0.4, arm.n)
    frames = [arm.base, *fd.NewtonEulerModel(arm).frames(q)]
    shapes = load_shapes(arm.name)
    placed = [(frame, frames[frame], one) for frame in shapes for one in shapes[frame]]
    if arm is HELD:
        placed += [(arm.n, frames[-1], shape) for shape in load_hand_shapes(arm.hand)]
    parts = [(j, pose, part) for j, pose, shape in placed for part in shape.urdf_primitives()]
    found = drawn(arm, q)
    assert len(found) == len(parts) > 0
    for (joint, pose, extent), (expected, frame, shape) in zip(found, parts):
        assert joint == expected
        np.testing.assert_allclose(pose, frame @ shape.pose, rtol=0.0, atol=1e-9)
        radius, length = (*shape.size, 2.0 * shape.size[0])[:2]
        size = shape.size if shape.kind is ShapeKind.BOX else (2 * radius, 2 * radius, length)
        # Polygons in place of circles: less than 1 % smaller, and never larger.
        np.testing.assert_allclose(extent, size, rtol=0.01, atol=0.0)


# Pinocchio's configuration of a continuous joint has two numbers, cosine and sine.
@pytest.mark.parametrize('kind', ['revolute', 'continuous'])
def test_each_mesh_of_a_urdf_is_placed_at_its_link(kind, packages):
    # Without effort limits, which urdfdom requires.
    text = urdf_with_meshes().replace('"revolute"', f'"{kind}"').replace(' effort=', ' no_effort=')
    joints, poses, sizes = zip(*drawn(FER, Q, urdf_meshes(text, FER.joint_names, [packages])))
    assert joints == tuple(range(8))
    frames = [np.eye(4), *fd.Model(FER).frames(Q)[: FER.n]]
    np.testing.assert_allclose(poses, frames, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(sizes, [(0.1, 0.08, 0.06)] * 8, rtol=1e-6)


def test_a_franka_arm_has_the_meshes_of_franka_description(packages, monkeypatch):
    folder = packages / 'share/franka_description/meshes/robot_arms/fer/visual'
    folder.mkdir(parents=True)
    for i in range(8):
        (folder / f'link{i}.dae').write_text(DAE)
    monkeypatch.setenv('AMENT_PREFIX_PATH', f'{packages}')
    joints, poses, sizes = zip(*drawn(FER, Q))
    assert joints == tuple(range(8))
    frames = [np.eye(4), *fd.Model(FER).frames(Q)[: FER.n]]
    np.testing.assert_allclose(poses, frames, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(sizes, [(0.1, 0.2, 0.0)] * 8, rtol=1e-6)


@pytest.mark.parametrize(
    ('text', 'name'),
    [
        (urdf_text(FER), 'no mesh'),
        ('<robot', 'meshes'),
        (VISUAL.format('x').replace('some_arm', 'elsewhere'), 'package elsewhere'),
        (urdf_text(fd.load('fr3')), 'fer_joint1'),
        (
            f'<robot name="r"><link name="a">{VISUAL.format("bad")}</link></robot>',
            'bad.stl',
        ),
    ],
)
def test_a_sentence_says_why_there_are_no_meshes(text, name, packages):
    with refuses(MeshesError, name):
        urdf_meshes(text, FER.joint_names, [packages])


def test_a_motion_is_played_at_its_own_pace_and_again(page, monkeypatch):
    slept = []
    seen = []
    monkeypatch.setattr(time, 'monotonic', lambda: 0.01 * len(seen))
    monkeypatch.setattr(time, 'sleep', slept.append)
    times = np.linspace(5.0, 5.16, 17)
    zeros = np.zeros((17, 7))
    positions = zeros + (times - times[0])[:, None]
    rest = {'piece_ids': np.zeros(17, int), 'options': SignalOptions()}
    motion = Motion(times, positions, *[zeros] * 4, **rest)
    monkeypatch.setattr(page, 'show_position', lambda q: seen.append(q[0]))
    views.show_recording(page, motion, lambda: len(seen) < 5)
    # The first sample, of one in 0.01 s, that is not earlier.
    np.testing.assert_allclose(seen, [0.0, 0.05, 0.1, 0.15, 0.0], rtol=0.0, atol=0.0101)
    # What showing leaves of a step of 0.05 s.
    np.testing.assert_allclose(slept, [0.04] * 5, rtol=1e-9)


def test_the_default_host_serves_a_page_to_this_machine_only(page):
    host, port = page.address.removeprefix('http://').split(':')
    assert host == parsed(['view']).params['host'] == '127.0.0.1'
    with urlopen(page.address) as served:
        assert served.status == 200 and b'<html' in served.read()
    # Another address of this machine, at which a server on all addresses would answer.
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(('127.0.0.2', int(port)))


def test_the_command_serves_a_bag(simulate, tmp_path, monkeypatch):
    recording = simulate(FER, duration=3.0)
    fd.write_recording(recording, tmp_path / 'bag')
    served = []

    def shown(window, motion, go_on):
        served.append((urlopen(window.address).status, motion))

    monkeypatch.setattr(view, 'show_recording', shown)
    assert main(f'view {tmp_path / "bag"} --port 0'.split()) == 0
    ((status, motion),) = served
    assert status == 200
    np.testing.assert_array_equal(motion.q, to_motion(recording).q)


def test_arguments_go_to_the_xacro_file_with_meshes(simulate, packages, monkeypatch):
    fd.write_recording(simulate(FER, duration=2.5), packages / 'bag')
    argument = '><xacro:arg name="folder" default="/nowhere"/>'
    text = urdf_with_meshes().replace('package://some_arm', 'file://$(arg folder)')
    xmlns = 'xmlns:xacro="http://wiki.ros.org/xacro"'
    text = re.sub('(<robot [^>]*)>', rf'\1 {xmlns}{argument}', text)
    (packages / 'arm.urdf.xacro').write_text(text)
    shown = []
    monkeypatch.setattr(view, 'show_recording', lambda *_: None)
    monkeypatch.setattr(ArmPage, 'show_meshes', lambda _, meshes: shown.append(meshes))
    command = f'view {packages}/bag --port 0 --arm fer --urdf {packages}/arm.urdf.xacro'
    assert main([*command.split(), f'folder:={packages}/some_arm']) == 0
    monkeypatch.undo()
    joints, _, sizes = zip(*drawn(FER, Q, shown[-1]))
    assert joints == tuple(range(8))
    np.testing.assert_allclose(sizes, [(0.1, 0.08, 0.06)] * 8, rtol=1e-6)
