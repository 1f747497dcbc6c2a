# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`arm export`: printed or written files, existing files, and payloads."""

import pinocchio
import pytest

from franka_dynamics.arm import load
from franka_dynamics.cli.main import main
from franka_dynamics.resources import share_directory
from franka_dynamics.urdf.xacro_writer import generated_files
from franka_dynamics.validation.urdf_check import model_from_urdf

FER = share_directory() / 'urdf' / 'fer.urdf'


def test_a_written_arm_and_hand_are_recognised_by_the_check(tmp_path, capsys):
    path = tmp_path / 'left.urdf'
    command = ['arm', 'export', '--arm', 'fr3', '--hand', 'franka_hand']
    options = ['--arm-prefix', 'left_', '--output', str(path)]
    assert main([*command, *options]) == 0
    _, verdict = model_from_urdf(path.read_text('utf-8'), load('fr3', prefix='left_'))
    assert (verdict.inertial_set, verdict.hand) == ('franka_description', 'franka_hand')
    assert capsys.readouterr().out == f'{path}\n'


def test_without_a_file_the_printed_text_is_the_shipped_one(capsys):
    assert main(['arm', 'export', '--arm', 'rpr', '--format', 'mjcf']) == 0
    assert capsys.readouterr().out == generated_files()['rpr.xml']


@pytest.mark.parametrize('words', [['export'], ['import', str(FER)]])
def test_a_file_that_is_there_is_written_over_only_with_force(words, tmp_path, refused):
    file = tmp_path / 'there.yaml'
    file.write_text('mine')
    command = ['arm', *words, '--output', str(file)]
    assert 'add --force' in refused(*command)
    assert file.read_text() == 'mine'
    assert main([*command, '--force']) == 0
    assert file.read_text() != 'mine'


@pytest.mark.parametrize('words', [['--hand', 'none'], ['--hand', 'franka_hand']])
def test_a_payload_is_a_part_of_an_exported_urdf(words, tmp_path):
    masses = []
    for name, payload in (('bare', []), ('loaded', ['--payload', '1.5,0.0,0.0,0.1'])):
        path = tmp_path / f'{name}.urdf'
        assert main(['arm', 'export', '--output', str(path), *words, *payload]) == 0
        model = pinocchio.buildModelFromXML(path.read_text())
        masses.append(sum(inertia.mass for inertia in model.inertias))
    assert masses[1] - masses[0] == pytest.approx(1.5)
