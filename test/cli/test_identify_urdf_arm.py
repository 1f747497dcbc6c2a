# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""An industrial arm from its URDF and a log of MuJoCo in amperes to an identified arm file."""

import numpy as np
import pytest

from franka_dynamics.arm import load

from .six_axes import six_axes

mujoco = pytest.importorskip('mujoco', reason='the [sim] extra is not installed')

ROTORS = np.array([1.0, 1.0, 0.9, 0.15, 0.12, 0.1])  # behind the gears [kg m^2]
SCALE = np.array([12.5, 12.5, 11.0, 9.0, 9.4, 8.7])  # [N m/A]
AMPERES = 0.05  # of noise
VISCOUS = np.array([10.0, 9.0, 6.0, 1.2, 1.0, 1.1])
COULOMB = np.array([8.0, 9.0, 5.0, 1.5, 1.4, 1.2])


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


def test_an_arm_of_a_urdf_and_its_currents_give_a_better_model(
    tmp_path, monkeypatch, answered, figures
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'six.urdf').write_text(six_axes(), encoding='utf-8')
    assert answered('arm import six.urdf --output six.yaml')[0] == 0
    columns = '--stamp t --position q{} --velocity dq{} --effort i{}'
    for seed, name in enumerate(('log', 'unseen')):
        write_log(f'{name}.csv', seed)
        assert answered(f'bag import {name}.csv --arm six.yaml {columns}')[0] == 0
    scale = '--torque-constant', *SCALE
    command = 'identify arm log --arm six.yaml --rotor-inertia --output found.yaml --json f.json'
    status, said = answered(command, *scale)
    assert status == 0 and 'the identified arm is better' in said
    rotors = np.array([joint.rotor_inertia for joint in load('found.yaml').joints])
    np.testing.assert_allclose(rotors[:5] / ROTORS[:5], 1.0, atol=0.15)
    # On another motion only white noise sampled at 100 Hz should remain in a band of 3 Hz.
    noise_alone = AMPERES * np.linalg.norm(SCALE) * np.sqrt(3.0 / 50.0)
    found, six = (
        figures(f'bag replay unseen --arm {name}.yaml --no-plots --hand none', *scale)['fits'][0]
        for name in ('found', 'six')
    )
    assert found['filtered']['E'] < 1.5 * noise_alone
    assert six['filtered']['E'] > 20.0 * found['filtered']['E']
