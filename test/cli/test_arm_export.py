# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`arm export`: printed or written files, existing files, and payloads."""

import xml.etree.ElementTree as ElementTree

import pinocchio
import pytest

from franka_dynamics.arm import load
from franka_dynamics.arm.arm_file_writer import save
from franka_dynamics.cli.main import main
from franka_dynamics.resources import share_directory
from franka_dynamics.urdf.xacro_writer import generated_files
from franka_dynamics.validation.urdf_check import model_from_urdf

FER = share_directory() / 'urdf' / 'fer.urdf'


def test_a_written_arm_and_hand_are_recognised_by_the_check(tmp_path, answered):
    path = tmp_path / 'left.urdf'
    command = 'arm export --arm fr3 --hand franka_hand --arm-prefix left_ --output'
    assert answered(command, path) == (0, f'{path}')
    _, verdict = model_from_urdf(path.read_text('utf-8'), load('fr3', prefix='left_'))
    assert (verdict.inertial_set, verdict.hand) == ('franka_description', 'franka_hand')


def test_without_a_file_the_printed_text_is_the_shipped_one(capsys):
    assert main('arm export --arm rpr --format mjcf'.split()) == 0
    assert capsys.readouterr().out == generated_files()['rpr.xml']


@pytest.mark.parametrize('form', ['urdf', 'mjcf'])
def test_an_arm_of_ones_own_is_said_to_come_from_its_file(form, tmp_path, answered):
    save(load('fr3'), tmp_path / 'my--arm.yaml')
    status, said = answered('arm export --format', form, '--arm', tmp_path / 'my--arm.yaml')
    assert status == 0 and 'arm.yaml' in said.partition('-->')[0]
    assert 'Copyright' not in said and 'config/' not in said
    ElementTree.fromstring(said)


@pytest.mark.parametrize('form', ['urdf', 'mjcf'])
def test_an_arm_of_a_urdf_is_written_with_its_own_masses(form, tmp_path, answered):
    assert answered('arm export --arm fr3 --output', tmp_path / 'a.urdf')[0] == 0
    copy = tmp_path / f'copy.{form}'
    assert answered('arm export --payload 1.5,0,0,0 --arm', tmp_path / 'a.urdf', '--output', copy)
    assert f'from {tmp_path.name}' not in copy.read_text() and 'a.urdf' in copy.read_text()
    build = pinocchio.buildModelFromUrdf if form == 'urdf' else pinocchio.buildModelFromMJCF
    mass = sum(inertia.mass for inertia in build(str(copy)).inertias[1:])
    expected = sum(link.mass for link in load('fr3').links) + 1.5
    assert mass == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize('words', ['arm export', f'arm import {FER}'])
def test_a_file_that_is_there_is_written_over_only_with_force(words, tmp_path, refused, answered):
    file = tmp_path / 'there.yaml'
    file.write_text('mine')
    assert 'add --force' in refused(words, '--output', file)
    assert file.read_text() == 'mine'
    assert answered(words, '--output', file, '--force')[0] == 0
    assert file.read_text() != 'mine'


@pytest.mark.parametrize('hand', ['none', 'franka_hand'])
def test_a_payload_is_a_part_of_an_exported_urdf(hand, answered):
    masses = []
    for payload in ('', '--payload 1.5,0.0,0.0,0.1'):
        text = answered(f'arm export --hand {hand} {payload}')[1]
        model = pinocchio.buildModelFromXML(text)
        masses.append(sum(inertia.mass for inertia in model.inertias))
    assert masses[1] - masses[0] == pytest.approx(1.5)


def test_a_file_that_ends_in_mjcf_is_mjcf(tmp_path, answered, refused):
    file = tmp_path / 'arm.mjcf'
    assert answered('arm export --arm rpr --output', file)[0] == 0
    assert file.read_text('utf-8') == generated_files()['rpr.xml']
    said = refused('arm export --arm rpr --force --format urdf --output', file)
    assert '--format' in said and 'arm.mjcf' in said
