// SPDX-License-Identifier: MIT
#include "web/api/events.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <spdlog/fmt/fmt.h>
#include <nlohmann/json.hpp>

#include "control/readers/record_tail.hpp"
#include "control/selection.hpp"
#include "engine/rules/service.hpp"
#include "util/text.hpp"
#include "web/api/problem.hpp"

namespace healer::web {
namespace {

using control::Answer;
using control::Failure;
using control::Json;

/// Which records are told.
struct RecordFilter {
  std::vector<std::string> services;  ///< in lower case; "": of the daemon itself
  std::vector<std::string> groups;

  [[nodiscard]] bool is_all() const { return services.empty() && groups.empty(); }
  /// Whether one of that service is.
  [[nodiscard]] bool wants(const engine::Graph& graph, const std::string& service) const {
    if (std::ranges::find(services, to_lower(service)) != services.end()) return true;
    const auto id = graph.find(service);
    return id && std::ranges::any_of(graph.at(*id).groups, [&](const std::string& own) {
             return std::ranges::any_of(groups, [&](const std::string& one) { return iequals(one, own); });
           });
  }
};

/// The number of the record in a line of the control protocol, whose first field it is; none: it is no record.
std::optional<std::uint64_t> number_in(std::string_view item) {
  constexpr std::string_view kBegin = "{\"id\":";
  std::uint64_t number = 0;
  if (!item.starts_with(kBegin)) return std::nullopt;
  item.remove_prefix(kBegin.size());
  const auto [rest, error] = std::from_chars(item.data(), item.data() + item.size(), number);
  return error == std::errc{} ? std::optional(number) : std::nullopt;
}

class EventsBody final : public Stream {
 public:
  EventsBody(const std::shared_ptr<Api>& api, std::unique_ptr<Answer> records, RecordFilter filter,
             std::shared_ptr<void> place)
      : api_(api),
        records_(std::move(records)),
        filter_(std::move(filter)),
        place_(std::move(place)),
        seen_(api->pulse.ticks()) {}

  Next pull(std::string& out, std::size_t budget) override {
    const std::size_t before = out.size();
    Next next = Next::More;
    for (int rounds = 0; rounds < kRounds && next == Next::More && out.size() == before; ++rounds) {
      text_.clear();
      next = records_->pull(text_, budget);
      tell_lines(out);
    }
    if (next != Next::Waiting) {
      if (next == Next::More && out.size() == before) out += ":\n";  // a comment: many were looked through
      return next;
    }
    // The time comes after all that has happened by then.
    if (const std::uint64_t now = api_->pulse.ticks(); !std::exchange(greeted_, true) || seen_ != now) {
      seen_ = now;
      const Json json{{"now", format_iso(api_->backend.daemon.now().wall)}, {"rev", api_->pulse.revision()}};
      out += fmt::format("data: {}\n\n", control::to_line(json));
    }
    return next;
  }
  [[nodiscard]] bool endless() const override { return true; }

 private:
  /// How many parts of the history without a record that is wanted are looked through in one go.
  static constexpr int kRounds = 4;

  void tell_lines(std::string& out) {
    constexpr std::string_view kBegin = "{\"item\":";
    for (std::string_view rest = text_; !rest.empty();) {
      std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(line.size() + 1, rest.size()));
      if (!line.starts_with(kBegin)) continue;  // how the answer begins, and how it ends
      line.remove_prefix(kBegin.size());
      line.remove_suffix(1);
      if (const auto number = number_in(line)) {
        if (is_wanted(line)) out += fmt::format("id: {}\nevent: record\ndata: {}\n\n", *number, line);
      } else {
        out += fmt::format("event: gap\ndata: {}\n\n", line);
      }
    }
  }

  [[nodiscard]] bool is_wanted(std::string_view item) const {
    if (filter_.is_all()) return true;
    const Json json = Json::parse(item, nullptr, false);
    return json.is_object() && filter_.wants(*api_->backend.daemon.engine().graph(), json.value("service", ""));
  }

  std::shared_ptr<Api> api_;
  std::unique_ptr<Answer> records_;
  RecordFilter filter_;
  std::shared_ptr<void> place_;  // among those who listen to the pulse
  std::uint64_t seen_;           // ticks
  bool greeted_ = false;
  std::string text_;
};

/// What the query filters; or which service or group there is not.
std::variant<RecordFilter, Failure> filter_of(const engine::Graph& graph, const Query& query) {
  RecordFilter filter{.services = {}, .groups = query.all("group")};
  for (const std::string& name : query.all("service")) {
    const auto of_target =
        graph.find(name) ? std::vector<engine::ServiceId>{} : control::services_of_target(graph, name);
    if (!graph.find(name) && iequals(name, "healer"))
      filter.services.emplace_back();
    else if (!graph.find(name) && of_target.empty())
      return control::unknown_service(graph, name);
    else if (of_target.empty())
      filter.services.push_back(to_lower(name));
    for (const engine::ServiceId id : of_target) filter.services.push_back(to_lower(graph.at(id).name));
  }
  if (filter.groups.empty()) return filter;
  const auto found = control::select(graph, {.groups = filter.groups});
  if (const auto* const failure = std::get_if<Failure>(&found)) return *failure;
  return filter;
}

/// After which record it goes on: who comes back says so in a header, whatever his first query was.
std::variant<std::uint64_t, Failure> place_of_listener(const Asked& asked) {
  const auto header = asked.call.request.header("Last-Event-ID");
  if (!header || header->empty()) return asked.query.number("after").value_or(control::kOnlyToCome);
  std::uint64_t number = 0;
  const auto [rest, error] = std::from_chars(header->data(), header->data() + header->size(), number);
  if (error == std::errc{} && rest == header->data() + header->size()) return number;
  return Failure{"bad-request", fmt::format("Last-Event-ID \"{}\" is not a number", printable(*header)),
                 "it is the id of the last event that has come"};
}

}  // namespace

Reply events(const std::shared_ptr<Api>& api, const Asked& asked) {
  auto filter = filter_of(*api->backend.daemon.engine().graph(), asked.query);
  if (const auto* const failure = std::get_if<Failure>(&filter)) return problem(*failure);
  const auto after = place_of_listener(asked);
  if (const auto* const failure = std::get_if<Failure>(&after)) return problem(*failure);
  auto place = api->pulse.listen(asked.call.wake);
  if (!place)
    return problem({"busy", fmt::format("{} clients listen to events already", Pulse::kMost), "end one of them"});
  control::Request request = asked.request;
  request.follow = true;
  request.after = std::get<std::uint64_t>(after);
  control::Peer peer;
  peer.who = asked.call.who;
  Response response{.type = "text/event-stream"};
  response.headers = {{"Cache-Control", "no-store"}, {"X-Accel-Buffering", "no"}};
  response.stream = std::make_unique<EventsBody>(api, api->backend.commands.handle(request, peer, asked.call.wake),
                                                 std::get<RecordFilter>(std::move(filter)), std::move(place));
  return response;
}

}  // namespace healer::web
