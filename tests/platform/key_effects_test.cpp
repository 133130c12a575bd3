// Keys without effect: what is said of them is true of runs, for every key that there is.
#include "model/config/platform.h"
#include "platform/key_showcases.hpp"
#include "platform/run_report.hpp"
#include "today.hpp"

using namespace key_showcases;

namespace {

const std::string small = TLMALLOC_SOURCE_DIR "/configs/npu_small.yaml";

// Keys that no two reports of a run tell apart, and why.
const std::map<std::string, std::string> never_shown{
    {"system.topology_file", "names a file: topology_file_test and random_platforms_test run with some"},
    {"hbm.base", "of plain addresses, which an npu refuses"},
    {"tcm.base", "of plain addresses, which an npu refuses"},
    {"controller.addresses", "plain is for a controller alone: an npu refuses it"},
    {"controller.ports", "there are enough, or the configuration is refused"},
    {"mmu.ports", "there are enough, or the configuration is refused"},
    {"controller.queue_depth", "a queue is full only where more senders ask at once than a run has"},
    {"mmu.queue_depth", "a queue is full only where more senders ask at once than a run has"},
    {"controller.object_signals", "of waveforms"},
    {"messages.signals", "of waveforms"},
    {"simulation.link_signals", "of waveforms"},
    {"simulation.quantum", "how long the host computes; results must not depend on it"},
    {"pe.host_limit", "of the host's time"},
    {"workload.asid", "a name"},
    {"mmu.asids", "how many names there are"},
    {"mmu.allow_remap", "no kernel of a run has a page mapped twice"},
    {"mmu.pages_1g", "of tensors of 1 GiB, which are too long to copy in a test"},
    {"controller.engine_node_cycles", "needs Verilator: the tests of engines have it"},
    {"controller.firmware.multiply", "neither firmware multiplies"},
    {"controller.firmware.divide", "neither firmware divides"},
    // and those that are reported to have no effect in any run
    {"m_cpu_memory.read_bandwidth", "reported"},
    {"m_cpu_memory.write_bandwidth", "reported"},
    {"m_cpu_memory.latency", "reported"},
    {"controller.m_cpu_front.segment", "reported"},
    {"controller.compaction_budget", "reported"},
    {"controller.object_eviction", "reported"},
    {"controller.watermark", "reported"},
    {"controller.watermark_share", "reported"},
    {"controller.watermark_interval", "reported"},
    {"controller.partition_chunk", "reported"},
    {"controller.partition_prefetches", "reported"},
    {"controller.partition_writes", "reported"},
    {"controller.move_chunk", "reported"},
    {"controller.move_rounds", "reported"},
    {"controller.move_buffers", "reported"},
    {"mmu.cost.table_level", "reported"},
    {"va.cost.insert_node", "reported"},
    {"va.cost.node_created", "reported"},
    {"va.cost.node_released", "reported"},
    {"host.driver_synchronous", "reported"},
    {"simulation.look_ahead", "reported"},
};

// Another value than the key has without a showcase of its own: a new key needs none if this shows.
std::string another_value(const tla_schema_key &key) {
    tla_value value{};
    BOOST_REQUIRE_EQUAL(tla_value_parse(&key.form, key.default_text, &value, nullptr), TLA_OK);
    if (tla_schema_is_number(&key)) {
        value.number = value.number == 0 ? key.min + 4096 : 2 * value.number;
        if (value.number > key.max) value.number = key.max / 2;
    } else {
        value.number = value.number == 0 ? 1 : 0;
    }
    return tla_value_print(&key.form, &value).text;
}

struct outcome {
    std::string report, err; // without the configuration; "" where there was none
};

class runs {
  public:
    runs() {
        for (const auto &[name, body] : own_kernels)
            scratch_.write(name + ".c", "#include \"tlmalloc/kernel.h\"\nstatic tla_status run(tl_context *tl) {\n"
                                        "    (void)tl;\n" +
                                            body + "\n");
    }

