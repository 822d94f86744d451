// SPDX-License-Identifier: MIT
#include "runtime/document_reader.hpp"

#include <utility>

#include "engine/rules/service.hpp"
#include "util/text.hpp"

namespace healer::runtime {

void DocumentReader::measure(const engine::effect::Measure& effect, std::shared_ptr<const engine::ServiceBlock> block) {
  asked_.insert_or_assign(effect.run.number(), Asked{effect.service, std::move(block), effect.document});
  ask(effect.run.number());
}

void DocumentReader::cancel(engine::RunId run) { asked_.erase(run.number()); }

/// Asks the next filter; after the last all is reported.
void DocumentReader::ask(std::uint64_t run) {
  Asked& asked = asked_.at(run);
  const auto& filters = asked.block->other->event.filters;
  if (asked.values.size() == filters.size()) {
    engine::Evidence seen;
    seen.output = std::make_shared<const std::string>();
    auto facts = std::make_shared<engine::Facts>();
    facts->further.edit().values = std::move(asked.values);
    seen.facts = std::move(facts);
    return report(run, std::move(seen));
  }
  const std::string& filter = filters[asked.values.size()];
  filters_.query({filter, *asked.document}, asked.block->name, [this, run, filter](const Result<std::string>& value) {
    const auto found = asked_.find(run);
    if (found == asked_.end()) return;        // cancelled meanwhile
    if (!value && value.error().code != 0) {  // the filter said nothing: it was not run, or not to its end
      engine::Evidence seen;
      seen.answer = engine::Answer::Unknown;
      seen.output = std::make_shared<const std::string>(printable(value.error().what));
      return report(run, std::move(seen));
    }
    engine::ValueSeen seen{.filter = filter, .value = std::nullopt};
    if (value)
      seen.value = *value;
    else
      seen.why = printable(value.error().what);
    found->second.values.push_back(std::move(seen));
    ask(run);
  });
}

void DocumentReader::report(std::uint64_t run, engine::Evidence seen) {
  const engine::ServiceId service = asked_.at(run).service;
  asked_.erase(run);
  sink_(engine::event::measured(service, engine::RunId{run}, std::move(seen)));
}

}  // namespace healer::runtime
