// SPDX-License-Identifier: MIT
// The worlds of the tests, for src/precompiled_project.hpp.
#pragma once

#include "support/engine_world.hpp"
#include "support/fleet_world.hpp"
#include "support/process_world.hpp"
