// Programs with views, op by op, and naive models of their rules: how long TPU-MLIR keeps each value, as its
// description says it; the repaired rule, from all parts of a value; and a run with real bytes that finds what a plan
// overwrites.
#ifndef TLMALLOC_TESTS_NAIVE_PROGRAM_HPP
#define TLMALLOC_TESTS_NAIVE_PROGRAM_HPP

#include "seeded_random.hpp"
#include "tlmalloc/plan/views.h"

#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace naive {

enum class kind { input, compute, concat, reshape, slice };

// Op i makes value i.
struct op {
    kind what;
    std::vector<std::size_t> in;
    std::uint64_t nbytes, offset = 0;
    bool is_view() const { return what != kind::input && what != kind::compute; }
};

// The last op returns `returned`; it is op number ops.size().
struct program {
    std::vector<op> ops;
    std::vector<std::size_t> returned;
    std::uint64_t alignment = 1;
    tla_address_mode mode = TLA_ADDRESS_BASIC;

    bool outputs_stay() const { return mode == TLA_ADDRESS_IO_ALONE || mode == TLA_ADDRESS_IO_RELOC; }
    bool is_output(std::size_t v) const { return std::count(returned.begin(), returned.end(), v) > 0; }
    std::uint64_t end() const { return ops.size() + 1; }
    std::uint64_t aligned(std::uint64_t nbytes) const { return (nbytes + alignment - 1) / alignment * alignment; }
    std::size_t reshaped(std::size_t v) const { return ops[v].what == kind::reshape ? reshaped(ops[v].in[0]) : v; }
    // For a message: each op as its kind (i, c, j, r, s), its operands, its bytes and offset.
    std::string text() const {
        std::ostringstream out;
        for (const op &o : ops) {
            out << "icjrs"[static_cast<int>(o.what)] << "(";
            for (const std::size_t v : o.in)
                out << " " << v;
            out << " ) " << o.nbytes << "+" << o.offset << "; ";
        }
        out << tla_address_mode_name(mode) << ", aligned " << alignment;
        return out.str();
    }
    const std::vector<std::size_t> &operands(std::size_t i) const { return i < ops.size() ? ops[i].in : returned; }
};

// The program as the library takes it; the arrays are its own.
struct table {
    std::vector<tla_lifetime> tensors;
    std::vector<tla_plan_view> views;
    std::vector<std::size_t> sources;
    std::vector<tla_plan_io> io;
    tla_plan_program view{};

    table(const program &p, bool literal) {
        for (std::size_t i = 0; i < p.ops.size(); i++) {
            const op &o = p.ops[i];
            tensors.push_back({i, i + 1, o.nbytes});
            views.push_back({sources.size(), o.is_view() ? o.in.size() : 0, o.offset});
            if (o.is_view()) sources.insert(sources.end(), o.in.begin(), o.in.end());
            io.push_back(o.what == kind::input ? TLA_PLAN_INPUT : p.is_output(i) ? TLA_PLAN_OUTPUT : TLA_PLAN_INNER);
        }
        for (std::size_t i = 0; i <= p.ops.size(); i++)
            for (const std::size_t v : p.operands(i))
                tensors[v].upper = i + 1;
        view.tensors = tensors.data();
        view.views = views.data();
        view.sources = sources.data();
        view.io = io.data();
        view.n = tensors.size();
        view.alignment = p.alignment;
        view.literal = literal;
        view.mode = p.mode;
        view.io_start = TLA_PLAN_ANYWHERE;
    }
    table(const table &) = delete;
};

// The literal rule. Values are kept in [start, end).
class literal_rule {
  public:
    explicit literal_rule(const program &p) : p_(p) {
        use_all(p.ops.size(), p.end());
        for (std::size_t i = p.ops.size(); i-- > 0;)
            meet(i);
    }
    // What is planned: others have 0 bytes.
    std::map<std::size_t, tla_lifetime> live;

