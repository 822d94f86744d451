// SPDX-License-Identifier: MIT
// What is read over the API.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>

#include <spdlog/fmt/fmt.h>
#include <nlohmann/json.hpp>

#include "control/selection.hpp"
#include "control/socket/history_answer.hpp"
#include "control/wire_schema.hpp"
#include "util/text.hpp"
#include "web/api/documents.hpp"
#include "web/api/events.hpp"
#include "web/api/openapi.hpp"
#include "web/api/operation.hpp"
#include "web/api/output_events.hpp"
#include "web/api/problem.hpp"
#include "web/verbs.hpp"

namespace healer::web {
namespace {

using control::Failure;
using control::Json;
using control::Least;
using control::Verb;
using ApiRef = std::shared_ptr<Api>;

std::optional<std::uint64_t> whole_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || rest != text.data() + text.size()) return std::nullopt;
  return number;
}

Reply wrong_cursor() {
  return problem({"bad-request", "the cursor is none of this list",
                  "give the text that was `next` in the page before, or none to begin at the beginning"});
}

control::ServicesAsked asked_services(const Query& query) {
  control::ServicesAsked asked{.filter = {.states = query.all("state"),
                                          .groups = query.all("group"),
                                          .kinds = query.all("kind"),
                                          .text = query.text("q")},
                               .cursor = query.text("cursor"),
                               .limit = query.limit()};
  const std::string order = query.text("sort");
  if (order == "name") asked.order = control::ServiceOrder::Name;
  if (order == "state") asked.order = control::ServiceOrder::State;
  return asked;
}

/// Whether all of it is in a summary.
bool is_in_summary(const std::vector<std::string>& fields) {
  static const std::vector<std::string> kSummary = control::wire_fields_of("ServiceSummary");
  return std::ranges::all_of(
      fields, [&](const std::string& one) { return std::ranges::find(kSummary, one) != kSummary.end(); });
}

Reply services_page(const Api& api, const Query& query, std::vector<std::string> fields) {
  const control::ServicesAsked asked = asked_services(query);
  if (!asked.cursor.empty() && !control::Queries::is_cursor(asked.cursor)) return wrong_cursor();
  const control::ServicesPage page = api.backend.queries().services(asked);
  // A group that nobody is in is a slip of the fingers.
  if (page.services.empty() && !asked.filter.groups.empty()) {
    const auto found = control::select(*api.backend.daemon.engine().graph(), {.groups = asked.filter.groups});
    if (const auto* const failure = std::get_if<Failure>(&found)) return problem(*failure);
  }
  const Verb verb = is_in_summary(fields) ? Verb::Summary : Verb::Status;
  return services_document(api.backend, verb, page, std::move(fields));
}

Json totals_at_end(const Json& end) { return {{"totals", end}}; }

/// Those that are named, and those of groups, as `healerctl status` has them: all, and their own totals.
Reply named_services(const ApiRef& api, const Asked& asked) {
  for (const std::string_view other : {"state", "kind", "q", "sort", "limit", "cursor"})
    if (!asked.query.all(other).empty())
      return problem({"bad-request", fmt::format("{} chooses among all services, not among named ones", other),
                      "leave it out, or leave `name` out"});
  const std::vector<std::string> fields = asked.query.all("fields");
  const control::Request request{.verb = is_in_summary(fields) ? Verb::Summary : Verb::Status,
                                 .names = asked.query.all("name"),
                                 .groups = asked.query.all("group")};
  return ask(api->backend, asked.call, request, listing("services", fields, [](const Json& end) {
               return Json{{"totals", end}, {"next", nullptr}};
             }));
}

Reply services(const ApiRef& api, const Asked& asked) {
  if (!asked.query.all("name").empty()) return named_services(api, asked);
  return services_page(*api, asked.query, asked.query.all("fields"));
}

Reply graph(const ApiRef& api, const Asked& asked) {
  return services_page(*api, asked.query, {"name", "kind", "state", "groups", "depends", "members"});
}

Reply service(const ApiRef& api, const Asked& asked) {
  return ask(api->backend, asked.call, asked.request, listing("services", asked.query.all("fields"), totals_at_end));
}

Reply explanation(const ApiRef& api, const Asked& asked) {
  return ask(api->backend, asked.call, asked.request, listing("services", asked.query.all("fields"), nullptr));
}

