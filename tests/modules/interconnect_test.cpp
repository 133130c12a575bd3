// interconnect: the way to a target, the time of its links, and addresses that lead nowhere.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "at_once.hpp"
#include "bare.hpp"
#include "data_target.hpp"
#include "tests/unit/seeded_random.hpp"
#include "tlmalloc/modules/hbm_slice.hpp"
#include "tlmalloc/modules/interconnect.hpp"

using namespace tlmalloc;
using namespace data_targets;

namespace {

// Two initiators at node 0 and 1, a router 2, two memories behind it at 3 and 4. Memory at 3 sees offsets; memory at 4
// sees the address as it is. Links: initiator <-> router 2 ns at 64 GB/s, router <-> memory 3 ns at 16 GB/s.
interconnect::config star() {
    interconnect::config config = bare<interconnect>();
    config.nodes.resize(6); // 5 is an island
    const auto link = [&](std::uint32_t a, std::uint32_t b, std::uint64_t latency, std::uint64_t bandwidth) {
        config.links.push_back({a, b, latency, bandwidth, 0});
        config.links.push_back({b, a, latency, bandwidth, 0});
    };
    link(0, 2, 2000, 64'000'000'000);
    link(1, 2, 2000, 64'000'000'000);
    link(2, 3, 3000, 16'000'000'000);
    link(2, 4, 3000, 16'000'000'000);
    config.sources = {0, 1};
    config.targets = {3, 4, 5};
    config.windows = {{0x10000, 0x4000, 0, true}, {0x4000, 0x4000, 1, false}, {0x80000, 0x1000, 2, true}};
    return config;
}

// Memories that take no time, so that all of it is the fabric's.
hbm_slice::config memory_config(std::uint64_t capacity) {
    hbm_slice::config config = bare<hbm_slice>();
    config.capacity = capacity;
    config.pseudo_channel_bandwidth = std::uint64_t{1} << 62;
    config.burst = 4096;
    return config;
}

struct bench {
    explicit bench(const interconnect::config &config = star()) : fabric("fabric", config) {
        one.out.bind(fabric.in);
        two.out.bind(fabric.in);
        fabric.out.bind(first.in);
        fabric.out.bind(second.in);
        fabric.out.bind(island.in);
    }
    void run(std::function<void()> body) {
        one.body = std::move(body);
        simulate({&one, &two});
    }
    interconnect fabric;
    hbm_slice first{"first", memory_config(0x4000)}, second{"second", memory_config(0x8000)},
        island{"island", memory_config(0x1000)};
    initiator one{"one"}, two{"two"};
};

const std::uint64_t memory_ps = 1; // one burst of the memories above, rounded up

// The narrow link of the first initiator is in front of one that the second initiator occupies for long.
interconnect::config narrow_first(tla_transport transport) {
    interconnect::config config = star();
    config.transport = transport;
    config.links[0].bandwidth_bytes_per_s = 1'000'000'000;
    return config;
}

// Accesses of one initiator to few bytes, many of them in flight, beside long writes of another one: the memory and
// all reads are as if each access had ended before the next began.
void check_order(tla_transport transport) {
    bench b(narrow_first(transport));
    constexpr std::uint64_t window = 40;
    seeded_random random(20'261'128);
    bytes expected(window);
    b.run([&] {
        b.one.write(0x10000, expected);
        for (unsigned round = 0; round < 200; round++) {
            std::vector<std::function<void()>> calls;
            std::uint64_t start_ps = 0;
            for (unsigned i = 0; i < 10; i++, start_ps += random.between(0, 9) * 500) {
                const std::uint64_t first = random.between(0, window - 1), length = random.between(1, window - first);
                const bool is_write = random.one_in(2);
                const auto at = expected.begin() + static_cast<std::ptrdiff_t>(first);
                if (is_write) std::fill_n(at, length, static_cast<std::uint8_t>(random.between(0, 255)));
                const bytes data(at, at + static_cast<std::ptrdiff_t>(length));
                calls.emplace_back([&b, is_write, first, data, start_ps] {
                    sc_core::sc_time delay = from_ps(start_ps);
                    bytes found = data;
                    if (is_write)
                        b.one.write(0x10000 + first, data, delay);
                    else
                        b.one.read(0x10000 + first, found, delay);
                    BOOST_CHECK(found == data);
                    sc_core::wait(delay);
                });
            }
            for (std::uint64_t i = random.between(0, 3); i > 0; i--)
                calls.emplace_back([&b, start = random.between(0, 30'000), length = random.between(1, 2000)] {
                    sc_core::sc_time delay = from_ps(start);
                    b.two.write(0x11000, bytes(length), delay);
                    sc_core::wait(delay);
                });
            at_once(calls);
            BOOST_REQUIRE_MESSAGE(b.one.read(0x10000, window) == expected, "other bytes after round " << round);
        }
    });
}

} // namespace

BOOST_AUTO_TEST_CASE(a_target_behind_a_fabric_is_accessed_as_the_payload_rules_say) {
    bench b;
    b.run([&] {
        data_target{b.one, 0x10000, 0x4000}.check_everything();
        data_target{b.one, 0x4000, 0x4000}.check_everything();
    });
}

BOOST_AUTO_TEST_CASE(a_relative_window_shows_offsets_and_another_the_address) {
    bench b;
    b.run([&] {
        b.one.write(0x10010, {1, 2, 3});
        b.one.write(0x4020, {4, 5, 6});
        bytes data(3);
        tlm::tlm_generic_payload payload;
        payload.set_read();
        payload.set_data_ptr(data.data());
        payload.set_data_length(3);
        payload.set_address(0x10);
        BOOST_CHECK_EQUAL(b.fabric.out[0]->transport_dbg(payload), 3u);
        BOOST_CHECK(data == (bytes{1, 2, 3}));
        payload.set_address(0x4020);
        BOOST_CHECK_EQUAL(b.fabric.out[1]->transport_dbg(payload), 3u);
        BOOST_CHECK(data == (bytes{4, 5, 6}));
    });
}

BOOST_AUTO_TEST_CASE(data_take_a_flit_a_hop_and_the_slowest_link_and_the_rest_takes_latency_alone) {
    bench b;
    b.run([&] {
        const std::uint64_t there = 5000, bytes_ps = 4000 + 64'000; // a flit of 256 B at 64 GB/s, 1024 B at 16 GB/s
        bytes data(1024);
        sc_core::sc_time delay(1, sc_core::SC_US);
        BOOST_CHECK_EQUAL(b.one.write(0x10000, data, delay), tlm::TLM_OK_RESPONSE);
        BOOST_CHECK_EQUAL(local_ps(delay),
                          1'000'000 + there + bytes_ps + memory_ps + there); // data goes, an ack returns
        set_local_ps(delay, 2'000'000);
        BOOST_CHECK_EQUAL(b.one.read(0x10000, data, delay), tlm::TLM_OK_RESPONSE);
        BOOST_CHECK_EQUAL(local_ps(delay), 2'000'000 + there + memory_ps + there + bytes_ps); // data returns
    });
}

// The nearest way back is another one: answers do not take it, and DMI does not promise it.
BOOST_AUTO_TEST_CASE(dmi_has_the_latency_of_answers_that_return_as_their_requests_came) {
    interconnect::config config = bare<interconnect>();
    config.nodes.resize(3);
    config.links = {{0, 1, 10'000, 64'000'000'000, 1}, {1, 0, 10'000, 64'000'000'000, 1},
                    {1, 2, 10'000, 64'000'000'000, 1}, {2, 1, 10'000, 64'000'000'000, 1},
                    {0, 2, 1'000, 64'000'000'000, 5},  {2, 0, 1'000, 64'000'000'000, 1}};
    config.sources = {0};
    config.targets = {2};
    config.windows = {{0, 0x4000, 0, true}};
    interconnect fabric{"fabric", config};
    hbm_slice memory{"memory", memory_config(0x4000)};
    initiator one{"one"};
    one.out.bind(fabric.in);
    fabric.out.bind(memory.in);
    one.body = [&] {
        bytes byte(1);
        sc_core::sc_time delay;
        BOOST_CHECK_EQUAL(one.read(0, byte, delay), tlm::TLM_OK_RESPONSE);
        const std::uint64_t on_links = 2 * tla_transfer_ps(1, 64'000'000'000);
        BOOST_CHECK_EQUAL(local_ps(delay), 40'000 + on_links + memory_ps);
        tlm::tlm_generic_payload payload;
        payload.set_command(tlm::TLM_READ_COMMAND);
        payload.set_address(0);
        tlm::tlm_dmi dmi;
        BOOST_CHECK(one.out->get_direct_mem_ptr(payload, dmi));
        BOOST_CHECK_EQUAL(to_ps(dmi.get_read_latency()), 40'000 + memory_ps);
    };
    simulate({&one});
}

BOOST_AUTO_TEST_CASE(two_initiators_share_a_link) {
    bench b;
    const std::uint64_t path = 10'000, flit = 4000, on_link = 64'000; // of four flits
    std::uint64_t ends[2];
    const auto write = [&](initiator &from, std::uint64_t address, std::uint64_t &end) {
        return [&from, address, &end] {
            sc_core::sc_time delay;
            BOOST_CHECK_EQUAL(from.write(address, bytes(1024), delay), tlm::TLM_OK_RESPONSE);
            end = local_ps(delay);
        };
    };
    b.one.body = write(b.one, 0x10000, ends[0]);
    b.two.body = write(b.two, 0x12000, ends[1]);
    simulate({&b.one, &b.two});
    std::sort(ends, ends + 2);
    // The link to the memory carries flits of both by turns: the last but one is the last of one of the two.
    BOOST_CHECK_EQUAL(ends[0], path + flit + 2 * on_link - on_link / 4 + memory_ps);
    BOOST_CHECK_EQUAL(ends[1], path + flit + 2 * on_link + memory_ps);
}

BOOST_AUTO_TEST_CASE(initiators_with_links_of_their_own_do_not_wait_for_each_other) {
    bench b;
    for (auto [from, address] : {std::pair<initiator *, std::uint64_t>{&b.one, 0x10000}, {&b.two, 0x4000}})
        from->body = [from = from, address = address] {
            sc_core::sc_time delay;
            BOOST_CHECK_EQUAL(from->write(address, bytes(1024), delay), tlm::TLM_OK_RESPONSE);
            BOOST_CHECK_EQUAL(local_ps(delay), 10'000 + 4000 + 64'000 + memory_ps);
        };
    simulate({&b.one, &b.two});
}

BOOST_AUTO_TEST_CASE(a_short_write_stays_behind_a_long_one_of_its_bytes_where_data_occupy_links_once) {
    bench b(narrow_first(TLA_TRANSPORT_ONCE));
    std::uint64_t ends[4] = {};
    const auto write = [&](initiator &from, unsigned number, std::uint64_t address, const bytes &data) {
        return [&ends, &from, number, address, data] {
            sc_core::sc_time delay = from_ps(number == 0 ? 0 : 1000);
            from.write(address, data, delay);
            ends[number] = local_ps(delay);
        };
    };
    b.run([&] {
        at_once({write(b.two, 0, 0x11000, bytes(1024)), write(b.one, 1, 0x10000, bytes(32, 1)),
                 write(b.one, 2, 0x10008, bytes(1, 2)), write(b.one, 3, 0x10100, bytes(1, 3))});
        bytes expected(32, 1);
        expected[8] = 2;
        BOOST_CHECK(b.one.read(0x10000, 32) == expected);
    });
    // The memory's link carries the 1024 B until 66 ns. The 32 B begin then, and take 3 ns and 32 ns of the narrow
    // link.
    BOOST_CHECK_EQUAL(ends[1], 66'000 + 3000 + 32'000 + memory_ps + 5000);
    BOOST_CHECK_GE(ends[2], ends[1]);
    BOOST_CHECK_GE(ends[3], ends[1]); // on the same path, though of other bytes
}

BOOST_AUTO_TEST_CASE(accesses_of_an_initiator_to_the_same_bytes_keep_their_order_flit_by_flit) {
    check_order(TLA_TRANSPORT_PER_FLIT);
}

BOOST_AUTO_TEST_CASE(accesses_of_an_initiator_to_the_same_bytes_keep_their_order_where_data_occupy_links_once) {
    check_order(TLA_TRANSPORT_ONCE);
}

BOOST_AUTO_TEST_CASE(messages_follow_each_other_as_the_slowest_link_or_node_lets_them) {
    interconnect::config config = star();
    std::reverse(config.links.begin(), config.links.end()); // the slowest ones stand first
    const interconnect links("links", config);
    BOOST_CHECK_EQUAL(links.spacing_ps(1024), 64'000u);
    config.nodes[2].overhead_ps = 70'000;
    const interconnect nodes("nodes", config);
    BOOST_CHECK_EQUAL(nodes.spacing_ps(1024), 70'000u);
}

BOOST_AUTO_TEST_CASE(an_account_names_the_link_for_which_most_was_waited_though_another_follows) {
    bench b;
    const auto write = [](initiator &from, std::uint64_t address, std::size_t length) {
        return [&from, address, length] {
            sc_core::sc_time delay;
            BOOST_CHECK_EQUAL(from.write(address, bytes(length), delay), tlm::TLM_OK_RESPONSE);
        };
    };
    const auto waited_ps = [&](std::size_t link) { return tla_fabric_link_load(b.fabric.fabric(), link).waited_ps; };
    b.run([&] {
        at_once({write(b.one, 0x4000, 1024), write(b.one, 0x5000, 1024)}); // for the link to the router
        sc_core::wait(1, sc_core::SC_US);
        at_once({write(b.one, 0x10000, 16), write(b.two, 0x12000, 16)}); // for the link to the first memory
        sc_core::wait(1, sc_core::SC_US);
        BOOST_CHECK_GT(waited_ps(0), waited_ps(4));
        BOOST_CHECK_GT(waited_ps(4), 0u);
        bytes data(16);
        tla_access_times times{};
        transaction_part part;
        part.times = &times;
        tlm::tlm_generic_payload payload;
        payload.set_write();
        payload.set_address(0x10000);
        payload.set_data_ptr(data.data());
        payload.set_data_length(16);
        payload.set_streaming_width(16);
        payload.set_extension(&part);
        times.link = 99;
        sc_core::sc_time delay;
        BOOST_CHECK_EQUAL(b.one.send(payload, delay), tlm::TLM_OK_RESPONSE);
        payload.clear_extension(&part);
        BOOST_CHECK_EQUAL(times.link, 0u);
    });
}

BOOST_AUTO_TEST_CASE(an_address_without_a_target_is_an_error_in_no_time) {
    bench b;
    b.run([&] {
        sc_core::sc_time delay(7, sc_core::SC_NS);
        bytes data(8);
        for (std::uint64_t address : {std::uint64_t{0}, std::uint64_t{0x3fff}, std::uint64_t{0x8000},
                                      std::uint64_t{0x7ffc} /* leaves its window */, std::uint64_t{0x14000},
                                      std::uint64_t{0x80000} /* no path */, UINT64_MAX})
            BOOST_CHECK_EQUAL(b.one.read(address, data, delay), tlm::TLM_ADDRESS_ERROR_RESPONSE);
        BOOST_CHECK_EQUAL(local_ps(delay), 7000u);
    });
    BOOST_CHECK_EQUAL(b.fabric.errors(), 7u);
    BOOST_CHECK_EQUAL(b.island.get_statistics().reads, 0u);
}

BOOST_AUTO_TEST_CASE(debug_access_occupies_no_link) {
    bench b;
    b.run([&] {
        bytes data(0x1000);
        BOOST_CHECK_EQUAL(b.one.debug(tlm::TLM_WRITE_COMMAND, 0x10000, data), 0x1000u);
        sc_core::sc_time delay;
        BOOST_CHECK_EQUAL(b.one.write(0x10000, bytes(1024), delay), tlm::TLM_OK_RESPONSE);
        BOOST_CHECK_EQUAL(local_ps(delay), 10'000 + 4000 + 64'000 + memory_ps);
    });
    BOOST_CHECK_EQUAL(b.fabric.errors(), 0u);
}

// --- building --------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(overlapping_windows_cannot_be_built) {
    interconnect::config config = star();
    config.windows.push_back({0x7fff, 2, 1, true});
    check_refused([&] { interconnect fabric("fabric", config); }, "/tlmalloc/interconnect/config: two windows overlap");
}

BOOST_AUTO_TEST_CASE(a_window_of_no_target_cannot_be_built) {
    interconnect::config config = star();
    config.windows.push_back({0x100000, 16, 3, true});
    check_refused([&] { interconnect fabric("fabric", config); },
                  "/tlmalloc/interconnect/config: a window names an unknown target");
}

BOOST_AUTO_TEST_CASE(a_link_to_no_node_cannot_be_built) {
    interconnect::config config = star();
    config.links.push_back({0, 6, 0, 1, 0});
    check_refused([&] { interconnect fabric("fabric", config); },
                  "/tlmalloc/interconnect/config: links must name existing nodes and have a bandwidth, and flits must "
                  "have at least 1 byte");
}

BOOST_AUTO_TEST_CASE(more_initiators_than_sources_are_an_error_before_time_begins) {
    bench b;
    initiator three("three");
    three.out.bind(b.fabric.in);
    check_refused(
        [] { sc_core::sc_start(); },
        "/tlmalloc/interconnect/config: 3 initiators and 3 targets are bound, but the configuration has 2 and 3");
}
