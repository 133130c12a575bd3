// A host that runs out of memory when a test says so, and the check that every call of the library lives through it.
//
// A program that links tlmalloc_failing_host_memory has its calls of malloc and the like, of mmap, fopen and of what
// else takes host memory, wrapped by the linker (--wrap), in the library's archive too. Nothing fails until fail_from.
#ifndef TLMALLOC_TESTS_HOST_MEMORY_FAILING_HPP
#define TLMALLOC_TESTS_HOST_MEMORY_FAILING_HPP

#include "tlmalloc/base/status.h"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <functional>
#include <string>

namespace host_memory {

// The n-th allocation from now on fails (0: the next); with `all_later` every one after it, too.
void fail_from(std::size_t n, bool all_later);

// Ends that; how many allocations have failed.
std::size_t stop();

// Allocations since the program began that have not been given back.
std::size_t live();

// Calls that asked for host memory since the program began.
std::size_t asked();

// Makes `act` run out of host memory at its first allocation, at its second and so on until none is left, once with
// all later ones failing too and once without. `make` returns a new object (that is, a pointer that owns it), `look`
// everything about it that can be seen. Whenever something failed, either act has said TLA_NO_HOST_MEMORY and nothing
// is to be seen of it, and a second try, with memory, does what the call does; or it has done that at once. In the end
// everything has been given back. Returns how many allocations act makes.
template <typename Make, typename Act, typename Look>
std::size_t exhaust(const std::string &what, Make make, Act act, Look look) {
    BOOST_TEST_CONTEXT(what) {
        const std::size_t before_all = live();
        tla_status expected = TLA_OK;
        std::string after;
        {
            auto object = make();
            expected = act(*object);
            after = look(*object);
        }
        BOOST_CHECK_EQUAL(live(), before_all);
        std::size_t allocations = 0;
        for (bool all_later : {true, false})
            for (std::size_t n = 0, failed = 1; failed > 0; n++) {
                BOOST_TEST_CONTEXT("allocation " << n << (all_later ? " and all later ones fail" : " alone fails")) {
                    auto object = make();
                    const std::string before = look(*object);
                    fail_from(n, all_later);
                    tla_status status = act(*object);
                    failed = stop();
                    if (failed > 0) allocations = n + 1;
                    if (failed > 0 && status == TLA_NO_HOST_MEMORY) {
                        BOOST_CHECK_EQUAL(look(*object), before);
                        status = act(*object);
                    }
                    BOOST_CHECK_EQUAL(tla_status_name(status), tla_status_name(expected));
                    BOOST_CHECK_EQUAL(look(*object), after);
                }
                BOOST_REQUIRE_EQUAL(live(), before_all);
            }
        return allocations;
    }
    return 0;
}

} // namespace host_memory
#endif
