// SPDX-License-Identifier: MIT
#include "runtime/net/http_caller.hpp"

#include <curl/curl.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>
#include <string_view>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/healing/saving.hpp"
#include "engine/healing/variables.hpp"
#include "engine/rules/metric.hpp"
#include "protocols/conversation.hpp"
#include "runtime/clock.hpp"
#include "runtime/files/body_file.hpp"
#include "runtime/net/address.hpp"
#include "runtime/net/curl_failure.hpp"
#include "runtime/net/curl_origin.hpp"
#include "runtime/net/curl_tls.hpp"
#include "runtime/net/server_names.hpp"
#include "util/jq.hpp"
#include "util/secrets/strike_out.hpp"
#include "util/text.hpp"

namespace healer::runtime {
using engine::Saving;
using engine::event::Answered;

namespace {

constexpr std::size_t kMostOfHead = std::size_t{256} << 10;  // of an answer, or a value in it that people read
constexpr Duration kSearchPatience{2'000};                   // with the expressions of a step

template <auto Function>
struct FreeCurl {
  void operator()(auto* pointer) const { (void)Function(pointer); }
};
using Easy = std::unique_ptr<CURL, FreeCurl<curl_easy_cleanup>>;
using Multi = std::unique_ptr<CURLM, FreeCurl<curl_multi_cleanup>>;
using Url = std::unique_ptr<CURLU, FreeCurl<curl_url_cleanup>>;
using Lines = std::unique_ptr<curl_slist, FreeCurl<curl_slist_free_all>>;

void append_line(Lines& list, const std::string& line) {
  if (curl_slist* const longer = curl_slist_append(list.get(), line.c_str())) {
    (void)list.release();
    list.reset(longer);
  }
}

/// The name of a header in lower case.
std::string header_name(const std::string& header) { return to_lower(trim(header.substr(0, header.find(':')))); }

bool has_header(const std::vector<std::string>& headers, std::string_view name) {
  return std::ranges::any_of(headers, [&](const std::string& header) { return header_name(header) == name; });
}

/// What another server may see of what was written for this one.
bool is_harmless(const std::string& header) {
  static constexpr std::array<std::string_view, 4> kHarmless{"accept", "accept-language", "content-type", "user-agent"};
  return std::ranges::find(kHarmless, header_name(header)) != kHarmless.end();
}

/// Takes the secrets that a request is made with out of what people are told of its answer.
void hide(const std::vector<std::string>& secrets, Answered& answer) {
  answer.why = strike_out(answer.why, secrets);
  std::vector<std::optional<std::string>> shown = answer.values;
  for (std::optional<std::string>& value : shown)
    if (value) value = strike_out(std::string_view(*value).substr(0, kMostOfHead), secrets);
  if (shown != answer.values) answer.shown = std::move(shown);
}

curl_socket_t open_for_call(void*, curlsocktype, curl_sockaddr* address) {
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

}  // namespace

struct HttpCaller::Call {
  std::uint64_t id = 0;
  HttpCall call;
  Done done;
  bool begun = false;  // counts as open
  bool in_transfer = false;
  Duration began{0};
  Loop::Timer timer;
  Resolver::Question question;
  Url url;
  Origin place;
  int redirects = 0;
  // of the transfer
  PinnedCertificate pinned;  // outlives the next
  Easy easy;
  Lines headers, addresses;
  std::array<char, CURL_ERROR_SIZE> words{};
  std::vector<std::string> head;
  std::size_t head_size = 0;
  std::string body;  // of the answer
  bool too_large = false;
  bool sent = false;  // all of it, or a part; maybe to whom has led elsewhere
  // of the answer
  Answered answer;
  std::size_t asked = 0;  // filters

  /// The filter that is asked next: those of tests first, then those of what is to be saved; null: all were asked.
  [[nodiscard]] const std::string* next_filter() const {
    if (asked < call.filters.size()) return &call.filters[asked];
    for (std::size_t i = asked - call.filters.size(); i < call.saves.size(); ++i)
      if (call.saves[i].from == Saving::From::Json) return &call.saves[i].what;
    return nullptr;
  }
};

// ---- libcurl on the loop ------------------------------------------------------------------------------------------

struct HttpCaller::Curl {
  explicit Curl(HttpCaller& owner) : caller(owner), timer(owner.loop_.timer([this] { act(CURL_SOCKET_TIMEOUT, 0); })) {
    static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
    (void)ready;
    multi.reset(curl_multi_init());
    const auto set = [this](CURLMoption option, auto value) { (void)curl_multi_setopt(multi.get(), option, value); };
    set(CURLMOPT_SOCKETFUNCTION, watch_socket);
    set(CURLMOPT_SOCKETDATA, this);
    set(CURLMOPT_TIMERFUNCTION, set_timer);
    set(CURLMOPT_TIMERDATA, this);
    set(CURLMOPT_MAXCONNECTS, 16L);  // that are kept
  }

  static int watch_socket(CURL*, curl_socket_t socket, int what, void* self, void*) {
    Curl& curl = *static_cast<Curl*>(self);
    if (what == CURL_POLL_REMOVE) {
      curl.watches.erase(socket);
      return 0;
    }
    unsigned interest = 0;
    if ((what & CURL_POLL_IN) != 0) interest |= Loop::kReadable;
    if ((what & CURL_POLL_OUT) != 0) interest |= Loop::kWritable;
    if (const auto known = curl.watches.find(socket); known != curl.watches.end()) {
      known->second.change(interest);
      return 0;
    }
    auto watch = curl.caller.loop_.watch(socket, interest, [&curl, socket](unsigned ready) {
      curl.act(socket, ((ready & Loop::kReadable) != 0 ? CURL_CSELECT_IN : 0) |
                           ((ready & Loop::kWritable) != 0 ? CURL_CSELECT_OUT : 0));
    });
    if (watch) curl.watches.emplace(socket, std::move(*watch));
    return 0;
  }

  static int set_timer(CURLM*, long ms, void* self) {
    Curl& curl = *static_cast<Curl*>(self);
    curl.timer.set_deadline(ms < 0 ? std::nullopt : std::optional(mono_now() + milliseconds{ms}));
    return 0;
  }

  void act(curl_socket_t socket, int ready) {
    int running = 0;
    (void)curl_multi_socket_action(multi.get(), socket, ready, &running);
    std::vector<std::pair<std::uint64_t, CURLcode>> over;
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi.get(), &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      char* of = nullptr;
      (void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &of);
      over.emplace_back(reinterpret_cast<Call*>(of)->id, message->data.result);
    }
    for (const auto& [id, code] : over)
      if (Call* const call = caller.find(id); call != nullptr && call->in_transfer) caller.transferred(*call, code);
  }

  void add(Call& call) { call.in_transfer = curl_multi_add_handle(multi.get(), call.easy.get()) == CURLM_OK; }
  void remove(Call& call) {
    if (std::exchange(call.in_transfer, false)) (void)curl_multi_remove_handle(multi.get(), call.easy.get());
  }

  HttpCaller& caller;
  Loop::Timer timer;
  std::map<curl_socket_t, Loop::Watch> watches;
  Multi multi;
};

namespace {

/// Takes a line of the head. Fewer bytes than it was given: no more is taken.
std::size_t take_head(char* bytes, std::size_t size, std::size_t count, void* data) {
  auto& [head, total] = *static_cast<std::pair<std::vector<std::string>*, std::size_t*>*>(data);
  *total += size * count;
  if (*total > kMostOfHead) return 0;
  const std::string line(trim(std::string_view(bytes, size * count)));
  if (line.starts_with("HTTP/")) head->clear();  // another answer: the one before was provisional
  head->push_back(line);
  return size * count;
}

}  // namespace

HttpCaller::HttpCaller(Loop& loop, Options options)
    : loop_(loop),
      options_(std::move(options)),
      resolver_(loop, options_.resolver),
      searcher_(loop, options_.jq_helper),
      files_(loop, {.name = "healer-body", .workers = 1, .max_lost = 4, .patience = Duration{5'000}}),
      expressions_(loop, {.name = "healer-saves", .workers = 1, .max_lost = 4, .patience = kSearchPatience}),
      curl_(std::make_unique<Curl>(*this)) {}

HttpCaller::~HttpCaller() {
  for (auto& [id, call] : calls_) curl_->remove(*call);
}

HttpCaller::Call* HttpCaller::find(std::uint64_t id) {
  const auto found = calls_.find(id);
  return found == calls_.end() ? nullptr : found->second.get();
}

// ---- one call after the other -------------------------------------------------------------------------------------

void HttpCaller::call(engine::ActionId id, HttpCall call, Done done) {
  auto made = std::make_unique<Call>();
  made->id = id.number();
  made->call = std::move(call);
  made->done = std::move(done);
  made->answer.request = id;
  calls_.insert_or_assign(id.number(), std::move(made));
  queue_.push_back(id.number());
  begin_later();
}

void HttpCaller::read(engine::ActionId id, std::function<std::string()> text, std::vector<Saving> saves, Done done) {
  auto made = std::make_unique<Call>();
  made->id = id.number();
  made->call.saves = std::move(saves);
  made->done = std::move(done);
  made->answer.request = id;
  made->answer.saved.resize(made->call.saves.size());
  calls_.insert_or_assign(id.number(), std::move(made));
  const auto take = [this, number = id.number()](std::string what) {
    Call* const its = find(number);
    if (its == nullptr) return;
    its->body = std::move(what);
    ask_next(*its);
  };
  files_.submit([text = std::move(text), take]() -> Loop::Callback { return [take, what = text()] { take(what); }; },
                [take](const Error&) { take({}); });
}

void HttpCaller::end(engine::ActionId id) {
  const auto found = calls_.find(id.number());
  if (found == calls_.end()) return;
  curl_->remove(*found->second);
  if (found->second->begun) --open_;
  calls_.erase(found);
  begin_later();
}

void HttpCaller::begin_later() {
  if (beginning_ || queue_.empty() || open_ >= options_.most) return;
  beginning_ = true;
  loop_.post([this, alive = std::weak_ptr<char>(alive_)] {
    if (alive.expired()) return;
    beginning_ = false;
    begin_some();
  });
}

void HttpCaller::begin_some() {
  while (open_ < options_.most && !queue_.empty()) {
    Call* const call = find(queue_.front());
    queue_.pop_front();
    if (call != nullptr) begin(*call);
  }
}

void HttpCaller::begin(Call& call) {
  call.begun = true;
  ++open_;
  call.began = mono_now();
  call.timer = loop_.timer([this, id = call.id] {
    if (Call* const late = find(id)) too_late(*late);
  });
  call.timer.set_deadline(call.began + call.call.timeout);
  call.call.complete ? complete(call) : completed(call);
}

void HttpCaller::complete(Call& call) {
  const auto take = [this, id = call.id](Result<HttpCall> prepared) {
    Call* const its = find(id);
    if (its == nullptr) return;
    if (!prepared) return fail(*its, prepared.error().what);
    its->call = std::move(*prepared);
    completed(*its);
  };
  files_.submit(
      [spec = call.call, take]() -> Loop::Callback {
        HttpCall whole = spec;
        const Result<void> done = std::exchange(whole.complete, {})(whole);
        auto result = std::make_shared<Result<HttpCall>>(done ? Result<HttpCall>(std::move(whole)) : done.error());
        return [take, result] { take(std::move(*result)); };
      },
      [take](Error error) { take(std::move(error)); });
}

/// All that it says is known, but for a body from a file.
void HttpCaller::completed(Call& call) {
  for (const std::string& header : call.call.headers)
    if (engine::has_controls(header))
      return fail(call, fmt::format("its header {} contains control characters", printable(header_name(header))));
  if (!call.call.place.empty()) call.call.url = call.call.place;
  call.url.reset(curl_url());
  if (curl_url_set(call.url.get(), CURLUPART_URL, call.call.url.c_str(), 0) != CURLUE_OK)
    return fail(call, "this is not an HTTP URL");
  if (!call.call.hidden.empty()) call.call.hidden.push_back(basic_credentials(call.url.get()));
  call.call.body_file.empty() ? resolve(call) : read_body(call);
}

void HttpCaller::read_body(Call& call) {
  const auto read = [this, id = call.id](Result<std::string> body) {
    Call* const its = find(id);
    if (its == nullptr) return;
    if (!body) return fail(*its, fmt::format("its body: {}", body.error().what));
    its->call.body = std::move(*body);
    resolve(*its);
  };
  files_.submit(
      [path = call.call.body_file, read]() -> Loop::Callback {
        auto body = std::make_shared<Result<std::string>>(read_body_file(path, kMostOfBody));
        return [read, body] { read(std::move(*body)); };
      },
      [read](Error error) { read(std::move(error)); });
}

void HttpCaller::resolve(Call& call) {
  call.place = origin_of(call.url.get());
  const std::string& host = call.place.host;
  if (call.place.scheme != "http" && call.place.scheme != "https") return fail(call, "this is not an HTTP URL");
  if (std::ranges::any_of(host, [](char c) { return static_cast<unsigned char>(c) > 0x7E; }))
    return fail(call, "its host is not in ASCII: write the name that begins with xn--");
  if (curl_url_set(call.url.get(), CURLUPART_HOST, host.c_str(), 0) != CURLUE_OK)
    return fail(call, "this is not an HTTP URL");
  if (host.starts_with('[') || Address::parse(host)) return send(call, {});
  call.question = resolver_.resolve(host, protocols::Family::Any, [this, id = call.id](const auto& found) {
    // It may answer from within.
    loop_.post([this, alive = std::weak_ptr<char>(alive_), id, found] {
      Call* const its = alive.expired() ? nullptr : find(id);
      if (its == nullptr) return;
      if (!found) return fail(*its, found.error().what);
      send(*its, curl_addresses(*found));
    });
  });
}

void HttpCaller::send(Call& call, const std::string& addresses) {
  const HttpCall& spec = call.call;
  call.easy.reset(curl_easy_init());
  CURL* const h = call.easy.get();
  if (h == nullptr) return fail(call, "libcurl cannot start");
  const auto set = [h](CURLoption option, auto value) { (void)curl_easy_setopt(h, option, value); };
  set(CURLOPT_PRIVATE, &call);
  set(CURLOPT_ERRORBUFFER, call.words.data());
  set(CURLOPT_CURLU, call.url.get());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(CURLOPT_PROXY, "");  // whatever the environment says
  set(CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_QUICK_EXIT, 1L);
  set(CURLOPT_FOLLOWLOCATION, 0L);
  set(CURLOPT_OPENSOCKETFUNCTION, open_for_call);
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(spec.timeout.count()));
  set(CURLOPT_USERAGENT, "healer/" HEALER_VERSION);
  if (!spec.safe) {
    set(CURLOPT_FRESH_CONNECT, 1L);
    set(CURLOPT_FORBID_REUSE, 1L);
  }
  call.addresses.reset();
  if (!addresses.empty()) append_line(call.addresses, fmt::format("{}:{}", call.place.name(), addresses));
  set(CURLOPT_RESOLVE, call.addresses.get());

  const bool has_body = !spec.body.empty() && spec.method != "HEAD";
  if (spec.method == "HEAD") {
    set(CURLOPT_NOBODY, 1L);
  } else {
    const bool sends = has_body || spec.method == "POST" || spec.method == "PUT" || spec.method == "PATCH";
    if (sends) {
      set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(spec.body.size()));
      set(CURLOPT_POSTFIELDS, spec.body.c_str());
    }
    set(CURLOPT_CUSTOMREQUEST, spec.method.c_str());
  }
  call.headers.reset();
  for (const std::string& header : spec.headers) append_line(call.headers, header);
  if (!has_header(spec.headers, "content-type"))
    append_line(call.headers, has_body ? "Content-Type: application/json" : "Content-Type:");
  append_line(call.headers, "Expect:");
  set(CURLOPT_HTTPHEADER, call.headers.get());

  set_tls(h, spec.tls, spec.insecure, call.pinned);

  call.head.clear();
  call.head_size = 0;
  call.body.clear();
  set(
      CURLOPT_HEADERFUNCTION, +[](char* bytes, std::size_t size, std::size_t count, void* data) {
        auto& its = *static_cast<Call*>(data);
        std::pair into(&its.head, &its.head_size);
        return take_head(bytes, size, count, &into);
      });
  set(CURLOPT_HEADERDATA, &call);
  set(
      CURLOPT_WRITEFUNCTION, +[](char* bytes, std::size_t size, std::size_t count, void* data) -> std::size_t {
        auto& its = *static_cast<Call*>(data);
        if (its.call.discards_body) return size * count;
        its.too_large = its.body.size() + size * count > its.call.limit;
        if (its.too_large) return 0;
        if (its.body.empty()) its.body.reserve(std::min(its.call.limit, told_length(its.easy.get())));
        its.body.append(bytes, size * count);
        return size * count;
      });
  set(CURLOPT_WRITEDATA, &call);
  curl_->add(call);
  if (!call.in_transfer) fail(call, "libcurl cannot start");
}

// ---- what came of it ----------------------------------------------------------------------------------------------

void HttpCaller::too_late(Call& call) {
  const std::string patience = format_duration(call.call.timeout);
  if (!call.in_transfer)
    return fail(call, call.call.complete ? fmt::format("its secrets were not read within {}", patience)
                      : call.place.host.empty()
                          ? fmt::format("its body was not read within {}", patience)
                          : fmt::format("cannot resolve {}: no answer within {}", call.place.host, patience));
  const bool sent = may_have_left(call.easy.get());
  curl_->remove(call);
  call.sent = call.sent || sent;
  fail(call, sent ? fmt::format("{} did not answer within {}", call.place.name(), patience)
                  : fmt::format("could not connect to {} within {}", call.place.name(), patience));
}

void HttpCaller::transferred(Call& call, int result) {
  const auto code = static_cast<CURLcode>(result);
  call.sent = call.sent || code == CURLE_OK || may_have_left(call.easy.get());
  long status = 0;
  (void)curl_easy_getinfo(call.easy.get(), CURLINFO_RESPONSE_CODE, &status);
  char* elsewhere = nullptr;
  (void)curl_easy_getinfo(call.easy.get(), CURLINFO_REDIRECT_URL, &elsewhere);
  const std::string redirected = elsewhere == nullptr ? "" : elsewhere;
  const std::string why =
      code == CURLE_OK ? "" : describe_failure(code, call.easy.get(), call.place.name(), call.words.data());
  curl_->remove(call);
  if (call.too_large)
    return fail(call, fmt::format("answered {}, with over {}", status,
                                  engine::format_metric(engine::Unit::Bytes, static_cast<double>(call.call.limit))));
  if (call.head_size > kMostOfHead || result == 100)  // CURLE_TOO_LARGE: libcurl 8 counts the lines of a head
    return fail(call, fmt::format("answered {}, with too many header bytes", status));
  // A handshake that has failed was before the request, unless it is about another of the same connection.
  if (code != CURLE_OK) return fail(call, why);
  if (call.call.follow && !redirected.empty()) return redirect(call, redirected);
  call.timer.set_deadline(std::nullopt);
  call.answer.kind = Answered::Kind::Whole;
  call.answer.status = static_cast<std::uint16_t>(status);
  call.answer.elapsed = mono_now() - call.began;
  call.answer.saved.resize(call.call.saves.size());
  ask_next(call);
}

void HttpCaller::redirect(Call& call, const std::string& url) {
  long status = 0;
  (void)curl_easy_getinfo(call.easy.get(), CURLINFO_RESPONSE_CODE, &status);
  call.easy.reset();
  Url next(curl_url());
  if (curl_url_set(next.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK)
    return fail(call, fmt::format("answered {}, and its redirect is not a URL", status));
  const Origin to = origin_of(next.get());
  const std::string there = printable(fmt::format("{}://{}", to.scheme, to.name()));
  if (++call.redirects > kMostRedirects)
    return fail(call, fmt::format("answered {}: more than {} redirects", status, kMostRedirects));
  if (call.place.scheme == "https" && to.scheme != "https")
    return fail(call, fmt::format("answered {}: its redirect to {} is without TLS", status, there));
  HttpCall& spec = call.call;
  const bool asks = status == 303 || (spec.method == "POST" && (status == 301 || status == 302));
  if (asks && spec.method != "HEAD") {
    spec.method = "GET";
    spec.body.clear();
    std::erase_if(spec.headers, [](const std::string& header) { return header_name(header) == "content-type"; });
  }
  if (to != call.place) {
    if (!spec.body.empty()) return fail(call, fmt::format("answered {}: the body is not sent on to {}", status, there));
    std::erase_if(spec.headers, [](const std::string& header) { return !is_harmless(header); });
    (void)curl_url_set(next.get(), CURLUPART_USER, nullptr, 0);
    (void)curl_url_set(next.get(), CURLUPART_PASSWORD, nullptr, 0);
  }
  call.url = std::move(next);
  resolve(call);
}

/// Asks the answer one filter after the other; then what expressions and headers say.
void HttpCaller::ask_next(Call& call) {
  const std::string* const filter = call.next_filter();
  if (filter == nullptr) return search(call);
  searcher_.query({*filter, call.body}, call.place.host, [this, id = call.id](const Result<std::string>& value) {
    Call* const its = find(id);
    if (its == nullptr) return;
    const std::size_t tests = its->call.filters.size();
    if (its->asked < tests) {
      its->answer.values.push_back(value ? std::optional(*value) : std::nullopt);
    } else {
      while (its->call.saves[its->asked - tests].from != Saving::From::Json) ++its->asked;
      if (value && *value != "null") its->answer.saved[its->asked - tests] = json_text(*value);
    }
    ++its->asked;
    ask_next(*its);
  });
}

void HttpCaller::search(Call& call) {
  using Found = std::vector<std::optional<std::string>>;
  bool searches = false;
  for (std::size_t i = 0; i < call.call.saves.size(); ++i) {
    const Saving& saving = call.call.saves[i];
    searches = searches || saving.from == Saving::From::Regex;
    if (saving.from != Saving::From::Header) continue;
    for (const std::string& line : call.head)
      if (line.find(':') != std::string::npos && header_name(line) == to_lower(saving.what))
        call.answer.saved[i] = std::string(trim(line.substr(line.find(':') + 1)));
  }
  if (!searches) return finish(call);
  const auto deliver = [this, id = call.id](const Found& found) {
    Call* const its = find(id);
    if (its == nullptr) return;
    for (std::size_t i = 0; i < found.size(); ++i)
      if (found[i]) its->answer.saved[i] = found[i];
    finish(*its);
  };
  // An expression cannot be stopped; but it is known when its thread has begun with it.
  auto begun = std::make_shared<std::atomic<Duration>>(Duration{0});
  call.timer = loop_.timer([this, begun, id = call.id] {
    Call* const its = find(id);
    if (its == nullptr) return;
    const Duration since = begun->load(), now = mono_now();
    if (since != Duration{0} && now >= since + kSearchPatience) return finish(*its);
    its->timer.set_deadline((since == Duration{0} ? now : since) + kSearchPatience);
  });
  call.timer.set_deadline(mono_now() + kSearchPatience);
  auto work =
      std::make_shared<const std::pair<std::vector<Saving>, std::string>>(call.call.saves, std::move(call.body));
  expressions_.submit(
      [work, deliver, begun]() -> Loop::Callback {
        begun->store(mono_now());
        Found found;
        for (const Saving& saving : work->first) found.push_back(engine::saved_from(saving, work->second));
        return [deliver, found = std::move(found)] { deliver(found); };
      },
      [deliver](const Error&) { deliver({}); });
}

void HttpCaller::fail(Call& call, std::string why) {
  call.answer.kind = call.sent ? Answered::Kind::InDoubt : Answered::Kind::Failed;
  call.answer.why = std::move(why);
  call.answer.elapsed = mono_now() - call.began;
  finish(call);
}

/// Tells of it in a turn of its own.
void HttpCaller::finish(Call& call) {
  if (!call.call.hidden.empty()) hide(call.call.hidden, call.answer);
  auto answer = std::make_shared<Answered>(std::move(call.answer));
  if (call.call.whole)
    call.done = [take = std::move(call.call.whole), body = std::move(call.body), head = std::move(call.head),
                 url = std::move(call.call.url)](const Answered& its) mutable {
      take(its, std::move(body), head, url);
    };
  loop_.post([alive = std::weak_ptr<char>(alive_), done = std::move(call.done), answer]() mutable {
    if (!alive.expired()) done(std::move(*answer));
  });
  end(engine::ActionId{call.id});
}

}  // namespace healer::runtime
