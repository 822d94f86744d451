// SPDX-License-Identifier: MIT
#include "web/server/credentials.hpp"

#include <crypt.h>
#include <grp.h>
#include <netdb.h>
#include <openssl/evp.h>
#include <pwd.h>
#include <security/pam_appl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "protocols/digest.hpp"
#include "runtime/clock.hpp"
#include "runtime/files/read_input.hpp"
#include "runtime/files/secret_file.hpp"
#include "runtime/net/address.hpp"
#include "util/secrets/same_secret.hpp"
#include "util/text.hpp"

namespace healer::web {
namespace {

using engine::HttpdSettings;
using engine::Role;
using Allow = HttpdSettings::Allow;

/// How long a password counts as right that took time to check.
constexpr Duration kRemembered = minutes{1};
constexpr std::size_t kMostRemembered = 1'000;
constexpr std::size_t kMostWaiting = 64;
constexpr std::string_view kPamService = "healer";

void look_up_host(const std::string& name, AccessRules& rules, std::vector<std::string>& troubles) {
  rules.names_hosts = true;
  if (const auto network = Network::parse(name)) {
    rules.networks.push_back(*network);
    return;
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int failure = getaddrinfo(name.c_str(), nullptr, &hints, &list);
  if (failure != 0) {
    troubles.push_back(fmt::format("'allow {}' lets nobody in: {}", printable(name), gai_strerror(failure)));
    return;
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(list, freeaddrinfo);
  for (const addrinfo* one = list; one != nullptr; one = one->ai_next) {
    const runtime::Address address =
        one->ai_family == AF_INET6 ? runtime::Address(reinterpret_cast<const sockaddr_in6*>(one->ai_addr)->sin6_addr)
                                   : runtime::Address(reinterpret_cast<const sockaddr_in*>(one->ai_addr)->sin_addr);
    if (const auto network = Network::parse(address.text())) rules.networks.push_back(*network);
  }
}

/// As in Monit, the first password of a user is his.
bool is_known(const AccessRules& rules, const std::string& user) {
  return std::ranges::find(rules.users, user, &User::name) != rules.users.end();
}

PasswordKind kind_of(const std::string& how) {
  if (how == "md5") return PasswordKind::Md5;
  return how == "crypt" ? PasswordKind::Crypt : PasswordKind::Clear;
}

/// `user:password` on each line; comments and what is no such line are left out, as in Monit.
void read_password_file(const Allow& allow, AccessRules& rules, std::vector<std::string>& troubles) {
  const auto text = read_input(allow.who);
  if (!text) {
    troubles.push_back(fmt::format("nobody of {} is let in: {}", printable(allow.who), text.error().what));
    return;
  }
  std::string_view rest = *text;
  while (!rest.empty()) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ' || line.back() == '\t')) line.remove_suffix(1);
    const std::size_t colon = line.find(':');
    if (line.starts_with('#') || colon == std::string_view::npos || colon == 0) continue;
    const std::string user(line.substr(0, colon));
    if (!allow.users.empty() && std::ranges::find(allow.users, user) == allow.users.end()) continue;
    // What follows another colon is no part of the password where it has been made by a program.
    std::string_view password = line.substr(colon + 1);
    if (kind_of(allow.how) != PasswordKind::Clear) password = password.substr(0, password.find(':'));
    if (password.empty()) {
      troubles.push_back(fmt::format("{} of {} is not let in: an empty password opens nothing", printable(user),
                                     printable(allow.who)));
      continue;
    }
    if (is_known(rules, user)) continue;
    rules.users.push_back({user, std::string(password), kind_of(allow.how), allow.role});
  }
}

/// "token ci" of "${secret:ci}", "token 2" of another: the secret's name, or its place.
std::string token_name(const std::string& written, std::size_t place) {
  constexpr std::string_view kBegin = runtime::kSecretBegin;
  if (!written.starts_with(kBegin) || !written.ends_with('}')) return fmt::format("token {}", place);
  return fmt::format("token {}", written.substr(kBegin.size(), written.size() - kBegin.size() - 1));
}

std::pair<AccessRules, std::vector<std::string>> rules_of(const HttpdSettings& settings, const std::string& secrets) {
  std::pair<AccessRules, std::vector<std::string>> made;
  auto& [rules, troubles] = made;
  if (settings.allow.empty()) {
    rules = AccessRules::nobody();
    return made;
  }
  for (const Allow& allow : settings.allow) {
    switch (allow.kind) {
      case Allow::Kind::Host: look_up_host(allow.who, rules, troubles); break;
      case Allow::Kind::Group:
        if (std::ranges::find(rules.groups, allow.who, &PamGroup::name) == rules.groups.end())
          rules.groups.push_back({allow.who, allow.role});
        break;
      case Allow::Kind::File: read_password_file(allow, rules, troubles); break;
      case Allow::Kind::Login:
      case Allow::Kind::Token: {
        auto secret = runtime::with_secrets(allow.password, secrets);
        const std::string whose = allow.kind == Allow::Kind::Token ? "a token" : printable(allow.who);
        if (secret && secret->empty()) secret = Error{0, "an empty one opens nothing"};
        if (!secret)
          troubles.push_back(fmt::format("{} is not let in: {}", whose, secret.error().what));
        else if (allow.kind == Allow::Kind::Token)
          rules.tokens.push_back({token_name(allow.password, rules.tokens.size() + 1), *secret, allow.role});
        else if (!is_known(rules, allow.who))
          rules.users.push_back({allow.who, *secret, PasswordKind::Clear, allow.role});
        break;
      }
    }
  }
  for (const std::string& proxy : settings.proxies) {
    if (const auto network = Network::parse(proxy))
      rules.proxies.push_back(*network);
    else
      troubles.push_back(fmt::format("'trust proxy {}' is no address", printable(proxy)));
  }
  // A file that cannot be read, or a secret, must not open what it should close.
  const bool wants_login =
      std::ranges::any_of(settings.allow, [](const Allow& a) { return a.kind != Allow::Kind::Host; });
  if (wants_login && !rules.needs_login()) rules.users.push_back({});
  return made;
}

bool is_crypt_password(const std::string& password, const std::string& hashed) {
  auto data = std::make_unique<crypt_data>();
  const char* const made = crypt_r(password.c_str(), hashed.c_str(), data.get());
  return made != nullptr && made[0] != '*' && is_same_secret(hashed, made);
}

// ---- PAM

/// Answers whatever PAM asks without showing it with the password: nobody is there to be asked.
int converse(int count, const pam_message** messages, pam_response** responses, void* password) {
  auto* const answers = static_cast<pam_response*>(std::calloc(static_cast<std::size_t>(count), sizeof(pam_response)));
  if (answers == nullptr) return PAM_BUF_ERR;
  for (int at = 0; at < count; ++at)
    if (messages[at]->msg_style == PAM_PROMPT_ECHO_OFF) answers[at].resp = strdup(static_cast<const char*>(password));
  *responses = answers;
  return PAM_SUCCESS;
}

/// Whether PAM knows the password, and the account may be used now: neither locked nor expired.
bool is_pam_password(const BasicLogin& login) {
  std::string password = login.password;
  const pam_conv conversation{&converse, password.data()};
  pam_handle_t* handle = nullptr;
  if (pam_start(std::string(kPamService).c_str(), login.user.c_str(), &conversation, &handle) != PAM_SUCCESS)
    return false;
  int result = pam_authenticate(handle, PAM_SILENT | PAM_DISALLOW_NULL_AUTHTOK);
  if (result == PAM_SUCCESS) result = pam_acct_mgmt(handle, PAM_SILENT | PAM_DISALLOW_NULL_AUTHTOK);
  pam_end(handle, result);
  return result == PAM_SUCCESS;
}

bool is_in_group(const std::string& user, const std::string& group) {
  std::vector<char> room(64 * 1024);
  passwd account{};
  passwd* found = nullptr;
  if (getpwnam_r(user.c_str(), &account, room.data(), room.size(), &found) != 0 || found == nullptr) return false;
  std::vector<gid_t> ids(1024);
  int count = static_cast<int>(ids.size());
  if (getgrouplist(user.c_str(), account.pw_gid, ids.data(), &count) < 0) return false;
  ids.resize(static_cast<std::size_t>(count));
  std::vector<char> group_room(64 * 1024);
  ::group entry{};
  ::group* known = nullptr;
  if (getgrnam_r(group.c_str(), &entry, group_room.data(), group_room.size(), &known) != 0 || known == nullptr)
    return false;
  return std::ranges::find(ids, entry.gr_gid) != ids.end();
}

/// Takes time, and may hang.
std::optional<Role> role_of(const std::vector<User>& users, const std::vector<PamGroup>& groups,
                            const BasicLogin& login) {
  for (const User& user : users) {
    const bool is_right = user.kind == PasswordKind::Md5     ? is_md5_password(login.password, user.password)
                          : user.kind == PasswordKind::Crypt ? is_crypt_password(login.password, user.password)
                                                             : false;
    if (is_right) return user.role;
  }
  std::optional<bool> known;
  for (const PamGroup& group : groups) {
    if (!is_in_group(login.user, group.name)) continue;
    if (!known) known = is_pam_password(login);
    if (*known) return group.role;
  }
  return std::nullopt;
}

}  // namespace

bool is_md5_password(std::string_view password, const std::string& hashed) {
  static constexpr std::string_view kApache = "$apr1$", kCrypt = "$1$";
  const std::string_view magic = hashed.starts_with(kApache) ? kApache : kCrypt;
  if (!hashed.starts_with(magic)) return false;
  if (magic == kCrypt) return is_crypt_password(std::string(password), hashed);
  // As crypt's, but for its mark: Poul-Henning Kamp's MD5 password scheme.
  std::string_view salt = std::string_view(hashed).substr(magic.size());
  salt = salt.substr(0, std::min<std::size_t>(salt.find('$'), 8));
  const auto digest = [](std::initializer_list<std::string_view> parts) {
    std::array<unsigned char, 16> sum{};
    const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
    EVP_DigestInit_ex(context.get(), EVP_md5(), nullptr);
    for (const std::string_view part : parts) EVP_DigestUpdate(context.get(), part.data(), part.size());
    EVP_DigestFinal_ex(context.get(), sum.data(), nullptr);
    return std::string(reinterpret_cast<const char*>(sum.data()), sum.size());
  };
  std::string inner = digest({password, salt, password});
  std::string mixed;
  for (std::size_t left = password.size(); left > 0; left -= std::min<std::size_t>(left, 16))
    mixed += inner.substr(0, std::min<std::size_t>(left, 16));
  for (std::size_t bits = password.size(); bits > 0; bits >>= 1U) mixed += (bits & 1U) != 0 ? '\0' : password.front();
  std::string sum = digest({password, magic, salt, mixed});
  for (int round = 0; round < 1000; ++round) {
    const bool odd = round % 2 != 0;
    const std::string_view begin = odd ? password : std::string_view(sum);
    const std::string_view end = odd ? std::string_view(sum) : password;
    sum = digest(
        {begin, round % 3 != 0 ? salt : std::string_view(), round % 7 != 0 ? password : std::string_view(), end});
  }
  static constexpr std::string_view kDigits = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  std::string text = std::string(magic) + std::string(salt) + "$";
  const auto byte = [&](std::size_t at) { return static_cast<std::uint32_t>(static_cast<unsigned char>(sum[at])); };
  const auto write = [&](std::uint32_t value, int count) {
    for (; count > 0; --count, value >>= 6U) text += kDigits[value & 63U];
  };
  for (const auto& [a, b, c] : {std::array<std::size_t, 3>{0, 6, 12}, {1, 7, 13}, {2, 8, 14}, {3, 9, 15}, {4, 10, 5}})
    write(byte(a) << 16U | byte(b) << 8U | byte(c), 4);
  write(byte(11), 2);
  return is_same_secret(hashed, text);
}

Credentials::Credentials(runtime::Loop& loop, std::string key)
    : key_(std::move(key)),
      files_(loop, {.name = "allowed", .workers = 1, .patience = Duration{10'000}}),
      pool_(loop, {.name = "passwords", .workers = 2, .patience = Duration{20'000}}) {}

void Credentials::read(const HttpdSettings& settings, const std::string& secrets_directory,
                       std::function<void(AccessRules, std::vector<std::string>)> done) {
  files_.submit(
      [this, settings, secrets_directory, done]() -> runtime::Loop::Callback {
        auto made =
            std::make_shared<std::pair<AccessRules, std::vector<std::string>>>(rules_of(settings, secrets_directory));
        return [this, done, made] {
          ++round_;  // what was right by the former rules is asked anew
          known_.clear();
          done(std::move(made->first), std::move(made->second));
        };
      },
      [done](const Error& error) { done(AccessRules::nobody(), {"nobody is let in over HTTP: " + error.what}); });
}

std::string Credentials::sum_of(const std::string& made, const BasicLogin& login) const {
  const std::string text = std::to_string(login.user.size()) + ":" + login.user + login.password + made;
  return protocols::hmac_bytes(protocols::Hash::Sha256, key_, text);
}

void Credentials::check(const AccessRules& rules, const BasicLogin& login,
                        std::function<void(std::optional<Role>)> done) {
  std::optional<Role> found;
  std::vector<User> hashed;
  std::string made;
  for (const User& user : rules.users) {
    const bool is_named = is_same_secret(user.name, login.user) && !user.name.empty();
    if (user.kind != PasswordKind::Clear) {
      if (is_named) hashed.push_back(user), made += user.password;
    } else if (is_same_secret(user.password, login.password) && is_named && !found) {
      found = user.role;
    }
  }
  if (found) return done(found);
  if (hashed.empty() && rules.groups.empty()) return done(std::nullopt);
  const std::string sum = sum_of(made, login);
  const Duration now = runtime::now().mono;
  std::erase_if(known_, [&](const auto& one) { return one.second.until <= now; });
  if (const auto known = known_.find(sum); known != known_.end()) return done(known->second.role);
  // Whoever floods healer with passwords keeps no one waiting for long.
  if (waiting_ >= kMostWaiting) return done(std::nullopt);
  ++waiting_;
  pool_.submit(
      [this, sum, login, done, hashed = std::move(hashed), groups = rules.groups,
       round = round_]() -> runtime::Loop::Callback {
        const std::optional<Role> role = role_of(hashed, groups, login);
        return [this, sum, role, done, round] {
          --waiting_;
          if (role && round == round_ && known_.size() < kMostRemembered)
            known_[sum] = {*role, runtime::now().mono + kRemembered};
          done(role);
        };
      },
      [this, done](const Error&) {
        --waiting_;
        done(std::nullopt);
      });
}

}  // namespace healer::web
