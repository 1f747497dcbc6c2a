// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// Commands from upstream, and the motion that an arm follows by them.
#pragma once

#include "franka_dynamics_controllers/dynamics.hpp"

namespace franka_dynamics_controllers
{

/// A command from upstream: a motion's q, dq and ddq, a torque, or a torque with the dq and ddq at
/// which friction and inertia torque count (Command::law).
struct Reference : Motion
{
  Vector torque{};
};

/// What an arm follows by Command::motion: the motion that was given in the last cycle, a position
/// that is held, or nothing.
class ReferenceFollower
{
public:
  /// The motion or the held position; nullptr if there is none.
  const Motion * desired() const noexcept {return kind_ == Kind::none ? nullptr : &motion_;}

  /// Whether it was given in the last cycle.
  bool is_given() const noexcept {return kind_ == Kind::given;}

  void follow(const Motion & given) noexcept
  {
    motion_ = given;
    kind_ = Kind::given;
  }

  void hold(const Vector & q) noexcept
  {
    motion_ = {q, {}, {}};
    kind_ = Kind::held;
  }

  void clear() noexcept {kind_ = Kind::none;}

private:
  enum class Kind {none, held, given};

  Kind kind_ = Kind::none;
  Motion motion_{};
};

}  // namespace franka_dynamics_controllers
