// SPDX-License-Identifier: MIT
#include "daemon/daemon.hpp"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <thread>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "control/changes.hpp"
#include "daemon/daemon_impl.hpp"
#include "daemon/identity.hpp"
#include "daemon/secrets.hpp"
#include "engine/job.hpp"
#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/settings.hpp"
#include "engine/rules/unit.hpp"
#include "engine/words/explain.hpp"
#include "runtime/host.hpp"
#include "util/text.hpp"

namespace healer {

using namespace engine;

namespace {

/// The changes, with `head` before the last line, which counts them.
std::string changes_line(std::string_view head, const control::ChangesView& changes) {
  std::string text = control::changes_text(changes);
  const std::size_t last = text.rfind('\n');
  text.insert(last == std::string::npos ? 0 : last + 1, head);
  return text;
}

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

constexpr std::size_t kMostSpare = 256;  // effects, of which the room is kept

}  // namespace

// ---- events and effects -------------------------------------------------------------------------------------------

void Daemon::handle(const Event& event) {
  const Instant now = runtime::now();
  const std::optional<Event> shown = engine_->healing().without_secrets(event);
  const bool woken = std::holds_alternative<event::Wake>(event);
  publisher_.publish(happening::Notified{
      .event = shown ? *shown : event, .due = woken ? engine_->next_deadline() : std::nullopt, .now = now});
  engine_->handle(event, now, *this);
  // Effects never call back into the engine: what they lead to comes as an event of its own, in a later turn.
  std::vector<Effect> effects = std::exchange(effects_, std::exchange(spare_, {}));
  for (Effect& effect : effects) {
    publisher_.publish(happening::Asked{.effect = effect, .now = now});
    std::visit([this](auto& known) { perform(known); }, effect);
  }
  if (effects.capacity() <= kMostSpare) {
    effects.clear();
    spare_ = std::move(effects);
  }
  if (!std::exchange(deadline_moves_, true)) loop_.at_end_of_turn([this] { set_deadline(); });
}

void Daemon::perform(effect::Measure& effect) {
  const auto& block = engine_->graph()->slots[effect.service.index()];
  if (effect.document != nullptr) return documents_->measure(effect, block);
  if (block->is_listed()) return lists_->look(effect, *block);
  measurer_->measure(effect, block);
}

void Daemon::perform(effect::CancelRun& effect) {
  documents_->cancel(effect.run);
  measurer_->cancel(effect.run);
  lists_->cancel(effect.run);
}

void Daemon::perform(effect::Exec& effect) {
  if (auto order = unit_order(effect.command)) return units_->start(effect.action, std::move(*order));
  const Identity& identity = *effect.command.identity;
  const bool of_job = effect.job != JobId{};
  const bool of_healing = effect.healing != HealingId{};
  if (effect.foreground) warn_if_never_ready(effect);
  std::vector<std::string> environment =
      effect.foreground
          ? actions::foreground_environment(base_, identity, effect.cause->service, receive_notices(), effect.action)
          : actions::action_environment(base_, identity, *effect.cause, runtime::local_civil, of_job, effect.action);
  if (const auto service = engine_->graph()->find(effect.cause->service); service && effect.foreground)
    if (const auto& spec = engine_->graph()->at(*service).process->foreground)
      actions::add_watchdog(environment, spec->watchdog);
  if (const auto service = engine_->graph()->find(effect.cause->service))
    if (const auto& row = engine_->graph()->at(*service).row) actions::add_row(environment, *row);
  // Secrets are read where the program is started: their folder may be on a disk that does not answer.
  auto variables = [place = effect.place, folder = engine_->graph()->settings->secrets] {
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
    const auto origin = of_healing ? engine_->healings().askers().context_of(effect.action) : std::nullopt;
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
       .foreground = effect.foreground,
       .service = effect.foreground ? effect.cause->service : std::string(),
       .purpose = std::move(purpose),
       .use = use_of(effect, *engine_->graph()),
       .line = of_job || of_healing || effect.foreground ? std::string() : to_lower(effect.cause->service),
       .repeatable = of_job,
       .directory = effect.place == nullptr || effect.place->directory.empty() ? "/" : effect.place->directory,
       .grouped = of_job || of_healing || effect.foreground,
       .waited = of_healing,
       .output = engine_->healings().askers().saves_secret(effect.action) ? Shown::Nothing
                 : given_secrets                                          ? Shown::Struck
                                                                          : Shown::All,
       .late = effect.place == nullptr ? decltype(runtime::ActionRequest::late)() : std::move(variables)});
}

