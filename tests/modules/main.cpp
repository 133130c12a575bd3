// libsystemc owns main(), so the Boost.Test runner is called from sc_main.
#define BOOST_TEST_NO_MAIN
#define BOOST_TEST_ALTERNATIVE_INIT_API
#include "../../platform/cli/main_stack.hpp"
#include "tlmalloc/modules/detail/time_queue.hpp"

#ifdef BOOST_TEST_DYN_LINK
#include <boost/test/unit_test.hpp>
#else
#include <boost/test/included/unit_test.hpp>
#endif
#include <iostream>
#include <systemc>

// Nothing may come late where nobody looks ahead. A test in which something does says so: it lets nothing be done about
// the warning.
static bool is_late_unexpectedly() {
    const char *const warning = "/tlmalloc/time/late";
    const tlmalloc::time_queue::late_figures figures = tlmalloc::time_queue::get_late();
    const sc_core::sc_actions about_it = sc_core::sc_report_handler::set_actions(warning, sc_core::SC_UNSPECIFIED);
    if (figures.late == 0 || about_it == sc_core::SC_DO_NOTHING) return false;
    std::cerr << "test failed: " << figures.late << " requests came late, by " << figures.worst_ps << " ps at most\n";
    return true;
}

int sc_main(int argc, char **argv) {
    const int status = boost::unit_test::unit_test_main([] { return true; }, argc, argv);
    restore_main_stack();
    return status ? status : is_late_unexpectedly();
}
