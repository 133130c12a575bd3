// Banks behind modules, beside the same accesses offered to the timing core alone (traffic.h).
#include "bare.hpp"
#include "test_initiator.hpp"
#include "tlmalloc/config.h"
#include "tlmalloc/modules/hbm_slice.hpp"
#include "tlmalloc/modules/memory_controller.hpp"
#include "traffic/traffic.h"

#include <memory>
#include <random>

using namespace tlmalloc;
using namespace test_initiator;

namespace {

tla_hbm_config profile(const char *name) {
    tla_hbm_config timing{};
    BOOST_REQUIRE_EQUAL(tla_timing_named(name, &timing), TLA_OK);
    return timing;
}

// One pseudo-channel (or the two that share a row bus) as a slice behind a controller, and threads that access it.
struct platform {
    platform(const tla_hbm_config &timing, unsigned initiators, const std::string &prefix = "")
        : idle((prefix + "idle").c_str()) {
        hbm_slice::config s = bare<hbm_slice>();
        s.capacity = std::uint64_t{1} << 28;
        s.pseudo_channels = timing.row_bus_sharers;
        s.timing = timing;
        slice = std::make_unique<hbm_slice>((prefix + "slice").c_str(), s);
        memory_controller::config c = bare<memory_controller>();
        c.memory.of[TLA_HBM].bytes = s.capacity;
        c.memory.of[TLA_TCM].bytes = c.memory.of[TLA_TCM].reserved = 0;
        controller = std::make_unique<memory_controller>((prefix + "controller").c_str(), c);
        controller->slice.bind(slice->in);
        for (unsigned i = 0; i < initiators; i++) {
            masters.push_back(std::make_unique<initiator>((prefix + "initiator" + std::to_string(i)).c_str()));
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
    initiator idle;
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

// When the writes among accesses that arrive in this order are accepted, by the timing core: each burst as soon as the
// one before it has been accepted and there is room; UINT64_MAX for reads.
std::vector<std::uint64_t> acceptance_of_writes(const tla_hbm_config &timing,
                                                const std::vector<tla_traffic_access> &accesses) {
    tla_hbm *made = nullptr;
    BOOST_REQUIRE_EQUAL(tla_hbm_create(&timing, nullptr, &made, nullptr), TLA_OK);
    const std::unique_ptr<tla_hbm, void (*)(tla_hbm *)> core(made, tla_hbm_destroy);
    std::vector<std::uint64_t> ends;
    std::uint64_t free_ps = 0;
    for (const tla_traffic_access &a : accesses) {
        std::uint64_t accepted_ps = 0;
        for (std::uint64_t at = a.address; at < a.address + a.nbytes; at += timing.burst_bytes) {
            const tla_hbm_request request{std::max(free_ps, a.at_ps), at, 0, a.op};
            BOOST_REQUIRE_EQUAL(tla_hbm_submit(made, &request, &accepted_ps), TLA_OK);
            free_ps = accepted_ps + timing.tck_ps;
        }
        ends.push_back(a.op == TLA_HBM_WRITE ? accepted_ps : UINT64_MAX);
    }
    return ends;
}

// When accesses that arrive at given times end, through the modules and on the timing core: reads by their latencies,
// writes to banks by their acceptance.
void arrivals_give_the_same_completions(const char *name, unsigned seed, std::uint64_t gap_ps, std::uint64_t span) {
    const tla_hbm_config timing = profile(name);
    std::vector<tla_traffic_access> accesses = random_accesses(seed, 2000, gap_ps, span, timing.burst_bytes);
    platform p(timing, 200);
    std::vector<std::uint64_t> ours, accepted(accesses.size(), UINT64_MAX);
    for (unsigned m = 0; m < p.masters.size(); m++) // each takes the next access that nobody has taken
        p.masters[m]->body = [&, m] {
            static std::size_t next = 0;
            while (next < accesses.size()) {
                const std::size_t i = next++;
                const tla_traffic_access &a = accesses[i];
                sc_core::sc_time delay = from_ps(a.at_ps) - sc_core::sc_time_stamp();
                BOOST_REQUIRE(from_ps(a.at_ps) >= sc_core::sc_time_stamp()); // there are enough initiators
                const std::uint64_t end = transport(*p.masters[m], a.op, p.base + a.address, a.nbytes, delay);
                if (a.op == TLA_HBM_READ)
                    ours.push_back(end - a.at_ps);
                else
                    accepted[i] = end;
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
    if (timing.model == TLA_HBM_BANKS)
        BOOST_TEST(accepted == acceptance_of_writes(timing, accesses), boost::test_tools::per_element());
    const tla_hbm_stats stats = result.stats;
    BOOST_CHECK_EQUAL(p.slice->get_statistics().row_hits, stats.row_hits);
    BOOST_CHECK_EQUAL(p.slice->get_statistics().row_conflicts, stats.row_conflicts);
    tla_traffic_result_free(&result);
}

// Whether `outstanding` accesses that are always under way reach the bandwidth of the timing core alone.
void keeps_the_bandwidth(const char *name, tla_traffic_pattern pattern, std::uint32_t nbytes,
                         unsigned outstanding = 32) {
    const tla_hbm_config timing = profile(name);
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
                end_ps = std::max(end_ps, transport(*p.masters[m], a.op, p.base + a.address, nbytes, delay));
                sc_core::wait(delay);
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

// Reads that never pause, as many as the window takes, and one write beside them.
std::uint64_t latency_of_a_write_beside_reads(const char *name) {
    const tla_hbm_config timing = profile(name);
    const std::uint64_t writes_at = 5'000'000, patience = 100'000'000;
    platform p(timing, 2 * timing.window + 1);
    bool open = true;
    std::uint64_t latency = UINT64_MAX;
    p.masters.back()->body = [&] {
        sc_core::sc_time delay = from_ps(writes_at);
        latency =
            transport(*p.masters.back(), TLA_HBM_WRITE, p.base + (1 << 20), timing.burst_bytes, delay) - writes_at;
        open = false;
    };
    for (unsigned m = 0; m + 1 < p.masters.size(); m++)
        p.masters[m]->body = [&, m] {
            static std::uint64_t line = 0;
            while (open && to_ps(sc_core::sc_time_stamp()) < patience) {
                sc_core::sc_time delay;
                transport(*p.masters[m], TLA_HBM_READ, p.base + line++ * timing.burst_bytes % (1 << 20),
                          timing.burst_bytes, delay);
            }
            open = false;
        };
    sc_core::sc_start();
    BOOST_TEST_MESSAGE(name << ": " << latency << " ps");
    return latency;
}

// One initiator that makes one access after the other, and waits for each or keeps its delay.
void waiting_takes_no_time(const char *name, unsigned seed) {
    const tla_hbm_config timing = profile(name);
    const std::vector<tla_traffic_access> accesses = random_accesses(seed, 3000, 20'000, 1 << 20, timing.burst_bytes);
    platform waiting(timing, 1, "waiting_"), decoupled(timing, 1, "decoupled_");
    std::vector<std::uint64_t> ends[2];
    const auto program = [&](platform &p, std::vector<std::uint64_t> &into, bool waits) {
        p.masters[0]->body = [&, waits] {
            sc_core::sc_time delay;
            for (const tla_traffic_access &a : accesses) {
                delay += from_ps(a.at_ps % 5 ? 0 : a.at_ps % 30'000);
                into.push_back(transport(*p.masters[0], a.op, p.base + a.address, a.nbytes, delay));
                if (!waits) continue;
                sc_core::wait(delay);
                delay = sc_core::SC_ZERO_TIME;
            }
        };
    };
    program(waiting, ends[0], true);
    program(decoupled, ends[1], false);
    sc_core::sc_start();
    BOOST_TEST(ends[0] == ends[1], boost::test_tools::per_element());
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

// Reads go first, so one that waited for its data would wait as long as there are reads.
BOOST_AUTO_TEST_CASE(a_write_beside_reads_of_hbm2_that_never_pause_ends) {
    BOOST_CHECK_LT(latency_of_a_write_beside_reads("hbm2"), 2'000'000u);
}
BOOST_AUTO_TEST_CASE(a_write_beside_reads_of_hbm3_that_never_pause_ends) {
    BOOST_CHECK_LT(latency_of_a_write_beside_reads("hbm3"), 2'000'000u);
}

// A write ends when the write buffer has accepted it, and a full one accepts nothing until a write has left it.
BOOST_AUTO_TEST_CASE(streams_of_writes_to_hbm2_keep_their_bandwidth) {
    keeps_the_bandwidth("hbm2", TLA_TRAFFIC_SEQ_WR, 64);
}
BOOST_AUTO_TEST_CASE(random_writes_to_hbm3_keep_their_bandwidth) {
    keeps_the_bandwidth("hbm3", TLA_TRAFFIC_RAND_WR1, 32);
}
BOOST_AUTO_TEST_CASE(one_initiator_of_random_writes_to_hbm2_keeps_their_bandwidth) {
    keeps_the_bandwidth("hbm2", TLA_TRAFFIC_RAND_WR1, 32, 1);
}
BOOST_AUTO_TEST_CASE(one_initiator_of_writes_to_hbm3_keeps_their_bandwidth) {
    keeps_the_bandwidth("hbm3", TLA_TRAFFIC_SEQ_WR, 64, 1);
}
BOOST_AUTO_TEST_CASE(one_initiator_takes_the_same_time_where_it_waits_and_where_it_keeps_its_delay_at_hbm2) {
    waiting_takes_no_time("hbm2", 6);
}
BOOST_AUTO_TEST_CASE(one_initiator_takes_the_same_time_where_it_waits_and_where_it_keeps_its_delay_at_hbm3) {
    waiting_takes_no_time("hbm3", 7);
}

// What was accepted is there for the next reader, which is answered from the write buffer; a read of another line of
// the row goes to the banks.
BOOST_AUTO_TEST_CASE(a_read_after_a_buffered_write_of_its_line_gets_its_bytes_from_the_buffer) {
    const tla_hbm_config timing = profile("hbm2");
    platform p(timing, 1);
    p.masters[0]->body = [&p, &timing] {
        sc_core::wait(1, sc_core::SC_US); // of whole cycles
        initiator &cpu = *p.masters[0];
        const auto lasts = [&cpu](tlm::tlm_command command, std::uint64_t address, bytes &data) {
            const std::uint64_t start = to_ps(sc_core::sc_time_stamp());
            sc_core::sc_time delay;
            BOOST_CHECK_EQUAL(cpu.access(command, address, data, delay), tlm::TLM_OK_RESPONSE);
            sc_core::wait(delay);
            return to_ps(sc_core::sc_time_stamp()) - start;
        };
        bytes written = pattern(32), read(32), other(32);
        BOOST_CHECK_EQUAL(lasts(tlm::TLM_WRITE_COMMAND, p.base, written), 0u);
        BOOST_CHECK_EQUAL(lasts(tlm::TLM_READ_COMMAND, p.base, read), 2 * timing.tck_ps); // offered a cycle later
        BOOST_CHECK(read == written);
        BOOST_CHECK_GT(lasts(tlm::TLM_READ_COMMAND, p.base + 128, other), timing.cl * timing.tck_ps);
        BOOST_CHECK(other == bytes(32, 0));
        sc_core::wait(10, sc_core::SC_US); // it has been written
        BOOST_CHECK_GT(lasts(tlm::TLM_READ_COMMAND, p.base, read), timing.cl * timing.tck_ps);
        BOOST_CHECK(read == written);
    };
    sc_core::sc_start();
    BOOST_CHECK(p.masters[0]->finished);
}
