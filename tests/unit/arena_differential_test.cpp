// First fit against the naive sorted list on random operations: the same placements, failures and receipts, and a sound
// free list. A failing sequence is cut down to a short one before it is printed.
#include "naive_first_fit.hpp"
#include "sanitized.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <sstream>

namespace {

// An operation means something in any state, so that a sequence stays a sequence when parts of it are taken away.
struct operation {
    enum kind_t { alloc, alloc_aligned, free_one, free_wrong, reserve, grow, carve, contiguous, free_many } kind;
    uint64_t a, b;
};

struct arena_deleter {
    void operator()(tla_arena *arena) const { tla_arena_destroy(arena); }
};

struct workload {
    tla_arena_config config;
    uint64_t max_size;    // of a request, in units of the alignment
    std::size_t max_live; // beyond it operations free
    bool only_alloc_free;
    std::size_t check_each; // steps between comparisons of the whole free list
};

class duel {
  public:
    explicit duel(const workload &w) : load(w), naive(w.config) {
        tla_arena *made = nullptr;
        if (tla_arena_create(&w.config, &made) != TLA_OK) throw std::bad_alloc();
        arena.reset(made);
    }

    // Empty when both agree.
    std::string step(const operation &o) {
        tla_work got{}, want{};
        tla_status status = TLA_OK, expected = TLA_OK;
        std::vector<tla_block> taken, wanted;
        bool full = live.size() >= load.max_live;
        switch (full && o.kind != operation::free_many ? operation::free_one : o.kind) {
        case operation::alloc:
        case operation::alloc_aligned: {
            uint64_t nbytes = 1 + o.a % (load.max_size * naive.alignment), align = naive.alignment;
            if (o.kind == operation::alloc_aligned) align = uint64_t{1} << o.b % 12;
            tla_block x{}, y{};
            status = o.kind == operation::alloc ? tla_arena_alloc(arena.get(), nbytes, &x, &got)
                                                : tla_arena_alloc_aligned(arena.get(), nbytes, align, &x, &got);
            expected = naive.alloc(nbytes, align, y, want);
            if (status == TLA_OK) taken = {x};
            if (expected == TLA_OK) wanted = {y};
            break;
        }
        case operation::free_one:
            if (live.empty()) return {};
            {
                std::size_t i = o.a % live.size();
                tla_block block = live[i];
                live[i] = live.back();
                live.pop_back();
                status = tla_arena_free(arena.get(), block, &got);
                expected = naive.free(block, want);
            }
            break;
        case operation::free_wrong: { // only a range that touches a free byte: D2 trusts the rest
            if (naive.list.empty()) return {};
            const tla_block &hole = naive.list[o.a % naive.list.size()];
            tla_block block = {hole.offset - std::min(hole.offset - naive.base, o.b % 3 * naive.alignment),
                               (1 + o.b % 7) * naive.alignment};
            if (block.offset + block.nbytes <= hole.offset) return {};
            if (block.offset + block.nbytes > naive.base + naive.capacity) return {};
            status = tla_arena_free(arena.get(), block, &got);
            expected = naive.free(block, want);
            break;
        }
        case operation::reserve: {
            uint64_t units = naive.capacity / naive.alignment, size = 1 + o.b % load.max_size;
            if (units < size) return {};
            tla_block block = {naive.base + o.a % (units - size + 1) * naive.alignment, size * naive.alignment};
            status = tla_arena_reserve(arena.get(), block, &got);
            expected = naive.reserve(block, want);
            if (status == TLA_OK) taken = {block};
            if (expected == TLA_OK) wanted = {block};
            break;
        }
        case operation::grow:
            if (naive.capacity > 2 * load.config.capacity + 4096) return {};
            status = tla_arena_grow(arena.get(), 1 + o.a % load.max_size, &got);
            naive.grow(1 + o.a % load.max_size, want);
            break;
        case operation::carve:
        case operation::contiguous: {
            uint64_t nbytes = 1 + o.a % (load.max_size * naive.alignment);
            std::size_t n = o.b % 20;
            taken.resize(n);
            if (o.kind == operation::carve) {
                status = tla_arena_alloc_batch(arena.get(), nbytes, n, TLA_BATCH_CARVED, taken.data(), &got);
                expected = naive.carve(nbytes, n, wanted, want);
            } else {
                status = tla_arena_alloc_batch(arena.get(), nbytes, n, TLA_BATCH_CONTIGUOUS, taken.data(), &got);
                uint64_t each = naive.round(nbytes);
                tla_block whole{};
                if (n > 0) expected = naive.alloc(n * each, naive.alignment, whole, want);
                if (expected != TLA_OK) expected = naive.no_fit(n * nbytes);
                for (std::size_t i = 0; i < n && expected == TLA_OK; i++)
                    wanted.push_back({whole.offset + i * each, each});
            }
            if (status != TLA_OK) taken.clear();
            break;
        }
        case operation::free_many: {
            std::size_t n = std::min<std::size_t>(live.size(), o.b % 40), from = n ? o.a % (live.size() - n + 1) : 0;
            auto first = live.begin() + static_cast<std::ptrdiff_t>(from);
            std::vector<tla_block> many(first, first + static_cast<std::ptrdiff_t>(n));
            live.erase(first, first + static_cast<std::ptrdiff_t>(n));
            status = tla_arena_free_batch(arena.get(), many.data(), n, &got);
            for (std::size_t i = 0; i < n;) { // many is sorted now; one list operation a run
                tla_block run = many[i++];
                while (i < n && many[i].offset == run.offset + run.nbytes)
                    run.nbytes += many[i++].nbytes;
                expected = naive.free(run, want);
            }
            break;
        }
        }
        steps++;
        longest = std::max(longest, naive.list.size());
        std::ostringstream why;
        if (status != expected) why << "status " << tla_status_name(status) << ", not " << tla_status_name(expected);
        if (taken.size() != wanted.size() ||
            (!taken.empty() && std::memcmp(taken.data(), wanted.data(), taken.size() * sizeof taken[0]) != 0))
            why << " placed at " << (taken.empty() ? 0 : taken[0].offset) << ", not "
                << (wanted.empty() ? 0 : wanted[0].offset);
        if (std::memcmp(&got, &want, sizeof got) != 0)
            why << " receipt: visited " << got.nodes_visited << '/' << want.nodes_visited << ", passed "
                << got.insert_nodes << '/' << want.insert_nodes << ", probes " << got.probes << '/' << want.probes
                << ", splits " << got.splits << '/' << want.splits << ", merges " << got.merges << '/' << want.merges
                << ", length " << got.list_length << '/' << want.list_length << ", allocs " << got.allocs << '/'
                << want.allocs << ", frees " << got.frees << '/' << want.frees << ", nodes created "
                << got.nodes_created << '/' << want.nodes_created << ", released " << got.nodes_released << '/'
                << want.nodes_released;
        live.insert(live.end(), taken.begin(), taken.end());
        if (why.str().empty() && (steps % load.check_each == 0)) return compare();
        return why.str();
    }