/// What a step saves of the output of its program is told with its end.
void Daemon::action_ended(const event::ActionEnded& ended) {
  std::vector<Saving> saves;
  if (ended.outcome == Outcome::Exited && ended.status == 0 && !ended.unseen)
    saves = engine_->healing().savings_of(ended.action, runtime::now());
  if (saves.empty()) return handle(ended);
  auto output = [files = actions_->files(), action = ended.action] { return files.kept(action); };
  caller().read(ended.action, std::move(output), std::move(saves), [this, ended](event::Answered answer) {
    event::ActionEnded whole = ended;
    whole.saved = std::move(answer.saved);
    handle(whole);
  });
}

void Daemon::perform(effect::EndAction& effect) {
  if (!units_->end(effect.action)) actions_->end(effect.action, std::move(effect.signals));
}

void Daemon::perform(effect::Watch& effect) { actions_->watch(effect.action, effect.every); }

void Daemon::perform(effect::Signal& effect) { inspector_->signal(effect); }

void Daemon::perform(effect::Adopt& effect) {
  if (effect.foreground) receive_notices();
  const auto running = engine_->programs().all().find(effect.action.number());
  if (running != engine_->programs().all().end())
    if (auto order = unit_order(running->second.exec.command)) return units_->adopt(effect.action, std::move(*order));
  const bool of_healing = running != engine_->programs().all().end() && running->second.exec.healing != HealingId{};
  actions_->adopt(effect.action, effect.foreground, engine_->graph()->settings->shadow, effect.owner,
                  of_healing ? runtime::ActionFiles::Shown::Nothing : runtime::ActionFiles::Shown::All,
                  running != engine_->programs().all().end() ? use_of(running->second.exec, *engine_->graph())
                                                             : runtime::ProgramUse{});
}

/// Listens to foreground processes that are ready, from the first on; where they say it, if that is possible.
std::string Daemon::receive_notices() {
  if (ready_) return paths_.notify;
  auto made = runtime::ReadySocket::open(loop_, paths_.notify,
                                         [this](const runtime::Notice& notice) { actions_->on_notice(notice); });
  if (!made) {
    write_log(Severity::Warning, fmt::format("programs cannot say that they are ready: {}", made.error().what));
    return {};
  }
  ready_ = std::move(*made);
  return paths_.notify;
}

/// Where a start succeeds by the program's word alone, and its user cannot reach the socket: it would fail each time,
/// and nobody would know why.
void Daemon::warn_if_never_ready(const effect::Exec& effect) {
  // By its name: a reload may have taken it away since it was decided to start it.
  const std::optional<ServiceId> service = engine_->graph()->find(effect.cause->service);
  if (!service) return;
  const ServiceBlock& block = engine_->graph()->at(*service);
  const auto& spec = block.process->foreground;
  const Identity& identity = *effect.command.identity;
  if (!spec || !spec->by_notice || !identity.uid) return;
  const std::string folder =
      runtime::closed_folder(paths_.notify, *identity.uid, identity.gid.value_or(static_cast<gid_t>(getegid())));
  if (folder.empty()) return;
  log_.write(
      Severity::Warning, runtime::now().wall, block.name,
      fmt::format("its program cannot say that it is ready: user {} may not enter {}, on the way to the socket {}; "
                  "let others enter it (chmod o+x), or put the pid file elsewhere (set pidfile)",
                  *identity.uid, folder, paths_.notify));
}

void Daemon::perform(effect::Commit& effect) {
  journal_.submitted = effect.sequence;
  for (const ActionId action : effect.ended)
    if (actions_->has_record(action) || actions_->keeps_secrets(action))
      journal_.unsettled.emplace_back(effect.sequence, action);
  const bool recovers =
      std::ranges::find(effect.records, RecordKind::RuleRecovered, &Record::kind) != effect.records.end();
  if (recovers && lists_->awaits_recovery()) loop_.post([this] { lists_->see(); });
  store_->submit(std::move(effect));
  if (sick_) {
    loop_.post([this] {
      if (sick_) sick(std::string(*sick_));  // it may be well by now
    });
  }
}

