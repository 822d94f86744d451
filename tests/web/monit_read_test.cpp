// SPDX-License-Identifier: MIT
// What Monit's interface is read for: text, XML, counts and pages.
#include "web/monit_world.hpp"

using namespace healer;
using namespace healer::test;

namespace {

const std::string kReadRules = R"(
set httpd port 2812 address 127.0.0.1 allow admin:monit
check process web with pidfile /run/web.pid
  group front
  if failed port 80 protocol http request "/a?b=<c>" then alert
  if failed port 443 protocol https then alert
  if cpu > 80% for 3 cycles then alert
check file conf with path /etc/conf
  group front
  if failed md5 checksum then alert
  if size > 10 bytes then alert
  if content = "a<b" then alert
check program ok with path /bin/true
  every 3 cycles
  if status != 0 then alert
check program cron with path /bin/true
  every "0 0 1 1 *"
  if status != 0 then alert
check host node with address 10.0.0.1
  if failed ping then alert
check network lan with interface eth0
)";

WebWorld monit_world(const std::string& rules) { return WebWorld(rules_of(rules), all_of_monit); }

std::shared_ptr<const engine::Facts> file_facts() {
  engine::Facts facts;
  facts.path = engine::PathFacts{.uid = 5,
                                 .gid = 6,
                                 .permission = 0644,
                                 .has_size = true,
                                 .size = 2048,
                                 .accessed = 1'795'235'001,
                                 .modified = 1'795'235'002,
                                 .changed = 1'795'235'003,
                                 .seen = 1'795'235'040,
                                 .links = 2};
  facts.attributes.push_back({engine::Attribute::Md5, std::string("b1946ac92492d2347c6235b4d2611184")});
  return std::make_shared<const engine::Facts>(std::move(facts));
}

std::shared_ptr<const engine::Facts> process_facts() {
  engine::Facts facts;
  facts.process = engine::ProcessFacts{.pid = 42, .parent = 1, .uid = 33, .euid = 34, .gid = 35, .start_ticks = 7};
  facts.metrics.set(engine::Metric::Cpu, 12.34);
  facts.metrics.set(engine::Metric::MemoryPercent, 1.5);
  facts.metrics.set(engine::Metric::MemoryBytes, 3 * 1024 * 1024 + 512 * 1024);
  facts.metrics.set(engine::Metric::Threads, 4);
  facts.metrics.set(engine::Metric::FileDescriptors, 10);
  facts.metrics.set(engine::Metric::FileDescriptorsPercent, 1);
  facts.metrics.set(engine::Metric::Uptime, 90'061);
  facts.metrics.set(engine::Metric::DiskReadRate, 100);
  std::vector<engine::ConnectionSeen> seen(2);
  seen[0] = {.reach = engine::Reach::Passed, .response = std::chrono::microseconds{30}};
  seen[1] = {.reach = engine::Reach::Failed};
  facts.further.set(&engine::FurtherFacts::connections, Few<engine::ConnectionSeen>(std::move(seen)));
  return std::make_shared<const engine::Facts>(std::move(facts));
}

/// All of them have been looked at once; "ok" has failed.
void look(WebWorld& web) {
  web.daemon().act([](World& world) {
    world.advance(seconds{20});
    see(world, "web", {.facts = process_facts()});
    see(world, "conf", {.matches = 1, .facts = file_facts()});
    see(world, "ok",
        {.status = 2, .elapsed = seconds{2}, .output = std::make_shared<std::string>("err\nout ]]> <b>\n")});
    std::vector<engine::ConnectionSeen> ping(1);
    ping[0] = {.reach = engine::Reach::Passed, .response = std::chrono::microseconds{1500}};
    engine::Facts facts;
    facts.further.set(&engine::FurtherFacts::connections, Few<engine::ConnectionSeen>(std::move(ping)));
    see(world, "node", {.facts = std::make_shared<const engine::Facts>(std::move(facts))});
    engine::Facts lan;
    lan.attributes.push_back({engine::Attribute::Link, std::string("up")});
    lan.attributes.push_back({engine::Attribute::LinkErrors, std::string("2 download errors detected")});
    lan.metrics.set(engine::Metric::DownloadRate, 1536);
    see(world, "lan", {.facts = std::make_shared<const engine::Facts>(std::move(lan))});
  });
}

}  // namespace

