// libsystemc owns main(), so the Boost.Test runner is called from sc_main.
#define BOOST_TEST_NO_MAIN
#define BOOST_TEST_ALTERNATIVE_INIT_API
#include "../../platform/cli/main_stack.hpp"

#ifdef BOOST_TEST_DYN_LINK
#include <boost/test/unit_test.hpp>
#else
#include <boost/test/included/unit_test.hpp>
#endif
#include <systemc>

int sc_main(int argc, char **argv) {
    const int status = boost::unit_test::unit_test_main([] { return true; }, argc, argv);
    restore_main_stack();
    return status;
}
