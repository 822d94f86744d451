// SPDX-License-Identifier: MIT
#include "ctl/server/server_door.hpp"

#include <curl/curl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <functional>
#include <optional>
#include <stop_token>
#include <utility>

#include <spdlog/fmt/fmt.h>
#include <nlohmann/json.hpp>

#include "ctl/server/over_http.hpp"
#include "runtime/descriptor.hpp"
#include "util/text.hpp"

namespace healer {
namespace {

using control::Failure;
using control::Json;
using runtime::Descriptor;

constexpr long kConnectSeconds = 20;
constexpr std::size_t kMostOfDocument = 256U << 20;
/// How often it is looked whether a server still answers that is to end.
constexpr int kEndEvery = 200;  // milliseconds

template <auto Free>
struct Freed {
  template <typename T>
  void operator()(T* what) const {
    Free(what);
  }
};
using Easy = std::unique_ptr<CURL, Freed<curl_easy_cleanup>>;
using Multi = std::unique_ptr<CURLM, Freed<curl_multi_cleanup>>;
using Headers = std::unique_ptr<curl_slist, Freed<curl_slist_free_all>>;

/// The events of a stream, as their bytes come.
class EventReader {
 public:
  explicit EventReader(const HttpWay::Event& event) : event_(event) {}
  void take(std::string_view bytes) {
    text_ += bytes;
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = text_.find('\n', begin)) != std::string::npos; begin = end + 1)
      line(std::string_view(text_).substr(begin, end - begin));
    text_.erase(0, begin);
  }

 private:
  void line(std::string_view one) {
    if (one.ends_with('\r')) one.remove_suffix(1);
    if (one.empty()) {
      if (!data_.empty()) event_(kind_, data_);
      kind_.clear();
      data_.clear();
    } else if (one.starts_with("event: ")) {
      kind_ = one.substr(7);
    } else if (one.starts_with("data: ")) {
      data_ += one.substr(6);
    }
  }

  const HttpWay::Event& event_;
  std::string text_, kind_, data_;
};

/// The server at the end of a connection of a client, until that goes.
class CurlWay final : public HttpWay {
 public:
  CurlWay(const ServerAsked& server, int client)
      : server_(server), client_(client), multi_(curl_multi_init()), easy_(curl_easy_init()) {}

  std::variant<Json, Failure> fetch(const HttpAsked& asked, const std::function<void()>& sent) override {
    body_.clear();
    reader_ = nullptr;
    if (auto failure = perform("/api/v1" + asked.path, asked.body, "application/json", sent)) return *failure;
    return document();
  }

  std::optional<Failure> listen(const std::string& path, const Event& event) override {
    body_.clear();
    EventReader reader(event);
    reader_ = &reader;
    auto failure = perform("/api/v1" + path, std::nullopt, "text/event-stream", {});
    reader_ = nullptr;
    if (failure) return failure;
    auto answer = status() == 200 ? std::variant<Json, Failure>(Json()) : document();
    if (auto* const refused = std::get_if<Failure>(&answer)) return std::move(*refused);
    return std::nullopt;
  }

  void wait_for_end() override {
    for (;;) {
      body_.clear();
      // A proxy in front of it says that there is nobody behind it.
      if (perform("/healthz", std::nullopt, "*/*", {}) || (status() >= 502 && status() <= 504)) return;
      std::array<curl_waitfd, 1> wake{{{.fd = client_, .events = CURL_WAIT_POLLIN, .revents = 0}}};
      curl_multi_poll(multi_.get(), wake.data(), wake.size(), kEndEvery, nullptr);
      if (is_gone()) return;
    }
  }

