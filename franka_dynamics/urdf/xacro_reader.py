# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Expands xacro files by the xacro library; the packages that they name lie beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
import xml.etree.ElementTree as ElementTree

from ..errors import listed, NoLinksError, UrdfError
from ..files import encoding_advice

# Where a folder above the file may have packages: itself, and two levels of a workspace.
_PACKAGE_FILES = ('package.xml', '*/package.xml', '*/*/package.xml')


class _Arguments(dict[str, str]):
    """The arguments of a xacro file by name, and those that the file asked for."""

    def __init__(self, given: Mapping[str, object]) -> None:
        super().__init__({name: str(value) for name, value in given.items()})
        self.asked = set[str]()

    def __contains__(self, name: object) -> bool:
        self.asked.add(str(name))
        return super().__contains__(name)

    def __getitem__(self, name: str) -> str:
        self.asked.add(name)
        return super().__getitem__(name)


def expand_xacro(path: Path, arguments: Mapping[str, object]) -> str:
    """
    Return the XML text of a xacro file, expanded with the given arguments.

    A package of $(find NAME) is a folder whose package.xml has this name, above the file or up to
    two levels below a folder above it; otherwise ROS is asked.

    Raises
    ------
    UrdfError
        If xacro is missing or refuses the file, an argument has no value or is none of the file,
        a package is not found, or there are only macros.
    OSError
        If there is no such file.

    """
    try:
        import xacro
    except ImportError as error:
        raise UrdfError(
            f'{path}: xacro, which expands it, is not installed; pip install xacro, or run '
            '"xacro FILE > robot.urdf" where it is.'
        ) from error
    if not path.is_file():
        raise FileNotFoundError(2, 'No such file or directory')
    values = _Arguments(arguments)
    try:
        with _packages_beside(path):
            text = str(xacro.process_file(str(path), mappings=values).toxml())
    except Exception as error:
        found = error.__context__ if type(error.__context__) is LookupError else error
        reason = encoding_advice(path) or ' '.join(str(found).split()) or type(error).__name__
        if 'Undefined substitution argument' in reason:
            reason += ', which has no default; give it as NAME:=VALUE, in Python xacro={NAME: ...}'
        raise UrdfError(f'{path}: xacro cannot expand it: {reason}.') from error
    if unknown := [name for name in arguments if name not in values.asked]:
        known = listed(sorted(values.asked)) or 'none'
        raise UrdfError(
            f'{path} uses no argument {listed(unknown)}; correct its name or leave it out. It '
            f'uses: {known}.'
        )
    if '<link' not in text:
        raise NoLinksError(f'{path} has no links, only macros; give the file that includes it.')
    return text


@contextmanager
def _packages_beside(file: Path) -> Iterator[None]:
    """Let xacro find packages near a file first, as its own $(find ...) asks only ROS."""
    from xacro import substitution_args

    in_ros = substitution_args._eval_find

    @cache
    def find(name: str) -> str:
        for folder in file.resolve().parents:
            for found in (one for form in _PACKAGE_FILES for one in folder.glob(form)):
                if _package_name(found) == name:
                    return str(found.parent)
        try:
            return str(in_ros(name))
        except Exception as error:
            raise LookupError(
                f'the package {name} of $(find {name}) was not found: put its folder, with its '
                'package.xml, beside that of the file, or source ROS and its workspace'
            ) from error

    substitution_args._eval_find = find
    try:
        yield
    finally:
        substitution_args._eval_find = in_ros


def _package_name(file: Path) -> str:
    """Return the name in a package.xml, or '' if it has none."""
    try:
        return (ElementTree.parse(file).findtext('name') or '').strip()
    except (OSError, ElementTree.ParseError):
        return ''
