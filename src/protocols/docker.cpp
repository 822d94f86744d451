// SPDX-License-Identifier: MIT
// docker: asks the HTTP API of Docker, which Podman has, too, whether a container runs, and is healthy where that is
// known.
#include <algorithm>

#include <spdlog/fmt/fmt.h>
#include <nlohmann/json.hpp>

#include "protocols/http_response.hpp"
#include "protocols/protocol.hpp"
#include "protocols/quote.hpp"
#include "util/percent.hpp"

namespace healer::protocols {

const Protocol& docker();

namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostContent = std::size_t{512} * 1024;
constexpr int kFound = 200;
constexpr int kNotFound = 404;

/// What of an answer counts: its member "State", or its member "message". All else is skipped while it is read.
Json parse(const std::string& text) {
  const auto keep = [](int depth, Json::parse_event_t event, const Json& value) {
    return depth != 1 || event != Json::parse_event_t::key || value == "State" || value == "message";
  };
  return Json::parse(text, keep, false);
}

std::string text_in(const Json& object, const char* member) {
  if (!object.is_object()) return {};
  const auto found = object.find(member);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

bool is_true(const Json& object, const char* member) {
  const auto found = object.find(member);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

class Docker final : public Conversation {
 public:
  explicit Docker(const Order& order)
      : name_(order.text("container")), response_(false, [this](std::string_view part) { keep(part); }) {}

  Want begin() override {
    return Want::receive(
        fmt::format("GET /containers/{}/json HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\n"
                    "User-Agent: healer/" HEALER_VERSION "\r\nConnection: close\r\n\r\n",
                    percent_encoded(name_)));
  }
  Want receive(std::string_view bytes) override {
    while (!bytes.empty() && response_.state() != HttpResponse::State::Whole) {
      response_.add(bytes);
      if (Want want = verdict(); want.kind != Want::Kind::Receive) return want;
    }
    return Want::receive();
  }
  Want closed() override {
    response_.close();
    Want want = verdict();
    return want.kind == Want::Kind::Receive ? Want::fail("the server closed the connection before its answer")
                                            : std::move(want);
  }
  std::string_view awaited() const override { return response_.has_headers() ? "end of its answer" : "answer"; }

 private:
  void keep(std::string_view part) {
    is_long_ = is_long_ || part.size() > kMostContent - body_.size();
    if (!is_long_) body_ += part;
  }

  [[nodiscard]] Want verdict() const {
    if (response_.state() == HttpResponse::State::Wrong) return Want::fail(response_.fault());
    if (is_long_) return Want::fail(fmt::format("its answer is longer than {} KiB", kMostContent / 1024));
    if (response_.state() != HttpResponse::State::Whole) return Want::receive();
    const Json answer = parse(body_);
    const std::string message = text_in(answer, "message");
    if (response_.status() == kNotFound && !message.empty())
      return Want::fail(fmt::format("there is no container {}", quote(name_)));
    if (response_.status() != kFound)
      return Want::fail(message.empty() ? fmt::format("this is not the API of Docker: it answers with the status {}",
                                                      response_.status())
                                        : fmt::format("its answer is {}: {}", response_.status(), quote(message)));
    const auto state = answer.is_object() ? answer.find("State") : answer.end();
    if (!answer.is_object() || state == answer.end() || !state->is_object() || !state->contains("Running") ||
        !state->at("Running").is_boolean())
      return Want::fail("its answer does not tell whether the container is running");
    return judge(*state);
  }

  static std::string exit_status(const Json& state) {
    const auto code = state.find("ExitCode");
    if (code == state.end() || !code->is_number_integer()) return {};
    return fmt::format(", its exit status was {}", code->get<std::int64_t>());
  }

  static Want judge(const Json& state) {
    if (!is_true(state, "Running")) {
      std::string why = text_in(state, "Status");
      why = why.empty() ? std::string() : fmt::format(": it is {}", quote(why));
      why += exit_status(state);
      if (is_true(state, "OOMKilled")) why += ", it had no memory left";
      return Want::fail("the container is not running" + why);
    }
    // Docker calls it running, too, while its restart policy waits to start it again.
    if (is_true(state, "Restarting")) return Want::fail("the container is being restarted" + exit_status(state));
    const auto known = state.find("Health");
    const std::string health = known != state.end() ? text_in(*known, "Status") : std::string();
    std::string condition = "the container is running";
    if (is_true(state, "Paused")) condition += ", but paused";
    if (health.empty() || health == "none") return Want::pass(condition);
    if (health == "healthy") return Want::pass(condition + " and healthy");
    if (health == "starting") return Want::pass(condition + ", its first health check is not done");
    return Want::fail(fmt::format("{}, but its health is {}", condition, quote(health)));
  }

  std::string name_;
  HttpResponse response_;
  std::string body_;
  bool is_long_ = false;
};

constexpr Option kOptions[] = {{.word = "container"}};

std::string fault(std::span<const Setting> settings) {
  const auto container = std::ranges::find(settings, std::string_view("container"), &Setting::word);
  if (container == settings.end()) return "protocol docker needs a 'container', as in container \"web\"";
  if (container->text.find_first_not_of('.') == std::string::npos)  // a path would lead elsewhere
    return fmt::format("{} is not the name of a container", quote(container->text));
  return {};
}

}  // namespace

const Protocol& docker() {
  static constexpr Protocol it{
      .name = "docker",
      .title = "Docker",
      .port = 2375,
      .options = kOptions,
      .fault = fault,
      .make = [](const Order& order) -> std::unique_ptr<Conversation> { return std::make_unique<Docker>(order); }};
  return it;
}

}  // namespace healer::protocols
