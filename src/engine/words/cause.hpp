// SPDX-License-Identifier: MIT
// The words in which a cause is told: to logs, mails and programs. They are Monit's, measured on Monit 5.33, because
// mail filters and handler scripts of people who come from there match on them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "engine/events/act.hpp"
#include "engine/events/evidence.hpp"
#include "engine/events/outcome.hpp"
#include "engine/judging/evaluate.hpp"
#include "engine/state.hpp"

namespace healer::engine {

struct Rule;
struct ServiceBlock;
namespace event {
struct ActionEnded;
};

/// $EVENT of mails and MONIT_EVENT: "Status failed", "Status succeeded", "Status changed", "Content match",
/// "Content doesn't match", "Monit instance changed", "Action done", ...
[[nodiscard]] std::string_view event_text(EventKind event, effect::Cause::State state);

/// $EVENT of what Monit does not know: the healer before had died, and the rules files have errors.
inline constexpr std::string_view kHealerDied = "Healer died";
inline constexpr std::string_view kRulesRefused = "Rules not loaded";
inline constexpr std::string_view kGivenUp = "Given up";
inline constexpr std::string_view kListEvent = "List";
inline constexpr std::string_view kStateDamaged = "State damaged";
inline constexpr std::string_view kNotDelivered = "Alert not delivered";

/// What a rule of `block` has to say of a run: that its condition holds (`failed`), or that it does not. The first test
/// that decides it has the word. Requires: the condition is not empty.
[[nodiscard]] std::string describe(const ServiceBlock& block, const Rule& rule, const Seen& seen, bool failed);
/// What a filter has found, "json .worst is 93 (> 90)"; or why that is not known, or cannot be compared.
[[nodiscard]] std::string describe(const Evidence& run, const Queried& test);
/// A value of JSON for people: on one line, and not too long.
[[nodiscard]] std::string shown_value(std::string_view json);
/// The same where it recovers from an event of that kind.
[[nodiscard]] std::string describe_recovery(const ServiceBlock& block, const Rule& rule, const Seen& seen,
                                            EventKind event);
/// What kind of event the firing of a rule is: for a connection it depends on what is wrong with it.
[[nodiscard]] EventKind event_of(const Rule& rule, const Seen& seen);
/// What Monit calls it that something has not changed any more.
[[nodiscard]] std::string_view unchanged_text(EventKind event);

/// All that is told about a rule's firing as that kind of event, or of its recovery.
[[nodiscard]] std::shared_ptr<const effect::Cause> cause_of(const ServiceBlock& block, const Rule& rule,
                                                            const Seen& seen, EventKind event, bool recovered,
                                                            WallTime when);

/// What programs are told of a process: MONIT_PROCESS_*.
[[nodiscard]] effect::Cause::Process figures_of(const Evidence& run);

/// What is said of a path that is not there, where nothing else is known: "fifo doesn't exist".
[[nodiscard]] std::string describe_absence(const ServiceBlock& block);
/// The time of a total, in Monit's words: "1 minute", "24 hour".
[[nodiscard]] std::string describe_span(Duration span);
/// "process is not running", "process is running with pid 42", "process with pid 42 is a zombie".
[[nodiscard]] std::string describe_existence(const Evidence& run);

/// Why a process that a pid file names is not signalled: "process 42, which was started after the pid file was written,
/// may be another's".
[[nodiscard]] std::string describe_doubt(const ProcessFacts& process, Doubt doubt);

/// "process 42 (nginx: worker process) and 3 more". Requires: there is one.
[[nodiscard]] std::string describe_left(std::span<const LeftProcess> left);

/// "exited with status 3", "killed by signal 9 (SIGKILL)".
[[nodiscard]] std::string describe_exit(Outcome outcome, std::int64_t status);

/// How a foreground process has ended: "exited with status 3 after 5 s: LAST LINE OF ITS OUTPUT".
[[nodiscard]] std::string describe_end(const event::ActionEnded& end);

/// "status failed (1) -- OUTPUT" or "status succeeded (0) -- OUTPUT"; "no output" stands for empty output.
[[nodiscard]] std::string describe_status(std::int64_t status, bool failed, std::string_view output);

/// describe_status() of a run whose program may take `timeout`. Where Monit hides that the program was ended at its
/// timeout or by a signal, a line before the output says so: "status failed (9) -- timed out after 15 s\nOUTPUT".
[[nodiscard]] std::string describe_run(const Evidence& run, bool failed, Duration timeout);

/// "status changed (0 -> 1) -- OUTPUT".
[[nodiscard]] std::string describe_changed(std::int64_t before, std::int64_t now, std::string_view output);

/// "status didn't change (1) -- OUTPUT".
[[nodiscard]] std::string describe_unchanged(std::int64_t status, std::string_view output);

/// "content match on program output:\nOUTPUT"; where the test does not hold, "content doesn't match on ...". Monit says
/// "match" of both operators where the test holds.
[[nodiscard]] std::string describe_content(bool holds, std::string_view output);

/// "timed out after 15 s": the recorded reason of a run that was ended at its timeout.
[[nodiscard]] std::string describe_timeout(Duration after);

/// "failed to start (exit status 3) -- '/bin/sh -c ...': OUTPUT": the program that was to start, stop or restart
/// (`verb`) a service has ended, or its time is over, and the service is not as it should be.
[[nodiscard]] std::string describe_not_done(std::string_view verb, const Command& command, Outcome outcome,
                                            std::int64_t status, std::string_view output);

/// The same on one line, for a table: "failed to start (exit status 3): the most telling line of OUTPUT". `failure` may
/// be any other reason as well.
[[nodiscard]] std::string brief_failure(std::string_view failure, const ServiceBlock& block);

/// Of what a program wrote, the one line that says most of why it failed: the last with `fatal:` in it, else the last
/// of its first `errors` bytes, which came on stderr, else the last with an error in it, else the last. Without white
/// space around it; empty where there is none.
[[nodiscard]] std::string_view telling_line(std::string_view output, std::size_t errors = 0);

/// "start action done", "stop action failed": what became of a person's command.
[[nodiscard]] std::string describe_action(std::string_view verb, bool done);

}  // namespace healer::engine
