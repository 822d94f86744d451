// SPDX-License-Identifier: MIT
// grammar/workflow.hpp to WorkflowSyntax.
#include <utility>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "config/parse_healing.hpp"
#include "config/parse_test.hpp"
#include "grammar/workflow.hpp"
#include "util/text.hpp"

namespace healer::config::parsing {
namespace {

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

  [[nodiscard]] HttpRequestSyntax& request() { return in_until ? http.until->request : http.request; }
};

/// Sets what may be given once.
template <typename Value>
void set_once(Build& build, TokenRange at, std::optional<Value>& to, Value value) {
  if (to) build.complain(at, fmt::format("'{}' is given twice", to_lower(build.text(at.begin))), "keep one of them");
  to = std::move(value);
}

/// The same of a switch.
void set_once(Build& build, TokenRange at, bool& to) {
  if (std::exchange(to, true))
    build.complain(at, fmt::format("'{}' is given twice", to_lower(build.text(at.begin))), "keep one of them");
}

std::uint64_t bytes_of(const Build& build, TokenRange at) {
  const auto value = grammar::tight_number(build.text(at.begin));
  if (!value) return 0;
  const std::string unit = to_lower(at.end - at.begin > 1 ? build.text(at.begin + 1) : value->rest);
  const int shift = unit.starts_with('k') ? 10 : unit.starts_with('m') ? 20 : unit.starts_with('g') ? 30 : 0;
  constexpr std::uint64_t kMost = ~std::uint64_t{0};
  return value->number > (kMost >> shift) ? kMost : value->number << shift;
}

}  // namespace

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

// ---- other steps

template <>
struct action<grammar::wait_step> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    scratch.step.what = WaitStepSyntax{last_duration(build, matched(in, build))};
  }
};

template <>
struct action<grammar::bring_step> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    const auto at = matched(in, build).begin;
    const std::string word = to_lower(build.text(at));
    scratch.step.what = BringStepSyntax{.what = word == "start"  ? engine::Bringing::Start
                                                : word == "stop" ? engine::Bringing::Stop
                                                                 : engine::Bringing::Restart,
                                        .service = build.word(at + 1)};
  }
};

template <>
struct action<grammar::tell_step> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    scratch.step.what = TellStepSyntax{build.word(matched(in, build).end - 1)};
  }
};

template <>
struct action<grammar::recovered_step> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    const auto at = matched(in, build);
    scratch.step.what =
        RecoveredStepSyntax{.within = last_duration(build, at), .or_gone = iequals(build.text(at.begin + 1), "or")};
  }
};

template <>
struct action<grammar::escalate_step> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    scratch.step.what = EscalateStepSyntax{build.word(matched(in, build).end - 1)};
  }
};

// ---- steps

template <>
struct action<grammar::step_name> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) { scratch.step.name = word_of(in, build); }
};

template <>
struct action<grammar::step> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    scratch.step.range = build.range(matched(in, build));
    scratch.blocks.back().push_back(std::exchange(scratch.step, {}));
  }
};

template <>
struct action<grammar::bare_step> : action<grammar::step> {};

template <>
struct action<grammar::parallel_word> {
  static void apply(const auto&, Build&, WorkflowScratch& scratch) { scratch.blocks.emplace_back(); }
};

template <>
struct action<grammar::parallel> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    ParallelStepSyntax parallel{std::move(scratch.blocks.back())};
    scratch.blocks.pop_back();
    StepSyntax step;
    step.what = std::move(parallel);
    step.range = build.range(matched(in, build));
    scratch.blocks.back().push_back(std::move(step));
  }
};

template <>
struct action<grammar::inner_parallel> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    scratch.blocks.pop_back();
    const auto at = matched(in, build);
    build.complain({at.begin, at.begin + 1}, "'parallel' cannot stand within another",
                   "move its steps to the outer one");
  }
};

// ---- the workflow

template <>
struct action<grammar::guard_once> {
  static void apply(const auto&, Build&, WorkflowScratch& scratch) { scratch.guard_once = true; }
};

template <>
struct action<grammar::guard> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    const auto at = matched(in, build);
    GuardSyntax guard{.program = std::exchange(scratch.program, {}),
                      .timeout = std::exchange(scratch.step, {}).timeout,
                      .once = std::exchange(scratch.guard_once, false),
                      .range = build.range(at)};
    set_once(build, {at.begin, at.begin + 1}, scratch.workflow.guard, std::move(guard));
  }
};

