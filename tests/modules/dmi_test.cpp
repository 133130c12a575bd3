// Direct memory access through the modules: regions, pointers, permissions and latencies on the way up, withdrawals
// too.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "bare.hpp"
#include "tlmalloc/modules/command_sender.hpp"
#include "tlmalloc/modules/hbm_slice.hpp"
#include "tlmalloc/modules/interconnect.hpp"
#include "tlmalloc/modules/memory_controller.hpp"
#include "tlmalloc/modules/pe_mmu.hpp"
#include "tlmalloc/modules/tcm.hpp"
#include "tlmalloc/modules/time.hpp"
#include "tlmalloc/testing/base_protocol_checker.hpp"
#include "tlmalloc/testing/initiator.hpp"

#include <boost/test/unit_test.hpp>
#include <tlm_utils/simple_target_socket.h>

using namespace tlmalloc;
using namespace tlmalloc::testing;
using sc_core::sc_time;

namespace {

constexpr std::uint64_t slice_bytes = 1 << 20, tcm_bytes = 1 << 16, page = 4096;

using range = std::pair<std::uint64_t, std::uint64_t>;

// A blocking call is for threads: the case makes it by one, and goes on when nothing is left to do.
template <typename Call>
void in_thread(const Call &call) {
    bool over = false;
    sc_core::sc_spawn([&] {
        sc_time delay;
        call(delay);
        sc_core::wait(delay);
        over = true;
    });
    sc_core::sc_start();
    BOOST_TEST(over);
}

// An initiator that remembers what is withdrawn from it.
struct watcher : initiator {
    base_protocol_checker checker{"checker"};
    std::vector<range> withdrawn;

    explicit watcher(sc_core::sc_module_name name) : initiator(name) {
        out.bind(checker.in);
        on_invalidate = [this](std::uint64_t first, std::uint64_t last) { withdrawn.emplace_back(first, last); };
    }

    bool ask(tlm::tlm_command command, std::uint64_t address, tlm::tlm_dmi &dmi) {
        tlm::tlm_generic_payload &payload = make(command, address, nullptr, 0);
        const bool granted = out->get_direct_mem_ptr(payload, dmi);
        give_back(payload);
        return granted;
    }

    // A word by b_transport: the cost in an idle system, and the hint.
    std::uint64_t read_cost(std::uint64_t address, bool &hint) {
        std::uint32_t word = 0;
        tlm::tlm_generic_payload &payload = make(tlm::TLM_READ_COMMAND, address, &word, 4);
        std::uint64_t cost = 0;
        in_thread([&](sc_time &delay) {
            sc_core::wait(1, sc_core::SC_MS); // long after whatever was before
            const std::uint64_t begin_ps = local_ps(delay);
            out->b_transport(payload, delay);
            cost = local_ps(delay) - begin_ps;
        });
        BOOST_TEST(payload.is_response_ok());
        hint = payload.is_dmi_allowed();
        give_back(payload);
        return cost;
    }
};

hbm_slice::config slice_config(bool dmi = true) {
    hbm_slice::config c = bare<hbm_slice>();
    c.capacity = slice_bytes;
    c.latency_ps = 5'000;
    c.dmi = dmi;
    return c;
}

tcm::config tcm_config() {
    tcm::config c = bare<tcm>();
    c.capacity = tcm_bytes;
    c.read_bandwidth = 1'000'000'000;  // 4 ns a word
    c.write_bandwidth = 2'000'000'000; // 2 ns
    c.latency_ps = 2'000;
    return c;
}

memory_controller::config controller_config(bool dmi = true) {
    memory_controller::config c = bare<memory_controller>();
    c.memory.pe = 2;
    c.memory.of[TLA_HBM].bytes = slice_bytes;
    c.memory.of[TLA_TCM].bytes = tcm_bytes;
    c.memory.of[TLA_TCM].reserved = 0;
    c.latency_ps = 3'000;
    c.dmi = dmi;
    return c;
}

// A controller with its memories and a sender of commands.
struct memory_system : sc_core::sc_module {
    hbm_slice slice{"slice", slice_config()};
    tcm local{"tcm", tcm_config()};
    memory_controller controller;
    tlm_utils::simple_initiator_socket<memory_system> commands{"commands"};
    std::uint64_t hbm, tcm_base;

