// SPDX-License-Identifier: MIT
#include "secrets.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include <spdlog/fmt/fmt.h>

#include "actions/environment.hpp"
#include "runtime/open_regular.hpp"

namespace healer {
namespace {

constexpr std::size_t kMostSecret = 64 * 1024;

std::string directory_of(const std::string& written) {
  if (!written.empty()) return written;
  if (const char* const credentials = std::getenv("CREDENTIALS_DIRECTORY"); credentials != nullptr) return credentials;
  return "/etc/healer/secrets";
}

Result<std::string> read_secret(const std::string& name, const std::string& directory) {
  const bool plain = !name.empty() && name.front() != '.' && name.find('/') == std::string::npos;
  if (!plain) return Error{0, fmt::format("secret {}: that is not a file name", name)};
  const std::string path = directory_of(directory) + "/" + name;
  const Result<runtime::Descriptor> file = runtime::open_regular(path, runtime::Links::Refused);
  if (!file) return Error{0, fmt::format("secret {}: {}", name, file.error().what)};
  struct stat about {};
  if (::fstat(file->get(), &about) != 0) return Error{0, fmt::format("secret {}: cannot be accessed", name)};
  if ((about.st_mode & 077) != 0)
    return Error{0, fmt::format("secret {}: others may read {} (chmod 600 {})", name, path, path)};
  std::string text(kMostSecret + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(file->get(), text.data() + size, text.size() - size);
    if (got < 0) return Error{0, fmt::format("secret {}: cannot be read", name)};
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  if (size > kMostSecret) return Error{0, fmt::format("secret {}: it is larger than 64 kB", name)};
  text.resize(size);
  if (text.ends_with('\n')) text.pop_back();
  if (text.find('\0') != std::string::npos) return Error{0, fmt::format("secret {}: it holds a NUL", name)};
  return text;
}

}  // namespace

Result<std::string> with_secrets(const std::vector<engine::effect::Place::Part>& parts, const std::string& directory,
                                 std::vector<std::string>& read, const WriteSecret& write) {
  std::string whole;
  for (const auto& [text, is_secret] : parts) {
    if (!is_secret) {
      whole += text;
      continue;
    }
    Result<std::string> secret = read_secret(text, directory);
    if (!secret) return secret;
    const std::optional<std::string> written = write ? write(*secret, whole.empty()) : std::optional(*secret);
    if (!written) return Error{0, fmt::format("secret {}: it holds control characters", text)};
    whole += *written;
    read.push_back(std::move(*secret));
  }
  return whole;
}

Result<runtime::LateVariables> late_variables(const engine::effect::Place& place, const std::string& directory) {
  runtime::LateVariables late{.values = {}, .hidden = place.hidden};
  for (const auto& [name, value] : place.environment) {
    if (name == actions::kMarkVariable) continue;
    Result<std::string> text = with_secrets(value, directory, late.hidden);
    if (!text) return text.error();
    late.values.emplace_back(name, std::move(*text));
  }
  return late;
}

}  // namespace healer
