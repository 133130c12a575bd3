// Every target of the library against the conformance battery, with loosely and approximately timed initiators.
#include "bare.hpp"
#include "conforms.hpp"
#include "tlmalloc/config.h"
#include "tlmalloc/modules/command_processor.hpp"
#include "tlmalloc/modules/command_sender.hpp"
#include "tlmalloc/modules/hbm_slice.hpp"
#include "tlmalloc/modules/interconnect.hpp"
#include "tlmalloc/modules/memory_controller.hpp"
#include "tlmalloc/modules/pe_dma.hpp"
#include "tlmalloc/modules/pe_mmu.hpp"
#include "tlmalloc/modules/processing_element.hpp"
#include "tlmalloc/modules/tcm.hpp"
#include "tlmalloc/modules/va_manager.hpp"
#include "tlmalloc/modules/width_adapter.hpp"

#include <boost/test/unit_test.hpp>
#include <sstream>

using namespace tlmalloc;
using namespace tlmalloc::testing;

namespace {

constexpr std::uint64_t slice_bytes = 1 << 20, tcm_bytes = 1 << 16;

hbm_slice::config slice_config() {
    hbm_slice::config c = bare<hbm_slice>();
    c.capacity = slice_bytes;
    c.latency_ps = 5'000;
    return c;
}

hbm_slice::config banks_config() {
    hbm_slice::config c = slice_config();
    c.timing.emplace();
    tla_timing_named("hbm3", &*c.timing);
    return c;
}

tcm::config tcm_config() {
    tcm::config c = bare<tcm>();
    c.capacity = tcm_bytes;
    c.latency_ps = 2'000;
    return c;
}

struct slice_target : conformance_target {
    hbm_slice slice;
    explicit slice_target(const hbm_slice::config &config) : slice("slice", config) { memory = {0, slice_bytes - 1}; }
    void bind(tlm::tlm_initiator_socket<> &from) override { from.bind(slice.in); }
};

struct tcm_target : conformance_target {
    tcm local;
    tcm_target() : local("tcm", tcm_config()) { memory = {0, tcm_bytes - 1}; }
    void bind(tlm::tlm_initiator_socket<> &from) override { from.bind(local.in); }
};

memory_controller::config controller_config() {
    memory_controller::config c = bare<memory_controller>();
    c.memory.sip = 1;
    c.memory.die = 2;
    c.memory.pe = 3;
    c.memory.of[TLA_HBM].bytes = slice_bytes;
    c.memory.of[TLA_TCM].bytes = tcm_bytes;
    c.memory.of[TLA_TCM].reserved = 4096;
    c.latency_ps = 3'000;
    return c;
}

// Something that sends commands, beside the initiator under test.
struct commander : sc_core::sc_module {
    tlm_utils::simple_initiator_socket<commander> out{"out"};
    explicit commander(sc_core::sc_module_name name) : sc_module(name) {}

    tla_completion send(const tla_command &command) {
        tla_completion completion{};
        sc_core::sc_time delay;
        send_command(out, 0, command, completion, delay);
        sc_core::wait(delay);
        return completion;
    }
};

// Allocates a block and gives it back, so that pointers to it are withdrawn: its first and last byte.
conformance_target::range take_and_free(commander &commands, tla_memory_kind kind) {
    tla_command command{};
    command.opcode = TLA_OP_ALLOC;
    command.target = TLA_TARGET_MEMORY_CONTROLLER;
    command.memory = kind;
    command.nbytes = 1000;
    const std::uint64_t pa = commands.send(command).value;
    command.opcode = TLA_OP_FREE;
    command.pa = {pa};
    commands.send(command);
    return {pa, pa + 999};
}

// A controller with its memories; `memory` is the whole of one of them, by physical address.
struct controller_target : conformance_target {
    hbm_slice slice;
    tcm local;
    memory_controller controller;
    commander commands{"commands"};
    std::uint64_t hbm, tcm_base;

