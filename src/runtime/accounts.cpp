// SPDX-License-Identifier: MIT
#include "runtime/accounts.hpp"

#include <grp.h>
#include <pwd.h>
#include <spdlog/fmt/fmt.h>

#include <cerrno>
#include <cstddef>
#include <system_error>
#include <utility>
#include <vector>

#include "runtime/descriptor.hpp"
#include "util/text.hpp"

namespace healer::runtime {
namespace {

constexpr std::size_t kLargestEntry = 1U << 20;

/// Calls one of the getpw*_r and getgr*_r functions with a buffer that is large enough, and takes from the entry what
/// is wanted.
template <typename Entry, typename Call, typename Take>
auto entry_of(Call call, Take take) -> Result<std::optional<decltype(take(std::declval<const Entry&>()))>> {
  using Found = std::optional<decltype(take(std::declval<const Entry&>()))>;
  Entry entry{};
  std::vector<char> buffer;
  for (buffer.resize(4096); buffer.size() <= kLargestEntry; buffer.resize(buffer.size() * 2)) {
    Entry* found = nullptr;
    const int error = call(&entry, buffer.data(), buffer.size(), &found);
    if (error == ERANGE) continue;
    if (error == 0 && found != nullptr) return Found(take(entry));
    // Some services say in this way that there is none (getpwnam(3)).
    if (error == 0 || error == ENOENT || error == ESRCH) return Found();
    return Error{error, std::generic_category().message(error)};
  }
  return Error{ERANGE, "its entry is too long"};
}

Account account(const passwd& entry) { return {entry.pw_uid, entry.pw_gid, entry.pw_name, entry.pw_dir}; }

std::string name_of_user(const engine::Identity& identity) {
  return identity.uid ? fmt::format("user {}", *identity.uid) : fmt::format("user {}", printable(identity.user));
}

std::string name_of_group(const engine::Identity& identity) {
  return fmt::format("group {}", printable(identity.group));
}

Error failed(const std::string& whose, const Error& why) {
  const std::string what = fmt::format("{} cannot be looked up: {}", whose, why.what);
  return {lacks_resources(why) ? why.code : EIO, what};
}

Error unknown(const std::string& whose) { return {ENOENT, whose + " is unknown on this machine"}; }

}  // namespace

Result<std::optional<Account>> account_of(const std::string& name) {
  return entry_of<passwd>([&](auto... out) { return ::getpwnam_r(name.c_str(), out...); }, account);
}

Result<std::optional<Account>> account_of(std::uint32_t uid) {
  return entry_of<passwd>([&](auto... out) { return ::getpwuid_r(uid, out...); }, account);
}

Result<std::optional<std::uint32_t>> group_of(const std::string& name) {
  return entry_of<::group>([&](auto... out) { return ::getgrnam_r(name.c_str(), out...); },
                           [](const ::group& entry) { return std::uint32_t{entry.gr_gid}; });
}

Result<std::optional<std::uint32_t>> group_of(std::uint32_t gid) {
  return entry_of<::group>([&](auto... out) { return ::getgrgid_r(gid, out...); },
                           [](const ::group& entry) { return std::uint32_t{entry.gr_gid}; });
}

Result<RunsAs> look_up(const engine::Identity& identity) {
  RunsAs as{.uid = identity.uid, .gid = identity.gid, .home = identity.home};
  if (identity.uid.has_value() == identity.user.empty()) {
    auto found = identity.uid ? account_of(*identity.uid) : account_of(identity.user);
    if (!found) return failed(name_of_user(identity), found.error());
    if (!*found || (*found)->uid == kNoNumber) return unknown(name_of_user(identity));
    if (!identity.uid) as.uid = (*found)->uid;
    as.home = std::move((*found)->home);
  }
  if (!identity.group.empty()) {
    const auto found = group_of(identity.group);
    if (!found) return failed(name_of_group(identity), found.error());
    if (!*found || **found == kNoNumber) return unknown(name_of_group(identity));
    as.gid = **found;
  }
  return as;
}

std::string names_in(const engine::Identity& identity) {
  std::string names;
  if (identity.uid.has_value() == identity.user.empty()) names = name_of_user(identity);
  if (!identity.group.empty()) names += (names.empty() ? "" : " and ") + name_of_group(identity);
  return names;
}

}  // namespace healer::runtime
