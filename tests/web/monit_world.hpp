// SPDX-License-Identifier: MIT
// Monit's interface over rules of the language, without a server.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "config/check.hpp"
#include "config/load.hpp"
#include "support/fake_environment.hpp"
#include "web/monit/routes.hpp"
#include "web/web_world.hpp"

namespace healer::test {

/// The rules that a text says, with a poll of 10 seconds.
inline RuleSet rules_of(const std::string& text) {
  FakeEnvironment machine;
  machine.files["/rules"] = "set daemon 10\n" + text;
  config::LoadResult loaded = config::load("/rules", {}, machine);
  INFO(config::format_all(loaded.diagnostics, loaded.sources, false));
  REQUIRE(loaded.ok());
  return std::move(*loaded.rules);
}

/// All routes of Monit's interface.
inline std::vector<web::Route> all_of_monit(const web::Backend& backend) {
  std::vector<web::Route> routes = web::monit::monit_routes(backend);
  for (web::Route& page : web::monit::monit_pages(backend)) routes.push_back(std::move(page));
  return routes;
}

/// What stands between two words, the first time; empty where they do not.
inline std::string between(const std::string& text, const std::string& from, const std::string& to) {
  const std::size_t begin = text.find(from);
  if (begin == std::string::npos) return {};
  const std::size_t end = text.find(to, begin + from.size());
  return text.substr(begin + from.size(), end - begin - from.size());
}

/// The element of a service in the XML.
inline std::string service_in(const std::string& xml, const std::string& name) {
  const std::size_t at = xml.find("<name>" + name + "</name>");
  if (at == std::string::npos) return {};
  const std::size_t begin = xml.rfind("<service ", at);
  return xml.substr(begin, xml.find("</service>", at) - begin);
}

/// A text without the codes of a terminal.
inline std::string plain(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\033')
      i = text.find('m', i);
    else
      out += text[i];
  }
  return out;
}

/// The look at a service that is under way finds that.
inline void see(World& world, std::string_view name, Evidence evidence) {
  const ServiceId id = world.id(name);
  if (!evidence.output) evidence.output = std::make_shared<const std::string>();
  const auto open = std::ranges::find(world.open, id, &effect::Measure::service);
  REQUIRE(open != world.open.end());
  const RunId run = open->run;
  world.open.erase(open);
  world.handle(event::measured(id, run, std::move(evidence)));
}

}  // namespace healer::test
