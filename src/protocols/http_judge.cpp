// SPDX-License-Identifier: MIT
#include "protocols/http_judge.hpp"

#include <algorithm>
#include <array>

#include <spdlog/fmt/fmt.h>

#include "protocols/pattern.hpp"
#include "protocols/quote.hpp"
#include "util/jq.hpp"
#include "util/text.hpp"

namespace healer::protocols {
namespace {

bool is_met(Operator op, JsonOrder order) {
  switch (op) {
    case Operator::Equal: return order == JsonOrder::Equal;
    case Operator::NotEqual: return order != JsonOrder::Equal;
    case Operator::Less: return order == JsonOrder::Less;
    case Operator::LessEqual: return order == JsonOrder::Less || order == JsonOrder::Equal;
    case Operator::Greater: return order == JsonOrder::Greater;
    case Operator::GreaterEqual: return order == JsonOrder::Greater || order == JsonOrder::Equal;
  }
  return false;
}

bool needs_order(Operator op) { return op != Operator::Equal && op != Operator::NotEqual; }

std::string shown(std::string_view text) {
  constexpr std::size_t kMost = 80;
  return printable(text.substr(0, kMost)) + (text.size() > kMost ? "..." : "");
}

}  // namespace

HttpJudge::HttpJudge(const Order& order) : limit_(order.limits.http_content) {
  if (const Setting* status = order.find("status")) status_ = *status;
  if (const Setting* content = order.find("content")) content_ = *content;
  if (const Setting* redirects = order.find("redirects")) redirects_ = *redirects;
  std::ranges::copy_if(order.settings, std::back_inserter(json_),
                       [](const Setting& one) { return one.word == "json"; });
  if (const std::string_view sum = order.text("checksum"); !sum.empty()) {
    checksum_ = to_lower(sum);
    digest_.emplace(checksum_.size());
  }
}

void HttpJudge::take(std::string_view part) {
  if (digest_) digest_->add(part);
  if (!content_ && json_.empty()) return;
  const std::string_view kept = part.substr(0, limit_ - std::min(limit_, body_.size()));
  is_cut_ = is_cut_ || kept.size() < part.size();
  body_ += kept;
}

std::optional<Want> HttpJudge::redirect(int status, std::string_view location) const {
  constexpr std::array kStatus{301, 302, 303, 307, 308};
  if (!redirects_ || std::ranges::find(kStatus, status) == kStatus.end()) return std::nullopt;
  if (redirects_->number == 0) return Want::fail(fmt::format("its status is {}: it redirects once more", status));
  if (location.empty()) return Want::fail(fmt::format("its status is {}, but it does not say where to", status));
  return Want::go_elsewhere({std::string(location), status == 307 || status == 308});
}

Want HttpJudge::judge(int status, bool is_whole, std::string_view location) {
  if (auto want = redirect(status, location)) return std::move(*want);
  if (status_ ? !holds(status_->op, status, status_->number) : status >= 400)
    return Want::fail(status_
                          ? fmt::format("its status is {}, not {} {}", status, to_string(status_->op), status_->number)
                          : fmt::format("its status is {}", status));
  // What is beyond the limit is not looked at, so nobody waits for it.
  if (content_ && !content_judged_) {
    if (!is_whole && body_.size() < limit_) return Want::receive();
    if (body_.empty()) return Want::fail("it sent no content");  // whatever is asked of it, as in Monit
    const auto literal = literal_of(content_->text);
    if (!literal) return Want::search_for(content_->text, body_);
    const std::size_t at = body_.find(*literal);
    if (auto want = found(at == std::string::npos ? std::nullopt : std::optional(at + literal->size())))
      return std::move(*want);
  }
  if (json_judged_ < json_.size()) {
    if (is_cut_) return Want::unknown(fmt::format("its content has more than {} bytes: its JSON is not read", limit_));
    if (!is_whole) return Want::receive();
    return Want::ask(json_[json_judged_].text, body_);
  }
  if (digest_) {
    if (!is_whole) return Want::receive();
    const std::string sum = digest_->finish();
    if (sum != checksum_)
      return Want::fail(
          fmt::format("the {} checksum of its content is {}", find_checksum(checksum_.size())->name, sum));
  }
  return Want::pass(fmt::format("HTTP status {}", status));
}

std::optional<Want> HttpJudge::found(std::optional<std::size_t> end) {
  if (content_->op == Operator::NotEqual && end)
    return Want::fail(fmt::format("its content matches {}", quote(content_->text)));
  if (content_->op != Operator::NotEqual && !end)
    return Want::fail(
        fmt::format("its content{} does not match {}",
                    body_.size() >= limit_ ? fmt::format(", of which {} bytes were searched,", limit_) : "",
                    quote(content_->text)));
  content_judged_ = true;
  return std::nullopt;
}

std::optional<Want> HttpJudge::answered(const Result<std::string>& value) {
  const Setting& test = json_[json_judged_++];
  const std::string filter = quote(test.text);
  if (!value) return Want::unknown(fmt::format("json {} is not known: {}", filter, shown(value.error().what)));
  const JsonOrder order = json_order(*value, test.value);
  if (needs_order(test.op) && order == JsonOrder::Unordered)
    return Want::unknown(
        fmt::format("json {} is {}, which cannot be compared with {}", filter, shown(*value), test.value));
  if (!is_met(test.op, order))
    return Want::fail(fmt::format("json {} is {}, not {} {}", filter, shown(*value), to_string(test.op), test.value));
  return std::nullopt;
}

}  // namespace healer::protocols
