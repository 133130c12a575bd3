// Tensors that are larger than the memory of their PEs, in a platform: pages leave for the host's memory and return,
// and no byte is lost or seen half.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "apart.hpp"
#include "platform_bench.hpp"

#include <algorithm>
#include <random>

namespace {

using namespace platform_benches;

constexpr std::uint64_t page = 4096, stripe = 1536; // a stripe in three lies in two pages

// The stripes of a PE in the order in which it uses them: every program has its own, side by side with those of others.
struct stripe_order {
    std::uint64_t id, programs, stripes, state = 0;
    std::uint64_t next() {
        state = state * 6364136223846793005u + 1442695040888963407u + id;
        return (state >> 33) % (stripes / programs) * programs + id;
    }
};

// Arguments: a tensor, its stripes, and how many times a PE adds 1 to one of its stripes. Between, it reads a stripe of
// another PE.
const tl_kernel counting_kernel = [](tl_context *tl) {
    const std::uint64_t base = tl_argument(tl, 0), stripes = tl_argument(tl, 1), steps = tl_argument(tl, 2);
    stripe_order order{tl_program_id(tl, TL_ALL), tl_num_programs(tl, TL_ALL), stripes};
    tl_tile ones{}, tile{};
    tla_status status = tl_alloc(tl, 1, stripe / 4, TL_F32, &ones);
    if (!status) status = tl_alloc(tl, 1, stripe / 4, TL_F32, &tile);
    if (!status) status = tl_fill(tl, &ones, 1);
    for (std::uint64_t step = 0; step < steps && !status; step++) {
        const std::uint64_t own = order.next(), foreign = (own + 1) % stripes;
        status = tl_load(tl, &tile, {base + foreign * stripe}, stripe);
        if (!status) status = tl_load(tl, &tile, {base + own * stripe}, stripe);
        if (!status) status = tl_add(tl, &tile, &tile, &ones);
        if (!status) status = tl_store(tl, {base + own * stripe}, stripe, &tile);
    }
    tl_free(tl, &tile);
    tl_free(tl, &ones);
    return status;
};

struct bench : platform_bench {
    explicit bench(const std::vector<std::string> &more) : platform_bench(keys(), more) {}
    static std::vector<std::string> keys() {
        return {"mmu.unmapped=demand",          "mmu.eviction=clock",     "host_memory.capacity=4 MiB",
                "hbm.capacity_per_cube=64 KiB", "mmu.fault_latency=1 us", "dma.chunk=512 B"};
    }
    tensor *make_on_demand(std::uint64_t nbytes) { return make(nbytes, TLA_HBM, {}, spread::demand); }
    runtime::paging_counts counts() { return platform.host().paging_statistics(); }
    void launch(std::uint32_t kernel, const std::vector<std::uint64_t> &arguments) {
        BOOST_CHECK_MESSAGE(!platform.host().launch(kernel, arguments, &error), error.text);
    }
};

bytes random_bytes(std::size_t length, unsigned seed) {
    std::mt19937 random(seed);
    bytes data(length);
    std::generate(data.begin(), data.end(), [&] { return static_cast<std::uint8_t>(random()); });
    return data;
}

struct figures {
    std::uint64_t right, end_ps, evictions, write_backs, fetches, prefetches, faults;
    char error[64];
};

// Two tensors, each twice as large as all slices together: one is copied to the other.
figures copy(const std::vector<std::string> &keys) {
    return apart<figures>("copy", [&](figures &f) {
        bench b(keys);
        host &h = b.platform.host();
        const std::uint64_t pes = b.platform.pes().size(), part = 2 * 64 * 1024 / pes;
        bool right = true;
        b.run([&] {
            tensor *from = b.make_on_demand(pes * part), *to = b.make_on_demand(pes * part);
            const bytes data = random_bytes(from->nbytes, 5);
            b.write(from, data);
            right = h.launch(0, {from->va.value, to->va.value, part}, &b.error) == TLA_OK;
            f.end_ps = sc_core::sc_time_stamp().value();
            right = right && b.read(to) == data && b.read(from) == data && h.cleanup(&b.error) == TLA_OK;
        });
        const runtime::paging_counts c = b.counts();
        right = right && reports().empty() && b.platform.leaks() == 0 && c.resident == 0 &&
                c.fetched_bytes == c.fetches * page && c.written_bytes == c.write_backs * page;
        std::uint64_t faults = 0;
        for (const pe_unit *pe : b.platform.pes())
            faults += pe->mmu.get_statistics().demand_faults;
        f = {right, f.end_ps, c.evictions, c.write_backs, c.fetches, c.prefetches, faults, ""};
        if (!right) std::snprintf(f.error, sizeof f.error, "wrong: %.40s", b.error.text);
    });
}

figures copy_well(std::vector<std::string> keys, const std::vector<std::string> &more) {
    keys.insert(keys.end(), more.begin(), more.end());
    std::string all;
    for (const std::string &key : keys)
        all += key + " ";
    const figures f = copy(keys);
    BOOST_CHECK_MESSAGE(f.error[0] == 0, all << f.error);
    BOOST_CHECK_MESSAGE(f.evictions > 0 && f.write_backs > 0 && f.fetches > 0, all << "no page has left and returned");
    BOOST_CHECK_LE(f.write_backs, f.evictions);
    return f;
}

} // namespace

