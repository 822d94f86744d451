// SPDX-License-Identifier: MIT
// Monit's forms, and what they do.
#include <set>

#include "util/text.hpp"
#include "web/monit_world.hpp"

using namespace healer;
using namespace healer::test;

namespace {

const std::string kActRules = R"(
check process web with pidfile /run/web.pid
  start program = "/bin/x start secret-argument" as uid www with timeout 10 seconds
  stop program = "/bin/true"
  depends on db
check program db with path /bin/true
  if status != 0 then alert
)";

struct Asked {
  engine::event::Command::Kind kind{};
  std::vector<std::string> names;
  std::string by;
};

class Monit {
 public:
  explicit Monit(const std::string& rules = kActRules) : web_(rules_of(rules), all_of_monit) {
    web_.daemon().on_submit = [this](const event::Command& command) {
      asked_.push_back({command.kind, {}, {}});
      for (const ServiceId id : command.services) asked_.back().names.push_back(names_.at(id.index()));
      asked_.back().by = std::get<engine::ByPerson>(command.by).name;
      web_.daemon().reply({.command = command.id, .ok = accepts_, .text = "why not"});
      return true;
    };
    web_.daemon().act([this](World& world) {
      for (const auto& slot : world.engine->graph()->slots) names_.push_back(slot->name);
    });
  }
  WebWorld& web() { return web_; }
  std::vector<Asked>& asked() { return asked_; }
  void refuse() { accepts_ = false; }

 private:
  WebWorld web_;
  std::vector<Asked> asked_;
  std::vector<std::string> names_;
  bool accepts_ = true;
};

std::string location(const web::Response& response) {
  return std::string(web::find(response.headers, "Location").value_or(""));
}

}  // namespace

TEST_CASE("An action that is posted to a service is done in the name of whoever asks", "[monit]") {
  Monit monit;
  using Kind = event::Command::Kind;
  for (const auto& [action, kind] :
       {std::pair("start", Kind::Start), std::pair("stop", Kind::Stop), std::pair("restart", Kind::Restart),
        std::pair("monitor", Kind::Monitor), std::pair("unmonitor", Kind::Unmonitor)}) {
    const web::Response response = monit.web().post("/WEB", {{"securitytoken", "x"}, {"action", action}});
    CHECK(response.status == 302);
    CHECK(location(response) == "web");
    REQUIRE_FALSE(monit.asked().empty());
    CHECK(monit.asked().back().kind == kind);
    CHECK(monit.asked().back().names == std::vector<std::string>{"web"});
    CHECK(monit.asked().back().by == "admin");
  }
  const std::size_t before = monit.asked().size();
  CHECK(monit.web().post("/web", {{"action", "explode"}}).status == 400);
  CHECK(monit.web().post("/nobody", {{"action", "start"}}).status == 404);
  CHECK(monit.web().post("/web", {}).status == 302);
  CHECK(monit.web().get("/web?action=stop").status == 200);
  CHECK(monit.asked().size() == before);
}

TEST_CASE("An action names several services, also by an expression, or none of it is done", "[monit]") {
  Monit monit;
  const auto post = [&](web::Fields form) { return monit.web().post("/_doaction", std::move(form)); };
  CHECK(post({{"action", "monitor"}, {"service", "web"}, {"service", "DB"}}).status == 302);
  CHECK(monit.asked().back().names == std::vector<std::string>{"web", "db"});
  CHECK(post({{"action", "monitor"}, {"service", ".*"}}).status == 302);
  CHECK(monit.asked().back().names == std::vector<std::string>{"web", "db"});
  CHECK(monit.asked().size() == 2);
  const web::Response unknown = post({{"action", "monitor"}, {"service", "web"}, {"service", "z"}});
  CHECK(unknown.status == 400);
  CHECK(between(unknown.body, "</h2>", "<hr>") == "There is no service named \"z\"");
  CHECK(post({{"action", "x"}, {"service", "web"}}).status == 400);
  CHECK(post({{"action", "monitor"}}).status == 302);
  CHECK(monit.asked().size() == 2);
}

