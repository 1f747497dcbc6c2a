# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Reads a URDF or an MJCF, by its path or as text, or a xacro file."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
import errno
from functools import cache
from pathlib import Path
from threading import Lock
import xml.etree.ElementTree as ElementTree

from .document import UrdfDocument
from .mjcf import is_mjcf_text, read_mjcf
from .urdf_parser import parse_urdf_text
from ..arm.arm_file import is_xml_text
from ..errors import (
    DescriptionError,
    list_text,
    NoLinksError,
    unreadable_file_message,
    UrdfError,
)
from ..files import expanded_path, read_text, utf16_advice

_XACRO_LOCK = Lock()  # xacro's search for packages is one for the process
# Where a folder above the file may have packages: itself, and two levels of a workspace.
_PACKAGE_FILE_PATTERNS = ('package.xml', '*/package.xml', '*/*/package.xml')


def read_robot_text(path: Path, arguments: Mapping[str, object] | None = None) -> str:
    """
    Return the text of a URDF or MJCF file, or of a xacro file expanded with `arguments`.

    Arguments that are not given have their defaults.

    Returns
    -------
    str
        The XML of the URDF or MJCF.

    Raises
    ------
    UrdfError
        If the file cannot be read or expanded, or has no such argument; the message names the file
        and the reason.

    """
    try:
        if path.suffix == '.xacro':
            return expand_xacro(path, arguments or {})
        if arguments:
            names = list_text([*arguments])
            raise UrdfError(f'{path} is no xacro file and has no arguments; leave {names} out.')
        return read_text(path)
    except OSError as error:
        raise UrdfError(unreadable_file_message(path, error)) from error
    except UnicodeDecodeError as error:
        raise UrdfError(f'{path}: byte {error.start} is not UTF-8; is it a URDF?') from error


def read_document(
    urdf: str | Path,
    source_name: str | None = None,
    arguments: Mapping[str, object] | None = None,
) -> UrdfDocument:
    """
    Read links and joints of a URDF or MJCF (text or path) or of a xacro file (path).

    `source_name` is its name in error messages; default: the path, or 'the URDF'.

    Raises
    ------
    DescriptionError
        If a text is given with arguments.
    UrdfError
        As `read_robot_text` and `parse_robot`.

    """
    if is_xml_text(urdf):
        if arguments:
            raise DescriptionError('A text has no xacro arguments; omit xacro, or give a file.')
        return parse_robot(str(urdf).strip(), source_name or '')
    path = expanded_path(urdf)
    return parse_robot(read_robot_text(path, arguments), source_name or str(urdf), path)


def parse_robot(text: str, source_name: str = '', mjcf_path: Path | None = None) -> UrdfDocument:
    """
    Read links and joints from the text of a URDF, with xacro expanded, or of an MJCF.

    `source_name`, a path or a topic, is the text's name in error messages; default: 'the URDF' or
    'the MJCF'. `mjcf_path` is the MJCF's, beside which its other files are looked for.

    Raises
    ------
    UrdfError
        If the text is no URDF, a value cannot be used, or its links and joints form no tree; the
        message names the source, the element, the value and the fix.

    """
    if is_mjcf_text(text):
        return read_mjcf(text, source_name or 'the MJCF', mjcf_path)
    return parse_urdf_text(text, source_name or 'the URDF')


class _XacroArguments(dict[str, str]):
    """A xacro file's arguments by name; `requested_names` has each name that was looked up."""

    def __init__(self, arguments: Mapping[str, object]) -> None:
        """Store the arguments, their values converted to text."""
        super().__init__({name: str(value) for name, value in arguments.items()})
        self.requested_names: set[str] = set()

    def __contains__(self, name: object) -> bool:
        """Return whether an argument is given, and record that the file asked for it."""
        self.requested_names.add(str(name))
        return super().__contains__(name)

    def __getitem__(self, name: str) -> str:
        """Return an argument's value, and record that the file asked for it."""
        self.requested_names.add(name)
        return super().__getitem__(name)


def expand_xacro(path: Path, arguments: Mapping[str, object]) -> str:
    """
    Return the XML text of a xacro file, expanded with arguments; others must have defaults.

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
        raise FileNotFoundError(errno.ENOENT, 'No such file or directory')
    values = _XacroArguments(arguments)
    try:
        with _XACRO_LOCK, _search_packages_near(path):
            text = str(xacro.process_file(str(path), mappings=values).toxml())
    except Exception as error:
        # xacro wraps the LookupError of find_package, whose sentence says more.
        cause = error.__context__ if type(error.__context__) is LookupError else error
        reason = utf16_advice(path) or ' '.join(str(cause).split()) or type(error).__name__
        if 'Undefined substitution argument' in reason:
            reason += ', which has no default; give it as NAME:=VALUE, in Python xacro={NAME: ...}'
        raise UrdfError(f'{path}: xacro cannot expand it: {reason}.') from error
    unknown = [name for name in arguments if name not in values.requested_names]
    if unknown:
        known = list_text(sorted(values.requested_names)) or 'none'
        raise UrdfError(f'{path} uses no argument {list_text(unknown)}; use {known} or omit it.')
    if '<link' not in text:
        raise NoLinksError(f'{path} has no links, only macros; give the file that includes it.')
    return text


@contextmanager
def _search_packages_near(xacro_path: Path) -> Iterator[None]:
    """Make xacro, in the block, look for $(find ...)'s package near a file before asking ROS."""
    from xacro import substitution_args

    in_ros = substitution_args._eval_find

    @cache
    def find_package(name: str) -> str:
        """Return the folder of a package near the file or else by ROS; LookupError without."""
        for folder in xacro_path.resolve().parents:
            for pattern in _PACKAGE_FILE_PATTERNS:
                for package_file in folder.glob(pattern):
                    if _package_name(package_file) == name:
                        return str(package_file.parent)
        try:
            return str(in_ros(name))
        except Exception as error:
            raise LookupError(
                f'the package {name} of $(find {name}) was not found: put its folder, with its '
                'package.xml, beside that of the file, or source ROS and its workspace'
            ) from error

    substitution_args._eval_find = find_package
    try:
        yield
    finally:
        substitution_args._eval_find = in_ros


def _package_name(package_file: Path) -> str:
    """Return the name in a package.xml, or '' if it has none or cannot be read."""
    try:
        return (ElementTree.parse(package_file).findtext('name') or '').strip()
    except (OSError, ElementTree.ParseError):
        return ''
