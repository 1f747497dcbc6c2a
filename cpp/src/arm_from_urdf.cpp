// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
#include "franka_dynamics_controllers/arm_from_urdf.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <locale>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "tinyxml2.h"
#include "urdf/model.h"

#include "franka_dynamics_controllers/text.hpp"

namespace franka_dynamics_controllers
{

namespace
{
using UrdfJoint = urdf::Joint;

constexpr double kMaxReachM = 20.0;  // more than any arm's on Earth
// Endings of a flange's name; the first one that a link has counts, and before the last one that of
// Franka's link n + 1.
const std::vector<std::string> kFlangeNameEndings{
  "tool0", "attachment_site", "end_effector_link", "link_ee", "link_eef"};

Pose pose(const urdf::Pose & given)
{
  const auto & [x, y, z, w] = given.rotation;
  return {{Three{1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)},
    Three{2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)},
    Three{2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)}},
    {given.position.x, given.position.y, given.position.z}};
}

/// Whether an axis has a direction: its length is neither zero nor beyond what squares can hold.
bool has_direction(const urdf::Vector3 & axis)
{
  const double square = axis.x * axis.x + axis.y * axis.y + axis.z * axis.z;
  return square > 0.0 && std::isfinite(square);
}

Three unit(const Three & a)
{
  return 1.0 / std::sqrt(dot(a, a)) * a;
}

/// A rotation whose third column is the direction of an axis.
Rows rotation_to_axis(const urdf::Vector3 & axis)
{
  const Three z = unit({axis.x, axis.y, axis.z});
  const Three helper = std::abs(z.x) < 0.5 ? Three{1.0, 0.0, 0.0} : Three{0.0, 1.0, 0.0};
  const Three y = unit(cross(z, helper));
  return transposed({cross(y, z), y, z});
}

/// Names, separated by commas; "none" without any.
std::string listed(const std::vector<std::string> & names)
{
  std::string text;
  for (const std::string & name : names) {
    text.append(text.empty() ? "" : ", ").append(name);
  }
  return text.empty() ? "none" : text;
}

/// Whether a name ends in these words, and no letter or digit stands before them.
bool ends_with(const std::string & name, const std::string & words)
{
  if (name.size() < words.size()) {
    return false;
  }
  const std::size_t begin = name.size() - words.size();
  if (name.compare(begin, words.size(), words) != 0) {
    return false;
  }
  return begin == 0 || !std::isalnum(static_cast<unsigned char>(name[begin - 1]));
}

/// An attribute that is a finite number, or else NaN.
double number(const tinyxml2::XMLElement * element, const char * attribute)
{
  const char * const text = element ? element->Attribute(attribute) : nullptr;
  std::istringstream words(text ? text : "");
  words.imbue(std::locale::classic());
  double found = 0.0;
  return words >> found ? found : std::nan("");
}

/// Reads the arm with the named joints in a URDF. Throws std::runtime_error with a sentence about
/// what is wrong.
class Reader
{
public:
  Reader(const std::string & text, const std::vector<std::string> & names)
  {
    if (text.empty()) {
      throw error("there is none yet; give an arm_file, or publish it");
    }
    if (!model_.initString(text)) {
      throw error("it is no URDF that urdfdom can read, for the reason that it printed above");
    }
    arm_.name = model_.getName();
    arm_.joints = names;
    require_inertias(text);
    require_chain();
    arm_.chain.n = names.size();
    add_link(*model_.getRoot(), Place{Pose{}, 0, true});
  }

