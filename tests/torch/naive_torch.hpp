// PyTorch's caching allocator once more, from its rules alone and as simply as they can be written: every question is a
// walk over all blocks. It records what the real one would, so that recordings for tests need no GPU.
#ifndef TLMALLOC_TESTS_TORCH_NAIVE_TORCH_HPP
#define TLMALLOC_TESTS_TORCH_NAIVE_TORCH_HPP

#include <algorithm>
#include <array>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace naive_torch {

using u64 = std::uint64_t;
constexpr u64 KiB = 1024, MiB = 1024 * KiB, GiB = 1024 * MiB, none = ~u64{0};

struct settings {
    bool expandable = false;
    u64 max_split = none, max_non_split_rounding = 20 * MiB, large_segment = 20 * MiB;
    double gc_threshold = 0;
    u64 limit = none; // set_per_process_memory_fraction
    std::array<unsigned, 16> divisions{};
    bool exempt_expandable = false;      // #193400
    bool private_not_expandable = false; // up to 2.4
};

using owner_id = std::pair<u64, u64>;

struct entry {
    std::string action;
    u64 address, size, stream, time_us;
    owner_id owner{}; // the pool
};

struct block {
    u64 address, size;
    bool mapped = true, allocated = false;
    int uses = 0; // of other streams
    u64 requested = 0, age_base = 0;
    bool pending() const { return !allocated && uses > 0; }
    bool free() const { return !allocated && uses == 0; }
};

struct segment {
    u64 base, size, granule, stream; // granule 0: plain
    bool small;
    owner_id owner;
    std::vector<block> blocks; // by address
};

// What the device can give, and where.
struct device {
    u64 capacity = none, used = 0;
    u64 bytes = u64{80} * GiB; // of the card, for the length of ranges
    std::mt19937_64 random{1};
    u64 next_plain = u64{1} << 40, next_range = u64{1} << 46;
    bool ascending = false; // every segment behind all earlier ones

    u64 plain_base(u64 size) { // neighbours now and then, and not in ascending order
        if (ascending) return next_plain += size + 2 * MiB, next_plain - size - 2 * MiB;
        if (random() % 4) next_plain = (u64{1} << 40) + (random() % 4096) * (u64{1} << 30);
        while (std::any_of(taken.begin(), taken.end(),
                           [&](auto &t) { return next_plain < t.first + t.second && t.first < next_plain + size; }))
            next_plain += 64 * MiB;
        taken[next_plain] = size;
        u64 base = next_plain;
        next_plain += (size + 2 * MiB - 1) / (2 * MiB) * (2 * MiB);
        return base;
    }
    u64 range_base(u64 size) {
        u64 base = next_range + (random() % 1000) * 2 * MiB;
        next_range = base + size;
        return base;
    }
    std::map<u64, u64> taken{};
};

class allocator {
  public:
    explicit allocator(settings how = {}, device on = {}) : s(how), d(std::move(on)) {}

    settings s;
    device d;
    std::vector<entry> trace{};
    std::list<segment> segments{};
    u64 reserved = 0, retries = 0, ooms = 0, driver_calls = 0;
    u64 requested = 0, allocated = 0, active = 0, peak_requested = 0, peak_allocated = 0, peak_reserved = 0;
    bool capturing = false;
    std::vector<owner_id> retired{}; // private pools that no graph uses

    u64 rounded(u64 n) const {
        if (n < 512) return 512;
        unsigned divisions = s.divisions[interval(n)];
        if (divisions > 1 && n > 512 * u64{divisions}) {
            u64 power = 1;
            while (2 * power <= n)
                power *= 2;
            u64 step = power / divisions;
            return (n + step - 1) / step * step;
        }
        return (n + 511) / 512 * 512;
    }

    // The block's address, or nothing when memory is out.
    std::optional<u64> malloc(u64 n, u64 stream = 0, owner_id owner = {0, 0}) {
        u64 wanted = rounded(n);
        where pool{owner, wanted <= MiB, stream};
        spot found = find(pool, wanted);
        if (!found.seg && s.limit != none && s.gc_threshold > 0) collect_garbage();
        if (!found.seg) found = obtain(pool, wanted);
        if (!found.seg && s.max_split != none && release_oversize(pool, wanted)) found = obtain(pool, wanted);
        if (!found.seg && !capturing) {
            release_cached();
            retries++;
            found = obtain(pool, wanted);
        }
        if (!found.seg) {
            ooms++;
            log("oom", d.capacity - d.used, wanted, stream, pool.owner);
            return std::nullopt;
        }
        split(found, wanted);
        block &b = found.seg->blocks[found.at];
        b.allocated = true;
        b.requested = n;
        requested += n;
        allocated += b.size;
        active += b.size;
        peak_requested = std::max(peak_requested, requested);
        peak_allocated = std::max(peak_allocated, allocated);
        log("alloc", b.address, n, stream, pool.owner);
        return b.address;
    }

