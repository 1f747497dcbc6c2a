/* Copyright 2026 The franka_dynamics authors
   SPDX-License-Identifier: Apache-2.0

   The usual case of a feedforward cycle: a serialized joint state in, a torque out, in one call
   on fixed memory. compiled_cycle.py fills that memory and says what it is for; every number and
   every comparison here is that of supervision.py, possible_motion.py and limits.py, in the same
   order of operations (to be compiled without contraction of multiplications and additions). */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { MOST_JOINTS = 16, MOST_BYTES = 2048 };

/* Why a state is left to the Python cycle; 0 where it was answered. */
enum { ANSWERED, MESSAGE, VALUES, TIME, MOTION, AGE, REFERENCE, LIMITS };

typedef struct {
  double rotation[9];       /* from the parent joint's frame, this joint at zero, row by row */
  double translation[3];    /* the same [m] */
  double inertia[9];        /* about the centre of mass [kg m^2] */
  double center_of_mass[3]; /* in the joint's frame [m] */
  double mass;              /* [kg] */
  double rotor_inertia;     /* as the joint sees it [kg m^2] */
  double prismatic;         /* 1 where the joint slides along its z axis, 0 where it turns */
} Body;

typedef struct {
  Body body[MOST_JOINTS];
  double gravity[3]; /* in the base frame [m/s^2] */
} Arm;

typedef struct {
  int32_t joints, length, has_effort, nanosec_place;
  int32_t place[3 * MOST_JOINTS]; /* of positions, velocities, efforts in the message */
  double lower[MOST_JOINTS], upper[MOST_JOINTS], speed[MOST_JOINTS];
  double effort[MOST_JOINTS], effort_rate[MOST_JOINTS];
  /* Of the state and the command before. */
  double q[MOST_JOINTS], dq[MOST_JOINTS], drift[MOST_JOINTS], command[MOST_JOINTS];
  double stamp, command_stamp;
  double patience, slow_period, oldest;
  double jump_slack, drift_bound, drift_time, delay, longest_step, step_bound, rate_step;
  /* What of g(q), of the receiver's g(q) and of C(q, dq) dq + M(q) ddq is commanded; whether of
     the latter two each, and whether at the reference. */
  double gravity_share, receiver_share, motion_share;
  int32_t coriolis, inertia, at_reference;
  /* What is desired from `begin` until before `end`, as polynomials in (time - start) / duration;
     and the joint PD about it. */
  int32_t has_reference;
  double begin, end, start, duration;
  double coefficient[6 * MOST_JOINTS]; /* of the lowest power first */
  double tracking[MOST_JOINTS], kp[MOST_JOINTS], kd[MOST_JOINTS];
  double torque[MOST_JOINTS]; /* the result */
  Arm arm, receiver;
  uint8_t pattern[MOST_BYTES], mask[MOST_BYTES]; /* bytes that must be as they were */
} State;

size_t compiled_cycle_size(void) { return sizeof(State); }

static void cross(const double a[3], const double b[3], double out[3])
{
  out[0] = a[1] * b[2] - a[2] * b[1];
  out[1] = a[2] * b[0] - a[0] * b[2];
  out[2] = a[0] * b[1] - a[1] * b[0];
}

/* out = R a, and with its transpose. */
static void turn(const double r[9], const double a[3], double out[3])
{
  for (int i = 0; i < 3; ++i) {out[i] = r[3 * i] * a[0] + r[3 * i + 1] * a[1] + r[3 * i + 2] * a[2];}
}

static void turn_back(const double r[9], const double a[3], double out[3])
{
  for (int i = 0; i < 3; ++i) {out[i] = r[i] * a[0] + r[i + 3] * a[1] + r[i + 6] * a[2];}
}

/* Inverse dynamics by the Newton-Euler recursion in the joints' frames (Featherstone 2008, table
   5.1; here with vectors of three). */
