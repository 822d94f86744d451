// SPDX-License-Identifier: MIT
#include "runtime/process/launch.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <spdlog/fmt/fmt.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <system_error>

#include "runtime/accounts.hpp"
#include "runtime/clock.hpp"
#include "runtime/inspection/proc_stat.hpp"
#include "runtime/process/clone_into.hpp"
#include "util/text.hpp"

#ifdef __has_feature
#define HEALER_HAS_FEATURE(name) __has_feature(name)
#else
#define HEALER_HAS_FEATURE(name) 0
#endif
#if defined(__SANITIZE_THREAD__) || HEALER_HAS_FEATURE(thread_sanitizer)  // g++, clang
// The thread sanitizer takes every clone() for a fork and resets its books in the child, here those of the parent.
extern "C" int __clone(int (*)(void*), void*, int, void*, ...);
#define HEALER_CLONE ::__clone
#else
#define HEALER_CLONE ::clone
#endif

namespace healer::runtime {
namespace {

constexpr std::size_t kStackSize = 64 * 1024;
constexpr std::size_t kGuardSize = 64 * 1024;
constexpr int kLastSignal = 64;
constexpr std::size_t kProofSize = 1024;
constexpr std::size_t kMostDigits = 10;
constexpr Duration kCheckInterval{1000};  // nobody changes handlers and limits of a daemon that often

enum class Step : int { None, Session, Proof, Limits, Groups, Group, User, Directory, Descriptors, Execute };

/// All that the child reads and writes; it lives in the caller's frame. No allocation, no lock, no libc state in there.
struct ChildPlan {
  char* const* arguments;
  char* const* environment;
  const char* directory;
  char* number;  // null, or a place for kMostDigits and a NUL in the environment
  const std::pair<int, rlimit>* limits;
  std::size_t limit_count;
  bool reset_oom_score;
  bool set_groups;
  bool has_uid;
  bool has_gid;
  std::uint32_t uid;
  std::uint32_t gid;
  unsigned leave_from;    // 0, or where descriptors begin that are not for it in the table that it shares
  std::uint64_t signals;  // that are to be reset
  int output;
  int error;
  int proof;
  int group;  // which it is to enter by itself; -1: none
  bool must_prove;
  char* proof_text;  // kProofSize bytes, NUL-terminated
  std::atomic<bool>* child_runs;
  volatile int failed_step;
  volatile int failed_errno;
};

// The child borrows the memory of a thread that sleeps meanwhile. So: raw system calls only (the libc's setuid, for
// one, would tell all threads of the daemon to follow suit), and no instrumentation by sanitizers, which would book the
// child's doings on that thread.
#define HEALER_CHILD_CODE __attribute__((no_sanitize("address", "thread", "undefined"), noinline))

struct KernelSigaction {
  void (*handler)(int);
  unsigned long flags;
  void (*restorer)();
  std::uint64_t mask;
};

HEALER_CHILD_CODE int give_up(ChildPlan* plan, Step step) {
  plan->failed_errno = errno;
  plan->failed_step = static_cast<int>(step);
  ::syscall(SYS_exit_group, 127);
  return 127;
}

HEALER_CHILD_CODE void reset_signals(std::uint64_t signals) {
  KernelSigaction action{};
  action.handler = SIG_DFL;
  for (int number = 1; number <= kLastSignal; ++number) {
    if ((signals >> (number - 1) & 1) != 0) ::syscall(SYS_rt_sigaction, number, &action, nullptr, sizeof action.mask);
  }
}

/// Above the three standard ones, so that the moves below do not overwrite each other.
HEALER_CHILD_CODE int out_of_the_way(int descriptor) {
  return descriptor > 2 ? descriptor : static_cast<int>(::syscall(SYS_fcntl, descriptor, F_DUPFD_CLOEXEC, 3));
}

HEALER_CHILD_CODE void write_text(int directory, const char* path, const char* text, std::size_t size) {
  const auto file = static_cast<int>(::syscall(SYS_openat, directory, path, O_WRONLY | O_CLOEXEC));
  if (file < 0) return;
  ::syscall(SYS_write, file, text, size);
  ::syscall(SYS_close, file);
}

/// False, with errno, where it could not be written whole.
HEALER_CHILD_CODE bool write_proof(const ChildPlan* plan) {
  const auto file = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, "/proc/self/stat", O_RDONLY | O_CLOEXEC));
  if (file < 0) return false;
  const long size = ::syscall(SYS_read, file, plan->proof_text, kProofSize - 1);
  ::syscall(SYS_close, file);
  if (size <= 0) return false;
  const long written = ::syscall(SYS_write, plan->proof, plan->proof_text, size);
  if (written >= 0 && written < size) errno = ENOSPC;
  return written == size;
}

