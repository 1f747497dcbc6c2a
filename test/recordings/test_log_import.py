# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Logs in every supported format, written by the libraries that users write them with."""

from dataclasses import replace
from functools import partial
import json
import sys

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.errors import MissingDependencyError, RecordingError
from franka_dynamics.recordings.log_file import read_log
from franka_dynamics.recordings.log_import import (
    ColumnMap,
    import_log,
    recording_from_arrays,
)
from franka_dynamics.recordings.recording import effort_scales
from franka_dynamics.spatial import JointKind

from ..agreement import refuses

NAMES = load('fer').joint_names
ROWS = 50
TIME = 0.004 * np.arange(ROWS) + 12.5
Q = 0.5 * np.sin(3.0 * TIME[:, None] + np.arange(7))
DQ = 1.5 * np.cos(3.0 * TIME[:, None] + np.arange(7))
EFFORT = np.random.default_rng(0).normal(0.0, 5.0, (ROWS, 7))
TABLE = np.column_stack([TIME, Q, DQ, EFFORT])
DATA = {'t': TIME, 'q': Q, 'dq': DQ, 'tau': EFFORT}
HEADER_STAMP = [
    't',
    *(f'{name}{i}' for name in ('q', 'dq', 'tau') for i in range(1, 8)),
]
NAMED = ColumnMap('q{}', 'tau{}', 'dq{}', stamp='t')
NUMBERED = ColumnMap('2-8', '16-22', '9-15', stamp='1')
ARRAYS = ColumnMap('q', 'tau', 'dq', stamp='t')


def text(delimiter=',', edit=str, header=HEADER_STAMP, comments=''):
    """Return a function that writes the table as text, with all 18 digits, and edits the text."""

    def write(path):
        head = {'header': delimiter.join(header), 'comments': comments}
        np.savetxt(path, TABLE, delimiter=delimiter, fmt='%.17e', **head)
        path.write_text(edit(path.read_text()))

    return write


def commented(written):
    return '# by hand; twice\n% another\n\n' + written.replace('\n', '\n# open, closed\n', 5)


def quoted(written, note='; raw, 1', between=','):
    head, rest = written.split('\n', 1)
    return between.join(f'"{name}{note}"' for name in head.split(',')) + '\n' + rest


def write_structured(path):
    table = np.zeros(ROWS, [('t', float), *((name, float, 7) for name in ('q', 'dq', 'tau'))])
    for name, values in DATA.items():
        table[name] = values
    np.save(path, table)


def write_hdf5(path):
    """Write arrays as h5py's users do, beside a picture and a text."""
    with pytest.importorskip('h5py').File(path, 'w') as opened:
        opened['camera/picture'] = np.zeros((ROWS, 4, 4, 3), dtype=np.uint8)
        opened['instruction'] = 'lift the cup'
        for name, array in DATA.items():
            opened[name] = array


def write_parquet(path):
    """Write numbers and lists, as pyarrow and pandas do."""
    pyarrow = pytest.importorskip('pyarrow', reason='pyarrow is not installed')
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({name: list(array) for name, array in DATA.items()}), path)


def write_dates(path):
    """Write the time as dates with a time zone, as loggers of other programs do."""
    pandas = pytest.importorskip('pandas')
    pytest.importorskip('pyarrow', reason='pyarrow is not installed')
    dates = pandas.to_datetime(np.round(1e9 * TIME).astype('int64'), utc=True)
    rest = {name: list(array) for name, array in DATA.items() if name != 't'}
    pandas.DataFrame({'t': dates, **rest}).to_parquet(path)


def frame(**columns):
    return pytest.importorskip('pandas').DataFrame(columns)


def write_matlab(path):
    pytest.importorskip('scipy.io').savemat(path, {'t': TIME, 'log': {**DATA, 'name': 'x'}})


