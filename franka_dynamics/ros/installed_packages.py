# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Which ROS packages are installed beside this one, and in which versions."""

from __future__ import annotations

from collections.abc import Sequence
import os
from pathlib import Path
import re
from xml.etree import ElementTree

from ament_index_python.packages import (
    get_package_prefix,
    get_package_share_directory,
    PackageNotFoundError,
)

# ros2_controllers' changelog, 2025-03-17: "[JTC] Enable feed-forward effort trajectories".
EFFORT_TRAJECTORIES = (4, 22, 0)


def installed_version(package: str) -> tuple[int, ...] | None:
    """Return the version in a package's package.xml, or None where neither can be found."""
    try:
        manifest = Path(get_package_share_directory(package)) / 'package.xml'
        version = ElementTree.parse(manifest).findtext('version', '').strip()
    except (PackageNotFoundError, OSError, ElementTree.ParseError):
        return None
    if re.fullmatch(r'\d+(\.\d+){1,3}', version) is None:
        return None
    return tuple(map(int, version.split('.')))


def effort_trajectories() -> tuple[bool, str]:
    """Return whether joint_trajectory_controller may take efforts here, and what is to be said."""
    version = installed_version('joint_trajectory_controller')
    needed = '.'.join(map(str, EFFORT_TRAJECTORIES))
    if version is None:
        return True, (
            'The version of joint_trajectory_controller is not known; it takes the effort of a '
            f'trajectory from {needed} on.'
        )
    if version < EFFORT_TRAJECTORIES:
        return False, (
            f'joint_trajectory_controller {".".join(map(str, version))} rejects trajectories with '
            f'efforts; {needed} or later is needed (sudo apt upgrade)'
        )
    return True, ''


def require_effort_trajectories() -> str:
    """
    Return a note about joint_trajectory_controller's version, empty where nothing is to be said.

    Raises
    ------
    RuntimeError
        If it is installed in a version that rejects every trajectory with efforts.

    """
    possible, note = effort_trajectories()
    if not possible:
        raise RuntimeError(f'{note}, or controller:=effort_controller. Nothing is started.')
    return note


def require_packages(packages: Sequence[str], needed_by: str, page: str) -> None:
    """
    Refuse to start without the ROS packages that are needed.

    Raises
    ------
    RuntimeError
        If some are not installed, with the line that installs them and the page about the rest.

    """
    missing = []
    for package in packages:
        try:
            get_package_prefix(package)
        except PackageNotFoundError:
            missing.append(package)
    if missing:
        distribution = os.environ.get('ROS_DISTRO', 'jazzy')
        names = ' '.join(f'ros-{distribution}-{name.replace("_", "-")}' for name in missing)
        raise RuntimeError(
            f'{needed_by} needs {", ".join(missing)}: sudo apt install {names}. {page} has the '
            'rest. Nothing is started.'
        )
