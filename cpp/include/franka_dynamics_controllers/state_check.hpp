// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// Which joint states can be used.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "franka_dynamics_controllers/arm.hpp"

namespace franka_dynamics_controllers
{

// What is wrong with a joint state.
constexpr const char * kStatesLost = "a joint state is missing or not finite";
constexpr const char * kStateImpossible = "a joint's position or velocity is impossible";

/// Whether the first n values are finite.
inline bool all_finite(const Vector & values, std::size_t n) noexcept
{
  return std::all_of(
    values.begin(), values.begin() + n, [](double value) {return std::isfinite(value);});
}

/// Finds what is wrong with joint states, and counts usable ones.
class StateCheck
{
public:
  /// Check a state, nullptr if it could not be read. Returns why it cannot be used, or nullptr.
  const char * check(const Arm & arm, const JointState * measured) noexcept
  {
    const char * const problem = problem_of(arm, measured);
    good_state_count_ = problem ? 0 : std::min(good_state_count_ + 1, kMinGoodStateCount);
    return problem;
  }

  /// Whether the last kMinGoodStateCount states were usable.
  bool has_enough_states() const noexcept {return good_state_count_ == kMinGoodStateCount;}

  /// Forget all states.
  void reset() noexcept {good_state_count_ = 0;}

private:
  static const char * problem_of(const Arm & arm, const JointState * measured) noexcept
  {
    if (!measured || !all_finite(measured->q, arm.n()) || !all_finite(measured->dq, arm.n())) {
      return kStatesLost;
    }
    for (std::size_t i = 0; i < arm.n(); ++i) {
      const bool has_possible_velocity = std::abs(measured->dq[i]) <= kMaxPossibleVelocityRadS;
      if (!arm.within_range(i, measured->q[i]) || !has_possible_velocity) {
        return kStateImpossible;
      }
    }
    return nullptr;
  }

  int good_state_count_ = 0;  // in a row, at most kMinGoodStateCount
};

}  // namespace franka_dynamics_controllers
