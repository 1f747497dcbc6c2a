# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The excitations that are shipped: within half the limits, above the table, and exciting."""

import numpy as np
import pinocchio as pin
import pytest
import yaml

from franka_dynamics.arm import load
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.resources import share_directory

FOLDER = share_directory() / 'config' / 'excitations'


@pytest.fixture(params=['fer', 'fr3', 'fr3v2', 'fr3v2_1'])
def motion(request):
    """Return an arm, and times (k,), positions, velocities and accelerations (k, n)."""
    arm = load(request.param)
    content = yaml.safe_load((FOLDER / f'{request.param}.yaml').read_text(encoding='utf-8'))
    assert content['joint_names'] == list(arm.joint_names)
    points = content['points']
    stamps = [point['time_from_start'] for point in points]
    times = np.array([stamp['sec'] + 1e-9 * stamp['nanosec'] for stamp in stamps])
    fields = 'positions', 'velocities', 'accelerations'
    return arm, times, *(np.array([point[field] for point in points]) for field in fields)


def test_it_begins_and_ends_at_rest_at_home_within_half_the_limits(motion):
    arm, times, q, dq, ddq = motion
    rounding = 1e-5  # of the file's six digits
    for values, rest in ((q, arm.home), (dq, 0.0), (ddq, 0.0)):
        np.testing.assert_allclose(values[[0, -1]] - rest, 0.0, atol=rounding)
    assert (np.abs(dq) <= 0.5 * arm.limit('velocity') + rounding).all()
    assert (np.abs(ddq) <= 0.5 * arm.limit('acceleration') + rounding).all()
    assert (q > arm.limit('lower')).all() and (q < arm.limit('upper')).all()
    # Velocities are those of the positions, by the trapezoidal rule: h^2 / 12 of the change.
    moved = 0.5 * (dq[1:] + dq[:-1]) * np.diff(times)[:, None]
    np.testing.assert_allclose(np.diff(q, axis=0), moved, atol=5e-4)


def test_it_stays_above_the_table_and_shows_all_base_parameters(motion):
    arm, _, *states = motion
    model = PinocchioModel(arm)
    assert model.frames(states[0])[:, 2:, 2, 3].min() > 0.1  # [m] from elbow to flange
    data = model.model.createData()
    rows = [pin.computeJointTorqueRegressor(model.model, data, *row) for row in zip(*states)]
    # 43 of the arm's 70 parameters are seen in torques (Gaz et al., 2019); each of their
    # combinations at least a thousandth as well as the best.
    singular = np.linalg.svd(np.vstack(rows), compute_uv=False)
    assert singular[42] > 1e-3 * singular[0] and singular[43] < 1e-9 * singular[0]
