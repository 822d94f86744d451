// SPDX-License-Identifier: MIT
#include "runtime/net/smtp.hpp"

#include <curl/curl.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstring>
#include <optional>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "protocols/digest.hpp"
#include "runtime/net/curl_tls.hpp"
#include "util/secrets/strike_out.hpp"
#include "util/text.hpp"

namespace healer::runtime {
namespace {

using Security = engine::MailServer::Security;

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxReason = 300;
constexpr Duration kGoodbye{1'000};  // for the answer to QUIT, which nobody needs

template <auto Function>
struct FreeWith {
  void operator()(auto* pointer) const { (void)Function(pointer); }
};
using EasyHandle = std::unique_ptr<CURL, FreeWith<curl_easy_cleanup>>;
using MultiHandle = std::unique_ptr<CURLM, FreeWith<curl_multi_cleanup>>;
using UrlHandle = std::unique_ptr<CURLU, FreeWith<curl_url_cleanup>>;
using List = std::unique_ptr<curl_slist, FreeWith<curl_slist_free_all>>;

/// What the conversation was about when it ended: whose fault a refusal is.
enum class Stage : std::uint8_t { Server, Mail };

// ---- certificates -------------------------------------------------------------------------------------------------

struct CertificateRules {
  bool verify = false;
  bool allow_self_signed = false;
  std::string checksum;  ///< lower-case hex; empty: any
  bool mismatch = false;
};

const EVP_MD* digest_of(const std::string& checksum) {
  switch (checksum.size()) {
    case 32: return EVP_md5();
    case 40: return EVP_sha1();
    case 64: return EVP_sha256();
    default: return nullptr;
  }
}

std::string normal_checksum(std::string_view text) {
  std::string result = to_lower(text);
  std::erase_if(result, [](char c) { return c == ':' || c == ' '; });
  return result;
}

bool checksum_matches(X509* certificate, const std::string& wanted) {
  const EVP_MD* kind = digest_of(wanted);
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned length = 0;
  if (kind == nullptr || certificate == nullptr || X509_digest(certificate, kind, bytes.data(), &length) != 1)
    return false;
  std::string seen;
  for (unsigned i = 0; i < length; ++i) seen += fmt::format("{:02x}", bytes[i]);
  return seen == wanted;
}

int judge_certificate(X509_STORE_CTX* context, void* data) {
  auto& rules = *static_cast<CertificateRules*>(data);
  if (!rules.checksum.empty() && !checksum_matches(X509_STORE_CTX_get0_cert(context), rules.checksum)) {
    rules.mismatch = true;
    X509_STORE_CTX_set_error(context, X509_V_ERR_CERT_REJECTED);
    return 0;
  }
  if (!rules.verify) return 1;
  if (rules.allow_self_signed) X509_STORE_CTX_set_verify_cb(context, tolerate_self_signed);
  return X509_verify_cert(context);
}

CURLcode set_certificate_rules(CURL*, void* ssl_context, void* rules) {
  auto* context = static_cast<SSL_CTX*>(ssl_context);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_cert_verify_callback(context, judge_certificate, rules);
  return CURLE_OK;
}

// ---- one conversation ---------------------------------------------------------------------------------------------

struct Conversation {
  std::string_view unsent;  ///< of the mail's text
  Stage stage = Stage::Server;
  std::optional<Clock::time_point> leaving;  ///< QUIT was said: what comes is of no interest
  const std::function<bool()>* meanwhile = nullptr;
  std::string reply;  ///< the last line of the server to the last command
  CertificateRules certificate;
};

std::size_t give_text(char* to, std::size_t size, std::size_t count, void* data) {
  auto& conversation = *static_cast<Conversation*>(data);
  const std::size_t length = std::min(size * count, conversation.unsent.size());
  std::memcpy(to, conversation.unsent.data(), length);
  conversation.unsent.remove_prefix(length);
  return length;
}

/// Sees commands and replies pass. It looks at the verb alone: AUTH lines carry secrets.
int observe(CURL*, curl_infotype kind, char* bytes, std::size_t size, void* data) {
  auto& conversation = *static_cast<Conversation*>(data);
  const std::string_view text(bytes, size);
  if (conversation.leaving) return 0;
  if (kind == CURLINFO_HEADER_OUT && text.starts_with("QUIT")) {
    conversation.leaving = Clock::now();
  } else if (kind == CURLINFO_HEADER_OUT) {
    const bool mail = text.starts_with("MAIL ") || text.starts_with("RCPT ") || text.starts_with("DATA");
    conversation.stage = mail ? Stage::Mail : Stage::Server;
    conversation.reply.clear();
  } else if (kind == CURLINFO_HEADER_IN) {
    conversation.reply = trim(text.substr(0, kMaxReason));
  }
  return 0;
}

/// libcurl waits for the answer to QUIT by itself, calling this once a second.
int shorten_goodbye(void* data, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  const auto& conversation = *static_cast<Conversation*>(data);
  if (!conversation.leaving) return 0;
  return Clock::now() - *conversation.leaving >= kGoodbye || !(*conversation.meanwhile)() ? 1 : 0;
}

std::size_t ignore_bytes(char*, std::size_t size, std::size_t count, void*) { return size * count; }

curl_socket_t open_socket(void* data, curlsocktype, curl_sockaddr* address) {
  const int socket = ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
  if (socket >= 0) static_cast<std::vector<curl_socket_t>*>(data)->push_back(socket);
  return socket;
}

int close_socket(void* data, curl_socket_t socket) {
  std::erase(*static_cast<std::vector<curl_socket_t>*>(data), socket);
  return ::close(socket);
}

/// The number that a reply begins with, or 0.
int status_of(std::string_view reply) {
  int status = 0;
  const auto [end, error] =
      std::from_chars(reply.data(), reply.data() + std::min<std::size_t>(reply.size(), 3), status);
  return error == std::errc{} && end == reply.data() + 3 ? status : 0;
}

SmtpResult result_of(CURLcode code, const Conversation& conversation, const char* curl_text) {
  const std::string& reply = conversation.reply;
  if (code == CURLE_OK) return {.status = 250, .reply = reply, .fault = ""};
  if (conversation.certificate.mismatch) return {.reply = "", .fault = "its certificate has another checksum"};
  const int status = status_of(reply);
  SmtpResult result{.reply = reply, .fault = *curl_text != '\0' ? curl_text : curl_easy_strerror(code)};
  if (status >= 400) result.fault += " (" + reply + ")";
  // 421: it is closing; 530..538: it wants another login. Both say nothing about the mail.
  const bool is_about_mail = conversation.stage == Stage::Mail && status >= 400 && status < 600 && status != 421 &&
                             !(status >= 530 && status <= 538);
  if (is_about_mail) result.status = static_cast<std::uint16_t>(status);
  return result;
}

}  // namespace

struct SmtpClient::Impl {
  std::vector<curl_socket_t> sockets;  // that libcurl has open; it closes them before this goes
  MultiHandle multi;
  EasyHandle easy;
  Conversation conversation;

