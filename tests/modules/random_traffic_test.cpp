// A million random accesses beside a plain array of bytes: blocking, in four phases, by DMI and by debug transport, by
// physical and by virtual address, with byte enables and streaming, across every boundary; mappings and blocks change
// meanwhile. Every byte must be equal.
#include "bare.hpp"
#include "tlmalloc/config.h"
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
#include <cstring>
#include <random>
#include <sstream>

using namespace tlmalloc;
using namespace tlmalloc::testing;
using sc_core::sc_time;

namespace {

constexpr std::uint64_t slice_bytes = 1 << 20, tcm_bytes = 1 << 16, page = 4096, va_base = 0x2'0000'0000;
constexpr unsigned pages = 24; // of virtual memory, then a region of `rest` bytes
constexpr std::uint64_t rest = 777, va_bytes = pages * page + rest;

// One access, and what it should do.
struct access {
    bool by_va;
    tlm::tlm_command command;
    std::uint64_t offset; // in what the path sees: HBM, then TCM, then nothing; or the virtual range
    std::vector<std::uint8_t> data, enables;
    unsigned width;
};

struct region { // of DMI that an initiator holds
    std::uint64_t first, last;
    std::uint8_t *bytes;
    bool writable;
};

struct bench : sc_core::sc_module {
    initiator physical{"physical"}, virtual_{"virtual"};
    base_protocol_checker physical_checker{"physical_checker"}, virtual_checker{"virtual_checker"};
    hbm_slice slice;
    tcm local;
    memory_controller controller;
    pe_mmu mmu;
    tlm_utils::simple_initiator_socket<bench> blocks{"blocks"}, mappings{"mappings"};
    interconnect fabric;
    std::uint64_t hbm_pa, tcm_pa;

    std::mt19937_64 random;
    std::vector<std::uint8_t> expected = std::vector<std::uint8_t>(slice_bytes + tcm_bytes);
    std::vector<std::uint32_t> map = std::vector<std::uint32_t>(va_bytes); // virtual offset -> index in `expected`
    std::vector<region> held[2];                                           // by_va: 0, 1
    std::string mismatch;
    // Whether virtual addresses may lead to the same bytes. With walkers one overtakes the other then: who orders
    // accesses by address does it by the addresses it is given.
    bool aliases;
    std::uint64_t done = 0, wanted, direct = 0, invalidated = 0, refused = 0;
    sc_time ahead;

    struct settings {
        const char *timing = nullptr; // of the slice's banks; none
        tla_walk_mode walk = TLA_WALK_IDEAL;
    };