static void inverse_dynamics(
  const Arm * arm, int n, const double * gravity, const double * q, const double * dq,
  const double * ddq, double * torque)
{
  double r[MOST_JOINTS][9], p[MOST_JOINTS][3], force[MOST_JOINTS][3], moment[MOST_JOINTS][3];
  double w[3] = {0.0, 0.0, 0.0}, dw[3] = {0.0, 0.0, 0.0};
  double a[3] = {-gravity[0], -gravity[1], -gravity[2]};
  for (int j = 0; j < n; ++j) {
    const Body * const body = &arm->body[j];
    const double * const placed = body->rotation;
    const int slides = body->prismatic != 0.0;
    memcpy(r[j], placed, sizeof(r[j]));
    memcpy(p[j], body->translation, sizeof(p[j]));
    if (slides) {
      for (int i = 0; i < 3; ++i) {p[j][i] += placed[3 * i + 2] * q[j];}
    } else {
      const double c = cos(q[j]), s = sin(q[j]);
      for (int i = 0; i < 3; ++i) {
        r[j][3 * i] = placed[3 * i] * c + placed[3 * i + 1] * s;
        r[j][3 * i + 1] = placed[3 * i + 1] * c - placed[3 * i] * s;
      }
    }
    double t[3], u[3], v[3];
    cross(w, p[j], t);
    cross(w, t, u);
    cross(dw, p[j], t);
    for (int i = 0; i < 3; ++i) {v[i] = a[i] + t[i] + u[i];}
    turn_back(r[j], v, a);
    turn_back(r[j], dw, t);
    turn_back(r[j], w, u);
    memcpy(dw, t, sizeof(dw));
    memcpy(w, u, sizeof(w));
    if (slides) {
      a[0] += 2.0 * w[1] * dq[j];
      a[1] -= 2.0 * w[0] * dq[j];
      a[2] += ddq[j];
    } else {
      dw[0] += w[1] * dq[j];
      dw[1] -= w[0] * dq[j];
      dw[2] += ddq[j];
      w[2] += dq[j];
    }
    cross(w, body->center_of_mass, t);
    cross(w, t, u);
    cross(dw, body->center_of_mass, t);
    for (int i = 0; i < 3; ++i) {force[j][i] = body->mass * (a[i] + t[i] + u[i]);}
    turn(body->inertia, w, t);
    cross(w, t, u);
    turn(body->inertia, dw, t);
    cross(body->center_of_mass, force[j], v);
    for (int i = 0; i < 3; ++i) {moment[j][i] = t[i] + u[i] + v[i];}
  }
  for (int j = n - 1; j >= 0; --j) {
    torque[j] = arm->body[j].prismatic != 0.0 ? force[j][2] : moment[j][2];
    torque[j] += arm->body[j].rotor_inertia * ddq[j];
    if (j > 0) {
      double f[3], m[3], arm_of_force[3];
      turn(r[j], force[j], f);
      turn(r[j], moment[j], m);
      cross(p[j], f, arm_of_force);
      for (int i = 0; i < 3; ++i) {
        force[j - 1][i] += f[i];
        moment[j - 1][i] += m[i] + arm_of_force[i];
      }
    }
  }
}

static double double_at(const uint8_t * data, int32_t place)
{
  double value;
  memcpy(&value, data + place, sizeof(value));
  return value;
}

/* What is desired at a time; return whether that is known. */
static int sample(const State * state, double time, double * q, double * dq, double * ddq)
{
  if (!(state->begin <= time && time < state->end)) {return 0;}
  const double s = (time - state->start) / state->duration;
  for (int j = 0; j < state->joints; ++j) {
    const double * const c = state->coefficient + j;
    const double c1 = c[MOST_JOINTS], c2 = c[2 * MOST_JOINTS], c3 = c[3 * MOST_JOINTS];
    const double c4 = c[4 * MOST_JOINTS], c5 = c[5 * MOST_JOINTS];
    q[j] = c[0] + s * (c1 + s * (c2 + s * (c3 + s * (c4 + s * c5))));
    dq[j] = (c1 + s * (2.0 * c2 + s * (3.0 * c3 + s * (4.0 * c4 + s * 5.0 * c5)))) /
      state->duration;
    ddq[j] = (2.0 * c2 + s * (6.0 * c3 + s * (12.0 * c4 + s * 20.0 * c5))) /
      (state->duration * state->duration);
  }
  return 1;
}

/* Answer a joint state, given as the bytes of its message and the time now [s]; the state is
   changed in nothing but `torque`, and that counts only where ANSWERED is returned. */