  /// The arm, with its flange at the named link or, with '', at the link that has a flange's name.
  Arm arm(const std::string & flange, std::vector<std::string> & notes)
  {
    const std::string name = flange.empty() ? flange_name() : flange;
    const auto tool = std::find_if(
      tools_.begin(), tools_.end(), [&name](const auto & one) {return one.first == name;});
    if (tool == tools_.end()) {
      throw error("link " + name + " is not fixed to the last link");
    }
    arm_.flange = tool->second;
    if (const std::string reason = refuse(arm_); !reason.empty()) {
      throw error(reason);
    }
    set_least_stiction(arm_);
    notes = notes_;
    for (std::size_t i = 0; i < arm_.n(); ++i) {
      const bool moves_mass = arm_.chain.links[i].body.mass != 0.0;
      if (!moves_mass) {
        notes.push_back(arm_.joints[i] + " moves no mass");
      }
    }
    notes.push_back("a payload is given in the frame of " + name);
    notes.emplace_back(
      "a URDF has no friction, rated load, limits of acceleration and torque rate");
    return arm_;
  }

private:
  /// Where a link is: its pose in the frame of the last joint of the arm before it, the number of
  /// the arm's joints before it, and whether only fixed joints are between them.
  struct Place
  {
    Pose pose;
    std::size_t joints_before;
    bool is_fixed;
  };

  static std::runtime_error error(const std::string & problem)
  {
    return std::runtime_error("robot_description: " + problem.substr(0, 600));
  }

  const UrdfJoint & joint(const std::string & name) const
  {
    const auto found = model_.getJoint(name);
    if (!found) {
      throw error("there is no joint " + name);
    }
    return *found;
  }

  /// urdfdom reads an inertia with a missing or infinite number as zeros.
  void require_inertias(const std::string & text) const
  {
    tinyxml2::XMLDocument document;
    document.Parse(text.c_str());
    const auto * const robot = document.FirstChildElement("robot");
    const auto * link = robot ? robot->FirstChildElement("link") : nullptr;
    for (; link; link = link->NextSiblingElement("link")) {
      const auto * const inertial = link->FirstChildElement("inertial");
      const auto & read = model_.getLink(link->Attribute("name"))->inertial;
      if (!inertial) {
        continue;
      }
      const auto * const mass = inertial->FirstChildElement("mass");
      const auto * const inertia = inertial->FirstChildElement("inertia");
      if (!read || number(mass, "value") != read->mass || number(inertia, "ixx") != read->ixx ||
        number(inertia, "iyy") != read->iyy || number(inertia, "izz") != read->izz)
      {
        throw error(std::string("the inertia of link ") + link->Attribute("name") +
                " is not complete, or not finite");
      }
    }
  }

  /// The moving joints from the root to the last one must be the arm's.
  void require_chain() const
  {
    if (arm_.joints.empty() || arm_.joints.size() > kMaxJoints) {
      throw error(refuse(arm_));
    }
    for (const std::string & name : arm_.joints) {
      joint(name);
    }
    std::vector<std::string> moving;
    auto link = model_.getLink(joint(arm_.joints.back()).child_link_name);
    for (std::size_t count = 0; link->parent_joint; link = link->getParent()) {
      require_tree(++count);
      const UrdfJoint & before = *link->parent_joint;
      if (before.type == UrdfJoint::FIXED) {
        continue;
      }
      const bool has_one_axis = before.type == UrdfJoint::REVOLUTE ||
        before.type == UrdfJoint::CONTINUOUS || before.type == UrdfJoint::PRISMATIC;
      if (!has_one_axis || before.mimic || !has_direction(before.axis)) {
        throw error("joint " + before.name + " does not turn or slide along an axis of its own");
      }
      moving.insert(moving.begin(), before.name);
    }
    if (moving != arm_.joints) {
      throw error("the moving joints from the root to " + arm_.joints.back() + " are " +
              listed(moving) + "; the parameter joints must name all of them in this order (of an "
              "arm on a moving base take an arm_file)");
    }
  }

  void require_near(const Three & p, const std::string & what) const
  {
    if (!(std::hypot(p.x, p.y, p.z) <= kMaxReachM)) {
      throw error(what + " is " + as_text(std::hypot(p.x, p.y, p.z)) +
              " m from the joint before it; are these millimetres?");
    }
  }

