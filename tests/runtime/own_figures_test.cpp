// SPDX-License-Identifier: MIT
#include "runtime/inspection/own_figures.hpp"

#include <fcntl.h>

#include <catch2/catch.hpp>
#include <string>

#include "runtime/descriptor.hpp"

namespace own_figures_test {

using namespace healer;
using namespace healer::runtime;

TEST_CASE("What this process takes of the machine is known", "[own_figures]") {
  const OwnFigures before = own_figures();
  CHECK(before.resident > 1'000'000);
  CHECK(before.reserved > before.resident);
  CHECK(before.most_descriptors > before.descriptors);
  const Descriptor one(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const std::string touched(std::size_t{32} * 1024 * 1024, 'x');
  const OwnFigures after = own_figures();
  CHECK(after.descriptors == before.descriptors + 1);
  CHECK(after.resident >= before.resident + touched.size() / 2);
  CHECK(after.processor > before.processor);
}

}  // namespace own_figures_test
