// SPDX-License-Identifier: MIT
// What Top is told, and what a key does. How it looks is in control/top_frame.cpp.
#include "ctl/render/top_view.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "ctl/render/render_text.hpp"
#include "util/text.hpp"

namespace healer::control {
namespace {

constexpr std::size_t kMostOutput = 256 * 1024;  // bytes of a program's output that are kept

/// What needs a person comes first.
int urgency(const ServiceSummary& service) {
  if (is_down(service.state)) return 0;
  if (service.dying) return 1;
  if (service.state == "failing" || service.state == "unknown") return 2;
  if (service.state == "initialising") return 3;
  return service.state == "unmonitored" ? 5 : 4;
}

bool contains(std::string_view text, std::string_view lower) { return to_lower(text).find(lower) != std::string::npos; }

/// Takes the last character off.
void erase_last(std::string& text) {
  while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xC0U) == 0x80U) text.pop_back();
  if (!text.empty()) text.pop_back();
}

}  // namespace

TopRates top_rates(const std::optional<DaemonView>& before, const DaemonView& now) {
  const bool same = before && before->pid == now.pid && before->up < now.up;
  const CountsView then = same ? before->counts : CountsView{};
  const double span = std::chrono::duration<double>(same ? now.up - before->up : now.up).count();
  const auto rate = [span](std::uint64_t last, std::uint64_t first) {
    return span <= 0 || last < first ? 0 : static_cast<double>(last - first) / span;
  };
  return {.runs = rate(now.counts.runs, then.runs),
          .changes = rate(now.counts.changes, then.changes),
          .deaths = rate(now.counts.deaths, then.deaths),
          .programs = rate(now.counts.programs, then.programs),
          .mails = rate(now.counts.mails, then.mails),
          .average = !same};
}

std::vector<std::uint32_t> top_order(const std::vector<ServiceSummary>& services, TopOrder order,
                                     std::string_view filter) {
  const std::string wanted = to_lower(filter);
  std::vector<std::uint32_t> rows;
  rows.reserve(services.size());
  for (std::uint32_t i = 0; i < services.size(); ++i)
    if (wanted.empty() || contains(services[i].name, wanted) || contains(services[i].state, wanted)) rows.push_back(i);
  switch (order) {
    case TopOrder::Files: break;
    case TopOrder::State:
      std::ranges::stable_sort(rows, {}, [&](std::uint32_t i) { return urgency(services[i]); });
      break;
    case TopOrder::Name:
      std::ranges::stable_sort(rows, {}, [&](std::uint32_t i) { return std::string_view(services[i].name); });
      break;
    case TopOrder::Next:
      std::ranges::stable_sort(rows, {}, [&](std::uint32_t i) {
        const auto& next = services[i].next_run;
        return std::pair(!next, next.value_or(Duration{0}));
      });
      break;
  }
  return rows;
}

// ---- what the daemon says -------------------------------------------------------------------------------------------

void Top::take(TopData data, WallTime now) {
  const bool other = known_ && (data_.daemon.pid != data.daemon.pid || data_.daemon.up > data.daemon.up);
  if (other)
    tell(fmt::format("healerd was started again, as process {}", data.daemon.pid), true);
  else if (!lost_.empty() && known_)
    tell("healerd answers again", true);
  lost_.clear();
  rates_ = top_rates(known_ ? std::optional(data_.daemon) : std::nullopt, data.daemon);
  data_ = std::move(data);
  known_ = true;
  taken_ = now;
  arrange();
}

void Top::lost(const Failure& failure) { lost_ = failure.message; }

void Top::explained(const ServiceExplanation& explanation, const CivilClock& civil, WallTime now) {
  pane_.explanation = explanation;
  pane_.civil = civil;
  pane_.when = now;
  lay_out();
}

void Top::written(const OutputView& part) {
  pane_.note = printable(part.waits_for.empty() ? part.doing : part.doing + ", waits for " + part.waits_for);
  pane_.text += part.text;
  if (pane_.text.size() > kMostOutput) {
    const std::size_t cut = pane_.text.find('\n', pane_.text.size() - kMostOutput);
    pane_.text.erase(0, cut == std::string::npos ? pane_.text.size() - kMostOutput : cut + 1);
  }
  lay_out();
}

void Top::ended(std::string_view why) {
  pane_.note = printable(why);
  lay_out();
}

void Top::tell(std::string text, bool good) {
  message_ = std::move(text);
  message_good_ = good;
}

// ---- the list -------------------------------------------------------------------------------------------------------

