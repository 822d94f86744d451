// SPDX-License-Identifier: MIT
#include "store/healing_json.hpp"

#include <spdlog/fmt/fmt.h>
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "engine/healing/soundness.hpp"
#include "util/text.hpp"

namespace healer::store {

using namespace engine;
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kFarthest = 700'000'000'000'000;  // ms of a time or a duration: 22 000 years
constexpr int kDeepest = 32;                             // objects within each other
constexpr const char* kBytes = "bytes";                  // of a text that is no UTF-8, in hexadecimal
constexpr const char* kKind = "kind";                    // of a step

// ---- words, in the order of the enumerators; what is written is never changed --------------------------------------

template <typename Enum>
using For = std::type_identity<Enum>;

constexpr std::array<std::string_view, 3> words_of(For<Saving::From>) { return {"regex", "json", "header"}; }
constexpr std::array<std::string_view, 3> words_of(For<Bringing>) { return {"start", "stop", "restart"}; }
constexpr std::array<std::string_view, 6> words_of(For<Comparison>) { return {"=", "!=", "<", "<=", ">", ">="}; }
constexpr std::array<std::string_view, 4> words_of(For<HealingMode>) {
  return {"shadow", "dry run", "approval", "automatic"};
}
constexpr std::array<std::string_view, 3> words_of(For<effect::Cause::State>) {
  return {"succeeded", "failed", "changed"};
}
constexpr std::array<std::string_view, 11> words_of(For<StepRun::State>) {
  return {"fresh",     "running", "requesting", "polling", "bringing", "waiting",
          "verifying", "pausing", "ending",     "done",    "failed"};
}
constexpr std::array<std::string_view, 10> words_of(For<HealingEnd>) {
  return {"verified", "done",        "failed",  "refused",   "cancelled",
          "rejected", "interrupted", "dropped", "would run", "abandoned"};
}
constexpr std::array<std::string_view, 8> words_of(For<Healing::Stage>) {
  return {"held", "approval", "confirming", "guarding", "stepping", "between", "failing", "cancelling"};
}
std::array<std::string_view, kEventKinds> words_of(For<EventKind>) {
  std::array<std::string_view, kEventKinds> words;
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = to_string(static_cast<EventKind>(i));
  return words;
}
/// Of the alternatives of StepWhat.
constexpr std::array<std::string_view, std::variant_size_v<StepWhat>> kStepKinds{
    "program", "http", "wait", "bring", "tell", "recovered", "escalate", "parallel"};

// ---- the fields of each struct --------------------------------------------------------------------------------------
// They are taken apart by name: one that gains a field does not compile until it is named here.

template <typename T, typename Struct>
concept Is = std::same_as<std::remove_const_t<T>, Struct>;

void fields(auto& all, Is<Saving> auto& saving) {
  auto& [from, what, name, secret] = saving;
  all("from", from, "what", what, "name", name, "secret", secret);
}

void fields(auto& all, Is<JsonTest> auto& test) {
  auto& [filter, comparison, value, quoted] = test;
  all("filter", filter, "comparison", comparison, "value", value, "quoted", quoted);
}

void fields(auto& all, Is<HttpRequest> auto& request) {
  auto& [method, url, headers, body, body_file, follow, insecure, limit] = request;
  all("method", method, "url", url, "headers", headers, "body", body, "body_file", body_file, "follow", follow,
      "insecure", insecure, "limit", limit);
}

void fields(auto& all, Is<Identity> auto& identity) {
  auto& [uid, gid, user, home] = identity;
  all("uid", uid, "gid", gid, "user", user, "home", home);
}

void fields(auto& all, Is<Command> auto& command) {
  auto& [arguments, identity, timeout] = command;
  all("arguments", arguments, "identity", identity, "timeout", timeout);
}

void fields(auto& all, Is<step::Program> auto& program) {
  auto& [command, environment, directory, saves] = program;
  all("command", command, "environment", environment, "directory", directory, "saves", saves);
}

void fields(auto& all, Is<step::Until> auto& until) {
  auto& [request, met, failed, every, within] = until;
  all("request", request, "met", met, "failed", failed, "every", every, "within", within);
}

void fields(auto& all, Is<step::Http> auto& http) {
  auto& [request, expect, expect_json, saves, until] = http;
  all("request", request, "expect", expect, "expect_json", expect_json, "saves", saves, "until", until);
}

void fields(auto& all, Is<step::Wait> auto& wait) {
  auto& [length] = wait;
  all("length", length);
}

void fields(auto& all, Is<step::Bring> auto& bring) {
  auto& [what, service] = bring;
  all("what", what, "service", service);
}

void fields(auto& all, Is<step::Tell> auto& tell) {
  auto& [text] = tell;
  all("text", text);
}

void fields(auto& all, Is<step::Recovered> auto& recovered) {
  auto& [within, or_gone] = recovered;
  all("within", within, "or_gone", or_gone);
}

void fields(auto& all, Is<step::Escalate> auto& escalate) {
  auto& [workflow] = escalate;
  all("workflow", workflow);
}

void fields(auto& all, Is<step::Parallel> auto& parallel) {
  auto& [steps] = parallel;
  all("steps", steps);
}

void fields(auto& all, Is<Step> auto& one) {
  auto& [name, what, timeout, retries, pause, repeatable] = one;
  all("name", name, "what", what, "timeout", timeout, "retries", retries, "pause", pause, "repeatable", repeatable);
}

void fields(auto& all, Is<Guard> auto& guard) {
  auto& [program, timeout, once] = guard;
  all("program", program, "timeout", timeout, "once", once);
}

void fields(auto& all, Is<HealingLimit> auto& limit) {
  auto& [number, percent, group, within] = limit;
  all("number", number, "percent", percent, "group", group, "within", within);
}

void fields(auto& all, Is<PauseWhile> auto& pause) {
  auto& [group, above, until] = pause;
  all("group", group, "above", above, "until", until);
}

void fields(auto& all, Is<Breaker> auto& breaker) {
  auto& [failed, within] = breaker;
  all("failed", failed, "within", within);
}

void fields(auto& all, Is<Approval> auto& approval) {
  auto& [within, else_run, when] = approval;
  all("within", within, "else_run", else_run, "when", when);
}

void fields(auto& all, Is<SourcePlace> auto& place) {
  auto& [file, column, line] = place;
  all("file", file, "column", column, "line", line);
}

void fields(auto& all, Is<Workflow> auto& workflow) {
  auto& [name, guard, steps, on_failure, on_cancel, limits, pauses, cooldown, tries, ramp, probation, breaker, approval,
         mode, key, place] = workflow;
  all("name", name, "guard", guard, "steps", steps, "on_failure", on_failure, "on_cancel", on_cancel, "limits", limits,
      "pauses", pauses, "cooldown", cooldown, "tries", tries, "ramp", ramp, "probation", probation, "breaker", breaker,
      "approval", approval, "mode", mode, "key", key, "place", place);
}

void fields(auto& all, Is<effect::Cause::Process> auto& process) {
  auto& [pid, memory_kb, children, cpu_percent] = process;
  all("pid", pid, "memory_kb", memory_kb, "children", children, "cpu_percent", cpu_percent);
}

void fields(auto& all, Is<effect::Cause> auto& cause) {
  auto& [service, event, state, event_text, action_text, description, rule, when, program_status, process] = cause;
  all("service", service, "event", event, "state", state, "event_text", event_text, "action_text", action_text,
      "description", description, "rule", rule, "when", when, "program_status", program_status, "process", process);
}

void fields(auto& all, Is<Deadline> auto& deadline) {
  auto& [wall, mono, boot, length] = deadline;
  all("wall", wall, "mono", mono, "boot", boot, "length", length);
}

void fields(auto& all, Is<Overrides> auto& overrides) {
  auto& [limit, cooldown, pause] = overrides;
  all("limit", limit, "cooldown", cooldown, "pause", pause);
}

void fields(auto& all, Is<StepRun> auto& run) {
  auto& [state, attempt, doubts, action, due, begun, failure, request] = run;
  all("state", state, "attempt", attempt, "doubts", doubts, "action", action, "due", due, "begun", begun, "failure",
      failure, "request", request);
}

void fields(auto& all, Is<Detour> auto& detour) {
  auto& [position, of_plan, under_way] = detour;
  all("position", position, "of_plan", of_plan, "under_way", under_way);
}

void fields(auto& all, Is<StepOutcome> auto& outcome) {
  auto& [round, name, good, took, text] = outcome;
  all("round", round, "name", name, "good", good, "took", took, "text", text);
}

void fields(auto& all, Is<Trigger> auto& trigger) {
  auto& [service, rule] = trigger;
  all("service", service, "rule", rule);
}

void fields(auto& all, Is<Healing> auto& healing) {
  auto& [id, target, service, rule, by, cause, workflow, plan, dry_run, overrides, overridden_by, also, row, asked,
         mode, stage, reason, not_before, approved_by, approved_early, seen, refused, told_long, held_since, round,
         position, under_way, detour, outcomes, saved, begun, failure, cancelled_by, abandoned, queued, escalated,
         in_probation] = healing;
  all("id", id, "target", target, "service", service, "rule", rule, "by", by, "cause", cause, "workflow", workflow,
      "plan", plan, "dry_run", dry_run, "overrides", overrides, "overridden_by", overridden_by, "also", also, "row",
      row, "asked", asked, "mode", mode, "stage", stage, "reason", reason, "not_before", not_before, "approved_by",
      approved_by, "approved_early", approved_early, "seen", seen, "refused", refused, "told_long", told_long,
      "held_since", held_since, "round", round, "position", position, "under_way", under_way, "detour", detour,
      "outcomes", outcomes, "saved", saved, "begun", begun, "failure", failure, "cancelled_by", cancelled_by,
      "abandoned", abandoned, "queued", queued, "escalated", escalated, "in_probation", in_probation);
}

void fields(auto& all, Is<TargetMemory> auto& memory) {
  auto& [target, rehearsed, cooldown, probation, plan, healing, end, ended, recovered] = memory;
  all("target", target, "rehearsed", rehearsed, "cooldown", cooldown, "probation", probation, "plan", plan, "healing",
      healing, "end", end, "ended", ended, "recovered", recovered);
}

void fields(auto& all, Is<WorkflowMemory::Counts> auto& counts) {
  auto& [proposed, would_run, approved, rejected, ran, recovered, failed, abandoned] = counts;
  all("proposed", proposed, "would_run", would_run, "approved", approved, "rejected", rejected, "ran", ran, "recovered",
      recovered, "failed", failed, "abandoned", abandoned);
}

void fields(auto& all, Is<WorkflowMemory::Try> auto& one) {
  auto& [when, target, rehearsed] = one;
  all("when", when, "target", target, "rehearsed", rehearsed);
}

void fields(auto& all, Is<WorkflowMemory> auto& memory) {
  auto& [workflow, tries, failures, failed, open, ramp, verified, active, counts] = memory;
  all("workflow", workflow, "tries", tries, "failures", failures, "failed", failed, "open", open, "ramp", ramp,
      "verified", verified, "active", active, "counts", counts);
}

void fields(auto& all, Is<ClosedBrake> auto& brake) {
  auto& [workflow, group, above, until, since, told] = brake;
  all("workflow", workflow, "group", group, "above", above, "until", until, "since", since, "told", told);
}

// ---- writing --------------------------------------------------------------------------------------------------------

/// Appends the object of a struct to a text: called with names and values, in turn. It is written at each turn of a
/// healing, and so without a tree of nodes in between.
class ToText {
 public:
  template <typename Value, typename... Rest>
  void operator()(const char* name, const Value& value, const Rest&... rest) {
    add(name, value);
    if constexpr (sizeof...(rest) > 0) (*this)(rest...);
  }

