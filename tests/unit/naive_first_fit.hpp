// ADR-0048 D1 as it is written: a list of (offset, size), sorted by offset, scanned from the front. The reference of
// the differential tests; as plain as can be.
#pragma once
#include "tlmalloc/arena/arena.h"

#include <algorithm>
#include <vector>

class naive_first_fit {
  public:
    explicit naive_first_fit(const tla_arena_config &config)
        : base(config.base), capacity(config.capacity), alignment(std::max<uint64_t>(config.alignment, 1)) {
        if (capacity) list.push_back({base, capacity});
    }

    uint64_t base, capacity, alignment, used = 0, peak_used = 0;
    std::vector<tla_block> list;

    uint64_t round(uint64_t nbytes) const { return (nbytes + alignment - 1) / alignment * alignment; }

    tla_status alloc(uint64_t nbytes, uint64_t align, tla_block &block, tla_work &work) {
        const uint64_t asked = nbytes;
        nbytes = round(nbytes);
        align = std::max(align, alignment);
        work.list_length += list.size();
        for (std::size_t i = 0; i < list.size(); i++) {
            work.nodes_visited++;
            uint64_t start = (list[i].offset + align - 1) / align * align;
            if (start + nbytes > list[i].offset + list[i].nbytes) continue;
            block = {start, nbytes};
            take(i, block, work);
            return TLA_OK;
        }
        return no_fit(asked);
    }

    // LMCache's AddressManager.batched_allocate since PR #2767: one walk, edits collected, committed when all were
    // found.
    tla_status carve(uint64_t nbytes, std::size_t n, std::vector<tla_block> &blocks, tla_work &work) {
        blocks.clear();
        if (n == 0) return TLA_OK;
        const uint64_t asked = n * nbytes;
        nbytes = round(nbytes);
        work.list_length += list.size();
        std::vector<tla_block> after;
        uint64_t splits = 0, visited = 0, gone = 0;
        for (const tla_block &hole : list) {
            if (blocks.size() == n) {
                after.push_back(hole);
                continue;
            }
            visited++;
            uint64_t items = std::min<uint64_t>(n - blocks.size(), hole.nbytes / nbytes), taken = items * nbytes;
            for (uint64_t i = 0; i < items; i++)
                blocks.push_back({hole.offset + i * nbytes, nbytes});
            if (taken < hole.nbytes) after.push_back({hole.offset + taken, hole.nbytes - taken});
            splits += items > 0 && taken < hole.nbytes;
            gone += taken == hole.nbytes;
        }
        work.nodes_visited += visited;
        if (blocks.size() < n) {
            blocks.clear();
            return no_fit(asked);
        }
        list = after;
        work.allocs += n;
        work.splits += splits;
        work.nodes_released += gone;
        count(n * nbytes);
        return TLA_OK;
    }

    tla_status reserve(tla_block block, tla_work &work) {
        block.nbytes = round(block.nbytes);
        for (std::size_t i = 0; i < list.size(); i++)
            if (list[i].offset <= block.offset && block.offset + block.nbytes <= list[i].offset + list[i].nbytes) {
                work.nodes_visited += i + 1;
                work.list_length += list.size();
                take(i, block, work);
                return TLA_OK;
            }
        return TLA_OVERLAP;
    }

    tla_status free(tla_block block, tla_work &work) {
        block.nbytes = round(block.nbytes);
        for (const tla_block &hole : list)
            if (block.offset < hole.offset + hole.nbytes && hole.offset < block.offset + block.nbytes)
                return TLA_NOT_ALLOCATED;
        used -= block.nbytes;
        put(block, work);
        return TLA_OK;
    }

    void grow(uint64_t nbytes, tla_work &work) {
        nbytes = round(nbytes);
        put({base + capacity, nbytes}, work);
        capacity += nbytes;
    }

    // Of a request of nbytes, as it was asked for.
    tla_status no_fit(uint64_t nbytes) const { return capacity - used < nbytes ? TLA_EXHAUSTED : TLA_FRAGMENTED; }

  private:
    void count(uint64_t nbytes) {
        used += nbytes;
        peak_used = std::max(peak_used, used);
    }

    void take(std::size_t i, tla_block part, tla_work &work) {
        tla_block hole = list[i];
        uint64_t end = part.offset + part.nbytes, hole_end = hole.offset + hole.nbytes;
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
        auto at = list.begin() + static_cast<std::ptrdiff_t>(i);
        if (end < hole_end) at = list.insert(at, {end, hole_end - end});
        if (hole.offset < part.offset) list.insert(at, {hole.offset, part.offset - hole.offset});
        work.allocs++;
        work.splits += uint64_t{end < hole_end} + uint64_t{hole.offset < part.offset};
        work.nodes_created += end < hole_end && hole.offset < part.offset;
        work.nodes_released += end == hole_end && hole.offset == part.offset;
        count(part.nbytes);
    }

    void put(tla_block block, tla_work &work) {
        work.list_length += list.size();
        std::size_t low = 0, high = list.size(); // bisect_left
        while (low < high) {
            std::size_t middle = (low + high) / 2;
            work.probes++;
            if (list[middle].offset < block.offset)
                low = middle + 1;
            else
                high = middle;
        }
        work.insert_nodes += low;
        work.frees++;
        const std::size_t before = list.size();
        auto at = list.insert(list.begin() + static_cast<std::ptrdiff_t>(low), block);
        if (at + 1 != list.end() && at->offset + at->nbytes == (at + 1)->offset) {
            at->nbytes += (at + 1)->nbytes;
            list.erase(at + 1);
            work.merges++;
        }
        if (at != list.begin() && (at - 1)->offset + (at - 1)->nbytes == at->offset) {
            (at - 1)->nbytes += at->nbytes;
            list.erase(at);
            work.merges++;
        }
        work.nodes_created += list.size() > before;
        work.nodes_released += list.size() < before;
    }
};
