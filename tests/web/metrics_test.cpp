// SPDX-License-Identifier: MIT
// Metrics and badges: what they say, and that it is well formed in both formats.
#include "web/metrics/metrics.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <set>

#include "engine/healing/healings.hpp"
#include "engine/judging/evaluate.hpp"
#include "engine/rules/service.hpp"
#include "protocols/probe.hpp"
#include "support/fleet_world.hpp"
#include "web/metrics/badge.hpp"
#include "web/metrics/service_series.hpp"
#include "web/metrics_reader.hpp"
#include "web/monit_status.hpp"
#include "web/web_world.hpp"

namespace metrics_test {

using namespace healer;
using namespace healer::test;
using web::Format;

namespace {

constexpr auto kOpenMetrics = "application/openmetrics-text; version=1.0.0";

web::Response ask(WebWorld& world, const std::string& target, Format format, web::Fields headers = {}) {
  web::Request request{.path = target.substr(0, target.find('?'))};
  if (const std::size_t mark = target.find("?compat="); mark != std::string::npos)
    request.query.emplace_back("compat", target.substr(mark + 8));
  if (format == Format::OpenMetrics) headers.emplace_back("Accept", kOpenMetrics);
  request.headers = std::move(headers);
  return world.send(request, WebWorld::reader());
}

/// What is asked for, in both formats: they say the same, and nothing is wrong with either. In the text format.
ReadMetrics metrics_of(WebWorld& world, const std::string& target) {
  const web::Response text = ask(world, target, Format::Text);
  const web::Response open = ask(world, target, Format::OpenMetrics);
  CHECK(text.type == "text/plain; version=0.0.4; charset=utf-8");
  CHECK(open.type == "application/openmetrics-text; version=1.0.0; charset=utf-8");
  ReadMetrics result = read_metrics(text.body, Format::Text);
  const ReadMetrics other = read_metrics(open.body, Format::OpenMetrics);
  CHECK(result.faults == std::vector<std::string>{});
  CHECK(other.faults == std::vector<std::string>{});
  const auto samples = [](const ReadMetrics& metrics) {
    std::set<std::string> names;
    for (const MetricFamily& family : metrics.families)
      for (const MetricSample& sample : family.samples) names.insert(sample.name);
    return names;
  };
  CHECK(samples(result) == samples(other));
  return result;
}

std::shared_ptr<ServiceBlock> of_kind(const std::string& name, std::string_view kind) {
  auto block = service(name, {status_rule(Comparison::NotEqual, 0)});
  block->kind = kind_named(kind);
  REQUIRE(block->kind != nullptr);
  return block;
}

/// What the last look at a service has found.
void see(WebWorld& world, std::string_view name, const std::function<void(Facts&)>& fill) {
  world.daemon().act([&](World& engine) {
    auto facts = std::make_shared<Facts>();
    fill(*facts);
    ServiceState& state = state_of(engine, name);
    state.last = std::make_shared<const Evidence>(
        Evidence{.output = std::make_shared<const std::string>(), .facts = std::move(facts)});
    state.last_when = engine.now.wall;
    state.initialising = false;
  });
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("The format of metrics is negotiated", "[metrics]") {
  using web::format_for;
  CHECK(format_for(std::nullopt) == Format::Text);
  CHECK(format_for("") == Format::Text);
  CHECK(format_for("*/*") == Format::Text);
  CHECK(format_for("text/html, */*;q=0.8") == Format::Text);
  CHECK(format_for("application/openmetrics-text") == Format::OpenMetrics);
  CHECK(format_for("Application/OpenMetrics-Text; Version=1.0.0") == Format::OpenMetrics);
  CHECK(format_for("application/openmetrics-text; version=\"1.0.0\"") == Format::OpenMetrics);
  CHECK(format_for("application/openmetrics-text; version=0.0.1") == Format::Text);
  CHECK(format_for("application/openmetrics-text;q=0") == Format::Text);
  CHECK(format_for("application/openmetrics-text;q=0.5,text/plain;q=0.6") == Format::Text);
  CHECK(format_for("application/openmetrics-text;q=0.6,text/plain;q=0.5") == Format::OpenMetrics);
  CHECK(format_for("application/openmetrics-text;q=0.4,text/*;q=0.6") == Format::Text);
  // What Prometheus 2 and 3 send.
  CHECK(format_for("application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
                   "text/plain;version=0.0.4;q=0.5,*/*;q=0.1") == Format::OpenMetrics);
  CHECK(format_for("application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;"
                   "version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;"
                   "q=0.3,*/*;q=0.2") == Format::OpenMetrics);
  CHECK(format_for("text/plain;version=0.0.4;q=1,*/*;q=0.1") == Format::Text);
}

TEST_CASE("Samples are written exactly, whatever is in them", "[metrics]") {
  std::string text;
  web::Exposition out(Format::Text);
  out.write_to(text);
  out.begin({"a_seconds", web::FamilyType::Gauge, "Something.", "seconds"});
  out.sample().label("name", "a\"b\\c\nd").value(0.5);
  out.sample()
      .label("name", "g\xC3\xBCnstig \xFF")
      .label("other", "")
      .value(std::uint64_t{18'446'744'073'709'551'615U});
  out.sample().value(1e300);
  out.sample().label("n", "1").value(std::numeric_limits<double>::infinity());
  out.sample().label("n", "2").value(-std::numeric_limits<double>::infinity());
  out.sample().label("n", "3").value(std::nan(""));
  out.sample().label("n", "4").value(-3.0);
  out.sample().label("n", "5").value(1'795'235'040.125);
  out.end();
  CHECK(text ==
        "# HELP a_seconds Something.\n"
        "# TYPE a_seconds gauge\n"
        "a_seconds{name=\"a\\\"b\\\\c\\nd\"} 0.5\n"
        "a_seconds{name=\"g\xC3\xBCnstig \xEF\xBF\xBD\",other=\"\"} 18446744073709551615\n"
        "a_seconds 1e+300\n"
        "a_seconds{n=\"1\"} +Inf\n"
        "a_seconds{n=\"2\"} -Inf\n"
        "a_seconds{n=\"3\"} NaN\n"
        "a_seconds{n=\"4\"} -3\n"
        "a_seconds{n=\"5\"} 1795235040.125\n");
  CHECK(read_metrics(text, Format::Text).faults.empty());
}

TEST_CASE("The reader of the tests sees what is wrong", "[metrics]") {
  const auto faults = [](const std::string& text, Format format = Format::Text) {
    return read_metrics(text, format).faults.size();
  };
  const std::string head = "# HELP a A.\n# TYPE a gauge\n";
  CHECK(faults(head + "a 1\n") == 0);
  CHECK(faults(head + "a 1\n", Format::OpenMetrics) == 1);
  CHECK(faults(head + "a 1\n# EOF\n", Format::OpenMetrics) == 0);
  CHECK(faults(head + "a 1\na 2\n") > 0);
  CHECK(faults(head + "a one\n") > 0);
  CHECK(faults(head + "a{x=\"1} 1\n") > 0);
  CHECK(faults(head + "b 1\n") > 0);
  CHECK(faults("# TYPE a gauge\na 1\n") > 0);
  CHECK(faults(head + "a 1\n# HELP b B.\n# TYPE b gauge\nb 1\n# HELP a A.\n# TYPE a gauge\na{x=\"1\"} 1\n") > 0);
  CHECK(faults("# HELP a_total A.\n# TYPE a_total counter\na_total 1\n") == 0);
  CHECK(faults("# HELP a A.\n# TYPE a counter\na 1\n") > 0);
}

TEST_CASE("/metrics tells of the daemon and of all services together", "[metrics]") {
  WebWorld world(two_services(), web::metrics_routes);
  world.daemon().cycle(0);
  world.daemon().cycle(1);
  world.daemon().act([&](World&) {
    world.daemon().vitals = {.lag = milliseconds{3},
                             .longest_lag = milliseconds{40},
                             .journals = false,
                             .processor = milliseconds{1500},
                             .resident = 4096,
                             .reserved = 8192,
                             .descriptors = 12,
                             .most_descriptors = 1024};
  });
  world.daemon().set_contacts({{.name = "pager", .waiting = 3, .error = "no route"}});
  world.daemon().set_mail({.waiting = 2});
  world.daemon().set_stale(control::StaleView{.error = "a.rules:1:1: error"});
  const ReadMetrics metrics = metrics_of(world, "/metrics");
  CHECK(metrics.value("healer_build_info", {{"version", "1.2.3"}}) == "1");
  CHECK(metrics.value("healer_services", {{"state", "failed"}}) == "1");
  CHECK(metrics.value("healer_services", {{"state", "failing"}}) == "1");
  CHECK(metrics.value("healer_services", {{"state", "running"}}) == "0");
  CHECK(metrics.value("healer_services", {{"state", "given up"}}) == "0");
  CHECK(metrics.value("healer_records_total", {{"kind", "rule-failed"}}) == "1");
  CHECK(metrics.value("healer_loop_lag_seconds") == "0.003");
  CHECK(metrics.value("healer_loop_longest_lag_seconds") == "0.04");
  CHECK(metrics.value("healer_store_writable") == "0");
  CHECK(metrics.value("healer_config_last_reload_successful") == "0");
  CHECK(metrics.value("healer_config_last_reload_success_timestamp_seconds") == "1795235040");
  CHECK(metrics.value("healer_alert_queue_length", {{"contact", "pager"}}) == "3");
  CHECK(metrics.value("healer_alert_delivery_failing", {{"contact", "pager"}}) == "1");
  CHECK(metrics.value("healer_mail_queue_length") == "2");
  CHECK(metrics.value("healer_mail_delivery_failing") == "0");
  CHECK(metrics.value("healer_paused") == "0");
  CHECK(metrics.value("process_start_time_seconds") == "1795235040");
  CHECK(metrics.value("process_cpu_seconds_total") == "1.5");
  CHECK(metrics.value("process_resident_memory_bytes") == "4096");
  CHECK(metrics.value("process_open_fds") == "12");
  CHECK(metrics.value("healer_jobs", {{"kind", "exec"}}) == "1");
  CHECK(ask(world, "/metrics?compat=nagios", Format::Text).status == 400);
}

TEST_CASE("/metrics counts how long services stood failed", "[metrics]") {
  WebWorld world(two_services(), web::metrics_routes);
  world.daemon().cycle(0);
  for (int i = 0; i < 100; ++i) world.daemon().cycle(1);  // db fails at once, web after 3 runs
  CHECK(metrics_of(world, "/metrics").value("healer_unhealthy_duration_seconds_count") == "0");
  world.daemon().cycle(0);
  const ReadMetrics metrics = metrics_of(world, "/metrics");
  const auto bucket = [&](const std::string& bound) {
    return metrics.value("healer_unhealthy_duration_seconds_bucket", {{"le", bound}});
  };
  CHECK(bucket("60") == "0");
  CHECK(bucket("120") == "2");
  CHECK(bucket("3600") == "2");
  CHECK(bucket("+Inf") == "2");
  CHECK(metrics.value("healer_unhealthy_duration_seconds_count") == "2");
  CHECK(metrics.value("healer_unhealthy_duration_seconds_sum") == "198");
}

TEST_CASE("/metrics tells what has come of healings, and what holds others back", "[metrics]") {
  WebWorld world(fleet_rules({.targets = 6}), web::metrics_routes);
  world.daemon().act([&](World& engine) {
    engine.answer = [](ServiceId id) -> std::optional<std::int64_t> { return id.index() < 2 ? 1 : 0; };
    engine.advance(minutes{2});
  });
  const ReadMetrics metrics = metrics_of(world, "/metrics");
  CHECK(metrics.value("healer_healings_proposed_total", {{"workflow", "rebuild"}}) == "2");
  CHECK(metrics.value("healer_healings_total", {{"workflow", "rebuild"}, {"result", "recovered"}}) == "0");
  CHECK(metrics.value("healer_healings_held", {{"workflow", "rebuild"}, {"reason", "limit"}}) == "1");
  CHECK(metrics.value("healer_healings_running", {{"workflow", "rebuild"}}) == "1");
  CHECK(metrics.value("healer_brake_open", {{"workflow", "rebuild"}}) == "0");
  CHECK(metrics.value("healer_in_doubt") == "0");
}

TEST_CASE("/metrics/services has a series for each service, in base units", "[metrics]") {
  auto net = of_kind("net", "network");
  auto web_process = of_kind("we\"b\\", "process");
  auto composite = of_kind("all", "composite");
  composite->other.edit().composite.members = {"job"};
  WebWorld world(
      rule_set({service("job", {status_rule(Comparison::NotEqual, 0)}), web_process, net, of_kind("file", "file"),
                of_kind("host", "host"), of_kind("disk", "filesystem"), of_kind("box", "system"), composite}),
      web::metrics_routes);
  world.daemon().act([&](World& engine) {
    engine.advance(seconds{1});
    engine.observe(engine.id("job"), 3);
    pause(engine, "job", {});
  });
  see(world, "we\"b\\", [](Facts& facts) {
    facts.metrics.set(Metric::Cpu, 12.5);
    facts.metrics.set(Metric::MemoryBytes, 1048576);
    facts.metrics.set(Metric::Uptime, 90);
  });
  see(world, "box", [](Facts& facts) {
    facts.metrics.set(Metric::SystemCpu, 50);
    facts.metrics.set(Metric::Load1, 0.75);
    facts.metrics.set(Metric::SystemMemoryBytes, 2048);
  });
  see(world, "disk", [](Facts& facts) { facts.metrics.set(Metric::ServiceTime, 4); });
  see(world, "file", [](Facts& facts) {
    facts.path = PathFacts{.has_size = true, .size = 77, .accessed = 1000, .modified = 2000, .changed = 3000};
  });
  see(world, "net", [](Facts& facts) {
    facts.attributes.push_back({Attribute::Link, std::string("up")});
    facts.attributes.push_back({Attribute::LinkSpeed, std::int64_t{1000}});
    facts.metrics.set(Metric::DownloadRate, 5);
    facts.further.edit().totals = {{Metric::TotalUpload, hours{1}, 99}};
  });
  see(world, "host", [](Facts& facts) {
    const ConnectionSeen passed{.reach = Reach::Passed,
                                .name = "http localhost:80",
                                .text = {},
                                .sentence = {},
                                .in_time = {},
                                .address = {},
                                .response = std::chrono::microseconds{2500},
                                .expires = WallTime{seconds{1'800'000'000}}};
    ConnectionSeen failed = passed;
    failed.reach = Reach::Failed;
    failed.response.reset();
    failed.expires.reset();
    facts.further.edit().connections = {passed, failed};
  });
  const ReadMetrics metrics = metrics_of(world, "/metrics/services");
  const auto of = [&](const std::string& name, const std::string& service) {
    return metrics.value("healer_service_" + name, {{"service", service}});
  };
  CHECK(metrics.value("healer_service_failed", {{"service", "job"}, {"kind", "program"}}) == "1");
  CHECK(of("failed", "box") == "0");
  CHECK(of("failed_since_timestamp_seconds", "job") == "1795235041");
  CHECK(of("paused", "job") == "1");
  CHECK(of("paused", "box") == "0");
  CHECK(of("monitored", "job") == "1");
  CHECK(of("exit_status", "job") == "3");
  CHECK(of("runs_total", "job") == "1");
  CHECK(of("cpu_ratio", "we\"b\\") == "0.125");
  CHECK(of("memory_bytes", "we\"b\\") == "1048576");
  CHECK(of("uptime_seconds", "we\"b\\") == "90");
  CHECK(of("cpu_ratio", "box") == "0.5");
  CHECK(of("memory_bytes", "box") == "2048");
  CHECK(of("load1", "box") == "0.75");
  CHECK(of("operation_duration_seconds", "disk") == "0.004");
  CHECK(of("size_bytes", "file") == "77");
  CHECK(of("modified_timestamp_seconds", "file") == "2000");
  CHECK(of("link_up", "net") == "1");
  CHECK(of("link_speed_bytes_per_second", "net") == "125000000");
  CHECK(metrics.value("healer_service_uploaded_bytes", {{"service", "net"}, {"window", "1 h"}}) == "99");
  const auto connection = [&](const std::string& name, const std::string& which) {
    return metrics.value("healer_service_" + name, {{"service", "host"}, {"connection", which}});
  };
  CHECK(connection("connection_up", "http localhost:80") == "1");
  CHECK(connection("connection_up", "http localhost:80 #2") == "0");
  CHECK(connection("connection_response_seconds", "http localhost:80") == "0.0025");
  CHECK(connection("certificate_expiry_timestamp_seconds", "http localhost:80") == "1800000000");
  CHECK(of("members", "all") == "1");
  CHECK(of("members_failed", "all") == "1");
}

TEST_CASE("What is measured of a service has a family of its own, with its unit in the name", "[metrics]") {
  const std::vector<web::ServiceFamily> families = web::service_families();
  const auto told = [&](Metric metric) {
    std::vector<std::string> names;
    // A fact of that metric alone, of every kind that has it.
    for (const CheckKind* kind : all_kinds()) {
      if (kind->find(metric) == nullptr) continue;
      World world(rule_set({of_kind("x", kind->word)}));
      Facts facts;
      facts.metrics.set(metric, 1);
      facts.further.edit().totals = {{metric, hours{1}, 1}};
      ServiceState state;
      state.last = std::make_shared<const Evidence>(Evidence{.facts = std::make_shared<const Facts>(facts)});
      for (const web::ServiceFamily& family : families) {
        std::string text;
        web::Exposition out(Format::Text);
        out.write_to(text);
        out.begin(family.family);
        const ServiceId id = world.id("x");
        if (!family.of || family.of(*kind))
          family.tell({*world.engine, id, world.engine->graph()->at(id), state, &facts, world.now}, out);
        const bool is_of_all = family.family.name.starts_with("healer_service_last_check") || !family.of;
        if (!text.empty() && !is_of_all) names.emplace_back(family.family.name);
      }
    }
    std::ranges::sort(names);
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
  };
  for (std::size_t i = 0; i < kMetrics; ++i) {
    const auto metric = static_cast<Metric>(i);
    const bool is_age = metric == Metric::AccessAge || metric == Metric::ModificationAge ||
                        metric == Metric::ChangeAge || metric == Metric::Age;  // told as times
    const bool is_known = std::ranges::any_of(all_kinds(), [&](auto* kind) { return kind->find(metric) != nullptr; });
    if (is_age || !is_known) continue;
    const std::vector<std::string> names = told(metric);
    INFO(words_of(metric) << " " << i);
    REQUIRE(names.size() == 1);
    const auto ends = [&](std::string_view unit) { return names[0].ends_with(unit); };
    switch (unit_of(metric)) {
      case Unit::Percent: CHECK(ends("_ratio")); break;
      case Unit::Bytes: CHECK(ends("_bytes")); break;
      case Unit::BytesPerSecond: CHECK(ends("_bytes_per_second")); break;
      case Unit::OperationsPerSecond:
      case Unit::PagesPerSecond: CHECK(ends("_per_second")); break;
      case Unit::Packets: CHECK(ends("_packets")); break;
      case Unit::PacketsPerSecond: CHECK(ends("_packets_per_second")); break;
      case Unit::Seconds:
      case Unit::Milliseconds: CHECK(ends("_seconds")); break;
      case Unit::Number:
      case Unit::Load: break;
    }
  }
}

TEST_CASE("A stream of series goes on after a reload, without services that are gone", "[metrics]") {
  std::vector<std::shared_ptr<ServiceBlock>> services;
  for (int i = 0; i < 50; ++i) services.push_back(service("s" + std::to_string(i), {}));
  DaemonWorld world(rule_set(services));
  std::string text;
  world.act([&](World& engine) {
    web::ServiceSeries stream(world.supervisor(), Format::Text, web::service_families(), [] {});
    while (text.size() < 300 && stream.pull(text, 100) == web::Stream::Next::More) {
    }
    services.resize(10);
    services.push_back(service("newcomer", {}));
    engine.handle(event::Swap{plan_swap(*engine.engine->graph(), rule_set(services))});
    while (stream.pull(text, 100) == web::Stream::Next::More) {
    }
  });
  const ReadMetrics metrics = read_metrics(text, Format::Text);
  CHECK(metrics.faults == std::vector<std::string>{});
  CHECK(metrics.value("healer_service_monitored", {{"service", "s9"}}) == "1");
  CHECK(metrics.value("healer_service_monitored", {{"service", "s30"}}) == "none");
  CHECK(metrics.value("healer_service_monitored", {{"service", "newcomer"}}) == "none");
}

TEST_CASE("/metrics?compat=monit speaks as monit_exporter does", "[metrics]") {
  static const protocols::ProbePlan kPlan{
      .host = "127.0.0.1", .port = 80, .protocol = protocols::find_protocol("http")};
  static const protocols::ProbePlan kSocket{
      .transport = protocols::Transport::Unix, .host = "/run/x.sock", .protocol = protocols::find_protocol("redis")};
  auto host = of_kind("h", "host");
  const auto shared = [](const protocols::ProbePlan& plan) { return Probe(std::shared_ptr<void>(), &plan); };
  host->probes = {shared(kPlan), shared(kSocket), shared(kPlan)};
  auto failed = of_kind("t", "program");
  failed->rules[0].key = Hash128{1, 1};
  WebWorld world(rule_set({host, failed, of_kind("p", "process"), of_kind("lo", "network")}), web::metrics_routes);
  world.daemon().act([&](World& engine) {
    engine.advance(seconds{1});
    engine.observe(engine.id("t"), 1);
  });
  see(world, "h", [](Facts& facts) {
    ConnectionSeen seen{.reach = Reach::Passed,
                        .name = "http 127.0.0.1:80",
                        .text = {},
                        .sentence = {},
                        .in_time = {},
                        .address = {},
                        .response = std::chrono::microseconds{280},
                        .expires = {}};
    ConnectionSeen none = seen;
    none.reach = Reach::Failed;
    facts.further.edit().connections = {seen, none, seen};
  });
  see(world, "p", [](Facts& facts) {
    facts.metrics.set(Metric::MemoryBytes, 4096);
    facts.metrics.set(Metric::TotalMemoryBytes, 8192);
    facts.metrics.set(Metric::Cpu, 1.5);
    facts.metrics.set(Metric::ReadRate, 7);
    facts.metrics.set(Metric::DiskReadRate, 5);
    facts.metrics.set(Metric::Uptime, 12);
  });
  see(world, "lo", [](Facts& facts) {
    facts.attributes.push_back({Attribute::Link, std::string("down")});
    facts.metrics.set(Metric::UploadRate, 1878);
  });
  const ReadMetrics metrics = metrics_of(world, "/metrics?compat=monit");
  CHECK(metrics.families.front().name == "monit_up");
  CHECK(metrics.value("monit_up") == "1");
  CHECK(metrics.value("monit_service_check", {{"check_name", "t"}, {"type", "program"}, {"monitored", "1"}}) ==
        "2097152");
  CHECK(metrics.value("monit_service_check", {{"check_name", "h"}, {"type", "host"}}) == "0");
  CHECK(metrics.value("monit_service_mem_bytes", {{"check_name", "p"}, {"type", "kilobyte"}}) == "4096");
  CHECK(metrics.value("monit_service_mem_bytes", {{"check_name", "p"}, {"type", "kilobyte_total"}}) == "8192");
  CHECK(metrics.value("monit_service_cpu_perc", {{"check_name", "p"}, {"type", "percentage"}}) == "1.5");
  CHECK(metrics.value("monit_service_read_bytes", {{"check_name", "p"}, {"type", "read_count"}}) == "5");
  CHECK(metrics.value("monit_service_uptime", {{"check_name", "p"}}) == "12");
  CHECK(metrics.value("monit_service_port_response_times", {{"check_name", "h"},
                                                            {"hostname", "127.0.0.1"},
                                                            {"path", ""},
                                                            {"port", "80"},
                                                            {"protocol", "HTTP"},
                                                            {"type", "TCP"},
                                                            {"uri", "tcp://127.0.0.1:80"}}) == "0.00028");
  CHECK(metrics.value("monit_service_port_response_times", {{"uri", "unix:///run/x.sock"}, {"type", "UNIX"}}) == "-1");
  CHECK(metrics.value("monit_service_network_link_state", {{"check_name", "lo"}}) == "0");
  CHECK(metrics.value("monit_service_network_link_statistics",
                      {{"check_name", "lo"}, {"direction", "upload"}, {"unit", "bytes"}, {"type", "now"}}) == "1878");
}

TEST_CASE("Each kind of event has a bit of its own in Monit's status", "[metrics]") {
  std::uint32_t all = 0;
  for (std::size_t i = 0; i < kEventKinds; ++i) {
    const std::uint32_t bit = web::status_bit(static_cast<EventKind>(i));
    CHECK(std::has_single_bit(bit));
    CHECK((all & bit) == 0);
    all |= bit;
  }
  // As Monit 5.33 writes it of services that stand failed so.
  CHECK(web::status_bit(EventKind::Resource) == 2);
  CHECK(web::status_bit(EventKind::Connection) == 32);
  CHECK(web::status_bit(EventKind::Permission) == 64);
  CHECK(web::status_bit(EventKind::NonExist) == 512);
  CHECK(web::status_bit(EventKind::Status) == 2'097'152);
  CHECK(web::status_bit(EventKind::Uptime) == 4'194'304);
  CHECK((web::status_bit(EventKind::ByteIn) | web::status_bit(EventKind::ByteOut)) == 201'326'592);
  CHECK((web::status_bit(EventKind::Exist) | web::status_bit(EventKind::Size) |
         web::status_bit(EventKind::Timestamp)) == 1'073'741'848);
}

TEST_CASE("A badge says how a service is, in words and colour", "[metrics]") {
  WebWorld world(rule_set({service("node1.example.org", {status_rule(Comparison::NotEqual, 0)})}), web::metrics_routes);
  world.daemon().cycle(0);
  const std::string path = "/badge/node1.example.org.svg";
  const web::Response good = world.get(path);
  CHECK(good.status == 200);
  CHECK(good.type == "image/svg+xml");
  CHECK(has(good.body, "<title>node1.example.org: running</title>"));
  CHECK(has(good.body, "#28753a"));
  CHECK(web::find(good.headers, "Cache-Control") == "no-cache");
  world.daemon().cycle(1);
  const web::Response bad = world.get(path);
  CHECK(has(bad.body, "<title>node1.example.org: failed</title>"));
  CHECK(has(bad.body, "#b3261e"));
  const auto tag = web::find(bad.headers, "ETag");
  REQUIRE(tag);
  CHECK(tag != web::find(good.headers, "ETag"));
  const web::Response same = ask(world, path, Format::Text, {{"If-None-Match", "\"x\", W/" + std::string(*tag)}});
  CHECK(same.status == 304);
  CHECK(same.body.empty());
  world.daemon().act([&](World& engine) { pause(engine, "node1.example.org", {}); });
  CHECK(has(world.get(path).body, ": failed, paused</title>"));
  CHECK(has(world.get(path + "?label=<a>&b=1").body, "<title>&lt;a&gt;: failed, paused</title>"));
  CHECK(world.get("/badge/other.svg").status == 404);
  CHECK(world.get("/badge/node1.example.org").status == 404);
}

TEST_CASE("A label of a badge may be anything", "[metrics]") {
  const std::string odd = web::badge("\x01<script>\"'&\xFF\xEF\xBF\xBE", "failed", "failed");
  CHECK(has(odd, "?&lt;script&gt;&quot;&#39;&amp;??"));
  CHECK(std::ranges::none_of(odd, [](char c) { return (c > 0 && c < ' ' && c != '\n') || c == '\x7f'; }));
  const std::string longest = web::badge(std::string(10'000, 'x'), "running", "running");
  CHECK(longest.size() < 2'000);
  CHECK(has(longest, "x\xE2\x80\xA6"));
  CHECK(has(web::badge("", "running", "running"), "<title>running</title>"));
}

}  // namespace metrics_test
