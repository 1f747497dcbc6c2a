# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Arguments and files that the launch files refuse before anything starts."""

import pytest

from franka_dynamics.errors import SettingsError
from franka_dynamics.resources import share_directory

LAUNCH = share_directory() / 'launch'
ALL = sorted(path.name for path in LAUNCH.glob('*.launch.py'))
INCLUDING = '<launch><include file="{file}"/></launch>'

FILES = {
    'feedforward': ['params_file'],
    'franka_ros2': ['params_file', 'controllers_file'],
    'gazebo': ['params_file', 'world'],
    'mujoco_ros2_control': ['params_file'],
    'simulation': ['params_file', 'simulator_params_file'],
    'two_arms': ['left_params_file', 'right_simulator_params_file'],
}


@pytest.mark.parametrize('name', FILES)
def test_a_file_that_is_not_there_starts_nothing(name, launched, tmp_path):
    for argument in FILES[name]:
        with pytest.raises(SettingsError) as refused:
            launched(name, **{argument: f'{tmp_path}/typo.yaml'})
        assert argument.split('_', 1)[-1] in str(refused.value)
        assert f'{tmp_path}/typo.yaml' in str(refused.value)


@pytest.mark.ros
def test_a_file_that_includes_ours_may_have_arguments_of_its_own(ros2_launch, tmp_path):
    path = tmp_path / 'own.launch.xml'
    path.write_text(INCLUDING.format(file=LAUNCH / 'feedforward.launch.py'))
    status, said = ros2_launch(str(path), 'robot_typ:=fr3', 'robot_type:=fr3v2')
    assert status == 0 and 'feedforward_node' in said, said


@pytest.mark.ros
def test_two_arms_show_no_argument_that_the_nodes_do_not_get(ros2_launch):
    status, said = ros2_launch('franka_dynamics', 'two_arms.launch.py', '--show-args')
    assert status == 0 and "'left_robot_type'" in said and 'use_sim_time' not in said
