// Lines of KEY = VALUE: keys of configurations, and what a controller alone has besides.
#include "plugin/settings.hpp"

#include "tlmalloc/config.h"
#include "tlmalloc/modules/npu.hpp"

#include <optional>
#include <sstream>
#include <vector>

namespace tlmalloc {

namespace {

std::string trimmed(const std::string &text) {
    const std::size_t first = text.find_first_not_of(" \t\r"), last = text.find_last_not_of(" \t\r");
    return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

// What the keys say that configurations do not have, or that an absent TCM changes.
struct own_keys {
    std::optional<std::uint64_t> base[TLA_CHANNEL_COUNT];
    std::string layout; // or nothing: what follows from the bases
    bool has_tcm = true;
};

std::string found(std::size_t line, const std::string &what, const std::string &expected) {
    return "line " + std::to_string(line) + ": found " + what + ", expected " + expected;
}

std::string read_address(std::size_t line, const std::string &key, const std::string &value,
                         std::optional<std::uint64_t> &base) {
    std::size_t used = 0;
    try {
        if (!value.empty() && value[0] >= '0' && value[0] <= '9') base = std::stoull(value, &used, 0);
    } catch (const std::exception &) {
        used = 0;
    }
    return used == value.size() && used > 0 ? "" : found(line, key + " = " + value, "an address, 0x80000000 say");
}

// True when the key is one of ours; *why says what is wrong with it.
bool read_own_key(std::size_t line, const std::string &key, const std::string &value, own_keys &own, std::string &why) {
    if (key == "hbm.base")
        why = read_address(line, key, value, own.base[TLA_HBM]);
    else if (key == "tcm.base")
        why = read_address(line, key, value, own.base[TLA_TCM]);
    else if (key == "controller.addresses" && (value == "plain" || value == "kernbench"))
        own.layout = value;
    else if (key != "tcm.present")
        return false;
    else if (value == "true" || value == "false")
        own.has_tcm = value == "true";
    else
        why = found(line, key + " = " + value, "true or false");
    return true;
}

std::string parse(const std::vector<std::string> &overrides, tla_config &config) {
    std::vector<const char *> texts;
    for (const std::string &text : overrides)
        texts.push_back(text.c_str());
    std::string why;
    const tla_status status = tla_config_load(
        nullptr, texts.data(), texts.size(), &config,
        [](void *all, const tla_config_finding *finding) {
            auto &told = *static_cast<std::string *>(all);
            told += (told.empty() ? "" : "; ") + std::string(finding->text);
        },
        &why);
    return status && why.empty() ? tla_status_text(status) : why;
}

// A controller of a configuration's first PE.
std::string assemble(const tla_config &config, const own_keys &own, plugin_settings &settings) {
    if (config.simulation.style != TLA_TIME_FAST) return "found simulation.style = exact, expected fast";
    settings.has_tcm = own.has_tcm;
    const pe_location first{};
    settings.slice = slice_config(config, first);
    settings.local = tcm_config(config);
    settings.controller = controller_config(config, first);
    tla_pe_memory_config &memory = settings.controller.memory;
    if (!own.has_tcm) memory.tcm_bytes = 0;
    if (!own.has_tcm) memory.tcm_reserved_bytes = 0;
    if (own.layout == "plain" && !own.base[TLA_HBM])
        return "found controller.addresses = plain without hbm.base, expected a base";
    if (own.layout == "kernbench" && (own.base[TLA_HBM] || own.base[TLA_TCM]))
        return "found a base with controller.addresses = kernbench, expected plain or no base";
    if (own.base[TLA_HBM] || own.base[TLA_TCM]) {
        if (!own.base[TLA_HBM]) return "found tcm.base without hbm.base, expected both or none";
        if (own.has_tcm && !own.base[TLA_TCM])
            return "found hbm.base without tcm.base, expected both, or tcm.present = false";
        memory.layout = TLA_LAYOUT_PLAIN;
        for (const tla_channel channel : {TLA_HBM, TLA_TCM})
            memory.base[channel] = own.base[channel].value_or(0);
    }
    tla_error error{}; // said here, before a module is half made
    return tla_pe_memory_check_config(&memory, &error) ? error.text : "";
}

} // namespace

std::string read_settings(const std::string &text, plugin_settings &settings) {
    std::vector<std::string> overrides{"simulation.style=fast"};
    own_keys own;
    std::istringstream lines(text);
    std::string whole;
    for (std::size_t line = 1; std::getline(lines, whole); line++) {
        const std::string setting = trimmed(whole.substr(0, whole.find('#')));
        if (setting.empty()) continue;
        const std::size_t equals = setting.find('=');
        if (equals == std::string::npos) return found(line, "\"" + setting + "\"", "KEY = VALUE");
        const std::string key = trimmed(setting.substr(0, equals)), value = trimmed(setting.substr(equals + 1));
        std::string why;
        if (!read_own_key(line, key, value, own, why)) overrides.push_back(key + "=" + value);
        if (!why.empty()) return why;
    }
    tla_config config{};
    const std::string why = parse(overrides, config);
    return why.empty() ? assemble(config, own, settings) : why;
}

} // namespace tlmalloc
