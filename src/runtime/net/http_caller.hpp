// SPDX-License-Identifier: MIT
// Requests over HTTP with libcurl: one multi handle on the loop. libcurl does not resolve names (it would block to join
// its threads): it is given the addresses. Bodies are read from files on one thread; filters and expressions that are
// applied to an answer run on others.
//
// No filter or expression runs for ever: one that takes more than two seconds finds nothing.
//
// The caller must know whether something may have been done: a request that has failed is in doubt unless it is certain
// that nothing of it was sent. A request that is not `safe` gets a connection of its own, because libcurl repeats a
// request by itself if a reused connection dies.
//
// Owned and called by the loop thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/events/event.hpp"
#include "engine/rules/settings.hpp"
#include "engine/rules/workflow.hpp"
#include "runtime/loop.hpp"
#include "runtime/net/resolver.hpp"
#include "runtime/net/searcher.hpp"
#include "runtime/worker_pool.hpp"
#include "util/result.hpp"
#include "util/time.hpp"

namespace healer::runtime {

/// One request, with all that it says.
struct HttpCall {
  std::string method = "GET";
  std::string url;
  std::vector<std::string> headers;  ///< "Name: value"
  std::string body;
  std::string body_file;  ///< whose text is the body; empty: `body` is
  bool follow = false;
  bool insecure = false;
  bool safe = false;  ///< may be sent twice
  std::uint64_t limit = std::uint64_t{1} << 20;
  Duration timeout{30'000};          ///< for all of it
  engine::TlsOptions tls;            ///< as in `set ssl`, and `checksum` of the certificate that is meant
  std::vector<std::string> filters;  ///< whose first values are asked of the answer
  std::vector<engine::Saving> saves;
  bool discards_body = false;         ///< nothing of the answer's body is kept, and `limit` is none of it
  std::vector<std::string> hidden{};  ///< secrets that it is made with: struck out of what is told of the answer
  std::string place{};                ///< the URL, where it is known better than `complete` says; or empty
  /// Gets all of the answer in place of HttpCaller::Done, and the URL that was asked. May be empty.
  std::function<void(const engine::event::Answered&, std::string body, const std::vector<std::string>& head,
                     const std::string& url)>
      whole{};
  /// Says the rest of it before it is sent, where slow disks may be waited for; an Error: it is not sent. May be empty.
  std::function<Result<void>(HttpCall&)> complete{};
};

class HttpCaller {
 public:
  struct Options {
    std::size_t most = 64;  ///< requests at a time; others wait, and their time does not run yet
    Resolver::Options resolver;
    std::string jq_helper = "/proc/self/exe";  ///< see JqHelper
  };
  static constexpr int kMostRedirects = 5;
  static constexpr std::size_t kMostOfBody = std::size_t{16} << 20;  ///< of a file that is sent

  /// On the loop, never from within call().
  using Done = std::function<void(engine::event::Answered)>;

  explicit HttpCaller(Loop& loop) : HttpCaller(loop, Options{}) {}
  HttpCaller(Loop& loop, Options options);
  ~HttpCaller();
  HttpCaller(const HttpCaller&) = delete;
  HttpCaller& operator=(const HttpCaller&) = delete;

  void call(engine::ActionId id, HttpCall call, Done done);
  /// Takes a text for the answer to a request that was made: what is to be saved of it is told by `done`. The text is
  /// read where slow disks may be waited for.
  void read(engine::ActionId id, std::function<std::string()> text, std::vector<engine::Saving> saves, Done done);
  /// Nobody waits for it any more; `done` is not called.
  void end(engine::ActionId id);

  /// Requests that are under way or wait.
  [[nodiscard]] std::size_t in_flight() const { return calls_.size(); }

 private:
  struct Curl;
  struct Call;

  void begin_later();
  void begin_some();
  void begin(Call& call);
  void complete(Call& call);
  void completed(Call& call);
  void read_body(Call& call);
  void resolve(Call& call);
  void send(Call& call, const std::string& addresses);
  void too_late(Call& call);
  void transferred(Call& call, int code);
  void redirect(Call& call, const std::string& url);
  void ask_next(Call& call);
  void search(Call& call);
  void fail(Call& call, std::string why);
  void finish(Call& call);
  Call* find(std::uint64_t id);

  Loop& loop_;
  Options options_;
  Resolver resolver_;
  Searcher searcher_;
  WorkerPool files_;
  WorkerPool expressions_;
  std::map<std::uint64_t, std::unique_ptr<Call>> calls_;  // by ActionId
  std::deque<std::uint64_t> queue_;
  std::size_t open_ = 0;
  bool beginning_ = false;
  std::shared_ptr<char> alive_ = std::make_shared<char>();
  std::unique_ptr<Curl> curl_;  // goes first: it holds the transfers of the calls
};

}  // namespace healer::runtime
