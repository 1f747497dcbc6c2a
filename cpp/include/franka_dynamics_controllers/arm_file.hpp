// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// Reads the arm that `franka-dynamics arm export --format controller` writes: YAML of keys, each
// with words and numbers in brackets or in rows that begin with a dash.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "franka_dynamics_controllers/arm.hpp"

namespace franka_dynamics_controllers
{

// The numbers in a row of the file, in its order. Of a pose: the rotation by rows, the position.
// Of a body: mass, first moment, inertia xx, xy, xz, yy, yz, zz. Of a link: whether its joint is
// prismatic, the joint's placement, the link's body, the rotor inertia.
constexpr std::size_t kNumbersPerPose = 12;
constexpr std::size_t kNumbersPerBody = 10;
constexpr std::size_t kPlaceOfPose = 1;
constexpr std::size_t kPlaceOfBody = kPlaceOfPose + kNumbersPerPose;
constexpr std::size_t kPlaceOfRotor = kPlaceOfBody + kNumbersPerBody;
constexpr std::size_t kNumbersPerLink = kPlaceOfRotor + 1;

/// The words of a file by their keys, which are taken one by one. What is missing, twice or of the
/// wrong size throws std::runtime_error with a sentence that names file and key.
class ArmFile
{
public:
  explicit ArmFile(std::string path)
  : path_(std::move(path))
  {
    std::ifstream file(path_);
    if (!file) {
      throw error("cannot be opened");
    }
    std::string key;
    for (std::string line; std::getline(file, line); ) {
      line.erase(std::min(line.find('#'), line.size()));
      const auto separates = [](char c) {return std::strchr("[],'\"", c) != nullptr;};
      std::replace_if(line.begin(), line.end(), separates, ' ');
      std::istringstream words(line);
      for (std::string word; words >> word; ) {
        const bool is_key = word.size() > 1 && word.back() == ':';
        if (is_key) {
          key = word.substr(0, word.size() - 1);
          const bool is_new = words_.try_emplace(key).second;
          if (!is_new) {
            throw error("has " + key + " twice");
          }
        } else if (word != "-") {
          words_[key].push_back(word);
        }
      }
    }
  }

  /// The words of a key, which is taken.
  std::vector<std::string> words(const std::string & key)
  {
    const auto found = words_.extract(key);
    if (found.empty() || found.mapped().empty()) {
      throw error("has no " + key);
    }
    return found.mapped();
  }

  /// The only word of a key, which is taken.
  std::string word(const std::string & key)
  {
    const auto found = words(key);
    if (found.size() > 1) {
      throw error(key + " has more than one word");
    }
    return found[0];
  }

  /// The numbers of a key, which is taken; they may be infinite if `unlimited`.
  std::vector<double> numbers(const std::string & key, std::size_t count, bool unlimited = false)
  {
    std::vector<double> numbers;
    for (const std::string & word : words(key)) {
      numbers.push_back(number(key, word, unlimited));
    }
    if (numbers.size() != count) {
      throw error(key + " has " + std::to_string(numbers.size()) + " numbers instead of " +
              std::to_string(count));
    }
    return numbers;
  }

  bool has(const std::string & key) const {return words_.count(key) > 0;}

  /// Throw if a key was not taken.
  void finish() const
  {
    if (!words_.empty()) {
      throw error("has " + words_.begin()->first + ", which no arm has");
    }
  }

  std::runtime_error error(const std::string & problem) const
  {
    return std::runtime_error(
      path_ + ": " + problem.substr(0, 200) +
      "; write it by franka-dynamics arm export --format controller");
  }

private:
  double number(const std::string & key, const std::string & word, bool unlimited) const
  {
    if (unlimited && word == ".inf") {
      return kInfinity;
    }
    if (unlimited && word == "-.inf") {
      return -kInfinity;
    }
    double number = 0.0;
    const char * const end = word.data() + word.size();
    const auto [rest, problem] = std::from_chars(word.data(), end, number);
    const bool read = rest == end && problem == std::errc{} && std::isfinite(number);
    if (read && (unlimited || std::abs(number) <= kMostOfAnArm)) {
      return number;
    }
    throw error(key + " has " + word + ", which is no number of an arm");
  }