Reply output(const ApiRef& api, const Asked& asked) {
  return ask(api->backend, asked.call, asked.request, listing("output", {}, [](const Json& end) {
               return Json{{"text", end.value("text", "")}};
             }));
}

/// A page of the history: which part of it, and whether that is read forwards.
struct HistoryPlace {
  bool forwards = false;
  std::uint64_t number = 0;  ///< the page is of those before it, or after it
};

std::optional<HistoryPlace> history_place(std::string_view cursor) {
  for (const auto& [word, forwards] : {std::pair(std::string_view("before."), false), {"after.", true}})
    if (cursor.starts_with(word))
      if (const auto number = whole_number(cursor.substr(word.size()))) return HistoryPlace{forwards, *number};
  return std::nullopt;
}

/// One record more was asked for than a page has, to know whether there is another page.
Response history_page(const Outcome& outcome, HistoryPlace place, std::size_t limit,
                      const std::vector<std::string>& fields) {
  if (const auto* const failure = std::get_if<Failure>(&outcome)) return problem(*failure);
  const auto& gathered = std::get<Gathered>(outcome);
  std::vector<Json> items = gathered.items;
  const auto is_record = [](const Json& one) { return one.contains("id"); };
  const auto records = static_cast<std::size_t>(std::ranges::count_if(items, is_record));
  std::string next;
  if (records > limit && place.forwards) items.pop_back();
  if (records > limit && !place.forwards) items.erase(std::ranges::find_if(items, is_record));
  if (records > limit) {
    const Json& last = place.forwards ? items.back() : *std::ranges::find_if(items, is_record);
    next = fmt::format("{}.{}", place.forwards ? "after" : "before", last.at("id").get<std::uint64_t>());
  }
  Json list = Json::array();
  for (const Json& item : items) list.push_back(pick(item, fields));
  return list_document(gathered.header, "records", std::move(list), {{"next", next_of(next)}});
}

Reply history(const ApiRef& api, const Asked& asked) {
  const Query& query = asked.query;
  const std::vector<std::string> services = query.all("service");
  const std::vector<std::string> groups = query.all("group");
  if (services.size() + groups.size() > 1)
    return problem({"bad-request", "the history is that of one service, of one group, or of all",
                    "name one service or group, or none"});
  if (const auto found = control::select(*api->backend.daemon.engine().graph(), {.groups = groups});
      std::holds_alternative<Failure>(found))
    return problem(std::get<Failure>(found));
  HistoryPlace place{.forwards = query.number("after").has_value(), .number = query.number("after").value_or(0)};
  if (const std::string cursor = query.text("cursor"); !cursor.empty()) {
    const auto found = history_place(cursor);
    if (!found) return wrong_cursor();
    place = *found;
  }
  control::HistoryAsked what{.after = place.forwards ? place.number : 0,
                             .before = place.forwards ? 0 : place.number,
                             .oldest_first = place.forwards,
                             .limit = static_cast<std::uint32_t>(query.limit() + 1)};
  if (const auto since = query.number("since_ms")) what.since = Duration{static_cast<Duration::rep>(*since)};
  if (!asked.request.names.empty()) what.name = asked.request.names.front();
  if (!services.empty()) what.name = services.front();
  what.is_group = !groups.empty();
  if (what.is_group) what.name = groups.front();
  auto answer = control::answer_history(api->backend.daemon, api->history, api->no_tail,
                                        api->backend.queries().history(what), nullptr, asked.call.wake);
  return gather(std::move(answer), [api, place, limit = query.limit(), fields = query.all("fields")](
                                       const Outcome& outcome) { return history_page(outcome, place, limit, fields); });
}

Reply healings(const ApiRef& api, const Asked& asked) {
  const control::Queries queries = api->backend.queries();
  engine::HealingId after{};
  if (const std::string cursor = asked.query.text("cursor"); !cursor.empty()) {
    const auto number = whole_number(cursor);
    if (!number) return wrong_cursor();
    after = engine::HealingId{*number};
  }
  std::vector<control::HealingView> views = queries.healings(after, asked.query.limit() + 1);
  std::string next;
  if (views.size() > asked.query.limit()) {
    views.pop_back();
    next = fmt::format("{}", views.back().id);
  }
  Json items = Json::array();
  for (const control::HealingView& one : views) items.push_back(pick(one, asked.query.all("fields")));
  Json tail = queries.holds();
  tail["next"] = next_of(next);
  return list_document(head_of(api->backend, Verb::HealingStatus), "healings", std::move(items), tail);
}

