// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// The core without ROS: equations against closed forms and identities, and an arm that is left by
// its sender. Prints what fails; exit status 1 if anything does.
#include <cmath>
#include <cstdio>
#include <random>

#include "franka_dynamics_controllers/feedforward.hpp"
#include "franka_dynamics_controllers/inbox.hpp"
#include "franka_dynamics_controllers/receiver.hpp"

using namespace franka_dynamics_controllers;  // NOLINT(google-build-using-namespace)

namespace
{
constexpr double kTolerance = 1e-12;
int failures = 0;

void expect(bool holds, const char * what)
{
  if (!holds) {
    std::printf("FAILED: %s\n", what);
    ++failures;
  }
}

void expect_near(double found, double expected, const char * what)
{
  expect(std::abs(found - expected) <= kTolerance * (1.0 + std::abs(expected)), what);
}

/// A planar arm of two rods of 1 m and 2 kg that swings about y, gravity along -z.
Arm two_rods()
{
  Arm arm;
  arm.name = "two_rods";
  arm.joints = {"shoulder", "elbow"};
  arm.chain.n = 2;
  const Rows upright{Three{1.0, 0.0, 0.0}, Three{0.0, 0.0, 1.0}, Three{0.0, -1.0, 0.0}};
  for (std::size_t i = 0; i < 2; ++i) {
    Link & link = arm.chain.links[i];
    link.placement = i == 0 ? Pose{upright, {}} : Pose{kIdentity, {1.0, 0.0, 0.0}};
    link.body = {2.0, {1.0, 0.0, 0.0}, symmetric({0.0, 0.0, 0.0, 2.0 / 3.0, 0.0, 2.0 / 3.0})};
    arm.lower[i] = -3.0;
    arm.upper[i] = 3.0;
    arm.velocity[i] = arm.acceleration[i] = 10.0;
    arm.effort[i] = arm.effort_rate[i] = 1000.0;
  }
  set_least_stiction(arm);
  return arm;
}

void test_closed_form()
{
  // Spong, Hutchinson, Vidyasagar 2006, section 7.3.2, for equal rods.
  const Arm arm = two_rods();
  const double q1 = 0.4, q2 = -1.1, v1 = 0.7, v2 = 1.3, g = 9.81;
  Matrix M;
  Vector tau;
  mass_matrix(arm.chain, {q1, q2}, M);
  expect_near(M[0][0], 10.0 / 3.0 + 2.0 * std::cos(q2), "M11");
  expect_near(M[0][1], 2.0 / 3.0 + std::cos(q2), "M12");
  expect_near(M[1][1], 2.0 / 3.0, "M22");
  inverse_dynamics(arm.chain, {{q1, q2}, {v1, v2}, {}}, {}, tau);
  expect_near(tau[0], -std::sin(q2) * (2.0 * v1 * v2 + v2 * v2), "C dq of joint 1");
  expect_near(tau[1], std::sin(q2) * v1 * v1, "C dq of joint 2");
  inverse_dynamics(arm.chain, {{q1, q2}, {}, {}}, kGravity, tau);
  // A point at the angle q has the height -sin(q).
  expect_near(tau[1], -g * std::cos(q1 + q2), "g of joint 2");
  expect_near(tau[0], -g * (3.0 * std::cos(q1) + std::cos(q1 + q2)), "g of joint 1");
}

void test_identities()
{
  std::mt19937_64 source(1);
  std::uniform_real_distribution<double> any(-1.0, 1.0);
  for (std::size_t n = 1; n <= kMaxJoints; ++n) {
    Chain chain;
    Motion motion;
    chain.n = n;
    for (std::size_t i = 0; i < n; ++i) {
      Link & link = chain.links[i];
      link.prismatic = any(source) > 0.6;
      link.rotor_inertia = 0.1;
      Link turn;
      for (const double angle : {any(source), any(source), any(source)}) {
        turn.placement = turn.at(angle) * Pose{{Three{0, 0, 1}, Three{1, 0, 0}, Three{0, 1, 0}}, {}};
      }
      link.placement = {turn.placement.rotation, {any(source), any(source), any(source)}};
      const Body at_centre{2.0, {}, symmetric({0.02, 0.001, 0.0, 0.03, 0.002, 0.025})};
      link.body = Pose{kIdentity, {any(source), any(source), any(source)}} * at_centre;
      motion.q[i] = any(source);
      motion.dq[i] = any(source);
      motion.ddq[i] = any(source);
    }
    // M is symmetric, the terms add up, and their power is that of the energies.
    Matrix M, later;
    Vector whole, coriolis, gravity;
    mass_matrix(chain, motion.q, M);
    inverse_dynamics(chain, motion, kGravity, whole);
    inverse_dynamics(chain, {motion.q, {}, {}}, kGravity, gravity);
    inverse_dynamics(chain, {motion.q, motion.dq, {}}, {}, coriolis);
    constexpr double kStep = 1e-6;  // s
    Vector next = motion.q;
    for (std::size_t i = 0; i < n; ++i) {
      next[i] += kStep * motion.dq[i];
    }
    mass_matrix(chain, next, later);
    double power = 0.0;
    double change = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
      double sum = coriolis[i] + gravity[i];
      for (std::size_t j = 0; j < n; ++j) {
        expect_near(M[i][j], M[j][i], "M is symmetric");
        sum += M[i][j] * motion.ddq[j];
        change += 0.5 * motion.dq[i] * (later[i][j] - M[i][j]) / kStep * motion.dq[j];
      }
      expect_near(whole[i], sum, "M ddq + C dq + g");
      expect(M[i][i] > 0.0, "the diagonal of M is positive");
      power += motion.dq[i] * coriolis[i];
    }
    expect(std::abs(power - change) < 1e-4 * (1.0 + std::abs(power)), "dM/dt - 2 C is skew");
  }
}