void Daemon::perform(effect::Reply& effect) { commands_->reply(effect); }

void Daemon::committed(Sequence up_to) {
  if (!sick_) handle(event::Committed{.up_to = up_to});
  journal_.acknowledged = journal_.durable = up_to;
  std::vector<ActionId> settled;
  for (; !journal_.unsettled.empty() && journal_.unsettled.front().first <= up_to; journal_.unsettled.pop_front())
    settled.push_back(journal_.unsettled.front().second);
  actions_->settle(settled);
  publisher_.publish(happening::Settled{.up_to = up_to});
  end_if_done();
}

void Daemon::sick(const std::string& reason) {
  sick_ = reason;
  handle(event::Committed{.up_to = journal_.submitted, .unjournalled = true, .reason = reason});
  journal_.acknowledged = journal_.submitted;
  publisher_.publish(happening::Settled{.up_to = journal_.submitted});
  end_if_done();
}

/// Whatever the store has noted since.
void Daemon::log_notes() {
  const std::vector<std::string> notes = store_->notes();
  for (; logged_notes_ < notes.size(); ++logged_notes_) write_log(Severity::Warning, notes[logged_notes_]);
}

/// The engine must have started: else nobody would be sent what it tells.
void Daemon::report_damages() {
  const std::vector<std::string> damages = store_->damages();
  while (reported_damages_ < damages.size()) handle(event::StateDamaged{damages[reported_damages_++]});
}

// ---- reload -------------------------------------------------------------------------------------------------------

/// SIGHUP: as `reload`, and the log file is reopened (it may have been rotated).
void Daemon::hang_up() {
  log_.reopen();
  reload(false, {});
}

/// SIGUSR1, as Monit: everything is checked now. It does not count as a cycle.
void Daemon::wake_all() {
  handle(event::Command{.id = CommandId{0},
                        .kind = event::Command::Kind::Validate,
                        .services = engine_->graph()->order,
                        .by = ByPerson{.name = "SIGUSR1", .via = Via::Signal}});
}

void Daemon::reload(bool confirmed, Answer answer) {
  if (answer) (reloading_ ? next_reloads_ : reloads_).push_back(std::move(answer));
  if (std::exchange(reloading_, true)) {
    reload_again_ = true;
    next_confirmed_ = next_confirmed_ || confirmed;
    return;
  }
  confirmed_ = confirmed;
  notify_.reloading();
  lists_read_ = false;
  compile_rules();
}

/// Loads the rules files and tells what a reload would change. Nothing of it is kept. All who ask while it is found out
/// for another are answered together, by the next look.
void Daemon::diff(Answer answer) {
  diffs_.push_back(std::move(answer));
  if (!std::exchange(comparing_, true)) compare();
}

void Daemon::compare() {
  using Purpose = RulesCompiler::Purpose;
  auto answers = std::make_shared<const std::vector<Answer>>(std::exchange(diffs_, {}));
  RulesCompiler::Input input{.lists = lists_->rows()};
  compiler_->compile(
      options(), engine_->graph(), Purpose::Compare, std::move(input), [this, answers](RulesCompiler::Outcome found) {
        const auto outcome = std::make_shared<RulesCompiler::Outcome>(std::move(found));
        control::ReloadOutcome report{.ok = outcome->loaded.result.ok(),
                                      .text = outcome->loaded.messages(),
                                      .diagnostics = outcome->loaded.views(),
                                      .changes = std::move(outcome->changes)};
        loop_.post([this, answers, outcome, report = std::move(report)]() mutable {
          if (report.changes) {
            if (outcome->plan) report.changes->healings = engine_->healing().lost_to(*outcome->plan->graph);
            report.text +=
                report.changes->services.empty() && !report.changes->settings && report.changes->healings.empty()
                    ? "a reload would change nothing"
                    : changes_line("a reload would give: ", *report.changes);
          }
          for (const config::ListDeclaration& list : outcome->loaded.result.lists)
            if (!list.is_read)
              report.text += fmt::format(
                  "\nthe list {} was never read: a reload reads it first, and keeps what is known of its services",
                  list.name);
          if (outcome->plan) {
            const Vanished loss = vanished(*engine_, outcome->loaded.result, *outcome->plan);
            if (!loss.ended.empty())
              report.text +=
                  fmt::format("\nit would be refused: {}. To do it anyway: healerctl reload --confirm", loss.text());
          }
          compiler_->release(std::move(outcome));
          for (const Answer& answer : *answers) answer(report);
          comparing_ = !diffs_.empty();
          if (comparing_) compare();
        });
      });
}

