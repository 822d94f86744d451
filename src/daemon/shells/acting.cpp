// SPDX-License-Identifier: MIT
#include "daemon/shells/acting.hpp"

#include <unistd.h>

#include <optional>
#include <utility>
#include <variant>

#include <spdlog/fmt/fmt.h>

#include "daemon/secrets.hpp"
#include "engine/job.hpp"
#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/settings.hpp"
#include "engine/rules/unit.hpp"
#include "runtime/clock.hpp"
#include "util/text.hpp"

namespace healer {

using namespace engine;

namespace {

/// What the program of an action is run for.
runtime::ProgramUse use_of(const effect::Exec& exec, const Graph& graph) {
  using Use = runtime::ProgramUse;
  const auto id = graph.find(exec.cause->service);
  if (exec.job == JobId{} || !id) return {};
  const ServiceBlock& block = graph.at(*id);
  const auto until = [&](Bringing kind) {
    return runtime::now().mono + timeout_of(block, kind, graph.settings->limits);
  };
  const auto is = [&](const Rare<Command>& program) { return program && program->arguments == exec.command.arguments; };
  if (is(block.programs->start)) return {Use::Kind::Start, block.name, until(Bringing::Start)};
  if (is(block.programs->restart)) return {Use::Kind::Start, block.name, until(Bringing::Restart)};
  return {};
}

}  // namespace

Acting::Acting(Parts parts, Handle handle) : parts_(parts), handle_(std::move(handle)) {
  const auto told = [this](const Event& event) {
    const auto* const ended = std::get_if<event::ActionEnded>(&event);
    ended != nullptr ? action_ended(*ended) : handle_(event);
  };
  runtime::ActionRunner::Options options{.directory = parts_.paths.action_dir,
                                         .spare = parts_.paths.spare_action_dir,
                                         .groups = parts_.measuring.groups(),
                                         .exits = &parts_.measuring.exits()};
  actions_ = std::make_unique<runtime::ActionRunner>(parts_.loop, parts_.measuring.spawner(), std::move(options), told);
}

void Acting::start(const effect::Exec& effect) {
  if (auto order = unit_order(effect.command)) return parts_.measuring.units().start(effect.action, std::move(*order));
  const Identity& identity = *effect.command.identity;
  const bool of_job = effect.job != JobId{};
  const bool of_healing = effect.healing != HealingId{};
  if (effect.foreground) warn_if_never_ready(effect);
  std::vector<std::string> environment =
      effect.foreground ? actions::foreground_environment(parts_.base, identity, effect.cause->service,
                                                          receive_notices(), effect.action)
                        : actions::action_environment(parts_.base, identity, *effect.cause, runtime::local_civil,
                                                      of_job, effect.action);
  if (const auto service = parts_.engine.graph()->find(effect.cause->service)) {
    const ServiceBlock& block = parts_.engine.graph()->at(*service);
    if (effect.foreground && block.process->foreground)
      actions::add_watchdog(environment, block.process->foreground->watchdog);
    if (block.row) actions::add_row(environment, *block.row);
  }
  // Secrets are read where the program is started: their folder may be on a disk that does not answer.
  auto variables = [place = effect.place, folder = parts_.engine.graph()->settings->secrets] {
    return late_variables(*place, folder);
  };
  using Shown = runtime::ActionFiles::Shown;
  const bool given_secrets = effect.place != nullptr && effect.place->has_secrets();
  std::optional<runtime::ActionFiles::Purpose> purpose;
  if (of_job && !effect.foreground) {
    purpose = {.job = true,
               .program = runtime::ActionFiles::Purpose::name_of(effect.command.arguments),
               .rule = {},
               .service = effect.cause->service};
  } else if (!effect.foreground) {
    const auto origin = of_healing ? parts_.engine.healings().askers().context_of(effect.action) : std::nullopt;
    purpose = {.healing = effect.healing,
               .rule = effect.rule,
               .recovery = effect.recovery,
               .service = effect.cause->service,
               .target = origin ? origin->healing->target : std::string()};
  }
  actions_->start(
      {.action = effect.action,
       .command = effect.command,
       .environment = std::move(environment),
       .sets_home = !actions::writes_home(parts_.base),
       .foreground = effect.foreground,
       .service = effect.foreground ? effect.cause->service : std::string(),
       .purpose = std::move(purpose),
       .use = use_of(effect, *parts_.engine.graph()),
       .line = of_job || of_healing || effect.foreground ? std::string() : to_lower(effect.cause->service),
       .repeatable = of_job,
       .directory = effect.place == nullptr || effect.place->directory.empty() ? "/" : effect.place->directory,
       .grouped = of_job || of_healing || effect.foreground,
       .waited = of_healing,
       .output = parts_.engine.healings().askers().saves_secret(effect.action) ? Shown::Nothing
                 : given_secrets                                               ? Shown::Struck
                                                                               : Shown::All,
       .late = effect.place == nullptr ? decltype(runtime::ActionRequest::late)() : std::move(variables)});
}

/// What a step saves of the output of its program is told with its end.
void Acting::action_ended(const event::ActionEnded& ended) {
  std::vector<Saving> saves;
  if (ended.outcome == Outcome::Exited && ended.status == 0 && !ended.unseen)
    saves = parts_.engine.healing().savings_of(ended.action, runtime::now());
  if (saves.empty()) return handle_(ended);
  auto output = [files = actions_->files(), action = ended.action] { return files.kept(action); };
  caller().read(ended.action, std::move(output), std::move(saves), [this, ended](event::Answered answer) {
    event::ActionEnded whole = ended;
    whole.saved = std::move(answer.saved);
    handle_(whole);
  });
}

void Acting::end(effect::EndAction& effect) {
  if (!parts_.measuring.units().end(effect.action)) actions_->end(effect.action, std::move(effect.signals));
}

void Acting::watch(const effect::Watch& effect) { actions_->watch(effect.action, effect.every); }

void Acting::adopt(const effect::Adopt& effect) {
  if (effect.foreground) receive_notices();
  const RunningAction* const running = parts_.engine.programs().find(effect.action);
  if (running != nullptr)
    if (auto order = unit_order(running->exec.command))
      return parts_.measuring.units().adopt(effect.action, std::move(*order));
  const bool of_healing = running != nullptr && running->exec.healing != HealingId{};
  actions_->adopt(effect.action, effect.foreground, parts_.engine.graph()->settings->shadow, effect.owner,
                  of_healing ? runtime::ActionFiles::Shown::Nothing : runtime::ActionFiles::Shown::All,
                  running != nullptr ? use_of(running->exec, *parts_.engine.graph()) : runtime::ProgramUse{});
}

/// Listens to foreground processes that are ready, from the first on; where they say it, if that is possible.
std::string Acting::receive_notices() {
  if (ready_) return parts_.paths.notify;
  auto made = runtime::ReadySocket::open(parts_.loop, parts_.paths.notify,
                                         [this](const runtime::Notice& notice) { actions_->on_notice(notice); });
  if (!made) {
    parts_.log.write(Severity::Warning, runtime::now().wall, {},
                     fmt::format("programs cannot say that they are ready: {}", made.error().what));
    return {};
  }
  ready_ = std::move(*made);
  return parts_.paths.notify;
}

/// Where a start succeeds by the program's word alone, and its user cannot reach the socket: it would fail each time,
/// and nobody would know why.
void Acting::warn_if_never_ready(const effect::Exec& effect) {
  // By its name: a reload may have taken it away since it was decided to start it.
  const std::optional<ServiceId> service = parts_.engine.graph()->find(effect.cause->service);
  if (!service) return;
  const ServiceBlock& block = parts_.engine.graph()->at(*service);
  const auto& spec = block.process->foreground;
  const Identity& identity = *effect.command.identity;
  if (!spec || !spec->by_notice || !identity.uid) return;
  const std::string folder =
      runtime::closed_folder(parts_.paths.notify, *identity.uid, identity.gid.value_or(static_cast<gid_t>(getegid())));
  if (folder.empty()) return;
  parts_.log.write(
      Severity::Warning, runtime::now().wall, block.name,
      fmt::format("its program cannot say that it is ready: user {} may not enter {}, on the way to the socket {}; "
                  "let others enter it (chmod o+x), or put the pid file elsewhere (set pidfile)",
                  *identity.uid, folder, parts_.paths.notify));
}

}  // namespace healer