template <>
struct action<grammar::on_failure_word> : action<grammar::parallel_word> {};

template <>
struct action<grammar::on_cancel_word> : action<grammar::parallel_word> {};

template <>
struct action<grammar::on_failure> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    end(build, matched(in, build), scratch, scratch.workflow.on_failure, "on failure");
  }
  static void end(Build& build, TokenRange at, WorkflowScratch& scratch, std::optional<std::vector<StepSyntax>>& to,
                  std::string_view what) {
    if (to) build.complain({at.begin - 1, at.begin + 1}, fmt::format("'{}' is given twice", what), "keep one of them");
    if (scratch.blocks.back().empty())
      build.complain({at.begin - 1, at.begin + 1}, fmt::format("'{}' has no steps", what),
                     "write one, or take it away");
    to = std::move(scratch.blocks.back());
    scratch.blocks.pop_back();
  }
};

template <>
struct action<grammar::on_cancel> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    action<grammar::on_failure>::end(build, matched(in, build), scratch, scratch.workflow.on_cancel, "on cancel");
  }
};

template <>
struct action<grammar::workflow_limit> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    scratch.limit.range = build.range(matched(in, build));
    scratch.workflow.limits.push_back(std::exchange(scratch.limit, {}));
  }
};

template <>
struct action<grammar::until_share> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    scratch.share.until = word_of(in, build);
  }
};

template <>
struct action<grammar::pause_while> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    scratch.share.range = build.range(matched(in, build));
    scratch.workflow.pauses.push_back(std::exchange(scratch.share, {}));
  }
};

template <>
struct action<grammar::cooldown> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    const auto at = matched(in, build);
    set_once(build, at, scratch.workflow.cooldown, last_duration(build, at));
  }
};

template <>
struct action<grammar::tries> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    const auto at = matched(in, build);
    set_once(build, at, scratch.workflow.tries, build.number(at.end - 1));
  }
};

template <>
struct action<grammar::ramp> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    const auto at = matched(in, build);
    if (!scratch.workflow.ramp.empty()) build.complain(at, "'ramp' is given twice", "keep one of them");
    for (std::size_t token = at.begin + 1; token < at.end; ++token)
      scratch.workflow.ramp.push_back(build.number(token));
  }
};

template <>
struct action<grammar::probation> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    const auto at = matched(in, build);
    set_once(build, at, scratch.workflow.probation, last_duration(build, at));
  }
};

template <>
struct action<grammar::breaker> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    const auto at = matched(in, build);
    set_once(build, at, scratch.workflow.breaker, BreakerSyntax{build.number(at.begin + 1), last_duration(build, at)});
  }
};

template <>
struct action<grammar::approval_within> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    scratch.approval.within = last_duration(build, matched(in, build));
  }
};

template <>
struct action<grammar::approval_else> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    scratch.approval.else_run = iequals(build.text(matched(in, build).end - 1), "run");
  }
};

template <>
struct action<grammar::approval_when> {
  static void apply(const auto&, Build&, WorkflowScratch& scratch) {
    scratch.approval.when = std::exchange(scratch.share, {});
  }
};

template <>
struct action<grammar::approval> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    const auto at = matched(in, build);
    set_once(build, at, scratch.workflow.approval, std::exchange(scratch.approval, {}));
  }
};

template <>
struct action<grammar::workflow_mode> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    const auto at = matched(in, build);
    set_once(build, at, scratch.workflow.mode, mode_of(build, at));
  }
};

template <>
struct action<grammar::workflow_name> {
  static void apply(const auto& in, Build& build, WorkflowScratch& scratch) {
    scratch.workflow.name = word_of(in, build);
  }
};

template <>
struct action<grammar::workflow> {
  static void apply(const auto& in, Build& build, WorkflowScratch&) {
    const auto at = matched(in, build);
    build.extend(grammar::workflow::kName, {at.begin, at.begin + 2});
  }
};

bool parse_workflow(grammar::TokenInput& in, Build& build, WorkflowSyntax& out) {
  WorkflowScratch scratch;
  const std::size_t begin = in.index();
  if (!match<grammar::workflow>(in, build, scratch)) return false;
  out = std::move(scratch.workflow);
  out.steps = std::move(scratch.blocks.front());
  out.range = build.range({begin, begin + 2});
  return true;
}

}  // namespace healer::config::parsing
