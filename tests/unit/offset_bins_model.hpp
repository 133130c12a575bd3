// Offset bins once more, from their rules alone: regions in address order, searched from end to end, and a table of
// bins. Sizes are bytes; bins count units.
#ifndef TLMALLOC_TESTS_OFFSET_BINS_MODEL_HPP
#define TLMALLOC_TESTS_OFFSET_BINS_MODEL_HPP

#include "tlmalloc/arena/arena.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

class offset_bins_model {
  public:
    struct region {
        std::uint64_t offset, nbytes;
        bool used;
        std::uint64_t entered; // its bin, as a count of such events
    };

    offset_bins_model(std::uint64_t unit, bool rounds) : unit_(unit), rounds_(rounds) {
        for (std::uint64_t size = 0; size < 8; size++)
            sizes_.push_back(size);
        for (std::uint64_t step = 1; sizes_.size() < 489; step *= 2)
            for (std::uint64_t mantissa = 8; mantissa < 16 && sizes_.size() < 489; mantissa++)
                sizes_.push_back(mantissa * step); // the last one is 2^63
    }

    void limit(std::uint64_t nodes) { nodes_ = rounds_ ? nodes : nodes - 1; }
    bool lacks_node() const { return regions_.size() >= nodes_; }

    std::size_t bin_below(std::uint64_t nbytes) const {
        const auto above = std::upper_bound(sizes_.begin(), sizes_.begin() + 240, nbytes / unit_);
        return static_cast<std::size_t>(above - sizes_.begin()) - 1;
    }
    std::size_t bin_above(std::uint64_t nbytes) const {
        const auto at = std::lower_bound(sizes_.begin(), sizes_.end(), (nbytes + unit_ - 1) / unit_);
        return static_cast<std::size_t>(at - sizes_.begin());
    }
    std::uint64_t bytes_of(std::size_t bin) const { return sizes_[bin] * unit_; }
    std::uint64_t granted(std::uint64_t nbytes) const { return rounds_ ? bytes_of(bin_above(nbytes)) : nbytes; }

    // A search that finds nothing.
    void search_in_vain(std::uint64_t nbytes, tla_work &work) const {
        work.list_length += free_regions().size();
        if (lacks_node()) return;
        work.probes += group_has_any(bin_above(nbytes) / 8) ? 2u : 1u;
        work.bin_searches++;
    }

    // nbytes as granted.
    std::optional<tla_block> alloc(std::uint64_t nbytes, tla_work &work) {
        const std::size_t wanted = bin_above(nbytes);
        std::size_t best = regions_.size();
        for (std::size_t i = 0; i < regions_.size() && !lacks_node(); i++) {
            const std::size_t bin = bin_below(regions_[i].nbytes);
            if (regions_[i].used || bin < wanted) continue;
            const bool better =
                best == regions_.size() || bin < bin_below(regions_[best].nbytes) ||
                (bin == bin_below(regions_[best].nbytes) && regions_[i].entered > regions_[best].entered);
            if (better) best = i;
        }
        if (best == regions_.size()) {
            search_in_vain(nbytes, work);
            return std::nullopt;
        }
        const std::size_t found = bin_below(regions_[best].nbytes);
        work.list_length += free_regions().size();
        work.nodes_visited++;
        work.bin_searches++;
        work.allocs++;
        work.probes += found / 8 == wanted / 8 ? 1u : group_has_any(wanted / 8) ? 3u : 2u;
        const region whole = regions_[best];
        regions_[best] = {whole.offset, nbytes, true, 0};
        if (whole.nbytes > nbytes)
            regions_.insert(regions_.begin() + static_cast<std::ptrdiff_t>(best) + 1,
                            {whole.offset + nbytes, whole.nbytes - nbytes, false, ++events_});
        work.splits += whole.nbytes > nbytes;
        work.nodes_released += whole.nbytes == nbytes;
        return tla_block{whole.offset, nbytes};
    }

    // Returns the bytes of the joined region.
    std::uint64_t free(std::uint64_t offset, tla_work &work) {
        work.list_length += free_regions().size();
        std::size_t i = 0;
        while (regions_[i].offset != offset)
            i++;
        regions_[i].used = false;
        return join(i, work);
    }

    // A free region at the end.
    void add(tla_block range, tla_work &work) {
        work.list_length += free_regions().size();
        regions_.push_back({range.offset, range.nbytes, false, 0});
        join(regions_.size() - 1, work);
    }

    std::vector<tla_block> free_regions() const {
        std::vector<tla_block> free;
        for (const region &r : regions_)
            if (!r.used) free.push_back({r.offset, r.nbytes});
        return free;
    }
    std::vector<tla_block> live_regions() const {
        std::vector<tla_block> live;
        for (const region &r : regions_)
            if (r.used) live.push_back({r.offset, r.nbytes});
        return live;
    }
    std::uint64_t largest_bin() const {
        std::uint64_t largest = 0;
        for (tla_block r : free_regions())
            largest = std::max(largest, bytes_of(bin_below(r.nbytes)));
        return largest;
    }

  private:
    bool group_has_any(std::size_t group) const {
        for (tla_block r : free_regions())
            if (bin_below(r.nbytes) / 8 == group) return true;
        return false;
    }

    std::uint64_t join(std::size_t i, tla_work &work) {
        std::uint64_t joined = 0;
        const auto next = [&] { return regions_.begin() + static_cast<std::ptrdiff_t>(i) + 1; };
        if (i + 1 < regions_.size() && !next()->used) {
            regions_[i].nbytes += next()->nbytes;
            regions_.erase(next());
            joined++;
        }
        if (i > 0 && !regions_[i - 1].used) {
            i--;
            regions_[i].nbytes += next()->nbytes;
            regions_.erase(next());
            joined++;
        }
        regions_[i].entered = ++events_;
        work.frees++;
        work.merges += joined;
        work.nodes_created += joined == 0;
        work.nodes_released += joined == 2;
        return regions_[i].nbytes;
    }

    std::uint64_t unit_;
    bool rounds_;
    std::uint64_t nodes_ = UINT64_MAX, events_ = 0;
    std::vector<std::uint64_t> sizes_;
    std::vector<region> regions_;
};

#endif
