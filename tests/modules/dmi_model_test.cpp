// A naive initiator remembers every grant and every refusal until it is withdrawn, while mappings and blocks change at
// random: no pointer that it holds may lead where translation does not, no refusal that it remembers may have ended.
#include "bare.hpp"
#include "tlmalloc/modules/command_sender.hpp"
#include "tlmalloc/modules/extensions.hpp"
#include "tlmalloc/modules/hbm_slice.hpp"
#include "tlmalloc/modules/memory_controller.hpp"
#include "tlmalloc/modules/pe_mmu.hpp"
#include "tlmalloc/modules/time.hpp"
#include "tlmalloc/testing/initiator.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <random>
#include <sstream>

using namespace tlmalloc;
using sc_core::sc_time;

namespace {

// Everything begins and ends at a multiple of `unit`, pages are larger: a page holds several regions.
constexpr std::uint64_t unit = 64, page = 4096, large_page = 16384, units = 1024, slice_bytes = 1 << 20,
                        va_base = 0x1'0000'0000, command_ps = 1'000'000, block_bytes = 3 * page;
constexpr unsigned ports = 8, blocks = 12;

struct mapping_of_unit {
    std::uint64_t pa = 0;
    std::uint32_t flags = 0;
};

struct version {
    std::uint64_t visible_ps;
    std::vector<mapping_of_unit> unit; // what translation gives from then on
    std::uint64_t first, last;         // the units that changed
};

struct bench : sc_core::sc_module {
    testing::initiator cpu{"cpu"}, physical{"physical"};
    hbm_slice slice;
    memory_controller controller;
    pe_mmu mmu;
    tlm_utils::simple_initiator_socket<bench> mappings{"mappings"}, allocator{"allocator"};
    std::uint64_t hbm = 0;
    std::uint8_t *host = nullptr; // of the slice's first byte

    std::mt19937_64 random;
    const unsigned steps;
    std::string wrong;
    // what the initiator remembers, by kind of access and unit
    std::uint8_t *held[2][units] = {};
    bool refused[2][units] = {};
    bool ask_at_once = false;
    std::uint64_t granted = 0, refusals = 0, withdrawn = 0, frees = 0, strangers = 0;
    // what is true
    std::vector<version> versions{{0, std::vector<mapping_of_unit>(units), 0, 0}};
    std::uint64_t block_pa[blocks] = {};
    bool posted[ports] = {};

    static hbm_slice::config slice_config() {
        hbm_slice::config c = bare<hbm_slice>();
        c.capacity = slice_bytes;
        return c;
    }
    static memory_controller::config controller_config() {
        memory_controller::config c = bare<memory_controller>();
        c.memory.of[TLA_HBM].bytes = slice_bytes;
        c.memory.of[TLA_TCM].bytes = c.memory.of[TLA_TCM].reserved = 0;
        return c;
    }
    static pe_mmu::config mmu_config() {
        pe_mmu::config c = bare<pe_mmu>();
        c.page_size = page;
        c.larger_page_sizes[0] = large_page;
        c.allow_remap = true;
        c.cost.fixed_ps = command_ps;
        return c;
    }

    bench(sc_core::sc_module_name name, unsigned seed, unsigned count)
        : sc_module(name), slice("slice", slice_config()), controller("controller", controller_config()),
          mmu("mmu", mmu_config()), random(seed), steps(count) {
        cpu.out.bind(mmu.in);
        physical.out.bind(controller.in);
        mmu.out.bind(controller.in);
        controller.slice.bind(slice.in);
        mappings.bind(mmu.control);
        allocator.bind(controller.control);
        cpu.on_invalidate = [this](std::uint64_t first, std::uint64_t last) { withdraw(first, last); };
        TLMALLOC_HAS_PROCESS(bench);
        SC_THREAD(run);
    }

    static std::uint64_t now_ps() { return to_ps(sc_core::sc_time_stamp()); }

    std::uint64_t below(std::uint64_t limit) { return random() % limit; }

    // --- the initiator ---

    bool ask(unsigned kind, std::uint64_t at, std::uint32_t asid, tlm::tlm_dmi &dmi) {
        requester who{asid, 0};
        tlm::tlm_generic_payload &payload =
            cpu.make(kind ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND, va_base + at * unit, nullptr, 0);
        payload.set_extension(&who);
        const bool result = cpu.out->get_direct_mem_ptr(payload, dmi);
        payload.clear_extension(&who);
        cpu.give_back(payload);
        return result;
    }

