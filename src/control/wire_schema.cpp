// SPDX-License-Identifier: MIT
#include "control/wire_schema.hpp"

#include <concepts>
#include <optional>
#include <type_traits>

#include <spdlog/fmt/fmt.h>
#include <nlohmann/json.hpp>

#include "control/wire_fields.hpp"

namespace healer::control {
namespace {

/// What a type is called in the schemas. One without a name does not compile.
template <typename T>
constexpr std::string_view kSchemaName = T::has_no_schema_name;
#define SCHEMA(TYPE) \
  template <>        \
  constexpr std::string_view kSchemaName<TYPE> = #TYPE
SCHEMA(AcknowledgementView);
SCHEMA(ActionView);
SCHEMA(BeatSent);
SCHEMA(BrakeView);
SCHEMA(ChangesView);
SCHEMA(ChangeView);
SCHEMA(ClosedBrakeView);
SCHEMA(ConnectionView);
SCHEMA(ContactView);
SCHEMA(CooldownView);
SCHEMA(CountsView);
SCHEMA(DaemonView);
SCHEMA(DiagnosticView);
SCHEMA(Done);
SCHEMA(EventAnswer);
SCHEMA(EventCheckView);
SCHEMA(EventSent);
SCHEMA(EventView);
SCHEMA(Failure);
SCHEMA(HealExplanation);
SCHEMA(HealingHolds);
SCHEMA(HealingView);
SCHEMA(HeartbeatView);
SCHEMA(JobView);
SCHEMA(MailView);
SCHEMA(MeasureView);
SCHEMA(MemberView);
SCHEMA(OccurrenceSent);
SCHEMA(OpenBreakerView);
SCHEMA(OutputView);
SCHEMA(PauseView);
SCHEMA(ProcessView);
SCHEMA(RecordView);
SCHEMA(Request);
SCHEMA(RuleExplanation);
SCHEMA(RuleView);
SCHEMA(RunView);
SCHEMA(ServiceExplanation);
SCHEMA(ServiceName);
SCHEMA(ServiceStatus);
SCHEMA(ServiceSummary);
SCHEMA(StaleView);
SCHEMA(StartsView);
SCHEMA(TakenOutView);
SCHEMA(Totals);
SCHEMA(UnitView);
SCHEMA(WorkflowReport);
#undef SCHEMA

/// Adds the schema of T, and of what it is made of, to `all`.
template <typename T>
void add_schema(Json& all);

template <typename T>
Json schema_of(Json& all) {
  if constexpr (std::same_as<T, bool>) {
    return {{"type", "boolean"}};
  } else if constexpr (std::floating_point<T>) {
    return {{"type", "number"}};
  } else if constexpr (std::unsigned_integral<T>) {
    return {{"type", "integer"}, {"minimum", 0}};
  } else if constexpr (std::integral<T>) {
    return {{"type", "integer"}};
  } else if constexpr (std::same_as<T, std::string>) {
    return {{"type", "string"}};
  } else if constexpr (std::same_as<T, Duration>) {
    return {{"type", "integer"}, {"description", "milliseconds"}};
  } else if constexpr (std::same_as<T, WallTime>) {
    return {{"type", "string"}, {"format", "date-time"}};
  } else if constexpr (wiring::is_vector<T>) {
    return {{"type", "array"}, {"items", schema_of<typename T::value_type>(all)}};
  } else if constexpr (wiring::is_optional<T>) {
    Json schema = schema_of<typename T::value_type>(all);
    // Beside a $ref everything is passed over.
    if (schema.contains("$ref")) schema = {{"allOf", Json::array({std::move(schema)})}};
    schema["nullable"] = true;
    return schema;
  } else {
    add_schema<T>(all);
    return {{"$ref", fmt::format("#/components/schemas/{}", kSchemaName<T>)}};
  }
}

/// Walks the fields of a type, as wiring::Writer does.
struct Describer {
  Json& all;
  Json& schema;

  template <typename T>
  void operator()(const char* name, const T& /*value*/) {
    schema["properties"][name] = schema_of<T>(all);
    schema["required"].push_back(name);
  }
  template <typename T>
  void optional(const char* name, const T& /*value*/) {
    schema["properties"][name] = schema_of<T>(all);
  }
};

template <typename T>
void add_schema(Json& all) {
  const std::string name(kSchemaName<T>);
  if (all.contains(name)) return;
  all[name] = nullptr;  // where a type is a part of itself
  Json schema{{"type", "object"}, {"properties", Json::object()}, {"required", Json::array()}};
  const T value{};
  wiring::fields(Describer{all, schema}, value);
  if (schema["required"].empty()) schema.erase("required");
  all[name] = std::move(schema);
}

Json make_schemas() {
  Json all = Json::object();
  add_schema<DaemonView>(all);
  add_schema<ServiceSummary>(all);
  add_schema<ServiceStatus>(all);
  add_schema<ServiceExplanation>(all);
  add_schema<RecordView>(all);
  add_schema<JobView>(all);
  add_schema<HealingView>(all);
  add_schema<HealingHolds>(all);
  add_schema<WorkflowReport>(all);
  add_schema<OutputView>(all);
  add_schema<EventView>(all);
  add_schema<EventAnswer>(all);
  add_schema<Totals>(all);
  add_schema<Done>(all);
  add_schema<Failure>(all);
  add_schema<Request>(all);
  return all;
}

}  // namespace

const Json& wire_schemas() {
  static const Json kSchemas = make_schemas();
  return kSchemas;
}

std::vector<std::string> wire_fields_of(std::string_view type) {
  std::vector<std::string> names;
  for (const auto& [name, schema] : wire_schemas().at(std::string(type)).at("properties").items())
    names.push_back(name);
  return names;
}

}  // namespace healer::control
