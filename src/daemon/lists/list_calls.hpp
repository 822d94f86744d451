// SPDX-License-Identifier: MIT
// Lists over HTTP: one call for all lists with the same request, page after page, with a token that is taken anew when
// it has ended. What comes is parsed by a helper. On the loop thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "config/lists/list_source.hpp"
#include "engine/rules/settings.hpp"
#include "runtime/list_question.hpp"
#include "runtime/loop.hpp"
#include "runtime/net/http_caller.hpp"
#include "util/result.hpp"

namespace healer {

class ListCalls {
 public:
  using Question = runtime::ListQuestion;
  using Rows = std::vector<runtime::ListAnswer::Row>;
  struct Hooks {
    std::function<runtime::HttpCaller&()> caller;
    std::function<const engine::Settings&()> settings;
    /// Asks the helper, off the loop. The answer comes on the loop, never from within.
    std::function<void(Question, std::function<void(Result<runtime::ListAnswer>)>)> ask;
    std::function<void(runtime::Loop::Callback)> post;
  };
  /// The rows of each part, or why nobody knows them: half a list is none. On the loop, never from within read().
  using Done = std::function<void(Result<std::vector<Rows>>)>;

  explicit ListCalls(Hooks hooks) : hooks_(std::move(hooks)) {}
  ~ListCalls();
  ListCalls(const ListCalls&) = delete;
  ListCalls& operator=(const ListCalls&) = delete;

  /// Requires: none with the same HttpList::call_key() is under way.
  void read(const config::HttpList& list, std::vector<Question::Part> parts, Done done);
  /// Tokens of calls that are in none of these are forgotten.
  void keep_tokens(const std::vector<std::string>& calls);

 private:
  struct Call {
    std::shared_ptr<const config::HttpList> list;
    std::string key;
    std::vector<Question::Part> parts;
    Done done;
    engine::ActionId request{};
    std::size_t page = 0;     ///< under way, from 1
    std::uint64_t bytes = 0;  ///< of the pages before
    std::string url;          ///< of the page; empty: the first
    bool took_token = false;  ///< in this reading
    std::vector<Rows> rows;
    std::string here;  ///< the URL that was asked for, with all that it says
  };

  void begin(std::uint64_t id);
  void take_token(std::uint64_t id);
  void page_came(std::uint64_t id, const engine::event::Answered& answer, std::string body,
                 const std::vector<std::string>& head);
  void page_read(std::uint64_t id, const std::string& link, Result<runtime::ListAnswer> answer);
  void fail(std::uint64_t id, const std::string& why);
  void end(std::uint64_t id, Result<std::vector<Rows>> result);
  [[nodiscard]] Result<runtime::HttpCall> call_for(const engine::HttpRequest& request, const std::string& token_name,
                                                   const std::string& token) const;
  Call* find(std::uint64_t id);

  Hooks hooks_;
  std::map<std::uint64_t, Call> calls_;
  std::map<std::string, std::string> tokens_;  ///< by call: never written anywhere
  std::uint64_t next_ = 1;
  std::shared_ptr<char> alive_ = std::make_shared<char>();
};

}  // namespace healer
