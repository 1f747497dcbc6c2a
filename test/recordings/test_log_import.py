# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Logs in every supported format, written by the libraries that users write them with."""

import numpy as np
import pytest
from scipy.io import savemat

from franka_dynamics.arm import load
from franka_dynamics.errors import MissingDependencyError, RecordingError
from franka_dynamics.recordings.log_file import read_log
from franka_dynamics.recordings.log_import import (
    ColumnMap,
    import_log,
    recording_from_arrays,
)

NAMES = load('fer').joint_names
ROWS = 50
TIME = 0.004 * np.arange(ROWS) + 12.5
Q = 0.5 * np.sin(3.0 * TIME[:, None] + np.arange(7))
DQ = 1.5 * np.cos(3.0 * TIME[:, None] + np.arange(7))
EFFORT = np.random.default_rng(0).normal(0.0, 5.0, (ROWS, 7))
TABLE = np.column_stack([TIME, Q, DQ, EFFORT])
HEADER = [*['t'], *(f'{name}{i}' for name in ('q', 'dq', 'tau') for i in range(1, 8))]
NAMED = ColumnMap('q{}', 'tau{}', 'dq{}', stamp='t')
NUMBERED = ColumnMap('2-8', '16-22', '9-15', stamp='1')
ARRAYS = ColumnMap('q', 'tau', 'dq', stamp='t')
STRUCT = ColumnMap('log.q', 'log.tau', 'log.dq', stamp='log.t')
# Text has 18 digits, so that every number is read back exactly.
TEXT = {'fmt': '%.17e'}


def write_csv(path, delimiter=','):
    np.savetxt(
        path, TABLE, delimiter=delimiter, header=delimiter.join(HEADER), comments='', **TEXT
    )


def write_matlab_rows(path):
    savemat(path, {'log': {'t': TIME[None, :], 'q': Q.T, 'dq': DQ.T, 'tau': EFFORT.T}})


def write_structured(path):
    table = np.zeros(
        ROWS, dtype=[('t', float), ('q', float, 7), ('dq', float, 7), ('tau', float, 7)]
    )
    table['t'], table['q'], table['dq'], table['tau'] = TIME, Q, DQ, EFFORT
    np.save(path, table)


def write_hdf5(path, arrays, effort):
    """Write arrays as h5py's users do, beside a picture and a text."""
    h5py = pytest.importorskip('h5py')
    with h5py.File(path, 'w') as opened:
        opened['camera/picture'] = np.zeros((ROWS, 4, 4, 3), dtype=np.uint8)
        opened['instruction'] = 'lift the cup'
        for name, array in {**arrays, 'tau': effort}.items():
            opened[name] = array


def write_parquet(path):
    """Write numbers and lists, as pyarrow and pandas do."""
    pyarrow = pytest.importorskip('pyarrow', reason='pyarrow is not installed')
    from pyarrow import parquet

    lists = {'q': list(Q), 'dq': list(DQ), 'tau': list(EFFORT)}
    parquet.write_table(pyarrow.table({'t': TIME, **lists}), path)


def edited(edit):
    """Return a function that writes a CSV file and edits its text."""

    def write(path):
        write_csv(path)
        path.write_text(edit(path.read_text()))

    return write


def quoted(text):
    head, rest = text.split('\n', 1)
    return ','.join(f'"{name}, raw"' for name in head.split(',')) + '\n' + rest


FORMS = {
    'comma.csv': (write_csv, NAMED),
    'semicolon.csv': (lambda path: write_csv(path, ';'), NAMED),
    'tabs.tsv': (lambda path: write_csv(path, '\t'), NAMED),
    'blanks.txt': (lambda path: np.savetxt(path, TABLE, header=' '.join(HEADER), **TEXT), NAMED),
    'bare.dat': (lambda path: np.savetxt(path, TABLE, **TEXT), NUMBERED),
    'matrix.npy': (lambda path: np.save(path, TABLE), NUMBERED),
    'structured.npy': (write_structured, ARRAYS),
    'arrays.npz': (lambda path: np.savez(path, t=TIME, q=Q, dq=DQ, tau=EFFORT, name='x'), ARRAYS),
    'objects.npz': (
        lambda path: np.savez(path, t=TIME, q=Q, dq=DQ, tau=EFFORT, notes={'arm': 'x'}),
        ARRAYS,
    ),
    'columns.npz': (lambda path: np.savez(path, **dict(zip(HEADER, TABLE.T))), NAMED),
    'variables.mat': (
        lambda path: savemat(path, {'t': TIME, 'q': Q, 'dq': DQ, 'tau': EFFORT}),
        ARRAYS,
    ),
    'struct.mat': (write_matlab_rows, STRUCT),
    'arrays.h5': (lambda path: write_hdf5(path, {'t': TIME, 'q': Q, 'dq': DQ}, EFFORT), ARRAYS),
    'lists.parquet': (write_parquet, ARRAYS),
    'comments_above.csv': (edited(lambda text: f'# by hand; twice\n% another\n\n{text}'), NAMED),
    'comment_among.csv': (edited(lambda text: text.replace('\n', '\n# open, closed\n', 5)), NAMED),
    'quoted.csv': (edited(quoted), NUMBERED),
    'wider.npz': (
        lambda path: np.savez(path, t=TIME, q=np.column_stack([Q, TIME]), dq=DQ, tau=EFFORT),
        ColumnMap('q[1-7]', 'tau', 'dq', stamp='t'),
    ),
}