  void settings_of(const engine::MailServer& server, const std::string& ehlo, Duration timeout, CURLU* url);
  CURLcode run(const std::function<bool()>& meanwhile, bool& aborted);
};

SmtpClient::SmtpClient() : impl_(std::make_unique<Impl>()) {
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  (void)ready;
  impl_->multi.reset(curl_multi_init());
  impl_->easy.reset(curl_easy_init());
}

SmtpClient::~SmtpClient() {
  // libcurl would say QUIT on a connection that is still open, and wait minutes for the answer.
  for (const curl_socket_t socket : impl_->sockets) ::shutdown(socket, SHUT_RDWR);
}

void SmtpClient::Impl::settings_of(const engine::MailServer& server, const std::string& ehlo, Duration timeout,
                                   CURLU* url) {
  CURL* h = easy.get();
  const auto set = [h](CURLoption option, auto value) { (void)curl_easy_setopt(h, option, value); };
  curl_url_set(url, CURLUPART_SCHEME, server.security == Security::Tls ? "smtps" : "smtp", 0);
  curl_url_set(url, CURLUPART_PORT, std::to_string(server.port).c_str(), 0);
  curl_url_set(url, CURLUPART_PATH, ("/" + ehlo).c_str(), 0);
  set(CURLOPT_CURLU, url);
  set(CURLOPT_PROTOCOLS_STR, "smtp,smtps");
  set(CURLOPT_PROXY, "");  // whatever the environment says
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_QUICK_EXIT, 1L);  // a name server that does not answer holds nothing up
  set(CURLOPT_OPENSOCKETFUNCTION, open_socket);
  set(CURLOPT_OPENSOCKETDATA, &sockets);
  set(CURLOPT_CLOSESOCKETFUNCTION, close_socket);
  set(CURLOPT_CLOSESOCKETDATA, &sockets);
  set(CURLOPT_TCP_KEEPALIVE, 1L);

