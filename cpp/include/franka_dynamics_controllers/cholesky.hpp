// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// Solves equations with a symmetric positive definite matrix, such as M(q).
#pragma once

#include <cmath>
#include <cstddef>

#include "franka_dynamics_controllers/dynamics.hpp"

namespace franka_dynamics_controllers
{

/// Replace a symmetric positive definite matrix by its Cholesky factor, in the lower triangle;
/// false if it is not positive definite.
inline bool factorize(Matrix & A, std::size_t n) noexcept
{
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = j; i < n; ++i) {
      double sum = A[i][j];
      for (std::size_t k = 0; k < j; ++k) {
        sum -= A[i][k] * A[j][k];
      }
      if (i == j && !(sum > 0.0)) {
        return false;
      }
      A[i][j] = i == j ? std::sqrt(sum) : sum / A[j][j];
    }
  }
  return true;
}

/// Solve A x = b, where `factor` is the Cholesky factor of A; b becomes x.
inline void solve(const Matrix & factor, std::size_t n, Vector & b) noexcept
{
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      b[i] -= factor[i][k] * b[k];
    }
    b[i] /= factor[i][i];
  }
  for (std::size_t i = n; i-- > 0; ) {
    for (std::size_t k = i + 1; k < n; ++k) {
      b[i] -= factor[k][i] * b[k];
    }
    b[i] /= factor[i][i];
  }
}

}  // namespace franka_dynamics_controllers
