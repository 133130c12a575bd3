// `tlmalloc` itself: its help, its version, what it says to a command that does not exist.
#include "platform/command_line.hpp"
#include "tlmalloc/version.h"

BOOST_AUTO_TEST_CASE(version_is_one_line_without_the_banner_of_systemc) {
    command_result run = run_tlmalloc({"--version"});
    BOOST_CHECK_EQUAL(run.status, 0);
    BOOST_CHECK_EQUAL(run.err, "");
    BOOST_CHECK_MESSAGE(run.out.rfind("tlmalloc " + std::string(tla_version()) + " (", 0) == 0, run.out);
    BOOST_CHECK_EQUAL(run.out.find('\n'), run.out.size() - 1);
}

BOOST_AUTO_TEST_CASE(help_names_every_command) {
    command_result run = run_tlmalloc({"--help"});
    BOOST_CHECK_EQUAL(run.status, 0);
    for (std::string name : {"replay", "check"})
        BOOST_CHECK_MESSAGE(contains(run.out, "\n  " + name), run.out);
}

BOOST_AUTO_TEST_CASE(an_unknown_command_is_refused_with_the_known_ones) {
    command_result run = run_tlmalloc({"replya"});
    BOOST_CHECK_EQUAL(run.status, 2);
    BOOST_CHECK_MESSAGE(contains(run.err, "found 'replya', expected a command:"), run.err);
    BOOST_CHECK_MESSAGE(contains(run.err, " replay"), run.err);
    BOOST_CHECK_EQUAL(run_tlmalloc({}).status, 2);
}
