// SPDX-License-Identifier: MIT
// Sockets that systemd hands over, in place of what `set httpd` would open.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "runtime/net/handed_sockets.hpp"
#include "web/server/http_side.hpp"

using namespace healer;
using runtime::Descriptor;
using runtime::HandedSocket;

namespace {

engine::HttpdSettings settings_with(std::uint16_t port, const std::string& path) {
  engine::HttpdSettings settings;
  settings.port = port;
  settings.unix_socket = path;
  settings.socket_read_only = true;
  settings.allow.push_back({.who = "localhost", .password = "", .how = "", .users = {}});
  return settings;
}

std::vector<HandedSocket> handed(const std::string& name, std::uint16_t port, const std::string& path) {
  std::vector<HandedSocket> sockets;
  sockets.push_back({.socket = Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)),
                     .name = name,
                     .address = port == 0 ? "" : "127.0.0.1",
                     .port = port,
                     .path = path});
  return sockets;
}

std::vector<std::string> texts_of(const std::vector<web::Endpoint>& endpoints) {
  std::vector<std::string> texts;
  for (const web::Endpoint& one : endpoints) texts.push_back(one.text() + (one.handed >= 0 ? " handed" : ""));
  return texts;
}

}  // namespace

TEST_CASE("a socket that was handed over takes the place of what it is", "[web][handed]") {
  using Texts = std::vector<std::string>;
  const auto settings = settings_with(2812, "/run/h.sock");
  CHECK(texts_of(web::endpoints_of(settings, {})) == Texts{"127.0.0.1:2812", "[::1]:2812", "/run/h.sock"});
  CHECK(texts_of(web::endpoints_of(settings, handed("x", 2812, ""))) == Texts{"/run/h.sock", "127.0.0.1:2812 handed"});
  const auto by_path = web::endpoints_of(settings, handed("x", 0, "/run/h.sock"));
  CHECK(texts_of(by_path) == Texts{"127.0.0.1:2812", "[::1]:2812", "/run/h.sock handed"});
  CHECK(by_path.back().read_only);
  CHECK(texts_of(web::endpoints_of(settings, handed("x", 99, ""))) ==
        Texts{"127.0.0.1:2812", "[::1]:2812", "/run/h.sock"});  // another program's, perhaps
  CHECK(texts_of(web::endpoints_of(settings, handed("http", 99, ""))) ==
        Texts{"127.0.0.1:2812", "[::1]:2812", "/run/h.sock", "127.0.0.1:99 handed"});
  auto nobody = settings;
  nobody.allow.clear();
  CHECK(web::endpoints_of(nobody, handed("http", 99, "")).empty());
}

TEST_CASE("only stream sockets that listen are taken, and no program gets them", "[web][handed]") {
  int pair[2] = {-1, -1};  // NOLINT
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
  const Descriptor other(pair[1]);
  CHECK(runtime::handed_socket(Descriptor(pair[0]), "http").error().what ==
        "it does not listen (its unit must say Accept=no)");
  CHECK(runtime::handed_socket(Descriptor(::socket(AF_INET, SOCK_DGRAM, 0)), "http").error().what ==
        "it is no stream socket");

  const std::string path = std::filesystem::temp_directory_path() / ("healer-handed-" + std::to_string(getpid()));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM, 0));
  REQUIRE(bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  REQUIRE(listen(socket.get(), 1) == 0);
  const auto found = runtime::handed_socket(std::move(socket), "http");
  REQUIRE(found);
  CHECK(found->path == path);
  CHECK(found->port == 0);
  CHECK(fcntl(found->socket.get(), F_GETFD) == FD_CLOEXEC);
  CHECK((fcntl(found->socket.get(), F_GETFL) & O_NONBLOCK) != 0);
  unlink(path.c_str());
}
