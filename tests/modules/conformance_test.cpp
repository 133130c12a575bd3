// Every target of the library against the conformance battery, in both coding styles.
#include "platform/examples/socket_width.hpp"
#include "tlmalloc/modules/command_sender.hpp"
#include "tlmalloc/modules/hbm_slice.hpp"
#include "tlmalloc/modules/interconnect.hpp"
#include "tlmalloc/modules/memory_controller.hpp"
#include "tlmalloc/modules/pe_mmu.hpp"
#include "tlmalloc/modules/tcm.hpp"
#include "tlmalloc/testing/conformance.hpp"

#include <boost/test/unit_test.hpp>
#include <sstream>

using namespace tlmalloc;
using namespace tlmalloc::testing;

namespace {

constexpr std::uint64_t slice_bytes = 1 << 20, tcm_bytes = 1 << 16;

// Rules that may answer "not applicable", by name, separated by blanks; all others must pass.
void conforms(const make_target &make, const std::string &not_applicable = "") {
    for (const conformance_rule &rule : conformance_rules())
        for (const coding style : {coding::loosely_timed, coding::approximately_timed}) {
            if (!(style == coding::loosely_timed ? rule.loosely_timed : rule.approximately_timed)) continue;
            const verdict v = check_conformance(rule, style, make);
            const bool may_not_apply =
                (" " + not_applicable + " ").find(" " + std::string(rule.name) + " ") != std::string::npos;
            const outcome expected = may_not_apply ? outcome::not_applicable : outcome::passed;
            BOOST_TEST((v.result == expected),
                       rule.name << (style == coding::loosely_timed ? " LT: " : " AT: ") << v.text);
        }
}

hbm_slice::config slice_config() {
    hbm_slice::config c;
    c.capacity = slice_bytes;
    c.latency_ps = 5'000;
    return c;
}

tcm::config tcm_config() {
    tcm::config c;
    c.capacity = tcm_bytes;
    c.latency_ps = 2'000;
    return c;
}

struct slice_target : conformance_target {
    hbm_slice slice{"slice", slice_config()};
    slice_target() { memory = {0, slice_bytes - 1}; }
    void bind(tlm::tlm_initiator_socket<> &from) override { from.bind(slice.in); }
};

struct tcm_target : conformance_target {
    tcm local{"tcm", tcm_config()};
    tcm_target() { memory = {0, tcm_bytes - 1}; }
    void bind(tlm::tlm_initiator_socket<> &from) override { from.bind(local.in); }
};

memory_controller::config controller_config() {
    memory_controller::config c;
    c.memory.sip = 1;
    c.memory.die = 2;
    c.memory.pe = 3;
    c.memory.hbm_slice_bytes = slice_bytes;
    c.memory.tcm_bytes = tcm_bytes;
    c.memory.tcm_reserved_bytes = 4096;
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
        send_command(*out.operator->(), 0, command, completion, delay);
        sc_core::wait(delay);
        return completion;
    }
};

// A controller with its memories; `memory` is the whole of one of them, by physical address.
struct controller_target : conformance_target {
    hbm_slice slice{"slice", slice_config()};
    tcm local{"tcm", tcm_config()};
    memory_controller controller{"controller", controller_config()};
    commander commands{"commands"};
    std::uint64_t hbm, tcm_base;

    explicit controller_target(tla_channel channel = TLA_HBM) {
        controller.slice.bind(slice.in);
        controller.tcm.bind(local.in);
        commands.out.bind(controller.control);
        tla_paddr pa{};
        tla_paddr_pe_hbm(1, 2, 3, 0, slice_bytes, &pa);
        hbm = pa.value;
        tla_paddr_pe_tcm(1, 2, 3, 0, &pa);
        tcm_base = pa.value;
        memory = channel == TLA_HBM ? range{hbm, hbm + slice_bytes - 1} : range{tcm_base, tcm_base + tcm_bytes - 1};
        channel_ = channel;
    }

    void bind(tlm::tlm_initiator_socket<> &from) override { from.bind(controller.in); }

    std::optional<range> withdraw_dmi() override {
        tla_command command{};
        command.opcode = TLA_OP_ALLOC;
        command.target = TLA_TARGET_MEMORY_CONTROLLER;
        command.channel = channel_;
        command.nbytes = 1000;
        const std::uint64_t pa = commands.send(command).value;
        command.opcode = TLA_OP_FREE;
        command.pa = {pa};
        commands.send(command);
        return range{pa, pa + 999};
    }

    tla_channel channel_;
};

// Two windows of a fabric on one controller: the TCM's, and the HBM's as seen by the MMU tests.
struct fabric_target : controller_target {
    interconnect fabric;

    static interconnect::config config(const controller_target &of) {
        interconnect::config c;
        c.nodes = 3;
        c.links = {{0, 1, 2'000, 64'000'000'000},
                   {1, 0, 2'000, 64'000'000'000},
                   {1, 2, 1'000, 32'000'000'000},
                   {2, 1, 1'000, 32'000'000'000}};
        c.sources = {0};
        c.targets = {1, 2};
        c.windows = {{of.hbm, slice_bytes, 0, false}, {of.tcm_base, tcm_bytes, 1, false}};
        return c;
    }

