// SPDX-License-Identifier: MIT
#include "config/environments.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

namespace healer::config {

// ---- offline ------------------------------------------------------------------------------------------------------

Result<std::string> OfflineEnvironment::read(const std::string& path) const { return machine_.read(path); }
Result<FileFacts> OfflineEnvironment::stat(const std::string& path) const { return machine_.stat(path); }
Result<std::vector<std::string>> OfflineEnvironment::glob(const std::string& pattern) const {
  return machine_.glob(pattern);
}
std::string OfflineEnvironment::canonical(const std::string& path) const { return machine_.canonical(path); }

// ---- a new file ---------------------------------------------------------------------------------------------------

Result<std::string> NewFileEnvironment::read(const std::string& path) const {
  if (is_given(path)) return *file_.text;
  return machine_.read(path == file_.replaces ? file_.path : path);
}

Result<FileFacts> NewFileEnvironment::stat(const std::string& path) const {
  if (is_given(path)) return FileFacts{.is_regular = true, .mode = 0600U, .uid = machine_.effective_uid()};
  return machine_.stat(path);
}

Result<std::vector<std::string>> NewFileEnvironment::glob(const std::string& pattern) const {
  Result<std::vector<std::string>> found = machine_.glob(pattern);
  if (!found) return found;
  std::vector<std::string> files = std::move(*found);
  const auto place = std::ranges::find(files, file_.replaces);
  if (place != files.end()) {
    *place = file_.path;
  } else if (file_.replaces.empty() && pattern == (std::filesystem::path(file_.directory) / "*.rules").string()) {
    const auto name = [](const std::string& path) { return std::filesystem::path(path).filename().string(); };
    files.insert(std::ranges::lower_bound(files, name(file_.path), {}, name), file_.path);
  }
  return files;
}

std::string NewFileEnvironment::canonical(const std::string& path) const {
  return is_given(path) ? path : machine_.canonical(path);
}

// ---- saved --------------------------------------------------------------------------------------------------------

SavedEnvironment::SavedEnvironment(std::vector<Source> files, const Environment& machine)
    : files_(std::move(files)), machine_(machine) {}

const Source* SavedEnvironment::find(const std::string& path) const {
  const auto found = std::ranges::find(files_, path, &Source::path);
  return found == files_.end() ? nullptr : &*found;
}

bool SavedEnvironment::is_directory(const std::string& path) const {
  const std::string prefix = path.ends_with('/') ? path : path + '/';
  return std::ranges::any_of(files_, [&](const Source& file) { return file.path.starts_with(prefix); });
}

Result<std::string> SavedEnvironment::read(const std::string& path) const {
  const Source* file = find(path);
  if (file == nullptr) return system_error(ENOENT, path);
  return file->text;
}

Result<FileFacts> SavedEnvironment::stat(const std::string& path) const {
  const bool directory = is_directory(path);
  if (!directory && find(path) == nullptr) return system_error(ENOENT, path);
  return FileFacts{.is_directory = directory,
                   .is_regular = !directory,
                   .mode = directory ? 0700U : 0600U,
                   .uid = machine_.effective_uid(),
                   .gid = 0};
}

Result<std::vector<std::string>> SavedEnvironment::glob(const std::string& pattern) const {
  std::vector<std::string> matches;
  for (const Source& file : files_)
    if (fnmatch(pattern.c_str(), file.path.c_str(), FNM_PATHNAME | FNM_PERIOD) == 0) matches.push_back(file.path);
  std::ranges::sort(matches);
  matches.erase(std::unique(matches.begin(), matches.end()), matches.end());
  return matches;
}

}  // namespace healer::config
