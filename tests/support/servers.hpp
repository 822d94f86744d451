// SPDX-License-Identifier: MIT
// Servers of a test's own, each on threads: what they say is a function on a connected socket. They end with their
// owner, whatever their clients do.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "support/child.hpp"

namespace healer::test {

/// One connection of a server: blocking calls that end at the latest with the server.
class Peer {
 public:
  Peer(int socket, const std::atomic<bool>& stopping) : socket_(socket), stopping_(stopping) {}
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  ~Peer() {
    if (ssl_ != nullptr) SSL_free(ssl_);
    close(socket_);
  }

  /// False where the client has gone.
  bool say(std::string_view text) {
    while (!text.empty()) {
      if (ssl_ != nullptr) return SSL_write(ssl_, text.data(), static_cast<int>(text.size())) > 0;
      if (!wait(POLLOUT)) return false;
      const ssize_t sent = send(socket_, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent < 0 && errno != EAGAIN) return false;
      if (sent > 0) text.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  /// What comes next; empty at the end.
  std::string receive() {
    std::string text(65536, '\0');
    if (ssl_ != nullptr) {
      const int got = SSL_read(ssl_, text.data(), static_cast<int>(text.size()));
      text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
      return text;
    }
    if (!wait(POLLIN)) return {};
    const ssize_t got = recv(socket_, text.data(), text.size(), 0);
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return text;
  }
  /// Stays silent until the client or the server goes.
  void be_silent() {
    while (!receive().empty()) {
    }
  }
  /// TLS from here on; false where the handshake failed.
  bool secure(SSL_CTX* context) {
    const timeval limit{60, 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ssl_ = SSL_new(context);
    SSL_set_fd(ssl_, socket_);
    return SSL_accept(ssl_) == 1;
  }
  [[nodiscard]] SSL* ssl() const { return ssl_; }
  [[nodiscard]] bool stopping() const { return stopping_; }
  /// The client's address.
  [[nodiscard]] std::string client() const {
    sockaddr_in address{};
    socklen_t size = sizeof address;
    getpeername(socket_, reinterpret_cast<sockaddr*>(&address), &size);
    return inet_ntoa(address.sin_addr);
  }

 private:
  bool wait(short events) {
    while (!stopping_) {
      pollfd one{socket_, events, 0};
      if (poll(&one, 1, 20) > 0) return true;
    }
    return false;
  }
  int socket_;
  const std::atomic<bool>& stopping_;
  SSL* ssl_ = nullptr;
};

/// Listens on a port of 127.0.0.1 (or another address, or a path) and serves each client on a thread.
class Listener {
 public:
  using Serve = std::function<void(Peer&)>;

  explicit Listener(Serve serve, const std::string& address = "127.0.0.1", std::uint16_t port = 0)
      : serve_(std::move(serve)) {
    std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes to clients that have gone
    if (address[0] == '/') {
      socket_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
      sockaddr_un name{};
      name.sun_family = AF_UNIX;
      std::memcpy(name.sun_path, address.data(), address.size());
      if (bind(socket_, reinterpret_cast<sockaddr*>(&name), sizeof name) != 0) std::abort();
    } else {
      const bool v6 = address.find(':') != std::string::npos;
      socket_ = socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      const int on = 1;
      setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
      sockaddr_in6 name{};
      auto& v4 = reinterpret_cast<sockaddr_in&>(name);
      name.sin6_family = v6 ? AF_INET6 : AF_INET;
      name.sin6_port = htons(port);
      inet_pton(v6 ? AF_INET6 : AF_INET, address.c_str(), v6 ? static_cast<void*>(&name.sin6_addr) : &v4.sin_addr);
      if (bind(socket_, reinterpret_cast<sockaddr*>(&name), v6 ? sizeof name : sizeof v4) != 0) std::abort();
      socklen_t size = sizeof name;
      getsockname(socket_, reinterpret_cast<sockaddr*>(&name), &size);
      port_ = ntohs(name.sin6_port);
    }
    if (listen(socket_, 4096) != 0) std::abort();
    thread_ = std::thread([this] { accept_all(); });
  }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener() {
    stopping_ = true;
    thread_.join();
    for (auto& client : clients_) client.join();
    close(socket_);
  }

  [[nodiscard]] std::uint16_t port() const { return port_; }
  /// Clients so far.
  [[nodiscard]] int count() const { return count_; }

 private:
  void accept_all() {
    while (!stopping_) {
      pollfd one{socket_, POLLIN, 0};
      if (poll(&one, 1, 20) <= 0) continue;
      const int client = accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
      if (client < 0) continue;
      ++count_;
      clients_.emplace_back([this, client] {
        Peer peer(client, stopping_);
        serve_(peer);
      });
    }
  }

  Serve serve_;
  int socket_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<bool> stopping_{false};
  std::atomic<int> count_{0};
  std::vector<std::thread> clients_;
  std::thread thread_;
};

/// Answers datagrams; an empty answer is none.
class DatagramServer {
 public:
  using Answer = std::function<std::string(const std::string&)>;

  explicit DatagramServer(Answer its_answer) : answer_(std::move(its_answer)) {
    socket_ = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(socket_, reinterpret_cast<sockaddr*>(&name), sizeof name) != 0) std::abort();
    socklen_t size = sizeof name;
    getsockname(socket_, reinterpret_cast<sockaddr*>(&name), &size);
    port_ = ntohs(name.sin_port);
    thread_ = std::thread([this] {
      while (!stopping_) {
        pollfd one{socket_, POLLIN, 0};
        if (poll(&one, 1, 20) <= 0) continue;
        std::string text(65536, '\0');
        sockaddr_in from{};
        socklen_t length = sizeof from;
        const ssize_t got = recvfrom(socket_, text.data(), text.size(), 0, reinterpret_cast<sockaddr*>(&from), &length);
        if (got < 0) continue;
        ++count_;
        text.resize(static_cast<std::size_t>(got));
        const std::string reply = answer_(text);
        if (!reply.empty()) sendto(socket_, reply.data(), reply.size(), 0, reinterpret_cast<sockaddr*>(&from), length);
      }
    });
  }
  DatagramServer(const DatagramServer&) = delete;
  DatagramServer& operator=(const DatagramServer&) = delete;
  ~DatagramServer() {
    stopping_ = true;
    thread_.join();
    close(socket_);
  }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] int count() const { return count_; }

 private:
  Answer answer_;
  int socket_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<bool> stopping_{false};
  std::atomic<int> count_{0};
  std::thread thread_;
};

/// A name server's answer to a question for addresses: `addresses` of the family that is asked for, each for `ttl`
/// seconds; none: the name has none (`known`), or there is no such name.
inline std::string dns_answer(const std::string& question, const std::vector<std::string>& addresses, unsigned ttl,
                              bool known = true) {
  std::size_t end = 12;
  while (end < question.size() && question[end] != 0) end += static_cast<unsigned char>(question[end]) + 1U;
  end += 5;
  if (end > question.size()) return {};
  const bool v6 = question[end - 3] == 28;
  std::string records;
  int count = 0;
  for (const std::string& address : addresses) {
    std::array<char, 16> bytes{};
    const bool is_v6 = address.find(':') != std::string::npos;
    if (is_v6 != v6 || inet_pton(is_v6 ? AF_INET6 : AF_INET, address.c_str(), bytes.data()) != 1) continue;
    ++count;
    records += std::string("\xc0\x0c\x00", 3) + static_cast<char>(v6 ? 28 : 1) + std::string("\x00\x01", 2);
    for (int shift = 24; shift >= 0; shift -= 8) records += static_cast<char>(ttl >> shift & 0xff);
    records += '\0';
    records += static_cast<char>(v6 ? 16 : 4);
    records.append(bytes.data(), v6 ? 16 : 4);
  }
  std::string answer = question.substr(0, 2) + "\x81" + static_cast<char>(known ? 0x80 : 0x83) +
                       std::string("\x00\x01\x00", 3) + static_cast<char>(count) + std::string(4, '\0');
  return answer + question.substr(12, end - 12) + records;
}

/// The name that is asked for: "web.example".
inline std::string dns_name(const std::string& question) {
  std::string name;
  for (std::size_t at = 12; at < question.size() && question[at] != 0;) {
    const auto length = static_cast<std::size_t>(static_cast<unsigned char>(question[at]));
    name += (name.empty() ? "" : ".") + question.substr(at + 1, length);
    at += length + 1;
  }
  return name;
}

/// Certificates made by openssl: an authority `ca.crt`; of it `server.pem` and `client.pem` for "localhost", and
/// `expired.pem`, which ended three and a half days ago; `self.pem`, which signed itself. .pem: certificate and key.
class TestCertificates {
 public:
  TestCertificates() {
    const std::string script =
        "set -e; cd " + path("") +
        "; new() { openssl req -newkey rsa:2048 -nodes -keyout $1.key -subj /CN=$2 \"${@:3}\" 2>/dev/null; }\n"
        "new ca test-authority -x509 -days 3650 -out ca.crt\n"
        "new self localhost -x509 -days 20 -out self.crt -addext subjectAltName=DNS:localhost\n"
        "for n in server client expired; do new $n localhost -out $n.csr; done\n"
        "echo subjectAltName=DNS:localhost > names\n"
        "for n in server client; do openssl x509 -req -in $n.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 3650 "
        "-out $n.crt -extfile names 2>/dev/null; done\n"
        "mkdir made; touch index; echo 77 > serial\n"
        "printf '[ca]\\ndefault_ca=c\\n[c]\\ndatabase=index\\nserial=serial\\nnew_certs_dir=made\\ndefault_md=sha256\\n"
        "policy=p\\n[p]\\ncommonName=supplied\\n' > ca.conf\n"
        "openssl ca -batch -config ca.conf -cert ca.crt -keyfile ca.key -in expired.csr -out expired.crt -notext "
        "-extfile names -startdate 20200101000000Z -enddate $(date -u -d '84 hours ago' +%Y%m%d%H%M%SZ) 2>/dev/null\n"
        "for n in server client expired self; do cat $n.crt $n.key > $n.pem; done\n"
        "for d in md5 sha1 sha256 sha512; do openssl x509 -in server.crt -noout -fingerprint -$d | cut -d= -f2 > $d; "
        "done\n";
    Child shell({"bash", "-c", script}, folder_.path() / "log");
    if (shell.wait() != 0) std::abort();
  }
  [[nodiscard]] std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  [[nodiscard]] std::string fingerprint(const std::string& digest) const {
    std::string text = read_file(path(digest));
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
  }
  /// A server's context with one of them; it must be freed.
  [[nodiscard]] SSL_CTX* server(const std::string& name) const {
    SSL_CTX* context = SSL_CTX_new(TLS_server_method());
    SSL_CTX_use_certificate_chain_file(context, path(name).c_str());
    SSL_CTX_use_PrivateKey_file(context, path(name).c_str(), SSL_FILETYPE_PEM);
    return context;
  }

 private:
  TemporaryDirectory folder_;
};

}  // namespace healer::test
