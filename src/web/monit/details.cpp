// SPDX-License-Identifier: MIT
#include "web/monit/details.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <spdlog/fmt/fmt.h>

#include "engine/judging/evaluate.hpp"
#include "engine/rules/service.hpp"
#include "protocols/sentence.hpp"
#include "util/text.hpp"
#include "web/monit/connections.hpp"

namespace healer::web::monit {
namespace {

using engine::Attribute;
using engine::EventKind;
using engine::Metric;
using engine::Unit;

/// The lines of one service, as they come about.
class Lines {
 public:
  Lines(const Scene& scene, engine::ServiceId id, const Standing& standing)
      : scene_(scene), id_(id), standing_(standing), block_(scene.engine.graph()->at(id)), found_(scene, id) {}

  std::vector<Line> take() && {
    switch (kind_of(*block_.kind).number) {
      case 5: system(); break;
      case 3: process(); break;
      case 0: filesystem(); break;
      case 1:
      case 2:
      case 6: path(); break;
      case 8: network(); break;
      case 7: program(); break;
      default: break;
    }
    connections();
    return std::move(lines_);
  }

 private:
  void add(std::string_view label, std::string value, Tone tone = Tone::Plain) {
    lines_.push_back({label, std::move(value), tone});
  }
  [[nodiscard]] Tone tone(EventKind event) const { return standing_.tone(event); }
  void number(std::string_view label, Metric metric, Tone of) {
    if (const auto value = found_.figure(metric)) add(label, fmt::format("{:.0f}", *value), of);
  }
  void rate(std::string_view label, Metric metric, Tone of) {
    if (const auto value = found_.figure(metric)) add(label, bytes_text(*value) + "/s", of);
  }
  void operations(std::string_view label, Metric metric, std::string_view what, Tone of) {
    if (const auto value = found_.figure(metric)) add(label, fmt::format("{:.1f} {}/s", *value, what), of);
  }
  void share(std::string_view label, Metric bytes, Metric percent, bool percent_first, Tone of) {
    const auto amount = found_.figure(bytes);
    const auto part = found_.figure(percent);
    if (!amount || !part) return;
    const std::string text = bytes_text(*amount);
    add(label, percent_first ? fmt::format("{:.1f}% [{}]", *part, text) : fmt::format("{} [{:.1f}%]", text, *part), of);
  }
  void descriptors(Metric count, Metric percent) {
    const auto open = found_.figure(count);
    if (!open) return;
    const auto part = found_.figure(percent);
    const auto limit = whole_of(open, part);
    add("filedescriptors",
        limit ? fmt::format("{:.0f} [{:.1f}% of {} limit]", *open, *part, *limit) : fmt::format("{:.0f}", *open),
        tone(EventKind::Resource));
  }
  void owner() {
    if (const auto mode = found_.number(Attribute::Permission))
      add("permission", fmt::format("{:o}", *mode), tone(EventKind::Permission));
    if (const auto uid = found_.number(Attribute::Uid)) add("uid", std::to_string(*uid), tone(EventKind::Uid));
    if (const auto gid = found_.number(Attribute::Gid)) add("gid", std::to_string(*gid), tone(EventKind::Gid));
  }

