# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""An industrial arm from its URDF and a log of MuJoCo in amperes to an identified arm file."""

import json

import numpy as np
import pytest

from franka_dynamics.arm import load

mujoco = pytest.importorskip('mujoco', reason='the [sim] extra is not installed')

# Six axes of the size of a UR5: offset and turn before each, axis, mass, centre of mass, radii of
# gyration [m]; torque and velocity limits.
ROWS = [
    ('0 0 0.09', '0 0 0', '0 0 1', 3.8, (0.0, 0.03, 0.02), 0.08, 150, 3.1),
    ('0 0.14 0', '0 1.5707963267948966 0', '0 1 0', 8.4, (0.0, 0.02, 0.21), 0.14, 150, 3.1),
    ('0 -0.12 0.43', '0 0 0', '0 1 0', 2.3, (0.0, 0.01, 0.17), 0.12, 150, 3.1),
    ('0 0 0.39', '0 1.5707963267948966 0', '0 1 0', 1.2, (0.01, 0.05, 0.0), 0.05, 28, 3.1),
    ('0 0.09 0', '0 0 0', '0 0 1', 1.2, (0.0, 0.0, 0.06), 0.05, 28, 3.1),
    ('0 0 0.09', '0 0 0', '0 1 0', 0.25, (0.01, 0.04, 0.0), 0.04, 28, 3.1),
]
ROTORS = np.array([1.0, 1.0, 0.9, 0.15, 0.12, 0.1])  # behind the gears [kg m^2]
SCALE = np.array([12.5, 12.5, 11.0, 9.0, 9.4, 8.7])  # [N m/A]
AMPERES = 0.05  # of noise
VISCOUS = np.array([10.0, 9.0, 6.0, 1.2, 1.0, 1.1])
COULOMB = np.array([8.0, 9.0, 5.0, 1.5, 1.4, 1.2])


def six_axes(seed=None):
    """Return the arm's URDF; with a seed the links' inertias are drawn around the stated ones."""
    rng = np.random.default_rng(seed)
    parts = ['<robot name="six"><link name="base"/>']
    for k, (xyz, rpy, axis, mass, center, radius, torque, speed) in enumerate(ROWS, start=1):
        if seed is not None:
            mass = mass * rng.uniform(0.9, 1.1)
            center = np.array(center) + rng.uniform(-0.01, 0.01, 3)
            radius = radius * rng.uniform(0.9, 1.1)
        moment = mass * radius**2
        parts.append(
            f'<link name="link{k}"><inertial><origin xyz="{center[0]} {center[1]} {center[2]}"/>'
            f'<mass value="{mass}"/><inertia ixx="{moment}" ixy="0" ixz="0" iyy="{1.1 * moment}" '
            f'iyz="0" izz="{0.9 * moment}"/></inertial></link>'
            f'<joint name="axis{k}" type="revolute"><parent link="'
            f'{"base" if k == 1 else f"link{k - 1}"}"/><child link="link{k}"/>'
            f'<origin xyz="{xyz}" rpy="{rpy}"/><axis xyz="{axis}"/>'
            f'<limit effort="{torque}" velocity="{speed}" lower="-3" upper="3"/></joint>'
        )
    return ''.join(parts) + '</robot>'


def motion(seed, *, duration=40.0, rate=100.0):
    """Return times (N,) and a random Fourier series and its derivatives, (3, N, 6)."""
    rng = np.random.default_rng(seed)
    time = np.arange(round(duration * rate)) / rate
    w = 2.0 * np.pi * np.arange(1, 6)[:, None] * 0.1
    a, b = rng.uniform(-1.0, 1.0, (2, 5, 1, 6)) * 0.5
    s, c = np.sin(w * time)[..., None], np.cos(w * time)[..., None]
    w = w[..., None]
    return time, np.sum([a * s + b * c, w * (a * c - b * s), -w * w * (a * s + b * c)], axis=1)


def write_log(path, seed):
    """Write a CSV of positions, velocities and motor currents as MuJoCo has them."""
    model = mujoco.MjModel.from_xml_string(six_axes(seed=5))
    model.dof_armature[:] = ROTORS
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    data = mujoco.MjData(model)
    time, (q, dq, ddq) = motion(seed)
    torque = np.empty_like(q)
    for k in range(len(time)):
        data.qpos[:], data.qvel[:], data.qacc[:] = q[k], dq[k], ddq[k]
        mujoco.mj_inverse(model, data)
        torque[k] = data.qfrc_inverse
    torque += VISCOUS * dq + COULOMB * np.tanh(dq / 0.01)
    rng = np.random.default_rng(seed)
    amperes = torque / SCALE + AMPERES * rng.standard_normal(q.shape)
    names = [f'{word}{k}' for word in ('q', 'dq', 'i') for k in range(1, 7)]
    rows, header = np.column_stack([time, q, dq, amperes]), ','.join(['t', *names])
    np.savetxt(path, rows, delimiter=',', header=header, comments='')


def test_an_arm_of_a_urdf_and_its_currents_give_a_better_model(tmp_path, monkeypatch, answered):
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'six.urdf').write_text(six_axes(), encoding='utf-8')
    assert answered(*'arm import six.urdf --output six.yaml'.split())[0] == 0
    columns = '--stamp t --position q{} --velocity dq{} --effort i{}'.split()
    for seed, name in enumerate(('log', 'unseen')):
        write_log(f'{name}.csv', seed)
        assert answered('bag', 'import', f'{name}.csv', '--arm', 'six.yaml', *columns)[0] == 0
    command = 'identify arm log --arm six.yaml --effort-unit A --output found.yaml --json f.json'
    status, said = answered(*command.split())
    assert status == 0 and 'the identified arm is better' in said
    assert 'The motion does not show the scale of axis6' in said
    data = json.loads((tmp_path / 'f.json').read_text())
    # Masses in the URDF are wrong by up to a tenth, and all scales depend on them.
    np.testing.assert_allclose(np.array(data['effort_scale'])[:5] / SCALE[:5], 1.0, atol=0.15)
    assert max(data['effort_scale_relative_deviation'][:5]) < 0.1
    rotors = np.array([joint.rotor_inertia for joint in load('found.yaml').joints])
    np.testing.assert_allclose(rotors[:5] / ROTORS[:5], 1.0, atol=0.15)
    # On another motion only white noise sampled at 100 Hz should remain in a band of 3 Hz.
    noise_alone = AMPERES * np.linalg.norm(SCALE) * np.sqrt(3.0 / 50.0)
    errors = {}
    for name in ('six', 'found'):
        command = f'bag replay unseen --arm {name}.yaml --no-plots --hand none --json f.json'
        assert answered(*command.split(), '--effort-scale', *data['effort_scale'])[0] == 0
        errors[name] = json.loads((tmp_path / 'f.json').read_text())['fits'][0]['whole']['E']
    assert errors['found'] < 1.5 * noise_alone
    assert errors['six'] > 20.0 * errors['found']
