// The component `tlmalloc_memory` for QBox (README.md): a memory controller and its slice. Every key is a CCI
// parameter.
#include "bus_memory.hpp"

#include "tlmalloc/cci/cci_settings.hpp"
#include "tlmalloc/config/keys.h"
#include "tlmalloc/modules/npu.hpp"

#include <cci_configuration>
#include <module_factory_registery.h>
#include <string>

namespace {

// The place on the bus, which QBox's router reads too. It decides some keys: they are preset here. Constructed inside
// the module, whose name is the prefix of all parameters.
class place_on_bus {
  public:
    place_on_bus() {
        // By default QBox's router subtracts the address of a target; ALLOC would not return bus addresses.
        const std::string relative = name_ + "target_socket.relative_addresses";
        if (!broker_.has_preset_value(relative)) broker_.set_preset_cci_value(relative, cci::cci_value(false));
        const auto first = value<std::uint64_t>("target_socket.address", "an address");
        const std::uint64_t bytes = size();
        const auto is_relative = value<bool>("target_socket.relative_addresses", "true or false");
        preset("addresses", "plain");
        preset("hbm.base", std::to_string(is_relative ? 0 : first) + " B");
        preset("hbm.capacity", std::to_string(bytes) + " B");
        preset("tcm.present", "false");
    }

  private:
    static void error(const std::string &text) { SC_REPORT_ERROR("/tlmalloc/qbox/config", text.c_str()); }

    void refuse(const char *below, const std::string &expected) {
        const cci::cci_value found = broker_.get_preset_cci_value(name_ + below);
        error(name_ + below + ": found " + found.to_json() + ", expected " + expected);
    }
    template <typename Value>
    Value value(const char *below, const std::string &expected) {
        Value found{};
        if (!broker_.get_preset_cci_value(name_ + below).try_get(found)) refuse(below, expected);
        return found;
    }
    std::uint64_t size() {
        tla_config_key capacity;
        tla_config_find_key(TLA_KEYS_OF_MODULE, "hbm.capacity", &capacity);
        const std::string expected = std::string(capacity.range.text) + ", in bytes";
        const auto found = value<std::uint64_t>("target_socket.size", expected);
        if (found < capacity.least || found > capacity.most) refuse("target_socket.size", expected);
        return found;
    }
    void preset(const char *key, const std::string &text) {
        if (broker_.has_preset_value(name_ + key))
            error(name_ + key + ": target_socket decides this key; remove the preset");
        broker_.set_preset_cci_value(name_ + key, cci::cci_value(text));
    }

    const std::string name_ = std::string(sc_core::sc_get_current_object()->name()) + ".";
    cci::cci_broker_handle broker_ = cci::cci_get_broker();
};

struct qbox_settings {
    const place_on_bus place;
    tlmalloc::cci_settings keys{"", tlmalloc::cci_instance::memory_controller};
    const tlmalloc::memory_controller::config controller{tlmalloc::controller_config(keys.config(), {})};
    const tlmalloc::hbm_slice::config slice{tlmalloc::slice_config(keys.config(), {})};

    qbox_settings() {
        for (const char *of_qbox : {"moduletype", "args", "dylib_path", "dont_construct", "construction_priority",
                                    "log_level", "target_socket", "control_socket"})
            keys.ignore(of_qbox);
    }
};

} // namespace

struct tlmalloc_memory : bus_memory<qbox_settings> {
    explicit tlmalloc_memory(const sc_core::sc_module_name &name) : bus_memory(name) {}
};

// QBox's factory looks for this name in the library.
extern "C" void module_register();
void module_register() {
    GSC_MODULE_REGISTER_C(tlmalloc_memory);
}