    outcome of(const settings &with, const std::string &kernel) {
        const auto key = std::make_pair(with, kernel);
        if (const auto found = known_.find(key); found != known_.end()) return found->second;
        const std::string file = scratch_.path("report.json");
        settings words{"run", small, "--json", file};
        if (own_kernels.count(kernel)) words = words + settings{"--kernel", scratch_.path(kernel + ".c")};
        words = words + with_prices(own_kernels.count(kernel) ? with : settings{"workload.kernel=" + kernel} + with);
        std::filesystem::remove(file);
        const command_result result = run_tlmalloc(words);
        json_t *const read = json_load_file(file.c_str(), 0, nullptr);
        outcome made{"", result.err};
        if (read) {
            json_object_del(read, "config");
            char *const text = json_dumps(read, JSON_SORT_KEYS);
            made.report = text;
            free(text);
            json_decref(read);
        }
        return known_[key] = made;
    }

  private:
    scratch_directory scratch_;
    std::map<std::pair<settings, std::string>, outcome> known_;
};

showcase showcase_of(const tla_schema_key &key) {
    static const std::map<std::string, showcase> special = special_showcases();
    const auto found = special.find(key.key);
    return found == special.end() ? showcase{another_value(key), {}} : found->second;
}

bool warns_of(const std::string &err, const std::string &key) {
    return contains(err, ": " + key + " has no effect with ");
}

// Values of a deciding key among which one keeps others from an effect.
std::vector<std::string> candidates(const tla_schema_key &key) {
    if (std::string(key.key) == "workload.kernel") return kernel_names();
    if (key.form.type == TLA_VALUE_STACK) return {"first_fit"};
    if (key.form.type == TLA_VALUE_TEXT) return {"none", "hbm2", "flat"};
    std::vector<std::string> values;
    for (std::uint64_t i = 0; i < 8; i++) {
        tla_value value{};
        value.number = i;
        const bool is_named = key.form.type == TLA_VALUE_NAMED;
        if (is_named ? key.form.name(i) != nullptr : i >= key.min && i <= 1)
            values.push_back(tla_value_print(&key.form, &value).text);
    }
    return values;
}

} // namespace

BOOST_AUTO_TEST_CASE(every_key_that_is_not_reported_changes_some_run) {
    runs all;
    std::vector<tla_schema_key> keys;
    std::copy_if(tla_platform_keys, tla_platform_keys + tla_platform_key_count, std::back_inserter(keys),
                 [](const tla_schema_key &key) { return never_shown.count(key.key) == 0; });
    BOOST_CHECK_EQUAL(keys.size() + never_shown.size(), tla_platform_key_count);
    for (const tla_schema_key &key : some_of_today(keys, 3)) {
        const showcase s = showcase_of(key);
        const bool is_kernel = std::string(key.key) == "workload.kernel";
        const outcome before = all.of(s.with, s.kernel),
                      after = all.of(s.with + settings{std::string(key.key) + "=" + s.value},
                                     is_kernel ? s.value : s.kernel);
        BOOST_CHECK_MESSAGE(!before.report.empty() && !after.report.empty(),
                            key.key << "=" << s.value << ": " << before.err << after.err);
        BOOST_CHECK_MESSAGE(before.report != after.report,
                            key.key << "=" << s.value << " with " << s.kernel
                                    << " changes nothing: it has no effect (key_effects.c), or needs a showcase here");
        BOOST_CHECK_MESSAGE(!warns_of(after.err, key.key), key.key << ": " << after.err);
    }
}