    fabric_target() : fabric("fabric", config(*this)) {
        fabric.out.bind(controller.in);
        fabric.out.bind(controller.in);
    }
    void bind(tlm::tlm_initiator_socket<> &from) override { from.bind(fabric.in); }
};

// A window that a target sees as offsets, smaller than the memory behind it.
struct relative_window_target : conformance_target {
    static constexpr std::uint64_t base = 0x4000'0000, size = 8192;
    hbm_slice slice{"slice", slice_config()};
    interconnect fabric;

    static interconnect::config config() {
        interconnect::config c;
        c.nodes = 2;
        c.links = {{0, 1, 2'000, 64'000'000'000}, {1, 0, 2'000, 64'000'000'000}};
        c.sources = {0};
        c.targets = {1};
        c.windows = {{base, size, 0, true}};
        return c;
    }

    relative_window_target() : fabric("fabric", config()) {
        fabric.out.bind(slice.in);
        memory = {base, base + size - 1};
    }
    void bind(tlm::tlm_initiator_socket<> &from) override { from.bind(fabric.in); }
};

// Two pages and a region that lie in the HBM in another order.
struct mmu_target : controller_target {
    static constexpr std::uint64_t va = 0x1'0000'0000, page = 4096;
    pe_mmu mmu{"mmu", config()};
    commander mappings{"mappings"};

    static pe_mmu::config config() {
        pe_mmu::config c;
        c.page_size = page;
        c.overhead_ps = 1'000;
        return c;
    }

    mmu_target() {
        mmu.out.bind(controller.in);
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
        send(TLA_OP_MAP, {{{va}, {hbm + 0x3010}, page, flags, 0},
                          {{va + page}, {hbm + 0x1000}, page, flags, 0},
                          {{va + 2 * page}, {hbm + 0x8003}, 1000, flags, 0}});
    }

    std::optional<range> withdraw_dmi() override {
        send(TLA_OP_UNMAP, {{{va}, {0}, page, 0, 0}});
        return range{va, va + page - 1};
    }
};

// What lies behind the MMU frees a block.
struct free_behind_mmu_target : mmu_target {
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
struct window_target : controller_target {
    commander data{"data"}; // a socket must be bound

    window_target() {
        data.out.bind(controller.in);
        memory = {TLA_PORT_COMPLETION, TLA_PORT_BYTES - 1};
        writable = false;
    }
    void bind(tlm::tlm_initiator_socket<> &from) override { from.bind(controller.control); }
};

// A controller behind two adapters: from 32 bits to 64 and back.
struct width_target : controller_target {
    socket_width<32, 64> widen{"widen"};
    socket_width<64, 32> narrow{"narrow"};
    width_target() {
        widen.out.bind(narrow.in);
        narrow.out.bind(controller.in);
    }
    void bind(tlm::tlm_initiator_socket<> &from) override { from.bind(widen.in); }
};

template <typename Target>
std::unique_ptr<conformance_target> make() {
    return std::make_unique<Target>();
}

} // namespace

BOOST_AUTO_TEST_CASE(the_slice_conforms) {
    conforms(make<slice_target>, "D5");
}

BOOST_AUTO_TEST_CASE(the_tcm_conforms) {
    conforms(make<tcm_target>, "D5");
}

BOOST_AUTO_TEST_CASE(the_controller_conforms_in_its_hbm) {
    conforms(make<controller_target>);
}

BOOST_AUTO_TEST_CASE(the_controller_conforms_in_its_tcm) {
    conforms([] { return std::make_unique<controller_target>(TLA_TCM); });
}

BOOST_AUTO_TEST_CASE(the_controller_conforms_behind_sockets_of_another_width) {
    conforms(make<width_target>);
}

BOOST_AUTO_TEST_CASE(the_fabric_conforms_in_front_of_a_controller) {
    conforms(make<fabric_target>);
}

BOOST_AUTO_TEST_CASE(the_fabric_conforms_with_a_window_of_offsets) {
    conforms(make<relative_window_target>, "D5");
}

BOOST_AUTO_TEST_CASE(the_mmu_conforms_in_front_of_a_controller) {
    conforms(make<mmu_target>);
}

BOOST_AUTO_TEST_CASE(the_mmu_passes_on_what_the_controller_withdraws) {
    for (const conformance_rule &rule : conformance_rules()) {
        if (rule.name != std::string("D5")) continue;
        const verdict v = check_conformance(rule, coding::loosely_timed, make<free_behind_mmu_target>);
        BOOST_TEST((v.result == outcome::passed), v.text);
    }
}

// Registers: read, never written by this battery; no byte enables, no streaming, no DMI.
BOOST_AUTO_TEST_CASE(the_control_window_conforms) {
    conforms(make<window_target>, "T2.done T5.write T5.read T5.short T5.long T6.wrap T9.together A11 D1 D2 D4 D5 D6");
}
