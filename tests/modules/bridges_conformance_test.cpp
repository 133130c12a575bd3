// The bridges against the conformance battery, before memories of ours and before one that is approximately timed only;
// and as what the modules' own sockets lead to.
#include "bare.hpp"
#include "conforms.hpp"
#include "phased_memory.hpp"
#include "test_initiator.hpp"
#include "tlmalloc/modules/at_lt_bridge.hpp"
#include "tlmalloc/modules/lt_at_bridge.hpp"
#include "tlmalloc/modules/memory_controller.hpp"
#include "tlmalloc/modules/pe_mmu.hpp"

using namespace tlmalloc;
using namespace test_initiator;
using namespace tlmalloc::testing;

namespace {

constexpr std::uint64_t memory_bytes = 1 << 18, tcm_bytes = 1 << 16, page = 4096, va = 0x1'0000'0000;

hbm_slice::config slice_config() {
    hbm_slice::config c = bare<hbm_slice>();
    c.capacity = memory_bytes;
    c.latency_ps = 5'000;
    return c;
}

lt_at_bridge::config bridge_config(std::uint64_t capacity = memory_bytes) {
    lt_at_bridge::config c;
    c.capacity = capacity;
    return c;
}

phased_memory::settings mixed(std::uint64_t size = memory_bytes) {
    phased_memory::settings s;
    s.how = phased_memory::manner::mixed;
    s.size = size;
    return s;
}

// An lt_at_bridge and a slice of ours, which is called in four phases.
struct bridged_slice : conformance_target {
    lt_at_bridge bridge{"bridge", bridge_config()};
    hbm_slice slice;
    bridged_slice() : slice("slice", slice_config()) {
        bridge.out.bind(slice.in);
        memory = {0, memory_bytes - 1};
    }
    void bind(tlm::tlm_initiator_socket<> &from) override { from.bind(bridge.in); }
};

struct bridged_phases : conformance_target {
    lt_at_bridge bridge{"bridge", bridge_config()};
    phased_memory behind{"memory", mixed()};
    bridged_phases() {
        bridge.out.bind(behind.in);
        memory = {0, memory_bytes - 1};
    }
    void bind(tlm::tlm_initiator_socket<> &from) override { from.bind(bridge.in); }
    std::optional<range> withdraw_dmi() override {
        behind.withdraw(0, 255);
        return range{0, 255};
    }
};

// A memory of bursts without byte enables, not at 0: what is written in part is read and written back.
struct bridged_bursts : conformance_target {
    static constexpr std::uint64_t base = 4096;
    lt_at_bridge bridge{"bridge", config()};
    phased_memory behind{"memory", bursts()};

    static lt_at_bridge::config config() {
        lt_at_bridge::config c = bridge_config(memory_bytes - base);
        c.base = base;
        c.smallest = 64;
        c.byte_enables = false;
        return c;
    }
    static phased_memory::settings bursts() {
        phased_memory::settings s = mixed();
        s.smallest = 64;
        s.byte_enables = false;
        return s;
    }
    bridged_bursts() {
        bridge.out.bind(behind.in);
        memory = {base, memory_bytes - 1};
    }
    void bind(tlm::tlm_initiator_socket<> &from) override { from.bind(bridge.in); }
    std::optional<range> withdraw_dmi() override {
        behind.withdraw(0, base + 255);
        return range{base, base + 255};
    }
};

// An at_lt_bridge and a slice, which is called by b_transport only.
struct phases_before_slice : conformance_target {
    at_lt_bridge bridge{"bridge", {}};
    hbm_slice slice;
    phases_before_slice() : slice("slice", slice_config()) {
        bridge.out.bind(slice.in);
        memory = {0, memory_bytes - 1};
    }
    void bind(tlm::tlm_initiator_socket<> &from) override { from.bind(bridge.in); }
};

// Both, one after the other.
struct there_and_back : conformance_target {
    at_lt_bridge first{"first", {}};
    lt_at_bridge second{"second", bridge_config()};
    phased_memory behind{"memory", mixed()};
    there_and_back() {
        first.out.bind(second.in);
        second.out.bind(behind.in);
        memory = {0, memory_bytes - 1};
    }
    void bind(tlm::tlm_initiator_socket<> &from) override { from.bind(first.in); }
    std::optional<range> withdraw_dmi() override {
        behind.withdraw(0, 255);
        return range{0, 255};
    }
};

memory_controller::config controller_config() {
    memory_controller::config c = bare<memory_controller>();
    c.memory.of[TLA_HBM].bytes = memory_bytes;
    c.memory.of[TLA_TCM].bytes = tcm_bytes;
    c.memory.of[TLA_TCM].reserved = 0;
    c.latency_ps = 3'000;
    return c;
}

// A controller whose slice is somebody else's memory, and whose TCM takes blocking calls through a bridge.
struct bridged_controller : conformance_target {
    memory_controller controller;
    lt_at_bridge slice_bridge{"slice_bridge", bridge_config()};
    at_lt_bridge tcm_bridge{"tcm_bridge", {}};
    phased_memory slice{"slice", mixed()};
    hbm_slice local;
    tlm_utils::simple_initiator_socket<bridged_controller> commands{"commands"};
    std::uint64_t hbm;

