// SPDX-License-Identifier: MIT
#include "runtime/net/tls_context.hpp"

#include <openssl/err.h>
#include <openssl/x509_vfy.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <map>
#include <mutex>

#include <spdlog/fmt/fmt.h>

namespace healer::runtime {
namespace {

using protocols::TlsPlan;

/// Where distributions keep their authorities in one file: read at once, it is not looked for in a handshake.
constexpr std::array<const char*, 4> kBundles{"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                                              "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"};

Error ssl_error(const std::string& what) { return {0, fmt::format("{}: {}", what, openssl_words())}; }

std::pair<int, int> range_of(std::uint8_t versions) {
  constexpr std::array<std::pair<std::uint8_t, int>, 4> kVersions{{{protocols::kTls10, TLS1_VERSION},
                                                                   {protocols::kTls11, TLS1_1_VERSION},
                                                                   {protocols::kTls12, TLS1_2_VERSION},
                                                                   {protocols::kTls13, TLS1_3_VERSION}}};
  if (versions == 0) versions = protocols::kTls12 | protocols::kTls13;
  int least = 0, most = 0;
  for (const auto& [bit, version] : kVersions) {
    if ((versions & bit) == 0) continue;
    if (least == 0) least = version;
    most = version;
  }
  return {least, most};
}

bool add_folder(X509_STORE* store, const std::string& path) {
  std::error_code error;
  bool any = false;
  for (auto it = std::filesystem::directory_iterator(path, error);
       !error && it != std::filesystem::directory_iterator(); it.increment(error))
    if (it->is_regular_file(error)) any = X509_STORE_load_file(store, it->path().c_str()) == 1 || any;
  ERR_clear_error();  // of files that hold no certificates
  return any;
}

}  // namespace

std::string openssl_words() {
  std::string words;
  while (const unsigned long code = ERR_get_error()) {
    const char* reason = ERR_reason_error_string(code);
    if (reason != nullptr) {
      words = reason;
    } else if (ERR_SYSTEM_ERROR(code)) {
      words = system_error(ERR_GET_REASON(code), "").what.substr(2);
    }
  }
  return words.empty() ? "OpenSSL does not say why" : words;
}

void set_tls_versions(SSL_CTX* context, std::uint8_t versions) {
  const auto [least, most] = range_of(versions);
  if (least < TLS1_2_VERSION) SSL_CTX_set_security_level(context, 0);  // they are requested by name
  SSL_CTX_set_min_proto_version(context, least);
  SSL_CTX_set_max_proto_version(context, most);
}

std::int64_t changed_at(const std::string& path) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0) return -1;
  return static_cast<std::int64_t>(facts.st_mtim.tv_sec) * 1'000'000'000 + facts.st_mtim.tv_nsec;
}

bool TlsContext::is_stale() const {
  return std::ranges::any_of(stamps_, [](const Stamp& stamp) { return changed_at(stamp.path) != stamp.changed; });
}

Result<TlsContext::Store> TlsContext::store_of(const TlsPlan& plan, std::vector<Stamp>& stamps) {
  std::vector<std::string> files, folders;
  if (!plan.ca_file.empty()) files.push_back(plan.ca_file);
  if (!plan.ca_path.empty()) folders.push_back(plan.ca_path);
  if (files.empty() && folders.empty()) {
    const auto bundle = std::ranges::find_if(kBundles, [](const char* path) { return changed_at(path) >= 0; });
    if (bundle != kBundles.end()) files.emplace_back(*bundle);
    if (bundle == kBundles.end()) folders.emplace_back(X509_get_default_cert_dir());
  }
  std::string key;
  for (const auto* list : {&files, &folders})
    for (const std::string& path : *list) {
      stamps.push_back({path, changed_at(path)});
      key += fmt::format("{}\n{}\n", path, stamps.back().changed);
    }

  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<X509_STORE>> stores;  // guarded by mutex
  const std::lock_guard lock(mutex);
  if (Store known = stores[key].lock()) return known;
  Store store(X509_STORE_new(), X509_STORE_free);
  for (const std::string& file : files) {
    errno = 0;
    if (X509_STORE_load_file(store.get(), file.c_str()) != 1)
      return ssl_error(fmt::format("cannot read certificates of authorities from {}", file));
  }
  for (const std::string& folder : folders)
    if (!add_folder(store.get(), folder) && files.empty() && !plan.ca_path.empty())
      return Error{0, fmt::format("there are no certificates of authorities in {}", folder)};
  std::erase_if(stores, [](const auto& one) { return one.second.expired(); });
  stores[key] = store;
  return store;
}

Result<std::shared_ptr<const TlsContext>> TlsContext::make(const TlsPlan& plan) {
  ERR_clear_error();
  auto made = std::make_shared<TlsContext>();
  made->context_.reset(SSL_CTX_new(TLS_client_method()));
  SSL_CTX* context = made->context_.get();
  if (context == nullptr) return ssl_error("cannot begin TLS");
  set_tls_versions(context, plan.versions);
  // A monitor wants to see the certificate each time.
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  // The verdict is made afterwards (TlsSession::judge), so that the certificate can be told also where it is refused.
  SSL_CTX_set_verify(context, SSL_VERIFY_NONE, nullptr);
  if (!plan.ciphers.empty() && SSL_CTX_set_cipher_list(context, plan.ciphers.c_str()) != 1)
    return ssl_error(fmt::format("OpenSSL knows none of the ciphers \"{}\"", plan.ciphers));
  // Nobody is there to type the passphrase of a key: such a key cannot be used.
  SSL_CTX_set_default_passwd_cb(context, [](char*, int, int, void*) { return -1; });
  if (const std::string& file = plan.client_certificate; !file.empty()) {
    made->stamps_.push_back({file, changed_at(file)});
    if (SSL_CTX_use_certificate_chain_file(context, file.c_str()) != 1 ||
        SSL_CTX_use_PrivateKey_file(context, file.c_str(), SSL_FILETYPE_PEM) != 1)
      return ssl_error(fmt::format("cannot use the client certificate {}", file));
  }
  if (plan.verify) {
    auto store = store_of(plan, made->stamps_);
    if (!store) return store.error();
    made->store_ = std::move(*store);
    SSL_CTX_set1_cert_store(context, made->store_.get());
  }
  return std::shared_ptr<const TlsContext>(std::move(made));
}

}  // namespace healer::runtime