/// The rules in force are not those on disk from now on, or still.
void Daemon::note_stale(const std::string& error) {
  stale_ = control::StaleView{.since = stale_ ? stale_->since : runtime::now().wall, .error = error};
}

/// What systemd shows of the daemon: "3 services, 1 failed".
std::string Daemon::unit_status() const {
  control::Totals totals;
  for (const ServiceId id : engine_->graph()->order) totals.add(to_string(condition_of(*engine_, id)));
  std::string text = fmt::format("{} service{}", totals.services, totals.services == 1 ? "" : "s");
  for (const auto& [count, word] : {std::pair(totals.failed, "failed"),
                                    {totals.given_up, "given up"},
                                    {totals.failing, "failing"},
                                    {totals.unknown, "unknown"},
                                    {totals.unmonitored, "not monitored"}})
    if (count != 0) text += fmt::format(", {} {}", count, word);
  if (stale_) text += fmt::format("; the rules on disk are not loaded: {}", stale_->error);
  return text;
}

/// Files that a running daemon keeps: says so, and returns what it said, a line each.
std::string Daemon::warn_of_restart(const Settings& settings) {
  const Paths now = paths_of(settings);
  std::string warnings;
  const auto compare = [&](std::string_view what, const std::string& old, const std::string& wanted,
                           std::string_view remedy = {}) {
    if (old == wanted || old == wanted + ".healer" || (old.empty() && what == "control socket")) return;
    const std::string text =
        fmt::format("the {} is {} until healerd is restarted, then {}{}", what, old, wanted, remedy);
    write_log(Severity::Warning, text);
    warnings += fmt::format("warning: {}\n", text);
  };
  const Graph& graph = *engine_->graph();
  const bool has_children = std::ranges::any_of(graph.order, [&](ServiceId id) { return graph.at(id).foreground(); });
  compare("pid file", paths_.pid_file, now.pid_file);
  compare(
      "state file", paths_.state_file, now.state_file,
      has_children
          ? ", which does not contain the running foreground processes: stop them before the restart, or they will be "
            "started a second time"
          : "");
  compare("control socket", paths_.socket, now.socket);
  compare("mail queue", paths_.mail_dir, now.mail_dir);
  return warnings;
}

/// What is said of rules that are new.
void Daemon::log_notes_of(const LoadedRules& loaded) {
  for (const std::string& note : loaded.notes()) write_log(Severity::Info, note);
}

/// Whether a reload waits for a person's word, since processes of healer's own would end by it. It is given by
/// `--confirm`, or by the same reload once more within the hour.
bool Daemon::held_back(const Vanished& loss) {
  constexpr Duration kRemembered = hours{1};
  const auto before = std::exchange(held_back_, std::nullopt);
  if (loss.ended.empty() || confirmed_) return false;
  const Duration now = runtime::now().mono;
  if (before && before->first == loss && now - before->second < kRemembered) return false;
  held_back_.emplace(loss, now);
  return true;
}

/// Makes what was loaded the rules in force. Returns what is to be said of it, a line each.
std::string Daemon::take_over(RulesCompiler::Outcome& outcome, const Vanished& loss) {
  stale_.reset();
  std::string text;
  const auto warn = [&](const std::string& what) {
    write_log(Severity::Warning, what);
    text += fmt::format("warning: {}\n", what);
  };
  if (!loss.patterns.empty()) warn(loss.text());
  std::shared_ptr<const Graph> before = engine_->graph();
  declare_lists(outcome.loaded);  // what is doubted of them is known before their services come
  recording_->observer().loaded_from(outcome.text);
  outcome.changes->healings = engine_->healing().lost_to(*outcome.plan->graph);
  handle(event::Swap{outcome.plan});
  for (const SlotChange& change : outcome.plan->changes)
    measurer_->forget(change.service, engine_->graph()->slots[change.service.index()].get());
  const Settings& settings = *engine_->graph()->settings;
  use(*engine_->graph());
  if (outcome.log_trouble.empty())
    configure_log(settings);
  else
    warn(fmt::format("{}; the log stays where it was", outcome.log_trouble));
  if (!outcome.plan->empty()) log_notes_of(outcome.loaded);
  text += warn_of_restart(settings);
  const auto was = std::exchange(in_force_, outcome.loaded.result.lists.empty() ? nullptr : outcome.text);
  if (was == nullptr || was->files != outcome.text->files) store_->save_sources(sources_of(*outcome.text));
  compiler_->release(was);
  lists_->in_force(outcome.loaded.result, !outcome.plan->empty(), *engine_->graph());
  compiler_->release(std::move(before));
  text += changes_line("rules reloaded: ", *outcome.changes);
  if (outcome.plan->empty()) write_log(Severity::Info, "rules reloaded: nothing has changed");
  return text;
}