    explicit controller_target(tla_memory_kind kind = TLA_HBM)
        : slice("slice", slice_config()), local("tcm", tcm_config()), controller("controller", controller_config()) {
        controller.slice.bind(slice.in);
        controller.tcm.bind(local.in);
        commands.out.bind(controller.control);
        tla_paddr pa{};
        tla_paddr_pe_hbm(1, 2, 3, 0, slice_bytes, &pa);
        hbm = pa.value;
        tla_paddr_pe_tcm(1, 2, 3, 0, &pa);
        tcm_base = pa.value;
        memory = kind == TLA_HBM ? range{hbm, hbm + slice_bytes - 1} : range{tcm_base, tcm_base + tcm_bytes - 1};
        channel_ = kind;
    }

    void bind(tlm::tlm_initiator_socket<> &from) override { from.bind(controller.in); }

    std::optional<range> withdraw_dmi() override { return take_and_free(commands, channel_); }

    tla_memory_kind channel_;
};

// A controller with plain addresses, below 4 GiB.
struct plain_target : conformance_target {
    static constexpr std::uint64_t base = 0x8000'0000;
    hbm_slice slice;
    memory_controller controller;
    commander commands{"commands"};

    static memory_controller::config config() {
        memory_controller::config c = controller_config();
        c.memory.sip = c.memory.die = c.memory.pe = 0;
        c.memory.of[TLA_TCM].bytes = c.memory.of[TLA_TCM].reserved = 0;
        c.memory.layout = TLA_LAYOUT_PLAIN;
        c.memory.of[TLA_HBM].base = base;
        return c;
    }

    plain_target() : slice("slice", slice_config()), controller("controller", config()) {
        controller.slice.bind(slice.in);
        commands.out.bind(controller.control);
        memory = {base, base + slice_bytes - 1};
    }

    void bind(tlm::tlm_initiator_socket<> &from) override { from.bind(controller.in); }

    std::optional<range> withdraw_dmi() override { return take_and_free(commands, TLA_HBM); }
};

// The same, used, reset, and asked then.
struct reset_target : plain_target {
    using plain_target::plain_target;
    void prepare() override {
        take_and_free(commands, TLA_HBM);
        controller.reset();
        slice.reset();
    }
};

// The same, where somebody else's extension says who asks: here of everybody the same.
struct rights_target : plain_target {
    struct reader : rights_reader {
        access_rights read(const tlm::tlm_generic_payload &) const override {
            access_rights rights;
            rights.has_asid = true;
            rights.asid = 5;
            rights.core = 7;
            return rights;
        }
    };
    reader said;
    rights_target() : plain_target() { controller.in.read_rights(said); }
};

// The controller of a memory of the cube.
struct cube_target : conformance_target {
    tcm memory_behind;
    memory_controller controller;
    commander commands{"commands"};
    const tla_memory_kind kind;

    static memory_controller::config config(tla_memory_kind kind) {
        memory_controller::config c = controller_config();
        c.memory.of[TLA_HBM].bytes = c.memory.of[TLA_TCM].bytes = c.memory.of[TLA_TCM].reserved = 0;
        (kind == TLA_SRAM ? c.memory.of[TLA_SRAM].bytes : c.memory.of[TLA_M_CPU_MEMORY].bytes) = tcm_bytes;
        return c;
    }

    cube_target(tla_memory_kind which)
        : memory_behind("memory", tcm_config()), controller("controller", config(which)), kind(which) {
        (which == TLA_SRAM ? controller.sram : controller.m_cpu_memory).bind(memory_behind.in);
        commands.out.bind(controller.control);
        tla_paddr pa{};
        const tla_pe_memory_config owned = config(which).memory;
        tla_pe_memory_address(&owned, which, 0, &pa);
        memory = {pa.value, pa.value + tcm_bytes - 1};
    }

    void bind(tlm::tlm_initiator_socket<> &from) override { from.bind(controller.in); }

    std::optional<range> withdraw_dmi() override { return take_and_free(commands, kind); }
};

// The controller of the host's memory.
struct host_target : conformance_target {
    hbm_slice memory_behind;
    memory_controller controller;
    commander commands{"commands"};

    static memory_controller::config config() {
        memory_controller::config c = controller_config();
        c.memory.sip = c.memory.die = c.memory.pe = 0;
        c.memory.of[TLA_HBM].bytes = c.memory.of[TLA_TCM].bytes = c.memory.of[TLA_TCM].reserved = 0;
        c.memory.of[TLA_HOST_MEMORY].bytes = slice_bytes;
        return c;
    }

