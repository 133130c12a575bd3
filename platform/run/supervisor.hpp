// A process of its own for what runs a user's code, and who looks after it.
#ifndef TLMALLOC_PLATFORM_RUN_SUPERVISOR_HPP
#define TLMALLOC_PLATFORM_RUN_SUPERVISOR_HPP

#include <functional>
#include <string>

namespace tlmalloc {

// A kernel from a file can do anything to its process: end it by exit or _exit, replace it, copy it, close its files,
// block its signals. Therefore `work` runs in a child. This process waits for the child, removes its unfinished
// outputs, and knows whether it has completed. Both processes return: the child with the result of `work`, this one
// with the exit status of the command:
//
// - that of `work`, where the child has finished it;
// - 1, with a message, where the child has ended before, has run past pe.host_limit and cannot be ended from within,
// has
//   copied itself, or has left processes behind, which are ended;
// - a signal that ended the child ends this process, too. Signals that come here are passed on.
//
// Outputs are opened before, so that this process knows them. `what` is the kernel, for messages ("doubling (k.c)").
// Under a debugger, which would have to follow the child, `work` runs in this process, without any of this.
int supervise(const std::string &command, const std::string &what, const std::function<int()> &work);

} // namespace tlmalloc

#endif