TEST_CASE("What healer refuses is told, and asked by who may not it is not done", "[monit]") {
  Monit monit;
  CHECK(monit.web().post("/web", {{"action", "start"}}, WebWorld::reader()).status == 403);
  CHECK(monit.asked().empty());
  monit.refuse();
  const web::Response refused = monit.web().post("/web", {{"action", "start"}});
  CHECK(refused.status == 400);
  CHECK(between(refused.body, "</h2>", "<hr>") == "why not");
}

TEST_CASE("A service with a slash in its name has a page and is acted on", "[monit]") {
  Monit monit(R"(
check process "a/b" with pidfile /run/web.pid
  start program = "/bin/true"
)");
  const std::string path = web::decoded_path("/a%2Fb");
  CHECK(monit.web().get(path).body.find("<form method='POST' action='a%2Fb'>") != std::string::npos);
  CHECK(location(monit.web().post(path, {{"action", "start"}})) == "a%2Fb");
  CHECK(monit.asked().back().names == std::vector<std::string>{"a/b"});
}

TEST_CASE("A restart is answered when it has begun, and shown as Monit shows it", "[monit]") {
  WebWorld web(rules_of(R"(
check process web with pidfile /run/web.pid
  start program = "/bin/true start"
  stop program = "/bin/true stop web"
  depends on db
check process db with pidfile /run/db.pid
  start program = "/bin/true start"
  stop program = "/bin/true stop db"
)"),
               all_of_monit);
  const auto said = [&](const std::string& name) {
    return std::string(trim(between(plain(web.get("/_status?service=" + name).body), "status ", "\n")));
  };
  std::set<std::string> up{"web", "db"};
  const auto look_at_all = [&](World& world) {
    while (!world.open.empty()) {
      const std::string name = world.engine->graph()->at(world.open.front().service).name;
      engine::Facts facts;
      facts.process = engine::ProcessFacts{.pid = name == "web" ? 41 : 42, .parent = 1, .start_ticks = 7};
      if (up.contains(name))
        see(world, name, {.facts = std::make_shared<const engine::Facts>(std::move(facts))});
      else
        see(world, name, {.answer = engine::Answer::Absent});
    }
  };
  web.daemon().act([&](World& world) {
    world.advance(seconds{20});
    look_at_all(world);
  });
  REQUIRE(said("db") == "OK");
  CHECK(web.post("/db", {{"action", "restart"}}).status == 302);
  CHECK(said("db") == "OK - restart pending");
  CHECK(said("web") == "OK");  // it is restarted for the sake of db
  // Both are stopped; the first start is under way.
  web.daemon().act([&](World& world) {
    std::size_t done = 0;
    for (int turns = 0; turns < 100; ++turns) {
      look_at_all(world);
      for (; done < world.execs.size(); ++done) {
        const effect::Exec exec = world.execs[done];
        if (exec.command.arguments.size() != 3) return;
        up.erase(exec.command.arguments[2]);
        world.handle(event::ActionStarted{exec.action, 4000});
        world.handle(event::ActionEnded{.action = exec.action});
      }
      world.advance(milliseconds{100});
    }
  });
  CHECK(up.empty());
  CHECK(said("db") == "Initializing - restart pending");
  CHECK(said("web") == "Initializing");
  CHECK(service_in(web.get("/_status?format=xml").body, "db").find("<monitor>2</monitor>") != std::string::npos);
}

TEST_CASE("Validate looks at everything at once", "[monit]") {
  Monit monit;
  const web::Response response = monit.web().post("/_runtime", {{"action", "validate"}});
  CHECK(response.status == 302);
  CHECK(location(response) == "_runtime");
  REQUIRE(monit.asked().size() == 1);
  CHECK(monit.asked().back().kind == event::Command::Kind::Validate);
  CHECK(monit.asked().back().names == std::vector<std::string>{"web", "db"});
  CHECK(monit.web().post("/_runtime", {{"action", "stop"}}).status == 400);
  CHECK(monit.web().post("/_runtime", {}).status == 200);
  CHECK(monit.asked().size() == 1);
}