    host_target() : memory_behind("memory", slice_config()), controller("controller", config()) {
        controller.host_memory.bind(memory_behind.in);
        commands.out.bind(controller.control);
        tla_paddr pa{};
        tla_paddr_host_memory(0, &pa);
        memory = {pa.value, pa.value + slice_bytes - 1};
    }

    void bind(tlm::tlm_initiator_socket<> &from) override { from.bind(controller.in); }

    std::optional<range> withdraw_dmi() override { return take_and_free(commands, TLA_HOST_MEMORY); }
};

// Two windows of a fabric on one controller: the TCM's, and the HBM's as seen by the MMU tests.
struct fabric_target : controller_target {
    interconnect fabric;

    static interconnect::config config(const controller_target &of, tla_transport transport) {
        interconnect::config c = bare<interconnect>();
        c.transport = transport;
        c.nodes.resize(3);
        c.links = {{0, 1, 2'000, 64'000'000'000, 0},
                   {1, 0, 2'000, 64'000'000'000, 0},
                   {1, 2, 1'000, 32'000'000'000, 0},
                   {2, 1, 1'000, 32'000'000'000, 0}};
        c.sources = {0};
        c.targets = {1, 2};
        c.windows = {{of.hbm, slice_bytes, 0, false}, {of.tcm_base, tcm_bytes, 1, false}};
        return c;
    }

    explicit fabric_target(tla_transport transport = TLA_TRANSPORT_PER_FLIT)
        : fabric("fabric", config(*this, transport)) {
        fabric.out.bind(controller.in);
        fabric.out.bind(controller.in);
    }
    void bind(tlm::tlm_initiator_socket<> &from) override { from.bind(fabric.in); }
};

// A window that a target sees as offsets, smaller than the memory behind it.
struct relative_window_target : conformance_target {
    static constexpr std::uint64_t base = 0x4000'0000, size = 8192;
    hbm_slice slice;
    interconnect fabric;

    static interconnect::config config() {
        interconnect::config c = bare<interconnect>();
        c.nodes.resize(2);
        c.links = {{0, 1, 2'000, 64'000'000'000, 0}, {1, 0, 2'000, 64'000'000'000, 0}};
        c.sources = {0};
        c.targets = {1};
        c.windows = {{base, size, 0, true}};
        return c;
    }

    relative_window_target() : slice("slice", slice_config()), fabric("fabric", config()) {
        fabric.out.bind(slice.in);
        memory = {base, base + size - 1};
    }
    void bind(tlm::tlm_initiator_socket<> &from) override { from.bind(fabric.in); }
};

// Two pages and a region that lie in the HBM in another order.
struct mmu_target : controller_target {
    static constexpr std::uint64_t va = 0x1'0000'0000, page = 4096;
    const std::uint64_t behind_tables;
    pe_mmu mmu;
    commander mappings{"mappings"};