TEST_CASE("Monit's XML tells of the server, the platform and each kind of service", "[monit]") {
  WebWorld web = monit_world(kReadRules);
  look(web);
  const web::Response response = web.get("/_status?format=xml&level=full");
  CHECK(response.type == "text/xml");
  const std::string& xml = response.body;
  CHECK(
      xml.starts_with("<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><monit><server><id>0123456789abcdef</id>"
                      "<incarnation>1795235040</incarnation><version>5.33.0</version><uptime>20</uptime>"
                      "<poll>10</poll><startdelay>0</startdelay><localhostname>box</localhostname>"
                      "<controlfile>/rules</controlfile><httpd><address>127.0.0.1</address><port>2812</port>"
                      "<ssl>0</ssl></httpd></server><platform><name>Linux</name><release>6.1.0</release>"
                      "<version>#1 SMP</version><machine>x86_64</machine><cpu>2</cpu><memory>2000000</memory>"
                      "<swap>1000</swap></platform><service type=\"3\"><name>web</name>"));
  CHECK(xml.ends_with("</service></monit>"));
  const std::string process = service_in(xml, "web");
  CHECK(process.find("<status>32</status><status_hint>0</status_hint><monitor>1</monitor><monitormode>0</monitormode>"
                     "<onreboot>0</onreboot><pendingaction>0</pendingaction><pid>42</pid><ppid>1</ppid><uid>33</uid>"
                     "<euid>34</euid><gid>35</gid><uptime>90061</uptime><threads>4</threads><memory>"
                     "<percent>1.5</percent><kilobyte>3584</kilobyte></memory><cpu><percent>12.3</percent></cpu>"
                     "<filedescriptors><open>10</open><limit><soft>1000</soft></limit></filedescriptors>"
                     "<read><bytes><count>100</count></bytes></read><port>") != std::string::npos);
  CHECK(process.find("<port><hostname>localhost</hostname><portnumber>443</portnumber><request><![CDATA[]]></request>"
                     "<protocol>HTTP</protocol><type>TCP</type><responsetime>-1.000000</responsetime>"
                     "<certificate><valid>0</valid></certificate></port>"
                     "<port><hostname>localhost</hostname><portnumber>80</portnumber>") != std::string::npos);
  CHECK(process.find("<responsetime>0.000030</responsetime></port>") != std::string::npos);
  const std::string file = service_in(xml, "conf");
  CHECK(file.find("<status>32784</status><status_hint>32768</status_hint>") != std::string::npos);  // size and content
  CHECK(
      file.ends_with("<mode>644</mode><uid>5</uid><gid>6</gid><timestamps><access>1795235001</access>"
                     "<change>1795235003</change><modify>1795235002</modify></timestamps><size>2048</size>"
                     "<checksum type=\"MD5\">b1946ac92492d2347c6235b4d2611184</checksum>"));
  const std::string program = service_in(xml, "ok");
  CHECK(program.find("<status>2097152</status>") != std::string::npos);
  CHECK(program.find("<every><type>2</type><counter>") != std::string::npos);
  CHECK(program.find("<program><started>1795235058</started><status>2</status>"
                     "<output><![CDATA[err\nout ]]&gt; <b>]]></output></program>") != std::string::npos);
  const std::string cron = service_in(xml, "cron");
  CHECK(cron.find("<monitor>6</monitor>") != std::string::npos);
  CHECK(cron.ends_with("<every><type>3</type><cron>0 0 1 1 *</cron></every>"));
  CHECK(service_in(xml, "node").ends_with("<icmp><type>Ping</type><responsetime>0.001500</responsetime></icmp>"));
  CHECK(service_in(xml, "lan")
            .ends_with("<link><state>1</state><speed>-1</speed><duplex>-1</duplex><download><packets><now>0</now></"
                       "packets><bytes>"
                       "<now>1536</now></bytes><errors><now>2</now></errors></download><upload><packets><now>0</now></"
                       "packets><bytes>"
                       "<now>0</now></bytes><errors><now>0</now></errors></upload></link>"));
  // As in Monit, the other form has names as attributes, and groups.
  const std::string second = web.get("/_status2?format=xml").body;
  CHECK(second.find("<monit id=\"0123456789abcdef\" incarnation=\"1795235040\" version=\"5.33.0\"><server><uptime>") !=
        std::string::npos);
  CHECK(second.find("<services><service name=\"web\"><type>3</type>") != std::string::npos);
  CHECK(
      second.ends_with("</services><servicegroups><servicegroup name=\"front\"><service>web</service>"
                       "<service>conf</service></servicegroup></servicegroups></monit>"));
}

