// SPDX-License-Identifier: MIT
#include "daemon/shells/measuring.hpp"

#include <variant>

#include <spdlog/fmt/fmt.h>

#include "engine/rules/service.hpp"
#include "runtime/clock.hpp"
#include "runtime/process/own_programs.hpp"

namespace healer {

using namespace engine;

Measuring::Measuring(runtime::Loop& loop, runtime::Log& log, Machine machine, Calls calls)
    : loop_(loop), log_(log), calls_(std::move(calls)), groups_(std::move(machine.groups)) {
  auto programs = std::make_shared<runtime::OwnPrograms>(machine.check_mark);
  spawner_ = std::make_unique<runtime::Spawner>(
      loop_, runtime::Spawner::Options{.defaults = machine.defaults, .programs = programs});
  if (runtime::inherits_orphans()) reaper_ = std::make_unique<runtime::Reaper>(loop_, programs);
  const auto stale_check = [this](const std::string& service, pid_t pid) {
    log_.write(Severity::Info, runtime::now().wall, service,
               fmt::format("a check program left by the previous healerd is ended (pid {})", pid));
  };
  runs_ = std::make_unique<runtime::ProcessRunner>(
      loop_, *spawner_, runtime::ProcessRunner::Options{.mark = machine.check_mark, .stale_check = stale_check},
      [this](const Event& event) { calls_.handle(event); });
  const auto not_received = [this](const std::string& why) {
    log_.write(Severity::Debug, runtime::now().wall, {},
               fmt::format("the exit status of a process that is not healer's child may stay unknown: {}", why));
  };
  exits_ = std::make_unique<runtime::ExitStatusReader>(
      loop_, runtime::ExitStatusReader::Options{.not_received = not_received});
  connector_ = std::make_unique<runtime::Connector>(loop_);
  connections_ =
      std::make_unique<runtime::Reacher>(loop_, *connector_, [this](const Event& event) { calls_.handle(event); });
  inspector_ = std::make_unique<runtime::Inspector>(
      loop_, runtime::Inspector::Options{.groups = groups_, .exits = exits_.get(), .programs = programs},
      [this](const Event& event) {
        const auto* measured = std::get_if<engine::event::Measured>(&event);
        if (measured == nullptr || !connections_->checked(*measured)) calls_.handle(event);
      });
  documents_ = std::make_unique<runtime::DocumentReader>(loop_, "/proc/self/exe",
                                                         [this](const Event& event) { calls_.handle(event); });
  units_ = std::make_unique<runtime::Units>(
      loop_, runtime::SystemBus::Options{}, [this](const Event& event) { calls_.handle(event); },
      [this](bool is_well, const std::string& text) {
        log_.write(is_well ? Severity::Info : Severity::Warning, runtime::now().wall, {}, text);
      });
  measurer_ = std::make_unique<runtime::Measurer>(*runs_, *inspector_, *connections_, *units_, calls_.environment);
}

void Measuring::measure(const effect::Measure& effect, const std::shared_ptr<const ServiceBlock>& block) {
  if (effect.document != nullptr) return documents_->measure(effect, block);
  measurer_->measure(effect, block);
}

void Measuring::cancel(RunId run) {
  documents_->cancel(run);
  measurer_->cancel(run);
}

}  // namespace healer
