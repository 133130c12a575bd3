// CCI parameters of an instance: makes them, hands the preset ones to the core, and writes back what it resolved.
#include "tlmalloc/cci/cci_settings.hpp"

#include "tlmalloc/cci/cci_text.hpp"
#include "tlmalloc/config/presets.h"

#include <algorithm>
#include <deque>
#include <new>

namespace tlmalloc {

namespace {

const char *section_of(cci_instance what) {
    switch (what) {
    case cci_instance::npu:
        return nullptr;
    case cci_instance::memory_controller:
        return "controller";
    case cci_instance::pe_mmu:
        return "mmu";
    case cci_instance::hbm_slice:
        return "hbm";
    case cci_instance::tcm:
        return "tcm";
    }
    return nullptr;
}

constexpr cci_instance all_instances[] = {cci_instance::npu, cci_instance::memory_controller, cci_instance::pe_mmu,
                                          cci_instance::hbm_slice, cci_instance::tcm};

// What is the same for every instance of a kind.
struct described_key {
    std::string key, name, description; // name: below the instance
    cci_text default_value;
};

std::vector<described_key> describe_keys(const char *section) {
    struct context {
        const char *section;
        std::vector<described_key> keys;
    } all{section, {}};
    tla_config_each_key(
        tla_preset_scope(section),
        [](void *opaque, const tla_config_key *key) {
            auto &c = *static_cast<context *>(opaque);
            c.keys.push_back(
                {key->name,
                 tla_preset_name(c.section, key->name),
                 std::string(key->meaning) + " (" + key->range.text + "; default: " + key->default_text + ")",
                 {key->default_text}});
        },
        &all);
    return all.keys;
}

// Made once: many instances have the same keys.
const std::vector<described_key> &keys_of(cci_instance what) {
    static std::vector<described_key> made[static_cast<std::size_t>(cci_instance::tcm) + 1];
    std::vector<described_key> &keys = made[static_cast<std::size_t>(what)];
    if (keys.empty()) keys = describe_keys(section_of(what));
    return keys;
}

// Within the hierarchy an originator must not be named, outside it must.
::cci::cci_originator originator_of(const std::string &name) {
    return sc_core::sc_get_current_object() ? ::cci::cci_originator() : ::cci::cci_originator(name);
}

::cci::cci_broker_handle broker_of_this_place(const std::string &name) {
    return sc_core::sc_get_current_object() ? ::cci::cci_get_broker()
                                            : ::cci::cci_get_global_broker(originator_of(name));
}

std::string full_name(const std::string &name) {
    const sc_core::sc_object *const parent = sc_core::sc_get_current_object();
    if (!parent) return name;
    return name.empty() ? parent->name() : std::string(parent->name()) + sc_core::SC_HIERARCHY_CHAR + name;
}

// The texts of a preset, as long as messages about it are made.
struct preset_texts {
    std::string name, value, by;
    tla_preset preset() const { return {name.c_str(), value.c_str(), by.c_str()}; }
};

preset_texts texts_of(const ::cci::cci_broker_handle &broker, const std::string &full, const std::string &shown) {
    return {shown, text_of_cci_value(broker.get_preset_cci_value(full)), broker.get_preset_value_origin(full).name()};
}

} // namespace

// A primitive channel, because it is an object without a level of its own in the hierarchy, and hears of the end of
// elaboration.
class cci_settings::implementation : public sc_core::sc_prim_channel {
  public:
    implementation(const std::string &name, cci_instance what)
        : sc_prim_channel(sc_core::sc_gen_unique_name("cci_settings")), name_(name), what_(what),
          section_(section_of(what)), originator_(originator_of(name)), broker_(broker_of_this_place(name)) {
        const bool is_first = report_taken_name();
        for (const described_key &key : keys_of(what)) {
            const std::string full = full_name_of(key);
            if (broker_.has_preset_value(full)) presets_.push_back(texts_of(broker_, full, key.name));
            parameters_.emplace_back(full, key.default_value, broker_, key.description, ::cci::CCI_ABSOLUTE_NAME,
                                     originator_);
        }
        if (is_first) report_renamed();
        // Sockets have the name of a parameter: pe_mmu's `walk`. Without its name in SystemC's hierarchy the parameter
        // is found by its broker as before, and the socket keeps its own.
        if (what == cci_instance::pe_mmu) ::cci::cci_unregister_name(full_name_of("walk").c_str());
        load(presets_);
        write_back();
    }

