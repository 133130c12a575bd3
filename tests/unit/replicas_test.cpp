// Replicas in segments: Mooncake's golden cases, cases by hand, and a naive model.
#include "naive_replicas.hpp"
#include "placement_differential.hpp"
#include "seeded_random.hpp"
#include "shared_data.hpp"

#include <array>
#include <boost/property_tree/json_parser.hpp>
#include <map>

namespace {

using json = boost::property_tree::ptree;
using list = std::vector<std::uint32_t>;
using places = std::vector<std::array<std::uint64_t, 2>>; // segment, address

class bench {
  public:
    bench(const std::vector<tla_arena_config> &configs, tla_replica_policy policy) {
        for (tla_arena_config config : configs) {
            config.policy = TLA_OFFSET_BINS_ROUNDED;
            arenas_.push_back(nullptr);
            BOOST_REQUIRE_EQUAL(tla_arena_create(&config, &arenas_.back()), TLA_OK);
        }
        const tla_arena_set set{arenas_.data(), static_cast<std::uint32_t>(arenas_.size())};
        BOOST_REQUIRE_EQUAL(tla_replicas_create(&set, policy, &replicas), TLA_OK);
    }
    ~bench() {
        tla_replicas_destroy(replicas);
        for (tla_arena *arena : arenas_)
            tla_arena_destroy(arena);
    }
    bench(const bench &) = delete;
    bench &operator=(const bench &) = delete;

    places alloc(std::uint64_t nbytes, std::uint32_t count, list starts = {}, const list &preferred = {},
                 const list &excluded = {}) {
        starts.resize(2);
        return alloc({nbytes,
                      count,
                      static_cast<std::uint32_t>(preferred.size()),
                      static_cast<std::uint32_t>(excluded.size()),
                      preferred.data(),
                      excluded.data(),
                      {starts[0], starts[1]}});
    }
    places alloc(const tla_replica_request &request) {
        found.assign(std::min<std::size_t>(request.replicas, arenas_.size()), {});
        work = {};
        status = tla_replicas_alloc(replicas, &request, found.data(), &result, &work);
        found.resize(result.count);
        places at;
        for (const tla_replica &replica : found)
            at.push_back({replica.segment, replica.block.offset});
        return at;
    }
    std::vector<std::uint64_t> used() const {
        std::vector<std::uint64_t> all;
        for (std::uint32_t i = 0; i < arenas_.size(); i++)
            all.push_back(tla_replicas_used(replicas, i));
        return all;
    }
    void free(const tla_replica &replica) {
        work = {};
        BOOST_REQUIRE_EQUAL(tla_replicas_free(replicas, replica, &work), TLA_OK);
    }

    tla_replicas *replicas = nullptr;
    std::vector<tla_replica> found{};
    tla_replica_result result{};
    tla_status status = TLA_OK;
    tla_work work{};

  private:
    std::vector<tla_arena *> arenas_{};
};

// Segments of these sizes, all from address 0.
std::vector<tla_arena_config> of(const std::vector<std::uint64_t> &sizes) {
    std::vector<tla_arena_config> configs(sizes.size());
    for (std::size_t i = 0; i < sizes.size(); i++)
        configs[i].capacity = sizes[i];
    return configs;
}

template <class Values>
void check(const Values &found, const Values &expected) {
    BOOST_REQUIRE_EQUAL(found.size(), expected.size());
    BOOST_REQUIRE(found == expected);
}

std::vector<json> items(const json &of) {
    std::vector<json> found;
    for (const auto &[name, item] : of)
        found.push_back(item);
    return found;
}

template <class Value>
std::vector<Value> all_of(const json &of) {
    std::vector<Value> found;
    for (const json &item : items(of))
        found.push_back(item.get_value<Value>());
    return found;
}

void play_case(const json &c) {
    std::vector<tla_arena_config> configs;
    std::map<std::string, std::uint32_t> numbers;
    for (const json &segment : items(c.get_child("segments"))) {
        const std::vector<json> of = items(segment);
        numbers.emplace(of[0].data(), static_cast<std::uint32_t>(configs.size()));
        configs.emplace_back();
        configs.back().base = of[1].get_value<std::uint64_t>();
        configs.back().capacity = of[2].get_value<std::uint64_t>();
    }
    const auto numbered = [&](const json &names) {
        list found;
        for (const std::string &name : all_of<std::string>(names))
            found.push_back(numbers.at(name));
        return found;
    };
    bench b(configs, c.get<std::string>("policy") == "random" ? TLA_REPLICAS_RANDOM : TLA_REPLICAS_FREE_RATIO_FIRST);
    std::map<std::uint64_t, std::vector<tla_replica>> live;
    const std::vector<json> ops = items(c.get_child("ops")), expected = items(c.get_child("expect"));
    BOOST_REQUIRE_EQUAL(ops.size(), expected.size());
    for (std::size_t i = 0; i < ops.size(); i++)
        BOOST_TEST_CONTEXT("operation " << i) {
            const std::vector<json> op = items(ops[i]);
            const auto id = op[1].get_value<std::uint64_t>();
            if (op[0].data() == "f") {
                for (const tla_replica &replica : live.at(id))
                    b.free(replica);
                check(b.used(), all_of<std::uint64_t>(expected[i]));
                continue;
            }
            const list draws = all_of<std::uint32_t>(op[6]);
            places wanted;
            for (const json &replica : items(expected[i])) {
                const std::vector<json> of = items(replica);
                wanted.push_back({numbers.at(of[0].data()), of[1].get_value<std::uint64_t>()});
            }
            check(b.alloc(op[2].get_value<std::uint64_t>(), op[3].get_value<std::uint32_t>(), draws, numbered(op[4]),
                          numbered(op[5])),
                  wanted);
            BOOST_REQUIRE_EQUAL(b.result.starts_used, draws.size());
            live[id] = b.found;
        }
}

std::vector<std::string> local_first(const std::vector<tla_segment_place> &segments, const char *writer,
                                     std::uint64_t key_hash) {
    list order(segments.size());
    tla_replicas_local_first(segments.data(), static_cast<std::uint32_t>(segments.size()), writer, key_hash,
                             order.data());
    std::vector<std::string> names;
    for (const std::uint32_t at : order)
        names.push_back(segments[at].name);
    return names;
}

} // namespace

