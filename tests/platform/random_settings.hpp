// A platform drawn at random: a kernel, its parameters, and values of the keys of the table of keys. A new key or
// kernel is drawn too, without a word here, unless it is a text, or its values hang together with those of other keys.
#ifndef TLMALLOC_TESTS_PLATFORM_RANDOM_SETTINGS_HPP
#define TLMALLOC_TESTS_PLATFORM_RANDOM_SETTINGS_HPP

#include "model/config/platform.h"
#include "platform/command_line.hpp"
#include "programs/program.h"

#include <cmath>
#include <map>
#include <random>
#include <regex>
#include <set>

class dice {
  public:
    explicit dice(std::uint64_t seed) : engine_(seed) {}

    // Both included; the same on every standard library.
    std::uint64_t between(std::uint64_t low, std::uint64_t high) {
        return high - low == UINT64_MAX ? engine_() : low + engine_() % (high - low + 1);
    }
    bool one_in(std::uint64_t n) { return between(1, n) == 1; }
    std::string pick(const std::vector<std::string> &from) { return from[between(0, from.size() - 1)]; }

    // Of small numbers as many as of large ones.
    std::uint64_t of_any_size(std::uint64_t low, std::uint64_t high) {
        const auto size = [](std::uint64_t n) { return std::log2(static_cast<double>(n) + 1); };
        const double exponent = size(low) + (size(high) - size(low)) * static_cast<double>(between(0, 1000)) / 1000;
        return std::min(std::max(static_cast<std::uint64_t>(std::exp2(exponent)) - 1, low), high);
    }

  private:
    std::mt19937_64 engine_;
};

// Keys that no platform is drawn with, and why.
inline const std::map<std::string, std::string> &keys_never_drawn() {
    static const std::map<std::string, std::string> keys{
        {"controller.addresses", "a run refuses plain addresses"},
        {"hbm.base", "of plain addresses"},
        {"tcm.base", "of plain addresses"},
        {"system.topology_file", "random_platforms_test draws such files"},
        {"simulation.quantum", "each platform runs with several"},
        {"simulation.look_ahead", "each platform runs with several"},
        {"workload.kernel", "each platform has one, by --kernel"},
    };
    return keys;
}

class random_settings {
  public:
    explicit random_settings(std::uint64_t seed) : dice_(seed) {
        draw_kernel();
        draw_shape();
        draw_memories();
        draw_controllers();
        draw_translation();
        draw_transfers();
        draw_messages();
        draw_host();
        draw_others();
        mend();
    }

    // Sets more keys, and leaves out those that are refused beside them.
    void set_also(const std::map<std::string, std::string> &more) {
        for (const auto &[key, text] : more)
            set(key, text);
        mend();
    }

    std::string kernel;                  // as --kernel has it
    std::vector<std::string> parameters; // "rows=3"
    std::map<std::string, std::string> keys;
    std::vector<std::string> refused; // what was wrong with the first draw; keys are what is left without that
    bool clear = true;                // every finding of `refused` named its key, and said which value is valid

    static const std::string &config() {
        static const std::string file = TLMALLOC_SOURCE_DIR "/configs/npu_small.yaml";
        return file;
    }

    static const std::vector<std::string> &kernels() {
        static const std::vector<std::string> all = [] {
            std::vector<std::string> names{TLMALLOC_SOURCE_DIR "/tests/platform/all_memories.c"};
            for (std::uint32_t i = 0; tl_kernel_at(i); i++)
                names.emplace_back(tl_kernel_at(i)->name);
            return names;
        }();
        return all;
    }

    static bool is_key(const std::string &key) {
        const tla_schema schema = tla_platform_schema();
        return tla_schema_find(&schema, key.c_str()) < schema.count;
    }

  private:
    // --- values ------------------------------------------------------------------------------------------------------

    static const tla_schema_key &row(const std::string &key) {
        for (std::size_t i = 0; i < tla_platform_key_count; i++)
            if (key == tla_platform_keys[i].key) return tla_platform_keys[i];
        BOOST_FAIL("no key " << key);
        std::abort();
    }

