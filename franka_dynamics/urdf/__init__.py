# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""URDF, MJCF and xacro, read into a described arm and written from one; no Pinocchio."""

from typing import TYPE_CHECKING

from .._lazy import lazy_exports

if TYPE_CHECKING:  # for editors and type checkers
    from .document import parse_urdf as parse_urdf
    from .document import read_urdf as read_urdf
    from .document import UrdfDocument as UrdfDocument
    from .importer import detect_arm as detect_arm
    from .importer import import_urdf as import_urdf
    from .importer import ImportedArm as ImportedArm
    from .serial_chain import find_chains as find_chains
    from .serial_chain import read_chain as read_chain
    from .serial_chain import SerialChain as SerialChain
    from .writer import write_mjcf as write_mjcf
    from .writer import write_urdf as write_urdf
    from .xacro_writer import robot_text as robot_text

__getattr__, __dir__, __all__ = lazy_exports(__name__)