BOOST_AUTO_TEST_CASE(tensors_of_twice_the_memory_are_copied_with_both_policies_by_1_2_and_8_pes) {
    for (const char *policy : {"mmu.eviction=clock", "mmu.eviction=lru"})
        for (const char *pes : {"system.pes_per_cube=1", "system.pes_per_cube=2", "system.pes_per_cube=8"})
            for (const std::vector<std::string> &walk :
                 {std::vector<std::string>{}, {"mmu.walk=flat", "mmu.tlb_l1.entries=4", "mmu.ranges=2"}})
                copy_well({policy, pes}, walk);
}

BOOST_AUTO_TEST_CASE(tables_in_memory_share_it_with_pages) {
    for (const char *policy : {"mmu.eviction=clock", "mmu.eviction=lru"})
        for (const char *prefetch : {"mmu.prefetch=0", "mmu.prefetch=12", "mmu.prefetch=64"})
            copy_well({policy, "mmu.walk=memory", "system.pes_per_cube=1", prefetch}, {});
}

BOOST_AUTO_TEST_CASE(a_run_with_evictions_takes_the_same_time_for_every_quantum) {
    for (const char *policy : {"mmu.eviction=clock", "mmu.eviction=lru"}) {
        const std::uint64_t end_ps = copy_well({policy, "simulation.quantum=0 ns"}, {}).end_ps;
        for (const char *quantum : {"simulation.quantum=1 ns", "simulation.quantum=777 ns", "simulation.quantum=1 ms"})
            BOOST_CHECK_EQUAL(copy_well({policy, quantum}, {}).end_ps, end_ps);
    }
}

BOOST_AUTO_TEST_CASE(a_fault_brings_the_pages_behind_it) {
    const std::vector<std::string> one_by_one{"dma.outstanding=1", "dma.chunk=4 KiB"};
    const figures alone = copy_well({}, one_by_one), four = copy_well({"mmu.prefetch=3"}, one_by_one);
    BOOST_CHECK_EQUAL(alone.prefetches, 0u);
    BOOST_CHECK_GT(four.prefetches, 0u);
    BOOST_CHECK_LT(four.faults * 2, alone.faults);
    BOOST_CHECK_LT(four.end_ps, alone.end_ps);
}

BOOST_AUTO_TEST_CASE(a_slice_of_one_or_two_pages_is_enough_for_any_transfer) {
    for (const char *slices : {"hbm.capacity_per_cube=8 KiB", "hbm.capacity_per_cube=16 KiB"})
        for (const char *chunk : {"dma.chunk=512 B", "dma.chunk=64 KiB"})
            copy_well({slices, chunk, "mmu.prefetch=2"}, {});
}

