// SPDX-License-Identifier: MIT
#include "runtime/process/process_watch.hpp"

#include <sys/resource.h>

#include <utility>

namespace healer::runtime {

std::size_t half_of_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return ~std::size_t{0};
  return static_cast<std::size_t>(limit.rlim_cur) / 2;
}

ProcessWatch::ProcessWatch(Loop& loop, std::size_t most, Sink sink, ExitStatusReader* exits)
    : loop_(loop), most_(most), sink_(std::move(sink)), exits_(exits) {}

void ProcessWatch::watch(engine::ServiceId service, ProcessIdentity process, Descriptor pidfd) {
  if (watched(service) == process) return;
  forget(service);
  if (full() || !pidfd) return;
  auto watch = loop_.watch(pidfd.get(), Loop::kReadable, [this, service](unsigned) { died(service); });
  if (!watch) return;
  ExitStatusReader::Subscription subscription =
      exits_ == nullptr ? ExitStatusReader::Subscription{} : exits_->follow(process.pid);
  entries_.emplace(service.number(), Entry{process, std::move(pidfd), std::move(subscription), std::move(*watch)});
}

ProcessIdentity ProcessWatch::watched(engine::ServiceId service) const {
  const auto found = entries_.find(service.number());
  return found == entries_.end() ? ProcessIdentity{} : found->second.process;
}

void ProcessWatch::forget(engine::ServiceId service) { entries_.erase(service.number()); }

void ProcessWatch::died(engine::ServiceId service) {
  const Entry& entry = entries_.at(service.number());
  engine::event::ProcessDied death{service, entry.process.pid, entry.process.start_ticks,
                                   entry.subscription.ask(entry.pidfd)};
  forget(service);
  sink_(death);
}

}  // namespace healer::runtime
