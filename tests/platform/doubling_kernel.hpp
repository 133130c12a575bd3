// A kernel for tests of what kernels do.
#ifndef TLMALLOC_TESTS_PLATFORM_DOUBLING_KERNEL_HPP
#define TLMALLOC_TESTS_PLATFORM_DOUBLING_KERNEL_HPP

#include <string>

// A kernel that doubles x into y, with something in its way.
inline std::string doubling(const std::string &before, const std::string &inside, const std::string &tensors = "") {
    return "#include \"tlmalloc/kernel.h\"\n"
           "#include <stdlib.h>\n" +
           before +
           "\nstatic tla_status run(tl_context *tl) {\n"
           "    uint64_t part = tl_argument(tl, 2) / tl_num_programs(tl, TL_ALL), offset = part * tl_program_id(tl, "
           "TL_ALL) * 4;\n"
           "    tl_tile tile;\n"
           "    tla_status status = tl_alloc(tl, 1, (uint32_t)part, TL_F32, &tile);\n"
           "    if (status) return status;\n"
           "    status = tl_load(tl, &tile, (tla_vaddr){tl_argument(tl, 0) + offset}, part * 4);\n" +
           inside +
           "\n    if (!status) status = tl_add(tl, &tile, &tile, &tile);\n"
           "    if (!status) status = tl_store(tl, (tla_vaddr){tl_argument(tl, 1) + offset}, part * 4, &tile);\n"
           "    return tl_free_tiles(tl, &tile, 1, status);\n"
           "}\n"
           "static tla_status check(const tl_workload *workload, const void *const *tensors, tla_error *error) {\n"
           "    (void)workload;\n"
           "    for (uint64_t i = 0; i < 64; i++) {\n"
           "        double x = tl_element(tensors[0], TL_F32, i), y = tl_element(tensors[1], TL_F32, i);\n"
           "        if (y != 2 * x) return tl_wrong(error, \"y[%d] is %g\", (int)i, y);\n"
           "    }\n"
           "    return TLA_OK;\n"
           "}\n"
           "TL_KERNEL(.name = \"doubling\", .run = run, .tensors = {" +
           (tensors.empty() ? "{.name = \"x\", .dtype = TL_F32, .shape = {8, 8}}, "
                              "{.name = \"y\", .dtype = TL_F32, .shape = {8, 8}, .use = TL_OUT}"
                            : tensors) +
           "},\n"
           "          .arguments = {TL_ADDRESS_OF(0), TL_ADDRESS_OF(1), TL_ELEMENTS_OF(0)}, .check = check);\n";
}

#endif