Reply healing(const ApiRef& api, const Asked& asked) {
  const control::Queries queries = api->backend.queries();
  const std::string& id = asked.call.captured.front();
  const auto number = whole_number(id);
  const auto view = number ? queries.healing(engine::HealingId{*number}) : std::nullopt;
  if (!view)
    return problem({"unknown-healing", fmt::format("no healing {} is under way or waits", printable(id)),
                    fmt::format("GET {}/healings lists them; the history has those that have ended", kApi)});
  return list_document(head_of(api->backend, Verb::HealingStatus), "healings", Json::array({Json(*view)}),
                       queries.holds());
}

Reply report(const ApiRef& api, const Asked& asked) {
  return ask(api->backend, asked.call, asked.request, listing("workflows", {}, nullptr));
}

/// Where one stands in the list of jobs: see control::view_jobs.
std::pair<int, std::uint64_t> place_of(const control::JobView& job) {
  return {job.kind == "exec" ? 2 : job.kind == "heal" ? 1 : 0, job.id};
}

std::optional<std::pair<int, std::uint64_t>> job_place(std::string_view cursor) {
  if (cursor.size() < 3 || cursor[0] < '0' || cursor[0] > '2' || cursor[1] != '.') return std::nullopt;
  const auto number = whole_number(cursor.substr(2));
  if (!number) return std::nullopt;
  return std::pair(cursor[0] - '0', *number);
}

Reply jobs(const ApiRef& api, const Asked& asked) {
  std::vector<control::JobView> all = api->backend.queries().jobs();
  auto begin = all.begin();
  if (const std::string cursor = asked.query.text("cursor"); !cursor.empty()) {
    const auto place = job_place(cursor);
    if (!place) return wrong_cursor();
    begin = std::ranges::find_if(all, [&](const auto& one) { return place_of(one) > *place; });
  }
  Json items = Json::array();
  std::string next;
  for (; begin != all.end() && items.size() < asked.query.limit(); ++begin) {
    items.push_back(pick(*begin, asked.query.all("fields")));
    next = fmt::format("{}.{}", place_of(*begin).first, begin->id);
  }
  if (begin == all.end()) next.clear();
  return list_document(head_of(api->backend, Verb::Jobs), "jobs", std::move(items), {{"next", next_of(next)}});
}

Response unknown_job(const std::string& id) {
  return problem({"unknown-job", fmt::format("nothing with the number {} is under way", printable(id)),
                  fmt::format("GET {}/jobs lists what is", kApi)});
}

Reply job(const ApiRef& api, const Asked& asked) {
  const std::string& id = asked.call.captured.front();
  const auto number = whole_number(id);
  const auto view = number ? api->backend.queries().job(*number) : std::nullopt;
  if (!view) return unknown_job(id);
  return list_document(head_of(api->backend, Verb::Jobs), "jobs", Json::array({Json(*view)}), Json::object());
}

Reply followed_job(const ApiRef& api, const Asked& asked) {
  const std::string& id = asked.call.captured.front();
  const auto number = whole_number(id);
  if (!number) return unknown_job(id);
  control::Request request = asked.request;
  request.names.clear();
  request.id = *number;
  return output_events(api, {.call = asked.call, .query = asked.query, .request = std::move(request)});
}

Reply one_thing(const ApiRef& api, const Asked& asked) { return ask(api->backend, asked.call, asked.request, told); }

Reply session(const ApiRef& /*api*/, const Asked& asked) {
  const control::Asker& who = asked.call.who;
  return document({{"version", control::kWireVersion},
                   {"user", who.name},
                   {"role", who.role ? Json(control::to_string(*who.role)) : Json(nullptr)},
                   {"token", asked.call.token}});
}

Operation listed(std::string path, Verb verb, std::string summary, std::string list, std::string item) {
  Operation one = operation(Method::Get, std::move(path), verb, std::move(summary));
  one.list = std::move(list);
  one.item = std::move(item);
  return one;
}

