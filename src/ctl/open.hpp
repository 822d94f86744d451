// SPDX-License-Identifier: MIT
// `healerctl open`: the address that logs a browser in, and the browser.
#pragma once

#include <string>

namespace healer {

/// Opens the address in the browser of whoever sits at this terminal. Nothing happens where standard output is no
/// terminal, and where there is no display or no xdg-open.
void open_in_browser(const std::string& address);

}  // namespace healer
