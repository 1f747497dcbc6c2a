// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// Functions with C linkage around the core, for cpp_core.py. Arrays have as many numbers a row as
// the arm has joints.
#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <memory>
#include <string>

#include "franka_dynamics_controllers/arm_file.hpp"
#include "franka_dynamics_controllers/feedforward.hpp"
#include "franka_dynamics_controllers/inbox.hpp"
#include "franka_dynamics_controllers/receiver.hpp"

using namespace franka_dynamics_controllers;  // NOLINT(google-build-using-namespace)

namespace
{
std::string text;  // the last one that was returned

Vector vector(const double * x, const Arm & arm)
{
  Vector v{};
  std::copy_n(x, arm.n(), v.begin());
  return v;
}
void out(const Vector & v, double * x, const Arm & arm) {std::copy_n(v.begin(), arm.n(), x);}

const char * said(const std::string & sentence)
{
  text = sentence;
  return text.empty() ? nullptr : text.c_str();
}

Settings unpacked(const double * s, int command, const Arm & arm)
{
  Settings r;
  r.command = static_cast<Command>(command);
  r.target = kTargets[static_cast<int>(s[0])];
  r.gravity_vector = {s[1], s[2], s[3]};
  std::copy_n(s + 4, 10, r.payload.begin());
  r.payload_known_to_robot = s[14] != 0.0;
  r.scale = s[15];
  r.friction = s[16] != 0.0;
  r.mount_tilt_compensated_by = static_cast<Tilt>(s[17]);
  r.coriolis = s[18] != 0.0;
  r.inertia = s[19] != 0.0;
  r.guard = s[20] != 0.0;
  r.friction_scale = s[21];
  r.offset = s[22] != 0.0;
  r.kp = vector(s + 23, arm);
  r.kd = vector(s + 23 + arm.n(), arm);
  return r;
}

std::optional<double> maybe(double x)
{
  return std::isnan(x) ? std::nullopt : std::optional<double>(x);
}

struct Receiver
{
  Receiver(const Arm & arm, Command command, double timeout)
  : receiver(arm), inbox(arm, command, timeout) {}

  TorqueReceiver receiver;
  Inbox inbox;
};
}  // namespace

