// SPDX-License-Identifier: MIT
#include "runtime/net/resolver.hpp"

#include <ares.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <limits>
#include <sstream>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "runtime/clock.hpp"
#include "runtime/descriptor.hpp"
#include "util/text.hpp"

namespace healer::runtime {
namespace {

using protocols::Family;

constexpr Duration kConfigurationStaysFor{1'000};  // before they are looked at again
constexpr std::size_t kMostKnown = 20'000;
constexpr std::uint64_t kLongestWait = 30;  // seconds and tries, as in the C library
constexpr std::uint64_t kMostTries = 5;

/// When the files that c-ares reads once were changed last.
using Stamps = std::array<std::int64_t, 3>;
Stamps file_stamps(const std::string& resolv_conf) {
  const std::array<const char*, 3> files{resolv_conf.c_str(), "/etc/nsswitch.conf", "/etc/host.conf"};
  Stamps stamps{};
  std::ranges::transform(files, stamps.begin(), [](const char* path) {
    struct stat facts {};
    if (::stat(path, &facts) != 0) return std::int64_t{-1};
    return static_cast<std::int64_t>(facts.st_mtim.tv_sec) * 1'000'000'000 + facts.st_mtim.tv_nsec;
  });
  return stamps;
}

/// How long a server is waited for, and how often all are asked. c-ares reads neither from the file.
struct Patience {
  Duration wait{1'000};  // another server may know; each round waits twice as long
  int tries = 4;
};

Patience patience_of(const std::string& resolv_conf) {
  Patience patience;
  std::ifstream file(resolv_conf);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string word;
    if (!(words >> word) || word != "options") continue;
    while (words >> word) {
      const std::size_t colon = std::min(word.find(':'), word.size() - 1);
      std::uint64_t value = 0;
      const auto [rest, wrong] = std::from_chars(word.data() + colon + 1, word.data() + word.size(), value);
      if (wrong != std::errc{} || value == 0) continue;
      if (word.starts_with("timeout:")) patience.wait = seconds{std::min(value, kLongestWait)};
      if (word.starts_with("attempts:")) patience.tries = static_cast<int>(std::min(value, kMostTries));
    }
  }
  return patience;
}

std::string words_of(int status, Family family) {
  switch (status) {
    case ARES_ENOTFOUND:
    case ARES_ENONAME: return "no such name";
    case ARES_ENODATA:
      return fmt::format("the name has no {}address", family == Family::V6   ? "IPv6 "
                                                      : family == Family::V4 ? "IPv4 "
                                                                             : "");
    case ARES_ETIMEOUT: return "the name servers do not answer";
    case ARES_ECONNREFUSED: return "the name servers refuse queries";
    case ARES_ESERVFAIL: return "the name servers have failed";
    case ARES_EREFUSED: return "the name servers refuse to answer";
    case ARES_EBADNAME: return "this is not a valid host name";
    default: return ares_strerror(status);
  }
}

/// Whether a name server has answered, be it that there is no such name.
bool is_answer(int status) {
  return status == ARES_SUCCESS || status == ARES_ENOTFOUND || status == ARES_ENONAME || status == ARES_ENODATA ||
         status == ARES_EBADNAME;
}

/// Why a name server could not be asked, where that is this machine's doing: EMFILE or ENFILE; 0: it is not.
int lack() {
  const Descriptor probe(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  return probe || (errno != EMFILE && errno != ENFILE) ? 0 : errno;
}

bool library_begun() {
  static const bool begun = ares_library_init(ARES_LIB_INIT_ALL) == ARES_SUCCESS;
  return begun;
}

}  // namespace

/// One reading of the machine's files, with its sockets.
struct Resolver::Channel {
  explicit Channel(Loop& its_loop) : loop(its_loop), timer(its_loop.timer([this] { process(); })) {}
  ~Channel() {
    if (ares != nullptr) ares_destroy(ares);
  }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  /// ARES_SUCCESS, or why not.
  int open(const Options& options) {
    ares_options wanted{};
    wanted.sock_state_cb = [](void* self, ares_socket_t socket, int readable, int writable) {
      static_cast<Channel*>(self)->watch(socket, readable != 0, writable != 0);
    };
    wanted.sock_state_cb_data = this;
    const Patience patience = patience_of(options.file);
    wanted.timeout = static_cast<int>(patience.wait.count());
    wanted.tries = patience.tries;
    std::string file = options.file;
    wanted.resolvconf_path = file.data();
    constexpr int kGiven = ARES_OPT_SOCK_STATE_CB | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_RESOLVCONF;
    if (const int status = ares_init_options(&ares, &wanted, kGiven); status != ARES_SUCCESS) {
      ares = nullptr;
      return status;
    }
    return options.servers.empty() ? ARES_SUCCESS : ares_set_servers_ports_csv(ares, options.servers.c_str());
  }

  void watch(ares_socket_t socket, bool readable, bool writable) {
    unsigned interest = 0;
    if (readable) interest |= Loop::kReadable;
    if (writable) interest |= Loop::kWritable;
    const auto known = watches.find(socket);
    if (interest == 0) {
      if (known != watches.end()) watches.erase(known);
      return;
    }
    if (known != watches.end()) return known->second.change(interest);
    auto made = loop.watch(socket, interest, [this, socket](unsigned ready) {
      ares_process_fd(ares, (ready & Loop::kReadable) != 0 ? socket : ARES_SOCKET_BAD,
                      (ready & Loop::kWritable) != 0 ? socket : ARES_SOCKET_BAD);
      arm();
    });
    if (made) watches.emplace(socket, std::move(*made));  // else its time-out ends the question
  }

  void process() {
    ares_process_fd(ares, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
    arm();
  }

  void arm() {
    timeval wait{};
    if (ares_timeout(ares, nullptr, &wait) == nullptr) return timer.set_deadline(std::nullopt);
    timer.set_deadline(mono_now() + Duration{wait.tv_sec * 1000 + wait.tv_usec / 1000 + 1});
  }

  Loop& loop;
  ares_channel ares = nullptr;
  Loop::Timer timer;
  std::map<ares_socket_t, Loop::Watch> watches;
  std::size_t questions = 0;  // under way
  Stamps stamps{};
  Duration checked_at{0};
};

/// A question that c-ares works on. It lives until its answer, or to the end of the resolver.
struct Resolver::Asked {
  Resolver* resolver = nullptr;  // null once that is gone
  Channel* channel = nullptr;
  Key key;
  std::vector<std::weak_ptr<Done>> waiting;
};

Resolver::Resolver(Loop& loop, Options options) : loop_(loop), options_(std::move(options)) {}

Resolver::~Resolver() {
  for (auto& [key, asked] : asked_) asked->resolver = nullptr;
  // c-ares tells each question its end while the questions are still there.
  channel_.reset();
  retired_.clear();
}

Result<Resolver::Channel*> Resolver::channel() {
  // Never from within a callback of c-ares: answers are handed on by the loop.
  std::erase_if(retired_, [](const auto& one) { return one->questions == 0; });
  const Duration now = mono_now();
  if (channel_ && now - channel_->checked_at < kConfigurationStaysFor) return channel_.get();
  const Stamps stamps = file_stamps(options_.file);
  if (channel_ && channel_->stamps == stamps) {
    channel_->checked_at = now;
    return channel_.get();
  }
  if (!library_begun()) return Error{0, "c-ares cannot be used"};
  auto fresh = std::make_unique<Channel>(loop_);
  if (const int status = fresh->open(options_); status != ARES_SUCCESS) return Error{0, ares_strerror(status)};
  fresh->stamps = stamps;
  fresh->checked_at = now;
  if (channel_) {
    known_.clear();  // what other servers said
    retired_.push_back(std::move(channel_));
  }
  channel_ = std::move(fresh);
  return channel_.get();
}

Resolver::Question Resolver::resolve(const std::string& host, Family family, Done done) {
  if (const auto address = Address::parse(host)) {
    if ((family == Family::V4 && address->is_v6()) || (family == Family::V6 && !address->is_v6())) {
      done(Error{0, fmt::format("{} is not an {} address", host, family == Family::V4 ? "IPv4" : "IPv6")});
    } else {
      done(Addresses{*address});
    }
    return {};
  }
  const Key key{to_lower(host), family};
  const auto open = channel();
  if (!open) {
    done(Error{0, fmt::format("cannot resolve {}: {}", printable(host), open.error().what)});
    return {};
  }
  if (const auto known = known_.find(key); known != known_.end()) {
    if (known->second.until > mono_now()) {
      const Addresses addresses = known->second.addresses;  // done() may ask for more
      done(addresses);
      return {};
    }
    known_.erase(known);
  }
  Question question(std::make_shared<Done>(std::move(done)));
  auto& asked = asked_[key];
  if (asked) {
    std::erase_if(asked->waiting, [](const auto& one) { return one.expired(); });
    asked->waiting.push_back(question.done_);
    return question;
  }
  ++(*open)->questions;
  asked = std::make_unique<Asked>(Asked{this, *open, key, {question.done_}});
  ares_addrinfo_hints hints{};
  hints.ai_family = family == Family::V4 ? AF_INET : family == Family::V6 ? AF_INET6 : AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  // The answer may come from within: it is handed on by the loop, so that the caller has his question first.
  ares_getaddrinfo(
      (*open)->ares, host.c_str(), nullptr, &hints,
      [](void* context, int status, int, ares_addrinfo* info) {
        auto* self = static_cast<Asked*>(context);
        const std::unique_ptr<ares_addrinfo, decltype(&ares_freeaddrinfo)> owned(info, ares_freeaddrinfo);
        if (self->resolver == nullptr) return;
        --self->channel->questions;
        Addresses addresses;
        int ttl = std::numeric_limits<int>::max();
        for (const auto* node = info != nullptr ? info->nodes : nullptr; node != nullptr; node = node->ai_next) {
          Address address;
          if (node->ai_family == AF_INET) {
            address = Address(reinterpret_cast<const sockaddr_in*>(node->ai_addr)->sin_addr);
          } else {
            const auto* v6 = reinterpret_cast<const sockaddr_in6*>(node->ai_addr);
            address = Address(v6->sin6_addr, v6->sin6_scope_id);
          }
          ttl = std::min(ttl, node->ai_ttl);
          if (std::ranges::none_of(addresses, [&](const Address& one) { return one.same_host(address); }))
            addresses.push_back(address);
        }
        for (const auto* name = info != nullptr ? info->cnames : nullptr; name != nullptr; name = name->next)
          ttl = std::min(ttl, name->ttl);
        Result<Addresses> result = std::move(addresses);
        const int lacking = status == ARES_ECONNREFUSED || status == ARES_EFILE ? lack() : 0;
        if (lacking != 0)
          result = system_error(lacking, fmt::format("cannot resolve {}", printable(self->key.first)));
        else if (status != ARES_SUCCESS || result->empty())
          result = Error{is_answer(status) ? 0 : kNoAnswer,
                         fmt::format("cannot resolve {}: {}", printable(self->key.first),
                                     words_of(status == ARES_SUCCESS ? ARES_ENODATA : status, self->key.second))};
        self->resolver->answered(self->key, std::move(result), seconds{std::clamp(ttl, 0, 86'400)});
      },
      asked.get());
  (*open)->arm();
  return question;
}

void Resolver::answered(const Key& key, Result<Addresses> result, Duration ttl) {
  const auto found = asked_.find(key);
  if (found == asked_.end()) return;
  const std::unique_ptr<Asked> asked = std::move(found->second);
  asked_.erase(found);
  if (result && ttl > Duration{0}) {
    if (known_.size() >= kMostKnown)
      std::erase_if(known_, [now = mono_now()](const auto& one) { return one.second.until <= now; });
    if (known_.size() < kMostKnown) known_[asked->key] = {*result, mono_now() + ttl};
  }
  loop_.post([waiting = std::move(asked->waiting), result = std::move(result)] {
    for (const auto& one : waiting)
      if (const auto done = one.lock()) (*done)(result);
  });
}

}  // namespace healer::runtime
