# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The sine and cosine of the batches, against the C library's."""

import subprocess
import sys

import numpy as np
import pytest

numba = pytest.importorskip('numba', reason="numba (extra 'batch') is not installed")

from franka_dynamics.batch.simd import sine_cosine  # noqa: E402

ATOL = 2.3e-16  # one unit in the last place of values just below 1


@numba.njit
def both(x):
    """Return the sines and cosines of an array."""
    out = np.empty((2, len(x)))
    for i in range(len(x)):
        out[0, i], out[1, i] = sine_cosine(x[i])
    return out


def test_sine_and_cosine_of_joint_angles_are_the_c_librarys():
    x = np.random.default_rng(0).uniform(-100.0, 100.0, 200_000)
    np.testing.assert_allclose(both(x), [np.sin(x), np.cos(x)], rtol=0.0, atol=ATOL)


def test_no_quadrant_is_mistaken_next_to_quarter_turns():
    x = np.arange(-40, 41) * (np.pi / 4.0)
    x = np.concatenate([x, np.nextafter(x, np.inf), np.nextafter(x, -np.inf)])
    np.testing.assert_allclose(both(x), [np.sin(x), np.cos(x)], rtol=0.0, atol=ATOL)


def test_the_error_grows_slowly_with_many_turns():
    x = np.random.default_rng(1).uniform(-1e5, 1e5, 10_000)
    np.testing.assert_allclose(both(x), [np.sin(x), np.cos(x)], rtol=0.0, atol=1e-15)


def test_the_error_against_more_digits_is_what_the_page_says():
    x = np.random.default_rng(2).uniform(-1e5, 1e5, 200_000)
    exact = x.astype(np.longdouble)  # 64 bits of mantissa or more
    if np.finfo(np.longdouble).eps > 1e-18:
        pytest.skip("this machine's long double has no more digits than a double")
    assert np.abs(both(x) - [np.sin(exact), np.cos(exact)]).max() < 1.6e-16


def test_sine_and_cosine_of_what_is_not_finite_are_nan():
    assert np.isnan(both(np.array([np.nan, np.inf, -np.inf]))).all()


def test_batches_without_numba_name_the_extra_to_install():
    script = (
        "import sys; sys.modules['numba'] = None\n"
        'from franka_dynamics.errors import MissingDependencyError\n'
        'try:\n'
        '    import franka_dynamics.batch.batch_model\n'
        'except MissingDependencyError as error:\n'
        '    print(error)\n'
    )
    done = subprocess.run(
        [sys.executable, '-c', script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "Batches need numba: pip install 'franka_dynamics[batch]'\n"
