// The component `tlmalloc_memory` for QBox (README.md): a memory controller and its slice. CCI presets place it.
#include "bus_memory.hpp"

#include <cci_configuration>
#include <module_factory_registery.h>
#include <string>

namespace {

// Constructed inside the module, whose name is the prefix of all parameters.
struct cci_settings : bus_memory_settings {
    cci_settings() {
        const std::string socket = std::string(sc_core::sc_get_current_object()->name()) + ".target_socket.";
        // QBox's router subtracts the address of a target by default; ALLOC would not return bus addresses.
        if (!broker_.has_preset_value(socket + "relative_addresses"))
            broker_.set_preset_cci_value(socket + "relative_addresses", cci::cci_value(false));
        const bool relative = broker_.get_preset_cci_value(socket + "relative_addresses").get_bool();
        place(relative ? 0 : number(socket + "address"), number(socket + "size"));
    }

  private:
    std::uint64_t number(const std::string &name) {
        std::uint64_t value = 0;
        if (!broker_.get_preset_cci_value(name).try_get(value))
            SC_REPORT_ERROR("/tlmalloc/qbox/config", (name + ": no number; every target on a router has one").c_str());
        return value;
    }

    cci::cci_broker_handle broker_ = cci::cci_get_broker();
};

} // namespace

struct tlmalloc_memory : bus_memory<cci_settings> {
    explicit tlmalloc_memory(const sc_core::sc_module_name &name) : bus_memory(name) {}
};

// QBox's factory looks for this name in the library.
extern "C" void module_register();
void module_register() {
    GSC_MODULE_REGISTER_C(tlmalloc_memory);
}
