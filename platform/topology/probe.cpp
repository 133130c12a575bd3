// `tlmalloc probe CONFIG`: latencies of single transfers over an idle platform, beside a formula, and whether they are
// as they must be (KernBench ADR-0049).
#include "cli/commands.h"
#include "cli/config_json.h"
#include "cli/json_writer.h"
#include "cli/message.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/overrides.h"
#include "model/base/suggest.h"
#include "tlmalloc/base/timeline.h"
#include "topology/probe_cases.hpp"

#include <cstring>
#include <initializer_list>

namespace {

using namespace tlmalloc;

constexpr std::uint64_t kib = 1024, table_bytes = 32 * kib;
constexpr std::uint64_t sweep[] = {4 * kib, 16 * kib, 64 * kib, 256 * kib, 1024 * kib};

struct options {
    const char *config, *only, *json;
    text_list set;
};

const option_row option_table[] = {
    {"case", 'c', "NAME", option_text, offsetof(options, only),
     "run one case: h2d, d2h, local, same_half, cross_half, cross_cube_best, cross_cube_worst, cross_sip, to_host"},
    {"json", 'j', "FILE", option_text, offsetof(options, json), "write all figures as JSON"},
    {"set", 's', "KEY=VALUE", option_each, offsetof(options, set), "override a key: path.to.key=value (repeatable)"},
    {}};

void check_arguments(const argp_state *state, const void *read) {
    if (!static_cast<const options *>(read)->config) argument_error(state, "expected a CONFIG");
}

const command_line parser = {
    "CONFIG",
    "Transfers 32 KiB, and 4 KiB to 1 MiB, over an idle platform: between host and device, and from PE 0 to near and "
    "far slices. Prints the time of each transfer next to the time by a formula. Checks that no farther slice is "
    "faster, and that long transfers saturate the slowest of their links, their DMA engine and their slice. Exit "
    "status 1: a check failed.",
    option_table,
    {"CONFIG", 0, nullptr, argument_once, offsetof(options, config)},
    check_arguments};

// A case, and its times.
struct measured {
    probe_case what;
    std::uint64_t ps = 0;
    std::uint64_t sweep_ps[std::size(sweep)] = {};
    probe_case::stage slowest; // of the longest transfer, where that is checked