  std::string path_;
  std::map<std::string, std::vector<std::string>> words_;
};

/// Read the friction of n joints.
inline FrictionModel friction_from_file(ArmFile & file, std::size_t n)
{
  using Kind = FrictionModel::Kind;
  FrictionModel model;
  const std::string kind = file.word("friction");
  if (kind == "none") {
    return model;
  }
  const auto require = [&file](bool holds) {
      if (!holds) {
        throw file.error("has a friction that no joint has");
      }
    };
  model.kind = kind == "sigmoid" ? Kind::sigmoid : Kind::linear;
  model.width = file.numbers("friction_width", 1)[0];
  const double elements = file.numbers("friction_elements", 1)[0];
  const double most = kind == "linear" ? static_cast<double>(FrictionModel::kMaxElements) : 0.0;
  require((kind == "linear" || kind == "sigmoid") && model.width > 0.0);
  require(elements >= 0.0 && elements <= most && elements == std::floor(elements));
  model.elements = static_cast<std::size_t>(elements);
  if (model.elements > 0) {
    const auto reach = file.numbers("friction_reach", model.elements);
    require(std::all_of(reach.begin(), reach.end(), [](double one) {return one > 0.0;}));
    std::copy(reach.begin(), reach.end(), model.reach.begin());
  }
  if (file.has("friction_stribeck_speed")) {  // written only if friction falls with speed
    model.stribeck_speed = file.numbers("friction_stribeck_speed", 1)[0];
    require(kind == "linear" && model.stribeck_speed > 0.0);
    model.falls_with_speed = true;
  }
  if (file.has("friction_grows_with_load")) {  // written only if it does
    const double grows = file.numbers("friction_grows_with_load", 1)[0];
    require(grows == 0.0 || (grows == 1.0 && kind == "linear"));
    model.grows_with_load = grows == 1.0;
  }
  const std::size_t m = model.count();
  const auto rows = file.numbers("friction_coefficients", n * m);
  const auto covariance = file.numbers("friction_covariance", n * m * m);
  for (std::size_t k = 0; k < covariance.size(); ++k) {
    const std::size_t joint = k / (m * m);
    const std::size_t row = k / m % m;
    const std::size_t column = k % m;
    require(row != column || covariance[k] >= 0.0);
    model.covariance[joint][row][column] = covariance[k];
    model.coefficients[joint][column] = rows[joint * m + column];
  }
  for (std::size_t i = 0; i < n; ++i) {
    model.receiver_offset[i] = rows[i * m + FrictionModel::kOffset];
  }
  if (file.has("friction_receiver_offset")) {  // written only if it is another
    require(kind == "linear");
    const auto offset = file.numbers("friction_receiver_offset", n);
    std::copy(offset.begin(), offset.end(), model.receiver_offset.begin());
  }
  for (std::size_t i = 0; model.grows_with_load && i < n; ++i) {
    const double of_load = rows[i * m + m - 1];
    require(of_load >= 0.0 && of_load < 1.0);
  }
  return model;
}

/// Read an arm from a file. Throws std::runtime_error with a sentence about what is wrong.
inline Arm arm_from_file(const std::string & path)
{
  ArmFile file(path);
  Arm arm;
  arm.name = file.word("name");
  arm.joints = file.words("joints");
  const std::size_t n = std::min(arm.joints.size(), kMaxJoints);
  arm.chain.n = n;
  const auto pose = [](const double * x) {
      return Pose{{Three{x[0], x[1], x[2]}, Three{x[3], x[4], x[5]}, Three{x[6], x[7], x[8]}},
        {x[9], x[10], x[11]}};
    };
  const auto body = [](const double * x) {
      return Body{x[0], {x[1], x[2], x[3]}, symmetric({x[4], x[5], x[6], x[7], x[8], x[9]})};
    };
  const std::vector<double> links = file.numbers("links", kNumbersPerLink * n);
  const std::array<Vector *, 7> limit_order{&arm.lower, &arm.upper, &arm.velocity,
    &arm.acceleration, &arm.effort, &arm.effort_rate, &arm.home};
  const std::vector<double> limits = file.numbers("limits", limit_order.size() * n, true);
  for (std::size_t i = 0; i < n; ++i) {
    const double * const row = &links[kNumbersPerLink * i];
    if (row[0] != 0.0 && row[0] != 1.0) {
      throw file.error("links has a joint of a third kind");
    }
    Link & link = arm.chain.links[i];
    link.prismatic = row[0] == 1.0;
    link.placement = pose(row + kPlaceOfPose);
    link.body = body(row + kPlaceOfBody);
    link.rotor_inertia = row[kPlaceOfRotor];
    for (std::size_t k = 0; k < limit_order.size(); ++k) {
      (*limit_order[k])[i] = limits[limit_order.size() * i + k];
    }
  }
  arm.flange = pose(file.numbers("flange", kNumbersPerPose).data());
  arm.payload = body(file.numbers("payload", kNumbersPerBody).data());
  arm.mount = pose(file.numbers("mount", kNumbersPerPose).data()).rotation;
  arm.rated_load = file.numbers("rated_load", 1, true)[0];
  arm.friction = friction_from_file(file, n);
  set_least_stiction(arm);
  if (file.has("stiction")) {  // a file of an earlier version has none
    const std::vector<double> stiction = file.numbers("stiction", n);
    for (std::size_t i = 0; i < n; ++i) {
      arm.stiction[i] = std::max(arm.stiction[i], stiction[i]);
    }
  }
  file.finish();
  if (const std::string reason = refuse(arm); !reason.empty()) {
    throw file.error(reason);
  }
  return arm;
}

}  // namespace franka_dynamics_controllers