  template <typename Struct>
  static std::string text_of(const Struct& value) {
    std::string text;
    ToText(text).write(value);
    return text;
  }

 private:
  explicit ToText(std::string& text) : text_(text) {}

  template <typename T>
  void add(const char* name, const T& value) {
    separate();
    text_ += '"';
    text_ += name;
    text_ += "\":";
    write(value);
  }
  template <typename T>
  void add(const char* name, const std::optional<T>& value) {
    if (value) add(name, *value);
  }
  template <typename T>
  void add(const char* name, const std::shared_ptr<const T>& value) {
    if (value) add(name, *value);
  }

  void write(const Sparse<Identity>& value) { write(*value); }
  void write(bool value) { text_ += value ? "true" : "false"; }
  template <std::integral Number>
  void write(Number value) {
    fmt::format_to(std::back_inserter(text_), "{}", value);
  }
  void write(double value) {
    if (std::isfinite(value)) {
      fmt::format_to(std::back_inserter(text_), "{}", value);
    } else {
      text_ += "null";
    }
  }
  template <typename Enum>
  requires std::is_enum_v<Enum>
  void write(Enum value) { write_word(words_of(For<Enum>{}).at(static_cast<std::size_t>(value))); }
  template <typename Tag, typename Number>
  void write(Id<Tag, Number> id) {
    write(id.number());
  }
  void write(Duration value) { write(value.count()); }
  void write(WallTime value) { write(value.time_since_epoch()); }
  void write(const Hash128& value) { write_word(to_string(value)); }
  void write(const std::string& text) {
    const std::size_t begin = text_.size();
    text_ += '"';
    for (std::string_view rest = text; !rest.empty();) {
      const std::size_t length = utf8_length(rest);
      if (length == 0) {
        text_.resize(begin);
        write_bytes(text);
        return;
      }
      const char c = rest.front();
      if (c == '"' || c == '\\') text_ += '\\';
      if (static_cast<unsigned char>(c) < 0x20) {
        fmt::format_to(std::back_inserter(text_), "\\u{:04x}", c);
      } else {
        text_ += rest.substr(0, length);
      }
      rest.remove_prefix(length);
    }
    text_ += '"';
  }
  template <typename A, typename B>
  void write(const std::pair<A, B>& pair) {
    text_ += '[';
    write(pair.first);
    text_ += ',';
    write(pair.second);
    text_ += ']';
  }
  void write(const Variables& variables) { write_list(variables); }
  template <typename T>
  void write(const std::vector<T>& values) {
    write_list(values);
  }
  void write(const StepWhat& what) {
    text_ += '{';
    separate();
    text_ += fmt::format("\"{}\":", kKind);
    write_word(kStepKinds.at(what.index()));
    std::visit([this](const auto& kind) { fields(*this, kind); }, what);
    text_ += '}';
  }
  template <typename Struct>
  requires std::is_aggregate_v<Struct>
  void write(const Struct& value) {
    text_ += '{';
    fields(*this, value);
    text_ += '}';
  }

