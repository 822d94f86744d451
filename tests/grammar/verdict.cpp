// SPDX-License-Identifier: MIT
// verdict [--dialect monit|monit-5.34|monit-5.33] FILE...: what a daemon's `-t` would say of each file, as "ok" or
// "reject MESSAGE", a line each. One process for thousands of files, for monit_diff.py. Users, groups and programs are
// looked up on this machine.
#include <cstdio>
#include <string>
#include <string_view>

#include "config/load.hpp"
#include "machine.hpp"

namespace config = healer::config;

int main(int argc, char** argv) {
  const healer::test::Machine machine;
  config::LoadOptions options;
  int first = 1;
  if (argc > 2 && std::string_view(argv[1]) == "--dialect") {
    const std::string_view dialect = argv[2];
    options.monit_dialect =
        dialect == "monit" ? healer::MonitVersion::V6 : healer::monit_version(dialect.substr(dialect.find('-') + 1));
    first = 3;
  }
  for (int i = first; i < argc; ++i) {
    const auto loaded = config::load(argv[i], options, machine);
    if (loaded.ok()) {
      std::puts("ok");
      continue;
    }
    std::string why;
    for (const auto& one : loaded.diagnostics)
      if (one.severity == config::DiagnosticSeverity::Error && why.empty()) why = one.message;
    std::printf("reject %s\n", why.c_str());
    std::fflush(stdout);
  }
  return 0;
}
