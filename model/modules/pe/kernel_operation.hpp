// An operation that a kernel has begun on its PE and not waited for.
#ifndef TLMALLOC_MODULES_PE_KERNEL_OPERATION_HPP
#define TLMALLOC_MODULES_PE_KERNEL_OPERATION_HPP

#include "tlmalloc/modules/processing_element.hpp"
#include "transfer_queue.hpp"

#include <vector>

namespace tlmalloc {

// A tile that an operation reads, or writes.
struct tile_use {
    tl_tile tile;
    bool written;
};

struct processing_element::operation {
    operation(const char *begun_by, std::vector<tile_use> tiles) : call(begun_by), uses(std::move(tiles)) {}
    virtual ~operation() = default;
    operation(const operation &) = delete;
    operation &operator=(const operation &) = delete;

    // Waits until the operation is done, at end_ps; the element's `problem` has the cause of a failure.
    virtual tla_status finish(processing_element &element, std::uint64_t &end_ps) = 0;

    // Called afterwards, in the kernel's thread and on its time: releases the memory that the operation has allocated.
    virtual tla_status give_back(processing_element &) { return TLA_OK; }

    // Whether it is a message that is waited for, and not a transfer.
    virtual bool is_message() const { return false; }

    const char *const call;           // that has begun it
    const void *engine = nullptr;     // whose later operations may use its tiles before it was waited for
    const std::vector<tile_use> uses; // tiles that must stay until it was waited for
};

} // namespace tlmalloc
#endif
