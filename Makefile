# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
# Each target sets up what it needs in .venv; nothing is installed outside this folder.

SHELL := /bin/bash
VENV ?= .venv
# Four at a time on two cores: many tests wait for a node or an arm. A file's tests stay together,
# because they share the nodes they start. By default xdist begins with the files of most tests, and
# the slowest, of one or two tests, would come last, the other workers idle: test/conftest.py puts
# them first. A worker that crashes ends the run: another one would begin with the test that it
# crashed in.
TEST_ARGS ?= -q -n 4 --dist loadfile --no-loadscope-reorder --max-worker-restart=0
SOAK_SECONDS ?= 600
FUZZ_EXAMPLES ?= 30000
# The first of these that starts and is new enough; override with PYTHON=...
PYTHON ?= $(shell for p in python3.12 python3.11 python3.13 python3.14 python3; do \
	$$p -c 'import sys, venv; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' \
	2>/dev/null && { echo $$p; break; }; done)

# Variables of a sourced ROS (Python path, libraries, middleware settings) must not reach what runs
# here; nor those that keep byte code from being written, because every process would compile anew.
LEAKS := PYTHONPATH PYTHONHOME LD_LIBRARY_PATH LD_PRELOAD AMENT_PREFIX_PATH CMAKE_PREFIX_PATH \
	COLCON_PREFIX_PATH ROS_DISTRO ROS_VERSION ROS_PYTHON_VERSION ROS_PACKAGE_PATH ROS_MASTER_URI \
	ROS_LOCALHOST_ONLY ROS_DISCOVERY_SERVER ROS_DOMAIN_ID ROS_NAMESPACE ROS_STATIC_PEERS \
	ROS_SECURITY_ENABLE RMW_IMPLEMENTATION FASTRTPS_DEFAULT_PROFILES_FILE \
	FASTDDS_DEFAULT_PROFILES_FILE RMW_FASTRTPS_USE_QOS_FROM_XML CYCLONEDDS_URI PYTHONOPTIMIZE \
	_ROS_WHEELS_BOOTSTRAP_COMPLETE PYTHONWARNINGS PYTHONDONTWRITEBYTECODE PYTEST_ADDOPTS \
	PYTEST_PLUGINS
CLEAN := env $(addprefix -u ,$(LEAKS)) ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST
BIN := $(CLEAN) $(VENV)/bin

