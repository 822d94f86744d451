// SPDX-License-Identifier: MIT
// Text to syntax tree: the one entry to the grammar. Pure; may run on any thread, several at a time.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "config/diagnostic.hpp"
#include "config/syntax/syntax.hpp"
#include "config/text/spliced_text.hpp"

namespace healer::config {

/// Parses one file. `file` is its index in Sources; it goes into every range. Errors are appended to `diagnostics`, in
/// the order of the text; after an error parsing goes on at the next statement, so that all errors of a file are found,
/// and the tree holds every statement that was understood. Work and memory are linear in the text; no exception leaves.
///
/// Statements of Monit's language that this version of healer does not support are one error each and are not in the
/// tree. What only healer understands is in `FileSyntax::extensions`; whether that is allowed is the caller's business.
[[nodiscard]] FileSyntax parse(std::uint32_t file, std::string_view text, std::vector<Diagnostic>& diagnostics);
/// The same of a file that others were spliced into.
[[nodiscard]] FileSyntax parse(const SplicedText& spliced, std::uint32_t file, std::vector<Diagnostic>& diagnostics);

}  // namespace healer::config