// No write is lost, whoever else uses the page.
static void check_counting(const std::vector<std::string> &more) {
    const tl_kernel kernels[] = {counting_kernel};
    tla_config config = platform_bench::load(bench::keys(), more);
    npu platform{"npu", config, {kernels, 1}};
    host &h = platform.host();
    bool finished = false;
    h.main = [&] {
        tla_error error{};
        const std::uint64_t programs = platform.pes().size(), steps = 60;
        const std::uint64_t stripes = 2 * 64 * 1024 / stripe / programs * programs;
        tensor *t = nullptr;
        BOOST_REQUIRE_EQUAL(
            h.create_tensor("t", stripes * stripe / 4, 4, {h.everywhere().pes, spread::demand}, &t, &error), TLA_OK);
        std::vector<float> numbers(t->nbytes / 4);
        std::mt19937 random(11);
        std::generate(numbers.begin(), numbers.end(), [&] { return static_cast<float>(random() % 1000); });
        BOOST_CHECK_EQUAL(h.write_tensor(*t, reinterpret_cast<const std::uint8_t *>(numbers.data()), &error), TLA_OK);
        for (unsigned launches = 0; launches < 2; launches++) { // from the second on, all of the host's writes are old
            BOOST_CHECK_MESSAGE(!h.launch(0, {t->va.value, stripes, steps}, &error), error.text);
            for (std::uint64_t id = 0; id < programs; id++) {
                stripe_order order{id, programs, stripes};
                for (std::uint64_t step = 0; step < steps; step++) {
                    const auto first = static_cast<std::ptrdiff_t>(order.next() * stripe / 4);
                    std::for_each(numbers.begin() + first, numbers.begin() + first + stripe / 4,
                                  [](float &number) { number += 1; });
                }
            }
        }
        std::vector<float> found(numbers.size());
        BOOST_CHECK_EQUAL(h.read_tensor(*t, reinterpret_cast<std::uint8_t *>(found.data()), &error), TLA_OK);
        BOOST_CHECK(found == numbers);
        BOOST_CHECK_EQUAL(h.cleanup(&error), TLA_OK);
        BOOST_CHECK_EQUAL(platform.leaks(), 0u);
        finished = true;
    };
    sc_core::sc_report_handler::set_handler(keep_report);
    sc_core::sc_start();
    BOOST_CHECK(finished && reports().empty());
    BOOST_CHECK_GT(h.paging_statistics().write_backs, 20u);
    BOOST_CHECK_GT(h.paging_statistics().evictions, h.paging_statistics().write_backs);
}

BOOST_AUTO_TEST_CASE(no_write_is_lost_while_two_pes_take_pages_from_each_other) {
    check_counting({"mmu.eviction=clock", "mmu.fault_latency=100 ns"});
}
BOOST_AUTO_TEST_CASE(no_write_is_lost_while_eight_pes_take_pages_from_each_other) {
    check_counting({"mmu.eviction=lru", "system.pes_per_cube=8", "mmu.fault_latency=0 ns"});
}
BOOST_AUTO_TEST_CASE(no_write_is_lost_with_tlbs_and_a_page_in_each_slice) {
    check_counting({"mmu.eviction=clock", "system.pes_per_cube=4", "hbm.capacity_per_cube=16 KiB", "mmu.walk=flat",
                    "mmu.prefetch=1"});
}
BOOST_AUTO_TEST_CASE(no_write_is_lost_with_tables_in_memory) {
    check_counting({"mmu.eviction=lru", "system.pes_per_cube=1", "mmu.walk=memory"});
}

BOOST_AUTO_TEST_CASE(a_clean_page_is_not_written_again) {
    bench b({"system.pes_per_cube=1"});
    b.run_and_clean_up([&] {
        tensor *from = b.make_on_demand(30 * page), *to = b.make_on_demand(page);
        b.write(from, random_bytes(from->nbytes, 3));
        for (unsigned round = 0; round < 3; round++)
            for (std::uint64_t i = 0; i < 30; i++)
                b.launch(0, {from->va.value + i * page, to->va.value, page});
        BOOST_CHECK_GT(b.counts().evictions, 40u);
        BOOST_CHECK_LE(b.counts().write_backs, 10u); // of the one page that is written
    });
}

BOOST_AUTO_TEST_CASE(the_host_reads_and_writes_pages_wherever_they_are) {
    bench b({"system.pes_per_cube=1"});
    b.run_and_clean_up([&] {
        tensor *from = b.make_on_demand(30 * page), *to = b.make_on_demand(30 * page);
        for (unsigned round = 0; round < 3; round++) {
            const bytes data = random_bytes(from->nbytes, round);
            b.write(from, data);
            for (std::uint64_t i = 0; i < 30; i++)
                b.launch(0, {from->va.value + i * page, to->va.value + i * page, page});
            BOOST_CHECK(b.read(to) == data);
            BOOST_CHECK(!from->shards.empty() && !to->shards.empty());
        }
    });
}

