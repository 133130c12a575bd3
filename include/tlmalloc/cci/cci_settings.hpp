// Every key of a configuration as a CCI parameter of an instance (component cci). It includes no header of CCI.
#ifndef TLMALLOC_CCI_CCI_SETTINGS_HPP
#define TLMALLOC_CCI_CCI_SETTINGS_HPP

#include "tlmalloc/config.h"
#include "tlmalloc/modules/systemc.hpp"

#include <memory>
#include <string>
#include <vector>

namespace tlmalloc {

// The kinds of instances. A single module drops its own section from the names of its parameters, and has the keys
// hbm.capacity and tcm.present (config/keys.h).
enum class cci_instance {
    npu,               // a platform: npu.controller.hbm_policy
    memory_controller, // controller.hbm_policy, controller.hbm.timing: drops "controller"
    pe_mmu,            // mmu.page_size: drops "mmu"
    hbm_slice,         // slice.capacity: drops "hbm"
    tcm                // tcm.capacity: drops "tcm"
};

// The configuration of an instance from the presets of CCI's broker. Make it before the modules that take its
// configuration, as a member of their parent that is declared before them; it must live as long as they do.
//
// The broker is that of the place where it is made: within the hierarchy cci_get_broker(), with the private brokers of
// parents, outside cci_get_global_broker(). Every key becomes a parameter of type cci::cci_param<cci_text>, with its
// range and meaning as description. A preset may be a text, a whole number or a bool. Only a preset key counts as set.
// Afterwards every parameter has the resolved value, as text, and is locked.
//
// Errors are reported with SC_REPORT_ERROR, warnings with SC_REPORT_WARNING, under these ids:
//
//     /tlmalloc/cci/config   presets that tla_config_load would reject, all in one report. If it does not throw, the
//                            configuration is that of the defaults.
//     /tlmalloc/cci/name     a parameter of this name exists already, or an object has the name of a key. If the
//                            report does not throw, CCI renames the parameters that it can. Presets of the name count
//                            here too.
//     /tlmalloc/cci/late     warning, at the end of elaboration: a preset that came, or changed, after this was made.
//     /tlmalloc/cci/unknown  warning: a preset below the instance that is no key, with the nearest one. It comes at
//                            the end of elaboration, because parameters of others may lie below the instance. It comes
//                            before an error if a key of the same section is near, and no instance below this one
//                            can have the name.
class cci_settings {
  public:
    // `name` is the name of the instance below the module under construction ("controller" in top is top.controller);
    // "" is this module itself. Outside the hierarchy `name` is the whole name, and must not be empty. Names must be
    // unique among parameters and modules. May throw std::bad_alloc.
    explicit cci_settings(const std::string &name, cci_instance what = cci_instance::npu);
    ~cci_settings();
    cci_settings(const cci_settings &) = delete;
    cci_settings &operator=(const cci_settings &) = delete;

    // The resolved configuration: for npu itself, or for slice_config(), controller_config() and tcm_config().
    const tla_config &config() const;
    bool accepted() const; // false: presets were rejected, and the configuration is that of the defaults

    const std::string &name() const; // "top.controller"
    // The full names of its parameters, in the order of keys, as CCI made them.
    std::vector<std::string> parameters() const;

    // No warning comes for presets of this name below the instance, and for those below this name: they belong to other
    // parameters ("target_socket").
    void ignore(const std::string &below);

  private:
    class implementation;
    std::unique_ptr<implementation> implementation_;
};

// Warns (/tlmalloc/cci/unused) of every preset of the broker of this place that no parameter has used, with the nearest
// parameter. Call it when all modules have been made. Returns their number.
std::size_t report_unused_cci_presets();

} // namespace tlmalloc
#endif