void Daemon::reloaded(RulesCompiler::Outcome outcome) {
  bool good = outcome.plan != nullptr;
  // The rows of a new list are known when its rules come into force: their services may be there already.
  if (good && !stopping_ && !std::exchange(lists_read_, true) &&
      lists_->read_new(outcome.loaded.result.lists, [this] { compile_rules(); }))
    return;
  // Without the lines of the files: whoever may give commands need not be allowed to read passwords.
  std::string text = outcome.loaded.messages();
  if (good) {
    const Vanished loss = vanished(*engine_, outcome.loaded.result, *outcome.plan);
    if (held_back(loss)) {
      good = false;
      const std::string why = fmt::format(
          "nothing was reloaded: {}. To do it anyway: healerctl reload --confirm, or the same reload once more",
          loss.text());
      write_log(Severity::Warning, why);
      note_stale(why);
      text += why;
    } else if (!stopping_ && lists_->offered_compiled(outcome.loaded.result.rows_left_out)) {
      return compile_rules();
    } else {
      text += take_over(outcome, loss);
    }
  } else {
    note_stale(outcome.loaded.summary);
    handle(event::ReloadFailed{outcome.loaded.summary});
  }
  if (!good) lists_changed_ = lists_->keep_offered() || lists_changed_;
  status_->ready();
  reloading_ = false;
  const control::ReloadOutcome report{
      .ok = good, .text = text, .diagnostics = outcome.loaded.views(), .changes = std::move(outcome.changes)};
  for (Answer& answer : std::exchange(reloads_, std::exchange(next_reloads_, {}))) answer(report);
  next_reload();
}

/// What was asked for while a load was under way.
void Daemon::next_reload() {
  if (std::exchange(reload_again_, false)) return reload(std::exchange(next_confirmed_, false), {});
  if (lists_changed_) reload_lists();
}

namespace {

/// Whether the rules that were last good keep the daemon in the foreground (`set init`): in a container its going would
/// be the end of all.
bool stayed_in_foreground(const Options& options, const std::string& state_file) {
  auto reader = store::open_read_only(state_file);
  if (!reader) return false;
  auto sources = (*reader)->load_sources();
  if (!sources || sources->empty()) return false;
  const LoadedRules last_good = load_saved_rules(options, std::move(*sources));
  return last_good.result.ok() && last_good.result.rules->settings.foreground;
}

}  // namespace

int run_daemon(const Options& options) {
  LoadedRules loaded = load_rules(options);
  std::cerr << loaded.text(isatty(STDERR_FILENO) != 0 && !options.batch && std::getenv("NO_COLOR") == nullptr);
  Settings settings = loaded.result.ok() ? loaded.result.rules->settings : loaded.result.named;
  apply(options, settings);
  if (!loaded.result.ok() && !settings.foreground)
    settings.foreground = stayed_in_foreground(options, paths_of(settings).state_file);

  Result<Background> background = settings.foreground ? Background::foreground() : Background::enter();
  if (!background) {
    std::cerr << "healerd: " << background.error().what << '\n';
    return 1;
  }
  Daemon daemon(options, paths_of(settings), std::move(*background));
  if (auto started = daemon.start(std::move(loaded)); !started) {
    daemon.failed(started.error().what);
    return 1;
  }
  // The tree that the rules were made of is gone, and what it took of memory would stay with the daemon for good. Not
  // after a reload: the loop would wait meanwhile.
  malloc_trim(0);
  daemon.run();
  return 0;
}

}  // namespace healer
