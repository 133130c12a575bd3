// `tlmalloc` itself: its help, its version, what it says to a command that does not exist.
#include "platform/command_line.hpp"
#include "tlmalloc/version.h"

#include <cstring>
#include <regex>

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

BOOST_AUTO_TEST_CASE(an_unknown_command_is_rejected_with_the_known_ones) {
    command_result run = run_tlmalloc({"replya"});
    BOOST_CHECK_EQUAL(run.status, 2);
    BOOST_CHECK_MESSAGE(contains(run.err, "found 'replya', expected a command:"), run.err);
    BOOST_CHECK_MESSAGE(contains(run.err, " replay"), run.err);
    BOOST_CHECK_EQUAL(run_tlmalloc({}).status, 2);
}

BOOST_AUTO_TEST_CASE(every_option_with_a_number_rejects_invalid_numbers_and_numbers_above_64_bits) {
    const std::string help = run_tlmalloc({"--help"}).out;
    const std::regex of_command("\n  ([a-z]+) "), of_number("--([a-z-]+)=N(?:\\|[a-z]+)?(?=\\s)");
    const std::sregex_iterator end;
    std::size_t options = 0;
    for (std::sregex_iterator command(help.begin(), help.end(), of_command); command != end; ++command) {
        const std::string name = (*command)[1], its_help = run_tlmalloc({"help", name}).out;
        for (std::sregex_iterator found(its_help.begin(), its_help.end(), of_number); found != end;
             ++found, options++) {
            const std::string option = "--" + std::string((*found)[1]);
            for (const char *const wrong : {"", "x", "-1", "12x", "18446744073709551616"}) {
                if (name == "age" && option == "--events" && wrong[0] == '1' && !std::strchr(wrong, 'x'))
                    continue; // more than the trace has is all of it
                const command_result run = run_tlmalloc({name, option, wrong});
                BOOST_CHECK_EQUAL(run.status, 2);
                BOOST_CHECK_MESSAGE(contains(run.err, option + ": "),
                                    name << option << " '" << wrong << "' " << run.err);
            }
        }
    }
    BOOST_CHECK_GE(options, 9u); // without components; with them more
}