    // As it is drawn, or as the configuration has it.
    std::string value(const std::string &key) const {
        const auto drawn = keys.find(key);
        if (drawn != keys.end()) return drawn->second;
        static const std::map<std::string, std::string> before = [] {
            std::map<std::string, std::string> all;
            tla_config c{};
            BOOST_REQUIRE_EQUAL(tla_config_load(config().c_str(), nullptr, 0, &c, nullptr, nullptr), TLA_OK);
            tla_config_each(
                &c,
                [](void *to, const char *name, const char *text, bool, std::uint64_t) {
                    (*static_cast<std::map<std::string, std::string> *>(to))[name] = text;
                },
                &all);
            return all;
        }();
        return before.at(key);
    }
    std::uint64_t number(const std::string &key) const {
        tla_value found{};
        BOOST_REQUIRE_EQUAL(tla_value_parse(&row(key).form, value(key).c_str(), &found, nullptr), TLA_OK);
        return found.number;
    }
    bool is(const std::string &key, const std::string &text) const { return value(key) == text; }

    void set(const std::string &key, const std::string &text) {
        decided_.insert(key);
        if (text != value(key)) keys[key] = text;
    }
    void set(const std::string &key, std::uint64_t number) {
        set(key, std::string(tla_number_print(row(key).form.type, number).text));
    }
    // As it is, or one of these.
    void maybe(const std::string &key, const std::vector<std::string> &values) {
        decided_.insert(key);
        if (dice_.one_in(2)) set(key, dice_.pick(values));
    }
    void leave(const std::string &key) { decided_.insert(key); }

    static std::vector<std::string> names(const std::string &key) {
        std::vector<std::string> all;
        for (std::uint64_t i = 0; row(key).form.name(i); i++)
            all.emplace_back(row(key).form.name(i));
        return all;
    }

    // A value around the default of a key, of which nothing is known but its row.
    void draw(const tla_schema_key &key) {
        if (key.form.type == TLA_VALUE_BOOLEAN) return set(key.key, dice_.pick({"false", "true"}));
        if (key.form.type == TLA_VALUE_NAMED) return set(key.key, dice_.pick(names(key.key)));
        if (!tla_schema_is_number(&key)) return; // the test of all keys misses it
        tla_value usual{};
        BOOST_REQUIRE_EQUAL(tla_value_parse(&key.form, key.default_text, &usual, nullptr), TLA_OK);
        const std::uint64_t around = usual.number ? usual.number : key.form.type == TLA_VALUE_TIME ? 5000 : 16;
        const std::uint64_t high = std::min(around > UINT64_MAX / 8 ? key.max : 8 * around, key.max);
        const std::uint64_t low = std::min(std::max(around / 16, key.min), high);
        std::uint64_t drawn = dice_.one_in(6) && key.min == 0 ? 0 : dice_.of_any_size(low, high);
        if (key.power_of_two) drawn = std::uint64_t{1} << static_cast<unsigned>(std::log2(static_cast<double>(drawn)));
        set(key.key, std::max(drawn, key.min));
    }

    // --- the kernel --------------------------------------------------------------------------------------------------

    void draw_kernel() {
        kernel = dice_.pick(kernels());
        set("workload.elements_per_pe", dice_.of_any_size(1, 3000));
        const tl_kernel_info *const info = tl_find_kernel(kernel.c_str());
        for (std::uint32_t i = 0; info && i < tl_kernel_parameter_count(info); i++) {
            const tl_kernel_parameter &p = info->parameters[i];
            const std::uint64_t most = std::max(p.least, p.value / 2); // small ones take less time
            parameters.push_back(std::string(p.name) + "=" + std::to_string(dice_.of_any_size(p.least, most)));
        }
    }

    // --- the platform ------------------------------------------------------------------------------------------------

