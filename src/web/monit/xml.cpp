// SPDX-License-Identifier: MIT
#include "web/monit/xml.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "engine/engine.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/settings.hpp"
#include "util/text.hpp"
#include "web/monit/connections.hpp"
#include "web/monit/details.hpp"
#include "web/monit/escape.hpp"

namespace healer::web::monit {
namespace {

using engine::Attribute;
using engine::Metric;
using engine::ServiceBlock;
using engine::ServiceId;

/// Writes elements; what is not known is left out.
class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}

  void open(std::string_view name) { out_ += fmt::format("<{}>", name); }
  void close(std::string_view name) { out_ += fmt::format("</{}>", name); }
  /// `value` needs no escaping.
  void element(std::string_view name, std::string_view value) { out_ += fmt::format("<{0}>{1}</{0}>", name, value); }
  void text(std::string_view name, std::string_view value) { element(name, escaped(value)); }
  void number(std::string_view name, std::int64_t value) { element(name, std::to_string(value)); }
  void figure(std::string_view name, std::optional<double> value, int digits = 0) {
    if (value) element(name, fmt::format("{:.{}f}", *value, digits));
  }
  void checksum(std::string_view kind, std::string_view digits) {
    out_ += fmt::format("<checksum type=\"{}\">{}</checksum>", kind, digits);
  }
  /// Elements within another, which is left out where there are none.
  template <typename Inner>
  void group(std::string_view name, Inner inner) {
    const std::size_t before = out_.size();
    open(name);
    const std::size_t inside = out_.size();
    inner();
    if (out_.size() == inside)
      out_.resize(before);
    else
      close(name);
  }

 private:
  std::string& out_;
};

constexpr double kKilo = 1024;
constexpr double kMega = kKilo * kKilo;

std::optional<double> divided(std::optional<double> value, double by) {
  return value ? std::optional(*value / by) : std::nullopt;
}

/// The data of one service.
class Data {
 public:
  Data(std::string& out, const Scene& scene, ServiceId id)
      : scene_(scene), id_(id), block_(scene.engine.graph()->at(id)), xml_(out), found_(scene, id) {}

  void write(int kind) {
    switch (kind) {
      case 0: return filesystem();
      case 1:
      case 2:
      case 6: return path(kind);
      case 3: return process();
      case 4: return connections();
      case 5: return system();
      case 7: return program();
      case 8: return network();
      default: return;
    }
  }

 private:
  void figure(std::string_view name, Metric metric, int digits = 0) {
    xml_.figure(name, found_.figure(metric), digits);
  }
  void number(std::string_view name, Attribute what) {
    if (const auto value = found_.number(what)) xml_.number(name, *value);
  }

  void owner() {
    if (const auto mode = found_.number(Attribute::Permission)) xml_.element("mode", fmt::format("{:o}", *mode));
    number("uid", Attribute::Uid);
    number("gid", Attribute::Gid);
  }

  void filesystem() {
    if (!found_.present()) return;
    xml_.text("fsflags", found_.text(Attribute::FsFlags));
    owner();
    const auto whole = [&](Metric used, Metric left) -> std::optional<double> {
      const auto one = found_.figure(used);
      const auto other = found_.figure(left);
      return one && other ? std::optional(*one + *other) : std::nullopt;
    };
    xml_.group("block", [&] {
      figure("percent", Metric::SpaceUsage, 1);
      xml_.figure("usage", divided(found_.figure(Metric::SpaceUsageBytes), kMega), 1);
      xml_.figure("total", divided(whole(Metric::SpaceUsageBytes, Metric::SpaceFreeBytes), kMega), 1);
    });
    xml_.group("inode", [&] {
      figure("percent", Metric::InodeUsage, 1);
      figure("usage", Metric::InodeUsageNumber);
      xml_.figure("total", whole(Metric::InodeUsageNumber, Metric::InodeFreeNumber));
    });
    transfers("read", Metric::ReadRate, Metric::ReadOperations);
    transfers("write", Metric::WriteRate, Metric::WriteOperations);
  }

  /// Monit has both elements for every filesystem.
  void transfers(std::string_view name, Metric bytes, Metric operations) {
    xml_.open(name);
    xml_.group("bytes", [&] { figure("count", bytes); });
    xml_.group("operations", [&] { figure("count", operations); });
    xml_.close(name);
  }

