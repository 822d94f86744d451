// SPDX-License-Identifier: MIT
#include "control/wire.hpp"

#include <algorithm>
#include <array>

#include <spdlog/fmt/fmt.h>
#include <nlohmann/json.hpp>

#include "control/wire_fields.hpp"
#include "util/text.hpp"
#include "util/unicode.hpp"

namespace healer::control {
namespace {

using wiring::decode;
using wiring::read;
using wiring::write;

constexpr std::array<std::string_view, static_cast<std::size_t>(Verb::Count_)> kVerbs{
    "ping",   "status",        "summary", "explain",   "history",        "report",         "names",
    "jobs",   "follow",        "output",  "diff",      "healing-status", "healing-report", "lists",
    "open",   "events",        "monitor", "unmonitor", "validate",       "accept",         "start",
    "stop",   "restart",       "pause",   "resume",    "cancel",         "heal",           "approve",
    "reject", "healing-reset", "ack",     "forget",    "beat",           "event",          "reload",
    "quit"};

std::string line(const Json& json) { return to_line(json) + '\n'; }

}  // namespace

std::string_view to_string(Verb verb) { return kVerbs[static_cast<std::size_t>(verb)]; }

Verb verb_of(std::string_view name) { return static_cast<Verb>(std::ranges::find(kVerbs, name) - kVerbs.begin()); }

bool acts(Verb verb) { return verb >= Verb::Monitor; }

void Totals::add(std::string_view state) {
  ++services;
  if (state == "running") ++running;
  if (state == "failing") ++failing;
  if (state == "failed") ++failed;
  if (state == "initialising") ++initialising;
  if (state == "unknown") ++unknown;
  if (state == "unmonitored") ++unmonitored;
  if (state == "given up") ++given_up;
}

void to_json(Json& json, const Request& value) {
  json = Json{{"version", value.version}, {"command", to_string(value.verb)}};
  // Only what is not the default: a request is read by people in traces.
  const Json defaults = write(Request{});
  const Json all = write(value);
  for (const auto& [name, field] : all.items())
    if (defaults[name] != field) json[name] = field;
}
void to_json(Json& json, const Failure& value) { json = write(value); }
void to_json(Json& json, const DaemonView& value) { json = write(value); }
void to_json(Json& json, const ServiceSummary& value) { json = write(value); }
void to_json(Json& json, const ServiceName& value) { json = write(value); }
void to_json(Json& json, const JobView& value) { json = write(value); }
void to_json(Json& json, const EventAnswer& value) { json = write(value); }
void to_json(Json& json, const EventView& value) { json = write(value); }
void to_json(Json& json, const OutputView& value) { json = write(value); }
void to_json(Json& json, const ServiceStatus& value) { json = write(value); }
void to_json(Json& json, const Totals& value) { json = write(value); }
void to_json(Json& json, const RecordView& value) { json = write(value); }
void to_json(Json& json, const GapView& value) {
  json = Json{{"gap", {{"after", value.after}, {"records", value.records}, {"anew", value.anew}}}};
}
void to_json(Json& json, const ServiceExplanation& value) { json = write(value); }
void to_json(Json& json, const Done& value) { json = write(value); }
void to_json(Json& json, const HealingView& value) { json = write(value); }
void to_json(Json& json, const HealingHolds& value) { json = write(value); }
void to_json(Json& json, const WorkflowReport& value) { json = write(value); }

void from_json(const Json& json, Request& value) {
  value.version = json.value("version", kWireVersion);
  value.verb = verb_of(json.at("command").get<std::string>());
  read(json, value);
}
void from_json(const Json& json, Failure& value) { read(json, value); }
void from_json(const Json& json, DaemonView& value) { read(json, value); }
void from_json(const Json& json, ServiceSummary& value) { read(json, value); }
void from_json(const Json& json, ServiceName& value) { read(json, value); }
void from_json(const Json& json, JobView& value) { read(json, value); }
void from_json(const Json& json, EventAnswer& value) { read(json, value); }
void from_json(const Json& json, EventView& value) { read(json, value); }
void from_json(const Json& json, OutputView& value) { read(json, value); }
void from_json(const Json& json, ServiceStatus& value) { read(json, value); }
void from_json(const Json& json, Totals& value) { read(json, value); }
void from_json(const Json& json, RecordView& value) { read(json, value); }
void from_json(const Json& json, GapView& value) {
  const Json& gap = json.at("gap");
  value = {.after = gap.value("after", std::uint64_t{0}),
           .records = gap.value("records", std::uint64_t{0}),
           .anew = gap.value("anew", false)};
}
void from_json(const Json& json, ServiceExplanation& value) { read(json, value); }
void from_json(const Json& json, Done& value) { read(json, value); }
void from_json(const Json& json, HealingView& value) { read(json, value); }
void from_json(const Json& json, HealingHolds& value) { read(json, value); }
void from_json(const Json& json, WorkflowReport& value) { read(json, value); }

std::variant<Request, Failure> parse_request(std::string_view text) {
  const auto bad = [](std::string_view why) {
    return Failure{"bad-request", fmt::format("the request is not understood: {}", why),
                   "send one JSON object on a line, such as {\"version\":1,\"command\":\"ping\"}"};
  };
  try {
    const Json json = Json::parse(text, nullptr, false);
    if (json.is_discarded()) return bad("it is not JSON");
    if (!json.is_object()) return bad("it is not a JSON object");
    if (!json.contains("command") || !json["command"].is_string()) return bad("it names no \"command\"");
    int version = 0;
    if (!json.contains("version")) return bad("it has no \"version\"");
    decode(json["version"], version);
    if (version < 1 || version > kWireVersion)
      return Failure{
          "version",
          fmt::format("version {} of the protocol is not spoken here, only version {}", version, kWireVersion),
          "use the healerctl of the same release as healerd"};
    auto request = json.get<Request>();
    if (request.verb != Verb::Count_) return request;
    const std::string name = json["command"].get<std::string>().substr(0, 40);
    const std::string_view near = nearest_word(name, kVerbs);
    return Failure{"unknown-command", fmt::format("there is no command \"{}\"", printable(name)),
                   near.empty() ? std::string{} : fmt::format("did you mean \"{}\"?", near)};
  } catch (const std::exception& failure) {
    return bad(failure.what());
  }
}

std::string to_line(const Json& json) {
  // JSON itself escapes the characters of C0 only. Others can only be within its strings.
  const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string line;
  line.reserve(text.size());
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t length = std::max<std::size_t>(1, utf8_length(rest));
    const std::uint32_t code = code_point(rest.substr(0, length));
    if (is_control(code))
      line += fmt::format("\\u{:04x}", code);
    else
      line += rest.substr(0, length);
    rest.remove_prefix(length);
  }
  return line;
}

std::string header_line(Verb verb, const DaemonView& daemon) {
  return line({{"version", kWireVersion}, {"command", to_string(verb)}, {"daemon", daemon}});
}

std::string item_line(const Json& item) { return line({{"item", item}}); }

std::string end_line(const Json& end) { return line({{"end", end}}); }

std::string error_line(const Failure& failure) { return line({{"version", kWireVersion}, {"error", failure}}); }

}  // namespace healer::control