    void draw_shape() {
        const std::uint64_t most = dice_.one_in(10) ? 32 : 8;
        do {
            set("system.sips", dice_.one_in(4) ? 2 : 1);
            set("system.cube_mesh_width", dice_.between(1, 2));
            set("system.cube_mesh_height", dice_.between(1, 2));
            set("system.pes_per_cube", dice_.between(1, 8));
        } while (pes() > most);
        if (number("system.sips") > 1) maybe("system.sip_grid_width", {"1", "2"});
        leave("system.sip_grid_width");
        for (const char *key : {"cube.mesh_columns", "cube.mesh_rows"})
            maybe(key, {"4", "5", "7", "8"});
        const std::uint64_t rows = number("cube.mesh_rows"), columns = number("cube.mesh_columns");
        maybe("cube.mesh_hole", {"none", "r1c2..r2c2", "r2c1..r2c2"});
        const auto edge = [&] { // where no hole is
            return dice_.one_in(2) ? place(dice_.between(0, 1) * (rows - 1), dice_.between(0, columns - 1))
                                   : place(dice_.between(0, rows - 1), dice_.between(0, 1) * (columns - 1));
        };
        if (dice_.one_in(3)) {
            std::set<std::string> places;
            while (places.size() < number("system.pes_per_cube"))
                places.insert(edge());
            std::string list;
            for (const std::string &p : places)
                list += (list.empty() ? "" : " ") + p;
            set("cube.pe_places", list);
        }
        leave("cube.pe_places");
        maybe("cube.m_cpu_place", {edge()});
        maybe("cube.sram_place", {edge()});
        maybe("cube.connections", {"1", "2", "3"});
        const std::uint64_t connections = number("cube.connections");
        if (dice_.one_in(3)) {
            std::string list;
            for (std::uint64_t i = 0; i < connections; i++)
                list += (i ? " " : "") + std::to_string((i + 1) % std::min(rows, columns));
            set("cube.connection_places", list);
        }
        leave("cube.connection_places");
        maybe("io_chiplet.phy_faces", {"cube0.W", "cube0.N", "cube0.W cube0.N"});
    }

    std::uint64_t pes() const {
        return number("system.sips") * number("system.cube_mesh_width") * number("system.cube_mesh_height") *
               number("system.pes_per_cube");
    }
    static std::string place(std::uint64_t row, std::uint64_t column) {
        return "r" + std::to_string(row) + "c" + std::to_string(column);
    }

    void draw_memories() {
        const std::uint64_t mib = 1 << 20, in_cube = number("system.pes_per_cube");
        maybe("hbm.timing", {"hbm2", "hbm3", "hbm4", "flat"});
        if (!is("hbm.timing", "channels") && !is("hbm.timing", "flat") && dice_.one_in(2))
            set("hbm.energy", is("hbm.timing", "hbm2") ? dice_.pick({"hbm2_ayna", "hbm2_fgdram"})
                                                       : dice_.pick({"hbm3_ayna", "hbm4_ayna", "hbm4_ayna_study"}));
        leave("hbm.energy");
        maybe("system.energy", {"published"});
        maybe("hbm.pseudo_channels", {"1", "2", "4", "16"});
        maybe("hbm.burst", {"32 B", "64 B", "128 B", "1 KiB"});
        set("hbm.capacity_per_cube", in_cube * (dice_.one_in(2) ? mib << dice_.between(5, 12) : 100'000'000));
        maybe("tcm.capacity", {"2 MiB", "3 MiB", "4 MiB", "10000000 B"});
        maybe("tcm.scheduler_reserve", {"0 B", "4 KiB", "100000 B", "64 KiB"});
        maybe("sram.capacity", {"1 MiB", "2 MiB", "5000000 B"});
        maybe("m_cpu_memory.capacity", {"64 KiB", "256 KiB"});
        if (tl_is_file() || dice_.one_in(4)) set("host_memory.capacity", dice_.pick({"32 MiB", "100 MiB"}));
        leave("host_memory.capacity");
        maybe("host_memory.interleave", {"64 B", "128 B", "1 KiB"});
        maybe("host_memory.channels", {"1", "2", "4", "16"});
        maybe("host_memory.timing", {"ddr5", "flat"});
        draw_faults();
    }
    bool tl_is_file() const { return kernel.find('/') != std::string::npos; }

