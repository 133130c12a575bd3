// Transfers of a PE to and from its own slice affect no other module unless a caller arrives. With these classes the
// queue executes them apart from the rest (islands, time_queue.hpp). This saves host time and changes no figure.
#ifndef TLMALLOC_MODULES_PE_INLAND_TRANSFERS_HPP
#define TLMALLOC_MODULES_PE_INLAND_TRANSFERS_HPP

#include "tlmalloc/modules/npu.hpp"

namespace tlmalloc {

// While it lives, the modules of a PE are constructed on an island of their own, if that can ever be left.
class inland_site {
  public:
    explicit inland_site(const tla_config &config);
    ~inland_site();
    inland_site(const inland_site &) = delete;
    inland_site &operator=(const inland_site &) = delete;

  private:
    const bool made_;
};

// Tells DMA engines which of their transfers stay on their island; those of PEs that share a node on the way to their
// slices have none. When everything is bound.
void tell_inland_transfers(const tla_config &config, interconnect &fabric, const std::vector<pe_unit *> &pes);

} // namespace tlmalloc
#endif