    std::string compare() const {
        tla_error error{};
        if (tla_arena_check(arena.get(), &error) != TLA_OK) return error.text;
        tla_arena_stats s = tla_arena_get_stats(arena.get());
        if (s.used != naive.used || s.capacity != naive.capacity || s.peak_used != naive.peak_used ||
            s.free_blocks != naive.list.size())
            return "statistics";
        std::vector<tla_block> blocks(naive.list.size() + 1);
        std::size_t n = tla_arena_free_blocks(arena.get(), 0, blocks.data(), blocks.size());
        if (n != naive.list.size() || (n && std::memcmp(blocks.data(), naive.list.data(), n * sizeof blocks[0]) != 0))
            return "free lists differ";
        return {};
    }

    const workload &load;
    std::unique_ptr<tla_arena, arena_deleter> arena;
    naive_first_fit naive;
    std::vector<tla_block> live;
    uint64_t steps = 0;
    std::size_t longest = 0; // that the free list has been
};

std::size_t longest; // free list of any run

std::string fails(const workload &load, const std::vector<operation> &operations, std::size_t *at = nullptr) {
    duel d(load);
    for (std::size_t i = 0; i < operations.size(); i++) {
        std::string why = d.step(operations[i]);
        if (why.empty()) continue;
        if (at) *at = i;
        return why;
    }
    longest = std::max(longest, d.longest);
    return d.compare();
}

// Takes pieces away, large ones first, as long as it still fails.
std::vector<operation> shrink(workload load, std::vector<operation> operations) {
    load.check_each = 1;
    std::size_t at = operations.size() - 1;
    fails(load, operations, &at);
    operations.resize(at + 1);
    for (std::size_t piece = operations.size() / 2, tries = 0; piece > 0 && tries < 400; piece /= 2)
        for (std::size_t from = 0; from + piece <= operations.size() && tries < 400; tries++) {
            std::vector<operation> shorter(operations);
            auto first = shorter.begin() + static_cast<std::ptrdiff_t>(from);
            shorter.erase(first, first + static_cast<std::ptrdiff_t>(piece));
            if (fails(load, shorter).empty())
                from += piece;
            else
                operations = shorter;
        }
    return operations;
}

void run(const char *name, workload load, std::size_t count, uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<operation> operations(count);
    for (std::size_t i = 0; i < count; i++) {
        operation &o = operations[i];
        // it fills up, is used, is emptied, and so on, so that lists get long and short
        bool filling = i % (count / 2)<count / 8, emptying = i % (count / 2)> count / 2 - count / 8;
        static constexpr operation::kind_t all[] = {
            operation::alloc,      operation::alloc,         operation::alloc,    operation::alloc,
            operation::alloc,      operation::alloc_aligned, operation::free_one, operation::free_one,
            operation::free_one,   operation::free_one,      operation::free_one, operation::free_one,
            operation::free_wrong, operation::reserve,       operation::grow,     operation::carve,
            operation::contiguous, operation::free_many};
        o.kind = all[random() % std::size(all)];
        if (load.only_alloc_free || random() % 8 != 0 ? filling || emptying : false)
            o.kind = (random() % 8 == 0) == filling ? operation::free_one : operation::alloc;
        else if (load.only_alloc_free)
            o.kind = random() % 2 ? operation::alloc : operation::free_one;
        o.a = random() >> 1;
        o.b = random() >> 1;
    }
    longest = 0;
    std::string why = fails(load, operations);
    BOOST_TEST_MESSAGE(name << ": at most " << longest << " free blocks");
    BOOST_CHECK(why.empty());
    if (why.empty()) return;
    std::ostringstream text;
    text << name << ", seed " << seed << ": " << why << "\nshort case:";
    for (const operation &o : shrink(load, operations))
        text << "\n  {" << o.kind << ", " << o.a << ", " << o.b << '}';
    BOOST_ERROR(text.str());
}

// Sanitizers make a step ten times as slow.
const std::size_t shorter = is_sanitized() ? 10 : 1;

// Another one each time; TLMALLOC_SEED repeats one.
uint64_t fresh_seed() {
    const char *given = std::getenv("TLMALLOC_SEED");
    uint64_t seed = given ? std::strtoull(given, nullptr, 10) : std::random_device{}();
    BOOST_TEST_MESSAGE("seed " << seed);
    return seed;
}

} // namespace

