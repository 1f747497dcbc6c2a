# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Load every URDF and MJCF below folders, and compare each arm with the file.

    python benchmarks/foreign_files.py FOLDER ... [--output FILE.jsonl] [--code]

Where a file leaves a choice of joints, the first MOST_CHOICES are taken one after another. M, C dq
and g of each arm are compared with Pinocchio's reading of the URDF (`mimic=True`), or MuJoCo's
inverse dynamics of the MJCF, and then those of what the package writes: URDF, MJCF (read by
MuJoCo) and, with --code, C (compiled by cc). How far Pinocchio's reading of an MJCF is from
MuJoCo's is shown, but decides nothing. Each line has one of these outcomes:

    same       all agree within 1e-9 of the quantity's size; notes say what was held or left out
    refused    by the import, in one sentence
    unwritten  agrees with the file, but is not written, in one sentence: a link is not physical

and these must not occur: DIFFERS (also if what was written cannot be read again), FALSE ALARM
(refused by the cross-check alone), TRACEBACK.
"""

from collections import Counter
from collections.abc import Callable, Sequence
import ctypes
from dataclasses import replace
import json
import multiprocessing
from pathlib import Path
import subprocess
import sys
from tempfile import TemporaryDirectory
import traceback
from typing import Any
import warnings
import xml.etree.ElementTree as ElementTree

import mujoco
import numpy as np
import pinocchio as pin
from timing import new_parser

import franka_dynamics as fd
from franka_dynamics.arm import ArmDescription
from franka_dynamics.arrays import Array
from franka_dynamics.constants import GRAVITY, Quantity
from franka_dynamics.dynamics.sampling import JointStates
from franka_dynamics.errors import (
    AmbiguousUrdfError,
    CrosscheckError,
    DescriptionError,
    InertiaError,
    UrdfError,
)
from franka_dynamics.urdf.mjcf import is_mjcf_text
from franka_dynamics.urdf.mjcf_writer import mjcf_text
from franka_dynamics.urdf.pinocchio_reading import urdf_for_pinocchio
from franka_dynamics.urdf.writer import urdf_text
from franka_dynamics.validation.source_models import mujoco_terms

TOLERANCE = 1e-9
MOST_CHOICES = 3
STATES = 3
TIMEOUT_S = 120.0
BAD = ('DIFFERS', 'FALSE ALARM', 'TRACEBACK')
Terms = tuple[Array, Array, Array]  # M, C dq and g, one row for each state
_C = """#include "arm.h"
void run(const double *q, const double *dq, const double *ddq, double *tau) {
  arm_inverse_dynamics(q, dq, ddq, tau);
}
"""


def by_pinocchio(arm: ArmDescription, q: Array, dq: Array) -> Terms:
    """Return the terms by Pinocchio's model of the URDF, with other joints where they are held."""
    assert arm.urdf is not None
    text = arm.urdf.urdf_text
    if arm.urdf.mjcf_text:
        whole = pin.buildModelFromMJCF(arm.urdf.mjcf_text)
        whole.armature = np.zeros(whole.nv)
        return _terms(whole, arm, q, dq)
    try:
        pin.buildModelFromXML(text)
    except Exception:  # Pinocchio refuses what no torque depends on
        text = ElementTree.tostring(urdf_for_pinocchio(text), encoding='unicode')
    try:
        whole = pin.buildModelFromXML(text, mimic=True)
    except Exception:  # Pinocchio does not know what some mimic joints follow
        whole = pin.buildModelFromXML(text)
    return _terms(whole, arm, q, dq)


def _terms(whole: pin.Model, arm: ArmDescription, q: Array, dq: Array) -> Terms:
    """Return the terms of an arm's joints in a model of the whole file."""
    assert arm.urdf is not None
    data = whole.createData()
    held = {name: at for name, at in arm.urdf.held_positions if _is_free(whole, name)}
    columns = [whole.joints[whole.getJointId(name)].idx_v for name in arm.joint_names]
    found = []
    for one, rate in zip(q, dq):
        at = pin.neutral(whole)
        speed = np.zeros(whole.nv)
        for name, position in {**held, **dict(zip(arm.joint_names, one))}.items():
            joint = whole.joints[whole.getJointId(name)]
            pair = joint.nq == 2
            value = [np.cos(position), np.sin(position)] if pair else position
            at[joint.idx_q : joint.idx_q + joint.nq] = value
        speed[columns] = rate
        g = pin.rnea(whole, data, at, np.zeros(whole.nv), np.zeros(whole.nv)).copy()
        coriolis = pin.rnea(whole, data, at, speed, np.zeros(whole.nv)) - g
        M = np.zeros((arm.n, arm.n))
        for j, column in enumerate(columns):  # without pin.crba, which the package's models use
            unit = np.eye(whole.nv)[column]
            M[:, j] = (pin.rnea(whole, data, at, np.zeros(whole.nv), unit) - g)[columns]
        found.append((M, coriolis[columns], g[columns]))
    return _stacked(found)


