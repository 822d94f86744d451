// SPDX-License-Identifier: MIT
#include "engine/judging/evaluate.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/judging/clear.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/unit.hpp"
#include "engine/words/occurrence.hpp"
#include "util/regex.hpp"

namespace healer::engine {
namespace {

constexpr std::size_t kMostMatched = 512;  // bytes of a text that its process may choose

/// One test at a time, by its shape.
class Evaluation {
 public:
  explicit Evaluation(const Seen& seen) : seen_(seen) {}

  std::optional<bool> operator()(const Compare& test) const {
    const std::optional<double> value = value_of(seen_.run, deciding(seen_.run, test));
    return value ? std::optional(compare(test.comparison, *value, test.value)) : std::nullopt;
  }

  std::optional<bool> operator()(const Total& test) const {
    const std::optional<double> value = value_of(seen_.run, test);
    return value ? std::optional(compare(test.comparison, *value, test.value)) : std::nullopt;
  }

  std::optional<bool> operator()(const Differs& test) const {
    const std::optional<Value> value = attribute_of(seen_.run, test.what);
    if (!value) return std::nullopt;
    if (test.wanted) return *value != *test.wanted;
    const Value* first = first_value(seen_.memory, test);
    return first != nullptr && *first != *value;
  }

  std::optional<bool> operator()(const Changed& test) const {
    const std::optional<bool> changed = has_changed(test.what);
    if (changed == true || !test.also) return changed;
    const std::optional<bool> other = has_changed(*test.also);
    return other ? other : changed;
  }

  std::optional<bool> operator()(const Worded& test) const {
    const std::optional<Value> value = attribute_of(seen_.run, test.what);
    const std::string* text = value ? text_in(*value) : nullptr;
    if (text == nullptr) return std::nullopt;
    const std::optional<bool> same =
        test.is_pattern ? matches_pattern(test.text, text->substr(0, kMostMatched)) : *text == test.text;
    return same ? std::optional(*same != test.negated) : std::nullopt;
  }

  std::optional<bool> operator()(const OutputChanged& test) const {
    const std::optional<bool> changed = has_changed(Attribute::Output);
    if (!changed || seen_.memory.find(Attribute::Output) == nullptr) return changed;  // the baseline is no event
    return *changed != test.negated;
  }

  std::optional<bool> operator()(const Linked& test) const {
    if (seen_.run.answer == Answer::Unknown) return std::nullopt;
    const bool up =
        seen_.run.answer == Answer::Present && attribute_of(seen_.run, Attribute::Link) != Value(std::string("down"));
    // A link with errors fails one that is to be up, and one that is to be down is up none the less.
    return up == test.up || (!test.up && attribute_of(seen_.run, Attribute::LinkErrors).has_value());
  }

  std::optional<bool> operator()(const Present& test) const {
    if (seen_.run.answer == Answer::Unknown) return std::nullopt;
    return (seen_.run.answer == Answer::Present) == test.wanted;
  }

  std::optional<bool> operator()(const Matches& test) const {
    if (seen_.run.answer != Answer::Present) return std::nullopt;
    return seen_.run.outcome != Outcome::NotStarted &&
           (seen_.run.matches >> test.pattern & 1U) == (test.negated ? 0U : 1U);
  }

  std::optional<bool> operator()(const Reached& test) const {
    const ConnectionSeen* seen = connection_of(seen_.run, test);
    if (seen == nullptr || (seen->reach != Reach::Passed && seen->reach != Reach::Failed)) return std::nullopt;
    return (seen->reach == Reach::Passed) == test.wanted;
  }

  std::optional<bool> operator()(const Restarts& /*test*/) const { return seen_.restarted; }

  std::optional<bool> operator()(const Queried& test) const {
    const ValueSeen* seen = value_of(seen_.run, test);
    return seen != nullptr && seen->value ? compare(*test.test, *seen->value) : std::nullopt;
  }

  std::optional<bool> operator()(const HeartbeatIs& test) const {
    const Facts* facts = seen_.run.facts.get();
    if (facts == nullptr || !facts->further->beat) return std::nullopt;
    const Heartbeat& heartbeat = facts->further->beat->heartbeat;
    return test.what == HeartbeatIs::What::Missed ? heartbeat.missed.has_value() : heartbeat.failed();
  }

