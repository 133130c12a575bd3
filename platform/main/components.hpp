// The components of this build of the program.
#ifndef TLMALLOC_PLATFORM_MAIN_COMPONENTS_HPP
#define TLMALLOC_PLATFORM_MAIN_COMPONENTS_HPP

// Registers the commands and the components of this build: the readers of recordings, and the workloads of experiments.
// Call it first.
void add_components();

#endif
