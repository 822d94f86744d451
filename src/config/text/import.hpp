// SPDX-License-Identifier: MIT
// `healerctl import`: a tree of Monit's files as a directory of healer's, with the same meaning, and a report in plain
// words of what healer does otherwise.
#pragma once

#include <string>
#include <vector>

#include "config/environment.hpp"
#include "config/load.hpp"
#include "util/result.hpp"

namespace healer::config {

/// A file to be written.
struct ImportedFile {
  std::string from;  ///< Monit's
  std::string path;  ///< below the directory
  std::string text;
};

/// One thing to know, with the places that it is about.
struct ImportRemark {
  std::string topic;  ///< a word that does not change: "left-out", "dormant", "not-yet", "counting", "restarts", ...
  std::string text;
  std::vector<std::string> places;  ///< "file:line: text"; may be empty
};

struct Import {
  LoadResult source;                ///< with what is to be said of Monit's files
  std::vector<ImportedFile> files;  ///< in the order of reading; empty where the source has errors
  std::vector<ImportRemark> report;
  std::string difference;  ///< empty: the files mean what Monit's do; else why they are not to be used
};

/// Reads what `path` names, the control file, through `environment`, and makes the files of `directory`, a whole path.
/// Includes become files of the directory that are read in the order of their names; where that would change the
/// meaning they stay includes, of files in a folder below.
/// `installed`: the version of the Monit of this machine ("6.0.0"); empty: there is none, or nobody knows. The files
/// say `set monit` with it, or with the first one that understands all of them where that is newer.
[[nodiscard]] Import import_rules(const std::string& path, const std::string& directory, const Environment& environment,
                                  const std::string& installed = {});

}  // namespace healer::config
