// Walks that lead back to the MMU that makes them: an error, by whatever way they come back.
#include "bare.hpp"
#include "fault_handler.hpp"
#include "test_initiator.hpp"
#include "tlmalloc/modules/hbm_slice.hpp"
#include "tlmalloc/modules/interconnect.hpp"
#include "tlmalloc/modules/memory_controller.hpp"
#include "tlmalloc/modules/pe_mmu.hpp"

#include <map>
#include <tlm_utils/multi_passthrough_target_socket.h>

using namespace tlmalloc;
using namespace test_initiator;

namespace {

const std::uint64_t page = 4096, slice_bytes = 1 << 20;

std::uint64_t hbm(std::uint64_t offset) {
    tla_paddr pa{};
    tla_paddr_pe_hbm(0, 0, 0, offset, slice_bytes, &pa);
    return pa.value;
}

// Somebody else's way to a target, which many initiators share: it passes a payload on, makes one of its own, or goes
// on with four phases.
struct foreign_way : sc_core::sc_module {
    enum class kind { same_payload, own_payload, waits, four_phases };

    tlm_utils::multi_passthrough_target_socket<foreign_way> in{"in"};
    tlm_utils::simple_initiator_socket<foreign_way> out{"out"};

    foreign_way(sc_core::sc_module_name name, kind what) : sc_module(name), kind_(what) {
        in.register_b_transport(this, &foreign_way::b_transport);
        out.register_nb_transport_bw(this, &foreign_way::nb_transport_bw);
    }

  private:
    void b_transport(int, tlm::tlm_generic_payload &payload, sc_core::sc_time &delay) {
        switch (kind_) {
        case kind::same_payload:
            out->b_transport(payload, delay);
            break;
        case kind::waits:
            sc_core::wait(delay + sc_core::sc_time(3, sc_core::SC_NS));
            delay = sc_core::SC_ZERO_TIME;
            out->b_transport(payload, delay);
            break;
        case kind::own_payload: {
            tlm::tlm_generic_payload own;
            own.set_command(payload.get_command());
            own.set_address(payload.get_address());
            own.set_data_ptr(payload.get_data_ptr());
            own.set_data_length(payload.get_data_length());
            own.set_streaming_width(payload.get_streaming_width());
            out->b_transport(own, delay);
            payload.set_response_status(own.get_response_status());
            break;
        }
        case kind::four_phases: {
            tlm::tlm_phase phase = tlm::BEGIN_REQ;
            sc_core::sc_event answered;
            waiting_[&payload] = &answered;
            if (out->nb_transport_fw(payload, phase, delay) != tlm::TLM_COMPLETED) sc_core::wait(answered);
            waiting_.erase(&payload);
            delay = sc_core::SC_ZERO_TIME;
            break;
        }
        }
    }
    tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload &payload, tlm::tlm_phase &phase, sc_core::sc_time &) {
        if (phase != tlm::BEGIN_RESP) return tlm::TLM_ACCEPTED;
        waiting_.at(&payload)->notify(sc_core::SC_ZERO_TIME);
        return tlm::TLM_COMPLETED;
    }

    const kind kind_;
    std::map<tlm::tlm_generic_payload *, sc_core::sc_event *> waiting_;
};

pe_mmu::config walking() {
    pe_mmu::config config = bare<pe_mmu>();
    config.page_size = page;
    config.va_bits = 52;
    config.walk = TLA_WALK_MEMORY;
    config.tlb_l1 = {16, 0, 1000, TLA_REPLACE_LRU};
    config.tlb_l2 = {};
    config.walkers.walkers = 2;
    config.allocator_port = 1;
    return config;
}

// A controller with its slice; `mmu` walks by `way` (bound by the test), and allocates tables here.
struct memory {
    explicit memory() : slice("slice", slice_config()), controller("controller", controller_config()) {
        controller.slice.bind(slice.in);
    }
    static hbm_slice::config slice_config() {
        hbm_slice::config config = bare<hbm_slice>();
        config.capacity = slice_bytes;
        return config;
    }
    static memory_controller::config controller_config() {
        memory_controller::config config = bare<memory_controller>();
        config.memory.of[TLA_HBM].bytes = slice_bytes;
        config.memory.of[TLA_TCM].bytes = config.memory.of[TLA_TCM].reserved = 0;
        return config;
    }
    hbm_slice slice;
    memory_controller controller;
};

// Maps a page and reads it: the walk cannot be made, so the read is an error; and then the simulation has an end.
void is_refused(initiator &cpu, initiator &driver, const pe_mmu &mmu) {
    cpu.body = [&] {
        tla_command command = map_command(TLA_TARGET_PE_MMU, TLA_OP_MAP, {{0x10000, hbm(0x40000), page}});
        driver.command(0, command);
        for (int i = 0; i < 5; i++) { // more than there are walkers
            bytes data(16);
            sc_core::sc_time delay;
            BOOST_CHECK_EQUAL(cpu.read(0x10000, data, delay), tlm::TLM_GENERIC_ERROR_RESPONSE);
            sc_core::wait(delay);
        }
    };
    simulate({&cpu});
    BOOST_CHECK_GE(mmu.get_statistics().walk_errors, 5u); // and those of entries that were to be written
    std::size_t told = 0;
    for (const std::string &report : reports())
        told += report.find("/tlmalloc/pe_mmu/walk: ") == 0 &&
                report.find("a walk of this MMU accesses the same MMU") != std::string::npos;
    BOOST_CHECK_GE(told, 5u);
}

