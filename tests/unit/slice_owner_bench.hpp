// An owner of slices and the slices, which do as they are told.
#ifndef TLMALLOC_TESTS_UNIT_SLICE_OWNER_BENCH_HPP
#define TLMALLOC_TESTS_UNIT_SLICE_OWNER_BENCH_HPP

#include "model/command/slice_owner.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

namespace slice_owner_bench {

constexpr std::uint64_t capacity = 1 << 20, alignment = 64;

// Slices that do as they are told, unless `refuse` says otherwise.
struct bench {
    explicit bench(unsigned slices, tla_fill fill = TLA_BOTTOM_UP, std::uint64_t nbytes = capacity,
                   std::uint64_t granule = alignment)
        : blocks(slices) {
        std::vector<tla_owned_slice> places;
        for (unsigned i = 0; i < slices; i++)
            places.push_back({0x1000 * (i + 1ull), base(i), {TLA_LOCATION_PE, 1, 2, i}});
        const tla_lockstep_config config{slices, 0, nbytes, granule, fill};
        tla_slice_owner *made = nullptr;
        BOOST_REQUIRE_EQUAL(tla_slice_owner_create(places.data(), &config, &made), TLA_OK);
        owner.reset(made);
    }
    static tla_paddr base(unsigned slice) { return {(slice + 1ull) << 32}; }

    tla_status answer(unsigned slice, const tla_command &c) {
        BOOST_REQUIRE_EQUAL(c.target, TLA_TARGET_MEMORY_CONTROLLER);
        BOOST_REQUIRE_EQUAL(c.request_id, command->request_id);
        BOOST_REQUIRE_EQUAL(c.correlation_id, command->correlation_id);
        const std::uint64_t offset = c.pa.value - base(slice).value;
        if (const tla_status status = refuse(slice, c)) return status;
        if (c.opcode == TLA_OP_PLACE) {
            BOOST_REQUIRE_EQUAL(c.object, command->object);
            return blocks[slice].emplace(offset, c.nbytes).second ? TLA_OK : TLA_OVERLAP;
        }
        BOOST_REQUIRE_EQUAL(c.opcode, TLA_OP_FREE);
        const auto found = blocks[slice].find(offset);
        if (found == blocks[slice].end()) return TLA_NOT_ALLOCATED;
        if (found->second != c.nbytes) return TLA_SIZE_MISMATCH;
        blocks[slice].erase(found);
        return TLA_OK;
    }

    using named = std::set<unsigned>; // slices

    // The command is about all slices, or in a mode about those that are named, with a size for each or nbytes.
    tla_slice_owner_result run(tla_opcode opcode, std::uint64_t at, std::uint64_t nbytes,
                               tla_units_mode mode = TLA_UNITS_LOCKSTEP, const named &which = {},
                               const std::vector<std::uint64_t> &extents = {}) {
        *command = {};
        command->of_units = mode != TLA_UNITS_LOCKSTEP;
        command->units = mode;
        for (const unsigned slice : which)
            command->pes.cubes[2] = static_cast<std::uint16_t>(command->pes.cubes[2] | 1u << slice);
        command->count = static_cast<std::uint32_t>(extents.size());
        std::copy(extents.begin(), extents.end(), command->extents);
        command->opcode = opcode;
        command->correlation_id = 5;
        command->request_id = ++requests;
        command->memory = TLA_HBM;
        command->object = requests % 3;
        command->pa.value = at;
        command->nbytes = nbytes;
        rounds = 0;
        tla_slice_owner_result result{};
        work = {};
        result.status = tla_slice_owner_decide(owner.get(), command.get(), &work);
        if (result.status) return result;
        tla_slice_owner_tell(owner.get(), 1000);
        tla_sent_command *sent_commands = nullptr;
        std::uint64_t last = 1000;
        while (const std::size_t count = tla_slice_owner_next(owner.get(), &sent_commands)) {
            rounds++;
            const std::uint64_t began = last;
            for (std::size_t i = 0; i < count; i++) {
                tla_sent_command &p = sent_commands[i];
                const auto slice = static_cast<unsigned>(p.port_address / 0x1000 - 1);
                BOOST_REQUIRE_EQUAL(p.at_ps, began); // all at once, after the round before
                BOOST_REQUIRE(p.gather);
                p.status = answer(slice, *p.command);
                p.written_ps = p.at_ps + 10;
                p.answered_ps = p.at_ps + 100 + slice;
                last = std::max(last, p.answered_ps);
            }
        }
        result = tla_slice_owner_get_result(owner.get());
        BOOST_REQUIRE_EQUAL(result.done_ps, last);
        return result;
    }
    tla_slice_owner_result alloc(std::uint64_t nbytes) { return run(TLA_OP_ALLOC, 0, nbytes); }
    tla_slice_owner_result free(std::uint64_t at, std::uint64_t nbytes) { return run(TLA_OP_FREE, at, nbytes); }

    std::unique_ptr<tla_slice_owner, void (*)(tla_slice_owner *)> owner{nullptr, tla_slice_owner_destroy};
    std::vector<std::map<std::uint64_t, std::uint64_t>> blocks; // of each slice
    std::function<tla_status(unsigned, const tla_command &)> refuse = [](unsigned, const tla_command &) {
        return TLA_OK;
    };
    std::unique_ptr<tla_command> command = std::make_unique<tla_command>();
    tla_work work{};
    std::uint32_t requests = 0;
    unsigned rounds = 0;
};

} // namespace slice_owner_bench

#endif