    explicit memory_system(sc_core::sc_module_name name, bool dmi = true)
        : sc_module(name), controller("controller", controller_config(dmi)) {
        controller.slice.bind(slice.in);
        controller.tcm.bind(local.in);
        commands.bind(controller.control);
        tla_paddr pa{};
        tla_paddr_pe_hbm(0, 0, 2, 0, slice_bytes, &pa);
        hbm = pa.value;
        tla_paddr_pe_tcm(0, 0, 2, 0, &pa);
        tcm_base = pa.value;
    }

    std::uint64_t alloc(std::uint64_t nbytes) {
        tla_command command{};
        command.target = TLA_TARGET_MEMORY_CONTROLLER;
        command.opcode = TLA_OP_ALLOC;
        command.nbytes = nbytes;
        tla_completion completion{};
        in_thread([&](sc_time &delay) { BOOST_TEST(send_command(commands, 0, command, completion, delay) == TLA_OK); });
        return completion.value;
    }

    tla_status free(std::uint64_t pa, std::uint64_t nbytes) {
        tla_command command{};
        command.target = TLA_TARGET_MEMORY_CONTROLLER;
        command.opcode = TLA_OP_FREE;
        command.pa = {pa};
        command.nbytes = nbytes;
        tla_completion completion{};
        tla_status status = TLA_OK;
        in_thread([&](sc_time &delay) { status = send_command(commands, 0, command, completion, delay); });
        return status;
    }
};

pe_mmu::config mmu_config() {
    pe_mmu::config c = bare<pe_mmu>();
    c.page_size = page;
    c.overhead_ps = 7'000;
    c.allow_remap = true;
    return c;
}

// An MMU in front of a controller, and a sender of mappings.
struct mapped_system : memory_system {
    static constexpr std::uint64_t va = 0x1'0000'0000;
    pe_mmu mmu;
    tlm_utils::simple_initiator_socket<memory_system> mappings{"mappings"};

    explicit mapped_system(sc_core::sc_module_name name, const pe_mmu::config &settings = mmu_config())
        : memory_system(name), mmu("mmu", settings) {
        mmu.out.bind(controller.in);
        mappings.bind(mmu.control);
    }

    void send(tla_opcode opcode, const tla_map_entry &entry) {
        tla_command command{};
        command.opcode = opcode;
        command.target = TLA_TARGET_PE_MMU;
        command.count = 1;
        command.entries[0] = entry;
        tla_completion completion{};
        in_thread([&](sc_time &delay) { BOOST_TEST(send_command(mappings, 0, command, completion, delay) == TLA_OK); });
    }
};

void elaborate() {
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
}

void quiet() {
    sc_core::sc_report_handler::set_actions(sc_core::SC_WARNING, sc_core::SC_DO_NOTHING);
}

void require_region(const tlm::tlm_dmi &dmi, std::uint64_t first, std::uint64_t last) {
    BOOST_TEST(dmi.get_start_address() == first);
    BOOST_TEST(dmi.get_end_address() == last);
}

// A target that grants all addresses at once: byte a is at memory + a.
struct generous_target : sc_core::sc_module {
    tlm_utils::simple_target_socket<generous_target> in{"in"};
    std::uint8_t memory[16] = {};

    explicit generous_target(sc_core::sc_module_name name) : sc_module(name) {
        in.register_b_transport(this, &generous_target::b_transport);
        in.register_get_direct_mem_ptr(this, &generous_target::get_direct_mem_ptr);
    }
    void b_transport(tlm::tlm_generic_payload &payload, sc_time &) {
        payload.set_response_status(tlm::TLM_OK_RESPONSE);
    }
    bool get_direct_mem_ptr(tlm::tlm_generic_payload &, tlm::tlm_dmi &dmi) {
        dmi.init();
        dmi.set_dmi_ptr(memory);
        dmi.allow_read_write();
        return true;
    }
};

interconnect::config fabric_config(std::vector<interconnect::window> windows, std::size_t sources) {
    interconnect::config c = bare<interconnect>();
    c.nodes.resize(2);
    c.links = {{0, 1, 2'000, 1'000'000'000'000, 0}, {1, 0, 1'500, 1'000'000'000'000, 0}};
    c.sources.assign(sources, 0);
    c.targets = {1};
    c.windows = std::move(windows);
    return c;
}

} // namespace

