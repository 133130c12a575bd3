// A hart that the host has no memory for.
#include "host_memory/failing.hpp"
#include "tlmalloc/riscv/riscv_hart.h"

BOOST_AUTO_TEST_CASE(without_host_memory_there_is_no_hart_and_nothing_is_lost) {
    const std::size_t before = host_memory::live();
    tla_riscv_config config{};
    config.memory_bytes = 4096;
    for (std::size_t n = 0; n < 4; n++) {
        tla_riscv_hart *hart = nullptr;
        host_memory::fail_from(n, true);
        const tla_status status = tla_riscv_create(&config, &hart);
        BOOST_CHECK_EQUAL(host_memory::stop() > 0, status == TLA_NO_HOST_MEMORY);
        BOOST_CHECK_EQUAL(status == TLA_OK, n == 3);
        BOOST_CHECK_EQUAL(hart != nullptr, status == TLA_OK);
        tla_riscv_destroy(hart);
        BOOST_CHECK_EQUAL(host_memory::live(), before);
    }
}
