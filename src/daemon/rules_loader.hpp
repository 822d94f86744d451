// SPDX-License-Identifier: MIT
// Loading rules for the daemon: the files as they are, or, where they have errors at the start, as they were when they
// last had none. Works off the loop: nothing here knows the engine's state, only the graph to compare with.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "config/environments.hpp"
#include "config/load.hpp"
#include "control/wire.hpp"
#include "daemon/options.hpp"
#include "engine/reload/diff.hpp"
#include "replay/recorded.hpp"
#include "store/store.hpp"

namespace healer {

/// The outcome of one load.
struct LoadedRules {
  config::LoadResult result;
  std::string summary;  ///< the first error on one line; empty where there is none

  /// What there is to say, a line each, with place and remedy but without the lines of the files.
  [[nodiscard]] std::string messages() const;
  /// The same, one by one.
  [[nodiscard]] std::vector<control::DiagnosticView> views() const;
  /// What there is to say, as text for a terminal.
  [[nodiscard]] std::string text(bool color) const;
  /// What is to be said only where the rules are new, as messages().
  [[nodiscard]] std::vector<std::string> notes() const;
};

/// Loads what `options` name from the real machine, with the command line's word over the files', for a start: an
/// operator whom nobody knows is only warned of.
[[nodiscard]] LoadedRules load_rules(const Options& options, config::ListsEnvironment::Lists lists = {});

/// The same without the rows of their lists, for this reason: the last resort of a start.
[[nodiscard]] LoadedRules load_rules_without_lists(const Options& options, std::string why);
[[nodiscard]] LoadedRules load_saved_rules_without_lists(const Options& options,
                                                         std::vector<store::SavedSource> sources, std::string why);

/// Loads rules files that were saved.
[[nodiscard]] LoadedRules load_saved_rules(const Options& options, std::vector<store::SavedSource> sources,
                                           config::ListsEnvironment::Lists lists = {});

/// What a graph was made of: rules that differ from it by rows of lists alone need not all be compiled.
struct MadeOf {
  std::uint64_t generation = 0;  ///< of the graph; 0: of none
  std::shared_ptr<const engine::recorded::RulesText> text{};
  config::ListsEnvironment::Lists lists{};
};

/// The files of a good load, to be saved.
[[nodiscard]] std::vector<store::SavedSource> sources_of(const engine::recorded::RulesText& text);

/// A thread that loads rules, computes the difference, and frees old graphs.
class RulesCompiler {
 public:
  struct Outcome {
    LoadedRules loaded;
    std::shared_ptr<const engine::SwapPlan> plan{};             ///< null where the load failed
    std::optional<control::ChangesView> changes{};              ///< what the plan does; none where the load failed
    std::shared_ptr<const engine::recorded::RulesText> text{};  ///< for the recording; null where the load failed
    std::string log_trouble{};  ///< why the log that these rules name cannot be written; or empty
  };
  /// `done` is called on the compiler's thread.
  using Done = std::function<void(Outcome)>;

  RulesCompiler();
  ~RulesCompiler();
  RulesCompiler(const RulesCompiler&) = delete;
  RulesCompiler& operator=(const RulesCompiler&) = delete;

  enum class Purpose {
    Reload,   ///< the rules are to be taken over: whether their log can be written is tried, and makes it
    Compare,  ///< nothing is changed by it
  };

  /// What rules are loaded from.
  struct Input {
    std::function<config::ListsEnvironment::Lists()> lists;      ///< gives their rows, on the compiler's thread
    std::shared_ptr<const engine::recorded::RulesText> saved{};  ///< these files; null: those on disk
  };

  /// Loads the rules again and compares with `current`. Of files on disk each operator must be known.
  void compile(Options options, std::shared_ptr<const engine::Graph> current, Purpose purpose, Input input, Done done);
  /// Frees a graph, or what was loaded, here, where it takes no time from the loop.
  void release(std::shared_ptr<const void> graph);

 private:
  void work();
  void add(std::function<void()> job);

  MadeOf last_;  ///< the thread's: what was compiled last to be taken over
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> jobs_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace healer
