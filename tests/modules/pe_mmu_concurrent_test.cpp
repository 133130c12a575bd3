// pe_mmu in time: what walks cost that share a memory, changes under them, page faults, commands; behind our
// own controller and slice and behind a foreign memory that waits.
#include "data_target.hpp"
#include "fault_handler.hpp"
#include "walking_mmu.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <tlm_utils/multi_passthrough_target_socket.h>

using namespace walking_mmu;
using namespace data_targets;

namespace {

const std::uint64_t burst_ps = 8000; // 256 bytes of a pseudo-channel of 32 GB/s

std::uint64_t hbm(std::uint64_t offset) {
    tla_paddr pa{};
    tla_paddr_pe_hbm(0, 0, 0, offset, slice_bytes, &pa);
    return pa.value;
}

memory_controller::config controller_config() {
    memory_controller::config config = bare<memory_controller>();
    config.memory.of[TLA_HBM].bytes = slice_bytes;
    config.memory.of[TLA_TCM].bytes = config.memory.of[TLA_TCM].reserved = 0;
    return config;
}

// Somebody else's memory: it waits for a while in every call, and knows which bytes are no table any more.
struct waiting_memory : sc_core::sc_module {
    tlm_utils::multi_passthrough_target_socket<waiting_memory> in{"in"};
    std::map<std::uint64_t, bytes> pages;
    std::mt19937 random{5};
    std::uint64_t calls = 0, together = 0, most = 0;

