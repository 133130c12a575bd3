// Reports as text: the bytes of libjansson 2.14, whatever version is here.
#include "cli/json_writer.h"
#include "unit/seeded_random.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

namespace {

using json = std::unique_ptr<json_t, decltype(&json_decref)>;

json parsed(const std::string &text) {
    return {json_loads(text.c_str(), JSON_DECODE_ANY, nullptr), &json_decref};
}

std::string written(const json_t *report, int digits) {
    char *text = nullptr;
    std::size_t length = 0;
    FILE *const out = open_memstream(&text, &length);
    BOOST_REQUIRE_EQUAL(json_write(report, digits, out, nullptr), TLA_OK);
    std::fclose(out);
    const std::string result(text, length);
    std::free(text);
    return result;
}

std::string compact(const json_t *value) {
    const std::unique_ptr<char, decltype(&std::free)> text(json_compact_text(value), &std::free);
    return text.get();
}

} // namespace

BOOST_AUTO_TEST_CASE(a_report_has_a_line_for_each_value) {
    const json report = parsed(R"({"b": {"a \"q\" é\n": [1, 2.5, [], {}]}, "a": [{"x": null}, true, "</"], "": -7})");
    BOOST_REQUIRE(report);
    BOOST_CHECK_EQUAL(written(report.get(), 0), "{\n"
                                                "  \"b\": {\n"
                                                "    \"a \\\"q\\\" é\\n\": [\n"
                                                "      1,\n"
                                                "      2.5,\n"
                                                "      [],\n"
                                                "      {}\n"
                                                "    ]\n"
                                                "  },\n"
                                                "  \"a\": [\n"
                                                "    {\n"
                                                "      \"x\": null\n"
                                                "    },\n"
                                                "    true,\n"
                                                "    \"</\"\n"
                                                "  ],\n"
                                                "  \"\": -7\n"
                                                "}\n");
    BOOST_CHECK_EQUAL(compact(report.get()), R"({"b":{"a \"q\" é\n":[1,2.5,[],{}]},"a":[{"x":null},true,"</"],"":-7})");
}

// libjansson 2.15 writes 0.1, 3.3385321781320384e16 and, with nine digits, 1234567890.0.
BOOST_AUTO_TEST_CASE(real_numbers_do_not_depend_on_the_version_of_libjansson) {
    const struct {
        const char *number;
        int digits;
        const char *text;
    } cases[] = {{"0.1", 0, "0.10000000000000001"},
                 {"62.047552288807481", 0, "62.047552288807481"},
                 {"3.0", 0, "3.0"},
                 {"-0.0", 0, "-0.0"},
                 {"1e-5", 0, "1.0000000000000001e-5"},
                 {"0.0001", 0, "0.0001"},
                 {"33385321781320384.0", 0, "33385321781320384.0"},
                 {"1e17", 0, "1e17"},
                 {"1.8446744073709552e19", 0, "1.8446744073709552e19"},
                 {"1e300", 0, "1.0000000000000001e300"},
                 {"1234567890.1", 9, "1.23456789e9"},
                 {"0.1", 9, "0.1"},
                 {"2.0", 12, "2.0"}};
    for (const auto &c : cases)
        BOOST_CHECK_EQUAL(written(parsed(c.number).get(), c.digits), std::string(c.text) + "\n");
}

BOOST_AUTO_TEST_CASE(every_real_number_is_read_back_as_the_same) {
    seeded_random random(5);
    for (unsigned i = 0; i < 100'000; i++) {
        const std::uint64_t bits = random.between(0, UINT64_MAX - 1);
        double value = 0;
        std::memcpy(&value, &bits, sizeof value);
        if (!std::isfinite(value)) continue;
        const json real(json_real(value), &json_decref), again = parsed(compact(real.get()));
        BOOST_REQUIRE_MESSAGE(again && json_is_real(again.get()) && json_real_value(again.get()) == value,
                              compact(real.get()));
    }
}

BOOST_AUTO_TEST_CASE(no_report_is_no_host_memory_and_no_file_is_no_report) {
    BOOST_CHECK_EQUAL(json_write(nullptr, 0, nullptr, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(json_write(nullptr, 0, stdout, nullptr), TLA_NO_HOST_MEMORY);
    BOOST_CHECK(!json_compact_text(nullptr));
}
