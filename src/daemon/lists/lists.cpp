// SPDX-License-Identifier: MIT
#include "daemon/lists/lists.hpp"

#include <algorithm>
#include <cerrno>
#include <set>
#include <utility>

#include <spdlog/fmt/fmt.h>
#include <nlohmann/json.hpp>

#include "config/lists/list_rows.hpp"
#include "engine/events/event.hpp"
#include "runtime/clock.hpp"
#include "runtime/files/write_file.hpp"
#include "runtime/host.hpp"
#include "util/text.hpp"

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
  json known = json::object();
  for (const auto& [name, since] : saved.known)
    known[name] = std::chrono::duration_cast<milliseconds>(since.time_since_epoch()).count();
  return {{"rows", std::move(rows)}, {"names", saved.names},   {"missing", saved.missing}, {"well", saved.well},
          {"equal", saved.equal},    {"proven", saved.proven}, {"failure", saved.failure}, {"known", std::move(known)}};
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
  if (saved.contains("known"))  // not written by earlier versions: then they have been known for ever
    for (const auto& [name, since] : saved.at("known").items())
      memory.known[name] = std::min(WallTime{milliseconds(since.get<std::int64_t>())}, runtime::now().wall);
  else
    for (const std::string& name : memory.names) memory.known[name] = WallTime{};
  // What stands in a file is looked at like what comes from outside.
  std::erase_if(memory.rows, [](const ListRow& row) { return !is_plain_name(row.name); });
  return memory;
}

std::string counted_rows(std::size_t count) { return fmt::format("{} row{}", count, count == 1 ? "" : "s"); }

}  // namespace

DaemonLists::DaemonLists(std::string path) : path_(std::move(path)) { load(); }

void DaemonLists::load() {
  const Result<std::string> text = runtime::Host{}.read(path_);
  if (!text && text.error().code != ENOENT) unreadable_ = text.error().what;
  if (!text) return;
  const json saved = json::parse(*text, nullptr, false);
  try {
    for (const json& one : saved.at("lists")) {
      ListSource source{.name = one.at("name").get<std::string>(),
                        .command = one.at("command").get<std::vector<std::string>>(),
                        .file = one.at("file").get<std::string>()};
      One& list = lists_[std::move(source)];
      list.memory = std::make_shared<const ListMemory>(memory_of(one.at("memory")));
      // A time to come is none, of a clock that was wrong or a damaged file: the list is read.
      if (const WallTime at{milliseconds(one.at("read").get<std::int64_t>())};
          at > WallTime{} && at <= runtime::now().wall)
        list.read = at;
    }
  } catch (const json::exception&) {
    lists_.clear();  // not written by this program: the lists are read again
  }
}

void DaemonLists::save() {
  struct Kept {
    ListSource source;
    std::int64_t read = 0;
    Memory memory;
  };
  std::vector<Kept> kept;
  for (const auto& [source, list] : lists_)
    if (list.declared && list.memory->known())
      kept.push_back({source,
                      list.read ? std::chrono::duration_cast<milliseconds>(list.read->time_since_epoch()).count() : 0,
                      list.memory});
  saver_->submit(
      [this, path = path_, kept = std::move(kept)]() -> runtime::Loop::Callback {
        json all = json::array();
        for (const auto& [source, read, memory] : kept)
          all.push_back({{"name", source.name},
                         {"command", source.command},
                         {"file", source.file},
                         {"read", read},
                         {"memory", to_json(memory->saved())}});
        const std::string text =
            json{{"lists", std::move(all)}}.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
        return [this, done = make_file(path, text, 0600, true)] { saved(done); };
      },
      [this](const Error& why) { saved(why); });
}

/// A full disk is told of once, not at each reading.
void DaemonLists::saved(const Result<void>& done) {
  const std::string why = done ? std::string() : done.error().what;
  const std::string before = std::exchange(unsaved_, why);
  if (!why.empty() && before.empty())
    hooks_.tell("the lists cannot be remembered: " + why + "; it is tried again at each reading", false);
  if (why.empty() && !before.empty()) hooks_.tell("the lists are remembered again", false);
}