TEST_CASE("A service's page has Monit's forms for who may act, and no argument of a program", "[monit]") {
  Monit monit;
  const std::string page = monit.web().get("/web").body;
  for (const std::string action : {"start", "stop", "restart", "unmonitor"})
    CHECK(page.find("<form method='POST' action='web'><input type='hidden' name='securitytoken' value='token'>"
                    "<input type='hidden' name='action' value='" +
                    action + "'>") != std::string::npos);
  CHECK(page.find("value='monitor'") == std::string::npos);
  CHECK(page.find("<td>Start program</td><td>&#39;/bin/x&#39; as uid 33 timeout 10 s</td>") != std::string::npos);
  CHECK(page.find("<a href='db'>db</a>") != std::string::npos);
  CHECK(page.find("secret-argument") == std::string::npos);
  CHECK(monit.web().get("/web", WebWorld::reader()).body.find("<form") == std::string::npos);
  CHECK(monit.web().get("/_runtime", WebWorld::reader()).body.find("<form") == std::string::npos);
  CHECK(monit.web().get("/_runtime").body.find("action='_viewlog'") != std::string::npos);
  const std::string list = monit.web().get("/").body;
  CHECK(list.find("<a href='web'>web</a>") != std::string::npos);
  CHECK(list.find("<a href='_runtime'>running</a>") != std::string::npos);
}

TEST_CASE("Only admins act or see the log, by the table of routes", "[monit]") {
  Monit monit;
  monit.web().daemon().act([&](World&) {
    for (const web::Route& route : all_of_monit({monit.web().daemon().supervisor(), monit.web().daemon().commands()})) {
      const bool acts = route.method == web::Method::Post &&
                        (route.pattern == "/{name}" || route.pattern == "/_doaction" || route.pattern == "/_runtime");
      INFO(route.pattern);
      CHECK((route.least == control::Least::Admin) == (acts || route.pattern == "/_viewlog"));
      CHECK(route.protection == web::Protection::Token);
    }
  });
}

TEST_CASE("Nothing that comes from rules or programs is markup", "[monit]") {
  const std::string bad = "<script>'\"&";
  Monit monit(
      "check program \""
      "<script>'&"
      "\" with path /bin/true\n  group \"g<b>\"\n  if status != 0 then alert\n"
      "  if content = \"<i>\" then alert\n");
  monit.web().daemon().act([&](World& world) {
    world.advance(seconds{20});
    see(world, "<script>'&", {.status = 1, .output = std::make_shared<std::string>(bad + "\x01")});
  });
  for (const std::string path : {"/", "/<script>'&", "/_summary", "/_runtime"}) {
    INFO(path);
    const web::Response response = monit.web().get(path);
    CHECK(response.status == 200);
    if (response.type.starts_with("text/html")) CHECK(response.body.find("<script>") == std::string::npos);
    CHECK(response.body.find("<i>") == std::string::npos);
  }
  const std::string page = monit.web().get("/<script>'&").body;
  CHECK(page.find("<td>Name</td><td>&lt;script&gt;&#39;&amp;</td>") != std::string::npos);
  CHECK(page.find("action='%3Cscript%3E%27%26'") != std::string::npos);
  CHECK(page.find("<pre>&lt;script&gt;&#39;&quot;&amp;?</pre>") != std::string::npos);
  const std::string xml = monit.web().get("/_status?format=xml").body;
  CHECK(xml.find("<name>&lt;script&gt;&#39;&amp;</name>") != std::string::npos);
  CHECK(xml.find("<![CDATA[<script>'\"&?]]>") != std::string::npos);
  const web::Response unknown = monit.web().get("/<b>");
  CHECK(unknown.status == 404);
  CHECK(unknown.body.find("There is no service named \"&lt;b&gt;\"") != std::string::npos);
}
