// Every placement policy again, by plain loops over plain lists: slow, and short enough to be seen to be right. What
// the library does is compared with these, receipts included (placement_differential.hpp).
#ifndef TLMALLOC_TESTS_PLACEMENT_REFERENCE_HPP
#define TLMALLOC_TESTS_PLACEMENT_REFERENCE_HPP

#include "offset_bins_model.hpp"
#include "tlmalloc/arena/arena.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

class placement_reference {
  public:
    virtual ~placement_reference() = default;
    virtual std::unique_ptr<placement_reference> clone() const = 0;
    virtual std::uint64_t granted(std::uint64_t nbytes) const { return nbytes; }
    // The block that is taken, none when nothing fits; the receipt is added to.
    virtual std::optional<tla_block> alloc(std::uint64_t nbytes, std::uint64_t alignment, tla_work &work) = 0;
    virtual tla_status reserve(tla_block range, tla_work &work) = 0;
    virtual tla_status free(tla_block range, tla_work &work) = 0;
    virtual void add(tla_block range, tla_work &work) = 0;  // a range that was never allocated
    virtual std::vector<tla_block> free_blocks() const = 0; // in offset order
    // Whether blocks are released as they were allocated, at multiples of the arena's alignment and of no other.
    virtual bool has_regions() const { return false; }
    // The receipt of a search that finds nothing, after a batch whose last search had this receipt.
    virtual tla_work in_vain(std::uint64_t nbytes, const tla_work &last) const = 0;
};

inline std::uint64_t end_of(tla_block block) {
    return block.offset + block.nbytes;
}

inline bool overlap(tla_block a, tla_block b) {
    return a.offset < end_of(b) && b.offset < end_of(a);
}

inline bool inside(tla_block part, tla_block whole) {
    return part.offset >= whole.offset && end_of(part) <= end_of(whole);
}

