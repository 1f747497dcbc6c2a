# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`identify` on a log with what real logs from elsewhere had: strong gears."""

from dataclasses import replace
import json

import numpy as np

from franka_dynamics import arm as fd
from franka_dynamics.cli.main import main
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.recordings.recording import write_recording
from franka_dynamics.urdf.writer import save

from . import geared
from ..arms import drawn_around

RIGHT = np.pi / 2
# Of the size of a UR10: a, alpha, d; limit; mass, centre of mass, radius of gyration.
ROWS = (
    (0.0, RIGHT, 0.1273, 330.0, 7.8, (0.0, -0.02, 0.03), 0.10),
    (-0.612, 0.0, 0.0, 330.0, 12.9, (0.24, 0.0, 0.16), 0.20),
    (-0.5723, 0.0, 0.0, 150.0, 3.9, (0.27, 0.0, 0.07), 0.17),
    (0.0, RIGHT, 0.1639, 56.0, 2.0, (0.0, -0.01, 0.02), 0.05),
    (0.0, -RIGHT, 0.1157, 56.0, 2.0, (0.0, 0.01, 0.02), 0.05),
    (0.0, 0.0, 0.0922, 56.0, 0.4, (0.0, 0.0, -0.03), 0.04),
)
GEARS = np.array([35.0, 35.0, 20.0, 5.0, 5.0, 3.0])  # [N m] of Coulomb friction


def industrial_arm():
    return fd.ArmDescription(
        name='industrial',
        convention=fd.Convention.STANDARD,
        joints=tuple(
            fd.Joint(
                f'axis{k}',
                fd.JointKind.REVOLUTE,
                fd.DHRow(a, alpha, d),
                fd.JointLimits(effort=effort),
            )
            for k, (a, alpha, d, effort, *_) in enumerate(ROWS, start=1)
        ),
        links=tuple(
            fd.LinkInertia.from_center_of_mass(mass, center, mass * radius**2 * np.eye(3))
            for *_, mass, center, radius in ROWS
        ),
        home=np.array([0.0, -1.2, 1.3, -1.0, -1.0, 0.3]),
        inertial_set='published',
    )


def identified(folder, log, *options):
    """Return exit status, figures and the arm file of a log, which is there or not."""
    out, figures = folder / 'found.yaml', folder / 'figures.json'
    write_recording(log, folder / 'bag')
    command = ['identify', 'arm', str(folder / 'bag'), '--friction', 'viscous_coulomb']
    status = main([*command, *options, '--output', str(out), '--json', str(figures)])
    return status, json.loads(figures.read_text()), out


def test_behind_strong_gears_the_inertias_decide(tmp_path):
    published = industrial_arm()
    free = [replace(joint, limits=fd.JointLimits()) for joint in published.joints]
    published = replace(published, joints=tuple(free))
    save(published, tmp_path / 'published.yaml')
    real = drawn_around(published, 17, size=0.2)
    log = geared(real, GEARS, seconds=25.0, rate=60.0, noise=0.5, widest=0.4)
    status, figures, out = identified(tmp_path, log, '--arm', str(tmp_path / 'published.yaml'))
    scores = {one['name']: one for one in figures['scores']}
    own, start = scores['consistent'], scores['published, none']
    assert status == 0
    # Without friction both are some 50 N m off, and the published set happens to be nearer.
    rigid = [one['rigid']['E'] for one in (own, start)]
    assert rigid[0] > rigid[1] > 40.0
    found = fd.load(out).friction.coulomb
    np.testing.assert_allclose(found[:3], GEARS[:3], rtol=0.15)
    gravity, before, truth = (
        NewtonEulerModel(arm).gravity(published.home) for arm in (fd.load(out), published, real)
    )
    assert np.linalg.norm(gravity - truth) < 0.5 * np.linalg.norm(before - truth)
