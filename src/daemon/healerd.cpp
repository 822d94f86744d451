// SPDX-License-Identifier: MIT
// The daemon's main: reads the command line, does what it asks for.
#include <malloc.h>

#include <exception>
#include <iostream>

#include "daemon/check_rules.hpp"
#include "daemon/daemon.hpp"
#include "daemon/identity.hpp"
#include "daemon/options.hpp"
#include "daemon/paths.hpp"
#include "daemon/rules_loader.hpp"
#include "runtime/jq_helper.hpp"
#include "runtime/programs/waiter.hpp"
#include "util/left_threads.hpp"

namespace {

using namespace healer;

int print(const Result<std::string>& text, std::string_view before = {}) {
  if (!text) {
    std::cerr << "healerd: " << text.error().what << '\n';
    return 1;
  }
  std::cout << before << *text;
  return 0;
}

std::string id_file(const Options& options) { return paths_of(load_rules(options).result.named).id_file; }

int run(const Options& options) {
  switch (options.task) {
    case Options::Task::Version: std::cout << "healer " << HEALER_VERSION << '\n'; return 0;
    case Options::Task::Hash: return print(file_hashes(options.hash_file));
    case Options::Task::Test: return check_rules(options);
    case Options::Task::Id: {
      const Result<std::string> id = instance_id(id_file(options));
      return id ? print(*id + "\n", "healer id: ") : print(id);
    }
    case Options::Task::ResetId: {
      const Result<std::string> id = reset_instance_id(id_file(options));
      return id ? print(*id + "\n", "new healer id: ") : print(id);
    }
    case Options::Task::Run: return run_daemon(options);
  }
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  // Large blocks go back to the system when they are freed. By default glibc keeps the room of all but the first, and
  // that of rules, with all that is made of their text, is far more than a daemon needs later. Nor does each thread
  // need room of its own.
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
  mallopt(M_TRIM_THRESHOLD, 4 << 20);
  mallopt(M_ARENA_MAX, 2);
  if (runtime::is_jq_helper(argc, argv)) return runtime::run_jq_helper();
  if (runtime::is_waiter(argc, argv)) return runtime::run_waiter();
  try {
    const auto parsed = parse_options(argc, argv);
    if (const int* status = std::get_if<int>(&parsed)) return *status;
    return end_process(run(std::get<Options>(parsed)));
  } catch (const std::exception& error) {
    std::cerr << "healerd: " << error.what() << '\n';
    return 1;
  }
}
