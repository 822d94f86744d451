// SPDX-License-Identifier: MIT
#include "engine/parts/proofs.hpp"

#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/judging/evaluate.hpp"
#include "engine/parts/bringing/jobs.hpp"
#include "engine/rules/graph.hpp"
#include "engine/rules/service.hpp"
#include "engine/turn.hpp"
#include "engine/words/cause.hpp"
#include "util/hash.hpp"

namespace healer::engine {
namespace {

Doubt doubt_of(const ProcessFacts& process) {
  if (process.named_by != 0 && process.named_by != process.uid) return Doubt::Foreign;
  return process.younger ? Doubt::Younger : Doubt::None;
}

}  // namespace

void ProcessProofs::restore(ServiceId id, const SavedService& saved, bool same_boot) {
  const ServiceBlock& block = graph_->at(id);
  Rare<KnownProcess>& known = known_[id.index()];
  known = saved.known;
  // By another pid file another service was meant. (Of a foreground process it is what was there before.)
  if (known && !block.foreground() && known->path != Hash128{} && known->path != hash128(block.process->pid_file))
    known.reset();
  if (known && !same_boot) known->start_ticks = 0;  // whoever has its number is another
}

/// A process that its pid file names is believed, as by Monit, unless it is proved to be a stranger: the file has not
/// been written since it named another process, of this number, and numbers are used again. This needs no clock, and
/// whichever healer has seen that process. (Number 1 is never used again. One thing is taken for a stranger that is
/// none: a process that was thawed from a checkpoint.) Then `seen` is given back without it. Where clocks alone speak
/// against it, or it is another user's than the one who can write the file, it is believed, but not signalled before a
/// person has confirmed that it is the one: a clock that was stepped after its start tells the same. What clocks told
/// when it was seen first stays so.
std::optional<Evidence> ProcessProofs::disproved(ServiceId id, const Evidence& seen, Turn& turn) {
  const ProcessFacts* process = process_of(seen);
  if (process == nullptr || process->file == 0) return std::nullopt;
  Rare<KnownProcess>& known = known_[id.index()];
  KnownProcess now{.pid = process->pid,
                   .start_ticks = process->start_ticks,
                   .file = process->file,
                   .doubt = doubt_of(*process),
                   .path = hash128(graph_->at(id).process->pid_file)};
  const bool same_file = known && known->pid == now.pid && known->file == now.file && now.pid != 1;
  if (!same_file || known->start_ticks == now.start_ticks) {
    if (same_file && now.doubt != Doubt::Foreign && known->doubt != Doubt::Foreign) now.doubt = known->doubt;
    if (now.doubt == Doubt::Younger && was_just_started(id)) now.doubt = Doubt::None;
    const bool same = known && known->pid == now.pid && known->start_ticks == now.start_ticks;
    if (same && known->doubt == Doubt::Confirmed) now.doubt = Doubt::Confirmed;
    if (known == now) return std::nullopt;
    const bool is_known = known && known->pid == now.pid && known->doubt == now.doubt;
    known = now;
    turn.save(id);
    if (const std::string doubted = is_known ? std::string() : doubt_about(id, *process); !doubted.empty())
      turn.record(RecordKind::JobHeld, Severity::Warning, graph_->at(id).name, doubted);
    return std::nullopt;
  }
  Evidence without = seen;
  without.output = std::make_shared<const std::string>(
      fmt::format("process is not running (process {} is not the one its pid file was written for)", process->pid));
  without.answer = Answer::Absent;
  without.facts = std::make_shared<const Facts>();
  return without;
}

std::string ProcessProofs::why_spared(ServiceId id, const ProcessFacts& process) const {
  if (process.spared)
    return process.pid == 1 ? "process 1 is the init process of the machine"
                            : fmt::format("process {} is healer itself", process.pid);
  const Rare<KnownProcess>& known = known_[id.index()];
  if (!known || known->pid != process.pid) return {};
  if (known->doubt == Doubt::None || known->doubt == Doubt::Confirmed) return {};
  return describe_doubt(process, known->doubt);
}

/// Whether a start by healer is under way that has found no process: the one that is there now is what it has started.
bool ProcessProofs::was_just_started(ServiceId id) const {
  const Job* const job = jobs_.of(id);
  if (job == nullptr || services_[id.index()].presence.is_up()) return false;
  return job->position < job->steps.size() && job->step().service == id && job->step().kind == Bringing::Start &&
         job->run.acting();
}

/// What people are told of the process that a pid file names where it is in doubt; empty: it is not.
std::string ProcessProofs::doubt_about(ServiceId id, const ProcessFacts& process) const {
  const Rare<KnownProcess>& known = known_[id.index()];
  if (process.spared || !known || known->start_ticks != process.start_ticks) return {};
  const std::string why = why_spared(id, process);
  if (why.empty()) return {};
  const ServiceBlock& block = graph_->at(id);
  const std::string says = fmt::format("`healerctl accept {} --pid`", block.name);
  return block.programs->stop ? fmt::format("{}; {} says that it is the service", why, says)
                              : fmt::format("{}: healer will not signal it before {}", why, says);
}

std::string ProcessProofs::doubt(ServiceId id) const {
  const ServiceState& state = services_[id.index()];
  const ProcessFacts* process = state.last && !state.presence.is_gone() ? process_of(*state.last) : nullptr;
  return process == nullptr ? std::string() : doubt_about(id, *process);
}

void ProcessProofs::accept(const event::Command& event, Turn& turn) {
  std::vector<std::string> accepted;
  std::vector<std::string> refused;
  for (const ServiceId id : event.services) {
    if (graph_->block(id) == nullptr) continue;
    const std::string& name = graph_->at(id).name;
    const ServiceState& state = services_[id.index()];
    const ProcessFacts* process = state.last && !state.presence.is_gone() ? process_of(*state.last) : nullptr;
    const bool is_meant = process != nullptr && (event.job == event::Command::kAnyProcess ||
                                                 process->pid == static_cast<std::int64_t>(event.job.number()));
    if (process == nullptr) {
      refused.push_back(fmt::format("{} has no process", name));
    } else if (!is_meant) {
      refused.push_back(fmt::format("the process of {} is {}", name, process->pid));
    } else if (doubt_about(id, *process).empty()) {
      refused.push_back(fmt::format("process {} of {} is not in doubt", process->pid, name));
    } else {
      known_[id.index()]->doubt = Doubt::Confirmed;
      turn.save(id);
      accepted.push_back(fmt::format("process {} of {}", process->pid, name));
      turn.record(RecordKind::Accepted, Severity::Info, name,
                  fmt::format("process {} accepted by {}", process->pid, words_of(event.by)));
    }
  }
  std::string text = accepted.empty() ? "nothing accepted" : fmt::format("accepted: {}", listed(accepted));
  if (!refused.empty()) text += fmt::format("; {}", fmt::join(refused, "; "));
  turn.replies.push_back({event.id, !accepted.empty() && refused.empty(), std::move(text)});
}

}  // namespace healer::engine
