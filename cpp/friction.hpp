// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// Joint friction torque by the arm file's model, and the part of it that is commanded: the
// friction torque at the reference velocity less its uncertainty, and at rest the offset alone.
#ifndef @GUARD@_FRICTION_HPP
#define @GUARD@_FRICTION_HPP

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "@NAME@/settings.hpp"

namespace @NAME@
{

/// The joints' friction torque tau_f, and the part of it that may be commanded.
///
/// Linear models: tau_f = f_v dq + f_c tanh(dq / width) + f_o + sum_e a_e z_e, with Maxwell-slip
/// elements z_e <- clip(z_e + step / reach_e, -1, 1). At the start, and after a gap between two states, the elements' state is unknown: states from both
/// extremes, -1 and 1, are followed until the motion has made them equal.
class Friction
{
public:
  Friction() noexcept {restart();}

  /// Set the elements' state to unknown.
  void restart() noexcept
  {
    followed_ = false;
    for (std::size_t e = 0; e < kElements; ++e) {
      bounds_[0][e].fill(-1.0);
      bounds_[1][e].fill(1.0);
    }
  }

  /// Update the elements' state for a measured position q [rad] at the time `stamp` [s].
  void follow(double stamp, const Vector & q) noexcept
  {
    if (followed_ && !(stamp - stamp_ >= 0.0 && stamp - stamp_ <= kMaxGapS)) {
      restart();
    }
    for (std::size_t e = 0; followed_ && e < kElements; ++e) {
      for (auto & side : bounds_) {
        for (std::size_t i = 0; i < kJoints; ++i) {
          const double moved = side[e][i] + (q[i] - q_[i]) / kReach[e];
          side[e][i] = std::min(std::max(moved, -1.0), 1.0);
        }
      }
    }
    stamp_ = stamp;
    q_ = q;
    followed_ = true;
  }

  /// Compute the friction torque tau to command [N m] at a reference velocity dq and a measured one
  /// [rad/s]. A joint that is faster than its reference gets less of it. A joint that a gain kp holds
  /// gets its offset at rest, too.
  void feedforward(
    const Vector & dq, const Vector & measured, const Vector & kp, Vector & tau) const noexcept
  {
    for (std::size_t i = 0; i < kJoints; ++i) {
      const double along = (dq[i] > 0.0) - (dq[i] < 0.0);
      constexpr double kRange = kMaxRestSpeedRadS - kMinFrictionSpeedRadS;
      const double speed =
        std::min(std::max((std::abs(dq[i]) - kMinFrictionSpeedRadS) / kRange, 0.0), 1.0);
      constexpr double kFade = kMaxAheadSpeedRadS - kMaxRestSpeedRadS;
      const double ahead = along * (measured[i] - dq[i]);
      const double left = std::min(std::max((kMaxAheadSpeedRadS - ahead) / kFade, 0.0), 1.0);
      tau[i] = along * speed * left * std::max(least(i, dq[i], along), 0.0);
      if constexpr (kFriction == FrictionKind::linear) {
        tau[i] += (kp[i] > 0.0 ? 1.0 : speed) * kFrictionCoefficients[kOffset][i];
      }
    }
  }

  /// Compute the friction torque tau [N m] of steady sliding at dq [rad/s]: every element slips.
  static void steady(const Vector & dq, Vector & tau) noexcept
  {
    for (std::size_t i = 0; i < kJoints; ++i) {
      tau[i] = 0.0;
      if constexpr (kFriction == FrictionKind::sigmoid) {
        tau[i] = sigmoid(i, dq[i]);
      } else if constexpr (kFriction == FrictionKind::linear) {
        const Terms x = terms(i, dq[i]);
        for (std::size_t k = 0; k < kSliding; ++k) {
          tau[i] += kFrictionCoefficients[k][i] * x[k];
        }
        for (std::size_t e = 0; e < kElements; ++e) {
          tau[i] += kFrictionCoefficients[kSliding + e][i] * x[1];
        }
      }
    }
  }

private:
  static constexpr std::size_t kSliding = 3, kOffset = 2;  // viscous, Coulomb, offset
  using Terms = std::array<double, kSliding>;
  using States = std::array<Vector, kElements>;

  static Terms terms(std::size_t, double dq) noexcept
  {
    return {dq, std::tanh(dq / kFrictionWidth), 1.0};
  }

  static double sigmoid(std::size_t i, double dq) noexcept
  {
    // Rows: amplitude, slope, offset, and the value at rest, subtracted so that rest gives zero.
    const auto & row = kFrictionCoefficients;
    return row[0][i] * (0.5 * (1.0 + std::tanh(0.5 * (row[1][i] * (dq + row[2][i])))) - row[3][i]);
  }

  double least(std::size_t i, double dq, double along) const noexcept
  {
    if constexpr (kFriction == FrictionKind::sigmoid) {
      return along * sigmoid(i, dq);
    } else if constexpr (kFriction == FrictionKind::linear) {
      const Terms sliding = terms(i, dq);
      std::array<double, kSliding + kElements> x{sliding[0], sliding[1], 0.0};
      for (std::size_t e = 0; e < kElements; ++e) {
        const bool forward = along * kFrictionCoefficients[kSliding + e][i] >= 0.0;
        x[kSliding + e] = bounds_[forward ? 0 : 1][e][i];
      }
      double sum = 0.0, square = 0.0;
      for (std::size_t k = 0; k < x.size(); ++k) {
        sum += along * kFrictionCoefficients[k][i] * x[k];
        for (std::size_t l = 0; l < x.size(); ++l) {
          square += x[k] * kFrictionCovariance[i][k][l] * x[l];
        }
      }
      return sum - kFrictionMarginStdCount * std::sqrt(std::max(square, 0.0));
    } else {
      return 0.0;
    }
  }

  std::array<States, 2> bounds_{};
  Vector q_{};
  double stamp_ = 0.0;
  bool followed_ = false;
};

}  // namespace @NAME@

#endif  // @GUARD@_FRICTION_HPP
