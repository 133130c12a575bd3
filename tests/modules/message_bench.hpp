// A platform whose kernels are a test's own, for what PEs send each other.
#ifndef TLMALLOC_TESTS_MODULES_MESSAGE_BENCH_HPP
#define TLMALLOC_TESTS_MODULES_MESSAGE_BENCH_HPP

#include "test_initiator.hpp"
#include "tlmalloc/kernel.h"
#include "tlmalloc/modules/npu.hpp"

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace message_bench {

using namespace tlmalloc;
using namespace test_initiator;

// What every program does.
inline std::function<tla_status(tl_context *)> body;
const tl_kernel kernels[] = {[](tl_context *tl) { return body(tl); }};

struct bench {
    explicit bench(std::vector<std::string> settings) {
        for (const char *key : {"mmu.page_size=4 KiB", "hbm.capacity_per_cube=16 MiB", "va.size=64 MiB"})
            settings.insert(settings.begin(), key);
        std::vector<const char *> overrides;
        for (const std::string &text : settings)
            overrides.push_back(text.c_str());
        tla_error found{};
        BOOST_REQUIRE_EQUAL(tla_config_load(nullptr, overrides.data(), overrides.size(), &config, nullptr, &found),
                            TLA_OK);
        platform = std::make_unique<npu>("npu", config, kernel_table{kernels, 1});
    }

    void run(std::function<void()> what) {
        bool finished = false;
        platform->host().main = [&] {
            what();
            finished = true;
            sc_core::sc_stop();
        };
        sc_core::sc_report_handler::set_handler(keep_report);
        sc_core::sc_start(sc_core::sc_time(1, sc_core::SC_SEC)); // nothing here takes as long
        BOOST_CHECK(finished);
    }

    tlmalloc::host &host() { return platform->host(); }
    const processing_element::run &of(std::size_t pe) const { return platform->pes()[pe]->element.last_run(); }

    // The time of a PE's kernel, from the kernel: its calls wait, so that it is never ahead (simulation.quantum 0).
    std::uint64_t now_ps(std::size_t) const { return to_ps(sc_core::sc_time_stamp()); }

    // A row of f32.
    tl_tile tile(tl_context *tl, std::uint32_t columns) const {
        tl_tile made{};
        tl_alloc(tl, 1, columns, TL_F32, &made);
        return made;
    }

    // The bytes of a tile, without time.
    bytes peek(std::size_t pe, const tl_tile &tile) { return move(pe, tile, nullptr); }
    void poke(std::size_t pe, const tl_tile &tile, const bytes &data) { move(pe, tile, &data); }
    bytes peek_at(const pe_location &where, const tl_tile &tile) {
        for (std::size_t pe = 0; pe < platform->pes().size(); pe++) {
            const pe_location &p = platform->pes()[pe]->where;
            if (p.sip == where.sip && p.cube == where.cube && p.pe == where.pe) return peek(pe, tile);
        }
        return {};
    }

    tla_config config{};
    std::unique_ptr<npu> platform;
    tla_error error{};

  private:
    bytes move(std::size_t pe, const tl_tile &tile, const bytes *from) {
        const std::uint64_t element = tl_dtype_bytes(tile.dtype), row = tile.columns * element,
                            pitch = (tile.pitch ? tile.pitch : tile.columns) * element;
        bytes data = from ? *from : bytes(tile.rows * row);
        for (std::uint32_t i = 0; i < tile.rows; i++) {
            tlm::tlm_generic_payload payload;
            payload.set_command(from ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
            payload.set_address(tile.pa.value + i * pitch);
            payload.set_data_ptr(data.data() + i * row);
            payload.set_data_length(static_cast<unsigned>(row));
            platform->pes()[pe]->element.local->transport_dbg(payload);
        }
        return data;
    }
};

// Two PEs in a cube.
inline std::vector<std::string> pair() {
    return {"system.pes_per_cube=2"};
}

} // namespace message_bench

#endif
