// SPDX-License-Identifier: MIT
#include "daemon_lists.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <spdlog/fmt/fmt.h>
#include <nlohmann/json.hpp>

#include "config/list_rows.hpp"
#include "daemon_house.hpp"
#include "engine/rows.hpp"
#include "runtime/clock.hpp"
#include "runtime/host.hpp"
#include "util/text.hpp"
#include "write_file.hpp"

namespace healer {
namespace {

using config::ListMemory;
using config::ListRow;
using config::ListSource;
using nlohmann::json;

constexpr std::size_t kMostMissing = 10;  ///< rows that a person is told by their names

json to_json(const ListRow& row) {
  json fields = json::array();
  for (const auto& [name, value] : row.fields) fields.push_back({name, value});
  return {{"name", row.name}, {"fields", std::move(fields)}};
}

ListRow row_of(const json& saved) {
  ListRow row{.name = saved.at("name").get<std::string>(), .fields = {}};
  for (const json& field : saved.at("fields"))
    row.fields.emplace_back(field.at(0).get<std::string>(), field.at(1).get<std::string>());
  return row;
}

json to_json(const ListMemory::Saved& saved) {
  json rows = json::array();
  for (const ListRow& row : saved.rows) rows.push_back(to_json(row));
  return {{"rows", std::move(rows)}, {"names", saved.names},   {"missing", saved.missing}, {"well", saved.well},
          {"equal", saved.equal},    {"proven", saved.proven}, {"failure", saved.failure}};
}

ListMemory::Saved memory_of(const json& saved) {
  ListMemory::Saved memory;
  for (const json& row : saved.at("rows")) memory.rows.push_back(row_of(row));
  saved.at("names").get_to(memory.names);
  saved.at("missing").get_to(memory.missing);
  if (saved.contains("well")) saved.at("well").get_to(memory.well);  // not written by earlier versions
  saved.at("equal").get_to(memory.equal);
  saved.at("proven").get_to(memory.proven);
  saved.at("failure").get_to(memory.failure);
  // What stands in a file is looked at like what comes from outside.
  std::erase_if(memory.rows, [](const ListRow& row) { return !config::is_row_name(row.name); });
  return memory;
}

std::string from(const ListSource& source) {
  return source.command.empty() ? "file " + source.file
                                : "command " + fmt::format("{}", fmt::join(source.command, " "));
}

std::string counted_rows(std::size_t count) { return fmt::format("{} row{}", count, count == 1 ? "" : "s"); }

}  // namespace

DaemonLists::DaemonLists(std::string path) : path_(std::move(path)) { load(); }

void DaemonLists::load() {
  const Result<std::string> text = runtime::Host{}.read(path_);
  if (!text) return;
  const json saved = json::parse(*text, nullptr, false);
  try {
    for (const json& one : saved.at("lists")) {
      ListSource source{.name = one.at("name").get<std::string>(),
                        .command = one.at("command").get<std::vector<std::string>>(),
                        .file = one.at("file").get<std::string>()};
      One& list = lists_[std::move(source)];
      list.memory = ListMemory(memory_of(one.at("memory")));
      if (const auto at = one.at("read").get<std::int64_t>(); at != 0) list.read = WallTime(milliseconds(at));
    }
  } catch (const json::exception&) {
    lists_.clear();  // not written by this program: the lists are read again
  }
}

void DaemonLists::save() {
  json all = json::array();
  for (const auto& [source, list] : lists_) {
    if (!list.declared || !list.memory.known()) continue;
    all.push_back(
        {{"name", source.name},
         {"command", source.command},
         {"file", source.file},
         {"read", list.read ? std::chrono::duration_cast<milliseconds>(list.read->time_since_epoch()).count() : 0},
         {"memory", to_json(list.memory.saved())}});
  }
  std::string text = json{{"lists", std::move(all)}}.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  saver_->submit(
      [path = path_, text = std::move(text), tell = hooks_.tell]() -> runtime::Loop::Callback {
        const Result<void> done = make_file(path, text, 0600, true);
        if (done) return [] {};
        return [tell, why = done.error().what] { tell("the lists cannot be remembered: " + why, false); };
      },
      [tell = hooks_.tell](const Error& why) { tell("the lists cannot be remembered: " + why.what, false); });
}

config::ListsEnvironment::Lists DaemonLists::rows() const {
  config::ListsEnvironment::Lists all;
  for (const auto& [source, list] : lists_)
    if (list.memory.known()) all.emplace(source, list.memory.rows());
  return all;
}

void DaemonLists::begin(runtime::Loop& loop, runtime::Spawner& spawner, Hooks hooks) {
  loop_ = &loop;
  hooks_ = std::move(hooks);
  reader_ = std::make_unique<runtime::ListReader>(loop, spawner);
  saver_ = std::make_unique<runtime::WorkerPool>(
      loop,
      runtime::WorkerPool::Options{.name = "healer lists", .workers = 1, .max_lost = 1, .patience = Duration{5000}});
}

void DaemonLists::declare(const std::vector<config::ListDeclaration>& lists) {
  std::set<ListSource> declared;
  for (const config::ListDeclaration& declaration : lists) {
    declared.insert(declaration.source);
    One& list = lists_[declaration.source];
    const auto before = std::exchange(list.declared, declaration);
    // A load of the rules is no reading: what is not new is read when it was due.
    if (before && before->every == declaration.every) continue;
    if (!before) list.due = loop_->timer([this, source = declaration.source] { read(source); });
    if (!list.reading) list.due.set_deadline(runtime::mono_now() + (before ? declaration.every : Duration{0}));
  }
  std::erase_if(lists_, [&](const auto& one) { return !declared.contains(one.first); });
}

void DaemonLists::read(const ListSource& source) {
  const auto found = lists_.find(source);
  if (found == lists_.end() || std::exchange(found->second.reading, true)) return;
  const auto done = [this, source](Result<std::string> text) { take(source, std::move(text)); };
  if (source.command.empty())
    reader_->read_file(source.file, done);
  else
    reader_->run(source.command, hooks_.environment(), done);
}

void DaemonLists::take(const ListSource& source, Result<std::string> text) {
  const auto found = lists_.find(source);
  if (found == lists_.end()) return;  // the rules do not name it any more
  One& list = found->second;
  list.reading = false;
  list.due.set_deadline(runtime::mono_now() + list.declared->every);

  const ListMemory before = list.memory;
  std::vector<config::ListRecord> said;
  Result<config::ListReading> reading = text ? config::read_rows(*text) : Result<config::ListReading>(text.error());
  if (reading) {
    said = list.memory.read(*reading, hooks_.failed(source.name), hooks_.in_repair(source.name));
    if (list.memory.saved().failure.empty()) list.read = runtime::now().wall;
  } else {
    said = list.memory.fail(reading.error().what);
  }
  const std::string name = list.declared->name;
  const bool is_changed = !config::same_rows(before.rows(), list.memory.rows());
  if (!(before.saved() == list.memory.saved())) save();
  for (const config::ListRecord& record : said)
    hooks_.tell(fmt::format("list {}: {}", name, record.text), record.alerts);
  hooks_.read();
  if (is_changed) hooks_.changed();
}

std::string DaemonLists::text() const {
  std::string all;
  for (const auto& [source, list] : lists_) {
    if (!list.declared) continue;
    const ListMemory::Saved& memory = list.memory.saved();
    all += fmt::format("{}{} from {}\n", all.empty() ? "" : "\n", list.declared->name, from(source));
    all += fmt::format("  rows      {}\n", memory.rows.size());
    all += fmt::format("  read      {}\n", list.read ? format_monit_date(runtime::local_civil(*list.read)) : "not yet");
    all += fmt::format("  every     {} s\n", std::chrono::duration_cast<seconds>(list.declared->every).count());
    all += fmt::format("  proven    {}\n",
                       memory.proven ? "yes"
                       : list.memory.known()
                           ? fmt::format("no: {} of {} equal readings, or: healerctl accept list {}", memory.equal,
                                         ListMemory::kReadingsThatProve, list.declared->name)
                           : "no: it was not read yet");
    if (!memory.failure.empty()) all += fmt::format("  failure   {}\n", memory.failure);
    std::string missing;
    std::size_t told = 0;
    for (const auto& [name, misses] : memory.missing)
      if (told++ < kMostMissing) missing += (missing.empty() ? "" : ", ") + name;
    if (told > kMostMissing) missing += fmt::format(" and {} more", told - kMostMissing);
    if (!missing.empty()) all += fmt::format("  missing   {}\n", missing);
  }
  if (all.empty()) return "the rules have no lists from commands or files";
  all.pop_back();
  return all;
}

DaemonLists::One* DaemonLists::named(std::string_view name) {
  for (auto& [source, list] : lists_)
    if (list.declared && iequals(list.declared->name, name)) return &list;
  return nullptr;
}

std::optional<std::string> DaemonLists::accept(std::string_view name, const std::string& by) {
  One* list = named(name);
  if (list == nullptr) return fmt::format("there is no list {}", printable(name));
  if (!list->memory.known()) return fmt::format("the list {} was not read yet", printable(name));
  list->memory.accept();
  save();
  hooks_.tell(
      fmt::format("list {}: accepted by {}, {}", list->declared->name, by, counted_rows(list->memory.rows().size())),
      false);
  hooks_.read();
  return std::nullopt;
}

bool DaemonLists::forget(std::string_view row, const std::string& by) {
  bool is_known = false;
  for (auto& [source, list] : lists_) {
    if (!list.declared || !list.memory.forget(row)) continue;
    is_known = true;
    hooks_.tell(fmt::format("list {}: the row '{}' is forgotten by {}", list.declared->name, printable(row), by),
                false);
  }
  if (!is_known) return false;
  save();
  hooks_.changed();
  return true;
}

bool DaemonLists::awaits_recovery() const {
  return std::ranges::any_of(
      lists_, [](const auto& one) { return one.second.declared && one.second.memory.has_missing_ill(); });
}

void DaemonLists::see() {
  bool is_new = false;
  for (auto& [source, list] : lists_)
    if (list.declared && list.memory.has_missing_ill())
      is_new = list.memory.see(hooks_.failed(source.name), hooks_.in_repair(source.name)) || is_new;
  if (!is_new) return;
  save();
  hooks_.read();
}

engine::event::ListsDoubted DaemonLists::doubted() const {
  engine::event::ListsDoubted doubted;
  for (const auto& [source, list] : lists_)
    if (list.declared) list.memory.doubt(source.name, doubted);
  return doubted;
}

// ---- the daemon's part --------------------------------------------------------------------------------------------

void Daemon::begin_lists() {
  lists_->begin(loop_, *spawner_,
                {.failed = [this](const std::string& list) { return engine::failed_rows(*engine_, list); },
                 .in_repair = [this](const std::string& list) { return engine::rows_in_repair(*engine_, list); },
                 .environment = [this] { return actions::check_environment(base_, {}, "healer"); },
                 .tell =
                     [this](const std::string& text, bool alerts) {
                       handle(engine::event::ListTold{text, alerts});
                     },
                 .read = [this] { handle(lists_->doubted()); },
                 .changed = [this] { reload_lists(); }});
}

/// The rules in force, as they are, with the rows that lists have now: what was edited meanwhile is not taken over.
void Daemon::reload_lists() {
  lists_changed_ = true;
  if (stopping_ || !in_force_ || std::exchange(reloading_, true)) return;
  lists_changed_ = false;
  compiler_->compile(options(), engine_->graph(), RulesCompiler::Purpose::Reload,
                     {.lists = lists_->rows(), .saved = sources_of(*in_force_)},
                     [this](RulesCompiler::Outcome outcome) {
                       auto shared = std::make_shared<RulesCompiler::Outcome>(std::move(outcome));
                       loop_.post([this, shared] { lists_reloaded(std::move(*shared)); });
                     });
}

/// The lists of the rules in force, and what is to be said of their rows.
void Daemon::declare_lists(const LoadedRules& loaded) {
  lists_->declare(loaded.result.lists);
  handle(lists_->doubted());
  tell_skipped_rows(loaded);
}

/// Rows that lack what the rules ask for are told, each once.
void Daemon::tell_skipped_rows(const LoadedRules& loaded) {
  constexpr std::size_t kMostTold = 5;
  std::set<std::string> skipped;
  for (const config::Diagnostic& diagnostic : loaded.result.diagnostics)
    if (diagnostic.code == config::Code::RefusedRow) skipped.insert(diagnostic.message);
  std::size_t fresh = 0;
  for (const std::string& row : skipped)
    if (!skipped_rows_.contains(row) && ++fresh <= kMostTold) handle(engine::event::ListTold{row, true});
  if (fresh > kMostTold)
    handle(engine::event::ListTold{fmt::format("{} more rows of lists are skipped", fresh - kMostTold), true});
  skipped_rows_ = std::move(skipped);
}

void Daemon::lists_reloaded(RulesCompiler::Outcome outcome) {
  if (outcome.plan) {
    const auto stale = stale_;  // what is on disk is as it was
    take_over(outcome, {});
    stale_ = stale;
  } else {
    handle(engine::event::ListTold{
        "the rules cannot be loaded with the rows that lists have now: " + outcome.loaded.summary, true});
  }
  tell_ready();
  reloading_ = false;
  next_reload();
}

}  // namespace healer
