# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Measure how long a cycle of the C++ core takes that follows a motion, and one that brakes."""

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
#include "franka_dynamics_controllers/arm_file.hpp"
#include "franka_dynamics_controllers/feedforward.hpp"
using namespace franka_dynamics_controllers;
int main(int, char ** argv) {
  const Arm arm = arm_from_file(argv[1]);
  Feedforward feedforward(arm);
  Settings settings;
  settings.target = kMujoco;
  settings.friction = arm.friction.kind != FrictionModel::Kind::none;
  settings.payload = {1.0, 0.0, 0.0, 0.05, 0.001, 0.0, 0.0, 0.001, 0.0, 0.001};
  if (!feedforward.configure(settings).empty()) {return 1;}
  double sum = 0.0;
  for (const bool braking : {false, true}) {
    std::vector<double> ns;
    for (int k = 0; k < 300000; ++k) {
      JointState state;
      Reference reference;
      for (std::size_t i = 0; i < arm.n(); ++i) {
        const double t = 1e-3 * k + static_cast<double>(i);
        reference.q[i] = state.q[i] = arm.home[i] + 0.1 * std::sin(t);
        reference.dq[i] = state.dq[i] = 0.1 * std::cos(t);
        reference.ddq[i] = -0.1 * std::sin(t);
      }
      Vector tau{};
      if (braking && k % 500 == 0) {feedforward.cycle(1e-3, &state, &reference, tau);}
      if (braking && k % 500 == 0) {feedforward.brake();}
      const auto begin = std::chrono::steady_clock::now();
      feedforward.cycle(1e-3, &state, braking ? nullptr : &reference, tau);
      const std::chrono::duration<double, std::nano> passed =
        std::chrono::steady_clock::now() - begin;
      ns.push_back(passed.count());
      sum += tau[0];
    }
    std::sort(ns.begin(), ns.end());
    std::printf(
      "%s: p50 %.2f us, p99 %.2f us, p99.9 %.2f us\\n", braking ? "braking" : "following",
      1e-3 * ns[ns.size() / 2], 1e-3 * ns[ns.size() * 99 / 100],
      1e-3 * ns[ns.size() * 999 / 1000]);
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