    std::uint64_t longest_ps() const { return sweep_ps[std::size(sweep) - 1]; }
};

constexpr std::uint64_t longest = sweep[std::size(sweep) - 1];

// With walks, pages decide: a PE's transfer waits for them, and they may lie in the target.
bool waits_for_walks(const tla_config &config, const probe_case &c) {
    return c.kind == probe_kind::pe_write && config.mmu.walk != TLA_WALK_IDEAL;
}

double utilisation(const measured &m, std::uint64_t nbytes, std::uint64_t ps) {
    return static_cast<double>(m.what.formula_ps(nbytes) - m.what.wire_ps - m.what.overhead_ps) /
           static_cast<double>(ps) * 100;
}

// Selects the cases; false, and a message, for an unknown name.
bool choose(const char *only, std::vector<probe_case> &cases) {
    if (!only || std::strcmp(only, "all") == 0) return true;
    tla_nearest nearest = tla_nearest_to(only);
    std::string names;
    for (const probe_case &c : cases) {
        if (c.name == only) {
            const probe_case chosen = c;
            cases = {chosen};
            return true;
        }
        tla_nearest_try(&nearest, c.name.c_str(), c.name.size());
        names += " " + c.name;
    }
    print_message("tlmalloc probe: --case: found '%s', expected one of%s%s%s%s", only, names.c_str(),
                  nearest.found ? ", did you mean \"" : "", nearest.found ? nearest.name.text : "",
                  nearest.found ? "\"?" : "");
    return false;
}

bool measure(const tla_config &config, measured &m) {
    const auto once = [&](std::uint64_t nbytes, std::uint64_t &ps) {
        const probe_result result = probe_measure(config, m.what, nbytes);
        ps = result.duration_ps;
        if (result.status)
            print_message("tlmalloc probe: %s, %llu bytes: %s", m.what.name.c_str(),
                          static_cast<unsigned long long>(nbytes), result.text);
        return result.status == TLA_OK;
    };
    if (!once(table_bytes, m.ps)) return false;
    for (std::size_t i = 0; i < std::size(sweep); i++)
        if (!once(sweep[i], m.sweep_ps[i])) return false;
    if (!m.what.inside_a_sip || waits_for_walks(config, m.what)) return true;
    tla_error error{};
    if (!probe_slowest_stage(config, m.what, longest, m.slowest, error)) return true;
    print_message("tlmalloc probe: %s, one chunk at a time: %s", m.what.name.c_str(), error.text);
    return false;
}

// --- checks ----------------------------------------------------------------------------------------------------------

struct check {
    std::string text;
    bool holds;
};

const measured *find(const std::vector<measured> &all, const char *name) {
    for (const measured &m : all)
        if (m.what.name == name && m.what.skipped.empty()) return &m;
    return nullptr;
}

std::vector<check> check_all(const tla_config &config, const std::vector<measured> &all) {
    std::vector<check> checks;
    const auto ordered = [&](const char *shorter, const char *longer, bool equal_too) {
        const measured *a = find(all, shorter), *b = find(all, longer);
        if (!a || !b) return;
        if (!equal_too && a->what.links >= b->what.links) return; // another half of a cube may be the nearer one
        if (waits_for_walks(config, a->what) || waits_for_walks(config, b->what)) return;
        checks.push_back({std::string(shorter) + (equal_too ? " <= " : " < ") + longer,
                          a->ps < b->ps || (equal_too && a->ps == b->ps)});
    };
    ordered("h2d", "d2h", true);
    ordered("local", "same_half", false);
    ordered("same_half", "cross_half", false);
    ordered("local", "cross_half", false);
    ordered("cross_cube_best", "cross_cube_worst", false);
    ordered("local", "to_host", false);
    for (const measured &m : all) {
        if (!m.what.skipped.empty()) continue;
        bool rising = true, above = m.what.formula_ps(table_bytes) <= m.ps;
        for (std::size_t i = 0; i < std::size(sweep); i++) {
            rising &= i == 0 || m.sweep_ps[i - 1] < m.sweep_ps[i];
            above &= m.what.formula_ps(sweep[i]) <= m.sweep_ps[i];
        }
        checks.push_back({m.what.name + ": more bytes take longer", rising});
        checks.push_back({m.what.name + ": formula <= actual", above});
        if (m.slowest.ps > 0)
            checks.push_back({m.what.name + ": 1 MiB fills over 90 % of " + m.slowest.name,
                              static_cast<double>(m.slowest.ps) > 0.9 * static_cast<double>(m.longest_ps())});
    }
    return checks;
}

// --- the report ------------------------------------------------------------------------------------------------------

double ns(std::uint64_t ps) {
    return static_cast<double>(ps) / 1e3;
}

// Why a case need not fill its slowest link.
void print_stages(FILE *out, const tla_config &config, const std::vector<measured> &all) {
    for (const measured &m : all) {
        if (!m.what.skipped.empty() || !m.what.inside_a_sip) continue;
        if (waits_for_walks(config, m.what))
            std::fprintf(out, "%s: not compared with its slowest link or with other cases, because of mmu.walk\n",
                         m.what.name.c_str());
        else if (m.slowest.ps > tla_transfer_ps(longest, m.what.bandwidth))
            std::fprintf(out, "%s: limited to %.1f GB/s by %s\n", m.what.name.c_str(),
                         static_cast<double>(longest) / ns(m.slowest.ps), m.slowest.name.c_str());
    }
}

void print(FILE *out, const tla_config &config, const std::vector<measured> &all, const std::vector<check> &checks) {
    std::fprintf(out, "%-17s %6s %12s %12s %9s %7s   %s\n", "32 KiB", "links", "formula ns", "actual ns", "GB/s",
                 "of link", "path");
    for (const measured &m : all) {
        if (!m.what.skipped.empty()) {
            std::fprintf(out, "%-17s skipped: %s\n", m.what.name.c_str(), m.what.skipped.c_str());
            continue;
        }
        std::fprintf(out, "%-17s %6u %12.2f %12.2f %9.1f %6.1f%%   %s (%s)\n", m.what.name.c_str(), m.what.links,
                     ns(m.what.formula_ps(table_bytes)), ns(m.ps), static_cast<double>(table_bytes) / ns(m.ps),
                     utilisation(m, table_bytes, m.ps), m.what.about.c_str(), m.what.target_name().c_str());
    }
    std::fprintf(out, "\n%-17s", "actual ns");
    for (const std::uint64_t nbytes : sweep)
        std::fprintf(out, " %9llu KiB", static_cast<unsigned long long>(nbytes / kib));
    std::fprintf(out, "   1 MiB, of link\n");
    for (const measured &m : all) {
        if (!m.what.skipped.empty()) continue;
        std::fprintf(out, "%-17s", m.what.name.c_str());
        for (const std::uint64_t ps : m.sweep_ps)
            std::fprintf(out, " %13.2f", ns(ps));
        std::fprintf(out, "   %13.1f%%\n", utilisation(m, longest, m.longest_ps()));
    }
    print_stages(out, config, all);
    std::size_t failed = 0;
    for (const check &c : checks) {
        failed += !c.holds;
        if (!c.holds) std::fprintf(out, "failed: %s\n", c.text.c_str());
    }
    std::fprintf(out, "\n%zu checks, %zu failed\n", checks.size(), failed);
}

json_t *case_json(const measured &m) {
    json_t *row = json_object();
    json_object_set_new(row, "case", json_string(m.what.name.c_str()));
    json_object_set_new(row, "about", json_string(m.what.about.c_str()));
    if (!m.what.skipped.empty()) {
        json_object_set_new(row, "skipped", json_string(m.what.skipped.c_str()));
        return row;
    }
    json_object_set_new(row, "target", json_string(m.what.target_name().c_str()));
    json_object_set_new(row, "links", json_integer(m.what.links));
    json_object_set_new(row, "wire_ps", json_from_u64(m.what.wire_ps));
    json_object_set_new(row, "overhead_ps", json_from_u64(m.what.overhead_ps));
    json_object_set_new(row, "slowest_link_bytes_per_s", json_from_u64(m.what.bandwidth));
    json_t *transfers = json_array();
    const auto add = [&](std::uint64_t nbytes, std::uint64_t ps) {
        json_t *one = json_object();
        json_object_set_new(one, "bytes", json_from_u64(nbytes));
        json_object_set_new(one, "formula_ps", json_from_u64(m.what.formula_ps(nbytes)));
        json_object_set_new(one, "actual_ps", json_from_u64(ps));
        json_object_set_new(one, "utilisation_pct", json_real(utilisation(m, nbytes, ps)));
        json_array_append_new(transfers, one);
    };
    add(table_bytes, m.ps);
    for (std::size_t i = 0; i < std::size(sweep); i++)
        add(sweep[i], m.sweep_ps[i]);
    json_object_set_new(row, "transfers", transfers);
    return row;
}

json_t *to_json(const tla_config &config, const std::vector<measured> &all, const std::vector<check> &checks) {
    json_t *report = json_object(), *cases = json_array(), *list = json_array();
    for (const measured &m : all)
        json_array_append_new(cases, case_json(m));
    for (const check &c : checks) {
        json_t *row = json_object();
        json_object_set_new(row, "check", json_string(c.text.c_str()));
        json_object_set_new(row, "holds", json_boolean(c.holds));
        json_array_append_new(list, row);
    }
    json_object_set_new(report, "config", config_to_json(&config));
    json_object_set_new(report, "cases", cases);
    json_object_set_new(report, "checks", list);
    return report;
}

} // namespace

