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

#include "franka_dynamics_controllers/settings.hpp"

namespace franka_dynamics_controllers
{

namespace
{
using Type = urdf::Joint;

constexpr double kMaxReachM = 20.0;  // more than any arm's on Earth

Pose pose(const urdf::Pose & given)
{
  const auto & [x, y, z, w] = given.rotation;
  return {{Three{1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)},
    Three{2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)},
    Three{2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)}},
    {given.position.x, given.position.y, given.position.z}};
}

/// A rotation whose third column is the direction of an axis.
Rows along(const urdf::Vector3 & axis)
{
  const auto unit = [](const Three & a) {return 1.0 / std::sqrt(dot(a, a)) * a;};
  const Three z = unit({axis.x, axis.y, axis.z});
  const Three y = unit(cross(z, std::abs(z.x) < 0.5 ? Three{1.0, 0.0, 0.0} : Three{0.0, 1.0, 0.0}));
  return transposed({cross(y, z), y, z});
}

/// Whether a name ends in these words.
bool ends_with(const std::string & name, const std::string & words)
{
  const auto rest = static_cast<std::ptrdiff_t>(name.size()) - static_cast<std::ptrdiff_t>(words.size());
  return rest >= 0 && std::equal(words.begin(), words.end(), name.begin() + rest) &&
         (rest == 0 || !std::isalnum(static_cast<unsigned char>(name[static_cast<std::size_t>(rest) - 1])));
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

class Reader
{
public:
  Reader(const std::string & text, const std::vector<std::string> & names)
  {
    if (text.empty()) {throw error("there is none yet; give an arm_file, or publish it");}
    if (!model_.initString(text)) {
      throw error("it is no URDF that urdfdom can read, for the reason that it printed above");
    }
    arm_.name = model_.getName();
    arm_.joints = names;
    require_inertias(text);
    require_chain();
    arm_.chain.n = names.size();
    walk(*model_.getRoot(), Pose{}, 0, true);
  }

  Arm arm(const std::string & flange, std::vector<std::string> & notes)
  {
    const std::string last = "link" + std::to_string(arm_.n() + 1);
    std::string found = flange;
    for (const std::string & words : {std::string("tool0"), std::string("attachment_site"),
        std::string("end_effector_link"), std::string("link_ee"), std::string("link_eef"), last,
        std::string("flange")})
    {
      for (const auto & tool : tools_) {
        if (found.empty() && ends_with(tool.first, words)) {found = tool.first;}
      }
    }
    found = found.empty() ? tools_.front().first : found;
    const auto at = std::find_if(
      tools_.begin(), tools_.end(), [&](const auto & tool) {return tool.first == found;});
    if (at == tools_.end()) {throw error("link " + found + " is not fixed to the last link");}
    arm_.flange = at->second;
    if (const std::string reason = refuse(arm_); !reason.empty()) {throw error(reason);}
    notes = notes_;
    for (std::size_t i = 0; i < arm_.n(); ++i) {
      if (arm_.chain.links[i].body.mass == 0.0) {notes.push_back(arm_.joints[i] + " moves no mass");}
    }
    notes.push_back("a payload is given in the frame of " + found);
    notes.emplace_back("a URDF has no friction, rated load, limits of acceleration and torque rate");
    return arm_;
  }

private:
  static std::runtime_error error(const std::string & problem)
  {
    return std::runtime_error("robot_description: " + problem.substr(0, 600));
  }

  const Type & joint(const std::string & name) const
  {
    const auto found = model_.getJoint(name);
    if (!found) {throw error("there is no joint " + name);}
    return *found;
  }

  /// urdfdom reads an inertia with a missing or infinite number as zeros.
  void require_inertias(const std::string & text) const
  {
    tinyxml2::XMLDocument document;
    document.Parse(text.c_str());
    const auto * const robot = document.FirstChildElement("robot");
    const auto * one = robot ? robot->FirstChildElement("link") : nullptr;
    for (; one; one = one->NextSiblingElement("link")) {
      const auto * const inertial = one->FirstChildElement("inertial");
      const auto & read = model_.getLink(one->Attribute("name"))->inertial;
      if (!inertial) {continue;}
      const auto * const mass = inertial->FirstChildElement("mass");
      const auto * const inertia = inertial->FirstChildElement("inertia");
      if (!read || number(mass, "value") != read->mass || number(inertia, "ixx") != read->ixx ||
        number(inertia, "iyy") != read->iyy || number(inertia, "izz") != read->izz)
      {
        throw error(std::string("the inertia of link ") + one->Attribute("name") +
                " is not complete, or not finite");
      }
    }
  }

  /// The moving joints from the root to the last one must be the arm's.
  void require_chain() const
  {
    if (arm_.joints.empty() || arm_.joints.size() > kMaxJoints) {throw error(refuse(arm_));}
    for (const std::string & name : arm_.joints) {joint(name);}
    std::vector<std::string> moving;
    auto link = model_.getLink(joint(arm_.joints.back()).child_link_name);
    for (std::size_t count = 0; link->parent_joint; link = link->getParent()) {
      require_tree(++count);
      const Type & one = *link->parent_joint;
      if (one.type == Type::FIXED) {continue;}
      const bool single = one.type == Type::REVOLUTE || one.type == Type::CONTINUOUS ||
        one.type == Type::PRISMATIC;
      if (!single || one.mimic || (one.axis.x == 0.0 && one.axis.y == 0.0 && one.axis.z == 0.0)) {
        throw error("joint " + one.name + " does not turn or slide along an axis of its own");
      }
      moving.insert(moving.begin(), one.name);
    }
    if (moving != arm_.joints) {
      std::string listed = moving.front();
      for (std::size_t i = 1; i < moving.size(); ++i) {listed.append(", ").append(moving[i]);}
      throw error("the moving joints from the root to " + arm_.joints.back() + " are " + listed +
              "; the parameter joints must name all of them in this order (of an arm on a moving "
              "base take an arm_file)");
    }
  }

  void require_near(const Three & p, const std::string & what) const
  {
    if (!(std::hypot(p.x, p.y, p.z) <= kMaxReachM)) {
      throw error(what + " is " + written(std::hypot(p.x, p.y, p.z)) +
              " m from the joint before it; are these millimetres?");
    }
  }

  /// A link is met once on any way through a tree.
  void require_tree(std::size_t links) const
  {
    if (links > model_.links_.size()) {throw error("its links form a loop, or have two parents");}
  }

  /// Where a joint that the arm carries is held: at zero, or at its limit nearest to it.
  double held(const Type & one) const
  {
    const auto & arm = arm_.joints;
    if (one.type == Type::FLOATING || one.type == Type::PLANAR ||
      (one.mimic && std::find(arm.begin(), arm.end(), one.mimic->joint_name) != arm.end()))
    {
      throw error("joint " + one.name + ", which the arm carries, cannot be held");
    }
    const Type & driver = one.mimic ? joint(one.mimic->joint_name) : one;
    const bool limited = driver.limits && driver.limits->lower <= driver.limits->upper;
    const double q = limited ? std::clamp(0.0, driver.limits->lower, driver.limits->upper) : 0.0;
    return one.mimic ? one.mimic->multiplier * q + one.mimic->offset : q;
  }

  /// Add a link and what it carries to the link that the joint before `next` moves, in whose frame
  /// it has the pose `at`. `fixed`: whether only fixed joints are between them.
  void walk(const urdf::Link & link, const Pose & at, std::size_t next, bool fixed)
  {
    require_tree(++visited_);
    if (next == arm_.n() && fixed) {tools_.emplace_back(link.name, at);}
    if (next > 0 && link.inertial) {
      const auto & [origin, mass, xx, xy, xz, yy, yz, zz] = *link.inertial;
      const Rows inertia = symmetric({xx, xy, xz, yy, yz, zz});
      const Body at_centre{mass, {}, inertia};
      if (!is_real(at_centre)) {
        throw error("link " + link.name + " has a mass and an inertia that no real body has");
      }
      const Pose centre = at * pose(origin);
      require_near(centre.position, "the centre of mass of link " + link.name);
      Body & body = arm_.chain.links[next - 1].body;
      body = body + centre * at_centre;
    }
    for (const auto & one : link.child_joints) {
      const urdf::Link & child = *model_.getLink(one->child_link_name);
      const Pose origin = at * pose(one->parent_to_joint_origin_transform);
      if (next > 0) {require_near(origin.position, "joint " + one->name);}
      const bool moves = one->type != Type::FIXED;
      if (next < arm_.n() && one->name == arm_.joints[next]) {
        if (next == 0) {arm_.mount = at.rotation;}
        add_joint(*one, next);
        Link & moved = arm_.chain.links[next];
        const Rows turn = along(one->axis);
        moved.placement = origin * Pose{turn, {}};
        walk(child, Pose{transposed(turn), {}}, next + 1, true);
      } else if (!moves) {
        walk(child, origin, next, fixed);
      } else if (next > 0) {
        const double q = held(*one);
        notes_.push_back("joint " + one->name + " is held at " + written(q));
        const Rows turn = along(one->axis);
        const Link carried{one->type == Type::PRISMATIC, origin * Pose{turn, {}}, {}, 0.0};
        walk(child, carried.at(q) * Pose{transposed(turn), {}}, next, false);
      }
    }
  }

  void add_joint(const Type & one, std::size_t i)
  {
    const urdf::JointLimits limits = one.limits ? *one.limits : urdf::JointLimits();
    arm_.chain.links[i].prismatic = one.type == Type::PRISMATIC;
    arm_.velocity[i] = arm_.acceleration[i] = arm_.effort_rate[i] = arm_.upper[i] = kInfinity;
    arm_.lower[i] = -kInfinity;
    arm_.effort[i] = limits.effort;
    if (one.limits && one.type != Type::CONTINUOUS) {
      arm_.lower[i] = limits.lower;
      arm_.upper[i] = limits.upper;
    }
    arm_.home[i] = std::min(std::max(0.0, arm_.lower[i]), arm_.upper[i]);
    if (limits.velocity != 0.0) {
      arm_.velocity[i] = limits.velocity;
    } else {
      notes_.push_back("joint " + one.name + " has no velocity limit");
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

}  // namespace franka_dynamics_controllers
