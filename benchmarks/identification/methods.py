# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Ways of identifying an arm: each is given a motion and returns what predicts torques of others.

All get the same prepared samples (docs/howto/recordings.md says how they are prepared) and the
same starting model of the arm, and have their own defaults for all else.
"""

from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
import os
from pathlib import Path
import sys
import tempfile
from typing import Any

import mujoco
import numpy as np
import pinocchio as pin
from scipy.optimize import lsq_linear
import yaml

import franka_dynamics as fd
from franka_dynamics.arrays import Array
from franka_dynamics.errors import InertiaError
from franka_dynamics.fit.options import IdentificationOptions
from franka_dynamics.fit.prior import with_minimum_gyration
from franka_dynamics.recordings.preprocessing import Motion
from franka_dynamics.recordings.replay import predict_torque
from franka_dynamics.urdf.mjcf_writer import mjcf_text
from franka_dynamics.urdf.writer import urdf_text

# Joint speeds at which tanh in place of a sign has half its height, for what has no sign of its
# own [rad/s].
WIDTH_RAD_S = 0.01
WINDOW_S, STEP_S = 0.5, 5e-3  # of MuJoCo's simulations between two measured states
MUJOCO_STEPS = 40  # of its optimizer, whose default is 100; each takes seconds


@dataclass(frozen=True)
class Predictor:
    """
    What a method has found.

    `torque` and `rigid` return torques (N, n) [N m] of a motion: of all that was identified, and
    without friction and offsets.
    """

    torque: Callable[[Motion], Array]
    rigid: Callable[[Motion], Array]


# From the starting model, motions, and whether rotor inertias are to be found. Of several
# predictors `run.py` takes the one that is best with hindsight.
Method = Callable[[fd.ArmDescription, list[Motion], bool], Predictor | list[Predictor]]


def joined(motions: list[Motion]) -> Motion:
    """Return several motions as one, each a piece of its own, for methods that take one."""
    if len(motions) == 1:
        return motions[0]
    names = ('q', 'dq', 'ddq', 'effort', 'effort_unfiltered')
    arrays: dict[str, Any] = {
        name: np.concatenate([getattr(one, name) for one in motions]) for name in names
    }
    lengths = [len(one) for one in motions]
    rate = motions[0].options.rate
    return Motion(
        time=np.arange(sum(lengths)) / rate,
        piece_ids=np.repeat(np.arange(len(motions)), lengths),
        options=motions[0].options,
        **arrays,
    )


def by_arm(arm: fd.ArmDescription) -> Predictor:
    """Return a predictor by an arm of this package."""
    return Predictor(
        lambda motion: predict_torque(arm, motion).predicted_torque,
        lambda motion: predict_torque(replace(arm, friction=None), motion).predicted_torque,
    )


def this_package(arm: fd.ArmDescription, motions: list[Motion], rotors: bool) -> Predictor:
    """Identify by `fd.identify`: a physically consistent fit with Maxwell-slip friction."""
    # The fit is judged here, not the recording: four fifths of a short log will do.
    options = IdentificationOptions(rotor_inertia=rotors, accept_unsound=True)
    return by_arm(fd.identify(motions, arm, options=options).arm)


def published(arm: fd.ArmDescription, motions: list[Motion], rotors: bool) -> Predictor:
    """Keep the starting model's inertias; fit the friction that `fd.identify` fits."""
    model = IdentificationOptions().torque_model(arm)
    rigid = fd.Model(arm)

    def left(motion: Motion) -> Array:
        return motion.effort - rigid.inverse_dynamics(motion.q, motion.dq, motion.ddq)

    columns = np.concatenate([model.friction_columns(one) for one in motions])
    residual = np.concatenate([left(one) for one in motions])
    lowest = np.where(model.friction.nonnegative_mask, 0.0, -np.inf).reshape(arm.n, -1)
    coefficients = [
        lsq_linear(columns[:, j], residual[:, j], (lowest[j], np.inf)).x for j in range(arm.n)
    ]
    return Predictor(
        lambda given: (
            rigid.inverse_dynamics(given.q, given.dq, given.ddq)
            + np.einsum('njk,jk->nj', model.friction_columns(given), coefficients)
        ),
        lambda given: rigid.inverse_dynamics(given.q, given.dq, given.ddq),
    )


def physical_urdf(arm: fd.ArmDescription) -> str:
    """Return the arm's URDF; links that no URDF may have get a centimetre's radius of gyration."""
    try:
        return urdf_text(arm)
    except InertiaError:
        return urdf_text(arm.map_links(with_minimum_gyration))


def friction_terms(dq: Array) -> Array:
    """Return the terms of viscous and Coulomb friction and an offset, (N, n, 3)."""
    return np.stack([dq, np.tanh(dq / WIDTH_RAD_S), np.ones_like(dq)], axis=-1)