/// Sorts and filters again; the marker stays on its service, or where that has gone in its place.
void Top::arrange() {
  rows_ = top_order(data_.services, order_, filter_);
  // What has happened to the services that are shown; healer's own as long as all are.
  std::set<std::string_view> shown;
  for (const std::uint32_t row : rows_) shown.insert(data_.services[row].name);
  records_.clear();
  for (std::uint32_t i = 0; i < data_.records.size(); ++i)
    if (filter_.empty() || shown.contains(data_.records[i].service) ||
        contains(data_.records[i].service, to_lower(filter_)))
      records_.push_back(i);
  const auto found = std::ranges::find_if(rows_, [this](std::uint32_t i) { return data_.services[i].name == chosen_; });
  if (found != rows_.end()) place_ = static_cast<std::size_t>(found - rows_.begin());
  keep_visible();
}

/// The window stands where the person's moves have left it, or as near to that as the marker allows: what has pushed it
/// away (a small terminal, more that is under way, more that has failed) may go again.
void Top::keep_visible() {
  place_ = rows_.empty() ? 0 : std::min(place_, rows_.size() - 1);
  chosen_ = rows_.empty() ? std::string{} : data_.services[rows_[place_]].name;
  const std::size_t visible = std::max<std::size_t>(plan().services, 1);
  first_ = scrolled_;
  if (place_ < first_) first_ = place_;
  if (place_ >= first_ + visible) first_ = place_ + 1 - visible;
  first_ = std::min(first_, rows_.size() - std::min(rows_.size(), visible));
}

void Top::resize(TopSize size) {
  size_ = size;
  scrolled_ = 0;
  keep_visible();
  lay_out();
}

// ---- keys -----------------------------------------------------------------------------------------------------------

std::optional<TopIntent> Top::press(const TopKey& key) {
  switch (mode_) {
    case Mode::List: return press_list(key);
    case Mode::Pane: return press_pane(key);
    case Mode::Filter:
    case Mode::Pause: return press_line(key);
    case Mode::Question: break;
  }
  mode_ = Mode::List;
  if (key.kind == TopKey::Kind::Text && (key.text == "y" || key.text == "Y")) return act(asked_);
  tell("nothing was done", true);
  return std::nullopt;
}

/// Whether the key moves; then `place`, of so many, has moved.
bool Top::move(const TopKey& key, std::size_t page, std::size_t size, std::size_t& place) const {
  using Kind = TopKey::Kind;
  Kind kind = key.kind;
  if (kind == Kind::Text)
    kind = key.text == "k"   ? Kind::Up
           : key.text == "j" ? Kind::Down
           : key.text == "g" ? Kind::Home
           : key.text == "G" ? Kind::End
                             : kind;
  const std::size_t last = size == 0 ? 0 : size - 1;
  switch (kind) {
    case Kind::Up: place -= std::min<std::size_t>(place, 1); return true;
    case Kind::Down: place = std::min(place + 1, last); return true;
    case Kind::PageUp: place -= std::min(place, page); return true;
    case Kind::PageDown: place = std::min(place + page, last); return true;
    case Kind::Home: place = 0; return true;
    case Kind::End: place = last; return true;
    case Kind::Text:
    case Kind::Enter:
    case Kind::Escape:
    case Kind::Erase: break;
  }
  return false;
}

std::optional<TopIntent> Top::press_list(const TopKey& key) {
  message_.clear();
  if (move(key, std::max<std::size_t>(plan().services, 1), rows_.size(), place_)) {
    scrolled_ = first_;
    keep_visible();
    scrolled_ = first_;
    return std::nullopt;
  }
  if (key.kind == TopKey::Kind::Enter) return show(Verb::Explain, fmt::format("explain {}", chosen_));
  if (key.kind == TopKey::Kind::Escape) {
    filter_.clear();
    scrolled_ = 0;
    arrange();
  }
  return key.text.size() == 1 ? letter(key.text.front()) : std::nullopt;
}

