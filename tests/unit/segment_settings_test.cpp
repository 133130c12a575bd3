// PYTORCH_CUDA_ALLOC_CONF in and out, and the versions of PyTorch.
#include "tlmalloc/segments/segment_cache.h"

#include <boost/test/unit_test.hpp>

#include <array>
#include <random>
#include <string>

namespace {

using divisions = std::array<std::uint32_t, TLA_SEGMENT_DIVISIONS>;

tla_segment_cache_config parse(const std::string &text, const std::string &version = "newest") {
    tla_segment_cache_config c{};
    tla_error error{};
    BOOST_REQUIRE_MESSAGE(tla_segment_version_parse(version.c_str(), &c, &error) == TLA_OK, error.text);
    BOOST_REQUIRE_MESSAGE(tla_segment_settings_parse(text.c_str(), &c, &error) == TLA_OK, error.text);
    return c;
}

std::string print(const tla_segment_cache_config &c) {
    std::string text(tla_segment_settings_print(&c, nullptr, 0), '\0');
    tla_segment_settings_print(&c, text.data(), text.size() + 1);
    return text;
}

divisions of(const std::string &list, const std::string &version = "newest") {
    const tla_segment_cache_config c = parse("roundup_power2_divisions:" + list, version);
    divisions d{};
    std::copy(std::begin(c.power2_divisions), std::end(c.power2_divisions), d.begin());
    return d;
}

// The intervals from `from` on have a value; before it those of `before`.
divisions from(std::size_t index, std::uint32_t value, divisions before = {}) {
    std::fill(before.begin() + static_cast<std::ptrdiff_t>(index), before.end(), value);
    return before;
}

} // namespace

// By hand from AllocatorConfig's parser: 1 MiB is interval 0, 256 MiB interval 8, 32 GiB and more interval 15.
BOOST_AUTO_TEST_CASE(divisions_are_read_as_pytorch_reads_them) {
    BOOST_CHECK(of("4") == from(0, 4));
    BOOST_CHECK(of("[256:1,512:2,1024:4,>:8]") == from(11, 8, from(10, 4, from(9, 2, from(0, 1)))));
    BOOST_CHECK(of("[256:1,>:8]") == from(9, 8, from(0, 1)));
    BOOST_CHECK(of("[>:8]") == from(1, 8));                                                // behind interval 0
    BOOST_CHECK(of("[32768:2,>:8]") == from(0, 2));                                        // nothing is behind the last
    BOOST_CHECK(of("[65536:2]") == from(0, 2));                                            // clamped
    BOOST_CHECK(of("[64:2,>:4,256:8]") == from(9, 4, from(8, 8, from(7, 4, from(0, 2))))); // in order
    BOOST_CHECK(of("[1:0,>:4]") == from(1, 4));                                            // 0: none
    divisions only{};
    only[0] = only[1] = only[2] = 2;
    BOOST_CHECK(of("[4:2]") == only);
}

BOOST_AUTO_TEST_CASE(the_rest_includes_the_last_named_interval_up_to_version_2_8) {
    for (const std::string version : {"2.1", "2.4.1", "2.8.0+cu128"}) {
        BOOST_CHECK(of("[256:1,>:8]", version) == from(8, 8, from(0, 1)));
        BOOST_CHECK(of("[>:8]", version) == from(0, 8));
    }
    for (const std::string version : {"2.9", "2.10.0a0+git1234", "3.0", "newest", "193400"})
        BOOST_CHECK(of("[256:1,>:8]", version) == from(9, 8, from(0, 1)));
}

BOOST_AUTO_TEST_CASE(divisions_decide_how_a_request_is_rounded) {
    const std::uint64_t MiB = 1 << 20;
    tla_segment_cache_config c = parse("roundup_power2_divisions:[256:1,>:4]");
    BOOST_CHECK_EQUAL(tla_segment_cache_round_with(300 * MiB, &c), 300 * MiB); // interval 8: 256 .. 512 MiB, none
    BOOST_CHECK_EQUAL(tla_segment_cache_round_with(600 * MiB, &c), 640 * MiB); // steps of 512 / 4
    c = parse("roundup_power2_divisions:[256:1,>:4]", "2.8");
    BOOST_CHECK_EQUAL(tla_segment_cache_round_with(300 * MiB, &c), 320 * MiB); // steps of 256 / 4
    BOOST_CHECK_EQUAL(tla_segment_cache_round_with(200 * MiB, &c), 200 * MiB);
}

