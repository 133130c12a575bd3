// Orders of victims: the golden cases of LMCache, the reference's rules in vectors, and ARC's fixed point against the
// exact ratio.
#include "model/cache/victim_lists.h"
#include "naive_victims.hpp"
#include "seeded_random.hpp"
#include "shared_data.hpp"
#include "tlmalloc/cache/victims.h"

#include <boost/property_tree/json_parser.hpp>
#include <memory>
#include <string>

namespace {

using naive_victims::keys;
using json = boost::property_tree::ptree;

constexpr double unit = 1 << TLA_ARC_FRACTION_BITS;

struct order {
    explicit order(tla_victim_rule rule) {
        BOOST_REQUIRE_EQUAL(tla_victims_create(rule, &made), TLA_OK);
        held.reset(made);
    }
    void enter(std::uint64_t key, std::uint64_t tenant = 0) {
        BOOST_REQUIRE_EQUAL(tla_victims_enter(made, tenant, key, &work), TLA_OK);
    }
    void enter_all(keys of, std::uint64_t tenant = 0) { // as LMCache does: the last one first
        for (std::size_t i = of.size(); i-- > 0;)
            enter(of[i], tenant);
    }
    void remove(const keys &of) {
        for (const std::uint64_t key : of)
            tla_victims_remove(made, key, &work);
    }
    keys choose(std::size_t count, std::uint64_t tenant = 0) {
        const tla_victim_filter filter = [](void *context, std::uint64_t key) {
            return static_cast<order *>(context)->locked.count(key) == 0;
        };
        keys found(count);
        found.resize(tla_victims_choose(made, tenant, count, filter, this, found.data(), &work));
        return found;
    }
    keys choose_share(std::uint32_t permille, std::uint64_t tenant = 0) {
        return choose(tla_victims_share(made, tenant, permille), tenant);
    }
    static keys list(const tla_victim_list &of) {
        keys found;
        for (const tla_victim *victim = of.oldest; victim; victim = victim->next)
            found.push_back(victim->key);
        BOOST_CHECK_EQUAL(found.size(), of.count);
        return found;
    }
    keys list(int which) const { return list(made->lists[which]); }
    keys of_tenant(std::uint64_t tenant) const {
        for (const tla_victim_list *at = made->tenants; at; at = at->next)
            if (at->tenant == tenant) return list(*at);
        return {};
    }
    tla_victims_stats stats() const { return tla_victims_get_stats(made); }

