# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Faults of the measured efforts: wrong gains, offsets, saturation, exchanged columns."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from .fault import Diagnosis, Fault, TorqueSamples
from ..torque_model import OFFSET_SYMBOL
from ...arrays import Array

_MAX_SIGN_GAIN_ERROR = 0.25  # a gain that is as near to -1 is a wrong sign
_WRONG_SIGN_TEXT = (
    ' has the wrong sign: the torque that moves the joint is positive where it turns the joint '
    'positively'
)


def _friction_divided_by(friction: Array, joints: tuple[int, ...], ratio: float) -> Array:
    """Return friction parameters (n, k) with the rows of `joints` divided by `ratio`."""
    there = np.isin(np.arange(len(friction)), joints)[:, None]
    return np.asarray(friction / np.where(there, ratio or 1.0, 1.0))


class Gain(Fault):
    """A wrong gain of the effort; its value is the ratio of recorded to real effort."""

    kind, of_each_joint = 'gain', True
    text = '{effort}'

    def columns(self, at: TorqueSamples) -> list[Array]:
        """Return the rigid-body torque of the fault's joints as the only column."""
        return [at.only_joints(at.rigid_torque, self.joints)]

    def values(self, found: Mapping[str, float], gravity: Array) -> list[float]:
        """Return the ratio of the recorded effort to the real one."""
        return [1.0 + found[self.column_names[0]]]

    def corrected_friction(self, fitted: Array, values: Sequence[float]) -> Array:
        """Return the friction parameters divided by the ratio of recorded to real effort."""
        return _friction_divided_by(fitted, self.joints, values[0])

    @classmethod
    def sentence(cls, found: Diagnosis, names: Sequence[str], scale: Array) -> str:
        """Return a sentence on the ratio or wrong sign, and the scale that corrects it."""
        ratio = found.values[0]
        unit = 'unit (currents: --torque-constant)'
        what = f' is {ratio:.3g} times its torque. Check its column, sign, {unit} and gear'
        if abs(ratio + 1.0) < _MAX_SIGN_GAIN_ERROR:
            what, ratio = _WRONG_SIGN_TEXT, -1.0
        there = np.isin(np.arange(len(names)), found.joints) if found.joints else True
        scales = np.where(there, scale / ratio, scale)
        shown = ','.join(f'{one:.3g}' for one in (scales if np.ptp(scales) else scales[:1]))
        effort = super().sentence(found, names, scale)
        return f'{effort}{what}; --effort-scale {shown} corrects it.'


