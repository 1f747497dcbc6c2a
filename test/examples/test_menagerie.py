# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The example on a model of an FR3 with friction, rotors and 2 ms, as Menagerie's has."""

import re
import sys
from xml.etree import ElementTree

import pytest

import franka_dynamics as fd


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


def test_without_the_model_one_sentence_says_what_to_do(example, monkeypatch):
    monkeypatch.setitem(sys.modules, 'robot_descriptions', None)
    with pytest.raises(SystemExit, match=r'robot_descriptions.*fr3\.xml'):
        example.main([])
