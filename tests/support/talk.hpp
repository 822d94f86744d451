// SPDX-License-Identifier: MIT
// Plays a server to a conversation, without a socket: what is said on both sides, and the verdict, as text.
#pragma once

#include <regex.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocols/protocol.hpp"
#include "util/jq.hpp"
#include "util/text.hpp"

namespace healer::test {

using protocols::Conversation;
using protocols::Want;

/// The end of the first match, looked for as runtime/net/searcher does.
inline std::optional<std::size_t> search(const Want::Search& wanted) {
  regex_t compiled{};
  if (::regcomp(&compiled, wanted.pattern.c_str(), REG_EXTENDED) != 0) return std::nullopt;
  regmatch_t whole[1] = {{0, static_cast<regoff_t>(wanted.text.size())}};
  const bool found = ::regexec(&compiled, wanted.text.c_str(), 1, whole, REG_STARTEND) == 0;
  ::regfree(&compiled);
  return found ? std::optional(static_cast<std::size_t>(whole[0].rm_eo)) : std::nullopt;
}

/// A server that says one part of its script whenever it is waited for, cut into pieces, and closes at its end.
class Talk {
 public:
  std::size_t piece = std::string::npos;  ///< bytes at a time
  bool closes = true;                     ///< else it falls silent

  /// "pass: ...", "fail: ...", "unknown: ...", "elsewhere: ..." or "waits for its ...".
  std::string play(Conversation& conversation, const std::vector<std::string>& script) {
    sent.clear();
    Want want = settle(conversation, conversation.begin());
    for (const std::string& part : script) {
      for (std::string_view rest = part; !rest.empty() && want.kind == Want::Kind::Receive;) {
        const std::string_view bytes = rest.substr(0, piece);
        rest.remove_prefix(bytes.size());
        want = settle(conversation, conversation.receive(bytes));
      }
      if (want.kind != Want::Kind::Receive) break;
    }
    if (want.kind == Want::Kind::Receive && closes) want = settle(conversation, conversation.closed());
    switch (want.kind) {
      case Want::Kind::Pass: return "pass: " + want.text;
      case Want::Kind::Fail: return "fail: " + want.text;
      case Want::Kind::Unknown: return "unknown: " + want.text;
      case Want::Kind::Elsewhere: return "elsewhere: " + printable(std::string_view(want.elsewhere->url).substr(0, 80));
      default: return "waits for its " + std::string(conversation.awaited());
    }
  }

  std::string sent;  ///< all that the conversation sent; "<TLS>" where it wanted that

 private:
  Want settle(Conversation& conversation, Want want) {
    while (true) {
      sent += want.send;
      if (want.kind == Want::Kind::StartTls) {
        sent += "<TLS>";
        want = conversation.secured();
      } else if (want.kind == Want::Kind::Search) {
        want = conversation.found(search(*want.search));
      } else if (want.kind == Want::Kind::Query) {
        static std::map<std::string, Result<JqFilter>> known;  // to compile one takes long
        auto found = known.find(want.query->filter);
        if (found == known.end())
          found = known.emplace(want.query->filter, JqFilter::compile(want.query->filter)).first;
        auto& filter = found->second;
        want = conversation.answered(filter ? filter->first(want.query->text) : filter.error());
      } else {
        return want;
      }
    }
  }
};

}  // namespace healer::test
