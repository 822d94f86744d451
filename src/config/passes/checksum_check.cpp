// SPDX-License-Identifier: MIT
// Checksums that rules compare with: whether they have the digits of their algorithm.
#include <string_view>

#include <spdlog/fmt/fmt.h>

#include "config/passes/passes.hpp"
#include "protocols/digest.hpp"
#include "util/text.hpp"

namespace healer::config {

void check_checksum(std::string_view words, const Word& sum, Diagnostics& diagnostics) {
  const std::string_view type = words.substr(0, words.find(' '));
  const std::size_t wanted = protocols::find_checksum(type)->digits;
  if (!protocols::is_hex(sum.value) || sum.value.size() != wanted)
    report(diagnostics, DiagnosticSeverity::Error, Code::InvalidValue, sum.range,
           fmt::format("{} is not a valid {} checksum", in_quotes(sum.value), type),
           fmt::format("it has {} hexadecimal digits", wanted));
}

void check_checksum(const Rare<Word>& written, const Word& sum, Diagnostics& diagnostics) {
  const std::size_t size = sum.value.size();
  std::size_t wanted = size == 40 || size == 64 ? size : 32;
  std::string_view type = "checksum";
  if (written && iequals(written->value, "md5")) wanted = 32, type = "MD5 checksum";
  if (written && iequals(written->value, "sha1")) wanted = 40, type = "SHA1 checksum";
  if (written && iequals(written->value, "sha256")) wanted = 64, type = "SHA256 checksum";
  if (!protocols::is_hex(sum.value) || size != wanted)
    report(diagnostics, DiagnosticSeverity::Error, Code::InvalidValue, sum.range,
           fmt::format("{} is not a valid {}", in_quotes(sum.value), type),
           written ? fmt::format("it has {} hexadecimal digits", wanted)
                   : "MD5 has 32 hexadecimal digits, SHA1 40, SHA256 64");
}

}  // namespace healer::config
