// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// Numbers in the sentences that say why something is refused.
#pragma once

#include <array>
#include <cstdio>
#include <string>

namespace franka_dynamics_controllers
{

/// A number with at most six digits.
inline std::string as_text(double number)
{
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6g", number);
  return text.data();
}

}  // namespace franka_dynamics_controllers