  void path(int kind) {
    if (!found_.present()) return;
    owner();
    const bool links = scene_.since(MonitVersion::V5_34);
    if (links && kind != 2) figure("hardlink", Metric::HardLinks);
    xml_.group("timestamps", [&] {
      number("access", Attribute::AccessTime);
      number("change", Attribute::ChangeTime);
      number("modify", Attribute::ModificationTime);
    });
    if (kind != 2) return;
    number("size", Attribute::Size);
    if (links) figure("hardlink", Metric::HardLinks);
    if (const Checksum sum = checksum_of(found_); !sum.kind.empty()) xml_.checksum(sum.kind, sum.digits);
  }

  void process() {
    const engine::ProcessFacts* const facts = found_.process();
    if (facts == nullptr) return;
    xml_.number("pid", facts->pid);
    xml_.number("ppid", facts->parent);
    xml_.number("uid", facts->uid);
    xml_.number("euid", facts->euid);
    xml_.number("gid", facts->gid);
    figure("uptime", Metric::Uptime);
    figure("threads", Metric::Threads);
    figure("children", Metric::Children);
    xml_.group("memory", [&] {
      figure("percent", Metric::MemoryPercent, 1);
      figure("percenttotal", Metric::TotalMemory, 1);
      xml_.figure("kilobyte", divided(found_.figure(Metric::MemoryBytes), kKilo));
      xml_.figure("kilobytetotal", divided(found_.figure(Metric::TotalMemoryBytes), kKilo));
    });
    xml_.group("cpu", [&] {
      figure("percent", Metric::Cpu, 1);
      figure("percenttotal", Metric::TotalCpu, 1);
    });
    xml_.group("filedescriptors", [&] {
      figure("open", Metric::FileDescriptors);
      figure("opentotal", Metric::TotalFileDescriptors);
      xml_.group("limit", [&] {
        if (const auto limit =
                whole_of(found_.figure(Metric::FileDescriptors), found_.figure(Metric::FileDescriptorsPercent)))
          xml_.number("soft", *limit);
      });
    });
    disk("read", Metric::ReadRate, Metric::DiskReadRate, Metric::ReadOperations);
    disk("write", Metric::WriteRate, Metric::DiskWriteRate, Metric::WriteOperations);
    connections();
  }

  void disk(std::string_view name, Metric generic, Metric bytes, Metric operations) {
    xml_.group(name, [&] {
      xml_.group("bytesgeneric", [&] { figure("count", generic); });
      xml_.group("bytes", [&] { figure("count", bytes); });
      xml_.group("operations", [&] { figure("count", operations); });
    });
  }

  void system() {
    const auto up = found_.figure(Metric::Uptime);
    if (up && scene_.since(MonitVersion::V5_34)) {
      const auto whole = static_cast<std::int64_t>(*up);
      xml_.number("uptime", whole);
      xml_.number("boottime",
                  std::chrono::floor<seconds>(collected(scene_, id_)).time_since_epoch() / seconds{1} - whole);
    }
    xml_.group("filedescriptors", [&] {
      const auto used = found_.figure(Metric::SystemFileDescriptors);
      xml_.figure("allocated", used);
      if (used) xml_.number("unused", 0);
      if (const auto most = whole_of(used, found_.figure(Metric::SystemFileDescriptorsPercent)))
        xml_.number("maximum", *most);
    });
    xml_.open("system");
    xml_.group("load", [&] {
      figure("avg01", Metric::Load1, 2);
      figure("avg05", Metric::Load5, 2);
      figure("avg15", Metric::Load15, 2);
    });
    xml_.group("cpu", [&] {
      figure("user", Metric::CpuUser, 1);
      figure("system", Metric::CpuSystem, 1);
      figure("nice", Metric::CpuNice, 1);
      figure("wait", Metric::CpuWait, 1);
      figure("hardirq", Metric::CpuHardIrq, 1);
      figure("softirq", Metric::CpuSoftIrq, 1);
      figure("steal", Metric::CpuSteal, 1);
      figure("guest", Metric::CpuGuest, 1);
      figure("guestnice", Metric::CpuGuestNice, 1);
    });
    xml_.group("memory", [&] {
      figure("percent", Metric::SystemMemory, 1);
      xml_.figure("kilobyte", divided(found_.figure(Metric::SystemMemoryBytes), kKilo));
    });
    xml_.group("swap", [&] {
      figure("percent", Metric::Swap, 1);
      xml_.figure("kilobyte", divided(found_.figure(Metric::SwapBytes), kKilo));
    });
    if (scene_.since(MonitVersion::V6))
      xml_.group("paging", [&] {
        figure("in", Metric::PageIns);
        figure("out", Metric::PageOuts);
      });
    xml_.close("system");
  }