  /// A link is met once on any way through a tree.
  void require_tree(std::size_t links) const
  {
    if (links > model_.links_.size()) {
      throw error("its links form a loop, or have two parents");
    }
  }

  /// Where a joint that the arm carries is held: at zero, or at its limit nearest to it.
  double held_position(const UrdfJoint & carried) const
  {
    const auto & arm = arm_.joints;
    const bool follows_arm = carried.mimic &&
      std::find(arm.begin(), arm.end(), carried.mimic->joint_name) != arm.end();
    const bool has_one_axis =
      carried.type != UrdfJoint::FLOATING && carried.type != UrdfJoint::PLANAR;
    if (follows_arm || !has_one_axis) {
      throw error("joint " + carried.name + ", which the arm carries, cannot be held");
    }
    if (!has_direction(carried.axis)) {
      throw error(
              "joint " + carried.name + ", which the arm carries, has an axis without direction");
    }
    const UrdfJoint & leader = carried.mimic ? joint(carried.mimic->joint_name) : carried;
    const bool is_limited = leader.limits && leader.limits->lower <= leader.limits->upper;
    const double q =
      is_limited ? std::clamp(0.0, leader.limits->lower, leader.limits->upper) : 0.0;
    return carried.mimic ? carried.mimic->multiplier * q + carried.mimic->offset : q;
  }

  /// Add a link's mass, and then the links that it carries.
  void add_link(const urdf::Link & link, const Place & place)
  {
    require_tree(++visited_);
    if (place.joints_before == arm_.n() && place.is_fixed) {
      tools_.emplace_back(link.name, place.pose);
    }
    if (place.joints_before > 0 && link.inertial) {
      add_mass(link, place);
    }
    for (const auto & child : link.child_joints) {
      const Pose origin = place.pose * pose(child->parent_to_joint_origin_transform);
      if (place.joints_before > 0) {
        require_near(origin.position, "joint " + child->name);
      }
      if (place.joints_before < arm_.n() && child->name == arm_.joints[place.joints_before]) {
        follow_arm_joint(*child, origin, place);
      } else if (child->type == UrdfJoint::FIXED) {
        add_link(child_link(*child), Place{origin, place.joints_before, place.is_fixed});
      } else if (place.joints_before > 0) {
        hold_carried_joint(*child, origin, place);
      }  // else a joint beside the arm
    }
  }

  /// Add a link's mass and inertia to the body that the last joint of the arm before it moves.
  void add_mass(const urdf::Link & link, const Place & place)
  {
    const auto & [origin, mass, xx, xy, xz, yy, yz, zz] = *link.inertial;
    const Body at_centre{mass, {}, symmetric({xx, xy, xz, yy, yz, zz})};
    if (!is_real(at_centre)) {
      throw error("link " + link.name + " has a mass and an inertia that no real body has");
    }
    const Pose centre = place.pose * pose(origin);
    require_near(centre.position, "the centre of mass of link " + link.name);
    Body & body = arm_.chain.links[place.joints_before - 1].body;
    body = body + centre * at_centre;
  }

  /// Add the next joint of the arm, and the link that it moves.
  void follow_arm_joint(const UrdfJoint & next, const Pose & origin, const Place & place)
  {
    const std::size_t i = place.joints_before;
    if (i == 0) {
      arm_.mount = place.pose.rotation;
    }
    add_joint(next, i);
    const Rows to_axis = rotation_to_axis(next.axis);
    arm_.chain.links[i].placement = origin * Pose{to_axis, {}};
    add_link(child_link(next), Place{Pose{transposed(to_axis), {}}, i + 1, true});
  }

