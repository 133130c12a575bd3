// Finds the installed files by the program's own place, so that an installation can be moved.
#ifndef TLMALLOC_PLATFORM_CLI_INSTALLED_HPP
#define TLMALLOC_PLATFORM_CLI_INSTALLED_HPP

#include <filesystem>
#include <string>

namespace tlmalloc {

// The path of something that lies at `from_program`, a path from the folder of the program; the build tree looks like
// an installation.
inline std::string installed(const std::filesystem::path &from_program) {
    std::error_code problem;
    const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", problem);
    return (program.parent_path() / from_program).lexically_normal().string();
}

} // namespace tlmalloc
#endif
