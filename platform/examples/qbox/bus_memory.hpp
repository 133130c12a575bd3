// A memory controller and its slice as one module on a bus. Its sockets have the names that QBox's containers bind.
#ifndef TLMALLOC_EXAMPLES_QBOX_BUS_MEMORY_HPP
#define TLMALLOC_EXAMPLES_QBOX_BUS_MEMORY_HPP

#include "tlmalloc/modules/hbm_slice.hpp"
#include "tlmalloc/modules/memory_controller.hpp"

// `Settings` has the members `controller` and `slice`, the configurations of a controller and a slice that fit
// together. The constructor makes it inside the module, where its parameters belong.
template <typename Settings>
struct bus_memory : sc_core::sc_module {
    const Settings settings;
    tlm::tlm_target_socket<32> target_socket{"target_socket"}, control_socket{"control_socket"};
    tlmalloc::memory_controller controller{"controller", settings.controller};
    tlmalloc::hbm_slice slice{"slice", settings.slice};

    template <typename... Arguments>
    explicit bus_memory(const sc_core::sc_module_name &name, const Arguments &...of_settings)
        : sc_module(name), settings(of_settings...) {
        target_socket.bind(controller.in);
        control_socket.bind(controller.control);
        controller.slice.bind(slice.in);
    }
};

#endif
