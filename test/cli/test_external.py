# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`bag replay --external` finds the wrench that was added to a recording's torques."""

from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.recordings.log_file import read_log
from franka_dynamics.recordings.recording import read_recording, write_recording

from ..foreign_logs import carried

FER = load('fer', hand='franka_hand')
# The wrench that the arm exerts at its flange: 12 N sideways, 0.5 N m about the vertical.
WRENCH = np.array([0.0, 12.0, 3.0, 0.0, 0.0, 0.5])
COMMAND = 'bag replay --no-plots --set gaz2019 --hand franka_hand --external'


def torque(q):
    model = PinocchioModel(FER)
    return np.array([model.jacobian(one).T @ WRENCH for one in q])


@pytest.fixture
def pushed(tmp_path):
    """Return the bag of an arm with a hand that pushes all the time."""
    recording = carried(FER)
    effort = recording.effort + torque(recording.q)
    write_recording(replace(recording, effort=effort), tmp_path / 'bag')
    return tmp_path / 'bag'


@pytest.mark.parametrize(('name', 'columns'), [('out.csv', '{}'), ('out.h5', '')])
def test_a_constant_push_is_found_in_a_file(pushed, name, columns, tmp_path, answered):
    if not columns:
        pytest.importorskip('h5py')
    status, said = answered(COMMAND, tmp_path / name, pushed)
    assert status == 0 and 'hand franka_hand; root mean square' in said
    log = read_log(tmp_path / name)
    wrench = log.choose(f'external_wrench{columns}', 6, 'wrench')
    # The low-pass filter distorts the motion: errors of 0.3 N and 0.1 N m.
    assert np.abs((wrench - WRENCH) / [0.5, 0.5, 0.5, 0.2, 0.2, 0.2]).max() < 1.0
    assert (log.choose(f'external_wrench_deviation{columns}', 6, 'deviation') > 0.0).all()
    assert len(log.choose('time', 1, 'time')) == len(wrench)


def test_a_bag_has_the_torque_under_the_recorded_stamps(pushed, tmp_path, answered):
    out = tmp_path / 'external'
    assert answered(COMMAND, out, pushed)[0] == 0
    recorded = read_recording(pushed, FER)
    found = read_recording(out, FER, topic='/external_torque')
    assert recorded.stamp_ns[0] < found.stamp_ns[0] < found.stamp_ns[-1] < recorded.stamp_ns[-1]
    np.testing.assert_allclose(found.effort, torque(found.q), rtol=0.0, atol=0.15)
    assert 'franka_hand' in (out / 'metadata.yaml').read_text()
