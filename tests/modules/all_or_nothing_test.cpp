// Mapping commands reach every MMU or none: random maps, remaps and unmaps over PEs, some of which refuse, beside a
// dictionary for every PE.
#include "test_initiator.hpp"
#include "tlmalloc/modules/npu.hpp"

#include <array>
#include <cstring>
#include <random>

using namespace tlmalloc;
using namespace test_initiator;

namespace {

constexpr std::uint64_t unit = 512, page = 4096, va_base = std::uint64_t{8} << 30, units = 1024;
constexpr std::uint64_t block_bytes = 128 * 1024;
constexpr unsigned asids = 2, port = 7;

struct place {
    std::uint64_t pa = 0;
    std::uint32_t flags = 0; // 0: not mapped
    bool operator==(const place &o) const { return pa == o.pa && flags == o.flags; }
};
using map_of_pe = std::array<std::vector<place>, asids>;

struct bench {
    bench(std::vector<const char *> overrides, unsigned seed) : random(seed) {
        for (const char *key :
             {"system.sips=2", "system.pes_per_cube=2", "mmu.page_size=4 KiB", "mmu.pages_64k=true", "mmu.asids=2",
              "mmu.allow_remap=true", "mmu.cost.fixed=300 ns", "hbm.capacity_per_cube=2 MiB"})
            overrides.push_back(key);
        BOOST_REQUIRE_EQUAL(tla_config_load(nullptr, overrides.data(), overrides.size(), &config, nullptr, nullptr),
                            TLA_OK);
        platform = std::make_unique<npu>("npu", config, kernel_table{});
        for (std::size_t i = 0; i < platform->pes().size(); i++) {
            truth.emplace_back();
            for (auto &space : truth.back())
                space.assign(units, {});
        }
    }

    void run(std::function<void()> body) {
        bool finished = false;
        platform->host().main = [&] {
            body();
            finished = true;
        };
        sc_core::sc_report_handler::set_handler(keep_report);
        sc_core::sc_start();
        BOOST_CHECK(finished);
    }

    // A block in a PE's HBM whose every word says where it lies.
    std::uint64_t block(pe_unit &pe, std::uint64_t nbytes) {
        tla_command command = alloc_command(TLA_HBM, nbytes);
        const tla_completion done = send(pe.element.allocator, port, command);
        BOOST_REQUIRE_EQUAL(done.status, TLA_OK);
        return done.value;
    }
    static void number(pe_unit &pe, std::uint64_t pa, std::uint64_t nbytes) {
        std::vector<std::uint64_t> words(nbytes / 8);
        for (std::size_t i = 0; i < words.size(); i++)
            words[i] = pa + 8 * i;
        tlm::tlm_generic_payload payload;
        payload.set_write();
        payload.set_address(pa);
        payload.set_data_ptr(reinterpret_cast<unsigned char *>(words.data()));
        payload.set_data_length(static_cast<unsigned>(nbytes));
        BOOST_REQUIRE_EQUAL(pe.element.local->transport_dbg(payload), nbytes);
    }

    tla_completion send(forward_path target, unsigned at_port, const tla_command &command) {
        tla_completion completion{};
        sc_core::sc_time delay;
        completion.status = send_command(target, at_port * std::uint64_t{TLA_PORT_BYTES}, command, completion, delay);
        sc_core::wait(delay);
        return completion;
    }

