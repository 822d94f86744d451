// SPDX-License-Identifier: MIT
// The live view of `healerctl top`, without its terminal: what is shown, what a key does, and the frame to draw.
//
// Top is a value that is told what the daemon answered (take), that it does not (lost), how large the terminal is
// (resize) and what was typed (press); it hands back what is to be asked, and frame() is what to show: lines of pieces,
// none wider than the terminal. Only what is visible is looked at when a frame is made. Pure; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "control/wire.hpp"
#include "ctl/render/render.hpp"

namespace healer::control {

/// One answer about everything.
struct TopData {
  DaemonView daemon;
  std::vector<ServiceSummary> services;  ///< in the order of the rules files
  Totals totals;
  std::vector<JobView> jobs;
  std::vector<RecordView> records;  ///< newest last
};

/// What a daemon did a second: between two answers of it, or, from one alone, since it started.
struct TopRates {
  double runs = 0;
  double changes = 0;
  double deaths = 0;
  double programs = 0;
  double mails = 0;
  bool average = true;  ///< since the start
};

/// By what `now` tells and, where `before` is of the same daemon and earlier, since then.
[[nodiscard]] TopRates top_rates(const std::optional<DaemonView>& before, const DaemonView& now);

enum class TopOrder : std::uint8_t { State, Name, Files, Next };

/// Numbers into `services`, in this order; those whose name or state has `filter` in it, in any case.
[[nodiscard]] std::vector<std::uint32_t> top_order(const std::vector<ServiceSummary>& services, TopOrder order,
                                                   std::string_view filter);

/// What a piece of a line looks like; the terminal knows how.
enum class TopAppearance : std::uint8_t { Plain, Strong, Title, Chosen, Failed, Failing, Running, Waiting, Faint };

struct TopPiece {
  std::string text;  ///< printable
  TopAppearance appearance = TopAppearance::Plain;
};
using TopLine = std::vector<TopPiece>;

struct TopSize {
  std::size_t rows = 24;
  std::size_t columns = 80;
};

struct TopKey {
  enum class Kind : std::uint8_t { Text, Up, Down, PageUp, PageDown, Home, End, Enter, Escape, Erase };
  Kind kind = Kind::Text;
  std::string text{};  ///< Text: one character
};

/// What a key asks for.
struct TopIntent {
  enum class Kind : std::uint8_t {
    Quit,
    Refresh,  ///< ask now
    Act,      ///< send `request`; done() or failed() says how it went
    Show,     ///< send `request`; its answer goes to explained() or written()
    Close     ///< what Show asked for is not wanted any more
  };
  Kind kind = Kind::Quit;
  Request request{};
};

class Top {
 public:
  explicit Top(Duration interval, bool unicode, CivilClock civil = utc_civil)
      : interval_(interval), unicode_(unicode), civil_(std::move(civil)) {}

  // What the daemon says.
  void take(TopData data, WallTime now);
  /// It does not answer. What was known is still shown, and said to be old.
  void lost(const Failure& failure);
  [[nodiscard]] bool is_lost() const { return !lost_.empty(); }
  /// What a Show was answered.
  void explained(const ServiceExplanation& explanation, const CivilClock& civil, WallTime now);
  void written(const OutputView& part);
  /// A Show has come to its end, with a word about why where that is no good one.
  void ended(std::string_view why);
  /// A line about what an Act has come to.
  void tell(std::string text, bool good);

  // The person and the terminal.
  void resize(TopSize size);
  [[nodiscard]] std::optional<TopIntent> press(const TopKey& key);
  /// The service that the marker is on; empty: there is none.
  [[nodiscard]] const std::string& chosen() const { return chosen_; }

  /// As many lines as the terminal has rows.
  [[nodiscard]] std::vector<TopLine> frame(WallTime now) const;

 private:
  enum class Mode : std::uint8_t { List, Filter, Question, Pause, Pane };
  /// What covers the list: an explanation, an output, the help.
  struct Pane {
    std::string title;
    std::string text;
    std::string note;                                 ///< why no more comes
    std::optional<ServiceExplanation> explanation{};  ///< laid out for the width
    WallTime when{};
    CivilClock civil = utc_civil;
    std::vector<std::string> lines{};  ///< of the text, no wider than the terminal
    std::size_t first = 0;
    bool at_end = false;  ///< goes on with what comes
  };
  /// How the rows are shared out.
  struct Plan {
    std::size_t services = 0;
    std::size_t jobs = 0;
    std::size_t records = 0;
  };

  std::optional<TopIntent> press_list(const TopKey& key);
  std::optional<TopIntent> press_line(const TopKey& key);
  std::optional<TopIntent> press_pane(const TopKey& key);
  std::optional<TopIntent> letter(char letter);
  std::optional<TopIntent> act(Verb verb);
  std::optional<TopIntent> show(Verb verb, const std::string& title);
  bool move(const TopKey& key, std::size_t page, std::size_t size, std::size_t& place) const;
  void arrange();
  void keep_visible();
  void lay_out();
  [[nodiscard]] Plan plan() const;
  [[nodiscard]] Style style(WallTime now) const;
  [[nodiscard]] std::size_t pane_rows() const;

  void add_head(std::vector<TopLine>& lines, WallTime now) const;
  void add_services(std::vector<TopLine>& lines, std::size_t rows, WallTime now) const;
  [[nodiscard]] TopLine titles(TopLine line, std::size_t below) const;
  void add_jobs(std::vector<TopLine>& lines, std::size_t rows) const;
  void add_records(std::vector<TopLine>& lines, std::size_t rows, WallTime now) const;
  [[nodiscard]] TopLine foot() const;
  [[nodiscard]] std::string fit(std::string_view text, std::size_t columns) const;

  Duration interval_;
  bool unicode_;
  CivilClock civil_;
  TopSize size_;
  TopData data_;
  bool known_ = false;  ///< there was an answer
  WallTime taken_{};
  TopRates rates_;
  std::string lost_;
  std::string message_;
  bool message_good_ = true;

  Mode mode_ = Mode::List;
  TopOrder order_ = TopOrder::State;
  std::string filter_;
  std::string before_filter_;
  std::string typed_;  ///< of the length of a pause
  Verb asked_ = Verb::Ping;
  std::vector<std::uint32_t> rows_;     ///< of the list: which services
  std::vector<std::uint32_t> records_;  ///< of what has happened: that of these services
  std::string chosen_;
  std::size_t place_ = 0;     ///< of the chosen one in `rows_`
  std::size_t first_ = 0;     ///< visible
  std::size_t scrolled_ = 0;  ///< what the person's moves have made the first visible one; 0 again for another list
  Pane pane_;
};

/// What the keys do.
[[nodiscard]] std::string_view top_help();

/// One answer as plain text, for a pipe or a file.
[[nodiscard]] std::string render_top(const TopData& data, const Style& style);

}  // namespace healer::control
