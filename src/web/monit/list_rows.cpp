// SPDX-License-Identifier: MIT
// The rows of Monit's list of services: what each kind shows of itself.
#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "engine/engine.hpp"
#include "engine/rules/service.hpp"
#include "web/monit/connections.hpp"
#include "web/monit/details.hpp"
#include "web/monit/escape.hpp"
#include "web/monit/pages.hpp"

namespace healer::web::monit {
namespace {

using engine::Attribute;
using engine::Metric;

constexpr int kNone = -1;  // of a kind that Monit has not

using Heads = std::span<const std::string_view>;

/// Beside name and status.
Heads heads_of(int kind) {
  static constexpr std::array<std::string_view, 4> kSystem{"Load", "CPU", "Memory", "Swap"};
  static constexpr std::array<std::string_view, 5> kProcess{"Uptime", "CPU Total", "Memory Total", "Read", "Write"};
  static constexpr std::array<std::string_view, 3> kProgram{"Output", "Last started", "Exit value"};
  static constexpr std::array<std::string_view, 4> kFilesystem{"Space usage", "Inodes usage", "Read", "Write"};
  static constexpr std::array<std::string_view, 4> kFile{"Size", "Permission", "UID", "GID"};
  static constexpr std::array<std::string_view, 3> kPath{"Permission", "UID", "GID"};
  static constexpr std::array<std::string_view, 2> kNetwork{"Upload", "Download"};
  static constexpr std::array<std::string_view, 1> kHost{"Protocol(s)"};
  switch (kind) {
    case 0: return kFilesystem;
    case 1:
    case 6: return kPath;
    case 2: return kFile;
    case 3: return kProcess;
    case 4: return kHost;
    case 5: return kSystem;
    case 7: return kProgram;
    case 8: return kNetwork;
    default: return {};
  }
}

class Cells {
 public:
  Cells(const Scene& scene, engine::ServiceId id) : scene_(scene), id_(id), found_(scene, id) {}

  std::vector<std::string> take(int kind) && {
    const bool told = kind == 3 ? found_.process() != nullptr : kind == 7 || kind == 4 || found_.present();
    if (!told) return {};
    switch (kind) {
      case 0: filesystem(); break;
      case 2: add(size()); [[fallthrough]];
      case 1:
      case 6: path(); break;
      case 3: process(); break;
      case 4: host(); break;
      case 5: system(); break;
      case 7: program(); break;
      case 8:
        add(rate(Metric::UploadRate));
        add(rate(Metric::DownloadRate));
        break;
      default: break;
    }
    return std::move(cells_);
  }

 private:
  /// Escaped already.
  void add(std::string html) { cells_.push_back(html.empty() ? "-" : std::move(html)); }
  [[nodiscard]] double figure(Metric metric) const { return found_.figure(metric).value_or(0); }
  [[nodiscard]] std::string rate(Metric metric) const {
    const auto value = found_.figure(metric);
    return value ? bytes_text(*value) + "/s" : std::string();
  }
  [[nodiscard]] std::string share(Metric percent, Metric amount) const {
    if (!found_.figure(percent)) return {};
    return fmt::format("{:.1f}% [{}]", figure(percent), bytes_text(figure(amount)));
  }
  [[nodiscard]] std::string size() const {
    const auto bytes = found_.number(Attribute::Size);
    return bytes ? bytes_text(static_cast<double>(*bytes)) : std::string();
  }

  void system() {
    add(fmt::format("[{:.2f}]&nbsp;[{:.2f}]&nbsp;[{:.2f}]", figure(Metric::Load1), figure(Metric::Load5),
                    figure(Metric::Load15)));
    add(fmt::format("{:.1f}%us&nbsp;{:.1f}%sy&nbsp;{:.1f}%ni&nbsp;{:.1f}%wa&nbsp;", figure(Metric::CpuUser),
                    figure(Metric::CpuSystem), figure(Metric::CpuNice), figure(Metric::CpuWait)));
    add(share(Metric::SystemMemory, Metric::SystemMemoryBytes));
    add(share(Metric::Swap, Metric::SwapBytes));
  }

  void process() {
    const auto up = found_.figure(Metric::Uptime);
    add(up ? uptime_text(static_cast<std::int64_t>(*up)) : std::string());
    const auto cpu = found_.figure(Metric::TotalCpu);
    add(cpu ? fmt::format("{:.1f}%", *cpu) : std::string());
    add(share(Metric::TotalMemory, Metric::TotalMemoryBytes));
    add(rate(Metric::ReadRate));
    add(rate(Metric::WriteRate));
  }

  void program() {
    const std::string output = output_of(found_.run());
    add(escaped(output.substr(0, output.find('\n'))));
    const CivilTime when = scene_.daemon.civil(collected(scene_, id_) - found_.run().elapsed);
    add(format_monit_date(when).substr(5));
    add(std::to_string(exit_value(found_.run())));
  }

  void filesystem() {
    add(share(Metric::SpaceUsage, Metric::SpaceUsageBytes));
    add(found_.figure(Metric::InodeUsage)
            ? fmt::format("{:.1f}% [{:.0f} objects]", figure(Metric::InodeUsage), figure(Metric::InodeUsageNumber))
            : std::string());
    add(rate(Metric::ReadRate));
    add(rate(Metric::WriteRate));
  }

  void path() {
    const auto number = [this](Attribute what) {
      const auto value = found_.number(what);
      return value ? std::to_string(*value) : std::string();
    };
    const auto mode = found_.number(Attribute::Permission);
    add(mode ? fmt::format("{:04o}", *mode) : std::string());
    add(number(Attribute::Uid));
    add(number(Attribute::Gid));
  }

  void host() {
    std::string text;
    for (const Connection& one : connections_of(scene_, id_)) {
      if (!text.empty()) text += "&nbsp;&nbsp;<b>|</b>&nbsp;&nbsp;";
      const std::string name = one.form == Connection::Form::Ping
                                   ? fmt::format("[{}]", one.ping_type())
                                   : fmt::format("[{}] at port {}", one.protocol, one.port);
      text += one.failed ? fmt::format("<span class='red-text'>{}</span>", escaped(name))
                         : fmt::format("<span>{}</span>", escaped(name));
    }
    add(text);
  }

  const Scene& scene_;
  engine::ServiceId id_;
  Found found_;
  std::vector<std::string> cells_;
};

}  // namespace

void write_row(std::string& out, const Scene& scene, engine::ServiceId id, bool first) {
  const engine::ServiceBlock& block = scene.engine.graph()->at(id);
  const Kind kind = kind_of(*block.kind);
  const int shown = kind.number == 7 && !block.is_run() ? kNone : kind.number;
  const Heads heads = heads_of(shown);
  if (first) {
    const std::string_view title = kind.number == 8 ? "Net" : kind.number == 4 ? "Host" : kind.title;
    out += fmt::format("<table id='header-row'><tr><th>{}</th><th>Status</th>", escaped(title));
    for (const std::string_view head : heads) out += fmt::format("<th>{}</th>", head);
    out += "</tr>\n";
  }
  const Standing standing = standing_of(scene, id);
  std::vector<std::string> cells;
  if (standing.told) cells = Cells(scene, id).take(shown);
  cells.resize(heads.size(), "-");
  out += fmt::format("<tr><td><a href='{}'>{}</a></td><td>{}</td>", link_to(block.name), escaped(block.name),
                     status_html(standing));
  for (const std::string& cell : cells) out += fmt::format("<td>{}</td>", cell);
  out += "</tr>\n";
}

}  // namespace healer::web::monit