TEST_CASE("With `set monit 6` the XML is that of Monit 6, and a rule that only counts yet is shown", "[monit]") {
  WebWorld web = monit_world("set monit 6\n" + kReadRules +
                             "check file soft with path /etc/soft\n  if size > 10 bytes for 5 cycles then alert\n");
  look(web);
  web.daemon().act([](World& world) { see(world, "soft", {.facts = file_facts()}); });
  const std::string xml = web.get("/_status?format=xml").body;
  CHECK(xml.find("<version>6.0.0</version>") != std::string::npos);
  const std::string soft = service_in(xml, "<![CDATA[soft]]>");
  CHECK(soft.find("<status>16</status>") != std::string::npos);
  CHECK(soft.find("<size>2048</size><hardlink>2</hardlink>") != std::string::npos);
  CHECK(plain(web.get("/_status?service=soft").body).find("  hardlink                     2\n") != std::string::npos);
}

TEST_CASE("Monit's status text is that of its client, line by line", "[monit]") {
  WebWorld web = monit_world(kReadRules);
  look(web);
  const web::Response process = web.get("/_status?service=WEB");
  CHECK(process.type == "text/plain");
  CHECK(
      process.body.starts_with("Monit 5.33.0 uptime: 0m\n\n\033[1;36mProcess 'web'\033[0m\n"
                               "  status                       \033[0;91mConnection failed\033[0m\n"
                               "  monitoring status            Monitored\n"
                               "  monitoring mode              active\n"
                               "  on reboot                    start\n"
                               "  pid                          \033[0;39m42\033[0m\n"));
  const std::string text = plain(process.body);
  CHECK(text.find("  uptime                       1d 1h 1m\n") != std::string::npos);
  CHECK(text.find("  memory                       1.5% [3.5 MB]\n") != std::string::npos);
  CHECK(text.find("  filedescriptors              10 [1.0% of 1000 limit]\n") != std::string::npos);
  CHECK(text.find("  port response time           FAILED to [localhost]:443 type TCP/IP using TLS protocol HTTP\n"
                  "  port response time           0.030 ms to localhost:80") != std::string::npos);
  CHECK(text.ends_with("  data collected               Sat, 21 Nov 2026 04:24:20\n\n"));
  const std::string file = plain(web.get("/_status?service=conf").body);
  CHECK(file.find("  status                       Content match | Size failed\n") != std::string::npos);
  CHECK(file.find("  permission                   644\n") != std::string::npos);
  CHECK(file.find("  size                         2 kB\n") != std::string::npos);
  CHECK(file.find("  content match                yes\n"
                  "  checksum                     b1946ac92492d2347c6235b4d2611184 (MD5)\n") != std::string::npos);
  const std::string program = plain(web.get("/_status?service=ok").body);
  CHECK(program.find("  last exit value              2\n  last output                  err\n"
                     "                               out ]]> <b>\n") != std::string::npos);
  CHECK(plain(web.get("/_status?service=cron").body).find("  status                       Waiting\n") !=
        std::string::npos);
  CHECK(plain(web.get("/_status?service=lan").body)
            .find("  link                         2 errors\n"
                  "  download bytes               1.5 kB/s\n") != std::string::npos);
  // What Monit's client asks it posts.
  CHECK(web.post("/_status", {{"format", "text"}, {"service", "web"}}).body == process.body);
}

TEST_CASE("Services are named in any case, by an expression that is the whole name, or by a group", "[monit]") {
  WebWorld web = monit_world(kReadRules);
  const auto names = [&](const std::string& query) {
    std::string all;
    const std::string text = plain(web.get("/_status?" + query).body);
    for (std::size_t at = 0; (at = text.find(" '", at)) != std::string::npos; ++at)
      all += text.substr(at + 2, text.find('\'', at + 2) - at - 2) + " ";
    return all;
  };
  CHECK(names("service=Conf") == "conf ");
  CHECK(names("service=co.*") == "conf ");
  CHECK(names("service=c.*") == "conf cron ");
  CHECK(names("service=web|ok") == "web ok ");
  CHECK(names("group=FRONT") == "web conf ");
  for (const std::string query : {"service=co", "service=(", "service=c.{1,9}", "service=(.)\\1", "service="})
    CHECK(web.get("/_status?" + query).status == (query == "service=" ? 200 : 400));
  const web::Response unknown = web.get("/_summary?service=no<b>");
  CHECK(unknown.status == 400);
  CHECK(between(unknown.body, "</h2>", "<hr>") == "Service 'no&lt;b&gt;' not found");
  CHECK(between(web.get("/_status?group=zz").body, "</h2>", "<hr>") == "Service group 'zz' not found");
}

