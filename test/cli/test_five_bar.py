# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The verb five-bar: table, files, refusals."""

import numpy as np
import pytest

from franka_dynamics.cli.main import INPUT_AT_FAULT, main
from franka_dynamics.dynamics.mechanisms import spherical_five_bar

pytest.importorskip('matplotlib')


def test_the_default_motions_table_holds_its_computed_torques(tmp_path, capsys):
    assert main(['five-bar', '--samples', '21', '--output', str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert 'loop open by at most' in out
    assert (tmp_path / 'five_bar.png').read_bytes().startswith(b'\x89PNG')
    rows = np.genfromtxt(tmp_path / 'five_bar.csv', delimiter=',', names=True)
    assert len(rows) == 21
    # At rest at the end the torques are the slope of the height energy over the motors.
    chain, step = spherical_five_bar(), 1e-4
    last = np.array([rows[f'q{j}_rad'][-1] for j in range(1, 6)])
    np.testing.assert_allclose(last[[0, 3]], np.radians([35.0, -45.0]), rtol=0.0, atol=1e-8)

    def height(motors):
        poses = chain.tree.poses(chain.assemble(motors, last))
        return sum(
            9.81 * (pose[:3, :3] @ link.first_moment)[2]
            for pose, link in zip(poses, chain.tree.inertias)
        )

    slope = [
        (height(last[[0, 3]] + step * unit) - height(last[[0, 3]] - step * unit)) / (2 * step)
        for unit in np.eye(2)
    ]
    np.testing.assert_allclose(
        [rows['tau1_Nm'][-1], rows['tau4_Nm'][-1]], slope, rtol=0.0, atol=1e-7
    )


def test_a_path_out_of_reach_is_refused_in_one_sentence(tmp_path, capsys):
    status = main(['five-bar', '--end', '120', '20', '--samples', '21', '--output', str(tmp_path)])
    assert status == INPUT_AT_FAULT
    error = capsys.readouterr().err
    assert 'The loops cannot be closed' in error or 'do not determine the passive' in error
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ('option', 'value', 'message'),
    [('--samples', '1', '1 instants are no motion'), ('--duration', '0', 'not a positive time')],
)
def test_given_no_motion_when_run_then_the_option_is_named(option, value, message, capsys):
    with pytest.raises(SystemExit) as exit_info:
        main(['five-bar', option, value])
    assert exit_info.value.code == 2
    assert message in capsys.readouterr().err
