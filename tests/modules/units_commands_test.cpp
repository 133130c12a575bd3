// Commands about some slices, as any initiator sends them to the owner, against a model of bits from the table of
// modes: sizes for each slice, full memories, blocks that are freed twice, in part or in another mode, and resets.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "platform_bench.hpp"
#include "tests/unit/seeded_random.hpp"
#include "tlmalloc/command/control_port.h"
#include "tlmalloc/modules/command_sender.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

using namespace platform_benches;

namespace {

constexpr std::uint64_t granule = 64 << 10;
constexpr unsigned slices = 4, granules = 16; // two cubes of two PEs, 1 MiB each

struct request {
    tla_units_mode mode;
    std::vector<unsigned> slices;      // ascending
    std::vector<std::uint64_t> nbytes; // in each
    bool with_sizes = false;
    std::uint64_t offset = 0;

    std::uint64_t largest() const { return *std::max_element(nbytes.begin(), nbytes.end()); }
};

std::uint32_t bits_of(std::uint64_t offset, std::uint64_t nbytes) {
    return ((1u << (nbytes + granule - 1) / granule) - 1) << offset / granule;
}

// A bit for each granule. Lockstep's list has blocks in lockstep and ranges, a slice's list the others; `there` are the
// blocks of the slices themselves, by offset.
struct naive {
    std::uint32_t lockstep = 0;
    std::array<std::uint32_t, slices> own{};
    std::array<std::map<std::uint64_t, std::uint64_t>, slices> there{};

    std::uint32_t bits_in(unsigned slice) const {
        std::uint32_t all = 0;
        for (const auto &[offset, nbytes] : there[slice])
            all |= bits_of(offset, nbytes);
        return all;
    }

    static bool is_own(const request &r) { return r.mode == TLA_UNITS_SINGLE || r.mode == TLA_UNITS_COMMON; }
    std::uint32_t &list(const request &r, std::size_t i) { return is_own(r) ? own[r.slices[i]] : lockstep; }
    // In a list, where lockstep's has the largest size.
    static std::uint32_t bits(const request &r, std::size_t i) {
        return bits_of(r.offset, is_own(r) ? r.nbytes[i] : r.largest());
    }

    std::uint32_t blocked(const request &r) const {
        std::uint32_t all = lockstep;
        for (const unsigned slice : r.slices)
            all |= own[slice];
        return all;
    }
    std::pair<std::uint64_t, std::uint64_t> room(const request &r) const { // free, largest
        std::uint64_t free = 0, largest = 0, run = 0;
        for (unsigned at = 0; at < granules; at++) {
            run = blocked(r) >> at & 1 ? 0 : run + 1;
            free += run > 0;
            largest = std::max(largest, run);
        }
        return {free * granule, largest * granule};
    }

    tla_status alloc(request &r) {
        for (r.offset = 0; r.offset + r.largest() <= granules * granule; r.offset += granule) {
            bool fits = true;
            for (std::size_t i = 0; i < r.slices.size(); i++)
                fits = fits && !(bits_of(r.offset, r.nbytes[i]) & (lockstep | own[r.slices[i]]));
            if (!fits) continue;
            for (std::size_t i = 0; i < r.slices.size(); i++)
                if (bits_in(r.slices[i]) & bits_of(r.offset, r.nbytes[i])) return TLA_OVERLAP; // after a wrong FREE
            for (std::size_t i = 0; i < r.slices.size(); i++) {
                list(r, i) |= bits(r, i);
                there[r.slices[i]][r.offset] = r.nbytes[i];
            }
            return TLA_OK;
        }
        return room(r).first < r.largest() ? TLA_EXHAUSTED : TLA_FRAGMENTED;
    }

    // Slices free blocks only. Lists have bytes: they trust a FREE of live bytes.
    tla_status free(const request &r) {
        if (r.mode == TLA_UNITS_SINGLE && r.slices.size() > 1) return TLA_INVALID_ARGUMENT;
        if (r.offset + r.largest() > granules * granule) return TLA_INVALID_ARGUMENT;
        for (std::size_t i = 0; i < r.slices.size(); i++) {
            const std::uint32_t wanted = bits_of(r.offset, r.nbytes[i]);
            std::uint32_t first = 0; // the lowest block there
            for (const auto &[offset, nbytes] : there[r.slices[i]])
                if (!first && (bits_of(offset, nbytes) & wanted)) first = bits_of(offset, nbytes);
            if (first == wanted) continue;
            if (!first) return TLA_NOT_ALLOCATED;
            const bool is_part = (first & wanted) == wanted || (first & -first) == (wanted & -wanted);
            return is_part ? TLA_SIZE_MISMATCH : TLA_OVERLAP;
        }
        for (std::size_t i = 0; i < r.slices.size(); i++)
            if (~list(r, i) & bits(r, i)) return TLA_NOT_ALLOCATED;
        for (std::size_t i = 0; i < r.slices.size(); i++) {
            list(r, i) &= ~bits(r, i);
            there[r.slices[i]].erase(r.offset);
        }
        return TLA_OK;
    }
};

struct bench : platform_bench {
    explicit bench(const std::vector<std::string> &more = {})
        : platform_bench({"system.cube_mesh_width=2", "controller.lockstep=sip", "controller.alignment=64 KiB"}, more) {
        platform.reset_in.bind(line);
    }