    explicit waiting_memory(sc_core::sc_module_name name) : sc_module(name) {
        in.register_b_transport(this, &waiting_memory::b_transport);
        in.register_transport_dbg(this, &waiting_memory::transport_dbg);
    }
    void move(tlm::tlm_generic_payload &payload) {
        for (unsigned i = 0; i < payload.get_data_length(); i++) {
            const std::uint64_t at = payload.get_address() + i;
            bytes &p = pages[at / page];
            p.resize(page);
            if (payload.is_read())
                payload.get_data_ptr()[i] = p[at % page];
            else
                p[at % page] = payload.get_data_ptr()[i];
        }
        payload.set_response_status(tlm::TLM_OK_RESPONSE);
    }
    void b_transport(int, tlm::tlm_generic_payload &payload, sc_core::sc_time &delay) {
        calls++;
        most = std::max(most, ++together);
        sc_core::wait(delay + from_ps(1 + random() % 60'000));
        delay = sc_core::SC_ZERO_TIME;
        move(payload);
        together--;
    }
    unsigned transport_dbg(int, tlm::tlm_generic_payload &payload) {
        move(payload);
        return payload.get_data_length();
    }
};

// Many threads behind one socket.
struct crowd : sc_core::sc_module {
    explicit crowd(sc_core::sc_module_name name) : sc_module(name) {}
    tlm_utils::simple_initiator_socket<crowd> out{"out"};
    void add(std::function<void()> body) {
        sc_core::sc_spawn(std::move(body), sc_core::sc_gen_unique_name("somebody"));
    }
    // A read that is issued at at_ps; returns when its answer was there.
    std::uint64_t read(std::uint64_t va, std::uint64_t nbytes, std::uint64_t at_ps) {
        const std::uint64_t now = to_ps(sc_core::sc_time_stamp());
        if (at_ps > now) sc_core::wait(from_ps(at_ps - now));
        std::uint64_t end_ps = 0;
        BOOST_CHECK_EQUAL(answer(va, nbytes, end_ps), tlm::TLM_OK_RESPONSE);
        return end_ps;
    }
    // What a read is answered, and when.
    tlm::tlm_response_status answer(std::uint64_t va, std::uint64_t nbytes, std::uint64_t &end_ps) {
        bytes data(nbytes);
        tlm::tlm_generic_payload payload;
        payload.set_read();
        payload.set_address(va);
        payload.set_data_ptr(data.data());
        payload.set_data_length(static_cast<unsigned>(nbytes));
        payload.set_streaming_width(static_cast<unsigned>(nbytes));
        sc_core::sc_time delay;
        out->b_transport(payload, delay);
        end_ps = local_ps(delay);
        return payload.get_response_status();
    }
};

// cpu -> MMU -> controller -> slice, or -> the foreign memory; tables are allocated by the controller.
struct bench {
    explicit bench(const pe_mmu::config &config, bool foreign_memory = false)
        : slice("slice", slice_config()), controller("controller", controller_config()),
          allocators("allocators", controller_config()), mmu("mmu", config) {
        if (foreign_memory) {
            mmu.out.bind(foreign.in);
            mmu.walk.bind(foreign.in);
            memory.out.bind(foreign.in);
            unused.out.bind(controller.in);
        } else {
            mmu.out.bind(controller.in);
            mmu.walk.bind(controller.in);
            memory.out.bind(controller.in);
            unused.out.bind(foreign.in);
        }
        mmu.allocator.bind(allocators.control);
        mmu.fault.bind(faults.in);
        controller.slice.bind(slice.in);
        allocators.slice.bind(no_slice.in);
        unused_control.out.bind(controller.control);
        unused_in.out.bind(allocators.in);
        cpu.out.bind(mmu.in);
        driver.out.bind(mmu.control);
        allocator.out.bind(allocators.control);
    }
    tla_completion map(std::initializer_list<mapping> entries, tla_opcode opcode = TLA_OP_MAP, std::uint32_t asid = 0,
                       std::uint64_t port = 0) {
        tla_command command = map_command(TLA_TARGET_PE_MMU, opcode, entries);
        for (std::uint32_t i = 0; i < command.count; i++)
            command.entries[i].asid = asid;
        return driver.command(port * TLA_PORT_BYTES, command);
    }

    hbm_slice slice;
    memory_controller controller, allocators;
    waiting_memory foreign{"foreign"}, no_slice{"no_slice"};
    fault_handler faults{"faults"};
    pe_mmu mmu;
    crowd cpu{"cpu"};
    initiator driver{"driver"}, memory{"memory"}, allocator{"allocator"}, unused{"unused"},
        unused_control{"unused_control"}, unused_in{"unused_in"};
};

} // namespace

// --- time ------------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_miss_takes_the_tlb_and_four_levels_and_a_hit_the_tlb) {
    bench b(walking(TLA_WALK_FLAT));
    b.driver.body = [&] {
        b.map({{0x10000, hbm(0), 4 * page}});
        BOOST_CHECK_EQUAL(b.cpu.read(0x10000, 256, 1'000'000), 1'000'000 + 1000 + 400'000 + burst_ps);
        BOOST_CHECK_EQUAL(b.cpu.read(0x10100, 256, 2'000'000), 2'000'000 + 1000 + burst_ps);
        BOOST_CHECK_EQUAL(b.cpu.read(0x12000 - 256, 512, 3'000'000), // two pages, two walkers, two channels
                          3'000'000 + 1000 + 400'000 + burst_ps);
    };
    simulate({&b.driver});
    BOOST_CHECK_EQUAL(b.mmu.get_statistics().hits, 1u);
    BOOST_CHECK_EQUAL(b.mmu.get_statistics().misses, 3u);
    BOOST_CHECK_EQUAL(b.slice.get_statistics().reads, 3u);
}

BOOST_AUTO_TEST_CASE(each_level_of_a_walk_is_a_read_of_the_slice_that_waits_for_what_came_before) {
    bench b(walking(TLA_WALK_MEMORY));
    std::uint64_t alone = 0, beside = 0;
    b.driver.body = [&] {
        const tla_completion block = b.allocator.command(0, alloc_command(TLA_HBM, 8 * page));
        b.map({{0x10000, block.value, 4 * page}});
        const std::uint64_t reads = b.slice.get_statistics().reads;
        alone = b.cpu.read(0x10000, 256, 50'000'000) - 50'000'000;
        BOOST_CHECK_EQUAL(b.slice.get_statistics().reads - reads, 4u + 1);
        b.cpu.add([&] { beside = b.cpu.read(0x11000, 256, 60'000'000) - 60'000'000; });
        for (std::uint64_t i = 0; i < 40; i++) // somebody else reads all channels all the time
            b.cpu.add([&b, i] {
                bytes data(2048);
                sc_core::wait(from_ps(60'000'000 + 8000 * (i + 1) - 1) - sc_core::sc_time_stamp());
                sc_core::sc_time delay;
                b.memory.read(hbm(1 << 20), data, delay);
            });
    };
    simulate({&b.driver});
    BOOST_CHECK_EQUAL(alone, 1000 + 4 * burst_ps + burst_ps); // each occupies a whole burst
    BOOST_CHECK_GT(beside, alone + 4 * 7000);
    BOOST_CHECK_EQUAL(b.mmu.get_statistics().walk_errors, 0u);
}

BOOST_AUTO_TEST_CASE(misses_beyond_the_walkers_stall_and_those_that_merge_do_not_walk) {
    pe_mmu::config config = walking(TLA_WALK_FLAT);
    config.tlb_l1 = config.tlb_l2 = {};
    config.walkers = {2, 3, 0, false, true, 100'000};
    bench b(config);
    b.driver.body = [&] {
        b.map({{0, hbm(0), 16 * page}});
        const auto at = [&](std::uint64_t va, std::uint64_t after_ps, std::uint64_t expected) {
            b.cpu.add([&b, va, after_ps, expected] {
                BOOST_CHECK_EQUAL(b.cpu.read(va, 256, 1'000'000 + after_ps), 1'000'000 + expected + burst_ps);
            });
        };
        at(0 * page, 0, 400'000);
        at(0 * page + 256, 10, 400'000);  // merged
        at(1 * page + 512, 20, 400'020);  // the second walker
        at(2 * page + 768, 30, 800'000);  // waits for the first
        at(1 * page + 1024, 40, 400'020); // held up behind it, then joins the walk that has 20 ps left
        at(3 * page + 1280, 50, 800'020); // held up too, then the second walker
    };
    simulate({&b.driver});
    const pe_mmu::statistics s = b.mmu.get_statistics();
    BOOST_CHECK_EQUAL(s.walkers.walks, 4u);
    BOOST_CHECK_EQUAL(s.walkers.merged, 2u);
    BOOST_CHECK_EQUAL(s.walkers.stalls, 2u);
}

// --- bytes -----------------------------------------------------------------------------------------------------------

namespace {

// Several threads read and write through a map that somebody else changes, each in an address range of its own, one of
// two address spaces; every byte against a map of bytes. What is being unmapped or remapped is left alone meanwhile.
void check_random_traffic(tla_walk_mode walk, bool foreign, unsigned seed) {
    BOOST_TEST_MESSAGE("seed " << seed);
    pe_mmu::config config = walking(walk);
    config.asids = 2;
    config.larger_page_sizes[0] = 64 << 10;
    config.walkers = {4, 4, 8, true, true, 100'000};
    config.cost.fixed_ps = 30'000;
    bench b(config, foreign);
    const unsigned threads = 6;
    const std::uint64_t span = 96 << 10, room = 4 << 20; // virtual bytes of a thread; physical of all
    std::uint64_t base = 0, finished = 0;
    sc_core::sc_event ready;
    for (unsigned t = 0; t < threads; t++)
        b.cpu.add([&, t] {
            sc_core::wait(ready);
            std::mt19937 random(seed * 100 + t);
            const std::uint32_t asid = t % 2;
            std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> maps; // va -> offset, length
            bytes own(room / threads);
            const std::uint64_t first_va = t * span, first_pa = base + room / threads / page * page * t;
            const auto where = [&](std::uint64_t va) -> std::int64_t {
                auto it = maps.upper_bound(va);
                if (it == maps.begin() || va - (--it)->first >= it->second.second) return -1;
                return static_cast<std::int64_t>(it->second.first + (va - it->first));
            };
            const auto unmap = [&](std::uint64_t va, std::uint64_t nbytes) {
                tla_command command = map_command(TLA_TARGET_PE_MMU, TLA_OP_UNMAP, {{first_va + va, 0, nbytes}});
                command.entries[0].asid = asid;
                return b.driver.command(t * TLA_PORT_BYTES, command).status;
            };
            for (unsigned step = 0; step < 500; step++) {
                const unsigned what = unsigned(random() % 10);
                std::uint64_t va = random() % span;
                const auto near = maps.lower_bound(va);
                if (what > 1 && near != maps.end() && random() % 4) va = near->first + random() % page;
                if (what == 0) {
                    // Page by page, each somewhere else, or as a whole.
                    const std::uint64_t at = random() % 2 ? va / page * page : va / (64 << 10) * (64 << 10);
                    const std::uint64_t nbytes = std::min(1 + random() % (5 * page), span - at);
                    const std::uint64_t each = random() % 2 ? page : nbytes;
                    bool free = true;
                    for (std::uint64_t i = 0; i < nbytes && free; i++)
                        free = where(at + i) < 0;
                    tla_command command = map_command(TLA_TARGET_PE_MMU, TLA_OP_MAP, {});
                    std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> added;
                    for (std::uint64_t done = 0; done < nbytes; done += each) {
                        const std::uint64_t offset = random() % (own.size() / page - 6) * page;
                        const std::uint64_t length = std::min(each, nbytes - done);
                        command.entries[command.count++] = {
                            {first_va + at + done}, {first_pa + offset}, length, TLA_READ | TLA_WRITE, asid};
                        added[at + done] = {offset, length};
                    }
                    BOOST_REQUIRE_EQUAL(b.driver.command(t * TLA_PORT_BYTES, command).status,
                                        free ? TLA_OK : TLA_OVERLAP);
                    if (free) maps.insert(added.begin(), added.end());
                } else if (what == 1 && !maps.empty()) {
                    auto it = maps.lower_bound(va);
                    if (it == maps.end()) it = maps.begin();
                    BOOST_REQUIRE_EQUAL(unmap(it->first, it->second.second), TLA_OK);
                    maps.erase(it);
                } else {
                    bytes data = pattern(std::min(1 + random() % 900, span - va), unsigned(random()));
                    const bool write = random() % 2;
                    bool mapped = true;
                    for (std::uint64_t i = 0; i < data.size(); i++)
                        mapped = mapped && where(va + i) >= 0;
                    tlm::tlm_generic_payload payload;
                    requester who{asid, t};
                    payload.set_command(write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
                    payload.set_address(first_va + va);
                    payload.set_data_ptr(data.data());
                    payload.set_data_length(static_cast<unsigned>(data.size()));
                    payload.set_streaming_width(static_cast<unsigned>(data.size()));
                    payload.set_extension(&who);
                    sc_core::sc_time delay;
                    b.cpu.out->b_transport(payload, delay);
                    payload.clear_extension(&who);
                    BOOST_REQUIRE_EQUAL(payload.get_response_status(),
                                        mapped ? tlm::TLM_OK_RESPONSE : tlm::TLM_ADDRESS_ERROR_RESPONSE);
                    BOOST_REQUIRE_EQUAL(payload.get_address(), first_va + va);
                    sc_core::wait(delay);
                    for (std::uint64_t i = 0; i < data.size() && mapped; i++) {
                        std::uint8_t &kept = own[static_cast<std::size_t>(where(va + i))];
                        if (write)
                            kept = data[i];
                        else
                            BOOST_REQUIRE_EQUAL(data[i], kept);
                    }
                }
                if (random() % 4 == 0) sc_core::wait(from_ps(random() % 1'000'000));
            }
            for (const auto &[va, where_to] : maps)
                BOOST_REQUIRE_EQUAL(unmap(va, where_to.second), TLA_OK);
            finished++;
        });
    b.driver.body = [&] {
        base = b.allocator.command(0, alloc_command(TLA_HBM, room)).value;
        ready.notify(sc_core::SC_ZERO_TIME);
    };
    simulate({&b.driver});
    const pe_mmu::statistics s = b.mmu.get_statistics();
    BOOST_CHECK_EQUAL(finished, threads);
    BOOST_CHECK_GT(s.hits, 100u);
    BOOST_CHECK_GT(s.walkers.walks, 100u);
    BOOST_CHECK_EQUAL(s.walk_errors, 0u);
    BOOST_CHECK_GT(s.splits, 10u);
    BOOST_CHECK_EQUAL(s.table.tables, 0u);
    BOOST_CHECK_EQUAL(s.table.mapped_bytes, 0u);
    BOOST_CHECK_EQUAL(b.allocators.get_statistics(TLA_HBM).arena.used, room); // all tables are given back
    if (foreign) BOOST_CHECK_GT(b.foreign.most, 2u);
}

} // namespace

BOOST_AUTO_TEST_CASE(every_byte_of_threads_beside_each_other_is_right_with_a_latency_for_each_level) {
    check_random_traffic(TLA_WALK_FLAT, false, 21);
}

BOOST_AUTO_TEST_CASE(every_byte_of_threads_beside_each_other_is_right_with_tables_in_a_slice) {
    check_random_traffic(TLA_WALK_MEMORY, false, 22);
}

BOOST_AUTO_TEST_CASE(every_byte_of_threads_beside_each_other_is_right_with_tables_in_a_memory_that_waits) {
    check_random_traffic(TLA_WALK_MEMORY, true, 23);
}

BOOST_AUTO_TEST_CASE(the_pieces_of_a_split_start_together_and_the_last_ends_it) {
    pe_mmu::config config = walking(TLA_WALK_IDEAL);
    config.overhead_ps = 700;
    bench b(config);
    b.driver.body = [&] {
        b.map({{0, hbm(4 * page), page}, {page, hbm(0), page}});
        bytes data = pattern(600);
        sc_core::sc_time delay;
        tlm::tlm_generic_payload payload;
        payload.set_write();
        payload.set_address(page - 300);
        payload.set_data_ptr(data.data());
        payload.set_data_length(600);
        payload.set_streaming_width(600);
        const std::uint64_t start = to_ps(sc_core::sc_time_stamp());
        b.cpu.out->b_transport(payload, delay);
        BOOST_CHECK_EQUAL(local_ps(delay) - start, 700 + burst_ps); // four bursts of four channels
        BOOST_CHECK(payload.is_response_ok());
        bytes seen(300);
        b.memory.debug(tlm::TLM_READ_COMMAND, hbm(5 * page - 300), seen);
        BOOST_CHECK(seen == bytes(data.begin(), data.begin() + 300));
        b.memory.debug(tlm::TLM_READ_COMMAND, hbm(0), seen);
        BOOST_CHECK(seen == bytes(data.begin() + 300, data.end()));
    };
    simulate({&b.driver});
    BOOST_CHECK_EQUAL(b.mmu.get_statistics().splits, 1u);
}

BOOST_AUTO_TEST_CASE(pages_in_reverse_order_are_accessed_as_the_payload_rules_say) {
    hbm_slice slice("slice", slice_config());
    pe_mmu mmu("mmu", walking(TLA_WALK_FLAT));
    initiator cpu("cpu"), driver("driver");
    mmu.out.bind(slice.in);
    cpu.out.bind(mmu.in);
    driver.out.bind(mmu.control);
    cpu.body = [&] {
        for (std::uint64_t i = 0; i < 4; i++)
            driver.command(0, map_command(TLA_TARGET_PE_MMU, TLA_OP_MAP, {{i * page, (3 - i) * page, page}}));
        data_target target{cpu, 0, 4 * page};
        target.check_everything();
        data_target over_an_edge{cpu, page - 12, 64}; // streaming and enables over two pages
        over_an_edge.check_byte_enables();
    };
    simulate({&cpu, &driver});
    BOOST_CHECK_GT(mmu.get_statistics().splits, 10u);
}

// --- changes ---------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(an_access_before_an_unmap_is_done_goes_where_it_went_and_one_whose_walk_ends_after_it_does_not) {
    pe_mmu::config config = walking(TLA_WALK_FLAT);
    config.cost.fixed_ps = 1'000'000;
    bench b(config);
    tlm::tlm_response_status early = tlm::TLM_INCOMPLETE_RESPONSE, late = tlm::TLM_INCOMPLETE_RESPONSE;
    const auto access = [&](std::uint64_t at_ps, std::uint64_t va, tlm::tlm_response_status &status,
                            std::uint64_t expected_ps) {
        b.cpu.add([&b, at_ps, va, &status, expected_ps] {
            sc_core::wait(from_ps(at_ps) - sc_core::sc_time_stamp());
            bytes data(4);
            tlm::tlm_generic_payload payload;
            payload.set_read();
            payload.set_address(va);
            payload.set_data_ptr(data.data());
            payload.set_data_length(4);
            payload.set_streaming_width(4);
            sc_core::sc_time delay;
            b.cpu.out->b_transport(payload, delay);
            status = payload.get_response_status();
            BOOST_CHECK_EQUAL(local_ps(delay) - at_ps, expected_ps);
        });
    };
    b.driver.body = [&] {
        b.map({{0, hbm(0), 2 * page}}); // done at 1 us
        access(10'500'000, 0, early, 1000 + 400'000 + burst_ps);
        access(10'700'000, page, late, 1000 + 400'000 + 1000 + 400'000); // the walk, and that to find nothing
        sc_core::wait(from_ps(10'000'000) - sc_core::sc_time_stamp());
        BOOST_CHECK_EQUAL(b.map({{0, 0, 2 * page}}, TLA_OP_UNMAP).status, TLA_OK); // until 11 us
    };
    simulate({&b.driver});
    BOOST_CHECK_EQUAL(early, tlm::TLM_OK_RESPONSE);
    BOOST_CHECK_EQUAL(late, tlm::TLM_ADDRESS_ERROR_RESPONSE);
    BOOST_CHECK_EQUAL(b.mmu.get_statistics().repeated, 1u);
    BOOST_CHECK_EQUAL(b.mmu.get_statistics().stale_accesses, 1u);
}

BOOST_AUTO_TEST_CASE(commands_that_use_the_memory_execute_in_turn_and_the_sender_continues) {
    bench b(walking(TLA_WALK_MEMORY), true);
    b.driver.body = [&] {
        const tla_completion block = b.allocator.command(0, alloc_command(TLA_HBM, 16 * page));
        const std::uint64_t start = to_ps(sc_core::sc_time_stamp());
        for (std::uint64_t i = 0; i < 8; i++) {
            sc_core::sc_time delay;
            const mapping m{i << 30, block.value + i * page, page};
            const tla_opcode what = i == 6 ? TLA_OP_INVALIDATE : TLA_OP_MAP;
            BOOST_CHECK_EQUAL(b.driver.post(i * TLA_PORT_BYTES, map_command(TLA_TARGET_PE_MMU, what, {m}), delay),
                              tlm::TLM_OK_RESPONSE);
            sc_core::wait(delay);
        }
        BOOST_CHECK_EQUAL(to_ps(sc_core::sc_time_stamp()), start); // they are posted
        std::uint64_t last = start;
        for (std::uint64_t i = 0; i < 8; i++) {
            sc_core::sc_time delay;
            const tla_completion answer = b.driver.completion(i * TLA_PORT_BYTES, delay);
            BOOST_CHECK_EQUAL(answer.status, TLA_OK);
            BOOST_CHECK_EQUAL(answer.service_ps, local_ps(delay) - last); // since the one before was done
            last = local_ps(delay);
            sc_core::wait(delay);
        }
        BOOST_CHECK_GT(last, start);
    };
    simulate({&b.driver});
    BOOST_CHECK_EQUAL(b.mmu.get_statistics().maps, 7u);
    BOOST_CHECK_EQUAL(b.mmu.get_statistics().invalidates, 1u);
    BOOST_CHECK_EQUAL(b.foreign.most, 1u);
}

BOOST_AUTO_TEST_CASE(a_walk_that_reads_what_the_table_does_not_say_is_a_walk_error) {
    bench b(walking(TLA_WALK_MEMORY), true);
    b.driver.body = [&] {
        const tla_completion block = b.allocator.command(0, alloc_command(TLA_HBM, page));
        b.map({{0x10000, block.value, page}});
        const std::uint64_t used = b.allocators.get_statistics(TLA_HBM).arena.used;
        const auto read = [&] {
            bytes data(16);
            tlm::tlm_generic_payload payload;
            payload.set_read();
            payload.set_address(0x10000);
            payload.set_data_ptr(data.data());
            payload.set_data_length(16);
            payload.set_streaming_width(16);
            sc_core::sc_time delay;
            b.cpu.out->b_transport(payload, delay);
            return payload.get_response_status();
        };
        for (std::uint64_t at = page; at < used; at += page) { // somebody writes over the tables
            bytes &table = b.foreign.pages[hbm(at) / page];
            const bytes kept = table;
            table.assign(page, 0x5a);
            BOOST_CHECK_EQUAL(read(), tlm::TLM_GENERIC_ERROR_RESPONSE);
            table = kept;
        }
        BOOST_CHECK_EQUAL(read(), tlm::TLM_OK_RESPONSE); // nothing was remembered of the failed walks
    };
    simulate({&b.driver});
    BOOST_CHECK_EQUAL(b.mmu.get_statistics().walk_errors, 4u);
    BOOST_CHECK_EQUAL(b.mmu.get_statistics().faults, 4u);
}

// --- order -----------------------------------------------------------------------------------------------------------

namespace {

// A write over two pages, the first of which the TLB knows, and a read of the first one behind it; what the read
// brings.
std::uint8_t read_behind_a_split_write(bool second_is_mapped) {
    pe_mmu::config config = walking(TLA_WALK_FLAT);
    config.unmapped = TLA_UNMAPPED_DEMAND;
    bench b(config);
    std::uint8_t brought = 0;
    b.faults.serve = [](const page_fault &, sc_core::sc_time &delay) {
        delay += sc_core::sc_time(5, sc_core::SC_US);
        return false;
    };
    b.driver.body = [&] {
        b.map({{0x10000, hbm(0), page}});
        if (second_is_mapped) b.map({{0x11000, hbm(0x8000), page}});
        b.cpu.read(0x10000, 8, 10'000'000); // the TLB knows it
        b.cpu.add([&] {
            sc_core::wait(sc_core::sc_time(20, sc_core::SC_US) - sc_core::sc_time_stamp());
            bytes data(64, 0x77);
            tlm::tlm_generic_payload payload;
            payload.set_write();
            payload.set_address(0x11000 - 32);
            payload.set_data_ptr(data.data());
            payload.set_data_length(64);
            payload.set_streaming_width(64);
            sc_core::sc_time delay;
            b.cpu.out->b_transport(payload, delay);
            BOOST_CHECK_EQUAL(payload.is_response_ok(), second_is_mapped);
        });
        b.cpu.add([&] {
            sc_core::wait(sc_core::sc_time(20, sc_core::SC_US) + from_ps(1) - sc_core::sc_time_stamp());
            tlm::tlm_generic_payload payload;
            payload.set_read();
            payload.set_address(0x11000 - 1);
            payload.set_data_ptr(&brought);
            payload.set_data_length(1);
            payload.set_streaming_width(1);
            sc_core::sc_time delay;
            b.cpu.out->b_transport(payload, delay);
            BOOST_CHECK(payload.is_response_ok());
            BOOST_CHECK_LT(local_ps(delay), 24'000'000u); // and the host has not answered
        });
    };
    simulate({&b.driver});
    return brought;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_read_that_hits_does_not_overtake_a_write_of_its_bytes_that_walks) {
    BOOST_CHECK_EQUAL(read_behind_a_split_write(true), 0x77);
}

BOOST_AUTO_TEST_CASE(an_access_does_not_wait_for_one_that_waits_for_the_host) {
    BOOST_CHECK_EQUAL(read_behind_a_split_write(false), 0);
}

// --- page faults -----------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(faults_on_demand_are_served_while_other_accesses_continue) {
    pe_mmu::config config = walking(TLA_WALK_FLAT);
    config.unmapped = TLA_UNMAPPED_DEMAND;
    bench b(config);
    b.faults.serve = [&](const page_fault &fault, sc_core::sc_time &delay) {
        if (fault.va >= 4 * page) return false;
        sc_core::wait(delay + from_ps(45'000'000));
        delay = sc_core::SC_ZERO_TIME;
        b.map({{fault.va / page * page, hbm(2 * (fault.va / page * page)), page}}, TLA_OP_MAP, 0, fault.va / page);
        return true;
    };
    std::uint64_t two_pages = 0, mapped = 0;
    tlm::tlm_response_status nowhere = tlm::TLM_INCOMPLETE_RESPONSE;
    b.driver.body = [&] {
        b.map({{8 * page, hbm(1 << 20), page}}, TLA_OP_MAP, 0, 9);
        b.cpu.add([&] { two_pages = b.cpu.read(0, 2 * page, 1'000'000); }); // two faults, one after the other
        b.cpu.add([&] { mapped = b.cpu.read(8 * page, 256, 2'000'000); });  // goes on meanwhile
        b.cpu.add([&] {
            std::uint64_t end_ps = 0;
            nowhere = b.cpu.answer(4 * page, 4, end_ps);
        });
    };
    simulate({&b.driver});
    BOOST_CHECK_GE(two_pages, 1'000'000u + 90'000'000);
    BOOST_CHECK_EQUAL(mapped, 2'000'000 + 1000 + 400'000 + burst_ps);
    BOOST_CHECK_EQUAL(nowhere, tlm::TLM_ADDRESS_ERROR_RESPONSE);
    BOOST_CHECK_EQUAL(b.mmu.get_statistics().demand_faults, 3u);
    BOOST_CHECK_EQUAL(b.mmu.get_statistics().faults, 1u);
}

BOOST_AUTO_TEST_CASE(an_access_waits_for_the_mapping_that_the_host_has_promised_but_not_for_ever) {
    pe_mmu::config config = walking(TLA_WALK_IDEAL);
    config.unmapped = TLA_UNMAPPED_DEMAND;
    config.cost.fixed_ps = 3'000'000;
    config.fault_patience_ps = 20'000'000;
    bench b(config);
    b.faults.serve = [](const page_fault &, sc_core::sc_time &) { return true; }; // at once; maps nothing itself
    std::uint64_t promised = 0, seen = 0;
    tlm::tlm_response_status never = tlm::TLM_INCOMPLETE_RESPONSE;
    b.cpu.add([&] { promised = b.cpu.read(0, 256, 1'000'000); });
    b.cpu.add([&] { seen = b.cpu.read(page, 256, 12'000'000); }); // the MAP is there, but not visible
    b.cpu.add([&] {
        std::uint64_t end_ps = 0;
        never = b.cpu.answer(4 * page, 4, end_ps);
        BOOST_CHECK_EQUAL(end_ps, 40'000'000u); // the host is asked a second time
    });
    b.driver.body = [&] {
        sc_core::wait(10, sc_core::SC_US);
        b.map({{0, hbm(0), 2 * page}});
    };
    simulate({&b.driver});
    BOOST_CHECK_EQUAL(promised, 13'000'000 + burst_ps);
    BOOST_CHECK_EQUAL(seen, 13'000'000 + 2 * burst_ps); // the same channel
    BOOST_CHECK_EQUAL(never, tlm::TLM_ADDRESS_ERROR_RESPONSE);
    BOOST_CHECK_EQUAL(b.mmu.get_statistics().demand_faults, 4u);
    BOOST_CHECK_EQUAL(b.mmu.get_statistics().faults, 1u);
}
