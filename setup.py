# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Packaging for colcon (ament_python) and pip alike."""

from pathlib import Path
import re
import sys
from xml.etree import ElementTree

from setuptools import find_packages, setup

NAME = 'franka_dynamics'
README = Path('README.md')
SHARED_FOLDERS = ('config', 'cpp', 'launch', 'security', 'urdf')

# The ROS message packages are no requirements here: apt's ROS provides them without pip's
# knowledge, and `requirements/` names the PyPI wheels for machines without apt's ROS.
EXTRAS = {
    # Its wheels are for Linux on x86-64 and end at Python 3.12.
    'fci': ['pylibfranka>=0.21; platform_machine == "x86_64" and python_version < "3.13"'],
    'logs': ['h5py>=3.8', 'pandas>=2.0', 'pyarrow>=14.0', 'rosbags>=0.11', 'scipy'],
    'mesh': ['trimesh>=4.0', 'scipy', 'matplotlib'],
    'sim': ['mujoco>=3.2'],
    'symbolic': ['sympy>=1.12'],
    'view': ['matplotlib', 'pin>=3.8', 'viser>=1.0.27', 'rosbags>=0.11', 'scipy'],
    'cluster': ['distributed', 'rosbags>=0.11', 'scipy', 'clarabel>=0.9'],
    'identify': ['rosbags>=0.11', 'scipy', 'matplotlib', 'clarabel>=0.9'],
    'replay': ['rosbags>=0.11', 'scipy', 'matplotlib'],
}
# Gigabytes that only those need who work in these libraries: no part of `all`.
LIBRARIES = {
    'gpu': ['cuda-core[cu13]>=1.0'],
    'jax': ['jax>=0.6.1'],
    'torch': ['torch>=2.4'],
}


def shared_files():
    """Return setuptools' data_files entries for every file below the shared folders."""
    entries = [
        ('share/ament_index/resource_index/packages', [f'resource/{NAME}']),
        (f'share/{NAME}', ['package.xml']),
        # Named by colcon.pkg: a workspace's setup.bash puts the commands on PATH.
        (f'share/{NAME}/hook', ['resource/commands.dsv']),
    ]
    for folder in SHARED_FOLDERS:
        by_parent = {}
        for path in sorted(Path(folder).rglob('*')):
            hidden = path.name.startswith('.')  # settings of a linter
            if path.is_file() and not hidden and '__pycache__' not in path.parts:
                by_parent.setdefault(path.parent.as_posix(), []).append(path.as_posix())
        entries.extend((f'share/{NAME}/{parent}', paths) for parent, paths in by_parent.items())
    return entries


PROGRAMS = [
    'franka-dynamics = franka_dynamics.__main__:main',
    'feedforward_node = franka_dynamics.ros.node.feedforward_node:main',
    'simulator_node = franka_dynamics.ros.simulators.simulator_node:main',
    'gazebo_direct_node = franka_dynamics.ros.simulators.gazebo_direct_node:main',
]


def programs_for_ros():
    """
    Return the entry of a wheel's programs where `ros2 run` and launch look for them.

    colcon installs the programs themselves there; those of a wheel are in bin.
    """
    if 'bdist_wheel' not in sys.argv:
        return []
    folder = Path('build', 'programs')
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / program.partition(' = ')[0] for program in PROGRAMS]
    for path in paths:
        path.write_text(f'#!/bin/sh\nexec "$(dirname "$0")/../../bin/{path.name}" "$@"\n')
        path.chmod(0o755)
    return [(f'lib/{NAME}', [path.as_posix() for path in paths])]


def version():
    """Return the package's version, which __init__.py has."""
    text = Path(__file__).with_name(NAME).joinpath('__init__.py').read_text(encoding='utf-8')
    return re.search(r"^__version__ = '([^']+)'", text, re.MULTILINE)[1]


def repository():
    """Return the repository's address, which package.xml names."""
    return ElementTree.parse(Path(__file__).with_name('package.xml')).findtext('url')


def readme():
    """Return the README with links that hold where it is shown alone, as on PyPI."""
    if not README.exists():  # colcon build --symlink-install runs this file where there is none
        return ''
    text = README.read_text(encoding='utf-8')
    for start, view in ((r'(!\[[^]]*\]\()', 'raw'), (r'(\]\()', 'blob')):
        text = re.sub(rf'{start}(?![a-z]+:|#)', rf'\1{repository()}/{view}/main/', text)
    return text


def ros_wheels(distribution):
    """Return the wheels of a ROS 2 distribution that the nodes need, from requirements/."""
    path = Path(__file__).parent / 'requirements' / f'ros-{distribution}.txt'
    lines = path.read_text(encoding='utf-8').splitlines() if path.exists() else []
    return [line for line in lines if line and not line.startswith('#')]


setup(
    name=NAME,
    version=version(),
    packages=find_packages(include=[NAME, f'{NAME}.*']),
    package_data={NAME: ['__init__.pyi', 'py.typed']},
    data_files=shared_files() + programs_for_ros(),
    install_requires=[
        'numpy>=1.26',
        'PyYAML',
        'pin>=3.0',
        # Compile what `BatchModel` computes; NumPy takes 20 to 50 times as long.
        'llvmlite>=0.45',
        'cffi',
        'click>=8.1',
        'rich',
    ],
    extras_require={
        **EXTRAS,
        **LIBRARIES,
        'ros-jazzy': ros_wheels('jazzy'),
        'ros-kilted': ros_wheels('kilted'),
        'test': ['pytest'],  # or colcon test would look for unittest's tests
        'all': sorted({r for reqs in EXTRAS.values() for r in reqs}),
    },
    python_requires='>=3.11',
    zip_safe=True,
    maintainer='The franka_dynamics authors',
    maintainer_email='maintainers@franka-dynamics.invalid',
    url=repository(),
    project_urls={
        'Changes': f'{repository()}/blob/main/CHANGELOG.rst',
        'Documentation': f'{repository()}/blob/main/docs/index.md',
        'Issues': f'{repository()}/issues',
    },
    long_description=readme(),
    long_description_content_type='text/markdown',
    keywords=[
        'robotics',
        'ROS 2',
        'rigid-body dynamics',
        'Franka',
        'parameter identification',
    ],
    classifiers=[
        'Development Status :: 4 - Beta',
        'Intended Audience :: Developers',
        'Intended Audience :: Science/Research',
        'License :: OSI Approved :: Apache Software License',
        'Operating System :: POSIX :: Linux',
        'Programming Language :: Python :: 3.11',
        'Programming Language :: Python :: 3.12',
        'Programming Language :: Python :: 3.13',
        'Programming Language :: Python :: 3.14',
        'Topic :: Scientific/Engineering',
        'Typing :: Typed',
    ],
    description='Cross-checked gravity, Coriolis and mass-matrix feedforward for serial arms.',
    license='Apache-2.0',
    entry_points={'console_scripts': PROGRAMS},
)
