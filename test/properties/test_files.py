# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Any arm file, URDF or log is read as finite numbers, or refused by its name."""

import warnings
import xml.etree.ElementTree as ElementTree

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest
import yaml

import franka_dynamics as fd
from franka_dynamics.arm.arm_file import arm_file_text
from franka_dynamics.errors import FrankaDynamicsError, RecordingError
from franka_dynamics.recordings.log_file import read_log
from franka_dynamics.urdf.writer import urdf_text

from .examples import damaged, examples, with_wrong_field, WRONG
from ..arms import first_joints

# An arm of three joints is read in less time than one of seven.
ARM = first_joints(fd.load('fer', hand='none'), 3)
ARM_FILE = arm_file_text(ARM)
URDF = urdf_text(ARM)
MAPPING = yaml.safe_load(ARM_FILE)
LOG = '# by hand\nt,q1,q2,"tau; 1"\n0.0,1.0,-2e-3,nan\n0.1,1.5,-2e-3,4\n0.2,1.5,0,4\n'


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp('files')


def require_finite_or_refused(path):
    """Read an arm; what is read has finite torques, and what is refused is named."""
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        try:
            arm = fd.load(path)
        except FrankaDynamicsError as error:
            assert path.name in str(error)
            return
    model = fd.NewtonEulerModel(arm)
    q = np.zeros(arm.n)
    ones = np.ones(arm.n)
    assert np.isfinite(model.inverse_dynamics(q, ones, ones)).all()


@examples(100)
@given(content=damaged(ARM_FILE) | with_wrong_field(MAPPING))
def test_any_arm_file_is_read_or_refused(folder, content):
    text = content if isinstance(content, str) else yaml.safe_dump(content)
    (folder / 'arm.yaml').write_text(text, encoding='utf-8', errors='replace')
    require_finite_or_refused(folder / 'arm.yaml')


@st.composite
def with_wrong_element(draw):
    """Draw the text of the URDF in which one attribute or element is wrong, twice or missing."""
    robot = ElementTree.fromstring(URDF)
    parent = draw(st.sampled_from([one for one in robot.iter() if len(one)]))
    element = draw(st.sampled_from(list(parent)))
    if element.attrib and draw(st.integers(0, 3)):
        key = draw(st.sampled_from(sorted(element.attrib)))
        others = [one.attrib[key] for one in robot.iter() if key in one.attrib]
        words = st.sampled_from(others) | WRONG.map(str)
        element.set(key, draw(words).encode('ascii', 'replace').decode())
    elif draw(st.booleans()):
        parent.append(element)
    else:
        parent.remove(element)
    return ElementTree.tostring(robot, encoding='unicode')


@examples(100)
@given(text=damaged(URDF) | with_wrong_element())
def test_any_urdf_is_read_or_refused(folder, text):
    (folder / 'arm.urdf').write_text(text, encoding='utf-8', errors='replace')
    require_finite_or_refused(folder / 'arm.urdf')


CELL = st.floats().map(str) | st.sampled_from(['', '1,5', '0x1', 'nan', '"1"', '1;2', '#', '\0'])


@examples(60)
@given(text=damaged(LOG) | st.lists(st.lists(CELL, max_size=5).map(','.join)).map('\n'.join))
def test_any_csv_log_is_read_or_refused(folder, text):
    path = folder / 'log.csv'
    path.write_text(text, encoding='utf-8', errors='replace')
    try:
        columns = read_log(path).columns
    except RecordingError as error:
        assert str(path) in str(error)
    else:
        assert columns and len({len(one) for one in columns.values()}) == 1
