// Lines of KEY = VALUE: keys of configurations, and further keys of a single controller.
#include "plugin/settings.hpp"

#include "base/phrase.h"
#include "tlmalloc/config/keys.h"
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

struct setting {
    std::size_t line;
    std::string key, value;
};

std::string quoted(const std::string &text) {
    return tla_quote(text.c_str()).text; // nothing in it steers a terminal
}

std::string found(std::size_t line, const std::string &what, const std::string &expected) {
    return "line " + std::to_string(line) + ": found " + what + ", expected " + expected;
}

// The lines of a host's text, in their order. Errors name the line.
class settings_text {
  public:
    // Empty, or why it is none.
    std::string read(const std::string &text) {
        std::istringstream lines(text);
        std::string whole;
        for (std::size_t line = 1; std::getline(lines, whole); line++) {
            const std::string setting = trimmed(whole.substr(0, whole.find('#')));
            if (setting.empty()) continue;
            const std::size_t equals = setting.find('=');
            if (equals == std::string::npos) return found(line, quoted(setting), "KEY = VALUE");
            all_.push_back({line, trimmed(setting.substr(0, equals)), trimmed(setting.substr(equals + 1))});
        }
        return "";
    }

    const std::vector<setting> &all() const { return all_; }

    // Where a key has its value from: of several lines the last.
    const setting *find(const std::string &key) const {
        for (std::size_t i = all_.size(); i > 0; i--)
            if (all_[i - 1].key == key) return &all_[i - 1];
        return nullptr;
    }

    // Returns "line 3: " if a line sets the key, else "".
    std::string place_of(const std::string &key) const {
        const setting *const said = find(key);
        return said ? "line " + std::to_string(said->line) + ": " : "";
    }

  private:
    std::vector<setting> all_;
};

// The keys that have another form in configurations.
struct own_keys {
    std::optional<std::uint64_t> base[TLA_MEMORY_KIND_COUNT];
    std::string layout; // empty: follows from the bases
};

// An address as hosts write it, or a size as configurations do.
std::string read_address(const setting &said, std::optional<std::uint64_t> &base) {
    const std::string &value = said.value;
    const bool is_hex = value.rfind("0x", 0) == 0 || value.rfind("0X", 0) == 0;
    std::size_t used = 0;
    try {
        if (!value.empty() && value[0] >= '0' && value[0] <= '9') base = std::stoull(value, &used, is_hex ? 16 : 10);
    } catch (const std::exception &) {
        used = 0;
    }
    if (used == value.size() && used > 0) return "";
    std::uint64_t nbytes = 0;
    if (tla_parse_size(value.c_str(), &nbytes, nullptr) != TLA_OK)
        return found(said.line, said.key + " = " + quoted(value), "an address below 2^64, such as 0x80000000 or 2 GiB");
    base = nbytes;
    return "";
}

// Returns whether the key is one of these; *why receives the error.
bool read_own_key(const setting &said, own_keys &own, std::string &why) {
    const std::string &key = said.key, &value = said.value;
    if (key == "hbm.base")
        why = read_address(said, own.base[TLA_HBM]);
    else if (key == "tcm.base")
        why = read_address(said, own.base[TLA_TCM]);
    else if (key == "controller.addresses" && (value == "plain" || value == "kernbench"))
        own.layout = value;
    else
        return false;
    return true;
}

std::string parse(const std::vector<setting> &keys, tla_config &config) {
    struct told {
        const std::vector<setting> &keys;
        std::string all;
    } why{keys, ""};
    std::vector<tla_config_setting> settings;
    for (const setting &said : keys)
        settings.push_back({said.key.c_str(), said.value.c_str()});
    const tla_status status = tla_config_load_settings(
        TLA_KEYS_OF_MODULE, nullptr, settings.data(), settings.size(), &config,
        [](void *context, const tla_config_finding *finding) {
            auto &into = *static_cast<told *>(context);
            if (!into.all.empty()) into.all += "; ";
            if (finding->override) into.all += "line " + std::to_string(into.keys[finding->override - 1].line) + ": ";
            into.all += finding->text;
        },
        &why);
    return status && why.all.empty() ? tla_status_text(status) : why.all;
}

// Checks bases and the layout, as far as the keys determine them: the controller checks the rest.
std::string check_bases(const settings_text &text, const own_keys &own, bool has_tcm) {
    const bool hbm = own.base[TLA_HBM].has_value(), tcm = own.base[TLA_TCM].has_value();
    if (own.layout == "plain" && !hbm)
        return text.place_of("controller.addresses") + "controller.addresses = plain needs hbm.base";
    if (own.layout == "kernbench" && (hbm || tcm)) {
        const std::string key = hbm ? "hbm.base" : "tcm.base";
        return text.place_of(key) + "found " + key +
               " with controller.addresses = kernbench, expected plain or no base";
    }
    if (tcm && !hbm) return text.place_of("tcm.base") + "found tcm.base without hbm.base, expected both or none";
    if (hbm && has_tcm && !tcm)
        return text.place_of("hbm.base") + "found hbm.base without tcm.base, expected both, or tcm.present = false";
    return "";
}

// Checks before any module is made. The slice is checked first, so that an error of both memories is reported for the
// TCM.
std::string check_memory(const settings_text &text, const tla_pe_memory_config &both) {
    tla_error why{};
    tla_pe_memory_config slice = both;
    slice.of[TLA_TCM].bytes = slice.of[TLA_TCM].reserved = 0;
    const bool slice_alone = tla_pe_memory_check_config(&slice, &why) != TLA_OK;
    if (!slice_alone && tla_pe_memory_check_config(&both, &why) == TLA_OK) return "";
    return text.place_of(slice_alone ? "hbm.base" : "tcm.base") + "found " + why.text +
           (both.layout == TLA_LAYOUT_PLAIN ? ", expected hbm.base and tcm.base apart, aligned and below 2^64" : "");
}

// A controller of a configuration's first PE.
std::string assemble(const settings_text &text, const tla_config &config, const own_keys &own,
                     plugin_settings &settings) {
    settings.has_tcm = config.tcm_present;
    const pe_location first{};
    settings.slice = slice_config(config, first);
    settings.local = tcm_config(config);
    settings.controller = controller_config(config, first);
    settings.controller.maps_port = 0; // the host's MMU is there
    settings.controller.maps_target = TLA_TARGET_PE_MMU;
    tla_pe_memory_config &memory = settings.controller.memory;
    const std::string why = check_bases(text, own, config.tcm_present);
    if (!why.empty()) return why;
    if (own.base[TLA_HBM]) memory.layout = TLA_LAYOUT_PLAIN;
    for (const tla_memory_kind kind : {TLA_HBM, TLA_TCM})
        memory.of[kind].base = own.base[kind].value_or(0);
    return check_memory(text, memory);
}

} // namespace

std::string read_settings(const std::string &text, plugin_settings &settings) {
    settings_text lines;
    std::string why = lines.read(text);
    std::vector<setting> keys;
    own_keys own;
    for (const setting &said : lines.all()) {
        if (!why.empty()) return why;
        if (!read_own_key(said, own, why)) keys.push_back(said);
    }
    tla_config config{};
    if (why.empty()) why = parse(keys, config);
    return why.empty() ? assemble(lines, config, own, settings) : why;
}

} // namespace tlmalloc
