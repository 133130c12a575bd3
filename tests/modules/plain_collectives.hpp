// What every rank of a collective calls, one call after the other, by the words of collectives.h: for the plain event
// model, which knows what messages and additions take.
#ifndef TLMALLOC_TESTS_MODULES_PLAIN_COLLECTIVES_HPP
#define TLMALLOC_TESTS_MODULES_PLAIN_COLLECTIVES_HPP

#include "plain_messages.hpp"

#include <string>

namespace plain {

class collectives {
  public:
    static constexpr std::uint64_t element = 4, room_at = 1 << 19; // bytes of an f32; where the room lies

    // How lines and SIPs are passed; the two outermost dimensions are of SIPs where they go around.
    struct passage {
        bool around = false, mesh = false; // between SIPs
        bool in_order = false;             // receipts from both sides
    };

    // The grid of ranks, outermost first.
    collectives(std::string algorithm, std::vector<unsigned> extent, std::uint64_t columns, passage how)
        : algorithm_(std::move(algorithm)), extent_(std::move(extent)), columns_(columns), how_(how) {
        for (const unsigned n : extent_)
            size_ *= n;
    }

    std::vector<program> all_reduce() {
        return of_all([this] {
            const std::size_t outermost = how_.around ? 2 : 0;
            if (goes_round()) {
                scatter_sums();
                gather();
            } else {
                reduce(middle(), columns_ * element, true, outermost);
                if (how_.around) pass_sips();
                broadcast(middle(), columns_ * element, outermost);
            }
        });
    }
    std::vector<program> reduce_scatter() {
        return of_all([this] { scatter_sums(); });
    }
    std::vector<program> all_gather() {
        return of_all([this] { gather(); });
    }
    std::vector<program> broadcast_from(unsigned root) {
        return of_all([this, root] { broadcast(coordinates(root), columns_ * element); });
    }
    std::vector<program> barrier() {
        return of_all([this] {
            reduce(middle(), element, false);
            broadcast(middle(), element);
        });
    }

  private:
    using place = std::vector<unsigned>; // in the grid

    bool goes_round() const { return algorithm_ == "ring" || algorithm_ == "torus_2d"; }
    place coordinates(unsigned rank) const {
        place c(extent_.size());
        for (std::size_t d = extent_.size(); d-- > 0; rank /= extent_[d])
            c[d] = rank % extent_[d];
        return c;
    }
    unsigned rank(const place &c) const {
        unsigned number = 0;
        for (std::size_t d = 0; d < extent_.size(); d++)
            number = number * extent_[d] + c[d];
        return number;
    }
    unsigned neighbour(std::size_t d, unsigned at) const { // the rank at this place of the line along d
        place c = me_;
        c[d] = at;
        return rank(c);
    }
    place middle() const { // halves of all extents; of a hierarchy the first PE there
        place c;
        for (const unsigned n : extent_)
            c.push_back(n / 2);
        if (algorithm_ == "hierarchical") c.back() = 0;
        return c;
    }

    std::vector<program> of_all(const std::function<void()> &work) {
        std::vector<program> all;
        for (unsigned r = 0; r < size_; r++) {
            me_ = coordinates(r);
            calls_.clear();
            work();
            all.push_back(calls_);
        }
        return all;
    }

    void send(unsigned to, std::uint64_t at, std::uint64_t nbytes) {
        if (nbytes > 0) calls_.push_back({call::send, to, {at, 1, nbytes, nbytes}});
    }
    void receive(unsigned from, std::uint64_t at, std::uint64_t nbytes) {
        if (nbytes > 0) calls_.push_back({call::receive, from, {at, 1, nbytes, nbytes}});
    }
    void add(std::uint64_t at, std::uint64_t nbytes) {
        if (nbytes > 0) calls_.push_back({call::add, 0, {at, 1, nbytes, nbytes}});
    }

    // The elements of all ranks that stand at this place along d, and with this one along the dimensions before.
    struct part {
        std::uint64_t at, nbytes;
    };
    part part_of(std::size_t d, unsigned at) const {
        place first = me_, last = me_;
        first[d] = last[d] = at;
        for (std::size_t inner = d + 1; inner < extent_.size(); inner++) {
            first[inner] = 0;
            last[inner] = extent_[inner] - 1;
        }
        const std::uint64_t begin = rank(first) * columns_ / size_, end = (rank(last) + 1) * columns_ / size_;
        return {begin * element, (end - begin) * element};
    }

    // Even places send before they receive, odd ones after.
    void shift(std::size_t d, const part &out, std::uint64_t in_at, std::uint64_t in_nbytes) {
        const unsigned p = me_[d], n = extent_[d];
        if (p % 2 == 0) send(neighbour(d, (p + 1) % n), out.at, out.nbytes);
        receive(neighbour(d, (p + n - 1) % n), in_at, in_nbytes);
        if (p % 2 != 0) send(neighbour(d, (p + 1) % n), out.at, out.nbytes);
    }

