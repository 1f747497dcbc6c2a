/* Copyright 2026 The franka_dynamics authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fer_dynamics.h"
#include "fer_dynamics.h" /* the guard holds */
void run(int count, const double *q, const double *dq, const double *ddq, double *tau, double *g,
         double *c, double *m)
{
  for (int i = 0; i < count; ++i) {
    fer_inverse_dynamics(q + 7*i, dq + 7*i, ddq + 7*i, tau + 7*i);
    fer_gravity(q + 7*i, g + 7*i);
    fer_coriolis(q + 7*i, dq + 7*i, c + 7*i);
    fer_mass_matrix(q + 7*i, (double (*)[7])(m + 49*i));
  }
}