    // What a PE finds at every unit, without time: the words say where they lie.
    void check(const char *after) {
        for (std::size_t pe = 0; pe < platform->pes().size(); pe++)
            for (std::uint32_t asid = 0; asid < asids; asid++)
                for (std::uint64_t i = 0; i < units; i++) {
                    const place &expected = truth[pe][asid][i];
                    std::uint64_t word = 0;
                    requester who{asid, 0};
                    tlm::tlm_generic_payload payload;
                    payload.set_read();
                    payload.set_address(va_base + i * unit);
                    payload.set_data_ptr(reinterpret_cast<unsigned char *>(&word));
                    payload.set_data_length(8);
                    payload.set_extension(&who);
                    const unsigned moved = platform->pes()[pe]->dma.out->transport_dbg(payload);
                    payload.clear_extension(&who);
                    if (moved == (expected.flags ? 8u : 0u) && word == (expected.flags ? expected.pa : 0)) continue;
                    BOOST_REQUIRE_MESSAGE(false, "step " << step << ", after " << after << ": PE " << pe << ", asid "
                                                         << asid << ", unit " << i << " leads to 0x" << std::hex << word
                                                         << ", expected 0x" << expected.pa);
                }
        for (unsigned n = 0; n < 8; n++) { // and what it may do there
            const std::size_t pe = random() % platform->pes().size();
            const auto asid = static_cast<std::uint32_t>(random() % asids);
            const std::uint64_t i = random() % units;
            const bool write = random() % 2;
            std::uint64_t word = truth[pe][asid][i].pa;
            requester who{asid, 0};
            tlm::tlm_generic_payload payload;
            payload.set_command(write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
            payload.set_address(va_base + i * unit);
            payload.set_data_ptr(reinterpret_cast<unsigned char *>(&word));
            payload.set_data_length(8);
            payload.set_streaming_width(8);
            payload.set_extension(&who);
            sc_core::sc_time delay;
            platform->pes()[pe]->dma.out->b_transport(payload, delay);
            sc_core::wait(delay);
            payload.clear_extension(&who);
            const bool allowed = truth[pe][asid][i].flags & (write ? TLA_WRITE : TLA_READ);
            BOOST_REQUIRE_EQUAL(payload.is_response_ok(), allowed);
        }
    }

    tla_command random_command() {
        tla_command command{};
        command.target = TLA_TARGET_VA_MANAGER;
        command.request_id = next_tag++;
        const std::uint64_t what = random() % 20;
        command.opcode = what < 9    ? TLA_OP_MAP
                         : what < 13 ? TLA_OP_REMAP
                         : what < 18 ? TLA_OP_UNMAP
                                     : TLA_OP_INVALIDATE;
        command.scope = {static_cast<std::uint32_t>(1 + random() % 3), 1, static_cast<std::uint32_t>(1 + random() % 3)};
        if (random() % 2) command.scope = {3, 1, 3};
        command.count = static_cast<std::uint32_t>(1 + random() % 3);
        for (std::uint32_t n = 0; n < command.count; n++) {
            tla_map_entry &e = command.entries[n];
            const std::uint64_t first = random() % units;
            const std::uint64_t longest = random() % 2 ? 20 : 250; // by itself: every compiler draws the same
            std::uint64_t count = 1 + random() % std::min(units - first, longest);
            count = std::min(count, block_bytes / unit);
            e = {{va_base + first * unit}, {}, count * unit, 0, static_cast<std::uint32_t>(random() % asids)};
            if (command.opcode != TLA_OP_MAP && command.opcode != TLA_OP_REMAP) continue;
            const std::uint64_t block = blocks[random() % blocks.size()];
            e.pa.value = block + random() % (block_bytes / unit - count + 1) * unit;
            e.flags = static_cast<std::uint32_t>(1 + random() % 3);
        }
        return command;
    }

    // The dictionaries follow a command that has succeeded: one that could.
    void apply(const tla_command &command) {
        if (command.opcode == TLA_OP_INVALIDATE) return;
        for (std::uint32_t n = 0; n < command.count; n++) {
            const tla_map_entry &e = command.entries[n];
            for (std::size_t pe = 0; pe < truth.size(); pe++) {
                const pe_location &where = platform->pes()[pe]->where;
                if (!(command.scope.sip_mask >> where.sip & 1) || !(command.scope.pe_mask >> where.pe & 1)) continue;
                for (std::uint64_t i = 0; i < e.nbytes / unit; i++) {
                    place &p = truth[pe][e.asid][(e.va.value - va_base) / unit + i];
                    BOOST_REQUIRE(command.opcode == TLA_OP_MAP || p.flags);
                    p = e.flags ? place{e.pa.value + i * unit, e.flags} : place{};
                }
            }
        }
    }

    // Commands that are sent at once, at ports of their own, and done one after the other.
    unsigned change(std::size_t in_flight) {
        std::vector<tla_command> commands(in_flight);
        const forward_path addresses = platform->host().va;
        for (std::size_t i = 0; i < in_flight; i++) {
            commands[i] = random_command();
            sc_core::sc_time delay;
            BOOST_REQUIRE_EQUAL(post_command(addresses, (port + i) * TLA_PORT_BYTES, commands[i], delay), TLA_OK);
        }
        unsigned refused = 0;
        for (std::size_t i = 0; i < in_flight; i++) {
            tla_completion completion{};
            sc_core::sc_time delay;
            if (read_completion(addresses, (port + i) * TLA_PORT_BYTES, completion, delay))
                refused++;
            else
                apply(commands[i]);
            sc_core::wait(delay);
        }
        return refused;
    }

    // One that is acknowledged at once; whether it was done is seen later.
    unsigned change_posted() {
        const tla_command command = random_command();
        const std::uint64_t lost = platform->addresses().get_statistics().posted_failures;
        if (send(platform->host().va, port, command).status) return 1; // a REMAP says so itself
        sc_core::wait(20, sc_core::SC_US);
        if (platform->addresses().get_statistics().posted_failures != lost) return 1;
        apply(command);
        return 0;
    }

    std::uint64_t taken_back() const {
        std::uint64_t sum = 0;
        for (const pe_unit *pe : platform->pes())
            sum += pe->mmu.get_statistics().taken_back;
        return sum;
    }

    tla_config config{};
    std::unique_ptr<npu> platform;
    std::mt19937_64 random;
    std::vector<map_of_pe> truth;
    std::vector<std::uint64_t> blocks;
    std::uint32_t next_tag = 1;
    unsigned step = 0;
};

void check_random_commands(std::vector<const char *> overrides, unsigned seed, unsigned steps, bool posted,
                           bool fill_memory) {
    BOOST_TEST_MESSAGE("seed " << seed);
    overrides.push_back(posted ? "va.map_ack=posted" : "va.map_ack=visible");
    bench b(overrides, seed);
    unsigned done = 0, refused = 0;
    b.run([&] {
        for (pe_unit *pe : {b.platform->pes()[0], b.platform->pes()[3]}) {
            b.blocks.push_back(b.block(*pe, block_bytes));
            bench::number(*pe, b.blocks.back(), block_bytes);
        }
        if (fill_memory) { // one PE has room for few tables
            pe_unit &poor = *b.platform->pes()[2];
            const tla_arena_stats heap = poor.controller.get_statistics(TLA_HBM).arena;
            b.block(poor, heap.largest_free - 9 * page);
        }
        for (b.step = 0; b.step < steps; b.step++) {
            const unsigned count = posted ? 1 : 1 + b.step % 3, no = posted ? b.change_posted() : b.change(count);
            refused += no;
            done += count - no;
            b.check("a command");
        }
    });
    BOOST_CHECK_GT(done, steps / 10);
    BOOST_CHECK_GT(refused, steps / 50);
    BOOST_CHECK_GT(b.taken_back(), 0u);
    BOOST_CHECK_EQUAL(b.platform->addresses().get_statistics().not_restored, 0u);
    for (const pe_unit *pe : b.platform->pes())
        BOOST_CHECK_EQUAL(pe->mmu.get_statistics().walk_errors, 0u);
}

} // namespace

BOOST_AUTO_TEST_CASE(remaps_that_one_pe_has_no_table_memory_for_change_nothing_anywhere) {
    check_random_commands({"mmu.walk=memory"}, 811, 300, false, true);
}

BOOST_AUTO_TEST_CASE(remaps_that_a_fault_plan_refuses_change_nothing_anywhere) {
    check_random_commands({"mmu.walk=memory", "faults.plan=refuse rate=300000 pe=1", "host.retries=1"}, 812, 300, false,
                          false);
}

BOOST_AUTO_TEST_CASE(unmaps_of_what_not_every_pe_maps_change_nothing_anywhere) {
    check_random_commands({"mmu.walk=ideal"}, 813, 300, false, false);
}

BOOST_AUTO_TEST_CASE(posted_commands_that_one_pe_fails_are_undone_in_the_other_sip_too) {
    check_random_commands({"mmu.walk=memory"}, 814, 200, true, true);
}

BOOST_AUTO_TEST_CASE(posted_unmaps_of_what_not_every_pe_maps_are_taken_back_with_a_tlb) {
    check_random_commands({"mmu.walk=flat"}, 815, 200, true, false);
}

BOOST_AUTO_TEST_CASE(failed_remaps_change_nothing_when_commands_arrive_in_order) {
    check_random_commands({"mmu.walk=memory"}, 816, 300, false, true);
}

BOOST_AUTO_TEST_CASE(commands_that_a_fault_plan_refuses_change_nothing_anywhere) {
    check_random_commands({"mmu.walk=memory", "faults.plan=refuse rate=300000 pe=1", "host.retries=1"}, 817, 300, false,
                          false);
}

BOOST_AUTO_TEST_CASE(posted_commands_are_taken_back) {
    check_random_commands({"mmu.walk=memory"}, 818, 200, true, true);
}

BOOST_AUTO_TEST_CASE(posted_unmaps_are_taken_back_with_a_tlb) {
    check_random_commands({"mmu.walk=flat"}, 819, 200, true, false);
}
