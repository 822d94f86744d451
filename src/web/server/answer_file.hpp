// SPDX-License-Identifier: MIT
// The file in which answers to requests with an Idempotency-Key outlive the daemon. A thread writes it: a disk that
// hangs keeps nobody waiting but those who gave a key, and costs no more than a bounded queue.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "util/result.hpp"
#include "web/api/kept_answers.hpp"

namespace healer::web {

class AnswerFile final : public AnswerLog {
 public:
  /// Has something called on the thread of the owner, never while it is told of it.
  using Post = std::function<void(std::function<void()> what)>;
  /// Told when it cannot be written, once until it can again.
  using Failed = std::function<void(const std::string& why)>;
  static constexpr std::size_t kMostQueued = 64U << 20;  ///< bytes; what comes then is not written
  /// What that means for those who ask, as the end of a sentence.
  static constexpr std::string_view kMeanwhile =
      "meanwhile a request with an Idempotency-Key is done and answered all the same, and may be done twice when "
      "healerd is restarted";

  /// `post`: by which everybody is told; empty: on the thread that writes, and whoever is told may not use the file.
  explicit AnswerFile(std::string path, Post post = {}, Failed failed = {}, std::size_t most_queued = kMostQueued);
  /// Gives what is queued a moment to be written.
  ~AnswerFile() override;
  AnswerFile(const AnswerFile&) = delete;
  AnswerFile& operator=(const AnswerFile&) = delete;

  /// What such a file says; empty: there is none. Waits for the disk: for the start. Errors: it is not our own, or
  /// cannot be read.
  [[nodiscard]] static Result<std::string> read(const std::string& path);

  void append(std::string line, Written done) override;
  void replace(std::string lines) override;

  /// Waits until all that was queued is written, or was given up. For tests.
  void flush();

 private:
  class Writer;
  std::shared_ptr<Writer> writer_;
  std::thread thread_;
};

}  // namespace healer::web
