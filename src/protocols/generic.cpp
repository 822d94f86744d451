// SPDX-License-Identifier: MIT
// generic: what to send and what to expect, in any order. And default: a connection that stands is all that is asked.
#include <algorithm>
#include <vector>

#include "protocols/pattern.hpp"
#include "protocols/protocol.hpp"
#include "protocols/quote.hpp"

namespace healer::protocols {

const Protocol& generic();
const Protocol& default_protocol();

namespace {

// What is expected is looked for in all that has come since the last match, at most the limit's size; a match ends what
// it matched, so that nothing depends on how the server's bytes were cut into packets. (Monit waits for 0.2 s of
// silence and looks once; what came with a match is gone.)
class Generic final : public Conversation {
 public:
  explicit Generic(const Order& order)
      : steps_(order.settings.begin(), order.settings.end()), limit_(order.limits.send_expect) {}

  Want begin() override { return go_on(); }

  Want receive(std::string_view bytes) override {
    if (next_ >= steps_.size()) return finished();
    pending_ += bytes;
    take_pending();
    return expect();
  }

  Want closed() override {
    closed_ = true;
    return mismatch();
  }

  Want found(std::optional<std::size_t> end) override {
    if (!end) return raw_ >= limit_ || closed_ ? mismatch() : Want::receive();
    text_.erase(0, std::min(*end, text_.size()));
    raw_ = std::min(raw_, text_.size());
    take_pending();
    ++next_;
    return go_on();
  }

  std::string_view awaited() const override { return text_.empty() ? "data" : "data that match"; }

 private:
  /// Fills the text up to the limit. A zero byte becomes \0, as in Monit: expressions are texts.
  void take_pending() {
    const std::size_t room = std::min(limit_ - std::min(limit_, raw_), pending_.size());
    raw_ += room;
    for (const char c : std::string_view(pending_).substr(0, room)) {
      if (c == '\0') {
        text_ += "\\0";
      } else {
        text_ += c;
      }
    }
    pending_.erase(0, room);
  }

  Want go_on() {
    std::string send;
    for (; next_ < steps_.size() && steps_[next_].word == "send"; ++next_) send += steps_[next_].text;
    if (next_ >= steps_.size()) return finished(std::move(send));
    if (text_.empty()) return Want::receive(std::move(send));
    Want want = expect();
    want.send.insert(0, send);
    return want;
  }

  Want expect() {
    const std::string& pattern = steps_[next_].text;
    if (const auto literal = literal_of(pattern)) {  // most are, and need no thread to look for them
      const std::size_t at = text_.find(*literal);
      return found(at == std::string::npos ? std::nullopt : std::optional(at + literal->size()));
    }
    return Want::search_for(pattern, text_);
  }

  Want mismatch() const {
    const std::string wanted = quote(steps_[std::min(next_, steps_.size() - 1)].text);
    if (text_.empty()) return Want::fail("the server closed the connection before it sent what matches " + wanted);
    return Want::fail("it sent " + quote(text_) + ", which does not match " + wanted);
  }

  Want finished(std::string send = {}) const {
    const bool expected = std::ranges::any_of(steps_, [](const Setting& step) { return step.word == "expect"; });
    return Want::pass(expected ? "all that is expected came" : "all was sent", std::move(send));
  }

  std::vector<Setting> steps_;
  std::size_t limit_;
  std::size_t next_ = 0;  // the step that is under way
  std::string text_;      // since the last match
  std::size_t raw_ = 0;   // its bytes as they came
  std::string pending_;   // of what came last, beyond the limit
  bool closed_ = false;
};

// Over UDP a zero byte is sent, as Monit does: where nobody listens the machine refuses it, and nobody need answer.
class Default final : public Conversation {
 public:
  explicit Default(bool datagrams) : datagrams_(datagrams) {}

  Want begin() override { return datagrams_ ? Want::receive(std::string(1, '\0')) : Want::pass({}); }
  Want receive(std::string_view) override { return Want::pass(datagrams_ ? "it answered" : ""); }
  Want closed() override { return Want::pass({}); }
  bool silence_passes() const override { return datagrams_; }
  std::string_view awaited() const override { return "answer"; }

 private:
  bool datagrams_;
};

constexpr Option kOptions[] = {{.word = "send", .type = OptionType::Text, .repeats = true},
                               {.word = "expect", .type = OptionType::Pattern, .repeats = true}};

}  // namespace

const Protocol& generic() {
  static constexpr Protocol it{
      .name = "generic",
      .title = "send and expect",
      .datagrams = true,
      .options = kOptions,
      .make = [](const Order& order) -> std::unique_ptr<Conversation> { return std::make_unique<Generic>(order); }};
  return it;
}

const Protocol& default_protocol() {
  static constexpr Protocol it{.name = "default",
                               .title = "connection",
                               .datagrams = true,
                               .make = [](const Order& order) -> std::unique_ptr<Conversation> {
                                 return std::make_unique<Default>(order.datagrams);
                               }};
  return it;
}

}  // namespace healer::protocols
