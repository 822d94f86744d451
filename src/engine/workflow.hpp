// SPDX-License-Identifier: MIT
// `workflow`: what is run to heal, under guard, as the rules say it (language 3.4, 3.6, 3.7).
//
// All texts and arguments may hold `${NAME}`, which stands for a value that is known when the step begins: fill() in
// engine/healing/variables. A workflow is plain data, for a healing goes by the one that it began with, which its
// journal holds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/command.hpp"
#include "engine/healing/bringing.hpp"
#include "engine/healing/saving.hpp"
#include "engine/healing_limits.hpp"
#include "engine/json_test.hpp"
#include "engine/source_place.hpp"
#include "util/hash.hpp"
#include "util/time.hpp"

namespace healer::engine {

struct HttpRequest {
  std::string method;  ///< "GET", "POST", ...
  std::string url;
  std::vector<std::string> headers;  ///< "Name: value"
  std::string body;
  std::string body_file;  ///< read when the request is made; empty: `body` is sent
  bool follow = false;
  bool insecure = false;
  std::uint64_t limit = 1U << 20;  ///< bytes of an answer

  bool operator==(const HttpRequest&) const = default;
};

struct Step;

namespace step {

/// Exit status 0 is well.
struct Program {
  Command command;  ///< its timeout is the step's
  std::vector<std::pair<std::string, std::string>> environment;
  std::string directory;  ///< where it runs; empty: /
  std::vector<Saving> saves;
  bool operator==(const Program&) const = default;
};

/// `until REQUEST json ... fail json ... every D within D`: polled after the step's request was answered.
struct Until {
  HttpRequest request;
  std::vector<JsonTest> met;
  std::vector<JsonTest> failed;
  Duration every{5'000};
  Duration within{600'000};
  bool operator==(const Until&) const = default;
};

struct Http {
  HttpRequest request;
  std::vector<std::uint16_t> expect;  ///< status codes; empty: 200 to 299
  std::vector<JsonTest> expect_json;
  std::vector<Saving> saves;
  std::optional<Until> until;
  bool operator==(const Http&) const = default;
};

struct Wait {
  Duration length{0};
  bool operator==(const Wait&) const = default;
};

/// `start`, `stop`, `restart SERVICE`.
struct Bring {
  Bringing what = Bringing::Restart;
  std::string service;
  bool operator==(const Bring&) const = default;
};

/// `alert "text"`.
struct Tell {
  std::string text;
  bool operator==(const Tell&) const = default;
};

/// `recovered within D`, `recovered or gone within D`.
struct Recovered {
  Duration within{300'000};
  bool or_gone = false;
  bool operator==(const Recovered&) const = default;
};

/// `heal with OTHER`: only as the last of `on failure`. The healing goes on with OTHER's plan.
struct Escalate {
  std::string workflow;
  bool operator==(const Escalate&) const = default;
};

/// `parallel { ... }`: all of them at once; the first failure ends the others. Not within another.
struct Parallel {
  std::vector<Step> steps;
  bool operator==(const Parallel&) const;
};

}  // namespace step

using StepWhat = std::variant<step::Program, step::Http, step::Wait, step::Bring, step::Tell, step::Recovered,
                              step::Escalate, step::Parallel>;

/// One step of a workflow.
struct Step {
  std::string name;  ///< as written; where it was not, what it does: "alert", "heal with other"
  StepWhat what;
  Duration timeout{0};        ///< of one attempt; 0: none of its own
  std::uint32_t retries = 0;  ///< `retry 2 times`: attempts beyond the first
  Duration pause{0};          ///< `every 30 seconds`: between attempts
  bool repeatable = false;    ///< may be run again where whether it was done is unknown

  bool operator==(const Step&) const = default;
};

inline bool step::Parallel::operator==(const Parallel& other) const { return steps == other.steps; }

/// `guard program "..."`: exit status 0 lets a try begin, anything else refuses it.
struct Guard {
  step::Program program;
  Duration timeout{30'000};
  bool once = false;  ///< before the first try only
  bool operator==(const Guard&) const = default;
};

/// One `workflow` block.
struct Workflow {
  std::string name;
  std::optional<Guard> guard;
  std::vector<Step> steps;
  std::vector<Step> on_failure;
  std::vector<Step> on_cancel;
  std::vector<HealingLimit> limits;  ///< with the defaults, until one of its kind is written
  std::vector<PauseWhile> pauses;    ///< the same
  Duration cooldown{600'000};
  std::uint32_t tries = 1;
  std::vector<std::uint32_t> ramp;  ///< at once; empty: none
  Duration probation{0};
  std::optional<Breaker> breaker;
  std::optional<Approval> approval;
  HealingMode mode = HealingMode::Automatic;
  Hash128 key;  ///< hash of all that the block says (places left out)
  SourcePlace place;

  bool operator==(const Workflow& other) const { return key == other.key; }
  /// Whether all it does is to tell people: it has no brakes and needs no guard.
  [[nodiscard]] bool only_tells() const;
};

}  // namespace healer::engine