    tla_victims *made = nullptr;
    std::unique_ptr<tla_victims, decltype(&tla_victims_destroy)> held{nullptr, tla_victims_destroy};
    std::set<std::uint64_t> locked{};
    tla_work work{};
};

// ---- golden cases ----

json golden(const std::string &name) {
    json file;
    read_json(shared_data + "data/allocators/" + name, file);
    return file;
}

tla_victim_rule rule_of(const std::string &policy) {
    return policy == "arc" ? TLA_VICTIM_ARC : policy == "isolated" ? TLA_VICTIM_TENANT_LRU : TLA_VICTIM_LRU;
}

std::vector<json> items(const json &list) {
    std::vector<json> found;
    for (const auto &[name, item] : list)
        found.push_back(item);
    return found;
}

std::uint64_t tenant_of(const std::string &letter) {
    return static_cast<std::uint64_t>(letter.at(0));
}

// A key, or a tenant and a key: then both of them in a number.
std::uint64_t key_of(const json &item) {
    if (item.empty()) return item.get_value<std::uint64_t>();
    const std::vector<json> pair = items(item);
    return tenant_of(pair[0].data()) << 32 | pair[1].get_value<std::uint64_t>();
}

keys keys_of(const json &list) {
    keys found;
    for (const auto &[name, item] : list)
        found.push_back(key_of(item));
    return found;
}

void check(const keys &found, const keys &expected) {
    BOOST_CHECK_EQUAL_COLLECTIONS(found.begin(), found.end(), expected.begin(), expected.end());
}

std::uint32_t permille_of(const json &ratio) {
    return static_cast<std::uint32_t>(std::lround(1000 * ratio.get_value<double>()));
}

keys play(order &o, const std::vector<json> &op) {
    const std::string what = op[0].data();
    if (what == "victims") {
        const keys locked = keys_of(op[2]);
        o.locked = {locked.begin(), locked.end()};
        return o.choose_share(permille_of(op[1]), op.size() > 3 ? tenant_of(op[3].data()) : 0);
    }
    keys of = keys_of(op[1]);
    if (what == "removed") {
        o.remove(of);
    } else {
        std::reverse(of.begin(), of.end());
        for (const std::uint64_t key : of)
            what == "created" ? o.enter(key, key >> 32) : tla_victims_touch(o.made, key);
    }
    return {};
}

// Sizes and target of ARC after an operation. In the fixed point each return of a ghost may lose 1/256.
void check_arc(const order &o, const std::vector<json> &expected) {
    const tla_victims_stats found = o.stats();
    const auto number = [&](std::size_t i) { return expected[i].get_value<std::uint64_t>(); };
    BOOST_CHECK_EQUAL(found.tracked - found.again, number(1));
    BOOST_CHECK_EQUAL(found.again, number(2));
    BOOST_CHECK_EQUAL(found.once_ghosts, number(3));
    BOOST_CHECK_EQUAL(found.again_ghosts, number(4));
    BOOST_CHECK_SMALL(static_cast<double>(found.target) / unit - expected[5].get_value<double>(), 3 / unit);
    BOOST_CHECK_EQUAL(found.capacity, number(6));
}

void play_case(const json &c) {
    const tla_victim_rule rule = rule_of(c.get<std::string>("policy"));
    const std::vector<json> ops = items(c.get_child("ops")), expected = items(c.get_child("expect"));
    order o(rule);
    for (std::size_t i = 0; i < ops.size(); i++) {
        const keys found = play(o, items(ops[i]));
        const std::vector<json> after = items(expected[i]);
        const bool has_sizes =
            rule == TLA_VICTIM_ARC && after.size() == 7 && !after[0].get_value_optional<std::uint64_t>();
        if (has_sizes) check_arc(o, after);
        check(found, keys_of(has_sizes ? after[0] : expected[i]));
    }
    const json &end = c.get_child("end");
    if (rule == TLA_VICTIM_LRU) check(o.list(TLA_ARC_T1), keys_of(end));
    for (const char *tenant : {"a", "b", "c"})
        if (rule == TLA_VICTIM_TENANT_LRU) check(o.of_tenant(tenant_of(tenant)), keys_of(end.get_child(tenant)));
    const char *const names[] = {"t1", "t2", "b1", "b2"};
    for (int i = 0; i < TLA_ARC_LISTS; i++)
        if (rule == TLA_VICTIM_ARC) check(o.list(i), keys_of(end.get_child(names[i])));
}

void play_watermark(const json &c) {
    order o(rule_of(c.get<std::string>("policy")));
    std::map<std::uint64_t, std::uint64_t> bytes;
    const std::vector<json> expected = items(c.get_child("expect"));
    const auto capacity = c.get<std::uint64_t>("capacity");
    std::size_t passes = 0;
    double next = 1;
    const auto look = [&] {
        std::uint64_t used = 0;
        for (const auto &[key, size] : bytes)
            used += size;
        if (!tla_watermark_is_reached(used, capacity, permille_of(c.get_child("watermark")))) return;
        const keys found = o.choose_share(permille_of(c.get_child("ratio")));
        BOOST_REQUIRE_LT(passes, expected.size());
        const std::vector<json> pass = items(expected[passes++]);
        BOOST_CHECK_EQUAL(pass[0].get_value<double>(), next);
        BOOST_CHECK_EQUAL(pass[1].get_value<std::uint64_t>(), used);
        check(found, keys_of(pass[2]));
        o.remove(found);
        for (const std::uint64_t key : found)
            bytes.erase(key);
    };
    for (const json &item : items(c.get_child("events"))) {
        const std::vector<json> event = items(item);
        for (; next <= event[0].get_value<double>(); next++)
            look();
        const std::string what = event[1].data();
        const auto key = event[2].get_value<std::uint64_t>();
        if (what == "put") {
            o.enter(key);
            bytes[key] = event[3].get_value<std::uint64_t>();
        } else if (what == "touch") {
            tla_victims_touch(o.made, key);
        } else if (what == "lock") {
            o.locked.insert(key);
        } else {
            o.locked.erase(key);
        }
    }
    look();
    BOOST_CHECK_EQUAL(passes, expected.size());
}

// ---- random operations ----

// The same operations for an order and a model of it, over few keys, so that ghosts return. `chosen` gets the number of
// victims and the tenant.
template <class Play, class Choose>
void random_operations(order &o, std::uint64_t seed, int count, Play on_model, Choose chosen) {
    seeded_random random(seed);
    for (int i = 0; i < count; i++) {
        const std::uint64_t span = i / 5000 % 2 ? 200 : 25, key = random.between(0, span),
                            tenant = random.between(0, 2);
        switch (random.between(0, 9)) {
        case 0:
        case 1:
        case 2:
        case 3:
            o.enter(key, tenant);
            on_model([&](auto &model) { model.enter(tenant, key); });
            break;
        case 4:
        case 5:
            tla_victims_touch(o.made, key);
            on_model([&](auto &model) { model.touch(key); });
            break;
        case 6:
            o.remove({key});
            on_model([&](auto &model) { model.remove(key); });
            break;
        case 7:
            if (o.locked.erase(key) == 0) o.locked.insert(key);
            break;
        default:
            chosen(random.between(0, random.one_in(4) ? 9 : 1), tenant);
        }
    }
}

// Evicts as a cache does: most victims leave, at once.
void leave(order &o, keys &found) {
    if (!found.empty() && found.front() % 5 == 0) found.pop_back();
    o.remove(found);
}

void compare_lru(tla_victim_rule rule, std::uint64_t seed) {
    order o(rule);
    naive_victims::lru model(rule == TLA_VICTIM_TENANT_LRU);
    const auto on_model = [&](auto act) { act(model); };
    random_operations(o, seed, 100000, on_model, [&](std::uint64_t n, std::uint64_t tenant) {
        keys found = o.choose(n, tenant);
        check(found, model.choose(tenant, n, o.locked));
        leave(o, found);
        for (const std::uint64_t key : found)
            model.remove(key);
        std::uint64_t tracked = 0;
        for (const auto &[of, order] : model.of) {
            check(model.of_tenants ? o.of_tenant(of) : o.list(TLA_ARC_T1), order);
            tracked += order.size();
        }
        BOOST_CHECK_EQUAL(o.stats().tracked, tracked);
    });
}

} // namespace

