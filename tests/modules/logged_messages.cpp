// Messages of the command line in a test: they are part of its log.
#include "cli/message.h"
#include "cli/overrides.h"

#include <boost/test/unit_test.hpp>

void print_finding(void *, const tla_config_finding *finding) {
    BOOST_TEST_MESSAGE(finding->text);
}

void print_message(const char *format, ...) {
    BOOST_TEST_MESSAGE(format);
}
