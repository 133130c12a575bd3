// The battery itself: a good target passes, and a target with one planted fault fails the rule that the fault breaks.
#include "mutant_target.hpp"
#include "tlmalloc/testing/conformance.hpp"

#include <boost/test/unit_test.hpp>
#include <sstream>

using namespace tlmalloc::testing;

namespace {

struct mutant : conformance_target {
    mutant_target target;

    explicit mutant(const std::string &fault) : target("mutant", fault) { memory = {0, mutant_target::size - 1}; }
    void bind(tlm::tlm_initiator_socket<> &from) override { from.bind(target.in); }
    std::optional<range> withdraw_dmi() override {
        target.withdraw();
        return range{0, 255};
    }
};

make_target mutant_with(const std::string &fault) {
    return [fault] { return std::make_unique<mutant>(fault); };
}

// Checks every rule in the style against a target that breaks just this rule.
void every_fault_is_caught(coding style) {
    for (const conformance_rule &rule : conformance_rules()) {
        if (!(style == coding::loosely_timed ? rule.loosely_timed : rule.approximately_timed)) continue;
        // A fault of calls that wait has no place in an AT target, whose engine calls in an order of its own.
        if (style == coding::approximately_timed && std::string(rule.name) == "T9.together") continue;
        const verdict v = check_conformance(rule, style, mutant_with(rule.name));
        BOOST_CHECK_MESSAGE(v.result == outcome::failed, rule.name << " is not caught");
        BOOST_TEST_MESSAGE(rule.name << ": " << v.text);
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(a_target_without_a_fault_passes_every_rule) {
    std::ostringstream table;
    const int failed = report_conformance(mutant_with(""), table);
    BOOST_TEST(failed == 0, table.str());
    BOOST_TEST(table.str().find("n/a") == std::string::npos, table.str()); // no rule is passed by not applying
}

BOOST_AUTO_TEST_CASE(each_planted_fault_is_caught_loosely_timed) {
    every_fault_is_caught(coding::loosely_timed);
}

BOOST_AUTO_TEST_CASE(each_planted_fault_is_caught_approximately_timed) {
    every_fault_is_caught(coding::approximately_timed);
}

BOOST_AUTO_TEST_CASE(a_target_that_dies_has_failed) {
    const verdict v =
        check_conformance(conformance_rules()[0], coding::loosely_timed, []() -> std::unique_ptr<conformance_target> {
            std::raise(SIGKILL);
            return nullptr;
        });
    BOOST_TEST(static_cast<int>(v.result) == static_cast<int>(outcome::failed));
    BOOST_TEST(v.text == "killed: Killed");
}

BOOST_AUTO_TEST_CASE(a_target_that_never_returns_fails) {
    const verdict v = check_conformance(
        conformance_rules()[0], coding::loosely_timed,
        []() -> std::unique_ptr<conformance_target> {
            while (true)
                pause();
        },
        1);
    BOOST_TEST(static_cast<int>(v.result) == static_cast<int>(outcome::failed));
    BOOST_TEST(v.text == "killed: Alarm clock");
}