/// What says there that no program runs without its line must not stay. False, with errno, where it does.
HEALER_CHILD_CODE bool retract(const ChildPlan* plan) {
  return ::syscall(SYS_ftruncate, plan->proof, 0L) == 0 || errno == EINVAL;  // EINVAL: it is no file
}

HEALER_CHILD_CODE void write_number(char* place) {
  long number = ::syscall(SYS_getpid);
  int digits = 1;
  for (long rest = number; rest >= 10; rest /= 10) ++digits;
  place[digits] = '\0';
  for (; digits > 0; number /= 10) place[--digits] = static_cast<char>('0' + number % 10);
}

HEALER_CHILD_CODE void close_from_three() {
  if (::syscall(SYS_close_range, 3U, ~0U, 0U) == 0) return;
  for (int number = 3; number < 65536; ++number) ::syscall(SYS_close, number);  // kernel before 5.9
}

HEALER_CHILD_CODE int child_main(void* argument) {
  auto* plan = static_cast<ChildPlan*>(argument);
  __atomic_store_n(reinterpret_cast<bool*>(plan->child_runs), true, __ATOMIC_RELEASE);
  // First of all: until then what it does to descriptors it does to the daemon's.
  if (plan->leave_from != 0 && ::syscall(SYS_close_range, plan->leave_from, ~0U, CLOSE_RANGE_UNSHARE) != 0)
    return give_up(plan, Step::Descriptors);
  if (::syscall(SYS_setsid) < 0) return give_up(plan, Step::Session);
  reset_signals(plan->signals);
  ::syscall(SYS_umask, 022);
  if (plan->reset_oom_score) write_text(AT_FDCWD, "/proc/self/oom_score_adj", "0", 1);
  if (plan->group >= 0) write_text(plan->group, "cgroup.procs", "0", 1);
  if (plan->proof >= 0 && !write_proof(plan) && (plan->must_prove || !retract(plan))) return give_up(plan, Step::Proof);
  if (plan->number != nullptr) write_number(plan->number);
  for (std::size_t i = 0; i < plan->limit_count; ++i) {
    if (::syscall(SYS_prlimit64, 0, plan->limits[i].first, &plan->limits[i].second, nullptr) < 0) {
      return give_up(plan, Step::Limits);
    }
  }
  if (plan->set_groups && ::syscall(SYS_setgroups, 1, &plan->gid) < 0) return give_up(plan, Step::Groups);
  if (plan->has_gid && ::syscall(SYS_setresgid, plan->gid, plan->gid, plan->gid) < 0) {
    return give_up(plan, Step::Group);
  }
  if (plan->has_uid && ::syscall(SYS_setresuid, plan->uid, plan->uid, plan->uid) < 0) {
    return give_up(plan, Step::User);
  }
  if (::syscall(SYS_chdir, plan->directory) < 0) return give_up(plan, Step::Directory);
  const int output = out_of_the_way(plan->output);
  const int error = out_of_the_way(plan->error);
  if (::syscall(SYS_dup3, output, 1, 0) < 0 || ::syscall(SYS_dup3, error, 2, 0) < 0) {
    return give_up(plan, Step::Descriptors);
  }
  close_from_three();
  ::syscall(SYS_close, 0);
  // The lowest free number is 0, also where the daemon itself has no descriptor left.
  if (::syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDONLY) != 0) return give_up(plan, Step::Descriptors);
  const std::uint64_t none = 0;
  ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, nullptr, sizeof none);
  ::syscall(SYS_execve, plan->arguments[0], plan->arguments, plan->environment);
  return give_up(plan, Step::Execute);
}

