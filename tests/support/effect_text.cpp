// SPDX-License-Identifier: MIT
#include "support/effect_text.hpp"

namespace healer::test {

std::string EffectText::operator()(const effect::Measure& run) const {
  return fmt::format("start {} {}", run.service.number(), run.run.number());
}

std::string EffectText::operator()(const effect::CancelRun& run) const {
  return fmt::format("cancel {} {}", run.service.number(), run.run.number());
}

std::string EffectText::operator()(const effect::Cause& cause) const {
  return fmt::format("[{} {} {} {} {} {} {} {} {}]", cause.service, static_cast<int>(cause.event),
                     static_cast<int>(cause.state), cause.event_text, cause.action_text, cause.description, cause.rule,
                     cause.when.time_since_epoch().count(), cause.program_status.value_or(-1));
}

std::string EffectText::operator()(const effect::Exec& exec) const {
  return fmt::format("exec {} {} {} {} {} {} {}", exec.action.number(), exec.job.number(), exec.service.number(),
                     to_string(exec.rule), exec.recovery, fmt::join(exec.command.arguments, " "), (*this)(*exec.cause));
}

std::string EffectText::operator()(const effect::Signal& signal) const {
  return fmt::format("signal {} {} {}", signal.pid, signal.start_ticks, signal.number);
}

std::string EffectText::operator()(const effect::SavedJob& job) const {
  std::string text = fmt::format("job {} {} {} {}/{} {}", job.job.number(), to_string(job.kind), job.service,
                                 job.position, job.steps.size(), job.action.number());
  for (const effect::SavedStep& step : job.steps)
    text += fmt::format(" {}:{}", static_cast<int>(step.kind), step.service);
  return text;
}

std::string EffectText::operator()(const effect::Adopt& adopt) const {
  return fmt::format("adopt {} {}", adopt.action.number(), adopt.service.number());
}

std::string EffectText::operator()(const effect::Alert& alert) const {
  std::string text = fmt::format("alert {} {}", alert.alert.number(), (*this)(*alert.cause));
  for (const Recipient& recipient : alert.recipients) text += " " + recipient.address;
  return text;
}

std::string EffectText::operator()(const effect::Reply& reply) const {
  return fmt::format("reply {} {} {}", reply.command.number(), reply.ok, reply.text);
}

std::string EffectText::operator()(const RuleState& state) const {
  const auto ms = [](const auto& time) { return time ? time->count() : -1; };
  return fmt::format("{:x}/{:x}/{}/{}/{}/{}/{}/{}", state.window.bits, state.past->again.bits,
                     static_cast<int>(state.status), state.since_fired, ms(state.past->failing_since),
                     ms(state.past->clear_since),
                     state.past->changed ? state.past->changed->time_since_epoch().count() : -1, state.accepted) +
         fmt::format(":{}:{}", state.judged, state.born);
}

std::string EffectText::operator()(const effect::Commit& commit) const {
  std::string text = fmt::format("commit {}", commit.sequence);
  for (const Record& record : commit.records)
    text += fmt::format("\n  record {} {} {} {} {} {} {} {} {}", record.sequence,
                        record.when.time_since_epoch().count(), to_string(record.kind), to_string(record.severity),
                        record.service, to_string(record.rule), record.subject, record.text, record.output);
  for (const auto& [name, saved] : commit.services) {
    const Value* status = saved.memory.find(Attribute::Status);
    text += fmt::format("\n  service {} {} {} {} {} {}", name, saved.monitored, saved.boot,
                        saved.saved.time_since_epoch().count(), saved.cron_minute.value_or(-1),
                        status != nullptr ? format_value(*status) : "-");
    for (const SavedRule& rule : saved.rules) text += " " + to_string(rule.key) + "=" + (*this)(rule.state);
  }
  for (const auto& [name, changed] : commit.remembered) {
    text += "\n  remembered " + name;
    for (const Baseline& baseline : changed)
      text += fmt::format(" {} {}", to_string(baseline.what), baseline.value ? format_value(*baseline.value) : "-");
  }
  for (const auto& name : commit.forgotten) text += "\n  forgotten " + name;
  for (const auto& act : commit.pending) text += "\n  pending " + std::visit(*this, act);
  for (const ActionId id : commit.started) text += fmt::format("\n  started {}", id.number());
  for (const ActionId id : commit.ended) text += fmt::format("\n  ended {}", id.number());
  for (const effect::SavedJob& job : commit.jobs) text += "\n  " + (*this)(job);
  for (const effect::MovedJob& moved : commit.moved_jobs)
    text += fmt::format("\n  job {} at {} {}", moved.job.number(), moved.position, moved.action.number());
  for (const JobId id : commit.ended_jobs) text += fmt::format("\n  job ended {}", id.number());
  for (const AlertId id : commit.handed_over) text += fmt::format("\n  handed over {}", id.number());
  return text;
}

}  // namespace healer::test
