/* In the place of QBox's header of this name: a module registers its constructor by the name of its type. */
#ifndef TLMALLOC_TESTS_QBOX_MODULE_FACTORY_REGISTERY_H
#define TLMALLOC_TESTS_QBOX_MODULE_FACTORY_REGISTERY_H

#include <functional>
#include <string>
#include <systemc>

namespace qbox {

using constructor = std::function<sc_core::sc_module *(const sc_core::sc_module_name &)>;

/* Defined in the program, which exports it to the libraries that it loads. */
void register_module(const std::string &type, constructor constructs);

template <typename Module>
sc_core::sc_module *construct(const sc_core::sc_module_name &name) {
    return new Module(name);
}

} // namespace qbox

#define GSC_MODULE_REGISTER_C(type) qbox::register_module(#type, qbox::construct<type>)

#endif
