// SPDX-License-Identifier: MIT
// TLS before the HTTP server, over pairs of sockets: who is bounded by what.
#include "web/server/tls_front.hpp"

#include <fcntl.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "control/server_world.hpp"
#include "runtime/loop.hpp"

using namespace healer;
using runtime::Descriptor;

namespace {

class TlsWorld {
 public:
  explicit TlsWorld(web::TlsLimits limits) {
    const std::string command =
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj " +
        ("/CN=localhost -keyout " + key() + " -out " + certificate() + " 2>/dev/null");
    if (std::system(command.c_str()) != 0) throw std::runtime_error("openssl");
    std::promise<void> up;
    thread_ = std::thread([&, limits] {
      runtime::Loop loop;
      loop_ = &loop;
      web::TlsFront front(
          loop, [](bool, const std::string&) {}, limits);
      front_ = &front;
      up.set_value();
      loop.run();
      plains_.clear();
    });
    up.get_future().wait();
    use({});
    // When it has been read somebody who connects is not ended at once.
    wait_until([&] { return !is_ended(connect({.local = true}), 20); });
    close_all();
  }
  ~TlsWorld() {
    loop_->stop();
    thread_.join();
  }
  TlsWorld(const TlsWorld&) = delete;

  [[nodiscard]] std::string key() const { return folder_.path() + "/key"; }
  [[nodiscard]] std::string certificate() const { return folder_.path() + "/certificate"; }

  void on_loop(const std::function<void()>& work) {
    std::promise<void> done;
    loop_->post([&] {
      work();
      done.set_value();
    });
    done.get_future().wait();
  }
  void use(const std::string& client_certificates) {
    on_loop([&] {
      front_->use({.certificates = certificate(), .key = key(), .client_certificates = client_certificates});
    });
  }
  Descriptor connect(const web::HttpServer::From& from) {
    std::array<int, 2> pair{};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0) throw std::runtime_error("socketpair");
    fcntl(pair[0], F_SETFL, O_NONBLOCK);
    on_loop([&] {
      front_->begin(Descriptor(pair[0]), from, [this](Descriptor plain, auto shown) {
        plains_.push_back(std::move(plain));
        shown_ = std::move(shown);
      });
    });
    return Descriptor(pair[1]);
  }
  void close_all() {
    on_loop([&] { front_->close_if([](const auto&) { return true; }); });
    wait_until([&] { return sessions() == 0; });
  }
  void close_door(const std::string& door) {
    on_loop([&] { front_->close_if([&](const web::HttpServer::From& from) { return from.door == door; }); });
  }
  std::size_t sessions() {
    std::size_t count = 0;
    on_loop([&] { count = front_->sessions(); });
    return count;
  }
  /// What comes of TLS, as the HTTP server has it, when one has.
  Descriptor plain() {
    Descriptor taken;
    wait_until([&] {
      on_loop([&] {
        if (plains_.empty()) return;
        taken = std::move(plains_.back());
        plains_.pop_back();
      });
      return static_cast<bool>(taken);
    });
    return taken;
  }
  /// What the last client has shown. Requires: plain() has been taken.
  std::shared_ptr<const web::ClientCertificate> shown() {
    std::shared_ptr<const web::ClientCertificate> last;
    on_loop([&] { last = shown_; });
    return last;
  }
  static bool is_ended(const Descriptor& socket,
                       int patience = static_cast<int>(milliseconds(test::kPatience).count())) {
    pollfd state{.fd = socket.get(), .events = POLLIN, .revents = 0};
    char byte = 0;
    return ::poll(&state, 1, patience) == 1 && ::recv(socket.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) <= 0;
  }
  static void wait_until(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + milliseconds(test::kPatience);
    while (!condition())
      if (std::chrono::steady_clock::now() > end) throw std::runtime_error("it does not come");
  }

 private:
  test::TemporaryFolder folder_;
  runtime::Loop* loop_ = nullptr;
  web::TlsFront* front_ = nullptr;
  std::vector<Descriptor> plains_;
  std::shared_ptr<const web::ClientCertificate> shown_;
  std::thread thread_;
};

/// A client that has shaken hands.
class TlsClient {
 public:
  /// `certificate`: the file that it shows, with its key in another one; empty: none.
  explicit TlsClient(const Descriptor& socket, const std::string& certificate = {}, const std::string& key = {})
      : context_(SSL_CTX_new(TLS_client_method()), SSL_CTX_free), ssl_(SSL_new(context_.get()), SSL_free) {
    if (!certificate.empty() && (SSL_use_certificate_file(ssl_.get(), certificate.c_str(), SSL_FILETYPE_PEM) != 1 ||
                                 SSL_use_PrivateKey_file(ssl_.get(), key.c_str(), SSL_FILETYPE_PEM) != 1))
      throw std::runtime_error("no certificate");
    SSL_set_fd(ssl_.get(), socket.get());
    std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes to a server that has gone
    if (SSL_connect(ssl_.get()) != 1) throw std::runtime_error("no hands were shaken");
  }
  std::string hear_all() {
    std::string heard;
    std::array<char, 4096> bytes{};
    for (int got = 0; (got = SSL_read(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()))) > 0;)
      heard.append(bytes.data(), static_cast<std::size_t>(got));
    return heard;
  }

 private:
  std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context_;
  std::unique_ptr<SSL, void (*)(SSL*)> ssl_;
};

}  // namespace

