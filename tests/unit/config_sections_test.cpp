// Sections within sections, by a schema of the test's own.
#include "model/config/loader.h"

#include <array>
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

namespace {

using strings = std::vector<std::string>;

struct numbers {
    std::uint64_t first, second, third;
};

tla_schema_key key(const char *name, std::size_t offset) {
    tla_schema_key result{};
    result.key = name;
    result.offset = offset;
    result.size = sizeof(std::uint64_t);
    result.form.type = TLA_VALUE_COUNT;
    result.max = 100;
    result.default_text = "0";
    return result;
}

struct result {
    tla_status status;
    numbers read;
    strings findings;
};

// The section `a` has nothing but the section `a.b`, and that begins with the section `a.b.c`.
result parse(const std::string &text) {
    const std::array<tla_schema_key, 3> keys{key("a.b.c.first", offsetof(numbers, first)),
                                             key("a.b.d.second", offsetof(numbers, second)),
                                             key("e.third", offsetof(numbers, third))};
    const tla_schema schema{keys.data(), keys.size(), sizeof(numbers), "a.b.c.first=1", [](tla_loader *) {}};
    result r{};
    const auto collect = [](void *context, const tla_config_finding *f) {
        static_cast<strings *>(context)->push_back(std::to_string(f->line) + ":" + std::to_string(f->column) + ": " +
                                                   f->text);
    };
    r.status =
        tla_loader_parse(&schema, text.data(), text.size(), "f", nullptr, 0, nullptr, &r.read, collect, &r.findings);
    return r;
}

void check(const std::string &text, const numbers &expected) {
    const result r = parse(text);
    BOOST_TEST(r.findings == strings{}, boost::test_tools::per_element());
    BOOST_CHECK_EQUAL(r.status, TLA_OK);
    BOOST_CHECK_EQUAL(r.read.first, expected.first);
    BOOST_CHECK_EQUAL(r.read.second, expected.second);
    BOOST_CHECK_EQUAL(r.read.third, expected.third);
}

void check_found(const std::string &text, const strings &expected) {
    const result r = parse(text);
    BOOST_CHECK_EQUAL(r.status, TLA_SYNTAX);
    BOOST_TEST(r.findings == expected, boost::test_tools::per_element());
}

} // namespace

BOOST_AUTO_TEST_CASE(a_section_may_have_nothing_but_a_section) {
    check("a: {b: {c: {first: 1}, d: {second: 2}}}\ne: {third: 3}\n", {1, 2, 3});
    check("a:\n  b:\n    d:\n      second: 4\n    c:\n      first: 5\n", {5, 4, 0});
    check("a:\n  b:\n", {0, 0, 0});
}

BOOST_AUTO_TEST_CASE(a_section_that_is_written_twice_is_found_however_deep) {
    check_found("a: {b: {c: {first: 1}}}\na: {b: {d: {second: 1}}}\n",
                {"2:1: a: found the key again, expected it once (line 1)"});
    check_found("a:\n  b: {c: {first: 1}}\n  b: {d: {second: 1}}\n",
                {"3:3: a.b: found the key again, expected it once (line 2)"});
    check_found("a:\n  b:\n    c: {first: 1}\n    d: {second: 2}\n    c: {first: 1}\n    c: {first: 1}\n",
                {"5:5: a.b.c: found the key again, expected it once (line 3)",
                 "6:5: a.b.c: found the key again, expected it once (line 3)"});
    check_found("a:\n  b:\n    c:\n      first: 1\n      first: 2\n",
                {"5:7: a.b.c.first: found the key again, expected it once (line 4)"});
}