int compiled_cycle(State * state, const uint8_t * data, size_t length, double now)
{
  const int n = state->joints;
  if (length != (size_t)state->length) {return MESSAGE;}
  unsigned differs = 0;
  for (size_t k = 0; k < length; ++k) {
    differs |= (unsigned)((data[k] ^ state->pattern[k]) & state->mask[k]);
  }
  int32_t sec;
  uint32_t nanosec;
  memcpy(&sec, data + state->nanosec_place - 4, sizeof(sec));
  memcpy(&nanosec, data + state->nanosec_place, sizeof(nanosec));
  if (differs || nanosec > 999999999u) {return MESSAGE;}
  const double stamp = (double)sec + 1e-9 * (double)nanosec;
  double q[MOST_JOINTS], dq[MOST_JOINTS], gravity[MOST_JOINTS], other[MOST_JOINTS];
  double wanted[MOST_JOINTS], wanted_dq[MOST_JOINTS], ddq[MOST_JOINTS] = {0.0};
  for (int j = 0; j < n; ++j) {
    q[j] = double_at(data, state->place[j]);
    dq[j] = double_at(data, state->place[n + j]);
    /* A NaN compares false. */
    if (!(state->lower[j] <= q[j] && q[j] <= state->upper[j] &&
      -state->speed[j] <= dq[j] && dq[j] <= state->speed[j]))
    {
      return VALUES;
    }
    if (state->has_effort && !isfinite(double_at(data, state->place[2 * n + j]))) {return VALUES;}
  }
  const double elapsed = stamp - state->stamp;
  if (!(0.0 < elapsed && elapsed <= state->patience && elapsed <= state->slow_period &&
    elapsed <= state->longest_step))
  {
    return TIME;
  }
  const double age = now - stamp;
  if (0.0 < state->oldest && !(fabs(age) <= state->oldest)) {return AGE;}
  const double left = 1.0 - elapsed / state->drift_time;
  const double keep = left > 0.0 ? left : 0.0;
  for (int j = 0; j < n; ++j) {
    const double moved = q[j] - state->q[j];
    if (!(fabs(moved) <= state->speed[j] * elapsed + state->jump_slack)) {return MOTION;}
    const double step = moved - 0.5 * (dq[j] + state->dq[j]) * elapsed;
    const double drift = keep * state->drift[j] + step;
    const double timing = (state->delay + elapsed) * fabs(dq[j]);
    if (!(fabs(drift) <= state->drift_bound + timing && fabs(step) <= state->step_bound + timing)) {
      return MOTION;
    }
  }
  if (state->has_reference) {
    if (!sample(state, stamp, wanted, wanted_dq, ddq)) {return REFERENCE;}
    for (int j = 0; j < n; ++j) {
      if (!(fabs(q[j] - wanted[j]) <= state->tracking[j])) {return REFERENCE;}
    }
  }
  static const double still[MOST_JOINTS] = {0.0}, weightless[3] = {0.0};
  const int there = state->has_reference && state->at_reference;
  inverse_dynamics(&state->arm, n, state->arm.gravity, q, still, still, gravity);
  inverse_dynamics(
    &state->arm, n, weightless, there ? wanted : q,
    state->coriolis ? (there ? wanted_dq : dq) : still, state->inertia ? ddq : still, other);
  for (int j = 0; j < n; ++j) {
    state->torque[j] = state->gravity_share * gravity[j] + state->motion_share * other[j];
    if (state->has_reference) {
      state->torque[j] += state->kp[j] * (wanted[j] - q[j]) + state->kd[j] * (wanted_dq[j] - dq[j]);
    }
  }
  if (state->receiver_share != 0.0) {
    inverse_dynamics(&state->receiver, n, state->receiver.gravity, q, still, still, other);
    for (int j = 0; j < n; ++j) {state->torque[j] -= state->receiver_share * other[j];}
  }
  double seconds = stamp - state->command_stamp;
  seconds = seconds > 0.0 ? seconds : 0.0;
  seconds = seconds < state->rate_step ? seconds : state->rate_step;
  for (int j = 0; j < n; ++j) {
    const double torque = state->torque[j], before = state->command[j];
    const double step = state->effort_rate[j] * seconds;
    if (!(-state->effort[j] <= torque && torque <= state->effort[j] &&
      before - step <= torque && torque <= before + step))
    {
      return LIMITS;
    }
  }
  return ANSWERED;
}