    void use(u64 address) { locate(address).get().uses++; }

    void free(u64 address) {
        spot at = locate(address);
        block &b = at.get();
        b.allocated = false;
        requested -= b.requested;
        allocated -= b.size;
        log("free_requested", b.address, b.requested, at.seg->stream, at.seg->owner);
        if (b.uses == 0)
            complete(at);
        else
            pending.push_back(address);
    }

    void end_use(u64 address) {
        spot at = locate(address);
        if (--at.get().uses > 0 || at.get().allocated) return;
        pending.erase(std::find(pending.begin(), pending.end(), address));
        complete(at);
    }

    void empty_cache() { release_cached(); }

    void snapshot_entry() { log("snapshot", 0, active, 0, {}); }

    std::vector<u64> pending{}; // freed, and used by another stream; in the order of their frees

  private:
    struct where {
        owner_id owner;
        bool small;
        u64 stream;
    };
    struct spot {
        segment *seg = nullptr;
        std::size_t at = 0;
        block &get() const { return seg->blocks[at]; }
    };
    std::map<std::pair<owner_id, bool>, u64> searches{};
    u64 clock = 1000;

    void log(const std::string &action, u64 address, u64 size, u64 stream, owner_id owner) {
        trace.push_back({action, address, size, stream, clock += 3, owner});
    }

    static std::size_t interval(u64 n) {
        std::size_t i = 0;
        while (i < 15 && (u64{2} << 20 << i) <= n)
            i++;
        return i;
    }

    static bool in(const segment &seg, const where &pool) {
        return seg.owner == pool.owner && seg.small == pool.small && seg.stream == pool.stream;
    }

    spot locate(u64 address) {
        for (segment &seg : segments)
            for (std::size_t i = 0; i < seg.blocks.size(); i++)
                if (seg.blocks[i].address == address) return {&seg, i};
        throw address;
    }

    bool expands(const where &pool) const {
        return s.expandable && !(s.private_not_expandable && pool.owner != owner_id{0, 0});
    }

    u64 reach(const spot &x) const {
        const auto &b = x.seg->blocks;
        return b[x.at].size + (x.at + 1 < b.size() && !b[x.at + 1].mapped ? b[x.at + 1].size : 0);
    }

    // Mapped free blocks of the pool, of any stream or one, in the order (stream, size, address).
    std::vector<spot> cached(owner_id owner, bool small, const u64 *stream = nullptr) {
        std::vector<spot> all;
        for (segment &seg : segments)
            if (seg.owner == owner && seg.small == small && (!stream || seg.stream == *stream))
                for (std::size_t i = 0; i < seg.blocks.size(); i++)
                    if (seg.blocks[i].mapped && seg.blocks[i].free()) all.push_back({&seg, i});
        std::sort(all.begin(), all.end(), [](const spot &a, const spot &b) {
            return std::make_tuple(a.seg->stream, a.get().size, a.get().address) <
                   std::make_tuple(b.seg->stream, b.get().size, b.get().address);
        });
        return all;
    }

    spot find(const where &pool, u64 wanted) {
        searches[{pool.owner, pool.small}]++;
        std::vector<spot> fits;
        for (const spot &x : cached(pool.owner, pool.small, &pool.stream))
            if (x.get().size >= wanted) fits.push_back(x);
        std::size_t i = 0;
        if (fits.empty()) return {};
        if (fits[0].seg->granule && s.expandable) {
            while (fits[i].seg->granule && i + 1 < fits.size() && reach(fits[i + 1]) < reach(fits[i]))
                i++;
        } else if (fits[0].seg->granule) {
            while (i < fits.size() && fits[i].seg->granule)
                i++;
            if (i == fits.size()) return {};
        }
        u64 size = fits[i].get().size;
        bool exempt = s.exempt_expandable && s.expandable && fits[i].seg->granule;
        if (!exempt && wanted < s.max_split && size >= s.max_split) return {};
        if (!exempt && wanted >= s.max_split && size >= wanted + s.max_non_split_rounding) return {};
        return fits[i];
    }