def _is_free(model: pin.Model, name: str) -> bool:
    return 'Mimic' not in model.joints[model.getJointId(name)].shortname()


def by_package(arm: ArmDescription, q: Array, dq: Array) -> Terms:
    """Return the terms by the package's model of the arm."""
    model = fd.Model(arm)
    return model.mass_matrix(q), model.coriolis(q, dq), model.gravity(q)


def by_mujoco(text: str, q: Array, dq: Array) -> Terms:
    """Return the terms by MuJoCo's model of an MJCF."""
    model = mujoco.MjModel.from_xml_string(text)
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    data = mujoco.MjData(model)
    found = []
    for one, rate in zip(q, dq):
        bias = []
        for speed in (np.zeros(model.nv), rate):
            data.qpos[:] = one
            data.qvel[:] = speed
            mujoco.mj_forward(model, data)
            bias.append(data.qfrc_bias.copy())
        M = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, M)
        found.append((M, bias[1] - bias[0], bias[0]))
    return _stacked(found)


def by_c(arm: ArmDescription, q: Array, dq: Array) -> Terms:
    """Return the terms by the generated C code of the arm."""
    equations = fd.customised_equations(replace(arm, name='arm'), Quantity.INVERSE_DYNAMICS)
    with TemporaryDirectory() as folder:
        header = fd.c_header([equations])
        Path(folder, 'arm.h').write_text(header, encoding='utf-8')
        Path(folder, 'run.c').write_text(_C, encoding='utf-8')
        command = ['cc', '-O0', '-fPIC', '-shared', '-o', 'run.so', 'run.c', '-lm']
        subprocess.run(command, check=True, cwd=folder)
        run = ctypes.CDLL(str(Path(folder, 'run.so'))).run
    run.argtypes = [np.ctypeslib.ndpointer(dtype=float, flags='C_CONTIGUOUS')] * 4

    def torque(*state: Array) -> Array:
        out = np.empty(arm.n)
        run(*(np.ascontiguousarray(one) for one in state), out)
        return out

    found = []
    zero = np.zeros(arm.n)
    for one, rate in zip(q, dq):
        g = torque(one, zero, zero)
        M = np.array([torque(one, zero, unit) - g for unit in np.eye(arm.n)]).T
        found.append((M, torque(one, rate, zero) - g, g))
    return _stacked(found)


def _stacked(rows: Sequence[Terms]) -> Terms:
    M, coriolis, g = (np.array(one) for one in zip(*rows))
    return M, coriolis, g


def largest_difference(found: Terms, expected: Sequence[Array], dq: Array) -> float:
    """
    Return the largest difference of a term, relative to its size.

    C dq and g may be zero, as those of one joint; they count as at least M times dq^2 or 9.81.
    """
    M, coriolis, g = (float(np.abs(one).max()) for one in expected)
    sizes = M, max(coriolis, g, M * float(np.abs(dq).max()) ** 2), max(g, 9.81 * M)
    return max(
        float(np.abs(a - b).max() / max(1e-12, size)) for a, b, size in zip(found, expected, sizes)
    )


