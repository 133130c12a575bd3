// main() of the tests that need no SystemC; those that do have modules/main.cpp.
#define BOOST_TEST_MODULE tlmalloc
#ifdef BOOST_TEST_DYN_LINK
#include <boost/test/unit_test.hpp>
#else
#include <boost/test/included/unit_test.hpp>
#endif