  const auto ms = static_cast<long>(std::max<std::int64_t>(timeout.count(), 100));
  set(CURLOPT_CONNECTTIMEOUT_MS, ms);
  set(CURLOPT_SERVER_RESPONSE_TIMEOUT, (ms + 999) / 1000);
  set(CURLOPT_TIMEOUT_MS, 6 * ms);  // connect, login, sender, recipient, text, its answer

  if (!server.username.empty()) {
    set(CURLOPT_USERNAME, server.username.c_str());
    set(CURLOPT_PASSWORD, server.password.c_str());
    set(CURLOPT_LOGIN_OPTIONS, "AUTH=PLAIN;AUTH=LOGIN;AUTH=CRAM-MD5");
  }

  set(CURLOPT_USE_SSL, static_cast<long>(server.security == Security::None ? CURLUSESSL_NONE : CURLUSESSL_ALL));
  if (server.security == Security::None) return;
  set(CURLOPT_SSLVERSION, curl_tls_version(server.tls_version).value_or(CURL_SSLVERSION_TLSv1_2));
  set(CURLOPT_SSL_VERIFYPEER, server.verify ? 1L : 0L);
  set(CURLOPT_SSL_VERIFYHOST, server.verify && !server.allow_self_signed ? 2L : 0L);
  if (!server.ciphers.empty()) set(CURLOPT_SSL_CIPHER_LIST, server.ciphers.c_str());
  if (!server.ca_file.empty()) set(CURLOPT_CAINFO, server.ca_file.c_str());
  if (!server.ca_path.empty()) set(CURLOPT_CAPATH, server.ca_path.c_str());
  if (!server.client_certificate.empty()) {
    set(CURLOPT_SSLCERT, server.client_certificate.c_str());
    set(CURLOPT_SSLKEY, server.client_certificate.c_str());
  }
  set(CURLOPT_SSL_SESSIONID_CACHE, 0L);  // a resumed session would not be judged
  set(CURLOPT_SSL_CTX_FUNCTION, set_certificate_rules);
  set(CURLOPT_SSL_CTX_DATA, &conversation.certificate);
}

CURLcode SmtpClient::Impl::run(const std::function<bool()>& meanwhile, bool& aborted) {
  if (curl_multi_add_handle(multi.get(), easy.get()) != CURLM_OK) return CURLE_FAILED_INIT;
  std::optional<CURLcode> result;
  while (!result) {
    int running = 0;
    const CURLMcode performed = curl_multi_perform(multi.get(), &running);
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi.get(), &left))
      if (message->msg == CURLMSG_DONE) result = message->data.result;
    if (result) break;
    if (performed != CURLM_OK || running == 0) {
      result = CURLE_FAILED_INIT;
      break;
    }
    (void)curl_multi_poll(multi.get(), nullptr, 0, 1000, nullptr);
    if (!meanwhile()) {
      aborted = true;
      result = CURLE_ABORTED_BY_CALLBACK;
    }
  }
  (void)curl_multi_remove_handle(multi.get(), easy.get());
  return *result;
}

