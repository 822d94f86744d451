// SPDX-License-Identifier: MIT
#include "web/api/documents.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include "web/api/problem.hpp"

namespace healer::web {
namespace {

using control::Failure;
using control::Json;
using control::Verb;

Response json_response() {
  Response response{.type = "application/json"};
  response.headers.emplace_back("Cache-Control", "no-store");
  return response;
}

/// The fields of an object without its braces.
std::string inside_of(const Json& object) {
  const std::string text = control::to_line(object);
  return text.substr(1, text.size() - 2);
}

/// Services one by one, each as it is when its part of the document is read.
class ServicesBody final : public Stream {
 public:
  ServicesBody(const Backend& backend, Verb verb, const control::ServicesPage& page, std::vector<std::string> fields)
      : backend_(backend),
        whole_(verb == Verb::Status),
        head_("{" + inside_of(head_of(backend, verb)) + ",\"services\":["),
        tail_("]," + inside_of({{"totals", page.totals}, {"next", next_of(page.next)}}) + "}\n"),
        services_(page.services),
        fields_(std::move(fields)) {}

  Next pull(std::string& out, std::size_t budget) override {
    const std::size_t before = out.size();
    out += std::exchange(head_, {});
    const control::Queries queries = backend_.queries();
    while (next_ < services_.size()) {
      if (out.size() - before >= budget) return Next::More;
      const std::size_t count = std::min(kAtOnce, services_.size() - next_);
      std::vector<engine::ServiceId> some;
      for (const engine::ServiceId id : std::span(services_).subspan(next_, count))
        if (queries.exists(id)) some.push_back(id);  // a reload may have taken it away meanwhile
      next_ += count;
      if (whole_)
        for (const control::ServiceStatus& one : queries.statuses(some)) add(one, out);
      else
        for (const engine::ServiceId id : some) add(queries.summary(id), out);
    }
    out += tail_;
    return Next::Done;
  }

 private:
  static constexpr std::size_t kAtOnce = 50;

  void add(const Json& item, std::string& out) {
    out += std::exchange(first_, false) ? "\n" : ",\n";
    out += control::to_line(pick(item, fields_));
  }

  Backend backend_;
  bool whole_;
  std::string head_;
  std::string tail_;
  std::vector<engine::ServiceId> services_;
  std::vector<std::string> fields_;
  std::size_t next_ = 0;
  bool first_ = true;
};

}  // namespace

Response document(const Json& json) {
  Response response = json_response();
  response.body = control::to_line(json) + "\n";
  return response;
}

Json head_of(const Backend& backend, Verb verb) {
  return {{"version", control::kWireVersion}, {"command", to_string(verb)}, {"daemon", backend.queries().daemon()}};
}

Json pick(const Json& item, const std::vector<std::string>& fields) {
  if (fields.empty() || !item.is_object() || item.contains("gap")) return item;
  Json picked = Json::object();
  for (const auto& [name, value] : item.items())
    if (std::ranges::find(fields, name) != fields.end()) picked[name] = value;
  return picked;
}

Response list_document(Json head, std::string_view list, Json items, const Json& tail) {
  head[std::string(list)] = std::move(items);
  head.update(tail);
  return document(head);
}

std::function<Response(const Outcome&)> listing(std::string list, std::vector<std::string> fields,
                                                std::function<Json(const Json& end)> tail) {
  return [list = std::move(list), fields = std::move(fields), tail = std::move(tail)](const Outcome& outcome) {
    if (const auto* const failure = std::get_if<Failure>(&outcome)) return problem(*failure);
    const auto& gathered = std::get<Gathered>(outcome);
    Json items = Json::array();
    for (const Json& item : gathered.items) items.push_back(pick(item, fields));
    return list_document(gathered.header, list, std::move(items), tail ? tail(gathered.end) : Json::object());
  };
}

Response told(const Outcome& outcome) {
  if (const auto* const failure = std::get_if<Failure>(&outcome)) return problem(*failure);
  const auto& gathered = std::get<Gathered>(outcome);
  Json json = gathered.header;
  json.update(gathered.end);
  return document(json);
}

Response services_document(const Backend& backend, Verb verb, const control::ServicesPage& page,
                           std::vector<std::string> fields) {
  Response response = json_response();
  response.stream = std::make_unique<ServicesBody>(backend, verb, page, std::move(fields));
  return response;
}

Json next_of(const std::string& cursor) { return cursor.empty() ? Json(nullptr) : Json(cursor); }

}  // namespace healer::web
