// SPDX-License-Identifier: MIT
// What all kinds that are a path have: an owner, a permission and times. The sentences are those of Monit 5.33, whose
// times are written in another form.
#pragma once

#include <array>

#include "checks/rows.hpp"

namespace healer::checks {

/// How long ago a time of the path is.
constexpr Quantity age(Metric metric, std::string_view words, Sentence sentence) {
  return {.metric = metric, .words = words, .sentence = sentence, .event = EventKind::Timestamp};
}

inline constexpr std::array kPathQuantities{
    age(Metric::AccessAge, "access time",
        {.matched = "access time for {path} failed -- current access time is {time}",
         .succeeded = "access time test succeeded for {path} [current access time is {time}]"}),
    age(Metric::ModificationAge, "modification time",
        {.matched = "modify time for {path} failed -- current modify time is {time}",
         .succeeded = "modify time test succeeded for {path} [current modify time is {time}]"}),
    age(Metric::ChangeAge, "change time",
        {.matched = "change time for {path} failed -- current change time is {time}",
         .succeeded = "change time test succeeded for {path} [current change time is {time}]"}),
    age(Metric::Age, "timestamp",
        {.matched = "modify/change time for {path} failed -- current modify/change time is {time}",
         .succeeded = "modify/change time test succeeded for {path} [current modify/change time is {time}]"}),
    Quantity{.metric = Metric::HardLinks,
             .words = "hardlink",
             .sentence = {.matched = "hardlink test failed for {path} -- current hardlink is {value}",
                          .succeeded = "hardlink check succeeded [current hardlink = {value}]"}},
};

/// A time of the path that may change.
constexpr AttributeRow changing(Attribute attribute, std::string_view words, AttributeSentence sentence) {
  return {.attribute = attribute,
          .words = words,
          .topic = "a timestamp",
          .form = Form::Time,
          .changes = true,
          .event = EventKind::Timestamp,
          .sentence = sentence};
}

inline constexpr std::array kOwnerAttributes{
    kUid,
    kGid,
    AttributeRow{Attribute::Permission,
                 "permission",
                 "a permission",
                 Form::Mode,
                 true,
                 true,
                 EventKind::Permission,
                 {"permission test failed for {path} [current permission {now}]",
                  "permission test succeeded [current permission {now}]",
                  "permission for {path} changed from {before} to {now}", "permission not changed for {path}"}},
};

inline constexpr std::array kTimeAttributes{
    changing(Attribute::AccessTime, "access time",
             {.changed = "access time for {path} changed from {before} to {now}",
              .unchanged = "access time was not changed for {path}"}),
    changing(Attribute::ModificationTime, "modification time",
             {.changed = "modify time for {path} changed from {before} to {now}",
              .unchanged = "modify time was not changed for {path}"}),
    changing(Attribute::ChangeTime, "change time",
             {.changed = "change time for {path} changed from {before} to {now}",
              .unchanged = "change time was not changed for {path}"}),
    changing(Attribute::Timestamp, "timestamp",
             {.changed = "modify/change time for {path} changed from {before} to {now}",
              .unchanged = "modify/change time was not changed for {path}"}),
};

inline constexpr std::array kLinkAttributes{
    AttributeRow{.attribute = Attribute::HardLinks,
                 .words = "hardlink",
                 .topic = "hard links",
                 .changes = true,
                 .event = EventKind::Resource,
                 .sentence = {.changed = "hardlink for {path} changed to {now}",
                              .unchanged = "hardlink has not changed [current hardlink = {now}]"}},
};

inline constexpr auto kPathAttributes = joined(joined(kOwnerAttributes, kTimeAttributes), kLinkAttributes);

}  // namespace healer::checks