BOOST_AUTO_TEST_CASE(settings_that_are_printed_are_read_as_the_same) {
    std::mt19937_64 random(15);
    for (int round = 0; round < 1000; round++) {
        tla_segment_cache_config c{};
        c.expandable = random() % 2;
        if (random() % 2) c.max_split_size = (20 + random() % 1000) << 20;
        if (random() % 2) c.max_non_split_rounding = (20 + random() % 1000) << 20;
        if (random() % 2) c.large_segment_size = (11 + random() % 100) << 20;
        if (random() % 2) c.gc_threshold = static_cast<double>(1 + random() % 98) / 100;
        if (random() % 2) c.memory_fraction = static_cast<double>(1 + random() % 100) / 100;
        const bool alike = random() % 2;
        if (random() % 2)
            for (std::uint32_t &d : c.power2_divisions)
                d = alike ? 4 : 1u << random() % 5;
        const std::string text = print(c);
        const tla_segment_cache_config again = parse(text);
        BOOST_CHECK_EQUAL(print(again), text);
        BOOST_CHECK(std::equal(std::begin(c.power2_divisions), std::end(c.power2_divisions), again.power2_divisions));
        BOOST_CHECK(again.max_split_size == c.max_split_size && again.expandable == c.expandable &&
                    again.gc_threshold == c.gc_threshold && again.memory_fraction == c.memory_fraction);
    }
}

BOOST_AUTO_TEST_CASE(a_version_says_which_rules_hold_and_nothing_else) {
    struct expected {
        std::string version;
        bool old_pools, aborts, named, exempt;
    };
    for (const expected &e :
         {expected{"newest", false, false, false, false}, expected{"2.1", true, true, true, false},
          expected{"2.4.1+cu121", true, true, true, false}, expected{"2.5.0", false, false, true, false},
          expected{"2.9.1", false, false, false, false}, expected{"2.10.0a0", false, false, false, false},
          expected{"3.1", false, false, false, false}, expected{"193400", false, false, false, true}}) {
        tla_segment_cache_config c = parse("max_split_size_mb:40,expandable_segments:True");
        BOOST_REQUIRE_EQUAL(tla_segment_version_parse(e.version.c_str(), &c, nullptr), TLA_OK);
        BOOST_CHECK_EQUAL(c.private_not_expandable, e.old_pools);
        BOOST_CHECK_EQUAL(c.aborts_on_expandable, e.aborts);
        BOOST_CHECK_EQUAL(c.rest_includes_named, e.named);
        BOOST_CHECK_EQUAL(c.exempt_expandable, e.exempt);
        BOOST_CHECK_EQUAL(print(c), "expandable_segments:True,max_split_size_mb:40");
    }
}

BOOST_AUTO_TEST_CASE(an_invalid_version_is_rejected_and_changes_nothing) {
    for (const std::string text :
         {"", "2", "2.", "2.x", "2.0", "1.13", "two", "2.4x", "v2.4", "-2.4", "193401", " 2.4"}) {
        tla_segment_cache_config c{};
        c.exempt_expandable = c.aborts_on_expandable = true;
        tla_error error{};
        BOOST_CHECK_EQUAL(tla_segment_version_parse(text.c_str(), &c, &error), TLA_SYNTAX);
        BOOST_CHECK_EQUAL(error.text,
                          "found '" + text + "', expected a version of PyTorch from 2.1 on, newest or 193400");
        BOOST_CHECK(c.exempt_expandable && c.aborts_on_expandable);
    }
}

// PYTORCH_NPU_ALLOC_CONF: what is not about placement is ignored, what is not modelled is rejected by its name.
BOOST_AUTO_TEST_CASE(options_of_torch_npu_are_ignored_or_rejected_by_name) {
    tla_segment_cache_config config{}, before{};
    tla_error error{};
    BOOST_CHECK_EQUAL(tla_segment_settings_parse("pin_memory_expandable_segments:True,pinned_mem_register:True,multi_"
                                                 "stream_lazy_reclaim:True,max_split_size_mb:32",
                                                 &config, &error),
                      TLA_OK);
    BOOST_CHECK_EQUAL(config.max_split_size, 32u << 20);
    before = config;
    for (const std::string name : {"base_addr_aligned_kb", "page_size", "segment_size_mb"}) {
        const std::string text = "expandable_segments:True," + name + ":1g";
        BOOST_CHECK_EQUAL(tla_segment_settings_parse(text.c_str(), &config, &error), TLA_UNSUPPORTED);
        BOOST_CHECK_EQUAL(error.text, "settings, column 26: " + name +
                                          " is an option of torch_npu that tlmalloc does not model; remove it");
        BOOST_CHECK_EQUAL(config.expandable, before.expandable);
    }
}
