// SPDX-License-Identifier: MIT
#include "ctl/import.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <spdlog/fmt/fmt.h>
#include <nlohmann/json.hpp>

#include "config/check.hpp"
#include "config/text/import.hpp"
#include "control/diagnostic_json.hpp"
#include "runtime/files/write_file.hpp"
#include "runtime/host.hpp"
#include "util/text.hpp"

namespace healer {
namespace {

namespace fs = std::filesystem;
using control::Json;

constexpr mode_t kFolderMode = 0700;
constexpr mode_t kFileMode = 0600;

/// Writes the files into a directory that is there already, each at one stroke.
Result<void> write_into(const std::string& directory, const std::vector<config::ImportedFile>& files) {
  for (const config::ImportedFile& file : files) {
    const fs::path path = fs::path(directory) / file.path;
    if (mkdir(path.parent_path().c_str(), kFolderMode) != 0 && errno != EEXIST)
      return system_error(errno, fmt::format("cannot make {}", path.parent_path().string()));
    if (auto done = make_file(path.string(), file.text, kFileMode, true); !done) return done;
  }
  return {};
}

/// The version of the Monit of this machine, "6.0.0"; empty: there is none.
std::string installed_monit() {
  constexpr std::string_view kBefore = "version ";
  FILE* const pipe = popen("exec monit -V 2>/dev/null", "re");
  if (pipe == nullptr) return {};
  std::array<char, 256> line{};
  std::string text;
  while (std::fgets(line.data(), line.size(), pipe) != nullptr) text += line.data();
  pclose(pipe);
  const std::size_t at = text.find(kBefore);
  if (at == std::string::npos) return {};
  const std::string_view rest = std::string_view(text).substr(at + kBefore.size());
  return std::string(rest.substr(0, rest.find_first_not_of("0123456789.")));
}

bool is_empty(const std::string& directory) {
  std::error_code error;
  return fs::is_empty(directory, error) || error == std::errc::no_such_file_or_directory;
}

/// All of it, or nothing: a new directory is made beside the place and then put there.
Result<void> write_all(const ImportOptions& options, const std::vector<config::ImportedFile>& files) {
  const std::string& place = options.directory;
  struct stat facts {};
  const bool is_there = lstat(place.c_str(), &facts) == 0;
  if (is_there && !S_ISDIR(facts.st_mode)) return Error{ENOTDIR, fmt::format("{} is not a directory", place)};
  if (is_there && !is_empty(place)) {
    if (options.force) return write_into(place, files);
    return Error{EEXIST, fmt::format("{} is not empty: nothing was written", place)};
  }
  std::string fresh = place + ".new-XXXXXX";
  if (mkdtemp(fresh.data()) == nullptr) return system_error(errno, fmt::format("cannot make {}", place));
  Result<void> done = write_into(fresh, files);
  if (done && is_there &&
      (chown(fresh.c_str(), facts.st_uid, facts.st_gid) != 0 || chmod(fresh.c_str(), facts.st_mode & 07777) != 0))
    done = system_error(errno, fmt::format("cannot make {}", place));
  if (done && rename(fresh.c_str(), place.c_str()) != 0)
    done = system_error(errno, fmt::format("cannot make {}", place));
  std::error_code ignored;
  if (!done) fs::remove_all(fresh, ignored);
  return done;
}

/// Rules that were in the directory before, and are read with the imported ones.
void others(const std::string& directory, const config::Environment& machine, config::Import& import) {
  const auto found = machine.glob((fs::path(directory) / "*.rules").string());
  std::vector<std::string> places;
  for (const std::string& path : found ? *found : std::vector<std::string>{})
    if (std::ranges::find(import.files, fs::path(path).filename().string(), &config::ImportedFile::path) ==
        import.files.end())
      places.push_back(path);
  if (!places.empty())
    import.report.push_back({.topic = "others",
                             .text = "These were there already, and are read with them: see what `healerd -t` says.",
                             .places = std::move(places)});
}

int print_json(const ImportOptions& options, const config::Import& import, bool written, Output& output) {
  Json files = Json::array();
  for (const config::ImportedFile& file : import.files) files.push_back({{"from", file.from}, {"path", file.path}});
  Json errors = Json::array();
  for (const config::Diagnostic& one : import.source.diagnostics)
    if (one.severity == config::DiagnosticSeverity::Error)
      errors.push_back(diagnostic_json(one, import.source.sources));
  output.open_list({{"version", control::kWireVersion}, {"command", "import"}, {"directory", options.directory}},
                   "report");
  for (const config::ImportRemark& remark : import.report)
    output.item({{"topic", remark.topic}, {"text", remark.text}, {"places", remark.places}});
  output.close_list({{"written", written}, {"files", files}, {"errors", errors}});
  return output.finish(import.files.empty() ? kExitFailed : kExitDone);
}

}  // namespace

int import_tree(const ImportOptions& wanted, Output& output) {
  ImportOptions options = wanted;
  const runtime::Host host;
  std::error_code error;
  if (fs::is_directory(options.path, error)) options.path = (fs::path(options.path) / "monitrc").string();
  if (!options.directory.empty()) options.directory = fs::absolute(options.directory).lexically_normal().string();
  while (options.directory.size() > 1 && options.directory.ends_with('/')) options.directory.pop_back();
  config::Import import = config::import_rules(
      options.path, options.directory.empty() ? "/etc/healer/rules.d" : options.directory, host, installed_monit());
  if (import.files.empty()) {
    if (output.json() && !import.source.ok()) return print_json(options, import, false, output);
    if (!import.source.ok())
      std::fputs(config::format_all(import.source.diagnostics, import.source.sources, false).c_str(), stderr);
    return output.fail({"rules", fmt::format("nothing was written: {}", import.difference),
                        import.source.ok() ? "" : "`monit -t` and `healerd -t --offline` say what is wrong with them"});
  }
  bool written = false;
  if (!options.directory.empty()) {
    if (const Result<void> done = write_all(options, import.files); !done)
      return output.fail(
          {"write", done.error().what, done.error().code == EEXIST ? "choose another directory, or say --force" : ""});
    written = true;
    others(options.directory, host, import);
  }
  if (output.json()) return print_json(options, import, written, output);

  for (const config::ImportedFile& file : import.files)
    output.print(fmt::format("{}  from {}\n", printable(written ? options.directory + "/" + file.path : file.path),
                             printable(file.from)));
  output.print(written
                   ? "\nThey mean what Monit's files mean: both were compiled and compared.\n"
                   : "\nNothing was written: name a directory with -o. These would mean what Monit's files mean.\n");
  for (const config::ImportRemark& remark : import.report) {
    output.print("\n" + remark.text + "\n");
    for (const std::string& place : remark.places) output.print("  " + printable(place) + "\n");
  }
  return output.finish(kExitDone);
}

}  // namespace healer