    void ask_and_remember(std::uint64_t at) {
        const auto wanted = static_cast<unsigned>(below(2));
        tlm::tlm_dmi dmi;
        const bool result = ask(wanted, at, 0, dmi);
        (result ? granted : refusals)++;
        const std::uint64_t first = std::max<std::uint64_t>(dmi.get_start_address(), va_base);
        const std::uint64_t last = std::min<std::uint64_t>(dmi.get_end_address(), va_base + units * unit - 1);
        for (unsigned kind = 0; kind < 2; kind++) {
            if (kind ? !dmi.is_write_allowed() : !dmi.is_read_allowed()) continue;
            for (std::uint64_t va = first; va <= last; va += unit) {
                const std::uint64_t i = (va - va_base) / unit;
                if (result)
                    held[kind][i] = dmi.get_dmi_ptr() + (va - dmi.get_start_address());
                else
                    refused[kind][i] = true;
            }
        }
    }

    void withdraw(std::uint64_t first, std::uint64_t last) {
        withdrawn++;
        for (std::uint64_t i = 0; i < units; i++) {
            const std::uint64_t va = va_base + i * unit;
            if (va + unit - 1 < first || va > last) continue;
            for (unsigned kind = 0; kind < 2; kind++) {
                held[kind][i] = nullptr;
                if (first <= va) refused[kind][i] = false; // it was the unit's first byte that was refused
            }
        }
        if (ask_at_once && first >= va_base && first < va_base + units * unit)
            ask_and_remember((first - va_base) / unit);
    }

    // --- what is true ---

    const version &visible() {
        while (versions.size() > 1 && versions[1].visible_ps <= now_ps())
            versions.erase(versions.begin());
        return versions[0];
    }

    // Whether a change that is not visible touches the page, of whatever size, in which a unit lies.
    bool settled(std::uint64_t i) {
        visible();
        const std::uint64_t whole = large_page / unit, first = i / whole * whole, last = first + whole - 1;
        for (std::size_t v = 1; v < versions.size(); v++)
            if (versions[v].first <= last && first <= versions[v].last) return false;
        return true;
    }

    void check(const char *after) {
        const version &truth = visible();
        for (std::uint64_t i = 0; i < units && wrong.empty(); i++)
            for (unsigned kind = 0; kind < 2; kind++) {
                const std::uint32_t right = kind ? TLA_WRITE : TLA_READ;
                const bool allowed = truth.unit[i].flags & right;
                const char *what = nullptr;
                if (held[kind][i] && !allowed) what = "holds a pointer to what it may not access";
                if (held[kind][i] && allowed && held[kind][i] != host + (truth.unit[i].pa - hbm))
                    what = "holds a pointer to other bytes";
                if (refused[kind][i] && allowed && settled(i)) what = "remembers a refusal that has ended";
                if (!what) continue;
                std::ostringstream text;
                text << what << ": unit " << i << ", kind " << kind << ", after " << after << " at " << now_ps()
                     << " ps";
                wrong = text.str();
            }
    }

    // --- changes ---

    void change() {
        const auto port = static_cast<unsigned>(below(ports));
        if (posted[port]) { // wait for its answer
            tla_completion answer{};
            sc_time delay;
            read_completion(mappings, port * std::uint64_t{TLA_PORT_BYTES}, answer, delay);
            sc_core::wait(delay);
            BOOST_TEST(answer.status == TLA_OK);
        }
        tla_command command{};
        command.target = TLA_TARGET_PE_MMU;
        command.opcode = below(3) ? TLA_OP_MAP : TLA_OP_UNMAP;
        command.count = 1;
        const std::uint64_t first = below(units), block = below(blocks);
        std::uint64_t count = 1 + below(std::min<std::uint64_t>(units - first, below(2) ? 16 : 300));
        version next = versions.back();
        tla_map_entry &e = command.entries[0];
        if (command.opcode == TLA_OP_MAP) {
            count = std::min(count, block_bytes / unit);
            e.pa.value = block_pa[block] + below(block_bytes / unit - count + 1) * unit;
            e.flags = static_cast<std::uint32_t>(1 + below(3));
        } else { // only what is mapped, from the first unit on that is
            std::uint64_t at = first;
            while (at < units && !next.unit[at].flags)
                at++;
            std::uint64_t end = at;
            while (end < units && end < at + count && next.unit[end].flags)
                end++;
            if (at == end) return;
            next.first = at;
            count = end - at;
        }
        if (command.opcode == TLA_OP_MAP) next.first = first;
        next.last = next.first + count - 1;
        e.va.value = va_base + next.first * unit;
        e.nbytes = count * unit;
        for (std::uint64_t i = 0; i < count; i++)
            next.unit[next.first + i] = e.flags ? mapping_of_unit{e.pa.value + i * unit, e.flags} : mapping_of_unit{};
        next.visible_ps = std::max(now_ps(), versions.back().visible_ps) + command_ps;
        versions.push_back(next);
        sc_time delay;
        BOOST_TEST(post_command(mappings, port * std::uint64_t{TLA_PORT_BYTES}, command, delay) == TLA_OK);
        posted[port] = true;
    }

