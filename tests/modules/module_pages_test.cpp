// The examples of the modules' pages compile, run, and do what they say. They are taken from the pages by CMake.
#include "tlmalloc/kernel.h"
#include "tlmalloc/modules.hpp"

#include <array>
#include <boost/test/unit_test.hpp>
#include <cstring>
#include <functional>
#include <iostream>
#include <tlm_utils/simple_target_socket.h>

namespace {

#include "README.inc"

// Bytes of a memory, by a debug access.
std::string text_in(tlm::tlm_fw_transport_if<> &memory, std::uint64_t address, std::size_t length) {
    std::string text(length, '\0');
    tlm::tlm_generic_payload payload;
    payload.set_read();
    payload.set_address(address);
    payload.set_data_ptr(reinterpret_cast<unsigned char *>(&text[0]));
    payload.set_data_length(static_cast<unsigned>(length));
    return memory.transport_dbg(payload) == length ? text : "";
}

} // namespace

BOOST_AUTO_TEST_CASE(a_tcm_does_what_its_page_shows) {
#include "TCM.inc"
    BOOST_TEST(memory.get_statistics().writes == 1u);
    BOOST_TEST(memory.get_statistics().bytes_written == 11u);
}

BOOST_AUTO_TEST_CASE(an_hbm_slice_does_what_its_page_shows) {
#include "HBM_SLICE.inc"
    BOOST_TEST(slice.get_statistics().reads == 1u);
    BOOST_TEST(slice.get_statistics().busy_ps == 4u * 8000); // 256 B at 32 GB/s
}

BOOST_AUTO_TEST_CASE(a_memory_module_does_what_its_page_shows) {
#include "MEMORY_MODULE.inc"
    BOOST_TEST(sc_core::sc_time_stamp() + delay == sc_core::sc_time(100, sc_core::SC_NS));
}

BOOST_AUTO_TEST_CASE(a_memory_controller_does_what_its_page_shows) {
#include "MEMORY_CONTROLLER.inc"
    BOOST_TEST(done.status == TLA_OK);
    BOOST_TEST(controller.get_statistics(TLA_HBM).arena.used == 4096u);
}

BOOST_AUTO_TEST_CASE(a_riscv_core_does_what_its_page_shows) {
#include "RISCV_CORE.inc"
    BOOST_TEST(core.get_statistics().instructions == 2u);
    BOOST_TEST(core.get_statistics().writes == 1u);
    BOOST_TEST(text_in(*core.out.operator->(), 0x100, 1) == "*"); // 42
}

BOOST_AUTO_TEST_CASE(a_pe_mmu_does_what_its_page_shows) {
#include "PE_MMU.inc"
    BOOST_TEST(text_in(*mmu.out.operator->(), 0x2008, 6) == "mapped");
}

BOOST_AUTO_TEST_CASE(a_va_manager_does_what_its_page_shows) {
#include "VA_MANAGER.inc"
    BOOST_TEST(done.status == TLA_OK);
    BOOST_TEST(done.value == config.space.base.value);
}

BOOST_AUTO_TEST_CASE(a_pe_dma_does_what_its_page_shows) {
#include "PE_DMA.inc"
    BOOST_TEST(status == TLA_OK);
    BOOST_TEST(dma.get_statistics().chunks == 4u);
    BOOST_TEST(dma.get_statistics().bytes_read == 1024u);
}

BOOST_AUTO_TEST_CASE(a_pe_ipcq_does_what_its_page_shows) {
#include "PE_IPCQ.inc"
    BOOST_TEST(status == TLA_OK, error.text);
    BOOST_TEST(platform.pes()[0]->ipcq.get_statistics().sent_bytes == 256u);
    BOOST_TEST(platform.pes()[1]->ipcq.get_statistics().received == 1u);
}

BOOST_AUTO_TEST_CASE(a_processing_element_does_what_its_page_shows) {
#include "PROCESSING_ELEMENT.inc"
    BOOST_TEST(done.status == TLA_OK);
    BOOST_TEST(done.service_ps > 0u);
    BOOST_TEST(controller.get_statistics(TLA_TCM).allocs == 1u);
}

BOOST_AUTO_TEST_CASE(an_interconnect_does_what_its_page_shows) {
#include "INTERCONNECT.inc"
    BOOST_TEST(second.get_statistics().writes == 1u);
    BOOST_TEST(text_in(*bus.out[1], 0x10, 12) == "over the bus");
}

BOOST_AUTO_TEST_CASE(a_command_processor_does_what_its_page_shows) {
#include "COMMAND_PROCESSOR.inc"
    BOOST_TEST(done.status == TLA_OK);
    BOOST_TEST(m_cpu.get_statistics().commands == 1u);
    BOOST_TEST(mmu.get_statistics().maps == 1u);
}

BOOST_AUTO_TEST_CASE(a_host_does_what_its_page_shows) {
#include "HOST.inc"
    BOOST_TEST(error.text == std::string());
    BOOST_TEST(sent == received, boost::test_tools::per_element());
    BOOST_TEST(platform.leaks() == 0u);
}

BOOST_AUTO_TEST_CASE(a_host_driver_does_what_its_page_shows) {
#include "HOST_DRIVER.inc"
    BOOST_TEST(status == TLA_OK);
    BOOST_TEST(driver.get_statistics(0).busy_ps == config.alloc_ps);
}

BOOST_AUTO_TEST_CASE(an_npu_does_what_its_page_shows) {
#include "NPU.inc"
    BOOST_TEST(status == TLA_OK, error.text);
    for (const tlmalloc::pe_unit *pe : platform.pes())
        BOOST_TEST(pe->element.get_statistics().launches == 1u);
}

BOOST_AUTO_TEST_CASE(an_end_point_does_what_its_page_shows) {
#include "END_POINT.inc"
    BOOST_TEST(status == TLA_OK);
    BOOST_TEST(slice.get_statistics().bytes_written == 1000u);
}

BOOST_AUTO_TEST_CASE(an_lt_at_bridge_does_what_its_page_shows) {
#include "LT_AT_BRIDGE.inc"
    BOOST_TEST(bridge.get_statistics().accesses == 1u);
    BOOST_TEST(bridge.get_statistics().requests == 4u);
}

BOOST_AUTO_TEST_CASE(an_at_lt_bridge_does_what_its_page_shows) {
#include "AT_LT_BRIDGE.inc"
    BOOST_TEST(memory.calls == 1u);
}

BOOST_AUTO_TEST_CASE(a_width_adapter_does_what_its_page_shows) {
#include "WIDTH_ADAPTER.inc"
    BOOST_TEST(text_in(*initiator.out.operator->(), 0, 1) == std::string(1, '\0'));
}

BOOST_AUTO_TEST_CASE(a_control_window_does_what_its_page_shows) {
#include "CONTROL_WINDOW.inc"
    BOOST_TEST(done.value == 1u);
    BOOST_TEST(done.service_ps == 10'000u);
}

BOOST_AUTO_TEST_CASE(a_target_socket_does_what_its_page_shows) {
#include "TARGET_SOCKET.inc"
    BOOST_TEST(std::memcmp(memory.bytes.data(), "served", 6) == 0);
    BOOST_TEST(delay == sc_core::sc_time(10, sc_core::SC_NS));
}
