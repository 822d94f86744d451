// SPDX-License-Identifier: MIT
// How Top looks: the frame of lines, and the plain text of one answer.
#include <algorithm>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "ctl/render/render_parts.hpp"
#include "ctl/render/render_text.hpp"
#include "ctl/render/top_view.hpp"
#include "util/text.hpp"

namespace healer::control {
namespace {

constexpr std::size_t kHeadRows = 3;    // daemon, totals, rates
constexpr std::size_t kShortBody = 12;  // with fewer rows there is room for services only
constexpr std::size_t kStateWidth = 12;
constexpr std::size_t kForWidth = 9;
constexpr std::size_t kNextWidth = 7;
constexpr std::size_t kShortestTopName = 8;
constexpr std::size_t kShortestWhat = 10;

TopAppearance appearance_of(std::string_view word) {
  if (is_down(word) || word == "error") return TopAppearance::Failed;
  if (word == "failing" || word == "unknown" || word == "warning") return TopAppearance::Failing;
  if (word == "running") return TopAppearance::Running;
  if (word == "initialising") return TopAppearance::Waiting;
  if (word == "unmonitored") return TopAppearance::Faint;
  return TopAppearance::Plain;
}

std::string_view order_name(TopOrder order) {
  switch (order) {
    case TopOrder::State: return "state";
    case TopOrder::Name: return "name";
    case TopOrder::Files: return "files";
    case TopOrder::Next: return "next run";
  }
  return "";
}

/// "0", "0.4", "12": what a person takes in at a glance.
std::string rate_text(double rate) {
  if (rate == 0) return "0";
  return rate < 0.05 ? "<0.1" : rate < 9.95 ? fmt::format("{:.1f}", rate) : fmt::format("{:.0f}", rate);
}

std::string rates_text(const TopRates& rates, const DaemonView& daemon, const Style& style) {
  std::string text =
      fmt::format("per second{}: {} runs, {} changes, {} deaths, {} programs, {} mails",
                  rates.average ? " since the start" : "", rate_text(rates.runs), rate_text(rates.changes),
                  rate_text(rates.deaths), rate_text(rates.programs), rate_text(rates.mails));
  const std::uint64_t waiting = daemon.counts.mails_waiting;
  if (const std::string why = mail_text(daemon, style); !why.empty())
    text += "; " + why;
  else if (waiting != 0)
    text += fmt::format("; {} mail{}", waiting, waiting == 1 ? " waits" : "s wait");
  return text;
}

/// The columns of the list on a terminal of this width; 0: left out.
struct Columns {
  std::size_t name = 0;
  std::size_t state = 0;
  std::size_t lasted = 0;
  std::size_t next = 0;
  std::size_t what = 0;
};

Columns columns_of(std::size_t width, std::size_t longest) {
  Columns columns;
  columns.name = std::clamp(longest, kShortestTopName, std::max(width / 3, kShortestTopName));
  if (width < columns.name + 1 + kStateWidth) {
    columns.name = width;
    return columns;
  }
  columns.state = kStateWidth;
  std::size_t used = columns.name + 1 + columns.state;
  const auto take = [&](std::size_t& column, std::size_t wanted, std::size_t beside) {
    if (used + 1 + wanted + beside > width) return;
    column = wanted;
    used += 1 + wanted;
  };
  if (width >= kNarrow) {
    take(columns.lasted, kForWidth, 1 + kShortestWhat);
    take(columns.next, kNextWidth, 1 + kShortestWhat);
  }
  if (used + 1 + kShortestWhat <= width) columns.what = width - used - 1;
  return columns;
}

}  // namespace

std::string_view top_help() {
  return "arrows, j k, page up/down, home, end, g G: move\n"
         "\n"
         "/      filter by name or state; Esc shows all\n"
         "> <    sort by state, name, place in the files, next run\n"
         "Enter  explain why each rule is in its state\n"
         "o      follow the output of its current or last program\n"
         "s t r  start, stop, restart (asks first)\n"
         "m u    monitor, unmonitor\n"
         "p P    pause (asks for how long), resume\n"
         "space  refresh now\n"
         "q      leave\n"
         "\n"
         "Here, q, Esc and Enter go back. Rates are of all services,\n"
         "since the previous answer. The last line shows how a\n"
         "command went.\n";
}

/// A terminal that shows no UTF-8 gets a mark for each character that it has not.
std::string Top::fit(std::string_view text, std::size_t columns) const {
  std::string plain;
  if (!unicode_) {
    for (std::size_t i = 0; i < text.size();) {
      const std::size_t length = std::max<std::size_t>(utf8_length(text.substr(i)), 1);
      plain += length == 1 ? text[i] : '?';
      i += length;
    }
    text = plain;
  }
  return cut(text, columns, unicode_ ? "\u2026" : "...");
}

Style Top::style(WallTime now) const {
  return {.width = size_.columns, .colour = false, .unicode = unicode_, .now = now, .civil = civil_};
}

std::size_t Top::pane_rows() const { return size_.rows > 2 ? size_.rows - 2 : 1; }

Top::Plan Top::plan() const {
  const std::size_t fixed = kHeadRows + 2;  // the titles of the list, and the last line
  if (size_.rows <= fixed) return {.services = std::max<std::size_t>(size_.rows, 3) - 2};
  const std::size_t body = size_.rows - fixed;
  Plan plan{.services = body};
  if (body < kShortBody) return plan;
  plan.jobs = std::min(data_.jobs.size(), body / 5);
  plan.records = std::min(records_.size(), body / 4);
  plan.services -= plan.jobs + plan.records + (plan.jobs != 0 ? 1 : 0) + (plan.records != 0 ? 1 : 0);
  // What the services do not need is room for what has happened.
  const std::size_t spare = plan.services - std::min(plan.services, std::max<std::size_t>(rows_.size(), 1));
  const std::size_t more = plan.records == 0 ? 0 : std::min(spare, records_.size() - plan.records);
  plan.records += more;
  plan.services -= more;
  return plan;
}

std::vector<TopLine> Top::frame(WallTime now) const {
  std::vector<TopLine> lines;
  if (mode_ == Mode::Pane) {
    lines.push_back({{pad(fit(printable(pane_.title), size_.columns), size_.columns), TopAppearance::Title}});
    for (std::size_t i = 0; i < pane_rows(); ++i) {
      const std::size_t line = pane_.first + i;
      lines.push_back({{line < pane_.lines.size() ? fit(pane_.lines[line], size_.columns) : std::string{}}});
    }
    const bool more = pane_.first + pane_rows() < pane_.lines.size();
    const std::string foot = fmt::format("q goes back{}{}{}", more ? ", there is more below" : "",
                                         pane_.note.empty() ? "" : "; ", pane_.note);
    lines.push_back({{fit(foot, size_.columns), TopAppearance::Faint}});
  } else {
    const Plan plan = this->plan();
    if (size_.rows > kHeadRows + 2) add_head(lines, now);
    add_services(lines, plan.services, now);
    add_jobs(lines, plan.jobs);
    add_records(lines, plan.records, now);
    lines.push_back(foot());
  }
  while (lines.size() > std::max<std::size_t>(size_.rows, 1)) lines.erase(lines.begin());
  return lines;
}

void Top::add_head(std::vector<TopLine>& lines, WallTime now) const {
  const auto whole = [this](const std::string& text, TopAppearance appearance) {
    return TopLine{{pad(fit(text, size_.columns), size_.columns), appearance}};
  };
  if (!lost_.empty()) {
    const std::string since = known_ ? fmt::format(" since {}", full_seconds(now - taken_)) : "";
    lines.push_back(
        whole(fmt::format("no answer{}, trying again: {}", since, printable(lost_)), TopAppearance::Failed));
  } else if (!known_) {
    lines.push_back(whole("asking healerd", TopAppearance::Title));
  } else {
    const DaemonView& daemon = data_.daemon;
    std::string text =
        fmt::format("healer {}, up {}, cycle {}, every {}, by {}", printable(daemon.version), full_seconds(daemon.up),
                    format_duration(daemon.cycle), format_duration(interval_), order_name(order_));
    if (daemon.shadow) text += ", shadow: it takes no action";
    if (daemon.dry_run) text += ", dry run: it only sends alerts";
    if (daemon.stale)
      text = fmt::format("the rules on disk are not loaded: {}; healer {}, up {}", printable(daemon.stale->error),
                         printable(daemon.version), full_seconds(daemon.up));
    lines.push_back(whole(text, daemon.stale ? TopAppearance::Failed : TopAppearance::Title));
  }
  if (!known_) return lines.insert(lines.end(), kHeadRows - 1, TopLine{}), void();
  std::string totals = std::string(trim(render_totals(data_.totals, style(now))));
  if (!filter_.empty()) totals += fmt::format("; {} with \"{}\"", rows_.size(), filter_);
  lines.push_back(
      {{fit(totals, size_.columns), data_.totals.down() != 0 ? TopAppearance::Failed : TopAppearance::Plain}});
  lines.push_back({{fit(rates_text(rates_, data_.daemon, style(now)), size_.columns), TopAppearance::Plain}});
}

/// The titles of the list, and behind them how many services are above and below what is visible, which counts for more
/// where there is no room for both.
TopLine Top::titles(TopLine line, std::size_t below) const {
  if (first_ == 0 && below == 0) return line;
  const auto note = [&](std::string_view more) {
    const std::string above = first_ == 0 ? "" : fmt::format("{}{} above", first_, more);
    return below == 0 ? above : fmt::format("{}{}{}{} below", above, first_ == 0 ? "" : ", ", below, more);
  };
  std::string left;
  for (const TopPiece& piece : line) left += piece.text;
  left.erase(left.find_last_not_of(' ') + 1);
  for (const std::string_view more : {" more", ""}) {
    const std::string text = note(more);
    if (left.size() + 2 + text.size() <= size_.columns)
      return {{pad(left, size_.columns - text.size()) + text, TopAppearance::Title}};
  }
  return {{pad(fit(note(""), size_.columns), size_.columns), TopAppearance::Title}};
}

void Top::add_services(std::vector<TopLine>& lines, std::size_t rows, WallTime now) const {
  const std::size_t end = std::min(rows_.size(), first_ + rows);
  std::size_t longest = 7;  // SERVICE
  for (std::size_t i = first_; i < end; ++i)
    longest = std::max(longest, display_width(printable(data_.services[rows_[i]].name)));
  const Columns columns = columns_of(size_.columns, longest);
  const auto cell = [this](std::string_view text, std::size_t width) { return pad(fit(text, width), width); };
  const auto line = [&](std::string_view name, std::string_view state, std::string_view lasted, std::string_view next,
                        std::string_view what, TopAppearance appearance, TopAppearance state_appearance) {
    TopLine pieces{{cell(name, columns.name), appearance}};
    const auto add = [&](std::string_view text, std::size_t width, TopAppearance one) {
      if (width == 0) return;
      pieces.push_back({" ", appearance == TopAppearance::Chosen || appearance == TopAppearance::Title
                                 ? appearance
                                 : TopAppearance::Plain});
      pieces.push_back({cell(text, width), one});
    };
    add(state, columns.state, state_appearance);
    add(lasted, columns.lasted, appearance);
    add(next, columns.next, appearance);
    add(what, columns.what, appearance);
    return pieces;
  };
  lines.push_back(titles(line("SERVICE", "STATE", "FOR", "NEXT", "WHAT", TopAppearance::Title, TopAppearance::Title),
                         rows_.size() - end));
  if (known_ && rows_.empty() && rows > 0)
    lines.push_back(
        {{fit(data_.services.empty() ? "no services" : "none with this name or state: Esc shows all", size_.columns),
          TopAppearance::Faint}});
  const Style text_style = style(now);
  for (std::size_t i = first_; i < end; ++i) {
    const ServiceSummary& service = data_.services[rows_[i]];
    const TopAppearance state =
        service.dying && service.state == "running" ? TopAppearance::Failing : appearance_of(service.state);
    const TopAppearance appearance = i == place_ ? TopAppearance::Chosen : TopAppearance::Plain;
    lines.push_back(line(printable(service.name), printable(service.state),
                         service.since ? lasting(*service.since, text_style) : "",
                         service.next_run ? whole_seconds(*service.next_run) : "", printable(service.text), appearance,
                         appearance == TopAppearance::Chosen ? appearance : state));
  }
  for (std::size_t i = std::max<std::size_t>(end - first_, rows_.empty() && known_ ? 1 : 0); i < rows; ++i)
    lines.emplace_back();
}

void Top::add_jobs(std::vector<TopLine>& lines, std::size_t rows) const {
  if (rows == 0) return;
  std::string title = fmt::format("UNDER WAY: {}", data_.jobs.size());
  lines.push_back({{pad(fit(title, size_.columns), size_.columns), TopAppearance::Title}});
  for (std::size_t i = 0; i < rows; ++i) {
    const JobView& job = data_.jobs[i];
    // The number first: people type it, and the end of a line may be cut off.
    std::string text = fmt::format("{}  {} {}, for {}: ", job.id, job.kind, job.service, full_seconds(job.age));
    if (job.steps > 1) text += fmt::format("step {} of {}, ", job.step, job.steps);
    text += fmt::format("{}, waits for {}", job.doing, job.waits_for);
    if (job.left) text += fmt::format(" (at most {} more)", whole_seconds(*job.left));
    lines.push_back({{fit(printable(text), size_.columns)}});
  }
}

void Top::add_records(std::vector<TopLine>& lines, std::size_t rows, WallTime now) const {
  if (rows == 0) return;
  lines.push_back({{pad(fit("LAST", size_.columns), size_.columns), TopAppearance::Title}});
  for (std::size_t i = records_.size() - rows; i < records_.size(); ++i) {
    const RecordView& record = data_.records[records_[i]];
    const std::string text = fmt::format("{:>9}  {}: {}", ago(record.when, style(now)),
                                         record.service.empty() ? "healer" : record.service, trim(record.text));
    lines.push_back({{fit(printable(text), size_.columns), appearance_of(record.severity)}});
  }
}

TopLine Top::foot() const {
  const auto line = [this](std::string_view text, TopAppearance appearance) {
    return TopLine{{fit(text, size_.columns), appearance}};
  };
  switch (mode_) {
    case Mode::Question:
      return line(fmt::format("{} {}? y does it, any other key does not", to_string(asked_), printable(chosen_)),
                  TopAppearance::Strong);
    case Mode::Filter: return line(fmt::format("/{}_", filter_), TopAppearance::Strong);
    case Mode::Pause:
      return line(fmt::format("pause {} for how long (such as 2 hours; nothing: until it is resumed): {}_",
                              printable(chosen_), typed_),
                  TopAppearance::Strong);
    case Mode::List:
    case Mode::Pane: break;
  }
  if (!message_.empty())
    return line(printable(message_), message_good_ ? TopAppearance::Strong : TopAppearance::Failed);
  return line("? help  q leave  / filter  Enter explain  o output  s start  t stop  r restart", TopAppearance::Faint);
}

std::string render_top(const TopData& data, const Style& style) {
  std::vector<ServiceSummary> sorted;
  sorted.reserve(data.services.size());
  for (const std::uint32_t i : top_order(data.services, TopOrder::State, "")) sorted.push_back(data.services[i]);
  std::string text = render_summary(data.daemon, sorted, data.totals, style);
  DaemonView daemon = data.daemon;  // why mails wait is said above
  daemon.mail.reset();
  daemon.contacts.clear();
  text += hanging("", rates_text(top_rates({}, data.daemon), daemon, style), style);
  text += "\nUNDER WAY\n" + render_jobs(data.jobs, style);
  if (!data.records.empty()) text += "\nLAST\n";
  for (const RecordView& record : data.records) text += render_record(record, style);
  return text;
}

}  // namespace healer::control
