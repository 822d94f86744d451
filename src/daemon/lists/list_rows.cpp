// SPDX-License-Identifier: MIT
// The rows of a daemon's lists: what readings find of them, which is told to the services that judge them, and looks
// beside the readings.
#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "config/lists/list_rows.hpp"
#include "daemon/lists/lists.hpp"
#include "engine/rules/service.hpp"
#include "runtime/clock.hpp"
#include "util/text.hpp"

namespace healer {
namespace {

using config::ListReading;
using config::ListRow;
using config::ListSource;
using engine::Evidence;
using engine::ServiceId;
using engine::ValueSeen;

/// Told at a time: the loop does other things in between.
constexpr std::size_t kToldAtOnce = 50;
/// Between two readings for looks.
constexpr Duration kBetweenLooks{1'000};
constexpr std::size_t kMostTold = 60;  ///< of what is no name

std::shared_ptr<const std::string> no_output() {
  static const auto none = std::make_shared<const std::string>();
  return none;
}

/// Nobody knows how the row is.
Evidence unknown(const std::string& why) {
  Evidence seen;
  seen.answer = engine::Answer::Unknown;
  seen.output = std::make_shared<const std::string>(why);
  return seen;
}

std::vector<ValueSeen> seen_values(const std::vector<std::string>& filters,
                                   std::vector<runtime::ListAnswer::Value>&& values) {
  std::vector<ValueSeen> all;
  for (std::size_t i = 0; i < filters.size() && i < values.size(); ++i) {
    ValueSeen seen{.filter = filters[i], .value = std::nullopt};
    if (values[i].is_known)
      seen.value = std::move(values[i].text);
    else
      seen.why = std::move(values[i].text);
    all.push_back(std::move(seen));
  }
  return all;
}

/// What the helper has found of rows, as readings have it.
ListReading rows_of(ListCalls::Rows&& rows, const std::vector<std::string>& fields,
                    const std::vector<std::string>& filters, std::vector<std::vector<ValueSeen>>& values) {
  ListReading reading;
  std::size_t number = 0;
  for (runtime::ListAnswer::Row& found : rows) {
    ++number;
    ListRow row{.name = std::move(found.name), .fields = {}};
    for (std::size_t i = 0; i < fields.size() && i < found.fields.size(); ++i)
      if (found.fields[i]) row.fields.emplace_back(fields[i], std::move(*found.fields[i]));
    const std::string wrong = !found.wrong.empty() ? found.wrong : config::fault_of(row);
    if (!wrong.empty()) {
      reading.refused.push_back(
          {.line = number, .why = fmt::format("row {}: {}", number, printable(wrong.substr(0, kMostTold * 4)))});
      continue;
    }
    reading.rows.push_back(std::move(row));
    values.push_back(seen_values(filters, std::move(found.values)));
  }
  return reading;
}

/// Has the filters evaluated for the rows of a command or a file, which are a JSON object each, or a name.
Result<void> evaluate(const ListReading& reading, const std::vector<std::string>& filters, runtime::JqHelper& helper,
                      std::vector<std::vector<ValueSeen>>& values) {
  ListCalls::Question question{
      .parts = {{.rows = {}, .name = {}, .fields = {}, .filters = filters}}, .next = {}, .lines = true, .text = {}};
  for (const std::string& document : reading.documents)
    if (!document.empty()) question.text += document + "\n";
  Result<runtime::ListAnswer> answer = runtime::ListAnswer{};
  if (!question.text.empty() && !filters.empty()) {
    answer = helper.rows(question);
    if (!answer) return answer.error();
  }
  std::size_t next = 0;
  for (const std::string& document : reading.documents) {
    std::vector<ValueSeen> seen;
    if (!document.empty() && !answer->parts.empty() && next < answer->parts.front().size())
      seen = seen_values(filters, std::move(answer->parts.front()[next++].values));
    if (document.empty())
      for (const std::string& filter : filters)
        seen.push_back({.filter = filter, .value = std::nullopt, .why = "its row is no JSON object"});
    values.push_back(std::move(seen));
  }
  return {};
}

}  // namespace

std::shared_ptr<const Evidence> DaemonLists::Found::find(const std::string& row) const {
  const auto found = at.find(row);
  return found == at.end() ? nullptr : rows[found->second].second;
}

// ---- what is asked of a list ----------------------------------------------------------------------------------------

void DaemonLists::need(One& list, const config::ListDeclaration& declaration) {
  list.source = declaration.source;
  list.fields.assign(declaration.fields.begin(), declaration.fields.end());
  list.keeps_all = declaration.keeps_all_fields();
  list.key = config::key_of(list.source);
}

DaemonLists::Needs DaemonLists::needs_of(const One& list) {
  return {.kept = {.all = list.keeps_all, .fields = list.fields, .documents = !list.services.empty()},
          .filters = list.filters};
}

/// Which services judge rows, and by which filters.
void DaemonLists::take_services(const engine::Graph& graph) {
  std::map<Hash128, std::pair<const ListSource*, One*>> by_key;
  struct Before {
    std::set<ServiceId> services;
  };
  std::map<const One*, Before> before;
  for (auto& [source, list] : lists_) {
    if (!list.declared) continue;
    by_key.emplace(list.key, std::pair(&source, &list));
    for (const auto& [row, services] : list.services) before[&list].services.insert(services.begin(), services.end());
    list.services.clear();
    list.filters.clear();
    list.fresh.clear();
  }
  for (const ServiceId id : graph.order) {
    const engine::ServiceBlock& block = graph.at(id);
    if (!block.is_listed()) continue;
    const auto found = by_key.find(block.other->listed.list);
    if (found == by_key.end()) continue;
    One& list = *found->second.second;
    list.services[to_lower(block.other->listed.row)].push_back(id);
    for (const std::string& filter : block.program->filters)
      if (std::ranges::find(list.filters, filter) == list.filters.end()) list.filters.push_back(filter);
    if (!before[&list].services.contains(id)) list.fresh.push_back(id);
  }
  for (const auto& [key, one] : by_key) {
    std::ranges::sort(one.second->filters);
    if (!one.second->services.empty()) tell_fresh(*one.first, *one.second);
  }
}

// ---- readings -------------------------------------------------------------------------------------------------------

/// A reading is due while another is under way, which may be for looks alone.
void DaemonLists::put_off(One& list, bool counts) {
  if (counts && list.declared) {
    list.overdue = true;
    list.due.set_deadline(runtime::mono_now() + kBetweenLooks);
  }
  if (!counts) list.again = true;
}

/// One call for all lists that ask the same.
void DaemonLists::read_http(const ListSource& source, bool counts) {
  const auto wanted = lists_.find(source);
  if (wanted == lists_.end()) return;
  if (wanted->second.reading) return put_off(wanted->second, counts);
  const std::string key = wanted->second.source.http->call_key();
  std::vector<ListSource> sources;
  std::vector<ListCalls::Question::Part> parts;
  for (auto& [other, list] : lists_) {
    const bool is_same = list.source.http && list.source.http->call_key() == key;
    if (!is_same || (!list.declared && !awaited_.contains(other))) continue;
    if (list.reading) return put_off(wanted->second, counts);  // the call that they share
    const Needs needs = needs_of(list);
    sources.push_back(other);
    parts.push_back({.rows = list.source.http->rows,
                     .name = list.source.http->name,
                     .fields = needs.kept.fields,
                     .filters = needs.filters});
  }
  // Looks may be wanted all the time: they hold no reading up that is due.
  for (const ListSource& one : sources) counts = std::exchange(lists_.at(one).overdue, false) || counts;
  for (const ListSource& one : sources) {
    One& list = lists_.at(one);
    list.reading = true;
    list.counts = counts;
    list.began = runtime::mono_now();
    list.asked = needs_of(list);
  }
  calls_->read(*wanted->second.source.http, std::move(parts),
               [this, sources](Result<std::vector<ListCalls::Rows>> rows) {
                 for (std::size_t i = 0; i < sources.size(); ++i) {
                   Read read;
                   if (!rows)
                     read.rows.emplace(rows.error());
                   else
                     read.rows.emplace(std::move((*rows)[i]));
                   take(sources[i], std::move(read));
                 }
               });
}

void DaemonLists::ask(ListCalls::Question question, std::function<void(Result<runtime::ListAnswer>)> done) {
  const auto shared = std::make_shared<const ListCalls::Question>(std::move(question));
  judge_->submit(
      [shared, done, helper = helper_]() -> runtime::Loop::Callback {
        auto answer = std::make_shared<Result<runtime::ListAnswer>>(helper->rows(*shared));
        return [done, answer] { done(std::move(*answer)); };
      },
      [this, done](const Error& why) {
        helper_ = std::make_shared<runtime::JqHelper>("/proc/self/exe");
        done(why);
      });
}

Result<ListReading> DaemonLists::reading_of(Read& read, const Needs& needs, runtime::JqHelper& helper,
                                            std::vector<std::vector<ValueSeen>>& values) {
  if (read.rows) {
    if (!*read.rows) return read.rows->error();
    return rows_of(std::move(**read.rows), needs.kept.fields, needs.filters, values);
  }
  if (!read.text) return read.text.error();
  Result<ListReading> reading = config::read_rows(*read.text, needs.kept);
  if (!reading || !needs.kept.documents) return reading;
  if (const Result<void> done = evaluate(*reading, needs.filters, helper, values); !done) return done.error();
  reading->documents.clear();
  return reading;
}

std::shared_ptr<const DaemonLists::Found> DaemonLists::found_of(const ListReading& reading,
                                                                std::vector<std::vector<ValueSeen>> values,
                                                                const Needs& needs, const config::ListMemory& memory) {
  auto found = std::make_shared<Found>();
  found->filters = needs.filters;
  found->rows.reserve(reading.rows.size());
  for (std::size_t i = 0; i < reading.rows.size() && i < values.size(); ++i) {
    std::string row = to_lower(reading.rows[i].name);
    if (!found->at.emplace(row, found->rows.size()).second) continue;  // of equal names the first counts
    auto facts = std::make_shared<engine::Facts>();
    engine::FurtherFacts& further = facts->further.edit();
    further.row = engine::RowSeen{memory.known_since(row)};
    further.values.edit() = std::move(values[i]);
    auto seen = std::make_shared<Evidence>();
    seen->output = no_output();
    seen->facts = std::move(facts);
    found->rows.emplace_back(std::move(row), std::move(seen));
  }
  return found;
}

// ---- what is told ---------------------------------------------------------------------------------------------------

/// What a reading has found is told to those who judge rows: to all where it counts, else to those who have asked.
void DaemonLists::tell_rows(const ListSource& source, One& list, Judged& judged) {
  answer_looks(list, judged.failure.empty() ? judged.found.get() : nullptr, judged.failure);
  if (judged.found) {
    if (list.found) let_go(std::move(list.found));
    list.found = judged.found;
    list.found_began = list.began;
    if (list.counts) {
      list.fresh.clear();
      tell_some(source, list.found, 0);
    } else {
      tell_fresh(source, list);
    }
  }
  if (std::exchange(list.again, false) && (!list.looks.empty() || !list.fresh.empty())) read_for_looks(source, list);
}

void DaemonLists::tell_some(const ListSource& source, const std::shared_ptr<const Found>& found, std::size_t from) {
  const auto known = lists_.find(source);
  if (known == lists_.end() || known->second.found != found) return;  // there is a newer one
  const One& list = known->second;
  engine::event::RowsRead read{.began = list.found_began, .rows = {}};
  std::size_t at = from;
  for (; at < found->rows.size() && read.rows.size() < kToldAtOnce; ++at) {
    const auto services = list.services.find(found->rows[at].first);
    if (services == list.services.end()) continue;
    for (const ServiceId service : services->second) read.rows.push_back({service, found->rows[at].second});
  }
  if (at < found->rows.size()) loop_->post([this, source, found, at] { tell_some(source, found, at); });
  if (!read.rows.empty()) hooks_.found(read);
}

/// Services that are new are told what the last reading has found, or a further one.
void DaemonLists::tell_fresh(const ListSource& source, One& list) {
  if (list.fresh.empty()) return;
  if (!list.found || !std::ranges::includes(list.found->filters, list.filters)) {
    if (list.reading)
      list.again = true;
    else if (list.memory->known())
      loop_->post([this, source] { read(source, false); });
    return;
  }
  const std::set<ServiceId> fresh(list.fresh.begin(), list.fresh.end());
  list.fresh.clear();
  engine::event::RowsRead read{.began = list.found_began, .rows = {}};
  for (const auto& [row, services] : list.services)
    for (const ServiceId service : services)
      if (fresh.contains(service))
        if (auto evidence = list.found->find(row)) read.rows.push_back({service, std::move(evidence)});
  if (!read.rows.empty()) loop_->post([this, read = std::move(read)] { hooks_.found(read); });
}

// ---- looks ----------------------------------------------------------------------------------------------------------

void DaemonLists::look(const engine::effect::Measure& measure, const engine::ServiceBlock& block) {
  for (auto& [source, list] : lists_) {
    if (!list.declared || list.key != block.other->listed.list) continue;
    list.looks.push_back({.service = measure.service,
                          .run = measure.run,
                          .row = to_lower(block.other->listed.row),
                          .asked = runtime::mono_now()});
    return read_for_looks(source, list);
  }
  loop_->post([this, service = measure.service, run = measure.run] {
    hooks_.found(engine::event::measured(service, run, unknown("its list is not in the rules")));
  });
}

void DaemonLists::cancel(engine::RunId run) {
  for (auto& [source, list] : lists_) std::erase_if(list.looks, [&](const Look& look) { return look.run == run; });
}

void DaemonLists::read_for_looks(const ListSource& source, One& list) {
  if (list.reading) {
    list.again = true;
    return;
  }
  if (std::exchange(list.look_planned, true)) return;
  list.look_due = loop_->timer([this, source] {
    lists_.at(source).look_planned = false;
    read(source, false);
  });
  list.look_due.set_deadline(std::max(runtime::mono_now(), list.began + kBetweenLooks));
}

/// Answers those who asked before the reading began. `found`: null where it has failed.
void DaemonLists::answer_looks(One& list, const Found* found, const std::string& failure) {
  if (found == nullptr && failure.empty()) return;  // nobody judged rows when it began
  std::vector<engine::event::Measured> answers;
  std::erase_if(list.looks, [&](const Look& look) {
    if (look.asked > list.began) return false;
    const auto evidence = found == nullptr ? nullptr : found->find(look.row);
    if (evidence == nullptr)
      answers.push_back(engine::event::measured(
          look.service, look.run,
          unknown(found == nullptr ? fmt::format("the list {} could not be read: {}", list.source.name, failure)
                                   : fmt::format("it is missing from the list {}", list.source.name))));
    else if (!list.counts)
      answers.push_back({look.service, look.run, evidence});
    return true;
  });
  if (!list.looks.empty()) list.again = true;
  for (const engine::event::Measured& answer : answers) loop_->post([this, answer] { hooks_.found(answer); });
}

}  // namespace healer
