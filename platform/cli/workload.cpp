// One run of a kernel on a platform, in the thread of the host.
#include "cli/workload.hpp"

namespace tlmalloc {

void workload::main() {
    const tla_status status = run();
    tla_error error{};
    if (platform_.host().cleanup(&error) && !status) failure_ = error;
    finished_ = true;
    sc_core::sc_pause();
}

tla_status workload::create_tensors(std::vector<tensor *> &made) {
    tlmalloc::host &host = platform_.host();
    for (std::uint32_t i = 0; i < kernel_.tensor_count; i++) {
        const tl_kernel_tensor &wanted = kernel_.tensors[i];
        const std::uint32_t element = tl_dtype_bytes(wanted.dtype);
        tlmalloc::host::placement where = host.everywhere();
        if (outputs_on_demand_ && wanted.output) where.kind = spread::demand;
        tensor *t = nullptr;
        const std::uint64_t nbytes = kernel_.tensor_bytes(&size_, i);
        if (const tla_status status = host.create_tensor(wanted.name, nbytes / element, element, where, &t, &failure_))
            return status;
        made.push_back(t);
        tensors_.push_back({t->name, t->va, t->nbytes, t->shards.size(), t->alloc_ps, t->map_ps});
    }
    return TLA_OK;
}

tla_status workload::run() {
    host &host = platform_.host();
    std::vector<tensor *> made;
    if (const tla_status status = create_tensors(made)) return status;

    std::vector<std::vector<std::uint8_t>> bytes;
    std::vector<const void *> views;
    std::vector<tla_vaddr> addresses;
    for (std::uint32_t i = 0; i < kernel_.tensor_count; i++) {
        bytes.emplace_back(made[i]->nbytes);
        addresses.push_back(made[i]->va);
        if (kernel_.tensors[i].output) continue;
        kernel_.fill(&size_, i, bytes[i].data());
        if (const tla_status status = host.write_tensor(*made[i], bytes[i].data(), &failure_)) return status;
    }

    std::vector<std::uint64_t> arguments(TL_KERNEL_ARGUMENTS_MAX);
    arguments.resize(kernel_.arguments(&size_, addresses.data(), arguments.data()));
    if (const tla_status status = host.launch(kernel_.number, arguments, &failure_)) return status;

    for (std::uint32_t i = 0; i < kernel_.tensor_count; i++) {
        views.push_back(bytes[i].data());
        if (!kernel_.tensors[i].output) continue;
        if (const tla_status status = host.read_tensor(*made[i], bytes[i].data(), &failure_)) return status;
    }
    computed_ = true;
    if (kernel_.verify) kernel_.verify(&size_, views.data(), &wrong_result_);
    return TLA_OK;
}

std::uint64_t workload::tensor_alloc_ps() const {
    std::uint64_t sum = 0;
    for (const tensor_report &t : tensors_)
        sum += t.alloc_ps;
    return sum;
}

std::uint64_t workload::tensor_map_ps() const {
    std::uint64_t sum = 0;
    for (const tensor_report &t : tensors_)
        sum += t.map_ps;
    return sum;
}

} // namespace tlmalloc
