// Random operations on an arena and on the plain reference of its policy; the first difference is shrunk to a short
// case.
#ifndef TLMALLOC_TESTS_PLACEMENT_DIFFERENTIAL_HPP
#define TLMALLOC_TESTS_PLACEMENT_DIFFERENTIAL_HPP

#include "placement_reference.hpp"
#include "seeded_random.hpp"

#include <optional>
#include <sstream>
#include <string>
#include <vector>

// Numbers that any state can take, so that a sequence stays valid when operations are left out: a live block is named
// by a number modulo how many there are, an offset by a number modulo the capacity.
struct placement_op {
    enum kind_type { alloc, alloc_aligned, give_back, free_again, reserve, grow, contiguous, carved, free_batch } kind;
    std::uint64_t nbytes, which, alignment, n;
};

inline std::string to_text(const placement_op &op) {
    static const char *const names[] = {"alloc", "alloc_aligned", "free",   "free_again", "reserve",
                                        "grow",  "contiguous",    "carved", "free_batch"};
    std::ostringstream text;
    text << names[op.kind] << " nbytes=" << op.nbytes << " which=" << op.which << " alignment=" << op.alignment
         << " n=" << op.n;
    return text.str();
}

inline std::string to_text(const tla_work &w) {
    std::ostringstream text;
    text << "nodes=" << w.nodes_visited << " insert=" << w.insert_nodes << " probes=" << w.probes
         << " searches=" << w.bin_searches << " splits=" << w.splits << " merges=" << w.merges
         << " length=" << w.list_length << " allocs=" << w.allocs << " frees=" << w.frees
         << " created=" << w.nodes_created << " released=" << w.nodes_released;
    return text.str();
}

inline std::string to_text(tla_block block) {
    return std::to_string(block.nbytes) + " at " + std::to_string(block.offset);
}

inline std::string to_text(const std::vector<tla_block> &blocks) {
    std::string text;
    for (tla_block block : blocks)
        text += "[" + to_text(block) + "]";
    return text;
}

class placement_differential {
  public:
    placement_differential(const tla_arena_config &c, reference_maker make) : config(c) {
        BOOST_REQUIRE_EQUAL(tla_arena_create(&config, &arena), TLA_OK);
        config = tla_arena_get_config(arena);
        reference = make(config);
        tla_work ignored{};
        reference->add({config.base, config.capacity}, ignored);
        largest_capacity = 2 * config.capacity;
    }
    ~placement_differential() { tla_arena_destroy(arena); }
    placement_differential(const placement_differential &) = delete;
    placement_differential &operator=(const placement_differential &) = delete;

    // What differs after an operation; empty when nothing does.
    std::string apply(const placement_op &op) {
        tla_work expected{}, got{};
        std::string difference;
        switch (op.kind) {
        case placement_op::alloc:
            difference = alloc(op.nbytes, config.alignment, expected, got);
            break;
        case placement_op::alloc_aligned:
            difference = alloc(op.nbytes, op.alignment, expected, got);
            break;
        case placement_op::give_back:
            difference = free(op.which, expected, got);
            break;
        case placement_op::free_again:
            difference = free_again(op.which, op.nbytes, got);
            break;
        case placement_op::reserve:
            difference = reserve(op.which, op.nbytes, expected, got);
            break;
        case placement_op::grow:
            difference = grow(op.nbytes, expected, got);
            break;
        case placement_op::contiguous:
            difference = contiguous(op.nbytes, op.n, expected, got);
            break;
        case placement_op::carved:
            difference = carved(op.nbytes, op.n, expected, got);
            break;
        case placement_op::free_batch:
            difference = free_batch(op.which, op.n);
            break;
        }
        if (difference.empty() && to_text(expected) != to_text(got))
            difference = "receipt: expected " + to_text(expected) + ", got " + to_text(got);
        const tla_arena_stats stats = tla_arena_get_stats(arena);
        peak = std::max(peak, stats.used); // what an observer of every call has seen
        if (difference.empty() && stats.peak_used != peak)
            difference = "peak: expected " + std::to_string(peak) + ", got " + std::to_string(stats.peak_used);
        return difference;
    }

