/* Energy profiles of `tlmalloc traffic`, and how their sums are shown. */
#include "traffic/command/traffic_energy.h"

#include "cli/config_json.h"
#include "cli/overrides.h"
#include "model/base/suggest.h"
#include "tlmalloc/config.h"

#include <stdlib.h>
#include <string.h>

static bool ends_in_yaml(const char *text) {
    const size_t length = strlen(text);
    return length > 5 && strcmp(text + length - 5, ".yaml") == 0;
}

tla_status traffic_energy_load(const char *name, const char *timing, traffic_energy *energy, tla_error *error) {
    energy->name = name;
    error->text[0] = '\0'; /* findings are printed one by one */
    tla_status status = TLA_OK;
    if (strchr(name, '/') || ends_in_yaml(name))
        status = tla_dram_energy_load(name, &energy->profile, print_finding, NULL);
    else if (tla_dram_energy_named(name, &energy->profile) != TLA_OK)
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "--energy: found '%s', expected one of: %s, or the file of an energy profile (with a / or "
                             "ending in .yaml)%s",
                             name, tla_all_names(tla_dram_energy_name_at).text,
                             tla_did_you_mean(name, tla_dram_energy_name_at).text);
    if (status != TLA_OK) return status;
    tla_error why;
    if (tla_dram_energy_suits(&energy->profile, name, timing, &why)) return TLA_OK;
    return tla_error_set(error, TLA_INVALID_ARGUMENT, "--energy: %s", why.text);
}

tla_status traffic_energy_add_up(traffic_energy *energy, const tla_hbm_config *timing, const tla_traffic_result *run,
                                 tla_error *error) {
    const tla_dram_activity activity = {run->stats, run->open_time, run->end_ps * timing->row_bus_sharers};
    tla_error why;
    const tla_status status = tla_dram_energy_add_up(&energy->profile, timing, &activity, &energy->sum, &why);
    if (status != TLA_OK) return tla_error_set(error, status, "--energy: %s", why.text);
    energy->pj_per_bit = (double)energy->sum.total_fj / 1e3 / (8.0 * (double)run->nbytes);
    return TLA_OK;
}

static double share_of(const tla_dram_energy_sum *sum, uint64_t fj) {
    return sum->total_fj == 0 ? 0 : (double)fj / (double)sum->total_fj;
}

static json_t *constant_to_json(const traffic_energy *energy, tla_dram_constant constant) {
    json_t *json = json_object();
    const bool is_power = constant >= TLA_DRAM_ALL_CLOSED;
    json_object_set_new(json, "constant", json_string(tla_dram_constant_name(constant)));
    json_object_set_new(json, is_power ? "power_uw" : "energy_fj",
                        json_from_u64(energy->profile.constants[constant].value));
    json_object_set_new(json, "standing",
                        json_string(tla_energy_standing_name(energy->profile.constants[constant].standing)));
    json_object_set_new(json, "source", json_from_text(energy->profile.constants[constant].source));
    json_object_set_new(json, "total_fj", json_from_u64(energy->sum.by_constant_fj[constant]));
    return json;
}

json_t *traffic_energy_to_json(const traffic_energy *energy) {
    json_t *json = json_object(), *rows = json_array();
    json_object_set_new(json, "profile", json_from_text(energy->name));
    json_object_set_new(json, "total_fj", json_from_u64(energy->sum.total_fj));
    json_object_set_new(json, "pj_per_bit", json_real(energy->pj_per_bit));
    for (int i = TLA_ENERGY_ASSUMED; i < TLA_ENERGY_STANDING_COUNT; i++)
        json_object_set_new(json, tla_phrase_of("share_%s", tla_energy_standing_name((tla_energy_standing)i)).text,
                            json_real(share_of(&energy->sum, energy->sum.by_standing_fj[i])));
    for (int i = 0; i < TLA_DRAM_CONSTANT_COUNT; i++)
        json_array_append_new(rows, constant_to_json(energy, (tla_dram_constant)i));
    json_object_set_new(json, "constants", rows);
    return json;
}

void traffic_energy_print(FILE *out, const traffic_energy *energy) {
    const tla_dram_energy_sum *sum = &energy->sum;
    fprintf(out, "energy         %.3f uJ, %.2f pJ/bit (%s)\n", (double)sum->total_fj * 1e-9, energy->pj_per_bit,
            energy->name);
    for (int i = 0; i < TLA_DRAM_CONSTANT_COUNT; i++) {
        const tla_energy_standing standing = energy->profile.constants[i].standing;
        const char *const name = tla_dram_constant_name((tla_dram_constant)i);
        if (standing == TLA_ENERGY_UNKNOWN)
            fprintf(out, "  %-12s unknown, taken as 0\n", name);
        else
            fprintf(out, "  %-12s %10.3f uJ  %5.1f %%  %s: %s\n", name, (double)sum->by_constant_fj[i] * 1e-9,
                    100 * share_of(sum, sum->by_constant_fj[i]), tla_energy_standing_name(standing),
                    energy->profile.constants[i].source);
    }
    fprintf(out, "  %.1f %% of the energy rests on assumptions\n",
            100 * share_of(sum, sum->by_standing_fj[TLA_ENERGY_ASSUMED]));
}