  void write_list(const auto& values) {
    text_ += '[';
    for (const auto& value : values) {
      separate();
      write(value);
    }
    text_ += ']';
  }
  void write_word(std::string_view word) {
    text_ += '"';
    text_ += word;
    text_ += '"';
  }
  void write_bytes(std::string_view text) {
    text_ += fmt::format("{{\"{}\":\"", kBytes);
    for (const char c : text) fmt::format_to(std::back_inserter(text_), "{:02x}", static_cast<unsigned char>(c));
    text_ += "\"}";
  }
  void separate() {
    if (text_.back() != '{' && text_.back() != '[') text_ += ',';
  }

  std::string& text_;
};

// ---- reading --------------------------------------------------------------------------------------------------------

[[noreturn]] void damaged(const std::string& what) { throw std::invalid_argument(what); }

/// Fills a struct from its object: called with names and values, in turn. Throws std::invalid_argument where something
/// is not as ToText writes it.
class FromObject {
 public:
  template <typename Value, typename... Rest>
  void operator()(const char* name, Value& value, Rest&&... rest) {
    if (const auto found = json_.find(name); found != json_.end()) {
      try {
        read(*found, value);
      } catch (const std::invalid_argument& error) {
        damaged(fmt::format("{}: {}", name, error.what()));
      }
    }
    if constexpr (sizeof...(rest) > 0) (*this)(rest...);
  }

