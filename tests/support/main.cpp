// SPDX-License-Identifier: MIT
// The main of every test program: compiled once.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
