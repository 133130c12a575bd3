// The conformance battery as a check of Boost.Test.
#ifndef TLMALLOC_TESTS_MODULES_CONFORMS_HPP
#define TLMALLOC_TESTS_MODULES_CONFORMS_HPP

#include "tlmalloc/modules/target_socket.hpp"
#include "tlmalloc/testing/conformance.hpp"

#include <boost/test/unit_test.hpp>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

// Lets every socket of ours below these objects look ahead; how many there are.
template <typename Objects> // SystemC's vector, which the preset `checked' leaves as it is
unsigned look_ahead(const Objects &objects, const sc_core::sc_time &at_most) {
    using namespace tlmalloc;
    unsigned count = 0;
    const auto set = [&](auto *socket) {
        if (!socket) return;
        socket->look_ahead(at_most);
        count++;
    };
    for (sc_core::sc_object *object : objects) {
        set(dynamic_cast<target_socket<> *>(object));
        set(dynamic_cast<target_socket<0> *>(object));
        set(dynamic_cast<target_socket<0, sc_core::SC_ZERO_OR_MORE_BOUND> *>(object));
        count += look_ahead(object->get_child_objects(), at_most);
    }
    return count;
}

// The target, with entries that look ahead.
inline tlmalloc::testing::make_target looking_ahead(tlmalloc::testing::make_target make, sc_core::sc_time at_most) {
    return [make = std::move(make), at_most] {
        auto made = make();
        if (look_ahead(sc_core::sc_get_top_level_objects(), at_most) == 0)
            throw std::logic_error("the target has no socket that can look ahead");
        return made;
    };
}

// Without look-ahead, with a little and with more than any access takes. Rules that may answer "not applicable", by
// name, separated by blanks; all others must pass.
inline void conforms(const tlmalloc::testing::make_target &make, const std::string &not_applicable = "") {
    using namespace tlmalloc::testing;
    const std::pair<const char *, make_target> entries[] = {
        {"", make},
        {"looking 1 ns ahead: ", looking_ahead(make, sc_core::sc_time(1, sc_core::SC_NS))},
        {"looking 1 us ahead: ", looking_ahead(make, sc_core::sc_time(1, sc_core::SC_US))}};
    for (const auto &[how, target] : entries)
        for (const conformance_rule &rule : conformance_rules())
            for (const coding style : {coding::loosely_timed, coding::approximately_timed}) {
                if (!(style == coding::loosely_timed ? rule.loosely_timed : rule.approximately_timed)) continue;
                const verdict v = check_conformance(rule, style, target);
                const bool may_not_apply =
                    (" " + not_applicable + " ").find(" " + std::string(rule.name) + " ") != std::string::npos;
                const outcome expected = may_not_apply ? outcome::not_applicable : outcome::passed;
                BOOST_CHECK_MESSAGE(v.result == expected,
                                    rule.name << (style == coding::loosely_timed ? " LT: " : " AT: ") << how << v.text);
            }
}

template <typename Target, typename... Arguments>
tlmalloc::testing::make_target make(Arguments... arguments) {
    return [=] { return std::make_unique<Target>(arguments...); };
}

#endif
