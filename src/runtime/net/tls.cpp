// SPDX-License-Identifier: MIT
#include "runtime/net/tls.hpp"

#include <arpa/inet.h>
#include <openssl/asn1.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "protocols/digest.hpp"
#include "runtime/clock.hpp"
#include "runtime/net/tls_context.hpp"
#include "util/text.hpp"

namespace healer::runtime {
namespace {

using protocols::CertificateFacts;
using protocols::TlsPlan;

constexpr Duration kFilesStayFor{60'000};  // before they are looked at again
constexpr std::size_t kRecord = 16 * 1024;
constexpr std::size_t kMostContexts = 1000;

/// What of a plan is in a context: the rest is of each session.
std::string key_of(const TlsPlan& plan) {
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}", plan.verify, plan.versions, plan.ciphers, plan.client_certificate,
                     plan.verify ? plan.ca_file : "", plan.verify ? plan.ca_path : "");
}

bool is_address(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  return ::inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

std::string text_of(X509_NAME* name) {
  for (const int part : {NID_commonName, NID_organizationName}) {
    const int at = X509_NAME_get_index_by_NID(name, part, -1);
    if (at < 0) continue;
    unsigned char* bytes = nullptr;
    const int size = ASN1_STRING_to_UTF8(&bytes, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at)));
    if (size < 0) continue;
    std::string text(reinterpret_cast<char*>(bytes), static_cast<std::size_t>(size));
    OPENSSL_free(bytes);
    return printable(text.substr(0, 100));
  }
  return {};
}

WallTime time_of(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return {};
  return WallTime{seconds{::timegm(&parts)}};
}

/// The names for which a certificate is, at most three of them.
std::string names_of(X509* certificate) {
  std::vector<std::string> names;
  auto* all = static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  std::size_t more = 0;
  for (int i = 0; all != nullptr && i < sk_GENERAL_NAME_num(all); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(all, i);
    if (name->type != GEN_DNS) continue;
    if (names.size() == 3) {
      ++more;
      continue;
    }
    const ASN1_STRING* text = name->d.dNSName;
    names.push_back(printable(std::string_view(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                                               static_cast<std::size_t>(std::min(ASN1_STRING_length(text), 100)))));
  }
  GENERAL_NAMES_free(all);
  if (names.empty()) names.push_back(text_of(X509_get_subject_name(certificate)));
  if (more > 0) names.push_back(fmt::format("{} more", more));
  return join_words(names, "and");
}

std::string hex(std::string_view checksum) {
  std::string digits;
  for (const char c : to_lower(checksum))
    if (c != ':') digits += c;
  return digits;
}

std::string checksum_of(X509* certificate, std::size_t digits) {
  unsigned char* bytes = nullptr;
  const int size = i2d_X509(certificate, &bytes);
  if (size < 0) return {};
  protocols::Digest digest(digits);
  digest.add({reinterpret_cast<char*>(bytes), static_cast<std::size_t>(size)});
  OPENSSL_free(bytes);
  return digest.finish();
}

/// The last word on a chain that signed itself is the caller's, where he allows it; all else stays as it is.
int allow_self_signed(int fine, X509_STORE_CTX* context) {
  if (fine == 0 && X509_STORE_CTX_get_error(context) == X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT) {
    X509_STORE_CTX_set_error(context, X509_V_OK);
    return 1;
  }
  return fine;
}

}  // namespace

// ---- contexts -----------------------------------------------------------------------------------------------------

