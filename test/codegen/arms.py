# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Arms for the tests of generated code, and functions that run it."""

from dataclasses import replace
from functools import partial
from math import cos, sin

import numpy as np

from franka_dynamics.arm import Convention, load
from franka_dynamics.codegen.python_code import python_function

from ..arms import make_random_arm

random_arm = partial(make_random_arm, n=5, special=0.0, rotors=True)


def with_rotors(description):
    """Return the arm with a different rotor behind every joint."""
    joints = description.joints
    joints = [replace(joint, rotor_inertia=0.1 * i) for i, joint in enumerate(joints, 1)]
    return replace(description, joints=tuple(joints))


def arms():
    """Return the arms on which every quantity is checked, by name."""
    return {
        'fer': load('fer'),
        'fr3 with hand and rotors': with_rotors(load('fr3', hand='franka_hand')),
        'scemi (parallel axes)': load('scemi'),
        'stanford (prismatic)': load('stanford'),
        'rpr (standard rows)': with_rotors(load('rpr')),
        'skew twists': random_arm(20),  # of which joints 1 and 2 are revolute
        'skew twists, others': random_arm(1),
        'skew twists, standard': random_arm(2, convention=Convention.STANDARD),
        'right angles': random_arm(3, n=6, special=0.9),
        'right angles, standard': random_arm(4, n=6, convention=Convention.STANDARD, special=0.9),
        'one joint': random_arm(5, n=1),
        'two joints': random_arm(6, n=2, special=0.9),
    }


def standard_parameters(description, gravity):
    """Return the argument X of a generated `prepare` function."""
    pairs = zip(description.links, description.joints)
    links = [[*link.parameters(), joint.rotor_inertia] for link, joint in pairs]
    return np.concatenate([*links, gravity])


def runnable(equations):
    """Return the generated functions by name."""
    names = {'sin': sin, 'cos': cos}
    exec(python_function(equations), names)
    return names
