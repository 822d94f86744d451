// SPDX-License-Identifier: MIT
#include "ctl/server/over_http.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "control/wire_schema.hpp"

namespace healer {
namespace {

using control::Done;
using control::Failure;
using control::Json;
using control::Request;
using control::Totals;
using control::Verb;

/// What is on a page.
constexpr std::uint32_t kPage = 1'000;
/// As many records as the control protocol has where nobody says how many.
constexpr std::uint32_t kUsualRecords = 100;

std::string encoded(std::string_view text) {
  static constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  std::string out;
  for (const char c : text)
    out += kPlain.find(c) != std::string_view::npos ? std::string(1, c)
                                                    : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  return out;
}

/// A path with a query that grows.
class Target {
 public:
  explicit Target(std::string path) : text_(std::move(path)) {}
  Target& with(std::string_view name, std::string_view value) {
    text_ += fmt::format("{}{}={}", text_.find('?') == std::string::npos ? '?' : '&', name, encoded(value));
    return *this;
  }
  Target& with(std::string_view name, std::uint64_t value) { return with(name, fmt::format("{}", value)); }
  Target& with(std::string_view name, const std::vector<std::string>& values) {
    for (const std::string& value : values) with(name, value);
    return *this;
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

std::string fields_of(std::string_view type) {
  std::string text;
  for (const std::string& one : control::wire_fields_of(type)) text += (text.empty() ? "" : ",") + one;
  return text;
}

bool is_down(std::string_view state) { return state == "failed" || state == "given up"; }

/// Verbs of services that the API knows by another word; the others by their own.
std::string word_of(Verb verb) { return std::string(verb == Verb::Validate ? "check" : to_string(verb)); }

Failure not_over_http(std::string what, std::string remedy) {
  return {"not-over-http", std::move(what), std::move(remedy)};
}

/// Why it is never done over HTTP.
std::optional<Failure> refusal(const Request& request) {
  constexpr std::string_view kThere = "run healerctl on the machine of healerd";
  if (!request.overrides.empty()) return not_over_http("brakes are not overridden over HTTP", std::string(kThere));
  if (request.verb == Verb::Beat)
    return not_over_http("healerctl sends beats over the socket alone", std::string(kThere));
  if (request.verb == Verb::Event || request.verb == Verb::Events)
    return not_over_http("healerctl sends and lists events over the socket alone", std::string(kThere));
  if (request.verb == Verb::Open)
    return not_over_http("a login is only made on the machine of healerd", "open URL/login in a browser");
  return std::nullopt;
}

/// One request of the control protocol under way.
class Conversation {
 public:
  Conversation(const Request& request, HttpWay& way, const std::function<void(const std::string&)>& tell)
      : request_(request), way_(way), tell_(tell) {}

  std::optional<Failure> run() {
    if (auto why = refusal(request_)) return why;
    switch (request_.verb) {
      case Verb::Ping: return whole({"/daemon"});
      case Verb::Diff: return whole({"/changes"});
      case Verb::Lists: return whole({"/lists"});
      case Verb::Status:
      case Verb::Summary:
      case Verb::Names:
      case Verb::Report: return services();
      case Verb::Explain: return explain();
      case Verb::History: return request_.follow ? follow_history() : history();
      case Verb::Jobs: return pages(Target("/jobs"), "jobs");
      case Verb::HealingStatus: return pages(Target("/healings"), "healings");
      case Verb::HealingReport: return pages(Target("/healings/report"), "workflows", false);
      case Verb::Follow: return follow_output(fmt::format("/jobs/{}/events", request_.id));
      case Verb::Output: return request_.follow ? follow_output(output_path() + "/events") : output();
      case Verb::Quit: return quit();
      default: return act();
    }
  }

 private:
  // ---- lines
  void header(const Json& document) {
    if (std::exchange(begun_, true)) return;
    Json line{{"version", control::kWireVersion}, {"command", to_string(request_.verb)}};
    if (document.contains("daemon")) line["daemon"] = document["daemon"];
    tell_(control::to_line(line) + '\n');
  }
  void item(const Json& one) { tell_(control::item_line(one)); }
  /// What a document says beside what it lists.
  void end(const Json& document, std::string_view list = {}) {
    Json last = Json::object();
    for (const auto& [name, value] : document.items())
      if (name != "version" && name != "command" && name != "daemon" && name != "next" && name != list)
        last[name] = value;
    tell_(control::end_line(last));
  }
  std::optional<Failure> done(std::string text = {}) {
    tell_(control::end_line(Done{true, std::move(text)}));
    return std::nullopt;
  }

  /// The document; none: it failed, and `failure_` says why.
  std::optional<Json> fetch(const HttpAsked& asked) {
    auto answer = way_.fetch(asked, [this] {
      // What acts may take long: that it was understood is told at once, and who answers by the document.
      if (control::acts(request_.verb) || request_.verb == Verb::Diff)
        tell_(control::to_line({{"version", control::kWireVersion}, {"command", to_string(request_.verb)}}) + '\n');
    });
    if (auto* const failure = std::get_if<Failure>(&answer)) {
      failure_ = std::move(*failure);
      return std::nullopt;
    }
    return std::get<Json>(std::move(answer));
  }
  std::optional<Json> fetch(const Target& target) { return fetch(HttpAsked{target.text()}); }

  /// Page by page; `take` has each document. True: all of them came.
  bool each_page(const Target& target, bool paged, const std::function<void(const Json&)>& take) {
    std::string cursor;
    do {
      Target page = target;
      if (paged) page.with("limit", kPage);
      if (!cursor.empty()) page.with("cursor", cursor);
      const auto document = fetch(page);
      if (!document) return false;
      take(*document);
      const auto next = document->find("next");
      cursor = next != document->end() && next->is_string() ? next->get<std::string>() : "";
    } while (!cursor.empty());
    return true;
  }

  // ---- kinds of answers
  std::optional<Failure> whole(const HttpAsked& asked) {
    const auto document = fetch(asked);
    if (!document) return failure_;
    header(*document);
    end(*document);
    return std::nullopt;
  }

  std::optional<Failure> pages(const Target& target, const std::string& list, bool paged = true) {
    Json last;
    const bool came = each_page(target, paged, [&](const Json& document) {
      header(document);
      for (const Json& one : document.at(list)) item(one);
      last = document;
    });
    if (!came) return failure_;
    end(last, list);
    return std::nullopt;
  }

  /// The services that the request chooses, with these fields.
  Target chosen(std::string_view fields) const {
    Target target("/services");
    if (!request_.all) target.with("name", request_.names).with("group", request_.groups);
    return target.with("fields", fields);
  }

  /// Where groups alone are named, a page may be empty of one of them.
  std::optional<Failure> unknown_group() {
    if (request_.all || !request_.names.empty() || request_.groups.size() < 2) return std::nullopt;
    for (const std::string& group : request_.groups)
      if (!fetch(Target("/services").with("group", group).with("limit", 1).with("fields", "name"))) return failure_;
    return std::nullopt;
  }

  std::optional<Failure> services() {
    if (auto why = unknown_group()) return why;
    const bool names_some = !request_.all && !request_.names.empty();
    const bool is_selective = names_some || (!request_.all && !request_.groups.empty());
    const Verb verb = request_.verb;
    Target target = verb == Verb::Status    ? chosen(fields_of("ServiceStatus"))
                    : verb == Verb::Summary ? chosen(fields_of("ServiceSummary"))
                    : verb == Verb::Names   ? chosen("name,groups,state")
                                            : chosen("state");
    // The totals of all are told by each page.
    if (request_.failed && !is_selective) target.with("state", "failed,given up");
    if (verb == Verb::Report && !is_selective) {
      const auto document = fetch(target.with("limit", 1));
      if (!document) return failure_;
      header(*document);
      tell_(control::end_line(document->at("totals")));
      return std::nullopt;
    }
    Totals totals;
    Json of_all;
    const bool came = each_page(target, !names_some, [&](const Json& document) {
      header(document);
      of_all = document.at("totals");
      for (const Json& one : document.at("services")) {
        const std::string state = one.at("state").get<std::string>();
        totals.add(state);
        if (verb == Verb::Report || (request_.failed && !is_down(state))) continue;
        if (verb == Verb::Names)
          item({{"name", one.at("name")}, {"groups", one.at("groups")}});
        else
          item(one);
      }
    });
    if (!came) return failure_;
    tell_(control::end_line(is_selective ? Json(totals) : of_all));
    return std::nullopt;
  }

  std::optional<Failure> explain() {
    if (auto why = unknown_group()) return why;
    std::vector<std::string> names = request_.names;
    if (request_.all || names.size() != 1 || !request_.groups.empty()) {
      const bool is_paged = request_.all || names.empty();
      names.clear();
      const bool came = each_page(chosen("name"), is_paged, [&](const Json& document) {
        header(document);
        for (const Json& one : document.at("services")) names.push_back(one.at("name").get<std::string>());
      });
      if (!came) return failure_;
    }
    for (const std::string& name : names) {
      const auto document = fetch(Target("/services/" + encoded(name) + "/explain"));
      if (!document) return failure_;
      header(*document);
      for (const Json& one : document->at("services")) item(one);
    }
    return done();
  }

  // ---- history
  Target records() const {
    Target target("/history");
    target.with("service", request_.names);
    if (request_.since)
      target.with("since_ms", static_cast<std::uint64_t>(std::max(*request_.since, Duration{0}).count()));
    return target;
  }

  /// The newest, which come from the last page to the first: all of them are told when the last one has come.
  bool newest(std::vector<Json>& found) {
    std::uint32_t left = request_.limit != 0 ? request_.limit : request_.since ? control::kMaxRecords : kUsualRecords;
    std::string cursor;
    std::vector<std::vector<Json>> backwards;
    do {
      Target page = records();
      page.with("limit", std::min(left, kPage));
      if (!cursor.empty()) page.with("cursor", cursor);
      const auto document = fetch(page);
      if (!document) return false;
      header(*document);
      const Json& list = document->at("records");
      backwards.emplace_back(list.begin(), list.end());
      left -= std::min<std::uint32_t>(left, static_cast<std::uint32_t>(list.size()));
      cursor = document->at("next").is_string() ? document->at("next").get<std::string>() : "";
    } while (left != 0 && !cursor.empty());
    for (auto page = backwards.rbegin(); page != backwards.rend(); ++page)
      std::ranges::move(*page, std::back_inserter(found));
    return true;
  }

  std::optional<Failure> history() {
    if (!request_.after) {
      std::vector<Json> found;
      if (!newest(found)) return failure_;
      for (const Json& one : found) item(one);
      return done();
    }
    std::uint64_t left = request_.limit != 0 ? request_.limit : UINT64_MAX;
    std::string cursor;
    do {
      Target page = records();
      page.with("after", *request_.after).with("limit", std::min<std::uint64_t>(left, kPage));
      if (!cursor.empty()) page.with("cursor", cursor);
      const auto document = fetch(page);
      if (!document) return failure_;
      header(*document);
      for (const Json& one : document->at("records")) {
        item(one);
        if (one.contains("id")) --left;
      }
      cursor = document->at("next").is_string() ? document->at("next").get<std::string>() : "";
    } while (left != 0 && !cursor.empty());
    return done();
  }

  std::optional<Failure> follow_history() {
    std::uint64_t after = request_.after.value_or(0);
    if (!request_.after) {
      // What is recorded from here on is told by the events, where it is not among the newest by then.
      const auto last = fetch(Target("/history").with("limit", 1));
      if (!last) return failure_;
      std::vector<Json> found;
      if (!newest(found)) return failure_;
      for (const Json& one : last->at("records")) after = one.value("id", std::uint64_t{0});
      for (const Json& one : found) {
        item(one);
        after = std::max(after, one.value("id", std::uint64_t{0}));
      }
    } else {
      const auto document = fetch(Target("/daemon"));
      if (!document) return failure_;
      header(*document);
    }
    Target target("/events");
    target.with("after", after).with("service", request_.names);
    const auto broken = way_.listen(target.text(), [this](std::string_view kind, std::string_view data) {
      if (kind != "record" && kind != "gap") return;
      if (const Json one = Json::parse(data, nullptr, false); one.is_object()) item(one);
    });
    if (broken) return broken;
    return done("healerd has ended");
  }

  // ---- programs
  [[nodiscard]] std::string output_path() const {
    const std::string what = request_.names.empty() ? fmt::format("{}", request_.id) : request_.names.front();
    return "/services/" + encoded(what) + "/output";
  }

  std::optional<Failure> follow_output(const std::string& path) {
    header(Json::object());
    std::optional<Failure> failed;
    bool ended = false;
    const auto broken = way_.listen(path, [&](std::string_view kind, std::string_view data) {
      const Json one = Json::parse(data, nullptr, false);
      if (!one.is_object()) return;
      if (kind == "output") item(one);
      if (kind == "error") failed = one.get<Failure>();
      if (kind != "end") return;
      ended = true;
      tell_(control::end_line(one));
    });
    if (broken) return broken;
    if (failed) return failed;
    return ended ? std::nullopt : done("healerd has ended");
  }

  std::optional<Failure> output() {
    const auto document = fetch(Target(output_path()));
    if (!document) return failure_;
    header(*document);
    for (const Json& one : document->at("output")) item(one);
    return done(document->value("text", ""));
  }

  // ---- what acts
  Json body() const {
    Json json = request_;
    json.erase("version");
    json.erase("command");
    return json;
  }

  std::optional<Failure> act() {
    const Verb verb = request_.verb;
    if (verb == Verb::Reload) return whole({"/reload", body().dump()});
    if (verb == Verb::HealingReset) return whole({"/healings/reset", body().dump()});
    if (verb == Verb::Approve || verb == Verb::Reject || verb == Verb::Cancel) {
      const std::string which = request_.id != 0         ? fmt::format("{}", request_.id)
                                : request_.names.empty() ? "0"
                                                         : request_.names.front();
      const Json plan = request_.plan.empty() ? Json::object() : Json{{"plan", request_.plan}};
      return whole({fmt::format("/healings/{}/{}", encoded(which), word_of(verb)), plan.dump()});
    }
    return whole({"/services/" + word_of(verb), body().dump()});
  }

  /// Its reply has no end: the connection closes when healerd has ended.
  std::optional<Failure> quit() {
    const auto document = fetch(HttpAsked{"/quit", "{}"});
    if (!document) return failure_;
    header(*document);
    way_.wait_for_end();
    return std::nullopt;
  }

  const Request& request_;
  HttpWay& way_;
  const std::function<void(const std::string&)>& tell_;
  std::optional<Failure> failure_;
  bool begun_ = false;
};

}  // namespace

void ask_over_http(const Request& request, HttpWay& way, const std::function<void(const std::string&)>& tell) {
  std::optional<Failure> failure;
  try {
    failure = Conversation(request, way, tell).run();
  } catch (const Json::exception& wrong) {
    failure = Failure{"protocol", fmt::format("the answer is not understood: {}", wrong.what()),
                      "use the healerctl of the same release as healerd"};
  }
  if (failure) tell(control::error_line(*failure));
}

}  // namespace healer
