// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// vectors_test FILE: plays the scripted events of FILE to this package, and compares its torques and
// states with those that the Python controller had. Prints the number of cycles and the largest
// difference of a torque [N m]; exit status 1 if an answer or a state differs, or a torque by more
// than 1e-9 N m.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "@NAME@/inbox.hpp"

using namespace @NAME@;

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
  void numbers(Array & values)
  {
    for (double & value : values) {
      value = number();
    }
  }

  std::vector<double> rest()
  {
    std::vector<double> values(words_.size() - next_);
    numbers(values);
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

Settings read_settings(Row & row)
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
  settings.scale = row.number();
  row.numbers(settings.gravity_vector);
  row.numbers(settings.payload);
  row.numbers(settings.kp);
  row.numbers(settings.kd);
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
int play(const char * path, int & cycles, double & largest)
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
      feedforward = std::make_unique<Feedforward>();
      inbox = std::make_unique<Inbox>();
    } else if (kind == "settings") {
      const Settings settings = read_settings(row);
      const char * wrong = feedforward->configure(settings);
      wrong = wrong ? wrong : inbox->configure(settings.command, kCommandTimeoutS);
      if (wrong) {
        return differs(number, "the refusal", wrong, "none");
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
      row.numbers(reference.q);
      row.numbers(reference.dq);
      row.numbers(reference.ddq);
      given = true;
    } else if (kind == "brake") {
      feedforward->brake();
    } else if (kind == "cycle") {
      const double elapsed = row.number();
      Vector q, dq, expected, tau{};
      row.numbers(q);
      row.numbers(dq);
      const std::string state = row.word();
      row.numbers(expected);
      const Reference * command = inbox->current(elapsed);
      feedforward->cycle(elapsed, &q, &dq, given ? &reference : command, tau);
      given = false;
      ++cycles;
      const std::string ours = kStateWords[static_cast<std::size_t>(feedforward->state())];
      if (ours != state) {
        return differs(number, "the state", ours, state);
      }
      for (std::size_t i = 0; i < kJoints; ++i) {
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

int main(int argc, char ** argv)
{
  int cycles = 0;
  double largest = 0.0;
  const int different = play(argc > 1 ? argv[1] : "", cycles, largest);
  std::printf("%d cycles, largest difference %.3g N m\n", cycles, largest);
  return different;
}