# Each package's name while pip works, because two silent minutes look like a hang.
PIP := -m pip install --disable-pip-version-check --progress-bar off
SHOWN := | sed -u -n -e 's/^Collecting \([^ ]*\).*/  \1/p' -e 's/^Installing collected.*/  unpacking .../p'
# pip unpacks in silence: $(call COUNTED,FOLDER) counts the unpacked packages meanwhile.
COUNTED = (n=0; while sleep 5 > /dev/null 2>&1; do last=$$n; \
	n=$$(ls -d $(1)/lib/python*/site-packages/*.dist-info 2> /dev/null | wc -l); \
	[ $$n -lt 5 ] || [ $$n = $$last ] || echo "  $$n packages unpacked"; done) & trap "kill $$!" EXIT;
.SHELLFLAGS := -o pipefail -c

.PHONY: help broken-logs demo docs fuzz gazebo-check receivers sbom soak test test-libraries test-long test-numpy1 test-ros told-wrong lint setup clean
.DEFAULT_GOAL := help

help:
	@echo 'make demo         set up, then run the demonstration, without a window (about a minute)'
	@echo 'make test         set up, then run the test suite without its long tests'
	@echo 'make test-numpy1  make test with the numpy and Pinocchio of Ubuntu 24.04 and ROS 2 Jazzy'
	@echo 'make test-long    the long tests: soak, fuzz and statistics'
	@echo "make test-ros ROS=FOLDER  launch files, ros2 commands of the pages and C++ against ROS's own launch,"
	@echo '                  ros2cli and ros2_control in FOLDER: /opt/ros/jazzy, a workspace, a Python environment'
	@echo 'make test-libraries  the tests of PyTorch and JAX, in an environment of their own (gigabytes)'
	@echo 'make fuzz         random bytes and requests to the nodes, a hundred times as many as in make test'
	@echo "make soak         ten minutes at 1 kHz: does the node's memory grow?"
	@echo 'make told-wrong   how fast simulated arms get whose controller has wrong settings or sensors'
	@echo 'make broken-logs  what identify says of two real logs with faults put in; FRANKA_DYNAMICS_RECORDINGS'
	@echo '                  names their folder'
	@echo 'make receivers    what the simulated arm does if its sender is killed, stopped or not the only one'
	@echo 'make docs         set up, then make the pages in docs/_build; warnings are errors'
	@echo 'make gazebo-check hold, track, pause, reset in real Gazebo, where gz is installed'
	@echo 'make sbom         all dependencies, with versions and licences, in sbom.json (CycloneDX)'
	@echo 'make lint         ruff and mypy'
	@echo 'make clean        remove the environments, built files and outputs of demo and replay'
	@echo 'PYTHON=... names the Python (3.11 to 3.14) of a new environment, VENV=... its folder;'
	@echo 'TEST_ARGS are for pytest, DEMO_ARGS for franka-dynamics demo.'

setup: $(VENV)/ready

REQUIREMENTS := requirements/ros-jazzy.txt requirements/test.txt

# $(call make_venv,FOLDER): an empty environment, or a sentence about what is missing for one.
define make_venv
@test -n "$(PYTHON)" || { echo 'Python 3.11 to 3.14 with its venv module is needed \
(Debian and Ubuntu: apt install python3-venv); or name one: make PYTHON=/path/to/python' >&2; \
exit 2; }
@echo 'Setting up $(1) with $(PYTHON); the first time takes a minute or two ...'
@$(CLEAN) $(PYTHON) -m venv --clear $(1)
endef

$(VENV)/ready: $(REQUIREMENTS) setup.py
	$(call make_venv,$(VENV))
	@$(call COUNTED,$(VENV)) $(BIN)/python $(PIP) $(addprefix -r ,$(REQUIREMENTS)) -e '.[all]' $(SHOWN)
	@$(BIN)/python -c 'import mujoco, pinocchio, rclpy' 2>$(VENV)/loads || { \
		tail -n 1 $(VENV)/loads; echo 'What was installed does not load, most likely for want of a' \
		'library of the system: apt install libgomp1 (Debian and Ubuntu), then make again.'; \
		exit 2; } >&2
	@touch $@

# apt's versions, and what [all] needs. The wheel of pin 4.1.0 works with numpy 1.26, but a library that it depends on
# asks for numpy 2: so pip installs the two one after the other, and complains in red.
NUMPY1_VENV ?= .venv-numpy1
NUMPY1_BIN := $(CLEAN) $(NUMPY1_VENV)/bin
NUMPY1 := numpy==1.26.4
APT_PIN := pin==4.1.0
REQUIRED := import re; from importlib.metadata import requires; \
	print(*{re.sub("(;| and) extra == .*", "", line) for line in requires("franka_dynamics") \
	if not line.startswith("pin>") and ("extra ==" not in line or line[-4:-1] == "all")}, \
	sep="\n")

$(NUMPY1_VENV)/ready: $(REQUIREMENTS) setup.py
	$(call make_venv,$(NUMPY1_VENV))
	@echo 'pip will say in red that cmeel-boost wants numpy 2; ignore that.'
	@$(NUMPY1_BIN)/python $(PIP) '$(APT_PIN)'
	@$(NUMPY1_BIN)/python $(PIP) --no-deps -e .
	@$(NUMPY1_BIN)/python -c '$(REQUIRED)' > $(NUMPY1_VENV)/required.txt
	@$(NUMPY1_BIN)/python $(PIP) '$(NUMPY1)' -r $(NUMPY1_VENV)/required.txt \
		$(addprefix -r ,$(REQUIREMENTS))
	@touch $@

demo: setup
	@$(BIN)/franka-dynamics demo $(DEMO_ARGS)

test: setup
	@$(BIN)/python -m pytest $(TEST_ARGS)

test-long: setup fuzz
	@$(BIN)/python -m pytest -q -m long

test-numpy1: $(NUMPY1_VENV)/ready
	@$(NUMPY1_BIN)/python -c 'import numpy, pinocchio; \
		print("numpy", numpy.__version__, "Pinocchio", pinocchio.__version__)'
	@$(NUMPY1_BIN)/python -m pytest $(TEST_ARGS)

# Against a ROS that the caller names: apt's, a colcon workspace's install folder, or a Python
# environment in which launch, launch_ros and ros2cli are installed beside this package. What is
# missing there is skipped, and said.
ROS_PYTHON ?= python3
ROS_TESTS := test/launch_files test/ros/test_launch.py \
	test/urdf/test_xacro.py test/test_installation.py \
	test/codegen/test_ros2_control.py test/ros/test_cpp_example.py \
	test/ros/test_trajectory_controller.py

test-ros:
	@if [ -f "$(ROS)/setup.bash" ]; then \
		source "$(ROS)/setup.bash" && \
		export ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST FRANKA_DYNAMICS_ROS2_CONTROL="$(ROS)" && \
		$(ROS_PYTHON) -m pytest -q $(ROS_TESTS); \
	elif [ -x "$(ROS)/bin/python" ]; then $(CLEAN) "$(ROS)/bin/python" -m pytest -q $(ROS_TESTS); \
	else echo 'make test-ros ROS=FOLDER: FOLDER has setup.bash (/opt/ros/jazzy, or install of a' \
		'workspace) or bin/python (an environment with launch and ros2cli).' >&2; exit 2; fi

# Two packages of gigabytes that few need; so they are not in [all].
LIBRARIES_VENV ?= .venv-libraries
LIBRARIES_BIN := $(CLEAN) $(LIBRARIES_VENV)/bin

$(LIBRARIES_VENV)/ready: setup.py
	$(call make_venv,$(LIBRARIES_VENV))
	@$(call COUNTED,$(LIBRARIES_VENV)) $(LIBRARIES_BIN)/python $(PIP) pytest -e '.[torch,jax]' $(SHOWN)
	@touch $@

test-libraries: $(LIBRARIES_VENV)/ready
	@$(LIBRARIES_BIN)/python -c 'import jax, torch; \
		print("JAX", jax.__version__, "PyTorch", torch.__version__)'
	@$(LIBRARIES_BIN)/python -m pytest -q test/batch test/examples/test_payload_by_gradient.py

$(VENV)/docs-ready: $(VENV)/ready requirements/docs.txt
	@$(BIN)/python $(PIP) -r requirements/docs.txt
	@touch $@

docs: $(VENV)/docs-ready
	@$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build
	@echo docs/_build/index.html

fuzz: setup
	@FRANKA_DYNAMICS_FUZZ=$(FUZZ_EXAMPLES) $(BIN)/python -m pytest -q test/ros/test_fuzz_bytes.py \
		test/ros/test_hostile_requests.py test/codegen/test_cpp_nonsense.py

broken-logs: setup
	@$(BIN)/python benchmarks/broken_logs.py "$${FRANKA_DYNAMICS_RECORDINGS:?names no folder}"

told-wrong: setup
	@$(BIN)/python benchmarks/told_wrong.py $(TOLD_WRONG_ARGS)

receivers: setup
	@$(BIN)/python benchmarks/receivers.py

soak: setup
	@$(BIN)/python benchmarks/soak.py --seconds $(SOAK_SECONDS)

# To be called in a sourced ROS in which this package was built, because there is no wheel of Gazebo.
gazebo-check:
	@if { command -v gz || command -v ign; } >/dev/null && command -v ros2 >/dev/null; then \
		python3 benchmarks/gazebo_check.py $(GAZEBO_ARGS); else \
		echo 'gazebo-check: skipped, because ros2, or gz and ign, is not installed here;' \
		'docs/howto/gazebo.md says how to install them.'; fi

sbom: setup
	@$(BIN)/python release/sbom.py --output sbom.json && echo 'wrote sbom.json'

lint: setup
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet . || { echo "Not formatted as ruff does: run ruff format ." >&2; exit 1; }
	@$(BIN)/mypy

clean:
	rm -rf docs/_build docs/reference/generated .venv .venv-* demo_output replay_output build install log
