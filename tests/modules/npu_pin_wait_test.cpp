// Pins of slices that grow, on a whole platform: what the host and kernels have in flight at a controller delays them,
// at most by controller.pin_wait.
#include "apart.hpp"
#include "platform_bench.hpp"

using namespace platform_benches;

namespace {

constexpr std::uint64_t KiB = 1024, most_chunks = 112;

// A slice of 1 MiB begins with 128 KiB.
std::vector<std::string> growing(const std::string &wait, const std::string &chunk, const std::string &time) {
    return {"controller.hbm_policy=lazy",
            "controller.hbm_front.initial=128 KiB",
            "controller.hbm_front.chunk=" + chunk,
            "controller.hbm_front.commit=" + chunk,
            "controller.hbm_front.chunk_time=" + time,
            "controller.cost.profile=ideal",
            "host.dma_chunk=64 KiB",
            "controller.pin_wait=" + wait};
}

struct course {
    std::uint64_t commits[2][most_chunks]; // of two slices
    std::uint64_t chunks;
    std::uint64_t waited_ps[2];
    std::uint64_t end_ps; // of the host's write
    std::uint64_t hash;   // of what kernels and reads have found
    char error[512];
};

struct growing_bench : platform_bench {
    growing_bench(const std::vector<std::string> &keys, const std::vector<std::string> &more)
        : platform_bench(keys, more) {
        for (std::size_t pe = 0; pe < 2; pe++)
            platform.pes()[pe]->controller.grown = [this, pe](tla_memory_kind, const tla_arena_stats &,
                                                              std::uint64_t done_ps) {
                commits[pe].push_back(done_ps);
            };
    }
    void take(course &result) {
        for (std::size_t pe = 0; pe < 2; pe++) {
            BOOST_REQUIRE_EQUAL(commits[pe].size(), commits[0].size());
            BOOST_REQUIRE_LE(commits[pe].size(), most_chunks);
            result.chunks = commits[pe].size();
            std::copy(commits[pe].begin(), commits[pe].end(), result.commits[pe]);
            for (const statistics_group &group : platform.pes()[pe]->controller.list_statistics())
                for (const statistic &row : group.statistics)
                    if (row.name == std::string("pin_wait_ps")) result.waited_ps[pe] = row.value;
        }
    }
    std::vector<std::uint64_t> commits[2];
};

constexpr std::uint64_t chunk_ps = 10'000'000;

// The host begins to write into the first slice at that time, before the second of 14 chunks becomes due, at chunk_ps.
course write_beside(const std::string &wait, std::uint64_t at_ps) {
    const course c = apart<course>("a write beside pins", [&](course &result) {
        growing_bench b(growing(wait, "64 KiB", "10 us"), {});
        b.run([&] {
            const tensor *t = b.make(128 * KiB, TLA_HBM, {b.platform.host().everywhere().pes[0]});
            sc_core::wait(from_ps(at_ps) - sc_core::sc_time_stamp());
            b.write(t, bytes(128 * KiB, 7));
            result.end_ps = to_ps(sc_core::sc_time_stamp());
            sc_core::wait(400, sc_core::SC_US);
        });
        b.take(result);
    });
    BOOST_REQUIRE_MESSAGE(c.error[0] == 0, c.error);
    return c;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_write_in_flight_delays_one_pin_of_its_slice_to_its_end_and_at_most_by_the_key) {
    std::uint64_t begin_ps = chunk_ps;
    course patient{};
    while (patient.waited_ps[0] == 0 && begin_ps > chunk_ps / 2) // an access is in flight for some 100 ns
        patient = write_beside("1 ms", begin_ps -= 100'000);
    const std::uint64_t to_end_ps = patient.waited_ps[0];
    BOOST_TEST_MESSAGE("the host writes from " << begin_ps << " to " << patient.end_ps << " ps, the chunk waits "
                                               << to_end_ps);
    BOOST_REQUIRE_GT(to_end_ps, 2u);
    BOOST_CHECK_LT(chunk_ps + to_end_ps, patient.end_ps); // the answer has a way to the host
    const std::uint64_t end_ps = write_beside("0 ns", begin_ps).end_ps;
    for (const std::uint64_t wait_ps : {std::uint64_t{1}, to_end_ps / 2, to_end_ps - 1, to_end_ps, to_end_ps + 1}) {
        const course c = write_beside(std::to_string(wait_ps) + " ps", begin_ps);
        const std::uint64_t waited_ps = std::min(wait_ps, to_end_ps);
        BOOST_CHECK_EQUAL(c.waited_ps[0], waited_ps);
        BOOST_CHECK_EQUAL(c.waited_ps[1], 0u); // no access to the other slice
        BOOST_CHECK_EQUAL(c.end_ps, end_ps);
        BOOST_REQUIRE_EQUAL(c.chunks, 14u);
        for (std::size_t n = 0; n < c.chunks; n++) {
            BOOST_CHECK_EQUAL(c.commits[0][n], (n + 1) * chunk_ps + (n > 0 ? waited_ps : 0));
            BOOST_CHECK_EQUAL(c.commits[1][n], (n + 1) * chunk_ps);
        }
    }
}

namespace {

// Kernels that run ahead of the clock read and write both slices, and the host frees and allocates beside them.
course kernels_beside(const std::string &wait, const std::string &quantum) {
    const course c = apart<course>("kernels beside pins", [&](course &result) {
        growing_bench b(growing(wait, "8 KiB", "200 ns"), {"simulation.quantum=" + quantum});
        b.run([&] {
            tensor *from = b.make(32 * KiB, TLA_HBM), *to = b.make(32 * KiB, TLA_HBM);
            for (unsigned i = 0; i < 12; i++) {
                b.write(from, bytes(from->nbytes, static_cast<std::uint8_t>(i)));
                BOOST_CHECK_EQUAL(
                    b.platform.host().launch(0, {from->va.value, to->va.value, from->nbytes / 2}, &b.error), TLA_OK);
                tensor *more = b.make(2 * (i + 1) * 32 * KiB, TLA_HBM); // what the slices have by now
                for (const std::uint8_t byte : b.read(to))
                    result.hash = result.hash * 31 + byte;
                result.hash = result.hash * 31 + static_cast<std::uint64_t>(b.status) + to_ps(sc_core::sc_time_stamp());
                if (more) b.platform.host().free_tensor(more, &b.error);
            }
            sc_core::wait(400, sc_core::SC_US);
        });
        b.take(result);
    });
    BOOST_REQUIRE_MESSAGE(c.error[0] == 0, c.error);
    return c;
}

} // namespace

BOOST_AUTO_TEST_CASE(pins_beside_kernels_wait_within_their_bounds_and_alike_for_every_quantum) {
    for (const auto &[wait, wait_ps] : {std::pair{"20 ns", std::uint64_t{20'000}}, std::pair{"1 s", UINT64_MAX}}) {
        const course without = kernels_beside(wait, "0 ns");
        for (std::size_t pe = 0; pe < 2; pe++) {
            std::uint64_t before_ps = 0;
            BOOST_REQUIRE_EQUAL(without.chunks, most_chunks);
            BOOST_CHECK_GT(without.waited_ps[pe], 0u);
            for (std::size_t n = 0; n < most_chunks; n++) {
                const std::uint64_t took_ps = without.commits[pe][n] - before_ps;
                BOOST_CHECK_GE(took_ps, 200'000u);
                BOOST_CHECK_LE(took_ps - 200'000, wait_ps);
                before_ps = without.commits[pe][n];
            }
            BOOST_CHECK_EQUAL(before_ps, most_chunks * 200'000 + without.waited_ps[pe]);
        }
        for (const char *quantum : {"1 ps", "333 ps", "1 us", "1 ms"}) {
            const course with = kernels_beside(wait, quantum);
            BOOST_CHECK_EQUAL(with.hash, without.hash);
            for (std::size_t pe = 0; pe < 2; pe++) {
                BOOST_CHECK_EQUAL(with.waited_ps[pe], without.waited_ps[pe]);
                BOOST_CHECK_EQUAL_COLLECTIONS(with.commits[pe], with.commits[pe] + with.chunks, without.commits[pe],
                                              without.commits[pe] + without.chunks);
            }
        }
    }
}