  /// Add the link that a joint moves which the arm carries and which is held.
  void hold_carried_joint(const UrdfJoint & carried, const Pose & origin, const Place & place)
  {
    const double q = held_position(carried);
    notes_.push_back("joint " + carried.name + " is held at " + as_text(q));
    const Rows to_axis = rotation_to_axis(carried.axis);
    const Link moving{
      carried.type == UrdfJoint::PRISMATIC, origin * Pose{to_axis, {}}, {}, 0.0};
    const Pose child_pose = moving.at(q) * Pose{transposed(to_axis), {}};
    add_link(child_link(carried), Place{child_pose, place.joints_before, false});
  }

  const urdf::Link & child_link(const UrdfJoint & joint) const
  {
    return *model_.getLink(joint.child_link_name);
  }

  /// The last link, or one that is fixed to it and has a flange's name.
  std::string flange_name() const
  {
    std::vector<std::string> endings = kFlangeNameEndings;
    endings.push_back("link" + std::to_string(arm_.n() + 1));
    endings.emplace_back("flange");
    for (const std::string & ending : endings) {
      for (const auto & [name, pose_in_last_joint] : tools_) {
        if (ends_with(name, ending)) {
          return name;
        }
      }
    }
    return tools_.front().first;
  }

  /// Take the kind and the limits of the arm's joint i from the URDF.
  void add_joint(const UrdfJoint & joint, std::size_t i)
  {
    const urdf::JointLimits limits = joint.limits ? *joint.limits : urdf::JointLimits();
    arm_.chain.links[i].prismatic = joint.type == UrdfJoint::PRISMATIC;
    arm_.lower[i] = -kInfinity;
    arm_.upper[i] = kInfinity;
    arm_.velocity[i] = kInfinity;
    arm_.acceleration[i] = kInfinity;
    arm_.effort_rate[i] = kInfinity;
    arm_.effort[i] = limits.effort;
    if (joint.limits && joint.type != UrdfJoint::CONTINUOUS) {
      arm_.lower[i] = limits.lower;
      arm_.upper[i] = limits.upper;
    }
    arm_.home[i] = std::min(std::max(0.0, arm_.lower[i]), arm_.upper[i]);
    if (limits.velocity != 0.0) {
      arm_.velocity[i] = limits.velocity;
    } else {
      notes_.push_back("joint " + joint.name + " has no velocity limit");
    }
  }

  urdf::Model model_;
  Arm arm_;
  std::vector<std::pair<std::string, Pose>> tools_;  // the last link and those fixed to it
  std::vector<std::string> notes_;
  std::size_t visited_ = 0;  // links
};
}  // namespace

Arm arm_from_urdf(
  const std::string & urdf, const std::vector<std::string> & joints, const std::string & flange,
  std::vector<std::string> & notes)
{
  return Reader(urdf, joints).arm(flange, notes);
}

bool has_effort_states(const std::string & urdf, const std::vector<std::string> & joints)
{
  tinyxml2::XMLDocument document;
  if (document.Parse(urdf.c_str(), urdf.size()) != tinyxml2::XML_SUCCESS) {
    return false;
  }
  const tinyxml2::XMLElement * const robot = document.FirstChildElement("robot");
  std::vector<std::string> found;
  const auto next = [](const tinyxml2::XMLElement * element, const char * name) {
      return element ? element->NextSiblingElement(name) : nullptr;
    };
  const auto first = [](const tinyxml2::XMLElement * element, const char * name) {
      return element ? element->FirstChildElement(name) : nullptr;
    };
  for (auto part = first(robot, "ros2_control"); part; part = next(part, "ros2_control")) {
    for (auto joint = first(part, "joint"); joint; joint = next(joint, "joint")) {
      for (auto state = first(joint, "state_interface"); state;
        state = next(state, "state_interface"))
      {
        const char * const kind = state->Attribute("name");
        const char * const name = joint->Attribute("name");
        if (kind && name && kind == std::string("effort")) {
          found.emplace_back(name);
        }
      }
    }
  }
  return std::all_of(
    joints.begin(), joints.end(), [&found](const std::string & joint) {
      return std::find(found.begin(), found.end(), joint) != found.end();
    });
}

}  // namespace franka_dynamics_controllers
