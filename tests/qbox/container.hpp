// A container by QBox's conventions: presets of CCI name the modules below it, their types, and the sockets to bind.
#ifndef TLMALLOC_TESTS_QBOX_CONTAINER_HPP
#define TLMALLOC_TESTS_QBOX_CONTAINER_HPP

#include <cci_configuration>
#include <memory>
#include <string>
#include <systemc>
#include <vector>

namespace qbox {

// Sets the presets of a file in Lua, and then those of `arguments`, NAME=VALUE each, as QBox's options `--gs_luafile`
// and `-p` do. Throws std::runtime_error for a file that cannot be read or run.
void preset(cci::cci_broker_handle broker, const std::string &lua_file, const std::vector<std::string> &arguments = {});

// Constructs a module NAME of the type in the preset NAME.moduletype for every such preset directly below its own name.
// A type that is not registered is that of the library MODULETYPE.so, whose module_register() registers it; dlopen
// searches LD_LIBRARY_PATH. Then it binds the sockets: a preset MODULE.SOCKET.bind "&OTHER.SOCKET" names the other
// socket. The types `router` and `random_initiator` are always registered.
//
// Errors are reports of SystemC under "container"; an exception of a constructor becomes such a report.
class container : public sc_core::sc_module {
  public:
    explicit container(const sc_core::sc_module_name &name);

    // The module of this name, with the type it has; null where none is.
    template <typename Module>
    Module *find(const std::string &child) const {
        return dynamic_cast<Module *>(sc_core::sc_find_object((std::string(name()) + "." + child).c_str()));
    }

  private:
    std::unique_ptr<sc_core::sc_module> construct(const std::string &type, const std::string &child);
    void bind_sockets(const std::string &child);

    cci::cci_broker_handle broker_;
    std::vector<std::unique_ptr<sc_core::sc_module>> modules_;
};

} // namespace qbox
#endif