    std::uint64_t command(tla_opcode opcode, std::uint64_t pa) {
        tla_command command{};
        command.target = TLA_TARGET_MEMORY_CONTROLLER;
        command.opcode = opcode;
        command.pa.value = pa;
        command.nbytes = block_bytes;
        tla_completion completion{};
        sc_time delay;
        BOOST_TEST(send_command(allocator, 0, command, completion, delay) == TLA_OK);
        sc_core::wait(delay);
        return completion.value;
    }

    // A block goes, and comes back somewhere; its mappings stay, and lead to bytes that are nobody's.
    void free_block() {
        const std::uint64_t block = below(blocks), pa = block_pa[block];
        ask_at_once = false;
        command(TLA_OP_FREE, pa);
        frees++;
        const std::uint8_t *const begin = host + (pa - hbm), *const end = begin + block_bytes;
        for (const auto &kind : held)
            for (const std::uint8_t *pointer : kind)
                if (pointer >= begin && pointer < end && wrong.empty()) wrong = "a pointer outlives the block's free";
        block_pa[block] = command(TLA_OP_ALLOC, 0);
    }

    void run() {
        tla_paddr pa{};
        tla_paddr_pe_hbm(0, 0, 0, 0, slice_bytes, &pa);
        hbm = pa.value;
        tlm::tlm_generic_payload &payload = physical.make(tlm::TLM_READ_COMMAND, hbm, nullptr, 0);
        tlm::tlm_dmi whole;
        BOOST_TEST(physical.out->get_direct_mem_ptr(payload, whole));
        physical.give_back(payload);
        BOOST_TEST(whole.get_start_address() == hbm);
        host = whole.get_dmi_ptr();
        for (std::uint64_t &block : block_pa)
            block = command(TLA_OP_ALLOC, 0);
        for (unsigned step = 0; step < steps && wrong.empty(); step++) {
            ask_at_once = below(2) == 0;
            const std::uint64_t what = below(32);
            if (what < 2) {
                change();
                check("a change");
            } else if (what == 2 && below(4) == 0) {
                free_block();
                check("a free");
            } else if (what < 8) {
                sc_core::wait(from_ps(below(what == 3 ? 4 * command_ps : command_ps / 4)));
                sc_core::wait(sc_core::SC_ZERO_TIME); // what happens at this time has happened
                check("a while");
            } else if (what == 8) {
                tlm::tlm_dmi dmi;
                strangers += ask(0, below(units), 7, dmi); // an address space that does not exist
            } else {
                ask_and_remember(below(units));
                check("a request");
            }
        }
        sc_core::sc_stop();
    }
};

void check_random_changes(unsigned seed) {
    BOOST_TEST_MESSAGE("seed " << seed);
    bench b("bench", seed, 30'000);
    sc_core::sc_start();
    BOOST_TEST(b.wrong == "");
    BOOST_TEST(b.strangers == 0u);
    BOOST_TEST(b.granted > 1000u);
    BOOST_TEST(b.refusals > 1000u);
    BOOST_TEST(b.withdrawn > 1000u);
    BOOST_TEST(b.frees > 100u);
}

} // namespace

BOOST_AUTO_TEST_CASE(a_naive_initiator_never_holds_an_expired_pointer_or_declined_range) {
    check_random_changes(901);
}

BOOST_AUTO_TEST_CASE(nor_with_another_seed) {
    check_random_changes(902);
}

BOOST_AUTO_TEST_CASE(nor_with_a_third_seed) {
    check_random_changes(903);
}
