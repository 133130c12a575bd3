// A container of modules by QBox's conventions.
#include "container.hpp"

#include "lua_file.hpp"
#include "random_initiator.hpp"
#include "router.hpp"

#include <dlfcn.h>
#include <map>
#include <module_factory_registery.h>
#include <set>

namespace {

std::map<std::string, qbox::constructor> &registered() {
    static std::map<std::string, qbox::constructor> types;
    return types;
}

void error(const std::string &text) {
    SC_REPORT_ERROR("container", text.c_str());
}

// The value of a parameter, or of a preset that is not the value of a parameter yet; null where neither is.
cci::cci_value value_of(cci::cci_broker_handle &broker, const std::string &name) {
    const cci::cci_param_handle parameter = broker.get_param_handle(name);
    return parameter.is_valid() ? parameter.get_cci_value() : broker.get_preset_cci_value(name);
}

qbox::router::place read_place(cci::cci_broker_handle &broker, const std::string &socket) {
    qbox::router::place place;
    if (!value_of(broker, socket + ".address").try_get(place.address) ||
        !value_of(broker, socket + ".size").try_get(place.size))
        error(socket + ": no address or no size");
    value_of(broker, socket + ".relative_addresses").try_get(place.relative);
    return place;
}

struct router : qbox::router {
    explicit router(const sc_core::sc_module_name &name)
        : qbox::router(name, [broker = cci::cci_get_broker()](const std::string &socket) mutable {
              return read_place(broker, socket);
          }) {}
};

using qbox::random_initiator;

void register_own_types() {
    GSC_MODULE_REGISTER_C(router);
    GSC_MODULE_REGISTER_C(random_initiator);
}

bool bind(sc_core::sc_object *from, sc_core::sc_object *to) {
    auto *const initiator = dynamic_cast<tlm::tlm_base_initiator_socket<32> *>(from);
    auto *const initiators = dynamic_cast<tlm_utils::multi_init_base<32> *>(from);
    auto *const target = dynamic_cast<tlm::tlm_base_target_socket<32> *>(to);
    auto *const targets = dynamic_cast<tlm_utils::multi_target_base<32> *>(to);
    if (initiators && target)
        initiators->bind(*target);
    else if (initiators && targets)
        initiators->bind(*targets);
    else if (initiator && target)
        initiator->bind(*target);
    else if (initiator && targets)
        initiator->bind(*targets);
    else
        return false;
    return true;
}

} // namespace

void qbox::register_module(const std::string &type, constructor constructs) {
    registered()[type] = std::move(constructs);
}

void qbox::preset(cci::cci_broker_handle broker, const std::string &lua_file,
                  const std::vector<std::string> &arguments) {
    for (const auto &[name, value] : read_lua_file(lua_file))
        std::visit([&, name = name](const auto &v) { broker.set_preset_cci_value(name, cci::cci_value(v)); }, value);
    for (const std::string &argument : arguments) {
        const std::size_t at = argument.find('=');
        const std::string value = argument.substr(at + 1);
        broker.set_preset_cci_value(argument.substr(0, at),
                                    is_json(value) ? cci::cci_value::from_json(value) : cci::cci_value(value));
    }
}

qbox::container::container(const sc_core::sc_module_name &name) : sc_module(name), broker_(cci::cci_get_broker()) {
    register_own_types();
    const std::string prefix = std::string(this->name()) + ".", suffix = ".moduletype";
    std::map<std::string, std::string> types; // by the names of the children
    for (const auto &[preset, value] : broker_.get_unconsumed_preset_values()) {
        if (preset.compare(0, prefix.size(), prefix) != 0) continue;
        const std::size_t end = preset.find('.', prefix.size());
        if (end != std::string::npos && preset.substr(end) == suffix)
            types[preset.substr(prefix.size(), end - prefix.size())] = value.get_string();
    }
    for (const auto &[child, type] : types)
        modules_.push_back(construct(type, child));
    for (const auto &[child, type] : types)
        bind_sockets(child);
}

std::unique_ptr<sc_core::sc_module> qbox::container::construct(const std::string &type, const std::string &child) {
    if (!registered().count(type)) {
        void *const library = dlopen((type + ".so").c_str(), RTLD_NOW);
        if (!library) error(type + ": " + dlerror());
        void *const registers = library ? dlsym(library, "module_register") : nullptr;
        if (!registers)
            error(type + ".so has no function module_register: is it extern \"C\"?");
        else
            reinterpret_cast<void (*)()>(registers)();
    }
    if (!registered().count(type)) error(type + ".so registers no type of this name");
    try {
        return std::unique_ptr<sc_core::sc_module>(registered().at(type)(child.c_str()));
    } catch (...) { // after the reports of the constructor this one is misleading, as QBox's is
        error("the arguments do not match the constructor of module " + child);
        throw;
    }
}

void qbox::container::bind_sockets(const std::string &child) {
    const std::string prefix = std::string(name()) + "." + child + ".", suffix = ".bind";
    for (const auto &[preset, value] : broker_.get_unconsumed_preset_values()) {
        if (preset.compare(0, prefix.size(), prefix) != 0 || preset.size() <= prefix.size() + suffix.size() ||
            preset.substr(preset.size() - suffix.size()) != suffix)
            continue;
        const std::string socket = preset.substr(0, preset.size() - suffix.size());
        const std::string other =
            std::string(name()) + "." + std::string(value.get_string()).substr(1); // without the &
        sc_core::sc_object *const ends[] = {sc_core::sc_find_object(other.c_str()),
                                            sc_core::sc_find_object(socket.c_str())};
        if (!ends[0] || !ends[1]) error("no socket " + (ends[0] ? socket : other));
        if (!bind(ends[0], ends[1]) && !bind(ends[1], ends[0])) error("cannot bind " + socket + " to " + other);
    }
}
