// SPDX-License-Identifier: MIT
#include "web/api/output_events.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <spdlog/fmt/fmt.h>
#include <nlohmann/json.hpp>

#include "web/api/problem.hpp"

namespace healer::web {
namespace {

using control::Answer;
using control::Failure;
using control::Json;

class OutputBody final : public Stream {
 public:
  /// `first`: what has been read of the answer; `is_done`: that is all of it.
  OutputBody(std::unique_ptr<Answer> answer, std::string first, bool is_done)
      : answer_(std::move(answer)), text_(std::move(first)), is_done_(is_done) {}

  Next pull(std::string& out, std::size_t budget) override {
    const std::size_t before = out.size();
    const Next next = is_done_ ? Next::Done : answer_->pull(text_, budget);
    tell_lines(out);
    if (next == Next::More && out.size() == before) out += ":\n";  // a comment: there is more to come at once
    return next;
  }
  [[nodiscard]] bool endless() const override { return true; }

 private:
  void tell_lines(std::string& out) {
    constexpr std::string_view kItem = "{\"item\":", kEnd = "{\"end\":";
    for (std::string_view rest = text_; !rest.empty();) {
      std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(line.size() + 1, rest.size()));
      if (line.starts_with(kItem)) {
        out += fmt::format("event: output\ndata: {}\n\n", line.substr(kItem.size(), line.size() - kItem.size() - 1));
      } else if (line.starts_with(kEnd)) {
        out += fmt::format("event: end\ndata: {}\n\n", line.substr(kEnd.size(), line.size() - kEnd.size() - 1));
      } else if (const Json json = Json::parse(line, nullptr, false); json.is_object() && json.contains("error")) {
        out += fmt::format("event: error\ndata: {}\n\n", control::to_line(json["error"]));
      }
    }
    text_.clear();
  }

  std::unique_ptr<Answer> answer_;
  std::string text_;
  bool is_done_;
};

/// The failure that an answer begins with; none: it goes on.
std::optional<Failure> failure_in(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const Json json = Json::parse(line, nullptr, false);
    if (json.is_object() && json.contains("error")) return json["error"].get<Failure>();
  }
  return std::nullopt;
}

}  // namespace

Reply output_events(const std::shared_ptr<Api>& api, const Asked& asked) {
  constexpr std::size_t kFirst = 16 * 1024;
  control::Request request = asked.request;
  request.follow = true;
  control::Peer peer;
  peer.who = asked.call.who;
  auto answer = api->backend.commands.handle(request, peer, asked.call.wake);
  std::string text;
  const Answer::Next next = answer->pull(text, kFirst);
  if (const auto failure = failure_in(text)) return problem(*failure);
  Response response{.type = "text/event-stream"};
  response.headers = {{"Cache-Control", "no-store"}, {"X-Accel-Buffering", "no"}};
  response.stream = std::make_unique<OutputBody>(std::move(answer), std::move(text), next == Answer::Next::Done);
  return response;
}

}  // namespace healer::web
