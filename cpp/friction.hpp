// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// Friction of the arm file's model, followed cycle by cycle, and the part of it that is safe to
// command: as much as is certain, along the reference, nothing at rest.
#ifndef @GUARD@_FRICTION_HPP
#define @GUARD@_FRICTION_HPP

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "@NAME@/settings.hpp"

namespace @NAME@
{

/// Friction tau_f that the arm takes, and what of it may be commanded.
///
/// Linear models: tau_f = f_v dq + (f_c + f_s exp(-(dq / v_s)^2)) tanh(dq / width) + f_o +
/// sum_e a_e z_e, with Maxwell-slip elements z_e <- clip(z_e + step / reach_e, -1, 1). Where their
/// state is not known, at the start and after a gap in which the arm may have been moved unseen,
/// both extremes are carried on until the motion has brought them together.
class Friction
{
public:
  /// Reference speeds below which nothing is commanded, and from which on all of it is [rad/s].
  static constexpr double kRestSpeed = 0.005, kFullSpeed = 0.02;
  /// A longer step between two states may have moved the arm to and fro unseen [s].
  static constexpr double kLongestGap = 0.05;

  Friction() noexcept {restart();}

  /// Forget the motion so far.
  void restart() noexcept
  {
    followed_ = false;
    for (std::size_t e = 0; e < kElements; ++e) {
      bounds_[0][e].fill(-1.0);
      bounds_[1][e].fill(1.0);
    }
  }

  /// Take a measured position [rad] at a stamp [s].
  void follow(double stamp, const Vector & q) noexcept
  {
    if (followed_ && !(stamp - stamp_ >= 0.0 && stamp - stamp_ <= kLongestGap)) {
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

  /// What to command for a reference velocity [rad/s]: at most the friction that is certain.
  void feedforward(const Vector & dq, Vector & tau) const noexcept
  {
    for (std::size_t i = 0; i < kJoints; ++i) {
      const double along = (dq[i] > 0.0) - (dq[i] < 0.0);
      const double speed = std::min(
        std::max((std::abs(dq[i]) - kRestSpeed) / (kFullSpeed - kRestSpeed), 0.0), 1.0);
      tau[i] = along * speed * std::max(least(i, dq[i], along), 0.0);
    }
  }

  /// The friction of long, steady sliding at dq [rad/s]: every element has begun to slip.
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
  static constexpr std::size_t kSliding = 4;  // viscous, Coulomb, Stribeck, offset
  using Terms = std::array<double, kSliding>;
  using States = std::array<Vector, kElements>;

  static Terms terms(std::size_t, double dq) noexcept
  {
    const double turned = std::tanh(dq / kFrictionWidth), ratio = dq / kStribeckVelocity;
    return {dq, turned, std::exp(-(ratio * ratio)) * turned, 1.0};
  }

  static double sigmoid(std::size_t i, double dq) noexcept
  {
    // Amplitude, slope, offset, and the term that makes it zero at rest.
    const auto & row = kFrictionCoefficients;
    return row[0][i] * (0.5 * (1.0 + std::tanh(0.5 * (row[1][i] * (dq + row[2][i])))) - row[3][i]);
  }

  double least(std::size_t i, double dq, double along) const noexcept
  {
    if constexpr (kFriction == FrictionKind::sigmoid) {
      return along * sigmoid(i, dq);
    } else if constexpr (kFriction == FrictionKind::linear) {
      const Terms x = terms(i, dq);
      double sum = 0.0;
      for (std::size_t k = 0; k < kSliding; ++k) {
        sum += along * kFrictionCoefficients[k][i] * x[k] - kFrictionLeft[k][i] * std::abs(x[k]);
      }
      // In each element's state the torque is least at one of its bounds.
      for (std::size_t e = 0; e < kElements; ++e) {
        const std::size_t k = kSliding + e;
        double lower = 0.0;
        for (std::size_t side = 0; side < bounds_.size(); ++side) {
          const double z = bounds_[side][e][i];
          const double part =
            along * kFrictionCoefficients[k][i] * z - kFrictionLeft[k][i] * std::abs(z);
          lower = side == 0 ? part : std::min(lower, part);
        }
        sum += lower;
      }
      return sum;
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
