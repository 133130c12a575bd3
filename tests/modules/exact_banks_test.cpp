// Banks behind modules in the exact style, beside the same accesses offered to the timing core alone (traffic.h).
#include "initiator.hpp"
#include "tlmalloc/config.h"
#include "tlmalloc/modules/hbm_slice.hpp"
#include "tlmalloc/modules/memory_controller.hpp"
#include "tlmalloc/traffic.h"

#include <memory>
#include <random>

using namespace tlmalloc;

namespace {

tla_hbm_config profile(const char *name) {
    tla_hbm_config timing{};
    BOOST_REQUIRE_EQUAL(tla_timing_named(name, &timing), TLA_OK);
    return timing;
}

// One pseudo-channel (or the two that share a row bus) as a slice behind a controller, and threads that access it.
struct platform {
    platform(const tla_hbm_config &timing, unsigned initiators) {
        hbm_slice::config s;
        s.capacity = std::uint64_t{1} << 28;
        s.pseudo_channels = timing.row_bus_sharers;
        s.timing = timing;
        s.style = time_style::exact;
        slice = std::make_unique<hbm_slice>("slice", s);
        memory_controller::config c;
        c.memory.hbm_slice_bytes = s.capacity;
        c.memory.tcm_bytes = c.memory.tcm_reserved_bytes = 0;
        c.style = time_style::exact;
        controller = std::make_unique<memory_controller>("controller", c);
        controller->slice.bind(slice->in);
        for (unsigned i = 0; i < initiators; i++) {
            masters.push_back(std::make_unique<initiator>(("initiator" + std::to_string(i)).c_str()));
            masters.back()->out.bind(controller->in);
        }
        idle.out.bind(controller->control);
        tla_paddr pa{};
        tla_paddr_pe_hbm(0, 0, 0, 0, s.capacity, &pa);
        base = pa.value;
    }