@pytest.mark.parametrize('form', FORMS)
def test_every_form_gives_the_same_recording(form, tmp_path):
    write, columns = FORMS[form]
    write(tmp_path / form)
    recording = import_log(tmp_path / form, columns, NAMES)
    np.testing.assert_array_equal(recording.q, Q)
    np.testing.assert_array_equal(recording.dq, DQ)
    np.testing.assert_array_equal(recording.effort, EFFORT)
    np.testing.assert_allclose(recording.stamp_ns, 1e9 * TIME, rtol=0.0, atol=0.5)
    assert recording.joint_names == NAMES


def test_parquet_without_a_library_says_what_to_install(tmp_path, monkeypatch):
    for module in ('pyarrow', 'pyarrow.parquet', 'pandas'):
        monkeypatch.setitem(__import__('sys').modules, module, None)
    path = tmp_path / 'log.parquet'
    path.write_bytes(b'PAR1')
    with pytest.raises(MissingDependencyError, match='takes pyarrow: pip install'):
        read_log(path)


@pytest.mark.parametrize(
    ('unit', 'per_rad'), [('deg/s', 180.0 / np.pi), ('rpm', 60.0 / (2.0 * np.pi))]
)
def test_units_become_si(unit, per_rad, tmp_path):
    constants = np.array([1.2, -3.0, 2.0, 0.5, 0.1, 0.2, 0.3])
    np.savez(
        tmp_path / 'log.npz',
        t=1e6 * TIME,
        q=np.degrees(Q),
        dq=per_rad * DQ,
        i=1e3 * EFFORT / constants,
    )
    recording = import_log(
        tmp_path / 'log.npz',
        ColumnMap(
            'q',
            'i',
            'dq',
            stamp='t',
            position_unit='deg',
            velocity_unit=unit,
            stamp_unit='us',
            effort_scale=tuple(1e-3 * constants),
        ),
        NAMES,
    )
    np.testing.assert_allclose(recording.q, Q, rtol=1e-14)
    np.testing.assert_allclose(recording.dq, DQ, rtol=1e-14)
    np.testing.assert_allclose(recording.effort, EFFORT, rtol=1e-14)
    np.testing.assert_allclose(recording.stamp_ns, 1e9 * TIME, rtol=0.0, atol=2.0)


@pytest.mark.parametrize(('unit', 'said'), [(1.0, 0), (1e3, 1)])
def test_stamps_that_seem_to_be_milliseconds_are_told(unit, said):
    found = recording_from_arrays(Q, DQ, EFFORT, stamp=unit * TIME, joint_names=NAMES)
    assert sum('--stamp-unit ms' in remark for remark in found.remarks) == said


def test_without_velocity_it_is_derived_and_said_so():
    recording = recording_from_arrays(Q, None, EFFORT, joint_names=NAMES, rate=250.0)
    assert 'derived from position' in recording.remarks[0]
    # Central differences over 4 ms of a sine of 3 rad/s err by (3 * 0.004)^2 / 6 of its rate.
    np.testing.assert_allclose(recording.dq[1:-1], DQ[1:-1], rtol=0.0, atol=1.5 * 2.4e-5 + 1e-9)


def lines(*rows):
    return '\n'.join(['t,' + ','.join(HEADER[1:]), *rows, ''])


GOOD = ','.join(['0.0'] * 22)
TWO = lines(GOOD, GOOD)