    spot obtain(const where &pool, u64 wanted) {
        u64 size = wanted <= MiB       ? 2 * MiB
                   : wanted < 10 * MiB ? s.large_segment
                                       : (wanted + 2 * MiB - 1) / (2 * MiB) * (2 * MiB);
        if (s.limit != none && reserved + size > s.limit) return {};
        if (expands(pool)) return expand(pool, wanted);
        if (d.capacity != none && d.used + size > d.capacity) return {};
        u64 base = d.plain_base(size);
        d.used += size;
        driver_calls++;
        reserve(size);
        segments.push_back({base, size, 0, pool.stream, pool.small, pool.owner, {{base, size}}});
        log("segment_alloc", base, size, pool.stream, pool.owner);
        return {&segments.back(), 0};
    }

    void reserve(u64 size) {
        reserved += size;
        peak_reserved = std::max(peak_reserved, reserved);
    }

    spot expand(const where &pool, u64 wanted) {
        spot from = room(pool, wanted);
        bool fresh = !from.seg;
        if (fresh) {
            u64 granule = pool.small ? 2 * MiB : s.large_segment;
            u64 size = (d.bytes + d.bytes / 8 + granule - 1) / granule * granule;
            u64 base = d.range_base(size);
            segments.push_back({base, size, granule, pool.stream, pool.small, pool.owner, {{base, size, false}}});
            from = {&segments.back(), 0};
        }
        segment &seg = *from.seg;
        std::size_t at = from.at;
        if (!seg.blocks[at].mapped && !map(seg, at, std::min(seg.blocks[at].size, wanted))) return {};
        while (seg.blocks[at].size < wanted) {
            std::size_t next = at + 1;
            if (!map(seg, next, std::min(wanted - seg.blocks[at].size, seg.blocks[next].size))) return {};
            at = next;
        }
        return {&seg, at};
    }

    // Where a range of the pool can grow: lowest address first.
    spot room(const where &pool, u64 wanted) {
        std::vector<spot> holes;
        for (segment &seg : segments)
            if (in(seg, pool))
                for (std::size_t i = 0; i < seg.blocks.size(); i++)
                    if (!seg.blocks[i].mapped) holes.push_back({&seg, i});
        std::sort(holes.begin(), holes.end(),
                  [](const spot &a, const spot &b) { return a.get().address < b.get().address; });
        for (spot hole : holes) {
            const auto &blocks = hole.seg->blocks;
            std::size_t from = hole.at > 0 && blocks[hole.at - 1].free() ? hole.at - 1 : hole.at;
            u64 sum = 0;
            for (std::size_t i = from; i < blocks.size() && blocks[i].free() && sum < wanted; i++)
                sum += blocks[i].size;
            if (sum >= wanted) return {hole.seg, from};
        }
        return {};
    }

    // Maps the front of hole `at`; afterwards `at` is the free block that it became.
    bool map(segment &seg, std::size_t &at, u64 bytes) {
        bytes = (bytes + seg.granule - 1) / seg.granule * seg.granule;
        if (d.capacity != none && d.used + bytes > d.capacity) return false;
        d.used += bytes;
        driver_calls++;
        reserve(bytes);
        u64 address = seg.blocks[at].address, rest = seg.blocks[at].size - bytes;
        seg.blocks[at].size = bytes;
        seg.blocks[at].mapped = true;
        if (rest)
            seg.blocks.insert(seg.blocks.begin() + static_cast<std::ptrdiff_t>(at) + 1, {address + bytes, rest, false});
        log("segment_map", address, bytes, seg.stream, seg.owner);
        at = merge(seg, at);
        seg.blocks[at].age_base = searches[{seg.owner, seg.small}];
        return true;
    }

    // Joins a free block with free neighbours of its kind; where it is then.
    std::size_t merge(segment &seg, std::size_t at) {
        auto joins = [&](std::size_t i) {
            return seg.blocks[i].free() && seg.blocks[i].mapped == seg.blocks[at].mapped;
        };
        if (at + 1 < seg.blocks.size() && joins(at + 1)) {
            seg.blocks[at].size += seg.blocks[at + 1].size;
            seg.blocks.erase(seg.blocks.begin() + static_cast<std::ptrdiff_t>(at) + 1);
        }
        if (at > 0 && joins(at - 1)) {
            seg.blocks[at - 1].size += seg.blocks[at].size;
            seg.blocks.erase(seg.blocks.begin() + static_cast<std::ptrdiff_t>(at));
            at--;
        }
        return at;
    }

    void split(const spot &x, u64 wanted) {
        u64 rest = x.get().size - wanted;
        bool cut = x.seg->small || s.expandable ? rest >= 512 : wanted < s.max_split && rest > MiB;
        if (!cut) return;
        u64 address = x.get().address;
        x.get().size = wanted;
        block behind{address + wanted, rest};
        behind.age_base = searches[{x.seg->owner, x.seg->small}];
        x.seg->blocks.insert(x.seg->blocks.begin() + static_cast<std::ptrdiff_t>(x.at) + 1, behind);
    }