BOOST_AUTO_TEST_CASE(eviction_is_lmcaches_in_all_golden_cases) {
    if (!shared_data_is_here("data/allocators")) return;
    for (const json &c : items(golden("lmcache_eviction.json").get_child("cases")))
        play_case(c);
}

BOOST_AUTO_TEST_CASE(the_watermark_evicts_what_lmcache_evicts_in_all_golden_cases) {
    if (!shared_data_is_here("data/allocators")) return;
    for (const json &c : items(golden("lmcache_watermark.json").get_child("cases")))
        play_watermark(c);
}

BOOST_AUTO_TEST_CASE(the_last_chunk_of_a_request_leaves_first) {
    order o(TLA_VICTIM_LRU);
    o.enter_all({1, 2, 3});
    o.enter_all({4, 5});
    check(o.choose(9), {3, 2, 1, 5, 4});
    tla_victims_touch(o.made, 3);
    check(o.choose(2), {2, 1});
    o.locked = {2, 1};
    o.work = {};
    check(o.choose(1), {5});
    BOOST_CHECK_EQUAL(o.work.nodes_visited, 3u);
}

BOOST_AUTO_TEST_CASE(a_tenant_loses_only_keys_of_its_own) {
    order o(TLA_VICTIM_TENANT_LRU);
    for (std::uint64_t key = 0; key < 6; key++)
        o.enter(key, key % 2);
    o.enter(1, 0); // tracked: stays with its tenant
    check(o.choose(9, 1), {3, 5, 1});
    check(o.choose(9, 0), {0, 2, 4});
    check(o.choose(9, 2), {});
    BOOST_CHECK_EQUAL(tla_victims_share(o.made, 0, 500), 1u);
    BOOST_CHECK_EQUAL(tla_victims_share(o.made, 2, 500), 0u);
    o.remove({0, 2, 4});
    std::uint64_t first = 0;
    BOOST_CHECK(tla_victims_first(o.made, &first));
    BOOST_CHECK_EQUAL(first, 3u);
}

BOOST_AUTO_TEST_CASE(arc_moves_its_target_with_ghosts_that_return) { // the reference's case by hand
    order o(TLA_VICTIM_ARC);
    const auto evict = [&](std::uint32_t permille) {
        const keys found = o.choose_share(permille);
        o.remove(found);
        return found;
    };
    o.enter(1);
    o.enter(2);
    check(evict(500), {1});
    o.enter(1);
    BOOST_CHECK_EQUAL(o.stats().target, 256u);
    check(o.list(TLA_ARC_T1), {2});
    check(o.list(TLA_ARC_T2), {1});
    check(evict(500), {2});
    check(evict(1000), {1});
    check(o.list(TLA_ARC_B2), {1});
    o.enter(1);
    BOOST_CHECK_EQUAL(o.stats().target, 0u);
    o.enter(3);
    check(evict(500), {3});
}

BOOST_AUTO_TEST_CASE(the_divider_of_arc_works_only_for_a_ratio_above_one) {
    order o(TLA_VICTIM_ARC);
    for (std::uint64_t key = 0; key < 8; key++)
        o.enter(key);
    for (std::uint64_t key = 0; key < 5; key++)
        tla_victims_touch(o.made, key);
    o.remove(o.choose(8)); // 5, 6, 7 leave t1, then 0 to 4 leave t2
    BOOST_CHECK_EQUAL(o.stats().once_ghosts, 3u);
    BOOST_CHECK_EQUAL(o.stats().again_ghosts, 5u);
    o.work = {};
    o.enter(5); // 5 / 3 = 1.664 in 1/256
    BOOST_CHECK_EQUAL(o.stats().target, 426u);
    BOOST_CHECK_EQUAL(o.work.probes, 11u); // 5 x 256 has 11 bits
    o.enter(0);                            // b1 has 2, b2 has 5
    BOOST_CHECK_EQUAL(o.stats().target, 426u - 256u);
    BOOST_CHECK_EQUAL(o.work.probes, 11u);
}

