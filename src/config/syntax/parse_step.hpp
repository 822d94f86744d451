// SPDX-License-Identifier: MIT
// grammar/workflow.hpp to programs and requests of steps: actions of parse_workflow.cpp.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "config/syntax/parse_healing.hpp"
#include "config/syntax/parse_test.hpp"
#include "grammar/workflow.hpp"
#include "util/text.hpp"

namespace healer::config::parsing {

/// What a workflow is built in.
struct WorkflowScratch : HealingScratch {
  WorkflowSyntax workflow;
  StepSyntax step;            ///< under way
  ProgramStepSyntax program;  ///< of the step or guard under way
  HttpStepSyntax http;        ///< of the step under way
  bool in_until = false;      ///< what comes belongs to its `until`
  bool guard_once = false;
  SavingSyntax saving;                              ///< under way
  JsonTestSyntax json;                              ///< under way
  std::vector<std::vector<StepSyntax>> blocks{{}};  ///< the workflow's steps, those of an `on`, of a `parallel`
  ApprovalSyntax approval;                          ///< under way

  /// Reads a step of any kind into `step`: grammar::step_kind.
  [[nodiscard]] bool match_step(grammar::TokenInput& in, Build& build);
  [[nodiscard]] HttpRequestSyntax& request() { return in_until ? http.until->request : http.request; }
};

/// As match(): the tokens that have matched; nothing: they do not.
template <typename Rule>
[[nodiscard]] std::optional<TokenRange> match_tokens(grammar::TokenInput& in, Build& build, WorkflowScratch& scratch) {
  const std::size_t begin = in.index();
  if (!match<Rule>(in, build, scratch)) return std::nullopt;
  return TokenRange{begin, in.index()};
}

/// Sets what may be given once.
template <typename Value>
void set_once(Build& build, TokenRange at, Rare<Value>& to, Value value) {
  if (to) build.complain(at, fmt::format("'{}' is given twice", to_lower(build.text(at.begin))), "keep one of them");
  to = std::move(value);
}

/// The same of a switch.
inline void set_once(Build& build, TokenRange at, bool& to) {
  if (std::exchange(to, true))
    build.complain(at, fmt::format("'{}' is given twice", to_lower(build.text(at.begin))), "keep one of them");
}

[[nodiscard]] inline std::uint64_t bytes_of(const Build& build, TokenRange at) {
  const auto value = grammar::tight_number(build.text(at.begin));
  if (!value) return 0;
  const std::string unit = to_lower(at.end - at.begin > 1 ? build.text(at.begin + 1) : value->rest);
  const int shift = unit.starts_with('k') ? 10 : unit.starts_with('m') ? 20 : unit.starts_with('g') ? 30 : 0;
  constexpr std::uint64_t kMost = ~std::uint64_t{0};
  return value->number > (kMost >> shift) ? kMost : value->number << shift;
}

// ---- options of attempts

template <>
struct action<grammar::step_timeout> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    const auto at = matched(in, build);
    set_once(build, at, scratch.step.timeout, last_duration(build, at));
  }
};

template <>
struct action<grammar::retry_count> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    const auto at = matched(in, build);
    set_once(build, {at.begin - 1, at.end}, scratch.step.retries, build.number(at.begin));
  }
};

template <>
struct action<grammar::retry_pause> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    scratch.step.pause = build.duration(matched(in, build));
  }
};

template <>
struct action<grammar::step_repeatable> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    set_once(build, matched(in, build), scratch.step.repeatable);
  }
};

// ---- programs

template <>
struct action<grammar::own_command> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    build.begin_command(matched(in, build).begin);
    scratch.program = {};
    scratch.program.command = build.take_command();
    scratch.program.command.single_quoted_with_arguments = false;  // to Monit this is no program at all
  }
};

template <>
struct action<grammar::own_environment> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    const auto at = matched(in, build);
    scratch.program.environment.emplace_back(build.word(at.begin + 1), build.word(at.begin + 2));
  }
};

template <>
struct action<grammar::own_directory> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    const auto at = matched(in, build);
    set_once(build, at, scratch.program.directory, build.word(at.end - 1));
  }
};

template <>
struct action<grammar::own_uid> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    const auto at = matched(in, build);
    set_once(build, {at.end - 2, at.end}, scratch.program.command.uid, build.word(at.end - 1));
  }
};

template <>
struct action<grammar::own_gid> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    const auto at = matched(in, build);
    set_once(build, {at.end - 2, at.end}, scratch.program.command.gid, build.word(at.end - 1));
  }
};

template <>
struct action<grammar::program_step> {
  static void apply(const auto&, Build&, WorkflowScratch& scratch) {
    scratch.step.what = std::exchange(scratch.program, {});
  }
};

// ---- saved values

