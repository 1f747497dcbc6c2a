// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// Feeds the core with an arm numbers without sense, for test_core.py.
//
// nonsense SEED CYCLES ARM_FILE -> a line for the core and one for the receiver behind an inbox: how many
// commands came out, and how many of them were not finite, above the torque limit, or further from the
// command before than the rate allows within a cycle.
// nonsense threads COUNT ARM_FILE -> how many commands one thread read while another one wrote them, and how
// many of them were mixed of two.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "franka_dynamics_controllers/arm_file.hpp"
#include "franka_dynamics_controllers/feedforward.hpp"
#include "franka_dynamics_controllers/inbox.hpp"
#include "franka_dynamics_controllers/receiver.hpp"

using namespace franka_dynamics_controllers;  // NOLINT(google-build-using-namespace)

namespace
{
std::mt19937_64 source;
Arm arm;

double uniform(double low, double high)
{
  return std::uniform_real_distribution<double>(low, high)(source);
}

bool one_in(int count) {return std::uniform_int_distribution<int>(1, count)(source) == 1;}

/// `sensible` mostly; else any double, or one of the values that arithmetic goes wrong at.
double number(double sensible, int rare)
{
  if (!one_in(rare)) {
    return sensible;
  }
  const double edges[] = {0.0, -0.0, 1e308, -1e308, 1.7e308, 5e-324, 1e-308, 1e300, -1e154, 1e17,
    std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
    -std::numeric_limits<double>::infinity()};
  constexpr std::size_t count = sizeof edges / sizeof edges[0];
  if (one_in(2)) {
    return edges[source() % count];
  }
  return std::ldexp(uniform(-1.0, 1.0), std::uniform_int_distribution<int>(-1070, 1023)(source));
}

Vector vector(double low, double high, int rare)
{
  Vector values;  // also beyond the arm's joints
  for (double & value : values) {
    value = number(uniform(low, high), rare);
  }
  return values;
}

Vector near(const Vector & centre, double reach, int rare)
{
  Vector values;
  for (std::size_t i = 0; i < kMaxJoints; ++i) {
    values[i] = number(centre[i] + uniform(-reach, reach), rare);
  }
  return values;
}

/// Measured positions near `centre`, which jumps at times to a place within the joints' range.
Vector positions(Vector & centre)
{
  if (one_in(200)) {
    centre = arm.home;
    for (std::size_t i = 0; i < arm.n() && one_in(2); ++i) {
      centre[i] = uniform(arm.lower[i], arm.upper[i]);
    }
  }
  return near(centre, 0.04, 3000);
}

Settings settings()
{
  Settings s;
  s.target = kTargets[source() % std::size(kTargets)];
  const Command commands[] = {Command::motion, Command::torque, Command::law};
  s.guard = one_in(2);
  s.command = commands[source() % std::size(commands)];
  s.coriolis = !one_in(4);
  s.inertia = !one_in(4);
  s.friction = one_in(2);
  s.payload_known_to_robot = one_in(2);
  s.scale = number(uniform(0.0, 1.0), 20);
  s.kp.fill(one_in(2) ? 0.0 : number(uniform(0.0, 100.0), 20));
  s.kd.fill(one_in(2) ? 0.0 : number(uniform(0.0, 10.0), 20));
  if (one_in(2)) {
    s.payload = {number(1.0, 20), 0.0, 0.0, number(0.05, 20), 0.001, 0.0, 0.0, 0.001, 0.0, 0.001};
  }
  s.gravity_vector.x = number(0.0, 20);
  s.gravity_vector.z = number(-9.81, 20);
  return s;
}

/// Looks at what is commanded.
class Judge
{
public:
  void look(const Vector & tau)
  {
    bool finite = true, large = false, fast = false;
    for (std::size_t i = 0; i < arm.n(); ++i) {
      finite = finite && std::isfinite(tau[i]);
      large = large || std::abs(tau[i]) > arm.effort[i];
      const double most = std::min(arm.effort_rate[i], kMaxTorqueRateNmS) * kMaxStepS;
      fast = fast || (known_ && std::abs(tau[i] - before_[i]) > most * (1.0 + 1e-9));
    }
    ++commands_;
    not_finite_ += !finite;
    too_large_ += large;
    too_fast_ += fast;
    before_ = tau;
    known_ = finite;
  }

  /// The next command may be any.
  void forget() {known_ = false;}