class VaryingGain(Fault, ABC):
    """A gain that changes with `gain_variable`; values: recorded / real effort there."""

    of_all, of_each_joint = False, True
    variable_range: ClassVar[tuple[float, float]]

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of the columns of a constant gain and of its change."""
        return (*self.simpler_fault.column_names, *super().column_names)

    @property
    def simpler_fault(self) -> Fault:
        """The constant gain of the same joints."""
        return Gain(self.joints)

    @abstractmethod
    def gain_variable(self, at: TorqueSamples) -> Array:
        """Return the variable within `variable_range` that the gain depends on, (N, n or 1)."""

    def columns(self, at: TorqueSamples) -> list[Array]:
        """Return the rigid-body torque, and that torque times `gain_variable`."""
        both = at.rigid_torque, at.rigid_torque * self.gain_variable(at)
        return [at.only_joints(one, self.joints) for one in both]

    def values(self, found: Mapping[str, float], gravity: Array) -> list[float]:
        """Return the ratios of recorded to real effort at both ends of `variable_range`."""
        constant, change = (found[name] for name in self.column_names)
        return [1.0 + constant + end * change for end in self.variable_range]

    def corrected_friction(self, fitted: Array, values: Sequence[float]) -> Array:
        """Return the friction parameters divided by the mean ratio of recorded to real effort."""
        return _friction_divided_by(fitted, self.joints, 0.5 * (values[0] + values[1]))


class GainDrift(VaryingGain):
    """A drift of the effort gain; its values are recorded / real effort at begin and end."""

    kind, variable_range = 'drift', (-0.5, 0.5)
    text = (
        '{effort} drifts: {0:.2f} times its torque at the beginning, {1:.2f} at the end. Let the '
        'arm warm up, or record in shorter pieces.'
    )

    def gain_variable(self, at: TorqueSamples) -> Array:
        """Return the normalised time over the recording, -0.5 to 0.5, (N, 1)."""
        return np.asarray((at.time_fraction - 0.5)[:, None])


class OneWayGain(VaryingGain):
    """A gain that depends on direction; values: recorded / real effort if dq > 0 and if dq < 0."""

    kind, variable_range = 'one_way', (1.0, -1.0)
    text = (
        '{effort} is {0:.2f} times its torque where the joint moves positively, {1:.2f} times '
        'where negatively. Check its drive or sensor, and what is done to its efforts.'
    )

    def gain_variable(self, at: TorqueSamples) -> Array:
        """Return the sign of the velocity."""
        return np.asarray(np.sign(at.motion.dq))


class Saturation(Fault):
    """A gain that changes with the torque; value: the gain's change at the largest torque."""

    kind, of_all, of_each_joint = 'saturation', False, True
    text = (
        '{effort} has another gain at large torques than at small ones ({0:+.2f} of it): its '
        'sensor or drive saturates. Record slower motions or with less load.'
    )

    def is_possible(self, values: Sequence[float], gravity: Array) -> bool:
        """Return whether the gain falls with torque; friction may raise it (0.07 of UR10es)."""
        return values[0] < 0.0

    def columns(self, at: TorqueSamples) -> list[Array]:
        """Return the torque times its square relative to the largest."""
        torque, most = at.total_torque, np.abs(at.total_torque).max(axis=0)
        return [at.only_joints(torque * (torque / np.maximum(most, 1e-9)) ** 2, self.joints)]


class Offset(Fault):
    """An offset of the effort; its value is the error [N m]. It is only a question."""

    kind, of_all, of_each_joint = 'offset', False, True
    text = (
        '{effort} is off by {0:.2f} N m. Zero its torque sensor, or subtract this from its column.'
    )

    @property
    def column_names(self) -> tuple[str, ...]:
        """Name of the torque model's offset column, which such a fit frees from its prior."""
        return (f'{OFFSET_SYMBOL}_{self.joints[0] + 1}',)

    def is_possible(self, values: Sequence[float], gravity: Array) -> bool:
        """Return False, as an offset is in all fits and is only asked about."""
        return False


class OffsetDrift(Fault):
    """A drift of the effort offset; its value is the change from begin to end [N m]."""

    kind, of_all, of_each_joint = 'offset_drift', False, True
    text = '{effort} drifts by {0:.2f} N m. Let the arm warm up, or record in shorter pieces.'

    def columns(self, at: TorqueSamples) -> list[Array]:
        """Return the time as a fraction of the recording, -0.5 to 0.5."""
        time = np.broadcast_to(at.time_fraction[:, None] - 0.5, at.rigid_torque.shape)
        return [at.only_joints(time, self.joints)]


class ExchangedEfforts(Fault):
    """Exchanged efforts of two joints; its value is the share that is exchanged (1: all)."""

    kind, of_all, of_joint_pairs = 'exchanged', False, True
    text = 'The efforts of {joints} are exchanged. Exchange their columns.'

    def columns(self, at: TorqueSamples) -> list[Array]:
        """Return the difference of the two joints' torques, with opposite signs at the two."""
        (i, j), each = self.joints, np.eye(at.model.n)
        return [(at.rigid_torque[:, [j]] - at.rigid_torque[:, [i]]) * (each[i] - each[j])]

    def corrected_friction(self, fitted: Array, values: Sequence[float]) -> Array:
        """Return the friction parameters with those of the two joints exchanged back."""
        found = fitted.copy()
        found[[*self.joints]] = fitted[[*self.joints[::-1]]]
        return found

    def is_possible(self, values: Sequence[float], gravity: Array) -> bool:
        """Return whether the efforts are exchanged as a whole, not in part."""
        return 0.5 < values[0] < 2.0
