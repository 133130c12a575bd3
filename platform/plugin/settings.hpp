// The text that a host configures a controller with.
#ifndef TLMALLOC_PLATFORM_PLUGIN_SETTINGS_HPP
#define TLMALLOC_PLATFORM_PLUGIN_SETTINGS_HPP

#include "tlmalloc/modules/hbm_slice.hpp"
#include "tlmalloc/modules/memory_controller.hpp"
#include "tlmalloc/modules/tcm.hpp"

#include <string>

namespace tlmalloc {

struct plugin_settings {
    memory_controller::config controller;
    hbm_slice::config slice;
    tcm::config local;
    bool has_tcm = true;
};

// Reads the text (tlm_c.h). Returns "" or the error: key, found value, expected value.
std::string read_settings(const std::string &text, plugin_settings &settings);

} // namespace tlmalloc
#endif
