# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
A program that uses the package, for `mypy --strict`; nothing runs it.

`make lint` checks it in this folder, where mypy finds the package as that of the environment.
"""

from typing import assert_type

import numpy as np
from numpy.typing import NDArray

import franka_dynamics as fd
from franka_dynamics.arm import ArmDescription, Convention
from franka_dynamics.control.feedforward import State
from franka_dynamics.identification.results import Identification


def gravity_torques(name: str, q: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the gravity torques of a shipped arm."""
    arm = fd.load(name, hand='none')
    assert_type(arm, ArmDescription)  # not Any, which would accept everything
    assert arm.convention is Convention.MODIFIED
    return fd.Model(arm).gravity(q)


def identified(bag: str) -> Identification:
    """Return an identification from a bag."""
    arm = fd.load('fr3')
    return fd.identify([fd.read_recording(bag, arm.joint_names)], arm)


def is_held(core: fd.Feedforward) -> bool:
    """Return whether the torques hold an arm."""
    return core.state is State.HOLDING


# What is wrong is seen; else --strict reports that the comment ignores nothing.
fd.load(7)  # type: ignore[arg-type]
fd.Model('fr3').gravity()  # type: ignore[call-arg]