TEST_CASE("The summary is a table in the order of the kinds, and the report counts as Monit", "[monit]") {
  WebWorld web = monit_world(
      "check program first with path /bin/true if status != 0 then alert\n"
      "check file a_name_that_is_longer_than_its_column with path /a\n"
      "check process p with pidfile /p.pid\n");
  const std::string text = plain(web.get("/_summary").body);
  CHECK(
      text.starts_with("Monit 5.33.0 uptime: 0m\n┌─────────────────────────────────┬────────────────────────────┬"
                       "───────────────┐\n"
                       "│ Service Name                    │ Status                     │ Type          │\n├"));
  CHECK(text.find("│ p                               │ Initializing               │ Process       │\n") !=
        std::string::npos);
  CHECK(text.find("│ a_name_that_is_longer_than_i... │ Initializing               │ File          │\n") !=
        std::string::npos);
  CHECK(text.find("│ p ") < text.find("│ a_name"));
  CHECK(text.find("│ a_name") < text.find("│ first"));
  CHECK(web.get("/_report").body ==
        "up:             0 (0.0%)\ndown:           0 (0.0%)\ninitialising:   3 (100.0%)\nunmonitored:    0 (0.0%)\n"
        "total:          3 services\n");
  CHECK(web.get("/_report?type=initialising").body == "3\n");
  CHECK(web.post("/_report", {{"type", "total"}}).body == "3\n");
  CHECK(web.get("/_report?type=x").status == 400);
}

TEST_CASE("The small answers of Monit's interface", "[monit]") {
  WebWorld web = monit_world(kReadRules);
  CHECK(web.get("/_ping").body == "pong");
  CHECK(web.get("/_getid").body == "0123456789abcdef");
  CHECK(web.get("/_about").body.find("healer 1.2.3") != std::string::npos);
  const web::Response icon = web.get("/favicon.ico");
  CHECK(icon.type == "image/x-icon");
  CHECK(icon.body.size() == 22 + 40 + 16 * 16 * 4 + 16 * 4);
  const std::string runtime = web.get("/_runtime").body;
  CHECK(runtime.find("<td>Poll time</td><td>10 seconds with start delay 0 seconds</td>") != std::string::npos);
  CHECK(runtime.find("<td>Limit for check program timeout</td><td>5 m</td>") != std::string::npos);
  CHECK(runtime.find("<td>httpd auth. style</td><td>Basic Authentication</td>") != std::string::npos);
}

TEST_CASE("Monit's log page shows what was read, or why nothing was", "[monit]") {
  WebWorld web = monit_world(kReadRules);
  CHECK(web.get("/_viewlog").body.find("<b>Cannot view logfile:</b> there is no log file") != std::string::npos);
  web.daemon().on_read_log = [](std::size_t most, const control::Supervisor::LogRead& done) {
    CHECK(most == 1U << 20);
    done(std::string("one </textarea><script>alert(1)</script>\n"));
  };
  CHECK(between(web.get("/_viewlog").body, "readonly>\n", "</textarea>") ==
        "one &lt;/textarea&gt;&lt;script&gt;alert(1)&lt;/script&gt;\n");
}

TEST_CASE("A document of many services comes in parts, and leaves out those that a reload takes", "[monit]") {
  std::string rules;
  for (int i = 0; i < 1200; ++i)
    rules += "check program s" + std::to_string(i) + " with path /bin/true if status != 0 then alert\n";
  WebWorld web = monit_world(rules);
  web.daemon().act([&](World&) {
    web::Router router;
    router.add(web::monit::monit_routes({web.daemon().supervisor(), web.daemon().commands()}));
    const web::Request request{.path = "/_status", .query = {{"format", "xml"}}};
    const auto match = router.find(web::Method::Get, "/_status");
    const control::Asker who = WebWorld::reader();
    web::Reply reply =
        std::get<web::Router::Found>(match).route->handle({.request = request, .who = who, .wake = [] {}});
    web::Stream& stream = *std::get<web::Response>(reply).stream;
    std::string all;
    int parts = 0;
    for (auto next = web::Stream::Next::More; next == web::Stream::Next::More; ++parts) {
      std::string part;
      next = stream.pull(part, 16'384);
      CHECK(part.size() < 32'768);
      all += part;
    }
    CHECK(parts > 10);
    CHECK(all.find("<name>s1199</name>") != std::string::npos);
    CHECK(all.ends_with("</monit>"));
  });
}