def write_matlab_73(path):
    """Write HDF5 as MATLAB does: a header of 512 bytes, axes in reverse order."""
    with pytest.importorskip('h5py').File(path, 'w', userblock_size=512) as opened:
        for name, array in DATA.items():
            opened[f'log/{name}'] = np.atleast_2d(array.T)
    with path.open('r+b') as file:
        file.write(b'MATLAB 7.3 MAT-file'.ljust(124) + b'\x00\x02IM')


def write_iso_dates(path):
    dates = pytest.importorskip('pandas').to_datetime(np.round(1e9 * TIME).astype('int64'))
    table = frame(t=dates.astype(str), **dict(zip(HEADER_STAMP[1:], TABLE.T[1:])))
    table.to_csv(path, index=False)


def write_lists(path):
    lists = {k: [str(one) for one in DATA[k].tolist()] for k in ('q', 'dq', 'tau')}
    frame(t=TIME, **lists).to_csv(path, index=False)


def write_two_stamps(path):
    ns = np.round(1e9 * TIME).astype('int64')
    rest = dict(zip(HEADER_STAMP[1:], TABLE.T[1:]))
    frame(sec=ns // 10**9, nanosec=ns % 10**9, **rest).to_csv(path, index=False)


def write_merged(path):
    """Write rows of another topic, which have a stamp only, in between."""
    states = frame(**dict(zip(HEADER_STAMP, TABLE.T)))
    both = pytest.importorskip('pandas').concat([states, frame(t=TIME[:-1] + 0.002, mode=2.0)])
    both.sort_values('t').to_csv(path, index=False)


def write_episodes(path):
    """Write two episodes as LeRobot does; the second is the recording."""
    pytest.importorskip('pyarrow', reason='pyarrow is not installed')
    arrays = {k: list(np.concatenate([0.0 * DATA[k], DATA[k]])) for k in ('q', 'dq', 'tau')}
    stamps = np.concatenate([TIME, TIME])
    frame(t=stamps, episode_index=np.repeat([0, 1], ROWS), **arrays).to_parquet(path)


def write_anew(path):
    np.savez(path, **{k: np.concatenate([one[:-1], one]) for k, one in DATA.items()})


def as_records():
    return [
        dict(zip(DATA, (one.tolist() for one in row), strict=True)) for row in zip(*DATA.values())
    ]


def write_records(path):
    """Write a list of objects, with a text and a field of an object beside the numbers."""
    rows = [{'state': row, 'note': 'x', 'grasp': {'width': 0.1}} for row in as_records()]
    path.write_text(json.dumps(rows))


NESTED = ColumnMap('state/q', 'state/tau', 'state/dq', stamp='state/t')


def write_groups(path):
    with pytest.importorskip('h5py').File(path, 'w') as opened:
        for number in (0, 1):
            for name, array in DATA.items():
                opened[f'data/demo_{number}/{name}'] = number * array


FORMS = {
    'struct.mat': (
        write_matlab,
        ColumnMap('log.q', 'log.tau', 'log.dq', stamp='log.t'),
    ),
    'hdf5.mat': (
        write_matlab_73,
        ColumnMap('log.q', 'log.tau', 'log.dq', stamp='log.t'),
    ),
    'iso.csv': (write_iso_dates, NAMED),
    'lists.csv': (write_lists, ARRAYS),
    'two_stamps.csv': (write_two_stamps, replace(NAMED, stamp='sec,nanosec')),
    'merged.csv': (write_merged, replace(NAMED, skip_incomplete=True)),
    'episodes.parquet': (write_episodes, replace(ARRAYS, episode=1)),
    'anew.npz': (write_anew, replace(ARRAYS, episode=1)),
    'groups.h5': (write_groups, replace(ARRAYS, episode=1)),
    'commented.csv': (text(edit=commented), NAMED),
    'quoted.csv': (text(edit=quoted), NUMBERED),
    'spaced.csv': (text(edit=partial(quoted, note='', between=', ')), NAMED),
    'semicolon.csv': (text(';'), NAMED),
    'trailing.csv': (
        text(edit=lambda one: one.strip().replace('\n', ',\n') + ','),
        NAMED,
    ),
    'tabs.tsv': (text('\t'), NAMED),
    'blanks.txt': (text(' ', comments='# '), NAMED),
    'bare.dat': (text(' ', header=()), NUMBERED),
    'matrix.npy': (lambda path: np.save(path, TABLE), NUMBERED),
    'structured.npy': (write_structured, ARRAYS),
    'objects.npz': (
        lambda path: np.savez(path, **DATA, name='x', notes={'arm': 'x'}),
        ARRAYS,
    ),
    'wider.npz': (
        lambda path: np.savez(path, **{**DATA, 'q': np.column_stack([Q, TIME])}),
        replace(ARRAYS, position='q[1-7]'),
    ),
    'columns.npz': (
        lambda path: np.savez(path, **dict(zip(HEADER_STAMP, TABLE.T))),
        NAMED,
    ),
    'rows.npz': (
        lambda path: np.savez(path, **{k: one.T for k, one in DATA.items()}),
        ARRAYS,
    ),
    'arrays.h5': (write_hdf5, ARRAYS),
    'records.json': (write_records, NESTED),
    'episode.json': (lambda path: path.write_text(json.dumps({'data': as_records()})), ARRAYS),
    'columns.json': (
        lambda path: path.write_text(json.dumps({k: one.tolist() for k, one in DATA.items()})),
        ARRAYS,
    ),
    'records.jsonl': (
        lambda path: path.write_text('\n'.join(map(json.dumps, as_records()))),
        ARRAYS,
    ),
    'lists.parquet': (write_parquet, ARRAYS),
    'dates.parquet': (write_dates, ARRAYS),
}


@pytest.mark.parametrize('form', FORMS)
def test_every_form_gives_the_same_recording(form, tmp_path):
    write, columns = FORMS[form]
    write(tmp_path / form)
    recording = import_log(tmp_path / form, columns, NAMES)
    # pandas before 3.1 reads decimals with an error in the last digit.
    found = [recording.q, recording.dq, recording.effort]
    np.testing.assert_allclose(found, [Q, DQ, EFFORT], rtol=1e-14)
    np.testing.assert_allclose(recording.stamp_ns, 1e9 * TIME, rtol=0.0, atol=0.5)
    assert recording.joint_names == NAMES


def test_parquet_without_a_library_says_what_to_install(tmp_path, monkeypatch):
    for module in ('pyarrow', 'pyarrow.parquet', 'pandas'):
        monkeypatch.setitem(sys.modules, module, None)
    path = tmp_path / 'log.parquet'
    path.write_bytes(b'PAR1')
    with refuses(MissingDependencyError, 'pyarrow', 'pip install'):
        read_log(path)


@pytest.mark.parametrize('written', ['nan', '-nan', '-NaN(ind)', 'nan(0x8000)'])
def test_a_nan_as_c_prints_it_matters_only_where_it_is_read(written, tmp_path):
    path = tmp_path / 'log.csv'
    path.write_text(f't,q1,tau1,other\n0,0.1,1,{written}\n0.1,0.2,{written},3\n')
    table = read_log(path).columns
    np.testing.assert_array_equal(table['other'], [np.nan, 3.0])
    with refuses(RecordingError, 'row 2', 'effort of j', 'nan'):
        import_log(path, ColumnMap('q{}', 'tau{}', 'derived', stamp='t'), ['j'])


@pytest.mark.parametrize(('unit', 'per_rad'), [('deg/s', 180.0 / np.pi), ('rpm', 30.0 / np.pi)])
def test_units_become_si(unit, per_rad, tmp_path):
    constants = np.array([1.2, -3.0, 2.0, 0.5, 0.1, 0.2, 0.3])
    arrays = {'t': 1e6 * TIME, 'q': np.degrees(Q), 'dq': per_rad * DQ}
    np.savez(tmp_path / 'log.npz', **arrays, tau=1e3 * EFFORT / constants)
    units = {'position_unit': 'deg', 'velocity_unit': unit, 'stamp_unit': 'us'}
    columns = replace(ARRAYS, **units, effort_scale=tuple(1e-3 * constants))
    found = import_log(tmp_path / 'log.npz', columns, NAMES)
    np.testing.assert_allclose([found.q, found.dq, found.effort], [Q, DQ, EFFORT], rtol=1e-14)
    np.testing.assert_allclose(found.stamp_ns, 1e9 * TIME, rtol=0.0, atol=2.0)


@pytest.mark.parametrize(('unit', 'said'), [(1.0, 0), (1e3, 1)])
def test_stamps_that_seem_to_be_milliseconds_are_told(unit, said):
    found = recording_from_arrays(Q, DQ, EFFORT, stamp=unit * TIME, joint_names=NAMES)
    assert sum('--stamp-unit ms' in remark for remark in found.remarks) == said


def test_without_velocity_it_is_derived_and_said_so():
    recording = recording_from_arrays(Q, None, EFFORT, joint_names=NAMES, rate=250.0)
    assert 'derived' in recording.remarks[0]
    # Central differences over 4 ms of a sine of 3 rad/s err by (3 * 0.004)^2 / 6 of its rate.
    np.testing.assert_allclose(recording.dq[1:-1], DQ[1:-1], rtol=0.0, atol=1.5 * 2.4e-5 + 1e-9)


def lines(*rows):
    return '\n'.join([','.join(HEADER_STAMP), *rows, ''])


GOOD = ','.join(['0.0'] * 22)
TWO = lines(GOOD, GOOD)
MATRIX = {'q1': np.zeros((3, 7)), 'q2': np.zeros((3, 1))}


@pytest.mark.parametrize(
    ('suffix', 'content', 'columns', 'names'),
    [
        ('csv', lines(GOOD, f'x{GOOD[3:]}'), NAMED, ('row 2', 'column 1', "'x'")),
        (
            'csv',
            lines(GOOD, '1,2'),
            NAMED,
            ('row 2', 'fer_joint2', '--skip-incomplete'),
        ),
        ('csv', TWO.replace(',', ';').replace('.', ','), NAMED, ('decimal comma',)),
        ('csv', lines(), NAMED, ('no rows',)),
        ('csv', 'q,q\n1,2\n', NAMED, ("'q' twice",)),
        ('csv', TWO, NAMED, ('row 2', 'stamp 0.0')),
        (
            'csv',
            lines(GOOD, GOOD.replace('0.0', 'nan')),
            NAMED,
            ('row 2', 'stamp is nan'),
        ),
        (
            'csv',
            lines(GOOD, f'1{21 * ",nan"}'),
            NAMED,
            ('row 2', 'position of fer_joint1'),
        ),
        ('csv', lines(*['0.0' + GOOD[3:]] * 8), NAMED, ('row 2', 'of 7', 'row 8')),
        ('npz', {'q0': TIME, 'q7': TIME}, replace(NAMED, position='q{}'), ("'q{0}'",)),
        (
            'csv',
            TWO,
            replace(NAMED, position='p{}'),
            ("'p1' for position", 't, q1, q2'),
        ),
        ('csv', f'{GOOD}\n', NAMED, ('22 columns without names', '--position 2-8')),
        ('csv', TWO, replace(NUMBERED, position='2-7'), ("'2-7'", '6 columns')),
        ('csv', TWO, replace(NUMBERED, effort='17-23'), ("'23' for effort",)),
        ('csv', b'\xff\xfe\x00', NAMED, ('as csv', 'UnicodeDecodeError')),
        ('npy', b'nonsense', ARRAYS, ('as npy',)),
        ('npz', MATRIX, replace(NAMED, position='q1,q2'), ("'q1,q2'", '8 columns')),
        (
            'npz',
            {'q': TIME, 'p': Q[1:, :6]},
            replace(NAMED, position='q,p'),
            ('49 and 50 rows',),
        ),
        ('csv', TWO, replace(NAMED, stamp=None), ('stamp', 'rate')),
        ('csv', TWO, replace(NUMBERED, position='²-³'), ("'²-³' for position",)),
        (
            'npz',
            {'q': Q},
            replace(ARRAYS, position='q[0-7]'),
            ("'q[0-7]' for position",),
        ),
        ('xlsx', b'', ARRAYS, ("'.xlsx'", '.csv')),
        ('json', b'[1, 2]', ARRAYS, ('no records', 'a list of objects')),
        ('json', b'[{"q": [1', ARRAYS, ('as json', 'JSONDecodeError')),
    ],
)
def test_a_bad_file_is_refused_naming_place_and_value(suffix, content, columns, names, tmp_path):
    path = tmp_path / f'a.{suffix}'
    if isinstance(content, dict):
        np.savez(path, **content)
    else:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with refuses(RecordingError, path, *names):
        import_log(path, columns, NAMES)


NO_NUMBERS = ('text', [[1.0, 2.0], [3.0]], {'a': 1.0}, [1j] * 7)
SCALES = partial(effort_scales, n=7)
MEASURED = {'q': Q, 'dq': DQ, 'effort': EFFORT}
RECORDING = partial(recording_from_arrays, **MEASURED, joint_names=NAMES, stamp=TIME)
# A logger tore the second row, so that another value is in the place of the stamp.
TORN = np.where(np.arange(ROWS) == 1, -0.1231, TIME)


@pytest.mark.parametrize(
    ('make', 'given', 'names'),
    [
        (ColumnMap, {'position_unit': 'ft'}, ("'ft'", 'rad, deg')),
        (RECORDING, {'stamp': 1e9 * TIME + 1.7e18}, ('unit',)),
        (RECORDING, {'stamp': TIME + 3.85e9}, ('1970',)),  # from 1904 on
        (RECORDING, {'stamp': TIME - TIME[-1]}, ('row 1', 'subtract the first')),
        (RECORDING, {'stamp': TORN}, ('row 2', '1 of 50', 'delete', '--log-rate')),
        (RECORDING, {'stamp': TIME[:-1]}, ('stamp', '(49,)', '(50,)')),
        (RECORDING, {'dq': None, 'stamp': 0.0 * TIME}, ('row 2', 'stamp 0.0')),
        (RECORDING, {'q': Q[:, :6]}, ('position', '(50, 6)', '(rows, 7)')),
        (RECORDING, {'q': Q[:0], 'stamp': TIME[:0]}, ('position', '(0, 7)')),
        (RECORDING, {'dq': DQ[:-1]}, ('velocity', '(49, 7)', '(50, 7)')),
        (RECORDING, {'rate': 9.0}, ('stamp', 'rate')),
        (RECORDING, {'stamp': None, 'rate': 0.0}, ('rate is 0.0',)),
        (RECORDING, {'q': 1.0}, ('position', '()', '(rows, 7)')),
        (RECORDING, {'joint_names': ()}, ('position', '(rows, 0)')),
        *((RECORDING, {'q': given}, ('position',)) for given in NO_NUMBERS),
        *((RECORDING, {'dq': given}, ('velocity',)) for given in (1.0, *NO_NUMBERS)),
        *((RECORDING, {'effort': given}, ('effort',)) for given in (1.0, *NO_NUMBERS)),
        *((RECORDING, {'stamp': given}, ('stamp',)) for given in (1.0, *NO_NUMBERS)),
        *((SCALES, {'scale': given}, ('effort scale',)) for given in (0.0, *NO_NUMBERS)),
    ],
)
def test_columns_and_arrays_that_disagree_are_refused(make, given, names):
    with refuses(RecordingError, *names):
        make(**given)


def test_a_last_row_that_breaks_off_is_left_out_and_said(tmp_path):
    path = tmp_path / 'stopped.csv'
    text(edit=lambda written: written.rstrip()[:-120])(path)
    recording = import_log(path, NAMED, NAMES)
    (remark,) = recording.remarks
    assert str(ROWS) in remark
    np.testing.assert_allclose(recording.effort, EFFORT[:-1], rtol=1e-14)


@pytest.mark.parametrize(
    ('form', 'names'),
    [
        (
            'merged.csv',
            ('row 2', 'position of fer_joint1', '49 of 99', '--skip-incomplete'),
        ),
        ('episodes.parquet', ('0 to 1', '--episode N')),
        ('anew.npz', ('0 to 1', '--episode N')),
        ('groups.h5', ('0 to 1', '--episode N')),
    ],
)
def test_rows_that_must_be_chosen_are_not_joined_in_silence(form, names, tmp_path):
    write, columns = FORMS[form]
    write(tmp_path / form)
    with refuses(RecordingError, form, *names):
        import_log(
            tmp_path / form,
            replace(columns, episode=None, skip_incomplete=False),
            NAMES,
        )
    if columns.episode is not None:
        with refuses(RecordingError, form, 'no episode 2', *names):
            import_log(tmp_path / form, replace(columns, episode=2), NAMES)


@pytest.mark.parametrize('clock', [{'stamp': 't'}, {'stamp': None, 'rate': 100.0}])
def test_a_log_that_is_not_divided_has_no_episodes_to_choose(tmp_path, clock):
    path = tmp_path / 'whole.npz'
    np.savez(path, **DATA)
    for episode in (0, 1):
        with refuses(RecordingError, f'no episode {episode}', 'leave --episode out'):
            import_log(path, replace(ARRAYS, episode=episode, **clock), NAMES)


@pytest.mark.parametrize('junk', [3, 40])
def test_rows_of_zeros_behind_a_log_are_no_episodes(tmp_path, junk):
    path = tmp_path / 'filled.npz'
    filled = {name: np.concatenate([rows, 0.0 * rows[:junk]]) for name, rows in DATA.items()}
    np.savez(path, **filled)
    with refuses(RecordingError, f'row {ROWS + 1}', 'delete'):
        import_log(path, ARRAYS, NAMES)


@pytest.mark.parametrize(
    ('effort', 'names'),
    [
        ('tau_ext_hat_filtered', ("'ext'", 'measured')),
        ('joint_cmd', ("'cmd'", 'measured')),
        ('tau_J_d', ("'d'",)),
        ('tau_J', ()),
        ('next_effort', ()),
    ],
)
def test_columns_of_external_torques_or_commands_are_asked_about(tmp_path, effort, names):
    path = tmp_path / 'log.npz'
    np.savez(path, **{'t': TIME, 'q': Q, 'dq': DQ, effort: EFFORT})
    remarks = import_log(path, replace(ARRAYS, effort=effort), NAMES).remarks
    assert len(remarks) == bool(names) and all(name in remarks[0] for name in names)


def test_a_log_with_more_joints_than_the_arm_says_so(tmp_path):
    path = tmp_path / 'log.csv'
    text()(path)
    two = import_log(path, NAMED, NAMES[:6])
    assert len(two.remarks) == 3 and '7' in two.remarks[0] and 'gripper' in two.remarks[0]
    assert import_log(path, NAMED, NAMES).remarks == ()


def write_side_by_side(folder, late=0.0):
    """Write a file for each quantity, as loggers with a writer for each topic do."""
    for name, values in (('q', Q), ('dq', DQ)):
        rows = np.column_stack([TIME + late * (name == 'dq'), values])
        header = 't,' + ','.join(f'joint{joint}' for joint in range(1, 8))
        np.savetxt(folder / f'{name}.csv', rows, '%.17e', ',', header=header, comments='')
    np.save(folder / 'tau.npy', EFFORT)
    return [folder / name for name in ('q.csv', 'dq.csv', 'tau.npy')]


SIDE_BY_SIDE = ColumnMap('q/joint{}', 'tau', 'dq/joint{}', stamp='q/t')


def test_files_side_by_side_are_one_recording(tmp_path):
    recording = import_log(write_side_by_side(tmp_path), SIDE_BY_SIDE, NAMES)
    found = [recording.q, recording.dq, recording.effort]
    np.testing.assert_allclose(found, [Q, DQ, EFFORT], rtol=1e-14)
    with refuses(RecordingError, 'q.csv', 'q/t and dq/t differ', 'merge_asof'):
        import_log(write_side_by_side(tmp_path, late=0.002), SIDE_BY_SIDE, NAMES)
    files = write_side_by_side(tmp_path, late=np.where(TIME > 12.6, 0.0, np.nan))
    assert len(import_log(files, replace(SIDE_BY_SIDE, skip_incomplete=True), NAMES)) == 24
    with refuses(RecordingError, 'q.csv, ', 'differently'):
        read_log(tmp_path / 'q.csv', tmp_path / 'q.csv')


def test_files_with_other_numbers_of_rows_are_named_with_them(tmp_path):
    for name, values in (('q', Q), ('tau', EFFORT[:-1])):
        np.savetxt(
            tmp_path / f'{name}.csv',
            values,
            delimiter=',',
            header=','.join(NAMES),
            comments='',
        )
    files = [tmp_path / 'q.csv', tmp_path / 'tau.csv']
    columns = {
        'position': ','.join(f'q/{name}' for name in NAMES),
        'velocity': 'derived',
        'effort': ','.join(f'tau/{name}' for name in NAMES),
    }
    with pytest.raises(RecordingError) as refused:
        import_log(files, ColumnMap(**columns, rate=30.0), NAMES)
    said = f'{refused.value}'
    assert all(one in said for one in ('position 50', 'effort 49')) and '[' not in said


def test_arrays_of_another_shape_are_not_shown():
    with pytest.raises(RecordingError) as refused:
        RECORDING(dq=DQ[:-1])
    assert '(49, 7)' in f'{refused.value}' and '[' not in f'{refused.value}'


def test_a_pickled_dict_is_never_unpickled(tmp_path):
    np.save(tmp_path / 'log.npy', DATA, allow_pickle=True)
    with refuses(RecordingError, 'log.npy', 'np.savez'):
        read_log(tmp_path / 'log.npy')


def test_how_some_columns_of_an_array_are_named_is_said(tmp_path):
    path = tmp_path / 'arrays.npz'
    np.savez(path, **DATA)
    with pytest.raises(RecordingError, match=r'q\[1-7\]'):
        import_log(path, replace(ARRAYS, position='q/1-7'), NAMES)


def test_degrees_are_those_of_joints_that_turn(tmp_path):
    rows = [[0.01 * k, 10.0, 0.3 + 0.01 * k, 60.0, 1.0, 2.0, 3.0] for k in range(5)]
    path = tmp_path / 'log.csv'
    path.write_text('\n'.join(','.join(map(str, row)) for row in rows) + '\n')
    columns = ColumnMap(
        position='2-3',
        velocity='4-5',
        effort='6-7',
        stamp='1',
        position_unit='deg',
        velocity_unit='rpm',
    )
    kinds = (JointKind.REVOLUTE, JointKind.PRISMATIC)
    found = import_log(path, columns, ('turn', 'slide'), joint_kinds=kinds)
    np.testing.assert_allclose(found.q[0], [np.radians(10.0), 0.3], rtol=1e-15, atol=0.0)
    np.testing.assert_allclose(found.dq[0], [2.0 * np.pi, 1.0], rtol=1e-15, atol=0.0)


@pytest.mark.parametrize('kind_count', [0, 6, 8])
def test_kinds_of_more_or_fewer_joints_are_refused(tmp_path, kind_count):
    path = tmp_path / 'log.npz'
    np.savez(path, **DATA)
    kinds = [JointKind.REVOLUTE] * kind_count
    with refuses(RecordingError, 'joint_kinds', f'{kind_count}', '7'):
        import_log(path, ARRAYS, NAMES, joint_kinds=kinds)


def test_a_range_of_columns_that_runs_downwards_is_refused(tmp_path):
    path = tmp_path / 'log.csv'
    path.write_text('1,2,3\n4,5,6\n')
    with refuses(RecordingError, str(path), 'position', '3-2', '2-3'):
        read_log(path).select('3-2', 2, 'position')
