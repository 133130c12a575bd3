// What this build of the program has.
#ifndef TLMALLOC_PLATFORM_MAIN_COMPONENTS_HPP
#define TLMALLOC_PLATFORM_MAIN_COMPONENTS_HPP

// Tells the others of the commands that there are, and of the components that this build has: who reads recordings, and
// what experiments can simulate. Before anything else.
void add_components();

#endif