  void print() const
  {
    std::printf("%lld %lld %lld %lld\n", commands_, not_finite_, too_large_, too_fast_);
  }

private:
  long long commands_ = 0, not_finite_ = 0, too_large_ = 0, too_fast_ = 0;
  Vector before_{};
  bool known_ = false;
};

/// A loop of its own, which gives the core whatever it likes.
void feed_feedforward(long long cycles)
{
  Feedforward feedforward(arm);
  Judge judge;
  Vector centre = arm.home;
  for (long long k = 0; k < cycles; ++k) {
    if (one_in(1000)) {
      feedforward.restart();
      judge.forget();
    }
    if (one_in(1000)) {
      feedforward.reset();
      judge.forget();
    }
    if (one_in(10)) {feedforward.configure(settings());}
    if (one_in(300)) {feedforward.stop("drawn", static_cast<Stop>(source() % 4));}
    if (one_in(20)) {feedforward.start();}
    const int rare = one_in(2) ? 10 : 100000;
    const Reference reference{{near(arm.home, 0.1, rare), vector(-1.0, 1.0, rare),
        vector(-5.0, 5.0, rare)}, vector(-20.0, 20.0, rare)};
    const Reference * const given = one_in(3) ? nullptr : &reference;
    const JointState state{positions(centre), vector(-1.0, 1.0, 3000)};
    const Vector effort = vector(-20.0, 20.0, 1000);
    Vector tau{};
    if (!feedforward.cycle(
        number(1e-3, 20), one_in(1000) ? nullptr : &state, given, tau, one_in(2) ? &effort : nullptr))
    {
      judge.forget();
    } else {
      judge.look(tau);
    }
  }
  judge.print();
}

/// A receiver that gets messages, as in the controller.
void feed_receiver(long long cycles)
{
  TorqueReceiver receiver(arm);
  auto inbox = std::make_unique<Inbox>(arm, Command::total_torque, 0.05);
  Judge judge;
  Vector centre = arm.home;
  for (long long k = 0; k < cycles; ++k) {
    if (k == 0 || one_in(1000)) {
      receiver.restart();
      Settings given = settings();
      given.command = Command::total_torque;
      receiver.configure(given);
      inbox = std::make_unique<Inbox>(arm, Command::total_torque, number(0.05, 5));
      inbox->forget();
    }
    if (!one_in(20)) {
      const Vector torque = vector(-10.0, 10.0, one_in(2) ? 10 : 100000);
      // Of exactly as many values as it has, so that none beyond them is read unseen.
      std::vector<double> values(torque.begin(), torque.begin() + arm.joints.size());
      if (one_in(20)) {values.resize(source() % (4 * arm.n()));}
      Inbox::Publisher from{};
      from[0] = static_cast<std::uint8_t>(one_in(10) ? source() % 3 : 1);
      inbox->receive(from, values.data(), values.size());
    }
    const double elapsed = number(1e-3, 20);
    const Reference * const given = inbox->current(elapsed);
    if (receiver.state() == ReceiverState::waiting) {judge.forget();}
    const JointState state{positions(centre), vector(-1.0, 1.0, 3000)};
    Vector tau{};
    if (receiver.cycle(elapsed, one_in(5000) ? nullptr : &state, given, tau)) {
      judge.look(tau);
    }
  }
  judge.print();
}

void use_two_threads(int count)
{
  Inbox inbox(arm, Command::torque, 1.0);
  std::thread sender([&inbox, count]() {
      Vector torque;
      for (int k = 0; k < count; ++k) {
        torque.fill(1e-6 * k);
        inbox.receive(Inbox::Publisher{}, torque.data(), arm.n());
      }
    });
  long long read = 0, mixed = 0;
  for (const double last = 1e-6 * (count - 1);; ++read) {
    const Reference * const given = inbox.current(1e-6);
    if (!given) {
      continue;
    }
    const Vector & torque = given->torque;
    mixed += !std::all_of(
      torque.begin(), torque.begin() + arm.joints.size(), [&](double x) {return x == torque[0];});
    if (torque[0] >= last) {
      break;
    }
  }
  sender.join();
  std::printf("%lld %lld\n", read, mixed);
}
}  // namespace

int main(int argc, char ** argv)
{
  if (argc != 4) {
    return 2;
  }
  arm = arm_from_file(argv[3]);
  if (argv[1] == std::string("threads")) {
    use_two_threads(std::atoi(argv[2]));
    return 0;
  }
  source.seed(std::strtoull(argv[1], nullptr, 10));
  feed_feedforward(std::atoll(argv[2]));
  feed_receiver(std::atoll(argv[2]));
  return 0;
}