/// The arm obeys: its motion is that of the torque, by explicit steps of a tenth of a cycle.
void move(const Arm & arm, const Vector & tau, JointState & state)
{
  for (int k = 0; k < 10; ++k) {
    Matrix M;
    Vector rest;
    mass_matrix(arm.chain, state.q, M);
    inverse_dynamics(arm.chain, {state.q, state.dq, {}}, kGravity, rest);
    const double a = tau[0] - rest[0], b = tau[1] - rest[1];
    const double determinant = M[0][0] * M[1][1] - M[0][1] * M[0][1];
    state.dq[0] += 1e-4 * (M[1][1] * a - M[0][1] * b) / determinant;
    state.dq[1] += 1e-4 * (M[0][0] * b - M[0][1] * a) / determinant;
    state.q[0] += 1e-4 * state.dq[0];
    state.q[1] += 1e-4 * state.dq[1];
  }
}

void test_an_arm_whose_sender_dies_is_braked_and_held()
{
  const Arm arm = two_rods();
  TorqueReceiver receiver(arm);
  Settings settings;
  settings.target = kMujoco;
  settings.command = Command::total_torque;
  expect(receiver.configure(settings).empty(), "settings are accepted");
  Inbox inbox(arm, settings.command, kCommandTimeoutS);
  JointState state{{0.3, -0.5}, {}};
  Vector tau{}, before{};
  for (int k = 0; k < 2000; ++k) {
    if (k < 400) {
      Vector given{};
      receiver.terms().gravity(state.q, given);
      given[0] += k < 300 ? 4.0 : 0.0;
      expect(inbox.receive({}, given.data(), 2) == Answer::heard, "a torque is heard");
    }
    const bool sends = receiver.cycle(1e-3, &state, inbox.current(1e-3), tau);
    for (std::size_t i = 0; sends && i < 2; ++i) {
      expect(std::abs(tau[i]) <= arm.effort[i], "within the torque limit");
      expect(k == 0 || std::abs(tau[i] - before[i]) <= 1.0 + kTolerance, "within the torque rate");
    }
    before = tau;
    move(arm, tau, state);
    const bool is_followed = receiver.state() == ReceiverState::following;
    expect(k < 10 || k > 440 || is_followed, "following");
  }
  expect(receiver.state() == ReceiverState::holding, "holding");
  expect(receiver.timeouts() == 1, "one time-out");
  expect(std::abs(state.dq[0]) + std::abs(state.dq[1]) < 1e-3, "at rest");
}

/// An arm that carries more than it was told is held; without the guard it sinks.
void test_a_load_that_nobody_declared_is_noticed()
{
  for (const bool guard : {true, false}) {
    const Arm arm = two_rods();
    Arm loaded = arm;
    Body & rod = loaded.chain.links[1].body;
    rod = rod + Body{30.0, {60.0, 0.0, 0.0}, symmetric({0.0, 0.0, 0.0, 120.0, 0.0, 120.0})};
    Feedforward feedforward(arm);
    Settings settings;
    settings.target = kMujoco;
    settings.guard = guard;
    settings.kp = {500.0, 500.0};
    settings.kd = {40.0, 40.0};
    expect(feedforward.configure(settings).empty(), "settings are accepted");
    JointState state{{0.3, -0.5}, {}};
    Vector tau{};
    for (int k = 0; k < 1000; ++k) {
      feedforward.cycle(1e-3, &state, nullptr, tau);
      move(k < 300 ? arm : loaded, tau, state);
      expect(k < 30 || k > 299 || feedforward.state() == CoreState::running, "running");
    }
    const CoreState now = feedforward.state();
    const bool is_held = now == CoreState::braking || now == CoreState::holding;
    expect(is_held == guard, "the guard holds the arm");
    const bool is_named = feedforward.why().find("torque of elbow departs") != std::string::npos ||
      feedforward.why().find("torque of shoulder departs") != std::string::npos;
    expect(is_named == guard, "the joint is named");
  }
}
}  // namespace

int main()
{
  test_closed_form();
  test_identities();
  test_an_arm_whose_sender_dies_is_braked_and_held();
  test_a_load_that_nobody_declared_is_noticed();
  std::printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