BOOST_AUTO_TEST_CASE(the_slice_grants_itself_with_the_cost_of_a_word) {
    watcher w("w");
    hbm_slice slice("slice", slice_config());
    w.checker.out.bind(slice.in);
    elaborate();
    tlm::tlm_dmi dmi;
    BOOST_TEST(w.ask(tlm::TLM_READ_COMMAND, 0x1234, dmi));
    require_region(dmi, 0, slice_bytes - 1);
    BOOST_TEST(dmi.is_read_write_allowed());
    bool hint = false;
    BOOST_TEST(to_ps(dmi.get_read_latency()) == w.read_cost(0, hint));
    BOOST_TEST(hint);
    BOOST_TEST(to_ps(dmi.get_write_latency()) == 5'000u + 8'000u); // 256 bytes at 32 GB/s
    BOOST_TEST(w.checker.report() == "");
}

BOOST_AUTO_TEST_CASE(the_tcm_grants_itself_with_the_cost_of_a_word_each_way) {
    watcher w("w");
    tcm local("tcm", tcm_config());
    w.checker.out.bind(local.in);
    elaborate();
    tlm::tlm_dmi dmi;
    BOOST_TEST(w.ask(tlm::TLM_WRITE_COMMAND, tcm_bytes - 1, dmi));
    require_region(dmi, 0, tcm_bytes - 1);
    bool hint = false;
    BOOST_TEST(to_ps(dmi.get_read_latency()) == w.read_cost(0, hint));
    BOOST_TEST(to_ps(dmi.get_write_latency()) == 2'000u + 2'000u);
    BOOST_TEST(!w.ask(tlm::TLM_READ_COMMAND, tcm_bytes, dmi));
    require_region(dmi, tcm_bytes, UINT64_MAX);
}

BOOST_AUTO_TEST_CASE(without_dmi_nothing_is_granted_and_no_hint_given) {
    watcher w("w"), v("v");
    hbm_slice slice("slice", slice_config(false));
    memory_system memories("memories", false);
    w.checker.out.bind(slice.in);
    v.checker.out.bind(memories.controller.in);
    elaborate();
    tlm::tlm_dmi dmi;
    bool hint = true;
    BOOST_TEST(!w.ask(tlm::TLM_READ_COMMAND, 0, dmi));
    w.read_cost(0, hint);
    BOOST_TEST(!hint);
    hint = true;
    BOOST_TEST(!v.ask(tlm::TLM_READ_COMMAND, memories.hbm, dmi));
    v.read_cost(memories.hbm, hint);
    BOOST_TEST(!hint);
}

