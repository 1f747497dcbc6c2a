# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Identifies an arm's inertias and friction from recorded motion.

A recording goes through these files, in this order:

    identify           all stages, in the order of the others; `options` has what users choose
    torque_model       the torque, linear in base and friction parameters
    base_parameters    the base parameters, by a QR decomposition
    sources            bags, recordings and motions, as users give them
    summary            reads and filters recordings, and reduces each to Gram matrices
    least_squares      fits to Gram matrices; folds, each left out in turn
    prior              inertias near the starting set's, and friction near zero
    fit                all fits, to all recordings and without each part, and their errors
    consistent_fit     physically consistent parameters, by a semidefinite program
    load_friction      whether friction grows with the load
    results            the identified arm, and its file; `result_parts`, `identification_record`
                       and `arm_text` are what it is made of
    torque_deviation   what the external torque of that arm deviates by

Whether recordings are sound:

    verdict            the steps of the judgement, and what it says
    fault_verdict      which fault is named by what faults explain in fits
    state_verdict      whether that is a fault of states
    causes             the checks, in their order
    questions          what users are asked about sound recordings
    fault_fits         fits with each fault's regressor columns: its size, and how sure it is
    cross_validation   fits with and without a fault's columns, judged on left-out folds
    reduced_equations  many such fits at the cost of one
    fault_effect       what a fault does to the arm that is identified
    faults             the kinds of faults: columns, sizes and sentences
    corrected_states   faults of states, each corrected on trial
    published_masses   factors and loads that published masses allow
    changes            after what time a recording is that of another arm
    change_fits        fits to parts of a recording, between which something changes
    contacts           seconds in which something touched the arm
    replay_evaluation  the same verdict without an identification, and errors of several sets

Beside them:

    excitation, excitation_problem      a motion to record
    payload, rest_poses                 a load on the flange, and poses that tell it
    tracking, law_tracking, laws        how well an arm follows with what was identified
    receiver_offset, friction_export    friction for a robot that adds its own g(q), and elsewhere
    direct_method, relations,           base parameters by another method, as sums and in symbols
      symbolic_parameters
"""