  void system() {
    const Tone of = tone(EventKind::Resource);
    const auto load = [&](Metric metric) { return found_.figure(metric).value_or(0); };
    if (found_.figure(Metric::Load1))
      add("load average",
          fmt::format("[{:.2f}] [{:.2f}] [{:.2f}]", load(Metric::Load1), load(Metric::Load5), load(Metric::Load15)),
          of);
    if (found_.figure(Metric::CpuUser))
      add("cpu",
          fmt::format("{:.1f}%usr {:.1f}%sys {:.1f}%nice {:.1f}%iowait {:.1f}%hardirq {:.1f}%softirq {:.1f}%steal "
                      "{:.1f}%guest {:.1f}%guestnice ",
                      load(Metric::CpuUser), load(Metric::CpuSystem), load(Metric::CpuNice), load(Metric::CpuWait),
                      load(Metric::CpuHardIrq), load(Metric::CpuSoftIrq), load(Metric::CpuSteal),
                      load(Metric::CpuGuest), load(Metric::CpuGuestNice)),
          of);
    share("memory usage", Metric::SystemMemoryBytes, Metric::SystemMemory, false, of);
    share("swap usage", Metric::SwapBytes, Metric::Swap, false, of);
    if (scene_.since(MonitVersion::V6)) {
      number("swap pagein/s", Metric::PageIns, of);
      number("swap pageout/s", Metric::PageOuts, of);
    }
    if (const auto up = found_.figure(Metric::Uptime)) {
      add("uptime", uptime_text(static_cast<std::int64_t>(*up)), tone(EventKind::Uptime));
      add("boot time",
          format_monit_date(scene_.daemon.civil(collected(scene_, id_) - seconds{static_cast<std::int64_t>(*up)})));
    }
    descriptors(Metric::SystemFileDescriptors, Metric::SystemFileDescriptorsPercent);
  }

  void process() {
    const engine::ProcessFacts* const facts = found_.process();
    if (facts == nullptr) return;
    const Tone of = tone(EventKind::Resource);
    add("pid", std::to_string(facts->pid), tone(EventKind::Pid));
    add("parent pid", std::to_string(facts->parent), tone(EventKind::Ppid));
    add("uid", std::to_string(facts->uid), tone(EventKind::Uid));
    add("effective uid", std::to_string(facts->euid), tone(EventKind::Uid));
    add("gid", std::to_string(facts->gid), tone(EventKind::Gid));
    if (const auto up = found_.figure(Metric::Uptime))
      add("uptime", uptime_text(static_cast<std::int64_t>(*up)), tone(EventKind::Uptime));
    number("threads", Metric::Threads, of);
    number("children", Metric::Children, of);
    const auto percent = [&](std::string_view label, Metric metric) {
      if (const auto value = found_.figure(metric)) add(label, fmt::format("{:.1f}%", *value), of);
    };
    percent("cpu", Metric::Cpu);
    percent("cpu total", Metric::TotalCpu);
    share("memory", Metric::MemoryBytes, Metric::MemoryPercent, true, of);
    share("memory total", Metric::TotalMemoryBytes, Metric::TotalMemory, true, of);
    if (facts->attribute.empty())
      add("security attribute", "-", Tone::Absent);
    else
      add("security attribute", facts->attribute, tone(EventKind::Invalid));
    descriptors(Metric::FileDescriptors, Metric::FileDescriptorsPercent);
    number("total filedescriptors", Metric::TotalFileDescriptors, of);
    rate("read bytes", Metric::ReadRate, of);
    rate("disk read bytes", Metric::DiskReadRate, of);
    operations("disk read operations", Metric::ReadOperations, "reads", of);
    rate("write bytes", Metric::WriteRate, of);
    rate("disk write bytes", Metric::DiskWriteRate, of);
    operations("disk write operations", Metric::WriteOperations, "writes", of);
  }

  void filesystem() {
    if (!found_.present()) return;
    const Tone of = tone(EventKind::Resource);
    add("filesystem flags", found_.text(Attribute::FsFlags), tone(EventKind::FsFlags));
    owner();
    const auto whole = [&](Metric used, Metric left) {
      return found_.figure(used).value_or(0) + found_.figure(left).value_or(0);
    };
    add("space total", bytes_text(whole(Metric::SpaceUsageBytes, Metric::SpaceFreeBytes)));
    add("space free total",
        fmt::format("{} [{:.1f}%]", bytes_text(found_.figure(Metric::SpaceFreeBytes).value_or(0)),
                    found_.figure(Metric::SpaceFree).value_or(0)),
        of);
    if (const auto left = found_.figure(Metric::InodeFreeNumber)) {
      add("inodes total", fmt::format("{:.0f}", whole(Metric::InodeUsageNumber, Metric::InodeFreeNumber)));
      add("inodes free", fmt::format("{:.0f} [{:.1f}%]", *left, found_.figure(Metric::InodeFree).value_or(0)), of);
    }
    rate("read bytes", Metric::ReadRate, of);
    operations("disk read operations", Metric::ReadOperations, "reads", of);
    rate("write bytes", Metric::WriteRate, of);
    operations("disk write operations", Metric::WriteOperations, "writes", of);
    if (const auto time = found_.figure(Metric::ServiceTime))
      add("service time", fmt::format("{:.3f} ms/operation", *time));
  }

