// Plans of the runtime: one tensor holds a plan in all slices, and the plan's tensors are views of it.
#include "tlmalloc/modules/runtime.hpp"

namespace tlmalloc {

namespace {

tla_status check_plan(const std::string &name, std::uint64_t height, const std::vector<planned_tensor> &tensors,
                      const runtime::sharding &where, tla_error *error) {
    if (height == 0 || tensors.empty() || where.kind != spread::split)
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "plan %s: %llu bytes with %zu tensors%s: both must be at least 1, split over PEs",
                             name.c_str(), static_cast<unsigned long long>(height), tensors.size(),
                             where.kind == spread::split ? "" : ", not split");
    for (const planned_tensor &t : tensors) {
        if (t.nbytes == 0)
            return tla_error_set(error, TLA_INVALID_ARGUMENT, "plan %s: tensor %s: size must be at least 1 byte",
                                 name.c_str(), t.name.c_str());
        if (t.nbytes > height || t.offset > height - t.nbytes)
            return tla_error_set(error, TLA_OUT_OF_RANGE,
                                 "plan %s: tensor %s of %llu bytes at %llu: must end at %llu or before", name.c_str(),
                                 t.name.c_str(), static_cast<unsigned long long>(t.nbytes),
                                 static_cast<unsigned long long>(t.offset), static_cast<unsigned long long>(height));
    }
    std::uint64_t nbytes = 0;
    if (__builtin_mul_overflow(height, std::uint64_t{where.pes.size()}, &nbytes))
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "plan %s: %zu times %llu bytes: must be less than 2^64 in total", name.c_str(),
                             where.pes.size(), static_cast<unsigned long long>(height));
    return TLA_OK;
}

tensor view_of(const tensor &arena, const planned_tensor &planned) {
    tensor view = arena;
    view.name = planned.name;
    view.va = {arena.va.value + planned.offset};
    view.nbytes = planned.nbytes * arena.shards.size();
    view.alloc_ps = view.map_ps = 0;
    for (std::size_t i = 0; i < view.shards.size(); i++) {
        shard &part = view.shards[i];
        part.pa.value += planned.offset;
        part.nbytes = planned.nbytes;
        part.offset = i * planned.nbytes;
    }
    return view;
}

} // namespace

tla_status runtime::deploy(const std::string &name, std::uint64_t height, const std::vector<planned_tensor> &tensors,
                           const sharding &where, deployment *made, tla_error *error) {
    *made = {};
    if (const tla_status status = check_plan(name, height, tensors, where, error)) return status;
    tensor *arena = nullptr;
    sharding fixed = where;
    fixed.fixed = true; // the views have its physical addresses
    if (const tla_status status = create_tensor(name, height * where.pes.size(), 1, fixed, &arena, error))
        return status;
    made->arena = arena;
    made->height = height;
    for (const planned_tensor &planned : tensors)
        made->tensors.push_back(view_of(*arena, planned));
    return TLA_OK;
}

} // namespace tlmalloc
