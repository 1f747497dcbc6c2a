# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Measure how long a cycle of the C++ core takes that follows a motion, and one that brakes.

Each is measured with the guard, which gets a measured torque, and without.
"""

from pathlib import Path
import platform
import shutil
import subprocess
import tempfile

from timing import new_parser

from franka_dynamics.arm import load
from franka_dynamics.cpp_package.package import controller_arm_text
from franka_dynamics.files import share_directory

PROGRAM = """
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>
#include "franka_dynamics_controllers/arm_file.hpp"
#include "franka_dynamics_controllers/feedforward.hpp"
using namespace franka_dynamics_controllers;
int main(int, char ** argv) {
  const Arm arm = arm_from_file(argv[1]);
  double sum = 0.0;
  for (const bool braking : {false, true}) {
    for (const bool guard : {false, true}) {
      Feedforward feedforward(arm);
      Settings settings;
      settings.target = kMujoco;
      settings.guard = guard;
      settings.friction = arm.friction.kind != FrictionModel::Kind::none;
      settings.payload = {1.0, 0.0, 0.0, 0.05, 0.001, 0.0, 0.0, 0.001, 0.0, 0.001};
      if (!feedforward.configure(settings).empty()) {return 1;}
      std::vector<double> ns;
      Vector tau{};
      for (int k = 0; k < 200000; ++k) {
        JointState state;
        Reference reference;
        const double amplitude = braking ? 1e-4 : 0.1;  // a braked arm is soon held
        for (std::size_t i = 0; i < arm.n(); ++i) {
          const double t = 1e-3 * k + static_cast<double>(i);
          reference.q[i] = state.q[i] = arm.home[i] + amplitude * std::sin(t);
          reference.dq[i] = state.dq[i] = amplitude * std::cos(t);
          reference.ddq[i] = -amplitude * std::sin(t);
        }
        const Vector measured = tau;  // what was sent is measured
        if (braking && feedforward.state() == CoreState::running) {
          feedforward.stop("timed", Stop::hold);
        }
        const CoreState state_before = feedforward.state();
        const bool counts = braking ?
          state_before == CoreState::braking || state_before == CoreState::holding :
          state_before == CoreState::running;
        const auto begin = std::chrono::steady_clock::now();
        feedforward.cycle(1e-3, &state, &reference, tau, &measured);
        const std::chrono::duration<double, std::nano> passed =
          std::chrono::steady_clock::now() - begin;
        if (counts) {ns.push_back(passed.count());}
        sum += tau[0];
      }
      if (ns.size() < 100000) {return 2;}  // it has stopped
      std::sort(ns.begin(), ns.end());
      std::printf(
        "%s %s guard: p50 %.2f us, p99 %.2f us, p99.9 %.2f us\\n",
        braking ? "braking" : "following", guard ? "with" : "without",
        1e-3 * ns[ns.size() / 2], 1e-3 * ns[ns.size() * 99 / 100],
        1e-3 * ns[ns.size() * 999 / 1000]);
    }
  }
  return sum == 0.0;
}
"""


def main() -> None:
    """Compile, run, print."""
    parser = new_parser(__doc__)
    parser.add_argument('--arm', default='fer', help='a shipped arm or an arm file')
    arguments = parser.parse_args()
    compiler = shutil.which('g++') or shutil.which('c++')
    if compiler is None:
        raise SystemExit('No C++ compiler (g++ or c++) is on the path.')
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / 'arm.yaml').write_text(controller_arm_text(load(arguments.arm)))
        (folder / 'main.cpp').write_text(PROGRAM)
        include = share_directory() / 'cpp/include'
        program = folder / 'timed'
        command = [compiler, '-std=c++17', '-O2', '-I', str(include)]
        command += ['-o', str(program), str(folder / 'main.cpp')]
        subprocess.run(command, check=True)
        command = [str(program), str(folder / 'arm.yaml')]
        done = subprocess.run(command, check=True, text=True, capture_output=True)
    machine = platform.processor() or platform.machine()
    print(f'{machine}, {compiler} -O2, {arguments.arm} with payload and the friction of its file')
    print(done.stdout, end='')


if __name__ == '__main__':
    main()
