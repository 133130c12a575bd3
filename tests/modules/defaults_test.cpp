// Modules that are made in C++, with nothing said, are those of an empty configuration.
#include "test_initiator.hpp"
#include "tlmalloc/config.h"
#include "tlmalloc/modules.hpp"

#include <cstring>

using namespace tlmalloc;
using namespace test_initiator;

BOOST_AUTO_TEST_CASE(every_module_begins_as_an_empty_configuration_makes_it) {
    tla_config empty{}, made{};
    BOOST_REQUIRE_EQUAL(tla_config_load(nullptr, nullptr, 0, &empty, nullptr, nullptr), TLA_OK);
    made = empty;
    std::memset(&made.hbm, 0xa5, sizeof made.hbm);
    made.hbm = hbm_slice::config();
    std::memset(&made.tcm, 0xa5, sizeof made.tcm);
    made.tcm = tcm::config();
    std::memset(&made.controller, 0xa5, sizeof made.controller);
    made.controller = memory_controller::config();
    std::memset(&made.mmu, 0xa5, sizeof made.mmu);
    made.mmu = pe_mmu::config();
    std::memset(&made.va, 0xa5, sizeof made.va);
    made.va = va_manager::config();
    std::memset(&made.host_memory, 0xa5, sizeof made.host_memory);
    tla_host_memory_defaults(&made.host_memory);
    std::memset(&made.m_cpu, 0xa5, sizeof made.m_cpu);
    made.m_cpu = command_processor::config();
    std::memset(&made.dma, 0xa5, sizeof made.dma);
    made.dma = pe_dma::config();
    std::memset(&made.pe, 0xa5, sizeof made.pe);
    made.pe = processing_element::config();
    std::memset(&made.host, 0xa5, sizeof made.host);
    made.host = host::config();
    BOOST_CHECK(tla_config_equal(&made, &empty));
    // What has no key: it follows from others.
    BOOST_CHECK_EQUAL(made.hbm.capacity, std::uint64_t{6} << 30);
    BOOST_CHECK_EQUAL(made.controller.memory.of[TLA_HBM].bytes, made.hbm.capacity);
    BOOST_CHECK_EQUAL(made.controller.memory.of[TLA_TCM].bytes, made.tcm.capacity);
    BOOST_CHECK_EQUAL(made.host.page_size, made.va.space.page_size);
    for (const tla_retry_policy &retry : {made.mmu.retry, made.pe.retry})
        BOOST_CHECK(retry.retries == made.host.retry.retries && retry.delay_ps == made.host.retry.delay_ps);
}
