// SPDX-License-Identifier: MIT
// What is sent to a contact, with its secrets: the request that its kind has composed, as HTTP makes it.
#pragma once

#include <functional>
#include <string>

#include "delivery/contact.hpp"
#include "engine/rules/settings.hpp"
#include "runtime/net/http_caller.hpp"
#include "util/result.hpp"

namespace healer::delivery {

using ReadSecret = std::function<Result<std::string>(const std::string& name)>;

/// Whether something of it is read from secrets, which may lie on a disk that does not answer.
[[nodiscard]] bool has_secret(const Parcel& parcel);

/// The request, which asks for Retry-After alone of what is answered. Error: a secret cannot be read, or not be written
/// where it stands.
[[nodiscard]] Result<runtime::HttpCall> call_of(const Parcel& parcel, Duration timeout, const engine::TlsOptions& tls,
                                                const ReadSecret& read_secret);

}  // namespace healer::delivery