    static pe_mmu::config config(tla_walk_mode walk) {
        pe_mmu::config c = bare<pe_mmu>();
        c.page_size = page;
        c.overhead_ps = 1'000;
        c.walk = walk;
        c.va_bits = 48;
        c.tlb_l1 = {16, 0, 1'000, TLA_REPLACE_LRU};
        c.tlb_l2 = {};
        c.allocator_port = 1;
        return c;
    }

    explicit mmu_target(tla_walk_mode walk = TLA_WALK_IDEAL)
        : behind_tables(walk == TLA_WALK_MEMORY ? 0x40000 : 0), mmu("mmu", config(walk)) {
        mmu.out.bind(controller.in);
        mmu.walk.bind(controller.in);
        mmu.allocator.bind(controller.control);
        mappings.out.bind(mmu.control);
        memory = {va, va + 2 * page + 999};
    }
    void bind(tlm::tlm_initiator_socket<> &from) override { from.bind(mmu.in); }

    tla_completion send(tla_opcode opcode, std::vector<tla_map_entry> entries) {
        tla_command command{};
        command.opcode = opcode;
        command.target = TLA_TARGET_PE_MMU;
        command.count = static_cast<std::uint32_t>(entries.size());
        std::copy(entries.begin(), entries.end(), command.entries);
        return mappings.send(command);
    }

    void prepare() override {
        const std::uint32_t flags = TLA_READ | TLA_WRITE;
        const std::uint64_t data = hbm + behind_tables;
        send(TLA_OP_MAP, {{{va}, {data + 0x3010}, page, flags, 0},
                          {{va + page}, {data + 0x1000}, page, flags, 0},
                          {{va + 2 * page}, {data + 0x8003}, 1000, flags, 0}});
    }

    std::optional<range> withdraw_dmi() override {
        send(TLA_OP_UNMAP, {{{va}, {0}, page, 0, 0}});
        return range{va, va + page - 1};
    }
};

// What lies behind the MMU frees a block.
struct free_behind_mmu_target : mmu_target {
    using mmu_target::mmu_target;
    std::optional<range> withdraw_dmi() override {
        tla_command command{};
        command.opcode = TLA_OP_ALLOC;
        command.target = TLA_TARGET_MEMORY_CONTROLLER;
        command.nbytes = 0x3110; // from the first byte of the slice: 256 bytes of the first page
        const std::uint64_t pa = commands.send(command).value;
        command.opcode = TLA_OP_FREE;
        command.pa = {pa};
        commands.send(command);
        return range{va, va + 255};
    }
};

// The registers of a port that can be read at any time.
struct window_target : conformance_target {
    window_target() {
        memory = {TLA_PORT_COMPLETION, TLA_PORT_BYTES - 1};
        writable = false;
    }
};

struct controller_window_target : window_target {
    controller_target of;
    commander data{"data"}; // a socket must be bound
    controller_window_target() : of() { data.out.bind(of.controller.in); }
    void bind(tlm::tlm_initiator_socket<> &from) override { from.bind(of.controller.control); }
};

struct mmu_window_target : window_target {
    mmu_target of;
    commander data{"data"};
    mmu_window_target() : of(TLA_WALK_MEMORY) { data.out.bind(of.mmu.in); }
    void bind(tlm::tlm_initiator_socket<> &from) override { from.bind(of.mmu.control); }
};

struct va_manager_window_target : window_target {
    mmu_target of;
    va_manager manager;
    commander data{"data"};
    static va_manager::config config() {
        va_manager::config c = bare<va_manager>();
        c.routes = {{0, {1, 1, 1}}};
        return c;
    }
    va_manager_window_target() : of(), manager("manager", config()) {
        manager.out.bind(of.mmu.control);
        data.out.bind(of.mmu.in);
    }
    void bind(tlm::tlm_initiator_socket<> &from) override { from.bind(manager.control); }
};

struct processor_window_target : window_target {
    mmu_target of;
    command_processor processor;
    commander data{"data"};
    static command_processor::config config() {
        command_processor::config c = bare<command_processor>();
        c.routes = {{0, {1, 1, 1}}};
        return c;
    }
    processor_window_target() : of(), processor("processor", config()) {
        processor.out.bind(of.mmu.control);
        data.out.bind(of.mmu.in);
    }
    void bind(tlm::tlm_initiator_socket<> &from) override { from.bind(processor.control); }
};

struct element_window_target : window_target {
    controller_target of;
    pe_dma dma;
    processing_element element;
    static pe_dma::config dma_config() {
        pe_dma::config c = bare<pe_dma>();
        return c;
    }
    static processing_element::config config() {
        processing_element::config c = bare<processing_element>();
        return c;
    }
    element_window_target() : of(), dma("dma", dma_config()), element("element", config(), dma) {
        dma.out.bind(of.controller.in);
        dma.local.bind(of.controller.in);
        element.local.bind(of.controller.in);
        element.allocator.bind(of.controller.control);
    }
    void bind(tlm::tlm_initiator_socket<> &from) override { from.bind(element.control); }
};

// A controller behind three adapters: from 32 bits to 64, to 128 and back.
struct width_target : controller_target {
    width_adapter<32, 64> widen{"widen"};
    width_adapter<64, 128> between{"between"};
    width_adapter<128> narrow{"narrow"};
    width_target() {
        widen.out.bind(between.in);
        between.out.bind(narrow.in);
        narrow.out.bind(controller.in);
    }
    void bind(tlm::tlm_initiator_socket<> &from) override { from.bind(widen.in); }
};

// Registers: read, never written by this battery; no byte enables, no streaming, no DMI.
template <typename Window>
void window_conforms() {
    conforms(make<Window>(), "T2.done T5.write T5.read T5.short T5.long T6.wrap T9.together A11 A12 D1 D2 D4 D5 D6");
}

} // namespace

BOOST_AUTO_TEST_CASE(the_slice_conforms) {
    conforms(make<slice_target>(slice_config()), "D5");
}

BOOST_AUTO_TEST_CASE(the_slice_conforms_with_banks) {
    conforms(make<slice_target>(banks_config()), "D5");
}

BOOST_AUTO_TEST_CASE(the_tcm_conforms) {
    conforms(make<tcm_target>(), "D5");
}

BOOST_AUTO_TEST_CASE(the_controller_conforms_in_its_hbm) {
    conforms(make<controller_target>());
}

BOOST_AUTO_TEST_CASE(the_controller_conforms_at_plain_addresses) {
    conforms(make<plain_target>());
}

BOOST_AUTO_TEST_CASE(the_controller_conforms_after_a_reset) {
    conforms(make<reset_target>());
}

BOOST_AUTO_TEST_CASE(the_controller_conforms_where_rights_are_read) {
    conforms(make<rights_target>());
}

BOOST_AUTO_TEST_CASE(the_controller_conforms_in_its_tcm) {
    conforms(make<controller_target>(TLA_TCM));
}

BOOST_AUTO_TEST_CASE(the_controller_conforms_in_an_sram) {
    conforms(make<cube_target>(TLA_SRAM));
}

BOOST_AUTO_TEST_CASE(the_controller_conforms_in_the_memory_of_an_m_cpu) {
    conforms(make<cube_target>(TLA_M_CPU_MEMORY));
}

BOOST_AUTO_TEST_CASE(the_controller_conforms_in_the_hosts_memory) {
    conforms(make<host_target>());
}

BOOST_AUTO_TEST_CASE(the_controller_conforms_behind_sockets_of_another_width) {
    conforms(make<width_target>());
}

BOOST_AUTO_TEST_CASE(the_fabric_conforms_in_front_of_a_controller) {
    conforms(make<fabric_target>());
}

BOOST_AUTO_TEST_CASE(the_fabric_conforms_where_data_occupy_links_once) {
    conforms(make<fabric_target>(TLA_TRANSPORT_ONCE));
}

BOOST_AUTO_TEST_CASE(the_fabric_conforms_with_a_window_of_offsets) {
    conforms(make<relative_window_target>(), "D5");
}

BOOST_AUTO_TEST_CASE(the_mmu_conforms_in_front_of_a_controller) {
    conforms(make<mmu_target>());
}

BOOST_AUTO_TEST_CASE(the_mmu_conforms_with_walkers) {
    conforms(make<mmu_target>(TLA_WALK_FLAT));
}

BOOST_AUTO_TEST_CASE(the_mmu_conforms_with_tables_in_memory) {
    conforms(make<mmu_target>(TLA_WALK_MEMORY));
}

BOOST_AUTO_TEST_CASE(the_mmu_passes_on_what_the_controller_withdraws) {
    for (const conformance_rule &rule : conformance_rules()) {
        if (rule.name != std::string("D5")) continue;
        const verdict v = check_conformance(rule, coding::loosely_timed, make<free_behind_mmu_target>());
        BOOST_TEST((v.result == outcome::passed), v.text);
    }
}

BOOST_AUTO_TEST_CASE(the_controllers_window_conforms) {
    window_conforms<controller_window_target>();
}

BOOST_AUTO_TEST_CASE(the_mmus_window_conforms) {
    window_conforms<mmu_window_target>();
}

BOOST_AUTO_TEST_CASE(the_va_managers_window_conforms) {
    window_conforms<va_manager_window_target>();
}

BOOST_AUTO_TEST_CASE(the_command_processors_window_conforms) {
    window_conforms<processor_window_target>();
}

BOOST_AUTO_TEST_CASE(the_processing_elements_window_conforms) {
    window_conforms<element_window_target>();
}