  private:
    void use_all(std::size_t user, std::uint64_t end) {
        for (const std::size_t v : p_.operands(user))
            use(v, user, end);
    }
    void use(std::size_t v, std::size_t user, std::uint64_t end) {
        const auto [at, is_new] = live.insert({v, {v, end, p_.aligned(p_.ops[v].nbytes)}});
        at->second.lower = std::min<std::uint64_t>(at->second.lower, v);
        at->second.upper = std::max(at->second.upper, end);
        const bool returns = user == p_.ops.size();
        if (!returns && p_.ops[user].is_view() && live.count(user))
            at->second.upper = std::max(at->second.upper, live[user].upper);
        if (p_.ops[v].what == kind::input || (returns && p_.outputs_stay()))
            at->second = {0, p_.end(), at->second.nbytes};
    }
    void meet(std::size_t i) {
        const op &o = p_.ops[i];
        if (o.what == kind::input) {
            live.insert({i, {0, p_.end(), p_.aligned(o.nbytes)}});
        } else if (o.what == kind::compute) {
            live.insert({i, {i, i + 1, p_.aligned(o.nbytes)}});
            use_all(i, i + 1);
        } else if (o.what == kind::concat) {
            use_all(i, i + 1);
            join(i);
        } else {
            use_all(i, std::max<std::uint64_t>(i + 1, last_use(i)));
        }
    }
    std::uint64_t last_use(std::size_t v) const {
        std::uint64_t last = 0;
        for (std::size_t i = v + 1; i <= p_.ops.size(); i++)
            if (std::count(p_.operands(i).begin(), p_.operands(i).end(), v))
                last = std::max<std::uint64_t>(last, i < p_.ops.size() && p_.ops[i].is_view() ? last_use(i) : i + 1);
        return last;
    }
    void join(std::size_t concat) {
        const auto found = live.find(concat);
        std::uint64_t start = found == live.end() ? concat : found->second.lower,
                      end = found == live.end() ? concat + 1 : found->second.upper;
        for (const std::size_t v : p_.ops[concat].in) {
            start = std::min(start, live[v].lower);
            end = std::max(end, live[v].upper);
        }
        for (const std::size_t v : p_.ops[concat].in) {
            live[v] = {start, end, 0};
            live[p_.reshaped(v)] = {start, end, 0};
        }
        live[p_.reshaped(p_.ops[concat].in[0])].nbytes = p_.aligned(p_.ops[concat].nbytes);
    }
    const program &p_;
};

// Which value owns the bytes of each, and from where on they are its.
struct part {
    std::size_t owner;
    std::uint64_t offset;
};

inline std::vector<part> parts_of(const program &p) {
    std::vector<part> parts, joined;
    for (std::size_t i = 0; i < p.ops.size(); i++)
        joined.push_back({i, 0});
    for (const op &o : p.ops) {
        std::uint64_t offset = 0;
        for (const std::size_t v : o.in) {
            if (o.what != kind::concat) break;
            joined[p.reshaped(v)] = {p.reshaped(o.in[0]), offset};
            offset += p.ops[v].nbytes;
        }
    }
    for (std::size_t i = 0; i < p.ops.size(); i++) {
        const op &o = p.ops[i];
        parts.push_back(o.is_view() ? parts[o.in[0]] : joined[i]);
        if (o.what != kind::concat) parts[i].offset += o.offset;
    }
    return parts;
}

// The repaired rule: an owner is kept for all its parts.
inline std::map<std::size_t, tla_lifetime> repaired_rule(const program &p) {
    std::map<std::size_t, tla_lifetime> kept;
    const std::vector<part> parts = parts_of(p);
    const table t(p, false);
    for (std::size_t i = 0; i < p.ops.size(); i++) {
        const op &o = p.ops[i];
        tla_lifetime own = t.tensors[i];
        const bool stays = o.what == kind::input || (p.is_output(i) && p.outputs_stay());
        if (stays && (!o.is_view() || o.what == kind::concat)) own.lower = 0;
        if (stays) own.upper = p.end();
        tla_lifetime &all = kept.insert({parts[i].owner, own}).first->second;
        all = {std::min(all.lower, own.lower), std::max(all.upper, own.upper),
               std::max(all.nbytes, p.aligned(o.nbytes))};
    }
    return kept;
}

// The pairs of values that destroy each other: for each source of a view that lies elsewhere, and for each two values
// that are needed at the same time, have a byte in common, and have different owners.
inline std::vector<std::pair<std::size_t, std::size_t>> lost_pairs(const program &p,
                                                                   const std::vector<std::uint64_t> &at) {
    std::vector<std::pair<std::size_t, std::size_t>> pairs;
    const std::vector<part> parts = parts_of(p);
    const table t(p, true);
    const auto is_needed = [&](std::size_t v, std::uint64_t time) {
        const bool is_input = p.ops[v].what == kind::input, stays = p.is_output(v) && p.outputs_stay();
        const std::uint64_t lower = is_input || (stays && !p.ops[v].is_view()) ? 0 : v;
        return lower <= time && time < (is_input || stays ? p.end() : t.tensors[v].upper);
    };
    for (std::size_t b = 0; b < p.ops.size(); b++) {
        std::uint64_t place = at[b] - p.ops[b].offset;
        for (const std::size_t a : p.ops[b].in) {
            if (p.ops[b].is_view() && at[a] != place) pairs.emplace_back(a, b);
            place += p.ops[a].nbytes;
        }
        for (std::size_t a = 0; a < b; a++) {
            if (parts[a].owner == parts[b].owner) continue;
            if (at[a] >= at[b] + p.ops[b].nbytes || at[b] >= at[a] + p.ops[a].nbytes) continue;
            bool meet = false;
            for (std::uint64_t time = 0; time < p.end() && !meet; time++)
                meet = is_needed(a, time) && is_needed(b, time);
            if (meet) pairs.emplace_back(a, b);
        }
    }
    return pairs;
}

