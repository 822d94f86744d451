// SPDX-License-Identifier: MIT
// A control server on a loop of its own thread, for tests that talk to it over its socket.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <uv.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "control/socket/server.hpp"

namespace healer::test {

using namespace healer::control;

/// How long a test waits for what must happen.
inline constexpr seconds kPatience{60};

/// Options under which nobody is dropped because the machine is busy with other things.
inline ServerOptions patient() { return {.idle = minutes{10}, .stalled = minutes{10}}; }

/// A folder that is gone with its content when the test ends.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string form = "/tmp/healer-control-XXXXXX";
    if (mkdtemp(form.data()) == nullptr) throw std::runtime_error("mkdtemp");
    path_ = form;
    if (chmod(path_.c_str(), 0755) != 0) throw std::runtime_error("chmod");
  }
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// A uv loop on a thread of its own.
class LoopThread {
 public:
  LoopThread() {
    std::signal(SIGPIPE, SIG_IGN);
    uv_loop_init(&loop_);
    uv_async_init(&loop_, &async_, [](uv_async_t* handle) { static_cast<LoopThread*>(handle->data)->drain(); });
    async_.data = this;
    thread_ = std::thread([this] { uv_run(&loop_, UV_RUN_DEFAULT); });
  }
  ~LoopThread();
  LoopThread(const LoopThread&) = delete;

  [[nodiscard]] uv_loop_t* loop() { return &loop_; }

  /// Runs `work` on the loop thread and waits for it.
  void run(std::function<void()> work);

 private:
  void drain();

  uv_loop_t loop_{};
  uv_async_t async_{};
  std::mutex mutex_;
  std::vector<std::function<void()>> work_;
  std::thread thread_;
};

/// A server over `handler` on PATH/healer.sock of a temporary folder.
class ServerWorld {
 public:
  explicit ServerWorld(Handler& handler, ServerOptions options = patient()) {
    options.path = path_;
    thread_.run([&] {
      auto opened = Server::open(thread_.loop(), handler, options);
      if (opened)
        server_ = std::move(*opened);
      else
        error_ = opened.error().what;
    });
    if (!server_) throw std::runtime_error(error_);
  }
  ~ServerWorld() { stop(); }

  void stop();
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] LoopThread& thread() { return thread_; }
  [[nodiscard]] std::size_t clients();
  void set_access(const SocketAccess& access) {
    bool done = false;
    thread_.run([&] { done = static_cast<bool>(server_->set_access(access)); });
    if (!done) throw std::runtime_error("set_access");
  }
  /// The same, asked on the loop thread.
  [[nodiscard]] std::size_t clients_here() const { return server_->clients(); }
  /// Waits until `count` clients are connected.
  [[nodiscard]] bool wait_for_clients(std::size_t count);

 private:
  TemporaryFolder folder_;
  std::string path_ = folder_.path() + "/healer.sock";
  std::string error_;
  LoopThread thread_;
  std::unique_ptr<Server> server_;
};

/// A raw connection, to say what no Client would.
class RawClient {
 public:
  explicit RawClient(const std::string& path) {
    descriptor_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    if (connect(descriptor_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
      error_ = errno;
      close(descriptor_);
      descriptor_ = -1;
    }
  }
  /// A connection that there is already.
  explicit RawClient(int descriptor) : descriptor_(descriptor) {}
  ~RawClient();
  RawClient(const RawClient&) = delete;
  RawClient(RawClient&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)), error_(other.error_) {}

  [[nodiscard]] int error() const { return error_; }
  void send(std::string_view text) const;
  void half_close() const { shutdown(descriptor_, SHUT_WR); }

  /// The next `count` lines (fewer where the connection ends); "TIMEOUT" where nothing comes.
  [[nodiscard]] std::string lines(std::size_t count);
  /// Everything up to the end of the connection.
  [[nodiscard]] std::string rest() { return lines(static_cast<std::size_t>(-1)); }

 private:
  [[nodiscard]] bool readable() const;
  int descriptor_ = -1;
  int error_ = 0;
};

}  // namespace healer::test
