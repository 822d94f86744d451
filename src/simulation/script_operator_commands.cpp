// SPDX-License-Identifier: MIT
// What people and other hands do, in a script: `at TIME ...`.
#include <algorithm>
#include <array>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/healing/named.hpp"
#include "engine/rules/service.hpp"
#include "simulation/script_reader.hpp"
#include "util/jq.hpp"
#include "util/text.hpp"

namespace healer::engine {
namespace {

using CommandKind = ScriptedCommand::Kind;

constexpr Duration kReboot = minutes{1};

/// Whether a script can let what looks at a service fail.
bool can_fail(const ServiceBlock& block) {
  return block.is_run() || block.is_listed() || block.is_unit() || !block.probes.empty();
}

bool is_crash(CommandKind kind) { return kind == CommandKind::Crash || kind == CommandKind::Reboot; }
bool is_of_healing(CommandKind kind) {
  return kind == CommandKind::Heal || kind == CommandKind::Approve || kind == CommandKind::Reject ||
         kind == CommandKind::Cancel || kind == CommandKind::ResetHealing;
}

}  // namespace

void ScriptReader::command() {
  constexpr std::string_view kForm = "at 00:05:00 unmonitor NAME";
  static constexpr std::array<std::pair<std::string_view, CommandKind>, 19> kCommands{
      {{"monitor", CommandKind::Monitor},
       {"unmonitor", CommandKind::Unmonitor},
       {"validate", CommandKind::Validate},
       {"accept", CommandKind::Accept},
       {"start", CommandKind::Start},
       {"stop", CommandKind::Stop},
       {"restart", CommandKind::Restart},
       {"pause", CommandKind::Pause},
       {"resume", CommandKind::Resume},
       {"ack", CommandKind::Acknowledge},
       {"heal", CommandKind::Heal},
       {"approve", CommandKind::Approve},
       {"reject", CommandKind::Reject},
       {"cancel", CommandKind::Cancel},
       {"healing", CommandKind::ResetHealing},
       {"crash", CommandKind::Crash},
       {"reboot", CommandKind::Reboot},
       {"beat", CommandKind::Beat},
       {"event", CommandKind::Occurs}}};
  ScriptedCommand command;
  command.at = offset(kForm);
  if (list_command(command) || another_hand(command)) return;
  const Word word = want_word("the command", kForm);
  const auto found = std::ranges::find_if(kCommands, [&](const auto& known) { return iequals(known.first, word.raw); });
  if (iequals(word.raw, "set")) {
    clock(command);
  } else if (found == kCommands.end() && more() && is_known(word)) {
    static constexpr std::array<std::string_view, 5> kHappens{"fails", "recovers", "dies", "hangs", "comes"};
    const std::string_view near = nearest_word(to_lower(words_[next_].raw), kHappens);
    fail(here(), fmt::format("'{}' cannot happen to '{}'", printable(words_[next_].raw), printable(word.raw)),
         near.empty() ? "write fails, recovers, dies, hangs or comes up" : did_you_mean(near));
  } else if (found == kCommands.end()) {
    std::vector<std::string_view> known{"set", "list", "forget"};
    for (const auto& [name, kind] : kCommands) known.push_back(name);
    const std::string_view near = nearest_word(word.raw, known);
    fail(
        word.offset, fmt::format("'{}' is not a command", printable(word.raw)),
        near.empty()
            ? "the commands are monitor, unmonitor, validate, accept, start, stop, restart, pause, resume, ack, "
              "heal, approve, reject, cancel, healing reset, list, accept list, forget, beat, event, crash, reboot and "
              "set clock; a process dies, hangs or "
              "comes up, and a service fails, or recovers"
            : did_you_mean(near));
  } else if (command.kind = found->second; is_crash(command.kind)) {
    if (command.kind == CommandKind::Reboot) command.span = kReboot;
    if (take("for")) command.span = duration("at 1 hour crash for 10 seconds");
  } else if (is_of_healing(command.kind)) {
    healing_command(command);
  } else if (command.kind == CommandKind::Beat) {
    beat(command);
  } else if (command.kind == CommandKind::Occurs) {
    occurs(command);
  } else {
    services_of(command);
    if (take("for"))
      command.span = duration(command.kind == CommandKind::Pause ? "at 1 hour pause NAME for 2 hours"
                                                                 : "at 1 hour unmonitor NAME for 2 hours");
  }
  want_end();
  script_.commands.push_back(std::move(command));
}

/// Whether it is the name of a service, or of a target.
bool ScriptReader::is_known(const Word& word) {
  const std::string name = to_lower(text_of(word));
  return blocks_.contains(name) || targets_.contains(name);
}

/// Names, `all`, `group NAME`.
void ScriptReader::services_of(ScriptedCommand& command) {
  const auto ends = [&] {
    return !more() || ((command.kind == CommandKind::Pause || command.kind == CommandKind::Unmonitor) && see("for"));
  };
  if (ends()) fail(here(), "the name of a service is missing", "write names, or all");
  while (!ends()) {
    const Word name = words_[next_++];
    if (iequals(name.raw, "group") && more() && !blocks_.contains("group")) {
      const Word& group = words_[next_++];
      const std::vector<std::string_view> known(groups_.begin(), groups_.end());
      command.groups.push_back(one_of(group, group.raw, known, "group"));
      for (const auto& [own, block] : blocks_)
        if (std::ranges::any_of(block->groups, [&](const auto& one) { return iequals(one, command.groups.back()); }))
          command.services.push_back(own);
    } else if (!iequals(name.raw, "all")) {
      command.services.push_back(service_name(name, name.raw));
    } else {
      name_all(command);
    }
  }
}

/// beat NAME [start | fail | exit STATUS] ["TEXT"]
void ScriptReader::beat(ScriptedCommand& command) {
  constexpr std::string_view kForm = "at 5 minutes beat NAME exit 3 \"no space left\"";
  constexpr std::int64_t kMostStatus = 255;
  const Word name = want_word("the name of the heartbeat", kForm);
  if (failed_) return;
  command.services.push_back(service_name(name, name.raw));
  if (failed_) return;
  if (!blocks_.at(command.services.front())->is_heartbeat())
    return fail(name.offset, fmt::format("'{}' is not a heartbeat", printable(name.raw)),
                "it begins with 'check heartbeat'");
  if (take("start"))
    command.word = BeatWord::Start;
  else if (take("fail"))
    command.word = BeatWord::Fail;
  else if (take("exit")) {
    command.word = BeatWord::Exit;
    command.status = number("the exit status", 0, kMostStatus, kForm);
  }
  if (more() && words_[next_].quoted()) command.text = text_of(words_[next_++]);
}

/// event NAME "DOCUMENT" [key "K"] [state "S"]
void ScriptReader::occurs(ScriptedCommand& command) {
  constexpr std::string_view kForm = "at 5 minutes event NAME '{\"current\": \"alarm\"}' key \"a1\" state \"alarm\"";
  const Word name = want_word("the name of the check", kForm);
  if (failed_) return;
  command.services.push_back(service_name(name, name.raw));
  if (failed_) return;
  const ServiceBlock& block = *blocks_.at(command.services.front());
  if (!block.is_event())
    return fail(name.offset, fmt::format("'{}' is no check of events", printable(name.raw)),
                "it begins with 'check event'");
  const Word document = want_word("the event's document in quotes", kForm);
  if (failed_) return;
  command.text = text_of(document);
  if (!value_in(command.text, "objects"))
    return fail(document.offset, "this is not a JSON object", fmt::format("write it as in: {}", kForm));
  const auto found = [&](const std::string& filter) {
    return filter.empty() ? std::string() : json_text(value_in(command.text, filter).value_or("\"\""));
  };
  command.key = found(block.other->event.key);
  command.state = found(block.other->event.state);
  if (take("key")) command.key = text_of(want_word("the event's key in quotes", kForm));
  if (take("state")) command.state = text_of(want_word("the event's state in quotes", kForm));
}

/// heal NAME [with W] [override limit, ...], approve NAME, reject NAME, cancel NAME, healing reset W
void ScriptReader::healing_command(ScriptedCommand& command) {
  constexpr std::string_view kForm = "at 5 minutes heal NAME with WORKFLOW override limit, cooldown, pause";
  if (command.kind == CommandKind::ResetHealing) {
    constexpr std::string_view kReset = "at 5 minutes healing reset WORKFLOW";
    want("reset", kReset);
    const Word name = want_word("the name of the workflow", kReset);
    if (const auto plan = workflow_of(name)) command.workflow = plan->name;
    return;
  }
  const Word name = want_word("the target of the healing", "at 5 minutes approve NAME");
  if (failed_) return;
  const std::string whom = to_lower(text_of(name));
  const auto service = blocks_.find(whom);
  if (command.kind != CommandKind::Heal) {
    const bool is_service = service != blocks_.end() && !targets_.contains(whom);
    command.target = is_service ? to_lower(service->second->target()) : target_of(name);
    return;
  }
  std::vector<const ServiceBlock*> all;
  all.reserve(blocks_.size());
  for (const auto& [own, block] : blocks_) all.push_back(block);
  if (const ServiceBlock* const block = block_to_heal(all, whom, see("with"))) {
    command.services = {to_lower(block->name)};
  } else {
    const std::string target = target_of(name);
    if (!failed_) fail(name.offset, fmt::format("no service has the target '{}'", printable(target)), "name a service");
  }
  if (take("with")) {
    const Word workflow = want_word("the name of the workflow", kForm);
    if (const auto plan = workflow_of(workflow)) command.workflow = plan->name;
  }
  if (!take("override")) return;
  if (!more()) fail(here(), "the brake to override is missing", fmt::format("write {}", kForm));
  while (more()) {
    bool* const which = see("limit") || see("limit,")         ? &command.overrides.limit
                        : see("cooldown") || see("cooldown,") ? &command.overrides.cooldown
                        : see("pause") || see("pause,")       ? &command.overrides.pause
                                                              : nullptr;
    if (which == nullptr)
      return fail(here(), fmt::format("'{}' cannot be overridden", printable(words_[next_].raw)),
                  "write limit, cooldown or pause");
    *which = true;
    ++next_;
  }
}

void ScriptReader::name_all(ScriptedCommand& command) const {
  command.services.clear();
  command.everything = true;
  for (const auto& [name, block] : blocks_) command.services.push_back(name);
}

/// NAME dies, NAME hangs, NAME comes up, NAME fails, NAME recovers: whether that is the command. What can be a command
/// to healer is one.
bool ScriptReader::another_hand(ScriptedCommand& command) {
  static constexpr std::array<std::pair<std::string_view, CommandKind>, 5> kHands{
      {{"dies", CommandKind::Dies},
       {"hangs", CommandKind::Hangs},
       {"comes", CommandKind::ComesUp},
       {"fails", CommandKind::Fails},
       {"recovers", CommandKind::Recovers}}};
  const Word name = more() ? words_[next_] : Word{};
  const std::string_view verb = next_ + 1 < words_.size() ? words_[next_ + 1].raw : std::string_view{};
  const auto found = std::ranges::find_if(kHands, [&](const auto& hand) { return iequals(hand.first, verb); });
  if (found == kHands.end() || (blocks_.contains(to_lower(verb)) && !blocks_.contains(to_lower(name.raw))))
    return false;
  next_ += 2;
  command.kind = found->second;
  const std::string whom = to_lower(text_of(name));
  const bool is_checked = command.kind == CommandKind::Fails || command.kind == CommandKind::Recovers;
  // A composite is named like what it is made of.
  const auto named = blocks_.find(whom);
  if (is_checked && targets_.contains(whom) && (named == blocks_.end() || named->second->has_members())) {
    for (const auto& [own, block] : blocks_)
      if (to_lower(block->target()) == whom && can_fail(*block)) command.services.push_back(own);
  } else {
    command.services.push_back(service_name(name, name.raw));
  }
  if (failed_) return true;
  if (is_checked && (command.services.empty() || !can_fail(*blocks_.at(command.services.front()))))
    fail(name.offset, fmt::format("no check of '{}' can fail like this", printable(whom)),
         "only programs and connections do; write what is measured, or that a process dies");
  else if (!is_checked && !blocks_.at(command.services.front())->has_process())
    fail(name.offset, fmt::format("'{}' is not a process", printable(command.services.front())),
         "only a process dies, hangs or comes up");
  else if (const ServiceBlock& block = *blocks_.at(command.services.front());
           command.kind == CommandKind::Hangs &&
           (!block.foreground() || block.process->foreground->watchdog == Duration{0}))
    fail(name.offset, fmt::format("nobody sees whether '{}' hangs", printable(command.services.front())),
         "only a process that healer runs itself and that has a watchdog does");
  if (command.kind == CommandKind::ComesUp) want("up", "at 5 minutes NAME comes up");
  want_end();
  script_.commands.push_back(std::move(command));
  return true;
}

void ScriptReader::clock(ScriptedCommand& command) {
  constexpr std::string_view kForm = "set clock +1 hour, or set clock 2026-11-21 09:00:00";
  want("clock", kForm);
  Word& word = more() ? words_[next_] : words_.back();
  if (more() && (word.raw.starts_with('+') || word.raw.starts_with('-'))) {
    const bool back = word.raw.front() == '-';
    word.raw.remove_prefix(1);
    ++word.offset;
    if (word.raw.empty()) ++next_;
    command.kind = ScriptedCommand::Kind::StepClock;
    command.span = duration(kForm) * (back ? -1 : 1);
  } else {
    command.kind = ScriptedCommand::Kind::SetClock;
    command.clock = wall_time(kForm);
  }
}

}  // namespace healer::engine