// Whether a run of the program at these addresses reads anything but what it has written.
class run {
  public:
    run(const program &p, const std::vector<std::uint64_t> &addresses)
        : p_(p), addresses_(addresses), parts_(parts_of(p)) {
        for (std::size_t i = 0; i < p.ops.size(); i++)
            if (p.ops[i].what == kind::input) write(i);
        for (std::size_t i = 0; i < p.ops.size(); i++) {
            if (p.ops[i].what == kind::compute) write(i);
            for (const std::size_t v : p.ops[i].in)
                read(v);
            read(i);
        }
        for (std::size_t i = 0; i < p.ops.size(); i++)
            if (p.ops[i].what == kind::input || p.is_output(i)) read(i);
    }
    bool is_wrong = false;

  private:
    using origin = std::pair<std::size_t, std::uint64_t>; // the owner, and which byte of it
    origin origin_of(std::size_t v, std::uint64_t i) const { return {parts_[v].owner, parts_[v].offset + i}; }
    void write(std::size_t v) {
        for (std::uint64_t i = 0; i < p_.ops[v].nbytes; i++)
            memory_[addresses_[v] + i] = origin_of(v, i);
    }
    void read(std::size_t v) {
        for (std::uint64_t i = 0; i < p_.ops[v].nbytes; i++) {
            const auto at = memory_.find(addresses_[v] + i);
            is_wrong = is_wrong || at == memory_.end() || at->second != origin_of(v, i);
        }
    }
    const program &p_;
    const std::vector<std::uint64_t> &addresses_;
    std::vector<part> parts_;
    std::map<std::uint64_t, origin> memory_;
};

// Draws a program of up to 24 ops. What nobody uses is returned. A concat joins what ops have made, or reshapes of it.
inline program draw(seeded_random &random, bool joins_inputs) {
    program p;
    std::vector<bool> joined;
    const auto any = [&] { return random.between(0, p.ops.size() - 1); };
    const auto add = [&](op o) {
        p.ops.push_back(std::move(o));
        joined.push_back(false);
    };
    for (std::uint64_t i = random.between(1, 3); i > 0; i--)
        add({kind::input, {}, random.between(1, 20)});
    for (std::uint64_t i = random.between(1, 20); i > 0; i--) {
        const std::size_t v = any();
        const std::uint64_t choice = random.between(1, 10), nbytes = p.ops[v].nbytes;
        if (choice <= 4) {
            op o{kind::compute, {v}, random.between(1, 20)};
            if (random.one_in(2)) o.in.push_back(any());
            add(o);
        } else if (choice == 5) {
            add({kind::reshape, {v}, nbytes});
        } else if (choice <= 7 && nbytes > 1) {
            const std::uint64_t size = random.between(1, nbytes - 1);
            add({kind::slice, {v}, size, random.between(0, nbytes - size)});
        } else {
            op o{kind::concat, {}, 0};
            for (int tries = 0; tries < 8 && o.in.size() < 3; tries++) {
                const std::size_t source = any(), base = p.reshaped(source);
                const kind what = p.ops[base].what;
                if (joined[base] || (what != kind::compute && !(what == kind::input && joins_inputs))) continue;
                joined[base] = true;
                o.in.push_back(source);
                o.nbytes += p.ops[source].nbytes;
            }
            if (o.in.size() > 1)
                add(o);
            else if (!o.in.empty())
                joined[p.reshaped(o.in[0])] = false;
        }
    }
    add({kind::compute, {0}, random.between(1, 20)});
    std::vector<bool> used(p.ops.size());
    for (const op &o : p.ops)
        for (const std::size_t v : o.in)
            used[v] = true;
    for (std::size_t i = 0; i < p.ops.size(); i++)
        if (!used[i] && p.ops[i].what != kind::input) p.returned.push_back(i);
    p.alignment = std::uint64_t{1} << random.between(0, 4);
    return p;
}

} // namespace naive

#endif
