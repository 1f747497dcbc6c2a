// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
#include "franka_dynamics_controllers/arm_from_urdf.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>

#include "urdf/model.h"

#include "franka_dynamics_controllers/settings.hpp"

namespace franka_dynamics_controllers
{

namespace
{
Three three(const urdf::Vector3 & v) {return {v.x, v.y, v.z};}

Pose pose(const urdf::Pose & given)
{
  const auto & [x, y, z, w] = given.rotation;
  return {{Three{1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)},
    Three{2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)},
    Three{2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)}},
    three(given.position)};
}

/// A rotation whose third column is an axis of length 1.
Rows along(const Three & axis)
{
  const Three side = std::abs(axis.x) < 0.5 ? Three{1.0, 0.0, 0.0} : Three{0.0, 1.0, 0.0};
  Three y = cross(axis, side);
  y = 1.0 / std::sqrt(dot(y, y)) * y;
  return transposed({cross(y, axis), y, axis});
}

bool moves(const urdf::Joint & joint) {return joint.type != urdf::Joint::FIXED;}

bool ends_with(const std::string & text, const std::string & end)
{
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

class Reader
{
public:
  Reader(const std::string & text, const std::vector<std::string> & names)
  {
    if (!model_.initString(text)) {throw error("it is no URDF that urdfdom can read");}
    arm_.name = model_.getName();
    arm_.joints = names;
    require_chain();
    arm_.chain.n = names.size();
    walk(*model_.getRoot(), Pose{}, 0, true);
  }

  Arm arm(const std::string & flange, std::vector<std::string> & notes)
  {
    const std::string & tip = tools_.front().first;
    std::string found = flange.empty() ? tip : flange;
    const std::string endings[] = {"tool0", "flange", "link" + std::to_string(arm_.n() + 1)};
    for (std::size_t k = 0; k < 3 && flange.empty(); ++k) {  // the last one that is found counts
      for (const auto & tool : tools_) {
        if (ends_with(tool.first, endings[k])) {found = tool.first;}
      }
    }
    const auto at = std::find_if(
      tools_.begin(), tools_.end(), [&](const auto & tool) {return tool.first == found;});
    if (at == tools_.end()) {throw error("link " + found + " is not fixed to the last link " + tip);}
    arm_.flange = at->second;
    if (const std::string reason = refuse(arm_); !reason.empty()) {throw error(reason);}
    notes = notes_;
    notes.push_back("a payload is given in the frame of " + found);
    notes.emplace_back("a URDF has no friction, rated load, limits of acceleration and torque rate");
    return arm_;
  }

private:
  std::runtime_error error(const std::string & problem) const
  {
    return std::runtime_error("robot_description: " + problem);
  }

  const urdf::Joint & joint(const std::string & name) const
  {
    const auto found = model_.getJoint(name);
    if (!found) {throw error("there is no joint " + name);}
    return *found;
  }

  bool is_of_arm(const std::string & name) const
  {
    return std::find(arm_.joints.begin(), arm_.joints.end(), name) != arm_.joints.end();
  }

  /// The moving joints from the root to the last one must be the arm's.
  void require_chain() const
  {
    std::vector<std::string> moving;
    if (arm_.joints.empty() || arm_.joints.size() > kMaxJoints) {throw error(refuse(arm_));}
    for (const std::string & name : arm_.joints) {joint(name);}
    auto link = model_.getLink(joint(arm_.joints.back()).child_link_name);
    for (; link->parent_joint; link = link->getParent()) {
      if (moves(*link->parent_joint)) {moving.insert(moving.begin(), link->parent_joint->name);}
    }
    std::string listed;
    for (const std::string & name : moving) {
      const auto & one = joint(name);
      const bool single = one.type == urdf::Joint::REVOLUTE || one.type == urdf::Joint::CONTINUOUS ||
        one.type == urdf::Joint::PRISMATIC;
      if (!single || one.mimic || dot(three(one.axis), three(one.axis)) == 0.0) {
        throw error("joint " + name + " is neither revolute nor prismatic, or does not move alone");
      }
      listed += (listed.empty() ? "" : ", ") + name;
    }
    if (moving != arm_.joints) {
      throw error("the moving joints from the root to " + arm_.joints.back() + " are " + listed +
              "; the parameter joints must name all of them in this order (of an arm on a moving "
              "base take an arm_file)");
    }
  }

  /// Where a joint that is none of the arm is held.
  double held(const urdf::Joint & joint, int followed = 0) const
  {
    if (joint.type == urdf::Joint::FLOATING || joint.type == urdf::Joint::PLANAR ||
      (joint.mimic && (is_of_arm(joint.mimic->joint_name) || followed > 9)))
    {
      throw error("joint " + joint.name + ", which the arm carries, cannot be held");
    }
    if (joint.mimic) {
      const double at = held(this->joint(joint.mimic->joint_name), followed + 1);
      return joint.mimic->multiplier * at + joint.mimic->offset;
    }
    const bool limited = joint.limits && joint.limits->lower <= joint.limits->upper;
    return limited ? std::clamp(0.0, joint.limits->lower, joint.limits->upper) : 0.0;
  }

  /// Add a link and what it carries to the link that the joint before `next` moves, in whose frame
  /// it has the pose `at`. `fixed`: whether only fixed joints are between them.
  void walk(const urdf::Link & link, const Pose & at, std::size_t next, bool fixed)
  {
    if (next == arm_.n() && fixed) {tools_.emplace_back(link.name, at);}
    if (next > 0 && link.inertial) {
      const auto & [origin, mass, xx, xy, xz, yy, yz, zz] = *link.inertial;
      if (!is_real({xx, xy, xz, yy, yz, zz}) || !(mass >= 0.0)) {
        throw error("link " + link.name + " has a mass and an inertia that no real body has");
      }
      Body & body = arm_.chain.links[next - 1].body;
      body = body + at * pose(origin) * Body{mass, {}, symmetric({xx, xy, xz, yy, yz, zz})};
    }
    for (const auto & joint : link.child_joints) {
      const auto & child = *model_.getLink(joint->child_link_name);
      const Pose origin = at * pose(joint->parent_to_joint_origin_transform);
      if (next < arm_.n() && joint->name == arm_.joints[next]) {
        add(*joint, origin, next);
        if (next == 0) {arm_.mount = at.rotation;}
        walk(child, Pose{transposed(turn_), {}}, next + 1, true);
      } else if (!moves(*joint)) {
        walk(child, origin, next, fixed);
      } else if (next > 0) {
        const double q = held(*joint);
        notes_.push_back("joint " + joint->name + " is held at " + written(q));
        const Rows turn = along(unit(joint->axis));
        Link carried;
        carried.prismatic = joint->type == urdf::Joint::PRISMATIC;
        carried.placement = origin * Pose{turn, {}};
        walk(child, carried.at(q) * Pose{transposed(turn), {}}, next, false);
      }
    }
  }

  static Three unit(const urdf::Vector3 & axis)
  {
    const Three a = three(axis);
    return 1.0 / std::sqrt(dot(a, a)) * a;
  }

  void add(const urdf::Joint & joint, const Pose & origin, std::size_t i)
  {
    Link & link = arm_.chain.links[i];
    turn_ = along(unit(joint.axis));
    link.placement = origin * Pose{turn_, {}};
    link.prismatic = joint.type == urdf::Joint::PRISMATIC;
    const bool bounded = joint.limits && joint.type != urdf::Joint::CONTINUOUS;
    arm_.lower[i] = bounded ? joint.limits->lower : -kInfinity;
    arm_.upper[i] = bounded ? joint.limits->upper : kInfinity;
    arm_.home[i] = std::clamp(0.0, arm_.lower[i], arm_.upper[i]);
    arm_.effort[i] = joint.limits ? joint.limits->effort : 0.0;
    const bool fast = !joint.limits || joint.limits->velocity <= 0.0;
    arm_.velocity[i] = fast ? kInfinity : joint.limits->velocity;
    arm_.acceleration[i] = arm_.effort_rate[i] = kInfinity;
    if (fast) {notes_.push_back("joint " + joint.name + " has no velocity limit");}
  }

  urdf::Model model_;
  Arm arm_;
  Rows turn_ = kIdentity;  // from the axes of the last joint's link to those of the chain's
  std::vector<std::pair<std::string, Pose>> tools_;  // the last link and those fixed to it
  std::vector<std::string> notes_;
};
}  // namespace

Arm arm_from_urdf(
  const std::string & urdf, const std::vector<std::string> & joints, const std::string & flange,
  std::vector<std::string> & notes)
{
  return Reader(urdf, joints).arm(flange, notes);
}

}  // namespace franka_dynamics_controllers
