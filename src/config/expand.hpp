// SPDX-License-Identifier: MIT
// `define` and `for each`: statements with names in them become statements without.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/diagnostic.hpp"
#include "config/environment.hpp"
#include "config/list_rows.hpp"
#include "config/source.hpp"
#include "config/syntax.hpp"
#include "engine/service.hpp"
#include "util/result.hpp"

namespace healer::config {

/// A list that is read where the rules are loaded, and again at its interval.
struct ListDeclaration {
  ListSource source;
  std::string name;  ///< "NODE", or where several have that name "NODE@FILE:LINE"
  Duration every{};
  SourceRange range;  ///< of the header
};

/// Rows of such a list as they are now. Nothing: it was not read, and is checked with a row that stands for any.
using ListRows = std::optional<std::vector<ListRow>>;

/// All rows and lists of a run; SourceRange::row is an index, from 1, into `rows`.
struct Expansion {
  std::vector<std::shared_ptr<engine::Row>> rows;
  std::vector<ListDeclaration> lists;
  std::size_t services = 0;
  bool is_full = false;  ///< there are more services than may be: it was told
  bool is_whole = true;  ///< false: there may be services that are not known, or not by their names
};

/// How the rows of a list are got; what is to be said of it goes into the Diagnostics.
using ReadList = std::function<ListRows(const ListDeclaration&, Diagnostics&)>;

/// Puts values in place of the names in a file, and services in place of its blocks, one for each row. Names hold from
/// where they are defined to the end of their block, or of the file: other files do not know them.
void expand(FileSyntax& syntax, const Sources& sources, const ReadList& read, Expansion& expansion, Diagnostics& said);

/// Names the lists that share a name by their places, too.
void name_lists(Expansion& expansion, const Sources& sources);

/// Messages about the rows of one block at one place become one, with a note that says which rows it is about.
void join_rows(Diagnostics& said, const Expansion& expansion);

}  // namespace healer::config