  void hard_links() {
    if (scene_.since(MonitVersion::V5_34)) number("hardlink", Metric::HardLinks, tone(EventKind::Resource));
  }

  void path() {
    if (!found_.present()) return;
    owner();
    const bool is_file = block_.kind->traits.has_lines;
    if (const auto size = found_.number(Attribute::Size); size && is_file)
      add("size", bytes_text(static_cast<double>(*size)), tone(EventKind::Size));
    hard_links();
    const auto time = [&](std::string_view label, Attribute what) {
      if (const auto when = found_.number(what))
        add(label, format_monit_date(scene_.daemon.civil(WallTime{seconds{*when}})), tone(EventKind::Timestamp));
    };
    time("access timestamp", Attribute::AccessTime);
    time("change timestamp", Attribute::ChangeTime);
    time("modify timestamp", Attribute::ModificationTime);
    if (is_file && !block_.lines->patterns.empty())
      add("content match", standing_.has(EventKind::Content) ? "yes" : "no", tone(EventKind::Content));
    if (const Checksum sum = checksum_of(found_); !sum.kind.empty())
      add("checksum", fmt::format("{} ({})", sum.digits, sum.kind), tone(EventKind::Checksum));
  }

  void network() {
    if (!found_.present()) {
      for (const std::string_view label :
           {"link", "download bytes", "upload bytes", "download packets", "upload packets"})
        add(label, "-", Tone::Absent);
      return;
    }
    const LinkFound link = link_of(found_);
    add("link", fmt::format("{} errors", link.errors_in + link.errors_out), tone(EventKind::Link));
    if (link.speed)
      add("capacity", fmt::format("{} Mb/s {}-duplex", *link.speed, link.full ? "full" : "half"),
          tone(EventKind::Speed));
    const auto packets = [&](std::string_view label, Metric metric, EventKind event) {
      add(label, fmt::format("{:.0f} per second", found_.figure(metric).value_or(0)), tone(event));
    };
    add("download bytes", bytes_text(found_.figure(Metric::DownloadRate).value_or(0)) + "/s", tone(EventKind::ByteIn));
    add("upload bytes", bytes_text(found_.figure(Metric::UploadRate).value_or(0)) + "/s", tone(EventKind::ByteOut));
    packets("download packets", Metric::DownloadPackets, EventKind::PacketIn);
    packets("upload packets", Metric::UploadPackets, EventKind::PacketOut);
  }

  void program() {
    if (!block_.is_run()) return;
    add("last exit value", std::to_string(exit_value(found_.run())), tone(EventKind::Status));
    const std::string output = output_of(found_.run());
    if (output.empty())
      add("last output", "-", Tone::Absent);
    else
      add("last output", output, tone(EventKind::Status));
  }

  void connections() {
    const bool gone = block_.has_process() && found_.process() == nullptr;
    if (gone) return;
    for (const Connection& one : connections_of(scene_, id_)) {
      const std::string_view label = one.form == Connection::Form::Ping   ? "ping response time"
                                     : one.form == Connection::Form::Unix ? "unix socket response time"
                                                                          : "port response time";
      if (!one.tried)
        add(label, "-", Tone::Absent);
      else if (one.form == Connection::Form::Ping)
        add(label, one.failed ? "connection failed" : protocols::monit_time(one.response.value_or(Response{0})),
            one.failed ? Tone::Bad : Tone::Plain);
      else if (one.failed)
        add(label, "FAILED to " + one.place(), Tone::Bad);
      else
        add(label, fmt::format("{} to {}", protocols::monit_time(one.response.value_or(Response{0})), one.place()));
    }
  }

