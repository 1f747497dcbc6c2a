# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Options of an identification; the module does not import NumPy."""

from dataclasses import dataclass, field, fields
import math
from typing import Any, TYPE_CHECKING

from .prior_widths import PriorWidths, TERMS_TO_LEAVE_OUT
from ..constants import GRAVITY
from ..errors import IdentificationError

if TYPE_CHECKING:
    from .torque_model import TorqueModel
    from ..arm import ArmDescription
    from ..arrays import Array
    from ..recordings.recording import Recording

MAXWELL_SLIP = 'maxwell_slip'
VISCOUS_COULOMB = 'viscous_coulomb'
FRICTION_MODELS = (MAXWELL_SLIP, VISCOUS_COULOMB)
# Half of the gravity torque: efforts that lack it hold none, and others all of it.
_MIN_GRAVITY_SHARE = 0.5
# Largest ratio of a link's fitted to its starting mass, and of starting to fitted mass. Real arms
# stay within it; without it the solver fails on torques that no arm has.
MAX_MASS_RATIO = 3.0


@dataclass(frozen=True)
class IdentificationOptions:
    """
    Options of an identification; IdentificationError for unknown friction or unusable precision.

    `gravity` (3,) is in the space frame [m/s^2], `friction` one of FRICTION_MODELS. With
    `rotor_inertia` one rotor inertia per joint is identified as well. `regularization` and
    `prior_widths` fix what measured torques choose otherwise: the precision of the prior on
    masses and, by name, widths of `PriorWidths`. `effort_scale` is the torque of one unit of
    recorded effort. With `add_gravity` efforts lack the gravity torque, as a UR's, an iiwa's or a
    Flexiv's do, and that of the starting set is added to them. With `accept_unsound` an arm is
    also accepted if its recordings are not sound, or if it is not better than the published sets.
    `answers` are names of options that answer what the recordings ask, such as `effort_scale`,
    `gravity`, `hand` or `payload`: the caller says that these are right. Those that differ from
    their default count as well.
    """

    gravity: Any = GRAVITY  # array_like, shape (3,)
    friction: str = MAXWELL_SLIP
    rotor_inertia: bool = False
    regularization: float | None = None
    prior_widths: Any = field(default_factory=dict)  # Mapping[str, float], or its items
    effort_scale: tuple[float, ...] = (1.0,)
    add_gravity: bool = False
    accept_unsound: bool = False
    answers: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Raise IdentificationError for unknown friction or a precision not > 0 and finite."""
        if self.friction not in FRICTION_MODELS:
            raise IdentificationError(
                f'There is no friction model {self.friction!r}; '
                f'choose {" or ".join(FRICTION_MODELS)}.'
            )
        if not any(self.gravity):
            raise IdentificationError(
                'gravity is 0,0,0. Efforts that lack the gravity torque are not those of an arm '
                'without gravity: leave gravity as it was, and choose add_gravity '
                '(--add-gravity), which adds the torque of the starting set to them.'
            )
        if self.regularization is not None and not 0.0 < self.regularization < math.inf:
            raise IdentificationError(
                f'The precision of the prior is {self.regularization}; it must be positive and '
                'finite. With 0.01 the prior has hardly any effect.'
            )
        object.__setattr__(self, 'prior_widths', dict(self.prior_widths))
        self._check_widths()

    def _check_widths(self) -> None:
        """Raise IdentificationError for a width of another name, or one that no prior has."""
        names = [each.name for each in fields(PriorWidths)][1:]
        for name, width in self.prior_widths.items():
            if name not in names:
                raise IdentificationError(
                    f'The prior has no width {name!r}; prior_widths takes {", ".join(names)}.'
                )
            smallest = 'zero or more' if name in TERMS_TO_LEAVE_OUT else 'positive'
            is_possible = width >= 0.0 if name in TERMS_TO_LEAVE_OUT else width > 0.0
            if not (is_possible and width < math.inf):
                raise IdentificationError(
                    f'The width {name} of the prior is {width}; it must be {smallest}, and finite.'
                )

    @property
    def fixed_widths(self) -> dict[str, float]:
        """The fields of `PriorWidths` that torques do not choose, by name."""
        fixed = dict(self.prior_widths)
        if self.regularization is not None:
            fixed['regularization'] = self.regularization
        return fixed

    @property
    def stated_names(self) -> frozenset[str]:
        """Names of the options that the caller has stated: `answers`, and those not default."""
        differs = {
            'effort_scale': any(scale != 1.0 for scale in self.effort_scale),
            'gravity': tuple(self.gravity) != tuple(GRAVITY),
            'rotor_inertia': self.rotor_inertia,
        }
        return frozenset(self.answers) | {name for name, is_other in differs.items() if is_other}

    def effort_scales(self, n: int) -> 'Array':
        """Return each joint's torque per unit of effort, (n,) [N m]; RecordingError if wrong."""
        from ..recordings.recording import effort_scales

        return effort_scales(self.effort_scale, n)

    def with_whole_effort(self, recording: 'Recording', arm: 'ArmDescription') -> 'Recording':
        """
        Return a recording with efforts in N m and, if they lack it, an arm's gravity torque added.

        Raises RecordingError for wrong scales and, unless unsound recordings are accepted, for
        efforts that hold the gravity torque that was to be added.
        """
        from dataclasses import replace

        from ..dynamics.pinocchio_model import PinocchioModel

        scaled = recording.with_scaled_effort(self.effort_scales(arm.n))
        if not self.add_gravity:
            return scaled
        gravity = PinocchioModel(arm, self.gravity).gravity(scaled.q)
        if not self.accept_unsound:
            _require_no_gravity(scaled, gravity)
        return replace(scaled, effort=scaled.effort + gravity)

    def torque_model(self, start: 'ArmDescription') -> 'TorqueModel':
        """
        Return the torque model of an arm with the options' gravity, friction and rotors.

        Rotors that the arm states are identified, too: without them links would seem heavier.
        """
        from .torque_model import SLIP_REACHES_RAD, TorqueModel

        has_rotors = any(joint.rotor_inertia for joint in start.joints)
        return TorqueModel.for_arm(
            start,
            gravity=self.gravity,
            rotor_inertia=self.rotor_inertia or has_rotors,
            slip_reaches=SLIP_REACHES_RAD if self.friction == MAXWELL_SLIP else (),
        )


def _require_no_gravity(recording: 'Recording', gravity: 'Array') -> None:
    """Raise RecordingError if efforts are nearer to the gravity torque (N, n) than to none."""
    from ..errors import RecordingError

    # Sums over samples and joints; the share is the gravity torque's least-squares coefficient.
    product = float((recording.effort * gravity).sum())
    gravity_square = float((gravity**2).sum())
    effort_square = float((recording.effort**2).sum())
    if not gravity_square:
        return
    share = product / gravity_square
    is_alike = product > _MIN_GRAVITY_SHARE * math.sqrt(gravity_square * effort_square)
    if is_alike and product > _MIN_GRAVITY_SHARE * gravity_square:
        raise RecordingError(
            f'{recording.source}: its efforts hold {share:.2f} times the gravity '
            'torque of the arm already, and would hold it twice. Leave add_gravity '
            '(--add-gravity) away.'
        )
