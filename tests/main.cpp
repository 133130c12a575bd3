// main() of the tests that need no SystemC; those that do have modules/main.cpp.
#define BOOST_TEST_MODULE tlmalloc
#include <boost/test/unit_test.hpp>
