# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The errors of the package, and functions that format their messages."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from enum import Enum
import re
from typing import Any, TypeVar

_MAX_SHOWN_CHARACTERS = 60
_MAX_LISTED_NAMES = 12
_NUMPY_NUMBER_PATTERN = re.compile(r'\bnp\.(?:float|u?int|bool)\w*\(([^()]*)\)')
_Member = TypeVar('_Member', bound=Enum)


def short_text(text: str, max_length: int = _MAX_SHOWN_CHARACTERS) -> str:
    """Return a string of at most `max_length` characters unchanged, else its start and length."""
    return text if len(text) <= max_length else f'{text[:max_length]}... ({len(text)} characters)'


def short_repr(value: object) -> str:
    """
    Return a value's repr in one line; of more than 60 characters only the start and length.

    NumPy's numbers are written as Python's: 4.9, not np.float64(4.9).
    """
    return short_text(' '.join(_NUMPY_NUMBER_PATTERN.sub(r'\1', repr(value)).split()))


def nearest_name(text: str, names: Iterable[str]) -> str:
    """Return the most similar of `names` to `text`, ignoring case; '' if none is similar."""
    by_small = {name.lower(): name for name in names}
    near = get_close_matches(text.lower(), by_small)
    # Similar names with the first letter of `text` come first: frr means fr3, not rpr.
    return by_small[min(near, key=lambda name: name[:1] != text[:1].lower())] if near else ''


def list_text(names: Sequence[object]) -> str:
    """
    Return names or numbers, joined by commas, for an error message; at most 12 of them.

    Only the shown items are formatted, because formatting a million numbers would delay a control
    cycle by a second.
    """
    listed = ', '.join(short_text(str(name)) for name in names[:_MAX_LISTED_NAMES])
    return listed if len(names) <= _MAX_LISTED_NAMES else f'{listed}, ... ({len(names)} in all)'


def plural(count: int, noun: str) -> str:
    """Return a noun that takes an s in the plural, as it stands beside a count: 1 gap, 2 gaps."""
    return noun if count == 1 else f'{noun}s'


def distinct_texts(value: float | str, bound: float | str, min_digits: int = 3) -> tuple[str, ...]:
    """Return two values as texts, with as many digits as distinguish unequal numbers."""
    for k in range(min_digits, 18):
        texts = tuple(one if isinstance(one, str) else f'{one:.{k}g}' for one in (value, bound))
        if texts[0] != texts[1] or value == bound:
            break
    return texts


def unreadable_file_message(path: object, error: OSError) -> str:
    """Return the error message for a file that cannot be opened."""
    return f'{path} cannot be read: {error.strerror}. Correct its path or its permissions.'


class FrankaDynamicsError(Exception):
    """
    Base of the errors of this package.

    `status` is the exit status of a command that ends with this error: 2, wrong input, if a
    subclass sets no other.
    """

    status = 2


def as_enum(enum_type: type[_Member], value: object, name: str, error: type[Exception]) -> _Member:
    """Return the member of an Enum that is `value` or has it as value; else raise `error`."""
    try:
        return enum_type(value)
    except ValueError:
        choices = ', '.join(str(each.value) for each in enum_type)
        raise error(f'{name} is {short_repr(value)}, but must be one of: {choices}.') from None


class ArgumentError(FrankaDynamicsError, TypeError):
    """An argument of a function is of the wrong type, as a text in place of a number."""


class DescriptionError(FrankaDynamicsError, ValueError):
    """An arm description, or a file of an arm, hand or payload, is unreadable or inconsistent."""


class UnknownArmError(DescriptionError):
    """No arm, hand or inertial set has the requested name, or the user must name an arm."""


class UrdfError(DescriptionError):
    """A URDF or MJCF cannot be read, is inconsistent, or does not contain the expected chain."""


class SlowComputationWarning(UserWarning):
    """A library is missing without which a computation is many times slower."""


class ArmWarning(UserWarning):
    """Something in an arm's, hand's or payload's numbers is doubtful, and changes torques."""


class UrdfWarning(ArmWarning):
    """An unusual or missing entry of a URDF or MJCF changes the torques of the loaded arm."""


class NoLinksError(UrdfError):
    """A xacro file has no links, only macros for another file."""


class AmbiguousUrdfError(UrdfError):
    """
    It is not clear which moving joints of a URDF are the arm.

    `choices` are the joints' names of each chain that the user can choose.
    """

    def __init__(self, message: str, choices: tuple[tuple[str, ...], ...]) -> None:
        """Make the error; `choices` are the names of the joints of each possible arm."""
        super().__init__(message)
        self.choices = choices


class InertiaError(FrankaDynamicsError, ValueError):
    """Inertial parameters or a pose are malformed, impossible, too large, or M(q) is singular."""


class FrictionError(FrankaDynamicsError, ValueError):
    """A friction model is missing or malformed, or no code can be generated for its type."""