  using Response = std::chrono::microseconds;

  const Scene& scene_;
  engine::ServiceId id_;
  const Standing& standing_;
  const engine::ServiceBlock& block_;
  Found found_;
  std::vector<Line> lines_;
};

}  // namespace

std::vector<Line> details_of(const Scene& scene, engine::ServiceId id, const Standing& standing) {
  if (!standing.told) return {};
  return Lines(scene, id, standing).take();
}

WallTime collected(const Scene& scene, engine::ServiceId id) {
  return scene.engine.service(id).last_when.value_or(scene.engine.started_at().wall);
}

std::string collected_text(const Scene& scene, engine::ServiceId id) {
  return format_monit_date(scene.daemon.civil(collected(scene, id)));
}

std::string uptime_text(std::int64_t seconds) {
  const std::int64_t minutes = seconds / 60;
  std::string text;
  if (minutes >= 1440) text += fmt::format("{}d ", minutes / 1440);
  if (minutes >= 60) text += fmt::format("{}h ", minutes / 60 % 24);
  return text + fmt::format("{}m", minutes % 60);
}

std::string bytes_text(double bytes) { return engine::format_metric(engine::Unit::Bytes, bytes); }

std::optional<std::int64_t> whole_of(std::optional<double> part, std::optional<double> percent) {
  if (!part || !percent || *percent <= 0) return std::nullopt;
  return std::llround(*part * 100 / *percent);
}

Found::Found(const Scene& scene, engine::ServiceId id) : run_(*scene.engine.service(id).last) {}
std::optional<double> Found::figure(Metric metric) const {
  return run_.facts ? engine::figure_of(*run_.facts, metric) : std::nullopt;
}
std::optional<std::int64_t> Found::number(Attribute what) const {
  const auto value = engine::attribute_of(run_, what);
  const auto* number = value ? std::get_if<std::int64_t>(&*value) : nullptr;
  return number != nullptr ? std::optional(*number) : std::nullopt;
}
std::string Found::text(Attribute what) const {
  const auto value = engine::attribute_of(run_, what);
  const std::string* text = value ? engine::text_in(*value) : nullptr;
  return text != nullptr ? *text : std::string();
}
const engine::ProcessFacts* Found::process() const { return engine::process_of(run_); }
bool Found::present() const { return run_.answer == engine::Answer::Present && run_.facts != nullptr; }

Checksum checksum_of(const Found& found) {
  constexpr std::pair<Attribute, std::string_view> kSums[] = {
      {Attribute::Md5, "MD5"}, {Attribute::Sha1, "SHA1"}, {Attribute::Sha256, "SHA256"}, {Attribute::Sha512, "SHA512"}};
  for (const auto& [what, kind] : kSums)
    if (std::string digits = found.text(what); !digits.empty()) return {kind, std::move(digits)};
  return {};
}

LinkFound link_of(const Found& found) {
  LinkFound link{.up = found.text(Attribute::Link) != "down",
                 .speed = found.number(Attribute::LinkSpeed),
                 .full = found.text(Attribute::LinkMode) != "half"};
  const std::string errors = found.text(Attribute::LinkErrors);
  std::int64_t count = 0;
  std::from_chars(errors.data(), errors.data() + errors.size(), count);
  (errors.find("upload") != std::string::npos ? link.errors_out : link.errors_in) = count;
  return link;
}

std::string output_of(const engine::Evidence& run) {
  return run.output ? std::string(trim(std::string_view(*run.output).substr(0, run.output->find('\0'))))
                    : std::string();
}

std::int64_t exit_value(const engine::Evidence& run) {
  constexpr std::int64_t kKilled = 9;
  return run.outcome == engine::Outcome::TimedOut ? kKilled : run.status;
}

}  // namespace healer::web::monit
