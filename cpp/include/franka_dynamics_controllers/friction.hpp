// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// The friction torque to command at a reference velocity: the model's, less what is uncertain.
#pragma once

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
/// elements z_e <- clip(z_e + step / reach_e, -1, 1), and f_l tanh(dq / width) |tau|, with the
/// torque tau of the rigid bodies, where friction grows with the load. At the start, and after a
/// gap between two states, z is unknown: states from both extremes are followed until the motion
/// has made them equal.
class Friction
{
public:
  Friction() noexcept {restart();}

  /// Set the elements' state to unknown.
  void restart() noexcept
  {
    followed_ = false;
    for (Vector & low : bounds_[0]) {low.fill(-1.0);}
    for (Vector & high : bounds_[1]) {high.fill(1.0);}
  }

  /// Update the elements' state for measured positions q [rad] at the time `stamp` [s].
  void follow(const Arm & arm, double stamp, const Vector & q) noexcept
  {
    if (followed_ && !(stamp - stamp_ >= 0.0 && stamp - stamp_ <= kMaxStateGapS)) {restart();}
    for (std::size_t e = 0; followed_ && e < arm.friction.elements; ++e) {
      for (std::size_t i = 0; i < arm.n(); ++i) {
        const double step = (q[i] - q_[i]) / arm.friction.reach[e];
        for (auto & side : bounds_) {side[e][i] = std::clamp(side[e][i] + step, -1.0, 1.0);}
      }
    }
    stamp_ = stamp;
    q_ = q;
    followed_ = true;
  }

  /// Compute the friction torque tau to command [N m] at a reference velocity [rad/s], with less of
  /// it at a joint that is faster than that. The offset of a joint with a stiffness kp > 0 is
  /// commanded at rest, too; it is the `receiver_offset` of a target that adds gravity. `load` is
  /// the torque of the rigid bodies along the reference [N m], which counts where friction grows
  /// with it.
  void feedforward(
    const Arm & arm, const Motion & reference, const JointState & measured, const Vector & kp,
    bool target_adds_gravity, const Vector & load, Vector & tau) const noexcept
  {
    constexpr double kRange = kMaxRestSpeedRadS - kMinFrictionSpeedRadS;
    constexpr double kAheadRange = kMaxFrictionLeadRadS - kMaxRestSpeedRadS;
    const FrictionModel & model = arm.friction;
    const bool linear = model.kind == FrictionModel::Kind::linear;
    for (std::size_t i = 0; i < arm.n(); ++i) {
      const double dq = reference.dq[i], along = (dq > 0.0) - (dq < 0.0);
      const double speed = std::clamp((std::abs(dq) - kMinFrictionSpeedRadS) / kRange, 0.0, 1.0);
      const double ahead = along * measured.dq[i] - std::abs(dq);
      const double behind = std::clamp((kMaxFrictionLeadRadS - ahead) / kAheadRange, 0.0, 1.0);
      const double sure = linear ?
        least(i, model, dq, load[i]) : along * sigmoid(model.coefficients[i], dq);
      const double full_offset =
        target_adds_gravity ? model.receiver_offset[i] : model.coefficients[i][2];
      const double offset = linear ? (kp[i] > 0.0 ? 1.0 : speed) * full_offset : 0.0;
      tau[i] = along * speed * behind * std::max(sure, 0.0) + offset;
    }
  }

private:
  template<typename Row>  // amplitude, slope, offset
  static double sigmoid(const Row & row, double dq) noexcept
  {
    const auto logistic = [](double x) {return 0.5 * (1.0 + std::tanh(0.5 * x));};
    return row[0] * (logistic(row[1] * (dq + row[2])) - logistic(row[1] * row[2]));
  }

  /// The torque along the motion without the offset, less two deviations of the sum.
  double least(
    std::size_t i, const FrictionModel & model, double dq, double load) const noexcept
  {
    const double along = dq < 0.0 ? -1.0 : 1.0;
    constexpr std::size_t kSliding = FrictionModel::kSliding;
    std::array<double, FrictionModel::kMost> x{dq, std::tanh(dq / model.width), 0.0};
    const auto & row = model.coefficients[i];
    for (std::size_t e = 0; e < model.elements; ++e) {
      const std::size_t side = along * row[kSliding + e] >= 0.0 ? 0 : 1;
      x[kSliding + e] = bounds_[side][e][i];
    }
    const std::size_t count = model.count();
    if (model.grows_with_load) {x[count - 1] = x[1] * std::abs(load);}
    double sum = 0.0, variance = 0.0;
    for (std::size_t k = 0; k < count; ++k) {
      sum += along * row[k] * x[k];
      for (std::size_t l = 0; l < count; ++l) {
        variance += x[k] * model.covariance[i][k][l] * x[l];
      }
    }
    return sum - kFrictionMarginStdCount * std::sqrt(std::max(variance, 0.0));
  }

  std::array<std::array<Vector, FrictionModel::kMaxElements>, 2> bounds_{};
  Vector q_{};
  double stamp_ = 0.0;
  bool followed_ = false;
};

}  // namespace franka_dynamics_controllers
