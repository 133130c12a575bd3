// A composite on its way through the engines of a PE: its operands, and the values in registers.
#ifndef TLMALLOC_MODULES_PE_COMPOSITE_HPP
#define TLMALLOC_MODULES_PE_COMPOSITE_HPP

#include "kernel/tile_schedule.h"
#include "kernel_operation.hpp"

#include <map>
#include <vector>

namespace tlmalloc {

struct processing_element::composite final : operation {
    using bytes = std::vector<std::uint8_t>;

    // The values that a step has fetched; with the last step of an output tile, also the tile's terms.
    struct registers {
        bytes a, b;
        std::vector<bytes> terms;
    };

    composite(const tl_composition &composition, const tla_tiling &tiles);

    tla_status finish(processing_element &element, std::uint64_t &end_ps) override;
    tla_status give_back(processing_element &element) override { return element.free_buffers(*this); }

    // A stage that an engine has done, where an account is kept; of DMA with where its time went.
    struct done_stage {
        tla_time_kind kind;
        std::uint64_t begin_ps, end_ps;
        std::vector<tla_time_part> parts;
    };
    void tell_parts(std::uint64_t begin_ps, std::uint64_t end_ps, std::vector<tla_time_part> &parts);

    bool product() const { return what.kind == TL_GEMM; }

    // Parts of the matrices, for a step of the tiling: a tensor of rank 2 in memory, a tile in the TCM.
    static tl_tensor part_of(const tl_tensor &matrix, std::uint32_t row, std::uint32_t column, std::uint32_t rows,
                             std::uint32_t columns);
    static tl_tile part_of(const tl_tile &tile, std::uint32_t row, std::uint32_t column, std::uint32_t rows,
                           std::uint32_t columns);
    // Returns the part of a term for these rows and columns; a term may stand for all rows or all columns.
    static tl_tile term_of(const tl_tile &tile, const tla_tile_step &step);

    struct place { // of a tile of an operand or of the result
        std::uint32_t row, column, rows, columns;
    };
    place place_of_a(const tla_tile_step &step) const;
    place place_of_b(const tla_tile_step &step) const;
    static place place_of_out(const tla_tile_step &step) { return {step.row, step.column, step.rows, step.columns}; }

    // The tile in the TCM through which a part comes or goes: a part of a pinned tile, or the buffer of its index.
    tl_tile local(const tl_operand &operand, const std::vector<tl_tile> &buffers, const place &where,
                  std::uint64_t index) const;

    const tl_composition what;
    const tla_tiling tiling;
    std::vector<tl_tile> buffers_a, buffers_b, buffers_out; // blocks of bytes, one tile each
    std::uint64_t number = 0;                               // in the schedule
    std::map<std::uint64_t, registers> fetched;             // by the step
    std::map<std::uint64_t, bytes> values;                  // f32, by the output tile
    std::vector<done_stage> stages;
    tla_status status = TLA_OK;     // of the first thing that went wrong
    bool failed_on_the_way = false; // by DMA, this way and there
    pe_dma::direction failed_way = pe_dma::direction::read;
    tla_vaddr failed_va{};
    std::uint64_t failed_end = 0;
};

} // namespace tlmalloc
#endif
