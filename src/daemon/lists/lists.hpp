// SPDX-License-Identifier: MIT
// The lists of a daemon: read at their intervals, off the loop, remembered beside the state, and handed to whoever
// loads rules. On the loop thread.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "config/environments.hpp"
#include "config/lists/list_memory.hpp"
#include "config/load.hpp"
#include "config/passes/expand.hpp"
#include "daemon/lists/list_calls.hpp"
#include "engine/events/event.hpp"
#include "engine/events/measure.hpp"
#include "engine/rules/graph.hpp"
#include "runtime/jq_helper.hpp"
#include "runtime/list_reader.hpp"
#include "runtime/loop.hpp"
#include "runtime/net/http_caller.hpp"
#include "runtime/worker_pool.hpp"
#include "util/time.hpp"

namespace healer {

class DaemonLists {
 public:
  struct Hooks {
    /// The rows of lists of this name, in lower case, of which a service stands failed.
    std::function<std::set<std::string>(const std::string& name)> failed;
    /// Those that are being healed.
    std::function<std::set<std::string>(const std::string& name)> in_repair;
    /// The environment of a command.
    std::function<std::vector<std::string>()> environment;
    /// There is something to say; people are told, too, where it `alerts`.
    std::function<void(const std::string& text, bool alerts)> tell;
    /// One was read, or a person has said something of one: others may be doubted now.
    std::function<void()> read;
    /// Other rows are in force: the rules are to be loaded again.
    std::function<void()> changed;
    /// Makes requests.
    std::function<runtime::HttpCaller&()> caller;
    /// Those in force.
    std::function<const engine::Settings&()> settings;
    /// What was found of rows: event::RowsRead, event::Measured.
    std::function<void(const engine::Event&)> found;
  };

  /// Reads what is remembered in `path`; where that cannot be read nothing is.
  explicit DaemonLists(std::string path);

  /// Why what is remembered cannot be read; empty: it can, or there is nothing.
  [[nodiscard]] const std::string& unreadable() const { return unreadable_; }
  /// When a list was last read; none: it was not.
  [[nodiscard]] std::optional<WallTime> read_at(const config::ListSource& source) const;
  /// Gives rows that rules are loaded with. To be called where it takes no time from the loop: there may be very many.
  using Rows = std::function<config::ListsEnvironment::Lists()>;
  /// Those that are believed.
  [[nodiscard]] Rows rows() const;
  /// The same with what was read since and was not compiled yet: what comes of it, offered_compiled() is to be told.
  [[nodiscard]] Rows offered_rows();
  /// The rules compile with offered_rows(), but for these rows. A new one of them is refused as if it had not been
  /// read; where what was in force stays in place of it, the rules are to be compiled again: true. Else adopt_offered()
  /// is to follow.
  [[nodiscard]] bool offered_compiled(const std::vector<config::RowLeftOut>& left_out);
  /// What has compiled is believed from now on.
  void adopt_offered();
  /// They do not, for a reason that lies at no row: all rows stay as they were.
  void offered_failed(const std::string& why);
  /// Other rules were tried with them, and are not taken over. Whether there is something to be compiled with those in
  /// force.
  [[nodiscard]] bool keep_offered();
  /// These rules are in force, without these rows; `changed`: others than before.
  void in_force(const config::LoadResult& rules, bool changed, const engine::Graph& graph);

  /// From now on lists are read.
  void begin(runtime::Loop& loop, runtime::Spawner& spawner, Hooks hooks);
  /// Reads lists that the rules in force do not have, before those come into force that do: `done` is called when they
  /// were read, or it has taken too long. Whether there are such lists; if not, it is not called.
  [[nodiscard]] bool read_new(const std::vector<config::ListDeclaration>& lists, std::function<void()> done);
  /// These are the lists of the rules in force.
  void declare(const std::vector<config::ListDeclaration>& lists);

