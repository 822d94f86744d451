// SPDX-License-Identifier: MIT
#include "config/compile/cron.hpp"

#include <catch2/catch.hpp>

namespace cron_test {

using namespace healer::config;

namespace {

/// The values of a field that match, as "1,5,9".
std::string bits(std::uint64_t field) {
  std::string text;
  for (int i = 0; i < 64; ++i)
    if ((field >> i & 1U) != 0) text += (text.empty() ? "" : ",") + std::to_string(i);
  return text;
}

std::string remarks(std::string_view text) {
  std::string all;
  for (const std::string& remark : read_cron(text).remarks) all += remark + "\n";
  return all;
}

}  // namespace

TEST_CASE("numbers, lists and ranges become bits", "[cron]") {
  const CronReading reading = read_cron(" 1,2-5,9 *\t0-1  12 1-5 ");
  CHECK(reading.error.empty());
  CHECK(reading.remarks.empty());
  CHECK_FALSE(reading.comes_alive);
  CHECK(bits(reading.spec.minutes) == "1,2,3,4,5,9");
  CHECK(reading.spec.hours == (1U << 24) - 1);
  CHECK(bits(reading.spec.month_days) == "1");
  CHECK(bits(reading.spec.months) == "12");
  CHECK(bits(reading.spec.weekdays) == "1,2,3,4,5");
}

TEST_CASE("weekday 7 is Sunday, and a range may go over the end", "[cron]") {
  CHECK(bits(read_cron("* * * * 7").spec.weekdays) == "0");
  CHECK(bits(read_cron("* * * * 5-7").spec.weekdays) == "0,5,6");
  CHECK(bits(read_cron("* * * * 6-1").spec.weekdays) == "0,1,6");
  CHECK(bits(read_cron("* * * * 0-7").spec.weekdays) == "0,1,2,3,4,5,6");
  CHECK(bits(read_cron("50-10 * * * *").spec.minutes) == "0,1,2,3,4,5,6,7,8,9,10,50,51,52,53,54,55,56,57,58,59");
  CHECK(bits(read_cron("* 22-2 * * *").spec.hours) == "0,1,2,22,23");
  CHECK(bits(read_cron("* * 30-2 * *").spec.month_days) == "1,2,30,31");
  CHECK(bits(read_cron("* * * 11-2 *").spec.months) == "1,2,11,12");
  CHECK(bits(read_cron("55-99 * * * *").spec.minutes) == "55,56,57,58,59");
  CHECK(bits(read_cron("**,1,,3 * * * *").spec.minutes) == bits((std::uint64_t{1} << 60) - 1));
}

TEST_CASE("a schedule comes alive only where Monit's never matches", "[cron]") {
  CHECK(read_cron("* * * * 7").comes_alive);
  CHECK(read_cron("50-10 * * * *").comes_alive);
  CHECK(read_cron("99 * 50-10 * 7").comes_alive == false);  // minute 99 is nobody's
  CHECK(read_cron("99 * * * *").never == "minute");
  CHECK_FALSE(read_cron("* * * * 5-7").comes_alive);
  CHECK_FALSE(read_cron("0,50-10 * * * *").comes_alive);
  CHECK_FALSE(read_cron("* * * * *").comes_alive);
}

TEST_CASE("each difference from Monit is told", "[cron]") {
  CHECK(remarks("* * * * 7") == "weekday 7 is read as Sunday; Monit never matches it\n");
  CHECK(remarks("* * * * 5-7") == "weekday 5-7 includes Sunday; Monit leaves 7 out\n");
  CHECK(remarks("50-10 * * * *") == "minute 50-10 is read as 50-59 and 0-10; Monit never matches it\n");
  CHECK(remarks("99 * * * *") == "there is no minute 99: it never matches\n");
  CHECK(remarks("70-80 * * * *") == "there is no minute 70-80: it never matches\n");
  CHECK(remarks("80-5 * * * *") == "there is no minute 80-5: it never matches\n");
  CHECK(remarks("5-99 * * * *") == "minute 5-99 is read as 5-59\n");
  CHECK(remarks("* * 0 * *") == "there is no day of the month 0: it never matches\n");
  CHECK(remarks("1-3-5 - 1- * *") ==
        "minute '1-3-5' is not a range: it never matches\nhour '-' is not a range: it never matches\n"
        "day of the month '1-' is not a range: it never matches\n");
  CHECK(remarks("*-3 * * * *") == "minute '*-3' is read as '*'\n");
}

TEST_CASE("what is no cron specification is refused with a remedy", "[cron]") {
  CHECK(read_cron("* * * *").error == "a cron schedule has five fields, not 4");
  CHECK(read_cron("").error == "a cron schedule has five fields, not 0");
  CHECK(read_cron("* * * * mond").error ==
        "the weekday 'mond' is not understood: only numbers, '*', '-', ',' and '/' may be used, and names such as mon");
  CHECK(read_cron("0 2 jan * *").error ==
        "the day of the month 'jan' is not understood: only numbers, '*', '-', ',' and '/' may be used");
  for (const char* step : {"*/", "/5", "*/x", "60/2", "1-/2"}) {
    INFO(step);
    CHECK(!read_cron(std::string(step) + " * * * *").error.empty());
  }
  for (const char* never : {"*/0", "5-2/2"})
    CHECK(read_cron(std::string(never) + " * * * *").error.empty());  // as Monit 6
}

TEST_CASE("months and weekdays have names, and ranges have steps, which Monit refuses", "[cron]") {
  CHECK(read_cron("0 2 * * sun").spec == read_cron("0 2 * * 0").spec);
  CHECK(read_cron("0 2 * JAN-mar mon,FRI").spec == read_cron("0 2 * 1-3 1,5").spec);
  CHECK(read_cron("*/20 * * * mon-fri").spec == read_cron("0,20,40 * * * 1-5").spec);
  CHECK(read_cron("7/20 8-18/4 */10 */6 0-7/7").spec == read_cron("7,27,47 8,12,16 1,11,21,31 1,7 0").spec);
  CHECK_FALSE(read_cron("*/20 * * * *").is_own);  // since Monit 6
  CHECK(read_cron("* * * * mon").is_own);
  CHECK_FALSE(read_cron("0,20 1-2 * * 7").is_own);
  // Monit refuses it whole: nothing is dormant, and how it would count Sundays is not told.
  CHECK_FALSE(read_cron("* * * jan 7").comes_alive);
  CHECK(remarks("* * * jan 7").empty());
  CHECK(remarks("99 * * jan *") == "there is no minute 99: it never matches\n");
}

}  // namespace cron_test
