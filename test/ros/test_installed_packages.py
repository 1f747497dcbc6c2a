# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Versions of ROS packages beside this one, and the one that takes efforts in trajectories."""

import pytest

from franka_dynamics.ros.installed_packages import installed_version, require_effort_trajectories

JTC = 'joint_trajectory_controller'


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Return a function that puts a package of some version into a prefix of its own."""
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(tmp_path))

    def put(version, name=JTC):
        index = tmp_path / 'share' / 'ament_index' / 'resource_index' / 'packages'
        index.mkdir(parents=True, exist_ok=True)
        (index / name).touch()
        share = tmp_path / 'share' / name
        share.mkdir(parents=True)
        (share / 'package.xml').write_text(
            f'<package format="3"><name>{name}</name><version>{version}</version></package>'
        )

    return put


@pytest.mark.parametrize('version', ['4.22.0', '4.42.1', '5.0.0', '6.9.0'])
def test_a_controller_that_takes_efforts_is_accepted(install, version):
    install(version)
    assert require_effort_trajectories() == ''
    assert installed_version(JTC) == tuple(map(int, version.split('.')))


@pytest.mark.parametrize('version', ['2.40.0', '4.9.0', '4.21.0'])
def test_a_controller_that_rejects_efforts_is_refused(install, version):
    install(version)
    with pytest.raises(RuntimeError, match=rf'{version} rejects .* 4\.22\.0 or later is needed'):
        require_effort_trajectories()


@pytest.mark.parametrize('version', [None, '', 'next'])
def test_a_version_that_cannot_be_asked_is_said(install, version):
    if version is not None:
        install(version)
    assert 'is not known; it takes the effort' in require_effort_trajectories()
