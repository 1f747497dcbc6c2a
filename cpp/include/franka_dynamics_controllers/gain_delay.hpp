// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// The delay of torques with which gains are still stable.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "franka_dynamics_controllers/cholesky.hpp"
#include "franka_dynamics_controllers/reasons.hpp"
#include "franka_dynamics_controllers/terms.hpp"

namespace franka_dynamics_controllers
{

/// The largest eigenvalue of a symmetric matrix, by cyclic Jacobi rotations (Golub, Van Loan 2013,
/// section 8.5); `A` is changed.
inline double largest_eigenvalue(Matrix & A, std::size_t n) noexcept
{
  constexpr int kMaxSweeps = 30;  // it converges quadratically, within some ten
  for (int sweep = 0; sweep < kMaxSweeps; ++sweep) {
    double off_diagonal = 0.0;
    double diagonal = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
      diagonal = std::max(diagonal, std::abs(A[i][i]));
      for (std::size_t j = 0; j < i; ++j) {
        off_diagonal = std::max(off_diagonal, std::abs(A[i][j]));
      }
    }
    if (off_diagonal <= 1e-15 * diagonal) {
      break;
    }
    for (std::size_t p = 0; p + 1 < n; ++p) {
      for (std::size_t q = p + 1; q < n; ++q) {
        if (A[p][q] == 0.0) {
          continue;
        }
        const double theta = (A[q][q] - A[p][p]) / (2.0 * A[p][q]);
        const double t = (theta >= 0.0 ? 1.0 : -1.0) / (std::abs(theta) + std::hypot(theta, 1.0));
        const double c = 1.0 / std::hypot(t, 1.0);
        const double s = t * c;
        for (std::size_t k = 0; k < n; ++k) {
          const double first = A[k][p];
          A[k][p] = c * first - s * A[k][q];
          A[k][q] = s * first + c * A[k][q];
        }
        for (std::size_t k = 0; k < n; ++k) {
          const double first = A[p][k];
          A[p][k] = c * first - s * A[q][k];
          A[q][k] = s * first + c * A[q][k];
        }
      }
    }
  }
  double largest = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    largest = std::max(largest, A[i][i]);
  }
  return largest;
}

/// Knows which delay of torques gains bear at the arm's home, as ControlLaw of
/// franka_dynamics/control/control_law.py does.
class GainDelay
{
public:
  /// `is_exact`: joints have no other rotor inertia and friction than the arm says.
  void configure(
    const Arm & arm, const TermModel & terms, const Settings & settings, bool is_exact) noexcept
  {
    const std::size_t n = arm.n();
    kp_ = settings.kp;
    kd_ = settings.kd;
    const bool has_friction = !is_exact || arm.friction.kind != FrictionModel::Kind::none;
    const double own_damping = has_friction ? kAssumedFrictionDampingNmsRad : 0.0;
    const double rotor_inertia = is_exact ? 0.0 : settings.target.min_rotor_inertia;
    Matrix M{};
    mass_matrix(terms.chain, arm.home, M);
    max_kd_delay_ = kInfinity;
    max_delay_ = kInfinity;
    bool has_kd = false;
    for (std::size_t i = 0; i < n; ++i) {
      M[i][i] += rotor_inertia;
      mass_diagonal_[i] = M[i][i];
      has_kd = has_kd || kd_[i] > 0.0;
      max_kp_delay_[i] = kp_[i] > 0.0 ? (kd_[i] + own_damping) / kp_[i] : kInfinity;
      max_delay_ = std::min(max_delay_, max_kp_delay_[i]);
    }
    if (has_kd && factorize(M, n)) {
      // Velocities decay at the eigenvalues of M^-1 K, which are those of L^-1 K L^-T.
      Matrix A{};
      for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t i = 0; i < n; ++i) {
          double sum = i == j ? std::sqrt(kd_[j]) : 0.0;
          for (std::size_t k = 0; k < i; ++k) {
            sum -= M[i][k] * A[k][j];
          }
          A[i][j] = sum / M[i][i];  // L^-1 sqrt(K)
        }
      }
      Matrix product{};
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
          for (std::size_t k = 0; k < n; ++k) {
            product[i][j] += A[i][k] * A[j][k];
          }
        }
      }
      max_kd_delay_ = 0.5 * kPi / largest_eigenvalue(product, n);
    }
    max_delay_ = std::min(max_delay_, max_kd_delay_);
  }

  /// Why the arm would swing with joint states of this period and age [s].
  Reason instability(std::size_t n, double period, double age) const noexcept
  {
    // A torque is held for a period, which delays it by half of one.
    const double delay = std::max(0.5 * period, age) + 0.5 * period;
    if (delay <= max_delay_) {
      return {};
    }
    for (std::size_t i = 0; i < n; ++i) {
      if (max_kp_delay_[i] < delay) {
        const double needed_kd =
          kPeriodMarginFactor * (kd_[i] + kp_[i] * (delay - max_kp_delay_[i]));
        const bool would_swing_by_kd = needed_kd * delay > mass_diagonal_[i];
        const double remedy = would_swing_by_kd ? -kp_[i] * max_kp_delay_[i] / delay : needed_kd;
        return Reason::of_joint(
          ReasonCode::kp_too_large, i, {kp_[i], kd_[i], 1e3 * delay, remedy});
      }
    }
    return Reason::of(
      ReasonCode::kd_too_large,
      {0.5 * kPi / max_kd_delay_, 1e3 * delay, max_kd_delay_ / delay});
  }

private:
  static constexpr double kPi = 3.14159265358979323846;

  Vector kp_{}, kd_{};
  Vector mass_diagonal_{};
  Vector max_kp_delay_{};
  double max_kd_delay_ = kInfinity;
  double max_delay_ = kInfinity;
};

}  // namespace franka_dynamics_controllers
