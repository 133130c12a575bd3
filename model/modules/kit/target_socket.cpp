// The answer of a target that grants no pointers.
#include "tlmalloc/modules/target_socket.hpp"

#include "dmi.hpp"

namespace tlmalloc {

bool untimed_target::grant_dmi(unsigned, tlm::tlm_generic_payload &, tlm::tlm_dmi &dmi) {
    return refuse_dmi(dmi);
}

} // namespace tlmalloc
