// SPDX-License-Identifier: MIT
#include "delivery/template.hpp"

#include <algorithm>
#include <array>

#include "engine/healing/variables.hpp"
#include "util/jq.hpp"
#include "util/percent.hpp"
#include "util/text.hpp"

namespace healer::delivery {
namespace {

constexpr std::array<std::string_view, 10> kNames{"EVENT", "SERVICE",     "HOST",   "DATE", "ACTION",
                                                  "STATE", "DESCRIPTION", "REASON", "URL",  "INCIDENT"};

/// What no value of an alert is, and any of them may be like.
constexpr std::string_view kSample = "a \"b\"\n\\c 'd' \xC3\xA9 &=%";

bool is_control_character(char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7F; }

std::string written_value(Format format, const std::string& value) {
  switch (format) {
    case Format::Json: {
      const std::string quoted = json_string(value);
      return quoted.substr(1, quoted.size() - 2);
    }
    case Format::Form:
    case Format::Url: return percent_encoded(value);
    case Format::Raw: return value;
    case Format::Header: break;
  }
  std::string line = value;
  std::ranges::replace_if(line, is_control_character, ' ');
  return line;
}

}  // namespace

std::span<const std::string_view> template_names() { return kNames; }

Format body_format(const std::vector<std::string>& headers) {
  for (const std::string& header : headers) {
    const std::size_t colon = header.find(':');
    if (colon == std::string::npos || !iequals(trim(std::string_view(header).substr(0, colon)), "content-type"))
      continue;
    const std::string type = to_lower(header.substr(colon + 1));
    if (type.find("json") != std::string::npos) return Format::Json;
    return type.find("x-www-form-urlencoded") != std::string::npos ? Format::Form : Format::Raw;
  }
  return Format::Json;
}

Text render(std::string_view text, const Values& values, Format format) {
  Values known = values;
  for (const std::string_view name : kNames) known.try_emplace(std::string(name));
  return engine::fill_parts(text, known,
                            [format](std::string_view, const std::string& value) {
                              return std::optional(written_value(format, value));
                            })
      .parts;
}

std::optional<std::string> written_secret(Format format, const std::string& secret, bool begins) {
  if ((format == Format::Url || format == Format::Header) && engine::has_controls(secret)) return std::nullopt;
  if (format == Format::Url && begins) return secret;
  return written_value(format, secret);
}

std::string with_samples(std::string_view text, Format format) {
  Values samples;
  for (const std::string_view name : kNames) samples.emplace(name, kSample);
  std::string whole;
  for (const auto& [part, is_secret] : render(text, samples, format))
    whole += is_secret ? written_value(format, std::string(kSample)) : part;
  return whole;
}

}  // namespace healer::delivery
