// SPDX-License-Identifier: MIT
#include "daemon/lists/list_calls.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "config/lists/list_pages.hpp"
#include "config/lists/list_rows.hpp"
#include "daemon/http_calls.hpp"
#include "engine/healing/request.hpp"
#include "util/text.hpp"

namespace healer {
namespace {

using config::HttpList;
using config::next_link;
using config::next_page;
using engine::event::Answered;

/// Requests of lists have numbers of their own: those of healings come from the journal and begin with 1.
constexpr std::uint64_t kOfLists = std::uint64_t{1} << 63;

constexpr int kUnauthorized = 401;

bool is_good(std::uint16_t status, const std::vector<std::uint16_t>& expected) {
  if (expected.empty()) return status >= 200 && status < 300;
  return std::ranges::find(expected, status) != expected.end();
}

}  // namespace

ListCalls::~ListCalls() {
  for (const auto& [id, call] : calls_)
    if (call.request != engine::ActionId{}) hooks_.caller().end(call.request);
}

ListCalls::Call* ListCalls::find(std::uint64_t id) {
  const auto found = calls_.find(id);
  return found == calls_.end() ? nullptr : &found->second;
}

void ListCalls::read(const HttpList& list, std::vector<Question::Part> parts, Done done) {
  const std::uint64_t id = next_++;
  Call& call = calls_[id];
  call.list = std::make_shared<const HttpList>(list);
  call.key = list.call_key();
  call.parts = std::move(parts);
  call.done = std::move(done);
  begin(id);
}

void ListCalls::keep_tokens(const std::vector<std::string>& calls) {
  std::erase_if(tokens_, [&](const auto& one) { return std::ranges::find(calls, one.first) == calls.end(); });
}

Result<runtime::HttpCall> ListCalls::call_for(const engine::HttpRequest& request, const std::string& token_name,
                                              const std::string& token) const {
  engine::Variables secrets;
  if (!token_name.empty()) secrets.emplace(token_name, token);
  engine::FilledRequest filled = engine::fill(request, {}, secrets);
  if (!filled.missing.empty()) return Error{0, fmt::format("it has no value ${{{}}}", printable(filled.missing))};
  if (!filled.refused.empty())
    return Error{0, fmt::format("the value of ${{{}}} contains control characters", printable(filled.refused))};
  return http_call_of(std::move(filled.request), hooks_.settings());
}

/// The first request: for the token, where there is none; or for the page.
void ListCalls::begin(std::uint64_t id) {
  Call& call = *find(id);
  const HttpList& list = *call.list;
  if (call.page == 0) {
    call.page = 1;
    call.rows.assign(call.parts.size(), {});
  }
  const auto token = tokens_.find(call.key);
  if (list.token && token == tokens_.end()) return take_token(id);
  Result<runtime::HttpCall> made = call_for(list.request, list.token ? list.token->saving.name : std::string(),
                                            token == tokens_.end() ? std::string() : token->second);
  if (!made) return fail(id, made.error().what);
  made->limit = list.request.limit - std::min(list.request.limit, call.bytes);
  made->timeout = list.timeout;
  made->safe = true;
  if (call.page > 1) made->place = call.url;
  made->whole = [this, id](const Answered& answer, std::string body, const std::vector<std::string>& head,
                           const std::string& url) {
    if (Call* const its = find(id)) its->here = url;
    page_came(id, answer, std::move(body), head);
  };
  call.request = engine::ActionId{kOfLists | id};
  hooks_.caller().call(call.request, std::move(*made), [](const Answered&) {});
}

void ListCalls::take_token(std::uint64_t id) {
  Call& call = *find(id);
  const HttpList::Token& token = *call.list->token;
  call.took_token = true;
  Result<runtime::HttpCall> made = call_for(token.request, {}, {});
  if (!made) return fail(id, "its token: " + made.error().what);
  made->timeout = call.list->timeout;
  made->saves.push_back(token.saving);
  call.request = engine::ActionId{kOfLists | id};
  hooks_.caller().call(call.request, std::move(*made), [this, id](const Answered& answer) {
    Call* const its = find(id);
    if (its == nullptr) return;
    its->request = {};
    const HttpList::Token& wanted = *its->list->token;
    if (answer.kind != Answered::Kind::Whole) return fail(id, "its token: " + answer.why);
    if (!is_good(answer.status, wanted.expect)) return fail(id, fmt::format("its token: answered {}", answer.status));
    if (answer.saved.empty() || !answer.saved.front() || answer.saved.front()->empty())
      return fail(
          id, fmt::format("its token: the answer has no {} {}",
                          wanted.saving.from == engine::Saving::From::Header ? "header" : "value", wanted.saving.what));
    tokens_.insert_or_assign(its->key, *answer.saved.front());
    begin(id);
  });
}

void ListCalls::page_came(std::uint64_t id, const Answered& answer, std::string body,
                          const std::vector<std::string>& head) {
  Call* const call = find(id);
  if (call == nullptr) return;
  call->request = {};
  const auto which = [&] { return call->page == 1 ? std::string() : fmt::format("page {}: ", call->page); };
  if (answer.kind != Answered::Kind::Whole) return fail(id, which() + answer.why);
  if (answer.status == kUnauthorized && call->list->token) {
    tokens_.erase(call->key);
    if (!call->took_token) {  // it has ended: the whole list is read anew with another one
      call->page = 0;
      call->bytes = 0;
      call->url.clear();
      return begin(id);
    }
  }
  if (!is_good(answer.status, {})) return fail(id, fmt::format("{}answered {}", which(), answer.status));
  call->bytes += body.size();
  const std::string link = call->list->next_link ? next_link(head) : std::string();
  hooks_.ask({.parts = call->parts, .next = call->list->next, .lines = false, .text = std::move(body)},
             [this, id, link, alive = std::weak_ptr(alive_)](Result<runtime::ListAnswer> found) {
               if (!alive.expired()) page_read(id, link, std::move(found));
             });
}

void ListCalls::page_read(std::uint64_t id, const std::string& link, Result<runtime::ListAnswer> answer) {
  Call* const call = find(id);
  if (call == nullptr) return;
  const std::string which = call->page == 1 ? std::string() : fmt::format("page {}: ", call->page);
  if (!answer) return fail(id, which + answer.error().what);
  for (std::size_t i = 0; i < call->rows.size() && i < answer->parts.size(); ++i) {
    Rows& rows = call->rows[i];
    Rows& more = answer->parts[i];
    if (rows.empty())
      rows = std::move(more);
    else
      rows.insert(rows.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    if (rows.size() > config::kMostRows) return fail(id, fmt::format("it has more than {} rows", config::kMostRows));
  }
  const std::string& place = call->list->next_link ? link : answer->next;
  if (place.empty()) return end(id, std::move(call->rows));
  if (call->page == HttpList::kMostPages) return fail(id, fmt::format("it has more than {} pages", call->page));
  Result<std::string> next = next_page(call->here, place);
  if (!next) return fail(id, which + next.error().what);
  call->url = std::move(*next);
  ++call->page;
  begin(id);
}

void ListCalls::fail(std::uint64_t id, const std::string& why) { end(id, Error{0, why}); }

/// Told from within read(), too: whoever waits is told in a turn of its own.
void ListCalls::end(std::uint64_t id, Result<std::vector<Rows>> result) {
  auto call = calls_.extract(id);
  if (call.empty()) return;
  auto shared = std::make_shared<Result<std::vector<Rows>>>(std::move(result));
  hooks_.post([done = std::move(call.mapped().done), shared, alive = std::weak_ptr(alive_)] {
    if (!alive.expired()) done(std::move(*shared));
  });
}

}  // namespace healer