std::optional<WallTime> DaemonLists::read_at(const ListSource& source) const {
  const auto found = lists_.find(source);
  return found == lists_.end() ? std::nullopt : found->second.read;
}

namespace {

using Memories = std::vector<std::pair<ListSource, std::shared_ptr<const ListMemory>>>;

config::ListsEnvironment::Lists rows_of(const Memories& memories) {
  config::ListsEnvironment::Lists all;
  for (const auto& [source, memory] : memories)
    if (memory->known()) all.emplace(source, memory->rows());
  return all;
}

}  // namespace

DaemonLists::Rows DaemonLists::rows() const {
  Memories memories;
  for (const auto& [source, list] : lists_) memories.emplace_back(source, list.memory);
  return [memories = std::move(memories)] { return rows_of(memories); };
}

DaemonLists::Rows DaemonLists::offered_rows() {
  Memories memories;
  for (auto& [source, list] : lists_) {
    if (list.offered) list.offered->compiling = true;
    memories.emplace_back(source, list.offered ? list.offered->memory : list.memory);
  }
  return [memories = std::move(memories)] { return rows_of(memories); };
}

void DaemonLists::begin(runtime::Loop& loop, runtime::Spawner& spawner, Hooks hooks) {
  loop_ = &loop;
  hooks_ = std::move(hooks);
  reader_ = std::make_unique<runtime::ListReader>(loop, spawner);
  saver_ = std::make_unique<runtime::WorkerPool>(
      loop,
      runtime::WorkerPool::Options{.name = "healer lists", .workers = 1, .max_lost = 1, .patience = Duration{5000}});
  judge_ = std::make_unique<runtime::WorkerPool>(
      loop, runtime::WorkerPool::Options{
                .name = "healer rows", .workers = 1, .max_lost = 1, .patience = 2 * runtime::JqHelper::kListPatience});
  helper_ = std::make_shared<runtime::JqHelper>("/proc/self/exe");
  calls_ = std::make_unique<ListCalls>(ListCalls::Hooks{
      .caller = hooks_.caller,
      .settings = hooks_.settings,
      .ask = [this](
                 ListCalls::Question question,
                 std::function<void(Result<runtime::ListAnswer>)> done) { ask(std::move(question), std::move(done)); },
      .post = [&loop](runtime::Loop::Callback what) { loop.post(std::move(what)); }});
}

bool DaemonLists::read_new(const std::vector<config::ListDeclaration>& lists, std::function<void()> done) {
  constexpr Duration kPatience = seconds{10};
  std::vector<ListSource> wanted;
  for (const config::ListDeclaration& list : lists)
    if (const auto known = lists_.find(list.source); known == lists_.end() ||
                                                     !std::ranges::includes(known->second.fields, list.fields) ||
                                                     known->second.keeps_all != list.keeps_all_fields()) {
      if (known != lists_.end() && known->second.reading) continue;
      need(lists_[list.source], list);
      wanted.push_back(list.source);
    }
  if (wanted.empty()) return false;
  when_read_ = std::move(done);
  awaited_.insert(wanted.begin(), wanted.end());
  read_limit_ = loop_->timer([this] { end_reading(); });
  read_limit_.set_deadline(runtime::mono_now() + kPatience);
  for (const ListSource& source : wanted) read(source, true);
  return true;
}

void DaemonLists::end_reading() {
  awaited_.clear();
  read_limit_ = {};
  if (when_read_) std::exchange(when_read_, {})();
}

