// The replay loop, one instance of it for each kind of contender.
#include "contenders.hpp"
#include "naive_list.h"
#include "tlmalloc/segments/segment_cache.h"

#include <cstdlib>
#include <ctime>
#include <malloc.h>
#include <stdexcept>

namespace bench {
namespace {

// Of this thread, so that other load on the machine counts as little as possible.
double thread_seconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

template <class Heap>
run_result replay(Heap &heap, std::vector<tla_block> &slots, const op *ops, std::size_t count) {
    run_result r;
    std::uint64_t skipped = 0;
    constexpr std::ptrdiff_t ahead = 16; // so that no contender waits for the memory of the harness
    double begin = thread_seconds();
    for (const op *o = ops; o != ops + count; o++) {
        if (ops + count - o > ahead) __builtin_prefetch(&slots[o[ahead].slot], 1);
        tla_block &block = slots[o->slot];
        if (o->nbytes) {
            if (!heap.alloc(o->nbytes, block)) {
                block.nbytes = 0;
                r.failed++;
            }
        } else if (block.nbytes) {
            heap.free(block);
            block.nbytes = 0;
        } else {
            skipped++;
        }
    }
    r.seconds = thread_seconds() - begin;
    r.operations = count - skipped;
    return r;
}

template <class Heap>
class heap_contender : public contender {
  public:
    template <class... Arguments>
    explicit heap_contender(const trace &t, Arguments... arguments) : held(t.slots), heap(t, arguments...) {
        heap.prepare(t, held);
    }
    ~heap_contender() override { heap.finish(held); }
    run_result run(const op *ops, std::size_t count) override { return replay(heap, held, ops, count); }
    const std::vector<tla_block> &slots() const override { return held; }

  private:
    std::vector<tla_block> held;
    Heap heap;
};

// Calls that are not inlined and do nothing: what is left is the harness.
struct empty_heap {
    explicit empty_heap(const trace &) {}
    void prepare(const trace &t, std::vector<tla_block> &held) {
        replay(*this, held, t.prepare.data(), t.prepare.size());
    }
    void finish(const std::vector<tla_block> &) {}
    [[gnu::noinline]] bool alloc(std::uint64_t nbytes, tla_block &block) {
        block = {0, nbytes};
        return true;
    }
    [[gnu::noinline]] void free(const tla_block &) { __asm__ volatile(""); }
};

class arena_heap {
  public:
    arena_heap(const trace &t, tla_policy policy) : arena_heap(t.capacity, policy) {}
    arena_heap(std::uint64_t capacity, tla_policy policy) {
        tla_arena_config config{};
        config.capacity = capacity;
        config.policy = policy;
        if (tla_arena_create(&config, &arena) != TLA_OK) throw std::runtime_error("cannot create an arena");
    }
    ~arena_heap() { tla_arena_destroy(arena); }
    arena_heap(const arena_heap &) = delete;
    arena_heap &operator=(const arena_heap &) = delete;
    void prepare(const trace &t, std::vector<tla_block> &held) {
        replay(*this, held, t.prepare.data(), t.prepare.size());
    }
    void finish(const std::vector<tla_block> &) {}
    bool alloc(std::uint64_t nbytes, tla_block &block) {
        return tla_arena_alloc(arena, nbytes, &block, &work) == TLA_OK;
    }
    void free(const tla_block &block) {
        if (tla_arena_free(arena, block, &work) != TLA_OK) throw std::runtime_error("an arena refused a free");
    }
    const tla_arena *get() const { return arena; }

  private:
    tla_arena *arena = nullptr;
    tla_work work{};
};

// PyTorch's cache over a first-fit arena that always has room: the cost of its own rules, not of running out.
class segment_heap {
  public:
    segment_heap(const trace &, bool expandable) {
        tla_arena_config range{};
        range.capacity = std::uint64_t{1} << 40;
        tla_segment_cache_config config{};
        if (tla_arena_create(&range, &arena) != TLA_OK || tla_arena_ranges_create(&set, &ranges) != TLA_OK)
            throw std::runtime_error("cannot create an arena");
        config.driver = tla_arena_upstream(&set);
        config.ranges = tla_arena_ranges_upstream(ranges);
        config.device_bytes = range.capacity;
        config.expandable = expandable;
        if (tla_segment_cache_create(&config, &cache) != TLA_OK) throw std::runtime_error("cannot create a cache");
    }
    ~segment_heap() {
        tla_segment_cache_destroy(cache);
        tla_arena_ranges_destroy(ranges);
        tla_arena_destroy(arena);
    }
    segment_heap(const segment_heap &) = delete;
    segment_heap &operator=(const segment_heap &) = delete;
    void prepare(const trace &t, std::vector<tla_block> &held) {
        replay(*this, held, t.prepare.data(), t.prepare.size());
    }
    void finish(const std::vector<tla_block> &) {}
    bool alloc(std::uint64_t nbytes, tla_block &block) {
        return tla_segment_cache_alloc(cache, 0, nbytes, &block, &work) == TLA_OK;
    }
    void free(const tla_block &block) {
        if (tla_segment_cache_free(cache, block.offset, &work) != TLA_OK)
            throw std::runtime_error("a cache refused a free");
    }

