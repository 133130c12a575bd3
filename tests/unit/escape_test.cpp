// Text from outside: what of it is shown as it is.
#include "model/base/escape.h"
#include "seeded_random.hpp"
#include "tlmalloc/base/status.h"

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <string>
#include <vector>

using std::string;

namespace {

string escaped(const string &text, size_t room = 1000) {
    std::vector<char> out(room, 'x');
    const size_t taken = tla_escape(text.data(), text.size(), out.data(), room);
    BOOST_CHECK_LE(taken, text.size());
    return out.data();
}

} // namespace

BOOST_AUTO_TEST_CASE(control_characters_and_what_is_no_utf8_are_written_in_hexadecimal) {
    const std::vector<std::pair<string, string>> cases{
        {"", ""},
        {"plain ~ text", "plain ~ text"},
        {"a\nb\t\x1b[31m\x7f", "a\\x0ab\\x09\\x1b[31m\\x7f"},
        {string("a\0b", 3), "a\\x00b"},
        {"Gr\xc3\xbc\xc3\x9f"
         "e \xe2\x82\xac \xf0\x9f\x98\x80",
         "Gr\xc3\xbc\xc3\x9f"
         "e \xe2\x82\xac \xf0\x9f\x98\x80"},
        {"\xc2\x9b"
         "31m\xc2\xa0",
         "\\xc2\\x9b31m\xc2\xa0"},                    // CSI as one character, and a space that is none
        {"\x80\xbf\xff", "\\x80\\xbf\\xff"},          // no first bytes
        {"\xc0\x80\xc1\xbf", "\\xc0\\x80\\xc1\\xbf"}, // longer than need be
        {"\xe0\x9f\xbf", "\\xe0\\x9f\\xbf"},
        {"\xf0\x8f\xbf\xbf", "\\xf0\\x8f\\xbf\\xbf"},
        {"\xed\xa0\x80\xed\x9f\xbf", "\\xed\\xa0\\x80\xed\x9f\xbf"}, // a surrogate, and the last before them
        {"\xf4\x90\x80\x80\xf4\x8f\xbf\xbf", "\\xf4\\x90\\x80\\x80\xf4\x8f\xbf\xbf"},
        {"\xe2\x82", "\\xe2\\x82"}, // cut
        {"\xe2\x82z", "\\xe2\\x82z"}};
    for (const auto &[text, expected] : cases)
        BOOST_CHECK_EQUAL(escaped(text), expected);
    BOOST_CHECK(tla_is_utf8("\n\xc2\x9b\xf4\x8f\xbf\xbf", 7));
    BOOST_CHECK(!tla_is_utf8("ab\xc2", 3));
}

BOOST_AUTO_TEST_CASE(text_that_does_not_fit_is_truncated_between_characters) {
    BOOST_CHECK_EQUAL(escaped("abc", 1), "");
    BOOST_CHECK_EQUAL(escaped("abc", 3), "ab");
    BOOST_CHECK_EQUAL(escaped("a\xe2\x82\xac", 4), "a");
    BOOST_CHECK_EQUAL(escaped("a\xe2\x82\xac", 5), "a\xe2\x82\xac");
    BOOST_CHECK_EQUAL(escaped("a\n", 5), "a");
    BOOST_CHECK_EQUAL(escaped("a\n", 6), "a\\x0a");
    BOOST_CHECK_EQUAL(escaped("a\xc2\x9b", 9), "a"); // both bytes or none
}

BOOST_AUTO_TEST_CASE(any_bytes_become_one_printable_line_and_a_second_time_change_nothing) {
    seeded_random random(20261121);
    for (int round = 0; round < 20000; round++) {
        string text(random.between(0, 20), ' ');
        for (char &c : text)
            c = static_cast<char>(random.one_in(3) ? random.between(0x80, 0x9f) : random.between(0, 255));
        const string shown = escaped(text);
        BOOST_REQUIRE(tla_is_utf8(shown.data(), shown.size()));
        for (const char c : shown)
            BOOST_REQUIRE(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
        BOOST_REQUIRE_EQUAL(escaped(shown), shown);
        // In pieces it is the same.
        string pieces;
        for (size_t at = 0; at < text.size();) {
            char out[12];
            const size_t taken = tla_escape(text.data() + at, text.size() - at, out, sizeof out);
            BOOST_REQUIRE_GT(taken, 0u);
            pieces += out;
            at += taken;
        }
        BOOST_REQUIRE_EQUAL(pieces, shown);
    }
}

BOOST_AUTO_TEST_CASE(an_error_quotes_what_it_was_given_harmlessly) {
    tla_error error;
    BOOST_CHECK_EQUAL(tla_error_set(&error, TLA_IO, "%s: no such file", "a\x1b[31m\xff.csv"), TLA_IO);
    BOOST_CHECK_EQUAL(error.text, "a\\x1b[31m\\xff.csv: no such file");
    tla_error_set(&error, TLA_IO, "again: %s", error.text); // its own text may be an argument
    BOOST_CHECK_EQUAL(error.text, "again: a\\x1b[31m\\xff.csv: no such file");
    const string lines(500, '\n');
    tla_error_set(&error, TLA_SYNTAX, "%s", lines.c_str());
    BOOST_CHECK_EQUAL(std::strlen(error.text), sizeof error.text / 4 * 4 - 4);
}
