// SPDX-License-Identifier: MIT
#include "web/metrics/service_series.hpp"

#include <algorithm>
#include <utility>

#include "engine/engine.hpp"

namespace healer::web {
namespace {

/// So many services are looked at in one go, whatever there is to say of them.
constexpr std::size_t kMostVisited = 10'000;

}  // namespace

ServiceSeries::ServiceSeries(const control::Supervisor& daemon, Format format, std::vector<ServiceFamily> families,
                             Wake wake, std::string preface)
    : daemon_(daemon),
      graph_(daemon.engine().graph()),
      families_(std::move(families)),
      out_(format),
      wake_(std::move(wake)),
      preface_(std::move(preface)) {}

const std::vector<engine::ServiceId>& ServiceSeries::services_of(const ServiceFamily& family) {
  if (!family.of) return graph_->order;
  const auto kinds = engine::all_kinds();
  if (by_kind_.empty()) {
    by_kind_.resize(kinds.size());
    for (const engine::ServiceId id : graph_->order) {
      const auto kind = std::ranges::find(kinds, graph_->at(id).kind);
      by_kind_.at(static_cast<std::size_t>(kind - kinds.begin())).push_back(id);
    }
  }
  const std::vector<engine::ServiceId>* only = nullptr;
  chosen_.clear();
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (by_kind_[i].empty() || !family.of(*kinds[i])) continue;
    if (only == nullptr) {
      only = &by_kind_[i];
      continue;
    }
    if (chosen_.empty()) chosen_ = *only;
    chosen_.insert(chosen_.end(), by_kind_[i].begin(), by_kind_[i].end());
  }
  return only == nullptr || !chosen_.empty() ? chosen_ : *only;
}

void ServiceSeries::tell(const ServiceFamily& family, engine::ServiceId id) {
  const engine::Engine& engine = daemon_.engine();
  const engine::ServiceBlock& block = graph_->at(id);
  // Its slot may be another's by now.
  if (const engine::ServiceBlock* now = engine.graph()->block(id);
      now != &block && (now == nullptr || now->name != block.name || now->kind != block.kind))
    return;
  const engine::ServiceState& state = engine.service(id);
  const bool holds = state.monitored && state.last && !state.presence.is_gone() && !state.trouble->unknown;
  family.tell({.engine = engine,
               .id = id,
               .block = *engine.graph()->block(id),
               .state = state,
               .facts = holds ? state.last->facts.get() : nullptr,
               .now = daemon_.now()},
              out_);
}

Stream::Next ServiceSeries::pull(std::string& out, std::size_t budget) {
  out_.write_to(out);
  const std::size_t begun = out.size();
  out += std::exchange(preface_, {});
  for (std::size_t visited = 0; family_ < families_.size(); ++family_) {
    const ServiceFamily& family = families_[family_];
    if (services_ == nullptr) {
      services_ = &services_of(family);
      service_ = 0;
      out_.begin(family.family);
    }
    while (service_ < services_->size()) {
      if (out.size() - begun >= budget || visited == kMostVisited) {
        if (out.size() > begun) return Next::More;
        wake_();
        return Next::Waiting;
      }
      ++visited;
      tell(family, (*services_)[service_++]);
    }
    services_ = nullptr;
  }
  out_.end();
  return Next::Done;
}

}  // namespace healer::web
