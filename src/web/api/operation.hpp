// SPDX-License-Identifier: MIT
// One route of the API as a row: what it takes, what it answers with, and who may ask. Routes, the check of what comes
// in, and the OpenAPI document are all made of these rows.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "control/permissions.hpp"
#include "control/readers/history_reader.hpp"
#include "control/readers/record_tail.hpp"
#include "web/api/kept_answers.hpp"
#include "web/api/query.hpp"
#include "web/backend.hpp"
#include "web/pulse.hpp"
#include "web/router.hpp"

namespace healer::web {

inline constexpr std::string_view kApi = "/api/v1";

/// What the routes of the API share.
struct Api {
  Api(const Backend& behind, Pulse& pulse_, KeptAnswers& kept_)
      : backend(behind), pulse(pulse_), kept(kept_), history(behind.daemon.store()) {}

  Backend backend;
  Pulse& pulse;
  KeptAnswers& kept;
  control::HistoryReader history;
  control::RecordTail no_tail{};  ///< of those who do not follow
};

/// What is asked, found in order.
struct Asked {
  const Call& call;
  const Query& query;
  control::Request request;  ///< what path and body say
};

struct Operation {
  Method method = Method::Get;
  std::string path;  ///< below kApi
  control::Verb verb = control::Verb::Count_;
  control::Least least = control::Least::Admin;
  std::string summary;
  std::vector<std::string_view> parameters{};  ///< of the query: see web/api/query
  std::vector<std::string_view> body{};        ///< its fields: see web/api/body
  // ---- of the answer, beside `version`, `command` and `daemon`
  std::string list{};                                          ///< the field that lists; empty: none
  std::string item{};                                          ///< the type of what is in it
  bool paged = false;                                          ///< it has `next`
  bool streams = false;                                        ///< of server-sent events
  std::vector<std::pair<std::string, std::string>> further{};  ///< fields, and their types: of control/wire_schema
  std::string whole{};                                         ///< a type, whose fields are in the document itself
  std::function<Reply(const std::shared_ptr<Api>&, const Asked&)> handle{};
};

/// An operation that the control protocol has a verb for, which says who may ask it.
[[nodiscard]] inline Operation operation(Method method, std::string path, control::Verb verb, std::string summary) {
  Operation one;
  one.method = method;
  one.path = std::move(path);
  one.verb = verb;
  one.least = control::least_for(verb);
  one.summary = std::move(summary);
  return one;
}

/// What is read, and what is done.
void add_readings(std::vector<Operation>& all);
void add_actions(std::vector<Operation>& all);

/// All of them.
[[nodiscard]] const std::vector<Operation>& operations();

}  // namespace healer::web