    tla_status send(tla_opcode opcode, const request &r) {
        tla_command command{};
        command.target = TLA_TARGET_IO_CPU;
        command.opcode = opcode;
        command.memory = TLA_HBM;
        command.nbytes = r.largest();
        command.pa = {r.offset};
        command.of_units = r.mode != TLA_UNITS_LOCKSTEP;
        command.units = r.mode;
        for (const unsigned slice : r.slices)
            command.pes.cubes[slice / 2] = static_cast<std::uint16_t>(command.pes.cubes[slice / 2] | 1u << slice % 2);
        command.count = r.with_sizes ? static_cast<std::uint32_t>(r.nbytes.size()) : 0;
        if (r.with_sizes) std::copy(r.nbytes.begin(), r.nbytes.end(), command.extents);
        tla_paddr port{};
        tla_paddr_io_cpu_control(0, TLA_PORT_OF_HOST * TLA_PORT_BYTES, &port);
        sc_core::sc_time delay;
        const tla_status result = send_command(platform.host().out, port.value, command, answer, delay);
        sc_core::wait(delay);
        return result;
    }
    std::uint64_t used(unsigned slice) const {
        return platform.pes()[slice]->controller.get_statistics(TLA_HBM).arena.used;
    }
    const command_processor &owner() const { return *platform.processors().front(); }

    request draw(std::uint64_t most) {
        request r{static_cast<tla_units_mode>(random.between(0, 3)), {}, {}};
        for (unsigned slice = 0; slice < slices; slice++)
            if (r.mode == TLA_UNITS_LOCKSTEP || random.one_in(2)) r.slices.push_back(slice);
        if (r.slices.empty() || r.mode == TLA_UNITS_SINGLE)
            r.slices = {static_cast<unsigned>(random.between(0, slices - 1))};
        r.nbytes.assign(r.slices.size(), random.between(1, most * granule));
        if (r.mode == TLA_UNITS_COMMON && random.one_in(2)) {
            r.with_sizes = true;
            for (std::uint64_t &nbytes : r.nbytes)
                nbytes = random.between(1, most * granule);
        }
        return r;
    }

    // Another order than that of the block: in part, for other slices, with another size or in another mode.
    request spoil(request r) {
        switch (random.between(0, 5)) {
        case 0:
            r.mode = static_cast<tla_units_mode>(random.between(0, 3));
            if (r.mode == TLA_UNITS_LOCKSTEP) {
                r.slices = {0, 1, 2, 3};
                r.nbytes.assign(slices, r.largest());
            }
            if (r.mode != TLA_UNITS_COMMON && r.with_sizes) r.nbytes.assign(r.slices.size(), r.largest());
            r.with_sizes = r.with_sizes && r.mode == TLA_UNITS_COMMON;
            break;
        case 1: // one slice of several
            if (r.mode == TLA_UNITS_LOCKSTEP || r.slices.size() == 1) break;
            r.slices.pop_back();
            r.nbytes.pop_back();
            break;
        case 2:
            r.offset = granule * random.between(0, granules - 1);
            break;
        case 3:
            if (r.mode == TLA_UNITS_LOCKSTEP) break;
            for (unsigned &slice : r.slices) // the next ones
                slice = (slice + 1) % slices;
            std::sort(r.slices.begin(), r.slices.end());
            break;
        case 4:
            if (r.with_sizes)
                r.nbytes[random.between(0, r.nbytes.size() - 1)] = random.between(1, 4 * granule);
            else
                r.nbytes.assign(r.nbytes.size(), random.between(1, 4 * granule));
            break;
        default: // as it was, perhaps twice
            break;
        }
        return r;
    }

