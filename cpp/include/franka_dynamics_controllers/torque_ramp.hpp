// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// A gradual change to the torque of another control law.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>

#include "franka_dynamics_controllers/constants.hpp"

namespace franka_dynamics_controllers
{

/// Moves the torque gradually to that of the control law, after a start or a change of the law or
/// of what it follows. A ramp takes kRampDurationS.
class TorqueRamp
{
public:
  /// Let the next torque begin a ramp at `start_torque` [N m].
  void begin(const Vector & start_torque) noexcept {start_torque_ = start_torque;}

  /// Add the ramp's offset to the law's torque `tau` [N m] at the time `now` [s]. After a change
  /// `former` is what the former law gives at the same state [N m], where a ramp begins.
  void apply(double now, const std::optional<Vector> & former, Vector & tau) noexcept
  {
    double remaining_share = std::max(0.0, 1.0 - (now - begin_time_) / kRampDurationS);
    if (start_torque_ || former) {
      for (std::size_t i = 0; i < kMaxJoints; ++i) {
        offset_[i] = start_torque_ ? (*start_torque_)[i] - tau[i] :
          remaining_share * offset_[i] + ((*former)[i] - tau[i]);
      }
      start_torque_.reset();
      begin_time_ = now;
      remaining_share = 1.0;
    }
    for (std::size_t i = 0; i < kMaxJoints; ++i) {
      tau[i] += remaining_share * offset_[i];
    }
  }

private:
  std::optional<Vector> start_torque_{};  // of a ramp that is to begin [N m]
  Vector offset_{};  // from the law's torque where the ramp began [N m]
  double begin_time_ = -std::numeric_limits<double>::infinity();  // [s]
};

}  // namespace franka_dynamics_controllers
