// SPDX-License-Identifier: MIT
#include "web/site.hpp"

#include <algorithm>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "util/secrets/same_secret.hpp"
#include "util/text.hpp"
#include "web/api/problem.hpp"
#include "web/html.hpp"

namespace healer::web {
namespace {

using control::Asker;
using control::Least;
using engine::Role;

/// So many wrong passwords of an address cost nothing but themselves: people mistype.
constexpr unsigned kFree = 3;
constexpr Duration kLongestPenalty = seconds{10};
/// After so long without another one they are forgotten.
constexpr Duration kForgotten = minutes{10};
constexpr std::size_t kMostAddresses = 10'000;
/// No more than one line of the log in this time tells of refusals.
constexpr Duration kReportAgain = minutes{1};

Least rank_of(const Asker& who) {
  return who.role ? static_cast<Least>(static_cast<std::uint8_t>(*who.role) + 1) : Least::Anybody;
}

/// How the history knows a user. One who is named as a token is told apart from it.
Asker asker_of_user(const std::string& user, Role role) {
  const bool is_mistakable = user.starts_with("token ") || user.starts_with("user \"");
  return {.name = is_mistakable ? fmt::format("user \"{}\"", user) : user, .role = role};
}

/// Of a name that anybody may have sent.
std::string as_user(std::string_view user) {
  constexpr std::size_t kShown = 64;
  return fmt::format("as \"{}{}\"", printable(user.substr(0, kShown)), user.size() > kShown ? "..." : "");
}

Response plain(unsigned status, std::string text) { return {.status = status, .body = std::move(text) + "\n"}; }

std::string page(std::string_view title, std::string_view content) {
  return fmt::format(
      "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{}</title></head>"
      "<body><h1>{}</h1>{}</body></html>\n",
      title, title, content);
}

/// What came of another's work, with what every response has.
template <typename Finish>
class Finished final : public Deferred {
 public:
  Finished(std::unique_ptr<Deferred> inner, Finish finish) : inner_(std::move(inner)), finish_(std::move(finish)) {}
  std::optional<Response> poll() override {
    auto response = inner_->poll();
    if (response) response = finish_(std::move(*response));
    return response;
  }

 private:
  std::unique_ptr<Deferred> inner_;
  Finish finish_;
};

}  // namespace

/// A request whose password is being checked, and then what comes of it.
class Site::Judging final : public Deferred {
 public:
  struct Verdict {
    bool is_there = false;
    std::optional<Role> role;
    Wake wake;
  };

  Judging(std::shared_ptr<Verdict> verdict, Judged then) : verdict_(std::move(verdict)), then_(std::move(then)) {}

  std::optional<Response> poll() override {
    if (inner_) return inner_->poll();
    if (!verdict_->is_there) return std::nullopt;
    Reply reply = std::exchange(then_, {})(verdict_->role);
    if (auto* const response = std::get_if<Response>(&reply)) return std::move(*response);
    inner_ = std::move(std::get<std::unique_ptr<Deferred>>(reply));
    return inner_->poll();
  }

