// A reset line for a whole npu: held in the middle of a launch, it leaves a platform that takes the same time as a new
// one, to the picosecond, once the host has forgotten its tensors.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "platform_bench.hpp"

#include <memory>

using namespace platform_benches;

namespace {

const std::uint64_t ns = 1000, again_ps = 1'000'000 * ns;

struct used : platform_bench {
    used(std::uint64_t reset_after_ps) : platform_bench({}, {}) {
        for (const instrumented *m : platform.modules())
            if (auto *r = dynamic_cast<resettable *>(const_cast<instrumented *>(m))) all.push_back(r);
        for (resettable *r : all)
            r->reset_in.bind(line);
        platform.host().main = [this, reset_after_ps] {
            if (reset_after_ps > 0) interrupted(reset_after_ps);
            sc_core::wait(from_ps(again_ps - to_ps(sc_core::sc_time_stamp())));
            work();
        };
    }

    void interrupted(std::uint64_t after_ps) {
        const tensor *from = make(8192, TLA_HBM), *to = make(8192, TLA_HBM);
        write(from, pattern(8192));
        sc_core::sc_spawn([this, after_ps] {
            sc_core::wait(from_ps(after_ps));
            line = true;
            do
                sc_core::wait(from_ps(100 * ns));
            while (to_ps(sc_core::sc_time_stamp()) < 20'000 * ns);
            line = false;
        });
        tla_error why{};
        ended = platform.host().launch(0, {from->va.value, to->va.value, 4096}, &why);
        sc_core::wait(from_ps(30'000 * ns));
        for (const resettable *r : all)
            BOOST_CHECK(!r->in_reset());
        BOOST_CHECK_EQUAL(platform.leaks(), 2u); // the tensors that the host knows: all memory and addresses are free
        BOOST_CHECK_NE(platform.host().cleanup(&error), TLA_OK); // the device knows nothing of these tensors
        BOOST_CHECK_EQUAL(platform.leaks(), 0u);
        error = {};
    }

    void work() {
        const tensor *from = make(8192, TLA_HBM), *to = make(8192, TLA_HBM);
        write(from, pattern(8192, 5));
        host::launched launched{};
        BOOST_CHECK_EQUAL(platform.host().launch(0, {from->va.value, to->va.value, 4096}, &error, &launched), TLA_OK);
        BOOST_CHECK(read(to) == pattern(8192, 5));
        said = {launched.start_ps, launched.duration_ps, to_ps(sc_core::sc_time_stamp()), from->va.value,
                from->shards[0].pa.value};
        BOOST_CHECK_EQUAL(platform.host().cleanup(&error), TLA_OK);
        BOOST_CHECK_EQUAL(platform.leaks(), 0u);
        said.push_back(to_ps(sc_core::sc_time_stamp()));
    }

    std::vector<resettable *> all;
    sc_core::sc_signal<bool> line;
    tla_status ended = TLA_OK;
    std::vector<std::uint64_t> said;
};

} // namespace

BOOST_AUTO_TEST_CASE(a_platform_that_was_reset_in_a_launch_takes_the_time_of_a_new_one) {
    std::vector<std::unique_ptr<used>> platforms;
    for (const std::uint64_t after_ps : {0u, 1u, 50u, 100u, 150u, 200u, 230u, 260u, 290u, 320u})
        platforms.push_back(std::make_unique<used>(after_ps * ns));
    sc_core::sc_report_handler::set_handler(keep_report);
    sc_core::sc_start();
    unsigned interrupted = 0;
    for (const auto &p : platforms) {
        BOOST_CHECK_EQUAL(p->said.size(), 6u);
        BOOST_CHECK_EQUAL_COLLECTIONS(p->said.begin(), p->said.end(), platforms[0]->said.begin(),
                                      platforms[0]->said.end());
        interrupted += p->ended != TLA_OK;
    }
    BOOST_CHECK_GT(interrupted, 2u);
    BOOST_TEST_MESSAGE(interrupted << " launches of " << platforms.size() - 1 << " were ended");
}
