// SPDX-License-Identifier: MIT
// What is believed of a list that is read again and again: which of its rows are in force. Pure: readings and failures
// go in, changes and words come out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "config/lists/list_rows.hpp"
#include "engine/events/event.hpp"
#include "util/time.hpp"

namespace healer::config {

/// What there is to say of a reading.
struct ListRecord {
  bool alerts = false;  ///< people are told, too
  std::string text;

  bool operator==(const ListRecord&) const = default;
};

class ListMemory {
 public:
  /// So many good readings without it a failed row must be missing from, before it leaves.
  static constexpr unsigned kMissesOfFailed = 3;
  /// So many good readings with equal names prove a list.
  static constexpr unsigned kReadingsThatProve = 3;

  /// All that is kept of it over a restart.
  struct Saved {
    std::vector<ListRow> rows;                ///< in force: those of the last good reading, then those that leave
    std::vector<std::string> names;           ///< of the last good reading, in lower case, in order
    std::map<std::string, unsigned> missing;  ///< rows in force, in lower case, by how many good readings they miss
    std::set<std::string> well{};             ///< of those, who were well since, or when they were missing first
    unsigned equal = 0;                       ///< good readings with equal names in a row
    bool proven = false;
    std::string failure;                      ///< why the last listing failed; empty: it did not
    std::map<std::string, WallTime> known{};  ///< rows in force, in lower case, by since when; the epoch: nobody knows

    bool operator==(const Saved&) const = default;
  };

  ListMemory() = default;
  explicit ListMemory(Saved saved) : saved_(std::move(saved)) {}

  /// Takes a reading that succeeded. Names of rows, in lower case: of which a service stands failed, and that are being
  /// healed, which do not leave before that has ended.
  std::vector<ListRecord> read(const ListReading& reading, const std::set<std::string>& failed,
                               const std::set<std::string>& in_repair, WallTime now = {});
  /// A look between two readings at the rows that are missing: who is well now began to fail, if ever, only after it
  /// was missing. Whether that is new of any.
  bool see(const std::set<std::string>& failed, const std::set<std::string>& in_repair);
  /// The listing failed: the last good one stays.
  std::vector<ListRecord> fail(std::string why);
  /// A person's word that the list is right.
  void accept() { saved_.proven = known(); }
  /// Takes a row out that leaves, at once. False: it does not leave.
  bool forget(std::string_view name);

  /// Whether there was a good reading.
  [[nodiscard]] bool known() const { return !saved_.names.empty(); }
  /// Whether its rows may be healed.
  [[nodiscard]] bool proven() const { return saved_.proven; }
  /// Rows in force, in lower case, that are missing and were well when they were missing for the first time, or since:
  /// if they fail now, that is because somebody took them away.
  [[nodiscard]] const std::set<std::string>& missing_well() const { return saved_.well; }
  /// Whether there are others that are missing: they have failed, or were being healed, all the time.
  [[nodiscard]] bool has_missing_ill() const { return saved_.well.size() < saved_.missing.size(); }
  /// Adds what of it is not healed: all, where it is not proven, and the rows that were well when they were missing.
  /// `variable`: by which rows know their list, which several lists may share: then all of these are doubted.
  void doubt(std::string_view variable, engine::event::ListsDoubted& doubted) const;
  /// Since when there is a row of that name, in lower case.
  [[nodiscard]] WallTime known_since(const std::string& name) const;
  /// Whether a row is in force, but was missing from the last good reading.
  [[nodiscard]] bool is_missing(std::string_view name) const;
  [[nodiscard]] const std::vector<ListRow>& rows() const { return saved_.rows; }
  /// What was said of the rows that the last reading had, and that are refused.
  [[nodiscard]] const std::set<std::string>& refused() const { return refused_; }
  [[nodiscard]] const Saved& saved() const { return saved_; }

 private:
  [[nodiscard]] bool differs_much(const std::vector<std::string>& names) const;
  void let_leave(const std::set<std::string>& failed, const std::set<std::string>& in_repair,
                 std::vector<ListRecord>& records);

  Saved saved_;
  std::set<std::string> refused_;  ///< what was said of rows at the last reading
};

}  // namespace healer::config
