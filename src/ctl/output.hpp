// SPDX-License-Identifier: MIT
// Where healerctl prints: the terminal's looks, the --json documents, the errors. One a process.
#pragma once

#include <string>
#include <string_view>

#include "control/wire.hpp"
#include "ctl/render/render.hpp"

namespace healer {

inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;  ///< also: healerd cannot be reached

struct OutputOptions {
  bool json = false;
  bool colour = false;     ///< --color
  bool no_colour = false;  ///< --no-color
};

class Output {
 public:
  explicit Output(const OutputOptions& options);

  [[nodiscard]] bool json() const { return options_.json; }
  /// How to render for standard output, with the present time.
  [[nodiscard]] control::Style style() const;

  /// Writes `text` as it is. A reader that has gone ends the process, as usual in a pipe.
  void print(std::string_view text);
  /// Sends what was printed on its way, for output that goes on.
  void flush();

  /// Opens a --json document with the fields of `head` and a list under `name`, whose elements item() adds.
  void open_list(const control::Json& head, std::string_view name);
  void item(const control::Json& json);
  /// Ends the list, adds the fields of `tail` and ends the document.
  void close_list(const control::Json& tail);

  /// Tells why: as text on standard error, or as (the end of) the --json document. Returns the exit status.
  int fail(const control::Failure& failure);
  /// Ends the output. Returns `status`, or kExitFailed where not all could be written.
  int finish(int status);

 private:
  OutputOptions options_;
  control::Style style_;
  bool list_open_ = false;
  bool first_ = true;
};

}  // namespace healer