  std::optional<bool> operator()(const EventCount& test) const {
    const Facts* facts = seen_.run.facts.get();
    if (facts == nullptr || !facts->further->event) return std::nullopt;
    return count_of(*facts->further->event, test) > test.above;
  }

  std::optional<bool> operator()(const Members& test) const {
    const Facts* facts = seen_.run.facts.get();
    if (facts == nullptr || !facts->further->members || facts->further->members->whole == 0) return std::nullopt;
    return test.quota.met(facts->further->members->failed, facts->further->members->whole);
  }

 private:
  [[nodiscard]] std::optional<bool> has_changed(Attribute what) const {
    const std::optional<Value> value = attribute_of(seen_.run, what);
    if (!value) return std::nullopt;
    const Value* before = seen_.memory.find(what);
    return before != nullptr && *before != *value;
  }

  const Seen& seen_;
};

/// Of a process.
std::optional<Value> attribute_of(const ProcessFacts& process, Attribute what) {
  switch (what) {
    case Attribute::Pid: return process.pid;
    case Attribute::Parent: return process.parent;
    case Attribute::Uid: return std::int64_t{process.uid};
    case Attribute::Euid: return std::int64_t{process.euid};
    case Attribute::Gid: return std::int64_t{process.gid};
    case Attribute::Security: return process.attribute;
    default: break;
  }
  return std::nullopt;
}

/// Of a file, a directory or a pipe.
std::optional<Value> attribute_of(const PathFacts& path, Attribute what) {
  switch (what) {
    case Attribute::Uid: return std::int64_t{path.uid};
    case Attribute::Gid: return std::int64_t{path.gid};
    case Attribute::Permission: return std::int64_t{path.permission};
    case Attribute::AccessTime: return path.accessed;
    case Attribute::ModificationTime: return path.modified;
    case Attribute::ChangeTime: return path.changed;
    case Attribute::Timestamp: return path.touched();
    case Attribute::Size: return path.has_size ? std::optional<Value>(path.size) : std::nullopt;
    case Attribute::HardLinks: return path.links > 0 ? std::optional<Value>(path.links) : std::nullopt;
    default: break;
  }
  return std::nullopt;
}

/// The same of its quantities.
std::optional<double> figure_of(const PathFacts& path, Metric metric) {
  const auto since = [&path](std::int64_t time) {
    return static_cast<double>(std::max<std::int64_t>(path.seen - time, 0));
  };
  switch (metric) {
    case Metric::AccessAge: return since(path.accessed);
    case Metric::ModificationAge: return since(path.modified);
    case Metric::ChangeAge: return since(path.changed);
    case Metric::Age: return since(path.touched());
    case Metric::Size: return path.has_size ? std::optional(static_cast<double>(path.size)) : std::nullopt;
    case Metric::HardLinks: return path.links > 0 ? std::optional(static_cast<double>(path.links)) : std::nullopt;
    default: break;
  }
  return std::nullopt;
}

}  // namespace

std::optional<double> figure_of(const Facts& facts, Metric metric) {
  const std::optional<double> of_path = facts.path ? figure_of(*facts.path, metric) : std::nullopt;
  return of_path ? of_path : facts.metrics.get(metric);
}

Metrics all_figures(const Facts& facts) {
  Metrics figures = facts.metrics;
  if (facts.path)
    for (const Metric metric :
         {Metric::AccessAge, Metric::ModificationAge, Metric::ChangeAge, Metric::Age, Metric::Size, Metric::HardLinks})
      if (const std::optional<double> value = figure_of(*facts.path, metric)) figures.set(metric, *value);
  return figures;
}

const ProcessFacts* process_of(const Evidence& run) {
  const bool there = run.answer == Answer::Present && run.facts != nullptr && run.facts->process;
  return there ? &*run.facts->process : nullptr;
}

std::optional<Value> attribute_of(const Evidence& run, Attribute what) {
  if (what == Attribute::Status) return run.status;
  if (const ProcessFacts* process = process_of(run)) return attribute_of(*process, what);
  if (run.answer != Answer::Present || run.facts == nullptr) return std::nullopt;
  if (const auto& path = run.facts->path)
    if (std::optional<Value> stated = attribute_of(*path, what)) return stated;
  const auto& known = run.facts->attributes;
  const auto found = std::ranges::find(known, what, &std::pair<Attribute, Value>::first);
  return found != known.end() ? std::optional(found->second) : std::nullopt;
}

std::optional<double> value_of(const Evidence& run, Metric metric) {
  if (metric == Metric::Status) return static_cast<double>(run.status);
  if (metric == Metric::ExitStatus && run.facts != nullptr) return run.facts->metrics.get(metric);  // it is not there
  if (run.answer != Answer::Present || run.facts == nullptr) return std::nullopt;
  const std::optional<double> value = figure_of(*run.facts, metric);
  return value && unit_of(metric) == Unit::Seconds ? std::floor(*value) : value;
}

std::optional<double> value_of(const Evidence& run, const Total& test) {
  if (run.answer != Answer::Present || run.facts == nullptr) return std::nullopt;
  const auto found = std::ranges::find_if(run.facts->further->totals, [&](const TotalSeen& total) {
    return total.what == test.what && total.span == test.span;
  });
  return found != run.facts->further->totals.end() ? std::optional(found->value) : run.facts->metrics.get(test.what);
}

const ConnectionSeen* connection_of(const Evidence& run, const Reached& test) {
  const bool tried =
      run.answer == Answer::Present && run.facts != nullptr && test.probe < run.facts->further->connections.size();
  return tried ? &run.facts->further->connections[test.probe] : nullptr;
}

std::optional<Evidence> without_nameless(const Evidence& run) {
  if (run.facts == nullptr || std::ranges::none_of(run.facts->further->connections, &ConnectionSeen::nameless))
    return std::nullopt;
  auto facts = std::make_shared<Facts>(*run.facts);
  for (ConnectionSeen& one : facts->further.edit().connections.edit())
    if (one.nameless) one.reach = Reach::Unknown;
  Evidence other = run;
  other.facts = std::move(facts);
  return other;
}

const ValueSeen* value_of(const Evidence& run, const Queried& test) {
  if (run.facts == nullptr) return nullptr;
  const auto found = std::ranges::find(run.facts->further->values, test.test->filter, &ValueSeen::filter);
  return found != run.facts->further->values.end() ? &*found : nullptr;
}

std::string left_to_systemd(const Evidence& run) {
  const std::optional<Value> substate = attribute_of(run, Attribute::UnitSubstate);
  const std::string* const text = substate ? text_in(*substate) : nullptr;
  const bool is_left = text != nullptr && is_restarted_by_systemd(*text);
  return is_left ? fmt::format("systemd restarts it by itself ({})", *text) : std::string{};
}

Metric deciding(const Evidence& run, const Compare& test) {
  std::optional<Metric> known;
  for (std::size_t i = 0; i <= test.also->size(); ++i) {
    const Metric metric = i == 0 ? test.what : (*test.also)[i - 1];
    const std::optional<double> value = value_of(run, metric);
    if (value && compare(test.comparison, *value, test.value)) return metric;
    if (value && !known) known = metric;
  }
  return known.value_or(test.what);
}

std::optional<bool> holds(const Test& test, const Seen& seen) { return std::visit(Evaluation(seen), test); }

bool is_sound(std::span<const Op> postfix, std::size_t tests) {
  std::size_t depth = 0, seen = 0;
  for (const Op op : postfix) {
    if (op == Op::Leaf) {
      ++depth;
      ++seen;
    } else if (depth < (op == Op::Not ? 1U : 2U)) {
      return false;
    } else if (op != Op::Not) {
      --depth;
    }
    if (depth > kDeepestCondition) return false;
  }
  return postfix.empty() ? tests > 0 : depth == 1 && seen == tests;
}

std::optional<bool> holds(const RuleCondition& condition, const Seen& seen) {
  using Held = std::optional<bool>;
  return fold<Held>(
      condition.postfix, condition.tests.size(), [&](std::size_t test) { return holds(condition.tests[test], seen); },
      [](Held held) { return held ? Held(!*held) : held; },
      [](Op op, Held left, Held right) {
        const bool decides = op == Op::Or;
        if (left == decides || right == decides) return Held(decides);
        return left && right ? Held(!decides) : Held();
      });
}

const Value* first_value(const Memory& memory, const Differs& test) {
  const std::optional<Attribute> first = first_of(test.what);
  return first ? memory.find(*first) : nullptr;
}

Memory fresh_memory(const ServiceBlock& block) {
  Memory memory;
  if (!block.lines->patterns.empty()) {
    memory.add({.what = Attribute::ReadFile, .value = {}});
    memory.add({.what = Attribute::ReadOffset, .value = {}});
    memory.add({.what = Attribute::ReadBegin, .value = {}});
  }
  for (const Rule& rule : block.rules) {
    for (const Test& asked : rule->condition->tests) {
      if (const auto* changed = std::get_if<Changed>(&asked)) {
        memory.add({.what = changed->what, .value = {}});
        if (changed->also) memory.add({.what = *changed->also, .value = {}});
      }
      if (std::holds_alternative<OutputChanged>(asked)) memory.add({.what = Attribute::Output, .value = {}});
      const auto* differs = std::get_if<Differs>(&asked);
      if (differs != nullptr && !differs->wanted)
        if (const std::optional<Attribute> first = first_of(differs->what)) memory.add({.what = *first, .value = {}});
    }
  }
  // Another path is another thing: what was remembered says nothing of it.
  if (block.kind->target == Target::Path && !memory.baselines.empty())
    memory.add({.what = Attribute::Path, .value = block.path});
  if (std::ranges::find(memory.baselines, Attribute::Output, &Baseline::what) != memory.baselines.end())
    memory.add({.what = Attribute::Path, .value = fmt::format("{}", fmt::join(block.program->command.arguments, " "))});
  if (block.kind->target == Target::Interface && !memory.baselines.empty())
    memory.add({.what = Attribute::Path, .value = block.other->interface.name + block.other->interface.address});
  return memory;
}

std::optional<ReadPosition> position_of(const Memory& memory) {
  const Value* file = memory.find(Attribute::ReadFile);
  const Value* offset = memory.find(Attribute::ReadOffset);
  if (file == nullptr || offset == nullptr) return std::nullopt;
  const Value* begin = memory.find(Attribute::ReadBegin);
  return ReadPosition{std::get<std::int64_t>(*file), std::get<std::int64_t>(*offset),
                      begin != nullptr ? std::get<std::int64_t>(*begin) : 0};
}

Memory restored(Memory fresh, const Memory& saved) {
  const Value* path = fresh.find(Attribute::Path);
  const Value* before = saved.find(Attribute::Path);
  if (path != nullptr && before != nullptr && *path != *before) return fresh;
  for (Baseline& baseline : fresh.baselines)
    if (const Value* value = saved.find(baseline.what)) baseline.value = *value;
  return fresh;
}

Few<Baseline> remember(Memory& memory, const Evidence& run) {
  Few<Baseline> changed;
  for (Baseline& baseline : memory.baselines) {
    const std::optional<Attribute> of = present_of(baseline.what);
    if (of && baseline.value) continue;  // it was told at first
    std::optional<Value> now = attribute_of(run, of.value_or(baseline.what));
    if (!now || now == baseline.value) continue;
    baseline.value = std::move(now);
    changed.push_back(baseline);
  }
  return changed;
}

// ---- clear (engine/judging/clear.hpp)

namespace {

bool counts_inodes(Metric metric) {
  return metric == Metric::InodeUsage || metric == Metric::InodeUsageNumber || metric == Metric::InodeFree ||
         metric == Metric::InodeFreeNumber;
}

/// A test of what a check measures or finds, which is not there for every service of its kind. What a program writes or
/// a connection answers is not of these, nor a checksum: there a missing value is a fault.
class Missing {
 public:
  explicit Missing(const Evidence& run) : run_(run) {}

