// SPDX-License-Identifier: MIT
#include "runtime/process_watch.hpp"

#include <utility>

namespace healer::runtime {

ProcessWatch::ProcessWatch(Loop& loop, std::size_t most, Sink sink)
    : loop_(loop), most_(most), sink_(std::move(sink)) {}

void ProcessWatch::watch(engine::ServiceId service, ProcessIdentity process, Descriptor pidfd) {
  if (watched(service) == process) return;
  forget(service);
  if (full() || !pidfd) return;
  auto watch = loop_.watch(pidfd.get(), Loop::kReadable, [this, service](unsigned) { died(service); });
  if (!watch) return;
  entries_.emplace(service.number(), Entry{process, std::move(pidfd), std::move(*watch)});
}

ProcessIdentity ProcessWatch::watched(engine::ServiceId service) const {
  const auto found = entries_.find(service.number());
  return found == entries_.end() ? ProcessIdentity{} : found->second.process;
}

void ProcessWatch::forget(engine::ServiceId service) { entries_.erase(service.number()); }

void ProcessWatch::died(engine::ServiceId service) {
  const ProcessIdentity process = watched(service);
  forget(service);
  sink_({service, process.pid, process.start_ticks});
}

}  // namespace healer::runtime
