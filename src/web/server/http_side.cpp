// SPDX-License-Identifier: MIT
#include "web/server/http_side.hpp"

#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <list>
#include <optional>
#include <stdexcept>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "protocols/tls_versions.hpp"
#include "runtime/clock.hpp"
#include "util/text.hpp"
#include "web/browser_address.hpp"
#include "web/server/credentials.hpp"
#include "web/server/http_server.hpp"
#include "web/server/listeners.hpp"
#include "web/server/tls_front.hpp"

namespace healer::web {
namespace {

using engine::HttpdSettings;

std::string random_digits() {
  std::array<unsigned char, 16> bytes{};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) throw std::runtime_error("no random numbers");
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

std::string_view option(const HttpdSettings& settings, std::string_view name) {
  std::string_view value;
  for (const auto& [known, text] : settings.tls_options)
    if (known == name) value = text;
  return value;
}

ServerTls tls_of(const HttpdSettings& settings) {
  const std::string pem(option(settings, "pemfile"));
  const std::string chain(option(settings, "pemchain")), key(option(settings, "pemkey"));
  return {.certificates = chain.empty() ? pem : chain,
          .key = key.empty() ? pem : key,
          .client_certificates = std::string(option(settings, "clientpemfile")),
          .allow_self_signed = option(settings, "selfsigned") == "allow",
          .versions = protocols::tls_versions_of(option(settings, "version")),
          .ciphers = std::string(option(settings, "ciphers"))};
}

/// The answer to the reload itself is still to be told then.
constexpr Duration kFarewell = seconds{1};

std::vector<Endpoint> own_endpoints(const HttpdSettings& settings) {
  std::vector<Endpoint> endpoints;
  if (settings.allow.empty()) return endpoints;
  if (settings.port) {
    std::vector<std::string> addresses = settings.addresses;
    // Passwords that go over a network as they are must be asked for by name.
    if (addresses.empty() && !settings.tls) addresses = {"127.0.0.1", "::1"};
    if (addresses.empty()) addresses = {""};
    for (const std::string& address : addresses)
      endpoints.push_back({.address = address,
                           .port = *settings.port,
                           .any = address.empty(),
                           .tls = settings.tls,
                           .read_only = settings.port_read_only});
  }
  if (!settings.unix_socket.empty()) {
    Endpoint socket{.read_only = settings.socket_read_only,
                    .path = settings.unix_socket,
                    .owner = settings.uid,
                    .group = settings.gid};
    if (!settings.permission.empty()) {
      unsigned mode = 0;
      std::from_chars(settings.permission.data(), settings.permission.data() + settings.permission.size(), mode, 8);
      socket.mode = static_cast<mode_t>(mode & 0777U);
    }
    endpoints.push_back(std::move(socket));
  }
  return endpoints;
}

}  // namespace

std::vector<Endpoint> endpoints_of(const HttpdSettings& settings, const std::vector<runtime::HandedSocket>& handed) {
  std::vector<Endpoint> endpoints = own_endpoints(settings);
  if (settings.allow.empty()) return endpoints;
  for (const runtime::HandedSocket& one : handed) {
    const bool is_unix = one.port == 0;
    const bool is_meant = is_unix ? !one.path.empty() && one.path == settings.unix_socket : one.port == settings.port;
    if (!is_meant && one.name != "http") continue;
    std::erase_if(endpoints, [&](const Endpoint& own) {
      return own.handed < 0 && own.port == one.port && (!is_unix || own.path == one.path);
    });
    endpoints.push_back({.address = one.address,
                         .port = one.port,
                         .tls = !is_unix && settings.tls,
                         .read_only = is_unix ? settings.socket_read_only : settings.port_read_only,
                         .path = one.path,
                         .handed = one.socket.get()});
  }
  return endpoints;
}

struct HttpSide::Impl {
  Impl(runtime::Loop& on, Machine of)
      : loop(on),
        machine(std::move(of)),
        credentials(loop, random_digits() + random_digits()),
        site({.now = [] { return runtime::now(); },
              .random = random_digits,
              .refused = [this](const std::string& text) { machine.report(true, text); },
              .passwords = &credentials,
              .later = [this](Duration after, std::function<void()> what) { later(after, std::move(what)); }}),
        server(loop,
               [this](const Request& request, const HttpServer::From& from, Wake wake) {
                 return site.handle(request, {.read_only = from.read_only}, std::move(wake));
               }),
        tls(loop, machine.report),
        listeners(
            loop,
            [this](runtime::Descriptor socket, HttpServer::From from, const Endpoint& by) {
              accept(std::move(socket), std::move(from), by);
            },
            machine.report) {}

  void accept(runtime::Descriptor socket, HttpServer::From from, const Endpoint& by) {
    from.read_only = by.read_only;
    from.door = by.text();
    if (!by.tls) return server.serve(std::move(socket), std::move(from));
    from.secure = true;
    tls.begin(std::move(socket), from,
              [this, from](runtime::Descriptor plain, std::shared_ptr<const ClientCertificate> shown) mutable {
                from.certificate = std::move(shown);
                server.serve(std::move(plain), std::move(from));
              });
  }