    void draw_faults() {
        leave("faults.plan");
        if (!dice_.one_in(4)) return;
        const std::string pe = " pe=" + std::to_string(dice_.between(0, pes() - 1));
        set("faults.plan", dice_.pick({"correctable rate=20000", "correctable address=64" + pe, "refuse rate=100000",
                                       "refuse" + pe + " rate=300000", "refuse", "refuse at=10us",
                                       "uncorrectable rate=2000" + pe, "uncorrectable at=20us",
                                       "channel_out channel=0 at=10us" + pe, "correctable; refuse rate=1000"}));
    }

    // --- controllers -------------------------------------------------------------------------------------------------

    void draw_controllers() {
        maybe("controller.ports", {"17", "20", "64"});
        maybe("controller.alignment", {"16 B", "64 B", "256 B"});
        maybe("controller.list_reserve", {"4 KiB", "64 KiB", "100000 B"});
        std::vector<std::string> profiles;
        for (const auto &file : std::filesystem::directory_iterator(TLMALLOC_SOURCE_DIR "/configs/costs"))
            if (file.path().extension() == ".yaml") profiles.push_back(file.path().stem().string());
        std::sort(profiles.begin(), profiles.end());
        std::vector<std::string> stacks;
        for (std::uint64_t i = 0; tla_stack_name(i); i++)
            stacks.emplace_back(tla_stack_name(i));
        for (const char *front :
             {"caching_pool/", "segment_cache/", "growing_pool/", "lazy/", "linear_regions/", "interleaving_regions/"})
            stacks.push_back(front + std::string(tla_policy_name(static_cast<tla_policy>(
                                         dice_.between(0, std::uint64_t{TLA_POLICY_COUNT} - 1)))));
        std::vector<std::string> of_hbm = stacks;
        for (const char *key :
             {"controller.free_list", "controller.lockstep", "controller.lockstep_mode", "controller.engine",
              "controller.engine_nodes", "controller.engine_node_cycles", "controller.compaction"})
            leave(key);
        switch (dice_.between(0, 9)) {
        case 0: // lists in memory
            set("controller.free_list", dice_.pick({"sram", "hbm"}));
            of_hbm = stacks = {"first_fit", "best_fit", "next_fit", "worst_fit"};
            break;
        case 1: // an engine beside the core
            set("controller.engine", dice_.pick(engines()));
            maybe("controller.engine_node_cycles", {"2"});
            of_hbm = {"first_fit", "buddy", "caching_pool", "segment_cache", "growing_pool/buddy"};
            if (is("controller.engine", "rtl"))
                for (const char *bins : {"offset_bins", "offset_bins_rounded", "caching_pool/offset_bins"})
                    of_hbm.push_back(bins);
            stacks = of_hbm;
            profiles = {"rtl_list_2c", "ideal", "fw_list", "rtl_offset_bins"}; // without a price of calls
            break;
        case 2: // so many nodes
            set("controller.engine_nodes", dice_.of_any_size(4, 1024));
            of_hbm =
                stacks = {"first_fit",   "best_fit",           "worst_fit", "first_fit_top", "caching_pool/next_fit",
                          "offset_bins", "offset_bins_rounded"};
            break;
        case 4: // blocks move by themselves
            set("controller.move", dice_.pick({"stop", "concurrent"}));
            set("controller.compaction", dice_.pick({"on_demand", "background"}));
            of_hbm = stacks = {"first_fit", "best_fit", "next_fit", "worst_fit", "buddy", "first_fit_top", "tlsf"};
            break;
        case 3: // one decision for many slices
            set("controller.lockstep", dice_.pick({"cube", "sip"}));
            maybe("controller.lockstep_mode", names("controller.lockstep_mode"));
            of_hbm = {"first_fit", "first_fit_top"};
            leave("controller.guard");
            if (dice_.one_in(2)) set("controller.move", dice_.pick({"stop", "concurrent"}));
            break;
        default:
            break;
        }
        maybe("controller.object_eviction", {"tenant_lru", "arc"});
        if (is("controller.object_eviction", "tenant_lru")) leave("controller.watermark");
        if (!is("controller.move", "off") || !is("controller.lockstep", "off")) leave("controller.partition");
        maybe("controller.partition_chunk", {"1 B", "1000 B", "64 KiB"});
        maybe("controller.pin_wait", {"1 ns", "300 ns", "20 us", "1 s"});
        maybe("controller.cost.profile", profiles);
        const bool engine = !is("controller.engine", "model");
        for (std::size_t i = 0; i < tla_platform_key_count; i++) // prices of instructions are those of a processor
            if (std::string(tla_platform_keys[i].key).rfind("controller.firmware.", 0) == 0 &&
                !is("controller.engine", "firmware"))
                leave(tla_platform_keys[i].key);
        if (engine) leave("controller.cost.alloc");
        const std::pair<const char *, const char *> memories[] = {{"hbm", "hbm.capacity_per_cube"},
                                                                  {"tcm", "tcm.capacity"},
                                                                  {"sram", "sram.capacity"},
                                                                  {"m_cpu", "m_cpu_memory.capacity"},
                                                                  {"host", "host_memory.capacity"}};
        for (const auto &[memory, capacity] : memories) {
            maybe("controller." + std::string(memory) + "_policy", std::string(memory) == "hbm" ? of_hbm : stacks);
            std::uint64_t nbytes = number(capacity);
            if (std::string(memory) == "hbm") nbytes /= number("system.pes_per_cube");
            if (std::string(memory) == "tcm") nbytes -= number("tcm.scheduler_reserve");
            draw_front("controller." + std::string(memory) + "_", nbytes);
        }
    }