    const char *kind() const override { return "cci_settings"; }

    std::string full_name_of(const std::string &below) const { return name_ + sc_core::SC_HIERARCHY_CHAR + below; }
    std::string full_name_of(const described_key &key) const { return full_name_of(key.name); }

    const std::string name_;
    const cci_instance what_;
    const char *const section_;
    tla_config config_{};
    bool accepted_ = true;
    std::vector<std::string> ignored_;

    // As CCI made them: it renames a parameter whose name is taken.
    std::vector<std::string> parameters() const {
        std::vector<std::string> names;
        for (const ::cci::cci_param<cci_text> &parameter : parameters_)
            names.emplace_back(parameter.name());
        return names;
    }

  private:
    // CCI would rename the parameters, with two warnings each, and no preset would reach them. The first key stands for
    // all: it has one name in all kinds of instances. Returns whether its name is free.
    bool report_taken_name() {
        const std::string first = full_name_of(keys_of(what_).front());
        if (!broker_.get_param_handle(first).is_valid()) return true;
        SC_REPORT_ERROR(
            "/tlmalloc/cci/name",
            (name_ + ": the parameter " + first + " exists already; give each cci_settings a name of its own").c_str());
        return false;
    }

    // Another parameter, or an object, has the name of a single parameter, which CCI has renamed.
    void report_renamed() {
        std::string names;
        for (std::size_t i = 0; i < parameters_.size(); i++) {
            const std::string full = full_name_of(keys_of(what_)[i]);
            if (full != parameters_[i].name()) names += (names.empty() ? "" : ", ") + full;
        }
        if (names.empty()) return;
        SC_REPORT_ERROR("/tlmalloc/cci/name",
                        (name_ + ": other parameters or objects have these names already: " + names +
                         "; make the cci_settings before modules, and rename other parameters")
                            .c_str());
    }

    void load(const std::vector<preset_texts> &texts) {
        std::vector<tla_preset> presets;
        for (const preset_texts &one : texts)
            presets.push_back(one.preset());
        std::string why;
        const auto report = [](void *context, const char *line) {
            *static_cast<std::string *>(context) += std::string("\n  ") + line;
        };
        tla_status status =
            tla_presets_load(name_.c_str(), section_, presets.data(), presets.size(), &config_, report, &why);
        accepted_ = status == TLA_OK;
        if (!accepted_ && status != TLA_NO_HOST_MEMORY)
            status = tla_presets_load(name_.c_str(), section_, nullptr, 0, &config_, nullptr, nullptr);
        if (status == TLA_NO_HOST_MEMORY) throw std::bad_alloc();
        if (accepted_) return;
        warn_of_unknown(true); // the next report may be the last one
        SC_REPORT_ERROR("/tlmalloc/cci/config", (name_ + ":" + why).c_str());
    }

    void write_back() {
        const std::vector<described_key> &keys = keys_of(what_);
        for (std::size_t i = 0; i < keys.size(); i++) {
            tla_config_text text;
            tla_config_get(&config_, keys[i].key.c_str(), &text);
            if (parameters_[i].get_value(originator_).text != text.text) parameters_[i].set_value({text.text});
            parameters_[i].lock(this); // with a password: without one any handle could unlock it
        }
    }

    void end_of_elaboration() override {
        warn_of_unknown(false);
        warn_of_late();
    }

    // Warns of presets that came or changed after this was made: CCI keeps them, and nothing reads them.
    void warn_of_late() {
        auto taken = presets_.begin(); // in the order of keys
        for (const described_key &key : keys_of(what_)) {
            const bool was_preset = taken != presets_.end() && taken->name == key.name;
            const std::string before = was_preset ? (taken++)->value : std::string();
            const std::string full = full_name_of(key);
            if (!broker_.has_preset_value(full)) continue;
            const preset_texts now = texts_of(broker_, full, full);
            if (was_preset && now.value == before) continue;
            SC_REPORT_WARNING("/tlmalloc/cci/late",
                              (full + " (preset by " + now.by + "): \"" + now.value + "\" came after " + name_ +
                               " had read its presets, and has no effect; preset it earlier")
                                  .c_str());
        }
    }