class PinocchioRegressor:
    """The regressor of Pinocchio's parameters, rotors, and friction of every joint."""

    def __init__(self, arm: fd.ArmDescription, rotors: bool) -> None:
        """Build Pinocchio's model of the arm."""
        self.model = pin.buildModelFromXML(physical_urdf(arm))
        self.data = self.model.createData()
        self.n = arm.n
        self.rotors = rotors
        self._last: tuple[Motion, tuple[Array, Array]] | None = None

    @property
    def starting_parameters(self) -> Array:
        """The parameters of the starting model, without rotors."""
        inertias = [*self.model.inertias][1:]
        rotors = np.zeros(self.n if self.rotors else 0)
        return np.concatenate([*(one.toDynamicParameters() for one in inertias), rotors])

    def __call__(self, given: Motion) -> tuple[Array, Array]:
        """Return the columns of rigid bodies and of friction, (N, n, k)."""
        if self._last is None or self._last[0] is not given:
            self._last = given, self._columns(given)
        return self._last[1]

    def _columns(self, given: Motion) -> tuple[Array, Array]:
        states = zip(given.q, given.dq, given.ddq)
        rigid = np.array(
            [pin.computeJointTorqueRegressor(self.model, self.data, *one) for one in states]
        )
        if self.rotors:
            rigid = np.concatenate([rigid, given.ddq[:, :, None] * np.eye(self.n)], axis=-1)
        terms = friction_terms(given.dq)[:, :, None, :] * np.eye(self.n)[..., None]
        return rigid, terms.reshape(len(given), self.n, -1)

    def predictor(self, parameters: Array) -> Predictor:
        """Return what predicts torques by parameters of bodies and of friction."""

        def torque(given: Motion) -> Array:
            return np.concatenate(self(given), axis=-1) @ parameters

        def rigid(given: Motion) -> Array:
            columns, _ = self(given)
            return columns @ parameters[: columns.shape[-1]]

        return Predictor(torque, rigid)


def pinocchio_least_squares(
    arm: fd.ArmDescription, motions: list[Motion], rotors: bool
) -> Predictor:
    """Solve for Pinocchio's regressor's parameters and friction by NumPy's least squares."""
    motion = joined(motions)
    regressor = PinocchioRegressor(arm, rotors)
    return regressor.predictor(_least_squares(regressor, motion, np.ones(arm.n)))


def weighted_least_squares(
    arm: fd.ArmDescription, motions: list[Motion], rotors: bool
) -> Predictor:
    """Solve the same again, rows of each joint divided by its residual in the first solution."""
    motion = joined(motions)
    regressor = PinocchioRegressor(arm, rotors)
    first = regressor.predictor(_least_squares(regressor, motion, np.ones(arm.n)))
    residual = motion.effort - first.torque(motion)
    noise = np.sqrt(np.mean(residual**2, axis=0))
    return regressor.predictor(_least_squares(regressor, motion, 1.0 / noise))


def _least_squares(regressor: PinocchioRegressor, motion: Motion, weights: Array) -> Array:
    """Return the parameters of least squares, rows of each joint times its weight (n,)."""
    rows = np.concatenate(regressor(motion), axis=-1) * weights[:, None]
    torque = (motion.effort * weights).ravel()
    found, *_ = np.linalg.lstsq(rows.reshape(-1, rows.shape[-1]), torque, rcond=None)
    return np.asarray(found, dtype=float)


def ridges(arm: fd.ArmDescription, motions: list[Motion], rotors: bool) -> list[Predictor]:
    """
    Solve the same by ridges about the starting model's parameters, and friction of zero.

    There is one for each of RIDGE_PENALTIES: of the squares of changes, each divided by what lets
    its column be as large as the torques.
    """
    motion = joined(motions)
    regressor = PinocchioRegressor(arm, rotors)
    columns = np.concatenate(regressor(motion), axis=-1)
    rows = columns.reshape(-1, columns.shape[-1])
    start = np.zeros(rows.shape[-1])
    start[: len(regressor.starting_parameters)] = regressor.starting_parameters
    sizes = np.sqrt(np.mean(rows**2, axis=0))
    scale = np.where(sizes > 0.0, 1.0 / np.maximum(sizes, np.finfo(float).tiny), 0.0)
    scaled = rows * scale
    gram = scaled.T @ scaled
    left = scaled.T @ (motion.effort.ravel() - rows @ start)
    changes = [
        np.linalg.solve(gram + penalty * len(rows) * np.eye(len(scale)), left)
        for penalty in RIDGE_PENALTIES
    ]
    return [regressor.predictor(start + scale * change) for change in changes]