BOOST_AUTO_TEST_CASE(a_tensor_that_is_freed_leaves_its_places_to_others) {
    bench b({"system.pes_per_cube=1", "host_memory.capacity=160 KiB"});
    b.run_and_clean_up([&] {
        for (unsigned round = 0; round < 3; round++) {
            tensor *from = b.make_on_demand(20 * page), *to = b.make_on_demand(20 * page);
            const bytes data = random_bytes(from->nbytes, round);
            b.write(from, data);
            b.launch(0, {from->va.value, to->va.value, 20 * page});
            BOOST_CHECK(b.read(to) == data);
            BOOST_CHECK_EQUAL(b.platform.host().free_tensor(from, &b.error), TLA_OK);
            BOOST_CHECK_EQUAL(b.platform.host().free_tensor(to, &b.error), TLA_OK);
        }
    });
}

BOOST_AUTO_TEST_CASE(a_tensor_needs_a_place_in_the_hosts_memory) {
    bench b({"host_memory.capacity=64 KiB"});
    b.run_and_clean_up([&] {
        BOOST_CHECK(!b.make_on_demand(17 * page));
        BOOST_CHECK_EQUAL(b.status, TLA_EXHAUSTED);
        BOOST_CHECK(std::string(b.error.text).find("host memory") != std::string::npos);
        BOOST_CHECK(std::string(b.error.text).find("set host_memory.capacity") != std::string::npos);
        BOOST_CHECK(b.make_on_demand(16 * page));
    });
}

BOOST_AUTO_TEST_CASE(a_memory_that_others_fill_fails_the_access) {
    bench b({"system.pes_per_cube=1"});
    b.run_and_clean_up([&] {
        BOOST_REQUIRE(b.make(16 * page, TLA_HBM));
        tensor *from = b.make_on_demand(page), *to = b.make_on_demand(page);
        b.write(from, random_bytes(page, 1));
        BOOST_CHECK_NE(b.platform.host().launch(0, {from->va.value, to->va.value, page}, &b.error), TLA_OK);
        const std::string why = b.platform.host().why_no_page({0, 0, 0}, from->va.value, from->va.value + page);
        BOOST_CHECK_MESSAGE(why.find("HBM of sip0.cube0.pe0") != std::string::npos, why);
    });
}

// A copy of a tensor of twice the memory, which a reset may end at any time.
static tla_status try_copy(bench &b, const bytes &data) {
    host &h = b.platform.host();
    tensor *from = nullptr, *to = nullptr;
    for (tensor **t : {&from, &to})
        if (const tla_status status =
                h.create_tensor("t", data.size(), 1, {h.everywhere().pes, spread::demand}, t, &b.error))
            return status;
    if (const tla_status status = h.write_tensor(*from, data.data(), &b.error)) return status;
    const std::uint64_t part = data.size() / b.platform.pes().size();
    if (const tla_status status = h.launch(0, {from->va.value, to->va.value, part}, &b.error)) return status;
    bytes found(data.size());
    if (const tla_status status = h.read_tensor(*to, found.data(), &b.error)) return status;
    BOOST_CHECK(found == data);
    return h.cleanup(&b.error);
}

static void check_resets(const std::vector<std::string> &keys) {
    bench b(keys);
    std::mt19937_64 random(17);
    unsigned ended = 0;
    b.run([&] {
        const bytes data = random_bytes(128 * 1024, 9);
        const std::uint64_t begin_ps = sc_core::sc_time_stamp().value();
        BOOST_REQUIRE_EQUAL(try_copy(b, data), TLA_OK);
        const std::uint64_t whole_ps = sc_core::sc_time_stamp().value() - begin_ps;
        for (unsigned i = 0; i < 40; i++) {
            bool is_over = false;
            sc_core::sc_event over;
            sc_core::sc_spawn([&] {
                sc_core::wait(from_ps(random() % whole_ps));
                b.platform.reset();
                is_over = true;
                over.notify(sc_core::SC_ZERO_TIME);
            });
            const tla_status status = try_copy(b, data);
            BOOST_CHECK_MESSAGE(status == TLA_OK || status == TLA_RESET, tla_status_name(status)
                                                                             << " " << b.error.text);
            ended += status == TLA_RESET;
            while (!is_over)
                sc_core::wait(over);
            b.platform.wait_for_reset();
            BOOST_CHECK_EQUAL(b.platform.leaks(), 0u);
            BOOST_CHECK_EQUAL(b.counts().resident, 0u);
            BOOST_CHECK_MESSAGE(try_copy(b, data) == TLA_OK, b.error.text);
            BOOST_CHECK_EQUAL(b.platform.leaks(), 0u);
        }
    });
    BOOST_CHECK_GT(ended, 20u);
}