void DaemonLists::declare(const std::vector<config::ListDeclaration>& lists) {
  std::set<ListSource> declared;
  for (const config::ListDeclaration& declaration : lists) {
    declared.insert(declaration.source);
    One& list = lists_[declaration.source];
    need(list, declaration);
    const auto before = std::exchange(list.declared, declaration);
    // A load of the rules is no reading: what is not new is read when it was due.
    if (before && before->every == declaration.every) continue;
    if (!before) list.due = loop_->timer([this, source = declaration.source] { read(source, true); });
    const bool is_fresh = before || list.offered;
    if (!list.reading) list.due.set_deadline(runtime::mono_now() + (is_fresh ? declaration.every : Duration{0}));
  }
  std::erase_if(lists_, [&](const auto& one) { return !declared.contains(one.first); });
  std::vector<std::string> calls;
  for (const auto& [source, list] : lists_)
    if (list.source.http) calls.push_back(list.source.http->call_key());
  calls_->keep_tokens(calls);
}

void DaemonLists::read(const ListSource& source, bool counts) {
  const auto found = lists_.find(source);
  if (found == lists_.end()) return;
  One& list = found->second;
  if (list.source.http) return read_http(source, counts);
  if (list.reading) return put_off(list, counts);
  list.reading = true;
  list.counts = std::exchange(list.overdue, false) || counts;
  list.began = runtime::mono_now();
  const auto done = [this, source](Result<std::string> text) { take(source, {.text = std::move(text)}); };
  if (source.command.empty())
    reader_->read_file(source.file, done);
  else
    reader_->run(source.command, hooks_.environment(), done);
}

void DaemonLists::take(const ListSource& source, Read read) {
  const auto found = lists_.find(source);
  if (found == lists_.end()) return;  // the rules do not name it any more
  const One& list = found->second;
  judge_->submit(
      [this, source, memory = list.memory, rejected = list.rejected, read = std::make_shared<Read>(std::move(read)),
       needs = list.asked ? *list.asked : needs_of(list), helper = helper_, failed = failed(source, list),
       in_repair = hooks_.in_repair(source.name)]() -> runtime::Loop::Callback {
        auto judged =
            std::make_shared<Judged>(judge(memory, *rejected, std::move(*read), needs, failed, in_repair, *helper));
        return [this, source, memory, judged]() mutable {
          offer(source, memory, std::move(*judged));
          let_go(std::pair(std::move(memory), std::move(judged)));
        };
      },
      [this, source](const Error& why) {
        helper_ = std::make_shared<runtime::JqHelper>("/proc/self/exe");  // the worker may still be busy with the other
        offer(source, {}, {.failure = why.what});
      });
}

/// Reads what a list says, and finds out what it comes to.
DaemonLists::Judged DaemonLists::judge(const Memory& memory, const Rejected& rejected, Read read, const Needs& needs,
                                       const std::set<std::string>& failed, const std::set<std::string>& in_repair,
                                       runtime::JqHelper& helper) {
  std::vector<std::vector<engine::ValueSeen>> values;
  Result<config::ListReading> reading = reading_of(read, needs, helper, values);
  if (!reading) return {.failure = reading.error().what};
  const config::ListReading whole = needs.kept.documents ? *reading : config::ListReading{};
  std::erase_if(reading->rows, [&](const ListRow& row) {
    const auto known = rejected.find(to_lower(row.name));
    if (known == rejected.end() || known->second.first != row) return false;
    reading->refused.push_back({.line = 0, .why = known->second.second, .name = row.name});
    return true;
  });
  ListMemory next = *memory;
  Judged judged;
  judged.offered.records = next.read(*reading, failed, in_repair, runtime::now().wall);
  if (needs.kept.documents) judged.found = found_of(whole, std::move(values), needs, next);
  judged.offered.reading = std::move(*reading);
  judged.same_rows = config::same_rows(memory->rows(), next.rows());
  judged.same = memory->saved() == next.saved();
  judged.offered.memory = std::make_shared<const ListMemory>(std::move(next));
  return judged;
}

