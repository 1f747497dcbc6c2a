# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A simulated robot that speaks the FCI protocol, in an environment of its own from PyPI."""

from contextlib import suppress
import fcntl
import json
import os
from pathlib import Path
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pytest

from .processes import until

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / '.venv-franka-sim'
ENVIRONMENT = FOLDER / 'environment'
# franka-sim needs other versions of numpy and MuJoCo than we do. Its other requirements serve
# downloads, meshes and windows, none of which is used here.
PACKAGES = ('franka-sim==1.1.7', 'mujoco==3.2.7', 'numpy==1.26.4')
PIP_OPTIONS = '--no-deps -q --only-binary :all: --no-compile --disable-pip-version-check'.split()
ROTOR_INERTIA = 0.1  # kg m^2 on every joint, as the simulated FR3s of others have
START = np.array([0.0, 0.0, 0.0, -1.57, 0.0, 1.57, 0.785])  # where franka-sim's arm begins
_ROW_BYTES = 7 * 8
# Variables by which ROS and MuJoCo of this process would reach into that environment.
_FOREIGN = (
    'LD_LIBRARY_PATH',
    '_ROS_WHEELS_BOOTSTRAP_COMPLETE',
    'PYTHONPATH',
    'PYTHONHOME',
)


def clean_environment(**more):
    kept = {name: value for name, value in os.environ.items() if name not in _FOREIGN}
    return {**kept, 'MUJOCO_GL': 'disable', **more}


def franka_sim_python():
    """Return the Python of franka-sim's environment; set it up on the first call, or skip."""
    ready = ENVIRONMENT / 'ready'
    required = '\n'.join(PACKAGES)
    python = ENVIRONMENT / 'bin' / 'python'
    FOLDER.mkdir(exist_ok=True)
    with (FOLDER / 'lock').open('w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests may run side by side
        if ready.exists() and ready.read_text() == required:
            return python
        venv = [sys.executable, '-m', 'venv', '--clear', '--without-pip', ENVIRONMENT]
        subprocess.run(venv, check=True, env=clean_environment())
        pip = [sys.executable, '-m', 'pip', '--python', python, 'install', *PIP_OPTIONS]
        options = {'capture_output': True, 'text': True, 'env': clean_environment()}
        answer = subprocess.run([*pip, *PACKAGES], check=False, **options)
        if answer.returncode != 0:
            why = answer.stderr.strip().splitlines()[-1]
            pytest.skip(f'{", ".join(PACKAGES)} cannot be had from PyPI: {why}')
        ready.write_text(required)
    return python


def loopback_address():
    """Return an address of this process alone: the port of FCI is fixed."""
    return f'127.{1 + os.getpid() // 250 % 250}.{os.getpid() % 250}.1'


class FrankaSim:
    """A running server; `torques()` are what reached the simulated robot."""

    def __init__(self, folder, *, measured=False, **variables):
        python = franka_sim_python()  # before anything is opened, because it may skip the test
        self.address = loopback_address()
        self._record = folder / 'torques.bin'
        self._log = folder / 'franka_sim.log'
        model = folder / 'fr3.xml'
        write_model(model)
        self._output = self._log.open('wb')
        server = Path(__file__).with_name('franka_sim_server.py')
        command = [python, server, self.address, self._record, json.dumps(measured)]
        streams = {'stdout': self._output, 'stderr': self._output}
        environment = clean_environment(FR3_MJCF=str(model), **variables)
        self.process = subprocess.Popen(command, env=environment, **streams)
        try:
            until(
                lambda: b'Server ready' in self._log.read_bytes(),
                'the start of franka-sim',
                process=self.process,
                said=self._log.read_text,
            )
        except AssertionError:
            self.kill()
            raise

    def prefer(self):
        """Run it before other processes, where this process may: it needs every millisecond."""
        with suppress(OSError):
            for thread in Path(f'/proc/{self.process.pid}/task').iterdir():
                os.sched_setscheduler(int(thread.name), os.SCHED_RR, os.sched_param(20))

    @property
    def cycles(self):
        """How many torques have reached it."""
        return self._record.stat().st_size // _ROW_BYTES

    def torques(self):
        data = self._record.read_bytes()
        return np.frombuffer(data[: len(data) // _ROW_BYTES * _ROW_BYTES]).reshape(-1, 7)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._output.close()


def write_model(path):
    """
    Write the shipped FR3 without friction, for comparisons with rigid-body dynamics.

    It has rotor inertias, without which its idle hold is not stable.
    """
    tree = ElementTree.parse(ROOT / 'urdf' / 'fr3.xml')
    for joint in tree.iter('joint'):
        joint.set('armature', str(ROTOR_INERTIA))
        joint.set('frictionloss', '0')
        joint.set('damping', '0')
    tree.write(path)