BOOST_AUTO_TEST_CASE(replicas_are_mooncakes_in_all_golden_cases) {
    if (!shared_data_is_here("data/allocators")) return;
    json file;
    read_json(shared_data + "data/allocators/mooncake_segments.json", file);
    for (const json &c : items(file.get_child("cases")))
        BOOST_TEST_CONTEXT(c.get<std::string>("name")) play_case(c);
}

BOOST_AUTO_TEST_CASE(segments_near_a_writer_are_in_mooncakes_order_in_all_golden_cases) {
    if (!shared_data_is_here("data/allocators")) return;
    json file;
    read_json(shared_data + "data/allocators/mooncake_local_first.json", file);
    for (const json &c : items(file.get_child("cases"))) {
        std::vector<std::pair<std::string, std::string>> texts;
        for (const auto &[host, names] : c.get_child("hosts"))
            for (const std::string &name : all_of<std::string>(names))
                texts.emplace_back(host, name);
        std::vector<tla_segment_place> segments;
        for (const auto &[host, name] : texts)
            segments.push_back({host.c_str(), name.c_str()});
        check(local_first(segments, c.get<std::string>("writer").c_str(), c.get<std::uint64_t>("key_hash")),
              all_of<std::string>(c.get_child("expect")));
    }
}

BOOST_AUTO_TEST_CASE(hosts_and_names_go_around_the_end) {
    const std::vector<tla_segment_place> segments = {{"b", "s9"}, {"c", "x"}, {"a", "y"}, {"b", "s10"}};
    check(local_first(segments, "b", 0), {"s10", "s9", "x", "y"});
    check(local_first(segments, "b", 5), {"s9", "s10", "x", "y"});
    check(local_first(segments, "bb", 1), {"x", "y", "s9", "s10"});
    check(local_first(segments, "d", 0), {"y", "s10", "s9", "x"});
    check(local_first({}, "d", 7), {});
}

BOOST_AUTO_TEST_CASE(replicas_lie_in_different_segments_from_the_start_around_the_end) {
    bench b(of(std::vector<std::uint64_t>(3, 1024)), TLA_REPLICAS_RANDOM);
    check(b.alloc(100, 2, {2}), {{2, 0}, {0, 0}});
    BOOST_CHECK_EQUAL(b.work.class_lookups, 2u);
    BOOST_CHECK_EQUAL(b.result.starts_used, 1u);
    check(b.used(), {100, 0, 100});
    check(b.alloc(100, 5, {1}), {{1, 0}, {2, 104}, {0, 104}}); // fewer is a success; a request takes 104 bytes
    check(b.alloc(1000, 1, {0}), {});
    BOOST_CHECK_EQUAL(b.status, TLA_EXHAUSTED);
    check(b.alloc(1000, 3, {0}, {}, {0}), {});
    BOOST_CHECK_EQUAL(b.work.class_lookups, 2u);
    check(b.alloc(1000, 3, {0}, {}, {2, 1, 0}), {});
    BOOST_CHECK_EQUAL(b.status, TLA_NOT_FOUND);
}

