// SPDX-License-Identifier: MIT
// The file in which answers to requests with an Idempotency-Key outlive the daemon. A thread writes it: a disk that
// hangs keeps nobody waiting, and costs no more than a bounded queue.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "util/result.hpp"
#include "web/api/kept_answers.hpp"

namespace healer::web {

class AnswerFile final : public AnswerLog {
 public:
  /// Told on the thread when it cannot be written, once until it can again.
  using Failed = std::function<void(const std::string& why)>;

  explicit AnswerFile(std::string path, Failed failed = {});
  /// Gives what is queued a moment to be written.
  ~AnswerFile() override;
  AnswerFile(const AnswerFile&) = delete;
  AnswerFile& operator=(const AnswerFile&) = delete;

  /// What such a file says; empty: there is none. Waits for the disk: for the start. Errors: it is not our own, or
  /// cannot be read.
  [[nodiscard]] static Result<std::string> read(const std::string& path);

  void append(std::string line) override;
  void replace(std::string lines) override;

  /// Waits until all that was queued is written, or was given up. For tests.
  void flush();

 private:
  class Writer;
  std::shared_ptr<Writer> writer_;
};

}  // namespace healer::web
