// SPDX-License-Identifier: MIT
// The lists of a daemon: read at their intervals, off the loop, remembered beside the state, and handed to whoever
// loads rules. On the loop thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "config/environments.hpp"
#include "config/expand.hpp"
#include "config/list_memory.hpp"
#include "engine/event.hpp"
#include "runtime/list_reader.hpp"
#include "runtime/loop.hpp"
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
  };

  /// Reads what is remembered in `path`; where that cannot be read nothing is.
  explicit DaemonLists(std::string path);

  /// The rows that rules are loaded with.
  [[nodiscard]] config::ListsEnvironment::Lists rows() const;

  /// From now on lists are read.
  void begin(runtime::Loop& loop, runtime::Spawner& spawner, Hooks hooks);
  /// These are the lists of the rules in force.
  void declare(const std::vector<config::ListDeclaration>& lists);

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
  struct One {
    config::ListMemory memory;
    std::optional<config::ListDeclaration> declared;  ///< none: the rules do not name it now
    std::optional<WallTime> read;                     ///< when, successfully
    runtime::Loop::Timer due;
    bool reading = false;
  };

  void load();
  void save();
  void read(const config::ListSource& source);
  void take(const config::ListSource& source, Result<std::string> text);
  [[nodiscard]] One* named(std::string_view name);

  std::string path_;
  std::map<config::ListSource, One> lists_;
  Hooks hooks_;
  runtime::Loop* loop_ = nullptr;
  std::unique_ptr<runtime::ListReader> reader_;
  std::unique_ptr<runtime::WorkerPool> saver_;
};

}  // namespace healer
