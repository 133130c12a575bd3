// Programs with views: what is planned, where views are, and what the literal rule overwrites.
#include "naive_program.hpp"

#include <memory>
#include <set>
#include <vector>

namespace {

using naive::kind;
using addresses = std::vector<std::uint64_t>;
using lifetimes = std::vector<tla_lifetime>;

lifetimes live_of(const naive::table &t) {
    lifetimes live(t.view.n);
    BOOST_REQUIRE_EQUAL(tla_plan_live(&t.view, live.data()), TLA_OK);
    return live;
}

// The planned tensors by a method, then the others. Returns the end of the plan.
std::uint64_t place(const naive::table &t, tla_plan_method method, addresses &at, tla_plan_regions *regions = nullptr) {
    const lifetimes live = live_of(t);
    lifetimes planned;
    std::vector<std::size_t> index;
    for (std::size_t i = 0; i < live.size(); i++) {
        if (live[i].nbytes == 0) continue;
        planned.push_back(live[i]);
        index.push_back(i);
    }
    addresses offsets(planned.size());
    std::uint64_t height = 0;
    const tla_plan_options options{t.view.start, t.view.alignment, false};
    BOOST_REQUIRE_EQUAL(tla_plan(method, planned.data(), planned.size(), &options, offsets.data(), &height), TLA_OK);
    at.assign(live.size(), 0);
    for (std::size_t i = 0; i < index.size(); i++)
        at[index[i]] = offsets[i];
    BOOST_REQUIRE_EQUAL(tla_plan_addresses(&t.view, t.view.start + height, at.data(), regions), TLA_OK);
    return height;
}

tla_status check(const naive::table &t, const addresses &at, std::size_t *first = nullptr,
                 std::size_t *second = nullptr) {
    return tla_plan_check_program(&t.view, at.data(), first, second);
}

bool operator==(const tla_lifetime &a, const tla_lifetime &b) {
    return a.lower == b.lower && a.upper == b.upper && a.nbytes == b.nbytes;
}

// A view of b outlives the concat of a and b: w is placed where it is, and read with it.
naive::program outlived() {
    naive::program p;
    p.ops = {{kind::input, {}, 4096},        {kind::compute, {0}, 8192},    {kind::compute, {0}, 16384},
             {kind::slice, {2}, 4096, 8192}, {kind::concat, {1, 2}, 24576}, {kind::compute, {4}, 12288},
             {kind::compute, {5}, 20480},    {kind::compute, {6, 3}, 28672}};
    p.returned = {7};
    p.alignment = 4096;
    return p;
}

} // namespace

BOOST_AUTO_TEST_CASE(sources_of_a_concat_lie_in_it_without_copies) {
    naive::program p;
    p.ops = {{kind::input, {}, 8192},    {kind::compute, {0}, 8000},       {kind::compute, {0}, 12000},
             {kind::compute, {1}, 4000}, {kind::concat, {1, 2, 3}, 24000}, {kind::compute, {4}, 16384}};
    p.returned = {5};
    p.alignment = 4096;
    for (const bool literal : {false, true}) {
        naive::table t(p, literal);
        t.view.start = 0x100000000;
        const lifetimes live = live_of(t);
        BOOST_CHECK((live[1] == tla_lifetime{1, 6, 24576}));
        BOOST_CHECK((live[2] == tla_lifetime{1, 6, 0}));
        BOOST_CHECK((live[3] == tla_lifetime{1, 6, 0}));
        BOOST_CHECK_EQUAL(live[4].nbytes, 0u);
        addresses at;
        BOOST_CHECK_EQUAL(place(t, TLA_PLAN_SIZE_ORDER, at), 49152u); // 57344 with copies
        BOOST_CHECK((at == addresses{0x10000a000, 0x100000000, 0x100001f40, 0x100004e20, 0x100000000, 0x100006000}));
        BOOST_CHECK_EQUAL(check(t, at), TLA_OK);
    }
}

BOOST_AUTO_TEST_CASE(the_literal_rule_gives_away_bytes_that_a_view_of_a_source_reads) {
    const naive::program p = outlived();
    addresses at;
    std::size_t first = 0, second = 0;
    const naive::table literal(p, true), repaired(p, false);
    BOOST_CHECK((live_of(literal)[1] == tla_lifetime{1, 6, 24576}));
    BOOST_CHECK_EQUAL(place(literal, TLA_PLAN_SIZE_ORDER, at), 65536u);
    BOOST_CHECK_EQUAL(check(literal, at, &first, &second), TLA_OVERLAP);
    BOOST_CHECK(first == 3 && second == 7);
    BOOST_CHECK(naive::run(p, at).is_wrong);
    BOOST_CHECK((live_of(repaired)[1] == tla_lifetime{1, 8, 24576}));
    BOOST_CHECK_EQUAL(place(repaired, TLA_PLAN_SIZE_ORDER, at), 77824u);
    BOOST_CHECK_EQUAL(check(repaired, at), TLA_OK);
    BOOST_CHECK(!naive::run(p, at).is_wrong);
}

