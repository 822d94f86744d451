// SPDX-License-Identifier: MIT
// What bench_starts.py and bench_local.py need beside a supervisor: tiny services, the least programs that could do the
// same, and a first process for a namespace. Linked statically, for it is started thousands of times.
//
//   fleet start PIDFILE REPORT NUMBER    a start program: reports "NUMBER NANOSECONDS" (CLOCK_MONOTONIC, taken first of
//                                        all), leaves a process behind and writes its pid file
//   fleet bare FOLDER COUNT REPORT       keeps FOLDER/0.pid ... up with pidfds, one epoll and posix_spawn; writes
//                                        FOLDER/ready once it watches all of them
//   fleet stat FOLDER COUNT              a loop of statx over FOLDER/0 ... FOLDER/COUNT-1, whose sum it prints
//   fleet init COMMAND...                runs the command and reaps whatever is left to it; its status is the command's
#include <fcntl.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

namespace {

int start(const char* pid_file, const char* report, const char* number) {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  char line[64];
  const int size = std::snprintf(line, sizeof line, "%s %lld\n", number,
                                 static_cast<long long>(now.tv_sec) * 1'000'000'000 + now.tv_nsec);
  const int pipe = ::open(report, O_WRONLY | O_CLOEXEC);
  if (pipe < 0 || ::write(pipe, line, static_cast<std::size_t>(size)) != size) return 1;
  const pid_t pid = ::fork();
  if (pid < 0) return 1;
  if (pid == 0) {
    ::setsid();
    for (const int descriptor : {0, 1, 2, pipe}) ::close(descriptor);
    while (true) ::pause();
  }
  const int file = ::open(pid_file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  const int length = std::snprintf(line, sizeof line, "%d\n", static_cast<int>(pid));
  return file >= 0 && ::write(file, line, static_cast<std::size_t>(length)) == length ? 0 : 1;
}

/// One of the services that bare() keeps up: its process, or the start program that is to bring it.
struct Service {
  std::string pid_file;
  std::string number;
  int pidfd = -1;
  pid_t starter = 0;  // 0: pidfd is the service's own
};

void watch(int epoll, std::vector<Service>& services, std::size_t index, pid_t pid) {
  Service& service = services[index];
  if (service.pidfd >= 0) ::close(service.pidfd);  // which ends its watch, too
  service.pidfd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = index;
  if (service.pidfd < 0 || ::epoll_ctl(epoll, EPOLL_CTL_ADD, service.pidfd, &event) != 0) {
    std::perror("fleet: watch");
    std::exit(1);
  }
}

pid_t pid_in(const std::string& path) {
  char text[32]{};
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const ssize_t size = ::read(file, text, sizeof text - 1);
  ::close(file);
  return size > 0 ? std::atoi(text) : 0;
}

int bare(char* self, const std::string& folder, std::size_t count, char* report) {
  const int epoll = ::epoll_create1(EPOLL_CLOEXEC);
  std::vector<Service> services(count);
  for (std::size_t i = 0; i < count; ++i) {
    services[i].pid_file = folder + "/" + std::to_string(i) + ".pid";
    services[i].number = std::to_string(i);
    watch(epoll, services, i, pid_in(services[i].pid_file));
  }
  ::close(::open((folder + "/ready").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  char word[] = "start";
  while (true) {
    epoll_event events[64];
    const int ready = ::epoll_wait(epoll, events, 64, -1);
    for (int i = 0; i < ready; ++i) {
      const std::size_t index = events[i].data.u64;
      Service& service = services[index];
      if (service.starter != 0) {
        ::waitpid(service.starter, nullptr, 0);
        service.starter = 0;
        watch(epoll, services, index, pid_in(service.pid_file));
        continue;
      }
      char* arguments[] = {self, word, service.pid_file.data(), report, service.number.data(), nullptr};
      if (::posix_spawn(&service.starter, self, nullptr, nullptr, arguments, environ) != 0) return 1;
      watch(epoll, services, index, service.starter);
    }
  }
}

int init(char** command) {
  const pid_t first = ::fork();
  if (first == 0) {
    ::execvp(command[0], command);
    std::perror(command[0]);
    ::_exit(127);
  }
  while (true) {
    int status = 0;
    if (::wait(&status) == first) return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
  }
}

int stat_all(const char* folder, unsigned long count) {
  unsigned long long bytes = 0;
  char path[4096];
  for (unsigned long i = 0; i < count; ++i) {
    std::snprintf(path, sizeof path, "%s/%lu", folder, i);
    struct statx facts {};
    if (::statx(AT_FDCWD, path, 0, STATX_BASIC_STATS, &facts) != 0) return 1;
    bytes += facts.stx_size;
  }
  std::printf("%llu bytes\n", bytes);
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  const auto asked = [&](const char* word, int least) {
    return count >= least && std::strcmp(arguments[1], word) == 0;
  };
  if (asked("start", 5)) return start(arguments[2], arguments[3], arguments[4]);
  if (asked("stat", 4)) return stat_all(arguments[2], std::strtoul(arguments[3], nullptr, 10));
  if (asked("init", 3)) return init(arguments + 2);
  if (!asked("bare", 5)) return 2;
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  return bare(arguments[0], arguments[2], std::strtoul(arguments[3], nullptr, 10), arguments[4]);
}
