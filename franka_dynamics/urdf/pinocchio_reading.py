# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Reads a URDF with Pinocchio, also where Pinocchio objects to parts that no torque depends on."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pinocchio as pin

from ..errors import UrdfError


def pinocchio_model(text: str, source: str) -> pin.Model:
    """
    Return Pinocchio's model of a URDF; mimic joints are independent joints in it.

    A text that Pinocchio refuses is read as `without_material_and_dynamics`.
    """
    try:
        return pin.buildModelFromXML(text)
    except (ValueError, RuntimeError):
        text = ElementTree.tostring(without_material_and_dynamics(text), encoding='unicode')
    try:
        return pin.buildModelFromXML(text)
    except (ValueError, RuntimeError) as error:
        raise UrdfError(f'{source}: Pinocchio cannot read it: {error}') from error


def without_material_and_dynamics(text: str) -> ElementTree.Element:
    """
    Return a URDF without <material> and <dynamics>, and without blanks around numbers.

    No term here depends on them; Pinocchio refuses two materials of one name, negative friction
    and a blank after a number.
    """
    robot = ElementTree.fromstring(text)
    for parent in robot.iter():
        for child in [one for one in parent if one.tag in ('material', 'dynamics')]:
            parent.remove(child)
        for key in parent.attrib.keys() - {'name', 'link', 'joint'}:
            parent.set(key, parent.attrib[key].strip())
    return robot
