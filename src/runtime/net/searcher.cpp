// SPDX-License-Identifier: MIT
#include "runtime/net/searcher.hpp"

#include <regex.h>

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "util/regex.hpp"

namespace healer::runtime {
namespace {

constexpr std::size_t kKept = 256;  // compiled expressions of a thread

class Compiled {
 public:
  explicit Compiled(const std::string& text)
      : error_(regex_problem(text).empty() ? ::regcomp(&regex_, text.c_str(), REG_EXTENDED) : REG_ESPACE) {}
  ~Compiled() {
    if (error_ == 0) ::regfree(&regex_);
  }
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;

  [[nodiscard]] Result<std::optional<std::size_t>> find(const std::string& text) const {
    if (error_ != 0) return Error{0, "it is not a valid regular expression"};
    regmatch_t whole[1] = {{0, static_cast<regoff_t>(text.size())}};
    if (::regexec(&regex_, text.c_str(), 1, whole, REG_STARTEND) != 0) return std::optional<std::size_t>();
    return std::optional(static_cast<std::size_t>(whole[0].rm_eo));
  }

 private:
  regex_t regex_{};
  int error_;
};

const Compiled& compiled(const std::string& pattern) {
  thread_local std::unordered_map<std::string, std::unique_ptr<Compiled>> known;
  if (known.size() >= kKept && !known.contains(pattern)) known.clear();
  auto& one = known[pattern];
  if (!one) one = std::make_unique<Compiled>(pattern);
  return *one;
}

}  // namespace

Searcher::Searcher(Loop& loop, std::string jq_helper)
    : pool_(loop, {.name = "healer-search", .workers = 2, .max_lost = 8, .patience = Duration{2'000}}),
      filters_(loop, std::move(jq_helper)) {}

void Searcher::search(protocols::Want::Search wanted, Done done) {
  auto shared = std::make_shared<const protocols::Want::Search>(std::move(wanted));
  auto answer = std::make_shared<Done>(std::move(done));
  pool_.submit(
      [shared, answer]() -> Loop::Callback {
        return [answer, result = compiled(shared->pattern).find(shared->text)] { (*answer)(result); };
      },
      [answer](Error error) { (*answer)(std::move(error)); });
}

}  // namespace healer::runtime