BOOST_AUTO_TEST_CASE(a_key_that_is_reported_changes_nothing_and_the_key_that_decides_is_named) {
    const tla_schema schema = tla_platform_schema();
    runs all;
    std::size_t checked = 0;
    std::vector<std::pair<tla_key_condition, tla_schema_key>> pairs;
    for (std::size_t c = 0; c < tla_key_condition_count; c++)
        for (std::size_t i = 0; i < tla_platform_key_count; i++)
            if (tla_key_condition_is_of(&tla_key_conditions[c], tla_platform_keys[i].key))
                pairs.emplace_back(tla_key_conditions[c], tla_platform_keys[i]);
    for (const auto &[condition, of] : some_of_today(pairs, 3)) {
        const std::string key = of.key;
        const showcase s = showcase_of(of);
        if (key == "hbm.base" || key == "tcm.base") continue; // rejected, unless it is 0 B
        const std::string decides = condition.by[0];
        const tla_schema_key &decider = tla_platform_keys[tla_schema_find(&schema, decides.c_str())];
        if (decides == "system.topology_file") continue; // see below
        bool found = false;
        const std::vector<std::string> seconds =
            condition.by[1] ? candidates(tla_platform_keys[tla_schema_find(&schema, condition.by[1])])
                            : std::vector<std::string>{""};
        for (const std::string &value : candidates(decider)) {
            for (const std::string &second : seconds) {
                settings with = s.with + settings{decides + "=" + value};
                if (condition.by[1]) with = with + settings{std::string(condition.by[1]) + "=" + second};
                const std::string kernel = decides == "workload.kernel" ? value : s.kernel;
                const settings set = with + settings{key + "=" + s.value};
                const outcome after = all.of(set, kernel);
                const std::string says = key + " has no effect with ";
                if (after.report.empty() || !warns_of(after.err, key) ||
                    !contains(after.err.substr(after.err.find(says)), decides + " " + value))
                    continue;
                BOOST_CHECK_MESSAGE(contains(after.err, std::string("it needs ") + condition.wanted), after.err);
                BOOST_CHECK_MESSAGE(all.of(with, kernel).report == after.report,
                                    key << "=" << s.value << " is reported to have no effect with " << decides << " "
                                        << value << ", and changes the report");
                found = true;
                break;
            }
            if (found) break;
        }
        checked += found;
        // The firmware's prices, and Verilator's, cannot be set where they have no effect, or not be run.
        if (key.rfind("controller.firmware.", 0) == 0 || key == "controller.engine_node_cycles") continue;
        BOOST_CHECK_MESSAGE(found, key << ": no value of " << decides << " keeps it from having an effect");
    }
    BOOST_CHECK_GT(checked, all_is_tested() ? 130u : 130u / 4);
}

BOOST_AUTO_TEST_CASE(keys_without_effect_are_warned_of_where_they_are_set) {
    scratch_directory scratch;
    const std::string file = scratch.write("a.yaml", "mmu:\n  walk: ideal\n  tlb_l1:\n    entries: 4\n    ways: 0\n"
                                                     "  walkers: {count: 8}\nmessages: {slots: 2}\n");
    const std::string first = file + ":4:14: warning: mmu.tlb_l1.entries has no effect with mmu.walk ideal: it needs "
                                     "flat or memory\n",
                      second = file + ":7:19: warning: messages.slots has no effect with workload.kernel qkv_gemm: it "
                                      "needs a kernel with messages\n";
    for (const char *command : {"check", "run"}) {
        const command_result plain = run_tlmalloc({command, file});
        BOOST_CHECK_EQUAL(plain.status, 0);
        BOOST_CHECK_EQUAL(plain.err, first + second); // not of what the file says as the defaults are
        // An override is one more, whatever its value; with what makes them effective none is left.
        const command_result set = run_tlmalloc({command, file, "--set", "mmu.walkers.count=8"});
        BOOST_CHECK_EQUAL(set.status, 0);
        BOOST_CHECK_MESSAGE(contains(set.err,
                                     "--set: warning: \"mmu.walkers.count=8\": mmu.walkers.count has no effect "
                                     "with mmu.walk ideal: it needs flat or memory\n"),
                            set.err);
        const command_result good =
            run_tlmalloc({command, file, "--set", "mmu.walk=flat", "--set", "workload.kernel=ring"});
        BOOST_CHECK_EQUAL(good.err, "");
        // Where something is wrong, that is said, and nothing else.
        const command_result bad = run_tlmalloc({command, file, "--set", "mmu.walk=flut"});
        BOOST_CHECK_MESSAGE(!contains(bad.err, "warning"), bad.err);
    }
    // What the option names is the kernel, also for what has no effect on it.
    BOOST_CHECK_EQUAL(run_tlmalloc({"run", file, "--kernel", "ring"}).err, first);
}

