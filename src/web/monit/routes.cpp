// SPDX-License-Identifier: MIT
#include "web/monit/routes.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/engine.hpp"
#include "engine/rules/service.hpp"
#include "web/monit/escape.hpp"
#include "web/monit/pages.hpp"
#include "web/monit/selecting.hpp"
#include "web/monit/standing.hpp"
#include "web/monit/text.hpp"
#include "web/monit/xml.hpp"
#include "web/verbs.hpp"

namespace healer::web::monit {
namespace {

using control::Least;
using engine::ServiceId;

constexpr std::string_view kText = "text/plain";
constexpr std::string_view kHtml = "text/html; charset=utf-8";

/// So much of the log is shown.
constexpr std::size_t kLogShown = 1U << 20;

Response failure(unsigned status, std::string_view message) {
  return {.status = status, .type = std::string(kHtml), .body = error_page(status, message)};
}

Response page(std::string body) { return {.type = std::string(kHtml), .body = std::move(body)}; }

/// What stands in the form, else in the address: Monit's client posts what others ask.
std::optional<std::string> parameter(const Request& request, std::string_view name) {
  if (const auto posted = find(request.form, name)) return std::string(*posted);
  if (const auto asked = find(request.query, name)) return std::string(*asked);
  return std::nullopt;
}

Viewer viewer_of(const Call& call) { return {.acts = call.who.role == engine::Role::Admin, .token = call.token}; }

/// A document with services in it, each as it is when it is read.
class Document final : public Stream {
 public:
  using Write = std::function<void(std::string&, const Scene&, ServiceId)>;
  using End = std::function<std::string(const Scene&)>;

  Document(const control::Supervisor& daemon, std::string head, std::vector<ServiceId> services, Write write, End end)
      : daemon_(daemon),
        head_(std::move(head)),
        services_(std::move(services)),
        write_(std::move(write)),
        end_(std::move(end)) {}

  Next pull(std::string& out, std::size_t budget) override {
    const Scene scene(daemon_);
    out += std::exchange(head_, {});
    std::size_t left = kServicesPerTurn;
    for (; next_ < services_.size() && left > 0 && out.size() < budget; ++next_, --left)
      if (scene.engine.graph()->block(services_[next_]) != nullptr)  // a reload may have taken it away meanwhile
        write_(out, scene, services_[next_]);
    if (next_ < services_.size()) return Next::More;
    if (end_) out += end_(scene);
    return Next::Done;
  }

 private:
  static constexpr std::size_t kServicesPerTurn = 500;

  const control::Supervisor& daemon_;
  std::string head_;
  std::vector<ServiceId> services_;
  std::size_t next_ = 0;
  Write write_;
  End end_;
};

Response document(const Backend& backend, std::string_view type, std::string head, std::vector<ServiceId> services,
                  Document::Write write, Document::End end = {}) {
  Response response{.type = std::string(type)};
  response.stream = std::make_unique<Document>(backend.daemon, std::move(head), std::move(services), std::move(write),
                                               std::move(end));
  return response;
}

/// Services in the order of their kinds, and within a kind in that of the rules.
std::vector<ServiceId> by_kind(const Scene& scene, const std::vector<ServiceId>& services, int Kind::*place) {
  std::array<std::vector<ServiceId>, kKindPlaces> places;
  for (const ServiceId id : services)
    places.at(static_cast<std::size_t>(kind_of(*scene.engine.graph()->at(id).kind).*place)).push_back(id);
  std::vector<ServiceId> ordered;
  ordered.reserve(services.size());
  for (const auto& those : places) ordered.insert(ordered.end(), those.begin(), those.end());
  return ordered;
}

/// Work that may take more than a turn of the loop. Each call of `step` does a part of it; what it gives back is the
/// end.
class Slices final : public Deferred {
 public:
  using Step = std::function<std::optional<Reply>()>;

  Slices(Step step, Wake wake) : step_(std::move(step)), wake_(std::move(wake)) {}

  std::optional<Response> poll() override {
    if (!inner_) {
      std::optional<Reply> reply = step_();
      if (!reply) {
        wake_();
        return std::nullopt;
      }
      if (auto* response = std::get_if<Response>(&*reply)) return std::move(*response);
      inner_ = std::get<std::unique_ptr<Deferred>>(std::move(*reply));
    }
    return inner_->poll();
  }

