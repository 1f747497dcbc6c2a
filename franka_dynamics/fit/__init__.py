# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The fit of an arm's inertias and friction to sums over recordings.

A recording goes through these files, in this order:

    options            what users choose; `prior_widths` are those of the prior
    sources            bags, recordings and motions, as users give them
    torque_model       the torque, linear in base and friction parameters
    summary            reads and filters recordings, and reduces each to Gram matrices
    least_squares      sums, and fits to them; folds, each left out in turn
    prior              inertias near the starting set's, and friction near zero
    fit                all fits, to all recordings and without each part, and their errors
    consistent_fit     physically consistent parameters, by a semidefinite program
    choice             widths of the prior, by the evidence of the torques
    result_parts       what an identification's results are made of

`payload` fits a load on the flange.
"""