BOOST_AUTO_TEST_CASE(a_reset_ends_evictions_at_any_step) {
    check_resets({"mmu.prefetch=1"});
}
BOOST_AUTO_TEST_CASE(a_reset_ends_evictions_with_tables_in_memory_at_any_step) {
    check_resets({"mmu.walk=memory", "mmu.eviction=lru", "system.pes_per_cube=1", "hbm.capacity_per_cube=64 KiB"});
}

// A byte of the HBM cannot be read: the page that has it must be copied and stays, and the access that needs its place
// fails.
BOOST_AUTO_TEST_CASE(a_page_stays_in_memory_if_its_copy_fails) {
    bench b({"system.pes_per_cube=1", "faults.plan=uncorrectable address=0x1000 pe=0"});
    b.run_and_clean_up([&] {
        tensor *from = b.make_on_demand(4 * page), *to = b.make_on_demand(30 * page);
        b.write(from, random_bytes(from->nbytes, 3));
        tla_status status = TLA_OK;
        for (std::uint64_t i = 0; i < 30 && !status; i++)
            status = b.platform.host().launch(0, {from->va.value, to->va.value + i * page, 512}, &b.error);
        BOOST_CHECK_NE(status, TLA_OK);
        BOOST_CHECK_EQUAL(to->shards.size() + from->shards.size(), 16u);
        const std::string why = b.platform.host().why_no_page({0, 0, 0}, from->va.value, to->va.value + to->nbytes);
        BOOST_CHECK_MESSAGE(why.find("copy of a page to the host's memory") != std::string::npos, why);
    });
}

// While a page returns, another PE reads its first bytes again and again.
BOOST_AUTO_TEST_CASE(a_page_that_returns_is_not_seen_before_its_bytes) {
    bench b({"host_memory.channel_bandwidth=1 GB/s", "host.dma_chunk=64 B"});
    b.run_and_clean_up([&] {
        constexpr unsigned reads = 300;
        tensor *t = b.make_on_demand(page);
        const bytes data = random_bytes(page, 21);
        b.write(t, data);
        tla_paddr tiles{};
        BOOST_REQUIRE_EQUAL(tla_paddr_pe_tcm(0, 0, 1, 0, &tiles), TLA_OK);
        const auto read = [&](std::size_t pe, std::uint64_t tile) {
            sc_core::sc_time delay;
            const pe_dma::request what{pe_dma::direction::read, {t->va.value}, {tile}, 1, 8, 8};
            BOOST_CHECK_EQUAL(b.platform.pes()[pe]->dma.transfer(what, delay), TLA_OK);
            sc_core::wait(delay);
        };
        unsigned left = reads;
        sc_core::sc_event over;
        for (unsigned i = 0; i < reads; i++)
            sc_core::sc_spawn([&, i] {
                sc_core::wait(100.0 * i, sc_core::SC_NS);
                read(1, tiles.value + i * 8);
                if (--left == 0) over.notify();
            });
        tla_paddr other{};
        BOOST_REQUIRE_EQUAL(tla_paddr_pe_tcm(0, 0, 0, 0, &other), TLA_OK);
        read(0, other.value);
        BOOST_CHECK_GT(left, reads / 4); // others have not begun when it is over
        while (left > 0)
            sc_core::wait(over);
        for (unsigned i = 0; i < reads; i++)
            BOOST_CHECK(b.look(tiles.value + i * 8, 8) == bytes(data.begin(), data.begin() + 8));
    });
}
