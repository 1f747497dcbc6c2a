# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The simulated arm vibrates as a real one does, band by band."""

import numpy as np

WITHIN = 2.0  # the fit of one arm's gears; measured 0.60 to 1.58


def test_the_elastic_arms_torque_has_the_real_ones_spectrum(benchmark, fer_1khz_recording_path):
    q, real = benchmark.recorded(fer_1khz_recording_path.parent)
    assert len(q) > 20_000
    shown = slice(benchmark.BANDS.index((8, 15)), benchmark.BANDS.index((100, 200)) + 1)
    ratio, rigid = (
        benchmark.band_rms(benchmark.simulated(q, elastic=elastic))[shown, :6]
        / benchmark.band_rms(real)[shown, :6]
        for elastic in (True, False)
    )
    assert (ratio < WITHIN).all() and (ratio > 1.0 / WITHIN).all()
    assert np.median(rigid) < 0.25  # what a rigid simulator has of it


def test_a_tone_of_known_size_is_measured_in_its_band(benchmark):
    time = 1e-3 * np.arange(20_000)
    effort = np.sqrt(2.0) * 0.4 * np.sin(2.0 * np.pi * 30.0 * time)[:, None] * np.ones(7)
    rms = benchmark.band_rms(effort)
    at = benchmark.BANDS.index((25, 40))
    np.testing.assert_allclose(rms[at], 0.4, rtol=1e-3)
    assert np.delete(rms, at, axis=0).max() < 1e-2