/// Rows that are in the rules already are believed at once, others when it is known that they compile.
void DaemonLists::offer(const ListSource& source, const Memory& before, Judged&& judged) {
  const auto found = lists_.find(source);
  if (found == lists_.end()) return;
  One& list = found->second;
  list.reading = false;
  list.asked.reset();
  if (!list.counts) return tell_rows(source, list, judged);
  if (list.declared) list.due.set_deadline(runtime::mono_now() + list.declared->every);
  tell_rows(source, list, judged);
  if (!judged.failure.empty()) {
    list.offered.reset();
    if (list.declared) fail(list, judged.failure);
  } else if (before != list.memory) {  // somebody has said something of it meanwhile: it is read again
    if (list.declared) list.due.set_deadline(runtime::mono_now());
  } else if (list.declared && judged.same_rows && !list.offered) {
    adopt(list, std::move(judged.offered.memory), judged.offered.records, !judged.same);
  } else {
    list.offered = std::move(judged.offered);
    if (list.declared) hooks_.changed();  // else whoever looks has the rules compiled
  }
  if (awaited_.erase(source) != 0 && awaited_.empty()) end_reading();
}

/// Makes a change to what is believed; it gives back whether there was one.
template <typename Change>
bool DaemonLists::change(Memory& memory, Change&& change) {
  auto next = std::make_shared<ListMemory>(*memory);
  if (!change(*next)) return false;
  memory = std::move(next);
  return true;
}

void DaemonLists::fail(One& list, const std::string& why) {
  ListMemory failed = *list.memory;
  const std::vector<config::ListRecord> records = failed.fail(why);
  const bool is_new = !records.empty();
  adopt(list, std::make_shared<const ListMemory>(std::move(failed)), records, is_new);
}

void DaemonLists::adopt(One& list, Memory memory, const std::vector<config::ListRecord>& records, bool is_new) {
  list.memory = std::move(memory);
  if (list.memory->saved().failure.empty()) list.read = runtime::now().wall;
  if (is_new) save();
  for (const config::ListRecord& record : records)
    hooks_.tell(fmt::format("list {}: {}", list.declared->name, record.text), record.alerts);
  hooks_.read();
}

bool DaemonLists::offered_compiled(const std::vector<config::RowLeftOut>& left_out) {
  bool again = false;
  for (auto& [source, list] : lists_)
    if (list.offered && list.offered->compiling) again = reject(source, list, left_out) || again;
  return again;
}

void DaemonLists::adopt_offered() {
  for (auto& [source, list] : lists_) {
    if (!list.declared || !list.offered || !list.offered->compiling) continue;
    Offered taken = std::move(*std::exchange(list.offered, std::nullopt));
    list.judged = true;
    adopt(list, std::move(taken.memory), taken.records, true);
  }
}

bool DaemonLists::keep_offered() {
  std::erase_if(lists_, [](const auto& one) { return !one.second.declared; });
  bool is_any = false;
  for (auto& [source, list] : lists_)
    if (list.offered) {
      list.offered->compiling = false;
      is_any = true;
    }
  return is_any;
}

/// Takes the rows that are new, and do not compile, out of what was read. Whether others are in force then than were
/// compiled, but for those.
bool DaemonLists::reject(const ListSource& source, One& list, const std::vector<config::RowLeftOut>& left_out) {
  Offered& offered = *list.offered;
  std::map<std::string, std::string> refused;
  for (const config::RowLeftOut& one : left_out)
    if (one.source == source) refused.emplace(to_lower(one.row), one.why);
  if (refused.empty()) return false;
  std::map<std::string, const ListRow*> known;
  for (const ListRow& row : list.memory->rows()) known.emplace(to_lower(row.name), &row);
  Rejected rejected = *list.rejected;
  std::vector<ListRow> rows;
  bool is_any = false;
  bool stays_other = false;
  for (ListRow& row : offered.reading.rows) {
    const std::string name = to_lower(row.name);
    const auto why = refused.find(name);
    const auto before = known.find(name);
    if (why == refused.end() || (before != known.end() && *before->second == row)) {
      rows.push_back(std::move(row));
      continue;
    }
    is_any = true;
    offered.reading.refused.push_back({.line = 0, .why = why->second, .name = row.name});
    rejected.insert_or_assign(name, std::pair(row, why->second));
    if (before == known.end()) continue;
    rows.push_back(*before->second);  // it stays as it was
    stays_other = true;
  }
  offered.reading.rows = std::move(rows);
  if (!is_any) return false;
  std::vector<ListRow> expected = offered.memory->rows();
  std::erase_if(expected, [&](const ListRow& row) { return rejected.contains(to_lower(row.name)); });
  list.rejected = std::make_shared<const Rejected>(std::move(rejected));
  ListMemory next = *list.memory;
  offered.records =
      next.read(offered.reading, failed(source, list), hooks_.in_repair(source.name), runtime::now().wall);
  offered.memory = std::make_shared<const ListMemory>(std::move(next));
  return stays_other || !config::same_rows(std::move(expected), offered.memory->rows());
}