std::optional<TopIntent> Top::letter(char letter) {
  const auto ask_first = [this](Verb verb) {
    if (chosen_.empty()) return;
    asked_ = verb;
    mode_ = Mode::Question;
  };
  switch (letter) {
    case 'q': return TopIntent{.kind = TopIntent::Kind::Quit};
    case ' ': return TopIntent{.kind = TopIntent::Kind::Refresh};
    case 's': ask_first(Verb::Start); break;
    case 't': ask_first(Verb::Stop); break;
    case 'r': ask_first(Verb::Restart); break;
    case 'm': return act(Verb::Monitor);
    case 'u': return act(Verb::Unmonitor);
    case 'P': return act(Verb::Resume);
    case 'o': return show(Verb::Output, fmt::format("output of {}", chosen_));
    case 'p':
      if (chosen_.empty()) break;
      typed_.clear();
      mode_ = Mode::Pause;
      break;
    case '/':
      before_filter_ = filter_;
      mode_ = Mode::Filter;
      break;
    case '>':
    case '<': {
      constexpr int kOrders = 4;
      order_ = static_cast<TopOrder>((static_cast<int>(order_) + (letter == '>' ? 1 : kOrders - 1)) % kOrders);
      scrolled_ = 0;
      arrange();
      break;
    }
    case '?':
      pane_ = Pane{.title = "help", .text = std::string(top_help()), .note = {}};
      mode_ = Mode::Pane;
      lay_out();
      break;
    default: tell("? shows what the keys do", true);
  }
  return std::nullopt;
}

/// The filter, or how long a pause shall last, is typed.
std::optional<TopIntent> Top::press_line(const TopKey& key) {
  std::string& text = mode_ == Mode::Filter ? filter_ : typed_;
  const bool filters = mode_ == Mode::Filter;
  switch (key.kind) {
    case TopKey::Kind::Text: text += printable(key.text); break;
    case TopKey::Kind::Erase: erase_last(text); break;
    case TopKey::Kind::Escape:
      mode_ = Mode::List;
      if (filters) filter_ = before_filter_;
      break;
    case TopKey::Kind::Enter:
      mode_ = Mode::List;
      if (!filters) return act(Verb::Pause);
      break;
    default: break;  // a line has no places to move to
  }
  if (filters) {
    scrolled_ = 0;
    arrange();
  }
  return std::nullopt;
}

std::optional<TopIntent> Top::press_pane(const TopKey& key) {
  const std::size_t rows = pane_rows();
  const std::size_t places = pane_.lines.size() - std::min(pane_.lines.size(), rows) + 1;
  if (move(key, rows, places, pane_.first)) {
    pane_.at_end = pane_.first + 1 == places && pane_.explanation == std::nullopt;
    return std::nullopt;
  }
  const bool leaves = key.kind == TopKey::Kind::Escape || key.kind == TopKey::Kind::Enter || key.text == "q";
  if (!leaves) return std::nullopt;
  mode_ = Mode::List;
  pane_ = {};
  return TopIntent{.kind = TopIntent::Kind::Close};
}

std::optional<TopIntent> Top::act(Verb verb) {
  if (chosen_.empty()) return std::nullopt;
  TopIntent intent{.kind = TopIntent::Kind::Act, .request = {.verb = verb, .names = {chosen_}}};
  if (verb == Verb::Pause && !trim(typed_).empty()) {
    intent.request.span = parse_duration(typed_);
    if (!intent.request.span || *intent.request.span == Duration{0}) {
      tell(fmt::format("\"{}\" is not a duration (such as 2 hours, or 90m): nothing was done", typed_), false);
      return std::nullopt;
    }
  }
  tell(fmt::format("{} {} ...", to_string(verb), chosen_), true);
  return intent;
}

std::optional<TopIntent> Top::show(Verb verb, const std::string& title) {
  if (chosen_.empty()) return std::nullopt;
  const bool follows = verb == Verb::Output;
  pane_ = Pane{.title = title, .text = {}, .note = {}, .at_end = follows};
  mode_ = Mode::Pane;
  return TopIntent{.kind = TopIntent::Kind::Show, .request = {.verb = verb, .names = {chosen_}, .follow = follows}};
}

/// Breaks the text of the pane into lines of the terminal's width.
void Top::lay_out() {
  pane_.lines.clear();
  if (pane_.explanation) {
    Style text_style = style(pane_.when);
    text_style.civil = pane_.civil;
    pane_.text = render_explanation(*pane_.explanation, text_style);
  }
  for (std::string_view rest = pane_.text; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string line = pane_.explanation ? std::string(rest.substr(0, end)) : printable(rest.substr(0, end));
    for (std::string& part : wrap(line, std::max<std::size_t>(size_.columns, 1)))
      pane_.lines.push_back(std::move(part));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  const std::size_t last = pane_.lines.size() - std::min(pane_.lines.size(), pane_rows());
  pane_.first = pane_.at_end ? last : std::min(pane_.first, last);
}

}  // namespace healer::control
