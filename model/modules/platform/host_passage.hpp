// One transfer of a tensor by the host, which waits while a block of the tensor is paused (pauses.h).
#ifndef TLMALLOC_MODULES_PLATFORM_HOST_PASSAGE_HPP
#define TLMALLOC_MODULES_PLATFORM_HOST_PASSAGE_HPP

#include "tlmalloc/modules/host.hpp"

namespace tlmalloc {

class host::passage {
  public:
    passage(host &of, const tensor &t, bool write); // waits, until it may begin or a reset begins
    ~passage();
    passage(const passage &) = delete;
    passage &operator=(const passage &) = delete;

    void enter() { entered_ = true; }

  private:
    host &of_;
    tla_passage passage_{};
    bool entered_ = false;
};

} // namespace tlmalloc
#endif