  /// A unit of systemd, as a program that says how it stands: it exits with 1 where it has failed.
  void unit() {
    if (!found_.present()) return;
    const std::string standing = found_.text(Attribute::UnitStanding);
    xml_.open("program");
    xml_.number("started", std::chrono::floor<seconds>(collected(scene_, id_)).time_since_epoch() / seconds{1});
    xml_.number("status", standing.starts_with("failed") ? 1 : 0);
    xml_.element("output", cdata(standing));
    xml_.close("program");
  }

  void program() {
    if (block_.is_unit()) return unit();
    if (!block_.is_run()) return;
    const engine::Evidence& run = found_.run();
    xml_.open("program");
    xml_.number("started",
                std::chrono::floor<seconds>(collected(scene_, id_) - run.elapsed).time_since_epoch() / seconds{1});
    xml_.number("status", exit_value(run));
    xml_.element("output", cdata(output_of(run)));
    xml_.close("program");
  }

  void network() {
    const bool there = found_.present();
    const LinkFound link = there ? link_of(found_) : LinkFound{};
    const std::int64_t unknown = -1;
    xml_.open("link");
    xml_.number("state", there ? (link.up ? 1 : 0) : unknown);
    xml_.number("speed", link.speed ? *link.speed * 1'000'000 : unknown);
    xml_.number("duplex", link.speed ? (link.full ? 1 : 0) : unknown);
    const auto way = [&](std::string_view name, Metric packets, Metric bytes, std::int64_t errors) {
      const auto now = [&](std::string_view what, std::int64_t value) {
        xml_.group(what, [&] { xml_.number("now", there ? value : unknown); });
      };
      xml_.group(name, [&] {
        now("packets", std::llround(found_.figure(packets).value_or(0)));
        now("bytes", std::llround(found_.figure(bytes).value_or(0)));
        now("errors", errors);
      });
    };
    way("download", Metric::DownloadPackets, Metric::DownloadRate, link.errors_in);
    way("upload", Metric::UploadPackets, Metric::UploadRate, link.errors_out);
    xml_.close("link");
  }

  void connections() {
    for (const Connection& one : connections_of(scene_, id_)) {
      const std::string response =
          one.response ? fmt::format("{:.6f}", static_cast<double>(one.response->count()) / 1e6) : "-1.000000";
      if (one.form == Connection::Form::Ping) {
        xml_.group("icmp", [&] {
          xml_.element("type", one.ping_type());
          xml_.element("responsetime", response);
        });
      } else if (one.form == Connection::Form::Unix) {
        xml_.group("unix", [&] {
          xml_.text("path", one.host);
          xml_.text("protocol", one.protocol);
          xml_.element("responsetime", response);
        });
      } else {
        xml_.group("port", [&] {
          xml_.text("hostname", one.host);
          xml_.number("portnumber", one.port);
          xml_.element("request", cdata(one.request));
          xml_.text("protocol", one.protocol);
          xml_.element("type", one.type);
          xml_.element("responsetime", response);
          if (one.tls) xml_.group("certificate", [&] { xml_.number("valid", one.certificate_days.value_or(0)); });
        });
      }
    }
  }

  const Scene& scene_;
  ServiceId id_;
  const ServiceBlock& block_;
  Writer xml_;
  Found found_;
};

std::int64_t seconds_of(WallTime when) { return std::chrono::floor<seconds>(when).time_since_epoch() / seconds{1}; }

}  // namespace

