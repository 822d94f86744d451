// SPDX-License-Identifier: MIT
#include "control/queries.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>
#include <string_view>
#include <tuple>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "control/healing_views.hpp"
#include "control/selection.hpp"
#include "engine/rules/service.hpp"
#include "engine/words/explain.hpp"
#include "util/text.hpp"

namespace healer::control {
namespace {

using engine::Graph;
using engine::RecordKind;
using engine::ServiceId;

constexpr std::uint32_t kUsualRecords = 100;
constexpr std::uint32_t kFirings = 200;       // records of a service that are looked through for its rules
constexpr std::size_t kAhead = 16;            // services whose condition is asked for soon
constexpr std::string_view kSelf = "healer";  // as the history calls the daemon

/// How many services are in each condition.
using Counts = std::array<std::uint64_t, static_cast<std::size_t>(engine::Condition::GivenUp) + 1>;

Totals totals_of(const Counts& counts) {
  using enum engine::Condition;
  const auto of = [&](engine::Condition one) { return counts.at(static_cast<std::size_t>(one)); };
  return {.services = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}),
          .running = of(Running),
          .failing = of(Failing),
          .failed = of(Failed),
          .initialising = of(Initialising),
          .unknown = of(Unknown),
          .unmonitored = of(Unmonitored),
          .given_up = of(GivenUp)};
}

/// Where a service stands in its order: compared as a whole, the place in the rules last.
using Key = std::tuple<std::uint32_t, std::string, std::size_t>;

/// The same of a service that is there: whose name is looked at where it lies.
struct Candidate {
  std::uint32_t rank = 0;
  std::uint32_t place = 0;  ///< in the order of the rules
};

/// How bad a condition is: 0 the worst.
std::uint32_t rank_of(engine::Condition condition) {
  using enum engine::Condition;
  constexpr engine::Condition kWorst[] = {Failed, GivenUp, Failing, Unknown, Initialising, Unmonitored};
  return static_cast<std::uint32_t>(std::ranges::find(kWorst, condition) - std::begin(kWorst));
}

/// ASCII texts in any case: less than 0 where `one` comes first, 0 where they are equal.
int compare_names(std::string_view one, std::string_view other) {
  const auto differ = std::ranges::mismatch(one, other, {}, lower, lower);
  if (differ.in1 == one.end() || differ.in2 == other.end())
    return static_cast<int>(differ.in1 != one.end()) - static_cast<int>(differ.in2 != other.end());
  return static_cast<unsigned char>(lower(*differ.in1)) < static_cast<unsigned char>(lower(*differ.in2)) ? -1 : 1;
}

std::string cursor_of(const Key& key) {
  const auto& [rank, name, place] = key;
  return fmt::format("{}.{}.{}", rank, place, name);
}

std::optional<Key> key_of(std::string_view cursor) {
  Key key;
  auto& [rank, name, place] = key;
  const auto number = [&cursor](auto& value) {
    const auto [rest, error] = std::from_chars(cursor.data(), cursor.data() + cursor.size(), value);
    if (error != std::errc{} || rest == cursor.data() + cursor.size() || *rest != '.') return false;
    cursor.remove_prefix(static_cast<std::size_t>(rest - cursor.data()) + 1);
    return true;
  };
  if (!number(rank) || !number(place)) return std::nullopt;
  name = cursor;
  return key;
}

bool is_one_of(const std::vector<std::string>& wanted, std::string_view one) {
  return wanted.empty() || std::ranges::any_of(wanted, [&](std::string_view other) { return iequals(one, other); });
}

bool contains_text(std::string_view name, std::string_view text) {
  return !std::ranges::search(name, text, {}, lower, lower).empty();
}

bool is_wanted(const ServiceFilter& filter, const engine::ServiceBlock& block, std::string_view state) {
  if (filter.down && !is_down(state)) return false;
  if (!is_one_of(filter.states, state) || !is_one_of(filter.kinds, block.kind->word)) return false;
  if (!filter.groups.empty() &&
      std::ranges::none_of(block.groups, [&](const std::string& own) { return is_one_of(filter.groups, own); }))
    return false;
  return filter.text.empty() || contains_text(block.name, filter.text);
}