 private:
  [[nodiscard]] long status() const {
    long code = 0;
    curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &code);
    return code;
  }
  [[nodiscard]] std::string type() const {
    char* text = nullptr;
    curl_easy_getinfo(easy_.get(), CURLINFO_CONTENT_TYPE, &text);
    return text == nullptr ? "" : text;
  }
  /// Whether the client waits no more.
  [[nodiscard]] bool is_gone() const {
    char byte = 0;
    const ssize_t got = recv(client_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
  }

  static std::size_t take(char* bytes, std::size_t size, std::size_t count, void* self) {
    auto& way = *static_cast<CurlWay*>(self);
    const std::string_view text(bytes, size * count);
    if (way.reader_ != nullptr && way.status() == 200) {
      way.reader_->take(text);
    } else {
      if (way.body_.size() + text.size() > kMostOfDocument) return 0;
      way.body_ += text;
    }
    return text.size();
  }

  /// Why there is no answer; none: there is one, of whatever status.
  std::optional<Failure> perform(const std::string& path, const std::optional<std::string>& body,
                                 const std::string& accept, const std::function<void()>& sent) {
    CURL* const h = easy_.get();
    if (h == nullptr || multi_ == nullptr) return Failure{"connect", "libcurl cannot start", ""};
    curl_easy_reset(h);  // its connection stays
    const auto set = [h](CURLoption option, auto value) { (void)curl_easy_setopt(h, option, value); };
    words_.fill('\0');
    const std::string url = server_.url + path;
    set(CURLOPT_ERRORBUFFER, words_.data());
    set(CURLOPT_URL, url.c_str());
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_PROXY, "");  // whatever the environment says
    set(CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_FOLLOWLOCATION, 0L);  // a password goes nowhere else
    set(CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
    set(CURLOPT_USERAGENT, "healerctl/" HEALER_VERSION);
    if (!server_.authority.empty()) set(CURLOPT_CAINFO, server_.authority.c_str());
    Headers headers;
    const auto add = [&](const std::string& line) {
      if (curl_slist* const grown = curl_slist_append(headers.get(), line.c_str())) {
        (void)headers.release();
        headers.reset(grown);
      }
    };
    add("Accept: " + accept);
    add("Expect:");
    if (!server_.user.empty()) {
      set(CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BASIC));
      set(CURLOPT_USERNAME, server_.user.c_str());
      set(CURLOPT_PASSWORD, server_.password.c_str());
    } else if (!server_.token.empty()) {
      add("Authorization: Bearer " + server_.token);
    }
    if (body) {
      add("Content-Type: application/json");
      set(CURLOPT_POST, 1L);
      set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body->size()));
      set(CURLOPT_POSTFIELDS, body->c_str());
    }
    set(CURLOPT_HTTPHEADER, headers.get());
    set(CURLOPT_WRITEFUNCTION, &CurlWay::take);
    set(CURLOPT_WRITEDATA, this);
    curl_multi_add_handle(multi_.get(), h);
    const std::optional<CURLcode> code = run(sent);
    curl_multi_remove_handle(multi_.get(), h);
    if (!code) return Failure{"closed", "nobody waits for the answer", ""};
    return *code == CURLE_OK ? std::nullopt : std::optional(unanswered(*code));
  }

  /// Until the transfer is over; nothing: the client has gone before.
  std::optional<CURLcode> run(const std::function<void()>& sent) {
    bool told = !sent;
    for (;;) {
      int running = 0;
      curl_multi_perform(multi_.get(), &running);
      curl_off_t ready = 0;
      if (!told && curl_easy_getinfo(easy_.get(), CURLINFO_PRETRANSFER_TIME_T, &ready) == CURLE_OK && ready > 0) {
        told = true;
        sent();
      }
      int left = 0;
      while (const CURLMsg* const message = curl_multi_info_read(multi_.get(), &left))
        if (message->msg == CURLMSG_DONE) return message->data.result;
      if (is_gone()) return std::nullopt;
      std::array<curl_waitfd, 1> wake{{{.fd = client_, .events = CURL_WAIT_POLLIN, .revents = 0}}};
      curl_multi_poll(multi_.get(), wake.data(), wake.size(), told ? 1'000 : 100, nullptr);
    }
  }

  [[nodiscard]] Failure unanswered(CURLcode code) const {
    const std::string words = words_[0] != '\0' ? words_.data() : curl_easy_strerror(code);
    switch (code) {
      case CURLE_COULDNT_CONNECT:
        return {"not-running", fmt::format("nobody answers at {}: {}", server_.url, words),
                "is healerd running there, and does 'set httpd' listen to that address?"};
      case CURLE_COULDNT_RESOLVE_HOST:
        return {"connect", fmt::format("{} is not found: {}", server_.url, words), "look at the name after --server"};
      case CURLE_PEER_FAILED_VERIFICATION:
        return {"connect", fmt::format("the certificate of {} is not trusted: {}", server_.url, words),
                "--cacert names the file of the certificate, or of the one that vouches for it"};
      case CURLE_SSL_CACERT_BADFILE:
        return {"connect", fmt::format("the certificates in {} cannot be read: {}", server_.authority, words), ""};
      case CURLE_SSL_CONNECT_ERROR:
        return {"connect", fmt::format("TLS fails with {}: {}", server_.url, words),
                "if 'set httpd' there has no 'ssl', write http:// in place of https://"};
      case CURLE_GOT_NOTHING:
      case CURLE_RECV_ERROR:
      case CURLE_SEND_ERROR:
      case CURLE_PARTIAL_FILE:
        return {"closed", fmt::format("{} closed the connection before its answer was complete", server_.url),
                server_.url.starts_with("http:")
                    ? "if 'set httpd' there has 'ssl', write https:// in place of http://"
                    : "if 'set httpd' there has no 'ssl', write http:// in place of https://"};
      default: return {"connect", fmt::format("no answer of {}: {}", server_.url, words), ""};
    }
  }

  /// The document that has come, or what kept it.
  [[nodiscard]] std::variant<Json, Failure> document() const {
    const long code = status();
    const Json json = Json::parse(body_, nullptr, false);
    if (json.is_object() && code >= 200 && code < 300 && json.contains("version")) return json;
    if (code == 401) {
      const bool has_shown = !server_.user.empty() || !server_.token.empty();
      return Failure{"permission",
                     has_shown
                         ? fmt::format("{} does not know this user with this password, or this token", server_.url)
                         : fmt::format("{} asks who you are", server_.url),
                     "--user or HEALER_USER, with --password-file or HEALER_PASSWORD; or HEALER_TOKEN"};
    }
    if (json.is_object() && json.contains("code") && type().starts_with("application/problem+json")) {
      Json failure = json;
      failure["message"] = json.value("detail", "");
      return failure.get<Failure>();
    }
    if (code == 400 && server_.url.starts_with("http:") && body_.find("https://") != std::string::npos)
      return Failure{"connect", fmt::format("{} speaks TLS", server_.url), "write https:// in place of http://"};
    if (code == 403) return Failure{"forbidden", std::string(trim(body_)), "'allow' in 'set httpd' gives roles"};
    if (code >= 300 && code < 400) {
      char* place = nullptr;
      curl_easy_getinfo(easy_.get(), CURLINFO_REDIRECT_URL, &place);
      return Failure{"protocol", fmt::format("{} sends elsewhere", server_.url),
                     place == nullptr ? "" : fmt::format("name that: {}", printable(place))};
    }
    return Failure{"protocol",
                   fmt::format("{} does not answer as a healerd: status {}{}", server_.url, code,
                               body_.size() < 200 && !json.is_object() ? " " + printable(trim(body_)) : ""),
                   "--server takes the address of its 'set httpd', or of 'set url', with its path"};
  }

  const ServerAsked& server_;
  int client_;
  Multi multi_;
  Easy easy_;  // after multi_: it ends before
  std::array<char, CURL_ERROR_SIZE> words_{};
  std::string body_;
  EventReader* reader_ = nullptr;
};