template <>
struct action<grammar::save_json> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    scratch.saving = {.from = engine::Saving::From::Json, .what = build.word(matched(in, build).end - 1)};
  }
};

template <>
struct action<grammar::save_header> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    scratch.saving = {.from = engine::Saving::From::Header, .what = build.word(matched(in, build).end - 1)};
  }
};

template <>
struct action<grammar::save_text> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    scratch.saving = {.from = engine::Saving::From::Regex, .what = word_of(in, build)};
  }
};

template <>
struct action<grammar::saved_name> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    scratch.saving.name = word_of(in, build);
  }
};

template <>
struct action<grammar::save_secret> {
  static void apply(const auto&, Build&, WorkflowScratch& scratch) { scratch.saving.secret = true; }
};

template <>
struct action<grammar::save> {
  static void apply(const auto&, Build&, WorkflowScratch& scratch) {
    // Of a program or of a request: what is under way has its command or its URL.
    auto& saves = scratch.http.request.url.value.empty() ? scratch.program.saves : scratch.http.saves;
    saves.push_back(std::exchange(scratch.saving, {}));
  }
};

// ---- requests

template <>
struct action<grammar::http_word> {
  static void apply(const auto&, Build&, WorkflowScratch& scratch) {
    scratch.http = {};
    scratch.in_until = false;
  }
};

template <>
struct action<grammar::http_method> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    Word method = word_of(in, build);
    for (char& c : method.value) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    scratch.request().method = std::move(method);
  }
};

template <>
struct action<grammar::http_url> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    scratch.request().url = word_of(in, build);
  }
};

template <>
struct action<grammar::http_login> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    const auto at = matched(in, build);
    set_once(build, at, scratch.request().user, build.word(at.begin + 1));
    scratch.request().password = build.word(at.end - 1);
  }
};

template <>
struct action<grammar::http_header> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    scratch.request().headers.push_back(build.word(matched(in, build).end - 1));
  }
};

template <>
struct action<grammar::body_file> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    scratch.request().body_file = build.word(matched(in, build).end - 1);
  }
};

template <>
struct action<grammar::request_text> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    scratch.request().body = word_of(in, build);
  }
};

template <>
struct action<grammar::http_body> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    if (scratch.request().body && scratch.request().body_file)
      build.complain(matched(in, build), "'body' is given twice", "keep one of them");
  }
};

template <>
struct action<grammar::http_follow> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    set_once(build, matched(in, build), scratch.request().follow);
  }
};

template <>
struct action<grammar::http_insecure> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    set_once(build, matched(in, build), scratch.request().insecure);
  }
};

template <>
struct action<grammar::answer_limit> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    const auto at = matched(in, build);
    const TokenRange size{at.begin + 1, at.end};
    set_once(build, at, scratch.request().limit, {bytes_of(build, size), build.range(size)});
  }
};

template <>
struct action<grammar::http_code> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    scratch.http.expect.push_back(build.number(matched(in, build).begin));
  }
};

template <>
struct action<grammar::json_test> {
  static JsonTestSyntax test_of(const Build& build, TokenRange at) {
    const grammar::Kind kind = build.kind(at.end - 1);
    return {.filter = build.word(at.end - 3),
            .comparison = comparison_of(build.text(at.end - 2)),
            .value = build.word(at.end - 1),
            .quoted = kind == grammar::Kind::Quoted || kind == grammar::Kind::Path};
  }
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    scratch.json = test_of(build, matched(in, build));
  }
};

template <>
struct action<grammar::http_json> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    scratch.http.expect_json.push_back(action<grammar::json_test>::test_of(build, matched(in, build)));
  }
};

template <>
struct action<grammar::until_word> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    set_once(build, matched(in, build), scratch.http.until, {});
    scratch.http.until->range = build.range(matched(in, build));
    scratch.in_until = true;
  }
};

template <>
struct action<grammar::until_json> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    scratch.http.until->met.push_back(action<grammar::json_test>::test_of(build, matched(in, build)));
  }
};

template <>
struct action<grammar::until_fail> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    scratch.http.until->failed.push_back(action<grammar::json_test>::test_of(build, matched(in, build)));
  }
};

template <>
struct action<grammar::until_every> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    const auto at = matched(in, build);
    set_once(build, at, scratch.http.until->every, last_duration(build, at));
  }
};

template <>
struct action<grammar::until_within> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    const auto at = matched(in, build);
    set_once(build, at, scratch.http.until->within, last_duration(build, at));
  }
};

template <>
struct action<grammar::http_until> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    scratch.http.until->range = build.range(matched(in, build));
    scratch.in_until = false;
  }
};

template <>
struct action<grammar::http_step> {
  static void apply(const auto&, Build&, WorkflowScratch& scratch) {
    scratch.step.what = std::exchange(scratch.http, {});
  }
};

}  // namespace healer::config::parsing
