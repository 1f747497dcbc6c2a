# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The example on a model of an FR3 with friction, rotors and 2 ms, as Menagerie's has."""

import os
from pathlib import Path
import re
import sys
from xml.etree import ElementTree

import pytest

import franka_dynamics as fd

pytest.importorskip('mujoco')


def of_menageries_kind(path):
    """Write an FR3 with the joint friction and the rotor inertias of Menagerie's; return path."""
    fd.write_mjcf('fr3', path)
    root = ElementTree.parse(path).getroot()
    root.find('option').set('timestep', '0.002')
    friction = 4 * (1.137,) + (0.763, 0.44, 0.248)
    rotors = 4 * (0.195,) + 3 * (0.074,)
    for joint, loss, rotor in zip(root.find('worldbody').iter('joint'), friction, rotors):
        joint.attrib |= {'frictionloss': f'{loss}', 'armature': f'{rotor}', 'damping': '0.21'}
    ElementTree.ElementTree(root).write(path)
    return path


def test_feedforward_halves_the_error_on_a_foreign_model(example, capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(example, 'DURATION_S', 3.0)
    assert example.main([str(of_menageries_kind(tmp_path / 'fr3.xml'))]) == 0
    alone, with_feedforward, step = map(float, re.findall(r'([\d.]+) m', capsys.readouterr().out))
    assert with_feedforward < 0.1 * alone
    assert step == 2.0


@pytest.mark.parametrize('package', ['', 'raise OSError("no network")'])
def test_without_the_model_one_sentence_says_what_to_do(package, example, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, 'robot_descriptions', None)
    if package:
        (tmp_path / 'robot_descriptions').mkdir()
        (tmp_path / 'robot_descriptions' / '__init__.py').touch()
        (tmp_path / 'robot_descriptions' / 'fr3_mj_description.py').write_text(package)
        monkeypatch.delitem(sys.modules, 'robot_descriptions')
        monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(SystemExit, match=r'robot_descriptions.*fr3\.xml'):
        example.main([])


def test_menageries_own_model_is_followed(example):
    pytest.importorskip('robot_descriptions', reason='robot_descriptions is not installed')
    home = os.environ.get('ROBOT_DESCRIPTIONS_CACHE', '~/.cache/robot_descriptions')
    if not (Path(home).expanduser() / 'mujoco_menagerie').is_dir():
        pytest.skip(f'robot_descriptions has not downloaded mujoco_menagerie to {home}')
    assert example.main([]) == 0
