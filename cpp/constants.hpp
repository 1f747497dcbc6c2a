// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// Constants, targets and status words of the Python controller, written by franka-dynamics codegen.
#ifndef @GUARD@_CONSTANTS_HPP
#define @GUARD@_CONSTANTS_HPP

#include <array>

namespace @NAME@
{

/// What the receiver of the torques adds to them: gravity torque, so that only what its model
/// lacks is commanded; friction torque, so that none may be commanded.
struct Target
{
  const char * name;
  bool adds_gravity, adds_friction;
};

@CONSTANTS@

}  // namespace @NAME@

#endif  // @GUARD@_CONSTANTS_HPP
