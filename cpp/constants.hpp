// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// Constants, targets and status words of the Python controller, written by franka-dynamics codegen.
#ifndef @GUARD@_CONSTANTS_HPP
#define @GUARD@_CONSTANTS_HPP

#include <array>

namespace @NAME@
{

/// Whether the receiver of the torques adds gravity torque, so that only what its model lacks is
/// commanded.
struct Target
{
  const char * name;
  bool adds_gravity;
};

@CONSTANTS@

}  // namespace @NAME@

#endif  // @GUARD@_CONSTANTS_HPP