TlsContexts::TlsContexts(Loop& loop)
    : pool_(loop, {.name = "healer-tls", .workers = 1, .max_lost = 4, .patience = Duration{5'000}}) {}

void TlsContexts::get(const TlsPlan& plan, Done done) {
  const std::string key = key_of(plan);
  // Plans are written by people, so there are few; rows of lists may make more.
  if (entries_.size() >= kMostContexts && !entries_.contains(key))
    std::erase_if(entries_, [](const auto& one) { return !one.second.at_work; });
  Entry& entry = entries_[key];
  const bool fresh = mono_now() - entry.checked < kFilesStayFor;
  // What is warm serves, also while its files are looked at again; a failure is tried again each time.
  if (!entry.at_work && (!entry.context || !fresh)) make(key, plan);
  if (entry.context) return done(entry.context);
  entry.waiting.push_back(std::move(done));
}

void TlsContexts::make(const std::string& key, const TlsPlan& plan) {
  Entry& entry = entries_[key];
  entry.at_work = true;
  const std::weak_ptr<bool> alive = alive_;
  pool_.submit(
      [this, alive, key, plan, old = entry.context]() -> Loop::Callback {
        Result<Context> result = old && !old->is_stale() ? Result<Context>(old) : TlsContext::make(plan);
        return [this, alive, key, result = std::move(result)] {
          if (!alive.expired()) made(key, result);
        };
      },
      [this, alive, key](Error error) {
        if (!alive.expired()) made(key, std::move(error));
      });
}

void TlsContexts::made(const std::string& key, Result<Context> result) {
  Entry& entry = entries_[key];
  entry.at_work = false;
  entry.checked = mono_now();
  // Files that have become bad are told; what they once held is not taken for what they hold.
  entry.context = result ? *result : nullptr;
  const std::vector<Done> waiting = std::exchange(entry.waiting, {});
  for (const Done& done : waiting) done(result);
}

// ---- sessions -----------------------------------------------------------------------------------------------------

struct TlsSession::Handle {
  std::unique_ptr<SSL, FreeBy<SSL_free>> ssl;
  BIO* in = nullptr;  // both are the SSL's
  BIO* out = nullptr;
};

TlsSession::TlsSession(std::shared_ptr<const TlsContext> context, const TlsPlan& plan, std::string_view host)
    : context_(std::move(context)), plan_(plan), handle_(std::make_unique<Handle>()) {
  const std::string wanted = plan.server_name.empty() ? std::string(host) : plan.server_name;
  handle_->ssl.reset(SSL_new(context_->get()));
  SSL* ssl = handle_->ssl.get();
  if (ssl == nullptr) {
    fail(openssl_words());
    return;
  }
  handle_->in = BIO_new(BIO_s_mem());
  handle_->out = BIO_new(BIO_s_mem());
  BIO_set_mem_eof_return(handle_->in, -1);
  SSL_set_bio(ssl, handle_->in, handle_->out);
  SSL_set_connect_state(ssl);
  if (!plan.alpn.empty()) {
    const std::string list = static_cast<char>(plan.alpn.size()) + plan.alpn;
    SSL_set_alpn_protos(ssl, reinterpret_cast<const unsigned char*>(list.data()), static_cast<unsigned>(list.size()));
  }
  if (!is_address(wanted)) name_ = wanted.ends_with('.') ? wanted.substr(0, wanted.size() - 1) : wanted;
  if (!name_.empty()) SSL_set_tlsext_host_name(ssl, name_.c_str());
  if (plan.verify && plan.allow_self_signed) SSL_set_verify(ssl, SSL_VERIFY_NONE, allow_self_signed);
}

TlsSession::~TlsSession() = default;

void TlsSession::fail(std::string why) {
  state_ = State::Failed;
  fault_ = std::move(why);
}

TlsSession::State TlsSession::handshake() {
  if (state_ != State::Handshake) return state_;
  ERR_clear_error();
  SSL* ssl = handle_->ssl.get();
  const int result = SSL_do_handshake(ssl);
  if (result == 1) {
    const unsigned char* agreed = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(ssl, &agreed, &size);
    if (std::string why = judge(); !why.empty()) {
      fail(std::move(why));
    } else if (std::string_view(reinterpret_cast<const char*>(agreed), size) != plan_.alpn) {
      fail(fmt::format("the server does not agree to speak {}", plan_.alpn));
    } else {
      state_ = State::Open;
    }
    return state_;
  }
  const int error = SSL_get_error(ssl, result);
  if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) return state_;
  const unsigned long code = ERR_peek_last_error();
  const int reason = ERR_GET_LIB(code) == ERR_LIB_SSL ? ERR_GET_REASON(code) : 0;
  switch (reason) {
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_HTTP_REQUEST:
    case SSL_R_PACKET_LENGTH_TOO_LONG:
    case SSL_R_BAD_RECORD_TYPE: fail("the server does not speak TLS"); break;
    case SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL:
      fail(fmt::format("the server does not agree to speak {}", plan_.alpn));
      break;
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION: fail("the server speaks no version of TLS that is allowed"); break;
    default: {
      std::string words = openssl_words();
      if (const std::size_t alert = words.find("alert "); alert != std::string::npos)
        words = fmt::format("the server refused: {}", words.substr(alert + 6));
      fail(std::move(words));
    }
  }
  return state_;
}

std::string TlsSession::judge() {
  SSL* ssl = handle_->ssl.get();
  X509* certificate = SSL_get0_peer_certificate(ssl);
  if (certificate == nullptr) return "the server sent no certificate";
  certificate_ = CertificateFacts{text_of(X509_get_subject_name(certificate)),
                                  text_of(X509_get_issuer_name(certificate)), time_of(X509_get0_notAfter(certificate))};
  const WallTime today = now().wall;
  if (const std::string wanted = hex(plan_.checksum); !wanted.empty()) {
    const std::string sum = checksum_of(certificate, wanted.size());
    if (sum != wanted)
      return fmt::format("the {} checksum of the certificate is {}", protocols::find_checksum(wanted.size())->name,
                         sum);
  }
  if (plan_.verify) {
    const long result = SSL_get_verify_result(ssl);
    switch (result) {
      case X509_V_OK: break;
      case X509_V_ERR_CERT_HAS_EXPIRED:
        return certificate_->expires <= today ? "certificate " + protocols::expiry_words(certificate_->expires, today)
                                              : "a certificate between its own and its authority's has expired";
      case X509_V_ERR_CERT_NOT_YET_VALID: return "certificate is not valid yet";
      case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT: return "certificate is self-signed; 'selfsigned: allow' takes it";
      case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
      case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
      case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
      case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
        return fmt::format("certificate is from an authority that is not trusted ({})", certificate_->issuer);
      default: return fmt::format("certificate is not trusted: {}", X509_verify_cert_error_string(result));
    }
    // Monit does not ask whose the certificate is. An address is seldom in one, so it is not asked for.
    if (!name_.empty() && X509_check_host(certificate, name_.data(), name_.size(), 0, nullptr) != 1)
      return fmt::format("certificate is not for {}, but for {}", name_, names_of(certificate));
  }
  if (plan_.valid_days && protocols::days_left(certificate_->expires, today) < *plan_.valid_days)
    return fmt::format("certificate {}{}", protocols::expiry_words(certificate_->expires, today),
                       certificate_->expires <= today
                           ? ""
                           : fmt::format(", but must be valid for at least {} days", *plan_.valid_days));
  return {};
}

void TlsSession::feed(std::string_view bytes) { BIO_write(handle_->in, bytes.data(), static_cast<int>(bytes.size())); }

std::string TlsSession::take_output() {
  std::string bytes;
  const std::size_t size = handle_->out != nullptr ? BIO_ctrl_pending(handle_->out) : 0;
  if (size == 0) return bytes;
  bytes.resize(size);
  const int got = BIO_read(handle_->out, bytes.data(), static_cast<int>(size));
  bytes.resize(static_cast<std::size_t>(std::max(got, 0)));
  return bytes;
}

std::string TlsSession::read() {
  if (state_ != State::Open) return {};
  std::string bytes(kRecord, '\0');
  ERR_clear_error();
  const int got = SSL_read(handle_->ssl.get(), bytes.data(), static_cast<int>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(std::max(got, 0)));
  if (got > 0) return bytes;
  switch (SSL_get_error(handle_->ssl.get(), got)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE: break;
    case SSL_ERROR_ZERO_RETURN: state_ = State::Closed; break;
    default: {
      std::string words = openssl_words();
      if (const std::size_t alert = words.find("alert "); alert != std::string::npos)
        words = fmt::format("the server refused: {}", words.substr(alert + 6));
      fail(std::move(words));
    }
  }
  return bytes;
}

void TlsSession::write(std::string_view bytes) {
  ERR_clear_error();
  if (!bytes.empty() && SSL_write(handle_->ssl.get(), bytes.data(), static_cast<int>(bytes.size())) <= 0)
    fail(openssl_words());
}

std::string TlsSession::close() {
  ERR_clear_error();
  SSL_shutdown(handle_->ssl.get());
  state_ = State::Closed;
  return take_output();
}

std::string TlsSession::version() const { return SSL_get_version(handle_->ssl.get()); }

std::string TlsSession::cipher() const {
  const char* name = SSL_get_cipher_name(handle_->ssl.get());
  return name != nullptr ? name : "";
}

}  // namespace healer::runtime
