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
FUZZ_EXAMPLES ?= 1500
# The first of these that starts, is new enough and can make environments; override with PYTHON=...
PYTHON ?= $(shell for p in python3.12 python3.11 python3.13 python3.14 python3; do \
	$$p -c 'import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' \
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

# $(call INSTALL,FOLDER) installs what follows it into an environment: by uv, which takes a fraction
# of pip's time, or with PIP_ONLY=1 by pip. uv's list of all that it installed is left out.
INSTALL = $(CLEAN) $(if $(PIP_ONLY),$(1)/bin/python -m pip install --disable-pip-version-check \
	--progress-bar off,$(1)/bin/uv pip install --python $(1)/bin/python)
define BRIEF
$(if $(PIP_ONLY),,2>&1 | sed -u '/^ [-+~] /d' || { echo 'What uv prints above says why. Where a proxy \
re-signs TLS, uv needs its certificate: export SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt; \
make PIP_ONLY=1 installs by pip instead.' >&2; exit 2; })
endef
.SHELLFLAGS := -o pipefail -c

.PHONY: help model-check release-check test-kilted test-public-rclpy broken-logs demo docs foreign-files fuzz generated gazebo-check ament receivers recordings rosdoc2 soak test mutants tutorials test-kernels test-libraries test-long test-numpy1 test-real test-ros guard-false-alarms guard-misconfiguration streams lint promises figures package constraints setup clean
.DEFAULT_GOAL := help

# What stands behind two hashes above a target is what `make help` prints of it.
help:
	@awk '/^## / { lines[++count] = substr($$0, 4); next } \
		/^[a-z0-9-]+:/ { split($$0, rule, ":"); for (i = 1; i <= count; i++) \
		printf "%-28s%s\n", (i == 1 ? "make " rule[1] : ""), lines[i] } \
		{ count = 0 }' $(firstword $(MAKEFILE_LIST))
	@echo
	@echo 'PYTHON=... names the Python (3.11 to 3.14) of a new environment, VENV=... its folder; one that'
	@echo 'is there keeps its Python, and is updated (make clean removes it);'
	@echo 'TEST_ARGS are for pytest, DEMO_ARGS for franka-dynamics demo.'

setup: $(VENV)/typed

REQUIREMENTS := requirements/ros-jazzy.txt requirements/test.txt
# The version of every package, so that a clone sets up the same in a year; `make constraints`
# chooses newer ones.
CONSTRAINTS := requirements/constraints

# $(call MAKE_VENV,FOLDER): an environment with uv, or a sentence about what the system lacks, said
# before anything is downloaded. One that works is updated, and never removed. Pinocchio's wheel
# needs libgomp.
define MAKE_VENV
@test -n "$(PYTHON)" || { echo 'Python 3.11 to 3.14 with its venv module is needed \
(Debian and Ubuntu: apt install python3-venv); or name one: make PYTHON=/path/to/python' >&2; \
exit 2; }
@$(CLEAN) $(PYTHON) -c 'import ctypes; ctypes.CDLL("libgomp.so.1")' 2>/dev/null || { \
echo 'The library libgomp.so.1 is needed (Debian and Ubuntu: apt install libgomp1).' >&2; exit 2; }
@if $(CLEAN) $(1)/bin/python -m pip --version >/dev/null 2>&1; then echo 'Updating $(1) ...'; \
else echo 'Setting up $(1) with $(PYTHON) ...'; $(CLEAN) $(PYTHON) -m venv --clear $(1); fi
@$(if $(PIP_ONLY),:,$(CLEAN) $(1)/bin/uv --version >/dev/null 2>&1 || $(CLEAN) $(1)/bin/python -m pip install -q --disable-pip-version-check -c $(CONSTRAINTS)/jazzy.txt uv || { \
if $(CLEAN) $(1)/bin/python -m pip install -q --disable-pip-version-check --retries 0 --no-deps \
--dry-run --ignore-installed PyYAML 2>/dev/null; \
then echo 'uv cannot be installed here; make PIP_ONLY=1 does without it.' >&2; \
else echo 'pip cannot reach a package index; what it printed above says why. Another index than \
PyPI: export PIP_INDEX_URL=... UV_DEFAULT_INDEX=...' >&2; fi; exit 2; })
endef

# What the demonstration needs; then all else, into the same environment.
$(VENV)/demo-ready: requirements/ros-jazzy.txt $(CONSTRAINTS)/jazzy.txt setup.py
	$(call MAKE_VENV,$(VENV))
	@$(call INSTALL,$(VENV)) -c $(CONSTRAINTS)/jazzy.txt -r requirements/ros-jazzy.txt \
		-e '.[sim,identify]' $(BRIEF)
	@touch $@

$(VENV)/ready: $(VENV)/demo-ready $(REQUIREMENTS)
	@$(call INSTALL,$(VENV)) -c $(CONSTRAINTS)/jazzy.txt $(addprefix -r ,$(REQUIREMENTS)) \
		-e '.[all]' $(BRIEF)
	@touch $@

# Python finds the clone's package by a hook of setuptools, which mypy does not know; a folder of
# stubs it knows.
$(VENV)/typed: $(VENV)/ready
	@ln -sfn '$(CURDIR)/franka_dynamics' "$$($(BIN)/python -c \
		'import sysconfig; print(sysconfig.get_path("purelib"))')/franka_dynamics-stubs"
	@touch $@

# With the versions of Pinocchio and numpy that apt has. uv alone can set aside that a library
# asks for a newer numpy.
NUMPY1_VENV ?= .venv-numpy1
NUMPY1_BIN := $(CLEAN) $(NUMPY1_VENV)/bin

$(NUMPY1_VENV)/ready: $(REQUIREMENTS) requirements/numpy1.toml $(CONSTRAINTS)/numpy1.txt setup.py
	$(call MAKE_VENV,$(NUMPY1_VENV))
	@$(call INSTALL,$(NUMPY1_VENV)) --config-file requirements/numpy1.toml \
		-c $(CONSTRAINTS)/numpy1.txt $(addprefix -r ,$(REQUIREMENTS)) -e '.[all]' $(BRIEF)
	@touch $@

## a simulated arm with and without feedforward, without a window: a minute
## or two, the first time a minute more, because each target first sets up
## what it needs
demo: $(VENV)/demo-ready
	@$(BIN)/franka-dynamics demo $(DEMO_ARGS)

## the test suite without its long tests, on two cores five to ten minutes
test: setup
	@$(BIN)/python -m pytest $(TEST_ARGS)

# BLAS adds in another order on each kind of processor: these are kernels that any x86-64 of the last
# ten years runs. The rooms whose numbers come from BLAS, without what fits a whole recording.
KERNELS := Nehalem Haswell
KERNEL_TESTS := test/arm test/dynamics test/mesh test/rpr test/test_spatial.py \
	test/parameters/test_base_parameters.py test/fit/test_prior.py

## tests of numbers with the BLAS kernels of two other kinds of processor
## (minutes)
test-kernels: setup
	@for kernel in $(KERNELS); do echo "OPENBLAS_CORETYPE=$$kernel"; \
		$(CLEAN) OPENBLAS_CORETYPE=$$kernel $(VENV)/bin/python -m pytest $(TEST_ARGS) $(KERNEL_TESTS) \
		|| exit; done

## the long tests: soak, fuzz, statistics and the tutorials
test-long: setup fuzz
	@$(BIN)/python -m pytest -q -m long

## every command of the two tutorials, on a simulated arm
tutorials: setup
	@$(BIN)/python -m pytest -q -m long test/ros/test_tutorial.py

## the suite with the numpy and Pinocchio of Ubuntu 24.04 and ROS 2 Jazzy
test-numpy1: $(NUMPY1_VENV)/ready
	@$(NUMPY1_BIN)/python -c 'import numpy, pinocchio; \
		print("numpy", numpy.__version__, "Pinocchio", pinocchio.__version__)'
	@$(NUMPY1_BIN)/python -m pytest $(TEST_ARGS)

# The nodes with the wheels of ROS 2 Kilted.
KILTED_VENV ?= .venv-kilted

$(KILTED_VENV)/ready: requirements/ros-kilted.txt requirements/test.txt $(CONSTRAINTS)/kilted.txt setup.py
	$(call MAKE_VENV,$(KILTED_VENV))
	@$(call INSTALL,$(KILTED_VENV)) -c $(CONSTRAINTS)/kilted.txt -r requirements/ros-kilted.txt \
		-r requirements/test.txt -e '.[all]' $(BRIEF)
	@touch $@

# KILTED_TESTS may name fewer tests, as in .ci/run.
KILTED_TESTS ?= test/ros

## the tests of the nodes with ROS 2 Kilted instead of Jazzy
test-kilted: $(KILTED_VENV)/ready
	@$(CLEAN) $(KILTED_VENV)/bin/python -m pytest $(TEST_ARGS) $(KILTED_TESTS)

# The nodes with what is public in rclpy alone: the fall-back of ros/rclpy_private.py.
PUBLIC_TESTS ?= test/ros/test_running_node.py test/ros/test_node_client.py

## the tests of the nodes where rclpy has no more than its public interface
test-public-rclpy: setup
	@FRANKA_DYNAMICS_PUBLIC_RCLPY=1 $(BIN)/python -m pytest $(TEST_ARGS) $(PUBLIC_TESTS)

# What needs more of ROS than its wheels: launch, ros2cli, ros2_control, another middleware,
# franka_ros2 and Gazebo. test/real_ros.py says where they are looked for, and what was not run.
REAL := $(CLEAN) $(VENV)/bin/python -m test.real_ros

# REAL_PARTS may name fewer, as in .ci/run.
## what test-ros runs, and the nodes beside Cyclone DDS, franka_ros2 and
## Gazebo, where they are there
test-real: setup
	@$(REAL) $(REAL_PARTS)

## launch files, ros2 commands of the pages and C++ against ROS's own
## launch, ros2cli and ros2_control, of /opt/ros/jazzy or ROS=FOLDER,
## install of a workspace
test-ros: setup
	@$(REAL) ros2_control $(if $(ROS),--ros "$(ROS)")

# Two packages of gigabytes that few need; so they are not in [all].
LIBRARIES_VENV ?= .venv-libraries
LIBRARIES_BIN := $(CLEAN) $(LIBRARIES_VENV)/bin

$(LIBRARIES_VENV)/ready: setup.py
	$(call MAKE_VENV,$(LIBRARIES_VENV))
	@$(call INSTALL,$(LIBRARIES_VENV)) pytest -e '.[torch,jax,gpu]' $(BRIEF)
	@touch $@

## the tests of PyTorch and JAX, in an environment of their own (gigabytes)
test-libraries: $(LIBRARIES_VENV)/ready
	@$(LIBRARIES_BIN)/python -c 'import jax, torch; \
		print("JAX", jax.__version__, "PyTorch", torch.__version__)'
	@$(LIBRARIES_BIN)/python -m pytest -q -m 'not long' test/batch test/codegen/test_generated_code.py test/examples/test_payload_by_gradient.py

$(VENV)/docs-ready: $(VENV)/ready requirements/docs.txt
	@$(call INSTALL,$(VENV)) -c $(CONSTRAINTS)/jazzy.txt -r requirements/docs.txt $(BRIEF)
	@touch $@

## set up, then make the pages in docs/_build; warnings are errors
docs: $(VENV)/docs-ready
	@$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build
	@echo docs/_build/index.html

# As docs.ros.org makes the pages. rosdoc2 calls sphinx-apidoc by name.
$(VENV)/packagers-ready: $(VENV)/docs-ready requirements/packagers.txt
	@$(call INSTALL,$(VENV)) -c $(CONSTRAINTS)/jazzy.txt -r requirements/packagers.txt \
		-r requirements/docs.txt $(BRIEF)
	@touch $@

## the pages as docs.ros.org makes them, in build/rosdoc2
rosdoc2: $(VENV)/packagers-ready
	@PATH="$(abspath $(VENV))/bin:$$PATH" $(CLEAN) rosdoc2 build -p . \
		-o build/rosdoc2/pages -d build/rosdoc2/build -c build/rosdoc2/references
	@echo build/rosdoc2/pages/franka_dynamics/index.html

# ROS's linters, without what ament_flake8.ini says is not followed.
LINTED := franka_dynamics launch test examples benchmarks docs setup.py
## ament_flake8 and ament_pep257; ament_flake8.ini says what is not
## followed, and why
ament: $(VENV)/packagers-ready
	@$(BIN)/ament_flake8 --config ament_flake8.ini $(LINTED) | grep -v '^\* '
	@$(BIN)/ament_pep257 $(LINTED) --add-ignore D401 D402 2>&1 | grep -v '^checking '

## more random states, files, messages and bytes, others each time
## (minutes)
fuzz: setup
	@FRANKA_DYNAMICS_FUZZ=$(FUZZ_EXAMPLES) $(BIN)/python -m pytest -q test/properties test/cpp_package/test_core.py -k 'properties or whatever or whole'

TRIPLES ?= 10000
## all pairs of events and TRIPLES drawn triples through the core in Python
## and in C++, beside what the core's table says (half an hour)
model-check: setup
	@FRANKA_DYNAMICS_TRIPLES=$(TRIPLES) $(BIN)/python -m pytest -q -n auto --dist load -m 'long or not long' test/control/test_core_table.py test/cpp_package/test_core_table.py

$(VENV)-mutants/ready:
	@$(VENV)/bin/python -m venv $(VENV)-mutants
	@$(VENV)-mutants/bin/python -m pip install -q --disable-pip-version-check cosmic-ray
	@touch $@

## which tests notice one changed operator, constant or condition,
## 100 times over all rooms (an hour); MUTANT_ARGS='--rooms arm'
mutants: setup $(VENV)-mutants/ready
	@$(CLEAN) $(VENV)-mutants/bin/python -m test.mutants $(MUTANT_ARGS)

## what identify says of two real logs with faults put in;
## FRANKA_DYNAMICS_RECORDINGS names their folder
broken-logs: setup
	@$(BIN)/python benchmarks/broken_logs.py \
		"$${FRANKA_DYNAMICS_RECORDINGS:?names no folder}"/fer_excitation \
		"$$FRANKA_DYNAMICS_RECORDINGS"/fer_gaz2019_1khz

## the figures of the pages that come from public logs, of which FOLDER
## holds clones
recordings: setup
	@$(BIN)/python benchmarks/identification/run.py "$${FOLDER:?names no folder of clones}"

## compare every URDF below FOLDER with what Pinocchio reads in it
foreign-files: setup
	@$(BIN)/python benchmarks/foreign_files.py "$${FOLDER:?names no folder of URDFs}" $(FOREIGN_ARGS)

## how well drawn streams, chunks and trajectories are followed, within the
## limits
streams: setup
	@$(BIN)/python benchmarks/streams.py

## how many situations with nothing wrong stop the simulated arm;
## GUARD_ARGS are its options
guard-false-alarms: setup
	@$(BIN)/python benchmarks/guard_false_alarms.py $(or $(GUARD_ARGS),--sample 200)

## how fast simulated arms get whose controller has wrong settings or
## sensors; draws some rows, GUARD_ARGS are its options
guard-misconfiguration: setup
	@$(BIN)/python benchmarks/guard_misconfiguration.py $(or $(GUARD_ARGS),--sample 400)

## what the simulated arm does if its sender is killed, stopped or not the
## only one
receivers: setup
	@$(BIN)/python benchmarks/receivers.py

## ten minutes at 1 kHz: does the node's memory grow?
soak: setup
	@$(BIN)/python benchmarks/soak.py --seconds $(SOAK_SECONDS)

# To be called in a sourced ROS in which this package was built, because there is no wheel of Gazebo.
## hold, track, pause, reset in real Gazebo, where gz is installed
gazebo-check:
	@if { command -v gz || command -v ign; } >/dev/null && command -v ros2 >/dev/null; then \
		python3 benchmarks/gazebo_check.py $(GAZEBO_ARGS); else \
		echo 'gazebo-check: skipped, because ros2, or gz and ign, is not installed here;' \
		'docs/howto/gazebo.md says how to install them.'; fi

define GENERATE
from franka_dynamics.files import write_text
from franka_dynamics.ros import parameter_tables
from franka_dynamics.urdf import generated_files

for name, text in parameter_tables.generated_parameter_files().items():
    write_text(name, text)
for name, text in generated_files.generated_files().items():
    write_text(f'urdf/{name}', text)
endef
export GENERATE
## write what arm files, parameter tables and constants determine: urdf/,
## config/, figures in docs/, constants.hpp in cpp/, the type stub, the
## names in test/public_interface/
generated: setup
	@$(BIN)/python -c "$$GENERATE"
	@$(BIN)/python docs/figures.py
	@$(BIN)/python docs/cpp_constants.py
	@$(BIN)/python docs/cpp_core_table.py
	@$(BIN)/python docs/type_stub.py
	@$(BIN)/python -m test.public_interface

# $(call CONSTRAIN,NAME,OPTIONS) writes the constraints of an environment: newest versions of what
# setup.py and requirements/ name, for each Python and Linux; a marker that all lines have is left
# out, and uv itself is one of them.
define CONSTRAIN
@echo '$(CONSTRAINTS)/$(1).txt ...'
@{ echo '# Written by `make constraints`.'; echo uv | $(BIN)/uv pip compile -q --upgrade --universal \
	--python-version 3.11 --strip-extras --no-annotate --no-header --extra all $(2) setup.py \
	requirements/test.txt - | sed "s/python_full_version < '3.15' and sys_platform == 'linux'//; \
	s/ ; $$//; s/ and $$//"; } > $(CONSTRAINTS)/$(1).txt
endef

## newest versions of all packages into requirements/constraints
constraints: setup
	$(call CONSTRAIN,jazzy,requirements/ros-jazzy.txt requirements/docs.txt requirements/packagers.txt)
	$(call CONSTRAIN,kilted,requirements/ros-kilted.txt)
	$(call CONSTRAIN,numpy1,--config-file requirements/numpy1.toml requirements/ros-jazzy.txt)

# The archive and the wheel that a release uploads, built from each other, as an index and a user
# without a clone see them: metadata, contents, and the first command of README.
PACKAGED := build/package
TAG ?=
## archive and wheel of TAG, or of this folder, in build/package, checked, and tried in an empty
## environment
package: $(VENV)/packagers-ready
	@rm -rf $(PACKAGED)
	@if [ -n '$(TAG)' ]; then rm -rf build/tagged && mkdir -p build/tagged && \
		git archive '$(TAG)' | tar -x -C build/tagged; fi
	@$(BIN)/uv build -q --out-dir $(PACKAGED) $(if $(TAG),build/tagged,.)
	@$(BIN)/twine check --strict $(PACKAGED)/*.whl $(PACKAGED)/*.tar.gz
	@$(BIN)/check-wheel-contents $(PACKAGED)/*.whl
	@$(CLEAN) $(VENV)/bin/uvx -q --isolated --from "$$(echo $(PACKAGED)/*.whl)[replay]" \
		franka-dynamics bag replay examples/recording --gains franka_ros2 --no-plots
	@wheel="$$(realpath $(PACKAGED)/*.whl)" && cd test/typed_client && \
		$(CLEAN) '$(abspath $(VENV))/bin/uv' run -q --isolated --no-project --with mypy \
		--with "$$wheel" mypy --strict --config-file= -m client

## what a maintainer has to fill in before a release; fails on any other
## placeholder, and on versions that differ
release-check: setup
	@$(BIN)/python docs/release_check.py $(if $(TAG),--tag '$(TAG)')

# docs/promises.yaml has the commands, and what CI holds them to.
## short forms of the commands behind the pages' figures, and whether these
## hold
promises: setup
	@$(BIN)/python docs/promises.py --jobs 2

## their whole forms, into the pages; on a quiet machine, an hour.
## FIGURES="single_states batch latency" names some
figures: setup
	@$(BIN)/python docs/figures.py
	@$(BIN)/python docs/promises.py --write $(FIGURES)

## ruff and mypy
lint: setup
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet . || { echo "Not formatted as ruff does: run ruff format ." >&2; exit 1; }
	@$(BIN)/mypy
	@cd test/typed_client && $(CLEAN) '$(abspath $(VENV))/bin/mypy' --strict --config-file= -m client

## remove the environments, built files and outputs of demo and replay
clean:
	rm -rf docs/_build docs/reference/generated .venv .venv-* demo_output replay_output build install log