void is_refused_behind(foreign_way::kind kind) {
    memory m;
    pe_mmu mmu("mmu", walking());
    foreign_way way("way", kind);
    initiator cpu("cpu"), driver("driver");
    cpu.out.bind(way.in);
    mmu.walk.bind(way.in);
    way.out.bind(mmu.in);
    mmu.out.bind(m.controller.in);
    mmu.allocator.bind(m.controller.control);
    driver.out.bind(mmu.control);
    is_refused(cpu, driver, mmu);
}

} // namespace

BOOST_AUTO_TEST_CASE(a_walk_that_a_foreign_module_routes_back_is_rejected) {
    is_refused_behind(foreign_way::kind::same_payload);
}
BOOST_AUTO_TEST_CASE(a_walk_that_returns_in_another_payload_is_rejected) {
    is_refused_behind(foreign_way::kind::own_payload);
}
BOOST_AUTO_TEST_CASE(a_walk_that_returns_after_waiting_is_rejected) {
    is_refused_behind(foreign_way::kind::waits);
}
BOOST_AUTO_TEST_CASE(a_walk_that_returns_in_four_phases_is_rejected) {
    is_refused_behind(foreign_way::kind::four_phases);
}

BOOST_AUTO_TEST_CASE(a_walk_that_the_fabric_routes_back_is_rejected) {
    memory m;
    pe_mmu mmu("mmu", walking());
    interconnect::config links = bare<interconnect>();
    links.nodes.resize(2);
    links.links = {{0, 1, 2'000, 64'000'000'000, 0}, {1, 0, 2'000, 64'000'000'000, 0}};
    links.sources = {0, 0};
    links.targets = {1};
    links.windows = {{0, std::uint64_t{1} << 51, 0, false}};
    interconnect fabric("fabric", links);
    initiator cpu("cpu"), driver("driver");
    cpu.out.bind(fabric.in);
    mmu.walk.bind(fabric.in);
    fabric.out.bind(mmu.in);
    mmu.out.bind(m.controller.in);
    mmu.allocator.bind(m.controller.control);
    driver.out.bind(mmu.control);
    is_refused(cpu, driver, mmu);
}

// Each walks through the other.
BOOST_AUTO_TEST_CASE(walks_of_two_mmus_through_each_other_are_rejected) {
    memory m;
    pe_mmu mmu("mmu", walking());
    pe_mmu::config second = walking();
    second.allocator_port = 2;
    pe_mmu other("other", second);
    foreign_way to_mmu("to_mmu", foreign_way::kind::same_payload),
        from_cpu("from_cpu", foreign_way::kind::same_payload), to_memory("to_memory", foreign_way::kind::same_payload);
    initiator cpu("cpu"), driver("driver"), other_driver("other_driver");
    cpu.out.bind(to_mmu.in);
    other.walk.bind(to_mmu.in);
    to_mmu.out.bind(mmu.in);
    mmu.walk.bind(from_cpu.in);
    from_cpu.out.bind(other.in);
    mmu.out.bind(to_memory.in);
    other.out.bind(to_memory.in);
    to_memory.out.bind(m.controller.in);
    foreign_way commands("commands", foreign_way::kind::same_payload);
    mmu.allocator.bind(commands.in);
    other.allocator.bind(commands.in);
    commands.out.bind(m.controller.control);
    driver.out.bind(mmu.control);
    other_driver.out.bind(other.control);
    other_driver.body = [&] { // the tables of the first, which therefore cannot be written
        other_driver.command(0, map_command(TLA_TARGET_PE_MMU, TLA_OP_MAP, {{hbm(0), hbm(0), slice_bytes}}));
    };
    is_refused(cpu, driver, mmu);
}

// A walk through another MMU, whose own tables lie elsewhere, is no circle: two stages of translation.
BOOST_AUTO_TEST_CASE(a_walk_through_another_mmu_is_two_stages_of_translation) {
    memory m;
    pe_mmu mmu("mmu", walking());
    pe_mmu::config ideal = bare<pe_mmu>();
    ideal.page_size = slice_bytes;
    pe_mmu second("second", ideal);
    foreign_way to_memory("to_memory", foreign_way::kind::same_payload);
    initiator cpu("cpu"), driver("driver"), second_driver("second_driver");
    cpu.out.bind(mmu.in);
    mmu.walk.bind(second.in);
    mmu.out.bind(to_memory.in);
    second.out.bind(to_memory.in);
    to_memory.out.bind(m.controller.in);
    mmu.allocator.bind(m.controller.control);
    driver.out.bind(mmu.control);
    second_driver.out.bind(second.control);
    cpu.body = [&] {
        second_driver.command(0, map_command(TLA_TARGET_PE_MMU, TLA_OP_MAP, {{hbm(0), hbm(0), slice_bytes}}));
        driver.command(0, map_command(TLA_TARGET_PE_MMU, TLA_OP_MAP, {{0x10000, hbm(0x40000), page}}));
        cpu.write(0x10010, pattern(64));
        BOOST_CHECK(cpu.read(0x10010, 64) == pattern(64));
    };
    simulate({&cpu});
    BOOST_CHECK(reports().empty());
    BOOST_CHECK_GE(mmu.get_statistics().walkers.walks, 1u);
    BOOST_CHECK_GT(second.get_statistics().lookups, 4u); // entries that were written, and the walk
}
