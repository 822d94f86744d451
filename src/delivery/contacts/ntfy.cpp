// SPDX-License-Identifier: MIT
// set contact NAME ntfy "https://ntfy.example/ops" [token "${secret:ntfy}"]: pushed to telephones. JSON is posted to
// the address without its last part, which is the topic (docs.ntfy.sh/publish).
#include <array>

#include <spdlog/fmt/fmt.h>

#include "delivery/contact.hpp"
#include "engine/words/cause.hpp"
#include "util/jq.hpp"
#include "util/text.hpp"

namespace healer::delivery {
namespace {

constexpr std::size_t kMostOfMessage = 3'800;  // bytes; a longer one, of over 4096, would be shown as a file

constexpr std::array kSettings{Setting{.name = "token", .is_secret = true, .place = Format::Header}};

/// The address without the topic, and the topic.
std::pair<std::string_view, std::string_view> split_topic(std::string_view place) {
  const std::size_t slash = place.rfind('/');
  const std::size_t host = place.find("://");
  if (slash == std::string_view::npos || host == std::string_view::npos || slash < host + 3) return {place, {}};
  return {place.substr(0, slash + 1), place.substr(slash + 1)};
}

std::string problem_of_ntfy(std::string_view place) {
  const std::string_view topic = split_topic(place).second;
  if (topic.empty()) return "the address needs a topic as its last part, as in https://ntfy.example/ops";
  return topic.find_first_of("?#$") == std::string_view::npos
             ? ""
             : "the last part of the address is the topic, which has letters, digits, '-' and '_'";
}

/// At most so many bytes, none of a character cut in two.
std::string_view shortened(std::string_view text) {
  std::size_t size = 0;
  while (size < text.size()) {
    const std::size_t next = size + std::max<std::size_t>(utf8_length(text.substr(size)), 1);
    if (next > kMostOfMessage) break;
    size = next;
  }
  return text.substr(0, size);
}

int priority_of(const Letter& letter) {
  // That healer has died, or could not tell somebody, is a change of healer's own.
  if (letter.state == "failed" || letter.is_of_loss || letter.event == engine::kHealerDied) return 4;
  return letter.state == "reminder" || letter.state == "changed" ? 3 : 2;
}

Parcel compose_ntfy(const engine::Contact& contact, const Letter& letter, const Values& values) {
  const auto [address, topic] = split_topic(contact.place);
  std::string body =
      fmt::format(R"({{"topic": {}, "title": {}, "message": {}, "priority": {}, "tags": [{}])", json_string(topic),
                  json_string(fmt::format("{} on {}", subject_of(letter), values.at("HOST"))),
                  json_string(shortened(letter.description)), priority_of(letter), json_string(letter.state));
  if (const std::string& url = values.at("URL"); !url.empty())
    body += fmt::format(R"(, "click": {})", json_string(url));
  Parcel parcel{.url = render(address, values, Format::Url), .body = {{.text = body + "}"}}};
  if (const std::string_view token = setting_of(contact, "token"); !token.empty())
    parcel.headers.push_back(render(fmt::format("Authorization: Bearer {}", token), values, Format::Header));
  return parcel;
}

}  // namespace

extern const Kind ntfy_contact;
const Kind ntfy_contact{.name = "ntfy",
                        .place = "the address of a topic",
                        .is_place_needed = true,
                        .settings = kSettings,
                        .problem = problem_of_ntfy,
                        .compose = compose_ntfy};

}  // namespace healer::delivery
