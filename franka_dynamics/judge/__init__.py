# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Judges whether recordings are sound: nothing in them makes the arm identified from them wrong.

In the order of a judgement:

    table             what may be wrong: kinds of faults, how large they must be, their sentences
    columns           the torques that one unit of each fault adds to the efforts
    sums              a recording as sums of products of all columns, of a size that does not grow
    fits              fits with the columns of one fault, and the numbers of a fault
    values            possible sizes of a fault, and its numbers in the user's terms
    decision          which fault recordings have, and what is asked about
    published_masses  ranges of what torques cannot tell, by published masses
    verdict           the verdict, with its causes and questions
    recordings        the verdict on one or several recordings
"""