    // Everything that can be looked at. O(n).
    std::string state() const {
        std::vector<tla_block> expected = reference->free_blocks(), got(expected.size() + 1);
        got.resize(tla_arena_free_blocks(arena, 0, got.data(), got.size()));
        if (to_text(expected) != to_text(got))
            return "free blocks: expected " + to_text(expected) + ", got " + to_text(got);
        std::uint64_t free = 0, largest = 0, used = 0;
        for (std::size_t i = 0; i < got.size(); i++) {
            free += got[i].nbytes;
            largest = std::max(largest, got[i].nbytes);
            if (config.policy == TLA_BUDDY || i == 0) continue;
            if (end_of(got[i - 1]) >= got[i].offset) return "two neighbours left apart: " + to_text(got);
        }
        for (tla_block block : live)
            used += block.nbytes;
        tla_arena_stats stats = tla_arena_get_stats(arena);
        if (free + used != config.capacity || stats.used != used || stats.free != free ||
            stats.largest_free != largest || stats.free_blocks != got.size() || stats.capacity != config.capacity)
            return "sums do not match";
        tla_error error{};
        if (tla_arena_check(arena, &error) != TLA_OK) return error.text;
        if (got.empty()) return "";
        tla_block middle = got[got.size() / 2], one[2];
        std::size_t some = tla_arena_free_blocks(arena, middle.offset, one, 2);
        if (some < 1 || one[0].offset != middle.offset) return "the free blocks from " + to_text(middle) + " on";
        return "";
    }

    std::size_t free_block_count() const { return tla_arena_get_stats(arena).free_blocks; }

  private:
    static std::string statuses(tla_status expected, tla_status got) {
        if (expected == got) return "";
        return std::string("expected ") + tla_status_name(expected) + ", got " + tla_status_name(got);
    }
    static std::string blocks(tla_block expected, tla_block got) {
        if (expected.offset == got.offset && expected.nbytes == got.nbytes) return "";
        return "expected " + to_text(expected) + ", got " + to_text(got);
    }
    std::uint64_t rounded(std::uint64_t nbytes) const {
        return (nbytes + config.alignment - 1) / config.alignment * config.alignment;
    }
    std::uint64_t granted(std::uint64_t nbytes) const { return reference->granted(rounded(nbytes)); }
    std::uint64_t free_bytes() const { return tla_arena_get_stats(arena).free; }
    tla_status no_fit(std::uint64_t nbytes) const { return free_bytes() < nbytes ? TLA_EXHAUSTED : TLA_FRAGMENTED; }

    std::string alloc(std::uint64_t nbytes, std::uint64_t alignment, tla_work &expected, tla_work &got) {
        alignment = std::max(alignment, config.alignment);
        tla_block block{};
        if (alignment > config.alignment && reference->has_regions())
            return statuses(TLA_UNSUPPORTED, tla_arena_alloc_aligned(arena, nbytes, alignment, &block, &got));
        auto wanted = reference->alloc(granted(nbytes), alignment, expected);
        tla_status status = wanted ? TLA_OK : no_fit(nbytes);
        std::string difference = statuses(status, tla_arena_alloc_aligned(arena, nbytes, alignment, &block, &got));
        if (difference.empty() && wanted) {
            difference = blocks(*wanted, block);
            live.push_back(block);
        }
        return difference;
    }

    std::string free(std::uint64_t which, tla_work &expected, tla_work &got) {
        if (live.empty()) return "";
        tla_block block = take_live(which);
        tla_status status = reference->free(block, expected);
        return statuses(status, tla_arena_free(arena, block, &got));
    }

    // A free of something of which a byte is free already.
    std::string free_again(std::uint64_t which, std::uint64_t nbytes, tla_work &got) {
        tla_block range{config.base + which % config.capacity / config.alignment * config.alignment, granted(nbytes)};
        bool is_free = false;
        for (tla_block block : reference->free_blocks())
            is_free |= overlap(block, range);
        if (!is_free || end_of(range) > config.base + config.capacity) return "";
        return statuses(TLA_NOT_ALLOCATED, tla_arena_free(arena, range, &got));
    }

    std::string reserve(std::uint64_t which, std::uint64_t nbytes, tla_work &expected, tla_work &got) {
        tla_block range{config.base + which % config.capacity / config.alignment * config.alignment, granted(nbytes)};
        if (end_of(range) > config.base + config.capacity) return "";
        tla_status status = reference->reserve(range, expected);
        if (status == TLA_OK) live.push_back(range);
        return statuses(status, tla_arena_reserve(arena, range, &got));
    }