BOOST_AUTO_TEST_CASE(every_operation_agrees_with_the_sorted_list_step_by_step) {
    uint64_t seed = fresh_seed();
    for (uint64_t i = 0; i < 20; i++) {
        run("few blocks", {{0, 4096, TLA_FIRST_FIT}, 64, 40, false, 1}, 5000, seed + i);
        run("hundreds", {{1 << 20, 1 << 16, TLA_FIRST_FIT, 16}, 8, 3000, false, 1}, 4000, seed + i);
        run("aligned", {{4096, 1 << 20, TLA_FIRST_FIT, 256}, 9, 2000, false, 1}, 4000, seed + i);
    }
}

BOOST_AUTO_TEST_CASE(a_million_operations_agree_with_the_sorted_list) {
    uint64_t seed = fresh_seed();
    run("a thousand live", {{0, 1 << 16, TLA_FIRST_FIT}, 100, 1300, false, 5003}, 1'000'000 / shorter, seed);
}

BOOST_AUTO_TEST_CASE(thousands_of_holes_agree_with_the_sorted_list) {
    uint64_t seed = fresh_seed();
    run("deep tree", {{0, 1 << 18, TLA_FIRST_FIT}, 3, 200'000, true, 50021}, 400'000 / shorter, seed);
    run("deep tree, every operation", {{0, 1 << 17, TLA_FIRST_FIT}, 5, 60'000, false, 10007}, 150'000 / shorter, seed);
}