bool filters(const ServiceFilter& filter) { return filter != ServiceFilter{}; }

/// Where a page in the order of the rules begins that goes on after `key`: the place is where the service is now.
std::size_t begin_after(const Graph& graph, const Key& key) {
  const auto& [rank, name, place] = key;
  const auto is_there = [&, &name = name](std::size_t at) { return iequals(graph.at(graph.order[at]).name, name); };
  if (place < graph.order.size() && is_there(place)) return place + 1;
  for (std::size_t at = 0; at < graph.order.size(); ++at)
    if (is_there(at)) return at + 1;
  return std::min(place + 1, graph.order.size());
}

}  // namespace

DaemonView Queries::daemon() const {
  DaemonView view = view_daemon(daemon_.engine(), daemon_.version(), daemon_.now());
  view.counts = daemon_.counts();
  view.mail = daemon_.mail();
  view.contacts = daemon_.contacts();
  view.troubles = daemon_.troubles();
  view.stale = daemon_.stale();
  view.refused_rows = daemon_.refused_rows();
  view.damages = daemon_.damages();
  return view;
}

DaemonView Queries::daemon_for_strangers() const {
  const DaemonView whole = view_daemon(daemon_.engine(), daemon_.version(), daemon_.now());
  DaemonView view;
  view.version = whole.version;
  view.pid = whole.pid;
  view.up = whole.up;
  return view;
}

bool Queries::exists(ServiceId service) const { return daemon_.engine().graph()->block(service) != nullptr; }

std::string_view Queries::state(ServiceId service) const {
  return to_string(engine::condition_of(daemon_.engine(), service));
}

bool Queries::is_cursor(std::string_view text) { return key_of(text).has_value(); }

ServicesPage Queries::services(const ServicesAsked& asked) const {
  const Graph& graph = *daemon_.engine().graph();
  const std::size_t limit = std::max<std::size_t>(asked.limit, 1);
  const bool by_rules = asked.order == ServiceOrder::Rules;
  const bool filtered = filters(asked.filter);
  const std::optional<Key> after = key_of(asked.cursor);
  const std::size_t begin = after && by_rules ? begin_after(graph, *after) : 0;
  const auto name_of = [&](const Candidate& one) -> const std::string& {
    return graph.at(graph.order[one.place]).name;
  };
  const auto is_beyond = [&](const Candidate& one) {
    const auto& [rank, name, place] = *after;
    return one.rank != rank ? one.rank > rank : compare_names(name_of(one), name) > 0;
  };
  Counts counts{};
  std::vector<Candidate> found;
  bool more = false;
  for (std::size_t i = 0; i < graph.order.size(); ++i) {
    // The next ones lie all over the memory: without this the count waits for it most of the time.
    if (i + kAhead < graph.order.size()) __builtin_prefetch(&graph.at(graph.order[i + kAhead]).kind);
    const engine::Condition is = engine::condition_of(daemon_.engine(), graph.order[i]);
    ++counts[static_cast<std::size_t>(is)];
    if (i < begin || more) continue;
    if (filtered && !is_wanted(asked.filter, graph.at(graph.order[i]), to_string(is))) continue;
    const Candidate one{.rank = asked.order == ServiceOrder::State ? rank_of(is) : 0,
                        .place = static_cast<std::uint32_t>(i)};
    if (after && !by_rules && !is_beyond(one)) continue;
    if (by_rules && found.size() == limit)
      more = true;
    else
      found.push_back(one);
  }
  if (!by_rules) {
    more = found.size() > limit;
    const auto comes_first = [&](const Candidate& one, const Candidate& other) {
      if (one.rank != other.rank) return one.rank < other.rank;
      const int names = compare_names(name_of(one), name_of(other));
      return names != 0 ? names < 0 : one.place < other.place;
    };
    const std::size_t count = std::min(found.size(), limit);
    std::ranges::partial_sort(found, found.begin() + static_cast<std::ptrdiff_t>(count), comes_first);
    found.resize(count);
  }
  ServicesPage page;
  page.services.reserve(found.size());
  for (const Candidate& one : found) page.services.push_back(graph.order[one.place]);
  if (more) page.next = cursor_of({found.back().rank, to_lower(name_of(found.back())), found.back().place});
  page.totals = totals_of(counts);
  return page;
}