class JointVectorError(FrankaDynamicsError, ValueError):
    """A vector argument, such as joint positions, or a batch option has a wrong shape or value."""


class FrameError(FrankaDynamicsError, ValueError):
    """A frame or a reference frame does not exist, or does not move as a tool must."""


class UnreachableError(FrankaDynamicsError, ValueError):
    """No joint position (within the limits) puts the end effector at the requested position."""


class RigidMotionError(FrankaDynamicsError, ValueError):
    """A vector is no rotation vector (3 numbers) or twist (6), or a joint kind is unknown."""


class CrosscheckError(FrankaDynamicsError):
    """Two independent models of one arm disagree by more than the tolerance."""


class RecordingError(FrankaDynamicsError, ValueError):
    """A bag or log file cannot be read or written, or content or import option cannot be used."""


class IdentificationError(FrankaDynamicsError, ValueError):
    """A recording or option allows no estimate, or no excitation, or its result is refused."""


class ClusterError(FrankaDynamicsError):
    """A compute cluster does not answer, or a worker process has died."""


class OutputError(FrankaDynamicsError, OSError):
    """A file or folder cannot be written or exists already, or requested output is impossible."""


class BaseParameterError(FrankaDynamicsError, ValueError):
    """
    Base parameters or a regressor cannot be computed or used with the given argument.

    The arm, the gravity or a vector of base parameters does not fit, or the regressor has no
    such column.
    """


class UrdfMismatchError(CrosscheckError):
    """
    A URDF does not describe the given arm.

    `verdict` is a `UrdfVerdict`, whose `findings` are the differences for which the URDF is
    refused; the message has the first of them.
    """

    def __init__(self, message: str, verdict: Any) -> None:
        """Make the error; `verdict` is the result of comparing arm and URDF."""
        super().__init__(message)
        self.verdict = verdict


class MissingDependencyError(FrankaDynamicsError, ImportError):
    """An optional library that the requested action needs is missing or cannot be loaded."""


@contextmanager
def require_extra(need: str, extra: str) -> Iterator[None]:
    """Raise MissingDependencyError, with what to install, if an import in the block fails."""
    try:
        yield
    except ImportError as error:
        # Not by the package's name: it is on no index, so the name could be anybody's.
        raise MissingDependencyError(
            f"{need}: pip install '.[{extra}]' in a clone of franka_dynamics."
        ) from error
    except (
        AttributeError,
        OSError,
        RuntimeError,
    ) as error:  # MuJoCo's OpenGL raises all three
        raise MissingDependencyError(
            f'{need}, which is installed, but cannot be loaded ({str(error)[:120]}); reinstall it '
            'or, for MuJoCo, unset MUJOCO_GL or install the library that it names.'
        ) from error


class MeshError(FrankaDynamicsError, ValueError):
    """A triangle mesh is unreadable or bounds no solid, or its unit or density is not usable."""


class SettingsError(FrankaDynamicsError, ValueError):
    """A launch argument, a parameter, a parameter file or a setting cannot be used."""


class JointStateError(FrankaDynamicsError, ValueError):
    """A joint state message cannot be read, or cannot be mapped to the arm's joints."""


class StartRefusedError(FrankaDynamicsError):
    """The controller cannot start or resume torques yet; the message says why."""


class ReferenceRefusedError(FrankaDynamicsError, ValueError):
    """
    A reference trajectory is malformed, or the arm cannot or must not follow it.

    `code` is the error code of control_msgs/FollowJointTrajectory.
    """

    code = -1  # INVALID_GOAL


class JointsRefusedError(ReferenceRefusedError):
    """A reference lacks or repeats a joint of the arm, or moves or has a tolerance for another."""

    code = -2  # INVALID_JOINTS


class StartTooFarError(ReferenceRefusedError):
    """A reference starts far from where the arm is and is desired, or these two are apart."""


class LateReferenceError(ReferenceRefusedError):
    """A reference trajectory starts too long before the latest joint state."""

    code = -3  # OLD_HEADER_TIMESTAMP


class LimitExceededError(ReferenceRefusedError):
    """A reference exceeds a limit, as `excess_text` says, at `time` [s] after its start."""

    def __init__(self, excess_text: str, time: float) -> None:
        """Make the error of a joint with `excess_text` at a time [s] after the start."""
        self.excess_text = excess_text
        self.time = time
        super().__init__(f'{time:.3f} s after its start the reference takes {excess_text}.')


class NotActiveError(ReferenceRefusedError):
    """A reference trajectory was sent while no torques are sent, or nobody receives them."""


class TreeError(FrankaDynamicsError, ValueError):
    """The bodies, joints or loops of a mechanism are inconsistent."""


class LoopError(FrankaDynamicsError):
    """A closed chain cannot be assembled, or is at a singular position."""


class RobotInterfaceError(FrankaDynamicsError):
    """A robot cannot be reached or read over FCI, or has another number of joints than the arm."""

    status = 1
