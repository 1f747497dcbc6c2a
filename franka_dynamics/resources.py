# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Finds the package's data files in a source tree, a colcon install or a pip environment."""

from pathlib import Path

from .errors import DescriptionError

PACKAGE_NAME = 'franka_dynamics'


def share_directory() -> Path:
    """
    Return the folder that holds `config/`, `launch/` and `urdf/`.

    A source tree is recognised by `package.xml` and `config/` beside the Python package. Without a
    source tree the folder is the nearest `share/franka_dynamics` above this file, where colcon,
    `pip install` and apt put data files. Neither search needs ROS.

    Raises
    ------
    DescriptionError
        If the data files were not installed with the Python package.

    """
    package = Path(__file__).resolve().parent
    if (package.parent / 'package.xml').is_file() and (package.parent / 'config').is_dir():
        return package.parent
    for above in package.parents:
        candidate = above / 'share' / PACKAGE_NAME
        if (candidate / 'config').is_dir():
            return candidate
    raise DescriptionError(
        f'The data files of {PACKAGE_NAME} (config/, urdf/, launch/) are neither beside {package} '
        f'nor in a share/{PACKAGE_NAME} above it. Install the package with colcon or pip; copying '
        'only the Python modules is not enough.'
    )
