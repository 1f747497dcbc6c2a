/* Copyright 2026 The franka_dynamics authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fer_dynamics.h"
void run(int count, const double *x, const double *q, const double *dq, const double *ddq,
         double *tau)
{
  fer_inverse_dynamics_parameters parameters;
  fer_prepare_inverse_dynamics(x, &parameters);
  for (int i = 0; i < count; ++i)
    fer_inverse_dynamics(q + 7*i, dq + 7*i, ddq + 7*i, &parameters, tau + 7*i);
}