# Of these penalties the run takes the one that predicts the left-out parts best, with hindsight.
RIDGE_PENALTIES = tuple(np.logspace(-7.0, 0.0, 15))
RIDGE = 'ridge, best with hindsight'


def figaroh(arm: fd.ArmDescription, motions: list[Motion], rotors: bool) -> Predictor:
    """Identify by FIGAROH's BaseIdentification, without decimation of the prepared samples."""
    from figaroh.identification.base_identification import BaseIdentification
    from figaroh.tools.regressor import build_regressor_basic
    from figaroh.tools.robot import Robot

    motion = joined(motions)
    rate = motion.options.rate
    config = {
        'robot': {'name': arm.name},
        'tasks': {
            'identification': {
                'enabled': True,
                'joints': {'active_joints': list(arm.joint_names)},
                'problem': {'model_components': {'actuator_inertia': rotors}},
                # The samples are filtered: its own filter would blur where parts join.
                'signal_processing': {
                    'sampling_frequency': rate,
                    'cutoff_frequency': 0.49 * rate,
                    'filter_params': {'med_fil': 1},
                },
            }
        },
    }

    class Identification(BaseIdentification):
        """Gives the prepared samples to FIGAROH."""

        def load_trajectory_data(self, data_source: str | None = None) -> dict[str, Array]:
            """Return the samples."""
            return {
                'timestamps': np.arange(len(motion)) / rate,
                'positions': motion.q,
                'velocities': motion.dq,
                'accelerations': motion.ddq,
                'torques': motion.effort,
            }

    with tempfile.TemporaryDirectory() as folder:
        urdf = Path(folder) / 'arm.urdf'
        settings = Path(folder) / 'arm.yaml'
        urdf.write_text(physical_urdf(arm), encoding='utf-8')
        settings.write_text(yaml.safe_dump(config), encoding='utf-8')
        solved = Identification(Robot(str(urdf), package_dirs=folder), str(settings))
        solved.identif_config |= {
            'act_idxq': [*range(arm.n)],
            'act_idxv': [*range(arm.n)],
        }
        with redirect_stdout(sys.stderr):  # its report
            solved.initialize()
            solved.solve(decimate=False, plotting=False)
    left = np.delete(np.arange(solved.dynamic_regressor.shape[1]), solved._idx_eliminated)
    columns = left[solved._base_indices]
    names = np.array([*solved.standard_parameter])[columns]
    is_friction = np.array([name.startswith(('fv', 'fs', 'off')) for name in names])

    def torque(given: Motion, chosen: Array) -> Array:
        whole = build_regressor_basic(
            solved.robot, given.q, given.dq, given.ddq, solved.identif_config
        )
        stacked = whole[:, columns[chosen]] @ np.asarray(solved.phi_base)[chosen]
        return stacked.reshape(arm.n, len(given)).T

    every = np.ones(len(columns), dtype=bool)
    return Predictor(lambda given: torque(given, every), lambda given: torque(given, ~is_friction))


def mujoco_sysid(arm: fd.ArmDescription, motions: list[Motion], rotors: bool) -> Predictor:
    """
    Identify by mujoco.sysid: simulate half seconds under the measured torques, fit the states.

    Free are each link's pseudo-inertia, and each joint's damping, dry friction and armature.
    """
    # mypy takes mujoco for a typed package as soon as it reads an import of this part.
    sysid: Any = import_module('mujoco.sysid')
    spec = mujoco.MjSpec.from_string(mjcf_text(arm, ideal=True))
    spec.option.timestep = STEP_S
    for joint in spec.joints:
        for kind, name in (
            (mujoco.mjtSensor.mjSENS_JOINTPOS, 'q'),
            (mujoco.mjtSensor.mjSENS_JOINTVEL, 'dq'),
        ):
            spec.add_sensor(
                name=f'{joint.name}_{name}',
                type=kind,
                objtype=mujoco.mjtObj.mjOBJ_JOINT,
                objname=joint.name,
            )
    model = spec.compile()
    parameters = sysid.ParameterDict()
    for joint in spec.joints:
        parameters.add(_inertia_parameter(sysid, spec, model, joint.parent.name))
        for field, most in (
            ('damping', 10.0),
            ('frictionloss', 10.0),
            ('armature', 2.0),
        ):
            parameters.add(_joint_parameter(sysid, joint.name, field, most))
    sequences = _windows(sysid, model, spec, joined(motions))
    windows = sequences.measured_rollout

    # sysid.build_residual_fn would build each model anew for each window.
    def residual(x: Array, given: Any) -> tuple[Any, ...]:
        left, *others = sysid.model_residual(
            x, given, lambda one: sysid.apply_param_modifiers(one, spec), windows
        )
        if x.ndim == 2:  # columns of x, each with all windows
            left = left.reshape(len(left), x.shape[1], len(windows))
            left = left.transpose(2, 0, 1).reshape(-1, x.shape[1])
        return [left], *others

    with redirect_stdout(sys.stderr):  # its steps
        found, _ = sysid.optimize(parameters, residual, verbose=False, max_iters=MUJOCO_STEPS)
    fitted = sysid.apply_param_modifiers(found, spec)
    return Predictor(
        lambda given: _by_mujoco(fitted, given, friction=True),
        lambda given: _by_mujoco(fitted, given, friction=False),
    )


