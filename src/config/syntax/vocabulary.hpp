// SPDX-License-Identifier: MIT
// Words with a closed set of values, and what they stand for: one table each, from which checks, messages, the
// compiler and the printer all come.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "config/syntax/syntax.hpp"
#include "engine/rules/comparison.hpp"
#include "engine/rules/event_kind.hpp"
#include "engine/rules/schedule.hpp"
#include "engine/rules/settings.hpp"

namespace healer::config {

/// In the order of engine::ServiceBlock::OnReboot.
inline constexpr std::array<std::string_view, 3> kRebootPolicies{"start", "nostart", "laststate"};
/// By its word, in any case; Start where there is none.
[[nodiscard]] engine::OnReboot reboot_policy(std::string_view word);
inline constexpr std::array<std::string_view, 10> kFacilities{"log_user",   "log_daemon", "log_local0", "log_local1",
                                                              "log_local2", "log_local3", "log_local4", "log_local5",
                                                              "log_local6", "log_local7"};
/// One of `set limits`: a size or a duration.
struct Limit {
  std::string_view name;
  std::uint32_t engine::Limits::*size = nullptr;
  Duration engine::Limits::*time = nullptr;
};
inline constexpr std::array<Limit, 10> kLimits{{{"programOutput", &engine::Limits::program_output, nullptr},
                                                {"sendExpectBuffer", &engine::Limits::send_expect_buffer, nullptr},
                                                {"fileContentBuffer", &engine::Limits::file_content_buffer, nullptr},
                                                {"httpContentBuffer", &engine::Limits::http_content_buffer, nullptr},
                                                {"networkTimeout", nullptr, &engine::Limits::network_timeout},
                                                {"programTimeout", nullptr, &engine::Limits::program_timeout},
                                                {"stopTimeout", nullptr, &engine::Limits::stop_timeout},
                                                {"startTimeout", nullptr, &engine::Limits::start_timeout},
                                                {"restartTimeout", nullptr, &engine::Limits::restart_timeout},
                                                {"execTimeout", nullptr, &engine::Limits::exec_timeout}}};
/// The limit of that name, any case; null where there is none.
[[nodiscard]] const Limit* find_limit(std::string_view name);

/// No size may be larger: what is kept of a program's output is kept for every service.
inline constexpr std::uint64_t kMaxSize = std::uint64_t{16} << 20;
/// No duration may be longer: sums of them must not overflow.
inline constexpr Duration kMaxDuration = days{3650};

/// No schedule may have more cycles between its runs, for the same reason.
inline constexpr std::uint64_t kMaxEvery = 1'000'000;

/// The signal of that name, with or without SIG, any case, or of that number; nothing where there is none.
[[nodiscard]] std::optional<int> signal_number(std::string_view written);
/// "TERM"; the number where it has no name.
[[nodiscard]] std::string signal_name(int number);
/// The name most like a text, or nothing.
[[nodiscard]] std::string_view nearest_signal(std::string_view written);

/// The kind of event of that name in alert filters, any case.
[[nodiscard]] std::optional<engine::EventKind> event_kind(std::string_view name);
[[nodiscard]] std::span<const std::string_view> event_names();

/// `!=` for NotEqual and so on.
[[nodiscard]] std::string_view to_symbol(engine::Comparison comparison);

/// "90 seconds", "2 minutes": exact, in the language's words.
[[nodiscard]] std::string written(Duration duration);
/// "512 B", "3 kB": exact, in the language's words.
[[nodiscard]] std::string written_size(std::uint64_t bytes);
/// Text between quotes that the language reads back, double ones where possible.
[[nodiscard]] std::string written_text(std::string_view text);
/// A name (of a service, a group), or a path, that is written without quotes where the language reads it back so, else
/// in quotes.
[[nodiscard]] std::string written_word(std::string_view text);
/// The same of a user, a group, a host: where a word of the language would not be read as text.
[[nodiscard]] std::string written_string(std::string_view text);
/// What is said of TLS, name by name; a version in the place of `ssl` first.
[[nodiscard]] engine::TlsOptions tls_options(const TlsSyntax& tls);
/// `{ version: tlsv12 verify: enable }`
[[nodiscard]] std::string written(const engine::TlsOptions& options);
/// A command line in double quotes; arguments with blanks in single quotes.
[[nodiscard]] std::string written(const std::vector<std::string>& arguments);
/// " as uid U and gid G", or nothing.
[[nodiscard]] std::string written(const engine::Identity& identity);

}  // namespace healer::config
