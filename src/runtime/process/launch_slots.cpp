// SPDX-License-Identifier: MIT
#include "runtime/process/launch_slots.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <thread>
#include <utility>

namespace healer::runtime {
namespace {

/// Whether a shared table can be left; tried with that of a thread, which ends at once.
bool can_leave() {
  bool can = false;
  try {
    std::thread([&can] { can = ::syscall(SYS_close_range, ~0U, ~0U, CLOSE_RANGE_UNSHARE) == 0; }).join();
  } catch (const std::system_error&) {
    return false;  // there is no room for a thread
  }
  return can;
}

}  // namespace

std::shared_ptr<LaunchSlots> LaunchSlots::reserve(unsigned count) {
  if (!can_leave()) return nullptr;
  auto slots = std::make_shared<LaunchSlots>();
  slots->null_ = Descriptor(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!slots->null_) return nullptr;
  for (unsigned i = 0; i < count; ++i) {
    std::vector<int> numbers;
    for (int number = 0; number < kNumbers; ++number) {
      Descriptor reserved(::fcntl(slots->null_.get(), F_DUPFD_CLOEXEC, 3));
      if (!reserved) return nullptr;
      numbers.push_back(reserved.get());
      slots->first_free_ = std::max(slots->first_free_, reserved.get() + 1);
      slots->reserved_.push_back(std::move(reserved));
    }
    slots->unused_.push_back(std::move(numbers));
  }
  return slots;
}

std::vector<int> LaunchSlots::take() {
  const std::lock_guard lock(mutex_);
  if (unused_.empty()) return {};
  std::vector<int> numbers = std::move(unused_.back());
  unused_.pop_back();
  return numbers;
}

void LaunchSlots::give_back(std::vector<int> numbers) {
  if (numbers.empty()) return;
  const std::lock_guard lock(mutex_);
  unused_.push_back(std::move(numbers));
}

bool LaunchSlots::pick_up(int number, int file) { return ::dup3(file, number, O_CLOEXEC) >= 0; }

void LaunchSlots::put_down(int number) const { ::dup3(null_.get(), number, O_CLOEXEC); }

}  // namespace healer::runtime
