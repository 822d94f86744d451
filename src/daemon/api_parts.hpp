// SPDX-License-Identifier: MIT
// What the API needs of the daemon beside the commands: its heartbeat, and the answers that outlive the daemon.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "daemon/publisher.hpp"
#include "runtime/loop.hpp"
#include "web/api/api.hpp"
#include "web/server/answer_file.hpp"

namespace healer {

class ApiParts final : public Observer {
 public:
  /// Reads the answers in `file`. `report`: a sentence for the log. Requires: `loop` outlives this.
  ApiParts(runtime::Loop& loop, const std::string& file, std::function<void(const std::string&)> report);

  /// Requires: this outlives them.
  [[nodiscard]] std::vector<web::Route> routes(const web::Backend& backend) {
    return web::api_routes(backend, pulse_, kept_);
  }
  void see(const Happening& what) override;

 private:
  std::string saved_;  ///< until `kept_` has read it
  web::AnswerFile file_;
  web::KeptAnswers kept_;
  runtime::Loop::Timer timer_;
  web::Pulse pulse_;
};

}  // namespace healer
