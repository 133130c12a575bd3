// The five traces of the speed table, and the one more of the placement table.
#include "traces.hpp"

#include <algorithm>
#include <random>

namespace bench {
namespace {

class random_source {
  public:
    explicit random_source(std::uint64_t seed) : engine(seed) {}
    // 0 .. bound - 1; not std::uniform_int_distribution, whose results differ between standard libraries.
    std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(((engine() >> 32) * bound) >> 32); }
    std::uint32_t between(std::uint32_t low, std::uint32_t high) { return low + below(high - low + 1); }
    std::uint32_t size() { return between(1, largest); }
    static constexpr std::uint32_t largest = 4096;

  private:
    std::mt19937_64 engine;
};

// Ranges are 10/9 of what is live: 90 % occupancy.
std::uint64_t room_for(std::uint64_t nbytes) {
    return (nbytes * 10 / 9 + 63) & ~std::uint64_t{63};
}

// Fills in what follows from the operations: number of slots, peak, and the capacity that makes the peak 90 %.
void finish(trace &t) {
    for (const auto *part : {&t.prepare, &t.measured})
        for (const op &o : *part)
            t.slots = std::max<std::size_t>(t.slots, o.slot + std::size_t{1});
    std::vector<std::uint32_t> held(t.slots);
    std::uint64_t now = 0;
    for (const auto *part : {&t.prepare, &t.measured})
        for (const op &o : *part) {
            now = now - held[o.slot] + o.nbytes;
            held[o.slot] = o.nbytes;
            t.peak = std::max(t.peak, now);
        }
    if (!t.capacity) t.capacity = room_for(t.peak);
}

trace start(const char *name, std::uint64_t live, std::size_t operations) {
    trace t{name, live, 0, 0, 0, {}, {}};
    t.measured.reserve(operations + 1);
    return t;
}

// Deploy and tear down: bursts of pushes and of pops in reverse order.
trace make_stack(std::uint64_t live, std::size_t operations, std::uint64_t seed) {
    random_source random(seed);
    trace t = start("stack", live, operations);
    std::uint32_t depth = 0;
    while (t.measured.size() < operations) {
        bool push = random.below(2);
        for (std::uint32_t burst = random.between(1, 64); burst > 0 && t.measured.size() < operations; burst--) {
            if (push && depth < live)
                t.measured.push_back({depth++, random.size()});
            else if (!push && depth > 0)
                t.measured.push_back({--depth, 0});
        }
    }
    finish(t);
    return t;
}

// A queue: the oldest block goes when a new one comes.
trace make_fifo(std::uint64_t live, std::size_t operations, std::uint64_t seed) {
    random_source random(seed);
    trace t = start("fifo", live, operations);
    auto count = static_cast<std::uint32_t>(live);
    for (std::uint32_t i = 0; i < count; i++)
        t.prepare.push_back({i, random.size()});
    std::uint32_t oldest = 0;
    auto turn = [&](std::vector<op> &ops) {
        ops.push_back({oldest, 0});
        ops.push_back({oldest, random.size()});
        oldest = (oldest + 1) % count;
    };
    for (std::uint64_t i = 0; i < 3 * live; i++)
        turn(t.prepare);
    while (t.measured.size() < operations)
        turn(t.measured);
    finish(t);
    return t;
}

// Random sizes and lifetimes: a block chosen at random goes, another comes. The range is 10/9 of the expected live
// bytes.
trace make_random(std::uint64_t live, std::size_t operations, std::uint64_t seed) {
    random_source random(seed);
    trace t = start("random", live, operations);
    auto count = static_cast<std::uint32_t>(live);
    t.prepare.reserve(7 * live);
    for (std::uint32_t i = 0; i < count; i++)
        t.prepare.push_back({i, random.size()});
    auto turn = [&](std::vector<op> &ops) {
        std::uint32_t slot = random.below(count);
        ops.push_back({slot, 0});
        ops.push_back({slot, random.size()});
    };
    for (std::uint64_t i = 0; i < 3 * live; i++)
        turn(t.prepare);
    while (t.measured.size() < operations)
        turn(t.measured);
    t.capacity = room_for(live * (random_source::largest + 1) / 2);
    finish(t);
    return t;
}

// Every second of 2 x live equal blocks freed; the requests that follow are all larger than such a hole and live behind
// them, 64 at a time.
trace make_comb(std::uint64_t live, std::size_t operations, std::uint64_t seed) {
    constexpr std::uint32_t tooth = 64, others = 64, larger_at_most = tooth + random_source::largest;
    random_source random(seed);
    trace t = start("comb", live, operations);
    auto teeth = static_cast<std::uint32_t>(2 * live);
    t.prepare.reserve(3 * live + others);
    auto larger = [&] { return tooth + random.size(); };
    for (std::uint32_t i = 0; i < teeth; i++)
        t.prepare.push_back({i, tooth});
    for (std::uint32_t i = 0; i < teeth; i += 2)
        t.prepare.push_back({i, 0});
    for (std::uint32_t i = 0; i < others; i++)
        t.prepare.push_back({teeth + i, larger()});
    t.capacity = std::uint64_t{teeth} * tooth + 2 * others * larger_at_most;
    while (t.measured.size() < operations) {
        std::uint32_t slot = teeth + random.below(others);
        t.measured.push_back({slot, 0});
        t.measured.push_back({slot, larger()});
    }
    finish(t);
    return t;
}

// Sequences of cache blocks that grow and end: what a serving engine and an interleaved set of streams have in common.
class sequences {
  public:
    sequences(random_source &source, std::uint32_t first_slot, std::uint32_t number)
        : random(source), first(first_slot), all(number) {}