 private:
  std::shared_ptr<Verdict> verdict_;
  Judged then_;
  std::unique_ptr<Deferred> inner_;
};

Site::Site(Machine machine)
    : machine_(std::move(machine)), logins_(std::make_unique<Logins>(machine_.random() + machine_.random())) {
  options_.access = AccessRules::nobody();
  add(login_routes());
}

bool Site::use(SiteOptions options) {
  if (options == options_) return false;
  options_ = std::move(options);
  ++round_;
  logins_->end_all();
  return true;
}

/// The address of whoever asks, as trusted proxies tell it: of all that they have added, the last one that is not a
/// proxy's own. What is no address was added by nobody who can be trusted, nor what stands before it.
std::string Site::client_of(const Request& request) const {
  std::string client = request.peer;
  if (client.empty()) return client;
  std::string forwarded;
  for (const auto& [name, value] : request.headers)
    if (iequals(name, "X-Forwarded-For")) forwarded += (forwarded.empty() ? "" : ",") + value;
  std::string_view rest = forwarded;
  while (!rest.empty() && options_.access.trusts_proxy(client)) {
    const std::size_t comma = rest.rfind(',');
    std::string_view last = comma == std::string_view::npos ? rest : rest.substr(comma + 1);
    while (last.starts_with(' ')) last.remove_prefix(1);
    while (last.ends_with(' ')) last.remove_suffix(1);
    if (last.find('/') != std::string_view::npos || !Network::parse(last)) break;
    client = last;
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(0, comma);
  }
  return client;
}

/// Why a request that changes something cannot be believed to come from a page of ours.
std::optional<Response> Site::forged(const Request& request, const Visitor& visitor) const {
  if (is_safe(request.method)) return std::nullopt;
  if (visitor.cookie.empty() && !is_from_browser(request)) return std::nullopt;
  const auto refusal = [] { return plain(403, "Invalid CSRF Token: open the page again, and use its own buttons"); };
  if (const auto origin = request.header("Origin"); origin && *origin != "null") {
    const std::string_view from = authority_of(*origin);
    const bool is_own = iequals(from, request.header("Host").value_or("")) ||
                        (!options_.url.empty() && iequals(from, authority_of(options_.url)));
    if (!is_own) return refusal();
  } else if (origin) {
    return refusal();
  }
  std::optional<std::string_view> token = request.header("X-Healer-Token");
  if (!token) token = find(request.form, "securitytoken");
  if (token && is_same_secret(logins_->form_token(visitor.who.name, visitor.cookie), *token)) return std::nullopt;
  return refusal();
}

Reply Site::handle(const Request& request, const Way& way, Wake wake) {
  const std::string client = client_of(request);
  const auto done = [&](Response response) -> Reply { return finish(request, std::move(response)); };
  if (!request.peer.empty() && !options_.access.allows_host(client))
    return done(plain(403, "You are not authorized to access this server"));
  if (request.unfit) return done(plain(request.unfit->status, request.unfit->why));
  auto found = router_.find(request.method, request.path);
  auto* const route = std::get_if<Router::Found>(&found);
  if (route != nullptr && route->route->least == Least::Anybody)
    return serve(request, way, *route->route, std::move(route->captured), {}, std::move(wake));

  // Who is it? What does not exist is told only to those who may ask.
  const std::function<Reply(Visitor)> then = [this, &request, way, found = std::move(found),
                                              wake](Visitor visitor) mutable -> Reply {
    if (std::holds_alternative<Router::Unknown>(found))
      return finish(request, plain(404, "There is nothing at this address"));
    if (const auto* const wrong = std::get_if<Router::WrongMethod>(&found)) {
      Response response =
          plain(405, fmt::format("The method {} is not allowed at this address", to_string(request.method)));
      std::string allowed;
      for (const Method method : wrong->allowed)
        allowed += (allowed.empty() ? "" : ", ") + std::string(to_string(method));
      response.headers.emplace_back("Allow", std::move(allowed));
      return finish(request, std::move(response));
    }
    auto& known = std::get<Router::Found>(found);
    return serve(request, way, *known.route, std::move(known.captured), std::move(visitor), std::move(wake));
  };

  if (const auto cookie = find(request.cookies, kCookie))
    if (const auto who = logins_->find(*cookie, machine_.now().mono))
      return then({*who, std::string(*cookie), KnownBy::Cookie});
  const auto authorization = request.header("Authorization");
  if (!authorization) {
    if (options_.access.needs_login()) return done(refuse("", ""));
    if (!names_machine(request, options_.host, options_.url))
      return done(plain(421,
                        "This is not a name of this machine: without passwords healer answers to its own names "
                        "alone; 'set url' tells another one"));
    return then({{.name = client.empty() ? "http" : "http " + client, .role = Role::Admin}});
  }
  if (const auto token = bearer_token(*authorization)) {
    if (const auto who = options_.access.asker_of_token(*token)) return then({.who = *who, .known_by = KnownBy::Token});
    return later(client, std::move(wake), finish(request, refuse(client, "with a token")));
  }
  const auto login = basic_login(*authorization);
  if (!login) return done(refuse(client, "with a login that cannot be read"));
  return judge(client, *login, wake, [this, &request, client, user = login->user, then](auto role) -> Reply {
    if (!role) return finish(request, refuse(client, as_user(user)));
    return then({.who = asker_of_user(user, *role), .known_by = KnownBy::Password});
  });
}

Reply Site::later(const std::string& client, Wake wake, Response response) {
  const Duration wait = penalty(client);
  if (wait == Duration{0}) return response;
  auto verdict = std::make_shared<Judging::Verdict>(Judging::Verdict{.wake = std::move(wake)});
  machine_.later(wait, [verdict] {
    verdict->is_there = true;
    verdict->wake();
  });
  auto kept = std::make_shared<Response>(std::move(response));
  return std::make_unique<Judging>(verdict, [kept](std::optional<Role>) -> Reply { return std::move(*kept); });
}

/// Has a password checked; `then` is called with what it gives its owner, or nothing.
Reply Site::judge(const std::string& client, const BasicLogin& login, Wake wake, Judged then) {
  auto verdict = std::make_shared<Judging::Verdict>(Judging::Verdict{.wake = std::move(wake)});
  auto judging = std::make_unique<Judging>(verdict, std::move(then));
  machine_.passwords->check(options_.access, login, [this, verdict, client, round = round_](std::optional<Role> role) {
    if (round != round_) role.reset();  // the rules have changed meanwhile: he may ask again
    const auto tell = [verdict, role] {
      verdict->role = role;
      verdict->is_there = true;
      verdict->wake();
    };
    if (role) {
      refusals_.erase(client);
      return tell();
    }
    const Duration wait = penalty(client);
    wait == Duration{0} ? tell() : machine_.later(wait, tell);
  });
  if (auto response = judging->poll()) return std::move(*response);
  return judging;
}

Reply Site::serve(const Request& request, const Way& way, const Route& route, std::vector<std::string> captured,
                  Visitor visitor, Wake wake) {
  if (way.read_only && visitor.who.role) visitor.who.role = Role::ReadOnly;
  if (route.protection == Protection::Token)
    if (auto refusal = forged(request, visitor)) return finish(request, std::move(*refusal));
  if (rank_of(visitor.who) < route.least)
    return finish(
        request,
        plain(403, fmt::format("{} may not do this: it takes the role {}", visitor.who.name,
                               control::to_string(static_cast<Role>(static_cast<std::uint8_t>(route.least) - 1)))));
  // The visitor outlives the answer: verbs are asked in his name.
  const auto who = std::make_shared<const Asker>(visitor.who);
  Reply reply = route.handle({.request = request,
                              .who = *who,
                              .token = logins_->form_token(visitor.who.name, visitor.cookie),
                              .captured = std::move(captured),
                              .wake = std::move(wake),
                              .known_by = visitor.known_by,
                              .read_only = way.read_only});
  if (auto* const response = std::get_if<Response>(&reply)) return finish(request, std::move(*response));
  const auto end = [this, &request, who](Response response) { return finish(request, std::move(response)); };
  return std::make_unique<Finished<decltype(end)>>(std::move(std::get<std::unique_ptr<Deferred>>(reply)), end);
}

/// Adds what each response has.
Response Site::finish(const Request& request, Response response) const {
  // Programs read what the API says, also where it is not asked at all.
  if (response.status >= 400 && request.path.starts_with("/api/") && response.type.starts_with("text/plain"))
    response = as_problem(std::move(response));
  // Who asks by healerctl is told what to do with that.
  if (response.type == kProblemType && !request.header("User-Agent").value_or("").starts_with("healerctl/"))
    response = with_http_remedy(std::move(response));
  // Monit's client shows what it finds in a page as Monit's.
  if ((response.status == 401 || response.status == 403) && response.type.starts_with("text/plain")) {
    const std::string_view reason = reason_of(response.status);
    response.type = "text/html; charset=utf-8";
    response.body =
        fmt::format("<!DOCTYPE html><html><head><title>{0} {1}</title></head><body><h2>{1}</h2>{2}</body></html>\n",
                    response.status, reason, html_escaped(trim(response.body)));
  }
  const auto add = [&](std::string_view name, std::string_view value) {
    if (!std::ranges::any_of(response.headers, [&](const auto& one) { return iequals(one.first, name); }))
      response.headers.emplace_back(name, value);
  };
  if (!options_.server.empty()) add("Server", options_.server);
  add("X-Content-Type-Options", "nosniff");
  add("X-Frame-Options", "SAMEORIGIN");
  add("Referrer-Policy", "same-origin");
  add("Content-Security-Policy",
      "default-src 'none'; img-src 'self'; style-src 'self'; script-src 'self'; connect-src 'self'; form-action "
      "'self'; "
      "base-uri 'none'; frame-ancestors 'self'");
  add("Cache-Control", "no-store");
  return response;
}

/// One line at once, and then no more than one a minute, which tells how many there were.
void Site::report_refusal(const std::string& client, const std::string& tried) {
  const std::string whom =
      fmt::format("from {}, {}", client.empty() ? std::string("a unix socket") : printable(client), tried);
  const Duration since = machine_.now().mono - reported_;
  if (since >= kReportAgain && unreported_ == 0) {
    reported_ = machine_.now().mono;
    return machine_.refused("a wrong password, or an unknown user, over HTTP " + whom);
  }
  last_refused_ = whom;
  if (++unreported_ > 1) return;
  machine_.later(std::max(kReportAgain - since, Duration{0}), [this] {
    reported_ = machine_.now().mono;
    machine_.refused(
        fmt::format("{} more wrong password{}, or unknown users, over HTTP in the last minute; the last {}",
                    unreported_, unreported_ == 1 ? "" : "s", last_refused_));
    unreported_ = 0;
  });
}

/// `client`: where the wrong password comes from; `tried`: as whom, or with what; empty: nobody has sent one.
Response Site::refuse(const std::string& client, const std::string& tried) {
  if (!tried.empty()) report_refusal(client, tried);
  Response response = plain(401, "You are not authorized to access this server");
  response.headers.emplace_back("WWW-Authenticate", "Basic realm=\"monit\", charset=\"UTF-8\"");
  return response;
}

Duration Site::penalty(const std::string& client) {
  const Duration now = machine_.now().mono;
  if (refusals_.size() >= kMostAddresses)
    std::erase_if(refusals_, [&](const auto& one) { return now - one.second.last > kForgotten; });
  if (refusals_.size() >= kMostAddresses) return kLongestPenalty;
  Refusals& refused = refusals_[client];
  if (now - refused.last > kForgotten) refused.count = 0;
  refused.last = now;
  if (++refused.count <= kFree) return Duration{0};
  return std::min(kLongestPenalty, Duration{1'000} * (1 << std::min(refused.count - kFree - 1, 4U)));
}

std::vector<Route> Site::login_routes() {
  const auto show = [](const Call& call) -> Reply {
    const auto once = find(call.request.query, "once");
    const std::string content =
        once ? fmt::format(
                   "<form method=\"post\" action=\"login\"><input type=\"hidden\" name=\"once\" value=\"{}\">"
                   "<button>Log in</button></form>",
                   html_escaped(*once))
             : std::string(
                   "<form method=\"post\" action=\"login\"><p><label>Name <input name=\"user\" autocomplete=\""
                   "username\"></label></p><p><label>Password <input type=\"password\" name=\"password\" "
                   "autocomplete=\"current-password\"></label></p><button>Log in</button></form>");
    return Response{.type = "text/html; charset=utf-8", .body = page("healer", content)};
  };
  const auto enter = [this](const Request& request, const Asker& who) {
    const std::string cookie = logins_->begin(who, machine_.random() + machine_.random(), machine_.now().mono);
    Response response{.status = 303, .body = ""};
    const bool secure = request.secure ||
                        (options_.access.trusts_proxy(request.peer) && request.header("X-Forwarded-Proto") == "https");
    response.headers = {{"Location", "./"},
                        {"Set-Cookie", fmt::format("{}={}; Max-Age={}; Path=/; HttpOnly; SameSite=Strict{}", kCookie,
                                                   cookie, std::chrono::duration_cast<seconds>(Logins::kLasts).count(),
                                                   secure ? "; Secure" : "")}};
    return response;
  };
  const auto log_in = [this, enter](const Call& call) -> Reply {
    const Request& request = call.request;
    if (const auto once = find(request.form, "once")) {
      if (const auto who = logins_->spend(*once, machine_.now().mono)) return enter(request, *who);
      return plain(403, "This login has been used, or is too old: `healerctl open` makes another one");
    }
    const std::string client = client_of(request);
    for (const std::string_view name : {"user", "password"})
      if (find(request.form, name).value_or("").find('\0') != std::string_view::npos)
        return plain(400, "A name or a password has a zero byte in it");
    const BasicLogin login{.user = std::string(find(request.form, "user").value_or("")),
                           .password = std::string(find(request.form, "password").value_or(""))};
    return judge(client, login, call.wake, [this, &request, client, login, enter](auto role) -> Reply {
      if (role) return enter(request, asker_of_user(login.user, *role));
      Response response = refuse(client, as_user(login.user));
      response.headers.clear();  // a browser would ask for a password by itself
      response.status = 403;
      return response;
    });
  };
  const auto log_out = [this](const Call& call) -> Reply {
    if (const auto cookie = find(call.request.cookies, kCookie)) logins_->end(*cookie);
    Response response{.status = 303, .body = ""};
    response.headers = {{"Location", "login"},
                        {"Set-Cookie", fmt::format("{}=; Max-Age=0; Path=/; HttpOnly; SameSite=Strict", kCookie)}};
    return response;
  };
  return {{Method::Get, "/login", Least::Anybody, show},
          {Method::Post, "/login", Least::Anybody, log_in, Protection::None},
          {Method::Post, "/logout", Least::ReadOnly, log_out}};
}

}  // namespace healer::web
