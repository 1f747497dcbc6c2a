// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// Plays the scripted events of a file by vectors.py to the core, and compares its torques and states
// with those that the Python controller had.
#ifndef VECTORS_PLAYER_HPP_
#define VECTORS_PLAYER_HPP_

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "franka_dynamics_controllers/arm_file.hpp"
#include "franka_dynamics_controllers/inbox.hpp"

using namespace franka_dynamics_controllers;  // NOLINT(google-build-using-namespace)

namespace
{
constexpr double kMostDifference = 1e-9;  // [N m]

/// Reads the columns of a row one after the other.
class Row
{
public:
  explicit Row(const std::string & line) {std::istringstream stream(line); read(stream);}

  const std::string & word() {return words_.at(next_++);}
  double number() {return std::strtod(word().c_str(), nullptr);}

  template<typename Array>
  void numbers(Array & values, std::size_t count)
  {
    for (std::size_t i = 0; i < count; ++i) {
      values[i] = number();
    }
  }

  std::vector<double> rest()
  {
    std::vector<double> values(words_.size() - next_);
    numbers(values, values.size());
    return values;
  }

private:
  void read(std::istringstream & stream)
  {
    for (std::string word; std::getline(stream, word, ','); ) {
      words_.push_back(word);
    }
  }

  std::vector<std::string> words_;
  std::size_t next_ = 0;
};

Settings read_settings(Row & row, std::size_t n)
{
  Settings settings;
  settings.command = row.word() == "motion" ? Command::motion : Command::total_torque;
  const std::string target = row.word();
  for (const Target & one : kTargets) {
    if (one.name == target) {
      settings.target = one;
    }
  }
  settings.friction = row.number() != 0.0;
  settings.payload_known_to_robot = row.number() != 0.0;
  settings.mount_tilt_compensated_by = static_cast<Tilt>(row.number());
  settings.scale = row.number();
  const double x = row.number(), y = row.number();
  settings.gravity_vector = {x, y, row.number()};
  row.numbers(settings.payload, settings.payload.size());
  row.numbers(settings.kp, n);
  row.numbers(settings.kd, n);
  return settings;
}

int differs(int line, const char * what, const std::string & ours, const std::string & expected)
{
  std::fprintf(
    stderr, "line %d: %s is %s, Python's was %s\n", line, what, ours.c_str(), expected.c_str());
  return 1;
}

/// Play a file. Returns 0, or 1 where it differs; counts cycles, and finds the largest difference
/// of a torque.
int play(const Arm & arm, const char * path, int & cycles, double & largest)
{
  std::ifstream file(path);
  std::unique_ptr<Feedforward> feedforward;
  std::unique_ptr<Inbox> inbox;
  Reference reference;
  bool given = false;
  int number = 0;
  for (std::string line; std::getline(file, line); ) {
    ++number;
    Row row(line);
    const std::string kind = row.word();
    if (kind == "begin") {
      feedforward = std::make_unique<Feedforward>(arm);
      inbox.reset();
    } else if (kind == "settings") {
      const Settings settings = read_settings(row, arm.n());
      const std::string wrong = feedforward->configure(settings);
      if (!wrong.empty()) {
        return differs(number, "the refusal", wrong, "none");
      }
      if (!inbox) {
        inbox = std::make_unique<Inbox>(arm, settings.command, kCommandTimeoutS);
      }
    } else if (kind == "message") {
      Inbox::Publisher from{};
      from[0] = static_cast<std::uint8_t>(row.number());
      const std::string expected = row.word();
      const auto values = row.rest();
      const auto answer = inbox->receive(from, values.data(), values.size());
      const std::string ours = kAnswerWords[static_cast<std::size_t>(answer)];
      if (ours != expected) {
        return differs(number, "the answer", ours, expected);
      }
    } else if (kind == "reference") {
      row.numbers(reference.q, arm.n());
      row.numbers(reference.dq, arm.n());
      row.numbers(reference.ddq, arm.n());
      given = true;
    } else if (kind == "brake") {
      feedforward->brake();
    } else if (kind == "cycle") {
      const double elapsed = row.number();
      JointState measured;
      Vector expected{}, tau{};
      row.numbers(measured.q, arm.n());
      row.numbers(measured.dq, arm.n());
      const std::string state = row.word();
      row.numbers(expected, arm.n());
      const Reference * command = inbox->current(elapsed);
      feedforward->cycle(elapsed, &measured, given ? &reference : command, tau);
      given = false;
      ++cycles;
      const std::string ours = kStateWords[static_cast<std::size_t>(feedforward->state())];
      if (ours != state) {
        return differs(number, "the state", ours, state);
      }
      for (std::size_t i = 0; i < arm.n(); ++i) {
        const double difference = std::abs(tau[i] - expected[i]);
        if (!(difference <= kMostDifference)) {
          return differs(number, "a torque", std::to_string(tau[i]), std::to_string(expected[i]));
        }
        largest = std::max(largest, difference);
      }
    }
  }
  return cycles > 0 ? 0 : 1;
}
}  // namespace

#endif  // VECTORS_PLAYER_HPP_