    void compare() {
        for (unsigned slice = 0; slice < slices; slice++) {
            BOOST_REQUIRE_EQUAL(used(slice), static_cast<unsigned>(__builtin_popcount(model.bits_in(slice))) * granule);
            const tla_bank_stats stats = owner().slice_statistics(slice);
            const auto [free, largest] = model.room({TLA_UNITS_SINGLE, {slice}, {1}});
            BOOST_REQUIRE_EQUAL(stats.free, free);
            BOOST_REQUIRE_EQUAL(stats.largest_free, largest);
        }
        BOOST_REQUIRE_EQUAL(owner().get_statistics().list.free,
                            model.room({TLA_UNITS_LOCKSTEP, {0, 1, 2, 3}, {}}).first);
        BOOST_REQUIRE_EQUAL(owner().get_statistics().not_restored, 0u);
    }

    void act(bool may_spoil) {
        if (!live.empty() && random.one_in(2)) {
            const std::size_t at = random.between(0, live.size() - 1);
            request r = live[at];
            const bool spoilt = may_spoil && random.one_in(3);
            if (spoilt) r = spoil(r);
            const tla_status expected = model.free(r);
            BOOST_REQUIRE_EQUAL(send(TLA_OP_FREE, r), expected);
            const auto [free, largest] = model.room(r);
            if (expected != TLA_INVALID_ARGUMENT || r.slices.size() == 1) {
                BOOST_REQUIRE_EQUAL(answer.total_free, free);
                BOOST_REQUIRE_EQUAL(answer.largest_free, largest);
            }
            outcomes[expected]++;
            if (!spoilt || random.one_in(2)) live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
        } else {
            request r = draw(random.one_in(8) ? granules + 1 : 5);
            const tla_status expected = model.alloc(r);
            const tla_status done = send(TLA_OP_ALLOC, r);
            BOOST_REQUIRE_EQUAL(done, expected);
            if (!done) BOOST_REQUIRE_EQUAL(answer.value, r.offset);
            const auto [free, largest] = model.room(r);
            BOOST_REQUIRE_EQUAL(answer.nbytes, r.largest());
            BOOST_REQUIRE_EQUAL(answer.total_free, free);
            BOOST_REQUIRE_EQUAL(answer.largest_free, largest);
            BOOST_REQUIRE_GT(answer.service_ps, 0u);
            outcomes[done]++;
            sizes += !done && r.with_sizes;
            if (!done) live.push_back(r);
        }
        compare();
    }

    void reset() {
        line = true;
        sc_core::wait(static_cast<double>(random.between(1, 500)), sc_core::SC_NS);
        line = false;
        platform.host().wait_for_reset();
        model = {};
        live.clear();
        compare();
    }

    sc_core::sc_signal<bool, sc_core::SC_MANY_WRITERS> line{"line"};
    seeded_random random{397};
    naive model;
    std::vector<request> live;
    std::map<tla_status, unsigned> outcomes;
    unsigned sizes = 0;
    tla_completion answer{};
};

} // namespace

BOOST_AUTO_TEST_CASE(random_commands_about_slices_do_what_bits_of_the_table_of_modes_say) {
    bench b;
    b.run([&] {
        for (unsigned step = 0; step < 4000; step++)
            b.act(false);
    });
    BOOST_CHECK_GT(b.outcomes[TLA_OK], 1000u);
    BOOST_CHECK_GT(b.outcomes[TLA_EXHAUSTED], 100u);
    BOOST_CHECK_GT(b.outcomes[TLA_FRAGMENTED], 20u);
    BOOST_CHECK_GT(b.sizes, 50u);
}

BOOST_AUTO_TEST_CASE(frees_in_odd_orders_fail_whole_or_free_blocks_of_the_slices_that_they_name) {
    bench b;
    b.run([&] {
        for (unsigned step = 0; step < 6000; step++) {
            b.act(true);
            if (step % 500 == 499) b.reset();
        }
    });
    BOOST_CHECK_GT(b.outcomes[TLA_OK], 1000u);
    BOOST_CHECK_GT(b.outcomes[TLA_NOT_ALLOCATED], 100u);
    BOOST_CHECK_GT(b.outcomes[TLA_INVALID_ARGUMENT], 10u);
    BOOST_CHECK_GT(b.outcomes[TLA_OVERLAP], 10u);
}

BOOST_AUTO_TEST_CASE(a_reset_in_the_middle_of_a_command_leaves_every_list_whole) {
    bench b;
    b.run([&] {
        for (unsigned round = 0; round < 60; round++) {
            for (unsigned step = 0; step < 12; step++)
                b.act(false);
            sc_core::sc_spawn([&b, after = b.random.between(0, 400)] {
                sc_core::wait(static_cast<double>(after), sc_core::SC_NS);
                b.line = true;
            });
            request r = b.draw(5);
            b.send(TLA_OP_ALLOC, r);
            sc_core::wait(1, sc_core::SC_US);
            b.reset();
        }
    });
}