    void complete(const spot &x) {
        log("free_completed", x.get().address, x.get().requested, x.seg->stream, x.seg->owner);
        active -= x.get().size;
        std::size_t at = merge(*x.seg, x.at);
        x.seg->blocks[at].age_base = searches[{x.seg->owner, x.seg->small}];
    }

    void release(segment *seg) {
        log("segment_free", seg->base, seg->size, seg->stream, seg->owner);
        d.used -= seg->size;
        d.taken.erase(seg->base);
        driver_calls++;
        reserved -= seg->size;
        segments.remove_if([&](const segment &other) { return &other == seg; });
    }

    static bool whole(const spot &x) { return !x.seg->granule && x.seg->blocks.size() == 1; }

    void release_cached() {
        while (!pending.empty()) {
            spot at = locate(pending.front());
            pending.erase(pending.begin());
            at.get().uses = 0;
            complete(at);
        }
        release_pool({0, 0}, false);
        release_pool({0, 0}, true);
        for (owner_id owner : retired) {
            release_pool(owner, true);
            release_pool(owner, false);
        }
    }

    void release_pool(owner_id owner, bool small) {
        std::vector<u64> blocks;
        for (const spot &x : cached(owner, small))
            if (x.seg->granule)
                blocks.push_back(x.get().address);
            else if (whole(x))
                release(x.seg);
        for (u64 address : blocks)
            unmap(locate(address));
    }

    void unmap(const spot &x) {
        segment &seg = *x.seg;
        block b = x.get();
        u64 first = (b.address - seg.base + seg.granule - 1) / seg.granule * seg.granule + seg.base;
        u64 last = (b.address + b.size - seg.base) / seg.granule * seg.granule + seg.base;
        if (first >= last) return;
        log("segment_unmap", first, last - first, seg.stream, seg.owner);
        driver_calls++;
        d.used -= last - first;
        reserved -= last - first;
        std::vector<block> pieces;
        u64 age = searches[{seg.owner, seg.small}];
        auto piece = [&](u64 begin, u64 end, bool mapped) {
            block p{begin, end - begin, mapped};
            p.age_base = age;
            if (end > begin) pieces.push_back(p);
        };
        piece(b.address, first, true);
        piece(first, last, false);
        piece(last, b.address + b.size, true);
        auto place = seg.blocks.begin() + static_cast<std::ptrdiff_t>(x.at);
        place = seg.blocks.erase(place);
        seg.blocks.insert(place, pieces.begin(), pieces.end());
        for (std::size_t i = 0; i < seg.blocks.size(); i++)
            if (seg.blocks[i].address == first) {
                merge(seg, i);
                break;
            }
        if (seg.blocks.size() == 1 && !seg.blocks[0].mapped)
            segments.remove_if([&](const segment &other) { return &other == &seg; });
    }

    bool release_oversize(const where &pool, u64 wanted) {
        u64 key = std::max(wanted, s.max_split), given = 0;
        std::vector<spot> all = cached(pool.owner, pool.small, &pool.stream);
        auto first = std::find_if(all.begin(), all.end(), [&](const spot &x) { return x.get().size >= key; });
        if (first != all.end() && whole(*first)) { // part of a segment: only when large_segment > max_split
            release(first->seg);
            return true;
        }
        while (first != all.begin() && given < key) {
            --first;
            if (first->get().size < s.max_split) break;
            if (!whole(*first)) continue;
            given += first->get().size;
            release(first->seg);
        }
        return given >= key;
    }

    void collect_garbage() {
        auto threshold = static_cast<u64>(s.gc_threshold * static_cast<double>(s.limit));
        if (reserved <= threshold) return;
        u64 target = reserved - threshold, reclaimed = 0;
        bool freed = true;
        u64 ages = 0, count = 0, now = searches[{owner_id{0, 0}, false}];
        for (const spot &x : cached({0, 0}, false))
            if (whole(x)) {
                ages += now - x.get().age_base;
                count++;
            }
        while (reclaimed < target && freed && count) {
            double average = static_cast<double>(ages) / static_cast<double>(count);
            freed = false;
            for (const spot &x : cached({0, 0}, false)) {
                u64 age = now - x.get().age_base;
                if (!whole(x) || static_cast<double>(age) < average) continue;
                reclaimed += x.get().size;
                ages -= age;
                count--;
                freed = true;
                release(x.seg);
            }
        }
    }
};

} // namespace naive_torch

#endif