extern "C" {
/* An arm, or null; then refusal_of_arm() says why. */
Arm * read_arm(const char * path)
{
  try {
    return new Arm(arm_from_file(path));
  } catch (const std::exception & error) {
    text = error.what();
    return nullptr;
  }
}
const char * refusal_of_arm() {return text.c_str();}
void drop_arm(Arm * arm) {delete arm;}

void terms(
  const Arm * arm, int n, const double * s, const double * q, const double * dq,
  const double * ddq, double * g, double * ours, double * c, double * m, double * M)
{
  TermModel model;
  model.configure(*arm, unpacked(s, 0, *arm));
  for (int i = 0; i < n; ++i) {
    const std::size_t k = static_cast<std::size_t>(i) * arm->n();
    const Vector x = vector(q + k, *arm);
    Vector tau{};
    Matrix mass{};
    model.gravity(x, tau);
    out(tau, g + k, *arm);
    model.gravity_to_command(x, tau);
    out(tau, ours + k, *arm);
    model.coriolis({x, vector(dq + k, *arm)}, tau);
    out(tau, c + k, *arm);
    model.inertia(x, vector(ddq + k, *arm), tau);
    out(tau, m + k, *arm);
    mass_matrix(model.chain, x, mass);
    for (std::size_t j = 0; j < arm->n(); ++j) {
      out(mass[j], M + (k + j) * arm->n(), *arm);
    }
  }
}

void friction(
  const Arm * arm, int n, const double * t, const double * q, const double * dq,
  const double * measured, const double * load, double * tau)
{
  Friction f;
  for (int i = 0; i < n; ++i) {
    const std::size_t k = static_cast<std::size_t>(i) * arm->n();
    Vector x{};
    f.follow(*arm, t[i], vector(q + k, *arm));
    const JointState state{{}, vector(measured + k, *arm)};
    f.feedforward(
      *arm, {{}, vector(dq + k, *arm), {}}, state, vector(load + k, *arm), x);
    out(x, tau + k, *arm);
  }
}

const char * refusal(const Arm * arm, const double * s, int command)
{
  return said(refuse(*arm, unpacked(s, command, *arm)));
}

/* The momentum, and C^T dq. */
void momenta(const Arm * arm, const double * q, const double * dq, double * p, double * gradient)
{
  Vector x{};
  Vector y{};
  momentum(arm->chain, {vector(q, *arm), vector(dq, *arm)}, x, y);
  out(x, p, *arm);
  out(y, gradient, *arm);
}

/* The core. */
Feedforward * feedforward(const Arm * arm, const double * s, int command, const double * l)
{
  StateLimits limits;
  limits.period = l[0];
  limits.min_input_rate = l[1];
  limits.state_timeout = l[2];
  limits.max_state_age = l[3];
  limits.effort_friction = static_cast<EffortFriction>(l[4]);
  limits.held_until_commanded = l[5] != 0.0;
  limits.in_loop = l[6] != 0.0;
  auto made = std::make_unique<Feedforward>(*arm, limits);
  text = made->configure(unpacked(s, command, *arm));
  return text.empty() ? made.release() : nullptr;
}
const char * last_text() {return text.c_str();}
void drop_feedforward(Feedforward * f) {delete f;}
const char * change(Feedforward * f, const double * s, int command)
{
  return said(f->configure(unpacked(s, command, f->arm())));
}

/* Each returns the state. Of `state` are q, dq, effort; NaN says that an effort or time is not given.
   `given` is null, or has q, dq, ddq, torque. */
int step(
  Feedforward * f, const double * state, const double * times, const double * given, double * tau)
{
  const Arm & arm = f->arm();
  const std::size_t n = arm.n();
  StateSample sample;
  sample.q = vector(state, arm);
  sample.dq = vector(state + n, arm);
  if (!std::isnan(state[2 * n])) {
    sample.effort = vector(state + 2 * n, arm);
  }
  sample.stamp = times[0];
  sample.age = maybe(times[1]);
  sample.now = maybe(times[2]);
  Reference reference;
  if (given) {
    reference.q = vector(given, arm);
    reference.dq = vector(given + n, arm);
    reference.ddq = vector(given + 2 * n, arm);
    reference.torque = vector(given + 3 * n, arm);
  }
  out(f->step(sample, given ? &reference : nullptr), tau, arm);
  return static_cast<int>(f->state());
}
int tick(Feedforward * f, double now, double silence, double * tau)
{
  out(f->tick(now, maybe(silence)), tau, f->arm());
  return static_cast<int>(f->state());
}
int reject(Feedforward * f, double now, int faulty, double * tau)
{
  out(f->reject_state("rejected", now, faulty != 0), tau, f->arm());
  return static_cast<int>(f->state());
}
/* Before a cycle `elapsed` seconds long; -1 while there is no torque. */
int cycle(
  Feedforward * f, double elapsed, const double * state, const double * given, double * tau)
{
  const Arm & arm = f->arm();
  const std::size_t n = arm.n();
  const JointState measured{vector(state, arm), vector(state + n, arm)};
  Reference reference;
  if (given) {
    reference.q = vector(given, arm);
    reference.dq = vector(given + n, arm);
    reference.ddq = vector(given + 2 * n, arm);
    reference.torque = vector(given + 3 * n, arm);
  }
  Vector x{};
  const bool sends = f->cycle(elapsed, &measured, given ? &reference : nullptr, x);
  out(x, tau, arm);
  return sends ? static_cast<int>(f->state()) : -1;
}
int state_of(const Feedforward * f) {return static_cast<int>(f->state());}
const char * start(Feedforward * f) {return said(text_of(f->start(), f->arm()));}
void stop(Feedforward * f, int then) {f->stop("stopped", static_cast<Stop>(then));}
void block(Feedforward * f, int is_blocked) {f->block(is_blocked ? "blocked" : nullptr);}
void reset(Feedforward * f) {f->reset();}
void restart(Feedforward * f) {f->restart();}
const char * note(Feedforward * f)
{
  text = text_of(f->status().note, f->arm());
  return text.c_str();
}
const char * why(Feedforward * f)
{
  text = f->why();
  return text.c_str();
}
/* Remedy, reaction, whether a torque is sent, faults, losses, time-outs; then disturbance, external
   torque, and what is followed (NaN for nothing), n each. */
void told(Feedforward * f, double * numbers)
{
  const Arm & arm = f->arm();
  const Ending ending = f->status().ending;
  numbers[0] = static_cast<double>(ending.remedy);
  numbers[1] = static_cast<double>(ending.reaction);
  numbers[2] = f->sends();
  numbers[3] = static_cast<double>(f->faults());
  numbers[4] = static_cast<double>(f->losses());
  numbers[5] = static_cast<double>(f->timeouts());
  out(f->disturbances().disturbance(), numbers + 6, arm);
  out(f->disturbances().external(), numbers + 6 + arm.n(), arm);
  Vector followed;
  followed.fill(std::numeric_limits<double>::quiet_NaN());
  if (f->reference()) {
    followed = f->reference()->q;
  }
  out(followed, numbers + 6 + 2 * arm.n(), arm);
}

/* Commands, and the receiver of total torques. */
Inbox * inbox(const Arm * arm, int command, double timeout)
{
  return new Inbox(*arm, static_cast<Command>(command), timeout);
}
void drop_inbox(Inbox * i) {delete i;}
const char * receive_in_inbox(Inbox * i, int from, int count, const double * values)
{
  Inbox::Publisher gid{};
  gid[0] = static_cast<std::uint8_t>(from);
  const Answer answer = i->receive(gid, values, static_cast<std::size_t>(count));
  return kAnswerWords[static_cast<std::size_t>(answer)];
}
Receiver * receiver(const Arm * arm, const double * s, double timeout)
{
  const Settings given = unpacked(s, static_cast<int>(Command::total_torque), *arm);
  auto made = std::make_unique<Receiver>(*arm, given.command, timeout);
  text = made->receiver.configure(given);
  return text.empty() ? made.release() : nullptr;
}
void end_receiver(Receiver * r) {delete r;}
void restart_receiver(Receiver * r)
{
  r->receiver.restart();
  r->inbox.forget();
}
const char * receive(Receiver * r, int from, int count, const double * values)
{
  return receive_in_inbox(&r->inbox, from, count, values);
}
/* State after a cycle; tau is NaN before the first command. */
const char * receiver_cycle(
  Receiver * r, double elapsed, const double * q, const double * dq, double * tau)
{
  const Arm & arm = r->receiver.arm();
  const JointState measured{vector(q, arm), vector(dq, arm)};
  Vector x{};
  if (!r->receiver.cycle(elapsed, &measured, r->inbox.current(elapsed), x)) {
    x.fill(std::numeric_limits<double>::quiet_NaN());
  }
  out(x, tau, arm);
  return kReceiverWords[static_cast<std::size_t>(r->receiver.state())];
}
int latched(const Receiver * r) {return r->receiver.latched();}
}
