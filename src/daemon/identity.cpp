// SPDX-License-Identifier: MIT
#include "daemon/identity.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>

#include <openssl/evp.h>
#include <openssl/rand.h>
#include <spdlog/fmt/fmt.h>

namespace healer {
namespace {

constexpr std::string_view kMark = "healer ";  // what tells an id file of healer from one of Monit

std::string hex(const unsigned char* bytes, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += fmt::format("{:02x}", bytes[i]);
  return text;
}

/// The first line of a file, or nothing.
std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string own_path(const std::string& path) {
  const bool foreign = std::filesystem::exists(path) && !first_line(path).starts_with(kMark);
  return foreign ? path + ".healer" : path;
}

Result<std::string> write_id(const std::string& path) {
  std::array<unsigned char, 16> random{};
  if (RAND_bytes(random.data(), random.size()) != 1) return Error{0, "no random numbers for an id"};
  std::string id = hex(random.data(), random.size());
  const std::string text = fmt::format("{}{}\n", kMark, id);
  const std::string fresh = path + ".new";
  const int file = open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return system_error(errno, fmt::format("cannot write the id file {}", path));
  const bool written = write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int code = errno;
  close(file);
  if (!written || rename(fresh.c_str(), path.c_str()) != 0)
    return system_error(written ? errno : code, fmt::format("cannot write the id file {}", path));
  return id;
}

}  // namespace

Result<std::string> instance_id(const std::string& path) {
  const std::string own = own_path(path);
  const std::string line = first_line(own);
  if (line.starts_with(kMark)) return line.substr(kMark.size());
  return write_id(own);
}

Result<std::string> reset_instance_id(const std::string& path) { return write_id(own_path(path)); }

Result<std::string> file_hashes(const std::string& path) {
  const int file = path.empty() ? dup(STDIN_FILENO) : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return system_error(errno, fmt::format("cannot read {}", path));
  using Context = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;
  const Context sha1(EVP_MD_CTX_new(), &EVP_MD_CTX_free), md5(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  EVP_DigestInit_ex(sha1.get(), EVP_sha1(), nullptr);
  EVP_DigestInit_ex(md5.get(), EVP_md5(), nullptr);
  std::array<char, 65536> buffer{};
  ssize_t count = 0;
  while ((count = read(file, buffer.data(), buffer.size())) > 0) {
    EVP_DigestUpdate(sha1.get(), buffer.data(), static_cast<std::size_t>(count));
    EVP_DigestUpdate(md5.get(), buffer.data(), static_cast<std::size_t>(count));
  }
  const int code = errno;
  close(file);
  const std::string name = path.empty() ? "stdin" : path;
  if (count < 0) return system_error(code, fmt::format("cannot read {}", name));
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  EVP_DigestFinal_ex(sha1.get(), digest.data(), &size);
  std::string text = fmt::format("SHA1({}) = {}\n", name, hex(digest.data(), size));
  EVP_DigestFinal_ex(md5.get(), digest.data(), &size);
  return text + fmt::format("MD5({})  = {}\n", name, hex(digest.data(), size));
}

}  // namespace healer
