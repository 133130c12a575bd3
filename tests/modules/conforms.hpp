// The conformance battery as a check of Boost.Test.
#ifndef TLMALLOC_TESTS_MODULES_CONFORMS_HPP
#define TLMALLOC_TESTS_MODULES_CONFORMS_HPP

#include "tlmalloc/testing/conformance.hpp"

#include <boost/test/unit_test.hpp>
#include <memory>
#include <string>

// Rules that may answer "not applicable", by name, separated by blanks; all others must pass.
inline void conforms(const tlmalloc::testing::make_target &make, const std::string &not_applicable = "") {
    using namespace tlmalloc::testing;
    for (const conformance_rule &rule : conformance_rules())
        for (const coding style : {coding::loosely_timed, coding::approximately_timed}) {
            if (!(style == coding::loosely_timed ? rule.loosely_timed : rule.approximately_timed)) continue;
            const verdict v = check_conformance(rule, style, make);
            const bool may_not_apply =
                (" " + not_applicable + " ").find(" " + std::string(rule.name) + " ") != std::string::npos;
            const outcome expected = may_not_apply ? outcome::not_applicable : outcome::passed;
            BOOST_CHECK_MESSAGE(v.result == expected,
                                rule.name << (style == coding::loosely_timed ? " LT: " : " AT: ") << v.text);
        }
}

template <typename Target, typename... Arguments>
tlmalloc::testing::make_target make(Arguments... arguments) {
    return [=] { return std::make_unique<Target>(arguments...); };
}

#endif
