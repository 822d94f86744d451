// SPDX-License-Identifier: MIT
// check network NAME with interface NAME, or with address IP: whether its link is up, what it can carry and what it
// does. The sentences are those of Monit 5.33.
#include <algorithm>
#include <array>

#include "engine/rules/service.hpp"

namespace healer::checks {

using namespace engine;

namespace {

/// How full the link is, one way or both.
constexpr Quantity saturation(Metric metric, std::string_view shown, std::string_view matched,
                              std::string_view succeeded) {
  return {.metric = metric,
          .words = "saturation",
          .sentence = {.matched = matched, .succeeded = succeeded},
          .shown = shown,
          .event = EventKind::Saturation};
}

constexpr Quantity traffic(Metric metric, std::string_view words, EventKind event, std::string_view matched,
                           std::string_view succeeded) {
  return {.metric = metric, .words = words, .sentence = {.matched = matched, .succeeded = succeeded}, .event = event};
}

constexpr std::array kQuantities{
    saturation(Metric::Saturation, "saturation",
               "link saturation of {amount} matches limit [saturation {sign} {limit}]",
               "link saturation check succeeded [current saturation {amount}]"),
    saturation(Metric::UploadSaturation, "upload saturation",
               "link upload saturation of {amount} matches limit [saturation {sign} {limit}]",
               "link upload saturation check succeeded [current upload saturation {amount}]"),
    saturation(Metric::DownloadSaturation, "download saturation",
               "link download saturation of {amount} matches limit [saturation {sign} {limit}]",
               "link download saturation check succeeded [current download saturation {amount}]"),
    traffic(Metric::UploadRate, "upload", EventKind::ByteOut,
            "upload {amount} matches limit [upload rate {sign} {limit} in last 1 second]",
            "upload check succeeded [current upload rate {amount} in last 1 second]"),
    traffic(Metric::DownloadRate, "download", EventKind::ByteIn,
            "download {amount} matches limit [download rate {sign} {limit} in last 1 second]",
            "download check succeeded [current download rate {amount} in last 1 second]"),
    traffic(Metric::UploadPackets, "upload", EventKind::PacketOut,
            "upload packets {amount} matches limit [upload packets {sign} {limit} in last 1 second]",
            "upload packets check succeeded [current upload packets {amount} in last 1 second]"),
    traffic(Metric::DownloadPackets, "download", EventKind::PacketIn,
            "download packets {amount} matches limit [download packets {sign} {limit} in last 1 second]",
            "download packets check succeeded [current download packets {amount} in last 1 second]"),
    traffic(Metric::TotalUpload, "total upload", EventKind::ByteOut,
            "total upload {amount} matches limit [upload rate {sign} {limit} in last {span}]",
            "total upload check succeeded [current upload rate {amount} in last {span}]"),
    traffic(Metric::TotalDownload, "total download", EventKind::ByteIn,
            "total download {amount} matches limit [download rate {sign} {limit} in last {span}]",
            "total download check succeeded [current download rate {amount} in last {span}]"),
    traffic(Metric::TotalUploadPackets, "total upload", EventKind::PacketOut,
            "total upload packets {amount} matches limit [upload packets {sign} {limit} in last {span}]",
            "total upload packets check succeeded [current upload packets {amount} in last {span}]"),
    traffic(Metric::TotalDownloadPackets, "total download", EventKind::PacketIn,
            "total download packets {amount} matches limit [download packets {sign} {limit} in last {span}]",
            "total download packets check succeeded [current download packets {amount} in last {span}]"),
};

/// What the link can carry, in one word: `changed link` is a test of both.
constexpr AttributeRow capacity(Attribute attribute, Form form, std::string_view changed, std::string_view unchanged) {
  return {.attribute = attribute,
          .words = "link",
          .topic = "a link",
          .form = form,
          .changes = true,
          .event = EventKind::Speed,
          .sentence = {.changed = changed, .unchanged = unchanged},
          .recovers = true};
}

constexpr std::array kAttributes{capacity(Attribute::LinkMode, Form::Text, "link mode is now {now}-duplex",
                                          "link mode has not changed since last cycle [current mode is {now}-duplex]"),
                                 capacity(Attribute::LinkSpeed, Form::Number, "link speed changed to {now} Mb/s",
                                          "link speed has not changed since last cycle [current speed = {now} Mb/s]")};

constexpr std::array kSummary{Metric::DownloadRate, Metric::UploadRate};

Plan plan(const ServiceBlock& block) {
  measure::ReadInterface wanted;
  for (const Rule& rule : block.rules) {
    for (const Test& asked : rule->condition->tests) {
      const auto* total = std::get_if<Total>(&asked);
      if (total != nullptr && std::ranges::find(wanted.spans, total->span) == wanted.spans.end())
        wanted.spans.push_back(total->span);
    }
  }
  return {.parts = {wanted}};
}

}  // namespace

extern const CheckKind kNetwork;
constinit const CheckKind kNetwork{
    .word = "network",
    .target = Target::Interface,
    .traits = {.has_link = true},
    .quantities = kQuantities,
    .attributes = kAttributes,
    .summary = kSummary,
    .tests =
        "it has tests of its link, saturation, upload and download, and of totals of these, as in 'if link down then "
        "alert'",
    .present = "link up",
    .absent = "link data collection failed",
    .plan = &plan,
};

}  // namespace healer::checks