    std::string grow(std::uint64_t nbytes, tla_work &expected, tla_work &got) {
        if (config.capacity + rounded(nbytes) > largest_capacity) return "";
        reference->add({config.base + config.capacity, rounded(nbytes)}, expected);
        tla_status status = tla_arena_grow(arena, nbytes, &got);
        config = tla_arena_get_config(arena);
        return statuses(TLA_OK, status);
    }

    // One search for all; what rounding the whole adds goes back. Refused, it costs the search.
    std::string contiguous(std::uint64_t nbytes, std::uint64_t n, tla_work &work, tla_work &receipt) {
        std::uint64_t each = granted(nbytes), total = each * n, whole = granted(total);
        std::vector<tla_block> expected, got(n);
        tla_status status = TLA_OK;
        if (reference->has_regions() && n > 1) {
            status = TLA_UNSUPPORTED;
        } else if (auto block = reference->alloc(whole, config.alignment, work)) {
            for (std::uint64_t i = 0; i < n; i++)
                expected.push_back({block->offset + i * each, each});
            if (whole > total) reference->add({block->offset + total, whole - total}, work);
        } else {
            status = no_fit(nbytes * n);
        }
        return batch(status, expected, got, nbytes, TLA_BATCH_CONTIGUOUS, receipt);
    }

    // Item by item; first fit does it in one walk. Refused, it costs a search in vain for an item.
    std::string carved(std::uint64_t nbytes, std::uint64_t n, tla_work &work, tla_work &receipt) {
        std::uint64_t each = granted(nbytes);
        tla_work searches{}, last{};
        std::vector<tla_block> expected, got(n);
        auto trial = reference->clone();
        for (std::uint64_t i = 0; i < n; i++)
            if (auto block = trial->alloc(each, config.alignment, searches))
                expected.push_back(*block);
            else
                trial->alloc(each, config.alignment, last = {});
        if (expected.size() < n) {
            work = reference->in_vain(each, last);
        } else if (config.policy != TLA_FIRST_FIT) {
            work = searches;
        }
        tla_status status = TLA_OK;
        if (expected.size() == n)
            reference = std::move(trial);
        else
            status = no_fit(nbytes * n);
        const std::string difference = batch(status, expected, got, nbytes, TLA_BATCH_CARVED, receipt);
        if (expected.size() == n && config.policy == TLA_FIRST_FIT) work = receipt; // arena_differential_test knows it
        return difference;
    }

    std::string batch(tla_status status, const std::vector<tla_block> &expected, std::vector<tla_block> &got,
                      std::uint64_t nbytes, tla_batch kind, tla_work &work) {
        std::string difference =
            statuses(status, tla_arena_alloc_batch(arena, nbytes, got.size(), kind, got.data(), &work));
        if (!difference.empty() || status) return difference;
        live.insert(live.end(), got.begin(), got.end());
        return to_text(expected) == to_text(got) ? "" : "expected " + to_text(expected) + ", got " + to_text(got);
    }

    // Neighbours go as one run, where the engine does not know blocks.
    std::string free_batch(std::uint64_t which, std::uint64_t n) {
        std::vector<tla_block> some;
        while (some.size() < n && !live.empty())
            some.push_back(take_live(which));
        const bool joins = config.policy != TLA_BUDDY && !reference->has_regions();
        auto sorted = some;
        std::sort(sorted.begin(), sorted.end(), [](tla_block a, tla_block b) { return a.offset < b.offset; });
        tla_work ignored{};
        for (std::size_t i = 0; i < sorted.size();) {
            tla_block run = sorted[i++];
            while (i < sorted.size() && joins && sorted[i].offset == end_of(run))
                run.nbytes += sorted[i++].nbytes;
            reference->free(run, ignored);
        }
        return statuses(TLA_OK, tla_arena_free_batch(arena, some.data(), some.size(), &ignored));
    }

    tla_block take_live(std::uint64_t which) {
        std::size_t i = which % live.size();
        tla_block block = live[i];
        live[i] = live.back();
        live.pop_back();
        return block;
    }

    tla_arena_config config;
    tla_arena *arena = nullptr;
    std::unique_ptr<placement_reference> reference;
    std::vector<tla_block> live;
    std::uint64_t peak = 0; // of the bytes in use after every operation
    std::uint64_t largest_capacity;
};

struct placement_case {
    tla_arena_config config;
    reference_maker reference;
    std::vector<placement_op> ops;
};

