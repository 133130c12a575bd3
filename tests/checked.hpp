// Comes first in every file of the preset `checked' that may include SystemC, where containers check their iterators:
// SystemC's library was compiled without that, so vectors in its headers stay as they are there. What these include of
// the standard library is included before. Engines of Verilator's in C++ (VM_SC=0) must not see SystemC.
#if !defined(VM_SC) || VM_SC
#include <algorithm>
#include <deque>
#include <fstream>
#include <functional>
#include <iostream>
#include <list>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <typeindex>
#include <typeinfo>
#include <vector>
#ifndef SC_INCLUDE_DYNAMIC_PROCESSES // of those headers too, which else come later
#define SC_INCLUDE_DYNAMIC_PROCESSES
#define TLMALLOC_FORGETS_DYNAMIC_PROCESSES
#endif
#define vector __cxx1998::vector
#include <systemc>
#include <tlm>
#if defined(VM_SC)
#include <systemc.h>
#endif
#undef vector
#ifdef TLMALLOC_FORGETS_DYNAMIC_PROCESSES
#undef SC_INCLUDE_DYNAMIC_PROCESSES
#endif
#endif
