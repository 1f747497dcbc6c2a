# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""URDF texts for tests (edited, random, of a six-axis arm), and Pinocchio's dynamics of them."""

import xml.etree.ElementTree as ElementTree

import numpy as np
import pinocchio as pin

from franka_dynamics import crosscheck, Model, sample_states

ATOL = 1e-11  # [m, N m], of arms that weigh up to 20 kg


def edited(text, path, **attributes):
    """Return a URDF with attributes of one element changed; None removes an attribute."""
    robot = ElementTree.fromstring(text)
    element = robot.find(path)
    assert element is not None, path
    for key, value in attributes.items():
        if value is None:
            del element.attrib[key]
        else:
            assert element.get(key) != value, f'{path} {key} is {value} already'
            element.set(key, value)
    return ElementTree.tostring(robot, encoding='unicode')


def without(text, parent_path, tag):
    """Return a URDF with one child element removed."""
    robot = ElementTree.fromstring(text)
    parent = robot.find(parent_path)
    parent.remove(parent.find(tag))
    return ElementTree.tostring(robot, encoding='unicode')


def with_elements(text, xml):
    """Return a URDF with elements added to its root."""
    return text.replace('</robot>', f'{xml}</robot>')


TENSOR = 'ixx="0.02" ixy="0.001" ixz="-0.002" iyy="0.03" iyz="0.003" izz="0.04"'


def inertial(mass=1.0, xyz='0.01 0.02 0.03', rpy='0.1 -0.2 0.3', inertia=TENSOR):
    place = f'<origin xyz="{xyz}" rpy="{rpy}"/>'
    return f'<inertial>{place}<mass value="{mass}"/><inertia {inertia}/></inertial>'


def numbers(values):
    return ' '.join(repr(float(value)) for value in values)


def random_chain(rng, kinds):
    """Return the URDF of a random chain with inertias, its axes in any direction."""

    def joint(name, kind, parent, child, rest=''):
        xyz = numbers(rng.normal(size=3))
        rpy = numbers(rng.uniform(-3, 3, 3))
        return (
            f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
            f'<origin xyz="{xyz}" rpy="{rpy}"/>{rest}</joint>'
        )

    parts = [f'<robot name="random"><link name="link0">{inertial()}</link>']
    parent = 'link0'
    for i, kind in enumerate(kinds, start=1):
        if i % 2 == 0:
            parts.append(f'<link name="bracket{i}">{inertial(0.3)}</link>')
            parts.append(joint(f'fixed{i}', 'fixed', parent, f'bracket{i}'))
            parent = f'bracket{i}'
        axis = rng.normal(size=3)
        rest = (
            f'<axis xyz="{numbers(axis / np.linalg.norm(axis))}"/>'
            '<limit lower="-2" upper="2" effort="10" velocity="3"/>'
        )
        parts.append(f'<link name="link{i}">{inertial(1.0 + 0.1 * i)}</link>')
        parts.append(joint(f'joint{i}', kind, parent, f'link{i}', rest))
        parent = f'link{i}'
    return ''.join(parts) + '</robot>'


def by_pinocchio(text, names, q, dq, held=None):
    """Return M, C dq and g of the named joints; the others stand still at zero or as held."""
    model = pin.buildModelFromXML(text)
    data = model.createData()
    step = np.zeros(model.nv)
    speed = np.zeros(model.nv)
    at = [model.joints[model.getJointId(name)].idx_v for name in names]
    step[at] = q
    speed[at] = dq
    for name, position in (held or {}).items():
        step[model.joints[model.getJointId(name)].idx_v] = position
    place = pin.integrate(model, pin.neutral(model), step)
    upper = np.triu(pin.crba(model, data, place))
    M = (upper + np.triu(upper, 1).T)[np.ix_(at, at)]
    g = pin.computeGeneralizedGravity(model, data, place).copy()
    return M, (pin.nonLinearEffects(model, data, place, speed) - g)[at], g[at]


def assert_as_in_file(arm, text, held=None):
    model = Model(arm)
    for q, dq in zip(*sample_states(arm, 5)[:2]):
        found = model.mass_matrix(q), model.coriolis(q, dq), model.gravity(q)
        for one, expected in zip(found, by_pinocchio(text, arm.joint_names, q, dq, held)):
            np.testing.assert_allclose(one, expected, rtol=0.0, atol=ATOL)
    crosscheck(arm, count=20).require()


QUARTER = '1.5707963267948966'
# Offset, turn before a joint, axis, mass, its centre, radius of gyration [m]; torque limit.
ROWS = [
    ('0 0 0.09', '0 0 0', '0 0 1', 3.8, (0.0, 0.03, 0.02), 0.08, 150),
    ('0 0.14 0', f'0 {QUARTER} 0', '0 1 0', 8.4, (0.0, 0.02, 0.21), 0.14, 150),
    ('0 -0.12 0.43', '0 0 0', '0 1 0', 2.3, (0.0, 0.01, 0.17), 0.12, 150),
    ('0 0 0.39', f'0 {QUARTER} 0', '0 1 0', 1.2, (0.01, 0.05, 0.0), 0.05, 28),
    ('0 0.09 0', '0 0 0', '0 0 1', 1.2, (0.0, 0.0, 0.06), 0.05, 28),
    ('0 0 0.09', '0 0 0', '0 1 0', 0.25, (0.01, 0.04, 0.0), 0.04, 28),
]


def six_axes(extra=''):
    """Return the arm's URDF."""
    parts = ['<robot name="six"><link name="link0"/>']
    for k, (xyz, rpy, axis, mass, center, radius, torque) in enumerate(ROWS, start=1):
        moment = mass * radius**2
        parts.append(
            f'<link name="link{k}"><inertial><origin xyz="{center[0]} {center[1]} {center[2]}" '
            f'rpy="0.1 0.2 0.3"/><mass value="{mass}"/><inertia ixx="{moment}" ixy="0" ixz="0" '
            f'iyy="{1.1 * moment}" iyz="0" izz="{0.9 * moment}"/></inertial></link>'
            f'<joint name="axis{k}" type="revolute"><parent link="link{k - 1}"/>'
            f'<child link="link{k}"/><origin xyz="{xyz}" rpy="{rpy}"/><axis xyz="{axis}"/>'
            f'<limit effort="{torque}" velocity="3.1" lower="-3" upper="3"/></joint>'
        )
    return ''.join(parts) + extra + '</robot>'
