// SPDX-License-Identifier: MIT
// The HTTP side within the daemon: all that it answers, put together, what tells it that something has changed, and the
// collectors that are told of it.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "daemon/publisher.hpp"
#include "runtime/loop.hpp"
#include "web/api/kept_answers.hpp"
#include "web/backend.hpp"
#include "web/pulse.hpp"
#include "web/server/answer_file.hpp"
#include "web/server/collectors.hpp"
#include "web/server/http_side.hpp"

namespace healer {

class Http final : public Observer {
 public:
  /// `answers`: the file of answers that may be asked for again. Waits for that file to be read.
  Http(runtime::Loop& loop, const web::Backend& backend, web::HttpSide::Machine machine, const std::string& answers);

  /// Listens and lets in as these settings say, from now on.
  void use(const engine::Settings& settings);
  /// An address that logs a browser in once, in the name of `who`; why there is none.
  [[nodiscard]] std::variant<std::string, control::Failure> open_login(const control::Asker& who) {
    return side_.open_login(who);
  }
  /// What keeps people out now who should be let in, and which collectors are not reached, a sentence each.
  [[nodiscard]] std::vector<std::string> troubles() const;
  /// Where a commit is made something has changed that may be shown; where something was measured, figures may have.
  void see(const Happening& what) override;
  /// Calls `done` as soon as collectors have been told of everything, or have failed to take it, which may be at once.
  void when_idle(runtime::Loop::Callback done) { collectors_.when_idle(std::move(done)); }
  /// Calls `done` as soon as everything that is answered has been sent, which may be at once. Nobody is to ask any more
  /// by then who is not to be waited for.
  void when_quiet(runtime::Loop::Callback done);

 private:
  runtime::Loop& loop_;
  runtime::Loop::Timer beat_;
  runtime::Loop::Timer quiet_;
  web::Pulse pulse_;
  std::unique_ptr<web::AnswerFile> file_;
  std::unique_ptr<web::KeptAnswers> kept_;
  web::HttpSide side_;
  web::Collectors collectors_;
};

}  // namespace healer