BOOST_AUTO_TEST_CASE(preferred_segments_are_tried_first_and_once) {
    bench b(of(std::vector<std::uint64_t>(4, 1024)), TLA_REPLICAS_RANDOM);
    check(b.alloc(512, 2, {0}, {3, 1, 3, 2}), {{3, 0}, {1, 0}});
    BOOST_CHECK_EQUAL(b.result.starts_used, 0u);
    check(b.alloc(1024, 1, {3}, {3, 3, 1, 0}, {0}), {{2, 0}}); // 3 and 1 are too full, also in the random pass
    BOOST_CHECK_EQUAL(b.work.class_lookups, 5u);
}

BOOST_AUTO_TEST_CASE(a_single_segment_needs_a_start_only_where_the_free_ratio_decides) {
    bench random(of({1024}), TLA_REPLICAS_RANDOM), ratio(of({1024}), TLA_REPLICAS_FREE_RATIO_FIRST);
    check(random.alloc(8, 2), {{0, 0}});
    BOOST_CHECK_EQUAL(random.result.starts_used, 0u);
    check(ratio.alloc(8, 1), {{0, 0}});
    BOOST_CHECK_EQUAL(ratio.result.starts_used, 1u);
    check(ratio.alloc(8, 2), {{0, 8}});
    BOOST_CHECK_EQUAL(ratio.result.starts_used, 2u);
    check(random.alloc(8, 1, {}, {}, {0}), {});
    BOOST_CHECK_EQUAL(random.status, TLA_NOT_FOUND);
}

BOOST_AUTO_TEST_CASE(the_free_ratio_decides_in_a_sample_of_six_for_each_replica) {
    bench b(of(std::vector<std::uint64_t>(8, 1024)), TLA_REPLICAS_FREE_RATIO_FIRST);
    for (std::uint32_t i = 0; i < 6; i++)
        b.alloc(512, 1, {}, {i});
    check(b.alloc(64, 1, {0}), {{0, 512}}); // 6 and 7 are no part of the sample; of equal ones the first
    BOOST_CHECK_EQUAL(b.work.class_lookups, 7u);
    check(b.alloc(64, 1, {1}), {{6, 0}});
    check(b.alloc(64, 1, {1}, {}, {6}), {{1, 512}}); // 7 does not replace it
    check(b.alloc(64, 2, {0}), {{7, 0}, {6, 64}});
    check(b.alloc(1024, 1, {0, 6}), {}); // all are tried, again in the random pass
    BOOST_CHECK_EQUAL(b.work.class_lookups, 6u + 6u + 8u);
}

BOOST_AUTO_TEST_CASE(the_free_ratio_is_that_of_bytes_asked_for_and_of_the_capacity) {
    bench b(of({3072, 1024}), TLA_REPLICAS_FREE_RATIO_FIRST);
    b.alloc(513, 1, {}, {0});         // 0.833, although its bin has 576 bytes
    b.alloc(170, 1, {}, {1});         // 0.834
    check(b.alloc(8, 1), {{1, 176}}); // 0.826
    check(b.alloc(8, 1), {{0, 576}});
    check(b.used(), {521, 178});
}

BOOST_AUTO_TEST_CASE(free_ratios_of_large_segments_are_exact) {
    const std::uint64_t TiB = std::uint64_t{1} << 40;
    bench b(of({8 * TiB, 4 * TiB}), TLA_REPLICAS_FREE_RATIO_FIRST);
    b.alloc(2 * TiB, 1, {}, {0});
    b.alloc(TiB + 1, 1, {}, {1});
    check(b.alloc(2, 1, {1}), {{0, 2 * TiB}});
    check(b.alloc(8, 1, {0}), {{0, 2 * TiB + 4096}}); // both have the same ratio
}

BOOST_AUTO_TEST_CASE(a_random_pass_looks_at_a_hundred_segments) {
    bench b(of(std::vector<std::uint64_t>(102, 64)), TLA_REPLICAS_RANDOM);
    list full(100);
    for (std::uint32_t i = 0; i < 100; i++)
        full[i] = (50 + i) % 102;
    BOOST_CHECK_EQUAL(b.alloc(64, 100, {50}).size(), 100u);
    check(b.alloc(64, 1, {50}), {});
    BOOST_CHECK_EQUAL(b.work.class_lookups, 100u);
    check(b.alloc(64, 1, {50}, {}, full), {}); // an excluded one counts too
    check(b.alloc(64, 1, {51}), {{48, 0}});
}

