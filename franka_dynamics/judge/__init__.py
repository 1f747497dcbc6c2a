# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Whether recordings are sound.

    verdict            the steps of the judgement, and what it says
    findings           what is looked for in a recording's samples, before they are forgotten
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
"""
