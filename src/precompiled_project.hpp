// SPDX-License-Identifier: MIT
// The project's own headers that many files include, compiled once for all of them where HEALER_PRECOMPILE_PROJECT is
// ON: in the builds of sanitizers, which nobody works in. One change to them compiles everything anew.
#pragma once

#include <nlohmann/json.hpp>

#include "config/check.hpp"
#include "config/environments.hpp"
#include "config/load.hpp"
#include "config/passes/passes.hpp"
#include "control/wire.hpp"
#include "engine/engine.hpp"
#include "engine/judging/evaluate.hpp"
#include "engine/reload/diff.hpp"
#include "engine/words/cause.hpp"
#include "engine/words/explain.hpp"
#include "protocols/probe.hpp"
#include "util/hash.hpp"
#include "util/result.hpp"
#include "util/text.hpp"
#include "util/time.hpp"