    static constexpr std::uint32_t longest = 160; // blocks
    static constexpr std::uint32_t mean = 62;     // of prompt + half of what is generated

    template <class Size>
    void grow(std::uint32_t index, std::vector<op> &ops, Size size) {
        sequence &s = all[index];
        if (s.blocks == s.end) { // finished, or never begun: everything goes at once, a new prompt comes at once
            for (std::uint32_t i = 0; i < s.blocks; i++)
                ops.push_back({slot(index, i), 0});
            std::uint32_t prompt = random.between(8, 64);
            s = {0, prompt + random.between(8, 96)};
            while (s.blocks < prompt)
                ops.push_back({slot(index, s.blocks++), size()});
        }
        ops.push_back({slot(index, s.blocks++), size()});
    }
    std::uint32_t count() const { return static_cast<std::uint32_t>(all.size()); }

  private:
    struct sequence {
        std::uint32_t blocks, end;
    };
    std::uint32_t slot(std::uint32_t index, std::uint32_t block) const { return first + index * longest + block; }

    random_source &random;
    std::uint32_t first;
    std::vector<sequence> all;
};

// A model that serves: weights pinned, cache blocks of one size that come with a sequence and all go when it ends, and
// in every step the same activations, each of which dies when the next but one is made.
trace make_serving(std::uint64_t live, std::size_t operations, std::uint64_t seed) {
    constexpr std::uint32_t weights = 200, activations = 24, cache_block = 32 << 10;
    random_source random(seed);
    trace t = start("serving", live, operations);
    for (std::uint32_t i = 0; i < weights; i++)
        t.prepare.push_back({i, 4096 * random.between(1, 256)});
    std::vector<std::uint32_t> sizes(activations);
    for (auto &size : sizes)
        size = 512 * random.between(32, 1024);
    auto number =
        static_cast<std::uint32_t>(std::max<std::uint64_t>(1, live > weights ? (live - weights) / sequences::mean : 1));
    sequences streams(random, weights + activations, number);
    auto step = [&](std::vector<op> &ops) {
        for (std::uint32_t i = 0; i < streams.count(); i++)
            if (random.below(16) == 0) streams.grow(i, ops, [] { return cache_block; }); // one block holds 16 tokens
        for (std::uint32_t i = 0; i < activations; i++) {
            ops.push_back({weights + i, sizes[i]});
            if (i >= 2) ops.push_back({weights + i - 2, 0});
        }
        ops.push_back({weights + activations - 2, 0});
        ops.push_back({weights + activations - 1, 0});
    };
    for (std::uint32_t i = 0; i < 16 * 200; i++) // every sequence has ended about four times
        step(t.prepare);
    while (t.measured.size() < operations)
        step(t.measured);
    t.measured.resize(operations);
    finish(t);
    return t;
}

// 64 sequences that grow in random order, by tensors of random size.
trace make_interleaved(std::uint64_t live, std::size_t operations, std::uint64_t seed) {
    random_source random(seed);
    trace t = start("interleaved", live, operations);
    sequences streams(random, 0, static_cast<std::uint32_t>(live));
    while (t.measured.size() < operations)
        streams.grow(random.below(streams.count()), t.measured, [&] { return random.size(); });
    finish(t);
    return t;
}

} // namespace

const std::vector<trace_kind> &speed_traces() {
    static const std::vector<trace_kind> kinds = {
        {"stack", make_stack, {1000}, "bursts of pushes, and of pops in reverse order"},
        {"fifo", make_fifo, {1000}, "the oldest block goes when a new one comes"},
        {"random", make_random, {1000, 10000, 100000, 1000000}, "random sizes and lifetimes, 90 % occupied"},
        {"serving", make_serving, {5600, 20000}, "weights pinned, cache blocks of one size, repeating activations"},
        {"comb", make_comb, {1000, 10000, 100000, 1000000}, "every second block freed, all holes too small"},
    };
    return kinds;
}

const std::vector<trace_kind> &placement_traces() {
    static const std::vector<trace_kind> kinds = {
        {"fifo", make_fifo, {1000}, "as above"},
        {"random", make_random, {10000}, "as above"},
        {"interleaved", make_interleaved, {64}, "64 sequences that grow in random order and end at once"},
    };
    return kinds;
}

} // namespace bench