std::string xml_head(const Scene& scene, Form form, std::span<const std::string> host_groups) {
  const control::Surroundings around = scene.daemon.surroundings();
  const engine::Settings& settings = *scene.engine.graph()->settings;
  const std::int64_t incarnation = seconds_of(scene.engine.started_at().wall);
  const Duration up = std::max(scene.now.mono - scene.engine.started_at().mono, Duration{0});
  std::string out = "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>";
  Writer xml(out);
  out += form == Form::First ? std::string("<monit>")
                             : fmt::format("<monit id=\"{}\" incarnation=\"{}\" version=\"{}\">", escaped(around.id),
                                           incarnation, version_of(scene));
  xml.open("server");
  if (form == Form::First) {
    xml.text("id", around.id);
    xml.number("incarnation", incarnation);
    xml.element("version", version_of(scene));
  }
  xml.number("uptime", up / seconds{1});
  xml.number("poll", settings.cycle_length() / seconds{1});
  xml.number("startdelay", settings.start_delay / seconds{1});
  xml.text("localhostname", scene.engine.host());
  const auto& files = scene.engine.graph()->files;
  xml.text("controlfile", files.empty() ? std::string() : files.front());
  if (const auto& httpd = settings.httpd) {
    xml.open("httpd");
    if (httpd->port) {
      xml.text("address", httpd->addresses.empty() ? std::string() : httpd->addresses.front());
      xml.number("port", *httpd->port);
      xml.number("ssl", httpd->tls ? 1 : 0);
    }
    if (!httpd->unix_socket.empty() && scene.since(MonitVersion::V6)) xml.text("unixsocket", httpd->unix_socket);
    xml.close("httpd");
  }
  xml.close("server");
  xml.open("platform");
  xml.text("name", around.system);
  xml.text("release", around.release);
  xml.text("version", around.build);
  xml.text("machine", around.machine);
  xml.number("cpu", around.cores);
  xml.number("memory", static_cast<std::int64_t>(around.memory));
  xml.number("swap", static_cast<std::int64_t>(around.swap));
  xml.close("platform");
  if (!host_groups.empty())
    xml.group("hostgroups", [&] {
      for (const std::string& name : host_groups) xml.element("name", cdata(name));
    });
  if (form == Form::Second) xml.open("services");
  return out;
}

void write_xml(std::string& out, const Scene& scene, ServiceId id, Form form) {
  const ServiceBlock& block = scene.engine.graph()->at(id);
  const Standing standing = standing_of(scene, id);
  const int kind = kind_of(*block.kind).number;
  Writer xml(out);
  if (form == Form::First) {
    out += fmt::format("<service type=\"{}\">", kind);
    xml.element("name", scene.since(MonitVersion::V6) ? cdata(block.name) : escaped(block.name));
  } else {
    out += fmt::format("<service name=\"{}\">", escaped(block.name));
    xml.number("type", kind);
  }
  const WallTime when = collected(scene, id);
  xml.number("collected_sec", seconds_of(when));
  xml.number("collected_usec", std::int64_t{subsecond_ms(when)} * 1000);
  xml.number("status", static_cast<std::int64_t>(standing.status));
  xml.number("status_hint", static_cast<std::int64_t>(standing.hint));
  xml.number("monitor", standing.monitor);
  xml.number("monitormode", block.activity == ServiceBlock::Activity::Passive ? 1 : 0);
  xml.number("onreboot", static_cast<std::int64_t>(block.on_reboot));
  xml.number("pendingaction", standing.pending);
  if (const auto& every = standing.every) {
    xml.open("every");
    xml.number("type", every->type);
    if (every->type == 2) {
      xml.number("counter", every->counter);
      xml.number("number", every->number);
    } else {
      xml.text("cron", every->cron);
    }
    xml.close("every");
  }
  if (standing.told) Data(out, scene, id).write(kind);
  xml.close("service");
}

std::string xml_foot(const Scene& scene, Form form) {
  if (form == Form::First) return "</monit>";
  std::string out = "</services><servicegroups>";
  const engine::Graph& graph = *scene.engine.graph();
  std::vector<std::string> order;
  std::map<std::string, std::vector<ServiceId>> members;  // by their names in lower case
  for (const ServiceId id : graph.order) {
    for (const std::string& group : graph.at(id).groups) {
      auto& of_it = members[to_lower(group)];
      if (of_it.empty()) order.push_back(group);
      of_it.push_back(id);
    }
  }
  for (const std::string& group : order) {
    out += fmt::format("<servicegroup name=\"{}\">", escaped(group));
    for (const ServiceId id : members[to_lower(group)])
      out += fmt::format("<service>{}</service>",
                         scene.since(MonitVersion::V6) ? cdata(graph.at(id).name) : escaped(graph.at(id).name));
    out += "</servicegroup>";
  }
  return out + "</servicegroups></monit>";
}

}  // namespace healer::web::monit
