// On whose behalf a thread calls.
#include "tlmalloc/modules/detail/in_order.hpp"

#include <map>

namespace tlmalloc {

namespace {

struct actor {
    time_queue::caller who;
    const tlm::tlm_generic_payload *payload;
};

std::map<sc_core::sc_process_handle, actor> &actors() {
    static auto *const all = new std::map<sc_core::sc_process_handle, actor>; // threads may end after static objects
    return *all;
}

const actor *current_actor() {
    const auto found = actors().find(sc_core::sc_get_current_process_handle());
    return found == actors().end() ? nullptr : &found->second;
}

} // namespace

acting_for::acting_for(time_queue::caller who, const tlm::tlm_generic_payload *payload)
    : thread_(sc_core::sc_get_current_process_handle()) {
    actors()[thread_] = {std::move(who), payload};
    threads_ = actors().size();
}

acting_for::~acting_for() {
    actors().erase(thread_);
    threads_ = actors().size();
}

time_queue::caller acting_for::current_caller() {
    const actor *const found = current_actor();
    return found ? found->who : time_queue::caller{sc_core::sc_get_current_process_handle().name(), 0};
}

const requester *acting_for::requester_of_current() {
    const actor *const found = current_actor();
    return found && found->payload ? found->payload->get_extension<requester>() : nullptr;
}

} // namespace tlmalloc