    // Part i of a line is x[i + 1] + x[i + 2] + ... + x[i]: it sets out from the place behind i.
    void scatter_sums() {
        for (std::size_t d = 0; d < extent_.size(); d++)
            for (unsigned step = 1, p = me_[d], n = extent_[d]; step < n; step++) {
                const part mine = part_of(d, (p + 2 * n - step - 1) % n);
                shift(d, part_of(d, (p + n - step) % n), room_at, mine.nbytes);
                add(mine.at, mine.nbytes);
            }
    }
    void gather() {
        for (std::size_t d = extent_.size(); d-- > 0;)
            for (unsigned step = 0, p = me_[d], n = extent_[d]; step + 1 < n; step++) {
                const part in = part_of(d, (p + 2 * n - step - 1) % n);
                shift(d, part_of(d, (p + n - step) % n), in.at, in.nbytes);
            }
    }

    // Line by line, the innermost first, down to `outermost`, from both ends to the place of the root.
    void reduce(const place &root, std::uint64_t nbytes, bool adds, std::size_t outermost = 0) {
        for (std::size_t d = extent_.size(); d-- > outermost;) {
            reduce_line(d, root[d], nbytes, adds);
            if (me_[d] != root[d]) return;
        }
    }
    // Both receives are begun, then waited for and added, those before first; or each is received and added in turn.
    void reduce_line(std::size_t d, unsigned to, std::uint64_t nbytes, bool adds) {
        const unsigned p = me_[d];
        std::vector<unsigned> sides;
        if (p > 0 && p <= to) sides.push_back(neighbour(d, p - 1));
        if (p + 1 < extent_[d] && p >= to) sides.push_back(neighbour(d, p + 1));
        std::vector<std::size_t> begun;
        for (const unsigned side : sides)
            if (how_.in_order) {
                receive(side, room_at, nbytes);
                if (adds) add(0, nbytes);
            } else {
                begun.push_back(begin(side, room_at, nbytes));
            }
        for (const std::size_t which : begun) {
            calls_.push_back({call::wait, 0, {}, which});
            if (adds) add(0, nbytes);
        }
        if (p != to) send(neighbour(d, p < to ? p + 1 : p - 1), 0, nbytes);
    }
    std::size_t begin(unsigned from, std::uint64_t at, std::uint64_t nbytes) {
        calls_.push_back({call::receive_async, from, {at, 1, nbytes, nbytes}});
        return calls_.size() - 1;
    }

    // From the root to both ends, the outermost line first.
    void broadcast(const place &root, std::uint64_t nbytes, std::size_t outermost = 0) {
        for (std::size_t d = outermost; d < extent_.size(); d++)
            if (stands_with(root, d + 1)) broadcast_line(d, root[d], nbytes);
    }
    bool stands_with(const place &root, std::size_t first) const { // in these dimensions, and further inside
        bool same = true;
        for (std::size_t d = first; d < extent_.size(); d++)
            same = same && me_[d] == root[d];
        return same;
    }
    void broadcast_line(std::size_t d, unsigned from, std::uint64_t nbytes) {
        const unsigned p = me_[d];
        if (p != from) receive(neighbour(d, p < from ? p + 1 : p - 1), 0, nbytes);
        if (p > 0 && p <= from) send(neighbour(d, p - 1), 0, nbytes);
        if (p + 1 < extent_[d] && p >= from) send(neighbour(d, p + 1), 0, nbytes);
    }

    // Roots of SIPs alone: along a row, then along a column; around rings, over a mesh there and back. On a ring each
    // round begins to receive, sends on what came last, waits and adds.
    void pass_sips() {
        if (!stands_with(middle(), 2)) return;
        const std::uint64_t nbytes = columns_ * element;
        for (std::size_t d = 2; d-- > 0;) {
            if (how_.mesh) {
                reduce_line(d, middle()[d], nbytes, true);
                broadcast_line(d, middle()[d], nbytes);
                continue;
            }
            std::uint64_t out = 0;
            for (unsigned round = 1, p = me_[d], n = extent_[d]; round < n; round++) {
                const std::uint64_t in = room_at + round % 2 * nbytes;
                const std::size_t which = begin(neighbour(d, (p + n - 1) % n), in, nbytes);
                send(neighbour(d, (p + 1) % n), out, nbytes);
                calls_.push_back({call::wait, 0, {}, which});
                add(0, nbytes);
                out = in;
            }
        }
    }

    const std::string algorithm_;
    const std::vector<unsigned> extent_;
    const std::uint64_t columns_;
    const passage how_;
    unsigned size_ = 1;
    place me_;
    program calls_;
};

} // namespace plain
#endif
