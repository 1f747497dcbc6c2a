# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Verbs that take a tree of bodies from a URDF in place of an arm."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ._arm_options import ARM_OPTIONS
from ..errors import SettingsError

if TYPE_CHECKING:
    from ..dynamics.body_tree import BodyTree


def add_tree_option(parser: argparse.ArgumentParser) -> None:
    """Add --tree."""
    parser.add_argument(
        '--tree',
        type=Path,
        metavar='URDF',
        help='instead of an arm: a URDF whose joints may branch, such as a torso with two arms; '
        'its joints as the URDF lists them, one branch after the other',
    )


def load_tree(arguments: argparse.Namespace, *without: str) -> BodyTree:
    """
    Return the tree that --tree names.

    Parameters
    ----------
    arguments : Namespace
        With `tree` and `options_given`.
    without : str
        Names of options that are for arms alone and are refused beside it.

    Raises
    ------
    SettingsError
        If one of those was given.
    UrdfError
        If the file is no URDF of a tree.

    """
    from ..dynamics.urdf_tree import tree_from_urdf
    from ..urdf.document import read_urdf

    options = {**ARM_OPTIONS, **{name: f'--{name.replace("_", "-")}' for name in without}}
    for name, option in options.items():
        if name in arguments.options_given:
            raise SettingsError(f'{option} is for arms; leave it out beside --tree.')
    return tree_from_urdf(read_urdf(arguments.tree), str(arguments.tree))