  template <typename Struct>
  static void fill(Struct& value, const Json& json, int depth = 0) {
    if (!json.is_object()) damaged("it is not an object");
    if (depth > kDeepest) damaged("it is too deep");
    FromObject object(json, depth);
    fields(object, value);
  }

 private:
  FromObject(const Json& json, int depth) : json_(json), depth_(depth) {}

  void read(const Json& json, bool& value) const {
    if (!json.is_boolean()) damaged("it is neither true nor false");
    value = json.get<bool>();
  }
  template <std::integral Number>
  void read(const Json& json, Number& value) const {
    if (json.is_number_unsigned() && std::in_range<Number>(json.get<std::uint64_t>())) {
      value = static_cast<Number>(json.get<std::uint64_t>());
    } else if (json.is_number_integer() && !json.is_number_unsigned() &&
               std::in_range<Number>(json.get<std::int64_t>())) {
      value = static_cast<Number>(json.get<std::int64_t>());
    } else {
      damaged("it is not a number of that kind");
    }
  }
  void read(const Json& json, double& value) const {
    if (json.is_null()) {
      value = std::nan("");  // or infinite: JSON has no word for either
    } else if (json.is_number()) {
      value = json.get<double>();
    } else {
      damaged("it is not a number");
    }
  }
  template <typename Enum>
  requires std::is_enum_v<Enum>
  void read(const Json& json, Enum& value) const { value = static_cast<Enum>(index_of(json, words_of(For<Enum>{}))); }
  template <typename Tag, typename Number>
  void read(const Json& json, Id<Tag, Number>& id) const {
    Number number = 0;
    read(json, number);
    id = Id<Tag, Number>(number);
  }
  void read(const Json& json, Duration& value) const {
    std::int64_t count = 0;
    read(json, count);
    if (count < -kFarthest || count > kFarthest) damaged("it is too far");
    value = Duration{count};
  }
  void read(const Json& json, WallTime& value) const {
    Duration since{0};
    read(json, since);
    value = WallTime{since};
  }
  void read(const Json& json, Hash128& value) const {
    const auto hash = parse_hash128(text_of(json));
    if (!hash) damaged("it is not a hash");
    value = *hash;
  }
  void read(const Json& json, std::string& text) const {
    if (!json.is_object()) {
      text = text_of(json);
      return;
    }
    const auto bytes = json.find(kBytes);
    if (bytes == json.end()) damaged("it is not a text");
    const std::string& digits = text_of(*bytes);
    if (digits.size() % 2 != 0) damaged("its bytes are not valid");
    text.clear();
    for (std::size_t i = 0; i < digits.size(); i += 2) {
      unsigned char byte = 0;
      const char* const end = digits.data() + i + 2;
      if (std::from_chars(digits.data() + i, end, byte, 16).ptr != end) damaged("its bytes are not valid");
      text += static_cast<char>(byte);
    }
  }
  void read(const Json& json, std::pair<std::string, std::string>& pair) const {
    if (!json.is_array() || json.size() != 2) damaged("it is not a pair");
    read(json[0], pair.first);
    read(json[1], pair.second);
  }
  void read(const Json& json, Variables& variables) const {
    std::vector<std::pair<std::string, std::string>> pairs;
    read(json, pairs);
    variables.clear();
    for (auto& [name, value] : pairs) variables.insert_or_assign(std::move(name), std::move(value));
  }
  template <typename T>
  void read(const Json& json, std::optional<T>& value) const {
    T made{};
    read(json, made);
    value = std::move(made);
  }
  void read(const Json& json, Sparse<Identity>& value) const { read(json, value.edit()); }
  template <typename T>
  void read(const Json& json, std::shared_ptr<const T>& value) const {
    auto made = std::make_shared<T>();
    read(json, *made);
    value = std::move(made);
  }
  template <typename T>
  void read(const Json& json, std::vector<T>& values) const {
    if (!json.is_array()) damaged("it is not a list");
    values.clear();
    for (const Json& one : json) read(one, values.emplace_back());
  }
  void read(const Json& json, StepWhat& what) const {
    const auto kind = json.is_object() ? json.find(kKind) : json.end();
    if (!json.is_object() || kind == json.end()) damaged("it has no kind");
    read_kind(json, index_of(*kind, kStepKinds), what, std::make_index_sequence<kStepKinds.size()>());
  }
  template <typename Struct>
  requires std::is_aggregate_v<Struct>
  void read(const Json& json, Struct& value) const { fill(value, json, depth_ + 1); }

