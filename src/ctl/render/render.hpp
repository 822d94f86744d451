// SPDX-License-Identifier: MIT
// What healerctl shows to a person: tables and blocks that fit the terminal, or plain whole text where the output is no
// terminal. Nothing here trusts the daemon's text: control characters, also of programs' output, are made visible.
// Pure: the time of day and the terminal are handed in.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "control/wire.hpp"
#include "util/time.hpp"

namespace healer::control {

/// How to show it.
struct Style {
  std::size_t width = 0;  ///< columns of the terminal; 0: no limit, nothing is cut or broken
  bool colour = false;
  bool unicode = false;  ///< the terminal shows UTF-8: "…" instead of "..."
  WallTime now{};
  CivilClock civil = utc_civil;
};

/// `summary`: a line about the daemon, a table of the services, their totals.
[[nodiscard]] std::string render_summary(const DaemonView& daemon, std::span<const ServiceSummary> services,
                                         const Totals& totals, const Style& style);

/// "healer 0.1.0, up 3 d 4 h, cycle 30 s".
[[nodiscard]] std::string render_daemon(const DaemonView& daemon, const Style& style);

/// Where the rules in force are not those on disk: that, since when and why. Else empty.
[[nodiscard]] std::string stale_text(const DaemonView& daemon, const Style& style);

/// "15 mails wait, for 2 m: 12 held by the limit of 20 mails within 1 h until 11:19"; empty where none waits.
[[nodiscard]] std::string mail_text(const DaemonView& daemon, const Style& style);
/// "3 alerts wait for the contact team, for 2 m: it answered 503 (10 s ago), tried again at 11:19".
[[nodiscard]] std::string contact_text(const ContactView& contact, const Style& style);

/// "5 services: 1 failed, 1 failing, 3 running".
[[nodiscard]] std::string render_totals(const Totals& totals, const Style& style);

/// `status`: one service as a block.
[[nodiscard]] std::string render_status(const ServiceStatus& status, const Style& style);

/// `report`: how many services are up, down, initialising and unmonitored, as Monit tells it; or the one number that
/// `which` names ("up", "down", "unknown", "initialising", "unmonitored", "total").
[[nodiscard]] std::string render_report(const Totals& totals, std::string_view which);

/// `jobs`: a table of what is under way.
/// Events that came, one a line.
[[nodiscard]] std::string render_events(std::span<const EventView> events, const Style& style);
[[nodiscard]] std::string render_jobs(std::span<const JobView> jobs, const Style& style);

/// `healing status`: what is healed and held back, and what holds back all.
[[nodiscard]] std::string render_healings(std::span<const HealingView> healings, const HealingHolds& holds,
                                          const Style& style);

/// What a healing that waits for approval is to do, a line each.
[[nodiscard]] std::string plan_text(const HealingView& healing, const Style& style);

/// `healing report`: a table of the workflows.
[[nodiscard]] std::string render_healing_report(std::span<const WorkflowReport> reports, const Style& style);

/// `jobs follow`: a line that tells of another stage.
[[nodiscard]] std::string render_stage(const OutputView& stage);

/// `jobs follow`: output of a program as it came, its control characters but newlines and tabs made visible.
[[nodiscard]] std::string render_output(std::string_view text);

/// `graph`: services, their dependencies and rules in the language of graphviz, coloured by state.
[[nodiscard]] std::string render_dot(std::span<const ServiceStatus> services);

/// `history`: one record.
[[nodiscard]] std::string render_record(const RecordView& record, const Style& style, bool numbered = false);
/// That there are records no more, as a line.
[[nodiscard]] std::string render_gap(const GapView& gap);

/// Several records that follow each other, of mails that were sent: one line.
[[nodiscard]] std::string render_mails(std::span<const RecordView> mails, const Style& style);

/// `explain`: why each rule of a service is where it is.
[[nodiscard]] std::string render_explanation(const ServiceExplanation& explanation, const Style& style,
                                             bool all = false);

/// "healerctl: MESSAGE", and the remedy on a line of its own.
[[nodiscard]] std::string render_failure(const Failure& failure, const Style& style);

}  // namespace healer::control
