// SPDX-License-Identifier: MIT
#include "secrets.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include <spdlog/fmt/fmt.h>

#include "runtime/open_regular.hpp"

namespace healer {
namespace {

constexpr std::string_view kBegin = "${secret:";
constexpr std::size_t kMost = 64 * 1024;

std::string directory_of(const std::string& written) {
  if (!written.empty()) return written;
  if (const char* const credentials = std::getenv("CREDENTIALS_DIRECTORY"); credentials != nullptr) return credentials;
  return "/etc/healer/secrets";
}

Result<std::string> read_secret(const std::string& name, const std::string& directory) {
  const bool plain = !name.empty() && name.front() != '.' && name.find('/') == std::string::npos;
  if (!plain) return Error{0, fmt::format("secret {}: that is no name of a file", name)};
  const std::string path = directory_of(directory) + "/" + name;
  const Result<runtime::Descriptor> file = runtime::open_regular(path, runtime::Links::Refused);
  if (!file) return Error{0, fmt::format("secret {}: {}", name, file.error().what)};
  struct stat about {};
  if (::fstat(file->get(), &about) != 0) return Error{0, fmt::format("secret {}: cannot be looked at", name)};
  if ((about.st_mode & 077) != 0)
    return Error{0, fmt::format("secret {}: others may read {} (chmod 600 {})", name, path, path)};
  std::string text(kMost + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(file->get(), text.data() + size, text.size() - size);
    if (got < 0) return Error{0, fmt::format("secret {}: cannot be read", name)};
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  if (size > kMost) return Error{0, fmt::format("secret {}: it is larger than 64 kB", name)};
  text.resize(size);
  if (text.ends_with('\n')) text.pop_back();
  if (text.find('\0') != std::string::npos) return Error{0, fmt::format("secret {}: it holds a NUL", name)};
  return text;
}

}  // namespace

Result<std::string> with_secrets(std::string_view text, const std::string& directory) {
  std::string whole;
  while (true) {
    const std::size_t at = text.find(kBegin);
    const std::size_t end = at == std::string_view::npos ? at : text.find('}', at);
    if (end == std::string_view::npos) return whole.append(text);
    whole.append(text.substr(0, at));
    const std::string name(text.substr(at + kBegin.size(), end - at - kBegin.size()));
    Result<std::string> secret = read_secret(name, directory);
    if (!secret) return secret;
    whole.append(*secret);
    text.remove_prefix(end + 1);
  }
}

}  // namespace healer
