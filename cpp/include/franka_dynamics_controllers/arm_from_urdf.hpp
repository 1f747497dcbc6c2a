// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "franka_dynamics_controllers/arm.hpp"

namespace franka_dynamics_controllers
{

/// Read the arm with these joints, from base to tip, from the text of a URDF. Its space frame is
/// the root link's. Other moving joints that the arm carries are held at zero, or at their limit
/// nearest to it, and their bodies count as part of the arm.
///
/// The flange, in whose frame a payload is given, is the link of this name; '': the link after the
/// last joint whose name ends in tool0, end_effector_link, link<n + 1>, flange or the like, or else
/// the last moving link.
/// `notes` gets sentences on what was assumed. Throws std::runtime_error with a sentence.
Arm arm_from_urdf(
  const std::string & urdf, const std::vector<std::string> & joints, const std::string & flange,
  std::vector<std::string> & notes);

/// Whether the hardware in a URDF's <ros2_control> has an effort state interface for each joint.
bool has_effort_states(const std::string & urdf, const std::vector<std::string> & joints);

}  // namespace franka_dynamics_controllers