    static hbm_slice::config slice_config(const settings &how) {
        hbm_slice::config c = bare<hbm_slice>();
        if (how.timing) tla_timing_named(how.timing, &c.timing.emplace());
        c.capacity = slice_bytes;
        return c;
    }
    static tcm::config tcm_config() {
        tcm::config c = bare<tcm>();
        c.capacity = tcm_bytes;
        return c;
    }
    static memory_controller::config controller_config() {
        memory_controller::config c = bare<memory_controller>();
        c.memory.of[TLA_HBM].bytes = slice_bytes;
        c.memory.of[TLA_TCM].bytes = tcm_bytes;
        c.memory.of[TLA_TCM].reserved = 0;
        return c;
    }
    static pe_mmu::config mmu_config(const settings &how) {
        pe_mmu::config c = bare<pe_mmu>();
        c.walk = how.walk;
        c.va_bits = 48;
        c.tlb_l1 = {8, 0, 1'000, TLA_REPLACE_LRU};
        c.tlb_l2 = {};
        c.page_size = page;
        return c;
    }
    static interconnect::config fabric_config() {
        tla_paddr hbm{}, tcm{};
        tla_paddr_pe_hbm(0, 0, 0, 0, slice_bytes, &hbm);
        tla_paddr_pe_tcm(0, 0, 0, 0, &tcm);
        interconnect::config c = bare<interconnect>();
        c.nodes.resize(2);
        c.links = {{0, 1, 1'000, 256'000'000'000, 0}, {1, 0, 1'000, 256'000'000'000, 0}};
        c.sources = {0, 0};
        c.targets = {1, 1};
        c.windows = {{hbm.value, slice_bytes, 0, false}, {tcm.value, tcm_bytes, 1, false}};
        return c;
    }

    bench(sc_core::sc_module_name name, std::uint64_t seed, std::uint64_t count, const settings &how)
        : sc_module(name), slice("slice", slice_config(how)), local("tcm", tcm_config()),
          controller("controller", controller_config()), mmu("mmu", mmu_config(how)), fabric("fabric", fabric_config()),
          random(seed), aliases(how.walk == TLA_WALK_IDEAL), wanted(count) {
        physical.out.bind(physical_checker.in);
        physical_checker.out.bind(fabric.in);
        virtual_.out.bind(virtual_checker.in);
        virtual_checker.out.bind(mmu.in);
        mmu.out.bind(fabric.in);
        fabric.out.bind(controller.in);
        fabric.out.bind(controller.in);
        controller.slice.bind(slice.in);
        controller.tcm.bind(local.in);
        blocks.bind(controller.control);
        mappings.bind(mmu.control);
        hbm_pa = fabric_config().windows[0].base;
        tcm_pa = fabric_config().windows[1].base;
        for (const bool by_va : {false, true})
            path(by_va).on_invalidate = [this, by_va](std::uint64_t first, std::uint64_t last) {
                std::vector<region> &all = held[by_va];
                const auto gone = std::remove_if(all.begin(), all.end(),
                                                 [&](const region &r) { return r.first <= last && first <= r.last; });
                invalidated += static_cast<std::uint64_t>(all.end() - gone);
                all.erase(gone, all.end());
            };
        TLMALLOC_HAS_PROCESS(bench);
        SC_THREAD(main);
    }

    initiator &path(bool by_va) { return by_va ? virtual_ : physical; }
    std::uint64_t below(std::uint64_t n) { return random() % n; }

    // --- what should happen ------------------------------------------------------------------------------------------

    static std::uint64_t size(const access &a) { return a.by_va ? va_bytes : slice_bytes + tcm_bytes; }

    // HBM and TCM are not neighbours: an access over the seam leaves the HBM.
    static bool legal(const access &a) {
        const std::uint64_t span = std::min<std::uint64_t>(a.width, a.data.size());
        if (!a.by_va && a.offset < slice_bytes) return span <= slice_bytes - a.offset;
        return a.offset < size(a) && span <= size(a) - a.offset;
    }

    std::uint8_t &expected_at(const access &a, std::uint64_t i) {
        return expected[a.by_va ? map[a.offset + i] : a.offset + i];
    }

    void apply(const access &a, std::vector<std::uint8_t> &data) {
        for (std::size_t i = 0; i < data.size(); i++) {
            if (!a.enables.empty() && !a.enables[i % a.enables.size()]) continue;
            std::uint8_t &byte = expected_at(a, i % a.width);
            if (a.command == tlm::TLM_READ_COMMAND)
                data[i] = byte;
            else
                byte = data[i];
        }
    }

    void fail(const access &a, const char *how, const char *what) {
        if (!mismatch.empty()) return;
        std::ostringstream text;
        text << "access " << done << " (" << how << ", " << (a.by_va ? "virtual" : "physical") << ", "
             << (a.command == tlm::TLM_READ_COMMAND ? "read" : "write") << " at " << a.offset << ", " << a.data.size()
             << " bytes, " << a.enables.size() << " enables, width " << a.width << "): " << what;
        mismatch = text.str();
    }

    // --- what happens ------------------------------------------------------------------------------------------------

    std::uint64_t address(const access &a) const {
        if (a.by_va) return va_base + a.offset;
        return a.offset < slice_bytes ? hbm_pa + a.offset : tcm_pa + (a.offset - slice_bytes);
    }

    access random_access() {
        access a;
        a.by_va = below(2);
        a.command = below(2) ? tlm::TLM_READ_COMMAND : tlm::TLM_WRITE_COMMAND;
        const std::uint64_t length = below(8) ? 1 + below(24) : 1 + below(900);
        a.data.resize(length);
        for (std::size_t i = 0; i < length; i += 8) {
            const std::uint64_t bits = random();
            std::memcpy(&a.data[i], &bits, std::min<std::size_t>(8, length - i));
        }
        a.offset = below(size(a));
        if (below(2)) { // around a burst's, a page's or a memory's boundary
            const std::uint64_t grain = below(2) ? 256 : page;
            const std::uint64_t boundary = below(16)  ? (a.offset + grain) / grain * grain
                                           : below(2) ? slice_bytes
                                                      : size(a);
            a.offset = boundary < length ? 0 : boundary - below(length + 1);
        }
        a.width = static_cast<unsigned>(length);
        return a;
    }

    tlm::tlm_generic_payload &make(access &a) {
        tlm::tlm_generic_payload &payload = path(a.by_va).make(a.command, address(a), a.data.data(), a.data.size());
        payload.set_streaming_width(a.width);
        if (!a.enables.empty()) {
            payload.set_byte_enable_ptr(a.enables.data());
            payload.set_byte_enable_length(static_cast<unsigned>(a.enables.size()));
        }
        return payload;
    }

    void decorate(access &a) { // enables and streaming are for transport only
        const std::size_t length = a.data.size();
        if (below(3) == 0) {
            a.enables.resize(1 + below(below(2) ? 9 : length + 3));
            for (std::uint8_t &e : a.enables)
                e = below(2) ? 0xff : 0;
        }
        if (below(5) == 0) a.width = static_cast<unsigned>(1 + below(length + 3));
    }

    // After the access: `sent` is what it was, `a` what its buffer is now.
    void check(const access &sent, const access &a, tlm::tlm_response_status status, const char *how) {
        std::vector<std::uint8_t> data = sent.data;
        if (!legal(sent)) {
            refused++;
            if (status != tlm::TLM_ADDRESS_ERROR_RESPONSE) fail(sent, how, "is not refused as it should be");
        } else {
            if (status != tlm::TLM_OK_RESPONSE) fail(sent, how, "is refused");
            apply(sent, data);
        }
        if (data != a.data) fail(sent, how, "ends with other bytes");
        done++;
    }

    void blocking() {
        access a = random_access();
        decorate(a);
        const access sent = a;
        tlm::tlm_generic_payload &payload = make(a);
        path(a.by_va).out->b_transport(payload, ahead);
        check(sent, a, payload.get_response_status(), "blocking");
        path(a.by_va).give_back(payload);
        if (ahead > sc_time(1, sc_core::SC_US)) synchronise();
    }

    // Requests of one initiator are served in their order, so the plain array can follow in the same order.
    void four_phases() {
        synchronise();
        const bool by_va = below(2);
        initiator &from = path(by_va);
        from.ending = static_cast<response_end>(below(3));
        from.response_delay = sc_time(static_cast<double>(below(3)), sc_core::SC_NS);
        std::vector<access> sent, all;
        while (sent.size() < 6) {
            access a = random_access();
            if (a.by_va != by_va) continue;
            decorate(a);
            sent.push_back(a);
        }
        all = sent;
        std::vector<tlm::tlm_generic_payload *> payloads;
        for (access &a : all) {
            payloads.push_back(&make(a));
            from.begin(*payloads.back());
        }
        for (std::size_t i = 0; i < all.size(); i++)
            from.finish(*payloads[i]);
        for (std::size_t i = 0; i < all.size(); i++) {
            check(sent[i], all[i], payloads[i]->get_response_status(), "four phases");
            from.give_back(*payloads[i]);
        }
    }

    void debug() {
        access a = random_access();
        const access sent = a;
        tlm::tlm_generic_payload &payload = make(a);
        const unsigned moved = path(a.by_va).out->transport_dbg(payload);
        path(a.by_va).give_back(payload);
        if (moved != (legal(sent) ? a.data.size() : 0)) fail(sent, "debug", "moves another number of bytes");
        check(sent, a, legal(sent) ? tlm::TLM_OK_RESPONSE : tlm::TLM_ADDRESS_ERROR_RESPONSE, "debug");
    }

    const region *dmi(const access &a, std::uint64_t at) {
        for (const region &r : held[a.by_va])
            if (r.first <= at && at <= r.last) return &r;
        tlm::tlm_generic_payload &payload = path(a.by_va).make(a.command, at, nullptr, 0);
        tlm::tlm_dmi data;
        const bool granted = path(a.by_va).out->get_direct_mem_ptr(payload, data);
        path(a.by_va).give_back(payload);
        if (!granted) return nullptr;
        held[a.by_va].push_back({data.get_start_address(), data.get_end_address(), data.get_dmi_ptr(), true});
        return &held[a.by_va].back();
    }

    void direct_access() {
        access a = random_access();
        if (!legal(a)) return;
        const access sent = a;
        for (std::uint64_t i = 0; i < a.data.size();) {
            const std::uint64_t at = address(a) + i;
            const region *r = dmi(a, at);
            if (!r) {
                fail(sent, "direct", "is refused");
                return;
            }
            const std::uint64_t run = std::min<std::uint64_t>(a.data.size() - i, r->last - at + 1);
            std::uint8_t *const bytes = r->bytes + (at - r->first);
            if (a.command == tlm::TLM_READ_COMMAND)
                std::memcpy(&a.data[i], bytes, run);
            else
                std::memcpy(bytes, &a.data[i], run);
            i += run;
        }
        direct++;
        check(sent, a, tlm::TLM_OK_RESPONSE, "direct");
    }

    void synchronise() {
        sc_core::wait(ahead);
        ahead = sc_core::SC_ZERO_TIME;
    }

    tla_completion send(tlm_utils::simple_initiator_socket<bench> &to, const tla_command &command) {
        synchronise();
        tla_completion completion{};
        if (send_command(to, 0, command, completion, ahead)) mismatch = "a command is refused";
        synchronise();
        return completion;
    }

    // A page of virtual memory moves to other bytes of the HBM or TCM, at any alignment.
    void remap(std::uint64_t number, bool unmap_first) {
        const std::uint64_t nbytes = number < pages ? page : rest;
        tla_command command{};
        command.target = TLA_TARGET_PE_MMU;
        command.count = 1;
        const bool in_hbm = aliases ? below(3) : true;
        const std::uint64_t room = (in_hbm ? slice_bytes : tcm_bytes) / (aliases ? 1 : pages + 1);
        const std::uint64_t offset = below(room - nbytes) + (aliases ? 0 : number * room);
        command.entries[0] = {
            {va_base + number * page}, {(in_hbm ? hbm_pa : tcm_pa) + offset}, nbytes, TLA_READ | TLA_WRITE, 0};
        if (unmap_first) {
            command.opcode = TLA_OP_UNMAP;
            send(mappings, command);
        }
        command.opcode = TLA_OP_MAP;
        send(mappings, command);
        for (std::uint64_t i = 0; i < nbytes; i++)
            map[number * page + i] = static_cast<std::uint32_t>((in_hbm ? 0 : slice_bytes) + offset + i);
    }

    void allocate_and_free() {
        tla_command command{};
        command.target = TLA_TARGET_MEMORY_CONTROLLER;
        command.opcode = TLA_OP_ALLOC;
        command.memory = below(2) ? TLA_HBM : TLA_TCM;
        command.nbytes = 1 + below(5000);
        command.pa = {send(blocks, command).value};
        command.opcode = TLA_OP_FREE;
        send(blocks, command);
    }

    void main() {
        for (std::uint64_t i = 0; i <= pages; i++)
            remap(i, false);
        while (done < wanted && mismatch.empty()) {
            switch (below(16)) {
            case 0:
                four_phases();
                break;
            case 1:
            case 2:
            case 3:
            case 4:
                debug();
                break;
            case 5:
            case 6:
            case 7:
            case 8:
                direct_access();
                break;
            default:
                blocking();
                break;
            }
            if (below(3000) == 0) remap(below(pages + 1), true);
            if (below(5000) == 0) allocate_and_free();
        }
        std::vector<std::uint8_t> hbm(slice_bytes), tcm(tcm_bytes); // at the end, all of it
        for (auto &[pa, memory] : {std::pair<std::uint64_t, std::vector<std::uint8_t> &>{hbm_pa, hbm}, {tcm_pa, tcm}}) {
            tlm::tlm_generic_payload &payload = physical.make(tlm::TLM_READ_COMMAND, pa, memory.data(), memory.size());
            physical.out->transport_dbg(payload);
            physical.give_back(payload);
        }
        hbm.insert(hbm.end(), tcm.begin(), tcm.end());
        if (mismatch.empty() && hbm != expected) mismatch = "the memories are not equal at the end";
    }
};

void every_byte_is_equal(const bench::settings &how, std::uint64_t count) {
    const std::uint64_t seed = 20260713;
    sc_core::sc_report_handler::set_actions(sc_core::SC_WARNING, sc_core::SC_DO_NOTHING); // accesses that must fail
    bench b("bench", seed, count, how);
    sc_core::sc_start();
    BOOST_CHECK_MESSAGE(b.mismatch.empty(), "seed " << seed << ": " << b.mismatch);
    BOOST_TEST(b.physical_checker.report() == "");
    BOOST_TEST(b.virtual_checker.report() == "");
    BOOST_TEST(b.physical.in_use() + b.virtual_.in_use() == 0u);
    BOOST_TEST(b.done >= count);
    BOOST_TEST(b.direct > count * 15 / 100);
    BOOST_TEST(b.invalidated > count / 10'000);
    BOOST_TEST(b.refused > count / 1'000);
    BOOST_TEST_MESSAGE("seed " << seed << ": " << b.direct << " by DMI, " << b.refused << " refused, " << b.invalidated
                               << " regions withdrawn, simulated " << sc_core::sc_time_stamp());
}

} // namespace

BOOST_AUTO_TEST_CASE(a_million_random_accesses_leave_every_byte_equal) {
    every_byte_is_equal({}, 1'000'000);
}

BOOST_AUTO_TEST_CASE(random_accesses_leave_every_byte_equal_in_banks) {
    every_byte_is_equal({"hbm3"}, 200'000);
}

BOOST_AUTO_TEST_CASE(random_accesses_leave_every_byte_equal_in_banks_with_flat_walks) {
    every_byte_is_equal({"hbm3", TLA_WALK_FLAT}, 200'000);
}
