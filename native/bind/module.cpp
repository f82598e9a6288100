// The extension module crfkit._native: one entry point per file.
#include "base/interruption.h"
#include "bind.h"
#include "simd/kernels.h"

namespace {

// Lets Python's signal handlers run. Only its main thread has any, so Ctrl-C ends only what that has started.
void ask_python() {
  const crfkit::Locked locked;
  if (PyErr_CheckSignals() < 0) throw nanobind::python_error();
}

}  // namespace

NB_MODULE(_native, m) {
  m.doc() = "The C++ core of crfkit. Private: its functions change without notice.";
  m.def("isa", [] { return crfkit::kernels().isa; }, "Return the instruction set the hot loops run on.");
  crfkit::set_ask(&ask_python);
  // At exit, caches, tracebacks and threads that still run may hold objects. That is not worth a word to
  // users.
  nanobind::set_leak_warnings(false);
  crfkit::bind_chain(m);
  crfkit::bind_segmentations(m);
  crfkit::bind_graphs(m);
  crfkit::bind_linear(m);
  crfkit::bind_validation(m);
  crfkit::bind_online(m);
  crfkit::bind_optim(m);
  crfkit::bind_mapped(m);
  crfkit::bind_ingest(m);
  crfkit::bind_compact(m);
  crfkit::bind_columns(m);
  crfkit::bind_program(m);
  crfkit::bind_item_text(m);
  crfkit::bind_foreign(m);
  crfkit::bind_mining(m);
  crfkit::bind_selection(m);
  crfkit::bind_trees(m);
  crfkit::bind_tagger(m);
  crfkit::bind_sequence_tagger(m);
}