BOOST_AUTO_TEST_CASE(the_literal_rule_forgets_later_uses_of_a_reshaped_source) {
    naive::program p;
    p.ops = {{kind::input, {}, 8},       {kind::compute, {0}, 8}, {kind::reshape, {1}, 8},  {kind::compute, {0}, 8},
             {kind::concat, {2, 3}, 16}, {kind::compute, {4}, 8}, {kind::compute, {5}, 16}, {kind::compute, {6, 1}, 8}};
    p.returned = {7};
    BOOST_CHECK_EQUAL(live_of(naive::table(p, true))[1].upper, 6u);
    BOOST_CHECK_EQUAL(live_of(naive::table(p, false))[1].upper, 8u);
}

BOOST_AUTO_TEST_CASE(the_literal_rule_computes_sizes_in_32_bits) {
    naive::program p;
    p.ops = {{kind::input, {}, (std::uint64_t{1} << 32) + 8}, {kind::compute, {0}, std::uint64_t{1} << 32}};
    p.returned = {1};
    const naive::table literal(p, true), repaired(p, false);
    BOOST_CHECK_EQUAL(live_of(literal)[0].nbytes, 8u);
    BOOST_CHECK_EQUAL(live_of(literal)[1].nbytes, 0u);
    addresses at;
    place(literal, TLA_PLAN_FIT_FIRST, at);
    BOOST_CHECK((at == addresses{0, 0}));
    BOOST_CHECK_EQUAL(check(literal, at), TLA_OVERLAP);
    place(repaired, TLA_PLAN_FIT_FIRST, at);
    BOOST_CHECK_EQUAL(check(repaired, at), TLA_OK);
}

BOOST_AUTO_TEST_CASE(an_input_in_a_concat_stays_where_it_is_in_literal_io_alone) {
    naive::program p;
    p.ops = {{kind::input, {}, 8}, {kind::compute, {0}, 4}, {kind::compute, {0}, 2}, {kind::concat, {1, 0, 2}, 14}};
    p.returned = {3};
    p.mode = TLA_ADDRESS_IO_ALONE;
    addresses at;
    const naive::table literal(p, true), repaired(p, false);
    place(literal, TLA_PLAN_STACK, at);
    BOOST_CHECK((at == addresses{0, 8, 12, 8})); // the last source stands where the input should be
    BOOST_CHECK_EQUAL(check(literal, at), TLA_OVERLAP);
    place(repaired, TLA_PLAN_STACK, at);
    BOOST_CHECK((at == addresses{4, 0, 12, 0}));
    BOOST_CHECK_EQUAL(check(repaired, at), TLA_OK);
}

BOOST_AUTO_TEST_CASE(random_programs_are_kept_as_the_description_of_the_rules_says) {
    seeded_random random(92);
    for (int i = 0; i < 12000; i++) {
        naive::program p = naive::draw(random, random.one_in(3));
        p.mode = random.one_in(2) ? TLA_ADDRESS_BASIC : TLA_ADDRESS_IO_RELOC;
        const lifetimes literal = live_of(naive::table(p, true)), repaired = live_of(naive::table(p, false));
        const std::map<std::size_t, tla_lifetime> kept = naive::repaired_rule(p);
        for (const auto &[v, expected] : naive::literal_rule(p).live) {
            BOOST_REQUIRE_EQUAL(literal[v].nbytes, p.ops[v].is_view() ? 0 : expected.nbytes);
            BOOST_REQUIRE_MESSAGE(p.ops[v].is_view() || literal[v] == expected, v << " of " << p.text());
        }
        for (std::size_t v = 0; v < repaired.size(); v++) {
            const auto at = kept.find(v);
            BOOST_REQUIRE_EQUAL(repaired[v].nbytes, at == kept.end() ? 0 : at->second.nbytes);
            if (at != kept.end()) BOOST_REQUIRE(repaired[v] == at->second);
        }
    }
}

