// SPDX-License-Identifier: MIT
#include "healerctl_ask.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include <spdlog/fmt/fmt.h>
#include <nlohmann/json.hpp>

#include "control/client.hpp"
#include "control/render.hpp"
#include "control/views.hpp"
#include "store/sqlite_store.hpp"
#include "util/text.hpp"

namespace healer {
namespace {

using control::Client;
using control::DaemonView;
using control::Done;
using control::Failure;
using control::Json;
using control::RecordView;
using control::Request;
using control::Totals;
using control::Verb;

constexpr Duration kQuitPatience = minutes{2};

std::string_view list_name(Verb verb) { return verb == Verb::History ? "records" : "services"; }

/// Prints what a reading command is answered, as it comes.
class Listing {
 public:
  Listing(const Request& request, Output& output) : request_(request), output_(output) {}

  void head(const Json& header) {
    header_ = header;
    if (output_.json() && !request_.follow) output_.open_list(header, list_name(request_.verb));
    if (!output_.json() && request_.verb == Verb::Status)
      output_.print(render_daemon(header.at("daemon").get<DaemonView>(), output_.style()));
  }

  void item(const Json& json) {
    if (output_.json()) return json_item(json);
    const control::Style style = output_.style();
    switch (request_.verb) {
      case Verb::Summary: rows_.push_back(json.get<control::ServiceSummary>()); break;
      case Verb::Status: output_.print("\n" + render_status(json.get<control::ServiceStatus>(), style)); break;
      case Verb::Explain:
        output_.print((std::exchange(first_, false) ? "" : "\n") +
                      render_explanation(json.get<control::ServiceExplanation>(), style));
        break;
      default: output_.print(render_record(json.get<RecordView>(), style));
    }
    if (request_.follow) output_.flush();
  }

  void end(const Json& end) {
    if (request_.follow) return followed(end.get<Done>());
    const bool counted = request_.verb == Verb::Status || request_.verb == Verb::Summary;
    if (counted) totals_ = end.get<Totals>();
    if (output_.json()) return output_.close_list(counted ? Json{{"totals", end}} : Json::object());
    const control::Style style = output_.style();
    if (request_.verb == Verb::Summary)
      output_.print(render_summary(header_.at("daemon").get<DaemonView>(), rows_, totals_, style));
    if (request_.verb == Verb::Status) output_.print("\n" + render_totals(totals_, style));
  }

  [[nodiscard]] const Totals& totals() const { return totals_; }

 private:
  void json_item(const Json& json) {
    if (!request_.follow) return output_.item(json);
    output_.print(control::to_line(json) + "\n");  // a document that never ends would be of no use
    output_.flush();
  }

  /// The daemon has ended. A document a line needs no last word, nor does a file.
  void followed(const Done& done) {
    if (!output_.json() && output_.style().width != 0) output_.print(printable(done.text) + "\n");
  }

  const Request& request_;
  Output& output_;
  Json header_;
  bool first_ = true;
  std::vector<control::ServiceSummary> rows_;
  Totals totals_;
};

int show_done(const Json& header, const Done& done, Output& output) {
  if (output.json()) {
    Json document = header;
    document.update(Json(done));
    output.print(control::to_line(document) + "\n");
  } else {
    std::string_view rest = trim(done.text);  // a reload's has diagnostics of several lines
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      output.print(printable(rest.substr(0, end)) + "\n");
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return output.finish(done.ok ? kExitDone : kExitFailed);
}

/// The history that a state file holds, without a daemon.
int read_state(const std::string& path, const Request& request, Output& output) {
  auto reader = store::open_read_only(path);
  if (!reader) return output.fail({"state", reader.error().what, ""});
  store::HistoryQuery query;
  if (!request.names.empty()) query.service = request.names.front();
  if (request.since) query.since = output.style().now - *request.since;
  query.limit = request.limit != 0 ? request.limit : request.since ? control::kMaxRecords : 100;
  const auto records = (*reader)->history(query);
  if (!records) return output.fail({"state", fmt::format("cannot read the history: {}", records.error().what), ""});
  Listing listing(request, output);
  listing.head({{"version", control::kWireVersion}, {"command", "history"}});
  for (const engine::Record& record : *records) listing.item(control::view_record(record));
  listing.end(Json::object());
  return output.finish(kExitDone);
}

int quit(Client& client, const Request& request, Output& output) {
  const control::Reply reply = client.call(request);
  if (!reply.ok()) return output.fail(*reply.failure);
  if (!client.wait_for_exit(kQuitPatience))
    return output.fail({"timeout", fmt::format("healerd has not ended after {}", format_duration(kQuitPatience)),
                        "it may wait for a program or a disk: look at its log"});
  return show_done(reply.header, {true, "healerd has ended"}, output);
}

}  // namespace

int ask(const std::string& socket, const Request& request, const AskOptions& options, Output& output) {
  if (!options.state_file.empty()) return read_state(options.state_file, request, output);
  auto connected = Client::connect(socket);
  if (const auto* failure = std::get_if<Failure>(&connected)) return output.fail(*failure);
  auto& client = std::get<Client>(connected);
  if (request.verb == Verb::Quit) return quit(client, request, output);

  if (control::acts(request.verb) || request.verb == Verb::Ping) {
    const control::Reply reply = client.call(request);
    if (!reply.ok()) return output.fail(*reply.failure);
    auto done = reply.end.get<Done>();
    if (request.verb == Verb::Ping) {
      const auto daemon = reply.header.at("daemon").get<DaemonView>();
      done.text = fmt::format("healerd {} answers, pid {}, up {}", daemon.version, daemon.pid,
                              format_duration(std::chrono::floor<seconds>(daemon.up)));
    }
    return show_done(reply.header, done, output);
  }

  Listing listing(request, output);
  const control::Reply reply = client.call(
      request, [&](const Json& item) { listing.item(item); }, [&](const Json& header) { listing.head(header); });
  if (!reply.ok()) return output.fail(*reply.failure);
  listing.end(reply.end);
  return output.finish(options.exit_code && listing.totals().failed > 0 ? kExitFailed : kExitDone);
}

}  // namespace healer