    // The engine in RTL is there if Verilator was.
    static const std::vector<std::string> &engines() {
        static const std::vector<std::string> all = [] {
            const char *rtl[] = {"controller.engine=rtl"};
            tla_config c{};
            const bool there = tla_config_load(config().c_str(), rtl, 1, &c, nullptr, nullptr) == TLA_OK;
            return there ? std::vector<std::string>{"firmware", "rtl"} : std::vector<std::string>{"firmware"};
        }();
        return all;
    }

    // Sizes of a front of a memory, of which so much can be allocated.
    void draw_front(const std::string &memory, std::uint64_t nbytes) {
        const std::string front = memory + "front.", policy = value(memory + "policy");
        const std::uint64_t unit = std::max(number("controller.alignment"), std::uint64_t{1});
        std::uint64_t part = nbytes; // that divides all of it
        for (std::uint64_t n = dice_.between(2, 64); n > 1; n--)
            if (nbytes % (n * unit) == 0) {
                part = nbytes / n;
                break;
            }
        const std::uint64_t parts = std::max(part ? nbytes / part : 1, std::uint64_t{1});
        const auto size = [&](const char *key, bool needed, std::uint64_t drawn) {
            decided_.insert(front + key);
            if (needed || dice_.one_in(8)) set(front + key, std::max(drawn, row(front + key).min));
        };
        const bool cut = policy == "segmented" || contains(policy, "_regions");
        size("segment", cut || policy.rfind("segment_cache", 0) == 0,
             10240 * (cut ? dice_.of_any_size(1 + nbytes / 64 / 10240, 1 + nbytes / 10240)
                          : dice_.of_any_size(1, 1 + nbytes / 4 / 10240)));
        size("slot", policy == "slot_pool", part);
        size("buffers", policy == "mixed", nbytes / 4 / 4096 / unit * 4096 * unit);
        const bool lazy = policy.rfind("lazy", 0) == 0;
        size("initial", lazy || cut, cut ? 1 + dice_.between(0, nbytes) : part * dice_.between(0, parts));
        size("chunk", lazy, part);
        size("commit", lazy, part * dice_.between(1, parts));
    }

