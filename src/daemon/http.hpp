// SPDX-License-Identifier: MIT
// The HTTP side within the daemon: all that it answers, put together, and what tells it that something has changed.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "daemon/publisher.hpp"
#include "runtime/loop.hpp"
#include "web/api/kept_answers.hpp"
#include "web/backend.hpp"
#include "web/pulse.hpp"
#include "web/server/answer_file.hpp"
#include "web/server/http_side.hpp"

namespace healer {

class Http final : public Observer {
 public:
  /// `answers`: the file of answers that may be asked for again. Waits for that file to be read.
  Http(runtime::Loop& loop, const web::Backend& backend, web::HttpSide::Machine machine, const std::string& answers);

  /// Listens and lets in as these settings say, from now on.
  void use(const engine::Settings& settings) { side_.use(settings); }
  /// An address that logs a browser in once, in the name of `who`; why there is none.
  [[nodiscard]] std::variant<std::string, control::Failure> open_login(const control::Asker& who) {
    return side_.open_login(who);
  }
  /// What keeps people out now who should be let in, a sentence each.
  [[nodiscard]] std::vector<std::string> troubles() const { return side_.troubles(); }
  /// Where a commit is made something has changed that may be shown; where something was measured, figures may have.
  void see(const Happening& what) override;

 private:
  runtime::Loop::Timer beat_;
  web::Pulse pulse_;
  std::unique_ptr<web::AnswerFile> file_;
  std::unique_ptr<web::KeptAnswers> kept_;
  web::HttpSide side_;
};

}  // namespace healer