BOOST_AUTO_TEST_CASE(random_programs_read_what_they_wrote_by_the_repaired_rule_only) {
    seeded_random random(93);
    std::map<bool, int> wrong, plans;
    for (int i = 0; i < 4000; i++) {
        naive::program p = naive::draw(random, false);
        for (const tla_address_mode mode : {TLA_ADDRESS_BASIC, TLA_ADDRESS_IO_TAG_FUSE, TLA_ADDRESS_IO_ALONE}) {
            p.mode = mode;
            for (const bool literal : {false, true}) {
                naive::table t(p, literal);
                t.view.io_start = random.one_in(2) ? 1 << 20 : TLA_PLAN_ANYWHERE;
                t.view.tags[0] = 1 << 21;
                t.view.tags[1] = 1 << 22;
                if (mode == TLA_ADDRESS_IO_TAG_FUSE && std::any_of(p.returned.begin(), p.returned.end(), [&](auto v) {
                        return p.ops[v].is_view() || naive::parts_of(p)[v].owner != v;
                    }))
                    continue; // no place of their own
                addresses at;
                const auto method = static_cast<tla_plan_method>(random.between(0, TLA_PLAN_METHOD_COUNT - 1));
                place(t, method, at);
                const bool is_wrong = naive::run(p, at).is_wrong;
                BOOST_REQUIRE_EQUAL(check(t, at), is_wrong ? TLA_OVERLAP : TLA_OK);
                BOOST_REQUIRE_MESSAGE(literal || !is_wrong, p.text());
                wrong[literal] += is_wrong;
                plans[literal]++;
            }
        }
    }
    BOOST_TEST_MESSAGE("literal: " << wrong[true] << " of " << plans[true] << " plans are wrong");
    BOOST_CHECK_EQUAL(wrong[false], 0);
    BOOST_CHECK_GT(wrong[true], 0);
}

BOOST_AUTO_TEST_CASE(all_pairs_of_values_that_destroy_each_other_are_found) {
    seeded_random random(94);
    std::size_t most = 0;
    for (int i = 0; i < 3000; i++) {
        naive::program p = naive::draw(random, random.one_in(2));
        p.mode = random.one_in(2) ? TLA_ADDRESS_BASIC : TLA_ADDRESS_IO_ALONE;
        const naive::table t(p, true);
        addresses at;
        place(t, static_cast<tla_plan_method>(random.between(0, TLA_PLAN_METHOD_COUNT - 1)), at);
        if (random.one_in(2)) at[random.between(0, at.size() - 1)] += random.between(0, 20);
        const std::vector<std::pair<std::size_t, std::size_t>> expected = naive::lost_pairs(p, at);
        std::vector<tla_plan_fault> found(random.between(0, 12));
        std::size_t count = 0;
        BOOST_REQUIRE_EQUAL(tla_plan_find_faults(&t.view, at.data(), found.data(), found.size(), &count), TLA_OK);
        BOOST_REQUIRE_MESSAGE(count == expected.size(), count << " of " << expected.size() << ": " << p.text());
        found.resize(std::min(found.size(), count));
        std::set<std::pair<std::size_t, std::size_t>> different;
        for (const tla_plan_fault &f : found) {
            BOOST_REQUIRE(std::count(expected.begin(), expected.end(), std::pair(f.first, f.second)));
            different.emplace(f.first, f.second);
        }
        std::size_t first = 0, second = 0;
        BOOST_REQUIRE_EQUAL(check(t, at, &first, &second), count ? TLA_OVERLAP : TLA_OK);
        if (!found.empty()) BOOST_REQUIRE(first == found[0].first && second == found[0].second);
        if (!found.empty()) most = std::max(most, count);
        BOOST_REQUIRE_EQUAL(different.size(), found.size());
    }
    BOOST_CHECK_GT(most, 5u);
}

