// Comes first in every file of the preset `checked', where containers check their iterators: SystemC's library was
// compiled without that, so vectors in its headers stay as they are there.
#include <vector>
#define vector __cxx1998::vector
#include <systemc>
#include <tlm>
#undef vector
