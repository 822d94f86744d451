// SPDX-License-Identifier: MIT
#include "ctl/render/render.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "ctl/render/render_parts.hpp"
#include "ctl/render/render_text.hpp"
#include "util/text.hpp"

namespace healer::control {
namespace {

constexpr std::size_t kShortestName = 20;  // a longer one may be cut to this
constexpr std::size_t kOutputBytes = 512;  // of a program's output in a block, in whole lines

std::string describe(const RunView& run) {
  if (run.outcome == "timed-out") return fmt::format("timed out after {}", format_duration(run.elapsed));
  if (run.outcome == "not-started") return "could not be started";
  if (run.outcome == "unmatched") return "its output could not be matched";
  const std::string took = format_duration(run.elapsed);
  if (run.outcome == "signalled") return fmt::format("killed by signal {} after {}", run.status, took);
  return fmt::format("exit status {}, took {}", run.status, took);
}

/// "3 s ago, in 2 ms: process is running with pid 4242".
std::string describe_check(const RunView& check, const Style& style) {
  std::string text = fmt::format("{}, in {}", ago(check.when, style), format_duration(check.elapsed));
  if (!check.output.empty()) text += fmt::format(": {}", trim(check.output));
  return text;
}

std::string output_field(std::string_view output, const Style& style) {
  std::vector<std::string_view> lines;
  for (std::string_view rest = trim(output); !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    lines.push_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  std::string text;
  std::size_t shown = 0;
  for (std::size_t bytes = 0; shown < lines.size() && bytes + lines[shown].size() <= kOutputBytes; ++shown) {
    bytes += lines[shown].size() + 1;
    text += field(shown == 0 ? "output" : "", lines[shown], style);
  }
  if (shown == 0 && !lines.empty()) text += field("output", cut(lines[shown++], kOutputBytes, ellipsis(style)), style);
  if (shown < lines.size()) text += field("", fmt::format("({} more lines)", lines.size() - shown), style);
  return text;
}

/// "failed for 5 m 2 s: 3 of the last 3 runs failed".
std::string describe(const RuleView& rule, const Style& style) {
  std::string text = rule.state;
  if (rule.state == "failed" && rule.since) text += fmt::format(" for {}", lasting(*rule.since, style));
  if (rule.hold) {
    if (rule.held)
      text += fmt::format(", holds for {} of {}", format_duration(*rule.held), format_duration(*rule.hold));
  } else if (rule.restarts) {
    text += fmt::format(", restarts in {} of the last {} runs, {} needed", rule.failed, rule.window, rule.count);
  } else if (rule.window > 1 && rule.state != "failed") {
    text += fmt::format(", {} of the last {} runs failed, {} needed", rule.failed, rule.window, rule.count);
  }
  if (!rule.held_back.empty()) text += fmt::format(", action held back: {}", rule.held_back);
  return text;
}

std::string describe(const ProcessView& process) {
  std::string text = fmt::format("pid {}, parent {}, uid {}", process.pid, process.parent, process.uid);
  if (process.euid != process.uid) text += fmt::format(", effective uid {}", process.euid);
  text += fmt::format(", gid {}", process.gid);
  if (process.zombie) text += ", a zombie";
  return text;
}

std::string describe(const AcknowledgementView& known, const Style& style) {
  std::string text = fmt::format("{}, by {}", ago(known.when, style), known.by);
  if (!known.reason.empty()) text += ": " + known.reason;
  return text + "; no reminders until it has recovered";
}

std::string describe(const StartsView& starts, const Style& style) {
  std::vector<std::string> parts;
  if (starts.last) parts.push_back(fmt::format("the last {}", ago(*starts.last, style)));
  if (starts.quick != 0) parts.push_back(fmt::format("{} in a row failed or died soon", starts.quick));
  if (starts.not_before && *starts.not_before > style.now)
    parts.push_back(fmt::format("not by a rule before {}", clock_time(*starts.not_before, style)));
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string taken_out_text(const TakenOutView& how, std::string_view service, const Style& style) {
  std::string text = fmt::format("by {}", how.by);
  if (!how.service.empty())
    text = iequals(how.service, service)
               ? "by its rule"
               : fmt::format("with {}, on which it depends, by the rule of that", how.service);
  text += fmt::format(", since {}", clock_time(how.when, style));
  if (how.until) text += fmt::format(", until {}", clock_time(*how.until, style));
  return how.rule.empty() ? text : text + ": " + how.rule;
}

std::string describe(const ConnectionView& connection) {
  const bool passed = connection.verdict == "passed";
  return printable(fmt::format("{}: {}{}", connection.name,
                               passed || connection.text.starts_with("not tried") ? "" : connection.verdict + ": ",
                               connection.text));
}

/// Of a block: what is measured, and what jobs and people do.
std::string supervision(const ServiceStatus& status, const Style& style) {
  std::string text;
  if (status.process) text += field("process", describe(*status.process), style);
  if (status.process && !status.process->doubt.empty()) text += field("doubt", status.process->doubt, style);
  text += measured_field(status.measured, style);
  if (status.booted) text += field("booted", clock_time(*status.booted, style), style);
  for (const ConnectionView& connection : status.connections) text += field("connection", describe(connection), style);
  if (status.job) text += field("job", fmt::format("{}: {}", status.job->kind, job_text(*status.job)), style);
  if (status.healing) text += field("healing", healing_text(*status.healing, style), style);
  if (status.rests) text += field(status.healing ? "rests" : "healing", rest_text(*status.rests, style), style);
  if (!status.waits.empty()) text += field("waits", status.waits, style);
  if (!status.left.empty()) text += field("left", status.left, style);
  if (status.acknowledged) text += field("acknowledged", describe(*status.acknowledged, style), style);
  if (status.taken_out) text += field("unmonitored", taken_out_text(*status.taken_out, status.name, style), style);
  if (status.pause) text += field("paused", pause_text(*status.pause, style), style);
  if (const std::string starts = status.starts ? describe(*status.starts, style) : ""; !starts.empty())
    text += field("starts", starts, style);
  return text;
}

std::string describe(const ActionView& action) {
  const std::string age = full_seconds(action.age);
  std::string text = action.started ? fmt::format("runs for {}", age) : fmt::format("waits for {} to be started", age);
  if (action.pid != 0) text += fmt::format(" as pid {}", action.pid);
  if (!action.waits.empty())
    text += fmt::format("{} ({})", action.started ? ", waits to be found again" : "", action.waits);
  if (action.again) text += ", once more afterwards";
  return text + ": " + action.rule;
}

/// "11:19", where that is today; else with its date.
std::string short_time(WallTime when, const Style& style) {
  const CivilTime then = style.civil(when);
  const CivilTime today = style.civil(style.now);
  const std::string text = format_civil(then);
  const bool same_day = then.year == today.year && then.month == today.month && then.day == today.day;
  return same_day ? text.substr(text.find(' ') + 1, 5) : text.substr(0, text.rfind(':'));
}

}  // namespace

std::string stale_text(const DaemonView& daemon, const Style& style) {
  if (!daemon.stale) return {};
  return fmt::format("the rules on disk are not loaded, for {}: {} (fix them, then `healerctl reload`)",
                     lasting(daemon.stale->since, style), printable(daemon.stale->error));
}

std::string mail_text(const DaemonView& daemon, const Style& style) {
  if (!daemon.mail || daemon.mail->waiting == 0) return {};
  const MailView& mail = *daemon.mail;
  std::string text = fmt::format("{} {}", mail.waiting, mail.waiting == 1 ? "mail waits" : "mails wait");
  if (mail.since) text += fmt::format(", for {}", lasting(*mail.since, style));
  std::string_view separator = ": ";
  const auto add = [&](std::uint64_t count, std::string_view why, const std::optional<WallTime>& until) {
    if (count == 0) return;
    text += std::exchange(separator, "; ");
    if (count < mail.waiting) text += fmt::format("{} ", count);
    text += why;
    if (until) text += fmt::format(" until {}", short_time(*until, style));
  };
  add(mail.held, fmt::format("held by the limit of {}", printable(mail.limit)), mail.held_until);
  add(mail.gathered, "gathered for a digest", mail.digest_until);
  if (!mail.error.empty()) {
    text += fmt::format("; the mail server: {}", printable(mail.error));
    if (mail.error_since) text += fmt::format(" ({} ago)", lasting(*mail.error_since, style));
  }
  return text;
}

std::string contact_text(const ContactView& contact, const Style& style) {
  if (contact.waiting == 0)
    return fmt::format("the contact {} has not taken its last alert: {}{}", printable(contact.name),
                       printable(contact.error),
                       contact.error_since ? fmt::format(" ({} ago)", lasting(*contact.error_since, style)) : "");
  std::string text = fmt::format(
      "{} for the contact {}", contact.waiting == 1 ? "1 alert waits" : fmt::format("{} alerts wait", contact.waiting),
      printable(contact.name));
  if (contact.since) text += fmt::format(", for {}", lasting(*contact.since, style));
  if (contact.error.empty()) return text;
  text += fmt::format(": {}", printable(contact.error));
  if (contact.error_since) text += fmt::format(" ({} ago)", lasting(*contact.error_since, style));
  if (contact.next) text += fmt::format("; tried again at {}", short_time(*contact.next, style));
  return text;
}

std::string render_daemon(const DaemonView& daemon, const Style& style) {
  std::string text = fmt::format("healer {}, up {}, cycle {}", printable(daemon.version), full_seconds(daemon.up),
                                 format_duration(daemon.cycle));
  if (daemon.shadow)
    text += ", shadow: it takes no action";
  else if (daemon.dry_run)
    text += ", dry run: it only sends alerts";
  text = hanging("", text, style);
  for (const std::string& trouble : daemon.troubles) text += hanging("", "warning: " + printable(trouble), style);
  for (const std::string& damage : daemon.damages) text += hanging("", "warning: " + printable(damage), style);
  for (const std::string& row : daemon.refused_rows) text += hanging("", "warning: " + printable(row), style);
  // Painted line by line, as escapes do not count as columns.
  if (const std::string stale = stale_text(daemon, style); !stale.empty()) {
    const std::string lines = hanging("", stale, style);
    for (std::string_view rest = lines; !rest.empty();) {
      const std::size_t end = rest.find('\n');
      text += paint(std::string(rest.substr(0, end)), colour_of("failed"), style) + "\n";
      rest.remove_prefix(end + 1);
    }
  }
  const std::string mail = mail_text(daemon, style);
  if (!mail.empty()) text += hanging("", mail, style);
  for (const ContactView& contact : daemon.contacts) text += hanging("", contact_text(contact, style), style);
  return text;
}

std::string render_totals(const Totals& totals, const Style& style) {
  const std::array<std::pair<std::uint64_t, std::string_view>, 7> counts{{{totals.failed, "failed"},
                                                                          {totals.given_up, "given up"},
                                                                          {totals.failing, "failing"},
                                                                          {totals.unknown, "unknown"},
                                                                          {totals.initialising, "initialising"},
                                                                          {totals.running, "running"},
                                                                          {totals.unmonitored, "unmonitored"}}};
  std::string text = fmt::format("{} {}", totals.services, totals.services == 1 ? "service" : "services");
  std::string_view separator = ": ";
  for (const auto& [count, word] : counts) {
    if (count == 0) continue;
    text += separator;
    const bool bad = is_down(word) || word == "failing" || word == "unknown";
    text += paint(fmt::format("{} {}", count, word), bad ? colour_of(word) : "", style);
    separator = ", ";
  }
  return text + "\n";
}

namespace {

/// Monit's sentences have the cause at their end: "failed protocol test [HTTP] at [a]:80 [TCP/IP] -- Connection
/// refused". Here it goes first, where the rest may be cut.
std::string cause_first(const std::string& text) {
  constexpr std::string_view kBefore = " -- ";
  const std::size_t at = text.find(kBefore);
  if (!text.starts_with("failed protocol test") || at == std::string::npos) return text;
  return fmt::format("{} ({})", text.substr(at + kBefore.size()), text.substr(0, at));
}

}  // namespace

std::string render_summary(const DaemonView& daemon, std::span<const ServiceSummary> services, const Totals& totals,
                           const Style& style) {
  std::string text = render_daemon(daemon, style) + "\n";
  Column name{.title = "SERVICE", .most = style.width == 0 ? 0 : std::max(style.width / 3, kShortestName)};
  Column state{.title = "STATE"}, since{.title = "FOR", .spare = true}, next{.title = "NEXT", .spare = true};
  Column what{.title = "WHAT"};
  for (const ServiceSummary& service : services) {
    const std::string_view colour = colour_of(service.state);
    name.add(printable(service.name), is_down(service.state) ? colour : "");
    state.add(printable(service.state), colour);
    since.add(service.since ? lasting(*service.since, style) : "");
    next.add(service.next_run ? whole_seconds(*service.next_run) : "");
    const bool is_bad = is_down(service.state) || service.state == "failing" || service.state == "unknown";
    what.add(printable(is_bad && style.width != 0 ? cause_first(service.text) : service.text), {}, is_bad);
  }
  if (!services.empty())
    text +=
        table({std::move(name), std::move(state), std::move(since), std::move(next), std::move(what)}, style) + "\n";
  return text + render_totals(totals, style);
}

std::string render_status(const ServiceStatus& status, const Style& style) {
  std::string text =
      paint(cut(printable(status.name), style.width == 0 ? status.name.size() * 4 : style.width, ellipsis(style)),
            is_down(status.state) ? colour_of("failed") : "1", style) +
      "\n";
  const std::string state = printable(status.state);
  std::string more;
  if (status.since)
    more = fmt::format(" for {}, since {}", lasting(*status.since, style), clock_time(*status.since, style));
  if (status.passive) more += ", passive: healer will not start or stop it";
  // Painted after breaking the line, so that escapes do not count as columns.
  std::string line = field("state", state + more, style);
  line.replace(2 + kLabel, state.size(), paint(state, colour_of(status.state), style));
  text += line;
  if (status.state == "unknown") text += field("", status.text, style);
  text += field("kind", status.kind, style);
  text += field("place", status.place, style);
  if (!status.groups.empty())
    text += field(status.groups.size() == 1 ? "group" : "groups", join_words(status.groups, "and"), style);
  if (!status.depends.empty()) text += field("depends on", join_words(status.depends, "and"), style);
  if (!status.members.empty()) {
    std::vector<std::string> members;
    for (const MemberView& member : status.members)
      members.push_back(fmt::format("{} ({})", member.name, member.health));
    text += field("members", join_words(members, "and"), style);
  }
  text += supervision(status, style);
  if (status.unit)
    text +=
        field("unit", status.unit->name + (status.unit->standing.empty() ? "" : ": " + status.unit->standing), style);
  if (status.heartbeat) {
    text += heartbeat_fields(*status.heartbeat, style);
  } else if (status.events) {
    text += event_fields_text(*status.events, style);
  } else if (status.last && status.last->outcome == "looked") {
    text += field("last check", describe_check(*status.last, style), style);
  } else if (status.last) {
    text += field("last run", fmt::format("{}: {}", ago(status.last->when, style), describe(*status.last)), style);
    text += output_field(status.last->output, style);
  }
  if (status.running) {
    const std::string time = fmt::format("for {}", format_duration(*status.running));
    text += status.run_waits.empty() ? field("running", time, style)
                                     : field("run waits", fmt::format("{}: {}", time, status.run_waits), style);
  }
  if (!status.heartbeat && !status.events && (status.next_run || !status.schedule.empty())) {
    // A cron schedule says by itself when it runs next.
    std::string next = status.next_run ? "in " + whole_seconds(*status.next_run) : status.schedule;
    if (status.next_run && !status.schedule.empty()) next += fmt::format(" ({})", status.schedule);
    text += field("next run", next, style);
  }
  std::string runs = fmt::format("{}", status.runs);
  if (status.overruns != 0)
    runs += fmt::format(", the last {} skipped: the previous one has not finished", status.overruns);
  text += field("runs", runs, style);
  for (const RuleView& rule : status.rules) {
    text += field("rule", fmt::format("{} ({})", rule.text, rule.place), style);
    text += field("", describe(rule, style), style);
  }
  if (!status.action_failure.empty())
    text += field("last action",
                  status.action_failed_at
                      ? fmt::format("{}: {}", ago(*status.action_failed_at, style), status.action_failure)
                      : status.action_failure,
                  style);
  for (const ActionView& action : status.actions) text += field("action", describe(action), style);
  return text;
}

std::string render_mails(std::span<const RecordView> mails, const Style& style) {
  if (mails.empty()) return {};
  RecordView all = mails.back();
  if (mails.size() > 1) {
    std::string_view last = all.text;
    if (last.starts_with("mail ")) last.remove_prefix(5);
    all.service.clear();
    all.text = fmt::format("{} mails sent within {}, the last {}", mails.size(),
                           whole_seconds(std::max(mails.back().when - mails.front().when, Duration{1})), last);
  }
  return render_record(all, style);
}

std::string render_gap(const GapView& gap) {
  if (gap.anew) return "healerctl: the numbers of records have begun anew since: this is all of the history\n";
  return fmt::format("healerctl: {} record{} after number {} {} not kept any more\n", gap.records,
                     gap.records == 1 ? "" : "s", gap.after, gap.records == 1 ? "is" : "are");
}

std::string render_record(const RecordView& record, const Style& style, bool numbered) {
  std::string when = format_civil(style.civil(record.when), subsecond_ms(record.when));
  if (numbered) when = fmt::format("{:>7}  {}", record.id, when);
  const std::string subject = record.service.empty() ? std::string("healer") : printable(record.service);
  const std::string text = fmt::format("{}: {}", subject, trim(record.text));
  const bool narrow = style.width != 0 && style.width < kNarrow;
  std::string lines = narrow ? when + "\n" + hanging_lines("  ", text, style) : hanging_lines(when + "  ", text, style);
  if (record.severity != "error" && record.severity != "warning") return lines;
  const std::size_t start = narrow ? when.size() + 3 : when.size() + 2;
  const std::size_t end = std::min(lines.find('\n', start), lines.size());
  return lines.substr(0, start) + paint(lines.substr(start, end - start), colour_of(record.severity), style) +
         lines.substr(end);
}

std::string render_explanation(const ServiceExplanation& explanation, const Style& style, bool all) {
  std::string text = fmt::format("{} is {} ({})\n", paint(printable(explanation.name), "1", style),
                                 paint(printable(explanation.state), colour_of(explanation.state), style),
                                 printable(explanation.place));
  for (const std::string& note : explanation.notes) text += hanging_lines("  ", note, style);
  for (const ActionView& action : explanation.actions)
    text += hanging("  ", "action " + printable(describe(action)), style);
  int number = 0;
  for (const RuleExplanation& rule : explanation.rules) {
    text += "\n";
    text += hanging(fmt::format("  {}. ", ++number), printable(fmt::format("{} ({})", rule.text, rule.place)), style);
    const auto line = [&](std::string_view label, std::string_view sentence) {
      if (!sentence.empty()) text += hanging_lines(fmt::format("     {:<13}", label), sentence, style);
    };
    line("now", rule.now);
    line("if it holds", rule.if_failed);
    line("if not", rule.if_clear);
    line("held back", rule.held_back);
    if (rule.heals) text += heal_lines(*rule.heals, style, all);
    if (rule.last_fired)
      line("last fired", fmt::format("{}, {}: {}", clock_time(rule.last_fired->when, style),
                                     ago(rule.last_fired->when, style), trim(rule.last_fired->text)));
  }
  return text;
}

std::string render_failure(const Failure& failure, const Style& style) {
  // The message of a reload has lines of its own: the diagnostics.
  std::string text = paint("healerctl:", colour_of("failed"), style) + " ";
  for (std::string_view rest = trim(failure.message); !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    text += printable(rest.substr(0, end)) + "\n";
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (!failure.remedy.empty()) text += hanging("  ", printable(failure.remedy), style);
  return text;
}

}  // namespace healer::control