 private:
  Step step_;
  Wake wake_;
  std::unique_ptr<Deferred> inner_;  ///< for which the work was done
};

Reply in_slices(Slices::Step step, const Wake& wake) {
  if (auto reply = step()) return std::move(*reply);
  auto rest = std::make_unique<Slices>(std::move(step), wake);
  wake();
  return rest;
}

/// So many services are looked through in a turn.
constexpr std::size_t kLooksPerTurn = 2'000;

/// Goes on with those that `service` or `group` name, or says that there are none.
Reply with_selected(const Backend& backend, const Call& call, std::function<Reply(std::vector<ServiceId>)> then) {
  const std::shared_ptr<const engine::Graph> graph = backend.daemon.engine().graph();
  if (const auto group = parameter(call.request, "group"); group && !group->empty()) {
    auto found = services_in(*graph, *group);
    if (found.empty()) return failure(400, fmt::format("Service group '{}' not found", *group));
    return then(std::move(found));
  }
  const auto name = parameter(call.request, "service");
  if (!name || name->empty()) return then(graph->order);
  const auto search = std::make_shared<NameSearch>(graph, std::vector{*name});
  return in_slices(
      [search, then = std::move(then)]() -> std::optional<Reply> {
        if (!search->go_on(kLooksPerTurn)) return std::nullopt;
        if (const auto& missing = search->missing())
          return failure(400, fmt::format("Service '{}' not found", *missing));
        return then(search->found());
      },
      call.wake);
}

Reply status(const Backend& backend, const Call& call, Form form) {
  if (parameter(call.request, "format") == "xml") {  // which names all services, whatever else is asked
    const Scene scene(backend.daemon);
    return document(
        backend, "text/xml", xml_head(scene, form), scene.engine.graph()->order,
        [form](std::string& out, const Scene& now, ServiceId id) { write_xml(out, now, id, form); },
        [form](const Scene& now) { return xml_foot(now, form); });
  }
  return with_selected(backend, call, [backend](std::vector<ServiceId> services) -> Reply {
    return document(backend, kText, banner(Scene(backend.daemon)) + "\n\n", std::move(services), write_status);
  });
}

Reply summary(const Backend& backend, const Call& call) {
  return with_selected(backend, call, [backend](const std::vector<ServiceId>& services) -> Reply {
    const Scene scene(backend.daemon);
    return document(backend, kText, banner(scene) + "\n" + summary_head(), by_kind(scene, services, &Kind::place),
                    write_summary, [](const Scene&) { return summary_foot(); });
  });
}

Reply count(const Backend& backend, const Call& call) {
  const std::string type = parameter(call.request, "type").value_or("");
  struct Counting {
    std::shared_ptr<const engine::Graph> graph;
    std::size_t next = 0;
    Counts counts;
  };
  const auto counting = std::make_shared<Counting>(Counting{.graph = backend.daemon.engine().graph(), .counts = {}});
  return in_slices(
      [backend, type, counting]() -> std::optional<Reply> {
        const Scene scene(backend.daemon);
        const auto& order = counting->graph->order;
        for (std::size_t left = kLooksPerTurn; counting->next < order.size() && left > 0; ++counting->next, --left)
          if (const ServiceId id = order[counting->next]; scene.engine.graph()->block(id) != nullptr)
            counting->counts.add(count_of(scene, id));
        if (counting->next < order.size()) return std::nullopt;
        auto text = report(counting->counts, type);
        if (!text) return failure(400, fmt::format("Invalid report type: '{}'", type));
        return Response{.type = std::string(kText), .body = std::move(*text)};
      },
      call.wake);
}

Reply list(const Backend& backend, const Call&) {
  const Scene scene(backend.daemon);
  const auto last = std::make_shared<std::optional<int>>();  // the kind of the row before
  return document(
      backend, kHtml, list_head(scene), by_kind(scene, scene.engine.graph()->order, &Kind::page_place),
      [last](std::string& out, const Scene& now, ServiceId id) {
        const int kind = kind_of(*now.engine.graph()->at(id).kind).page_place;
        const bool first = *last != kind;
        if (first && *last) out += list_end();
        *last = kind;
        write_row(out, now, id, first);
      },
      [last](const Scene&) { return (*last ? std::string(list_end()) : std::string()) + list_foot(); });
}

Response unknown_service(std::string_view name) {
  return failure(404, fmt::format("There is no service named \"{}\"", name));
}

/// The log, when it has been read.
class LogReading final : public Deferred {
 public:
  explicit LogReading(const Backend& backend, Wake wake)
      : daemon_(backend.daemon), found_(std::make_shared<std::optional<Result<std::string>>>()) {
    backend.daemon.read_log(kLogShown, [found = found_, wake = std::move(wake)](Result<std::string> log) {
      found->emplace(std::move(log));
      wake();
    });
  }
  std::optional<Response> poll() override {
    if (!*found_) return std::nullopt;
    return page(log_page(Scene(daemon_), **found_));
  }

