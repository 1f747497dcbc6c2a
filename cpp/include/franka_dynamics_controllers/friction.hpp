// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// The friction torque to command at a reference velocity: the model's, less what is uncertain.
#ifndef FRANKA_DYNAMICS_CONTROLLERS__FRICTION_HPP_
#define FRANKA_DYNAMICS_CONTROLLERS__FRICTION_HPP_

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "franka_dynamics_controllers/arm.hpp"

namespace franka_dynamics_controllers
{

/// The state of an arm's Maxwell-slip elements, and the friction torque that may be commanded.
///
/// Linear models: tau_f = f_v dq + f_c tanh(dq / width) + f_o + sum_e a_e z_e, with Maxwell-slip
/// elements z_e <- clip(z_e + step / reach_e, -1, 1). At the start, and after a gap between two
/// states, z is unknown: states from both extremes, -1 and 1, are followed until the motion has
/// made them equal.
class Friction
{
public:
  Friction() noexcept {restart();}

  /// Set the elements' state to unknown.
  void restart() noexcept
  {
    followed_ = false;
    for (std::size_t e = 0; e < kMaxElements; ++e) {
      bounds_[0][e].fill(-1.0);
      bounds_[1][e].fill(1.0);
    }
  }

  /// Update the elements' state for measured positions q [rad] at the time `stamp` [s].
  void follow(const Arm & arm, double stamp, const Vector & q) noexcept
  {
    if (followed_ && !(stamp - stamp_ >= 0.0 && stamp - stamp_ <= kMaxGapS)) {
      restart();
    }
    for (std::size_t e = 0; followed_ && e < arm.friction.elements; ++e) {
      for (auto & side : bounds_) {
        for (std::size_t i = 0; i < arm.n(); ++i) {
          const double moved = side[e][i] + (q[i] - q_[i]) / arm.friction.reach[e];
          side[e][i] = std::clamp(moved, -1.0, 1.0);
        }
      }
    }
    stamp_ = stamp;
    q_ = q;
    followed_ = true;
  }

  /// Compute the friction torque tau to command [N m] at a reference velocity [rad/s], with less of
  /// it at a joint that is faster than that. The offset of a joint with a stiffness kp > 0 is
  /// commanded at rest, too.
  void feedforward(
    const Arm & arm, const Motion & reference, const JointState & measured, const Vector & kp,
    Vector & tau) const noexcept
  {
    constexpr double kRange = kMaxRestSpeedRadS - kMinFrictionSpeedRadS;
    constexpr double kAheadRange = kMaxAheadSpeedRadS - kMaxRestSpeedRadS;
    for (std::size_t i = 0; i < arm.n(); ++i) {
      const double dq = reference.dq[i], along = (dq > 0.0) - (dq < 0.0);
      const double speed = std::clamp((std::abs(dq) - kMinFrictionSpeedRadS) / kRange, 0.0, 1.0);
      const double ahead = along * measured.dq[i] - std::abs(dq);
      const double behind = std::clamp((kMaxAheadSpeedRadS - ahead) / kAheadRange, 0.0, 1.0);
      const bool linear = arm.friction.kind == FrictionModel::Kind::linear;
      const double sure = linear ? least(arm, i, dq, along) : along * sigmoid(arm.friction, i, dq);
      tau[i] = along * speed * behind * std::max(sure, 0.0);
      if (linear) {
        tau[i] += arm.friction.coefficients[i][kOffset] * (kp[i] > 0.0 ? 1.0 : speed);
      }
    }
  }

private:
  static constexpr std::size_t kOffset = 2;

  static double sigmoid(const FrictionModel & model, std::size_t i, double dq) noexcept
  {
    const auto & row = model.coefficients[i];
    const double amplitude = row[0], slope = row[1], offset = row[kOffset];
    const auto logistic = [](double x) {return 0.5 * (1.0 + std::tanh(0.5 * x));};
    return amplitude * (logistic(slope * (dq + offset)) - logistic(slope * offset));
  }

  /// The torque along the motion without the offset, less two deviations of the sum.
  double least(const Arm & arm, std::size_t i, double dq, double along) const noexcept
  {
    const FrictionModel & model = arm.friction;
    std::array<double, FrictionModel::kSliding + kMaxElements> x{
      dq, std::tanh(dq / model.width), 0.0};
    const std::size_t count = FrictionModel::kSliding + model.elements;
    for (std::size_t e = 0; e < model.elements; ++e) {
      const bool low = along * model.coefficients[i][FrictionModel::kSliding + e] >= 0.0;
      x[FrictionModel::kSliding + e] = bounds_[low ? 0 : 1][e][i];
    }
    double sum = 0.0, variance = 0.0;
    for (std::size_t k = 0; k < count; ++k) {
      sum += model.coefficients[i][k] * x[k];
      for (std::size_t l = 0; l < count; ++l) {
        variance += x[k] * model.covariance[i][k][l] * x[l];
      }
    }
    return along * sum - kFrictionMarginStdCount * std::sqrt(std::max(variance, 0.0));
  }

  std::array<std::array<Vector, kMaxElements>, 2> bounds_{};
  Vector q_{};
  double stamp_ = 0.0;
  bool followed_ = false;
};

}  // namespace franka_dynamics_controllers

#endif  // FRANKA_DYNAMICS_CONTROLLERS__FRICTION_HPP_