void add_services(std::vector<Operation>& all) {
  Operation page = listed("/services", Verb::Summary, "A page of services", "services", "ServiceStatus");
  page.parameters = {"name", "state", "group", "kind", "q", "sort", "fields", "limit", "cursor"};
  page.paged = true;
  page.further = {{"totals", "Totals"}};
  page.handle = services;
  all.push_back(page);
  page.path = "/graph";
  page.verb = Verb::Status;
  page.summary = "A page of services, each with what it depends on and is made of";
  page.parameters = {"state", "group", "kind", "q", "sort", "limit", "cursor"};
  page.handle = graph;
  all.push_back(page);

  Operation one = listed("/services/{name}", Verb::Status, "Everything about a service", "services", "ServiceStatus");
  one.parameters = {"fields"};
  one.further = {{"totals", "Totals"}};
  one.handle = service;
  all.push_back(one);
  one = listed("/services/{name}/explain", Verb::Explain, "Why each rule of a service is where it is", "services",
               "ServiceExplanation");
  one.parameters = {"fields"};
  one.handle = explanation;
  all.push_back(one);
  one = listed("/services/{name}/output", Verb::Output, "What the program of a service writes, or wrote last", "output",
               "OutputView");
  one.handle = output;
  all.push_back(one);
  one = operation(Method::Get, "/services/{name}/output/events", Verb::Output,
                  "What the programs of a service write, as it is written");
  one.streams = true;
  one.handle = output_events;
  all.push_back(one);
  one = listed("/services/{name}/history", Verb::History, "What happened to a service, newest last", "records",
               "RecordView");
  one.parameters = {"since_ms", "after", "fields", "limit", "cursor"};
  one.paged = true;
  one.handle = history;
  all.push_back(one);
}

void add_under_way(std::vector<Operation>& all) {
  Operation page =
      listed("/healings", Verb::HealingStatus, "Healings under way, or held back", "healings", "HealingView");
  page.parameters = {"fields", "limit", "cursor"};
  page.paged = true;
  page.whole = "HealingHolds";
  page.handle = healings;
  all.push_back(page);
  page.path = "/healings/{id}";
  page.summary = "A healing";
  page.parameters = {};
  page.paged = false;
  page.handle = healing;
  all.push_back(page);
  Operation one = listed("/healings/report", Verb::HealingReport, "How often each workflow ran, and how that ended",
                         "workflows", "WorkflowReport");
  one.handle = report;
  all.push_back(one);

  one = listed("/jobs", Verb::Jobs, "What is under way", "jobs", "JobView");
  one.parameters = {"fields", "limit", "cursor"};
  one.paged = true;
  one.handle = jobs;
  all.push_back(one);
  one.path = "/jobs/{id}";
  one.summary = "A job, a healing or the program of a rule's action";
  one.parameters = {};
  one.paged = false;
  one.handle = job;
  all.push_back(one);
  one = operation(Method::Get, "/jobs/{id}/events", Verb::Follow, "What the programs of a job write, as it is written");
  one.streams = true;
  one.handle = followed_job;
  all.push_back(one);
}

}  // namespace

void add_readings(std::vector<Operation>& all) {
  Operation one = operation(Method::Get, "/daemon", Verb::Ping, "The daemon");
  one.least = Least::ReadOnly;  // who has no role is not here
  one.whole = "Done";
  one.handle = one_thing;
  all.push_back(one);
  add_services(all);
  one = listed("/history", Verb::History, "What happened, newest last", "records", "RecordView");
  one.parameters = {"service", "group", "since_ms", "after", "fields", "limit", "cursor"};
  one.paged = true;
  one.handle = history;
  all.push_back(one);
  add_under_way(all);
  one = operation(Method::Get, "/lists", Verb::Lists, "What is known of the lists of `for each`");
  one.whole = "Done";
  one.handle = one_thing;
  all.push_back(one);
  one = operation(Method::Get, "/changes", Verb::Diff, "What a reload would change");
  one.whole = "Done";
  one.handle = one_thing;
  all.push_back(one);

  Operation other{.path = "/session", .least = Least::ReadOnly, .summary = "Who asks, and the token of his forms"};
  other.handle = session;
  all.push_back(other);
  other = operation(Method::Get, "/events", Verb::History, "Records as they come, and when anything has changed");
  other.parameters = {"service", "group", "after"};
  other.streams = true;
  other.handle = events;
  all.push_back(other);
  other = Operation{.path = "/openapi.json", .least = Least::ReadOnly, .summary = "This document"};
  other.handle = [](const ApiRef&, const Asked&) -> Reply { return document(openapi()); };
  all.push_back(other);
}

}  // namespace healer::web