    // --- MMUs --------------------------------------------------------------------------------------------------------

    void draw_translation() {
        const bool alone = is("controller.lockstep", "off");
        maybe("mmu.walk", alone ? names("mmu.walk") : std::vector<std::string>{"flat"});
        maybe("mmu.unmapped", alone ? names("mmu.unmapped") : std::vector<std::string>{"pa_fallback"});
        if (is("mmu.unmapped", "demand") && is("controller.move", "off") && dice_.one_in(2)) {
            set("mmu.fault_handler", "controller");
            maybe("mmu.fault_pool", {"4 KiB", "64 KiB", "1 MiB"});
            leave("va.map_ack"); // the first mapping of a page must be seen to stay
            leave("mmu.allow_remap");
        }
        leave("mmu.fault_handler");
        maybe("mmu.page_size", {"4 KiB", "16 KiB", "64 KiB"});
        for (const auto &[key, nbytes] : {std::pair("mmu.pages_64k", 1 << 16), std::pair("mmu.pages_2m", 1 << 21),
                                          std::pair("mmu.pages_1g", 1 << 30)}) {
            if (number("mmu.page_size") < static_cast<std::uint64_t>(nbytes)) maybe(key, {"true"});
            leave(key);
        }
        leave("mmu.eviction");
        if (is("mmu.unmapped", "demand") && is("controller.move", "off") && is("controller.guard", "off") &&
            number("host_memory.capacity") > 0 && dice_.one_in(2)) {
            set("mmu.eviction", dice_.pick({"clock", "lru"}));
            for (const char *key : {"controller.move", "controller.guard", "va.map_ack"})
                leave(key);
            const bool plain = is("controller.hbm_policy", "first_fit") && is("controller.free_list", "registers");
            if (plain && is("hbm.timing", "channels"))
                set("hbm.capacity_per_cube", number("system.pes_per_cube") * dice_.between(8, 64) * 4096);
        }
        maybe("mmu.prefetch", {"1", "3", "64"});
        leave("va.page_size");
        if (dice_.one_in(4)) set("va.page_size", dice_.pick({"4 KiB", "64 KiB", "2 MiB"}));
        maybe("va.base", {"0 B", "2 MiB", "1 GiB", "1 TiB"});
        maybe("va.size", {"1 GiB", "4 GiB", "1 TiB"});
        maybe("mmu.va_bits", {"42", "52", "57", "64"});
        maybe("mmu.asids", {"2", "5"});
        if (number("mmu.asids") > 1) maybe("workload.asid", {"1"});
        leave("workload.asid");
        maybe("mmu.ports", {"4", "5", "64"});
        maybe("mmu.ranges", {"1", "3", "16", "1024"});
        for (const std::string level : {"mmu.tlb_l1.", "mmu.tlb_l2."})
            if (dice_.one_in(2)) {
                const std::uint64_t ways = std::uint64_t{1} << dice_.between(0, 3);
                set(level + "entries", dice_.one_in(6) ? 0 : ways << dice_.between(0, 5));
                set(level + "ways", dice_.one_in(4) && number(level + "entries") <= 64 ? 0 : ways);
            } else {
                leave(level + "entries");
                leave(level + "ways");
            }
    }

    // --- transfers, kernels, messages, the host ----------------------------------------------------------------------

    void draw_transfers() {
        maybe("dma.chunk", {"8 B", "16 B", "64 B", "100 B", "128 B", "1000 B", "4 KiB"});
        maybe("dma.outstanding", {"1", "2", "3", "16"});
        maybe("host.dma_chunk", {"64 B", "100 B", "1000 B", "16 KiB"});
        maybe("links.transport", {"once", "once"});
        maybe("mmu.overhead_at", {"call"});
        maybe("pe.vector_cycle", {"1 ns", "333 ps", "2 us"});
        maybe("links.flit", {"32 B", "64 B", "100 B", "1 KiB"});
        for (const char *tile : {"pe.tile_m", "pe.tile_k", "pe.tile_n"})
            maybe(tile, {"8", "11", "16", "64"});
        maybe("pe.stack", {"128 KiB", "1 MiB"});
        maybe("pe.scratch", {"64 KiB", "1000000 B"});
        maybe("pe.host_limit", {"0 ns", "60 s"});
        leave("pe.time_limit");
        if (dice_.one_in(8)) set("pe.time_limit", dice_.pick({"0 ns", "5 us", "20 us", "100 us", "10 ms"}));
    }

