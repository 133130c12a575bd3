// Translations per second on a TLB hit and on a page-table hit, and what the size of a table costs, in one run.
#include "measuring.hpp"
#include "tlmalloc/vm/mmu.h"

#ifdef TLMALLOC_BENCH_PATH
#include "mmu_path.hpp"

#include <systemc>
#endif

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace {

const std::uint64_t KiB = 1024, MiB = 1024 * KiB, GiB = 1024 * MiB;
const std::uint64_t page = 4 * KiB, base = 4 * GiB; // KernBench's page fallback and VA base (ADR-0048 D4)

struct options {
    std::uint64_t operations = 1 << 20, rounds = 9, seed = 5;
    const char *json = nullptr;
};

// A table of `nbytes` in 4 KiB pages: scattered, no two neighbours physically adjacent; or one contiguous run.
class table {
  public:
    table(std::uint64_t nbytes, bool scattered, std::uint64_t seed, bool in_memory = false) : pages_(nbytes / page) {
        tla_page_table_config config{};
        config.page_size = page;
        config.va_bits = 48;
        if (in_memory) {
            config.memory.alloc = [](void *self, std::uint64_t n, tla_paddr *pa) {
                pa->value = static_cast<table *>(self)->next_table_;
                static_cast<table *>(self)->next_table_ += n;
                return TLA_OK;
            };
            config.memory.free = [](void *, tla_paddr, std::uint64_t) {};
            config.memory.context = this;
        }
        if (tla_page_table_create(&config, &table_)) fail("no page table");
        std::vector<std::uint64_t> frames(pages_);
        std::iota(frames.begin(), frames.end(), 0);
        if (scattered) std::shuffle(frames.begin(), frames.end(), std::mt19937(static_cast<unsigned>(seed)));
        std::vector<tla_map_entry> entries;
        for (std::uint64_t i = 0; i < pages_; i++)
            entries.push_back({{base + i * page}, {frames[i] * page * (scattered ? 2 : 1)}, page, TLA_READ, 0});
        if (!scattered) entries = {{{base}, {0}, nbytes, TLA_READ, 0}};
        if (tla_page_table_map(table_, entries.data(), entries.size(), nullptr, nullptr)) fail("cannot map");
    }
    ~table() { tla_page_table_destroy(table_); }
    table(const table &) = delete;
    table &operator=(const table &) = delete;
    tla_page_table *get() const { return table_; }
    std::uint64_t pages() const { return pages_; }

  private:
    std::uint64_t pages_, next_table_ = 0;
    tla_page_table *table_ = nullptr;
};

// Addresses in a table: random ones, or bursts of 256 bytes one after the other.
struct stream {
    std::uint64_t state, mask;
    bool random;
    std::uint64_t next() {
        if (!random) return base + ((state += 256) & mask);
        state = state * 6364136223846793005u + 1442695040888963407u; // Knuth's MMIX generator
        return base + (state >> 20 & mask);
    }
};

stream addresses(std::uint64_t pages, bool random) {
    return {1, pages * page - 1, random};
}

struct lane {
    std::string label;
    std::function<std::uint64_t(std::uint64_t)> run; // does n operations, returns a sum that keeps them alive
    std::vector<double> ns = {};
};

// Time of this thread on a processor, so that others on the machine count for less.
void add_table_lane(std::vector<lane> &lanes, const std::string &label, const table &t, bool random) {
    lanes.push_back({label, [&t, s = addresses(t.pages(), random)](std::uint64_t n) mutable {
                         std::uint64_t sum = 0;
                         for (std::uint64_t i = 0; i < n; i++) {
                             tla_translation found{};
                             if (tla_page_table_translate(t.get(), {s.next()}, 256, TLA_READ, &found, nullptr))
                                 fail("a mapped address was not found");
                             sum += found.pa.value;
                         }
                         return sum;
                     }});
}

void add_walk_lane(std::vector<lane> &lanes, const std::string &label, const table &t) {
    lanes.push_back({label, [&t, s = addresses(t.pages(), true)](std::uint64_t n) mutable {
                         std::uint64_t sum = 0;
                         for (std::uint64_t i = 0; i < n; i++) {
                             tla_walk walk{};
                             if (tla_page_table_walk(t.get(), 0, {s.next()}, &walk)) fail("a walk found nothing");
                             sum += walk.pa.value;
                         }
                         return sum;
                     }});
}

struct tlb {
    tlb(const table &t, std::uint32_t entries, std::uint32_t ways) {
        tla_tlb_config config{};
        config.levels = 1;
        config.level[0] = {entries, ways, 0, TLA_REPLACE_LRU};
        config.page_sizes[0] = page;
        if (tla_tlb_create(&config, &handle)) fail("no TLB");
        for (std::uint64_t i = 0; i < entries; i++) {
            tla_walk walk{};
            if (tla_page_table_walk(t.get(), 0, {base + i * page}, &walk) || tla_tlb_fill(handle, &walk))
                fail("cannot fill the TLB");
        }
    }
    ~tlb() { tla_tlb_destroy(handle); }
    tlb(const tlb &) = delete;
    tlb &operator=(const tlb &) = delete;
    tla_tlb *handle = nullptr;
};

void add_tlb_lane(std::vector<lane> &lanes, const std::string &label, const tlb &b, std::uint64_t pages, bool random) {
    lanes.push_back({label, [&b, s = addresses(pages, random)](std::uint64_t n) mutable {
                         std::uint64_t sum = 0;
                         for (std::uint64_t i = 0; i < n; i++) {
                             tla_tlb_hit hit{};
                             if (!tla_tlb_lookup(b.handle, 0, {s.next()}, 0, &hit)) fail("a TLB that is full missed");
                             sum += hit.pa.value;
                         }
                         return sum;
                     }});
}

// Bursts of 256 bytes in the HBM slices of a cube, one after the other: whether they go on behind their slice.
void add_cut_lane(std::vector<lane> &lanes, const std::string &label) {
    lanes.push_back({label, [at = std::uint64_t{0}](std::uint64_t n) mutable {
                         constexpr std::uint64_t slice = 6 * GiB;
                         tla_paddr first{};
                         if (tla_paddr_pe_hbm(0, 0, 0, 0, slice, &first)) fail("no slice");
                         std::uint64_t sum = 0;
                         for (std::uint64_t i = 0; i < n; i++, at = (at + 256) % MiB) {
                             tla_mmu_piece piece{}, rest{};
                             piece.pa.value = first.value + at;
                             piece.nbytes = 256;
                             if (tla_mmu_piece_cut(&piece, slice, &rest)) fail("a burst in a slice was cut");
                             sum += piece.pa.value;
                         }
                         return sum;
                     }});
}

// Maps and unmaps one page, at random places of a table of 1 GiB that is half full.
struct churn {
    explicit churn(std::uint64_t seed) : mapped(GiB / page, false), random(static_cast<unsigned>(seed)) {
        tla_page_table_config config{};
        config.page_size = page;
        config.va_bits = 48;
        if (tla_page_table_create(&config, &handle)) fail("no page table");
    }
    ~churn() { tla_page_table_destroy(handle); }
    churn(const churn &) = delete;
    churn &operator=(const churn &) = delete;
    std::uint64_t run(std::uint64_t n) {
        for (std::uint64_t i = 0; i < n; i++) {
            std::uint64_t at = random() % mapped.size();
            tla_map_entry e{{base + at * page}, {at * 3 * page}, page, TLA_READ, 0};
            if (mapped[at] ? tla_page_table_unmap(handle, &e, 1, nullptr, nullptr)
                           : tla_page_table_map(handle, &e, 1, nullptr, nullptr))
                fail("a map or unmap failed");
            mapped[at] = !mapped[at];
        }
        return n;
    }
    tla_page_table *handle = nullptr;
    std::vector<bool> mapped;
    std::mt19937 random;
};

int bench(int argc, char **argv) {
    options o;
    read_options(argc, argv, "Translations per second, TLB and page table.",
                 {{{"ops", 'n', "N", 0, "operations a round (default 1048576)", 0}, &o.operations},
                  {{"rounds", 'r', "N", 0, "rounds, of which the median counts (default 9)", 0}, &o.rounds},
                  {{"seed", 's', "N", 0, "of the scattered tables (default 5)", 0}, &o.seed}},
                 &o.json);

    const table small(MiB, true, o.seed), large(GiB, true, o.seed), run(GiB, false, o.seed),
        walked(GiB, true, o.seed, true);
    const tlb near(small, 64, 0), far(large, 1024, 8);
    churn maps(o.seed);
    std::vector<lane> lanes;
    add_tlb_lane(lanes, "tlb hit, 64 entries, bursts", near, 64, false);
    add_tlb_lane(lanes, "tlb hit, 64 entries, random", near, 64, true);
    add_tlb_lane(lanes, "tlb hit, 1024 entries, random", far, 1024, true);
    add_table_lane(lanes, "table 1 MiB, bursts", small, false);
    add_table_lane(lanes, "table 1 GiB, bursts", large, false);
    add_table_lane(lanes, "table 1 MiB, random", small, true);
    add_table_lane(lanes, "table 1 GiB, random", large, true);
    add_table_lane(lanes, "table 1 GiB contiguous, random", run, true);
    add_walk_lane(lanes, "walk 1 GiB in memory, random", walked);
    add_cut_lane(lanes, "end of a slice, bursts");
    const std::size_t cut_lane = lanes.size() - 1, table_lanes = lanes.size();
#ifdef TLMALLOC_BENCH_PATH
    mmu_path ideal("ideal", false), hits("hits", true);
    mmu_path::begin();
    lanes.push_back({"path of a burst without MMU", [&](std::uint64_t n) { return ideal.without_mmu(n); }});
    lanes.push_back({"path of a burst, MMU ideal", [&](std::uint64_t n) { return ideal.with_mmu(n); }});
    lanes.push_back({"path of a burst, MMU TLB hit", [&](std::uint64_t n) { return hits.with_mmu(n); }});
    lanes.push_back({"burst by DMI without MMU", [&](std::uint64_t n) { return ideal.dmi_without_mmu(n); }});
    lanes.push_back({"burst by DMI through the MMU", [&](std::uint64_t n) { return ideal.dmi_with_mmu(n); }});
#endif
    lanes.push_back({"map or unmap one page of 1 GiB", [&maps](std::uint64_t n) { return maps.run(n / 8 + 1); }});

    std::uint64_t sum = 0;
    for (std::size_t round = 0; round <= o.rounds; round++) { // the first one warms up
        for (lane &l : lanes) {
            bool maps_pages = &l == &lanes.back();
            double begin = processor_ns();
            sum += l.run(o.operations);
            double took = processor_ns() - begin;
            std::uint64_t done = maps_pages ? o.operations / 8 + 1 : o.operations;
            if (round > 0) l.ns.push_back(took / static_cast<double>(done));
        }
    }

    json_t *rows = json_array();
    std::printf("%-34s %10s %16s\n", "", "ns", "per second");
    for (const lane &l : lanes) {
        double ns = median(l.ns);
        std::printf("%-34s %10.2f %16.0f\n", l.label.c_str(), ns, 1e9 / ns);
        json_array_append_new(rows,
                              json_pack("{s:s, s:f, s:f}", "label", l.label.c_str(), "ns", ns, "per_second", 1e9 / ns));
    }
    double bursts = median(lanes[4].ns) / median(lanes[3].ns), random = median(lanes[6].ns) / median(lanes[5].ns);
    std::printf("1 GiB over 1 MiB: %.2f in bursts, %.2f at random\n", bursts, random);
    std::printf("host bytes: 1 MiB %llu, 1 GiB scattered %llu, 1 GiB contiguous %llu\n",
                static_cast<unsigned long long>(tla_page_table_get_stats(small.get()).host_bytes),
                static_cast<unsigned long long>(tla_page_table_get_stats(large.get()).host_bytes),
                static_cast<unsigned long long>(tla_page_table_get_stats(run.get()).host_bytes));
    json_t *share = json_object(); // what the MMU costs, in percent of the whole path with it
    for (std::size_t i = table_lanes; i + 1 < lanes.size(); i++) {
        const lane &without = lanes[i < table_lanes + 3 ? table_lanes : table_lanes + 3];
        if (&lanes[i] == &without) continue;
        double percent = 100 * (median(lanes[i].ns) - median(without.ns)) / median(lanes[table_lanes + 1].ns);
        std::printf("MMU's share of the path, %s: %.0f %%\n", lanes[i].label.c_str(), percent);
        json_object_set_new(share, lanes[i].label.c_str(), json_real(percent));
    }
    if (table_lanes + 2 < lanes.size()) {
        double percent = 100 * median(lanes[cut_lane].ns) / median(lanes[table_lanes + 1].ns);
        std::printf("the end of a slice, share of the path through an ideal MMU: %.1f %%\n", percent);
        json_object_set_new(share, "end of a slice", json_real(percent));
    }
    if (sum == 0) fail("nothing was translated");
    json_t *root =
        json_pack("{s:s, s:I, s:I, s:o, s:f, s:f, s:o}", "benchmark", "bench_mmu", "operations",
                  static_cast<json_int_t>(o.operations), "seed", static_cast<json_int_t>(o.seed), "rows", rows,
                  "large_over_small_bursts", bursts, "large_over_small_random", random, "mmu_share_of_path_pct", share);
    return write_figures(root, o.json);
}

} // namespace

#ifdef TLMALLOC_BENCH_PATH
int sc_main(int argc, char **argv) {
    return bench(argc, argv);
}

int main(int argc, char **argv) {
    setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 0);
    return sc_core::sc_elab_and_sim(argc, argv);
}
#else
int main(int argc, char **argv) {
    return bench(argc, argv);
}
#endif