BOOST_AUTO_TEST_CASE(the_controller_grants_each_memory_at_its_physical_addresses) {
    watcher w("w");
    memory_system m("m");
    w.checker.out.bind(m.controller.in);
    elaborate();
    tlm::tlm_dmi dmi;
    bool hint = false;
    BOOST_TEST(w.ask(tlm::TLM_READ_COMMAND, m.hbm + 77, dmi));
    require_region(dmi, m.hbm, m.hbm + slice_bytes - 1);
    BOOST_TEST(to_ps(dmi.get_read_latency()) == w.read_cost(m.hbm, hint));
    BOOST_TEST(hint);
    BOOST_TEST(w.ask(tlm::TLM_READ_COMMAND, m.tcm_base + tcm_bytes - 1, dmi));
    require_region(dmi, m.tcm_base, m.tcm_base + tcm_bytes - 1);
    BOOST_TEST(to_ps(dmi.get_read_latency()) == w.read_cost(m.tcm_base, hint));
    BOOST_TEST(to_ps(dmi.get_write_latency()) == 3'000u + 2'000u + 2'000u); // a word is written in half the time
    BOOST_TEST(!w.ask(tlm::TLM_READ_COMMAND, m.tcm_base + tcm_bytes, dmi));
}

BOOST_AUTO_TEST_CASE(a_free_withdraws_the_block_from_every_initiator) {
    watcher w("w"), v("v");
    memory_system m("m");
    w.checker.out.bind(m.controller.in);
    v.checker.out.bind(m.controller.in);
    elaborate();
    const std::uint64_t quiet_block = m.alloc(500), block = m.alloc(1000);
    BOOST_TEST(m.free(quiet_block, 500) == TLA_OK);
    BOOST_TEST(w.withdrawn.empty()); // nobody holds anything yet
    tlm::tlm_dmi dmi;
    BOOST_TEST(w.ask(tlm::TLM_READ_COMMAND, block, dmi));
    BOOST_TEST(m.free(block + 1, 1000) != TLA_OK);
    BOOST_TEST(w.withdrawn.empty()); // a free that is refused frees nothing
    BOOST_TEST(m.free(block, 1000) == TLA_OK);
    const std::vector<range> expected{{block, block + 999}};
    BOOST_TEST((w.withdrawn == expected));
    BOOST_TEST((v.withdrawn == expected));
}

BOOST_AUTO_TEST_CASE(the_fabric_clips_to_the_window_and_moves_the_pointer) {
    watcher w("w");
    generous_target target("target");
    interconnect fabric("fabric", fabric_config({{4, 8, 0, false}}, 1)); // addresses stay what they are
    w.checker.out.bind(fabric.in);
    fabric.out.bind(target.in);
    elaborate();
    tlm::tlm_dmi dmi;
    BOOST_TEST(w.ask(tlm::TLM_WRITE_COMMAND, 6, dmi));
    require_region(dmi, 4, 11);
    BOOST_TEST(static_cast<void *>(dmi.get_dmi_ptr()) == static_cast<void *>(target.memory + 4));
    BOOST_TEST(to_ps(dmi.get_read_latency()) == 3'500u); // there and back
    BOOST_TEST(!w.ask(tlm::TLM_WRITE_COMMAND, 12, dmi));
    require_region(dmi, 12, 12);
}

BOOST_AUTO_TEST_CASE(the_fabric_translates_offsets_both_ways) {
    watcher w("w"), v("v");
    generous_target target("target");
    interconnect fabric("fabric", fabric_config({{0x1000, 16, 0, true}}, 2));
    w.checker.out.bind(fabric.in);
    v.checker.out.bind(fabric.in);
    fabric.out.bind(target.in);
    elaborate();
    tlm::tlm_dmi dmi;
    BOOST_TEST(w.ask(tlm::TLM_READ_COMMAND, 0x1005, dmi));
    require_region(dmi, 0x1000, 0x100f);
    BOOST_TEST(static_cast<void *>(dmi.get_dmi_ptr()) == static_cast<void *>(target.memory));
    target.in->invalidate_direct_mem_ptr(3, 99);
    const std::vector<range> expected{{0x1003, 0x100f}};
    BOOST_TEST((w.withdrawn == expected));
    BOOST_TEST((v.withdrawn == expected));
    target.in->invalidate_direct_mem_ptr(16, 99); // behind the window
    BOOST_TEST(w.withdrawn.size() == 1u);
}

BOOST_AUTO_TEST_CASE(the_mmu_grants_a_page_with_what_its_mapping_permits) {
    quiet();
    watcher w("w");
    mapped_system m("m");
    w.checker.out.bind(m.mmu.in);
    elaborate();
    m.send(TLA_OP_MAP, {{m.va}, {m.hbm + 0x5010}, page, TLA_READ, 0});
    m.send(TLA_OP_MAP, {{m.va + page}, {m.hbm + 0x100}, 300, TLA_READ | TLA_WRITE, 0});
    tlm::tlm_dmi dmi, physical;
    BOOST_TEST(w.ask(tlm::TLM_READ_COMMAND, m.va + 99, dmi));
    require_region(dmi, m.va, m.va + page - 1);
    BOOST_TEST(dmi.is_read_allowed());
    BOOST_TEST(!dmi.is_write_allowed());
    dmi.get_dmi_ptr()[5] = 0x42;
    std::uint8_t byte = 0;
    tlm::tlm_generic_payload &payload = w.make(tlm::TLM_READ_COMMAND, m.va + 5, &byte, 1);
    w.out->transport_dbg(payload);
    w.give_back(payload);
    BOOST_TEST(byte == 0x42);
    bool hint = false;
    BOOST_TEST(to_ps(dmi.get_read_latency()) == w.read_cost(m.va, hint));
    BOOST_TEST(hint);
    BOOST_TEST(!w.ask(tlm::TLM_WRITE_COMMAND, m.va + 99, dmi)); // for this page, but reads would do
    require_region(dmi, m.va, m.va + page - 1);
    BOOST_TEST(!dmi.is_read_allowed());
    BOOST_TEST(w.ask(tlm::TLM_WRITE_COMMAND, m.va + page + 299, dmi)); // a region inside a page
    require_region(dmi, m.va + page, m.va + page + 299);
    BOOST_TEST(dmi.is_read_write_allowed());
    BOOST_TEST(!w.ask(tlm::TLM_READ_COMMAND, m.va + page + 300, dmi));
    require_region(dmi, m.va + page + 300, m.va + page + 300);
}

BOOST_AUTO_TEST_CASE(the_mmu_withdraws_ranges_that_are_unmapped_remapped_or_mapped_after_a_decline) {
    watcher w("w");
    mapped_system m("m");
    w.checker.out.bind(m.mmu.in);
    elaborate();
    const std::uint32_t flags = TLA_READ | TLA_WRITE;
    m.send(TLA_OP_MAP, {{m.va}, {m.hbm}, 2 * page, flags, 0});
    BOOST_TEST(w.withdrawn.empty()); // nobody has asked
    tlm::tlm_dmi dmi;
    BOOST_TEST(w.ask(tlm::TLM_READ_COMMAND, m.va, dmi));
    m.send(TLA_OP_MAP, {{m.va}, {m.hbm + 0x8000}, page, flags, 0}); // remap
    m.send(TLA_OP_UNMAP, {{m.va + page}, {0}, page, 0, 0});
    BOOST_TEST(!w.ask(tlm::TLM_READ_COMMAND, m.va + page, dmi));
    m.send(TLA_OP_MAP, {{m.va + page}, {m.hbm}, 10, flags, 0});
    const std::vector<range> expected{
        {m.va, m.va + page - 1}, {m.va + page, m.va + 2 * page - 1}, {m.va + page, m.va + page + 9}};
    BOOST_TEST((w.withdrawn == expected));
}

BOOST_AUTO_TEST_CASE(a_free_behind_the_mmu_withdraws_pointers_at_virtual_addresses) {
    watcher w("w");
    mapped_system m("m");
    w.checker.out.bind(m.mmu.in);
    elaborate();
    const std::uint64_t block = m.alloc(0x1800), offset = block - m.hbm;
    BOOST_TEST(offset == 0u);
    m.send(TLA_OP_MAP, {{m.va}, {block + 0x1000}, page, TLA_READ, 0}); // the last 0x800 bytes of the block, and more
    m.send(TLA_OP_MAP, {{m.va + page}, {block + 0x4000}, page, TLA_READ, 0});
    tlm::tlm_dmi dmi;
    BOOST_TEST(w.ask(tlm::TLM_READ_COMMAND, m.va, dmi));
    BOOST_TEST(w.ask(tlm::TLM_READ_COMMAND, m.va + page, dmi));
    BOOST_TEST(m.free(block, 0x1800) == TLA_OK);
    const std::vector<range> expected{{m.va, m.va + 0x7ff}};
    BOOST_TEST((w.withdrawn == expected));
}

BOOST_AUTO_TEST_CASE(an_address_that_is_taken_as_physical_is_never_granted) {
    pe_mmu::config settings = mmu_config();
    settings.unmapped = TLA_UNMAPPED_PA_FALLBACK;
    watcher w("w");
    mapped_system m("m", settings);
    w.checker.out.bind(m.mmu.in);
    elaborate();
    bool hint = true;
    w.read_cost(m.hbm, hint);
    BOOST_TEST(!hint);
    tlm::tlm_dmi dmi;
    BOOST_TEST(!w.ask(tlm::TLM_READ_COMMAND, m.hbm, dmi));
}

BOOST_AUTO_TEST_CASE(registers_are_never_granted) {
    watcher w("w"), v("v");
    memory_system m("m");
    w.checker.out.bind(m.controller.control);
    v.checker.out.bind(m.controller.in);
    elaborate();
    tlm::tlm_dmi dmi;
    BOOST_TEST(!w.ask(tlm::TLM_READ_COMMAND, TLA_PORT_COMPLETION, dmi));
    require_region(dmi, 0, UINT64_MAX);
}
