// Makers of engines for a memory controller's free lists.
#ifndef TLMALLOC_MODULES_ENGINE_MAKER_HPP
#define TLMALLOC_MODULES_ENGINE_MAKER_HPP

#include "tlmalloc/config/parameters.h"
#include "tlmalloc/memory/controller.h"

#include <cstdint>
#include <functional>

namespace tlmalloc {

// Like tla_engine_maker: makes the engine of parameters.engine. The function make_engine makes the engines that this
// library was built with. For other engines it returns TLA_UNSUPPORTED with a text.
using engine_maker = std::function<tla_status(const tla_controller_parameters &parameters, tla_policy placement,
                                              std::uint64_t units, tla_engine *engine, tla_error *error)>;
tla_status make_engine(const tla_controller_parameters &parameters, tla_policy placement, std::uint64_t units,
                       tla_engine *engine, tla_error *error);

} // namespace tlmalloc
#endif
