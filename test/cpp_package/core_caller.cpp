// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// Functions with C linkage around the core, for cpp_core.py. Arrays have as many numbers a row as
// the arm has joints.
#include "vectors_player.hpp"

#include <chrono>
#include <limits>

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
  r.kp = vector(s + 18, arm);
  r.kd = vector(s + 18 + arm.n(), arm);
  return r;
}

struct Receiver
{
  Feedforward feedforward;
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

int vectors(const Arm * arm, const char * path, int * cycles, double * largest)
{
  return play(*arm, path, *cycles, *largest);
}

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
  const double * measured, const double * kp, int target_adds_gravity, const double * load,
  double * tau)
{
  Friction f;
  for (int i = 0; i < n; ++i) {
    const std::size_t k = static_cast<std::size_t>(i) * arm->n();
    Vector x{};
    f.follow(*arm, t[i], vector(q + k, *arm));
    const JointState state{{}, vector(measured + k, *arm)};
    f.feedforward(
      *arm, {{}, vector(dq + k, *arm), {}}, state, vector(kp, *arm), target_adds_gravity != 0,
      vector(load + k, *arm), x);
    out(x, tau + k, *arm);
  }
}

const char * refusal(const Arm * arm, const double * s, int command)
{
  return said(refuse(*arm, unpacked(s, command, *arm)));
}

Receiver * receiver(const Arm * arm, const double * s, int command, double timeout)
{
  const Settings given = unpacked(s, command, *arm);
  auto * made = new Receiver{Feedforward(*arm), Inbox(*arm, given.command, timeout)};
  if (!made->feedforward.configure(given).empty()) {
    delete made;
    return nullptr;
  }
  return made;
}
const char * configure(Receiver * r, const double * s, int command)
{
  return said(r->feedforward.configure(unpacked(s, command, r->feedforward.arm())));
}
void end_receiver(Receiver * r) {delete r;}
void restart(Receiver * r)
{
  r->feedforward.restart();
  r->inbox.forget();
}

const char * receive(Receiver * r, int from, int count, const double * values)
{
  Inbox::Publisher gid{};
  gid[0] = static_cast<std::uint8_t>(from);
  const Answer answer = r->inbox.receive(gid, values, static_cast<std::size_t>(count));
  return kAnswerWords[static_cast<std::size_t>(answer)];
}

/* State after a cycle; tau is NaN before the first command. */
const char * cycle(
  Receiver * r, double elapsed, const double * q, const double * dq, double * tau)
{
  const Arm & arm = r->feedforward.arm();
  const JointState measured{vector(q, arm), vector(dq, arm)};
  Vector x{};
  if (!r->feedforward.cycle(elapsed, &measured, r->inbox.current(elapsed), x)) {
    x.fill(std::numeric_limits<double>::quiet_NaN());
  }
  out(x, tau, arm);
  return kStateWords[static_cast<std::size_t>(r->feedforward.state())];
}

int latched(const Receiver * r) {return r->feedforward.latched();}
}