TEST_CASE("Who has not shaken hands gives way to who comes: the oldest, and of an address its own", "[http][tls]") {
  TlsWorld world({.sessions = 3, .of_an_address = 2, .handshake = minutes{10}});
  const web::HttpServer::From near{.local = true}, far{.peer = "192.0.2.7"};
  const Descriptor first = world.connect(near);
  const Descriptor second = world.connect(far), third = world.connect(far), fourth = world.connect(far);
  CHECK(TlsWorld::is_ended(second));
  CHECK_FALSE(TlsWorld::is_ended(first, 0));
  const Descriptor shaken = world.connect(near);
  CHECK(TlsWorld::is_ended(first));
  TlsClient client(shaken);
  const Descriptor fifth = world.connect(near), sixth = world.connect(near), seventh = world.connect(near);
  CHECK(TlsWorld::is_ended(third));
  CHECK(TlsWorld::is_ended(fourth));
  CHECK(TlsWorld::is_ended(fifth));
  CHECK(world.sessions() == 3);
  const Descriptor plain = world.plain();
  CHECK(::send(plain.get(), "hello", 5, MSG_NOSIGNAL) == 5);
  shutdown(plain.get(), SHUT_RDWR);
  CHECK(client.hear_all() == "hello");
}

TEST_CASE("Who does not read what the HTTP server has said last is not waited for", "[http][tls]") {
  TlsWorld world({.handshake = minutes{10}, .stalled = minutes{10}, .silent = minutes{10}, .last_words = Duration{50}});
  const Descriptor socket = world.connect({.local = true});
  const TlsClient client(socket);
  {
    const Descriptor plain = world.plain();
    const std::string many(64 * 1024, 'x');
    pollfd state{.fd = plain.get(), .events = POLLOUT, .revents = 0};
    while (::poll(&state, 1, 200) == 1)
      if (::send(plain.get(), many.data(), many.size(), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) continue;
    CHECK(world.sessions() == 1);
  }
  TlsWorld::wait_until([&] { return world.sessions() == 0; });
}

TEST_CASE("Who carries no byte is ended after a while", "[http][tls]") {
  TlsWorld world({.handshake = minutes{10}, .silent = Duration{50}});
  const Descriptor socket = world.connect({.local = true});
  const TlsClient client(socket);
  TlsWorld::wait_until([&] { return world.sessions() == 0; });
}

TEST_CASE("Other settings that cannot be used let nobody in by the former ones", "[http][tls]") {
  TlsWorld world({.handshake = minutes{10}});
  const Descriptor begun = world.connect({.local = true}), open = world.connect({.local = true});
  const TlsClient client(open);
  world.use("/nobody/is/there");
  CHECK(TlsWorld::is_ended(begun));
  CHECK(TlsWorld::is_ended(world.connect({.local = true})));
  TlsWorld::wait_until([&] { return world.sessions() == 0; });
}

TEST_CASE("When a door is closed those who have come by it are ended before TLS, too", "[http][tls]") {
  TlsWorld world({.handshake = minutes{10}});
  const Descriptor gone = world.connect({.local = true, .door = "*:1"});
  const Descriptor stays = world.connect({.local = true, .door = "*:2"});
  world.close_door("*:1");
  CHECK(TlsWorld::is_ended(gone));
  CHECK(world.sessions() == 1);
}

TEST_CASE("Whoever answers is told which certificate a client has shown", "[http][tls]") {
  TlsWorld world({});
  TlsClient stranger(world.connect({.local = true}));
  (void)world.plain();
  CHECK(world.shown() == nullptr);

  // The world's own certificate is one that it asks for.
  world.use(world.certificate());
  const auto comes = [&] {
    try {
      const Descriptor socket = world.connect({.local = true});
      TlsClient client(socket, world.certificate(), world.key());
      (void)world.plain();
      return world.shown() != nullptr;
    } catch (const std::runtime_error&) {
      return false;  // the files are still being read
    }
  };
  TlsWorld::wait_until(comes);
  CHECK(world.shown()->name == "localhost");
  const std::string command = "test $(openssl x509 -noout -fingerprint -sha256 -in " + world.certificate() +
                              " | sed 's/.*=//; s/://g' | tr A-F a-f) = " + world.shown()->sha256;
  CHECK(std::system(command.c_str()) == 0);
}
