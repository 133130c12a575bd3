// A plain byte map: live blocks of memory, the virtual addresses that lead to them, and the bytes that a read may find.
// It knows nothing of modules.
#ifndef TLMALLOC_TESTS_MODULES_PLAIN_BLOCKS_HPP
#define TLMALLOC_TESTS_MODULES_PLAIN_BLOCKS_HPP

#include <algorithm>
#include <cstdint>
#include <list>
#include <memory>
#include <numeric>
#include <vector>

namespace plain_blocks {

using bytes = std::vector<std::uint8_t>;

// The bytes of a block. A read finds the bytes written last before it began, or those of a write that overlaps it in
// time. Two writes of the same byte never overlap in time.
class byte_map {
  public:
    struct write {
        std::uint64_t first;
        bytes data;
    };
    using write_ptr = std::shared_ptr<const write>;
    struct read {
        std::uint64_t first = 0;
        std::vector<int> before;       // the bytes when it began
        std::vector<write_ptr> beside; // writes that overlap it in time
        bool is_open = true;           // false: the bytes got lost meanwhile, and any may be found
    };
    using read_ptr = std::shared_ptr<read>;

    explicit byte_map(std::uint64_t nbytes) : cells_(nbytes, unknown) {}

    write_ptr begin_write(std::uint64_t first, bytes data) {
        writes_.push_back(std::make_shared<const write>(write{first, std::move(data)}));
        for (const read_ptr &r : reads_)
            r->beside.push_back(writes_.back());
        return writes_.back();
    }
    // Not done: nobody knows what the bytes are.
    void end_write(const write_ptr &w, bool done) {
        writes_.erase(std::find(writes_.begin(), writes_.end(), w));
        for (std::size_t i = 0; i < w->data.size(); i++)
            cells_[w->first + i] = done ? w->data[i] : unknown;
        if (!done) lose_reads();
    }
    // It was not made.
    void drop_write(const write_ptr &w) { writes_.erase(std::find(writes_.begin(), writes_.end(), w)); }
    read_ptr begin_read(std::uint64_t first, std::uint64_t nbytes) {
        const auto from = cells_.begin() + static_cast<std::ptrdiff_t>(first);
        reads_.push_back(
            std::make_shared<read>(read{first, {from, from + static_cast<std::ptrdiff_t>(nbytes)}, writes_, true}));
        return reads_.back();
    }
    // Returns whether a read may have found these bytes.
    bool end_read(const read_ptr &r, const bytes &found) {
        reads_.erase(std::find(reads_.begin(), reads_.end(), r));
        if (!r->is_open) return true;
        for (std::size_t i = 0; i < found.size(); i++) {
            const std::uint64_t at = r->first + i;
            const bool may =
                r->before[i] == unknown || r->before[i] == found[i] ||
                std::any_of(r->beside.begin(), r->beside.end(), [&](const write_ptr &w) {
                    return at >= w->first && at - w->first < w->data.size() && w->data[at - w->first] == found[i];
                });
            if (!may) return false;
        }
        return true;
    }
    // Of bytes that nobody reads or writes now.
    bool is(const bytes &found, std::uint64_t first) const {
        for (std::size_t i = 0; i < found.size(); i++)
            if (cells_[first + i] != unknown && cells_[first + i] != found[i]) return false;
        return true;
    }

  private:
    static constexpr int unknown = -1;

    void lose_reads() {
        for (const read_ptr &r : reads_)
            r->is_open = false;
    }

    std::vector<int> cells_;
    std::vector<write_ptr> writes_;
    std::vector<read_ptr> reads_;
};

struct block {
    unsigned home;   // number of its controller
    unsigned memory; // a kind of its controller's
    std::uint64_t pa, nbytes;
    std::vector<unsigned> references, pins; // by address space
    byte_map contents{nbytes};
    bool counted = false, taken = false; // taken: a sender works on it, and no other one does
    bool moves = false;
    unsigned destination = home;              // of its move
    unsigned reserving = 0, reservations = 0; // pairs of exclusive accesses: under way, and begun

    unsigned holds() const {
        return std::accumulate(references.begin(), references.end(), 0u) +
               std::accumulate(pins.begin(), pins.end(), 0u);
    }
    bool is_held_by_others(std::size_t asid) const {
        for (std::size_t i = 0; i < references.size(); i++)
            if (i != asid && references[i] + pins[i] > 0) return true;
        return false;
    }
};
using block_ptr = std::shared_ptr<block>;

// Virtual addresses that lead to bytes of a block, or to a page that comes with the first access to it.
struct place {
    std::uint64_t va, nbytes;
    block_ptr of; // null: not yet
    std::uint64_t offset = 0;
    bool on_demand = false, closing = false; // closing: nobody begins an access
    unsigned users = 0, refused = 0;         // accesses under way; faults that got no memory
};

struct world {
    std::list<block_ptr> blocks;
    std::list<place> places;

    std::vector<place *> places_of(const block_ptr &b) {
        std::vector<place *> found;
        for (place &p : places)
            if (p.of == b) found.push_back(&p);
        return found;
    }
    void forget(const place *which) {
        places.remove_if([&](place &p) { return &p == which && !p.on_demand; });
        for (place &p : places)
            if (&p == which) {
                p.of = nullptr;
                p.closing = false;
            }
    }
    void forget(const block_ptr &b) {
        for (const place *p : places_of(b))
            forget(p);
        blocks.remove(b);
    }
    std::uint64_t used(unsigned home, unsigned memory) const {
        std::uint64_t sum = 0;
        for (const block_ptr &b : blocks)
            if (b->home == home && b->memory == memory) sum += b->nbytes;
        return sum;
    }
    // Whether it shares bytes with another block that stands where it is.
    bool is_alone(const block &b) const {
        return std::none_of(blocks.begin(), blocks.end(), [&](const block_ptr &other) {
            return other.get() != &b && !other->moves && b.pa < other->pa + other->nbytes &&
                   other->pa < b.pa + b.nbytes;
        });
    }
};

} // namespace plain_blocks
#endif
