// Configurations as text, parsed and printed with what is true of every one.
#ifndef TLMALLOC_TESTS_UNIT_CONFIG_PARSING_HPP
#define TLMALLOC_TESTS_UNIT_CONFIG_PARSING_HPP

#include "scratch_directory.hpp"
#include "tlmalloc/config.h"

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace config_parsing {

using std::string;
using strings = std::vector<string>;

inline void collect(void *context, const tla_config_finding *f) {
    std::ostringstream line;
    line << f->file << ':' << f->line << ':' << f->column << ": " << f->text;
    BOOST_CHECK(std::strchr(f->text, '\n') == nullptr);
    static_cast<strings *>(context)->push_back(line.str());
}

struct result {
    tla_status status;
    tla_config config;
    strings findings;
};

inline result parse(const string &text, const strings &overrides = {}) {
    std::vector<const char *> set;
    for (const string &o : overrides)
        set.push_back(o.c_str());
    result r{};
    std::memset(&r.config, 0x5a, sizeof r.config);
    // An exact copy on the heap, so that the address sanitizer sees a read past the end.
    std::unique_ptr<char[]> copy(new char[text.size()]);
    std::memcpy(copy.get(), text.data(), text.size());
    r.status = tla_config_parse(copy.get(), text.size(), "f", set.data(), set.size(), &r.config, collect, &r.findings);
    BOOST_CHECK_EQUAL(r.status == TLA_OK, r.findings.empty());
    if (r.status != TLA_OK) // untouched
        for (size_t i = 0; i < sizeof r.config; i++)
            BOOST_REQUIRE_EQUAL(reinterpret_cast<const unsigned char *>(&r.config)[i], 0x5a);
    return r;
}

inline void check_findings(const string &text, const strings &expected, const strings &overrides = {}) {
    result r = parse(text, overrides);
    BOOST_CHECK_EQUAL(r.status, TLA_SYNTAX);
    BOOST_CHECK_EQUAL_COLLECTIONS(r.findings.begin(), r.findings.end(), expected.begin(), expected.end());
}

inline tla_config good(const string &text, const strings &overrides = {}) {
    result r = parse(text, overrides);
    BOOST_CHECK_MESSAGE(r.status == TLA_OK, text << ": " << (r.findings.empty() ? "" : r.findings[0]));
    return r.config;
}

template <typename Print>
string printed(Print print) {
    char *text = nullptr;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    BOOST_REQUIRE_EQUAL(print(out), TLA_OK);
    std::fclose(out);
    string result(text, length);
    std::free(text);
    return result;
}

inline string printed(const tla_config &config) {
    return printed([&](FILE *out) { return tla_config_print(&config, out); });
}

const string configs = TLMALLOC_SOURCE_DIR "/configs/";

} // namespace config_parsing

#endif
