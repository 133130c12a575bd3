// A platform of a few keys, whose host does what a test says, and tensors in any of its memories.
#ifndef TLMALLOC_TESTS_MODULES_PLATFORM_BENCH_HPP
#define TLMALLOC_TESTS_MODULES_PLATFORM_BENCH_HPP

#include "test_initiator.hpp"
#include "tlmalloc/modules/npu.hpp"

#include <functional>
#include <string>
#include <vector>

namespace platform_benches {

using namespace tlmalloc;
using namespace test_initiator;

// Each PE copies its part of one tensor into its part of another: as many bytes as the third argument says.
inline const tl_kernel copying_kernel[] = {[](tl_context *tl) {
    const std::uint64_t nbytes = tl_argument(tl, 2), from = tl_program_id(tl, TL_ALL) * nbytes;
    tl_tile tile{};
    tla_status status = tl_alloc(tl, 1, static_cast<std::uint32_t>(nbytes / 4), TL_F32, &tile);
    if (!status) status = tl_load(tl, &tile, {tl_argument(tl, 0) + from}, nbytes);
    if (!status) status = tl_store(tl, {tl_argument(tl, 1) + from}, nbytes, &tile);
    tl_free(tl, &tile);
    return status;
}};

struct platform_bench {
    // `more` overrides what `keys` say.
    platform_bench(std::vector<std::string> keys, const std::vector<std::string> &more)
        : config(load(std::move(keys), more)) {}

    static tla_config load(std::vector<std::string> keys, const std::vector<std::string> &more) {
        keys.insert(keys.begin(),
                    {"system.pes_per_cube=2", "hbm.capacity_per_cube=2 MiB", "mmu.page_size=4 KiB", "va.size=64 MiB"});
        keys.insert(keys.end(), more.begin(), more.end());
        std::vector<const char *> overrides;
        for (const std::string &text : keys)
            overrides.push_back(text.c_str());
        tla_config config{};
        BOOST_REQUIRE_EQUAL(tla_config_load(nullptr, overrides.data(), overrides.size(), &config, nullptr, nullptr),
                            TLA_OK);
        return config;
    }

    void run(const std::function<void()> &body) {
        bool finished = false;
        platform.host().main = [&] {
            body();
            finished = true;
        };
        sc_core::sc_report_handler::set_handler(keep_report);
        sc_core::sc_start();
        BOOST_CHECK(finished);
    }

    // And gives everything back.
    void run_and_clean_up(const std::function<void()> &body) {
        run([&] {
            body();
            BOOST_CHECK_EQUAL(platform.host().cleanup(&error), TLA_OK);
            BOOST_CHECK_EQUAL(platform.leaks(), 0u);
        });
    }

    // Over some PEs, or all; null where it is refused, with `status`.
    tensor *make(std::uint64_t nbytes, tla_memory_kind memory, const std::vector<pe_location> &pes = {},
                 spread kind = spread::split) {
        tensor *made = nullptr;
        status = platform.host().create_tensor(
            "t", nbytes, 1, {pes.empty() ? platform.host().everywhere().pes : pes, kind, memory}, &made, &error);
        BOOST_CHECK((made == nullptr) == (status != TLA_OK));
        return made;
    }

    void write(const tensor *t, const bytes &data) {
        BOOST_CHECK_EQUAL(platform.host().write_tensor(*t, data.data(), &error), TLA_OK);
    }
    bytes read(const tensor *t) {
        bytes data(t->nbytes, 0xee);
        BOOST_CHECK_EQUAL(platform.host().read_tensor(*t, data.data(), &error), TLA_OK);
        return data;
    }

    // What stands at a physical address, in no time.
    bytes look(std::uint64_t pa, std::size_t length) {
        bytes data(length);
        tlm::tlm_generic_payload payload;
        payload.set_read();
        payload.set_address(pa);
        payload.set_data_ptr(data.data());
        payload.set_data_length(static_cast<unsigned>(length));
        BOOST_CHECK_EQUAL(platform.host().out->transport_dbg(payload), length);
        return data;
    }

    tla_config config;
    npu platform{"npu", config, {copying_kernel, std::size(copying_kernel)}};
    tla_status status = TLA_OK;
    tla_error error{};
};

} // namespace platform_benches

#endif