    bool is_ignored(const std::string &name) const {
        return std::any_of(ignored_.begin(), ignored_.end(), [&](const std::string &below) {
            return name == below || name.rfind(below + sc_core::SC_HIERARCHY_CHAR, 0) == 0;
        });
    }

    // False: the name may be that of a parameter of another instance below this one, which is made later. Names of this
    // instance begin with one of its sections, and no part after a dot is a key.
    bool is_of_this_instance(const std::string &name) const {
        const std::string section = name.substr(0, name.rfind('.') + 1); // with its dot; "": no section
        const std::vector<described_key> &keys = keys_of(what_);
        if (std::none_of(keys.begin(), keys.end(),
                         [&](const described_key &key) { return key.name.compare(0, section.size(), section) == 0; }))
            return false;
        tla_config_key found;
        for (std::size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1))
            for (const cci_instance what : all_instances)
                if (tla_preset_find_key(section_of(what), name.c_str() + dot + 1, &found)) return false;
        return true;
    }

    // Warns of presets below the instance that no parameter has used; `near_ones`: before an error, and only of those
    // that are certainly misspelt.
    void warn_of_unknown(bool near_ones) {
        const std::string below = name_ + sc_core::SC_HIERARCHY_CHAR;
        for (const ::cci::cci_name_value_pair &preset : broker_.get_unconsumed_preset_values()) {
            if (preset.first.rfind(below, 0) != 0) continue;
            const std::string name = preset.first.substr(below.size());
            tla_config_text nearest;
            const bool warned = std::find(warned_.begin(), warned_.end(), name) != warned_.end();
            if (warned || is_ignored(name)) continue;
            if (near_ones && (!is_of_this_instance(name) || !tla_preset_suggest(section_, name.c_str(), &nearest)))
                continue;
            warned_.push_back(name);
            const preset_texts texts = texts_of(broker_, preset.first, name);
            const tla_preset one = texts.preset();
            SC_REPORT_WARNING("/tlmalloc/cci/unknown", tla_preset_unknown(name_.c_str(), section_, &one).text);
        }
    }

    const ::cci::cci_originator originator_;
    const ::cci::cci_broker_handle broker_;
    std::deque<::cci::cci_param<cci_text>> parameters_; // in the order of keys_of(what_)
    std::vector<preset_texts> presets_;                 // those that were there, in the same order
    std::vector<std::string> warned_;
};

cci_settings::cci_settings(const std::string &name, cci_instance what)
    : implementation_(std::make_unique<implementation>(full_name(name), what)) {}

cci_settings::~cci_settings() = default;

const tla_config &cci_settings::config() const {
    return implementation_->config_;
}

bool cci_settings::accepted() const {
    return implementation_->accepted_;
}

const std::string &cci_settings::name() const {
    return implementation_->name_;
}

std::vector<std::string> cci_settings::parameters() const {
    return implementation_->parameters();
}

void cci_settings::ignore(const std::string &below) {
    implementation_->ignored_.push_back(below);
}

std::size_t report_unused_cci_presets() {
    const ::cci::cci_broker_handle broker = broker_of_this_place("tlmalloc");
    const std::vector<::cci::cci_name_value_pair> unused = broker.get_unconsumed_preset_values();
    if (unused.empty()) return 0;
    std::vector<std::string> names;
    for (const ::cci::cci_param_untyped_handle &parameter : broker.get_param_handles())
        names.emplace_back(parameter.name());
    std::vector<const char *> texts;
    for (const std::string &name : names)
        texts.push_back(name.c_str());
    for (const ::cci::cci_name_value_pair &preset : unused) {
        const preset_texts said = texts_of(broker, preset.first, preset.first);
        const tla_preset one = said.preset();
        SC_REPORT_WARNING("/tlmalloc/cci/unused", tla_preset_unused(&one, texts.data(), texts.size()).text);
    }
    return unused.size();
}

} // namespace tlmalloc
