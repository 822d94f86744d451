// SPDX-License-Identifier: MIT
// `http post URL ...`: a step that makes a request.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/healing/saving.hpp"
#include "engine/rules/json_test.hpp"
#include "engine/steps/kind.hpp"
#include "util/time.hpp"

namespace healer::engine {

struct HttpRequest {
  std::string method;  ///< "GET", "POST", ...
  std::string url;
  std::vector<std::string> headers;  ///< "Name: value"
  std::string body;
  std::string body_file;  ///< read when the request is made; empty: `body` is sent
  bool follow = false;
  bool insecure = false;
  std::uint64_t limit = 1U << 20;  ///< bytes of an answer

  bool operator==(const HttpRequest&) const = default;
  /// Whether it changes nothing, and so may be made as often as one likes.
  [[nodiscard]] bool only_asks() const { return method == "GET" || method == "HEAD"; }
};

void fields(auto& all, step::Is<HttpRequest> auto& request) {
  auto& [method, url, headers, body, body_file, follow, insecure, limit] = request;
  all("method", method, "url", url, "headers", headers, "body", body, "body_file", body_file, "follow", follow,
      "insecure", insecure, "limit", limit);
}

namespace step {

/// `until REQUEST json ... fail json ... every D within D`: polled after the step's request was answered.
struct Until {
  HttpRequest request;
  std::vector<JsonTest> met;
  std::vector<JsonTest> failed;
  Duration every{5'000};
  Duration within{600'000};
  bool operator==(const Until&) const = default;
};

struct Http {
  static constexpr std::string_view kWord = "http";
  static constexpr char kSign = 'h';

  HttpRequest request;
  std::vector<std::uint16_t> expect;  ///< status codes; empty: 200 to 299
  std::vector<JsonTest> expect_json;
  std::vector<Saving> saves;
  std::optional<Until> until;
  bool operator==(const Http&) const = default;
};

void fields(auto& all, Is<Until> auto& until) {
  auto& [request, met, failed, every, within] = until;
  all("request", request, "met", met, "failed", failed, "every", every, "within", within);
}

void fields(auto& all, Is<Http> auto& http) {
  auto& [request, expect, expect_json, saves, until] = http;
  all("request", request, "expect", expect, "expect_json", expect_json, "saves", saves, "until", until);
}

/// The text of an answer says how long it took.
inline bool says_time(const Http& /*http*/, bool /*good*/, std::string_view /*text*/) { return true; }
inline bool is_safe(const Http& http) { return http.request.only_asks(); }
inline const std::vector<Saving>* saves_of(const Http& http) { return &http.saves; }

}  // namespace step

}  // namespace healer::engine