void DaemonLists::offered_failed(const std::string& why) {
  for (auto& [source, list] : lists_) {
    if (!list.declared || !list.offered || !list.offered->compiling) continue;
    list.offered.reset();
    fail(list, "the rules cannot be loaded with its rows: " + why);
  }
}

/// The rows of which a service stands failed. Where none is in the rules nobody knows that of any.
std::set<std::string> DaemonLists::failed(const ListSource& source, const One& list) const {
  std::set<std::string> rows = hooks_.failed(source.name);
  if (none_in_force_)
    for (const ListRow& row : list.memory->rows()) rows.insert(to_lower(row.name));
  return rows;
}

void DaemonLists::in_force(const config::LoadResult& rules, bool changed, const engine::Graph& graph) {
  if (changed) take_services(graph);
  constexpr std::size_t kMostListed = 5;
  const std::vector<config::RowLeftOut>& left_out = rules.rows_left_out;
  none_in_force_ = !rules.lists_left_out.empty();
  for (auto& [source, list] : lists_) {
    if (!list.declared) continue;
    if (changed && !list.judged) list.rejected = std::make_shared<const Rejected>();
    list.judged = false;
    std::map<std::string, std::string> now;
    for (const config::RowLeftOut& one : left_out)
      if (one.source == source) now.emplace(to_lower(one.row), one.why);
    // One that is new was never believed: the reading says what is wrong with it.
    std::set<std::string> known;
    if (!now.empty())
      for (const ListRow& row : list.memory->rows()) known.insert(to_lower(row.name));
    std::erase_if(now, [&](const auto& row) { return !known.contains(row.first); });
    const std::map<std::string, std::string> before = std::exchange(list.left_out, now);
    std::size_t listed = 0;
    for (const auto& [row, why] : now) {
      if (const auto old = before.find(row); old != before.end() && old->second == why) continue;
      if (++listed <= kMostListed)
        hooks_.tell(fmt::format("list {}: the row '{}' is refused: {}; what is known of its services is kept until it "
                                "leaves the list",
                                list.declared->name, row, why),
                    true);
    }
    if (listed > kMostListed)
      hooks_.tell(fmt::format("list {}: {} more rows are refused", list.declared->name, listed - kMostListed), true);
    for (const auto& [row, why] : before)
      if (!now.contains(row) &&
          std::ranges::any_of(list.memory->rows(), [&](const ListRow& one) { return iequals(one.name, row); }))
        hooks_.tell(fmt::format("list {}: the row '{}' is in the rules again", list.declared->name, row), false);
  }
}

std::vector<std::string> DaemonLists::refused() const {
  std::vector<std::string> all;
  for (const auto& [source, list] : lists_) {
    if (!list.declared) continue;
    std::size_t listed = 0;
    for (const auto& [row, why] : list.left_out)
      if (++listed <= kMostMissing)
        all.push_back(fmt::format("list {}: the row '{}' is refused: {}", list.declared->name, row, why));
    if (listed > kMostMissing)
      all.push_back(fmt::format("list {}: {} more rows are refused", list.declared->name, listed - kMostMissing));
    for (const std::string& text : list.memory->refused())
      all.push_back(fmt::format("list {}: {}", list.declared->name, text));
  }
  return all;
}