 private:
  const control::Supervisor& daemon_;
  std::shared_ptr<std::optional<Result<std::string>>> found_;
};

Reply view_log(const Backend& backend, const Call& call) {
  auto reading = std::make_unique<LogReading>(backend, call.wake);
  if (auto response = reading->poll()) return std::move(*response);
  return reading;
}

// ---- what acts

std::optional<control::Verb> verb_of(std::string_view action) {
  using control::Verb;
  constexpr std::array<std::pair<std::string_view, Verb>, 5> kVerbs{{{"start", Verb::Start},
                                                                     {"stop", Verb::Stop},
                                                                     {"restart", Verb::Restart},
                                                                     {"monitor", Verb::Monitor},
                                                                     {"unmonitor", Verb::Unmonitor}}};
  const auto* const found = std::ranges::find(kVerbs, action, &std::pair<std::string_view, Verb>::first);
  return found == kVerbs.end() ? std::nullopt : std::optional(found->second);
}

/// Where a browser goes on: relative, so that it may be behind a proxy.
Response back_to(std::string location) {
  return {.status = 302, .type = std::string(kHtml), .headers = {{"Location", std::move(location)}}};
}

/// Whether one of these services is being started, stopped or restarted.
bool is_begun(const engine::Engine& engine, const std::vector<std::string>& names) {
  return std::ranges::any_of(names, [&](const std::string& name) {
    const auto id = engine.graph()->find(name);
    return id && engine.service(*id).job;
  });
}

/// What takes its time is answered as soon as it has begun: Monit's client waits no more than a few seconds, and looks
/// at the status for what has become of it.
Reply ask_for(const Backend& backend, const Call& call, const control::Request& request, const std::string& location) {
  Reply reply = ask(backend, call, request, [location](const Outcome& outcome) {
    if (const auto* wrong = std::get_if<control::Failure>(&outcome))
      return failure(wrong->code == "forbidden" ? 403 : 400, wrong->message);
    const control::Json& end = std::get<Gathered>(outcome).end;
    if (end.is_object() && !end.value("ok", true)) return failure(400, end.value("text", "it was not done"));
    return back_to(location);
  });
  const bool waits = std::holds_alternative<std::unique_ptr<Deferred>>(reply);
  if (waits && is_begun(backend.daemon.engine(), request.names)) return back_to(location);
  return reply;
}

/// What a form says that is to be done; a response where it says nothing, or nothing that there is.
std::variant<control::Verb, Response> action_of(const Call& call, const std::string& location) {
  const auto action = find(call.request.form, "action");
  if (!action || action->empty()) return back_to(location);
  if (const auto verb = verb_of(*action)) return *verb;
  return failure(400, fmt::format("Invalid action \"{}\"", *action));
}

/// All that are named, or none.
Reply act_on_many(const Backend& backend, const Call& call) {
  std::vector<std::string> wanted;
  for (const std::string_view name : find_all(call.request.form, "service")) wanted.emplace_back(name);
  auto action = action_of(call, ".");
  if (auto* response = std::get_if<Response>(&action)) return std::move(*response);
  if (wanted.empty()) return back_to(".");
  const auto search = std::make_shared<NameSearch>(backend.daemon.engine().graph(), std::move(wanted));
  return in_slices(
      [backend, search, verb = std::get<control::Verb>(action), who = call.who,
       wake = call.wake]() -> std::optional<Reply> {
        if (!search->go_on(kLooksPerTurn)) return std::nullopt;
        if (const auto& missing = search->missing())
          return failure(400, fmt::format("There is no service named \"{}\"", *missing));
        control::Request request{.verb = verb};
        for (const ServiceId id : search->found()) request.names.push_back(search->graph().at(id).name);
        const Request none;
        return ask_for(backend, {.request = none, .who = who, .wake = wake}, request, ".");
      },
      call.wake);
}

Reply act_on_one(const Backend& backend, const Call& call) {
  const engine::Graph& graph = *backend.daemon.engine().graph();
  const std::string& name = call.captured.front();
  const auto found = graph.find(name);
  if (!found) return unknown_service(name);
  const std::string own = graph.at(*found).name;
  auto action = action_of(call, link_to(own));
  if (auto* response = std::get_if<Response>(&action)) return std::move(*response);
  return ask_for(backend, call, {.verb = std::get<control::Verb>(action), .names = {own}}, link_to(own));
}

Reply run(const Backend& backend, const Call& call) {
  const std::string_view action = find(call.request.form, "action").value_or("");
  if (action == "validate") return ask_for(backend, call, {.verb = control::Verb::Validate, .all = true}, "_runtime");
  if (action == "stop")
    return failure(400, "healer's HTTP server ends with healerd, or when `set httpd` is taken out of the rules");
  return page(runtime_page(Scene(backend.daemon), viewer_of(call)));
}

}  // namespace

std::vector<Route> monit_routes(const Backend& backend) {
  std::vector<Route> routes;
  using Answer = std::function<Reply(const Backend&, const Call&)>;
  const auto reads = [&](std::string path, const Answer& answer, Least least = Least::ReadOnly) {
    for (const Method method : {Method::Get, Method::Post})
      routes.push_back({method, path, least, [backend, answer](const Call& call) { return answer(backend, call); }});
  };
  const auto acts = [&](std::string path, const Answer& answer) {
    routes.push_back({Method::Post, std::move(path), Least::Admin,
                      [backend, answer](const Call& call) { return answer(backend, call); }});
  };
  for (const auto& [path, form] : {std::pair("/_status", Form::First), std::pair("/_status2", Form::Second)})
    reads(path, [form](const Backend& from, const Call& call) { return status(from, call, form); });
  reads("/_summary", summary);
  reads("/_report", count);
  reads("/_ping", [](const Backend&, const Call&) -> Reply { return page("pong"); });
  reads("/_monit", [](const Backend&, const Call&) -> Reply { return page(""); });
  reads("/_getid", [](const Backend& from, const Call&) -> Reply { return page(from.daemon.surroundings().id); });
  reads("/_about", [](const Backend& from, const Call&) -> Reply { return page(about_page(Scene(from.daemon))); });
  reads("/_viewlog", view_log, Least::Admin);
  routes.push_back({Method::Get, "/favicon.ico", Least::ReadOnly,
                    [](const Call&) -> Reply { return Response{.type = "image/x-icon", .body = icon()}; }});
  routes.push_back({Method::Get, "/_runtime", Least::ReadOnly, [backend](const Call& call) -> Reply {
                      return page(runtime_page(Scene(backend.daemon), viewer_of(call)));
                    }});
  acts("/_runtime", run);
  acts("/_doaction", act_on_many);
  acts("/{name}", act_on_one);
  return routes;
}

std::vector<Route> monit_pages(const Backend& backend) {
  return {{Method::Get, "/", Least::ReadOnly, [backend](const Call& call) { return list(backend, call); }},
          {Method::Get, "/{name}", Least::ReadOnly, [backend](const Call& call) -> Reply {
             const std::string& name = call.captured.front();
             const Scene scene(backend.daemon);
             const auto found = scene.engine.graph()->find(name);
             if (!found) return unknown_service(name);
             return page(service_page(scene, *found, viewer_of(call)));
           }}};
}

}  // namespace healer::web::monit