BOOST_AUTO_TEST_CASE(bad_requests_of_replicas_are_refused) {
    bench b(of({1024, 1024}), TLA_REPLICAS_RANDOM);
    const list unknown = {0, 2};
    const tla_replica_request good = {8, 1, 0, 0, nullptr, nullptr, {0, 0}};
    for (int change = 0; change < 7; change++) {
        tla_replica_request q = good;
        if (change == 0) q.nbytes = 0;
        if (change == 1) q.nbytes = (std::uint64_t{1} << 63) + 1;
        if (change == 2) q.replicas = 0;
        if (change == 3) q.starts[0] = 2;
        if (change == 4) q.starts[1] = 2;
        if (change == 5) q.preferred = unknown.data(), q.preferred_count = 2;
        if (change == 6) q.excluded = unknown.data(), q.excluded_count = 2;
        check(b.alloc(q), {});
        BOOST_CHECK_EQUAL(b.status, TLA_INVALID_ARGUMENT);
        BOOST_CHECK_EQUAL(b.work.class_lookups, 0u);
    }
    check(b.alloc(good), {{0, 0}});
    BOOST_CHECK_EQUAL(tla_replicas_free(b.replicas, {2, {0, 8}}, nullptr), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(tla_replicas_free(b.replicas, {1, {0, 8}}, nullptr), TLA_NOT_ALLOCATED);
    check(b.used(), {8, 0});
    b.free(b.found[0]);
    check(b.used(), {0, 0});
}

BOOST_AUTO_TEST_CASE(replicas_need_arenas_with_bytes) {
    tla_arena_config config{};
    tla_arena *arena = nullptr;
    BOOST_REQUIRE_EQUAL(tla_arena_create(&config, &arena), TLA_OK);
    for (const std::uint32_t count : {0u, 1u}) {
        const tla_arena_set set{&arena, count};
        auto *replicas = reinterpret_cast<tla_replicas *>(&config);
        BOOST_CHECK_EQUAL(tla_replicas_create(&set, TLA_REPLICAS_RANDOM, &replicas), TLA_INVALID_ARGUMENT);
        BOOST_CHECK(!replicas);
    }
    tla_arena_destroy(arena);
}

BOOST_AUTO_TEST_CASE(replicas_are_those_of_a_naive_model) {
    seeded_random random(43);
    for (const tla_replica_policy policy : {TLA_REPLICAS_RANDOM, TLA_REPLICAS_FREE_RATIO_FIRST})
        for (const std::uint32_t n : {1u, 2u, 5u, 20u, 110u}) {
            std::vector<tla_arena_config> configs(n);
            for (tla_arena_config &config : configs) {
                config.base = random.between(0, 1000);
                config.capacity = random.between(500, 3000);
            }
            bench b(configs, policy);
            naive_replicas model(configs, policy);
            std::vector<tla_replica> live;
            const auto some = [&](std::uint64_t most) {
                list segments(random.one_in(3) ? random.between(0, most) : 0);
                for (std::uint32_t &segment : segments)
                    segment = static_cast<std::uint32_t>(random.between(0, n - 1));
                return segments;
            };
            for (int i = 0; i < 10000; i++)
                BOOST_TEST_CONTEXT("policy " << policy << ", segments " << n << ", operation " << i) {
                    tla_work expected{};
                    if (live.empty() || random.between(0, 99) < 45) {
                        const list preferred = some(4), excluded = some(2 * n);
                        const auto start = [&] { return static_cast<std::uint32_t>(random.between(0, n - 1)); };
                        const tla_replica_request request = {random.between(1, random.one_in(4) ? 3000 : 300),
                                                             static_cast<std::uint32_t>(random.between(1, 4)),
                                                             static_cast<std::uint32_t>(preferred.size()),
                                                             static_cast<std::uint32_t>(excluded.size()),
                                                             preferred.data(),
                                                             excluded.data(),
                                                             {start(), start()}};
                        const naive_replicas::answer answer = model.alloc(request);
                        places wanted;
                        for (const tla_replica &replica : answer.replicas)
                            wanted.push_back({replica.segment, replica.block.offset});
                        check(b.alloc(request), wanted);
                        BOOST_REQUIRE_EQUAL(b.status == TLA_OK, !wanted.empty());
                        BOOST_REQUIRE_EQUAL(b.result.starts_used, answer.starts_used);
                        expected = answer.work;
                        live.insert(live.end(), b.found.begin(), b.found.end());
                    } else {
                        std::swap(live[random.between(0, live.size() - 1)], live.back());
                        expected = model.free(live.back());
                        b.free(live.back());
                        BOOST_REQUIRE_EQUAL(tla_replicas_used(b.replicas, live.back().segment),
                                            model.used(live.back().segment));
                        live.pop_back();
                    }
                    BOOST_REQUIRE_EQUAL(to_text(b.work), to_text(expected));
                    BOOST_REQUIRE_EQUAL(b.work.class_lookups, expected.class_lookups);
                }
        }
}