def outcome(text: str, joints: Sequence[str] | None, code: bool) -> dict[str, Any]:
    """Return what becomes of one arm: the outcome, and what it follows from."""
    arm = fd.load(text, joints=joints)
    q, dq, _ = fd.sample_states(arm, STATES)
    ours = by_package(arm, q, dq)
    differences = {}
    expected: Sequence[Array]
    if arm.urdf is not None and arm.urdf.mjcf_text:
        expected = mujoco_terms(arm, GRAVITY, JointStates(q, dq, dq))[:3]
        try:
            apart = largest_difference(by_pinocchio(arm, q, dq), expected, dq)
            print(f"Pinocchio's reading is {apart:.1e} from MuJoCo's:", end=' ')
        except Exception as error:
            print(f'not read by Pinocchio: {str(error)[:80]}:', end=' ')
    else:
        expected = by_pinocchio(arm, q, dq)
    differences['file'] = largest_difference(ours, expected, dq)
    row: dict[str, Any] = {
        'joints': arm.joint_names,
        'notes': arm.notes,
        'of': differences,
    }
    try:
        fd.crosscheck(arm, count=20).require()
    except CrosscheckError as error:
        same = differences['file'] <= TOLERANCE
        return row | {
            'outcome': 'FALSE ALARM' if same else 'refused',
            'why': str(error),
        }
    written: dict[str, Callable[[], Terms]] = {
        'URDF': lambda: by_package(fd.load(urdf_text(arm), joints=arm.joint_names), q, dq),
        'MJCF': lambda: by_mujoco(mjcf_text(arm, ideal=True), q, dq),
    }
    if code:
        written['C'] = lambda: by_c(arm, q, dq)
    word = 'same'
    for form, write in written.items():
        try:
            differences[form] = largest_difference(write(), expected, dq)
        except (InertiaError, DescriptionError) as error:
            if isinstance(error, UrdfError):  # what was written cannot be read again
                return row | {'outcome': 'DIFFERS', 'why': f'{form}: {error}'}
            word = 'unwritten'
            row['why'] = str(error)
    if not max(differences.values()) <= TOLERANCE:
        word = 'DIFFERS'
    return row | {'outcome': word}


def rows_of(file: Path, code: bool) -> list[dict[str, Any]]:
    """Return one row for each arm of a file; a file that leaves a choice holds several."""
    choices: list[Sequence[str] | None] = [None]
    rows = []
    while choices:
        joints = choices.pop(0)
        try:
            rows.append(outcome(str(file), joints, code))
        except AmbiguousUrdfError as error:
            choices += error.choices[:MOST_CHOICES]
            rows.append({'outcome': 'refused', 'why': str(error)})
        except fd.FrankaDynamicsError as error:
            rows.append({'outcome': 'refused', 'why': f'{type(error).__name__}: {error}'})
        except Exception:
            rows.append({'outcome': 'TRACEBACK', 'why': traceback.format_exc()[-2000:]})
    return [{'file': str(file), **row} for row in rows]


def _worker(task: tuple[Path, bool]) -> list[dict[str, Any]]:
    warnings.simplefilter('ignore')
    return rows_of(*task)


def main() -> int:
    """Print one line for each arm, and the number of each outcome."""
    parser = new_parser(__doc__)
    parser.add_argument('folders', nargs='+', type=Path)
    parser.add_argument('--output', type=Path, help='all rows, one a line, as JSON')
    parser.add_argument('--code', action='store_true', help='compile the generated C, too')
    given = parser.parse_args()
    files = sorted(
        {
            file
            for folder in given.folders
            for file in (*folder.rglob('*.urdf'), *folder.rglob('*.xml'))
            if file.suffix == '.urdf' or is_mjcf_text(file.read_text('utf-8', 'replace'))
        }
    )
    if not files:
        print(f'There is no URDF or MJCF below {", ".join(map(str, given.folders))}.')
        return 2
    rows: list[dict[str, Any]] = []
    # A process for each file, because a library may abort the process.
    context = multiprocessing.get_context('fork')
    for file in files:
        with context.Pool(1) as pool:
            try:
                found = pool.apply_async(_worker, ((file, given.code),)).get(TIMEOUT_S)
            except multiprocessing.TimeoutError:
                why = f'no answer within {TIMEOUT_S:g} s'
                found = [{'file': str(file), 'outcome': 'TRACEBACK', 'why': why}]
        for row in found:
            print(f'{row["outcome"]:11} {row["file"]}: {_words(row)}', flush=True)
        rows += found
    if given.output:
        given.output.write_text(''.join(f'{json.dumps(row)}\n' for row in rows), encoding='utf-8')
    counts = Counter(row['outcome'] for row in rows)
    print(f'{len(files)} files: ' + ', '.join(f'{n} {word}' for word, n in counts.most_common()))
    return 1 if any(counts[word] for word in BAD) else 0


def _words(row: dict[str, Any]) -> str:
    sizes = ', '.join(f'{form} {value:.1e}' for form, value in row.get('of', {}).items())
    joints = f'{len(row["joints"])} joints, {sizes}; ' if 'joints' in row else ''
    return ' '.join(f'{joints}{row.get("why", "")}'.split())


if __name__ == '__main__':
    sys.exit(main())
