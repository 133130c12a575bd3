// What the naive allocator recorded, as torch.cuda.memory._dump_snapshot writes it: pickle or JSON.
#ifndef TLMALLOC_TESTS_TORCH_RECORDING_HPP
#define TLMALLOC_TESTS_TORCH_RECORDING_HPP

#include "tests/torch/naive_torch.hpp"

#include <cmath>
#include <cstdio>
#include <memory>
#include <variant>

namespace naive_torch {

// A value of Python's, and its two ways to be written.
struct value {
    using list = std::vector<value>;
    using dict = std::vector<std::pair<std::string, value>>;
    std::variant<std::nullptr_t, bool, std::int64_t, double, std::string, list, dict> is = nullptr;

    value() = default;
    value(bool b) : is(b) {}
    value(int n) : is(std::int64_t{n}) {}
    value(u64 n) : is(static_cast<std::int64_t>(n)) {}
    value(std::int64_t n) : is(n) {}
    value(double x) : is(x) {}
    value(const char *text) : is(std::string(text)) {}
    value(std::string text) : is(std::move(text)) {}
    value(list items) : is(std::move(items)) {}
    value(dict items) : is(std::move(items)) {}

    value &operator[](const std::string &key) {
        auto &items = std::get<dict>(is);
        for (auto &[k, v] : items)
            if (k == key) return v;
        items.emplace_back(key, value());
        return items.back().second;
    }
    void erase(const std::string &key) {
        auto &items = std::get<dict>(is);
        items.erase(std::remove_if(items.begin(), items.end(), [&](auto &item) { return item.first == key; }),
                    items.end());
    }
};

inline void write_json(const value &v, std::string &out) {
    if (std::holds_alternative<std::nullptr_t>(v.is)) out += "null";
    if (auto *b = std::get_if<bool>(&v.is)) out += *b ? "true" : "false";
    if (auto *n = std::get_if<std::int64_t>(&v.is)) out += std::to_string(*n);
    if (auto *x = std::get_if<double>(&v.is))
        out += std::isnan(*x) ? "NaN" : std::isinf(*x) ? (*x < 0 ? "-Infinity" : "Infinity") : std::to_string(*x);
    if (auto *text = std::get_if<std::string>(&v.is)) {
        out += '"';
        for (char c : *text) {
            char escaped[8];
            std::snprintf(escaped, sizeof escaped, "\\u%04x", c);
            out += (c >= 0 && c < 0x20) || c == '"' || c == '\\' ? std::string(escaped) : std::string(1, c);
        }
        out += '"';
    }
    if (auto *items = std::get_if<value::list>(&v.is)) {
        out += '[';
        for (std::size_t i = 0; i < items->size(); i++) {
            if (i) out += ", ";
            write_json((*items)[i], out);
        }
        out += ']';
    }
    if (auto *items = std::get_if<value::dict>(&v.is)) {
        out += '{';
        for (std::size_t i = 0; i < items->size(); i++) {
            out += (i ? ", \"" : "\"") + (*items)[i].first + "\": ";
            write_json((*items)[i].second, out);
        }
        out += '}';
    }
}

inline std::string to_json(const value &v) {
    std::string out;
    write_json(v, out);
    return out;
}

inline void little_endian(u64 n, int bytes, std::string &out) {
    for (int i = 0; i < bytes; i++)
        out += static_cast<char>(n >> (8 * i) & 0xff);
}

// Protocol 2, without a memo: legal, and no two writers agree on one.
inline void write_pickle(const value &v, std::string &out) {
    if (std::holds_alternative<std::nullptr_t>(v.is)) out += 'N';
    if (auto *b = std::get_if<bool>(&v.is)) out += *b ? '\x88' : '\x89';
    if (auto *n = std::get_if<std::int64_t>(&v.is)) {
        if (*n >= 0 && *n < 256) {
            out += 'K';
            little_endian(static_cast<u64>(*n), 1, out);
        } else {
            out += '\x8a';
            out += '\x08';
            little_endian(static_cast<u64>(*n), 8, out);
        }
    }
    if (auto *x = std::get_if<double>(&v.is)) {
        u64 bits;
        static_assert(sizeof bits == sizeof *x);
        std::copy_n(reinterpret_cast<const char *>(x), 8, reinterpret_cast<char *>(&bits));
        out += 'G';
        for (int i = 7; i >= 0; i--)
            out += static_cast<char>(bits >> (8 * i) & 0xff);
    }
    if (auto *text = std::get_if<std::string>(&v.is)) {
        out += 'X';
        little_endian(text->size(), 4, out);
        out += *text;
    }
    if (auto *items = std::get_if<value::list>(&v.is)) {
        out += "](";
        for (const value &item : *items)
            write_pickle(item, out);
        out += 'e';
    }
    if (auto *items = std::get_if<value::dict>(&v.is)) {
        out += "}(";
        for (const auto &[key, item] : *items) {
            write_pickle(key, out);
            write_pickle(item, out);
        }
        out += 'u';
    }
}

inline std::string to_pickle(const value &v) {
    std::string out = "\x80\x02";
    write_pickle(v, out);
    return out + '.';
}

inline value frames(const char *function, int line) {
    return value::list{value::dict{{"filename", "/home/train.py"}, {"name", function}, {"line", line}}};
}

inline value block_of(const block &b) {
    const char *state = b.allocated ? "active_allocated" : b.pending() ? "active_pending_free" : "inactive";
    return value::dict{{"address", b.address},
                       {"size", b.size},
                       {"requested_size", b.free() ? u64{77} : b.requested}, // of an inactive block it means nothing
                       {"state", state},
                       {"frames", frames("forward", static_cast<int>(b.requested % 100))}};
}

// One segment, or of a range one entry for each run of mapped blocks.
inline void add_segments(const segment &s, int device, value::list &out) {
    for (std::size_t i = 0, next; i < s.blocks.size(); i = next) {
        next = i + 1;
        if (!s.blocks[i].mapped) continue;
        while (next < s.blocks.size() && s.blocks[next].mapped)
            next++;
        value::list blocks;
        u64 total = 0, allocated = 0, active = 0, requested = 0;
        for (std::size_t k = i; k < next; k++) {
            const block &b = s.blocks[k];
            blocks.push_back(block_of(b));
            total += b.size;
            allocated += b.allocated ? b.size : 0;
            active += b.free() ? 0 : b.size;
            requested += b.free() ? 0 : b.requested;
        }
        out.push_back(value::dict{{"device", device},
                                  {"address", s.blocks[i].address},
                                  {"total_size", total},
                                  {"allocated_size", allocated},
                                  {"active_size", active},
                                  {"requested_size", requested},
                                  {"stream", s.stream},
                                  {"segment_type", s.small ? "small" : "large"},
                                  {"segment_pool_id", value::list{s.owner.first, s.owner.second}},
                                  {"is_expandable", s.granule != 0},
                                  {"frames", value::list{}},
                                  {"blocks", blocks}});
    }
}

inline value entry_of(const entry &e, bool pool_ids) {
    value out = value::dict{{"action", e.action}};
    if (e.action == "oom")
        out["device_free"] = e.address;
    else
        out["addr"] = e.address;
    out["size"] = e.size;
    out["stream"] = e.stream;
    out["time_us"] = e.time_us;
    if (pool_ids) out["pool_id"] = value::list{e.owner.first, e.owner.second};
    out["frames"] = frames(e.action.c_str(), static_cast<int>(e.time_us % 1000));
    return out;
}

inline value settings_of(const settings &s) {
    value::dict divisions;
    for (int i = 0; i < 16; i++)
        divisions.emplace_back(std::to_string(1 << i), static_cast<int>(s.divisions[static_cast<std::size_t>(i)]));
    return value::dict{{"PYTORCH_CUDA_ALLOC_CONF", s.expandable ? "expandable_segments:True" : ""},
                       {"max_split_size", s.max_split == none ? value(-1) : value(s.max_split)},
                       {"garbage_collection_threshold", s.gc_threshold},
                       {"expandable_segments", s.expandable},
                       {"pinned_num_register_threads", 1},
                       {"roundup_power2_divisions", divisions}};
}

// A snapshot of several devices of one program; of each trace the last `keep` entries, as a ring keeps them. Newer
// versions of PyTorch write the pool of an entry.
inline value snapshot_of(const std::vector<const allocator *> &devices, std::size_t keep = ~std::size_t{0},
                         bool pool_ids = false) {
    value::list segments, traces;
    for (std::size_t i = 0; i < devices.size(); i++) {
        for (const segment &s : devices[i]->segments)
            add_segments(s, static_cast<int>(i), segments);
        const auto &all = devices[i]->trace;
        value::list trace;
        for (std::size_t k = all.size() > keep ? all.size() - keep : 0; k < all.size(); k++)
            trace.push_back(entry_of(all[k], pool_ids));
        traces.push_back(trace);
    }
    return value::dict{{"segments", segments},
                       {"device_traces", traces},
                       {"allocator_settings", settings_of(devices.at(0)->s)},
                       {"external_annotations", value::list{}}};
}

// A program that takes and frees at random on a few streams: mostly small, some large, some very large.
struct workload {
    int operations = 2000;
    u64 streams = 1, largest = 300 * MiB;
    std::size_t most_live = 200;
    bool empties = true, uses = true;
    u64 empty_every = 300, use_every = 8; // operations; frees
    std::vector<owner_id> owners{{0, 0}};
};

inline void run(allocator &a, const workload &w, u64 seed) {
    std::mt19937_64 random(seed);
    auto below = [&](u64 n) { return random() % n; };
    std::vector<u64> live, used;
    for (int i = 0; i < w.operations; i++) {
        while (!a.pending.empty() && below(3) == 0) // a stream is done
            a.end_use(a.pending[below(a.pending.size())]);
        if (below(w.empty_every) == 0 && w.empties) a.empty_cache();
        if (below(400) == 0) a.snapshot_entry();
        if (live.empty() || (live.size() < w.most_live && below(2))) {
            u64 kind = below(10);
            u64 n = 1 + below(kind < 5   ? 64 * KiB
                              : kind < 6 ? MiB
                              : kind < 8 ? 9 * MiB
                              : kind < 9 ? 40 * MiB
                                         : w.largest);
            if (below(4) == 0) n = (n + MiB) / MiB * MiB;
            if (auto address = a.malloc(n, below(w.streams), w.owners[below(w.owners.size())]))
                live.push_back(*address);
        } else {
            std::swap(live[below(live.size())], live.back());
            if (w.uses && below(w.use_every) == 0) a.use(live.back());
            a.free(live.back());
            live.pop_back();
        }
    }
}

} // namespace naive_torch

#endif