  template <std::size_t... indices>
  void read_kind(const Json& json, std::size_t index, StepWhat& what, std::index_sequence<indices...>) const {
    (void)((index == indices && (read(json, what.emplace<indices>()), true)) || ...);
  }
  static const std::string& text_of(const Json& json) {
    if (!json.is_string()) damaged("it is not a text");
    return json.get_ref<const std::string&>();
  }
  template <std::size_t count>
  static std::size_t index_of(const Json& json, const std::array<std::string_view, count>& words) {
    const auto found = std::ranges::find(words, std::string_view(text_of(json)));
    if (found == words.end()) damaged("it is an unknown word");
    return static_cast<std::size_t>(found - words.begin());
  }

  const Json& json_;
  int depth_;
};

template <typename Struct>
Result<Struct> from_text(std::string_view text, void (*check)(Struct&) = nullptr) {
  try {
    Struct value;
    FromObject::fill(value, Json::parse(text));
    if (check != nullptr) check(value);
    return value;
  } catch (const std::invalid_argument& error) {
    return Error{0, error.what()};
  } catch (const Json::parse_error& error) {
    return Error{0, text.empty() ? "it is empty" : fmt::format("it cannot be read from byte {} on", error.byte)};
  } catch (const Json::exception&) {
    return Error{0, "a value in it is of another kind"};
  }
}

/// What the engine relies on.
void check_healing(Healing& healing) {
  if (const std::string problem = problem_of(healing); !problem.empty()) damaged(problem);
  if (!healing.cause) healing.cause = std::make_shared<const effect::Cause>();
}

}  // namespace

std::string to_json(const Healing& healing) { return ToText::text_of(healing); }
std::string to_json(const TargetMemory& target) { return ToText::text_of(target); }
std::string to_json(const WorkflowMemory& workflow) { return ToText::text_of(workflow); }
std::string to_json(const ClosedBrake& brake) { return ToText::text_of(brake); }

Result<Healing> healing_from_json(std::string_view text) { return from_text<Healing>(text, check_healing); }
Result<TargetMemory> target_from_json(std::string_view text) { return from_text<TargetMemory>(text); }
Result<WorkflowMemory> workflow_from_json(std::string_view text) { return from_text<WorkflowMemory>(text); }
Result<ClosedBrake> brake_from_json(std::string_view text) { return from_text<ClosedBrake>(text); }

}  // namespace healer::store
