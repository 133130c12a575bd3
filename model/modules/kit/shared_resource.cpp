// Resources receive their numbers by their kinds and names.
#include "tlmalloc/modules/detail/time_queue.hpp"

#include <algorithm>
#include <tuple>

namespace tlmalloc {

shared_resource::shared_resource(kind what, std::string name, std::uint32_t count)
    : queue_(time_queue::of_simulation()), kind_(what), name_(std::move(name)), count_(count),
      island_(time_queue::island_being_built()) {
    queue_.without_number_.push_back(this);
}

shared_resource::~shared_resource() {
    auto &others = queue_.without_number_;
    if (number_ == 0) others.erase(std::find(others.begin(), others.end(), this));
}

void shared_resource::give_numbers() const {
    auto &all = queue_.without_number_;
    std::stable_sort(all.begin(), all.end(), [](const shared_resource *a, const shared_resource *b) {
        return std::tie(a->kind_, a->name_) < std::tie(b->kind_, b->name_);
    });
    for (shared_resource *resource : all) {
        resource->number_ = queue_.next_number_;
        queue_.next_number_ += resource->count_;
        for (std::uint32_t i = 0; resource->island_ && i < resource->count_; i++)
            queue_.put_on_island(resource->number_ + i, resource->island_);
        for (const auto &[which, island] : resource->elsewhere_)
            queue_.put_on_island(resource->number_ + which, island);
    }
    all.clear();
}

} // namespace tlmalloc