int tlmalloc_probe(int argc, char **argv) {
    options o{};
    command_line_read(&parser, argc, argv, &o);
    tla_config config{};
    tla_error error{};
    const tla_status loaded = overrides_load(&o.set, o.config, &config);
    text_list_clear(&o.set);
    if (loaded) return cli_exit_status(loaded);
    std::vector<probe_case> cases;
    if (probe_cases(config, cases)) {
        print_message("tlmalloc probe: no host memory");
        return CLI_FAILED;
    }
    if (!choose(o.only, cases)) return CLI_BAD_INPUT;
    FILE *json = nullptr;
    output_protect(o.config);
    if (const tla_status status = output_open("--json", o.json, &json, &error)) {
        print_message("tlmalloc probe: %s", error.text);
        return cli_exit_status(status);
    }
    std::vector<measured> all;
    for (const probe_case &c : cases) {
        all.push_back({c});
        if (c.skipped.empty() && !measure(config, all.back())) return CLI_FAILED;
    }
    const std::vector<check> checks = check_all(config, all);
    print(output_table(), config, all, checks);
    json_t *report = to_json(config, all, checks);
    tla_status status = json_write(report, 12, json, &error);
    json_decref(report);
    if (!status) status = output_commit(&error);
    if (status) {
        print_message("tlmalloc probe: %s", error.text);
        return CLI_FAILED;
    }
    for (const check &c : checks)
        if (!c.holds) return CLI_FAILED;
    return CLI_OK;
}