/// The child, born in the open control group where it can be. -1, with errno: there is none.
pid_t make_child(ChildPlan& plan, void* stack, int group, std::atomic<int>& pidfd) {
  static_assert(sizeof pidfd == sizeof(int) && std::atomic<int>::is_always_lock_free);
  auto* place = reinterpret_cast<int*>(&pidfd);
  for (const bool with_pidfd : {true, false}) {
    if (group >= 0) {
      const ChildCode code{child_main, &plan, stack, kStackSize};
      const pid_t pid = clone_into(group, code, with_pidfd ? place : nullptr, plan.leave_from != 0);
      if (pid >= 0) return pid;
      if (errno == ENOSYS) plan.group = group;
    }
    char* const top = static_cast<char*>(stack) + kStackSize;
    const int flags = CLONE_VM | CLONE_VFORK | SIGCHLD | (plan.leave_from != 0 ? CLONE_FILES : 0);
    const pid_t pid = HEALER_CLONE(child_main, top, with_pidfd ? flags | CLONE_PIDFD : flags, &plan, place);
    if (pid >= 0) return pid;
    if (errno != EINVAL && errno != EMFILE && errno != ENFILE) break;  // an old kernel, or no descriptor left
    pidfd = -1;
  }
  return -1;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (auto& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

std::string reason(Step step, int code, const std::string& program, const ChildPlan& plan) {
  switch (step) {
    case Step::Session: return "cannot make a session";
    case Step::Proof: return "cannot record the identity of the process";
    case Step::Limits: return "cannot set the resource limits";
    case Step::Groups: return fmt::format("cannot set the supplementary groups to {}", plan.gid);
    case Step::Group: return fmt::format("cannot become group {}", plan.gid);
    case Step::User: return fmt::format("cannot become user {}", plan.uid);
    case Step::Directory: return fmt::format("cannot change to the directory {}", printable(plan.directory));
    case Step::Descriptors: return "cannot set up the descriptors";
    case Step::None:
    case Step::Execute: break;
  }
  struct stat facts {};
  if (code == EACCES && ::stat(program.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode)) {
    return fmt::format("cannot execute {} (it is a directory)", printable(program));
  }
  if (code == ENOEXEC) {
    return fmt::format("cannot execute {} (a script must begin with #! and its interpreter)", printable(program));
  }
  if (code == ENOENT && ::stat(program.c_str(), &facts) == 0) {
    return fmt::format("cannot execute {} (its interpreter is missing)", printable(program));
  }
  return fmt::format("cannot execute {}", printable(program));
}

}  // namespace

void Launch::run_as(const engine::Identity& identity) {
  uid = identity.uid;
  gid = identity.gid;
  looked_up.reset();
  if (identity.is_open()) looked_up = identity;
}

LaunchDefaults LaunchDefaults::capture() {
  LaunchDefaults defaults;
  for (int resource = 0; resource < RLIM_NLIMITS; ++resource) {
    rlimit value{};
    if (::getrlimit(static_cast<__rlimit_resource>(resource), &value) == 0)
      defaults.limits.emplace_back(resource, value);
  }
  std::ifstream file("/proc/self/oom_score_adj");
  int score = 0;
  defaults.reset_oom_score = static_cast<bool>(file >> score) && score != 0;
  return defaults;
}

Launcher::Launcher(LaunchDefaults defaults, std::shared_ptr<LaunchSlots> slots)
    : defaults_(std::move(defaults)), slots_(std::move(slots)) {
  if (slots_) numbers_ = slots_->take();
  stack_ = ::mmap(nullptr, kGuardSize + kStackSize, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (stack_ == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "a stack for programs to start");
  if (::mprotect(static_cast<char*>(stack_) + kGuardSize, kStackSize, PROT_READ | PROT_WRITE) != 0) {
    throw std::system_error(errno, std::generic_category(), "a stack for programs to start");
  }
}

Launcher::~Launcher() {
  if (slots_) slots_->give_back(std::move(numbers_));
  ::munmap(stack_, kGuardSize + kStackSize);
}

/// Only what differs is worth a system call at each start.
void Launcher::inspect_self() {
  const Duration now = mono_now();
  if (checked_ && now - *checked_ < kCheckInterval) return;
  checked_ = now;
  signals_ = 0;
  for (int number = 1; number <= kLastSignal; ++number) {
    KernelSigaction action{};
    const bool known = ::syscall(SYS_rt_sigaction, number, nullptr, &action, sizeof action.mask) == 0;
    if (!known || action.handler != SIG_DFL) signals_ |= std::uint64_t{1} << (number - 1);
  }
  to_set_.clear();
  for (const auto& [resource, wanted] : defaults_.limits) {
    rlimit limit{};
    if (::getrlimit(static_cast<__rlimit_resource>(resource), &limit) == 0 &&
        (limit.rlim_cur != wanted.rlim_cur || limit.rlim_max != wanted.rlim_max)) {
      to_set_.emplace_back(resource, wanted);
    }
  }
}

namespace {

/// What a launch opens, by the numbers that are reserved for it, while its child is made.
class PickedUp {
 public:
  PickedUp(LaunchSlots& slots, const std::vector<int>& numbers) : slots_(slots), numbers_(numbers) {}
  PickedUp(const PickedUp&) = delete;
  PickedUp& operator=(const PickedUp&) = delete;
  ~PickedUp() {
    for (std::size_t i = 0; i < numbers_.size(); ++i)
      if (used_[i]) slots_.put_down(numbers_[i]);
  }

  /// The number that `file` has now; -1 where it is none. False, with errno: it cannot have one.
  [[nodiscard]] bool add(std::size_t which, int& file) {
    if (file < 0) return true;
    if (!LaunchSlots::pick_up(numbers_[which], file)) return false;
    used_[which] = true;
    file = numbers_[which];
    return true;
  }

 private:
  LaunchSlots& slots_;
  const std::vector<int>& numbers_;
  std::array<bool, LaunchSlots::kNumbers> used_{};
};

}  // namespace

Result<Started> Launcher::start(Launch launch, LaunchProgress& progress) {
  if (launch.arguments.empty()) return Error{EINVAL, "no program to start"};
  // It must not run as healer instead; and the kernel takes that number to mean that nothing is to change.
  if (launch.looked_up || launch.uid == kNoNumber || launch.gid == kNoNumber)
    return Error{EINVAL, "it is not known as whom the program is to run"};
  // First, where whoever looks for it finds it however long the rest is.
  const std::size_t mark = launch.mark.size();
  if (mark > 0) launch.environment.insert(launch.environment.begin(), launch.mark + std::string(kMostDigits, '0'));
  const std::vector<char*> arguments = pointers(launch.arguments);
  const std::vector<char*> environment = pointers(launch.environment);
  inspect_self();

  ChildPlan plan{};
  plan.arguments = arguments.data();
  plan.directory = launch.directory.c_str();
  plan.environment = environment.data();
  plan.number = mark > 0 ? environment.front() + mark : nullptr;
  plan.limits = to_set_.data();
  plan.limit_count = to_set_.size();
  plan.signals = signals_;
  plan.reset_oom_score = defaults_.reset_oom_score;
  plan.has_uid = launch.uid.has_value();
  plan.has_gid = launch.gid.has_value();
  plan.set_groups = (plan.has_uid || plan.has_gid) && ::geteuid() == 0;
  plan.uid = launch.uid.value_or(0);
  plan.gid = launch.gid.value_or(::getegid());
  plan.output = launch.output.get();
  plan.error = launch.error ? launch.error.get() : launch.output.get();
  plan.proof = launch.proof.get();
  plan.group = -1;
  plan.must_prove = launch.must_prove;
  std::array<char, kProofSize> proof{};
  plan.proof_text = proof.data();
  plan.child_runs = &progress.child_runs;

  int group = launch.group.get();
  std::optional<PickedUp> picked_up;
  if (!numbers_.empty()) {
    picked_up.emplace(*slots_, numbers_);
    if (!picked_up->add(0, plan.output) || !picked_up->add(1, plan.error) || !picked_up->add(2, plan.proof) ||
        !picked_up->add(3, group))
      return system_error(errno, "cannot set up the descriptors");
    plan.leave_from = static_cast<unsigned>(slots_->first_free());
  }
  // A handler of the daemon must not run in the child, so no signal may reach it before all are reset.
  const std::uint64_t all = ~std::uint64_t{0};
  std::uint64_t before = 0;
  ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof all);
  const pid_t pid = make_child(plan, static_cast<char*>(stack_) + kGuardSize, group, progress.pidfd);
  const int code = errno;
  ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, nullptr, sizeof before);
  picked_up.reset();

  if (pid < 0) return system_error(code, "cannot make a process");
  Started started{.pid = pid, .pidfd = Descriptor(progress.pidfd.load())};
  if (const auto stat = parse_proc_stat(proof.data())) started.start_ticks = stat->start_ticks;
  if (plan.failed_step != static_cast<int>(Step::None)) {
    siginfo_t info{};
    while (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED) != 0 && errno == EINTR) {
    }
    const int failed = plan.failed_errno;
    return system_error(failed, reason(static_cast<Step>(plan.failed_step), failed, launch.arguments.front(), plan));
  }
  return started;
}

}  // namespace healer::runtime