  bool operator()(const Compare& test) const { return !value_of(run_, deciding(run_, test)); }
  bool operator()(const Total& test) const { return !value_of(run_, test); }
  bool operator()(const Differs& test) const { return is_missing(test.what); }
  bool operator()(const Changed& test) const { return is_missing(test.what) && (!test.also || is_missing(*test.also)); }
  bool operator()(const Worded& test) const { return is_missing(test.what); }
  template <typename Other>
  bool operator()(const Other& /*test*/) const {
    return false;
  }

 private:
  [[nodiscard]] bool is_missing(Attribute what) const { return !first_of(what) && !attribute_of(run_, what); }

  const Evidence& run_;
};

/// A condition as far as it can be judged.
struct Judged {
  bool left_out = false;  ///< nothing of it can be
  std::optional<bool> holds{};
};

Judged judged_part(const RuleCondition& condition, const Seen& seen, const Evidence* before) {
  return fold<Judged>(
      condition.postfix, condition.tests.size(),
      [&](std::size_t test) {
        if (is_unknowable(condition.tests[test], seen.run, before)) return Judged{.left_out = true};
        return Judged{.holds = holds(condition.tests[test], seen)};
      },
      [](Judged part) {
        if (part.holds) part.holds = !*part.holds;
        return part;
      },
      [](Op op, Judged left, Judged right) {
        if (left.left_out) return right;
        if (right.left_out) return left;
        const bool decides = op == Op::Or;
        if (left.holds == decides || right.holds == decides) return Judged{.holds = decides};
        return left.holds && right.holds ? Judged{.holds = !decides} : Judged{};
      });
}

/// What a test asks for, as the rules call it; empty: it is of no such value.
std::string_view words_of_test(const ServiceBlock& block, const Test& test) {
  const auto of_metric = [&](Metric metric) {
    const Quantity* row = block.kind->find(metric);
    return row != nullptr ? row->words : std::string_view{};
  };
  if (const auto* compare = std::get_if<Compare>(&test)) return of_metric(compare->what);
  if (const auto* total = std::get_if<Total>(&test)) return of_metric(total->what);
  const auto* differs = std::get_if<Differs>(&test);
  const auto* changed = std::get_if<Changed>(&test);
  const auto* worded = std::get_if<Worded>(&test);
  if (differs == nullptr && changed == nullptr && worded == nullptr) return {};
  const AttributeRow* row = block.kind->find(differs != nullptr   ? differs->what
                                             : changed != nullptr ? changed->what
                                                                  : worded->what);
  return row != nullptr ? row->words : std::string_view{};
}

}  // namespace

bool lacks_inodes(const Test& test, const Evidence& run) {
  const auto* compare = std::get_if<Compare>(&test);
  return compare != nullptr && counts_inodes(compare->what) && run.answer == Answer::Present &&
         !value_of(run, compare->what);
}

bool is_unknowable(const Test& test, const Evidence& run, const Evidence* before) {
  if (run.answer != Answer::Present || run.facts == nullptr || !std::visit(Missing(run), test)) return false;
  // How a foreground process has ended is known while it is not there.
  const auto* compare = std::get_if<Compare>(&test);
  if (compare != nullptr && compare->what == Metric::ExitStatus) return true;
  if (lacks_inodes(test, run)) return true;
  if (before == nullptr || before->answer != Answer::Present || before->facts == nullptr) return false;
  // A rate is of one process: of one that was started since there is none yet.
  const ProcessFacts* now = process_of(run);
  const ProcessFacts* then = process_of(*before);
  const bool same =
      now == nullptr || then == nullptr ? now == then : now->pid == then->pid && now->start_ticks == then->start_ticks;
  return same && std::visit(Missing(*before), test);
}

std::string unknowable_part(const ServiceBlock& block, const Rule& rule, const Seen& seen, const Evidence* before) {
  if (holds(*rule->condition, seen)) return {};
  for (const Test& test : rule->condition->tests) {
    if (!is_unknowable(test, seen.run, before)) continue;
    if (lacks_inodes(test, seen.run)) return std::string(kNoInodes);
    const auto* compare = std::get_if<Compare>(&test);
    if (compare != nullptr && compare->what == Metric::ExitStatus) continue;
    if (const std::string_view words = words_of_test(block, test); !words.empty())
      return fmt::format("its {} is not known", words);
  }
  return {};
}

std::optional<bool> is_clear(const Rule& rule, bool stands_failed, const Seen& seen, const Evidence* before) {
  const Judged part = judged_part(*rule->condition, seen, before);
  if (part.holds == false) return true;
  if (const auto whole = holds(*rule->condition, seen)) return !*whole;
  // It would need what its service does not have: it cannot hold.
  if (part.left_out || part.holds) return stands_failed ? std::nullopt : std::optional(true);
  return std::nullopt;
}

}  // namespace healer::engine