    void draw_messages() {
        maybe("messages.slots", {"1", "2", "3", "16"});
        maybe("messages.slot_size", {"64 B", "100 B", "256 B", "1000 B"});
        maybe("messages.credit", {"1 B", "100 B", "128 B", "256 B"});
        maybe("messages.memory",
              is("controller.lockstep", "off") ? names("messages.memory") : std::vector<std::string>{"sram"});
        maybe("messages.poll_interval", {"1 ns", "3333 ps", "1 us"});
        maybe("messages.overhead", {"1 ns", "9500 ps", "1 us"});
        leave("collectives.world_size");
        leave("collectives.columns");
        if (dice_.one_in(4)) set("collectives.world_size", dice_.between(1, pes()));
        const std::uint64_t ranks = number("collectives.world_size") ? number("collectives.world_size") : pes();
        const std::uint64_t columns = dice_.between(1, ranks);
        if (dice_.one_in(2) && ranks % columns == 0) set("collectives.columns", columns);
    }

    void draw_host() {
        maybe("host.retries", {"0", "1", "10"});
        maybe("host.retry_delay", {"0 ns", "1 ns", "333 ns"});
        for (const char *key : {"host.driver", "host.pool", "host.driver_synchronous"})
            leave(key);
        if (!is("controller.lockstep", "off")) return;
        maybe("host.pool", names("host.pool"));
        maybe("host.driver", names("host.driver"));
        if (!is("host.driver", "asynchronous")) maybe("host.driver_synchronous", {"true"});
    }

    void draw_others() {
        const std::uint64_t rarely = std::uint64_t{2} << dice_.between(1, 5);
        for (std::size_t i = 0; i < tla_platform_key_count; i++) {
            const tla_schema_key &key = tla_platform_keys[i];
            if (!decided_.count(key.key) && !keys_never_drawn().count(key.key) && dice_.one_in(rarely)) draw(key);
        }
    }

    // --- what is refused ---------------------------------------------------------------------------------------------

    // Leaves out what a finding is about, until nothing is found.
    void mend() {
        for (bool first = true;; first = false) {
            std::vector<std::string> texts;
            std::vector<const char *> overrides;
            for (const auto &[key, text] : keys)
                texts.push_back(key + "=" + text);
            for (const std::string &text : texts)
                overrides.push_back(text.c_str());
            std::vector<std::string> findings;
            tla_config c{};
            tla_config_load(
                config().c_str(), overrides.data(), overrides.size(), &c,
                [](void *to, const tla_config_finding *f) {
                    static_cast<std::vector<std::string> *>(to)->emplace_back(f->text);
                },
                &findings);
            if (first) refused = findings;
            if (findings.empty()) return;
            std::set<std::string> wrong;
            for (const std::string &finding : findings) {
                const auto at = std::find_if(keys.begin(), keys.end(), [&](const auto &k) {
                    return finding.rfind("\"" + k.first + "=" + k.second + "\": ", 0) == 0;
                });
                static const std::regex action(" must |: (set|name|give|write) |found .*expected ");
                const bool says_what_is_valid = std::regex_search(finding, action);
                clear = clear && at != keys.end() && says_what_is_valid;
                wrong.insert(at != keys.end() ? at->first : keys.begin()->first);
            }
            for (const std::string &key : wrong)
                keys.erase(key);
        }
    }

    dice dice_;
    std::set<std::string> decided_; // keys that were drawn, or left as they are
};

#endif
