// SPDX-License-Identifier: MIT
#include "web/monit/pages.hpp"

#include <array>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "engine/engine.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/settings.hpp"
#include "util/text.hpp"
#include "web/message.hpp"
#include "web/monit/details.hpp"
#include "web/monit/escape.hpp"

namespace healer::web::monit {
namespace {

using engine::ServiceBlock;
using engine::ServiceId;

std::string page_head(const Scene& scene, std::string_view link, std::string_view name, std::int64_t refresh) {
  return fmt::format(
      "<!DOCTYPE html><html><head><title>Monit: {0}</title><meta charset='UTF-8'>"
      "<meta http-equiv='refresh' content='{1}'><link rel='shortcut icon' href='favicon.ico'></head><body>"
      "<table id='nav'><tr><td><a href='.'>Home</a>&nbsp;&gt;&nbsp;<a href='{2}'>{3}</a></td>"
      "<td><a href='_about'>Monit {4}</a></td></tr></table>\n",
      escaped(scene.engine.host()), refresh, link, escaped(name), version_of(scene));
}

std::string page_foot() { return "</body></html>\n"; }

std::int64_t poll_of(const Scene& scene) { return scene.engine.graph()->settings->cycle_length() / seconds{1}; }

std::string span(const Word& word) {
  const std::string_view style = class_of(word.tone);
  return style.empty() ? fmt::format("<span>{}</span>", escaped(word.text))
                       : fmt::format("<span class='{}'>{}</span>", style, escaped(word.text));
}

/// Writes the table of a page of one thing.
class Table {
 public:
  explicit Table(std::string& out) : out_(out) {
    out_ += "<table id='status-table'><tr><th>Parameter</th><th>Value</th></tr>\n";
  }
  ~Table() { out_ += "</table>\n"; }
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  void row(std::string_view label, std::string_view text) { html(label, escaped(text)); }
  /// `value` is escaped already.
  void html(std::string_view label, std::string_view value, std::string_view style = {}) {
    const std::string of = style.empty() ? std::string() : fmt::format(" class='{}'", style);
    out_ += fmt::format("<tr><td>{}</td><td{}>{}</td></tr>\n", escaped(label), of, value);
  }
  void rule(std::string_view text) {
    out_ += fmt::format("<tr class='rule'><td>Rule</td><td>{}</td></tr>\n", escaped(text));
  }