/// The requests of one client, until it goes.
void serve(const std::stop_token& stop, const ServerAsked& server, const Descriptor& client) {
  // What is under way sees it as the end of the client.
  const std::stop_callback ending(stop, [&] { shutdown(client.get(), SHUT_RDWR); });
  CurlWay way(server, client.get());
  const auto tell = [&](const std::string& line) {
    for (std::string_view rest = line; !rest.empty();) {
      const ssize_t count = send(client.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
      if (count < 0 && errno != EINTR) return;
      if (count > 0) rest.remove_prefix(static_cast<std::size_t>(count));
    }
  };
  std::string text;
  std::array<char, 4'096> bytes;
  for (;;) {
    const ssize_t count = recv(client.get(), bytes.data(), bytes.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    text.append(bytes.data(), static_cast<std::size_t>(count));
    for (std::size_t end = 0; (end = text.find('\n')) != std::string::npos; text.erase(0, end + 1)) {
      const auto request = control::parse_request(std::string_view(text).substr(0, end));
      if (const auto* const failure = std::get_if<Failure>(&request)) {
        tell(control::error_line(*failure));
        continue;
      }
      ask_over_http(std::get<control::Request>(request), way, tell);
      if (std::get<control::Request>(request).verb == control::Verb::Quit) return;
    }
  }
}

}  // namespace

std::variant<control::Client, Failure> ServerDoor::connect(Duration timeout) {
  std::array<int, 2> ends{-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return Failure{"connect", fmt::format("no socket: {}", std::strerror(errno)), ""};
  std::erase_if(serving_, [](const Serving& one) { return one.is_over->load(); });
  Serving& one = serving_.emplace_back();
  one.thread = std::jthread(
      [this, other = std::make_shared<Descriptor>(ends[1]), is_over = one.is_over](const std::stop_token& stop) {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_BLOCK, &all, nullptr);
        serve(stop, server_, *other);
        other->reset();  // the client sees that it is over
        is_over->store(true);
      });
  return control::Client::over(ends[0], timeout);
}

std::string wrong_server(const std::string& url) {
  const std::unique_ptr<CURLU, Freed<curl_url_cleanup>> parts(curl_url());
  if (!url.starts_with("http://") && !url.starts_with("https://"))
    return "it begins with http:// or https://, as in https://ops.example:2812";
  if (curl_url_set(parts.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK) return "it is not a URL";
  for (const CURLUPart part : {CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_QUERY, CURLUPART_FRAGMENT}) {
    char* text = nullptr;
    if (curl_url_get(parts.get(), part, &text, 0) != CURLUE_OK) continue;
    curl_free(text);
    return part == CURLUPART_USER || part == CURLUPART_PASSWORD
               ? "everybody sees the arguments of a program: the user goes by --user, the password by --password-file"
               : "it ends with the port or a path";
  }
  return {};
}

}  // namespace healer