@pytest.mark.parametrize(
    ('content', 'columns', 'sentence'),
    [
        (lines(GOOD, GOOD.replace('0.0', 'x', 1)), NAMED, "row 2, column 1: 'x' is not"),
        (lines(GOOD, '1,2,3'), NAMED, 'row 2: it has 3 columns where the first line has 22'),
        (TWO.replace(',', ';').replace('0.0', '0,0'), NAMED, 'a decimal comma must be a point'),
        ('', NAMED, 'a.csv is empty'),
        (lines(), NAMED, 'a.csv holds no rows of numbers'),
        ('q,q\n1,2\n', NAMED, "names the column 'q' more than once"),
        (TWO, NAMED, 'row 2: the stamp 0.000000000 s does not come'),
        (lines(GOOD, GOOD.replace('0.0', 'nan')), NAMED, 'row 2: the stamp is nan'),
        (lines(GOOD, '1.0' + 21 * ',nan'), NAMED, 'row 2: position of fer_joint1 is nan'),
        (
            TWO,
            ColumnMap('joint{}', 'tau{}', 'dq{}', stamp='t'),
            "has no column 'joint1' for position; it has t, q1, q2",
        ),
        (
            lines(GOOD).partition('\n')[2],
            NAMED,
            '22 columns without names: give their numbers, such as --position 2-8',
        ),
        (
            TWO,
            ColumnMap('2-7', '16-22', '9-15', stamp='1'),
            "position '2-7' names 6 columns, but 7 are needed",
        ),
        (
            TWO,
            ColumnMap('2-8', '17-23', '9-15', stamp='1'),
            'has 22 columns, so there is no column 23 for effort',
        ),
        (b'\xff\xfe\x00', NAMED, 'is not text in UTF-8'),
    ],
)
def test_bad_tables_get_one_sentence(content, columns, sentence, tmp_path):
    assert_refused(tmp_path / 'a.csv', content, columns, sentence)


@pytest.mark.parametrize(
    ('name', 'content', 'sentence'),
    [
        ('a.npy', b'nonsense', 'a.npy cannot be read as numpy arrays'),
        ('a.npz', b'nonsense', '(ValueError: its first bytes are not'),
        ('a.mat', b'nonsense' * 40, 'a.mat cannot be read as a MATLAB file'),
        ('a.xlsx', b'', "end in '.xlsx' cannot be imported; export .csv"),
    ],
)
def test_bad_files_get_one_sentence(name, content, sentence, tmp_path):
    assert_refused(tmp_path / name, content, ARRAYS, sentence)


def test_columns_of_different_lengths_are_refused(tmp_path):
    np.savez(tmp_path / 'a.npz', **{f'q{k}': np.zeros(2 + k // 7) for k in range(1, 8)})
    with pytest.raises(RecordingError, match=r"position 'q{}' names columns of 2 and 3 rows"):
        read_log(tmp_path / 'a.npz').choose('q{}', 7, 'position')


def assert_refused(path, content, columns, sentence):
    """Write a file, and require one sentence when it is imported."""
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(RecordingError) as caught:
        import_log(path, columns, NAMES)
    assert sentence in str(caught.value)
    assert len(str(caught.value)) < 500 and '\n' not in str(caught.value)


@pytest.mark.parametrize(
    ('given', 'sentence'),
    [
        ({'stamp': 't', 'position_unit': 'furlong'}, "position is 'furlong'; known are rad, deg"),
        ({'stamp': 't', 'rate': 100.0}, 'either the stamp column or the rate'),
        ({}, 'either the stamp column or the rate'),
    ],
)
def test_columns_without_sense_are_refused(given, sentence):
    with pytest.raises(RecordingError, match=sentence):
        ColumnMap('q', 'tau', **given)


@pytest.mark.parametrize(
    ('change', 'sentence'),
    [
        ({'stamp': 1e9 * TIME + 1.7e18}, 'its unit is probably ms, us or ns'),
        ({'stamp': TIME[:-1]}, r'stamp has shape \(49,\), expected \(50,\)'),
        ({'q': Q[:, :6]}, r'position has shape \(50, 6\), expected \(rows, 7\)'),
        ({'dq': DQ[:-1]}, r'velocity has shape \(49, 7\), but position has \(50, 7\)'),
        ({'rate': 100.0}, 'give either the stamp column or the rate'),
        ({'stamp': None, 'rate': 0.0}, 'the rate is 0.0 Hz; it must be positive'),
    ],
)
def test_arrays_that_disagree_get_one_sentence(change, sentence):
    given = {'q': Q, 'dq': DQ, 'effort': EFFORT, 'joint_names': NAMES, 'stamp': TIME, **change}
    with pytest.raises(RecordingError, match=sentence):
        recording_from_arrays(**given)


def test_a_last_row_that_breaks_off_is_left_out_and_said(tmp_path):
    path = tmp_path / 'stopped.csv'
    write_csv(path)
    path.write_text(path.read_text().rstrip()[:-120])
    recording = import_log(path, NAMED, NAMES)
    assert len(recording) == ROWS - 1
    assert recording.remarks == (f'the last row, number {ROWS}, breaks off and was left out',)
    np.testing.assert_array_equal(recording.effort, EFFORT[:-1])
