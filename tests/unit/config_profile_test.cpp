// Timing and cost profiles that a configuration names.
#include "config_parsing.hpp"
#include "tlmalloc/arena/arena.h"

using namespace config_parsing;

namespace {

// The current directory, for names of files that are relative to it.
class scratch_here : public scratch_directory {
  public:
    scratch_here() : before(std::filesystem::current_path()) { std::filesystem::current_path(path("")); }
    ~scratch_here() { std::filesystem::current_path(before); }

  private:
    std::filesystem::path before;
};

} // namespace

BOOST_AUTO_TEST_CASE(a_timing_profile_is_named_or_stands_in_a_file) {
    BOOST_CHECK(!good("").hbm_timing.has_profile);
    for (const char *name : {"hbm2", "hbm3", "kernbench"}) {
        const tla_config c = good(string("hbm: {timing: ") + name + "}");
        tla_hbm_config file{}, named{};
        const string path = configs + "timing/" + name + ".yaml";
        BOOST_REQUIRE_EQUAL(tla_timing_load(path.c_str(), nullptr, 0, &file, nullptr, nullptr), TLA_OK);
        BOOST_REQUIRE_EQUAL(tla_timing_named(name, &named), TLA_OK);
        BOOST_CHECK(c.hbm_timing.has_profile);
        BOOST_CHECK(std::memcmp(&c.hbm_timing.profile, &file, sizeof file) == 0);
        BOOST_CHECK(std::memcmp(&named, &file, sizeof file) == 0);
        const tla_config back = good(printed(c));
        BOOST_CHECK(tla_config_equal(&back, &c));
    }
    tla_hbm_config none{};
    BOOST_CHECK_EQUAL(tla_timing_named("hbm5", &none), TLA_INVALID_ARGUMENT);
    // A file is found beside the file that names it, and from here when the command line names it.
    scratch_here scratch;
    const string platform = scratch.write("a_platform.yaml", "hbm:\n  timing: ./a_profile.yaml\n");
    scratch.write("a_profile.yaml", read_text(configs + "timing/hbm3.yaml"));
    tla_config c{};
    BOOST_CHECK_EQUAL(tla_config_load(platform.c_str(), nullptr, 0, &c, nullptr, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(c.hbm_timing.profile.tck_ps, 625u);
    BOOST_CHECK_EQUAL(good("", {"hbm.timing=a_profile.yaml"}).hbm_timing.profile.tck_ps, 625u);
    BOOST_CHECK_EQUAL(good("hbm: {timing: hbm2}", {"hbm.timing=hbm3"}).hbm_timing.profile.tck_ps, 625u);
    BOOST_CHECK(!good("hbm: {timing: hbm2}", {"hbm.timing=channels"}).hbm_timing.has_profile);
}

BOOST_AUTO_TEST_CASE(a_timing_profile_that_cannot_be_used_is_found_where_it_is_named) {
    const string names =
        "expected channels, ddr5, flat, hbm2, hbm3, hbm4, hbm4_16g, kernbench, lpddr5, lpddr6, or the file of a "
        "timing profile (with a / or ending "
        "in .yaml)";
    check_findings("hbm:\n  timing: hbm5\n",
                   {"f:2:11: hbm.timing: found \"hbm5\", " + names + ", did you mean \"hbm2\"?"});
    check_findings("", {"--set:0:0: \"hbm.timing=x\": hbm.timing: found \"x\", " + names}, {"hbm.timing=x"});
    check_findings("hbm:\n  timing: no/such.yaml\n",
                   {"no/such.yaml:0:0: cannot be read: No such file or directory",
                    "f:2:11: hbm.timing: found \"no/such.yaml\", expected a file with a valid timing profile"});
    scratch_here scratch;
    scratch.write("bad_profile.yaml", "model: channel\ntck: 2 B\n");
    check_findings("hbm: {timing: bad_profile.yaml}",
                   {"bad_profile.yaml:2:6: tck: found \"2 B\" with the unknown unit \"B\", expected a time with a unit "
                    "(ps, ns, us, ms, s)",
                    "f:1:15: hbm.timing: found \"bad_profile.yaml\", expected a file with a valid timing profile"});
    // A platform must not be named where a profile belongs.
    BOOST_CHECK_EQUAL(parse("", {"hbm.timing=" + configs + "npu_small.yaml"}).status, TLA_SYNTAX);
    string sharing = read_text(configs + "timing/hbm2.yaml");
    sharing.replace(sharing.find("sharers: 1"), 10, "sharers: 2");
    scratch.write("sharing_profile.yaml", sharing);
    check_findings("hbm: {pseudo_channels: 1, timing: sharing_profile.yaml}",
                   {"f:1:35: hbm.timing sharing_profile.yaml: 1 pseudo-channels: must be a power of two, at least the "
                    "2 that share a row-command bus"});
}

static uint64_t node_of(const string &yaml, const std::vector<string> &overrides = {}) {
    return good(yaml, overrides).controller.cost.node_ps;
}

BOOST_AUTO_TEST_CASE(a_cost_profile_gives_the_prices_that_are_not_written_beside_it) {
    const string two = "controller: {cost: {profile: rtl_list_2c}}";
    const tla_cost_profile c = good(two).controller.cost;
    BOOST_CHECK_EQUAL(c.fixed_ps, 1000u);
    BOOST_CHECK_EQUAL(c.node_ps, 2000u);
    BOOST_CHECK_EQUAL(c.insert_node_ps, 2000u);
    BOOST_CHECK_EQUAL(c.free_ps, 3000u);
    BOOST_CHECK_EQUAL(c.node_created_ps, 1000u);
    BOOST_CHECK_EQUAL(c.node_released_ps, 1000u);
    for (const uint64_t none : {c.probe_ps, c.split_ps, c.merge_ps, c.metadata_line_ps})
        BOOST_CHECK_EQUAL(none, 0u);
    for (const uint64_t of_fronts : {c.class_lookup_ps, c.list_pop_ps, c.list_push_ps, c.slot_ps, c.driver_call_ps})
        BOOST_CHECK_EQUAL(of_fronts, 1000u);
    BOOST_CHECK_EQUAL(c.clock_ps, 1000u);
    BOOST_CHECK_EQUAL(good(two).va.cost.node_ps, good("").va.cost.node_ps); // of controllers alone
    const tla_config whole = good(two), back = good(printed(whole));
    BOOST_CHECK(tla_config_equal(&back, &whole));
    BOOST_CHECK_EQUAL(node_of(""), 1000u);
    BOOST_CHECK_EQUAL(node_of("controller: {cost: {profile: ideal}}"), 0u);
    BOOST_CHECK_EQUAL(good("controller: {cost: {profile: rtl_buddy}}").controller.cost.merge_ps, 1000u);
    const tla_cost_profile worst = good("controller: {cost: {profile: rtl_worst_fit}}").controller.cost;
    for (const uint64_t one : {worst.fixed_ps / 2, worst.walk_ps, worst.walk_node_ps})
        BOOST_CHECK_EQUAL(one, 1000u);
    const tla_cost_profile bins = good("controller: {cost: {profile: rtl_offset_bins}}").controller.cost;
    for (const uint64_t one : {bins.fixed_ps, bins.bin_search_ps, bins.node_ps / 2, bins.free_ps / 4})
        BOOST_CHECK_EQUAL(one, 1000u);
    // What is written as late as the profile, or later, is kept.
    BOOST_CHECK_EQUAL(node_of("controller: {cost: {profile: rtl_list_2c, node: 7 ns}}"), 7000u);
    BOOST_CHECK_EQUAL(node_of("controller: {cost: {node: 7 ns, profile: rtl_list_2c}}"), 7000u);
    BOOST_CHECK_EQUAL(node_of("controller: {cost: {node: 7 ns}}", {"controller.cost.profile=rtl_list_2c"}), 2000u);
    BOOST_CHECK_EQUAL(node_of(two, {"controller.cost.node=7 ns"}), 7000u);
    BOOST_CHECK_EQUAL(node_of("controller: {cost: {node: 7 ns}}",
                              {"controller.cost.node=9 ns", "controller.cost.profile=rtl_list_2c"}),
                      9000u);
    // The default is a profile, and the reference of all keys has its prices.
    const tla_config by_default = good(""), named = good("controller: {cost: {profile: rtl_list_1c}}");
    BOOST_CHECK(tla_config_equal(&by_default, &named));
    tla_controller_parameters parameters{};
    tla_controller_defaults(&parameters);
    BOOST_CHECK_EQUAL(std::memcmp(&parameters.cost, &named.controller.cost, sizeof parameters.cost), 0);
    // A clock of one's own: so many cycles, each as long as it says.
    const tla_cost_profile slow = good("controller: {cost: {clock: 2.5 ns, node: 3 ns}}").controller.cost;
    BOOST_CHECK_EQUAL(slow.clock_ps, 2500u);
    BOOST_CHECK_EQUAL(slow.free_ps, 5000u);
    BOOST_CHECK_EQUAL(slow.node_ps, 3000u);
    BOOST_CHECK_EQUAL(
        good("controller: {cost: {clock: 2 ns}}", {"controller.cost.profile=ideal"}).controller.cost.clock_ps, 1u);
    check_findings("controller: {cost: {clock: 0 ns}}",
                   {"f:1:28: controller.cost.clock: found \"0 ns\", expected 1 ps .. 1 us"});
    // Of a file: beside the one that names it.
    scratch_here scratch;
    const string platform = scratch.write("a_platform.yaml", "controller:\n  cost: {profile: ./slow.yaml}\n");
    scratch.write("slow.yaml", "clock: 2.5 ns\nnode: 3 tCK\n");
    tla_config c_of_file{};
    BOOST_CHECK_EQUAL(tla_config_load(platform.c_str(), nullptr, 0, &c_of_file, nullptr, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(c_of_file.controller.cost.node_ps, 7500u);
    BOOST_CHECK_EQUAL(c_of_file.controller.cost.fixed_ps, 0u);
}

// As they are published (configs/costs/README.md).
BOOST_AUTO_TEST_CASE(the_profile_of_a_driver_charges_its_whole_call_for_a_command) {
    struct row {
        const char *name;
        uint64_t alloc_ps, free_ps;
    };
    const std::vector<row> rows{{"driver_cuda_malloc", 180'000'000, 14'000'000},
                                {"driver_cuda_vmm", 40'000'000, 34'000'000},
                                {"driver_bar_v100", 255'600'000, 256'500'000},
                                {"driver_vfio_1g", 12'400'000'000, 5'100'000'000}};
    tla_arena_config config{};
    config.capacity = 1000;
    config.policy = TLA_FIRST_FIT;
    tla_arena *arena = nullptr;
    BOOST_REQUIRE_EQUAL(tla_arena_create(&config, &arena), TLA_OK);
    tla_block first{}, second{}, third{};
    tla_work of_alloc{}, of_second{}, of_free{}, of_join{}, refused{};
    BOOST_CHECK_EQUAL(tla_arena_alloc(arena, 100, &first, &of_alloc), TLA_OK);
    BOOST_CHECK_EQUAL(tla_arena_alloc(arena, 900, &second, &of_second), TLA_OK); // all that is left
    BOOST_CHECK_EQUAL(tla_arena_alloc(arena, 100, &third, &refused), TLA_EXHAUSTED);
    BOOST_CHECK_EQUAL(tla_arena_free(arena, first, &of_free), TLA_OK);
    BOOST_CHECK_EQUAL(tla_arena_free(arena, second, &of_join), TLA_OK);
    tla_arena_destroy(arena);
    for (const row &r : rows) {
        const tla_cost_profile cost = good(string("controller: {cost: {profile: ") + r.name + "}}").controller.cost;
        BOOST_TEST_CONTEXT(r.name) {
            for (const tla_work &work : {of_alloc, of_second})
                BOOST_CHECK_EQUAL(tla_cost_price(&cost, &work), r.alloc_ps);
            for (const tla_work &work : {of_free, of_join})
                BOOST_CHECK_EQUAL(tla_cost_price(&cost, &work), r.free_ps);
            BOOST_CHECK_EQUAL(tla_cost_price(&cost, &refused), 0u);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_cost_profile_that_cannot_be_used_is_found_where_it_is_named) {
    check_findings(
        "controller: {cost: {profile: rtl_list1c}}",
        {"f:1:30: controller.cost.profile: found \"rtl_list1c\", expected driver_bar_v100, "
         "driver_cuda_malloc, driver_cuda_vmm, driver_vfio_1g, fw_buddy, fw_list, fw_offset_bins, ideal, rtl_buddy, "
         "rtl_list_1c, "
         "rtl_list_2c, rtl_offset_bins, rtl_worst_fit, or the file of a cost profile (with a / or ending in "
         ".yaml), did you mean "
         "\"rtl_list_1c\"?"});
    scratch_here scratch;
    scratch.write("bad.yaml", "clock: 0 ns\nnodes: 1 tCK\nfixed: 1 ns\n");
    check_findings("controller: {cost: {profile: bad.yaml}}",
                   {"bad.yaml:1:8: clock: found \"0 ns\", expected 1 ps .. 1 us",
                    "bad.yaml:2:1: unknown key \"nodes\", did you mean \"node\"?",
                    "bad.yaml:3:8: fixed: found \"1 ns\" with the unknown unit \"ns\", expected a number of cycles "
                    "with a unit (tCK)",
                    "f:1:30: controller.cost.profile: found \"bad.yaml\", expected a file with a valid cost profile"});
}