 private:
  std::string& out_;
};

std::string capital(std::string_view label) {
  std::string text(label);
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

/// Of a program its path alone: what follows may be secret.
std::string command_text(const engine::Command& command) {
  std::string text = fmt::format("'{}'", command.arguments.empty() ? std::string() : command.arguments.front());
  if (command.identity->uid) text += fmt::format(" as uid {}", *command.identity->uid);
  if (command.identity->gid) text += fmt::format(" as gid {}", *command.identity->gid);
  if (command.timeout > Duration{0}) text += fmt::format(" timeout {} s", command.timeout / seconds{1});
  return text;
}

void add_subject(Table& table, const ServiceBlock& block) {
  switch (block.kind->target) {
    case engine::Target::Program:
      if (!block.program->command.arguments.empty()) table.row("Path", block.program->command.arguments.front());
      break;
    case engine::Target::Process:
      if (!block.process->pid_file.empty()) table.row("Pid file", block.process->pid_file);
      if (!block.process->pattern.empty()) table.row("Match", block.process->pattern);
      if (block.foreground()) table.row("Program", command_text(block.process->foreground->command));
      break;
    case engine::Target::Path: table.row("Path", block.path); break;
    case engine::Target::Interface:
      table.row("Interface",
                block.other->interface.name.empty() ? block.other->interface.address : block.other->interface.name);
      break;
    case engine::Target::Host: table.row("Address", block.other->host); break;
    case engine::Target::Unit: table.row("Unit", block.other->unit); break;
    default: break;
  }
}

void add_form(std::string& out, std::string_view action, const Viewer& viewer, std::string_view verb,
              std::string_view label) {
  out += fmt::format(
      "<td><form method='POST' action='{}'><input type='hidden' name='securitytoken' value='{}'>"
      "<input type='hidden' name='action' value='{}'><input type='submit' value='{}'></form></td>\n",
      action, escaped(viewer.token), verb, label);
}

void add_buttons(std::string& out, const Scene& scene, ServiceId id, const Viewer& viewer) {
  const ServiceBlock& block = scene.engine.graph()->at(id);
  const std::string action = link_to(block.name);
  out += "<table id='buttons'><tr>";
  const bool own = block.foreground();
  const bool starts = own || block.programs->start;
  const bool stops = own || block.programs->stop;
  if (starts) add_form(out, action, viewer, "start", "Start service");
  if (stops) add_form(out, action, viewer, "stop", "Stop service");
  if ((starts && stops) || block.programs->restart) add_form(out, action, viewer, "restart", "Restart service");
  if (scene.engine.service(id).monitored)
    add_form(out, action, viewer, "unmonitor", "Disable monitoring");
  else
    add_form(out, action, viewer, "monitor", "Enable monitoring");
  out += "</tr></table>\n";
}

std::string limit_text(Duration limit) {
  if (limit >= minutes{1} && limit % minutes{1} == Duration{0}) return fmt::format("{} m", limit / minutes{1});
  if (limit >= seconds{1} && limit % seconds{1} == Duration{0}) return fmt::format("{} s", limit / seconds{1});
  return fmt::format("{} ms", limit / Duration{1});
}

std::string_view yes(bool value) { return value ? "True" : "False"; }

std::string_view login_of(const engine::HttpdSettings& httpd) {
  bool hosts = false;
  bool users = false;
  for (const auto& allow : httpd.allow) (allow.kind == engine::HttpdSettings::Allow::Kind::Host ? hosts : users) = true;
  if (hosts && users) return "Basic Authentication and Host/Net allow list";
  return users ? "Basic Authentication" : hosts ? "Host/Net allow list" : "No authentication";
}

}  // namespace

std::string status_html(const Standing& standing) {
  std::string text;
  for (const Word& word : standing.words) text += (text.empty() ? "" : " | ") + span(word);
  if (standing.pending != 0) text += fmt::format(" - {} pending", standing.action);
  return text;
}

std::string error_page(unsigned status, std::string_view message) {
  return fmt::format(
      "<html><head><title>{0} {1}</title></head><body><h2>{1}</h2>{2}<hr><a href='.'>healer</a></body></html>\n",
      status, reason_of(status), escaped_between(message));
}

std::string list_head(const Scene& scene) {
  return page_head(scene, ".", "", poll_of(scene)) +
         fmt::format(
             "<h1>Monit Service Manager</h1><p>healer is <a href='_runtime'>running</a> on {} and monitoring:</p>\n",
             escaped(scene.engine.host()));
}

std::string_view list_end() { return "</table>\n"; }
std::string list_foot() { return page_foot(); }

std::string service_page(const Scene& scene, ServiceId id, const Viewer& viewer) {
  const ServiceBlock& block = scene.engine.graph()->at(id);
  const Standing standing = standing_of(scene, id);
  std::string out = page_head(scene, link_to(block.name), block.name, poll_of(scene));
  out += fmt::format("<h2>{} status</h2>", escaped(kind_of(*block.kind).title));
  {
    Table table(out);
    table.row("Name", block.name);
    add_subject(table, block);
    table.html("Status", status_html(standing));
    for (const std::string& group : block.groups) table.row("Group", group);
    table.html("Monitoring status", span(monitoring_of(standing)));
    table.row("Monitoring mode", block.activity == ServiceBlock::Activity::Passive ? "passive" : "active");
    constexpr std::array<std::string_view, 3> kOnReboot{"start", "nostart", "laststate"};
    table.row("On reboot", kOnReboot[static_cast<std::size_t>(block.on_reboot)]);
    for (const std::string& other : block.depends)
      table.html("Depends on service", fmt::format("<a href='{}'>{}</a>", link_to(other), escaped(other)));
    if (block.programs->start) table.row("Start program", command_text(*block.programs->start));
    if (block.programs->stop) table.row("Stop program", command_text(*block.programs->stop));
    if (block.programs->restart) table.row("Restart program", command_text(*block.programs->restart));
    if (const auto& every = standing.every)
      table.html("Check service", every->type == 2 ? fmt::format("every {} cycle", every->number)
                                                   : fmt::format("{}every <code>\"{}\"</code>",
                                                                 every->type == 4 ? "not " : "", escaped(every->cron)));
    for (const Line& line : details_of(scene, id, standing)) {
      const std::string value = escaped(line.value);
      table.html(capital(line.label), line.label == "last output" ? fmt::format("<pre>{}</pre>", value) : value,
                 class_of(line.tone));
    }
    table.row("Data collected", collected_text(scene, id));
    for (const engine::Rule& rule : block.rules) table.rule(rule->text);
  }
  if (viewer.acts) add_buttons(out, scene, id, viewer);
  return out + page_foot();
}

std::string runtime_page(const Scene& scene, const Viewer& viewer) {
  constexpr std::int64_t kRefresh = 1000;
  const engine::Settings& settings = *scene.engine.graph()->settings;
  const control::Surroundings around = scene.daemon.surroundings();
  std::string out = page_head(scene, "_runtime", "Runtime", kRefresh) + "<h2>Monit runtime status</h2>";
  {
    Table table(out);
    table.row("Monit ID", around.id);
    table.row("Host", scene.engine.host());
    table.row("Process id", std::to_string(around.pid));
    table.row("Effective user running Monit", around.user);
    const auto& files = scene.engine.graph()->files;
    table.row("Controlfile", files.empty() ? std::string() : files.front());
    const bool to_file = settings.log.target == engine::LogSettings::Target::File;
    if (to_file) table.row("Logfile", settings.log.path);
    table.row("Pidfile", around.pid_file);
    table.row("State file", around.state_file);
    table.row("Log", yes(settings.log.target != engine::LogSettings::Target::None));
    table.row("Use syslog", yes(settings.log.target == engine::LogSettings::Target::Syslog));
    for (const engine::MailServer& server : settings.mail.servers)
      table.row("Mail server(s)", fmt::format("{}:{}", server.host, server.port));
    const engine::Limits& limits = settings.limits;
    table.row("Limit for Send/Expect buffer", bytes_text(limits.send_expect_buffer));
    table.row("Limit for file content buffer", bytes_text(limits.file_content_buffer));
    table.row("Limit for HTTP content buffer", bytes_text(limits.http_content_buffer));
    table.row("Limit for program output", bytes_text(limits.program_output));
    table.row("Limit for network timeout", limit_text(limits.network_timeout));
    table.row("Limit for check program timeout", limit_text(limits.program_timeout));
    table.row("Limit for service stop timeout", limit_text(limits.stop_timeout));
    table.row("Limit for service start timeout", limit_text(limits.start_timeout));
    table.row("Limit for service restart timeout", limit_text(limits.restart_timeout));
    if (scene.since(MonitVersion::V5_34))
      table.row("Limit for test action exec timeout", limit_text(limits.exec_timeout));
    constexpr std::array<std::string_view, 3> kOnReboot{"start", "nostart", "laststate"};
    table.row("On reboot", kOnReboot[static_cast<std::size_t>(settings.on_reboot)]);
    table.row("Poll time",
              fmt::format("{} seconds with start delay {} seconds", poll_of(scene), settings.start_delay / seconds{1}));
    if (const auto& httpd = settings.httpd) {
      if (httpd->port) {
        table.row("httpd bind address", httpd->addresses.empty() ? "Any/All" : httpd->addresses.front());
        table.row("httpd portnumber", std::to_string(*httpd->port));
        table.row("httpd net readonly", yes(httpd->port_read_only));
      }
      if (!httpd->unix_socket.empty()) {
        table.row("httpd unix socket", httpd->unix_socket);
        table.row("httpd unix readonly", yes(httpd->socket_read_only));
      }
      table.row("httpd signature", yes(httpd->signature));
      table.row("httpd auth. style", login_of(*httpd));
    }
  }
  if (viewer.acts) {
    out += "<table id='buttons'><tr>";
    add_form(out, "_runtime", viewer, "validate", "Force validate now");
    out += fmt::format(
        "<td><form method='POST' action='_viewlog'><input type='hidden' name='securitytoken' value='{}'>"
        "<input type='submit' value='View Monit logfile'></form></td></tr></table>\n",
        escaped(viewer.token));
  }
  return out + page_foot();
}

std::string log_page(const Scene& scene, const Result<std::string>& log) {
  constexpr std::int64_t kRefresh = 100;
  std::string out = page_head(scene, "_viewlog", "View log", kRefresh);
  out += log ? fmt::format("<form><textarea cols=120 rows=30 readonly>\n{}</textarea></form>\n", escaped(*log))
             : fmt::format("<p><b>Cannot view logfile:</b> {}</p>\n", escaped(log.error().what));
  return out + page_foot();
}

std::string about_page(const Scene& scene) {
  return fmt::format(
      "<!DOCTYPE html><html><head><title>about healer</title></head><body><h1>healer {}</h1>"
      "<p>It answers here as Monit {} does.</p><p>[<a href='.'>Back to Monit</a>]</p></body></html>\n",
      escaped(scene.daemon.version()), version_of(scene));
}

std::string icon() {
  constexpr int kSide = 16;
  constexpr int kImage = 40 + kSide * kSide * 4 + kSide * 4;  // a header, the points, a mask of whole words
  std::string out;
  const auto number = [&out](unsigned value, int bytes) {
    for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xffU);
  };
  number(0, 2), number(1, 2), number(1, 2);  // one picture
  number(kSide, 1), number(kSide, 1), number(0, 2), number(1, 2), number(32, 2), number(kImage, 4), number(22, 4);
  number(40, 4), number(kSide, 4), number(2 * kSide, 4), number(1, 2), number(32, 2);
  for (int i = 0; i < 6; ++i) number(0, 4);
  for (int y = 0; y < kSide; ++y)
    for (int x = 0; x < kSide; ++x) {
      const int dx = 2 * x + 1 - kSide;
      const int dy = 2 * y + 1 - kSide;
      number(dx * dx + dy * dy <= 196 ? 0xff2e9e4fU : 0U, 4);
    }
  out.append(kSide * 4, '\0');
  return out;
}

}  // namespace healer::web::monit
