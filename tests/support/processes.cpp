// SPDX-License-Identifier: MIT
#include "support/processes.hpp"

namespace healer::test {

bool run_until(runtime::Loop& loop, const std::function<bool()>& done, Duration limit) {
  const Duration end = runtime::mono_now() + limit;
  bool reached = false;
  runtime::Loop::Timer timer;
  timer = loop.timer([&] {
    reached = done();
    if (reached || runtime::mono_now() >= end) return loop.stop();
    timer.set_deadline(runtime::mono_now() + Duration{2});
  });
  timer.set_deadline(Duration{0});
  loop.run();
  return reached;
}

void run_for(runtime::Loop& loop, Duration time) {
  const Duration end = runtime::mono_now() + time;
  run_until(loop, [end] { return runtime::mono_now() >= end; });
}

bool begins_in_time(Duration shortest, const std::function<bool(Duration)>& begins) {
  for (const int times : {1, 5, 25})
    if (begins(times * shortest)) return true;
  return false;
}

std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

std::string own_mark(const std::string& name) { return "HEALER_TEST=" + name + '-' + std::to_string(::getpid()); }

std::vector<pid_t> processes_with(const std::string& variable) {
  std::vector<pid_t> found;
  DIR* directory = ::opendir("/proc");
  while (const dirent* entry = ::readdir(directory)) {
    const std::string name = entry->d_name;
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream file("/proc/" + name + "/environ");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    if (("\0" + text).find(variable + '\0') != std::string::npos) found.push_back(std::stoi(name));
  }
  ::closedir(directory);
  return found;
}

bool has_children() {
  siginfo_t info{};
  return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

std::string write_with_mode(const std::filesystem::path& path, const std::string& text, unsigned mode) {
  std::ofstream(path) << text;
  std::filesystem::permissions(path, std::filesystem::perms(mode));
  return path.string();
}

void open_to_all(const TemporaryDirectory& directory) {
  std::filesystem::permissions(directory.path(), std::filesystem::perms(0755));
}

}  // namespace healer::test
