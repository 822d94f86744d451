// SPDX-License-Identifier: MIT
#include "runtime/files/secret_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include <spdlog/fmt/fmt.h>

#include "runtime/files/open_regular.hpp"
#include "util/secret_name.hpp"

namespace healer::runtime {
namespace {

constexpr std::size_t kMostSecret = 64 * 1024;
constexpr const char* kFolder = "/etc/healer/secrets";

std::string directory_of(const std::string& written) {
  if (!written.empty()) return written;
  if (const char* const credentials = std::getenv("CREDENTIALS_DIRECTORY"); credentials != nullptr) return credentials;
  return kFolder;
}

/// All that the file holds.
Result<std::string> read_whole_secret(const std::string& name, const std::string& directory) {
  const bool plain = !name.empty() && name.front() != '.' && name.find('/') == std::string::npos;
  if (!plain) return Error{0, fmt::format("secret {}: that is not a file name", name)};
  const std::string path = directory_of(directory) + "/" + name;
  const Result<Descriptor> file = open_regular(path, Links::Refused);
  if (!file) return Error{file.error().code, fmt::format("secret {}: {}", name, file.error().what)};
  struct stat about {};
  if (::fstat(file->get(), &about) != 0) return Error{0, fmt::format("secret {}: cannot be accessed", name)};
  if ((about.st_mode & 077) != 0)
    return Error{EPERM, fmt::format("secret {}: others may read {} (chmod 600 {})", name, path, path)};
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
  if (text.find('\0') != std::string::npos) return Error{0, fmt::format("secret {}: it contains a NUL byte", name)};
  return text;
}

}  // namespace

Result<std::string> read_secret(const std::string& name, const std::string& directory) {
  const std::optional<SecretName> wanted = secret_name(name);
  if (!wanted) return Error{0, fmt::format("secret {}: a part of a secret is written NAME[2]", name)};
  Result<std::string> text = read_whole_secret(wanted->file, directory);
  if (!text) return text;
  const std::optional<std::string_view> part = part_of(*text, wanted->part);
  if (!part)
    return Error{0, fmt::format("secret {}: commas separate only {} part{} in it", name, count_of_parts(*text),
                                count_of_parts(*text) == 1 ? "" : "s")};
  return std::string(*part);
}

Result<std::string> with_secrets(const std::string& text, const std::string& directory) {
  std::string whole;
  std::string_view rest = text;
  while (true) {
    const std::size_t begin = rest.find(kSecretBegin);
    whole.append(rest.substr(0, begin));
    if (begin == std::string_view::npos) return whole;
    rest.remove_prefix(begin + kSecretBegin.size());
    const std::size_t end = rest.find('}');
    if (end == std::string_view::npos) return Error{0, "'${secret:' without its brace"};
    auto secret = read_secret(std::string(rest.substr(0, end)), directory);
    if (!secret) return secret;
    whole += *secret;
    rest.remove_prefix(end + 1);
  }
}

Result<void> check_secret(const std::string& name, const std::string& directory) {
  const Result<std::string> secret = read_secret(name, directory);
  return secret ? Result<void>() : Result<void>(secret.error());
}

std::optional<config::SecretFault> secret_fault(const std::string& name, const std::string& directory) {
  const Result<void> readable = check_secret(name, directory);
  if (readable) return std::nullopt;
  const bool is_default = directory.empty() && std::getenv("CREDENTIALS_DIRECTORY") == nullptr;
  return config::SecretFault{.why = readable.error().what,
                             .path = directory_of(directory) + "/" + name.substr(0, name.find('[')),
                             .is_certain = !is_default || ::access(kFolder, F_OK) == 0};
}

}  // namespace healer::runtime