SmtpResult SmtpClient::send(const engine::MailServer& server, const std::string& ehlo, Duration timeout,
                            const Envelope& mail, bool last, const std::function<bool()>& meanwhile,
                            const std::string& addresses) {
  if (!impl_->multi || !impl_->easy) return {.reply = "", .fault = "libcurl cannot start"};
  const UrlHandle url(curl_url());
  // An IPv6 address may come without its brackets.
  const bool bare = server.host.find(':') != std::string::npos && !server.host.starts_with('[');
  if (!url ||
      curl_url_set(url.get(), CURLUPART_HOST, (bare ? "[" + server.host + "]" : server.host).c_str(), 0) != CURLUE_OK) {
    return {.reply = "", .fault = "its name is not a host name"};
  }
  const List recipients(curl_slist_append(nullptr, mail.to.c_str()));
  const List known(
      addresses.empty()
          ? nullptr
          : curl_slist_append(nullptr, fmt::format("{}:{}:{}", server.host, server.port, addresses).c_str()));
  std::array<char, CURL_ERROR_SIZE> error{};
  CURL* h = impl_->easy.get();
  Conversation& conversation = impl_->conversation;
  for (int attempt = 0;; ++attempt) {
    curl_easy_reset(h);
    error[0] = '\0';
    conversation = {};
    conversation.unsent = mail.text;
    conversation.meanwhile = &meanwhile;
    conversation.certificate = {server.verify, server.allow_self_signed, normal_checksum(server.certificate_checksum),
                                false};
    impl_->settings_of(server, ehlo, timeout, url.get());
    const auto set = [h](CURLoption option, auto value) { (void)curl_easy_setopt(h, option, value); };
    set(CURLOPT_ERRORBUFFER, error.data());
    set(CURLOPT_RESOLVE, known.get());
    set(CURLOPT_MAIL_FROM, mail.from.c_str());
    set(CURLOPT_MAIL_RCPT, recipients.get());
    set(CURLOPT_UPLOAD, 1L);
    set(CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(mail.text.size()));
    set(CURLOPT_READFUNCTION, give_text);
    set(CURLOPT_READDATA, &conversation);
    set(CURLOPT_WRITEFUNCTION, ignore_bytes);
    set(CURLOPT_VERBOSE, 1L);  // only feeds observe()
    set(CURLOPT_DEBUGFUNCTION, observe);
    set(CURLOPT_DEBUGDATA, &conversation);
    set(CURLOPT_NOPROGRESS, 0L);
    set(CURLOPT_XFERINFOFUNCTION, shorten_goodbye);
    set(CURLOPT_XFERINFODATA, &conversation);
    set(CURLOPT_FORBID_REUSE, last ? 1L : 0L);
    set(CURLOPT_FRESH_CONNECT, attempt > 0 ? 1L : 0L);

    bool aborted = false;
    const CURLcode code = impl_->run(meanwhile, aborted);
    if (aborted) return {.is_aborted = true, .reply = "", .fault = "stopped"};
    long connects = 0;
    curl_easy_getinfo(h, CURLINFO_NUM_CONNECTS, &connects);
    SmtpResult result = result_of(code, conversation, error.data());
    // A connection that was kept may have been closed by the server meanwhile: that is no fault of anybody's.
    if (result.status == 0 && connects == 0 && attempt == 0 && conversation.unsent.size() == mail.text.size()) {
      continue;
    }
    for (std::string* text : {&result.reply, &result.fault})
      *text =
          printable(strike_out(*text, protocols::mail_secrets(server.username, server.password)).substr(0, kMaxReason));
    return result;
  }
}

void SmtpClient::wait(Duration limit) {
  const auto ms = static_cast<int>(std::clamp<std::int64_t>(limit.count(), 0, 3'600'000));
  (void)curl_multi_poll(impl_->multi.get(), nullptr, 0, ms, nullptr);
}

void SmtpClient::wake() { (void)curl_multi_wakeup(impl_->multi.get()); }

std::string describe(const engine::MailServer& server) { return fmt::format("{}:{}", server.host, server.port); }

std::string complaint(const engine::MailServer& server) {
  if (server.security == Security::None) return {};
  if (!curl_tls_version(server.tls_version))
    return fmt::format("\"{}\" is no longer supported; TLS 1.2 or later is used", printable(server.tls_version));
  const std::string checksum = normal_checksum(server.certificate_checksum);
  if (!checksum.empty() && digest_of(checksum) == nullptr)
    return "the certificate checksum is not MD5, SHA-1 or SHA-256: no certificate will match";
  return {};
}

}  // namespace healer::runtime
