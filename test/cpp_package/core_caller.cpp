// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// Functions with C linkage around a generated core, for cpp_core.py.
#define main packages_main
#include "test/vectors_test.cpp"
#undef main
#include <limits>
static Vector vector(const double * x) {Vector v; std::copy(x, x + kJoints, v.begin()); return v;}
static void out(const Vector & v, double * x) {std::copy(v.begin(), v.end(), x);}
static Settings unpacked(const double * s, int command) {
  Settings r;
  r.command = static_cast<Command>(command);
  r.target = kTargets[static_cast<int>(s[0])];
  std::copy(s + 1, s + 4, r.gravity_vector.begin());
  std::copy(s + 4, s + 14, r.payload.begin());
  r.payload_known_to_robot = s[14] != 0.0;
  r.scale = s[15];
  r.friction = s[16] != 0.0;
  std::copy(s + 17, s + 17 + kJoints, r.kp.begin());
  std::copy(s + 17 + kJoints, s + 17 + 2 * kJoints, r.kd.begin());
  return r;
}
struct Receiver {Feedforward feedforward; Inbox inbox;};
extern "C" {
int vectors(const char * path, int * cycles, double * largest) {
  return play(path, *cycles, *largest);
}
void terms(int n, const double * s, const double * q, const double * dq, const double * ddq,
           double * g, double * ours, double * c, double * m) {
  TermModel model; model.configure(unpacked(s, 0));
  for (int i = 0; i < n; ++i) {
    const std::size_t k = static_cast<std::size_t>(i) * kJoints;
    const Vector x = vector(q + k); Vector tau;
    model.gravity(x, tau); out(tau, g + k);
    model.gravity_to_command(x, tau); out(tau, ours + k);
    model.coriolis(x, vector(dq + k), tau); out(tau, c + k);
    model.inertia(x, vector(ddq + k), tau); out(tau, m + k);
  }
}
void friction(int n, const double * kp, const double * t, const double * q, const double * dq,
              const double * measured, double * tau, double * steady) {
  Friction f; Vector x;
  for (int i = 0; i < n; ++i) {
    const std::size_t k = static_cast<std::size_t>(i) * kJoints;
    f.follow(t[i], vector(q + k));
    f.feedforward(vector(dq + k), vector(measured + k), vector(kp), x); out(x, tau + k);
    Friction::steady(vector(dq + k), x); out(x, steady + k);
  }
}
const char * refusal(const double * s) {return refuse(unpacked(s, 0));}
Receiver * receiver(const double * s, int command, double timeout) {
  auto * made = new Receiver;
  const Settings given = unpacked(s, command);
  if (made->feedforward.configure(given) || made->inbox.configure(given.command, timeout)) {
    delete made; return nullptr;
  }
  return made;
}
const char * configure(Receiver * r, const double * s, int command) {
  return r->feedforward.configure(unpacked(s, command));
}
void end_receiver(Receiver * r) {delete r;}
void restart(Receiver * r) {r->feedforward.restart(); r->inbox.forget();}
const char * receive(Receiver * r, int from, int count, const double * values) {
  Inbox::Publisher gid{}; gid[0] = static_cast<std::uint8_t>(from);
  const Answer answer = r->inbox.receive(gid, values, static_cast<std::size_t>(count));
  return kAnswerWords[static_cast<std::size_t>(answer)];
}
/* State after a cycle; tau is NaN before the first command. */
const char * cycle(Receiver * r, double elapsed, const double * q, const double * dq,
                   double * tau) {
  const Vector position = vector(q), velocity = vector(dq); Vector x;
  if (!r->feedforward.cycle(elapsed, &position, &velocity, r->inbox.current(elapsed), x)) {
    x.fill(std::numeric_limits<double>::quiet_NaN());
  }
  out(x, tau);
  return kStateWords[static_cast<std::size_t>(r->feedforward.state())];
}
}
