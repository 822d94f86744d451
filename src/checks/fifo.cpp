// SPDX-License-Identifier: MIT
// check fifo NAME with path PATH: a named pipe, its owner, permission and times. The sentences are those of Monit 5.33,
// whose times are written in another form.
#include <array>

#include "engine/kind.hpp"

namespace healer::checks {

using namespace engine;

namespace {

constexpr Quantity age(Metric metric, std::string_view words, Sentence sentence) {
  return {.metric = metric, .words = words, .sentence = sentence, .event = EventKind::Timestamp};
}

constexpr std::array kQuantities{
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
};

constexpr AttributeRow changing(Attribute attribute, std::string_view words, AttributeSentence sentence) {
  return {.attribute = attribute,
          .words = words,
          .topic = "a timestamp",
          .form = Form::Time,
          .changes = true,
          .event = EventKind::Timestamp,
          .sentence = sentence};
}

constexpr std::array kAttributes{
    AttributeRow{Attribute::Uid,
                 "uid",
                 "a uid or gid",
                 Form::User,
                 true,
                 false,
                 EventKind::Uid,
                 {"uid test failed for {name} -- current uid is {now}", "uid test succeeded [current uid = {now}]"}},
    AttributeRow{Attribute::Gid,
                 "gid",
                 "a uid or gid",
                 Form::Group,
                 true,
                 false,
                 EventKind::Gid,
                 {"gid test failed for {name} -- current gid is {now}", "gid test succeeded [current gid = {now}]"}},
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

Plan plan(const ServiceBlock& /*block*/) { return {.parts = {measure::ReadPath{.type = measure::PathType::Fifo}}}; }

}  // namespace

extern const CheckKind kFifo;
constinit const CheckKind kFifo{
    .word = "fifo",
    .target = Target::Path,
    .quantities = kQuantities,
    .attributes = kAttributes,
    .presence = true,
    .tests =
        "it has tests of existence, permission, uid, gid and timestamps, as in 'if failed permission 0600 then "
        "alert'",
    .present = "fifo exists",
    .absent = "fifo doesn't exist",
    .plan = &plan,
};

}  // namespace healer::checks
