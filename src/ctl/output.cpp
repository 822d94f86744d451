// SPDX-License-Identifier: MIT
#include "ctl/output.hpp"

#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <clocale>
#include <cstdio>
#include <cstdlib>

#include <nlohmann/json.hpp>

#include "ctl/diagnostics.hpp"
#include "runtime/clock.hpp"
#include "util/text.hpp"

namespace healer {
namespace {

bool set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

bool wants_colour(const OutputOptions& options, int descriptor) {
  if (options.colour) return true;
  if (options.no_colour || set("NO_COLOR")) return false;
  const char* terminal = std::getenv("TERM");
  return isatty(descriptor) == 1 && terminal != nullptr && std::string_view(terminal) != "dumb";
}

/// Columns of the terminal; 0 where there is none.
std::size_t terminal_width() {
  if (isatty(STDOUT_FILENO) != 1) return 0;
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

/// The fields of an object without its braces.
std::string fields(const control::Json& object) {
  const std::string text = control::to_line(object);
  return text.substr(1, text.size() - 2);
}

}  // namespace

Output::Output(const OutputOptions& options) : options_(options) {
  std::setlocale(LC_CTYPE, "");
  style_.width = terminal_width();
  style_.colour = wants_colour(options, STDOUT_FILENO);
  style_.unicode = std::string_view(nl_langinfo(CODESET)) == "UTF-8";
  style_.civil = runtime::local_civil;
}

control::Style Output::style() const {
  control::Style style = style_;
  style.now = runtime::now().wall;
  return style;
}

void Output::print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void Output::flush() { std::fflush(stdout); }

void Output::open_list(const control::Json& head, std::string_view name) {
  print("{" + fields(head) + ",\"" + std::string(name) + "\":[");
  list_open_ = true;
  first_ = true;
}

void Output::item(const control::Json& json) {
  print(first_ ? "\n" : ",\n");
  print(control::to_line(json));
  first_ = false;
}

void Output::close_list(const control::Json& tail) {
  print(first_ ? "]" : "\n]");
  if (!tail.empty()) print("," + fields(tail));
  print("}\n");
  list_open_ = false;
}

int Output::fail(const control::Failure& failure) {
  if (!options_.json) {
    std::fflush(stdout);
    control::Style style = style_;
    style.colour = wants_colour(options_, STDERR_FILENO);
    control::Failure rest = failure;
    if (!failure.diagnostics.empty()) {
      std::fputs(diagnostics_text(failure.diagnostics, style.colour).c_str(), stderr);
      rest.message = after_diagnostics(failure.message, failure.diagnostics.size());
      if (trim(rest.message).empty()) rest.message = "the rules have errors";
    }
    std::fputs(control::render_failure(rest, style).c_str(), stderr);
  } else if (list_open_) {
    close_list({{"error", failure}});
  } else {
    print(control::error_line(failure));
  }
  const bool unreachable = failure.code == "not-running" || failure.code == "permission" || failure.code == "connect" ||
                           failure.code == "timeout" || failure.code == "closed" || failure.code == "protocol";
  return finish(unreachable ? kExitUsage : kExitFailed);
}

int Output::finish(int status) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  std::perror("healerctl: cannot write the output");
  return kExitFailed;
}

}  // namespace healer
