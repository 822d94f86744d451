// SPDX-License-Identifier: MIT
// The lists of a simulation: what they say a script says; what is believed of it the memory of lists decides, as in a
// daemon.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "config/environments.hpp"
#include "config/lists/list_memory.hpp"
#include "config/load.hpp"
#include "config/passes/expand.hpp"
#include "simulation/list_keeper.hpp"
#include "util/result.hpp"

namespace healer::config {

class ScriptedLists final : public engine::ListKeeper {
 public:
  /// One that a script says something of, at the beginning or later.
  struct Statement {
    std::string list;  ///< as a person names it
    enum class What : std::uint8_t { Says, Gains, Loses, Fails } what = What::Says;
    ListReading reading{};
  };
  /// Loads the rules with these rows.
  using Load = std::function<LoadResult(ListsEnvironment::Lists)>;

  /// `begin`: the rows of lists at the beginning, which are believed; the others were not read yet. `statements`: by
  /// their numbers.
  ScriptedLists(const std::vector<ListDeclaration>& declared, const ListsEnvironment::Lists& begin,
                std::vector<Statement> statements, Load load);

  [[nodiscard]] std::vector<Interval> lists() const override;
  void change(std::size_t statement) override;
  Changes read(std::size_t list, const std::set<std::string>& failed, const std::set<std::string>& in_repair,
               WallTime now) override;
  [[nodiscard]] std::optional<WallTime> has_row(std::size_t list, std::string_view row) const override;
  bool see(std::size_t list, const std::set<std::string>& failed, const std::set<std::string>& in_repair) override;
  Changes accept(std::string_view list) override;
  Changes forget(std::string_view row) override;
  [[nodiscard]] engine::event::ListsDoubted doubted() const override;

 private:
  struct One {
    ListDeclaration declared;
    ListMemory memory{};
    ListReading says{};
    std::string fails{};  // why it cannot be read; empty: it can
  };
  void load_again(Changes& changes);

  std::vector<One> lists_;
  std::vector<Statement> statements_;
  Load load_;
  std::set<std::string> reported_;  // of rows that do not compile
};

}  // namespace healer::config
