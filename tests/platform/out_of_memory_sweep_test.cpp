// A sweep on a host without memory: read whole, or refused with TLA_NO_HOST_MEMORY, at whichever allocation memory is
// out; nothing is lost.
#include "host_memory/failing.hpp"
#include "sweep/sweep.h"

namespace {

const sweep_command commands[] = {
    {"run", nullptr, SWEEP_PLATFORM_ARGUMENT, false, false, false, false, {{"--kernel", true, false, nullptr}}, false},
    {}};

const std::string text = "name: n\nabout: a\ncommand: run\nplatform: " TLMALLOC_SOURCE_DIR
                         "/configs/npu_small.yaml\nset: {mmu.walk: flat, --kernel: gemm}\nkeys:\n"
                         "  - {key: mmu.page_size, values: [4 KiB, 64 KiB], zip: a}\n"
                         "  - {key: mmu.walkers.count, values: [1, 2], zip: a}\nconstraints: [mmu.walkers.count <= 2]\n"
                         "figures: {end: sim_time_ps}\n";

} // namespace

BOOST_AUTO_TEST_CASE(a_sweep_is_read_whole_or_not_at_all) {
    std::size_t refused = 0;
    const std::size_t before = host_memory::live();
    for (bool all_later : {true, false})
        for (std::size_t n = 0, failed = 1; failed > 0; n++) {
            sweep s;
            char digits[17] = "";
            host_memory::fail_from(n, all_later);
            tla_status status = sweep_parse("s.yaml", text.data(), text.size(), commands, &s, nullptr, nullptr);
            tla_status hashed = status ? TLA_OK : sweep_hash(&s, 1, digits);
            failed = host_memory::stop();
            BOOST_TEST_CONTEXT("allocation " << n) {
                BOOST_CHECK(status == TLA_OK || (failed > 0 && status == TLA_NO_HOST_MEMORY));
                BOOST_CHECK(hashed == TLA_OK || (failed > 0 && hashed == TLA_NO_HOST_MEMORY));
                if (status == TLA_OK) BOOST_CHECK_EQUAL(s.count, 2u);
                refused += status != TLA_OK;
                if (status == TLA_OK) sweep_clear(&s);
                BOOST_CHECK_EQUAL(host_memory::live(), before);
            }
        }
    BOOST_CHECK_GT(refused, 40u);
}
