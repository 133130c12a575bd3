// Transfers that hit open rows only, in closed form.
#include "tests/unit/dram_fixtures.hpp"

using namespace dram;

BOOST_AUTO_TEST_CASE(a_run_of_open_rows_in_closed_form_equals_the_run_burst_by_burst) {
    uint64_t closed = 0;
    for (uint64_t seed = 1; seed <= 80; seed++) {
        BOOST_TEST_CONTEXT("seed " << seed) {
            std::mt19937_64 random(seed);
            tla_hbm_config config = random_config(random);
            config.page_policy = TLA_HBM_PAGE_OPEN;
            // who listens to commands gets every burst visited
            tla_hbm_listener visits{};
            visits.command = [](void *, uint32_t, tla_hbm_command, uint64_t, uint32_t, uint32_t) {};
            auto fast = make(config), slow = make(config, &visits);
            uint64_t at_ps = 0, base = 0;
            for (int i = 0; i < 300; i++) {
                if (random() % 20 == 0) base = random() % (1u << 13) * 16384;
                const uint64_t address = base + random() % 16384, nbytes = 1 + random() % (random() % 4 ? 2048 : 16384);
                const tla_hbm_op op = random() % 4 == 0 ? TLA_HBM_WRITE : TLA_HBM_READ;
                if (random() % 10 == 0) { // something else is waiting
                    const tla_hbm_request r{at_ps, address, 0, op};
                    uint64_t a = 0, b = 0;
                    BOOST_REQUIRE_EQUAL(tla_hbm_submit(fast.get(), &r, &a), TLA_OK);
                    BOOST_REQUIRE_EQUAL(tla_hbm_submit(slow.get(), &r, &b), TLA_OK);
                    BOOST_REQUIRE_EQUAL(a, b);
                }
                tla_hbm_transfer a{}, b{};
                BOOST_REQUIRE_EQUAL(tla_hbm_access(fast.get(), at_ps, op, TLA_PURPOSE_KERNEL, address, nbytes, &a),
                                    TLA_OK);
                BOOST_REQUIRE_EQUAL(tla_hbm_access(slow.get(), at_ps, op, TLA_PURPOSE_KERNEL, address, nbytes, &b),
                                    TLA_OK);
                BOOST_REQUIRE_EQUAL(a.first_accepted_ps, b.first_accepted_ps);
                BOOST_REQUIRE_EQUAL(a.last_accepted_ps, b.last_accepted_ps);
                BOOST_REQUIRE_EQUAL(a.first_end_ps, b.first_end_ps);
                BOOST_REQUIRE_EQUAL(a.last_end_ps, b.last_end_ps);
                // sometimes before the end of the data: reads are still on their way
                at_ps = random() % 3 ? a.last_end_ps + random() % 20000 : a.last_accepted_ps;
            }
            tla_hbm_drain(fast.get());
            tla_hbm_drain(slow.get());
            const tla_hbm_stats f = tla_hbm_get_stats(fast.get()), s = tla_hbm_get_stats(slow.get());
            BOOST_CHECK_EQUAL(f.row_hits, s.row_hits);
            BOOST_CHECK_EQUAL(f.row_misses, s.row_misses);
            BOOST_CHECK_EQUAL(f.row_conflicts, s.row_conflicts);
            BOOST_CHECK_EQUAL(f.reads, s.reads);
            BOOST_CHECK_EQUAL(f.last_end_ps, s.last_end_ps);
            BOOST_CHECK_EQUAL(s.closed_form, 0u);
            closed += f.closed_form;
        }
    }
    BOOST_CHECK_GT(closed, 50000u); // it is the closed form that was compared
}
