// SPDX-License-Identifier: MIT
// apache-status: the page of mod_status, whose scoreboard says what each process of an Apache does; limits say how many
// may do that.
#include <algorithm>
#include <array>

#include <spdlog/fmt/fmt.h>

#include "protocols/http_response.hpp"
#include "protocols/http_talk.hpp"
#include "protocols/line_reader.hpp"
#include "protocols/options.hpp"
#include "protocols/protocol.hpp"

namespace healer::protocols {

const Protocol& apache_status();

namespace {

constexpr std::string_view kPage = "/server-status?auto";
constexpr std::string_view kScoreboard = "Scoreboard: ";

/// What a limit counts.
struct Doing {
  std::string_view limit;
  char mark;
  std::string_view words;  ///< Monit's
};
constexpr std::array kDoings{Doing{"loglimit", 'L', "logging"},
                             Doing{"closelimit", 'C', "closing connections"},
                             Doing{"dnslimit", 'D', "performing DNS lookups"},
                             Doing{"keepalivelimit", 'K', "in keepalive"},
                             Doing{"replylimit", 'W', "sending a reply"},
                             Doing{"requestlimit", 'R', "reading requests"},
                             Doing{"startlimit", 'S', "starting up"},
                             Doing{"waitlimit", '_', "waiting for a connection"},
                             Doing{"gracefullimit", 'G', "finishing gracefully"},
                             Doing{"cleanuplimit", 'I', "in idle cleanup"}};

std::string request(const Order& order) {
  Order of_page = order;
  std::vector<Setting> settings(order.settings.begin(), order.settings.end());
  const std::string_view path = order.text("path");
  settings.push_back({.word = "request", .text = std::string(path.empty() ? kPage : path)});
  of_page.settings = settings;
  const HttpRequest asked = http_request(of_page);
  std::string text = fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\n", asked.method, asked.path, asked.host);
  for (const auto& [name, value] : asked.headers) text += fmt::format("{}: {}\r\n", name, value);
  return text + "Connection: close\r\n\r\n";
}

class ApacheStatus final : public Conversation {
 public:
  explicit ApacheStatus(const Order& order)
      : limits_(order.settings.begin(), order.settings.end()),
        request_(request(order)),
        response_(false, [this](std::string_view part) { take(part); }),
        line_(order.limits.http_content) {}

  Want begin() override { return Want::receive(std::move(request_)); }

  Want receive(std::string_view bytes) override {
    while (!bytes.empty()) {
      response_.add(bytes);
      Want want = judge();
      if (want.kind != Want::Kind::Receive) return want;
    }
    return Want::receive();
  }

  Want closed() override {
    response_.close();
    return judge();
  }

  std::string_view awaited() const override { return response_.has_headers() ? "scoreboard" : "answer"; }

 private:
  void take(std::string_view part) {
    while (!part.empty() && scoreboard_.empty()) {
      const auto line = line_.next(part);
      if (line) note(*line);
    }
  }
  void note(std::string_view line) {
    if (line.starts_with(kScoreboard)) scoreboard_ = line.substr(kScoreboard.size());
  }

  Want judge() {
    if (response_.state() == HttpResponse::State::Wrong) return Want::fail(response_.fault());
    if (!response_.has_headers()) return Want::receive();
    if (response_.status() >= 400) return Want::fail(fmt::format("its status is {}", response_.status()));
    if (scoreboard_.empty() && response_.state() == HttpResponse::State::Whole) {
      note(line_.rest());
      if (scoreboard_.empty()) return Want::fail("its page has no scoreboard");
    }
    return scoreboard_.empty() ? Want::receive() : count();
  }

  [[nodiscard]] Want count() const {
    for (const Setting& limit : limits_) {
      const auto* doing = std::ranges::find(kDoings, limit.word, &Doing::limit);
      if (doing == kDoings.end()) continue;
      const auto many = std::ranges::count(scoreboard_, doing->mark);
      const std::int64_t share = 100 * many / static_cast<std::int64_t>(scoreboard_.size());
      if (holds(limit.op, share, limit.number))
        return Want::fail(fmt::format("{} percent of its processes are {}", share, doing->words));
    }
    return Want::pass(fmt::format("none of its {} processes is beyond a limit", scoreboard_.size()));
  }

  std::vector<Setting> limits_;
  std::string request_;
  HttpResponse response_;
  LineReader line_;
  std::string scoreboard_;
};

constexpr Option kOptions[] = {kUsername,
                               kPassword,
                               {.word = "path"},
                               {.word = "loglimit", .type = OptionType::Share},
                               {.word = "closelimit", .type = OptionType::Share},
                               {.word = "dnslimit", .type = OptionType::Share},
                               {.word = "keepalivelimit", .type = OptionType::Share},
                               {.word = "replylimit", .type = OptionType::Share},
                               {.word = "requestlimit", .type = OptionType::Share},
                               {.word = "startlimit", .type = OptionType::Share},
                               {.word = "waitlimit", .type = OptionType::Share},
                               {.word = "gracefullimit", .type = OptionType::Share},
                               {.word = "cleanuplimit", .type = OptionType::Share}};

}  // namespace

const Protocol& apache_status() {
  static constexpr Protocol it{.name = "apache-status",
                               .title = "Apache status",
                               .port = 80,
                               .options = kOptions,
                               .make = [](const Order& order) -> std::unique_ptr<Conversation> {
                                 return std::make_unique<ApacheStatus>(order);
                               }};
  return it;
}

}  // namespace healer::protocols
