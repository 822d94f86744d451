// SPDX-License-Identifier: MIT
#include "protocols/line_talk.hpp"

#include <algorithm>
#include <charconv>

#include <spdlog/fmt/fmt.h>

#include "protocols/quote.hpp"
#include "util/secrets/strike_out.hpp"
#include "util/text.hpp"

namespace healer::protocols {
namespace {

class LineSession final : public LineTalk {
 public:
  explicit LineSession(LineScript script) : LineTalk(script.limits), script_(std::move(script)) {}

  Want begin() override { return Want::receive(step().say); }
  Want secured() override { return Want::receive(step().say); }
  std::string_view awaited() const override { return step().awaited; }

 protected:
  Want line(std::string_view line) override {
    switch (step().judge(line)) {
      case LineVerdict::More: return Want::receive();
      case LineVerdict::Good: return go_on();
      case LineVerdict::Refused: return Want::fail(fmt::format("its {} is {}", awaited(), quoted(line)));
      case LineVerdict::Unexpected: break;
    }
    return Want::fail(fmt::format("this is not {}: it said {}", script_.server, quoted(line)));
  }

 private:
  [[nodiscard]] const LineStep& step() const { return script_.steps[at_]; }
  [[nodiscard]] std::string quoted(std::string_view line) const { return quote(strike_out(line, script_.secrets)); }

  Want go_on() {
    const bool begins_tls = step().begins_tls;
    tls_ = tls_ || begins_tls;
    if (at_ + 1 == script_.steps.size()) {
      if (!script_.passed.empty()) return Want::pass(script_.passed);
      return Want::pass(fmt::format("it is {}{}", script_.server, tls_ ? " with TLS" : ""));
    }
    ++at_;
    return begins_tls ? Want::start_tls() : Want::receive(step().say);
  }

  LineScript script_;
  std::size_t at_ = 0;
  bool tls_ = false;  // begun here
};

}  // namespace

Want LineTalk::receive(std::string_view bytes) {
  std::string send;
  while (!bytes.empty()) {
    const std::size_t before = reader_.length();
    const std::size_t more = std::min(bytes.find('\n'), bytes.size());
    const auto line = reader_.next(bytes);
    if (before + more > limits_.longest) return Want::fail("it sends an endless line");
    if (!line) break;
    if (++lines_ > limits_.lines) return Want::fail("it sends an endless reply");
    Want want = this->line(*line);
    // What was sent in clear must not count as said within TLS.
    if (want.kind == Want::Kind::StartTls && !bytes.empty())
      return Want::fail("it sent more after it had agreed to begin TLS");
    send += want.send;
    want.send = send;
    if (want.kind != Want::Kind::Receive) {
      lines_ = 0;
      return want;
    }
    if (want.send.empty()) continue;
    lines_ = 0;
    if (strict_ && !bytes.empty()) return Want::fail("it answers before it is asked");
  }
  return Want::receive(std::move(send));
}

Want LineTalk::closed() {
  if (reader_.length() == 0) return broken_off();
  Want want = line(reader_.rest());
  return want.kind == Want::Kind::Pass ? std::move(want) : broken_off();
}

Want LineTalk::broken_off() const {
  return Want::fail(fmt::format("the server closed the connection before its {}", awaited()));
}

std::unique_ptr<Conversation> line_session(LineScript script) {
  return std::make_unique<LineSession>(std::move(script));
}

bool begins_with_word(std::string_view line, std::string_view word) {
  return iequals(line.substr(0, word.size()), word) && (line.size() == word.size() || line[word.size()] == ' ');
}

int reply_code(std::string_view line) {
  int code = 0;
  const std::string_view three = line.substr(0, 3);
  const auto [rest, error] = std::from_chars(three.data(), three.data() + three.size(), code);
  return error == std::errc{} && rest == three.data() + 3 && code >= 100 ? code : 0;
}

std::function<LineVerdict(std::string_view line)> replies(std::vector<int> good) {
  return [good = std::move(good), first = 0](std::string_view line) mutable {
    const int code = reply_code(line);
    const bool goes_on = line.size() > 3 && line[3] == '-';
    if (first == 0 && code == 0) return LineVerdict::Unexpected;
    if (first == 0 && goes_on) first = code;
    if (first != 0 && (code != first || goes_on)) return LineVerdict::More;
    first = 0;
    return std::ranges::find(good, code) != good.end() ? LineVerdict::Good : LineVerdict::Refused;
  };
}

}  // namespace healer::protocols
