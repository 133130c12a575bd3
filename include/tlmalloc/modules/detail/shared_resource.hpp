// Which of several resources acts first of what happens at one time.
#ifndef TLMALLOC_MODULES_DETAIL_SHARED_RESOURCE_HPP
#define TLMALLOC_MODULES_DETAIL_SHARED_RESOURCE_HPP

#include "tlmalloc/modules/detail/time_queue.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tlmalloc {

// A resource, or several side by side, that accept requests in the order of time. What they are and how they are called
// decides between those of one time, and not when they were made.
class shared_resource {
  public:
    // In the order in which they act.
    enum class kind { memory, controller, translation, dma, gate, fabric, messages, foreign_target };

    // `name`: of the module, or of a part of it with a name of its own. Resources of one kind and name are the module's
    // own, and act in the order in which it makes them.
    shared_resource(kind what, std::string name, std::uint32_t count = 1);
    ~shared_resource();
    shared_resource(const shared_resource &) = delete;
    shared_resource &operator=(const shared_resource &) = delete;

    // The number of the first in the event queue; the others follow it. When one is asked for its number, all that were
    // made by then get theirs: first when all modules are there, which is when something happens. What is made later
    // comes behind.
    std::uint32_t number() const {
        if (number_ == 0) give_numbers();
        return number_;
    }

    // The resource `which` lies on this island (time_queue.hpp) instead of the one that was being built when it was
    // made; before it has a number.
    void put_on_island(std::uint32_t which, std::uint32_t island) { elsewhere_.emplace_back(which, island); }

  private:
    void give_numbers() const;

    time_queue &queue_;
    const kind kind_;
    const std::string name_;
    const std::uint32_t count_, island_;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> elsewhere_; // which ones, and their islands
    std::uint32_t number_ = 0;                                       // 0: none yet
};

} // namespace tlmalloc
#endif