BOOST_AUTO_TEST_CASE(impossible_views_are_rejected_and_nothing_is_written) {
    // Two inputs, a tensor of 8 bytes, and what may be made of them.
    const auto fault = [](const std::vector<naive::op> &made) {
        naive::program p;
        p.ops = {{kind::input, {}, 8}, {kind::compute, {0}, 8}, {kind::compute, {0}, 4}};
        p.ops.insert(p.ops.end(), made.begin(), made.end());
        p.returned = {0, 1, 2};
        const naive::table t(p, false);
        const auto joined = std::make_unique<bool[]>(p.ops.size());
        tla_view_fault found = TLA_VIEW_GOOD;
        for (std::size_t i = 0; i < p.ops.size() && !found; i++)
            found = tla_plan_check_view(&t.view, i, joined.get());
        lifetimes live(p.ops.size());
        BOOST_CHECK_EQUAL(tla_plan_live(&t.view, live.data()), found ? TLA_INVALID_ARGUMENT : TLA_OK);
        BOOST_CHECK_EQUAL(live[1].nbytes, found ? 0u : std::max<std::uint64_t>(8, p.ops.back().nbytes));
        return found;
    };
    BOOST_CHECK_EQUAL(fault({{kind::concat, {1, 2}, 12}}), TLA_VIEW_GOOD);
    BOOST_CHECK_EQUAL(fault({{kind::slice, {1}, 3, 5}}), TLA_VIEW_GOOD);
    BOOST_CHECK_EQUAL(fault({{kind::slice, {1}, 3, 6}}), TLA_VIEW_OUTSIDE);
    BOOST_CHECK_EQUAL(fault({{kind::slice, {1}, 9, UINT64_MAX}}), TLA_VIEW_OUTSIDE);
    BOOST_CHECK_EQUAL(fault({{kind::concat, {1, 2}, 13}}), TLA_VIEW_OUTSIDE);
    BOOST_CHECK_EQUAL(fault({{kind::concat, {1, 2}, 11}}), TLA_VIEW_OUTSIDE);
    BOOST_CHECK_EQUAL(fault({{kind::concat, {1, 1}, 16}}), TLA_VIEW_JOINED);
    BOOST_CHECK_EQUAL(fault({{kind::concat, {1, 2}, 12}, {kind::concat, {2, 0}, 12}}), TLA_VIEW_JOINED);
    BOOST_CHECK_EQUAL(fault({{kind::concat, {1, 2}, 12}, {kind::concat, {3, 0}, 20}}), TLA_VIEW_JOINED);
    BOOST_CHECK_EQUAL(fault({{kind::slice, {1}, 4, 0}, {kind::concat, {3, 2}, 8}}), TLA_VIEW_JOINED);

    naive::program p;
    p.ops = {{kind::input, {}, 8}, {kind::slice, {0}, 4}};
    naive::table t(p, false);
    lifetimes live(2);
    addresses at{0, 0};
    t.tensors[0].upper = 1;
    BOOST_CHECK_EQUAL(tla_plan_live(&t.view, live.data()), TLA_INVALID_ARGUMENT); // dead when the view is made
    t.tensors[0].upper = 3;
    BOOST_CHECK_EQUAL(tla_plan_addresses(&t.view, 7, at.data(), nullptr), TLA_INVALID_ARGUMENT); // ends above it
    BOOST_CHECK_EQUAL(tla_plan_addresses(&t.view, 8, at.data(), nullptr), TLA_OK);
    at[1] = 1;
    BOOST_CHECK_EQUAL(check(t, at), TLA_OVERLAP); // not in its source
    t.view.alignment = 3;
    BOOST_CHECK_EQUAL(tla_plan_live(&t.view, live.data()), TLA_INVALID_ARGUMENT);
    t.view.alignment = 0;
    t.view.mode = TLA_ADDRESS_MODE_COUNT;
    BOOST_CHECK_EQUAL(tla_plan_live(&t.view, live.data()), TLA_INVALID_ARGUMENT);
    BOOST_CHECK(tla_address_mode_name(TLA_ADDRESS_MODE_COUNT) == nullptr);
    t.view.mode = TLA_ADDRESS_BASIC;
    t.sources[0] = 1;
    BOOST_CHECK_EQUAL(tla_plan_live(&t.view, live.data()), TLA_INVALID_ARGUMENT);
}

BOOST_AUTO_TEST_CASE(the_five_largest_inputs_and_outputs_have_tags) {
    naive::program p;
    for (const std::uint64_t nbytes : {4u, 9u, 4u, 2u})
        p.ops.push_back({kind::input, {}, nbytes});
    for (const std::uint64_t nbytes : {8u, 4u, 3u})
        p.ops.push_back({kind::compute, {0}, nbytes});
    p.returned = {4, 5, 6};
    p.mode = TLA_ADDRESS_IO_TAG;
    naive::table t(p, false);
    for (std::size_t i = 0; i < TLA_ADDRESS_TAGS; i++)
        t.view.tags[i] = 1000 * (i + 1);
    addresses at;
    BOOST_CHECK_EQUAL(place(t, TLA_PLAN_STACK, at), 5u); // the two that are left
    BOOST_CHECK((at == addresses{3000, 1000, 4000, 0, 2000, 5000, 2}));
}
