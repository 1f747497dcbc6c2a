# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Former names of attributes, arguments and modules give what the present ones do, and warn."""

from dataclasses import dataclass, replace
import inspect
import pickle
from typing import NamedTuple

import numpy as np
import pinocchio as pin
import pytest

import franka_dynamics as fd
from franka_dynamics import former_names


@former_names.of_attributes('9.9', long='length', grown='longer', whole='unit')
@dataclass(frozen=True)
class Rod:
    length: float = 1.0

    @classmethod
    def unit(cls):
        return cls(1.0)

    @former_names.of_arguments('9.9', by='length')
    def longer(self, length):
        return Rod(self.length + length)


@former_names.of_attributes('9.9', long='length')
class Bar(NamedTuple):
    length: float = 1.0


@pytest.mark.parametrize('cls', [Rod, Bar])
def test_a_former_attribute_and_argument_are_the_present_ones(cls):
    with pytest.warns(DeprecationWarning, match='length') as warned:
        made = cls(long=2.0)
        assert made.long == made.length == 2.0
    assert {one.filename for one in warned} == {__file__}
    assert made == cls(2.0) == pickle.loads(pickle.dumps(made))
    assert list(inspect.signature(cls).parameters) == ['length']
    with pytest.raises(TypeError, match='both'):
        cls(long=1.0, length=2.0)


def test_a_former_method_and_class_method_can_be_called():
    with pytest.warns(DeprecationWarning):
        assert Rod().grown(by=1.0) == replace(Rod(), length=2.0)
        assert Rod.whole() == Rod(1.0)


def test_a_former_name_of_a_module_is_found_and_others_are_not():
    from franka_dynamics.dynamics import body_tree

    with pytest.warns(DeprecationWarning):
        assert body_tree.BASE is body_tree.BASE_BODY
        assert fd.TorchModel is fd.BatchModel
    for module in (body_tree, fd):
        with pytest.raises(AttributeError, match='NOTHING'):
            module.NOTHING  # noqa: B018


@pytest.mark.parametrize('module_name', ['results', 'summary', 'verdict'])
def test_former_places_of_identification_give_what_moved(module_name):
    module = pytest.importorskip(f'franka_dynamics.identification.{module_name}')
    for name in module.__getattr__.former_names:
        with pytest.warns(DeprecationWarning, match=name):
            assert getattr(module, name) is not None


def test_model_and_data_are_pinocchios_pair():
    arm = fd.load('fr3')
    model = fd.Model(arm)
    M = pin.crba(model.model, model.data, arm.home)
    np.testing.assert_allclose(M, model.mass_matrix(arm.home), rtol=0, atol=1e-14)
    assert model.data is model.data


def test_names_that_scripts_of_users_have_still_work(tmp_path):
    arm = fd.load('fer', hand='none')
    fd.write_urdf(arm, tmp_path / 'arm.urdf')
    read = fd.load(tmp_path / 'arm.urdf')
    verdict = pytest.importorskip('franka_dynamics.identification.verdict').RecordingVerdict()
    simulation = pytest.importorskip('franka_dynamics.simulation.arm_simulation')
    pytest.importorskip('mujoco')
    with pytest.warns(DeprecationWarning) as warned:
        simulated = simulation.ArmSimulation(arm, simulation.SimulationSettings(start=arm.home))
        assert (simulated.ran_away, simulated.braked) == ('', True)
        assert read.urdf.tip == read.urdf.tip_link
        assert verdict.suspected == ()
        assert fd.Feedforward(arm).names == arm.joint_names
    assert len(warned) == 6