    std::unique_ptr<hbm_slice> slice;
    std::unique_ptr<memory_controller> controller;
    std::vector<std::unique_ptr<initiator>> masters;
    initiator idle{"idle"};
    std::uint64_t base = 0;
};

std::uint64_t transport(initiator &master, tla_hbm_op op, std::uint64_t address, std::uint32_t nbytes,
                        sc_core::sc_time &delay) {
    static std::uint8_t bytes[4096];
    tlm::tlm_generic_payload payload;
    payload.set_command(op == TLA_HBM_READ ? tlm::TLM_READ_COMMAND : tlm::TLM_WRITE_COMMAND);
    payload.set_address(address);
    payload.set_data_ptr(bytes);
    payload.set_data_length(nbytes);
    payload.set_streaming_width(nbytes);
    master.out->b_transport(payload, delay);
    BOOST_REQUIRE(payload.is_response_ok());
    return local_ps(delay);
}

// Accesses at random times (a burst on average every `gap_ps`), random sizes and addresses in `span`.
std::vector<tla_traffic_access> random_accesses(unsigned seed, unsigned count, std::uint64_t gap_ps, std::uint64_t span,
                                                std::uint64_t burst) {
    BOOST_TEST_MESSAGE("seed " << seed);
    std::mt19937_64 random(seed);
    std::vector<tla_traffic_access> accesses;
    std::uint64_t time = 1'000'000;
    for (unsigned i = 0; i < count; i++) {
        const auto nbytes = static_cast<std::uint32_t>(burst * (random() % 5 ? 1 : 1 + random() % 16));
        time += 1 + random() % (2 * gap_ps);
        accesses.push_back(
            {time, random() % (span / burst - 16) * burst, nbytes, random() % 4 ? TLA_HBM_READ : TLA_HBM_WRITE});
    }
    return accesses;
}

// The read latencies of accesses that arrive at given times, through the modules and on the timing core.
void arrivals_give_the_same_completions(const char *name, unsigned seed, std::uint64_t gap_ps, std::uint64_t span) {
    const tla_hbm_config timing = profile(name);
    std::vector<tla_traffic_access> accesses = random_accesses(seed, 2000, gap_ps, span, timing.burst_bytes);
    platform p(timing, 200);
    std::vector<std::uint64_t> ours;
    for (unsigned m = 0; m < p.masters.size(); m++) // each takes the next access that nobody has taken
        p.masters[m]->body = [&, m] {
            static std::size_t next = 0;
            while (next < accesses.size()) {
                const tla_traffic_access &a = accesses[next++];
                sc_core::sc_time delay = from_ps(a.at_ps) - sc_core::sc_time_stamp();
                BOOST_REQUIRE(from_ps(a.at_ps) >= sc_core::sc_time_stamp()); // there are enough initiators
                const std::uint64_t end = transport(*p.masters[m], a.op, p.base + a.address, a.nbytes, delay);
                if (a.op == TLA_HBM_READ) ours.push_back(end - a.at_ps);
            }
        };
    sc_core::sc_start();
    tla_traffic traffic{accesses.data(), accesses.size(), true, timing.window};
    tla_traffic_result result{};
    std::size_t bad = 0;
    tla_error error{};
    BOOST_REQUIRE_EQUAL(tla_traffic_run(&timing, &traffic, &result, &bad, &error), TLA_OK);
    std::vector<std::uint64_t> theirs(result.latencies_ps, result.latencies_ps + result.latency_count);
    std::sort(ours.begin(), ours.end());
    std::sort(theirs.begin(), theirs.end());
    BOOST_TEST(ours == theirs, boost::test_tools::per_element());
    const tla_hbm_stats stats = result.stats;
    BOOST_CHECK_EQUAL(p.slice->get_statistics().row_hits, stats.row_hits);
    BOOST_CHECK_EQUAL(p.slice->get_statistics().row_conflicts, stats.row_conflicts);
    tla_traffic_result_free(&result);
}

// Bandwidth of `outstanding` reads that are always under way, in bytes a second.
void keeps_the_bandwidth(const char *name, tla_traffic_pattern pattern, std::uint32_t nbytes) {
    const tla_hbm_config timing = profile(name);
    const unsigned outstanding = 32;
    tla_traffic_geometry geometry{};
    geometry.burst_bytes = nbytes;
    geometry.row_bytes = timing.row_bytes;
    geometry.conflict_bytes = timing.row_bytes * timing.banks_per_group * timing.bank_groups;
    geometry.span_bytes = std::uint64_t{1} << 26;
    geometry.peak_bytes_per_s = 1;
    tla_traffic traffic{};
    BOOST_REQUIRE_EQUAL(tla_traffic_generate(pattern, 7, 20'000, outstanding, &geometry, &traffic), TLA_OK);
    platform p(timing, outstanding);
    std::uint64_t end_ps = 0;
    for (unsigned m = 0; m < outstanding; m++)
        p.masters[m]->body = [&, m] {
            static std::size_t next = 0;
            while (next < traffic.count) {
                const tla_traffic_access &a = traffic.accesses[next++];
                sc_core::sc_time delay;
                end_ps = std::max(end_ps, transport(*p.masters[m], TLA_HBM_READ, p.base + a.address, nbytes, delay));
            }
        };
    sc_core::sc_start();
    for (std::size_t i = 0; i < traffic.count; i++)
        traffic.accesses[i].nbytes = nbytes;
    traffic.window = outstanding * nbytes / timing.burst_bytes; // counts bursts
    tla_traffic_result result{};
    std::size_t bad = 0;
    tla_error error{};
    BOOST_REQUIRE_EQUAL(tla_traffic_run(&timing, &traffic, &result, &bad, &error), TLA_OK);
    BOOST_TEST_MESSAGE(name << " " << tla_traffic_pattern_name(pattern) << " " << nbytes << " bytes: " << end_ps
                            << " and " << result.end_ps);
    BOOST_CHECK_CLOSE(static_cast<double>(end_ps), static_cast<double>(result.end_ps), 3.0);
    tla_traffic_result_free(&result);
    tla_traffic_free(&traffic);
}

} // namespace

BOOST_AUTO_TEST_CASE(sparse_arrivals_at_hbm2_end_when_the_timing_core_says) {
    arrivals_give_the_same_completions("hbm2", 1, 40'000, 1 << 26);
}
BOOST_AUTO_TEST_CASE(dense_arrivals_at_hbm2_end_when_the_timing_core_says) {
    arrivals_give_the_same_completions("hbm2", 2, 15'000, 1 << 24);
}
BOOST_AUTO_TEST_CASE(dense_arrivals_at_hbm3_end_when_the_timing_core_says) {
    arrivals_give_the_same_completions("hbm3", 3, 12'000, 1 << 24);
}
BOOST_AUTO_TEST_CASE(arrivals_in_few_rows_of_hbm3_end_when_the_timing_core_says) {
    arrivals_give_the_same_completions("hbm3", 4, 5'000, 1 << 15);
}
BOOST_AUTO_TEST_CASE(arrivals_at_kernbenchs_channel_end_when_the_timing_core_says) {
    arrivals_give_the_same_completions("kernbench", 5, 20'000, 1 << 20);
}
BOOST_AUTO_TEST_CASE(random_reads_of_hbm2_keep_their_bandwidth) {
    keeps_the_bandwidth("hbm2", TLA_TRAFFIC_RAND_RD1, 32);
}
BOOST_AUTO_TEST_CASE(random_reads_of_hbm3_keep_their_bandwidth) {
    keeps_the_bandwidth("hbm3", TLA_TRAFFIC_RAND_RD1, 64);
}
BOOST_AUTO_TEST_CASE(streams_of_hbm2_keep_their_bandwidth) {
    keeps_the_bandwidth("hbm2", TLA_TRAFFIC_SEQ_RD, 64);
}
BOOST_AUTO_TEST_CASE(streams_of_hbm3_keep_their_bandwidth) {
    keeps_the_bandwidth("hbm3", TLA_TRAFFIC_SEQ_RD, 32);
}
