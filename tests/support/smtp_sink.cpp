// SPDX-License-Identifier: MIT
#include "support/smtp_sink.hpp"

namespace healer::test {

void SmtpSink::restart() {
  std::filesystem::remove(path() / "port");
  std::vector<std::string> command{"python3", healer::test::source_folder() + "/tests/support/smtp_sink.py",
                                   path().string(), "--port", std::to_string(port())};
  command.insert(command.end(), options_.begin(), options_.end());
  child_ = std::make_unique<Child>(std::move(command), path() / "output");
  if (!eventually([&] { return std::filesystem::exists(path() / "port"); })) std::abort();
}

std::vector<std::string> SmtpSink::names() const {
  std::vector<std::string> result;
  for (const auto& entry : std::filesystem::directory_iterator(path()))
    if (entry.path().extension() == ".json") result.push_back(entry.path().stem().string());
  std::ranges::sort(result);
  return result;
}

std::vector<std::string> SmtpSink::read(const std::string& extension) const {
  std::vector<std::string> result;
  for (const std::string& name : names()) result.push_back(read_file(path() / (name + extension)));
  return result;
}

}  // namespace healer::test
