// SPDX-License-Identifier: MIT
#include "daemon/places/beside_monit.hpp"

#include <utility>

#include <spdlog/fmt/fmt.h>

#include "runtime/clock.hpp"
#include "runtime/files/pid_file.hpp"

namespace healer {

using engine::Severity;

void BesideMonit::begin(pid_t monit, std::string& pid_file) {
  monits_ = pid_file;
  pid_file += ".healer";
  calls_.log(
      Severity::Warning,
      fmt::format("monit runs with process number {} and the same pid file: healer only watches until it has ended",
                  monit));
  watch_ = loop_.timer([this] {
    if (runtime::running_by_pid_file(monits_, "monit")) {
      watch_.set_deadline(runtime::now().mono + seconds{2});
      return;
    }
    reload_acting();
  });
  watch_.set_deadline(runtime::now().mono + seconds{2});
}

/// Monit has ended: the rules are loaded again, to be acted on. Where that fails healer goes on watching, and tries
/// again.
void BesideMonit::reload_acting() {
  const std::string pid_file = std::exchange(monits_, {});
  calls_.reload([this, pid_file](const control::ReloadOutcome& outcome) {
    if (outcome.ok) {
      calls_.log(Severity::Info, "monit has ended: healer acts from now on");
      return;
    }
    calls_.log(Severity::Error, "monit has ended, but the rules have errors: healer only watches until they are fixed");
    monits_ = pid_file;
    watch_.set_deadline(runtime::now().mono + seconds{30});
  });
}

}  // namespace healer