    static hbm_slice::config tcm_config() {
        hbm_slice::config c = slice_config();
        c.capacity = tcm_bytes;
        return c;
    }
    bridged_controller() : controller("controller", controller_config()), local("local", tcm_config()) {
        controller.slice.bind(slice_bridge.in);
        slice_bridge.out.bind(slice.in);
        controller.tcm.bind(tcm_bridge.in);
        tcm_bridge.out.bind(local.in);
        commands.bind(controller.control);
        tla_paddr pa{};
        tla_paddr_pe_hbm(0, 0, 0, 0, memory_bytes, &pa);
        hbm = pa.value;
        memory = {hbm, hbm + memory_bytes - 1};
    }
    void bind(tlm::tlm_initiator_socket<> &from) override { from.bind(controller.in); }

    std::optional<range> withdraw_dmi() override {
        tla_command command = alloc_command(TLA_HBM, 1000);
        tla_completion completion{};
        sc_core::sc_time delay;
        send_command(commands, 0, command, completion, delay);
        const std::uint64_t pa = completion.value;
        command = free_command(pa, 1000);
        send_command(commands, 0, command, completion, delay);
        sc_core::wait(delay);
        return range{pa, pa + 999};
    }
};

// An MMU right in front of somebody else's memory.
struct bridged_mmu : conformance_target {
    pe_mmu mmu;
    lt_at_bridge bridge{"bridge", bridge_config()};
    phased_memory behind{"memory", mixed()};
    tlm_utils::simple_initiator_socket<bridged_mmu> mappings{"mappings"};

    static pe_mmu::config config() {
        pe_mmu::config c = bare<pe_mmu>();
        c.page_size = page;
        c.va_bits = 48;
        return c;
    }
    bridged_mmu() : mmu("mmu", config()) {
        mmu.out.bind(bridge.in);
        bridge.out.bind(behind.in);
        mappings.bind(mmu.control);
        memory = {va, va + 2 * page - 1};
    }
    void bind(tlm::tlm_initiator_socket<> &from) override { from.bind(mmu.in); }

    void send(const tla_command &command) {
        tla_completion completion{};
        sc_core::sc_time delay;
        send_command(mappings, 0, command, completion, delay);
        sc_core::wait(delay);
    }
    void prepare() override {
        send(map_command(TLA_TARGET_PE_MMU, TLA_OP_MAP, {{va, 0x3000, page}, {va + page, 0x1000, page}}));
    }
    std::optional<range> withdraw_dmi() override {
        send(map_command(TLA_TARGET_PE_MMU, TLA_OP_UNMAP, {{va, 0, page}}));
        return range{va, va + page - 1};
    }
};

// A controller in front of a bridge whose memory ends before the slice does.
void a_smaller_memory_is_an_error(std::uint64_t end) {
    sc_core::sc_report_handler::set_handler(keep_report);
    memory_controller::config config = controller_config();
    config.memory.of[TLA_TCM].bytes = 0;
    memory_controller controller("controller", config);
    lt_at_bridge bridge("bridge", bridge_config(end));
    phased_memory slice("slice", mixed(end));
    test_initiator::initiator cpu("cpu");
    cpu.out.bind(controller.control);
    controller.slice.bind(bridge.in);
    bridge.out.bind(slice.in);
    BOOST_CHECK_THROW(sc_core::sc_start(sc_core::SC_ZERO_TIME), sc_core::sc_report);
    BOOST_REQUIRE(!reports().empty());
    BOOST_CHECK_EQUAL(reports()[0], "/tlmalloc/memory_controller/config: controller: the memory at slice ends before "
                                    "byte 262143, the last of the 262144 bytes of the HBM");
    BOOST_CHECK(slice.faults.empty());
}

} // namespace

BOOST_AUTO_TEST_CASE(a_slice_conforms_behind_four_phases) {
    conforms(make<bridged_slice>(), "D5");
}
BOOST_AUTO_TEST_CASE(a_foreign_memory_conforms_behind_a_bridge) {
    conforms(make<bridged_phases>());
}
BOOST_AUTO_TEST_CASE(a_memory_of_whole_bursts_without_byte_enables_conforms_behind_a_bridge) {
    conforms(make<bridged_bursts>());
}
BOOST_AUTO_TEST_CASE(a_slice_conforms_behind_blocking_calls) {
    conforms(make<phases_before_slice>(), "D5");
}
BOOST_AUTO_TEST_CASE(both_bridges_conform_one_after_the_other) {
    conforms(make<there_and_back>());
}
BOOST_AUTO_TEST_CASE(a_controller_conforms_in_front_of_a_bridge) {
    conforms(make<bridged_controller>());
}
BOOST_AUTO_TEST_CASE(an_mmu_conforms_in_front_of_a_bridge) {
    conforms(make<bridged_mmu>());
}
BOOST_AUTO_TEST_CASE(a_memory_that_is_smaller_than_the_controller_says_is_an_error_at_elaboration) {
    a_smaller_memory_is_an_error(memory_bytes - 4096);
}
