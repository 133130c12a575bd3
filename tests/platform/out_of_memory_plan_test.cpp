// Tables of lifetimes and of programs on a host without memory: read whole, or refused with a text.
#include "host_memory/failing.hpp"
#include "scratch_directory.hpp"
#include "trace/lifetimes.h"

BOOST_AUTO_TEST_CASE(tables_are_read_whole_or_not_at_all) {
    const scratch_directory scratch;
    const std::string buffers = scratch.write("b.csv", "id,lower,upper,size,gaps\na,0,9,4,2-3 5-6\nb,1,2,4,\n"),
                      program =
                          scratch.write("p.csv", "id,operands,size,view,from,io\nx,,8,,,input\na,x,8,,,\n"
                                                 "b,x,4,,,\ns,b,2,slice,1,\nk,a b,12,concat,,\ny,k s,8,,,output\n");
    for (const std::string &path : {buffers, program}) {
        const std::size_t before = host_memory::live(), count = path == program ? 6 : 2;
        std::size_t refused = 0;
        for (const bool all_later : {true, false})
            for (std::size_t n = 0, failed = 1; failed > 0; n++) {
                lifetime_list list;
                tla_error error{};
                host_memory::fail_from(n, all_later);
                const tla_status status = lifetimes_load(path.c_str(), TRACE_FIRST_DEVICE, &list, &error);
                failed = host_memory::stop();
                BOOST_TEST_CONTEXT(path << ", allocation " << n) {
                    BOOST_CHECK_MESSAGE(status == TLA_OK || (failed > 0 && status == TLA_NO_HOST_MEMORY), error.text);
                    BOOST_CHECK_EQUAL(list.count, status ? 0 : count);
                    BOOST_CHECK_EQUAL(error.text[0] != 0, status != TLA_OK);
                    refused += status != TLA_OK;
                    lifetimes_clear(&list);
                    BOOST_REQUIRE_EQUAL(host_memory::live(), before);
                }
            }
        BOOST_CHECK_GT(refused, 20u);
    }
}
