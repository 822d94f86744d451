// SPDX-License-Identifier: MIT
// `define` and `for each`: statements with names in them become statements without.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "config/diagnostic.hpp"
#include "config/environment.hpp"
#include "config/lists/list_rows.hpp"
#include "config/source.hpp"
#include "config/syntax/syntax.hpp"
#include "engine/rules/service.hpp"
#include "util/result.hpp"

namespace healer::config {

/// A list that is read where the rules are loaded, and again at its interval.
struct ListDeclaration {
  ListSource source;
  std::string name;  ///< "NODE", or where several have that name "NODE@FILE:LINE"
  Duration every{};
  SourceRange range;     ///< of the header
  bool is_read = false;  ///< its rows are known
  /// What the rules name of its rows: "ip", "spec.zone". Where rows are judged, or it is a list over HTTP, no other
  /// fields are kept of them.
  std::set<std::string> fields{};
  bool judges_rows = false;  ///< `check row` stands in its block

  [[nodiscard]] bool keeps_all_fields() const { return !judges_rows && !source.http; }
};

/// Rows of such a list as they are now. Nothing: it was not read, and is checked with a row that stands for any.
using ListRows = std::optional<std::vector<ListRow>>;

/// A row of such a list that is left out of the rules, and why.
struct RowLeftOut {
  ListSource source;
  std::string row;
  std::string why;

  bool operator==(const RowLeftOut&) const = default;
};

/// From where the values of a row of `for each` come: the innermost list from outside around it.
struct RowOrigin {
  static constexpr std::size_t kWritten = ~std::size_t{0};
  std::size_t list = kWritten;  ///< index into Expansion::lists
  std::string row;
  bool stands_in = false;  ///< for all rows of a list that was not read

  [[nodiscard]] bool is_known() const { return list != kWritten && !stands_in; }
};

/// All rows and lists of a run; SourceRange::row is an index, from 1, into `rows`.
struct Expansion {
  std::vector<std::shared_ptr<engine::Row>> rows;
  std::vector<RowOrigin> origins;  ///< of each of `rows`
  std::vector<ListDeclaration> lists;
  std::vector<RowLeftOut> left_out;
  /// Words with a value that is not known, since a row stands for any: file, offset and row. What is said of their
  /// values is not true of all rows.
  std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>> unknown_words;
  std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>> unknown_programs;  ///< commands that name one so
  std::size_t services = 0;
  bool is_full = false;      ///< there are more services than may be: it was told
  bool is_whole = true;      ///< false: there may be services that are not known, or not by their names
  bool groups_vary = false;  ///< a list says to which groups its services belong

  /// From where a row of SourceRange::row comes; one that is written where there is none.
  [[nodiscard]] RowOrigin origin(std::uint32_t row) const {
    return row == 0 || row > origins.size() ? RowOrigin{} : origins[row - 1];
  }
};

/// How the rows of a list are got; what is to be said of it goes into the Diagnostics.
using ReadList = std::function<ListRows(const ListDeclaration&, Diagnostics&)>;

/// Puts values in place of the names in a file, and services in place of its blocks, one for each row. Names hold from
/// where they are defined to the end of their block, or of the file: other files do not know them.
void expand(FileSyntax& syntax, const Sources& sources, const ReadList& read, Expansion& expansion,
            Diagnostics& diagnostics);

/// Names the lists that share a name by their places, too.
void name_lists(Expansion& expansion, const Sources& sources);

/// Takes out what is said of values that are not known.
void drop_unknown(Diagnostics& diagnostics, const Expansion& expansion);

/// Messages about the rows of one block at one place become one, with a note that says which rows it is about.
void join_rows(Diagnostics& diagnostics, const Expansion& expansion);

}  // namespace healer::config