  /// Those that have fired go with the next one.
  void later(Duration after, std::function<void()> what) {
    std::erase_if(delayed, [](const auto& one) { return one.is_done; });
    Delayed& one = delayed.emplace_back();
    one.timer = loop.timer([&one, what = std::move(what)] {
      one.is_done = true;
      what();
    });
    one.timer.set_deadline(runtime::now().mono + after);
  }

  void use(const engine::Settings& settings);
  /// Ends what was begun by former rules: streams, too, whose readers come back if they may.
  void close_all() {
    tls.close_if([](const HttpServer::From&) { return true; });
    server.close_if([](const HttpServer::From&) { return true; });
  }

  struct Delayed {
    runtime::Loop::Timer timer;
    bool is_done = false;
  };

  runtime::Loop& loop;
  Machine machine;
  std::optional<HttpdSettings> httpd;  ///< what is listened by
  std::string url;                     ///< `set url`
  bool is_shadow = false;
  std::vector<std::string> shut_out;  ///< whom `allow` names, but nobody can be let in for
  std::vector<Endpoint> doors;        ///< where it is listened
  std::uint64_t reading = 0;
  std::list<Delayed> delayed;
  Credentials credentials;
  Site site;
  HttpServer server;
  TlsFront tls;
  Listeners listeners;
};

void HttpSide::Impl::use(const engine::Settings& settings) {
  // In shadow mode healer runs beside Monit, whose port this is: it may not be taken while Monit restarts.
  const HttpdSettings wanted = settings.shadow ? HttpdSettings{} : settings.httpd.value_or(HttpdSettings{});
  is_shadow = settings.shadow;
  httpd = settings.httpd;
  url = settings.url;
  // The same files may say something else by now: a reload reads them again.
  const std::uint64_t round = ++reading;
  if (wanted.tls) tls.use(tls_of(wanted));
  credentials.read(wanted, settings.secrets,
                   [this, wanted, round, of = settings.url](AccessRules rules, std::vector<std::string> troubles) {
                     if (round != reading) return;  // another reload has come meanwhile
                     for (const std::string& trouble : troubles) machine.report(true, trouble);
                     shut_out = std::move(troubles);
                     const bool is_changed = site.use({.access = std::move(rules),
                                                       .host = machine.host,
                                                       .url = of,
                                                       .server = wanted.signature ? "healer/" + machine.version : ""});
                     const std::vector<Endpoint> endpoints = endpoints_of(wanted, *machine.handed);
                     const std::vector<Endpoint> before = std::exchange(doors, endpoints);
                     listeners.listen(endpoints);
                     if (!before.empty() && (is_changed || before != endpoints))
                       later(kFarewell, [this] { close_all(); });
                   });
}

HttpSide::HttpSide(runtime::Loop& loop, Machine machine) : impl_(std::make_unique<Impl>(loop, std::move(machine))) {}
HttpSide::~HttpSide() = default;

void HttpSide::add(std::vector<Route> routes) { impl_->site.add(std::move(routes)); }
void HttpSide::use(const engine::Settings& settings) { impl_->use(settings); }
bool HttpSide::is_quiet() const { return impl_->server.is_quiet() && impl_->tls.is_quiet(); }
Site& HttpSide::site() { return impl_->site; }

std::variant<std::string, control::Failure> HttpSide::open_login(const control::Asker& who) {
  if (impl_->is_shadow)
    return control::Failure{"no-http", "nothing is answered over HTTP in shadow mode",
                            "take 'set shadow' out of the rules, and `healerctl reload`"};
  auto address = browser_address(impl_->httpd, impl_->url);
  if (!std::holds_alternative<std::string>(address)) return address;
  // Of several sockets the first one is that of the address.
  const std::vector<Endpoint> endpoints = endpoints_of(*impl_->httpd, *impl_->machine.handed);
  std::string trouble = endpoints.empty() ? "nobody is listened to" : impl_->listeners.trouble_on(endpoints.front());
  if (trouble.empty() && impl_->httpd->tls) trouble = impl_->tls.trouble();
  if (!trouble.empty())
    return control::Failure{"no-http", "a browser is not answered now: " + trouble, "healerd tries it again by itself"};
  const std::string token = impl_->site.logins().offer(who, random_digits() + random_digits(), runtime::now().mono);
  return fmt::format("{}/login?once={}", std::get<std::string>(address), token);
}

std::vector<std::string> HttpSide::troubles() const {
  std::vector<std::string> all = impl_->listeners.troubles();
  all.insert(all.end(), impl_->shut_out.begin(), impl_->shut_out.end());
  if (!impl_->tls.trouble().empty()) all.push_back(impl_->tls.trouble());
  return all;
}

}  // namespace healer::web
