// SPDX-License-Identifier: MIT
// The daemon's main: reads the command line, does what it asks for.
#include <unistd.h>

#include <exception>
#include <iostream>

#include "config/check.hpp"
#include "config/environments.hpp"
#include "daemon.hpp"
#include "identity.hpp"
#include "options.hpp"
#include "paths.hpp"
#include "rules_loader.hpp"
#include "runtime/host.hpp"

namespace {

using namespace healer;

bool wants_color(const Options& options) {
  const char* no_color = std::getenv("NO_COLOR");
  return !options.batch && isatty(STDERR_FILENO) != 0 && (no_color == nullptr || *no_color == '\0');
}

int print(const Result<std::string>& text, std::string_view before = {}) {
  if (!text) {
    std::cerr << "healerd: " << text.error().what << '\n';
    return 1;
  }
  std::cout << before << *text;
  return 0;
}

int test_rules(const Options& options) {
  const runtime::Host host;
  const config::OfflineEnvironment offline(host);
  const config::CheckOptions wanted{.load = {.monit_dialect = options.monit_dialect, .strict = options.strict},
                                    .verbose = options.verbose > 0,
                                    .color = wants_color(options)};
  const config::CheckOutcome outcome =
      options.offline ? config::check(options.config, wanted, offline) : config::check(options.config, wanted, host);
  std::cerr << outcome.err << std::flush;
  std::cout << outcome.out << std::flush;
  return outcome.status;
}

std::string id_file(const Options& options) { return paths_of(load_rules(options).result.named).id_file; }

int run(const Options& options) {
  switch (options.task) {
    case Options::Task::Version: std::cout << "healer " << HEALER_VERSION << '\n'; return 0;
    case Options::Task::Hash: return print(file_hashes(options.hash_file));
    case Options::Task::Test: return test_rules(options);
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
  try {
    const auto parsed = parse_options(argc, argv);
    if (const int* status = std::get_if<int>(&parsed)) return *status;
    return run(std::get<Options>(parsed));
  } catch (const std::exception& error) {
    std::cerr << "healerd: " << error.what() << '\n';
    return 1;
  }
}