def _inertia_parameter(sysid: Any, spec: Any, model: Any, body_name: str) -> Any:
    def write(spec: Any, parameter: Any) -> None:
        sysid.apply_body_inertia(spec, body_name, parameter)
        # MuJoCo 4.0.0 refuses the quaternion of NaN that this leaves beside a full inertia.
        spec.body(body_name).iquat = [1.0, 0.0, 0.0, 0.0]

    pseudo = sysid.InertiaType.Pseudo
    return sysid.body_inertia_param(spec, model, body_name, pseudo, modifier=write)


def _joint_parameter(sysid: Any, joint_name: str, field: str, most: float) -> Any:
    def write(spec: Any, parameter: Any) -> None:
        value = float(parameter.value[0])
        joint = spec.joint(joint_name)
        if field == 'damping' and np.ndim(joint.damping):
            joint.damping[0] = value
        else:
            setattr(joint, field, value)

    return sysid.Parameter(f'{joint_name}_{field}', 0.1, 0.0, most, modifier=write)


def _windows(sysid: Any, model: Any, spec: Any, motion: Motion) -> Any:
    """Return what mujoco.sysid takes: windows with initial states, torques and sensors."""
    per_window = round(WINDOW_S * motion.options.rate)
    names = []
    states = []
    controls = []
    sensors = []
    for number, piece in enumerate(motion.pieces()):
        for start in range(0, len(piece) - per_window, per_window):
            part = piece.select(slice(start, start + per_window + 1))
            if np.ptp(np.diff(part.time)) > 1e-3:  # what was left out lies between
                continue
            time = part.time - part.time[0]
            fine = STEP_S * np.arange(round(WINDOW_S / STEP_S))
            names.append(f'{number}_{start}')
            states.append(sysid.create_initial_state(model, part.q[0], part.dq[0], np.zeros(0)))
            torque = np.stack([np.interp(fine, time, one) for one in part.effort.T], axis=1)
            controls.append(sysid.TimeSeries(fine, torque))
            measured = np.stack([part.q, part.dq], axis=-1).reshape(len(part), -1)
            resampled = np.stack([np.interp(fine, time, one) for one in measured.T], axis=1)
            sensors.append(sysid.TimeSeries.from_names(fine, resampled, model))
    return sysid.ModelSequences('arm', spec, names, states, controls, sensors)


def _by_mujoco(model: Any, motion: Motion, *, friction: bool) -> Array:
    """Return the torques of a fitted MuJoCo model, its dry friction with a sign of its own."""
    data = mujoco.MjData(model)
    out = np.zeros_like(motion.q)
    damping = model.dof_damping.copy()
    dry = model.dof_frictionloss.copy()
    model.dof_damping[:] = 0.0
    model.dof_frictionloss[:] = 0.0
    for k in range(len(motion)):
        data.qpos[:] = motion.q[k]
        data.qvel[:] = motion.dq[k]
        data.qacc[:] = motion.ddq[k]
        mujoco.mj_inverse(model, data)
        out[k] = data.qfrc_inverse
    model.dof_damping[:] = damping
    model.dof_frictionloss[:] = dry
    if friction:
        out += damping * motion.dq + dry * np.tanh(motion.dq / WIDTH_RAD_S)
    return out


METHODS: dict[str, Method] = {
    'this package': this_package,
    'starting model, friction fitted': published,
    'Pinocchio, least squares': pinocchio_least_squares,
    'the same, weighted by joint': weighted_least_squares,
    RIDGE: ridges,
    'FIGAROH': figaroh,
    'mujoco.sysid': mujoco_sysid,
}
# What is installed for those that are not of this package's own requirements.
PACKAGES = {'FIGAROH': 'figaroh', 'mujoco.sysid': 'mujoco[sysid]'}


def is_installed(method: str) -> bool:
    """Whether what a method needs is installed."""
    if method == 'FIGAROH':
        return find_spec('figaroh') is not None
    if method == 'mujoco.sysid':  # MuJoCo 4.0.0 leaves it empty without what it needs
        return hasattr(import_module('mujoco.sysid'), 'ParameterDict')
    return True


os.environ.setdefault('MPLBACKEND', 'agg')