// Probes of Python's bisect_left on a list of offsets.
inline std::uint64_t bisect_left_probes(const std::vector<tla_block> &list, std::uint64_t offset) {
    std::uint64_t probes = 0;
    for (std::size_t low = 0, high = list.size(); low < high; probes++) {
        std::size_t middle = (low + high) / 2;
        if (list[middle].offset < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return probes;
}

// The lowest (or with from_top the highest) aligned range in a block.
inline std::optional<tla_block> aligned_part(tla_block block, std::uint64_t nbytes, std::uint64_t alignment,
                                             bool from_top = false) {
    if (block.nbytes < nbytes) return std::nullopt;
    std::uint64_t offset = from_top ? (end_of(block) - nbytes) / alignment * alignment
                                    : (block.offset + alignment - 1) / alignment * alignment;
    tla_block part{offset, nbytes};
    if (!inside(part, block)) return std::nullopt;
    return part;
}

// The policies whose free blocks are a list in offset order. A policy that is not in the library derives from it, in
// its own test, and overrides `choose` and `clone`.
class list_reference : public placement_reference {
  public:
    list_reference(tla_policy which, std::uint64_t base) : policy(which), pointer(base) {}
    std::unique_ptr<placement_reference> clone() const override { return std::make_unique<list_reference>(*this); }
    std::vector<tla_block> free_blocks() const override { return list; }

    std::optional<tla_block> alloc(std::uint64_t nbytes, std::uint64_t alignment, tla_work &work) override {
        work.list_length += list.size();
        std::uint64_t visited = 0;
        std::size_t chosen = choose(nbytes, alignment, visited);
        work.nodes_visited += visited;
        if (chosen == list.size()) return std::nullopt;
        auto part = aligned_part(list[chosen], nbytes, alignment, policy == TLA_FIRST_FIT_TOP);
        cut(chosen, *part, work);
        if (policy == TLA_NEXT_FIT) pointer = end_of(*part);
        return part;
    }

    tla_status reserve(tla_block range, tla_work &work) override {
        for (std::size_t i = 0; i < list.size(); i++)
            if (inside(range, list[i])) {
                work.list_length += list.size();
                work.nodes_visited += policy == TLA_FIRST_FIT_TOP ? list.size() - i : i + 1;
                cut(i, range, work);
                return TLA_OK;
            }
        return TLA_OVERLAP;
    }

    tla_status free(tla_block range, tla_work &work) override {
        for (tla_block block : list)
            if (overlap(block, range)) return TLA_NOT_ALLOCATED;
        std::size_t at = 0;
        while (at < list.size() && list[at].offset < range.offset)
            at++;
        work.list_length += list.size();
        work.insert_nodes += policy == TLA_FIRST_FIT_TOP ? list.size() - at : at;
        work.probes += bisect_left_probes(list, range.offset);
        const std::size_t before = list.size();
        list.insert(list.begin() + static_cast<std::ptrdiff_t>(at), range);
        if (at + 1 < list.size() && end_of(list[at]) == list[at + 1].offset) join(at, work);
        if (at > 0 && end_of(list[at - 1]) == list[at].offset) join(--at, work);
        if (list[at].offset < pointer && pointer < end_of(list[at])) pointer = list[at].offset;
        work.frees++;
        work.nodes_created += list.size() > before;
        work.nodes_released += list.size() < before;
        return TLA_OK;
    }

    void add(tla_block range, tla_work &work) override { free(range, work); }

    tla_work in_vain(std::uint64_t, const tla_work &) const override {
        tla_work work{};
        work.nodes_visited = work.list_length = list.size();
        return work;
    }

  protected:
    bool fits(std::size_t i, std::uint64_t nbytes, std::uint64_t alignment) const {
        return aligned_part(list[i], nbytes, alignment, policy == TLA_FIRST_FIT_TOP).has_value();
    }

    // The position of the block that is taken, list.size() if no block fits. Adds the nodes that the walk visits.
    virtual std::size_t choose(std::uint64_t nbytes, std::uint64_t alignment, std::uint64_t &visited) const {
        std::size_t n = list.size(), best = n, start = 0;
        switch (policy) {
        case TLA_NEXT_FIT:
            while (start < n && list[start].offset < pointer)
                start++;
            for (std::size_t step = 0; step < n; step++) {
                visited++;
                if (fits((start + step) % n, nbytes, alignment)) return (start + step) % n;
            }
            return n;
        case TLA_BEST_FIT:
            for (std::size_t i = 0; i < n; i++) {
                visited++;
                if (!fits(i, nbytes, alignment)) continue;
                if (list[i].nbytes == nbytes) return i;
                if (best == n || list[i].nbytes < list[best].nbytes) best = i;
            }
            return best;
        case TLA_WORST_FIT:
            for (std::size_t i = 0; i < n; i++) {
                visited++;
                if (fits(i, nbytes, alignment) && (best == n || list[i].nbytes > list[best].nbytes)) best = i;
            }
            return best;
        case TLA_FIRST_FIT_TOP:
            for (std::size_t i = n; i-- > 0;) {
                visited++;
                if (fits(i, nbytes, alignment)) return i;
            }
            return n;
        default:
            for (std::size_t i = 0; i < n; i++) {
                visited++;
                if (fits(i, nbytes, alignment)) return i;
            }
            return n;
        }
    }

    std::vector<tla_block> list;

  private:
    void cut(std::size_t i, tla_block part, tla_work &work) {
        tla_block whole = list[i], front{whole.offset, part.offset - whole.offset},
                  back{end_of(part), end_of(whole) - end_of(part)};
        auto at = list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
        for (tla_block rest : {back, front})
            if (rest.nbytes) {
                at = list.insert(at, rest);
                work.splits++;
            }
        work.allocs++;
        work.nodes_released += front.nbytes == 0 && back.nbytes == 0;
        work.nodes_created += front.nbytes > 0 && back.nbytes > 0;
    }

    void join(std::size_t i, tla_work &work) {
        list[i].nbytes += list[i + 1].nbytes;
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        work.merges++;
    }

    tla_policy policy;
    std::uint64_t pointer; // of next fit; the others do not look at it
};

// Policies that keep lists by size: the free blocks in the order in which they became free, the newest last.
class stacked_reference : public placement_reference {
  public:
    std::vector<tla_block> free_blocks() const override {
        auto sorted = stack;
        std::sort(sorted.begin(), sorted.end(), [](tla_block a, tla_block b) { return a.offset < b.offset; });
        return sorted;
    }

    tla_work in_vain(std::uint64_t, const tla_work &last) const override {
        tla_work work{};
        work.list_length = stack.size();
        work.probes = last.probes;
        return work;
    }

  protected:
    bool touches(tla_block range) const {
        return std::any_of(stack.begin(), stack.end(), [&](tla_block block) { return overlap(block, range); });
    }
    // The newest block that satisfies a condition; stack.size() when none does.
    template <class Condition>
    std::size_t newest(Condition condition) const {
        for (std::size_t i = stack.size(); i-- > 0;)
            if (condition(stack[i])) return i;
        return stack.size();
    }
    tla_block pull(std::size_t i) {
        tla_block block = stack[i];
        stack.erase(stack.begin() + static_cast<std::ptrdiff_t>(i));
        return block;
    }
    std::vector<tla_block> stack;
};

class tlsf_reference : public stacked_reference {
  public:
    explicit tlsf_reference(std::uint64_t arena_alignment) : granule(arena_alignment) {}
    std::unique_ptr<placement_reference> clone() const override { return std::make_unique<tlsf_reference>(*this); }

    std::optional<tla_block> alloc(std::uint64_t nbytes, std::uint64_t alignment, tla_work &work) override {
        work.list_length += stack.size();
        auto wanted = size_class(nbytes + alignment - granule);
        if (wanted.lower_bound < nbytes + alignment - granule) wanted = size_class(wanted.upper_bound);
        // the lowest class from there on that holds a block, and in it the newest block
        std::optional<range_of_sizes> best;
        for (tla_block block : stack) {
            auto other = size_class(block.nbytes);
            if (other.lower_bound >= wanted.lower_bound && (!best || other.lower_bound < best->lower_bound))
                best = other;
        }
        if (!best) {
            work.probes += 2;
            return std::nullopt;
        }
        work.probes += best->power == wanted.power ? 1u : 3u;
        work.nodes_visited++;
        tla_block whole =
            pull(newest([&](tla_block b) { return size_class(b.nbytes).lower_bound == best->lower_bound; }));
        auto part = aligned_part(whole, nbytes, alignment);
        put_rest(whole, *part, work);
        return part;
    }

    tla_status reserve(tla_block range, tla_work &work) override {
        auto sorted = free_blocks();
        for (std::size_t i = 0; i < sorted.size(); i++)
            if (inside(range, sorted[i])) {
                work.list_length += stack.size();
                work.nodes_visited += i + 1;
                put_rest(pull(newest([&](tla_block b) { return b.offset == sorted[i].offset; })), range, work);
                return TLA_OK;
            }
        return TLA_OVERLAP;
    }

    tla_status free(tla_block range, tla_work &work) override {
        if (touches(range)) return TLA_NOT_ALLOCATED;
        work.list_length += stack.size();
        const std::size_t before = stack.size();
        std::size_t i = newest([&](tla_block b) { return end_of(b) == range.offset; });
        if (i < stack.size()) {
            range = {stack[i].offset, stack[i].nbytes + range.nbytes};
            pull(i);
            work.merges++;
        }
        i = newest([&](tla_block b) { return b.offset == end_of(range); });
        if (i < stack.size()) {
            range.nbytes += stack[i].nbytes;
            pull(i);
            work.merges++;
        }
        stack.push_back(range);
        work.frees++;
        work.nodes_created += stack.size() > before;
        work.nodes_released += stack.size() < before;
        return TLA_OK;
    }

    void add(tla_block range, tla_work &work) override { free(range, work); }

  private:
    struct range_of_sizes {
        std::uint64_t power, lower_bound, upper_bound;
    };
    // Every power of two from 32 on in 32 equal classes; below, a class for every size.
    static range_of_sizes size_class(std::uint64_t nbytes) {
        if (nbytes < 32) return {0, nbytes, nbytes + 1};
        std::uint64_t power = 32;
        while (power <= nbytes / 2)
            power *= 2;
        std::uint64_t width = power / 32, index = (nbytes - power) / width;
        return {power, power + index * width, power + (index + 1) * width};
    }
    void put_rest(tla_block whole, tla_block part, tla_work &work) {
        unsigned rests = 0;
        for (tla_block rest : {tla_block{whole.offset, part.offset - whole.offset},
                               tla_block{end_of(part), end_of(whole) - end_of(part)}})
            if (rest.nbytes) {
                stack.push_back(rest);
                rests++;
            }
        work.allocs++;
        work.splits += rests;
        work.nodes_released += rests == 0;
        work.nodes_created += rests == 2;
    }
    std::uint64_t granule;
};

class buddy_reference : public stacked_reference {
  public:
    std::unique_ptr<placement_reference> clone() const override { return std::make_unique<buddy_reference>(*this); }

    std::uint64_t granted(std::uint64_t nbytes) const override {
        std::uint64_t size = 1;
        while (size < nbytes)
            size *= 2;
        return size;
    }

    std::optional<tla_block> alloc(std::uint64_t nbytes, std::uint64_t alignment, tla_work &work) override {
        work.list_length += stack.size();
        for (std::uint64_t size = std::max(nbytes, alignment); size <= largest_possible; size *= 2) {
            work.probes++;
            std::size_t i = newest([&](tla_block b) { return b.nbytes == size; });
            if (i == stack.size()) continue;
            work.nodes_visited++;
            tla_block block = pull(i);
            halve(block, {block.offset, nbytes}, work);
            return tla_block{block.offset, nbytes};
        }
        return std::nullopt;
    }

    tla_status reserve(tla_block range, tla_work &work) override {
        if (range.offset % range.nbytes) return TLA_UNSUPPORTED;
        for (std::uint64_t size = range.nbytes, probes = 1; size <= largest_possible; size *= 2, probes++) {
            std::size_t i = newest([&](tla_block b) { return b.nbytes == size && inside(range, b); });
            if (i == stack.size()) continue;
            work.list_length += stack.size();
            work.nodes_visited++;
            work.probes += probes;
            halve(pull(i), range, work);
            return TLA_OK;
        }
        return TLA_OVERLAP;
    }

    tla_status free(tla_block range, tla_work &work) override {
        if (range.offset % range.nbytes || touches(range)) return TLA_NOT_ALLOCATED;
        work.list_length += stack.size();
        file(range, work);
        work.frees++;
        return TLA_OK;
    }

    // The largest aligned power of two that the range begins with, again and again.
    void add(tla_block range, tla_work &work) override {
        low = std::min(low, range.offset);
        high = std::max(high, end_of(range));
        for (std::uint64_t size = 1; size <= high - low; size *= 2)
            if ((low + size - 1) / size * size + size <= high) largest_possible = size;
        work.list_length += stack.size();
        while (range.nbytes) {
            std::uint64_t size = 1;
            while (range.offset % (2 * size) == 0 && 2 * size <= range.nbytes)
                size *= 2;
            file({range.offset, size}, work);
            range = {range.offset + size, range.nbytes - size};
        }
    }

  private:
    void halve(tla_block block, tla_block part, tla_work &work) {
        work.allocs++;
        while (block.nbytes > part.nbytes) {
            tla_block lower{block.offset, block.nbytes / 2}, upper{block.offset + block.nbytes / 2, block.nbytes / 2};
            bool in_lower = inside(part, lower);
            stack.push_back(in_lower ? upper : lower);
            block = in_lower ? lower : upper;
            work.splits++;
        }
    }
    void file(tla_block block, tla_work &work) {
        while (block.nbytes < largest_possible) {
            std::uint64_t pair = block.offset / (2 * block.nbytes) * (2 * block.nbytes);
            std::uint64_t buddy = block.offset == pair ? pair + block.nbytes : pair;
            work.probes++;
            std::size_t i = newest([&](tla_block b) { return b.offset == buddy && b.nbytes == block.nbytes; });
            if (i == stack.size()) break;
            pull(i);
            block = {pair, 2 * block.nbytes};
            work.merges++;
        }
        stack.push_back(block);
    }
    std::uint64_t low = UINT64_MAX, high = 0, largest_possible = 1;
};

class offset_bins_reference : public placement_reference {
  public:
    offset_bins_reference(std::uint64_t unit, bool rounds) : model(unit, rounds) {}
    std::unique_ptr<placement_reference> clone() const override {
        return std::make_unique<offset_bins_reference>(*this);
    }
    bool has_regions() const override { return true; }
    std::uint64_t granted(std::uint64_t nbytes) const override { return model.granted(nbytes); }
    std::vector<tla_block> free_blocks() const override { return model.free_regions(); }

    std::optional<tla_block> alloc(std::uint64_t nbytes, std::uint64_t, tla_work &work) override {
        return model.alloc(nbytes, work);
    }
    tla_status reserve(tla_block, tla_work &) override { return TLA_UNSUPPORTED; }
    tla_status free(tla_block range, tla_work &work) override {
        model.free(range.offset, work);
        return TLA_OK;
    }
    void add(tla_block range, tla_work &work) override { model.add(range, work); }

    tla_work in_vain(std::uint64_t nbytes, const tla_work &) const override {
        tla_work work{};
        model.search_in_vain(nbytes, work);
        return work;
    }

  private:
    offset_bins_model model;
};

// Makes a policy's reference without a free block.
using reference_maker = std::unique_ptr<placement_reference> (*)(const tla_arena_config &config);

inline std::unique_ptr<placement_reference> make_reference(const tla_arena_config &config) {
    if (config.policy == TLA_BUDDY) return std::make_unique<buddy_reference>();
    if (config.policy == TLA_TLSF) return std::make_unique<tlsf_reference>(config.alignment ? config.alignment : 1);
    if (config.policy == TLA_OFFSET_BINS || config.policy == TLA_OFFSET_BINS_ROUNDED)
        return std::make_unique<offset_bins_reference>(config.alignment, config.policy == TLA_OFFSET_BINS_ROUNDED);
    return std::make_unique<list_reference>(config.policy, config.base);
}

#endif