ServiceName Queries::name(ServiceId service) const {
  const engine::ServiceBlock& block = daemon_.engine().graph()->at(service);
  return {block.name, block.groups};
}

ServiceSummary Queries::summary(ServiceId service) const { return summarise(daemon_.engine(), service, daemon_.now()); }

std::vector<ServiceStatus> Queries::statuses(std::span<const ServiceId> services) const {
  std::vector<ServiceStatus> views;
  if (services.empty()) return views;
  const ActionIndex actions = index_actions(daemon_.engine());
  views.reserve(services.size());
  for (const ServiceId service : services)
    views.push_back(view_status(daemon_.engine(), service, actions, daemon_.now()));
  return views;
}

ServiceExplanation Queries::explanation(ServiceId service, std::span<const engine::Record> firings) const {
  const engine::Engine& engine = daemon_.engine();
  ServiceExplanation view = view_explanation(engine, service, index_actions(engine), daemon_.now());
  const auto& rules = engine.graph()->at(service).rules;
  for (const engine::Record& record : firings)  // the last one stays
    for (std::size_t i = 0; i < rules.size(); ++i)
      if (rules[i].key == record.rule) view.rules[i].last_fired = view_record(record);
  return view;
}

store::HistoryQuery Queries::firings(ServiceId service) const {
  return {.service = daemon_.engine().graph()->at(service).name,
          .since = {},
          .kinds = {RecordKind::RuleFailed, RecordKind::RuleMatched, RecordKind::RuleChanged},
          .limit = kFirings};
}

std::optional<JobView> Queries::job(std::uint64_t id) const { return view_job(daemon_.engine(), id, daemon_.now()); }

std::vector<HealingView> Queries::healings(engine::HealingId after, std::size_t limit) const {
  const engine::Engine& engine = daemon_.engine();
  const auto& all = engine.healings().all();
  std::vector<HealingView> views;
  for (auto one = all.upper_bound(after); one != all.end() && views.size() < limit; ++one)
    views.push_back(view_healing(engine, one->second, daemon_.now()));
  return views;
}

std::optional<HealingView> Queries::healing(engine::HealingId id) const {
  const auto found = daemon_.engine().healings().all().find(id);
  if (found == daemon_.engine().healings().all().end()) return std::nullopt;
  return view_healing(daemon_.engine(), found->second, daemon_.now());
}

HealingHolds Queries::holds() const { return view_holds(daemon_.engine(), daemon_.now()); }

std::vector<WorkflowReport> Queries::workflows() const { return view_report(daemon_.engine()); }

store::HistoryQuery Queries::history(const HistoryAsked& asked) const {
  const Graph& graph = *daemon_.engine().graph();
  store::HistoryQuery query{.service = asked.name,
                            .since = {},
                            .after = asked.after,
                            .kinds = {},
                            .limit = std::min(asked.limit, kMaxRecords),
                            .oldest = asked.oldest_first,
                            .before = asked.before};
  if (!asked.is_group && iequals(query.service, kSelf) && !graph.find(query.service)) {
    query.service.clear();
    query.own = true;
  }
  if (!query.service.empty() && (asked.is_group || !graph.find(query.service))) {
    std::vector<ServiceId> meant;
    if (!asked.is_group) meant = services_of_target(graph, query.service);
    if (meant.empty()) meant = services_of_group(graph, query.service);
    for (const ServiceId id : meant) query.others.push_back(graph.at(id).name);
    if (!query.others.empty()) {
      query.service = std::move(query.others.back());
      query.others.pop_back();
    }
  }
  if (query.limit == 0) query.limit = asked.since || asked.oldest_first ? kMaxRecords : kUsualRecords;
  if (asked.since) query.since = daemon_.now().wall - std::clamp(*asked.since, Duration{0}, kLongestAsked);
  return query;
}

}  // namespace healer::control
