// LMCache's eviction policies as the reference states them, in vectors and by search. The target of ARC is exact or, as
// in hardware, in fixed point.
#ifndef TLMALLOC_TESTS_NAIVE_VICTIMS_HPP
#define TLMALLOC_TESTS_NAIVE_VICTIMS_HPP

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace naive_victims {

using keys = std::vector<std::uint64_t>;

inline bool erase(keys &from, std::uint64_t key) {
    const auto at = std::find(from.begin(), from.end(), key);
    if (at == from.end()) return false;
    from.erase(at);
    return true;
}

// One order, or one for each tenant. A key has one tenant.
struct lru {
    explicit lru(bool tenants) : of_tenants(tenants) {}
    bool of_tenants;
    std::map<std::uint64_t, keys> of{}; // by tenant
    void enter(std::uint64_t tenant, std::uint64_t key) {
        for (const auto &[other, order] : of)
            if (std::find(order.begin(), order.end(), key) != order.end()) return touch(key);
        of[of_tenants ? tenant : 0].push_back(key);
    }
    void touch(std::uint64_t key) {
        for (auto &[tenant, order] : of)
            if (erase(order, key)) order.push_back(key);
    }
    void remove(std::uint64_t key) {
        for (auto &[tenant, order] : of)
            erase(order, key);
    }
    keys choose(std::uint64_t tenant, std::size_t count, const std::set<std::uint64_t> &locked) {
        keys found;
        for (const std::uint64_t key : of[of_tenants ? tenant : 0])
            if (found.size() < count && locked.count(key) == 0) found.push_back(key);
        return found;
    }
};

struct exact {
    static double one() { return 1; }
    static double ratio(std::size_t a, std::size_t b) { return static_cast<double>(a) / static_cast<double>(b); }
};

struct fixed_point { // 1/256
    static double one() { return 256; }
    static double ratio(std::size_t a, std::size_t b) {
        return std::floor(256 * static_cast<double>(a) / static_cast<double>(b));
    }
};

template <class Form>
struct arc {
    keys t1{}, t2{}, b1{}, b2{};
    std::set<std::uint64_t> pending{};
    double p = 0; // in units of Form::one()
    std::size_t c = 0;

    double target() const { return p / Form::one(); }
    void trim() {
        while (t1.size() + b1.size() > c && !b1.empty())
            b1.erase(b1.begin());
        while (t1.size() + t2.size() + b1.size() + b2.size() > 2 * c && b1.size() + b2.size() > 0) {
            keys &ghosts = b2.empty() ? b1 : b2;
            ghosts.erase(ghosts.begin());
        }
    }
    void enter(std::uint64_t, std::uint64_t key) {
        const std::size_t once = b1.size(), again = b2.size();
        pending.erase(key);
        if (erase(t1, key) || erase(t2, key)) {
            t2.push_back(key);
        } else if (erase(b1, key)) {
            p = std::min(static_cast<double>(c) * Form::one(), p + std::max(Form::one(), Form::ratio(again, once)));
            t2.push_back(key);
        } else if (erase(b2, key)) {
            p = std::max(0.0, p - std::max(Form::one(), Form::ratio(once, again)));
            t2.push_back(key);
        } else {
            t1.push_back(key);
        }
        c = std::max(c, t1.size() + t2.size());
        trim();
    }
    void touch(std::uint64_t key) {
        if (erase(t1, key) || erase(t2, key)) t2.push_back(key);
    }
    void remove(std::uint64_t key) {
        const bool chosen = pending.erase(key) > 0;
        if (erase(t1, key)) {
            if (chosen) b1.push_back(key);
        } else if (erase(t2, key)) {
            if (chosen) b2.push_back(key);
        } else if (!erase(b1, key)) {
            erase(b2, key);
        }
        trim();
    }
    keys choose(std::uint64_t, std::size_t count, const std::set<std::uint64_t> &locked) {
        const auto open = [&](const keys &list) {
            keys found;
            std::copy_if(list.begin(), list.end(), std::back_inserter(found),
                         [&](std::uint64_t key) { return locked.count(key) == 0; });
            return found;
        };
        c = std::max(c, t1.size() + t2.size());
        p = std::min(p, static_cast<double>(c) * Form::one());
        trim();
        keys once = open(t1), again = open(t2), found;
        double left = static_cast<double>(t1.size());
        while (found.size() < count && once.size() + again.size() > 0) {
            const bool from_once = again.empty() || (left >= std::floor(target()) && !once.empty());
            keys &from = from_once ? once : again;
            left -= from_once;
            found.push_back(from.front());
            pending.insert(from.front());
            from.erase(from.begin());
        }
        return found;
    }
};

} // namespace naive_victims

#endif
