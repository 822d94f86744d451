// SPDX-License-Identifier: MIT
#include "web/verbs.hpp"

#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "control/socket/server.hpp"

namespace healer::web {
namespace {

using control::Answer;
using control::Failure;
using control::Json;

/// So much of an answer is read in one go.
constexpr std::size_t kBudget = 64 * 1024;

class Gathering final : public Deferred {
 public:
  Gathering(std::unique_ptr<Answer> answer, std::function<Response(const Outcome&)> respond)
      : answer_(std::move(answer)), respond_(std::move(respond)) {}

  std::optional<Response> poll() override {
    while (true) {
      const Answer::Next next = answer_->pull(text_, kBudget);
      take_lines();
      if (failure_) return respond_(*failure_);
      if (next == Answer::Next::Waiting) return std::nullopt;
      if (next == Answer::Next::Done) return respond_(gathered_);
    }
  }

 private:
  void take_lines() {
    std::string_view rest = text_;
    for (std::size_t end = 0; (end = rest.find('\n')) != std::string_view::npos; rest.remove_prefix(end + 1)) {
      Json line = Json::parse(rest.substr(0, end));
      if (line.contains("error"))
        failure_ = line["error"].get<Failure>();
      else if (line.contains("item"))
        gathered_.items.push_back(std::move(line["item"]));
      else if (line.contains("end"))
        gathered_.end = std::move(line["end"]);
      else
        gathered_.header = std::move(line);
    }
    text_.erase(0, text_.size() - rest.size());
  }

  std::unique_ptr<Answer> answer_;
  std::function<Response(const Outcome&)> respond_;
  std::string text_;
  Gathered gathered_;
  std::optional<Failure> failure_;
};

}  // namespace

Reply gather(std::unique_ptr<Answer> answer, std::function<Response(const Outcome&)> respond) {
  auto waiting = std::make_unique<Gathering>(std::move(answer), std::move(respond));
  if (auto response = waiting->poll()) return std::move(*response);
  return waiting;
}

Reply ask(const Backend& backend, const Call& call, const control::Request& request,
          std::function<Response(const Outcome&)> respond) {
  control::Peer peer;
  peer.who = call.who;
  return gather(backend.commands.handle(request, peer, call.wake), std::move(respond));
}

}  // namespace healer::web