  /// A row is to be looked at, beside its runs: its list is read for that, if it must be. Answered by event::Measured,
  /// or by an event::RowsRead.
  void look(const engine::effect::Measure& measure, const engine::ServiceBlock& block);
  /// The look is not wanted any more.
  void cancel(engine::RunId run);

  /// Rows that are refused now, a sentence each.
  [[nodiscard]] std::vector<std::string> refused() const;
  /// Lists that cannot be read now, a sentence each.
  [[nodiscard]] std::vector<std::string> unread() const;
  /// What is known of each list, for a person.
  [[nodiscard]] std::string text() const;
  /// A person's word that a list is right. Returns what is wrong with that, or nothing.
  [[nodiscard]] std::optional<std::string> accept(std::string_view name, const std::string& by);
  /// Takes a row out that leaves, at once. False: no list has such a row.
  [[nodiscard]] bool forget(std::string_view row, const std::string& by);
  /// Some service has recovered: a row that is missing may be well now.
  void see();
  /// Whether that matters.
  [[nodiscard]] bool awaits_recovery() const;
  /// What is not healed, as the lists say.
  [[nodiscard]] engine::event::ListsDoubted doubted() const;

 private:
  using Memory = std::shared_ptr<const config::ListMemory>;
  /// Rows that do not compile with the rules and rows in force, by their names in lower case, and why.
  using Rejected = std::map<std::string, std::pair<config::ListRow, std::string>>;
  /// A reading whose rows were not in the rules before: they must compile first.
  struct Offered {
    config::ListReading reading;
    Memory memory;  ///< as it is when they have
    std::vector<config::ListRecord> records;
    bool compiling = false;
  };
  /// What a reading has found of rows, by their names in lower case, in their order.
  struct Found {
    std::vector<std::pair<std::string, std::shared_ptr<const engine::Evidence>>> rows;
    std::unordered_map<std::string, std::size_t> at;
    std::vector<std::string> filters;  ///< that were asked for

    [[nodiscard]] std::shared_ptr<const engine::Evidence> find(const std::string& row) const;
  };
  /// What is asked of the rows of a list.
  struct Needs {
    config::KeptOfRows kept;
    std::vector<std::string> filters;
  };
  /// What was read: the text of a command or a file, or rows.
  struct Read {
    Result<std::string> text = std::string();
    std::optional<Result<ListCalls::Rows>> rows{};
  };
  /// A look at a row that waits for a reading.
  struct Look {
    engine::ServiceId service;
    engine::RunId run;
    std::string row;  ///< in lower case
    Duration asked{0};
  };
  /// What a reading comes to, found out beside the loop.
  struct Judged {
    std::string failure{};  ///< why it is none; empty: it is one
    Offered offered{};
    std::shared_ptr<const Found> found{};
    bool same_rows = false;  ///< as are believed
    bool same = false;       ///< nothing else has changed either
  };
  struct One {
    Memory memory = std::make_shared<const config::ListMemory>();
    std::optional<Offered> offered;
    std::shared_ptr<const Rejected> rejected = std::make_shared<const Rejected>();
    std::map<std::string, std::string> left_out;      ///< rows that are known and not in the rules, and why
    std::optional<config::ListDeclaration> declared;  ///< none: the rules do not name it now
    std::optional<WallTime> read;                     ///< when, successfully
    runtime::Loop::Timer due;
    bool reading = false;
    bool counts = true;    ///< the reading under way; else it is for looks alone, and nothing is believed of it
    bool again = false;    ///< another one is wanted after it, for looks
    bool overdue = false;  ///< one that counts was put off: the next one does
    Duration began{0};     ///< mono: that reading, or the last
    config::ListSource source;
    std::vector<std::string> fields;   ///< that the rules name
    bool keeps_all = true;             ///< fields, whether they are named or not
    std::vector<std::string> filters;  ///< of all its rules
    std::optional<Needs> asked;        ///< what the reading under way was asked for
    std::unordered_map<std::string, std::vector<engine::ServiceId>> services;  ///< that judge its rows, by these
    std::vector<engine::ServiceId> fresh;                                      ///< that no reading was told yet
    std::shared_ptr<const Found> found;                                        ///< by the last reading
    Duration found_began{0};                                                   ///< mono: when that began
    std::vector<Look> looks;
    runtime::Loop::Timer look_due;
    bool look_planned = false;
    Hash128 key;          ///< config::key_of(source)
    bool judged = false;  ///< `rejected` is of the rules that come into force next
  };