BOOST_AUTO_TEST_CASE(a_share_is_rounded_down_but_takes_one_of_any) {
    order o(TLA_VICTIM_ARC);
    BOOST_CHECK_EQUAL(tla_victims_share(o.made, 0, 1000), 0u);
    for (std::uint64_t key = 0; key < 100; key++)
        o.enter(key);
    tla_victims_touch(o.made, 7);
    for (const auto &[permille, share] : std::map<std::uint32_t, std::size_t>{
             {0, 0}, {1, 1}, {19, 1}, {200, 20}, {290, 29}, {999, 99}, {1000, 100}, {2000, 100}})
        BOOST_CHECK_EQUAL(tla_victims_share(o.made, 0, permille), share);
    BOOST_CHECK(tla_watermark_is_reached(800, 1000, 800));
    BOOST_CHECK(!tla_watermark_is_reached(799, 1000, 800));
    BOOST_CHECK(tla_watermark_is_reached(UINT64_C(1) << 54, UINT64_C(1) << 54, 1000));
}

BOOST_AUTO_TEST_CASE(rules_have_their_names_and_an_unknown_rule_is_rejected) {
    for (int i = 0; i < TLA_VICTIM_RULE_COUNT; i++)
        BOOST_CHECK(tla_victim_rule_name(static_cast<tla_victim_rule>(i)));
    BOOST_CHECK(!tla_victim_rule_name(TLA_VICTIM_RULE_COUNT));
    tla_victims *made = nullptr;
    BOOST_CHECK_EQUAL(tla_victims_create(TLA_VICTIM_RULE_COUNT, &made), TLA_INVALID_ARGUMENT);
    BOOST_CHECK(!made);
}

BOOST_AUTO_TEST_CASE(lru_is_the_reference_over_1e5_random_operations) {
    compare_lru(TLA_VICTIM_LRU, 390);
}

BOOST_AUTO_TEST_CASE(lru_of_tenants_is_the_reference_over_1e5_random_operations) {
    compare_lru(TLA_VICTIM_TENANT_LRU, 391);
}

BOOST_AUTO_TEST_CASE(arc_in_fixed_point_is_the_reference_in_fixed_point_over_1e5_random_operations) {
    order o(TLA_VICTIM_ARC);
    naive_victims::arc<naive_victims::fixed_point> model;
    std::uint64_t moved = 0;
    const auto on_model = [&](auto act) { act(model); };
    random_operations(o, 392, 100000, on_model, [&](std::uint64_t n, std::uint64_t tenant) {
        keys found = o.choose(n, tenant);
        check(found, model.choose(tenant, n, o.locked));
        leave(o, found);
        for (const std::uint64_t key : found)
            model.remove(key);
        const keys *const lists[] = {&model.t1, &model.t2, &model.b1, &model.b2};
        for (int i = 0; i < TLA_ARC_LISTS; i++)
            check(o.list(i), *lists[i]);
        BOOST_CHECK_EQUAL(static_cast<double>(o.stats().target), model.p);
        BOOST_CHECK_EQUAL(o.stats().capacity, model.c);
        moved += o.stats().target % 256 != 0;
    });
    BOOST_CHECK_GT(moved, 100u);
}

// Exact rule and fixed point see the same uses. Their victims differ where the exact target has just reached an integer
// that the fixed point has not.
BOOST_AUTO_TEST_CASE(arc_in_fixed_point_chooses_nearly_always_what_the_exact_ratio_chooses) {
    order o(TLA_VICTIM_ARC);
    naive_victims::arc<naive_victims::exact> model;
    std::uint64_t choices = 0, different = 0;
    const auto on_model = [&](auto act) { act(model); };
    random_operations(o, 393, 100000, on_model, [&](std::uint64_t n, std::uint64_t tenant) {
        keys found = o.choose(n, tenant);
        choices += found.size();
        keys exact = model.choose(tenant, n, o.locked);
        std::sort(exact.begin(), exact.end());
        std::sort(found.begin(), found.end());
        keys missed;
        std::set_difference(exact.begin(), exact.end(), found.begin(), found.end(), std::back_inserter(missed));
        different += missed.size();
        o.remove(found);
        for (const std::uint64_t key : exact)
            model.remove(key);
    });
    BOOST_TEST_MESSAGE(different << " of " << choices << " differ");
    BOOST_CHECK_GT(choices, 10000u);
    BOOST_CHECK_LE(different * 50, choices);
}
