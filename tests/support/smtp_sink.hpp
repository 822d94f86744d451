// SPDX-License-Identifier: MIT
// tests/support/smtp_sink.py, for C++ tests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "support/child.hpp"

namespace healer::test {

/// A mail server on 127.0.0.1 that takes mails into a directory and fails on demand; see smtp_sink.py for the modes.
class SmtpSink {
 public:
  explicit SmtpSink(std::vector<std::string> options = {}) : options_(std::move(options)) { start(0); }

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] const std::filesystem::path& path() const { return directory_.path(); }
  /// Texts of the mails taken so far, in order.
  [[nodiscard]] std::vector<std::string> mails() const { return read(".eml"); }
  /// Their envelopes, as JSON text.
  [[nodiscard]] std::vector<std::string> envelopes() const { return read(".json"); }
  [[nodiscard]] std::size_t count() const { return names().size(); }
  [[nodiscard]] std::string commands() const { return read_file(path() / "commands.log"); }
  void mode(const std::string& text) { write_file(path() / "mode", text); }

  void stop() { child_.reset(); }
  /// Again, on the same port.
  void restart() { start(port_); }

 private:
  void start(std::uint16_t port) {
    std::filesystem::remove(path() / "port");
    std::vector<std::string> command{"python3", std::string(HEALER_SOURCE_DIR) + "/tests/support/smtp_sink.py",
                                     path().string(), "--port", std::to_string(port)};
    command.insert(command.end(), options_.begin(), options_.end());
    child_ = std::make_unique<Child>(std::move(command), path() / "output");
    if (!eventually([&] { return std::filesystem::exists(path() / "port"); })) std::abort();
    port_ = static_cast<std::uint16_t>(std::stoi(read_file(path() / "port")));
  }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const auto& entry : std::filesystem::directory_iterator(path()))
      if (entry.path().extension() == ".json") result.push_back(entry.path().stem().string());
    std::ranges::sort(result);
    return result;
  }
  [[nodiscard]] std::vector<std::string> read(const std::string& extension) const {
    std::vector<std::string> result;
    for (const std::string& name : names()) result.push_back(read_file(path() / (name + extension)));
    return result;
  }

  std::vector<std::string> options_;
  TemporaryDirectory directory_;
  std::unique_ptr<Child> child_;
  std::uint16_t port_ = 0;
};

}  // namespace healer::test