  void load();
  void save();
  void read(const config::ListSource& source, bool counts);
  void read_http(const config::ListSource& source, bool counts);
  static void put_off(One& list, bool counts);
  /// Has something destroyed beside the loop: there may be very many rows.
  template <typename What>
  void let_go(What what) {
    auto shared = std::make_shared<What>(std::move(what));
    judge_->submit(
        [shared = std::move(shared)]() mutable -> runtime::Loop::Callback {
          shared.reset();
          return [] {};
        },
        [](const Error&) {});
  }
  void take(const config::ListSource& source, Read read);
  static Judged judge(const Memory& memory, const Rejected& rejected, Read read, const Needs& needs,
                      const std::set<std::string>& failed, const std::set<std::string>& in_repair,
                      runtime::JqHelper& helper);
  static Result<config::ListReading> reading_of(Read& read, const Needs& needs, runtime::JqHelper& helper,
                                                std::vector<std::vector<engine::ValueSeen>>& values);
  static std::shared_ptr<const Found> found_of(const config::ListReading& reading,
                                               std::vector<std::vector<engine::ValueSeen>> values, const Needs& needs,
                                               const config::ListMemory& memory);
  [[nodiscard]] static Needs needs_of(const One& list);
  void ask(ListCalls::Question question, std::function<void(Result<runtime::ListAnswer>)> done);
  void need(One& list, const config::ListDeclaration& declaration);
  void take_services(const engine::Graph& graph);
  void tell_rows(const config::ListSource& source, One& list, Judged& judged);
  void tell_some(const config::ListSource& source, const std::shared_ptr<const Found>& found, std::size_t from);
  void tell_fresh(const config::ListSource& source, One& list);
  void answer_looks(One& list, const Found* found, const std::string& failure);
  void read_for_looks(const config::ListSource& source, One& list);
  void offer(const config::ListSource& source, const Memory& before, Judged&& judged);
  void fail(One& list, const std::string& why);
  bool reject(const config::ListSource& source, One& list, const std::vector<config::RowLeftOut>& left_out);
  void end_reading();
  [[nodiscard]] std::set<std::string> failed(const config::ListSource& source, const One& list) const;
  void adopt(One& list, Memory memory, const std::vector<config::ListRecord>& records, bool is_new);
  template <typename Change>
  static bool change(Memory& memory, Change&& change);
  void saved(const Result<void>& done);
  [[nodiscard]] One* named(std::string_view name);

  std::string path_;
  std::map<config::ListSource, One> lists_;
  Hooks hooks_;
  runtime::Loop* loop_ = nullptr;
  std::unique_ptr<runtime::ListReader> reader_;
  std::unique_ptr<runtime::WorkerPool> saver_;
  std::unique_ptr<runtime::WorkerPool> judge_;  ///< one worker, which the helper is for
  std::shared_ptr<runtime::JqHelper> helper_;
  std::unique_ptr<ListCalls> calls_;
  std::set<config::ListSource> awaited_;  ///< lists that read_new() waits for
  std::function<void()> when_read_;
  runtime::Loop::Timer read_limit_;
  bool none_in_force_ = false;  ///< the rules have no rows of lists
  std::string unreadable_;
  std::string unsaved_;  ///< why they could not be remembered last; empty: they were
};

}  // namespace healer