std::vector<std::string> DaemonLists::unread() const {
  std::vector<std::string> all;
  for (const auto& [source, list] : lists_)
    if (const std::string& failure = list.memory->saved().failure; list.declared && !failure.empty())
      all.push_back(
          fmt::format("list {} cannot be read: {}; its rows are judged by nothing new", list.declared->name, failure));
  return all;
}

std::string DaemonLists::text() const {
  std::string all;
  for (const auto& [source, list] : lists_) {
    if (!list.declared) continue;
    const ListMemory::Saved& memory = list.memory->saved();
    all += fmt::format("{}{} from {}\n", all.empty() ? "" : "\n", list.declared->name, describe(list.source));
    all += fmt::format("  rows      {}\n", memory.rows.size());
    all += fmt::format("  read      {}\n", list.read ? format_monit_date(runtime::local_civil(*list.read)) : "not yet");
    all += fmt::format("  every     {} s\n", std::chrono::duration_cast<seconds>(list.declared->every).count());
    all += fmt::format("  proven    {}\n",
                       memory.proven ? "yes"
                       : list.memory->known()
                           ? fmt::format("no: {} of {} equal readings, or: healerctl accept list {}", memory.equal,
                                         ListMemory::kReadingsThatProve, list.declared->name)
                           : "no: it was not read yet");
    if (!memory.failure.empty()) all += fmt::format("  failure   {}\n", memory.failure);
    std::string missing;
    std::size_t listed = 0;
    for (const auto& [name, misses] : memory.missing)
      if (listed++ < kMostMissing) missing += (missing.empty() ? "" : ", ") + name;
    if (listed > kMostMissing) missing += fmt::format(" and {} more", listed - kMostMissing);
    if (!missing.empty()) all += fmt::format("  missing   {}\n", missing);
    std::size_t refused = 0;
    for (const auto& [row, why] : list.left_out)
      if (++refused <= kMostMissing) all += fmt::format("  refused   the row '{}' is refused: {}\n", row, why);
    if (refused > kMostMissing) all += fmt::format("  refused   {} more rows\n", refused - kMostMissing);
    for (const std::string& one : list.memory->refused()) all += fmt::format("  refused   {}\n", one);
  }
  if (all.empty()) return "the rules have no lists from commands or files, or over HTTP";
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
  if (!list->memory->known()) return fmt::format("the list {} was not read yet", printable(name));
  const auto accept = [](ListMemory& memory) {
    memory.accept();
    return true;
  };
  change(list->memory, accept);
  if (list->offered) change(list->offered->memory, accept);
  save();
  hooks_.tell(
      fmt::format("list {}: accepted by {}, {}", list->declared->name, by, counted_rows(list->memory->rows().size())),
      false);
  hooks_.read();
  return std::nullopt;
}

bool DaemonLists::forget(std::string_view row, const std::string& by) {
  bool is_known = false;
  for (auto& [source, list] : lists_) {
    const auto forget = [&](ListMemory& memory) { return memory.forget(row); };
    if (!list.declared || !change(list.memory, forget)) continue;
    if (list.offered) change(list.offered->memory, forget);
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
      lists_, [](const auto& one) { return one.second.declared && one.second.memory->has_missing_ill(); });
}

void DaemonLists::see() {
  bool is_new = false;
  for (auto& [source, list] : lists_)
    if (list.declared && list.memory->has_missing_ill())
      is_new =
          change(list.memory,
                 [&](ListMemory& memory) { return memory.see(failed(source, list), hooks_.in_repair(source.name)); }) ||
          is_new;
  if (!is_new) return;
  save();
  hooks_.read();
}

engine::event::ListsDoubted DaemonLists::doubted() const {
  engine::event::ListsDoubted doubted;
  for (const auto& [source, list] : lists_)
    if (list.declared) list.memory->doubt(source.name, doubted);
  return doubted;
}

}  // namespace healer
