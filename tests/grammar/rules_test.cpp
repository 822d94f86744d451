// SPDX-License-Identifier: MIT
// PEGTL's own analysis of every statement group: no rule may loop without consuming a token.
#include <catch2/catch.hpp>
#include <tao/pegtl/contrib/analyze.hpp>

#include "grammar/alert.hpp"
#include "grammar/check.hpp"
#include "grammar/condition.hpp"
#include "grammar/set.hpp"
#include "grammar/workflow.hpp"

namespace grammar = healer::grammar;

TEMPLATE_TEST_CASE("no rule loops without a token", "[grammar]", grammar::set_statement, grammar::include,
                   grammar::check, grammar::service_statement, grammar::if_statement, grammar::alert, grammar::no_alert,
                   grammar::workflow, grammar::program_step, grammar::http_step) {
  CHECK(tao::pegtl::analyze<TestType>() == 0);
}
