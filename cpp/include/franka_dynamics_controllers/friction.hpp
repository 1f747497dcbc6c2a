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
/// elements z_e <- clip(z_e + step / reach_e, -1, 1), f_s tanh(dq / width) exp(-|dq| / speed)
/// where friction falls with speed, and f_l tanh(dq / width) |tau|, with the
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
    is_followed_ = false;
    for (Vector & bounds : lower_bounds_) {
      bounds.fill(-1.0);
    }
    for (Vector & bounds : upper_bounds_) {
      bounds.fill(1.0);
    }
  }

  /// Update the elements' state for measured positions q [rad] at the time `stamp` [s].
  void follow(const Arm & arm, double stamp, const Vector & q) noexcept
  {
    const bool is_gap = !(stamp - stamp_ >= 0.0 && stamp - stamp_ <= kMaxStateGapS);
    if (is_followed_ && is_gap) {
      restart();
    }
    for (std::size_t e = 0; is_followed_ && e < arm.friction.elements; ++e) {
      for (std::size_t i = 0; i < arm.n(); ++i) {
        const double step = (q[i] - q_[i]) / arm.friction.reach[e];
        lower_bounds_[e][i] = std::clamp(lower_bounds_[e][i] + step, -1.0, 1.0);
        upper_bounds_[e][i] = std::clamp(upper_bounds_[e][i] + step, -1.0, 1.0);
      }
    }
    stamp_ = stamp;
    q_ = q;
    is_followed_ = true;
  }

  /// Compute the friction torque tau to command [N m] at a reference velocity [rad/s], with less of
  /// it at a joint that is faster than that, and without the model's offset, which is a term of its
  /// own. `load` is the torque of the rigid bodies along the reference [N m], which counts where
  /// friction grows with it.
  void feedforward(
    const Arm & arm, const Motion & reference, const JointState & measured, const Vector & load,
    Vector & tau) const noexcept
  {
    constexpr double kFullExcessSpeed = kMaxRestSpeedRadS - kMinFrictionSpeedRadS;
    constexpr double kFullRemainingLead = kMaxFrictionLeadRadS - kMaxRestSpeedRadS;
    const FrictionModel & model = arm.friction;
    const bool is_linear = model.kind == FrictionModel::Kind::linear;
    for (std::size_t i = 0; i < arm.n(); ++i) {
      const double dq = reference.dq[i];
      const double direction = (dq > 0.0) - (dq < 0.0);
      // Shares of the friction, from 0 to 1: less of it at low reference speeds, and where the
      // joint leads its reference.
      const double excess_speed = std::abs(dq) - kMinFrictionSpeedRadS;
      const double speed_share = std::clamp(excess_speed / kFullExcessSpeed, 0.0, 1.0);
      const double lead = direction * measured.dq[i] - std::abs(dq);
      const double remaining_lead = kMaxFrictionLeadRadS - lead;
      const double lead_share = std::clamp(remaining_lead / kFullRemainingLead, 0.0, 1.0);
      const double least_torque = is_linear ?
        least_linear_torque(i, model, dq, load[i]) :
        direction * sigmoid_torque(model.coefficients[i], dq);
      tau[i] = direction * speed_share * lead_share * std::max(least_torque, 0.0);
    }
  }

  /// Compute the friction torque at a velocity [rad/s], with its offset and the mean state of the
  /// elements [N m]. `load` is as for feedforward().
  void torque(const Arm & arm, const Vector & dq, const Vector & load, Vector & tau) const noexcept
  {
    constexpr std::size_t kSliding = FrictionModel::kSliding;
    const FrictionModel & model = arm.friction;
    for (std::size_t i = 0; i < arm.n(); ++i) {
      const auto & coefficients = model.coefficients[i];
      if (model.kind == FrictionModel::Kind::sigmoid) {
        tau[i] = sigmoid_torque(coefficients, dq[i]);
        continue;
      }
      const double sliding = std::tanh(dq[i] / model.width);
      tau[i] = coefficients[0] * dq[i] + coefficients[1] * sliding +
        coefficients[FrictionModel::kOffset];
      for (std::size_t e = 0; e < model.elements; ++e) {
        tau[i] += coefficients[kSliding + e] * 0.5 * (lower_bounds_[e][i] + upper_bounds_[e][i]);
      }
      if (model.falls_with_speed) {
        tau[i] += model.falling(coefficients[kSliding + model.elements], sliding, dq[i]);
      }
      if (model.grows_with_load) {
        tau[i] += coefficients[model.count() - 1] * sliding * std::abs(load[i]);
      }
    }
  }

private:
  template<typename Row>  // amplitude, slope, offset
  static double sigmoid_torque(const Row & row, double dq) noexcept
  {
    const auto logistic = [](double x) {return 0.5 * (1.0 + std::tanh(0.5 * x));};
    return row[0] * (logistic(row[1] * (dq + row[2])) - logistic(row[1] * row[2]));
  }

  /// The torque along the motion without the offset, less two deviations of the sum [N m]. Of each
  /// Maxwell-slip element the state counts with which it gives less along the motion.
  double least_linear_torque(
    std::size_t i, const FrictionModel & model, double dq, double load) const noexcept
  {
    constexpr std::size_t kSliding = FrictionModel::kSliding;
    const double direction = dq < 0.0 ? -1.0 : 1.0;
    const auto & coefficients = model.coefficients[i];
    const double sliding = std::tanh(dq / model.width);
    std::array<double, FrictionModel::kMost> terms{dq, sliding, 0.0};  // without the offset
    for (std::size_t e = 0; e < model.elements; ++e) {
      const bool is_lower_less = direction * coefficients[kSliding + e] >= 0.0;
      terms[kSliding + e] = is_lower_less ? lower_bounds_[e][i] : upper_bounds_[e][i];
    }
    if (model.falls_with_speed) {
      terms[kSliding + model.elements] = model.falling(1.0, sliding, dq);
    }
    const std::size_t count = model.count();
    if (model.grows_with_load) {
      terms[count - 1] = sliding * std::abs(load);
    }
    double sum = 0.0;
    double variance = 0.0;
    for (std::size_t k = 0; k < count; ++k) {
      sum += direction * coefficients[k] * terms[k];
      for (std::size_t l = 0; l < count; ++l) {
        variance += terms[k] * model.covariance[i][k][l] * terms[l];
      }
    }
    return sum - kFrictionMarginStdCount * std::sqrt(std::max(variance, 0.0));
  }

  // Of each element's state at each joint; equal where the state is known.
  std::array<Vector, FrictionModel::kMaxElements> lower_bounds_{};
  std::array<Vector, FrictionModel::kMaxElements> upper_bounds_{};
  // The last positions [rad] and their time [s].
  Vector q_{};
  double stamp_ = 0.0;
  bool is_followed_ = false;  // whether there are last positions
};

}  // namespace franka_dynamics_controllers
