// What a kernel has begun on its PE and not waited for.
#ifndef TLMALLOC_MODEL_MODULES_KERNEL_OPERATION_HPP
#define TLMALLOC_MODEL_MODULES_KERNEL_OPERATION_HPP

#include "tlmalloc/modules/processing_element.hpp"
#include "transfer_queue.hpp"

#include <vector>

namespace tlmalloc {

struct processing_element::operation {
    struct range { // of the TCM
        std::uint64_t first, bytes;
    };

    operation(const char *begun_by, std::vector<range> tiles) : call(begun_by), uses(std::move(tiles)) {}
    virtual ~operation() = default;
    operation(const operation &) = delete;
    operation &operator=(const operation &) = delete;

    // Waits until it is done, which is at end_ps; the element's problem tells of what went wrong.
    virtual tla_status finish(processing_element &element, std::uint64_t &end_ps) = 0;

    const char *const call;        // that has begun it
    const std::vector<range> uses; // tiles that must stay until it was waited for
};

} // namespace tlmalloc
#endif
