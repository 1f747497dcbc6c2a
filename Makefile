# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
# Each target sets up what it needs in .venv; nothing is installed outside this folder.

SHELL := /bin/bash
VENV ?= .venv
# The first of these that starts and is new enough; override with PYTHON=...
PYTHON ?= $(shell for p in python3.12 python3.11 python3; do \
	$$p -c 'import sys, venv; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 12))' \
	2>/dev/null && { echo $$p; break; }; done)

# A sourced ROS leaks its Python path, libraries and middleware settings: none of it may enter.
LEAKS := PYTHONPATH PYTHONHOME LD_LIBRARY_PATH LD_PRELOAD AMENT_PREFIX_PATH CMAKE_PREFIX_PATH \
	COLCON_PREFIX_PATH ROS_DISTRO ROS_VERSION ROS_PYTHON_VERSION ROS_PACKAGE_PATH ROS_MASTER_URI \
	ROS_LOCALHOST_ONLY ROS_DISCOVERY_SERVER ROS_DOMAIN_ID ROS_NAMESPACE ROS_STATIC_PEERS \
	ROS_SECURITY_ENABLE RMW_IMPLEMENTATION FASTRTPS_DEFAULT_PROFILES_FILE \
	FASTDDS_DEFAULT_PROFILES_FILE RMW_FASTRTPS_USE_QOS_FROM_XML CYCLONEDDS_URI PYTHONOPTIMIZE \
	_ROS_WHEELS_BOOTSTRAP_COMPLETE PYTHONWARNINGS PYTEST_ADDOPTS PYTEST_PLUGINS
CLEAN := env $(addprefix -u ,$(LEAKS)) ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST
BIN := $(CLEAN) $(VENV)/bin

.PHONY: demo test lint setup clean
.DEFAULT_GOAL := help

help:
	@echo 'make demo   set up, then run the main job without a screen (about a minute)'
	@echo 'make test   set up, then run the whole test suite'
	@echo 'make lint   ruff and mypy'
	@echo 'make clean  remove the environment and what runs left behind'

setup: $(VENV)/ready

$(VENV)/ready: requirements/ros-jazzy.txt requirements/test.txt setup.py
	@test -n "$(PYTHON)" || { echo 'Python 3.11 or 3.12 with its venv module is needed \
	(Debian and Ubuntu: apt install python3-venv); or name one: make PYTHON=/path/to/python' >&2; \
	exit 2; }
	@echo 'Setting up $(VENV) with $(PYTHON); the first time takes a minute or two ...'
	@$(CLEAN) $(PYTHON) -m venv --clear $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check \
		-r requirements/ros-jazzy.txt -r requirements/test.txt -e '.[all]'
	@touch $@

demo: setup
	@$(BIN)/franka-dynamics demo $(DEMO_ARGS)

test: setup
	@$(BIN)/python -m pytest $(TEST_ARGS)

lint: setup
	@$(BIN)/ruff check .
	@$(BIN)/mypy

clean:
	rm -rf .venv .venv-* demo_output build install log
