// SPDX-License-Identifier: MIT
#include "control/queries.hpp"

#include <algorithm>
#include <charconv>
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
constexpr std::string_view kSelf = "healer";  // as the history calls the daemon

/// Where a service stands in its order: compared as a whole, the place in the rules last.
using Key = std::tuple<std::uint32_t, std::string, std::size_t>;

/// How bad a state is: 0 the worst.
std::uint32_t rank_of(std::string_view state) {
  constexpr std::string_view kWorst[] = {"failed", "given up", "failing", "unknown", "initialising", "unmonitored"};
  return static_cast<std::uint32_t>(std::ranges::find(kWorst, state) - std::begin(kWorst));
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

bool has_any(const std::vector<std::string>& wanted, const std::vector<std::string>& of) {
  return wanted.empty() || std::ranges::any_of(of, [&](const std::string& one) {
           return std::ranges::any_of(wanted, [&](const std::string& other) { return iequals(one, other); });
         });
}

bool is_wanted(const ServiceFilter& filter, const engine::ServiceBlock& block, std::string_view state) {
  if (filter.down && !is_down(state)) return false;
  if (!has_any(filter.states, {std::string(state)}) || !has_any(filter.groups, block.groups)) return false;
  if (!filter.kinds.empty() && !has_any(filter.kinds, {std::string(block.kind->word)})) return false;
  return filter.text.empty() || to_lower(block.name).find(to_lower(filter.text)) != std::string::npos;
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

ServicesPage Queries::services(const ServicesAsked& asked) const {
  const Graph& graph = *daemon_.engine().graph();
  ServicesPage page;
  const std::optional<Key> after = key_of(asked.cursor);
  std::size_t begin = 0;  // in the order of the rules the place is where the last service is now
  if (after && asked.order == ServiceOrder::Rules) {
    const auto& [rank, name, place] = *after;
    begin = std::min(place + 1, graph.order.size());
    for (std::size_t i = 0; i < graph.order.size(); ++i)
      if (iequals(graph.at(graph.order[i]).name, name)) begin = i + 1;
  }
  std::vector<std::pair<Key, ServiceId>> found;
  for (std::size_t i = 0; i < graph.order.size(); ++i) {
    const ServiceId id = graph.order[i];
    const engine::ServiceBlock& block = graph.at(id);
    const std::string_view is = state(id);
    page.totals.add(is);
    if (i < begin || !is_wanted(asked.filter, block, is)) continue;
    Key key{0, to_lower(block.name), i};
    if (asked.order == ServiceOrder::State) std::get<0>(key) = rank_of(is);
    if (asked.order == ServiceOrder::Rules) std::get<1>(key).clear();
    const auto beyond = [](const Key& one, const Key& other) {
      return std::pair(std::get<0>(one), std::get<1>(one)) > std::pair(std::get<0>(other), std::get<1>(other));
    };
    if (after && asked.order != ServiceOrder::Rules && !beyond(key, *after)) continue;
    found.emplace_back(std::move(key), id);
  }
  const std::size_t count = std::min(found.size(), std::max<std::size_t>(asked.limit, 1));
  std::ranges::partial_sort(found, found.begin() + static_cast<std::ptrdiff_t>(count));
  for (std::size_t i = 0; i < count; ++i) page.services.push_back(found[i].second);
  if (count < found.size()) {
    Key last = found[count - 1].first;
    std::get<1>(last) = to_lower(graph.at(found[count - 1].second).name);
    page.next = cursor_of(last);
  }
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
  if (iequals(query.service, kSelf) && !graph.find(query.service)) {
    query.service.clear();
    query.own = true;
  }
  if (!query.service.empty() && !graph.find(query.service)) {
    const std::vector<ServiceId> of_target = services_of_target(graph, query.service);
    for (const ServiceId id : of_target) query.others.push_back(graph.at(id).name);
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