struct placement_difference {
    std::size_t step;
    std::string text;
};

// Looks at the whole state after every step while few blocks are free, else every 64 steps, and at the end.
inline std::optional<placement_difference> first_difference(const placement_case &c) {
    placement_differential both(c.config, c.reference);
    for (std::size_t i = 0; i < c.ops.size(); i++) {
        std::string text = both.apply(c.ops[i]);
        if (text.empty() && (both.free_block_count() < 16 || i % 64 == 0 || i + 1 == c.ops.size())) text = both.state();
        if (!text.empty()) return placement_difference{i, text};
    }
    return std::nullopt;
}

// Leaves out ever smaller pieces for as long as a difference remains (Zeller's ddmin, without the complements).
inline placement_case shrink(placement_case c, std::size_t attempts = 3000) {
    if (auto difference = first_difference(c)) c.ops.resize(difference->step + 1);
    for (std::size_t piece = c.ops.size() / 2; piece > 0; piece /= 2)
        for (std::size_t at = 0; at < c.ops.size() && attempts > 0; attempts--) {
            placement_case shorter = c;
            auto from = shorter.ops.begin() + static_cast<std::ptrdiff_t>(at);
            shorter.ops.erase(from, from + static_cast<std::ptrdiff_t>(std::min(piece, c.ops.size() - at)));
            if (auto difference = first_difference(shorter)) {
                shorter.ops.resize(difference->step + 1);
                c = shorter;
            } else {
                at += piece;
            }
        }
    return c;
}

inline std::string report(const placement_case &c) {
    std::ostringstream text;
    text << tla_policy_name(c.config.policy) << ", base " << c.config.base << ", capacity " << c.config.capacity
         << ", alignment " << c.config.alignment << ":";
    for (const placement_op &op : c.ops)
        text << "\n  " << to_text(op);
    if (auto difference = first_difference(c)) text << "\n  " << difference->text;
    return text.str();
}

// What the random operations of one arena are like.
struct placement_scenario {
    std::uint64_t base, capacity, alignment, largest_size;
};

inline std::vector<placement_op> random_ops(seeded_random &random, const placement_scenario &s, std::size_t count) {
    std::vector<placement_op> ops;
    bool filling = true;
    while (ops.size() < count) {
        if (random.one_in(200)) filling = !filling;
        std::uint64_t limit = std::uint64_t{1} << random.between(0, 63); // small sizes are as likely as large ones
        std::uint64_t nbytes = random.between(1, std::min(limit, s.largest_size));
        placement_op op{placement_op::alloc, nbytes, random.between(0, UINT32_MAX), 1, 1};
        std::uint64_t choice = random.between(0, 99);
        if (choice < 2) {
            op.kind = placement_op::free_again;
        } else if (choice < 4) {
            op.kind = placement_op::reserve;
        } else if (choice < 8) {
            op.kind = placement_op::alloc_aligned;
            op.alignment = std::uint64_t{1} << random.between(0, 12);
        } else if (choice < 10) {
            op.kind = random.one_in(2) ? placement_op::contiguous : placement_op::carved;
            op.n = random.between(1, 6);
        } else if (choice < 12) {
            op.kind = placement_op::free_batch;
            op.n = random.between(1, 12);
        } else if (choice == 12 && random.one_in(50)) {
            op.kind = placement_op::grow;
        } else if (choice < (filling ? 45u : 65u)) {
            op.kind = placement_op::give_back;
        }
        ops.push_back(op);
    }
    return ops;
}

// A million operations: few and many blocks, small and large alignment, an odd range high up.
inline void check_against_reference(tla_policy policy, std::uint64_t seed, reference_maker make = make_reference) {
    seeded_random random(seed);
    const placement_scenario scenarios[] = {
        {0, 4096, 1, 300},
        {0, 1 << 15, 1, 64},
        {1 << 12, 1 << 20, 64, 1 << 15},
        {(std::uint64_t{1} << 62) + 12345, 1000001, 1, 50000},
    };
    for (const auto &s : scenarios) {
        tla_arena_config config{};
        config.base = s.base;
        config.capacity = s.capacity;
        config.policy = policy;
        config.alignment = s.alignment;
        placement_case c{config, make, random_ops(random, s, 250000)};
        if (first_difference(c)) {
            BOOST_FAIL(report(shrink(c)));
            return;
        }
    }
}

#endif