BOOST_AUTO_TEST_CASE(a_topology_file_takes_the_place_of_the_shape) {
    scratch_directory scratch;
    const command_result yaml = run_tlmalloc({"topology", small, "--yaml"});
    BOOST_REQUIRE_EQUAL(yaml.status, 0);
    const std::string file = "system.topology_file=" + scratch.write("fabric.yaml", yaml.out);
    runs all;
    const outcome before = all.of({file}, "qkv_gemm");
    BOOST_REQUIRE_MESSAGE(!before.report.empty(), before.err);
    for (const char *key :
         {"cube.router_overhead=99 ns", "io_chiplet.pcie_overhead=99 ns", "links.router_bandwidth=1 GB/s",
          "links.ucie_overhead=99 ns", "links.routing=free_ports", "links.host_bandwidth=1 GB/s"}) {
        const outcome after = all.of({file, key}, "qkv_gemm");
        BOOST_CHECK_EQUAL(after.report, before.report);
        BOOST_CHECK_MESSAGE(contains(after.err, " has no effect with system.topology_file ") &&
                                contains(after.err, ": it needs none"),
                            after.err);
    }
    const outcome wire = all.of({file, "links.flit=64 B"}, "qkv_gemm");
    BOOST_CHECK_EQUAL(wire.err, "");
    BOOST_CHECK(wire.report != before.report);
}

BOOST_AUTO_TEST_CASE(configurations_that_come_with_the_platform_are_warned_of_nothing) {
    for (const char *name : {"npu_small", "kernbench"}) {
        const std::string config = TLMALLOC_SOURCE_DIR "/configs/" + std::string(name) + ".yaml";
        const command_result check = run_tlmalloc({"check", config});
        BOOST_CHECK_EQUAL(check.err, "");
        scratch_directory scratch; // nor is what check prints of it
        BOOST_CHECK_EQUAL(run_tlmalloc({"check", scratch.write("resolved.yaml", check.out)}).err, "");
    }
}

// What a kernel states that it does, as keys and rules read it, is what its run counts.
BOOST_AUTO_TEST_CASE(every_kernel_of_the_platform_states_what_it_does) {
    const std::map<std::string, std::string> shows{{"pe.gemm_rate", "gemm_ps"},
                                                   {"pe.vector_rate", "math_ps"},
                                                   {"pe.scheduler", "composites"},
                                                   {"messages.slots", "messages"}};
    for (const std::string &kernel : kernel_names()) {
        // attention sends where a query has several PEs.
        const report r = run(small, kernel == "attention" ? settings{"--kernel", kernel, "--parameter", "queries=1"}
                                                          : settings{"--kernel", kernel});
        for (const auto &[key, counter] : shows) {
            const bool has = counter == "messages"     ? r.list("messages") != nullptr
                             : counter == "composites" ? r.sum("kernels", "composites") > 0
                                                       : r.sum("elements", counter.c_str()) > 0;
            const std::string value = key == "messages.slots" ? "=2" : key == "pe.scheduler" ? "=2 ns" : "=2 TFLOPS";
            const command_result check =
                run_tlmalloc({"check", small, "--set", "workload.kernel=" + kernel, "--set", key + value});
            BOOST_CHECK_MESSAGE(warns_of(check.err, key) == !has, kernel << ": " << key << ": " << check.err);
        }
    }
}