  private:
    tla_arena *arena = nullptr;
    tla_arena_set set{&arena, 1};
    tla_arena_ranges *ranges = nullptr;
    tla_segment_cache *cache = nullptr;
    tla_work work{};
};

class naive_heap {
  public:
    explicit naive_heap(const trace &) {}
    ~naive_heap() { naive_list_free_memory(&list); }
    naive_heap(const naive_heap &) = delete;
    naive_heap &operator=(const naive_heap &) = delete;
    void prepare(const trace &t, std::vector<tla_block> &held) {
        arena_heap arena(t, TLA_FIRST_FIT);
        arena.prepare(t, held);
        std::vector<tla_block> blocks(tla_arena_get_stats(arena.get()).free_blocks);
        tla_arena_free_blocks(arena.get(), 0, blocks.data(), blocks.size());
        std::vector<naive_hole> holes;
        for (const tla_block &block : blocks)
            holes.push_back({block.offset, block.nbytes});
        if (!naive_list_init(&list, holes.data(), holes.size(), t.slots + 1)) throw std::bad_alloc();
    }
    void finish(const std::vector<tla_block> &) {}
    bool alloc(std::uint64_t nbytes, tla_block &block) {
        block.nbytes = nbytes;
        return naive_list_alloc(&list, nbytes, &block.offset);
    }
    void free(const tla_block &block) { naive_list_free(&list, block.offset, block.nbytes); }

  private:
    naive_list list{};
};

// glibc at its best: neither mmap nor trimming, so that no system call and no page fault is measured.
struct malloc_heap {
    explicit malloc_heap(const trace &) {
        mallopt(M_MMAP_MAX, 0);
        mallopt(M_TRIM_THRESHOLD, -1);
        mallopt(M_TOP_PAD, 64 << 20);
    }
    void prepare(const trace &t, std::vector<tla_block> &held) {
        replay(*this, held, t.prepare.data(), t.prepare.size());
    }
    void finish(const std::vector<tla_block> &held) {
        for (const tla_block &block : held)
            if (block.nbytes) free(block);
    }
    bool alloc(std::uint64_t nbytes, tla_block &block) {
        void *p = std::malloc(nbytes);
        block = {reinterpret_cast<std::uintptr_t>(p), nbytes};
        return p != nullptr;
    }
    void free(const tla_block &block) { std::free(reinterpret_cast<void *>(block.offset)); }
};

} // namespace

std::unique_ptr<contender> make_harness(const trace &t) {
    return std::make_unique<heap_contender<empty_heap>>(t);
}

std::unique_ptr<contender> make_naive(const trace &t) {
    return std::make_unique<heap_contender<naive_heap>>(t);
}

std::unique_ptr<contender> make_segment_cache(const trace &t, bool expandable) {
    return std::make_unique<heap_contender<segment_heap>>(t, expandable);
}

std::unique_ptr<contender> make_malloc(const trace &t) {
    return std::make_unique<heap_contender<malloc_heap>>(t);
}

std::unique_ptr<contender> make_arena(const trace &t, tla_policy policy) {
    return std::make_unique<heap_contender<arena_heap>>(t, policy);
}

bool fits(const trace &t, tla_policy policy, std::uint64_t capacity) {
    arena_heap heap(capacity, policy);
    std::vector<tla_block> held(t.slots);
    constexpr std::size_t step = 1000; // give up soon after the first failure
    for (const auto *part : {&t.prepare, &t.measured})
        for (std::size_t i = 0; i < part->size(); i += step)
            if (replay(heap, held, part->data() + i, std::min(step, part->size() - i)).failed) return false;
    return true;
}

} // namespace bench
